//! **DL**: SCHED_DEADLINE, global EDF by pushing and pulling threads between run queues.
//!
//! Lelli et al. 2016 and the kernel's `deadline.c`; Tang, Anderson and Abeni 2021, Section 2, whose
//! examples show its defects. This policy reproduces the quirks on purpose:
//!
//! - **Bypass.** A server that is used up after its deadline is replenished and stays in its queue.
//!   If it still comes first there, nothing is pushed or pulled, although another CPU may be free
//!   for it while a thread that is tied to this CPU waits (Examples 5 and 8).
//! - **`find_later` counts the pushed thread itself**: its CPU is never free and never late because
//!   of the others in its queue (Example 6).
//! - **One candidate**: only the CPU with the latest earliest deadline is considered; if the thread
//!   may not use it, it stays.
//! - **Capacities are added up** (`capacity=on`, Linux since 5.9). Admission control compares with
//!   the sum of the speeds of the CPUs, as if a thread could run on several at a time (Defect 3). A
//!   thread goes to a free CPU that is fast enough for it, `speed * D >= Q`, or else to the fastest
//!   free one; at a wake-up it also looks for one if its own CPU is too slow. Without a free CPU,
//!   speeds have no influence. With `arith=kernel` both compare in its units, as Linux since 6.0.
//! - Parameters and, with admission control off, affinities change in the middle of a period
//!   (Examples 1, 3 and 7). The effect on the server depends on the version (`kernel.rs`).
//!
//! | kernel | here |
//! |---|---|
//! | `cpudl_find`, `find_later_rq` | `find_later` |
//! | `push_dl_task`, `push_dl_tasks` | `push_one`, `push_all` |
//! | `pull_dl_task` | `pull` |
//! | `select_task_rq_dl`, `enqueue_task_dl` | `woken` |
//! | `dl_task_timer` | `replenished` |
//!
//! Cost: with 1,024 CPUs and 100,000 threads, a job takes three to seven times as long as under
//! `g-edf`, which has none of these steps: a wake-up looks for a CPU, run queues are sorted, a
//! server is charged at each switch and replenished by its own timer, and a CPU pushes and pulls
//! whenever its running thread changes.
//!
//! Ties: between free CPUs, the thread's own, then the lowest; between CPUs that are equally late,
//! the same. At a wake-up the new deadline determines the CPU; the kernel uses the old one.
#![expect(non_snake_case, reason = "Q, T and D are the symbols of the papers")]

use super::admission::Admission;
use super::kernel::{AffinityEarly, AffinityTardy, Kernel, SetattrTardy};
use super::options::{KernelOptions, keep_accounts, run_queues};
use super::parameters::check_reservation;
use super::runqueues::{Renewal, Rules, RunQueues, Threads};
use crate::Refusal;
use crate::info::{PolicyOptions, SystemRefusal};
use layland_model::{Algorithm, Change, CpuId, CpuSet, MoveReason, Rate, System, TaskId, Time};

/// Returns SCHED_DEADLINE as in Linux.
///
/// # Errors
/// If a deadline is after its period, a budget is longer than its deadline, or an option is
/// invalid.
pub fn dl(system: &System, options: &PolicyOptions) -> Result<Threads<Linux>, SystemRefusal> {
    let stated = KernelOptions::of(Algorithm::SchedDeadline, options)?;
    let mut rq = run_queues(system, &stated)?;
    let kernel = Kernel::of(options)?;
    if kernel.capacity {
        rq.know_speeds();
    }
    keep_accounts(&mut rq, system, &stated)?;
    let admission = Admission::new(&rq, &stated, false);
    Ok(Threads::new(rq, Linux { admission, kernel }))
}

/// The rules of **DL**: see the file header.
#[derive(Clone, Debug)]
pub struct Linux {
    admission: Admission,
    kernel: Kernel,
}

/// The treatment of a queued thread by a `find_later` for that thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnThread {
    /// The thread counts, as in Linux.
    Counts,
    /// The thread is ignored, as in DL-SP.
    IsIgnored,
}

/// Returns the CPU that should have `p`: a free one, or the one with the latest earliest deadline
/// if that is after the deadline of `p`.
pub(crate) fn find_later(rq: &mut RunQueues, p: TaskId, own_thread: OwnThread) -> Option<CpuId> {
    let thread = &rq.threads[p];
    if !thread.migrates {
        return None;
    }
    let (own, cluster, d) = (thread.cpu, thread.cluster, thread.server.deadline());
    let hidden =
        own_thread == OwnThread::IsIgnored && thread.queued && rq.usable[cluster].contains(own);
    if hidden {
        let others = rq.earliest_without(own, p);
        rq.cpudl[cluster].set(own, others);
    }
    let free = rq.free_for(p);
    let found = if free.is_some() {
        free
    } else {
        let best = rq.cpudl[cluster].latest(own);
        best.filter(|&(cpu, key)| rq.threads[p].mask.contains(cpu) && d < key).map(|(cpu, _)| cpu)
    };
    if hidden {
        let earliest = rq.earliest(own);
        rq.cpudl[cluster].set(own, earliest);
    }
    found
}

