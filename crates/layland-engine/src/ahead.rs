//! Looking ahead: the answers of a policy to the events that are likely to come next.
//!
//! An engine whose CPUs can act by themselves, before their manager has woken up, gives them a
//! [`AnswerTable`]. The table states which job takes a CPU when its current job has completed, and which
//! CPU a task takes when it wakes up. The answers come from clones of the policy, which behave like
//! the original by its contract. After a decision, while it has nothing else to do, the manager
//! passes an event that has not happened to a clone and records the decision.
//!
//! A table is a cache of decisions, not a second way to decide. The policy still receives every
//! event when the manager gets to it, and its decision then counts: log and replay know nothing of
//! a table. Two things can make an entry wrong: something else happened in between, or the answer
//! depends on the time, which has advanced. For the first, each entry names its assumptions, and
//! [`AnswerTable::take_successor`] and [`AnswerTable::take_wake`] return it only if they hold. The decision
//! that follows corrects all remaining errors.
//!
//! The table keeps only answers that concern one CPU: one `Run`, on the CPU whose job has completed
//! or of the job that woke up, or no `Run` at all. [`Unkept`] lists the reasons to discard the
//! others.
//!
//! **Time.** A query to the policy is about an instant, and the event comes later: a release by the
//! time that it takes to wake up a thread, a completion at any time. A query must not skip an event
//! that the policy would receive first. So there are no queries about the time at which a budget
//! ends ([`Situation::until`]), or about a time after the next timers. An event at exactly the
//! expiry time of timers is combined with them in one query, since an engine reports both in one
//! round. RUN and QPS, whose windows end at releases, get only such queries.
//!
//! **Budgets.** An entry has the budget of its answer, which is right for the instant of the query.
//! Most budgets are right for every later instant, too, because the remaining budget of a waiting
//! job does not change. There are two exceptions. The wake-up rule of a server depends on the time:
//! if the wake-up is later by *x*, the rule gives *x Q / D* less, or a full budget. And if an
//! engine measures the processor time of jobs, the policy may learn after the query that a job has
//! received more or less than it assumed. The table still keeps such an entry, because its effect
//! is bounded:
//!
//! 1. The CPU stops the job when it has used up the budget of the entry, however late the manager
//!    is.
//! 2. The decision that follows determines the budget, and the engine corrects it while the job
//!    runs. So a job can exceed its budget only until then, just like a job that should not run at
//!    all.
//! 3. The log contains the decision, and the processor time of the job since it took the CPU counts
//!    against the budget of that decision.
//!
//! A guess is right if the CPU ran the job of the decision, and is adjusted if the budget differed.
//! Timers, dates and notes of an answer are omitted: the policy repeats them when it receives the
//! event.

use crate::Ledger;
use crate::ledger::Status;
use layland_model::{CpuId, CpuMap, Duration, Index, JobId, TaskId, TaskMap, Time};
use layland_policy::{Action, AfterJob, Event, Policy, Schedules, TimerId};
use layland_trace::Job;

/// A job on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    /// The CPU.
    pub cpu: CpuId,
    /// The job that it runs.
    pub job: JobId,
    /// The next action of its thread when the job completes; `None` if the job must not be queried.
    pub then: Option<AfterJob>,
}

/// The state after a decision, on which the queries are based.
#[derive(Clone, Debug, Default)]
pub struct Situation {
    /// The jobs on CPUs, by CPU.
    pub running: Vec<Running>,
    /// The tasks that have entered and have no ready job, each with its next job; by release.
    pub sleeping: Vec<Job>,
    /// The earliest time at which a budget can be used up. Queries must not be about other
    /// events at this time or later: the policy receives the end of the budget first.
    pub until: Time,
    /// The timers that expire next, by id. Queries must not be about other events after their
    /// expiry; a query about that very time includes the timers.
    pub timers: Vec<TimerId>,
    /// The expiry time of `timers`; [`Time::NEVER`] if there are none.
    pub timers_at: Time,
}

