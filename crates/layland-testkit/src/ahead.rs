//! A comparison of a policy's predicted answers with the answers that it gave later.

use crate::logged::Step;
use crate::preempted::{EngineView, is_endless};
use layland_engine::ahead::{AnswerTable, Running, Situation};
use layland_model::{Behaviour, CpuId, Duration, JobId, System, TaskId, TaskMap, Time};
use layland_policy::{Action, AfterJob, Event, Needs, Policy, Schedules, TimerId};
use layland_trace::Job;
use std::collections::BTreeMap;

/// The number of answers to one kind of event, and the results of the tables for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Rounds with exactly one such event.
    pub asked: u64,
    /// Rounds whose answer was in a table that was filled for the time of the event.
    pub kept: u64,
    /// Kept rounds in which no job gets a CPU.
    pub idle: u64,
    /// Kept rounds that limit the execution of a job.
    pub limited: u64,
    /// Kept rounds that came at the time at which a timer was due.
    pub with_timers: u64,
    /// Rounds for which a table that was filled for the time of the previous decision had another answer.
    pub too_early: u64,
}

impl Share {
    /// Returns the sum of both.
    #[must_use]
    pub fn plus(self, other: Share) -> Share {
        Share {
            asked: self.asked + other.asked,
            kept: self.kept + other.kept,
            idle: self.idle + other.idle,
            limited: self.limited + other.limited,
            with_timers: self.with_timers + other.with_timers,
            too_early: self.too_early + other.too_early,
        }
    }
}

/// The answers of tables for completions and for releases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// Completions.
    pub successors: Share,
    /// Releases.
    pub wakes: Share,
}

type On = BTreeMap<CpuId, JobId>;

/// The running jobs, and the budget of the job that was given a CPU, if it has one.
type AheadEntry = (On, Option<Duration>);

/// Goes through the steps of a fresh policy, and fills a table ahead after each. If the next step
/// consists of one completion or one release and the timers that are due then, and of nothing else,
/// the answer of the table must equal the policy's decision, with the same budget. The table must
/// also have an entry if the decision can be one.
///
/// # Errors
/// A description of the first difference.
pub fn compare(fresh: Box<dyn Policy>, system: &System, steps: &[Step]) -> Result<Shares, String> {
    let (mut policy, mut seen) = (fresh, EngineView::default());
    let needs = policy.needs();
    let mut coming = Coming::new(system, steps);
    let mut due = Due::new();
    let mut found = Shares::default();
    let mut table = AnswerTable::new(system.platform.cpu_count(), system.tasks.len());
    for (index, Step { now, events, actions }) in steps.iter().enumerate() {
        events.iter().for_each(|event| seen.told(event));
        events.iter().for_each(|event| coming.told(event));
        events.iter().for_each(|event| policy.on_event(*now, event.clone()));
        policy.decide(*now, &mut Vec::new());
        seen.decided(actions);
        due.note(*now, events, actions);
        let Some(next) = steps.get(index + 1) else { break };
        let Some((asks, timers)) = Asks::of(next, needs) else { continue };
        let all = situation(system, needs, &seen, &coming, &due, *now);
        // Another round of the same instant handles what is due then.
        let is_due = all.timers_at == next.now;
        if timers != if is_due { &*all.timers } else { &[] } {
            continue;
        }
        // Restrict the situation to the event of this step, because at that time other events may
        // be due for other jobs.
        let mut exactly = all.clone();
        exactly.until = next.now + Duration::from_ns(1);
        exactly.running.iter_mut().for_each(|running| {
            running.then = running.then.filter(|_| asks.is_about(running));
        });
        if !is_due {
            (exactly.timers, exactly.timers_at) = (Vec::new(), Time::NEVER);
        }
        exactly.sleeping.retain(|job| matches!(asks, Asks::Wake(id) if id == job.id));
        let mut after = seen.clone();
        next.events.iter().for_each(|event| after.told(event));
        let free = after.running.clone();
        after.decided(&next.actions);
        let did = (after.running, budget(&next.actions));
        let share = match asks {
            Asks::Successor(..) => &mut found.successors,
            Asks::Wake(_) => &mut found.wakes,
        };
        share.asked += 1;
        let wrong = |what: &str, entry: &Option<AheadEntry>| {
            let Step { now, events, actions } = next;
            Err(format!("{what}: {entry:?} at {now} after {events:?}, and it did {actions:?}"))
        };
        if !table.fill(&*policy, next.now, &exactly, || false) {
            return Err("nobody interrupted it".to_owned());
        }
        let entry = asks.entry(&table, &free);
        match &entry {
            Some(answer) if *answer != did => return wrong("another answer", &entry),
            Some((on, budget)) => {
                share.kept += 1;
                share.idle += u64::from(*on == free);
                share.limited += u64::from(budget.is_some());
                share.with_timers += u64::from(is_due);
            }
            None if can_be_kept(&next.actions, &free, &did.0, asks) => {
                return wrong("no entry", &entry);
            }
            None => {}
        }
        let _ = table.fill(&*policy, *now, &all, || false);
        let early = asks.entry(&table, &free);
        share.too_early += u64::from(entry.is_some() && early.is_some() && early != entry);
    }
    Ok(found)
}