/// Pushes the best thread that can leave a CPU, if another CPU should have it. Returns true if it
/// was pushed.
pub(crate) fn push_one(rq: &mut RunQueues, c: CpuId, own_thread: OwnThread) -> bool {
    let Some(p) = rq.pushable(c, |_| true) else { return false };
    let d = rq.deadline(p);
    if let Some(running) = rq.running(c)
        && d < rq.deadline(running)
        && rq.threads[running].migrates
    {
        // The running thread will move instead.
        rq.set_need(c);
        return false;
    }
    let Some(to) = find_later(rq, p, own_thread).filter(|&to| to != c) else { return false };
    if rq.earliest(to).is_some_and(|earliest| d >= earliest) {
        return false;
    }
    rq.move_to(p, to, MoveReason::Pushed);
    rq.set_need(to);
    true
}

/// Puts a thread that continues with its next deadline back into its queue.
pub(crate) fn bypassed(rq: &mut RunQueues, p: TaskId, own_thread: OwnThread) {
    let c = rq.threads[p].cpu;
    rq.enqueue(p);
    let still_runs = rq.curr[c] == Some(p);
    rq.preempt_check(c);
    if !still_runs && !rq.needs(c) {
        push_all(rq, c, own_thread);
    }
}

/// Pushes as many threads as possible.
pub(crate) fn push_all(rq: &mut RunQueues, c: CpuId, own_thread: OwnThread) {
    while push_one(rq, c, own_thread) {}
}

/// Pulls threads that should run on a CPU from other queues, after the running thread of the CPU
/// has left. Each pulled thread is earlier than the one before; any surplus is pushed away
/// afterwards.
pub(crate) fn pull(rq: &mut RunQueues, c: CpuId) {
    let Some(cluster) = rq.cluster_of(c) else { return };
    // A thread with a later deadline would not run here.
    let mut bound = rq.earliest(c).unwrap_or(Time::NEVER);
    let mut from = CpuId(0);
    while let Some(s) = rq.next_source(cluster, from, bound) {
        from = CpuId(s.0 + 1);
        if s == c {
            continue;
        }
        let Some(p) = rq.pushable(s, |thread| thread.mask.contains(c)) else { continue };
        let d = rq.deadline(p);
        if d >= bound {
            continue;
        }
        // The thread is about to run on its own CPU.
        if rq.running(s).is_some_and(|running| d < rq.deadline(running)) {
            continue;
        }
        rq.move_to(p, c, MoveReason::Pulled);
        bound = d;
    }
}

/// Puts a thread that enters or wakes up into a queue.
pub(crate) fn woken(rq: &mut RunQueues, p: TaskId, own_thread: OwnThread) {
    let (c, d) = (rq.threads[p].cpu, rq.deadline(p));
    let is_taken = rq.curr[c]
        .is_some_and(|running| !rq.threads[running].migrates || d >= rq.deadline(running));
    if rq.threads[p].migrates
        && (is_taken || !rq.fits(p, c))
        && let Some(to) = find_later(rq, p, own_thread)
        && rq.earliest(to).is_none_or(|earliest| d < earliest)
    {
        rq.set_cpu(p, to, MoveReason::Placed);
    }
    let c = rq.threads[p].cpu;
    rq.enqueue(p);
    rq.preempt_check(c);
    if !rq.needs(c) {
        push_all(rq, c, own_thread);
    }
}

/// Puts a thread that was throttled into the queue of its CPU, and pushes: this is how a migrating
/// thread leaves a CPU that runs a thread tied to it.
pub(crate) fn replenished(rq: &mut RunQueues, p: TaskId, own_thread: OwnThread) {
    let c = rq.threads[p].cpu;
    rq.enqueue(p);
    rq.preempt_check(c);
    push_one(rq, c, own_thread);
}

/// Gives a cluster other CPUs; each new one pulls once.
pub(crate) fn set_cluster_cpus(
    rq: &mut RunQueues,
    admission: &mut Admission,
    cluster: usize,
    cpus: &CpuSet,
) -> Result<(), Refusal> {
    admission.resize(rq, cluster, cpus)?;
    let counted: Vec<TaskId> = rq
        .threads
        .ids()
        .filter(|&p| rq.threads[p].admitted && rq.threads[p].cluster == cluster)
        .collect();
    counted.iter().for_each(|&p| admission.remove(rq, p));
    let added = rq.change_cluster(cluster, cpus);
    counted.iter().for_each(|&p| admission.add(rq, p));
    for c in added?.iter() {
        pull(rq, c);
        rq.preempt_check(c);
    }
    Ok(())
}

impl Linux {
    /// Checks the affinity of a thread. With admission control on, it must be the whole cluster,
    /// which is returned as the error.
    fn check_mask(&self, rq: &RunQueues, mask: &CpuSet, cluster: usize) -> Result<(), CpuSet> {
        if self.admission.is_on() && !rq.covers(mask, cluster) {
            return Err(rq.clusters[cluster].clone());
        }
        Ok(())
    }

