//! Looking ahead: what a policy would answer to what is likely to happen next.
//!
//! An engine whose CPUs can act by themselves, before their manager has been woken, gives them a [`Table`]: who
//! takes a CPU when its job has completed, and which CPU a task takes when it wakes. The answers come from clones of
//! the policy, which behave like the original by its contract: after a decision, while nothing else is to be done,
//! the manager tells a clone of an event that has not happened, and notes what it decides.
//!
//! A table is a cache of decisions and no second way to decide. The policy is told what has happened all the same, when
//! the manager comes to it, and what it decides then counts: log and replay know nothing of a table. Two things
//! can make an entry wrong: something else happened in between, or the answer depends on the time, which has gone
//! on. For the first, each entry names what it assumes, and [`Table::take_successor`] and [`Table::take_wake`] give it
//! only where that is so. What is left is put right by the decision that follows.
//!
//! Only answers that concern one CPU are kept: one `Run`, on the CPU whose job has completed or of the job that woke,
//! or no `Run` at all. [`Unkept`] says what is wrong with the others.
//!
//! **Time.** A policy is asked about an instant, and the event comes later: a release by the time that it takes to wake
//! a thread, a completion whenever it comes. What a policy would be told before that, nobody may leave out: so nobody
//! asks about the time at which a budget ends ([`Situation::until`]), or about a time after its next timers. What
//! happens just when these are due is asked about together with them, since an engine tells of both in one round. RUN
//! and QPS, whose windows end at releases, are asked so every time.
//!
//! **Budgets.** An entry has the budget of its answer, which is right for the instant that was asked about. Most are
//! right for every later one, too: what a job that waits has left does not change while it waits. Two kinds are not.
//! The rule for the wake-up of a server depends on the time: later by *x*, it gives *x Q / D* less, or everything
//! anew. And where an engine measures what jobs get, the policy may hear after it was asked that one has got more or
//! less than it believed. Such an entry is kept all the same, because what it can do is bounded:
//!
//! 1. The CPU stops the job when it has used up the budget of the entry, whoever is late.
//! 2. The decision that follows says what the budget is, and the engine corrects it while the job goes on. So what
//!    a job can get too much lasts until then, as it does for a job that should not run at all.
//! 3. The log has what was decided, and what the job has got since it came to the CPU counts against that budget.
//!
//! A guess is right if the CPU ran the job that was decided, and was adjusted if its budget was another one.
//! Timers, dates and notes of an answer are left out: the policy says them again when it is told.

use crate::Ledger;
use crate::ledger::Status;
use layland_model::{CpuId, CpuMap, Index, JobId, Service, TaskId, TaskMap, Time};
use layland_policy::{Action, AfterJob, Event, Policy, Schedules, TimerId};
use layland_trace::Job;

/// A job on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Running {
    /// The CPU.
    pub cpu: CpuId,
    /// The job that it runs.
    pub job: JobId,
    /// What its thread does when it completes; none where nobody is to ask.
    pub then: Option<AfterJob>,
}

/// What is known after a decision: what the questions are about.
#[derive(Clone, Debug, Default)]
pub struct Situation {
    /// The jobs on CPUs, by CPU.
    pub running: Vec<Running>,
    /// The tasks that have entered and have no ready job, each with the job that comes next; by release.
    pub sleeping: Vec<Job>,
    /// When the first budget can be used up. What the policy would say to something else at this time or after it,
    /// nobody may ask: it has been told of that before.
    pub until: Time,
    /// The timers that are due next, by id, and when. What the policy would say to something else after that, nobody
    /// may ask, either; at that time it is told of both.
    pub timers: Vec<TimerId>,
    /// See `timers`; [`Time::NEVER`] if there are none.
    pub timers_at: Time,
}

impl Situation {
    /// The situation of an engine, in the memory of the last one. `on` is the job that a CPU runs, and `budget_end`
    /// the earliest time at which a budget can be used up.
    ///
    /// Nobody is to ask about jobs whose successor has arrived and waits for their end, since that would be released
    /// in the same instant and could take their place; and about jobs of hogs whose threads the policy schedules, which
    /// never complete. Tasks that are still to enter, or of whose next job nothing is known, are left out.
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
            // One that is due, or waited for a job that has just ended, is released before anybody could ask.
            let is_to_come = !task.blocked && task.next_release > ledger.now;
            if task.status == Status::Idle
                && !task.endless
                && is_to_come
                && task.next_release != Time::NEVER
            {
                self.sleeping.push(task.next_job());
            }
        }
        // By rank where releases are the same, as a round tells of them.
        self.sleeping.sort_by_key(|job| job.release);
    }

    /// Whether a policy can be asked about this time.
    fn can_be_asked(&self, at: Time) -> bool {
        at < self.until && at <= self.timers_at
    }

    /// Tells a policy of the timers that are due just then.
    fn tell_timers(&self, policy: &mut dyn Policy, at: Time) {
        if at == self.timers_at {
            self.timers.iter().for_each(|&id| policy.on_event(at, Event::Timer { id }));
        }
    }
}

