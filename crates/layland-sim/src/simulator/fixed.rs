//! The loop for fixed job priorities: a fast way to the same figures.
//!
//! Some policies do nothing but run the jobs of highest priority in each of their groups of CPUs, and
//! no job of theirs changes its priority ([`Policy::is_highest_first`]). With tasks whose jobs are all
//! alike, on CPUs of unit speed, without overheads, nothing of the general loop is needed then: no
//! event has to reach the policy and no decision has to come back. For a recorder that takes
//! [totals](Recorder::takes_totals), this loop simulates such a run. The result is that of the general
//! loop, which is its slow twin (`crates/layland-tests/tests/together/loops.rs`).
//!
//! Where the time goes, and what the loop does about it:
//!
//! 1. All times are in units, the greatest common divisor of all of them. So the time of an event and
//!    its task or CPU fit into one word, as do the key of a job and its task.
//! 2. A run computes the end of a job once, when the job starts, and a segment only counts.
//! 3. A mispredicted branch costs as much as a dozen instructions. Trees, lists and counts have no
//!    branch that depends on the order of times or keys.
//! 4. Groups have nothing to do with each other. They take turns, each with a stretch of time, so that
//!    the tasks of a group stay in the cache.

mod cpus;
mod decisions;
mod group;
mod least;
mod row;
mod waiting;

use crate::options::{EventLoop, Outcome, SimOptions};
use decisions::Decisions;
use group::Group;
use layland_engine::is_regular;
use layland_engine::streams::Stream;
use layland_model::{
    Behaviour, CpuId, Duration, JobOrder, ScheduleRule, Speed, System, TaskId, TaskMap, Time,
};
use layland_policy::{Needs, Policy, Schedules};
use layland_trace::Recorder;
use row::TaskRow;
use std::sync::atomic::Ordering;

/// The number of jobs in a turn of one group. It takes some milliseconds: in between, a run can be
/// interrupted.
const JOBS_ALONE: u64 = 1 << 16;
/// The least number of jobs in a turn of several groups. A shorter turn forgets what the processor has
/// learned of a group, and with a longer one the table of decisions leaves the cache.
const JOBS_TOGETHER: u64 = 1 << 13;
/// The tasks of a group come into the cache once in each turn, so that many tasks need long turns. This
/// is how many tasks there may be for a job.
const TASKS_OF_JOB: u64 = 4;

/// The rule for the keys of the jobs of a task; a smaller key is a higher priority.
#[derive(Clone, Copy, Debug)]
enum KeyRule {
    /// This one, before all deadlines.
    Fixed(i64),
    /// The deadline, less this length.
    BeforeDeadline(Duration),
}

impl KeyRule {
    /// Returns the rules for all tasks, and whether a running job keeps its CPU among equals; `None`
    /// for an order in which priorities change.
    fn of_tasks(order: &JobOrder, system: &System) -> Option<(TaskMap<KeyRule>, bool)> {
        let all = |key: &dyn Fn(TaskId) -> KeyRule| system.tasks.ids().map(key).collect();
        Some(match order {
            JobOrder::Deadline => (all(&|_| KeyRule::BeforeDeadline(Duration::ZERO)), false),
            JobOrder::DeadlineThenRunning => {
                (all(&|_| KeyRule::BeforeDeadline(Duration::ZERO)), true)
            }
            JobOrder::Points(earlier) => (all(&|id| KeyRule::BeforeDeadline(earlier[id])), false),
            JobOrder::Fixed(numbers) => (all(&|id| KeyRule::Fixed(numbers[id])), false),
            JobOrder::TopFirst { top, then } => {
                let key = |id| JobOrder::key_in_class(top, *then, id, &system.tasks[id]);
                let or_deadline = |key: Option<i64>| {
                    key.map_or(KeyRule::BeforeDeadline(Duration::ZERO), KeyRule::Fixed)
                };
                (all(&|id| or_deadline(key(id))), false)
            }
            JobOrder::ZeroLaxity | JobOrder::Feasible | JobOrder::Levels { .. } => return None,
        })
    }
}

/// The jobs of a task, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Jobs {
    first: u64,
    period: u64,
    demand: u64,
    deadline: u64,
}

