//! Deferred preemption: a job that has begun a **non-preemptive region** keeps its CPU until the region ends.
//!
//! The ready jobs of highest priority run, as under [`HighestFirst`](crate::HighestFirst), with one
//! exception: a job that comes before a running one waits until the running one may be preempted.
//! Tasks define their regions ([`Preemption`]); with the option `nonpreemptive`, every job is one
//! region.
//!
//! | literature | in the task | here |
//! |---|---|---|
//! | non-preemptive EDF, NP-EDF (Jeffay, Stanat and Martel 1991) and fixed priorities, FPNS (Davis et al. 2007) | `nonpreemptive = true` | [`Preemption::Never`] |
//! | deferred preemption, FPDS, fixed preemption points (Bril et al. 2009) | `segments = [..]` | [`Preemption::Between`] |
//! | floating regions, limited-preemption EDF (Baruah 2005) | `nonpreemptive = "2ms"` | [`Preemption::Delayed`] |
//!
//! Buttazzo, Bertogna and Yao 2013 survey these models.
//!
//! A floating region begins only when a job arrives that comes before a running one: the running
//! job continues for the length of its region, or to its end. If at the end of an instant no job
//! that comes before it waits any longer, the region is over.
//!
//! Several CPUs: the waiting job takes the CPU of the lowest job that may be preempted *now* and
//! comes after it. It does not wait for a lower job whose region ends later. (The literature has
//! both: *eager* and *lazy* preemption.)
//!
//! Ties: as under `HighestFirst`. Simultaneous events: a job that has not executed has not begun
//! its region. A job that begins at an instant gives way to one that comes before it and becomes
//! ready at the same instant, in a later round of events. The same holds at each end of a segment.
//!
//! Cases that the papers leave out:
//! - the execution of a job is the time that it has held CPUs, with overheads. Segments are work: at
//!   another speed than 1 the segment `j` ends when the job has held CPUs for
//!   `ceil((c_1 + .. + c_j) / s)`, which needs CPUs of one speed. Floating regions are times;
//! - a job that exceeds its WCET is in its last segment;
//! - a real timer expires late, when the job has already begun its next segment. If the policy
//!   waits for the end of a segment, the first decision after it counts as that end;
//! - a job loses its CPU within a region if the CPU goes offline, if the job is aborted, or if its
//!   task is moved. It is still within the region when it runs again.
//!
//! For `m` CPUs of the group, a decision costs O(m) more than without regions.

use crate::highest_first::Ties;
use crate::info::{OptionInfo, PolicyOptions, SystemRefusal, Values};
use crate::levels;
use crate::options::never_preempts;
use crate::queue::Queue;
use crate::shell::{Grouped, Priority, Progress, Scheduler, Scope, Turn};
use crate::{Refusal, State};
use layland_model::{
    Group, JobOrder, Order, Preemption, ScheduleRule, Service, System, Task, TaskId, TaskMap, Time,
};
use std::sync::Arc;

/// Returns the option with which no job is preempted.
pub(crate) fn option() -> OptionInfo {
    OptionInfo::new(
        "nonpreemptive",
        "no job is preempted once it has begun (default: off; a task may say so of itself, or have non-preemptive \
         regions)",
        Values::Switch,
    )
}

/// The jobs of the highest priorities run, with the regions of their tasks. None if the system has no regions, and the
/// options do not ask for them.
pub(crate) fn grouped(
    name: String,
    scope: Scope,
    order: Order,
    system: &System,
    options: &PolicyOptions,
    ties: Ties,
) -> Result<Option<Grouped<Deferred>>, SystemRefusal> {
    let never = never_preempts(options)?;
    if !never && system.tasks.values().all(|task| task.preemption.is_anywhere()) {
        return Ok(None);
    }
    if options.text("place") == Some("greedy") && !system.platform.is_unit_speed() {
        let reason = format!(
            "{name}:place=greedy moves jobs while they run, and a job in a non-preemptive region keeps its CPU"
        );
        return Err(Refusal::invalid(reason).into());
    }
    let of = |task: &Task| if never { Preemption::Never } else { task.preemption.clone() };
    let given: TaskMap<Preemption> = system.tasks.values().map(of).collect();
    let regions = Regions { of: given.clone(), given, never };
    let jobs = Deferred {
        ties,
        waiting: Queue::default(),
        regions: Arc::new(regions),
        delayed: Vec::new(),
        begun: Vec::new(),
        ends: Vec::new(),
        ended: Vec::new(),
        decided_at: Time::ZERO,
        before: Vec::new(),
    };
    let grouped = Grouped::new(name.as_str(), scope, order, system, options, jobs)?;
    let grouped = at_speeds(&name, grouped, system)?;
    let in_level = levels::of(order, system, options)?;
    let groups = grouped.tasks_of_groups();
    levels::refuse_shared(&name, "non-preemptive regions", in_level, system, groups)?;
    Ok(Some(grouped))
}

