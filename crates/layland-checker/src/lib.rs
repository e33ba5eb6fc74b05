//! An independent check of a recorded run. It checks that a [`Trace`] is possible for its
//! [`System`], and that it keeps the promises of its policy ([`ScheduleRule`]).
//!
//! ```text
//!   System -------+
//!   Trace --------+--> check --> Report: violations, each with job, CPU and time
//!   ScheduleRule -+
//! ```
//!
//! The check works from the trace alone and shares no code with any engine or policy. For every
//! schedule it checks that
//!
//! 1. segments are not empty, lie inside the run, are merged and in order;
//! 2. no CPU runs two jobs at once, and no job runs on two CPUs at once;
//! 3. a job uses only CPUs that its task may use and that are online;
//! 4. the jobs of a task are numbered without gaps, and arrive and end in order;
//! 5. a job executes only after its release and its predecessor's end, and before its own end; in a
//!    simulation without overheads, a completing job completes on its CPU;
//! 6. the recorded execution of a job equals the supply of its segments: the sum of (length -
//!    overhead) * speed. On a CPU whose speed is not 1, each segment may supply less than one
//!    nanosecond's worth more, because the ends of segments are rounded up to whole nanoseconds.
//!    This is not checked if the speed changes within a segment that has an overhead;
//! 7. a completed job got the demand that its execution model allows (not checked for hogs, whose
//!    jobs are budgets), and no job got more. For a trace of the world ([`Demand::Bounded`]), only
//!    the upper bound is checked: no job got more than its WCET, or than the maximum that its model
//!    draws;
//! 8. a job arrives, can run, is due and leaves at the times of the set (`contradictions.rs`; not
//!    checked for hogs);
//! 9. no required job is missing. The jobs of periodic and listed tasks are required, and those of
//!    sporadic tasks whose separation has an upper limit. CPUs go offline when the set requests it.
//!
//! Contradictions between the trace and the set are reported, and all other checks then use the
//! set's dates ([`as_the_set_says`]): a trace cannot excuse a schedule with the deadlines that it
//! claims.
//!
//! For [`ScheduleRule::HighestFirst`], at every instant and in each group of CPUs, no online CPU is
//! idle while a job waits, and no waiting job comes before a running one. A job is ready from its
//! release or its predecessor's end, whichever is later, until its own end. It is not ready before
//! the jobs that it follows have completed (`followed.rs`), or while the marks of a trace of the
//! world show that it suspends itself. A CPU that spends the time of a segment on overhead counts
//! as running its job. If the order is [`JobOrder::Feasible`], each job is also aborted at the first
//! instant at which it is infeasible, and at no other (`feasible.rs`).
//!
//! For [`ScheduleRule::Deferred`], at every instant no online CPU of a group is idle while a job
//! waits. A waiting job may come before a running one only while the running one is in a
//! non-preemptive region (`deferred.rs`).
//!
//! For [`ScheduleRule::Weak`] and [`ScheduleRule::Strong`], at every instant each online CPU that a
//! waiting job may use, or that is reachable from it, runs a job that comes before it. A finding
//! names the CPU. For a CPU that is only reachable, it also names the jobs that would have to move,
//! and their destinations.
//!
//! For [`ScheduleRule::LeastLaxity`], at every instant no online CPU of a group is idle while a job
//! waits. On a machine without overheads, the jobs that come first at each evaluation of laxities
//! run until the next one (`least_laxity.rs`).
//!
//! For [`ScheduleRule::Optimal`], every segment is on a CPU of its group. No job misses its
//! deadline if the machine has no overheads, no request comes, and no execution model goes beyond
//! the WCET.
//!
//! For [`ScheduleRule::Pfair`], every segment is on a CPU of its group. If the machine has no
//! overheads and no request comes, jobs run in whole slots; and each subtask runs in its window if
//! the weights of its group sum to at most its number of CPUs (`pfair.rs`).
//!
//! For [`ScheduleRule::Shares`], the conditions of [`ScheduleRule::Optimal`] hold. If the machine
//! has no overheads and no request comes, jobs also get exactly their shares in each slice
//! (`shares.rs`).
//!
//! For [`ScheduleRule::Allotted`], the conditions of [`ScheduleRule::Optimal`] hold. If the machine
//! has no overheads and no request comes, the jobs that the allotments select also run at every
//! instant (`allotted.rs`).
//!
//! For [`ScheduleRule::Served`], every segment is on a CPU of its group. If the machine has no
//! overheads and no request comes, at every instant the running job is the first of those whose
//! servers have budget (`served.rs`).
//!
//! For [`ScheduleRule::Split`], the pieces are those of the set, and every segment is on the CPU of
//! a piece, in the order of the pieces. If the machine has no overheads, budgets and windows are
//! kept, and each CPU runs the piece with the earliest deadline. If no request comes either, no
//! piece is late (`split.rs`).
//!
//! For [`ScheduleRule::MixedCriticality`], every segment is on a CPU of its group. A job on a
//! guaranteed CPU misses its deadline only if a job of its criticality or above has exceeded its
//! bound of that level before (`mixed.rs`).
//!
//! If requests give a task another affinity or cluster, or give a cluster other CPUs, the task may
//! use every CPU that it may use at some time. A highest-first rule is not checked for groups with
//! such a task. Weak and strong rules apply every such request, unless the trace shows that it was
//! refused.
//!
//! The check needs `O(n log n)` time for `n` jobs and segments; for weak and strong rules, this is
//! multiplied by the number of distinct affinities and of CPUs.

