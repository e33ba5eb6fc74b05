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
//! With `place=waiting` a thread stays on an overloaded CPU if it can run there at once. With
//! `place=kernel` threads also wait for pushes, as in the kernel of the authors
//! ([`super`] has the table). `place=pulling` differs in pulls alone:
//!
//! 1. A thread that wakes up, and cannot run at once on its overloaded CPU, goes to the CPU on which
//!    it fits, or else (`fallback`) to the one that global EDF would take.
//! 2. A CPU that begins to run a thread, and is overloaded, pushes its earliest waiting thread in
//!    the same way, for as long as one finds a place. A thread that has run since it was queued, and
//!    was preempted, is not pushed.
//! 3. So does a CPU with a thread that woke up behind the running one, and once if a thread of it was
//!    replenished. A thread that is late and goes on stays.
//!
//! Ties go to the lowest CPU, as in the paper's loops. Each cluster is scheduled on its own.

use super::placement::{Fit, Place, Placement};
use crate::Refusal;
use crate::deadline::linux::{self, OwnThread};
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
    let placement = Placement::of(options)?;
    let mut rq = run_queues(system, &stated)?;
    rq.keep_load(placement.limit.clone());
    rq.remembers_starts = placement.place.is_kernel();
    Ok((rq, ApEdf(placement)))
}

/// The rules of **apEDF**: see the file header.
#[derive(Clone, Debug)]
pub struct ApEdf(pub(super) Placement);

/// Returns true if `U_j > U^lub`.
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

/// Returns true if a thread that is queued on its CPU now will wait there.
fn has_to_wait(rq: &RunQueues, p: TaskId) -> bool {
    let thread = &rq.threads[p];
    rq.curr[thread.cpu].is_some_and(|running| {
        !rq.threads[running].migrates || thread.server.deadline() >= rq.deadline(running)
    })
}

impl ApEdf {
    /// Lines 4-8: returns a CPU on which `p` fits. The load of its own CPU already includes its
    /// bandwidth.
    fn fitting(&self, rq: &RunQueues, p: TaskId, allowed: &CpuSet) -> Option<CpuId> {
        let thread = &rq.threads[p];
        let own = thread.cpu;
        let load = rq.load.as_ref()?;
        match self.0.fit {
            Fit::First => {
                let here = (allowed.contains(own) && !is_overloaded(rq, own)).then_some(own);
                here.into_iter().chain(load.first_fit(&thread.u, allowed)).min()
            }
            Fit::Worst => load.worst_fit(&thread.u, allowed, own),
        }
    }

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
        if let Some(j) = self.fitting(rq, p, &allowed) {
            return j;
        }
        // Lines 9-17: no CPU fits, so fall back to global EDF: preempt the latest deadline. Only
        // the CPU with the latest deadline of all is considered, even if `p` may not use it.
        if self.0.fallback {
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
        let may_stay = self.0.place == Place::Waiting && rq.threads[p].placed;
        let c =
            if may_stay && !has_to_wait(rq, p) { rq.threads[p].cpu } else { self.select_rq(rq, p) };
        rq.threads[p].placed = true;
        rq.set_cpu(p, c, MoveReason::Placed);
        rq.enqueue(p);
        rq.preempt_check(c);
    }

    /// Point 1 of the file header.
    fn place_as_kernel(&mut self, rq: &mut RunQueues, p: TaskId) {
        let is_first = !std::mem::replace(&mut rq.threads[p].placed, true);
        let own = rq.threads[p].cpu;
        if is_first || is_overloaded(rq, own) && has_to_wait(rq, p) {
            let allowed = rq.allowed(p);
            let to = self.fitting(rq, p, &allowed).or_else(|| self.later(rq, p));
            if let Some(to) = to {
                rq.set_cpu(p, to, MoveReason::Placed);
            }
        }
        let c = rq.threads[p].cpu;
        rq.enqueue(p);
        rq.preempt_check(c);
        if !rq.needs(c) {
            self.push_all(rq, c);
        }
    }

    /// Returns the CPU that global EDF would take for `p`, if it falls back to that.
    fn later(&self, rq: &mut RunQueues, p: TaskId) -> Option<CpuId> {
        let d = rq.deadline(p);
        let found =
            if self.0.fallback { linux::find_later(rq, p, OwnThread::Counts) } else { None };
        found.filter(|&to| rq.earliest(to).is_none_or(|earliest| d < earliest))
    }

    /// Pushes the earliest thread that waits on an overloaded CPU and was not preempted. Returns
    /// true if it found a place.
    fn push_one(&self, rq: &mut RunQueues, c: CpuId) -> bool {
        if !is_overloaded(rq, c) {
            return false;
        }
        let Some(p) = rq.pushable(c, |thread| !thread.started) else { return false };
        let allowed = rq.allowed(p);
        let to = match self.fitting(rq, p, &allowed) {
            Some(to) => Some(to),
            // The running thread gives way, and is not pushed.
            None if rq.running(c).is_some_and(|running| {
                rq.threads[running].migrates && rq.deadline(p) < rq.deadline(running)
            }) =>
            {
                rq.set_need(c);
                None
            }
            None => self.later(rq, p),
        };
        let Some(to) = to.filter(|&to| to != c) else { return false };
        rq.move_to(p, to, MoveReason::Pushed);
        rq.preempt_check(to);
        true
    }

    fn push_all(&self, rq: &mut RunQueues, c: CpuId) {
        while self.push_one(rq, c) {}
    }
}

impl Rules for ApEdf {
    fn bypasses(&self, _rq: &RunQueues, _p: TaskId) -> bool {
        true
    }
    fn woken(&mut self, rq: &mut RunQueues, p: TaskId) {
        match self.0.place {
            Place::Printed | Place::Waiting => self.place(rq, p),
            Place::Kernel | Place::Pulling => self.place_as_kernel(rq, p),
        }
    }
    fn replenished(&mut self, rq: &mut RunQueues, p: TaskId) {
        match self.0.place {
            Place::Printed | Place::Waiting => self.place(rq, p),
            Place::Kernel | Place::Pulling => {
                let c = rq.threads[p].cpu;
                rq.enqueue(p);
                rq.preempt_check(c);
                self.push_one(rq, c);
            }
        }
    }
    fn bypassed(&mut self, rq: &mut RunQueues, p: TaskId) {
        match self.0.place {
            Place::Printed | Place::Waiting => self.place(rq, p),
            Place::Kernel | Place::Pulling => {
                rq.enqueue(p);
                rq.preempt_check(rq.threads[p].cpu);
            }
        }
    }
    fn pull(&mut self, _rq: &mut RunQueues, _c: CpuId) {}
    fn push(&mut self, rq: &mut RunQueues, c: CpuId) {
        if self.0.place.is_kernel() {
            self.push_all(rq, c);
        }
    }

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
