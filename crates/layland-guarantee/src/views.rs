//! The systems that are analysed in place of a system under a policy: one view where the policy is
//! its rule, and several for threads with reservations.
//!
//! Long because the assumptions of each view are proved here, beside the code that makes it.
//!
//! **Threads with reservations** (`dl`, `dl-sp`, `apedf`, `a2pedf`) run in constant-bandwidth
//! servers `(Q, D, T)` ordered by the deadlines of the servers, and the kernel pushes and pulls
//! them between the queues of its CPUs. Results for EDF apply to them in a cluster of one CPU, with
//! threads that are tied to one CPU each, and in a cluster whose threads may use all of it, for the
//! following reasons. Assumed: releases at least a period apart, no jitter, no self-suspension, no
//! overheads, speeds that stay (`grub_pa=off`), and no requests: parameters, affinities, clusters and
//! CPUs do not change meanwhile, so that the versions of the kernel make no difference. This leaves
//! out Defects 1 (tasks that change), 2 (DVFS) and 3 (CPUs of different capacity) of Tang, Anderson
//! and Abeni 2021.
//!
//! 1. **A server is as good as a job.** While no job is late, each job finds its thread blocked and
//!    the deadline of its server past: it gets `Q` and its own deadline. A job that ends *at* its
//!    deadline when the next one has arrived finds the thread running: it continues with the
//!    remaining part of `Q` and with the old deadline. So cut the time of the thread into pieces,
//!    one for each deadline of the server: pieces of at most `Q`, at least `T` apart, with work at
//!    each instant until they end. A job ends in the piece of its own deadline or in an earlier
//!    one. EDF with *C = Q* of the pieces therefore bounds the jobs, for any jobs of at most `Q`,
//!    even late ones.
//! 2. **One CPU.** There is nothing to push or pull: the earliest deadline runs. By point 1 every
//!    test and response bound for EDF on one CPU also holds for the threads, with *C = Q*. A *no*
//!    holds where budgets are WCETs.
//! 3. **Several CPUs, all of them allowed.** After each event the kernel pushes from a CPU with a
//!    waiting thread as long as a CPU is free or runs a later deadline, and pulls for a CPU whose
//!    thread has left. With one affinity for all threads its single candidate (the latest CPU) is
//!    the right one. So no thread waits while a CPU is free or runs a later deadline. The tests for
//!    global EDF need nothing else, however ties are broken. `dl` has one exception, the **bypass**
//!    (Tang et al. 2021, Examples 5 and 8): a server whose budget is exhausted at or after its
//!    deadline gets its next deadline in place, with no push or pull. It needs a job that ends at
//!    its deadline or later. With all deadlines **a nanosecond earlier** the order of EDF is the
//!    same, and a test that accepts those shows that each job ends before its deadline: by
//!    induction over time there is no bypass. Under `dl-sp` there is none anyway: by point 1 tests
//!    and tardiness bounds hold for its threads. Under `dl` nothing is known once a job is late.
//! 4. **WCETs below the budgets.** Where every job ends before its deadline, each server starts
//!    anew with each job, and its remaining budget is lost: *C* may be the WCET, if deadlines are a
//!    nanosecond earlier (as in point 3, also on one CPU: otherwise the remaining budget runs with
//!    the old deadline). Such an answer needs threads that keep their WCETs; the answers with
//!    *C = Q* do not, where *D = T*. With *D < T* a thread that overruns, and sleeps in the middle of a
//!    piece, may wake up with a remaining budget before its deadline, and demand within *D* does
//!    not account for that: those answers need threads that keep their WCETs, too (`admission/`
//!    counts densities for threads that may overrun). A thread that never blocks uses its budget.
//! 5. **Other speeds.** On CPUs of one speed `s`, alone or together, a budget `Q` lasts `ceil(Q / s)`
//!    of their time, and a thread with *C = Q* completes at the instant at which it is used up. So
//!    points 1 to 4 hold of the view in time, but for one case: a job that ends at the deadline of its
//!    server when the next one has arrived leaves the budget overdrawn by a part of a nanosecond, and
//!    the next job would have less than `Q`. Where this is possible (`D = T`, and `Q / s` is not a
//!    whole time), deadlines count as a nanosecond earlier for a *yes*. A *no* holds: up to the first late
//!    job the schedule is that of EDF, or a job had less than its execution time and is late. Where a
//!    budget may be overdrawn, bounds on late jobs are not used. With the kernel's arithmetic a charge
//!    is rounded down, at every event, and the budget of a job lasts no less; jobs of at most `Q` then
//!    run as before, and others are excluded.
//! 6. **Anything else is unknown**: threads that are tied to a CPU beside others that migrate may
//!    wait for them while other CPUs are free (Tang et al., Examples 5 to 8), and with affinities
//!    of several kinds the only candidate may be the wrong one.
//!
//! **Reclaiming** (`grub=on` and a task with `reclaim`). A thread that reclaims may run for longer
//! than its budget, so response times of EDF do not hold, and on one of several CPUs of a cluster
//! no result does: the bandwidth reserved on all of them is lent on each (`demo:reclaim-defect`).
//! There are two exceptions, with *D = T*.
//!
//! *One CPU.* A CPU alone in its cluster, or with threads that are tied to it and `lend=cpu`, keeps
//! deadlines if the bandwidths are at most `Umax` together (Lipari and Baruah 2000). Suppose that a
//! job is pending a nanosecond before its deadline `d`, in a stretch from `t0` on in which the CPU
//! runs only threads due by `d`. The running thread pays at least `running / Umax` for each
//! nanosecond, and the integral of `running` is the entitlement of the servers by `d - 1 ns`. Each
//! of `n` servers has paid at most its entitlement, and less than a nanosecond more, because
//! budgets end at whole nanoseconds; the server of the job at least `Q - C` less. So the job ends
//! in time if `(Q - C) + (1 / Umax - 1) Q >= n + 1` nanoseconds: budgets of microseconds satisfy
//! this with any `Umax` clearly below 1, and others with a WCET below the budget. With the kernel's
//! arithmetic every charge is rounded down, at every event, and nothing is guaranteed.
//!
//! *Several CPUs* with threads that may use all `m` of them and `lend=parallel`, if the bandwidths
//! are at most `m Umax - (m - 1) umax` together, `umax` the largest (Abeni, Lipari, Parri and Sun
//! 2016; the proof is ours). Let `U(t)` be the bandwidth in use. A running thread pays at least
//! `b / Umax` and at most 1 for each nanosecond, with `m b = U + (m - 1) umax`. Fix a deadline `d`,
//! and consider the pieces (point 1) that are due by `d`. The lag of a server is its entitlement,
//! `u` for each nanosecond up to its zero-lag time, less what it has paid; it is 0 when the server
//! wakes up with a new deadline, and is dropped when the server becomes inactive. `L` is the sum of
//! the lags. Suppose that `L` rises above 0. Then some server `j` has a positive lag; let it be
//! contending since `r`, when its lag was not positive. Since `r` it runs, for a total price of
//! `P`, or all `m` CPUs run pieces due by `d`.
//!
//! - While all run, `L` changes by at most `U - m b = -(m - 1) umax` for each nanosecond.
//! - While `j` runs, by at most `U` less its price, and `U = m b - (m - 1) umax` is at most
//!   `m Umax` times its price, less `(m - 1) umax`.
//! - So `L` has changed by at most `(m Umax - 1) P - (m - 1) umax (t - r)`, and `P < u_j (t - r)`,
//!   because the lag has grown: `L` has fallen by `m (1 - Umax) u_j (t - r)` or more. It did not
//!   rise above 0.
//!
//! Budgets that end at whole nanoseconds are overdrawn by less than one; if that debt goes into a
//! piece that is due later, keep counting it. Now suppose that a job is pending at `e = d - 1 ns`.
//! It has run since its release with a full budget, so `r = d - T`, and its server has at least
//! `Q - C` left. By `r` the sum was not positive, so that by `e` it is at most
//! `(m - 1) u - m (1 - Umax) Q`. On the other hand no server has paid more than its entitlement by
//! `d`, plus a nanosecond: the sum is above `Q - C - (n - 1)` less the sum of all `u`, which is at
//! most `m`. This is a contradiction if `(Q - C) + m (1 - Umax) Q >= n + 2 m` nanoseconds (with
//! `m Umax >= 1`; below, `m - 1` stands for `m (1 - Umax)`). It holds for hogs with `C = Q`, and so
//! no server exhausts its budget at or after its deadline: there is no bypass (point 3). A job
//! above its budget would continue in a piece that begins with a part of the budget, where the
//! argument about `r` fails: such jobs are excluded.
//!
//! Options: `exhaust=postpone` lets a thread continue beyond its budget: nothing is guaranteed.
//! `lag_reset=on` starts late servers anew, so that bounds on late jobs are not used. With
//! `throttle_cost` a server that is used up at its deadline or later stays away from its CPU for a
//! while. As for the bypass in point 3, a test that accepts deadlines **a nanosecond earlier** shows
//! that there is no such server; nothing is known once a job is late. `throttle=waiting` keeps the
//! promises that point 3 and the bounds on late jobs (`docs/analyses/lag.md`) rest on: a server goes
//! on in place only while no migrating thread waits that might run instead, and no tied one waits for
//! a migrating thread to leave. Ties, `start`, `ac`, `limit`, `fair`, `slack` and `kernel` do not
//! affect the above.
//!
//! **Tasks that come first** (`edf-us`, `fpedf`, `edf-k`, `rm-us`). Let `h` of them be on `m` CPUs,
//! with `h < m`, or with `h = m` and no task below them. Give each of their jobs so much work that
//! its task executes without a pause until its next job arrives. These tasks then keep exactly `h`
//! CPUs busy, and the others are under EDF or RM on `m - h` CPUs, with the same releases. No job
//! ends later for less work of others: take the jobs in the order of priorities, where an earlier
//! job of its own task precedes a job. If none of the jobs above a job ends later, then at each
//! instant no more tasks have a ready job above it, and every job that was ready still is or has
//! ended, so that the job runs at every instant at which it ran. (This is Ha and Liu's argument,
//! with jobs that wait for the earlier jobs of their tasks.) So a *yes* and a bound for one CPU for
//! each of the `h` tasks and a cluster of `m - h` for the others hold for the policy. With
//! self-suspension this fails: less work may then let a job arrive at a worse time.
//!
//! **Pieces** (`cd`, `edf-wm`). Where no task is split this is partitioned EDF, and the tests for
//! it apply. The results for pieces are in `layland_analysis::semi_partitioned`.