// A new event, action or verdict breaks every match here until its meaning has been decided.
#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

mod affinity;
mod allotted;
mod contradictions;
mod deferred;
mod evidence;
mod feasible;
mod followed;
mod foreign;
mod highest_first;
mod jobs;
mod least_laxity;
mod locking;
mod mixed;
mod pfair;
mod plan;
pub mod reservations;
mod segments;
mod served;
mod shares;
mod split;
mod suspended;
mod violation;

use self::affinity::Reach;
pub use self::contradictions::as_the_set_says;
pub use self::evidence::{Demand, Evidence, Origin};
use self::highest_first::Key;
pub use self::violation::{JobName, Milestone, Move, Report, Violation};
use layland_model::{
    Change, CpuId, CpuMap, CpuSet, Duration, ExecutionModel, Group, Index, JobId, JobOrder,
    Placement, Rate, RequestKind, ScheduleRule, System, Task, TaskId, TaskMap, Time,
};
use layland_trace::{Foreign, MarkKind, Trace};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Checks a trace of a valid system against a rule and reports at most `limit` violations in full.
///
/// ```
/// use layland_model::{CpuId, Duration, JobId, ScheduleRule, Service, System, Task, TaskId, Time};
/// use layland_checker::check;
/// use layland_trace::{Job, JobEnd, Recorder, Segment, Trace};
/// let system =
///     System::new(1, vec![Task::implicit("a", Service::from_ns(2), Duration::from_ns(5))]);
/// let (id, at) = (JobId { task: TaskId(0), seq: 0 }, Time::from_ns);
/// let job = Job { id, arrival: at(0), release: at(0), deadline: at(5) };
/// let mut trace = Trace::default();
/// trace.executed(&Segment {
///     job: id,
///     cpu: CpuId(0),
///     start: at(1),
///     end: at(3),
///     overhead: Duration::ZERO,
/// });
/// trace.ended(&job, at(3), JobEnd::Completed, Service::from_ns(2));
/// trace.over(at(4), false);
/// assert!(check(&trace, &system, &ScheduleRule::None, 10).is_clean());
///
/// trace.segments[0].end = at(4);
/// let report = check(&trace, &system, &ScheduleRule::None, 10);
/// assert_eq!(
///     report.to_string(),
///     "2 violations\n  \
///      a#1 runs on CPU 0 until 4ns, after its end at 3ns\n  \
///      a#1 got 2ns, but its segments supply 3ns"
/// );
/// ```
pub fn check(trace: &Trace, system: &System, rule: &ScheduleRule, limit: usize) -> Report {
    check_with(trace, system, rule, limit, &Evidence::default())
}

