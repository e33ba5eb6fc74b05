//! **apEDF**: adaptively partitioned EDF (Stevanato et al. 2021, Algorithm 1).
//!
//! | paper | here | meaning |
//! |-------|------|---------|
//! | `rq(i)` | `thread.cpu` | the CPU whose run queue has thread `i` |
//! | `U_j` | `rq.load[j]` | the sum of the bandwidths of all threads of CPU `j`, arrived or not |
//! | `d^j` | `running_deadline` | the deadline that CPU `j` runs, never where it has nothing |
//!
//! Initially every thread is in the first run queue (the lowest CPU of its affinity). A thread is
//! placed at each arrival of a job: when it enters, wakes up or is replenished, and when it
//! continues after its deadline without blocking. It never moves otherwise, and nothing is pushed.
//!
//! Ties go to the lowest CPU, as in the paper's loops. Each cluster is scheduled on its own.

use crate::Refusal;
use crate::deadline::options::{KernelOptions, run_queues};
use crate::deadline::parameters::check_reservation;
use crate::deadline::runqueues::{Renewal, Rules, RunQueues, Threads};
use crate::info::{PolicyOptions, SystemRefusal};
use layland_model::{Algorithm, Change, CpuId, CpuSet, MoveReason, System, TaskId, Time};

/// Adaptively partitioned EDF.
///
/// # Errors
/// If a deadline is after its period, a budget is longer than its deadline, or the speed of a CPU
/// is not 1.
pub fn apedf(system: &System, options: &PolicyOptions) -> Result<Threads<ApEdf>, SystemRefusal> {
    let (rq, rules) = build("apedf", system, options)?;
    Ok(Threads::new(rq, rules))
}

pub(super) fn build(
    name: &str,
    system: &System,
    options: &PolicyOptions,
) -> Result<(RunQueues, ApEdf), SystemRefusal> {
    if !system.platform.is_unit_speed() {
        return Err(Refusal::invalid(format!("{name} needs CPUs of unit speed")).into());
    }
    let stated = KernelOptions::of(Algorithm::AdaptivePartitioning, options)?;
    let mut rq = run_queues(system, &stated)?;
    rq.keep_load();
    Ok((rq, ApEdf { fallback: options.switch("fallback", true)? }))
}

/// The rules of **apEDF**: see the file header.
#[derive(Clone, Debug)]
pub struct ApEdf {
    fallback: bool,
}

/// Returns true if `U_j > 1`.
fn is_overloaded(rq: &RunQueues, j: CpuId) -> bool {
    rq.load.as_ref().is_some_and(|load| load.overloaded().contains(j))
}

/// Returns `d^j`: the deadline of the running thread of CPU `j`, or else of the first thread in its
/// queue.
fn running_deadline(rq: &RunQueues, j: CpuId) -> Time {
    match rq.running(j) {
        Some(running) => rq.deadline(running),
        None => rq.earliest(j).unwrap_or(Time::NEVER),
    }
}

impl ApEdf {
    /// Algorithm 1: returns the CPU that queues the next job of `p`, which is not queued.
    fn select_rq(&self, rq: &RunQueues, p: TaskId) -> CpuId {
        let thread = &rq.threads[p];
        let own = thread.cpu;
        // Lines 1-2: stay unless that CPU is overloaded. Skipped for the first job.
        if thread.placed && !is_overloaded(rq, own) {
            return own;
        }
        let allowed = rq.allowed(p);
        if thread.placed && allowed.is_empty() {
            return own;
        }
        // Lines 4-8: first fit. The load of the thread's own CPU already includes its bandwidth.
        let here = (allowed.contains(own) && !is_overloaded(rq, own)).then_some(own);
        let fit = rq.load.as_ref().and_then(|load| load.first_fit(&thread.u, &allowed));
        if let Some(j) = here.into_iter().chain(fit).min() {
            return j;
        }
        // Lines 9-17: no CPU fits, so fall back to global EDF: preempt the latest deadline. Only
        // the CPU with the latest deadline of all is considered, even if `p` may not use it.
        if self.fallback {
            let cpus = rq.usable[thread.cluster].iter();
            let later = |h: Option<(CpuId, Time)>, j: CpuId| {
                let d_j = running_deadline(rq, j);
                h.filter(|&(_, d_h)| d_j <= d_h).or(Some((j, d_j)))
            };
            if let Some((h, d_h)) = cpus.fold(None, later)
                && d_h > thread.server.deadline()
                && allowed.contains(h)
            {
                return h;
            }
        }
        // Lines 18-19.
        own
    }

    fn place(&mut self, rq: &mut RunQueues, p: TaskId) {
        let c = self.select_rq(rq, p);
        rq.threads[p].placed = true;
        rq.set_cpu(p, c, MoveReason::Placed);
        rq.enqueue(p);
        rq.preempt_check(c);
    }
}

impl Rules for ApEdf {
    fn bypasses(&self) -> bool {
        true
    }
    fn woken(&mut self, rq: &mut RunQueues, p: TaskId) {
        self.place(rq, p);
    }
    fn replenished(&mut self, rq: &mut RunQueues, p: TaskId) {
        self.place(rq, p);
    }
    fn bypassed(&mut self, rq: &mut RunQueues, p: TaskId) {
        self.place(rq, p);
    }
    fn pull(&mut self, _rq: &mut RunQueues, _c: CpuId) {}
    fn push(&mut self, _rq: &mut RunQueues, _c: CpuId) {}

    fn admit(&mut self, _rq: &mut RunQueues, _p: TaskId) -> Result<(), Refusal> {
        Ok(())
    }
    fn release(&mut self, _rq: &mut RunQueues, _p: TaskId) {}

    fn reconfigure(
        &mut self,
        rq: &mut RunQueues,
        p: TaskId,
        change: &Change,
    ) -> Result<(), Refusal> {
        match change {
            Change::Parameters { wcet, period, deadline } => {
                check_reservation(wcet.ns(), period.ns(), deadline.ns())?;
                rq.set_parameters(p, [wcet.ns(), period.ns(), deadline.ns()], Renewal::Keep);
            }
            Change::Affinity(mask) => {
                let mask = mask.intersection(&rq.clusters[rq.threads[p].cluster]);
                if mask.is_empty() {
                    return Err(Refusal::invalid("no CPU of the affinity is in the cluster"));
                }
                rq.set_mask(p, mask);
                rq.evict(p, Renewal::Keep);
            }
            Change::Cluster(cluster) => {
                let Some(cpus) = rq.clusters.get(*cluster).cloned() else {
                    return Err(Refusal::invalid(format!("cluster {cluster} does not exist")));
                };
                rq.threads[p].cluster = *cluster;
                rq.set_mask(p, cpus);
                rq.evict(p, Renewal::Keep);
            }
        }
        Ok(())
    }

    fn set_cluster_cpus(
        &mut self,
        rq: &mut RunQueues,
        cluster: usize,
        cpus: &CpuSet,
    ) -> Result<(), Refusal> {
        rq.change_cluster(cluster, cpus).map(|_| ())
    }

    fn assert_invariants(&self, _rq: &RunQueues) {}
}