use layland_analysis::{Assumption, longest_execution};
use layland_model::{
    Algorithm, Behaviour, CpuId, CpuSet, Duration, ExecutionModel, Form, Index, JobOrder, OnMiss,
    Order, Placement, Preemption, Rate, RateSum, Releases, ScheduleRule, Server, ServerKind,
    Service, System, Task, TaskId,
};
use layland_policy::PolicyOptions;
use layland_policy::deadline::KernelOptions;
use layland_policy::deadline::accounts::Lend;
use layland_policy::deadline::price::Arith;
use layland_policy::fair::pd2;
use std::borrow::Cow;
use std::cmp::Reverse;

/// The answers of a test about a view that hold for the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answers {
    /// *Yes* and *no*.
    All,
    /// *Yes*.
    Yes,
    /// *No*.
    No,
    /// Neither: no test runs.
    None,
}

/// The bounds for a view that hold for the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bounds {
    /// Response times, reached where the analysis says so, and tardiness.
    All,
    /// Response times and tardiness, as upper bounds.
    Above,
    /// Response times as upper bounds, of tasks without a server.
    Unserved,
    /// Response times, if all are within the deadlines of the view.
    InTime,
    /// None.
    None,
}

/// A system that is analysed in place of another.
pub(crate) struct View<'a> {
    /// The algorithms that the policy implements, for this view.
    pub(crate) algorithms: Vec<Algorithm>,
    pub(crate) system: Cow<'a, System>,
    pub(crate) answers: Answers,
    pub(crate) bounds: Bounds,
    /// The changes to the system, each a sentence without a full stop.
    pub(crate) tells: Vec<&'static str>,
}