/// The subject of the next step.
#[derive(Clone, Copy)]
enum Asks {
    Successor(CpuId),
    Wake(JobId),
}

impl Asks {
    /// Returns true if this is the completion of the running job.
    fn is_about(self, running: &Running) -> bool {
        matches!(self, Asks::Successor(cpu) if cpu == running.cpu)
    }

    /// Returns the subject of a step, and the timers that are due in it.
    fn of(step: &Step, needs: Needs) -> Option<(Asks, Vec<TimerId>)> {
        let (mut timers, mut others) = (Vec::new(), Vec::new());
        for event in &step.events {
            if let Event::Timer { id } = *event {
                timers.push(id);
            } else {
                others.push(event.clone());
            }
        }
        Some((Asks::alone(&others, step.now, needs)?, timers))
    }

    fn alone(events: &[Event], now: Time, needs: Needs) -> Option<Asks> {
        let follows = needs.schedules == Schedules::ArrivingJobs;
        match *events {
            [Event::Completion { cpu, then: AfterJob::Blocks | AfterJob::Yields, .. }] => {
                Some(Asks::Successor(cpu))
            }
            // If a job waited for its predecessor, its task did not sleep: the release is late, or
            // the arrival was earlier.
            [Event::Release { job, release, .. }] if !follows && release == now => {
                Some(Asks::Wake(job))
            }
            [Event::Arrival { job: arrived, .. }, Event::Release { job, release, .. }]
                if arrived == job && release == now =>
            {
                Some(Asks::Wake(job))
            }
            _ => None,
        }
    }

    /// Returns the running jobs by the table, if it has an entry; `free` has the jobs that the
    /// event leaves running.
    fn entry(self, table: &AnswerTable, free: &On) -> Option<AheadEntry> {
        let mut on = free.clone();
        let budget = match self {
            Asks::Successor(cpu) => {
                let entry = table.successor(cpu)?;
                if let Some(next) = entry.next {
                    on.insert(cpu, next);
                }
                entry.budget
            }
            Asks::Wake(job) => {
                let entry = table.wake(job.task)?;
                if entry.job != job {
                    return None;
                }
                if let Some((cpu, expected)) = entry.takes {
                    if on.get(&cpu).copied() != expected {
                        return None;
                    }
                    on.insert(cpu, job);
                }
                entry.budget
            }
        };
        Some((on, budget))
    }
}

/// Returns the budget of the last job that was given a CPU, if it has one.
fn budget(actions: &[Action]) -> Option<Duration> {
    let of_run = |action: &Action| {
        if let Action::Run { budget, .. } = action { Some(*budget) } else { None }
    };
    actions.iter().rev().find_map(of_run).flatten()
}

/// Returns true if a decision concerns one CPU, judged by the jobs that ran before and those that run after it.
fn can_be_kept(actions: &[Action], before: &On, after: &On, asks: Asks) -> bool {
    let is_plain = actions.iter().all(|action| match action {
        // A policy may also grant a new budget to a job that goes on, which no table can keep.
        Action::Run { cpu, job, .. } => before.get(cpu) != Some(job),
        Action::Idle { .. }
        | Action::SetTimer { .. }
        | Action::ClearTimer { .. }
        | Action::SetDates { .. }
        | Action::Note { .. } => true,
        Action::Abort { .. }
        | Action::Grant { .. }
        | Action::EndJob { .. }
        | Action::SetSpeed { .. }
        | Action::Refuse { .. } => false,
    });
    let cpus: Vec<CpuId> = before
        .keys()
        .chain(after.keys())
        .filter(|cpu| before.get(cpu) != after.get(cpu))
        .copied()
        .collect();
    let changed = |cpu: &CpuId| match asks {
        Asks::Successor(freed) => *cpu == freed,
        Asks::Wake(job) => after.get(cpu) == Some(&job),
    };
    // A policy may also repeat the state of a CPU, such as `Idle` for an idle one, which no table can keep.
    is_plain
        && cpus.iter().all(changed)
        && actions
            .iter()
            .filter(|action| matches!(action, Action::Run { .. } | Action::Idle { .. }))
            .count()
            <= 1
        && !matches!((asks, actions), (Asks::Wake(_), [.., Action::Idle { .. }]))
}

