//! **DL-SP**: SCHED_DEADLINE repaired for semi-partitioned systems, where every thread may use either
//! one CPU or its whole cluster.
//!
//! Tang, Anderson and Abeni 2021, Section 4. Differences from [`linux`](super::linux::dl):
//!
//! 1. **No bypass** (except with `exhaust=postpone`, which throttles no thread). Every server that
//!    is used up is throttled. If its deadline has passed, it is replenished in the same instant,
//!    after its CPU has rescheduled, and comes back through the timer, which pushes. On a kernel
//!    that takes time (`throttle_cost`), which a thread that needs all of a CPU never gets back.
//! 2. **`find_later` ignores the thread in question**, as if it were not queued.
//! 3. Admission control has a second condition, per CPU.
//! 4. Parameters, affinities and clusters of threads do not change: a thread must leave and enter
//!    anew.
//!
//! With `throttle=waiting`, which is not in the paper, a late server continues at once where its
//! absence would change nothing: no migrating thread waits in its cluster, which its CPU could pull,
//! and no thread waits on its CPU or the thread itself has no other. The decisions are those of the
//! paper, but for ties: the CPU of the only thread in a queue is free for it, and preferred.
//!
//! Admission control counts the bandwidth that each CPU has reserved for ordinary threads, as a
//! thread that is tied to it (`fair`; the fair servers of Linux since 6.8, which the paper's kernel
//! did not have). With `slack=on` there is a third condition: `Q + throttle_cost < T` for migrating
//! threads.
//!
//! A thread may wait on its only CPU while that CPU runs a migrating thread that another CPU should
//! run. It waits no longer than until the end of the job of the migrating thread. Under the two
//! admission conditions tardiness is bounded (Theorem 1).

use super::admission::Admission;
use super::linux::{self, OwnThread};
use super::options::{KernelOptions, Throttle, keep_accounts, run_queues};
use super::runqueues::{Rules, RunQueues, Threads};
use crate::Refusal;
use crate::info::{PolicyOptions, SystemRefusal};
use layland_model::{Algorithm, Change, CpuId, CpuSet, System, TaskId};

/// Returns SCHED_DEADLINE with the patch for semi-partitioned systems.
///
/// # Errors
/// If a deadline is after its period, a budget is longer than its deadline, or an option is
/// invalid.
pub fn dl_sp(
    system: &System,
    options: &PolicyOptions,
) -> Result<Threads<SemiPartitioned>, SystemRefusal> {
    let options = KernelOptions::of(Algorithm::SemiPartitionedDeadline, options)?;
    let mut rq = run_queues(system, &options)?;
    keep_accounts(&mut rq, system, &options)?;
    let admission = Admission::new(&rq, &options, true);
    Ok(Threads::new(rq, SemiPartitioned { admission, throttle: options.throttle }))
}

/// The rules of **DL-SP**: see the file header.
#[derive(Clone, Debug)]
pub struct SemiPartitioned {
    admission: Admission,
    throttle: Throttle,
}

impl Rules for SemiPartitioned {
    fn bypasses(&self, rq: &RunQueues, p: TaskId) -> bool {
        let thread = &rq.threads[p];
        match self.throttle {
            Throttle::All => false,
            Throttle::Waiting => {
                let is_in_the_way = thread.migrates && !rq.is_empty(thread.cpu);
                // A CPU pulls only when its running thread has left: so a tied thread leaves, too.
                let waits = |c: CpuId| rq.pushable(c, |_| true).is_some();
                !is_in_the_way && !rq.usable[thread.cluster].iter().any(waits)
            }
        }
    }

    fn woken(&mut self, rq: &mut RunQueues, p: TaskId) {
        linux::woken(rq, p, OwnThread::IsIgnored);
    }

    fn replenished(&mut self, rq: &mut RunQueues, p: TaskId) {
        linux::replenished(rq, p, OwnThread::IsIgnored);
    }

    // Reached if budgets postpone deadlines (`exhaust=postpone`), and with `throttle=waiting`.
    fn bypassed(&mut self, rq: &mut RunQueues, p: TaskId) {
        linux::bypassed(rq, p, OwnThread::IsIgnored);
    }

    fn pull(&mut self, rq: &mut RunQueues, c: CpuId) {
        linux::pull(rq, c);
    }

    fn push(&mut self, rq: &mut RunQueues, c: CpuId) {
        linux::push_all(rq, c, OwnThread::IsIgnored);
    }

    fn admit(&mut self, rq: &mut RunQueues, p: TaskId) -> Result<(), Refusal> {
        let thread = &rq.threads[p];
        if thread.migrates && !rq.covers(&thread.mask, thread.cluster) {
            let cluster = &rq.clusters[thread.cluster];
            return Err(Refusal::not_permitted(format!(
                "in a semi-partitioned system a task is partitioned (one CPU) or migrating (its whole \
                 cluster, {cluster}), and this one has {}",
                thread.mask
            )));
        }
        self.admission.enter(rq, p)
    }

    fn release(&mut self, rq: &mut RunQueues, p: TaskId) {
        self.admission.remove(rq, p);
    }

    fn reconfigure(
        &mut self,
        _rq: &mut RunQueues,
        _p: TaskId,
        change: &Change,
    ) -> Result<(), Refusal> {
        let what = match change {
            Change::Parameters { .. } => "parameters",
            Change::Affinity(_) => "affinity",
            Change::Cluster(_) => "cluster",
        };
        Err(Refusal::busy(format!("the {what} of a task cannot change: leave, and enter again")))
    }

    fn set_cluster_cpus(
        &mut self,
        rq: &mut RunQueues,
        cluster: usize,
        cpus: &CpuSet,
    ) -> Result<(), Refusal> {
        linux::set_cluster_cpus(rq, &mut self.admission, cluster, cpus)
    }

    fn assert_invariants(&self, rq: &RunQueues) {
        assert!(self.admission.agrees(rq), "reserved bandwidth is that of the threads");
    }
}