/// Converts the segments of each task to the time of the CPUs of its group.
///
/// # Errors
/// If segments have no length in time: the CPUs of the group have different speeds, or may change.
fn at_speeds(
    name: &str,
    grouped: Grouped<Deferred>,
    system: &System,
) -> Result<Grouped<Deferred>, SystemRefusal> {
    if system.platform.is_unit_speed() {
        return Ok(grouped);
    }
    let given = grouped.schedulers().next().map(|jobs| jobs.regions.given.clone());
    let Some(mut regions) = given else { return Ok(grouped) };
    for (cpus, tasks) in grouped.cpus_and_tasks() {
        let speed = system.speed_of(&cpus).filter(|_| system.requests.is_empty());
        for &id in tasks {
            if !matches!(regions[id], Preemption::Between(_)) {
                continue;
            }
            let timed = speed.and_then(|speed| regions[id].at_speed(speed));
            regions[id] = timed.ok_or_else(|| {
                let reason = format!(
                    "task `{}` has segments, and {name} keeps them only where its CPUs have one speed and stay \
                     the same",
                    system.tasks[id].name
                );
                Refusal::invalid(reason).about(id)
            })?;
        }
    }
    let timed = |jobs: &mut Deferred| {
        let Regions { given, never, .. } = &*jobs.regions;
        let (given, never) = (given.clone(), *never);
        jobs.regions = Arc::new(Regions { of: regions.clone(), given, never });
    };
    Ok(grouped.changing(timed))
}

/// The points at which jobs may be preempted.
#[derive(Debug)]
struct Regions {
    /// The tasks of the system, in time.
    of: TaskMap<Preemption>,
    /// As the system states them.
    given: TaskMap<Preemption>,
    /// True if jobs may be preempted nowhere, whatever the tasks declare.
    never: bool,
}

impl Regions {
    fn of(&self, task: TaskId) -> &Preemption {
        match self.of.get(task) {
            Some(own) => own,
            None if self.never => &Preemption::Never,
            None => &Preemption::Anywhere,
        }
    }
}

/// Runs the jobs of highest priority, and lets those in a region continue: see the file header.
#[derive(Clone, Debug)]
pub struct Deferred {
    ties: Ties,
    /// The ready jobs that do not run.
    waiting: Queue,
    regions: Arc<Regions>,
    /// The floating regions that have begun.
    delayed: Vec<Delayed>,
    /// The tasks with floating regions whose jobs began to run at the last decision, at
    /// `decided_at`.
    begun: Vec<TaskId>,
    /// The ends of segments of jobs that run although a job before them waits, as of the last
    /// decision. They follow from the rest of the state.
    ends: Vec<(TaskId, Time)>,
    /// The tasks of `ends` whose segments had ended when an instant began.
    ended: Vec<TaskId>,
    decided_at: Time,
    /// Scratch.
    before: Vec<Delayed>,
}

/// A floating region that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Delayed {
    task: TaskId,
    since: Time,
    /// True if a job that comes before it waits. Otherwise the region is over once time advances.
    is_behind: bool,
}

impl Deferred {
    /// Returns true if a waiting job comes before a running one.
    fn comes_before(&self, waiting: Priority, running: Priority) -> bool {
        match self.ties {
            Ties::Rank => waiting.is_higher_than(running),
            Ties::Running => waiting.has_smaller_key(running),
            // Shared levels are refused.
            Ties::Level => waiting.has_smaller_level(running),
        }
    }

    /// Returns the time until which a running job keeps its CPU from one that comes before it; now,
    /// if it may lose it.
    fn keeps_until(&self, turn: &Turn<'_>, job: Priority, delayed: &[Delayed]) -> Time {
        let (now, task) = (turn.now(), turn.task(job));
        match self.regions.of(task) {
            Preemption::Anywhere => now,
            Preemption::Never if turn.executed(job) == Service::ZERO => now,
            Preemption::Never => Time::NEVER,
            Preemption::Delayed(length) => match since(delayed, task) {
                Some(since) => since + *length,
                None if self.decided_at == now && self.begun.contains(&task) => now,
                None => now + *length,
            },
            Preemption::Between(_) if self.ended.contains(&task) => now,
            Preemption::Between(segments) => {
                let executed = turn.executed(job);
                let mut begins = Service::ZERO;
                for &segment in segments {
                    if executed <= begins {
                        return now + (begins - executed).at_unit_speed();
                    }
                    begins += segment;
                }
                Time::NEVER
            }
        }
    }