/// Does the same as [`check`] for a trace whose origin is described by [`Evidence`]: a run on a
/// real machine, where everything takes time, or the record of a kernel.
///
/// ```
/// use layland_checker::{Evidence, check_with};
/// use layland_model::{Duration, ScheduleRule, System};
/// use layland_trace::Trace;
/// let system = System::new(1, Vec::new());
/// let evidence = Evidence::within(Duration::from_us(200));
/// assert!(check_with(&Trace::default(), &system, &ScheduleRule::None, 10, &evidence).is_clean());
/// ```
pub fn check_with(
    trace: &Trace,
    system: &System,
    rule: &ScheduleRule,
    limit: usize,
    evidence: &Evidence<'_>,
) -> Report {
    let mut checker = Checker::of(trace, system, limit, evidence);
    checker.allow_homes(rule);
    let corrected = checker.held_to_set(rule, evidence);
    checker.check_jobs();
    checker.check_segments();
    checker.check_cpus();
    checker.check_jobs_against_segments();
    // The rule is checked by the dates of the set. Wrong dates in the trace have been reported.
    if let Cow::Owned(corrected) = &corrected {
        let mut by_set = Checker::of(corrected, system, 0, evidence);
        by_set.allow_homes(rule);
        by_set.check_jobs();
        by_set.check_segments();
        by_set.report = checker.report;
        by_set.check_rule(rule);
        return by_set.report;
    }
    checker.check_rule(rule);
    checker.report
}

/// Returns true if no job of a task can need more than its WCET.
fn stays_within_wcet(task: &Task) -> bool {
    let wcet = task.own_wcet();
    match &task.execution {
        ExecutionModel::Wcet => true,
        ExecutionModel::Level(level) => task.wcet.get(level.level()).is_some_and(|&c| c <= wcet),
        ExecutionModel::Fraction(fraction) => *fraction <= Rate::ONE,
        ExecutionModel::Uniform { max, .. } => *max <= wcet,
        ExecutionModel::Discrete(values) => values.iter().all(|&(work, _)| work <= wcet),
        ExecutionModel::List(values) => values.iter().all(|&work| work <= wcet),
    }
}

/// A segment with a known job and CPU and a positive length inside the run.
#[derive(Clone, Copy)]
struct Sound {
    /// Index of the job in `Trace::jobs`.
    job: usize,
    cpu: CpuId,
    start: Time,
    end: Time,
    overhead: Duration,
}

struct Checker<'a> {
    trace: &'a Trace,
    system: &'a System,
    report: Report,
    /// Indices into `Trace::jobs`, by job identifier.
    by_id: Vec<usize>,
    /// For each job of `Trace::jobs`, the time from which it can run, which is its release or the
    /// end of its predecessor, whichever is later; and that end.
    ready: Vec<(Time, Option<Time>)>,
    /// For each job, the completion of the jobs that it follows, if tasks follow others
    /// ([`followed::ends`]).
    followed: Vec<Option<Time>>,
    /// The sound segments, in the order of the trace.
    sound: Vec<Sound>,
    /// The times at which each CPU changes between online (at first) and offline.
    switches: CpuMap<Vec<Time>>,
    /// True for tasks whose CPUs change.
    is_changing: TaskMap<bool>,
    allowed: TaskMap<CpuSet>,
    /// Shorter deviations are not violations.
    latency: Duration,
    /// The number of segments of each job. Filled only with a latency.
    segment_counts: BTreeMap<JobId, i64>,
    /// The source of the demand of each job.
    demand: Demand,
    /// The intervals in which jobs were suspended, by index into `Trace::jobs`. Filled only for a
    /// trace of the world, from its marks.
    suspended: BTreeMap<usize, Vec<(Time, Time)>>,
    /// The other threads that ran.
    foreign: &'a [Foreign],
    /// True if the trace is one of a real machine.
    is_real: bool,
    /// The times of the policy's decisions, unless it decided at once.
    decisions: Vec<Time>,
}

