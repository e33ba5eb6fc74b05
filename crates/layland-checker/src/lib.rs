//! An independent check of a recorded run: whether its [`Trace`] can be true of its [`System`], and
//! whether it keeps what its policy promises ([`ScheduleRule`]).
//!
//! ```text
//!   System -------+
//!   Trace --------+--> check --> Report: violations, each with job, CPU and time
//!   ScheduleRule -+
//! ```
//!
//! It works from the trace alone, shares no code with any engine or policy, and holds for every
//! schedule:
//!
//! 1. segments are not empty, lie inside the run, are merged and in order;
//! 2. no CPU holds two jobs at once, and no job two CPUs;
//! 3. a job only uses CPUs that its task may use and that are online;
//! 4. the jobs of a task are numbered without gaps, arrive and end in order;
//! 5. a job executes only after its release and after its predecessor's end, and until its own end; in a
//!    simulation without overheads, a job that completes does so on its CPU;
//! 6. the work that a job is said to have got is what its segments supply: the sum of (length -
//!    overhead) * speed. On a CPU of a speed other than 1 each segment may supply less than one
//!    nanosecond's worth more, for ends of segments are rounded up to whole nanoseconds. Not checked
//!    where the speed changes within a segment that has an overhead;
//! 7. a completed job got the demand that its execution model allows (not checked for hogs, whose
//!    jobs are budgets), and none got more. A trace of the world ([`Demand::Bounded`]) is held to the upper bound
//!    alone: no job got more than its WCET, or than its model draws at most;
//! 8. a job arrives, can run, is due and leaves when the set says (`contradictions.rs`; not checked for hogs);
//! 9. every job that must be there is there: those of periodic and listed tasks, and of sporadic ones whose
//!    separation has an upper limit. CPUs go offline where the set asks for it.
//!
//! What contradicts the set is reported, and everything else is then judged by the set's dates
//! ([`as_the_set_says`]): a trace cannot excuse a schedule by the deadlines that it claims.
//!
//! For [`ScheduleRule::HighestFirst`] it also holds at every instant, in each group of CPUs, that no
//! online CPU is idle while a job waits, and that no waiting job comes before a running one. A job is
//! ready from its release or its predecessor's end, whichever is later, until its own end; and not before the jobs
//! that it follows have completed (`followed.rs`), nor while the marks of a trace of the world say that it suspends
//! itself. A CPU that spends the time of a segment on overhead counts as running its job.
//!
//! For [`ScheduleRule::Deferred`] it also holds at every instant that no online CPU of a group is idle while a job
//! waits, and that a job which waits comes before one that runs only while that one is in a non-preemptive region
//! (`deferred.rs`).
//!
//! For [`ScheduleRule::Weak`] and [`ScheduleRule::Strong`] it holds at every instant that every CPU
//! which a waiting job may use, or which is reachable from it, is online and runs a job that comes before it. A
//! finding names the CPU, and for a CPU that is only reachable who would have to move where.
//!
//! For [`ScheduleRule::LeastLaxity`] it also holds at every instant that no online CPU of a group is idle while a job
//! waits; and on a machine without overheads that from each look on those jobs run that come first
//! (`least_laxity.rs`).
//!
//! For [`ScheduleRule::Optimal`] it also holds that every segment is on a CPU of its group, and that no
//! job misses its deadline: if the machine has no overheads, no request comes, and no execution model
//! goes beyond the WCET.
//!
//! For [`ScheduleRule::Pfair`] it also holds that every segment is on a CPU of its group; and, if the machine has no
//! overheads and no request comes, that jobs run in whole slots, and each subtask in its window, if the weights
//! of its group sum to no more than its CPUs (`pfair.rs`).
//!
//! For [`ScheduleRule::Shares`] the same holds as for [`ScheduleRule::Optimal`]; and, if the machine has no overheads
//! and no request comes, that jobs get exactly their shares in each slice (`shares.rs`).
//!
//! For [`ScheduleRule::Allotted`] the same holds as for [`ScheduleRule::Optimal`]; and, if the machine has no overheads
//! and no request comes, that at every instant those jobs run that the allotments say (`allotted.rs`).
//!
//! For [`ScheduleRule::Served`] it also holds that every segment is on a CPU of its group; and, if the machine has no
//! overheads and no request comes, that at every instant the job runs that comes first, of those whose servers have
//! budget (`served.rs`).
//!
//! For [`ScheduleRule::Split`] it also holds that the pieces are those of the set, and that every segment is on the
//! CPU of a piece, in their order; and, if the machine has no overheads, that budgets and windows are kept and each
//! CPU runs the piece that is due first; and if no request comes either, that none is late (`split.rs`).
//!
//! For [`ScheduleRule::MixedCriticality`] it also holds that every segment is on a CPU of its group, and
//! that a job on a guaranteed CPU misses its deadline only if a job of its criticality or above executes
//! more than its bound of that level before (`mixed.rs`).
//!
//! Where requests give a task another affinity or cluster, or a cluster other CPUs, the task may use
//! whatever it may use at some time, and a highest-first rule is not checked for groups with such a task.
//! Weak and strong rules follow every such request, unless the trace says that it was refused.
//!
//! The time needed is `O(n log n)` for `n` jobs and segments; for weak and strong rules, times the number
//! of different affinities and CPUs.