impl<'a> View<'a> {
    /// Creates a view of the system as the policy runs it.
    pub(crate) fn plain(algorithms: Vec<Algorithm>, system: Cow<'a, System>) -> View<'a> {
        let (answers, bounds) = (Answers::All, Bounds::All);
        View { algorithms, system, answers, bounds, tells: Vec::new() }
    }
}

/// Returns the tasks of a set under Pfair in slots: each with the number of slots that it needs,
/// and a window of whole slots.
///
/// # Errors
/// The reason why this guarantees nothing: the first slot of a job that is released within a slot
/// begins later, so its windows end after the deadline.
pub(crate) fn in_slots<'a>(
    algorithm: Algorithm,
    system: &System,
    options: &PolicyOptions,
) -> Result<View<'a>, &'static str> {
    let early = algorithm == Algorithm::ErPd2;
    let (slots, releases) =
        pd2::slots(system, options, early).map_err(|_| "the policy refuses the set")?;
    let all_begin_slots = system.tasks.values().all(|task| slots.begins_slots(task));
    if releases == Releases::OnBoundaries && !all_begin_slots {
        return Err(
            "a job that is released within a slot can be late by less than a slot; with releases=anywhere \
             windows are shorter, and none is",
        );
    }
    let mut whole = system.clone();
    for id in system.tasks.ids() {
        let task = &mut whole.tasks[id];
        let weight = slots.weights[id];
        let time = |count: i64| Duration::from_ns(count.saturating_mul(slots.quantum.ns()));
        task.wcet = vec![Service::from_ns(time(weight.execution).ns())].into();
        (task.deadline, task.period) = (time(weight.window), time(weight.window));
    }
    whole.provenance = None;
    Ok(View {
        algorithms: vec![algorithm],
        system: Cow::Owned(whole),
        // The policy may need less than whole slots, so a *no* does not hold.
        answers: Answers::Yes,
        bounds: Bounds::None,
        tells: vec![
            "each task counts as whole slots: those that it needs, and those until its deadline",
        ],
    })
}

/// Returns the view where some tasks come first: a cluster of one CPU for each of them, and one for
/// the others.
pub(crate) fn of_top_class(system: &System, rule: &ScheduleRule) -> Option<View<'static>> {
    let ScheduleRule::HighestFirst { groups, order: JobOrder::TopFirst { top, then }, .. } = rule
    else {
        return None;
    };
    let [group] = groups.as_slice() else { return None };
    let (h, m, all) = (top.len(), group.cpus.len(), group.tasks.len());
    let suspends = |task: &Task| matches!(task.behaviour, Behaviour::SelfSuspending { .. });
    // The proof does not cover jobs that block others of higher priority, either.
    if h > m || h == m && all > h || system.tasks.values().any(suspends) || system.has_blocking() {
        return None;
    }
    let mut divided = system.clone();
    let own = group.cpus.iter().take(h).map(CpuSet::single);
    let shared: CpuSet = group.cpus.iter().skip(h).collect();
    divided.platform.clusters = own.chain((h < m).then_some(shared)).collect();
    for id in system.tasks.ids() {
        divided.tasks[id].cluster = top.binary_search(&id).unwrap_or(h);
        divided.tasks[id].affinity = None;
    }
    Some(View {
        algorithms: algorithms(Algorithm::Ordered(Form::Clustered, *then), &divided),
        system: Cow::Owned(divided),
        answers: Answers::Yes,
        bounds: Bounds::Above,
        tells: vec![TOP_FIRST],
    })
}

/// Returns the tasks with the regions that the policy allows them: one over the whole job, if jobs
/// are never preempted.
pub(crate) fn with_regions(system: &System, rule: &ScheduleRule) -> Option<View<'static>> {
    let ScheduleRule::Deferred { regions, .. } = rule else { return None };
    let mut with_regions = system.clone();
    for (id, preemption) in regions.iter() {
        with_regions.tasks[id].preemption.clone_from(preemption);
    }
    let is_floating = |preemption: &Preemption| matches!(preemption, Preemption::Delayed(_));
    let bounds = if regions.values().any(is_floating) {
        // The gain of a task from its own floating region is not counted.
        Bounds::Above
    } else {
        Bounds::All
    };
    let view = View::plain(Vec::new(), Cow::Owned(with_regions));
    Some(View { bounds, ..view })
}