    /// Returns the lowest of the running jobs that may be preempted, if the waiting job comes
    /// before it.
    fn gives_way(&self, turn: &Turn<'_>, waiting: Priority) -> Option<Priority> {
        let after = turn.running().filter(|&job| self.comes_before(waiting, job));
        after.filter(|&job| self.keeps_until(turn, job, &self.delayed) <= turn.now()).max()
    }
}

/// Returns the time at which the floating region of a task began, if it has begun.
fn since(delayed: &[Delayed], task: TaskId) -> Option<Time> {
    delayed.iter().find(|region| region.task == task).map(|region| region.since)
}

impl Scheduler for Deferred {
    const PROGRESS: Progress = Progress::Tracked;

    fn wait(&mut self, job: Priority) {
        self.waiting.push(job);
    }

    fn forget(&mut self, job: Priority) {
        self.waiting.remove(job);
    }

    fn clear(&mut self) {
        self.waiting.clear();
    }

    fn decide(&mut self, turn: &mut Turn<'_>) {
        let now = turn.now();
        if self.decided_at != now {
            self.begun.clear();
            self.delayed.retain(|region| region.is_behind);
            self.ended.clear();
            self.ended.extend(self.ends.iter().filter(|(_, at)| *at <= now).map(|(task, _)| *task));
            self.decided_at = now;
        }
        while let Some(highest) = self.waiting.highest() {
            if turn.has_idle_cpu() {
                self.waiting.pop();
            } else {
                let Some(lower) = self.gives_way(turn, highest) else { break };
                turn.preempt(lower);
                self.waiting.pop();
                self.waiting.push(lower);
            }
            turn.start(highest);
            let task = turn.task(highest);
            if matches!(self.regions.of(task), Preemption::Delayed(_)) {
                self.begun.push(task);
            }
        }
        // Jobs that continue although a job before them waits: record the end. Regions of stopped
        // jobs are over.
        let mut before = std::mem::take(&mut self.before);
        std::mem::swap(&mut before, &mut self.delayed);
        let mut delayed = std::mem::take(&mut self.delayed);
        let mut ends = std::mem::take(&mut self.ends);
        ends.clear();
        let mut wake_at = Time::NEVER;
        let highest = self.waiting.highest();
        for job in turn.running() {
            let is_behind = highest.is_some_and(|waits| self.comes_before(waits, job));
            let task = turn.task(job);
            if is_behind {
                let until = self.keeps_until(turn, job, &before);
                wake_at = wake_at.min(until);
                if matches!(self.regions.of(task), Preemption::Between(_)) {
                    ends.push((task, until));
                }
            }
            if matches!(self.regions.of(task), Preemption::Delayed(_)) {
                let began = since(&before, task).or(is_behind.then_some(now));
                delayed.extend(began.map(|since| Delayed { task, since, is_behind }));
            }
        }
        before.clear();
        (self.before, self.delayed, self.ends) = (before, delayed, ends);
        turn.wake_at(wake_at);
    }

    fn save(&self, now: Time, state: &mut State) {
        let is_now = self.decided_at == now;
        let mut delayed = self.delayed.clone();
        delayed.retain(|region| region.is_behind || is_now);
        delayed.sort_unstable();
        state.number(delayed.len() as i64);
        for Delayed { task, since, is_behind } in delayed {
            state.number(i64::from(task.0));
            state.time(since, now);
            state.number(i64::from(is_behind));
        }
        let mut begun = if is_now { self.begun.clone() } else { Vec::new() };
        begun.sort_unstable();
        state.number(begun.len() as i64);
        begun.into_iter().for_each(|task| state.number(i64::from(task.0)));
    }

    fn keeps_regions(&self, id: TaskId, parameters: &Task) -> bool {
        let given = self.regions.given.get(id).unwrap_or(&Preemption::Anywhere);
        self.regions.never || *given == parameters.preemption
    }

    fn rule(&self, groups: Vec<Group>, order: JobOrder) -> ScheduleRule {
        let order = match (self.ties, order) {
            (Ties::Running, JobOrder::Deadline) => JobOrder::DeadlineThenRunning,
            (_, order) => order,
        };
        ScheduleRule::Deferred { groups, order, regions: self.regions.of.clone() }
    }
}
