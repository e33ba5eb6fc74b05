//! The differences between policies with per-CPU run queues.

use super::RunQueues;
use crate::Refusal;
use layland_model::{Change, CpuId, CpuSet, TaskId};

/// The choice of queues for threads, the times of their moves, and the requests that are granted.
pub(crate) trait Rules: Clone + Send + 'static {
    /// Returns true if the server of a thread that is used up after its deadline continues at once.
    /// The thread has left its queue.
    fn bypasses(&self, rq: &RunQueues, p: TaskId) -> bool;
    /// Puts a thread that enters or wakes up into a queue.
    fn woken(&mut self, rq: &mut RunQueues, p: TaskId);
    /// Puts a thread that was throttled into a queue.
    fn replenished(&mut self, rq: &mut RunQueues, p: TaskId);
    /// Puts a thread that bypassed throttling into a queue.
    fn bypassed(&mut self, rq: &mut RunQueues, p: TaskId);
    /// Handles a CPU whose running thread has left its queue.
    fn pull(&mut self, rq: &mut RunQueues, c: CpuId);
    /// Handles a CPU that has a thread to run.
    fn push(&mut self, rq: &mut RunQueues, c: CpuId);
    /// Admits or refuses a task.
    fn admit(&mut self, rq: &mut RunQueues, p: TaskId) -> Result<(), Refusal>;
    /// Handles a thread that has left; its reservation is free.
    fn release(&mut self, rq: &mut RunQueues, p: TaskId);
    /// Handles a request of a thread for a change.
    fn reconfigure(
        &mut self,
        rq: &mut RunQueues,
        p: TaskId,
        change: &Change,
    ) -> Result<(), Refusal>;
    /// Handles a request to change the CPUs of a cluster.
    fn set_cluster_cpus(
        &mut self,
        rq: &mut RunQueues,
        cluster: usize,
        cpus: &CpuSet,
    ) -> Result<(), Refusal>;
    /// Panics if an invariant of the policy is violated.
    fn assert_invariants(&self, rq: &RunQueues);
}
