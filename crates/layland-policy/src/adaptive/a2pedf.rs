//! **a2pEDF**: [apEDF](super::apedf) with pulling (Stevanato et al. 2021, Algorithm 2).
//!
//! When the running thread of a CPU leaves and no other thread is queued there, the CPU takes the
//! earliest of the first waiting threads of the overloaded CPUs.
//!
//! The printed algorithm compares `d^j`, the deadline that CPU `j` runs. The text defines `d'^j`,
//! the deadline of the first waiting thread, but never uses it. The authors must mean `d'^j`, so
//! this implementation uses it. Ties go to the lowest CPU.
//!
//! With `place=kernel` a thread that was preempted is not pulled; with `place=pulling` it can be, as
//! Section III.C of the paper says. With both, a pull goes on to the CPUs that follow, and takes a
//! thread from each of them that is earlier than the one before; with `fit=worst` it takes the
//! earliest thread of any CPU, overloaded or not, that fits.

use super::apedf::{ApEdf, build};
use super::placement::{Fit, Place};
use crate::Refusal;
use crate::deadline::runqueues::{ReservedThread, Rules, RunQueues, Threads};
use crate::info::{PolicyOptions, SystemRefusal};
use layland_model::{Change, CpuId, CpuSet, MoveReason, System, TaskId, Time};

/// Adaptively partitioned EDF with pulling.
///
/// # Errors
/// As [`apedf`](super::apedf::apedf).
pub fn a2pedf(system: &System, options: &PolicyOptions) -> Result<Threads<A2pEdf>, SystemRefusal> {
    let (rq, rules) = build("a2pedf", system, options)?;
    Ok(Threads::new(rq, A2pEdf(rules)))
}

/// The rules of **a2pEDF**: see the file header.
#[derive(Clone, Debug)]
pub struct A2pEdf(ApEdf);

impl A2pEdf {
    /// The pull of the kernel of the authors, for a CPU with an empty queue.
    fn pull_as_kernel(&self, rq: &mut RunQueues, c: CpuId, cluster: usize) {
        let worst = self.0.0.fit == Fit::Worst;
        let preempted = self.0.0.place == Place::Pulling;
        let mut earliest = Time::NEVER;
        let mut best = None;
        for j in rq.usable[cluster].clone().iter().filter(|&j| j != c) {
            let Some(load) = &rq.load else { return };
            if !worst && !load.overloaded().contains(j) {
                continue;
            }
            let may_move =
                |thread: &ReservedThread| (preempted || !thread.started) && thread.mask.contains(c);
            let Some(p) = rq.pushable(j, may_move) else { continue };
            let d = rq.deadline(p);
            // A thread that is about to run on its own CPU stays there.
            let runs_soon = rq.running(j).is_some_and(|running| d < rq.deadline(running));
            if d >= earliest || runs_soon || worst && !load.fits(c, &rq.threads[p].u) {
                continue;
            }
            earliest = d;
            if worst {
                best = Some(p);
            } else {
                rq.move_to(p, c, MoveReason::Pulled);
            }
        }
        if let Some(p) = best {
            rq.move_to(p, c, MoveReason::Pulled);
        }
    }
}

impl Rules for A2pEdf {
    /// Algorithm 2.
    fn pull(&mut self, rq: &mut RunQueues, c: CpuId) {
        let Some(cluster) = rq.cluster_of(c).filter(|_| rq.is_empty(c)) else { return };
        if self.0.0.place.is_kernel() {
            return self.pull_as_kernel(rq, c, cluster);
        }
        let mut best: Option<(Time, TaskId)> = None;
        let Some(load) = &rq.load else { return };
        for j in load.overloaded().iter().filter(|&j| j != c) {
            if !rq.clusters[cluster].contains(j) {
                continue;
            }
            let second = rq.pushable(j, |thread| thread.mask.contains(c));
            if let Some(p) = second
                && best.is_none_or(|(d, _)| rq.deadline(p) < d)
            {
                best = Some((rq.deadline(p), p));
            }
        }
        if let Some((_, p)) = best {
            rq.move_to(p, c, MoveReason::Pulled);
        }
    }

    fn bypasses(&self, rq: &RunQueues, p: TaskId) -> bool {
        self.0.bypasses(rq, p)
    }
    fn woken(&mut self, rq: &mut RunQueues, p: TaskId) {
        self.0.woken(rq, p);
    }
    fn replenished(&mut self, rq: &mut RunQueues, p: TaskId) {
        self.0.replenished(rq, p);
    }
    fn bypassed(&mut self, rq: &mut RunQueues, p: TaskId) {
        self.0.bypassed(rq, p);
    }
    fn push(&mut self, rq: &mut RunQueues, c: CpuId) {
        self.0.push(rq, c);
    }
    fn admit(&mut self, rq: &mut RunQueues, p: TaskId) -> Result<(), Refusal> {
        self.0.admit(rq, p)
    }
    fn release(&mut self, rq: &mut RunQueues, p: TaskId) {
        self.0.release(rq, p);
    }
    fn reconfigure(
        &mut self,
        rq: &mut RunQueues,
        p: TaskId,
        change: &Change,
    ) -> Result<(), Refusal> {
        self.0.reconfigure(rq, p, change)
    }
    fn set_cluster_cpus(
        &mut self,
        rq: &mut RunQueues,
        cluster: usize,
        cpus: &CpuSet,
    ) -> Result<(), Refusal> {
        self.0.set_cluster_cpus(rq, cluster, cpus)
    }
    fn assert_invariants(&self, rq: &RunQueues) {
        self.0.assert_invariants(rq);
    }
}