/// The notifications that a policy receives in any case: its timers, and the ends of its budgets.
struct Due {
    timers: BTreeMap<TimerId, Time>,
    /// For each CPU, the end of the budget if its job runs on.
    budgets: BTreeMap<CpuId, Time>,
}

impl Due {
    fn new() -> Due {
        Due { timers: BTreeMap::new(), budgets: BTreeMap::new() }
    }

    fn note(&mut self, now: Time, events: &[Event], actions: &[Action]) {
        for event in events {
            if let Event::Timer { id } = event {
                self.timers.remove(id);
            }
        }
        for action in actions {
            match *action {
                Action::SetTimer { id, at } => {
                    self.timers.insert(id, at);
                }
                Action::ClearTimer { id } => {
                    self.timers.remove(&id);
                }
                Action::Run { cpu, budget: Some(budget), .. } => {
                    self.budgets.insert(cpu, now + budget);
                }
                Action::Run { cpu, budget: None, .. } | Action::Idle { cpu } => {
                    self.budgets.remove(&cpu);
                }
                Action::Abort { .. }
                | Action::Grant { .. }
                | Action::EndJob { .. }
                | Action::SetDates { .. }
                | Action::SetSpeed { .. }
                | Action::Note { .. }
                | Action::Refuse { .. } => {}
            }
        }
    }

    /// Returns the first end of a budget. A past end without a notification belongs to a job that has ended.
    fn budget_end(&self, now: Time) -> Time {
        let ends = self.budgets.values().filter(|&&end| end >= now);
        ends.copied().min().unwrap_or(Time::NEVER)
    }

    /// Returns the first timers, and the time at which they are due.
    fn timers(&self) -> (Vec<TimerId>, Time) {
        let at = self.timers.values().copied().min().unwrap_or(Time::NEVER);
        let first = self.timers.iter().filter(|&(_, &due)| due == at).map(|(&id, _)| id);
        (first.collect(), at)
    }
}

/// The future releases of each task.
struct Coming {
    /// In reverse order.
    jobs: TaskMap<Vec<Job>>,
    joined: TaskMap<bool>,
}

impl Coming {
    fn new(system: &System, steps: &[Step]) -> Coming {
        let mut jobs: TaskMap<Vec<Job>> = TaskMap::filled(Vec::new(), system.tasks.len());
        for event in steps.iter().rev().flat_map(|step| step.events.iter().rev()) {
            if let Event::Release { job: id, release, deadline } = *event {
                jobs[id.task].push(Job { id, arrival: release, release, deadline });
            }
        }
        Coming { jobs, joined: TaskMap::filled(false, system.tasks.len()) }
    }

    fn told(&mut self, event: &Event) {
        match *event {
            Event::Release { job, .. } => {
                self.jobs[job.task].pop();
            }
            Event::Join { task, .. } => self.joined[task] = true,
            Event::Leave { task } => self.joined[task] = false,
            Event::Reconfigure { .. }
            | Event::SetClusterCpus { .. }
            | Event::Arrival { .. }
            | Event::Measured { .. }
            | Event::Step { .. }
            | Event::Completion { .. }
            | Event::Ended { .. }
            | Event::BudgetExhausted { .. }
            | Event::Timer { .. }
            | Event::CpuOnline { .. }
            | Event::CpuOffline { .. } => {}
        }
    }

    fn next(&self, task: TaskId) -> Option<&Job> {
        self.jobs[task].last().filter(|_| self.joined[task])
    }
}

fn situation(
    system: &System,
    needs: Needs,
    seen: &EngineView,
    coming: &Coming,
    due: &Due,
    now: Time,
) -> Situation {
    let running = seen.running.iter().map(|(&cpu, &job)| {
        let yields = matches!(system.tasks[job.task].behaviour, Behaviour::Yield);
        let then = if yields { AfterJob::Yields } else { AfterJob::Blocks };
        let ends = !is_endless(system, needs, job.task);
        Running { cpu, job, then: ends.then_some(then) }
    });
    let asleep = system.tasks.ids().filter(|id| !seen.ready.contains_key(id));
    let mut sleeping: Vec<Job> = asleep.filter_map(|id| coming.next(id).copied()).collect();
    sleeping.sort_by_key(|job| job.release);
    let (until, (timers, timers_at)) = (due.budget_end(now), due.timers());
    Situation { running: running.collect(), sleeping, until, timers, timers_at }
}
