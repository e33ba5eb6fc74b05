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
//! Only answers that concern one CPU are kept: one `Run` without a budget, on the CPU whose job has completed or of the
//! job that woke, or no `Run` at all. [`Unkept`] says what is wrong with the others.

use crate::Ledger;
use crate::ledger::Status;
use layland_model::{CpuId, CpuMap, Index, JobId, TaskId, TaskMap, Time};
use layland_policy::{Action, AfterJob, Event, Policy, Schedules};
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
    /// When the policy is told something in any case: the earliest of its timers and of the ends of its budgets. What
    /// it would say to something else at this time or after it, nobody may ask: it has been told before.
    pub until: Time,
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
        self.until = ledger.timers.next().min(budget_end);
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
        for &id in &ledger.by_position {
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
}

/// Who takes a CPU when its job has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Successor {
    /// The job that is to have completed there.
    pub after: JobId,
    /// The job that runs next, which has to be waiting; none if the CPU idles.
    pub next: Option<JobId>,
}

/// What happens when a task wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// The job that is to be released.
    pub job: JobId,
    /// The CPU that it takes, with the job that has to be there, if any; none if it waits.
    pub takes: Option<(CpuId, Option<JobId>)>,
}

/// Why an answer is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unkept {
    /// It is about several CPUs, or another one than the CPU that became free.
    OtherCpus,
    /// It grants a budget.
    Budget,
    /// It does more than to give CPUs to jobs: it gives one up, ends or dates it, or sets a speed.
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
    /// Nothing is asked about [`Situation::until`] or later. Each question clones the policy, which allocates. The
    /// answers to later completions are those of `at` if what the policy decides does not depend on the time, and
    /// nothing else happens in between.
    pub fn fill(
        &mut self,
        policy: &dyn Policy,
        at: Time,
        situation: &Situation,
        mut interrupted: impl FnMut() -> bool,
    ) -> bool {
        self.clear();
        let running = if at < situation.until { &*situation.running } else { &[] };
        for &Running { cpu, job, then } in running {
            let Some(then) = then else { continue };
            if interrupted() {
                return false;
            }
            self.successors[cpu] = successor(policy, at, job, cpu, then).ok();
        }
        let sleeping = situation.sleeping.iter();
        for job in sleeping.take_while(|job| at.max(job.release) < situation.until) {
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
    job: JobId,
    cpu: CpuId,
    then: AfterJob,
) -> Result<Successor, Unkept> {
    let mut policy = policy.clone_policy();
    policy.on_event(at, Event::Completion { job, cpu, then });
    let answer = Answer::of(&mut *policy, at)?;
    // Nothing runs there any more: to say so is no other answer.
    if answer.idle.is_some_and(|idle| idle != cpu) {
        return Err(Unkept::OtherCpus);
    }
    match answer.run {
        None => Ok(Successor { after: job, next: None }),
        Some((on, next)) if on == cpu && answer.idle.is_none() => {
            Ok(Successor { after: job, next: Some(next) })
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
    if policy.needs().schedules == Schedules::ArrivingJobs {
        policy.on_event(at, Event::Arrival { job: id, release, deadline });
    }
    policy.on_event(at, Event::Release { job: id, release, deadline });
    let answer = Answer::of(&mut *policy, at)?;
    if answer.idle.is_some() {
        return Err(Unkept::OtherCpus);
    }
    match answer.run {
        None => Ok(Wake { job: id, takes: None }),
        Some((cpu, woken)) if woken == id => {
            let on = situation.running.iter().find(|running| running.cpu == cpu);
            Ok(Wake { job: id, takes: Some((cpu, on.map(|running| running.job))) })
        }
        Some(_) => Err(Unkept::OtherCpus),
    }
}

/// A decision about at most one CPU.
struct Answer {
    run: Option<(CpuId, JobId)>,
    idle: Option<CpuId>,
}

impl Answer {
    fn of(policy: &mut dyn Policy, at: Time) -> Result<Answer, Unkept> {
        let mut actions = Vec::new();
        policy.decide(at, &mut actions);
        let mut answer = Answer { run: None, idle: None };
        for action in actions {
            match action {
                Action::Run { budget: Some(_), .. } => return Err(Unkept::Budget),
                Action::Run { cpu, job, budget: None } => {
                    if answer.run.replace((cpu, job)).is_some() {
                        return Err(Unkept::OtherCpus);
                    }
                }
                Action::Idle { cpu } => {
                    if answer.idle.replace(cpu).is_some() {
                        return Err(Unkept::OtherCpus);
                    }
                }
                // The policy sets its timers and says what goes on when it is told what has happened.
                Action::SetTimer { .. } | Action::ClearTimer { .. } | Action::Note { .. } => {}
                Action::Abort { .. }
                | Action::EndJob { .. }
                | Action::SetDates { .. }
                | Action::SetSpeed { .. }
                | Action::Refuse { .. } => return Err(Unkept::MoreThanCpus),
            }
        }
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::{Duration, Service, System, Task};
    use layland_policy::{Registry, RequestId};
    use std::sync::Arc;

    fn job(task: u32, seq: u64) -> JobId {
        JobId { task: TaskId(task), seq }
    }

    /// Global EDF on two CPUs at time 0: tasks 0 and 1 run, 2 waits, 3 comes at 1 ms with the earliest deadline.
    fn g_edf() -> (Box<dyn Policy>, Situation) {
        let task = |period| Task::implicit("a", Service::from_ms(2), Duration::from_ms(period));
        let system = System::new(2, vec![task(5), task(10), task(20), task(3)]);
        let mut policy = Registry::standard().build("g-edf", &system).unwrap();
        for cpu in system.platform.cpus() {
            policy.on_event(Time::ZERO, Event::CpuOnline { cpu });
        }
        for (id, task) in system.tasks.iter() {
            let parameters = Arc::new(task.clone());
            policy.on_event(
                Time::ZERO,
                Event::Join { task: id, parameters, request: RequestId(id.0) },
            );
            if id != TaskId(3) {
                let (job, deadline) = (job(id.0, 0), Time::ZERO + task.period);
                policy.on_event(Time::ZERO, Event::Release { job, release: Time::ZERO, deadline });
            }
        }
        policy.decide(Time::ZERO, &mut Vec::new());
        let then = Some(AfterJob::Blocks);
        let running = |cpu, task| Running { cpu: CpuId(cpu), job: job(task, 0), then };
        let at = Time::from_ms(1);
        let comes = Job { id: job(3, 0), arrival: at, release: at, deadline: Time::from_ms(4) };
        let situation = Situation {
            running: vec![running(0, 0), running(1, 1)],
            sleeping: vec![comes],
            until: Time::NEVER,
        };
        (policy, situation)
    }

    #[test]
    fn a_table_knows_who_comes_next() {
        let (policy, situation) = g_edf();
        let mut table = Table::new(2, 4);
        assert!(table.fill(&*policy, Time::ZERO, &situation, || false));
        for (cpu, after) in [(CpuId(0), job(0, 0)), (CpuId(1), job(1, 0))] {
            assert_eq!(table.successor(cpu), Some(Successor { after, next: Some(job(2, 0)) }));
        }
        // It preempts the later of the two deadlines, while that is where it was.
        let takes = Some((CpuId(1), Some(job(1, 0))));
        assert_eq!(table.wake(TaskId(3)), Some(Wake { job: job(3, 0), takes }));
    }

    #[test]
    fn an_entry_is_given_once_and_where_its_assumptions_hold() {
        let (policy, situation) = g_edf();
        let filled = || {
            let mut table = Table::new(2, 4);
            assert!(table.fill(&*policy, Time::ZERO, &situation, || false));
            table
        };
        let mut table = filled();
        let next = table.take_successor(CpuId(0), job(0, 0), |waiting| waiting == job(2, 0));
        assert_eq!(next.and_then(|entry| entry.next), Some(job(2, 0)));
        assert_eq!(table.take_successor(CpuId(0), job(0, 0), |_| true), None, "it was used");
        assert_eq!(table.take_successor(CpuId(1), job(1, 0), |_| false), None, "it runs elsewhere");
        assert_eq!(filled().take_successor(CpuId(0), job(0, 1), |_| true), None, "another job");
        let on = |cpu: CpuId| Some(job(cpu.0, 0));
        assert!(filled().take_wake(job(3, 0), on).is_some());
        assert_eq!(filled().take_wake(job(3, 1), on), None, "another job");
        assert_eq!(filled().take_wake(job(3, 0), |_| None), None, "nobody is there");
        let mut table = filled();
        table.clear();
        assert_eq!(table.take_wake(job(3, 0), on), None, "the policy has decided since");
    }

    #[test]
    fn an_interruption_leaves_the_rest_empty() {
        let (policy, situation) = g_edf();
        for asked in 0..=3 {
            let (mut table, mut questions) = (Table::new(2, 4), 0);
            let is_complete = table.fill(&*policy, Time::ZERO, &situation, || {
                questions += 1;
                questions > asked
            });
            assert_eq!(is_complete, asked == 3);
            let known = [
                table.successor(CpuId(0)).is_some(),
                table.successor(CpuId(1)).is_some(),
                table.wake(TaskId(3)).is_some(),
            ];
            assert_eq!(known, [asked > 0, asked > 1, asked > 2]);
        }
    }

    #[test]
    fn a_ledger_says_whom_to_ask_about() {
        let task = |ms| Task::implicit("a", Service::from_ms(1), Duration::from_ms(ms));
        let mut system = System::new(3, vec![task(5), task(10), task(20), task(3), task(4)]);
        system.tasks[TaskId(3)].offset = Duration::from_ms(1);
        let policy = Registry::standard().build("g-edf", &system).unwrap();
        let mut ledger: Ledger<_, ()> = Ledger::new(&system, policy, 0, |work| work.ns());
        // 0 and 1 run, and the next job of 1 waits for its end; 2 waits; 3 sleeps; 4 is still to enter.
        for (id, status) in
            [Status::Ready, Status::Ready, Status::Ready, Status::Idle].into_iter().enumerate()
        {
            let task = &mut ledger.tasks[TaskId(id as u32)];
            task.status = status;
            if status == Status::Ready {
                task.job.id.seq = 0;
            }
        }
        ledger.tasks[TaskId(1)].blocked = true;
        let on = |cpu: CpuId| (cpu.0 < 2).then(|| job(cpu.0, 0));
        let mut situation = Situation::default();
        situation.update(&ledger, on, Time::from_ms(7));
        let running = |cpu, then| Running { cpu: CpuId(cpu), job: job(cpu, 0), then };
        assert_eq!(situation.running, [running(0, Some(AfterJob::Blocks)), running(1, None)]);
        let sleeping: Vec<JobId> = situation.sleeping.iter().map(|job| job.id).collect();
        assert_eq!((sleeping, situation.until), (vec![job(3, 0)], Time::from_ms(7)));
        ledger.timers.grow(1);
        ledger.timers.set(0, Time::from_ms(2));
        situation.update(&ledger, on, Time::from_ms(7));
        assert_eq!(
            situation.until,
            Time::from_ms(2),
            "the timer comes before the end of the budget"
        );
    }

    #[test]
    fn nothing_is_asked_about_what_lies_behind_a_timer() {
        let (policy, mut situation) = g_edf();
        for (until_us, knows) in [(1_001, true), (1_000, false)] {
            situation.until = Time::from_us(until_us);
            let mut table = Table::new(2, 4);
            assert!(table.fill(&*policy, Time::ZERO, &situation, || false));
            assert_eq!(table.wake(TaskId(3)).is_some(), knows);
            assert!(table.successor(CpuId(0)).is_some());
        }
        situation.until = Time::ZERO;
        let mut table = Table::new(2, 4);
        assert!(table.fill(&*policy, Time::ZERO, &situation, || false));
        assert_eq!(table.successor(CpuId(0)), None);
    }
}