    fn set_affinity(
        &mut self,
        rq: &mut RunQueues,
        p: TaskId,
        mask: &CpuSet,
    ) -> Result<(), Refusal> {
        let cluster = rq.threads[p].cluster;
        self.check_mask(rq, mask, cluster).map_err(|whole| {
            Refusal::busy(format!("admission control needs the affinity of the cluster: {whole}"))
        })?;
        let mask = mask.intersection(&rq.clusters[cluster]);
        if mask.is_empty() {
            return Err(Refusal::invalid("no CPU of the affinity is in the cluster"));
        }
        self.admission.remove(rq, p);
        rq.set_mask(p, mask);
        self.admission.add(rq, p);
        let renewal = self.renewal(rq, p);
        let queued_on = rq.refresh(p, renewal);
        Self::push_from(rq, queued_on);
        Ok(())
    }

    /// Returns the effect of another affinity, which is already set, on the server of a thread.
    fn renewal(&self, rq: &RunQueues, p: TaskId) -> Renewal {
        let (tardy, moves) = (rq.deadline(p) <= rq.now, rq.has_to_move(p));
        if tardy {
            match self.kernel.affinity_tardy {
                AffinityTardy::Any => Renewal::NewPeriod,
                AffinityTardy::Moved if moves => Renewal::NewPeriod,
                AffinityTardy::Moved | AffinityTardy::Keep => Renewal::Keep,
            }
        } else {
            match self.kernel.affinity_early {
                AffinityEarly::WakeUp if moves => Renewal::WakeUp,
                AffinityEarly::WakeUp | AffinityEarly::Keep => Renewal::Keep,
            }
        }
    }

    /// Pushes the surplus of a CPU to which a thread came.
    fn push_from(rq: &mut RunQueues, queued_on: Option<CpuId>) {
        if let Some(c) = queued_on
            && !rq.needs(c)
        {
            push_all(rq, c, OwnThread::Counts);
        }
    }
}

impl Rules for Linux {
    fn bypasses(&self, _rq: &RunQueues, _p: TaskId) -> bool {
        true
    }

    fn woken(&mut self, rq: &mut RunQueues, p: TaskId) {
        woken(rq, p, OwnThread::Counts);
    }

    fn replenished(&mut self, rq: &mut RunQueues, p: TaskId) {
        replenished(rq, p, OwnThread::Counts);
    }

    fn bypassed(&mut self, rq: &mut RunQueues, p: TaskId) {
        bypassed(rq, p, OwnThread::Counts);
    }

    fn pull(&mut self, rq: &mut RunQueues, c: CpuId) {
        pull(rq, c);
    }

    fn push(&mut self, rq: &mut RunQueues, c: CpuId) {
        push_all(rq, c, OwnThread::Counts);
    }

    fn admit(&mut self, rq: &mut RunQueues, p: TaskId) -> Result<(), Refusal> {
        let thread = &rq.threads[p];
        self.check_mask(rq, &thread.mask, thread.cluster).map_err(|whole| {
            Refusal::not_permitted(format!(
                "with admission control on, a task may use its whole cluster ({whole}) or nothing"
            ))
        })?;
        self.admission.enter(rq, p)
    }

    fn release(&mut self, rq: &mut RunQueues, p: TaskId) {
        self.admission.remove(rq, p);
    }

    fn reconfigure(
        &mut self,
        rq: &mut RunQueues,
        p: TaskId,
        change: &Change,
    ) -> Result<(), Refusal> {
        match change {
            Change::Parameters { wcet, period, deadline } => {
                let [Q, T, D] = [wcet.ns(), period.ns(), deadline.ns()];
                check_reservation(Q, T, D)?;
                self.admission.change(rq, p, &Rate::new(Q, T))?;
                self.admission.remove(rq, p);
                let tardy = match self.kernel.setattr_tardy {
                    SetattrTardy::Keep => Renewal::Keep,
                    SetattrTardy::Restart => Renewal::NewPeriod,
                };
                rq.set_parameters(p, [Q, T, D], tardy);
                self.admission.add(rq, p);
                Ok(())
            }
            Change::Affinity(mask) => self.set_affinity(rq, p, mask),
            Change::Cluster(cluster) => {
                if *cluster >= rq.clusters.len() {
                    return Err(Refusal::invalid(format!("cluster {cluster} does not exist")));
                }
                self.admission.attach(rq, p, *cluster)?;
                self.admission.remove(rq, p);
                rq.set_cluster(p, *cluster);
                rq.set_mask(p, rq.clusters[*cluster].clone());
                self.admission.add(rq, p);
                let queued_on = rq.evict(p, Renewal::Keep);
                Self::push_from(rq, queued_on);
                Ok(())
            }
        }
    }

    fn set_cluster_cpus(
        &mut self,
        rq: &mut RunQueues,
        cluster: usize,
        cpus: &CpuSet,
    ) -> Result<(), Refusal> {
        set_cluster_cpus(rq, &mut self.admission, cluster, cpus)
    }

    fn assert_invariants(&self, rq: &RunQueues) {
        assert!(self.admission.agrees(rq), "reserved bandwidth is that of the threads");
    }
}