impl<'a> Checker<'a> {
    fn of(
        trace: &'a Trace,
        system: &'a System,
        limit: usize,
        evidence: &Evidence<'a>,
    ) -> Checker<'a> {
        let mut checker = Checker::new(trace, system, limit);
        checker.latency = evidence.latency.max(Duration::ZERO);
        checker.demand = evidence.demand;
        checker.foreign = evidence.foreign;
        checker.is_real = evidence.is_real();
        checker.decisions.clone_from(&evidence.decisions);
        if evidence.demand == Demand::Bounded {
            checker.suspended = checker.suspensions();
        }
        if checker.latency > Duration::ZERO {
            for segment in &trace.segments {
                *checker.segment_counts.entry(segment.job).or_insert(0) += 1;
            }
        }
        checker
    }

    fn new(trace: &'a Trace, system: &'a System, limit: usize) -> Self {
        let mut by_id: Vec<usize> = (0..trace.jobs.len()).collect();
        by_id.sort_by_key(|&index| (trace.jobs[index].job.id, index));
        let mut switches: CpuMap<Vec<Time>> =
            CpuMap::filled(Vec::new(), system.platform.cpu_count());
        for mark in &trace.marks {
            let (cpu, goes_offline) = match mark.kind {
                MarkKind::CpuOnline(cpu) => (cpu, false),
                MarkKind::CpuOffline(cpu) => (cpu, true),
                MarkKind::BudgetExhausted(..)
                | MarkKind::Speed(..)
                | MarkKind::Lock(..)
                | MarkKind::Suspended(_)
                | MarkKind::Resumed(_)
                | MarkKind::Note(_) => continue,
            };
            if let Some(switches) = switches.get_mut(cpu)
                && switches.len().is_multiple_of(2) == goes_offline
            {
                // A change undone within the same instant does not count.
                match switches.pop_if(|last| *last == mark.at) {
                    Some(_) => {}
                    None => switches.push(mark.at),
                }
            }
        }
        let (allowed, is_changing) = allowed_at_some_time(system);
        Checker {
            trace,
            system,
            report: Report { limit, ..Report::default() },
            followed: followed::ends(trace, system, &by_id),
            by_id,
            ready: vec![(Time::ZERO, None); trace.jobs.len()],
            sound: Vec::with_capacity(trace.segments.len()),
            switches,
            is_changing,
            allowed,
            latency: Duration::ZERO,
            segment_counts: BTreeMap::new(),
            demand: Demand::Drawn,
            suspended: BTreeMap::new(),
            foreign: &[],
            is_real: false,
            decisions: Vec::new(),
        }
    }

    fn check_rule(&mut self, rule: &ScheduleRule) {
        match rule {
            ScheduleRule::None => {}
            ScheduleRule::HighestFirst { groups, order, placement } => {
                if *order == JobOrder::Feasible {
                    self.check_feasible(groups);
                }
                self.check_highest_first(groups, Some(order), *placement);
            }
            ScheduleRule::Deferred { groups, order, regions } => {
                self.check_deferred(groups, order, regions);
                self.check_highest_first(groups, None, Placement::Anywhere);
            }
            ScheduleRule::Served { groups, order, kind, servers } => {
                self.check_servers(groups, order, *kind, servers);
            }
            ScheduleRule::Locking(rule) => self.check_locking(rule),
            ScheduleRule::LeastLaxity { groups, rule } => {
                self.check_least_laxity(groups, *rule);
                self.check_highest_first(groups, None, Placement::Anywhere);
            }
            ScheduleRule::Optimal { groups } => self.check_optimal(groups),
            &ScheduleRule::Pfair { ref groups, quantum, releases, early } => {
                self.check_pfair(groups, quantum, releases, early);
            }
            ScheduleRule::Shares { groups, unit, slices } => {
                self.check_shares(groups, *unit, *slices);
            }
            ScheduleRule::Allotted { groups, unit } => self.check_allotted(groups, *unit),
            ScheduleRule::Split { pieces } => self.check_split(pieces),
            ScheduleRule::MixedCriticality { groups, guaranteed } => {
                self.check_mixed_criticality(groups, guaranteed);
            }
            ScheduleRule::Weak { order } => self.check_affinities(order, Reach::Weak),
            ScheduleRule::Strong { order } => self.check_affinities(order, Reach::Strong),
        }
    }

    fn name(&self, id: JobId) -> JobName {
        let known = self.system.tasks.get(id.task).map(|task| task.name.to_string());
        JobName { id, task: known.unwrap_or_else(|| format!("task {}", id.task)) }
    }

    fn name_at(&self, index: usize) -> JobName {
        self.name(self.trace.jobs[index].job.id)
    }

    /// Adds a violation, and computes it only if it is kept.
    fn violated(&mut self, violation: impl FnOnce(&Self) -> Violation) {
        let mut report = std::mem::take(&mut self.report);
        report.add(|| violation(self));
        self.report = report;
    }

    /// Returns the time and the new state (true if online) of each change of a CPU. Unlike
    /// `switches`, it includes CPUs that return at the instant at which they go offline. Such a CPU
    /// counts as present throughout, but its job has lost it.
    fn cpu_marks(&self) -> impl Iterator<Item = (Time, CpuId, bool)> + use<'a> {
        let cpus = self.system.platform.cpu_count();
        let marks = self.trace.marks.iter().filter_map(|mark| match mark.kind {
            MarkKind::CpuOnline(cpu) => Some((mark.at, cpu, true)),
            MarkKind::CpuOffline(cpu) => Some((mark.at, cpu, false)),
            MarkKind::BudgetExhausted(..)
            | MarkKind::Speed(..)
            | MarkKind::Lock(..)
            | MarkKind::Suspended(_)
            | MarkKind::Resumed(_)
            | MarkKind::Note(_) => None,
        });
        marks.filter(move |(_, cpu, _)| cpu.index() < cpus)
    }

    fn find(&self, id: JobId) -> Option<usize> {
        let jobs = &self.trace.jobs;
        let at = self.by_id.partition_point(|&index| jobs[index].job.id < id);
        self.by_id.get(at).copied().filter(|&index| jobs[index].job.id == id)
    }

    // --- ScheduleRule::Optimal ----------------------------------------------------------------

    fn check_optimal(&mut self, groups: &[Group]) {
        self.check_served(groups);
        let is_ideal = self.system.platform.overheads.is_zero() && self.system.requests.is_empty();
        if !is_ideal || !self.system.tasks.values().all(stays_within_wcet) {
            return;
        }
        for (index, record) in self.trace.jobs.iter().enumerate() {
            if record.missed(self.trace.over) {
                let deadline = record.job.deadline;
                self.violated(|this| Violation::Late { job: this.name_at(index), deadline });
            }
        }
    }

    /// Checks that every segment is on a CPU that serves its task.
    fn check_served(&mut self, groups: &[Group]) {
        let serves = |cpu: CpuId, task: TaskId| {
            groups.iter().any(|group| group.cpus.contains(cpu) && group.tasks.contains(&task))
        };
        for segment in std::mem::take(&mut self.sound) {
            if !serves(segment.cpu, self.trace.jobs[segment.job].job.id.task) {
                self.violated(|this| Violation::OutsideGroup {
                    job: this.name_at(segment.job),
                    cpu: segment.cpu,
                    at: segment.start,
                });
            }
        }
    }
}