/// Returns each task on its own CPU, if none is split. The answers about a view are about the tasks
/// of the set, and pieces are not those tasks.
pub(crate) fn of_pieces(system: &System, rule: &ScheduleRule) -> Option<View<'static>> {
    let ScheduleRule::Split { pieces } = rule else { return None };
    let keeps = |task: &Task| longest_execution(task) <= task.own_wcet();
    let is_split = pieces.values().any(|own| own.len() > 1);
    if is_split || !system.tasks.values().all(keeps) {
        return None;
    }
    let mut apart = system.clone();
    apart.platform.clusters = system.platform.cpus().map(CpuSet::single).collect();
    apart.provenance = None;
    for (task, own) in apart.tasks.values_mut().zip(pieces.values()) {
        task.wcet = vec![task.own_wcet(); task.wcet.len()].into();
        (task.cluster, task.affinity) = (own[0].cpu.index(), None);
        task.execution = ExecutionModel::Wcet;
    }
    let apart = apart.time_view(None).unwrap_or(apart);
    Some(View {
        algorithms: algorithms(Algorithm::Ordered(Form::Partitioned, Order::Deadline), &apart),
        system: Cow::Owned(apart),
        answers: Answers::Yes,
        bounds: Bounds::None,
        tells: vec![PIECES],
    })
}

/// Returns the interference of fixed-priority servers on the other tasks: each server is a task
/// with its budget. A deferrable server can keep its whole budget until the end of a period, which
/// is what a task with that much jitter does. Without servers only the fixed priorities remain.
pub(crate) fn of_servers(
    system: &System,
    algorithm: Algorithm,
    rule: &ScheduleRule,
) -> Option<View<'static>> {
    let (Algorithm::Served(_, order), ScheduleRule::Served { kind, servers, .. }) =
        (algorithm, rule)
    else {
        return None;
    };
    if servers.values().all(Option::is_none) {
        let algorithms = vec![Algorithm::Ordered(Form::Partitioned, order)];
        return Some(View::plain(algorithms, Cow::Owned(system.clone())));
    }
    let mut tasks = system.clone();
    tasks.provenance = None;
    let mut in_order: Vec<TaskId> = tasks.tasks.ids().collect();
    in_order.sort_by_key(|&id| (order.fixed_key(&tasks.tasks[id]), tasks.tasks[id].rank, id));
    for (place, id) in in_order.into_iter().enumerate() {
        let task = &mut tasks.tasks[id];
        task.priority = Some(place as i64);
        let Some(Server { budget, period }) = servers.get(id).copied().flatten() else { continue };
        task.wcet = vec![budget; task.wcet.len()].into();
        (task.behaviour, task.execution) = (Behaviour::Periodic, ExecutionModel::Wcet);
        (task.offset, task.jobs, task.on_miss) = (Duration::ZERO, None, OnMiss::Continue);
        task.jitter = match kind {
            ServerKind::Deferrable => period - budget.at_unit_speed(),
            ServerKind::Sporadic | ServerKind::Polling => Duration::ZERO,
        };
        // Only the other tasks are analysed, so the deadline of the server itself must not matter.
        task.deadline = period + task.jitter;
    }
    Some(View {
        algorithms: vec![Algorithm::Ordered(Form::Partitioned, Order::Given)],
        system: Cow::Owned(tasks),
        answers: Answers::None,
        bounds: Bounds::Unserved,
        tells: Vec::new(),
    })
}

/// Returns the algorithm of uniform CPUs that a policy with this rule implements, if some group has CPUs
/// of different speeds, and the running jobs are on the fastest of them.
pub(crate) fn on_the_fastest(algorithm: Algorithm, rule: &ScheduleRule) -> Option<Algorithm> {
    let ScheduleRule::HighestFirst { order, placement: Placement::FastestFirst, .. } = rule else {
        return None;
    };
    match (order, algorithm) {
        // EFDF makes the schedule of EDF where that meets all deadlines.
        (JobOrder::Deadline | JobOrder::Feasible, _) => {
            Some(Algorithm::FastestFirst(Order::Deadline))
        }
        (JobOrder::Fixed(_), Algorithm::Ordered(_, order)) => Some(Algorithm::FastestFirst(order)),
        // The tests try fewer CPUs, where a running job might have to give way to an equal one.
        (JobOrder::DeadlineThenRunning, _)
        | (JobOrder::Fixed(_), _)
        | (JobOrder::Points(_), _)
        | (JobOrder::ZeroLaxity, _)
        | (JobOrder::Levels { .. }, _)
        | (JobOrder::TopFirst { .. }, _) => None,
    }
}