impl Jobs {
    /// Returns the jobs of a task whose jobs are all alike.
    fn of(id: TaskId, system: &System, seed: u64) -> Option<Jobs> {
        let task = &system.tasks[id];
        let is_plain = is_regular(task) && task.steps.is_none();
        if !is_plain || matches!(task.behaviour, Behaviour::Hog) {
            return None;
        }
        let mut stream = Stream::new(id, &system.tasks, seed);
        let first = stream.first()?;
        let ns = |length: i64| u64::try_from(length).ok();
        let jobs = Jobs {
            first: ns(first.at.ns())?,
            period: ns(task.period.ns())?,
            demand: ns(stream.demand(0).ns())?,
            deadline: ns(task.deadline.ns())?,
        };
        (first.at == first.release && jobs.demand > 0 && jobs.period > 0).then_some(jobs)
    }
}

/// Simulates a run in this loop, if it can. Returns none if it cannot, and reports nothing then.
pub(super) fn simulated<P: Policy, R: Recorder>(
    system: &System,
    policy: &P,
    recorder: &mut R,
    options: &SimOptions<'_>,
    end: Time,
) -> Option<Outcome<()>> {
    if !recorder.takes_totals() {
        return None;
    }
    let mut groups = Groups::of(system, policy, options, end)?;
    Some(groups.run(recorder, options))
}

/// All groups of a run.
struct Groups {
    groups: Vec<Group>,
    /// A unit, in nanoseconds.
    unit: u64,
    horizon: u64,
    /// The length of a turn.
    turn: u64,
    decisions: Decisions,
    cpus: u64,
}

impl Groups {
    /// Returns the groups of a run that this loop can simulate.
    fn of<P: Policy>(
        system: &System,
        policy: &P,
        options: &SimOptions<'_>,
        end: Time,
    ) -> Option<Groups> {
        let Needs { schedules, .. } = policy.needs();
        let is_plain = options.event_loop == EventLoop::Fitting
            && options.explore.is_none()
            && policy.is_highest_first()
            && schedules == Schedules::ReadyJobs
            && system.requests.is_empty()
            && system.graphs().is_empty()
            && system.platform.overheads.is_zero()
            && system.platform.speeds.values().all(|&speed| speed == Speed::UNIT);
        let ScheduleRule::HighestFirst { groups, order, .. } = policy.rule() else { return None };
        if !is_plain {
            return None;
        }
        // A task in no group has jobs, too, which wait for ever.
        let grouped: usize = groups.iter().map(|group| group.tasks.len()).sum();
        if grouped != system.tasks.len() {
            return None;
        }
        let (keys, running_first) = KeyRule::of_tasks(&order, system)?;
        let mut jobs = Vec::with_capacity(system.tasks.len());
        let horizon_ns = u64::try_from(end.ns()).ok()?;
        let mut unit = horizon_ns;
        for id in system.tasks.ids() {
            let of_task = Jobs::of(id, system, options.seed)?;
            let Jobs { first, period, demand, deadline } = of_task;
            let earlier = match keys[id] {
                KeyRule::Fixed(_) => 0,
                KeyRule::BeforeDeadline(earlier) => u64::try_from(earlier.ns()).ok()?,
            };
            unit = [first, period, demand, deadline, earlier].into_iter().fold(unit, gcd);
            jobs.push(of_task);
        }
        let jobs: TaskMap<Jobs> = jobs.into_iter().collect();
        let unit = unit.max(1);
        let horizon = horizon_ns / unit;
        let of_group = |group: &layland_model::Group| {
            let cpus: Vec<CpuId> = group.cpus.iter().collect();
            let size = cpus.len().max(group.tasks.len());
            let shift = usize::BITS - size.leading_zeros();
            let rows = rows(&group.tasks, &jobs, &keys, Scale { unit, horizon, shift })?;
            Some(Group::new(unit as i64, shift, rows, cpus, running_first))
        };
        let groups = groups.iter().map(of_group).collect::<Option<Vec<_>>>()?;
        let wanted = match groups.len() {
            ..=1 => JOBS_ALONE,
            _ => JOBS_TOGETHER.max(jobs.len() as u64 / TASKS_OF_JOB),
        };
        Some(Groups {
            decisions: Decisions::new(groups.len(), 2 * wanted as usize),
            groups,
            unit,
            horizon,
            turn: turn(&jobs, unit, wanted),
            cpus: system.platform.cpu_count() as u64,
        })
    }