// A new event, action or verdict breaks every match here, until somebody has decided what it means.
#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

mod affinity;
mod allotted;
mod contradictions;
mod deferred;
mod evidence;
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
    Change, CpuId, CpuMap, CpuSet, Duration, ExecutionModel, Group, Index, JobId, Rate,
    RequestKind, ScheduleRule, System, Task, TaskId, TaskMap, Time,
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
///      a#0 runs on CPU 0 until 4ns, after its end at 3ns\n  \
///      a#0 got 2ns, but its segments supply 3ns"
/// );
/// ```
pub fn check(trace: &Trace, system: &System, rule: &ScheduleRule, limit: usize) -> Report {
    check_with(trace, system, rule, limit, &Evidence::default())
}

/// The same for a trace of which [`Evidence`] says how it was made: a run on a real machine, where everything
/// takes time, or what a kernel recorded of it.
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
    // The rule is held by the dates of the set. What is wrong with those of the trace has been said.
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

/// Whether no job of a task can need more than its WCET.
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
    /// From when on each job can run, in the order of `Trace::jobs`: its release or the end of its
    /// predecessor, whichever is later; and that end.
    ready: Vec<(Time, Option<Time>)>,
    /// When the jobs that each one follows have completed, where tasks follow others ([`followed::ends`]).
    followed: Vec<Option<Time>>,
    /// In the order of the trace.
    sound: Vec<Sound>,
    /// The times at which each CPU changes between online (at first) and offline.
    switches: CpuMap<Vec<Time>>,
    /// Tasks whose CPUs change.
    is_changing: TaskMap<bool>,
    allowed: TaskMap<CpuSet>,
    /// What lasts no longer is no violation.
    latency: Duration,
    /// By job; only with a latency.
    segment_counts: BTreeMap<JobId, i64>,
    /// What decided how much each job needed.
    demand: Demand,
    /// When jobs could not go on, by their place in `Trace::jobs`: in a trace of the world, where marks tell it.
    suspended: BTreeMap<usize, Vec<(Time, Time)>>,
    /// Who else ran.
    foreign: &'a [Foreign],
    /// Whether it is the trace of a real machine.
    is_real: bool,
    /// When the policy decided, if not at once.
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
            ScheduleRule::HighestFirst { groups, order } => {
                self.check_highest_first(groups, Some(order));
            }
            ScheduleRule::Deferred { groups, order, regions } => {
                self.check_deferred(groups, order, regions);
                self.check_highest_first(groups, None);
            }
            ScheduleRule::Served { groups, order, kind, servers } => {
                self.check_servers(groups, order, *kind, servers);
            }
            ScheduleRule::Locking(rule) => self.check_locking(rule),
            ScheduleRule::LeastLaxity { groups, rule } => {
                self.check_least_laxity(groups, *rule);
                self.check_highest_first(groups, None);
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

    /// Adds a violation; its text is only made if it is kept.
    fn violated(&mut self, violation: impl FnOnce(&Self) -> Violation) {
        let mut report = std::mem::take(&mut self.report);
        report.add(|| violation(self));
        self.report = report;
    }

    /// Each CPU that goes or returns: when, and whether it is online then. Unlike in `switches` there are those that
    /// return in the instant in which they go. Such a CPU is not missed, but its job has lost it.
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

    /// Whether every segment is on a CPU that serves its task.
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

/// The CPUs that each task may use at some time, and whether they change.
fn allowed_at_some_time(system: &System) -> (TaskMap<CpuSet>, TaskMap<bool>) {
    let mut allowed: TaskMap<CpuSet> =
        system.tasks.ids().map(|task| system.allowed_cpus(task)).collect();
    let mut is_changing = TaskMap::filled(false, system.tasks.len());
    // Which clusters each task is in at some time, and which CPUs each cluster has.
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