/// Returns the CPUs that each task may use at some time, and true for tasks whose CPUs change.
fn allowed_at_some_time(system: &System) -> (TaskMap<CpuSet>, TaskMap<bool>) {
    let mut allowed: TaskMap<CpuSet> =
        system.tasks.ids().map(|task| system.allowed_cpus(task)).collect();
    let mut is_changing = TaskMap::filled(false, system.tasks.len());
    // The clusters that each task is in at some time, and the CPUs of each cluster.
    let mut clusters: TaskMap<Vec<usize>> =
        system.tasks.values().map(|task| vec![task.cluster]).collect();
    let mut cluster_cpus = system.platform.clusters.clone();
    let mut is_cluster_changing = vec![false; cluster_cpus.len()];
    for request in &system.requests {
        match &request.kind {
            RequestKind::Reconfigure(task, change) => {
                let task = *task;
                if task.index() >= allowed.len() {
                    continue;
                }
                match change {
                    Change::Affinity(cpus) => {
                        allowed[task] = allowed[task].union(cpus);
                        is_changing[task] = true;
                    }
                    Change::Cluster(cluster) => {
                        clusters[task].push(*cluster);
                        is_changing[task] = true;
                    }
                    Change::Parameters { .. } => {}
                }
            }
            RequestKind::SetClusterCpus { cluster, cpus } => {
                if let Some(of_cluster) = cluster_cpus.get_mut(*cluster) {
                    *of_cluster = of_cluster.union(cpus);
                    is_cluster_changing[*cluster] = true;
                }
            }
            RequestKind::Leave(_) | RequestKind::CpuOnline(_) | RequestKind::CpuOffline(_) => {}
        }
    }
    for task in system.tasks.ids() {
        let moved = clusters[task].len() > 1;
        let resized = clusters[task].iter().any(|&c| is_cluster_changing.get(c) == Some(&true));
        is_changing[task] |= resized;
        if moved || resized {
            for cpus in clusters[task].iter().filter_map(|&cluster| cluster_cpus.get(cluster)) {
                allowed[task] = allowed[task].union(cpus);
            }
        }
    }
    (allowed, is_changing)
}
