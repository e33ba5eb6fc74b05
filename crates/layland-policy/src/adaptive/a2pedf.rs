//! **a2pEDF**: [apEDF](super::apedf) with pulling (Stevanato et al. 2021, Algorithm 2).
//!
//! When the running thread of a CPU leaves and no other thread is queued there, the CPU takes the
//! earliest of the first waiting threads of the overloaded CPUs.
//!
//! The printed algorithm compares `d^j`, the deadline that CPU `j` runs. The text defines `d'^j`,
//! the deadline of the first waiting thread, but never uses it. The authors must mean `d'^j`, so
//! this implementation uses it. Ties go to the lowest CPU.

use super::apedf::{ApEdf, build};
use crate::Refusal;
use crate::deadline::runqueues::{Rules, RunQueues, Threads};
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

impl Rules for A2pEdf {
    /// Algorithm 2.
    fn pull(&mut self, rq: &mut RunQueues, c: CpuId) {
        let Some(cluster) = rq.cluster_of(c).filter(|_| rq.is_empty(c)) else { return };
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

    fn bypasses(&self) -> bool {
        self.0.bypasses()
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
    fn push(&mut self, _rq: &mut RunQueues, _c: CpuId) {}
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