impl Situation {
    /// Updates this to the situation of an engine, and reuses the memory. `on` returns the job that
    /// a CPU runs, and `budget_end` is the earliest time at which a budget can be used up.
    ///
    /// Two kinds of jobs must not be queried. A job whose successor has arrived and waits for its
    /// end: the successor would be released in the same instant and could take its place. And a job
    /// of a hog whose thread the policy schedules, since it never completes. Tasks that have yet to
    /// enter, or whose next job is unknown, are left out.
    pub fn update<P, T>(
        &mut self,
        ledger: &Ledger<P, T>,
        on: impl Fn(CpuId) -> Option<JobId>,
        budget_end: Time,
    ) {
        self.until = budget_end;
        self.timers_at = ledger.timers.next();
        self.timers.clear();
        self.timers.extend(ledger.timers.all_first().map(|id| TimerId(id as u32)));
        self.running.clear();
        self.sleeping.clear();
        for cpu in ledger.online.ids() {
            let Some(job) = on(cpu) else { continue };
            let task = &ledger.tasks[job.task];
            let is_alone = task.is_ready(job) && !task.blocked && !task.endless;
            let yields = ledger.streams[job.task].yields();
            let then = if yields { AfterJob::Yields } else { AfterJob::Blocks };
            self.running.push(Running { cpu, job, then: is_alone.then_some(then) });
        }
        for id in ledger.positions.iter() {
            let task = &ledger.tasks[id];
            // A task that is due, or waited for a job that has just ended, is released before any
            // query.
            let is_to_come = !task.blocked && task.next_release > ledger.now;
            if task.status == Status::Idle
                && !task.endless
                && is_to_come
                && task.next_release != Time::NEVER
            {
                self.sleeping.push(task.next_job());
            }
        }
        // Releases at the same time stay in the order of ranks, as in a round.
        self.sleeping.sort_by_key(|job| job.release);
    }

    /// Returns true if queries about this time are permitted.
    fn can_be_asked(&self, at: Time) -> bool {
        at < self.until && at <= self.timers_at
    }

    /// Passes the timers that expire exactly at this time to the policy.
    fn tell_timers(&self, policy: &mut dyn Policy, at: Time) {
        if at == self.timers_at {
            self.timers.iter().for_each(|&id| policy.on_event(at, Event::Timer { id }));
        }
    }
}

/// The job that takes a CPU when its current job has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Successor {
    /// The current job, assumed to have completed on this CPU.
    pub after: JobId,
    /// The job that runs next, assumed to be waiting; `None` if the CPU becomes idle.
    pub next: Option<JobId>,
    /// The budget of the next job, if it is limited.
    pub budget: Option<Duration>,
}

/// The effect of the wake-up of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// The job, assumed to be released.
    pub job: JobId,
    /// The CPU that it takes, with the job assumed to be there, if any; `None` if it waits.
    pub takes: Option<(CpuId, Option<JobId>)>,
    /// The budget of the job on that CPU, if it is limited.
    pub budget: Option<Duration>,
}

/// The reason why the table does not keep an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unkept {
    /// The answer is about several CPUs, or about a CPU other than the one that became free.
    OtherCpus,
    /// The answer does more than assign CPUs to jobs: it aborts a job, ends one, or sets a speed.
    MoreThanCpus,
}

/// The kept answers, until they are used or the policy has decided again.
#[derive(Clone, Debug)]
pub struct AnswerTable {
    successors: CpuMap<Option<Successor>>,
    wakes: TaskMap<Option<Wake>>,
}

impl AnswerTable {
    /// Returns an empty table for this number of CPUs and tasks.
    pub fn new(cpus: usize, tasks: usize) -> AnswerTable {
        AnswerTable { successors: CpuMap::filled(None, cpus), wakes: TaskMap::filled(None, tasks) }
    }

    /// Discards every answer. An engine does this before each decision.
    pub fn clear(&mut self) {
        self.successors.values_mut().for_each(|entry| *entry = None);
        self.wakes.values_mut().for_each(|entry| *entry = None);
    }

    /// Returns the entry of a CPU.
    pub fn successor(&self, cpu: CpuId) -> Option<Successor> {
        self.successors.get(cpu).copied().flatten()
    }

    /// Returns the entry of a task.
    pub fn wake(&self, task: TaskId) -> Option<Wake> {
        self.wakes.get(task).copied().flatten()
    }

    /// Removes and returns the entry of a CPU on which `after` has completed, if there is one and
    /// its assumptions hold. `waits` returns true if a job is ready and on no CPU.
    pub fn take_successor(
        &mut self,
        cpu: CpuId,
        after: JobId,
        waits: impl Fn(JobId) -> bool,
    ) -> Option<Successor> {
        let entry = self.successors.get_mut(cpu)?.take()?;
        (entry.after == after && entry.next.is_none_or(waits)).then_some(entry)
    }

    /// Removes and returns the entry for a job that is released, if there is one and its
    /// assumptions hold. `on` returns the job on a CPU.
    pub fn take_wake(&mut self, job: JobId, on: impl Fn(CpuId) -> Option<JobId>) -> Option<Wake> {
        let entry = self.wakes.get_mut(job.task)?.take()?;
        let is_as_expected = entry.takes.is_none_or(|(cpu, expected)| on(cpu) == expected);
        (entry.job == job && is_as_expected).then_some(entry)
    }