/// Returns the views of groups whose CPUs have different speeds: identical CPUs, each as slow as the
/// slowest of them.
///
/// Under any policy that runs the jobs of the highest priorities, which stay the same throughout each
/// job, and wherever it places them, no job ends later than on those: by induction down the
/// priorities, a job runs whenever it runs there, and each nanosecond takes at least one off the time
/// that its rest needs on the slowest CPU. So every *yes*, response time and tardiness holds. If the
/// jobs of highest priority run on the fastest CPUs, the same holds of the `k` fastest CPUs of each
/// group alone, for each `k`: CPUs that are slower than all others never make a job later.
pub(crate) fn of_slowest(
    placed: &System,
    algorithm: Algorithm,
    rule: &ScheduleRule,
) -> Vec<View<'static>> {
    let ScheduleRule::HighestFirst { order, placement, .. } = rule else { return Vec::new() };
    let clusters = &placed.platform.clusters;
    let is_mixed = |cpus: &CpuSet| cpus.len() > 1 && placed.speed_of(cpus).is_none();
    // Jobs that follow others become ready at other times where those end earlier.
    let has_other_releases = placed.has_followers();
    let has_overheads = !placed.platform.overheads.is_zero();
    if !clusters.iter().any(is_mixed) || has_overheads || has_other_releases {
        return Vec::new();
    }
    // Priorities that change with time, or with who runs, are not those of the slower system.
    let theory = match order {
        JobOrder::Deadline | JobOrder::Fixed(_) | JobOrder::Feasible => Some(algorithm),
        // The tests choose the class or the points themselves, by other execution times.
        JobOrder::TopFirst { .. } | JobOrder::Points(_) => None,
        JobOrder::DeadlineThenRunning | JobOrder::ZeroLaxity | JobOrder::Levels { .. } => {
            return Vec::new();
        }
    };
    let most = clusters.iter().map(CpuSet::len).max().unwrap_or(0);
    let fewer = if *placement == Placement::FastestFirst { 1..most } else { 0..0 };
    let of_prefix = |k: usize| {
        let mut fastest = placed.clone();
        for cluster in fastest.platform.clusters.iter_mut().filter(|cpus| is_mixed(cpus)) {
            let mut cpus: Vec<CpuId> = cluster.iter().collect();
            cpus.sort_by_key(|&cpu| (Reverse(placed.platform.speeds[cpu].rate()), cpu));
            *cluster = cpus.into_iter().take(k).collect();
        }
        let system = fastest.time_view_of_slowest()?;
        let tells = if k == most { SLOWEST } else { FASTEST };
        let view = |algorithms, system, tells| View {
            algorithms,
            system,
            answers: Answers::Yes,
            bounds: Bounds::Above,
            tells: vec![tells],
        };
        match theory {
            Some(algorithm) => {
                Some(view(algorithms(algorithm, &system), Cow::Owned(system), tells))
            }
            // The class would have CPUs of its own among all of them.
            None if k < most => None,
            None => of_top_class(&system, rule)
                .map(|of_class| view(of_class.algorithms, of_class.system, TOP_ON_SLOWEST)),
        }
    };
    [most].into_iter().chain(fewer).filter_map(of_prefix).collect()
}

const SLOWEST: &str = "each CPU counts as the slowest one of its group, where no job ends earlier";
const FASTEST: &str = "only the fastest CPUs of each group count, each as the slowest of these, where no job ends earlier";
const TOP_ON_SLOWEST: &str = "each CPU counts as the slowest one of those that count, where no job ends earlier, each of \
     the tasks that come first as alone on a CPU, and the others share those that are left";
const PIECES: &str = "no task is split, so that this is partitioned EDF";
const TOP_FIRST: &str = "each of the tasks that come first counts as alone on a CPU, and the others share those that \
     are left";
const RECLAIMING: &str = "the budgets count as execution times; with reclaiming each job still ends by its deadline, \
     though response times do not hold";
/// Returns true if the bounds of the policy's own theory on late jobs hold: late servers lose no time
/// and are not started anew.
pub(crate) fn has_bounds_of_late(options: &KernelOptions) -> bool {
    !options.resets_lag && options.throttle_cost == Duration::ZERO
}

const BUDGETS: &str = "the budgets count as execution times";
const EARLIER: &str =
    "deadlines count as a nanosecond earlier, so that no server is replenished in place";
const BUDGETS_EARLIER: &str = "the budgets count as execution times, and deadlines as a nanosecond earlier, so that \
     no server is replenished in place";
const AFTER_THROTTLES: &str = "deadlines count as a nanosecond earlier, so that no late server is throttled, which takes time";
/// A change to a system whose tasks count in time.
pub(crate) const IN_TIME: &str =
    "execution times count as the time that they take at the speeds of the CPUs";

const WCETS_EARLIER: &str = "the WCETs count, which are below the budgets, and deadlines as a nanosecond earlier, so \
     that each job finds a new budget";

/// Returns true if the options change the behaviour of threads so that the theory of their policy
/// does not apply: they reclaim, their budgets do not end, or CPUs change their speeds.
pub(crate) fn is_another_theory(system: &System, options: &KernelOptions) -> bool {
    options.scales_speeds
        || options.reclaims_in(system)
        || options.postpones
        || !options.places_as_printed
}

/// The reservations of the threads on CPUs that lend to each other.
#[derive(Clone)]
struct Lender {
    threads: i64,
    total: RateSum,
    widest: Rate,
}

impl Lender {
    fn add(&mut self, u: &Rate) {
        self.threads += 1;
        self.total.add(u);
        self.widest = self.widest.clone().max(u.clone());
    }
}

/// Returns the reason why nothing is known of threads that reclaim here, if there is one. A cluster
/// of several CPUs has to lend only the bandwidth of its threads: each CPU its own where all are
/// tied, all of them together where all may migrate.
fn lends_too_much(system: &System, lend: Lend) -> Option<&'static str> {
    let of_cluster = |(index, cluster): (usize, &CpuSet)| {
        let mut own = system.tasks.iter().filter(|(_, task)| task.cluster == index).peekable();
        own.peek()?;
        let migrate = own.all(|(id, _)| system.allowed_cpus(id) == *cluster);
        match (cluster.len(), migrate, lend) {
            (1, _, _) | (_, true, Lend::Parallel) | (_, false, Lend::Cpu) => None,
            (_, false, Lend::Parallel) => Some(
                "with lend=parallel CPUs lend to each other, and threads that are tied to one cannot follow",
            ),
            (_, true, Lend::Cpu) => Some(
                "with lend=cpu a CPU lends what its own threads leave, and here threads migrate: say lend=parallel",
            ),
            (_, _, Lend::Domain) => Some(
                "threads reclaim on CPUs that share a cluster: each CPU lends bandwidth that is reserved on all of \
                 them (demo:reclaim-defect)",
            ),
        }
    };
    system.platform.clusters.iter().enumerate().find_map(of_cluster)
}

