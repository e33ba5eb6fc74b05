//! Non-preemptive regions one nanosecond at a time, and their analyses by the definitions.
//!
//! [`simulate`] returns the finishing times of jobs, for periodic tasks on unit-speed CPUs, with
//! their rules for late jobs. At each tick the jobs in regions go on, and of the other jobs the
//! first ones run.
//!
//! [`longest_responses`] searches every schedule of a few sporadic tasks on one CPU: at each
//! nanosecond each task may release a job, if its period has passed. It only supports jobs that end
//! by their deadlines, and stops at the first job that does not.

use crate::ticks::Finished;
use layland_model::{
    Duration, JobOrder, OnMiss, Order, Preemption, ScheduleRule, Service, System, TaskId, Time,
};
use std::collections::{BTreeSet, VecDeque};

/// Returns the system with regions drawn from these numbers, of every kind or without floating ones.
pub fn with_regions(mut system: System, draws: &[u64], has_floating: bool) -> System {
    for (task, &draw) in system.tasks.values_mut().zip(draws.iter().cycle()) {
        let (kind, draw) = (draw % 5, draw / 5);
        let wcet = task.own_wcet().ns();
        task.preemption = match kind {
            0 => Preemption::Anywhere,
            1 => Preemption::Never,
            2 if has_floating => Preemption::Delayed(Duration::from_ns(1 + (draw % 7) as i64)),
            _ => {
                // A segment may end after each nanosecond except the last one.
                let ends = (1..wcet).filter(|at| draw >> (at % 32) & 3 == 0).chain([wcet]);
                let mut before = 0;
                let lengths =
                    ends.map(|end| Service::from_ns(end - std::mem::replace(&mut before, end)));
                Preemption::Between(lengths.collect())
            }
        };
    }
    system
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct DeferredJob {
    task: TaskId,
    seq: u64,
    deadline: i64,
    wcet: i64,
    left: i64,
    /// The number of consecutive ticks for which the job has run behind a waiting job.
    behind: i64,
}

impl DeferredJob {
    fn is(&self, other: &DeferredJob) -> bool {
        (self.task, self.seq) == (other.task, other.seq)
    }

    /// Returns true if a job that ran in the last tick keeps its CPU for the next one although
    /// another job comes before it.
    fn is_in_region(&self, region: &Preemption) -> bool {
        let executed = self.wcet - self.left;
        match region {
            Preemption::Anywhere => false,
            Preemption::Never => executed > 0,
            Preemption::Delayed(length) => self.behind < length.ns(),
            Preemption::Between(segments) => {
                let ends = segments.iter().scan(0, |end, segment| {
                    *end += segment.ns();
                    Some(*end)
                });
                executed > 0 && ends.into_iter().take(segments.len() - 1).all(|end| end != executed)
            }
        }
    }
}

/// Returns every job that finishes up to `until`, in the order of finishing and task.
///
/// # Panics
/// If the rule is not [`ScheduleRule::Deferred`].
pub fn simulate(system: &System, rule: &ScheduleRule, order: Order, until: Time) -> Vec<Finished> {
    let ScheduleRule::Deferred { groups, order: job_order, regions } = rule else {
        panic!("only policies with regions are simulated here")
    };
    let ignores_ranks = *job_order == JobOrder::DeadlineThenRunning;
    let mut pending: Vec<DeferredJob> = Vec::new();
    let mut ran: Vec<DeferredJob> = Vec::new();
    let mut finished = Vec::new();
    for now in 0..until.ns() {
        let aborts = |job: &DeferredJob| system.tasks[job.task].on_miss == OnMiss::Abort;
        pending.retain(|job| !(aborts(job) && job.deadline <= now));
        for (id, task) in system.tasks.iter() {
            let since = now - task.offset.ns();
            let skips = task.on_miss == OnMiss::Skip && pending.iter().any(|job| job.task == id);
            if since >= 0 && since % task.period.ns() == 0 && !skips {
                let wcet = task.own_wcet().ns();
                pending.push(DeferredJob {
                    task: id,
                    seq: (since / task.period.ns()) as u64,
                    deadline: now + task.deadline.ns(),
                    wcet,
                    left: wcet,
                    behind: 0,
                });
            }
        }
        let key = |job: &DeferredJob| {
            let task = &system.tasks[job.task];
            let key = match order {
                Order::Deadline => job.deadline,
                Order::RateMonotonic => task.period.ns(),
                Order::DeadlineMonotonic => task.deadline.ns(),
                Order::Given => task.priority.unwrap_or(i64::MAX),
            };
            (key, task.rank, job.task)
        };
        let mut runs: Vec<DeferredJob> = Vec::new();
        for group in groups {
            let is_ready = |job: &&DeferredJob| {
                let first = |other: &DeferredJob| other.task != job.task || other.seq >= job.seq;
                group.tasks.contains(&job.task) && pending.iter().all(first)
            };
            let mut ready: Vec<DeferredJob> = pending.iter().filter(is_ready).copied().collect();
            ready.sort_by_key(key);
            let m = group.cpus.len();
            let goes_on = |job: &DeferredJob| ran.iter().any(|other| other.is(job));
            let (mut on, mut waiting): (Vec<DeferredJob>, Vec<DeferredJob>) =
                ready.into_iter().partition(goes_on);
            // The first waiting job takes an idle CPU, or the CPU of the last job that comes after
            // it and may be preempted.
            while !waiting.is_empty() {
                let first = waiting[0];
                let after = |job: &DeferredJob| {
                    if ignores_ranks { key(job).0 > key(&first).0 } else { key(job) > key(&first) }
                };
                if on.len() >= m {
                    let may_lose = |job: &DeferredJob| !job.is_in_region(&regions[job.task]);
                    let lowest = (0..on.len()).filter(|&at| after(&on[at]) && may_lose(&on[at]));
                    let Some(lowest) = lowest.max_by_key(|&at| key(&on[at])) else { break };
                    let mut lost = on.remove(lowest);
                    lost.behind = 0;
                    waiting.push(lost);
                    waiting.sort_by_key(key);
                }
                waiting.retain(|job| !job.is(&first));
                on.push(first);
            }
            for job in &mut on {
                let waits_before = |waits: &DeferredJob| {
                    if ignores_ranks { key(waits).0 < key(job).0 } else { key(waits) < key(job) }
                };
                job.behind = if waiting.iter().any(waits_before) { job.behind + 1 } else { 0 };
                job.left -= 1;
            }
            let both = || on.iter().chain(&waiting);
            for job in &mut pending {
                if let Some(changed) = both().find(|changed| changed.is(job)) {
                    *job = *changed;
                }
            }
            runs.extend(on);
        }
        ran = runs;
        let done = pending.extract_if(.., |job| job.left == 0);
        finished.extend(done.map(|job| Finished {
            finish: now + 1,
            task: job.task,
            seq: job.seq,
            deadline: job.deadline,
        }));
    }
    finished.sort_unstable();
    finished
}

/// The job of a task in a state: its execution, the time since its arrival, and the time for which
/// it has run behind another job.
type PendingJob = Option<(i64, i64, i64)>;

/// The part of the state that determines the future: for each task its job and the time since its
/// last arrival, up to the period; and the running task.
type SystemState = (Vec<(PendingJob, i64)>, Option<usize>);

/// Returns the longest response time of each task on one CPU, over all releases at least a period
/// apart, for jobs that need their WCETs. The inner value is `None` if a job can be late; the outer
/// one if there are more than `most` states. Tasks are in the order of their priorities, or
/// scheduled by deadlines if `is_edf`. Deadlines are at most periods. Ties of deadlines go to the
/// smaller rank, then to the smaller id.
pub fn longest_responses(system: &System, is_edf: bool, most: usize) -> Option<Option<Vec<i64>>> {
    let n = system.tasks.len();
    let mut longest = vec![0; n];
    let first: SystemState =
        (system.tasks.values().map(|task| (None, task.period.ns())).collect(), None);
    let (mut seen, mut queue) = (BTreeSet::from([first.clone()]), VecDeque::from([first]));
    while let Some(state) = queue.pop_front() {
        if seen.len() > most {
            return None;
        }
        for releases in 0..1u32 << n {
            match step(system, &state, releases, is_edf, &mut longest) {
                Advance::Impossible => {}
                Advance::Late => return Some(None),
                Advance::To(next) => {
                    if seen.insert(next.clone()) {
                        queue.push_back(next);
                    }
                }
            }
        }
    }
    Some(Some(longest))
}

enum Advance {
    Impossible,
    Late,
    To(SystemState),
}

/// Advances by a nanosecond at whose beginning these tasks release a job.
fn step(
    system: &System,
    (tasks, ran): &SystemState,
    releases: u32,
    is_edf: bool,
    longest: &mut [i64],
) -> Advance {
    let parameters: Vec<_> = system.tasks.values().collect();
    let mut tasks = tasks.clone();
    for (at, (pending, since)) in tasks.iter_mut().enumerate() {
        if releases >> at & 1 == 1 {
            if *since < parameters[at].period.ns() || pending.is_some() {
                return Advance::Impossible;
            }
            (*pending, *since) = (Some((0, 0, 0)), 0);
        }
    }
    let key = |at: usize| match (is_edf, tasks[at].0) {
        (true, Some((_, age, _))) => (parameters[at].deadline.ns() - age, parameters[at].rank, at),
        (_, _) => (at as i64, 0, at),
    };
    let ready: Vec<usize> = (0..tasks.len()).filter(|&at| tasks[at].0.is_some()).collect();
    let first = ready.iter().copied().min_by_key(|&at| key(at));
    let goes_on = ran.filter(|&at| {
        tasks[at].0.is_some_and(|(executed, _, behind)| {
            let wcet = parameters[at].own_wcet().ns();
            let job = DeferredJob {
                task: TaskId(at as u32),
                seq: 0,
                deadline: 0,
                wcet,
                left: wcet - executed,
                behind,
            };
            job.is_in_region(&parameters[at].preemption)
        })
    });
    let runs = goes_on.or(first);
    if let Some(at) = runs {
        let is_behind = first.is_some_and(|first| key(first) < key(at));
        if let Some((executed, _, behind)) = &mut tasks[at].0 {
            *executed += 1;
            *behind = if is_behind { *behind + 1 } else { 0 };
        }
    }
    for (at, (pending, since)) in tasks.iter_mut().enumerate() {
        *since = (*since + 1).min(parameters[at].period.ns());
        let Some((executed, age, behind)) = pending else { continue };
        *age += 1;
        if runs != Some(at) {
            *behind = 0;
        }
        if *executed == parameters[at].own_wcet().ns() {
            longest[at] = longest[at].max(*age);
            if *age > parameters[at].deadline.ns() {
                return Advance::Late;
            }
            *pending = None;
        } else if *age >= parameters[at].deadline.ns() {
            return Advance::Late;
        }
    }
    let ran = runs.filter(|&at| tasks[at].0.is_some());
    Advance::To((tasks, ran))
}