    /// Fills the table for a policy that has decided.
    ///
    /// The queries assume completions at `at`, which is not before the last decision, and releases
    /// at their times, but not before `at`. Before each query this calls `interrupted`, which
    /// returns true if something has happened; the rest of the table then stays empty. Returns true
    /// if every query was made.
    ///
    /// There are no queries about a time at which the policy would receive another event first.
    /// Each query clones the policy, which allocates. The answers for later completions equal those
    /// for `at` if the decisions of the policy do not depend on the time and nothing else happens
    /// in between.
    pub fn fill(
        &mut self,
        policy: &dyn Policy,
        at: Time,
        situation: &Situation,
        mut interrupted: impl FnMut() -> bool,
    ) -> bool {
        self.clear();
        let running = if situation.can_be_asked(at) { &*situation.running } else { &[] };
        for &Running { cpu, job, then } in running {
            let Some(then) = then else { continue };
            if interrupted() {
                return false;
            }
            self.successors[cpu] = successor(policy, at, (job, cpu, then), situation).ok();
        }
        let sleeping = situation.sleeping.iter();
        for job in sleeping.take_while(|job| situation.can_be_asked(at.max(job.release))) {
            if interrupted() {
                return false;
            }
            while self.wakes.len() <= job.id.task.index() {
                self.wakes.push(None);
            }
            self.wakes[job.id.task] = wake(policy, at, job, situation).ok();
        }
        true
    }
}

/// Returns the answer of a policy at `at` to this completion.
///
/// # Errors
/// If the answer cannot be kept, with the reason.
pub fn successor(
    policy: &dyn Policy,
    at: Time,
    (job, cpu, then): (JobId, CpuId, AfterJob),
    situation: &Situation,
) -> Result<Successor, Unkept> {
    let mut policy = policy.clone_policy();
    policy.on_event(at, Event::Completion { job, cpu, then });
    situation.tell_timers(&mut *policy, at);
    let answer = CpuDecision::of(&mut *policy, at)?;
    // The CPU is idle already, so an explicit `Idle` for it does not change the answer.
    if answer.idle.is_some_and(|idle| idle != cpu) {
        return Err(Unkept::OtherCpus);
    }
    match answer.run {
        None => Ok(Successor { after: job, next: None, budget: None }),
        Some((on, next, budget)) if on == cpu && answer.idle.is_none() => {
            Ok(Successor { after: job, next: Some(next), budget })
        }
        Some(_) => Err(Unkept::OtherCpus),
    }
}

/// Returns the answer of a policy to the release of this job, but not before `at`.
///
/// # Errors
/// If the answer cannot be kept, with the reason.
pub fn wake(
    policy: &dyn Policy,
    at: Time,
    job: &Job,
    situation: &Situation,
) -> Result<Wake, Unkept> {
    let Job { id, arrival: _, release, deadline } = *job;
    let at = at.max(release);
    let mut policy = policy.clone_policy();
    situation.tell_timers(&mut *policy, at);
    if policy.needs().schedules == Schedules::ArrivingJobs {
        policy.on_event(at, Event::Arrival { job: id, release, deadline });
    }
    policy.on_event(at, Event::Release { job: id, release, deadline });
    let answer = CpuDecision::of(&mut *policy, at)?;
    if answer.idle.is_some() {
        return Err(Unkept::OtherCpus);
    }
    match answer.run {
        None => Ok(Wake { job: id, takes: None, budget: None }),
        Some((cpu, woken, budget)) if woken == id => {
            let on = situation.running.iter().find(|running| running.cpu == cpu);
            Ok(Wake { job: id, takes: Some((cpu, on.map(|running| running.job))), budget })
        }
        Some(_) => Err(Unkept::OtherCpus),
    }
}

/// A decision about at most one CPU.
struct CpuDecision {
    run: Option<(CpuId, JobId, Option<Duration>)>,
    idle: Option<CpuId>,
}

impl CpuDecision {
    fn of(policy: &mut dyn Policy, at: Time) -> Result<CpuDecision, Unkept> {
        let mut actions = Vec::new();
        policy.decide(at, &mut actions);
        let mut answer = CpuDecision { run: None, idle: None };
        for action in actions {
            match action {
                Action::Run { cpu, job, budget } => {
                    if answer.run.replace((cpu, job, budget)).is_some() {
                        return Err(Unkept::OtherCpus);
                    }
                }
                Action::Idle { cpu } => {
                    if answer.idle.replace(cpu).is_some() {
                        return Err(Unkept::OtherCpus);
                    }
                }
                // The policy repeats these when it receives the real event.
                Action::SetTimer { .. }
                | Action::ClearTimer { .. }
                | Action::SetDates { .. }
                | Action::Note { .. } => {}
                Action::Abort { .. }
                | Action::Grant { .. }
                | Action::EndJob { .. }
                | Action::SetSpeed { .. }
                | Action::Refuse { .. } => return Err(Unkept::MoreThanCpus),
            }
        }
        Ok(answer)
    }
}

#[cfg(test)]
mod tests;