/// Who takes a CPU when its job has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Successor {
    /// The job that is to have completed there.
    pub after: JobId,
    /// The job that runs next, which has to be waiting; none if the CPU idles.
    pub next: Option<JobId>,
    /// What that may get, if it is limited.
    pub budget: Option<Service>,
}

/// What happens when a task wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// The job that is to be released.
    pub job: JobId,
    /// The CPU that it takes, with the job that has to be there, if any; none if it waits.
    pub takes: Option<(CpuId, Option<JobId>)>,
    /// What it may get there, if that is limited.
    pub budget: Option<Service>,
}

/// Why an answer is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unkept {
    /// It is about several CPUs, or another one than the CPU that became free.
    OtherCpus,
    /// It does more than to give CPUs to jobs: it gives one up, ends it, or sets a speed.
    MoreThanCpus,
}

/// The answers that are kept, until they are used or the policy has decided again.
#[derive(Clone, Debug)]
pub struct Table {
    successors: CpuMap<Option<Successor>>,
    wakes: TaskMap<Option<Wake>>,
}

impl Table {
    /// An empty table for so many CPUs and tasks.
    pub fn new(cpus: usize, tasks: usize) -> Table {
        Table { successors: CpuMap::filled(None, cpus), wakes: TaskMap::filled(None, tasks) }
    }

    /// Forgets every answer. An engine does this before each decision.
    pub fn clear(&mut self) {
        self.successors.values_mut().for_each(|entry| *entry = None);
        self.wakes.values_mut().for_each(|entry| *entry = None);
    }

    /// The entry of a CPU.
    pub fn successor(&self, cpu: CpuId) -> Option<Successor> {
        self.successors.get(cpu).copied().flatten()
    }

    /// The entry of a task.
    pub fn wake(&self, task: TaskId) -> Option<Wake> {
        self.wakes.get(task).copied().flatten()
    }

    /// `after` has completed on a CPU: what the CPU is to do, if the table knows, which is then forgotten.
    /// `waits` says whether a job is ready and on no CPU.
    pub fn take_successor(
        &mut self,
        cpu: CpuId,
        after: JobId,
        waits: impl Fn(JobId) -> bool,
    ) -> Option<Successor> {
        let entry = self.successors.get_mut(cpu)?.take()?;
        (entry.after == after && entry.next.is_none_or(waits)).then_some(entry)
    }

    /// A job is released: what happens to it, if the table knows, which is then forgotten. `on` is the job on a CPU.
    pub fn take_wake(&mut self, job: JobId, on: impl Fn(CpuId) -> Option<JobId>) -> Option<Wake> {
        let entry = self.wakes.get_mut(job.task)?.take()?;
        let is_as_expected = entry.takes.is_none_or(|(cpu, expected)| on(cpu) == expected);
        (entry.job == job && is_as_expected).then_some(entry)
    }

    /// Fills the table for a policy that has decided.
    ///
    /// Completions are asked for as if they came at `at`, which is not before the last decision; releases at their
    /// time, but not before `at`. Before each question `interrupted` is asked whether something has happened: if so,
    /// the rest of the table stays empty. Gives whether every question was asked.
    ///
    /// Nothing is asked about a time at which the policy has been told something else. Each question clones the policy,
    /// which allocates. The answers to later completions are those of `at` if what the policy decides does not
    /// depend on the time, and nothing else happens in between.
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

/// What a policy would answer at `at` to this completion, if the answer can be kept.
///
/// # Errors
/// Why it cannot be kept.
pub fn successor(
    policy: &dyn Policy,
    at: Time,
    (job, cpu, then): (JobId, CpuId, AfterJob),
    situation: &Situation,
) -> Result<Successor, Unkept> {
    let mut policy = policy.clone_policy();
    policy.on_event(at, Event::Completion { job, cpu, then });
    situation.tell_timers(&mut *policy, at);
    let answer = Answer::of(&mut *policy, at)?;
    // Nothing runs there any more: to say so is no other answer.
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

/// What a policy would answer to the release of this job, but not before `at`, if the answer can be kept.
///
/// # Errors
/// Why it cannot be kept.
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
    let answer = Answer::of(&mut *policy, at)?;
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
struct Answer {
    run: Option<(CpuId, JobId, Option<Service>)>,
    idle: Option<CpuId>,
}

impl Answer {
    fn of(policy: &mut dyn Policy, at: Time) -> Result<Answer, Unkept> {
        let mut actions = Vec::new();
        policy.decide(at, &mut actions);
        let mut answer = Answer { run: None, idle: None };
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
                // The policy says these again when it is told what has happened.
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