/// Returns the system that is analysed where threads reclaim: the clusters of `placed` lend to no
/// other cluster.
fn of_reclaiming(
    placed: &System,
    budgets: &System,
    options: &KernelOptions,
) -> Result<System, &'static str> {
    if options.arith == Arith::Kernel {
        return Err(
            "with the kernel's arithmetic threads that reclaim pay less than they should, by roundings",
        );
    }
    let umax = &options.umax;
    let none = Lender { threads: 0, total: RateSum::default(), widest: Rate::ZERO };
    let mut lenders = vec![none; placed.platform.clusters.len()];
    for task in budgets.tasks.values() {
        if task.deadline != task.period {
            return Err(
                "threads reclaim, and what is known of that needs deadlines at the ends of periods",
            );
        }
        lenders[task.cluster].add(&task.utilization());
    }
    for (lender, cluster) in lenders.iter().zip(&placed.platform.clusters) {
        let m = cluster.len() as i64;
        let keeps = &Rate::whole(m - 1) * &lender.widest;
        let all = &(&Rate::whole(m) * umax) - &keeps;
        if !lender.total.fits(&Rate::ZERO, &all) {
            return Err(match m {
                1 => "threads reclaim, and reserve more of a CPU than they may reclaim (umax)",
                _ => {
                    "threads reclaim, and reserve more of m CPUs than global EDF can lend: m umax, less m - 1 times \
                     the largest bandwidth"
                }
            });
        }
    }
    for (task, with_budget) in placed.tasks.values().zip(budgets.tasks.values()) {
        let budget = with_budget.own_wcet();
        let is_hog = task.behaviour == Behaviour::Hog;
        let longest = if is_hog { budget } else { longest_execution(task) };
        let m = placed.platform.clusters[task.cluster].len() as i64;
        if m > 1 && longest > budget {
            return Err("threads reclaim on several CPUs, and a job may need more than its budget");
        }
        let (more, needed) = match m {
            1 => (&(&Rate::ONE / umax) - &Rate::ONE, 1),
            _ => ((&Rate::whole(m) * &(&Rate::ONE - umax)).min(Rate::whole(m - 1)), 2 * m),
        };
        let spare = Rate::whole((budget - longest.min(budget)).ns());
        let room = &spare + &(&more * &Rate::whole(budget.ns()));
        if room < Rate::whole(lenders[task.cluster].threads + needed) {
            return Err(
                "threads reclaim, and budgets end at whole nanoseconds, which may be nanoseconds too late: \
                        say umax=19/20, or give budgets above the WCETs",
            );
        }
    }
    Ok(budgets.clone())
}

/// Returns the views of threads with reservations, besides that of the algorithm itself; or the
/// reason why there is none.
pub(crate) fn of_threads(
    algorithm: Algorithm,
    system: &System,
    options: &KernelOptions,
) -> Result<Vec<View<'static>>, &'static str> {
    if options.scales_speeds {
        return Err(
            "with grub_pa the CPUs change their speeds, which no test covers (Defect 2 of Tang et al. 2021)",
        );
    }
    if !options.places_as_printed {
        return Err("with limit, place or fit threads are placed by rules that no test is about");
    }
    if options.postpones {
        return Err(
            "with exhaust=postpone threads go on beyond their budgets, which no test covers",
        );
    }
    if system.tasks.values().any(|task| task.jitter > Duration::ZERO) {
        return Err(
            "with release jitter jobs arrive less than a period apart, and a server goes on with an old deadline",
        );
    }
    if system.tasks.values().any(|task| task.bursts().is_some()) {
        return Err(
            "jobs that come by a curve arrive less than a period apart, and a server goes on with an old deadline",
        );
    }
    if system.has_blocking() {
        return Err("no test of threads with reservations counts blocking times");
    }
    let divided = divided(system)?;
    let is_timed = !system.platform.is_unit_speed();
    if is_timed {
        refuse_speeds(&divided, options.reclaims_in(system), options.arith)?;
    }
    let wastes = |task: &Task| options.arith == Arith::Kernel || overdraws(&divided, task);
    let is_overdrawn = is_timed && divided.tasks.values().any(wastes);
    let carries =
        is_timed && divided.tasks.values().any(|task| task.deadline >= task.period && wastes(task));
    let placed = if is_timed { divided.time_view(None).unwrap_or(divided) } else { divided };
    let one_cpu_each = placed.platform.clusters.iter().all(|cluster| cluster.len() == 1);
    if algorithm == Algorithm::AdaptivePartitioning
        && system.platform.clusters.iter().any(|cluster| cluster.len() > 1)
    {
        // The placement of threads depends on the order of arrivals, which only the policy's own
        // test considers.
        return Ok(Vec::new());
    }
    let algorithms = algorithms(Algorithm::Ordered(Form::Clustered, Order::Deadline), &placed);
    let budgets = with_budgets(&placed);
    if options.reclaims_in(system) {
        if options.throttle_cost > Duration::ZERO {
            return Err(
                "no test of threads that reclaim counts what it costs to throttle late ones",
            );
        }
        if let Some(reason) = lends_too_much(system, options.lend) {
            return Err(reason);
        }
        let system = Cow::Owned(of_reclaiming(&placed, &budgets, options)?);
        let (answers, bounds) = (Answers::Yes, Bounds::None);
        return Ok(vec![View { algorithms, system, answers, bounds, tells: vec![RECLAIMING] }]);
    }
    let above =
        budgets.tasks.iter().any(|(id, task)| task.own_wcet() != placed.tasks[id].own_wcet());
    let view = |system: System, answers, bounds, tells: Option<&'static str>| {
        let (algorithms, system) = (algorithms.clone(), Cow::Owned(system));
        let tells = tells.into_iter().chain(is_timed.then_some(IN_TIME)).collect();
        View { algorithms, system, answers, bounds, tells }
    };
    let mut views = Vec::new();
    // Points 1 to 3.
    let costs = options.throttle_cost > Duration::ZERO;
    let bypasses = costs || algorithm == Algorithm::SchedDeadline && !one_cpu_each;
    match (bypasses || carries, above) {
        (false, _) => {
            let exact = !above && one_cpu_each;
            let bounds = if options.resets_lag || is_overdrawn {
                Bounds::InTime
            } else if exact {
                Bounds::All
            } else {
                Bounds::Above
            };
            let answers = if exact { Answers::All } else { Answers::Yes };
            let tells = above.then_some(BUDGETS);
            views.push(view(budgets.clone(), answers, bounds, tells));
        }
        (true, _) => {
            let tells = match (costs, above) {
                (true, _) => AFTER_THROTTLES,
                (false, true) => BUDGETS_EARLIER,
                (false, false) => EARLIER,
            };
            let earlier = earlier(&budgets);
            views.extend(
                earlier.map(|earlier| view(earlier, Answers::Yes, Bounds::InTime, Some(tells))),
            );
            // Point 5.
            if !bypasses && !above && one_cpu_each {
                views.push(view(budgets.clone(), Answers::No, Bounds::None, None));
            }
        }
    }
    // Point 4.
    if above {
        let mut wcets = placed;
        for (task, with_budget) in wcets.tasks.values_mut().zip(budgets.tasks.values()) {
            if task.behaviour == Behaviour::Hog {
                task.wcet.clone_from(&with_budget.wcet);
            }
            task.budget = None;
        }
        let earlier = earlier(&wcets);
        views.extend(
            earlier.map(|earlier| view(earlier, Answers::Yes, Bounds::InTime, Some(WCETS_EARLIER))),
        );
        if one_cpu_each && !costs {
            views.push(view(wcets, Answers::No, Bounds::None, None));
        }
    }
    Ok(views)
}

