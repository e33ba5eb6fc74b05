//! What differs between policies with per-CPU run queues.

use super::RunQueues;
use crate::Refusal;
use layland_model::{Change, CpuId, CpuSet, TaskId};

/// Which queue a thread is put into, when it is moved, and what is granted.
pub(crate) trait Rules: Clone + Send + 'static {
    /// Whether a server that is used up after its deadline goes on at once.
    fn bypasses(&self) -> bool;
    /// Puts a thread that enters or wakes up into a queue.
    fn woken(&mut self, rq: &mut RunQueues, p: TaskId);
    /// Puts a thread that was throttled into a queue.
    fn replenished(&mut self, rq: &mut RunQueues, p: TaskId);
    /// Puts a thread that bypassed throttling into a queue.
    fn bypassed(&mut self, rq: &mut RunQueues, p: TaskId);
    /// The running thread of a CPU has left its queue.
    fn pull(&mut self, rq: &mut RunQueues, c: CpuId);
    /// A CPU has a thread to run.
    fn push(&mut self, rq: &mut RunQueues, c: CpuId);
    /// Whether a task may enter.
    fn admit(&mut self, rq: &mut RunQueues, p: TaskId) -> Result<(), Refusal>;
    /// A thread has left; what it had reserved is free.
    fn release(&mut self, rq: &mut RunQueues, p: TaskId);
    /// A thread asks for something else.
    fn reconfigure(
        &mut self,
        rq: &mut RunQueues,
        p: TaskId,
        change: &Change,
    ) -> Result<(), Refusal>;
    /// A cluster is to get other CPUs.
    fn set_cluster_cpus(
        &mut self,
        rq: &mut RunQueues,
        cluster: usize,
        cpus: &CpuSet,
    ) -> Result<(), Refusal>;
    /// Panics where its own invariants do not hold.
    fn assert_invariants(&self, rq: &RunQueues);
}