    fn run<R: Recorder>(&mut self, recorder: &mut R, options: &SimOptions<'_>) -> Outcome<()> {
        let mut now = 0u64;
        let mut interrupted = false;
        loop {
            now = self.horizon.min(now.saturating_add(self.turn));
            for group in &mut self.groups {
                group.run_until(now, &mut self.decisions, recorder);
            }
            if now == self.horizon {
                break;
            }
            self.decisions.begin_after(now);
            if let Some(progress) = options.progress {
                progress(self.time(now));
            }
            if options.interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                interrupted = true;
                break;
            }
        }
        // At the start every CPU comes online, and the policy decides.
        let (mut events, decisions) = (self.cpus, 1 + self.decisions.count);
        for group in &mut self.groups {
            group.finish(now, recorder);
            events += group.events;
        }
        let end = self.time(now);
        recorder.over(end, interrupted);
        Outcome { policy: (), end, interrupted, cycle: None, events, decisions }
    }

    fn time(&self, at: u64) -> Time {
        // It is at most the horizon, which is a time.
        Time::from_ns((at * self.unit) as i64)
    }
}

/// Returns the length of a turn with about this many jobs, in units.
fn turn(jobs: &TaskMap<Jobs>, unit: u64, wanted: u64) -> u64 {
    // Only the length depends on this number, not what happens: a float will do.
    let per_ns: f64 = jobs.values().map(|jobs| 1.0 / jobs.period as f64).sum();
    let ns = (wanted as f64 / per_ns.max(f64::MIN_POSITIVE)).min(layland_model::TIME_LIMIT as f64);
    (ns as u64 / unit).clamp(1, Decisions::LONGEST)
}

/// The scale of the words of a group.
#[derive(Clone, Copy)]
struct Scale {
    unit: u64,
    /// In units.
    horizon: u64,
    /// The number of low bits that say which task or CPU a word is about.
    shift: u32,
}

/// Returns the rows of the tasks of a group, which come in the order of their ranks; `None` if a word
/// might be too small.
fn rows(
    tasks: &[TaskId],
    jobs: &TaskMap<Jobs>,
    keys: &TaskMap<KeyRule>,
    scale: Scale,
) -> Option<Vec<TaskRow>> {
    let Scale { unit, horizon, shift } = scale;
    let mut fixed = Vec::new();
    let mut longest = 0;
    for &task in tasks {
        match keys[task] {
            KeyRule::Fixed(key) => fixed.push(key),
            KeyRule::BeforeDeadline(earlier) => longest = longest.max(earlier.ns() as u64 / unit),
        }
    }
    fixed.sort_unstable();
    fixed.dedup();
    // The key zero is that of an idle CPU. Then come those that are fixed, and then deadlines.
    let first_deadline = 1 + fixed.len() as u64 + longest;
    let mut rows = Vec::with_capacity(tasks.len());
    for (seat, &task) in tasks.iter().enumerate() {
        let Jobs { first, period, demand, deadline } = jobs[task];
        let (key_per_arrival, key_at_zero) = match keys[task] {
            KeyRule::Fixed(key) => (0, 1 + fixed.partition_point(|&other| other < key) as u64),
            KeyRule::BeforeDeadline(earlier) => {
                (1 << shift, first_deadline + deadline / unit - earlier.ns() as u64 / unit)
            }
        };
        let mut row = TaskRow::new(task);
        (row.next, row.period, row.demand) = (first / unit, period / unit, demand / unit);
        row.relative = deadline / unit;
        row.key_per_arrival = key_per_arrival;
        row.key_at_zero = key_at_zero << shift | seat as u64;
        // The latest time or key that there can be.
        let latest = [horizon, row.next, row.period, row.demand, row.relative, first_deadline]
            .into_iter()
            .try_fold(0u64, |sum, more| sum.checked_add(more))?;
        if latest >= 1 << (62 - shift) {
            return None;
        }
        // The sum of the response times of jobs in time.
        (horizon / row.period + 1).checked_mul(row.relative)?;
        rows.push(row);
    }
    Some(rows)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