/// Returns the reason why no test is about threads on CPUs of these speeds, if there is one.
fn refuse_speeds(divided: &System, reclaims: bool, arith: Arith) -> Result<(), &'static str> {
    if reclaims {
        return Err("threads reclaim on CPUs of other speeds, where they do not pay for the work");
    }
    let is_mixed = |cluster: usize| {
        let cpus = &divided.platform.clusters[cluster];
        divided.speed_of(cpus).is_none()
    };
    if divided.tasks.values().any(|task| is_mixed(task.cluster)) {
        return Err(
            "threads migrate between CPUs of different speeds, and the kernel does not run those with the earliest \
             deadlines on the fastest ones",
        );
    }
    let exceeds = |task: &Task| {
        let is_hog = task.behaviour == Behaviour::Hog;
        is_hog || longest_execution(task) > task.reservation()
    };
    if arith == Arith::Kernel && divided.tasks.values().any(exceeds) {
        return Err(
            "with the kernel's arithmetic a thread gets more than its budget on CPUs of other speeds, since charges \
             are rounded down",
        );
    }
    Ok(())
}

/// Returns true if a thread that uses its budget up overdraws it by a part of a nanosecond: see
/// point 5.
fn overdraws(divided: &System, task: &Task) -> bool {
    let speed = divided.speed_of(&divided.platform.clusters[task.cluster]).unwrap_or_default();
    let budget = task.reservation();
    // The work of the CPU in the time of the budget.
    let work = &Rate::whole(speed.time_for(budget).ns()) * &speed.rate();
    work > Rate::whole(budget.ns())
}

/// Returns the system with clusters of single CPUs where all threads are tied, and unchanged
/// clusters where all threads may use the whole cluster.
fn divided(system: &System) -> Result<System, &'static str> {
    let mut divided = system.clone();
    let mut clusters: Vec<CpuSet> = Vec::new();
    for (index, cluster) in system.platform.clusters.iter().enumerate() {
        let own = || system.tasks.iter().filter(|(_, task)| task.cluster == index);
        let first = clusters.len();
        if own().all(|(id, _)| system.allowed_cpus(id) == *cluster) {
            clusters.push(cluster.clone());
            own().for_each(|(id, _)| divided.tasks[id].cluster = first);
        } else if own().all(|(id, _)| system.allowed_cpus(id).len() == 1) {
            clusters.extend(cluster.iter().map(CpuSet::single));
            for (id, _) in own() {
                let cpu = system.allowed_cpus(id);
                let at = clusters[first..].iter().position(|single| *single == cpu);
                divided.tasks[id].cluster = first + at.expect("it is a CPU of the cluster");
            }
        } else if own().all(|(id, _)| {
            let allowed = system.allowed_cpus(id);
            allowed.len() == 1 || allowed == *cluster
        }) {
            return Err(
                "threads that are tied to a CPU share a cluster with threads that migrate, and may wait \
                        for them while other CPUs are free (Tang et al. 2021, Examples 5 to 8)",
            );
        } else {
            return Err(
                "threads may use several CPUs, but not their whole cluster: the one CPU that the \
                        kernel looks at before it pushes may be a wrong one",
            );
        }
    }
    divided.tasks.values_mut().for_each(|task| task.affinity = None);
    divided.platform.clusters = clusters;
    Ok(divided)
}

/// Returns the system with budgets as WCETs. The longest execution of jobs stays the same.
fn with_budgets(system: &System) -> System {
    let mut budgets = system.clone();
    for task in budgets.tasks.values_mut() {
        let (longest, budget) = (longest_execution(task), task.reservation());
        task.execution = if longest > budget {
            ExecutionModel::Uniform { min: Service::from_ns(1), max: longest }
        } else {
            ExecutionModel::Wcet
        };
        task.wcet.iter_mut().for_each(|wcet| *wcet = budget);
        task.budget = None;
    }
    budgets
}

/// Returns the system with all deadlines a nanosecond earlier. None if a deadline is only a
/// nanosecond.
fn earlier(system: &System) -> Option<System> {
    let mut earlier = system.clone();
    for task in earlier.tasks.values_mut() {
        task.deadline -= Duration::from_ns(1);
        if task.deadline <= Duration::ZERO {
            return None;
        }
    }
    Some(earlier)
}

/// Returns the clustered and partitioned forms that are equivalent to a form here: see
/// [`algorithms`].
fn forms(form: Form, placed: &System) -> impl Iterator<Item = Form> {
    let disjoint = placed
        .tasks
        .iter()
        .all(|(id, task)| placed.allowed_cpus(id) == placed.platform.clusters[task.cluster]);
    let one_cpu_each = placed.platform.clusters.iter().all(|cluster| cluster.len() == 1);
    let (clustered, partitioned) = match form {
        Form::Weak | Form::Strong | Form::Hierarchical => (disjoint, disjoint && one_cpu_each),
        Form::Global | Form::Clustered => (false, one_cpu_each),
        Form::Partitioned => (false, false),
    };
    let clustered = clustered.then_some(Form::Clustered);
    clustered.into_iter().chain(partitioned.then_some(Form::Partitioned))
}

/// Returns the algorithm of the policy, and the clustered and partitioned forms that are equivalent
/// here:
/// - scheduling with affinities that are equal or disjoint is clustered scheduling: in a cluster
///   the weak invariant lets a job wait only while all of its CPUs run jobs before it;
/// - with one CPU in each cluster every form is the partitioned form;
/// - where jobs only execute every protocol for locks is partitioned scheduling.
pub(crate) fn algorithms(algorithm: Algorithm, placed: &System) -> Vec<Algorithm> {
    let mut algorithms = vec![algorithm];
    if let Algorithm::Levels(form, in_level) = algorithm {
        let forms: Vec<Form> = [form].into_iter().chain(forms(form, placed)).collect();
        // If each graph is a level of its own, its bound as a whole holds in any order within it.
        // Tests that are not about graphs reject tasks with predecessors. On one CPU bounds are per
        // task, by rank.
        if placed.has_followers() && Assumption::GraphPriorities.check(placed).is_ok() {
            let whole = forms.iter().filter(|form| matches!(form, Form::Global | Form::Clustered));
            algorithms.extend(whole.map(|&form| Algorithm::Ordered(form, Order::Given)));
        }
        algorithms.extend(forms[1..].iter().map(|&form| Algorithm::Levels(form, in_level)));
        return algorithms;
    }
    let order = match algorithm {
        Algorithm::Ordered(Form::Weak | Form::Strong | Form::Hierarchical, order) => {
            let disjoint = placed.tasks.iter().all(|(id, task)| {
                placed.allowed_cpus(id) == placed.platform.clusters[task.cluster]
            });
            if !disjoint {
                return algorithms;
            }
            algorithms.push(Algorithm::Ordered(Form::Clustered, order));
            order
        }
        Algorithm::Ordered(Form::Global | Form::Clustered, order) => order,
        // The CPUs that each graph received are a cluster.
        Algorithm::Federated => {
            algorithms.push(Algorithm::Ordered(Form::Clustered, Order::Deadline));
            Order::Deadline
        }
        Algorithm::Deferred(Form::Global | Form::Clustered, order) => {
            if placed.platform.clusters.iter().all(|cluster| cluster.len() == 1) {
                algorithms.push(Algorithm::Deferred(Form::Partitioned, order));
            }
            return algorithms;
        }
        // If jobs lock nothing and do not suspend themselves, the protocol has no effect.
        Algorithm::Locking(order, _) => {
            if Assumption::OnlyExecutes.check(placed).is_ok() {
                algorithms.push(Algorithm::Ordered(Form::Partitioned, order));
            }
            return algorithms;
        }
        // With one CPU a job counts as due at its deadline.
        Algorithm::FairLateness => Order::Deadline,
        // A set is guaranteed if and only if EDF guarantees it.
        Algorithm::Efdf => Order::Deadline,
        Algorithm::Ordered(Form::Partitioned, _)
        | Algorithm::Levels(..)
        | Algorithm::Deferred(..)
        | Algorithm::FastestFirst(_)
        | Algorithm::Served(..)
        | Algorithm::Edzl
        | Algorithm::TopFirst(_)
        | Algorithm::SchedDeadline
        | Algorithm::SemiPartitionedDeadline
        | Algorithm::AdaptivePartitioning
        | Algorithm::Run
        | Algorithm::Qps
        | Algorithm::Pd2
        | Algorithm::ErPd2
        | Algorithm::DpWrap
        | Algorithm::LreTl
        | Algorithm::UEdf
        | Algorithm::Split(..)
        | Algorithm::Groups(_)
        | Algorithm::MixedCriticality(_)
        | Algorithm::Other => return algorithms,
    };
    if placed.platform.clusters.iter().all(|cluster| cluster.len() == 1) {
        algorithms.push(Algorithm::Ordered(Form::Partitioned, order));
    }
    algorithms
}
