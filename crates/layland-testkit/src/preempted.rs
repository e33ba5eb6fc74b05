//! Jobs that end while they are being preempted, as on a machine whose decisions take effect a moment late.
//!
//! [`Hasty`] stands between a policy and its engine. It makes the engine abort jobs that have lost
//! their CPUs, and notifies the policy that they have ended, as an engine for threads would. It
//! requests a further round of the same instant, so that the policy is notified at once.
//! [`removed_early`] needs no engine: it compares two ways to report one end to a policy.

use crate::logged::Step;
use layland_gen::Random;
use layland_model::{Behaviour, CpuId, JobId, ScheduleRule, System, TaskId, TaskMap, Time};
use layland_policy::{
    Action, AfterJob, Count, Event, Needs, Policy, RequestId, Schedules, State, TimerId,
};
use std::collections::{BTreeMap, BTreeSet};

/// The state of jobs and CPUs, as an engine sees it.
#[derive(Clone, Debug, Default)]
pub struct EngineView {
    /// The job on each CPU.
    pub running: BTreeMap<CpuId, JobId>,
    /// The ready jobs.
    pub ready: BTreeMap<TaskId, JobId>,
    /// The ready jobs that have ever been given a CPU.
    pub has_run: BTreeSet<JobId>,
    joins: BTreeMap<RequestId, TaskId>,
}

impl EngineView {
    /// Records an event that the policy receives.
    pub fn told(&mut self, event: &Event) {
        match *event {
            Event::Join { task, request, .. } => {
                self.joins.insert(request, task);
            }
            Event::Release { job, .. } => {
                self.ready.insert(job.task, job);
            }
            Event::Completion { job, .. } | Event::Ended { job } => self.remove(job.task),
            Event::Leave { task } => self.remove(task),
            Event::CpuOffline { cpu } => {
                self.running.remove(&cpu);
            }
            Event::Reconfigure { .. }
            | Event::SetClusterCpus { .. }
            | Event::Arrival { .. }
            | Event::Measured { .. }
            | Event::Step { .. }
            | Event::BudgetExhausted { .. }
            | Event::Timer { .. }
            | Event::CpuOnline { .. } => {}
        }
    }

    /// Records the policy's decision.
    pub fn decided(&mut self, actions: &[Action]) {
        for action in actions {
            match *action {
                Action::Run { cpu, job, .. } => {
                    self.running.retain(|_, running| *running != job);
                    self.running.insert(cpu, job);
                    self.has_run.insert(job);
                }
                Action::Idle { cpu } => {
                    self.running.remove(&cpu);
                }
                Action::Abort { job } => self.remove(job.task),
                Action::EndJob { job, .. } => {
                    let next = JobId { seq: job.seq + 1, ..job };
                    self.ready.insert(job.task, next);
                    self.running.values_mut().filter(|on| **on == job).for_each(|on| *on = next);
                    self.has_run.insert(next);
                }
                Action::Refuse { request, .. } => {
                    if let Some(task) = self.joins.remove(&request) {
                        self.remove(task);
                    }
                }
                Action::SetTimer { .. }
                | Action::ClearTimer { .. }
                | Action::SetDates { .. }
                | Action::Grant { .. }
                | Action::SetSpeed { .. }
                | Action::Note { .. } => {}
            }
        }
    }

    /// Returns the ready jobs that have run and are on no CPU.
    pub fn preempted(&self) -> Vec<JobId> {
        let on: BTreeSet<JobId> = self.running.values().copied().collect();
        let waits = |job: &JobId| self.has_run.contains(job) && !on.contains(job);
        self.ready.values().copied().filter(waits).collect()
    }

    fn remove(&mut self, task: TaskId) {
        self.ready.remove(&task);
        self.running.retain(|_, job| job.task != task);
    }
}

/// Returns true if the work of a task is one endless job to this policy.
pub(crate) fn is_endless(system: &System, needs: Needs, task: TaskId) -> bool {
    needs.schedules == Schedules::Threads && matches!(system.tasks[task].behaviour, Behaviour::Hog)
}

/// A policy whose jobs may end while they are being preempted.
#[derive(Clone)]
pub struct Hasty<P> {
    policy: P,
    random: Random,
    seen: EngineView,
    ranks: TaskMap<i64>,
    endless: TaskMap<bool>,
    /// The events of this round.
    events: Vec<Event>,
    /// The jobs that have ended, but of which the policy has not been notified.
    over: Vec<JobId>,
    /// The number of jobs that ended in this way.
    pub ended: u64,
}

impl<P: Policy> Hasty<P> {
    /// Makes about one in four preempted jobs end.
    pub fn new(policy: P, system: &System, seed: u64) -> Hasty<P> {
        let needs = policy.needs();
        let ids = || system.tasks.ids();
        Hasty {
            policy,
            // A stream of random numbers that no task uses.
            random: Random::of_task(seed, 0x0E4D),
            seen: EngineView::default(),
            ranks: ids().map(|id| system.tasks[id].rank).collect(),
            endless: ids().map(|id| is_endless(system, needs, id)).collect(),
            events: Vec::new(),
            over: Vec::new(),
            ended: 0,
        }
    }

    /// Returns a timer that no policy uses: their timers have the numbers of tasks, CPUs and groups.
    fn timer(&self) -> TimerId {
        TimerId(self.ranks.len() as u32 + 4096)
    }

    /// Passes on the events of a round, with the ends of jobs at the position that the contract prescribes.
    fn pass_on(&mut self, now: Time) {
        let is_first = |event: &Event| {
            matches!(event, Event::Completion { .. } | Event::BudgetExhausted { .. })
        };
        let events = std::mem::take(&mut self.events);
        let (first, rest): (Vec<Event>, Vec<Event>) = events.into_iter().partition(is_first);
        let mut over = std::mem::take(&mut self.over);
        over.sort_by_key(|job| (self.ranks[job.task], job.task));
        self.ended += over.len() as u64;
        let over = over.into_iter().map(|job| Event::Ended { job });
        for event in first.into_iter().chain(over).chain(rest) {
            self.policy.on_event(now, event);
        }
    }
}

impl<P: Policy + Clone + 'static> Policy for Hasty<P> {
    fn on_event(&mut self, _now: Time, event: Event) {
        self.seen.told(&event);
        if event != (Event::Timer { id: self.timer() }) {
            self.events.push(event);
        }
    }

    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.pass_on(now);
        let before = actions.len();
        self.policy.decide(now, actions);
        self.seen.decided(&actions[before..]);
        for job in self.seen.preempted() {
            if !self.endless[job.task] && self.random.below(4) == 0 {
                self.over.push(job);
                actions.push(Action::Abort { job });
                self.seen.decided(&[Action::Abort { job }]);
            }
        }
        if !self.over.is_empty() {
            actions.push(Action::SetTimer { id: self.timer(), at: now });
        }
    }

    fn save(&self, now: Time, state: &mut State) {
        self.policy.save(now, state);
    }
    fn needs(&self) -> Needs {
        self.policy.needs()
    }
    fn rule(&self) -> ScheduleRule {
        self.policy.rule()
    }
    fn counts(&self) -> Vec<Count> {
        self.policy.counts()
    }
}

/// The result of [`removed_early`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EarlyRemovals {
    /// The number of jobs that lost a CPU to another job.
    pub compared: u64,
    /// The number of compared jobs for which the two ways differ, in the jobs that run, in their
    /// CPUs, or in the state of the policy.
    pub differing: u64,
}

/// Compares two ways to report the end of a preempted job to a policy: after the preemption, and as
/// a completion at the instant of the preemption. Both must lead to equal jobs on equal CPUs, and
/// to equal states.
///
/// `fresh` is the policy before the first step.
pub fn removed_early(fresh: Box<dyn Policy>, system: &System, steps: &[Step]) -> EarlyRemovals {
    let (mut policy, mut seen) = (fresh, EngineView::default());
    let needs = policy.needs();
    let mut found = EarlyRemovals::default();
    for Step { now, events, actions } in steps {
        let (before, seen_before) = (policy.clone(), seen.clone());
        events.iter().for_each(|event| seen.told(event));
        events.iter().for_each(|event| policy.on_event(*now, event.clone()));
        policy.decide(*now, &mut Vec::new());
        seen.decided(actions);
        // Only compare events of jobs, because the answer to a request may depend on whether a job
        // is still present.
        let is_of_jobs = |event: &Event| {
            matches!(
                event,
                Event::Completion { .. }
                    | Event::Arrival { .. }
                    | Event::Release { .. }
                    | Event::Timer { .. }
            )
        };
        if !events.iter().all(is_of_jobs) {
            continue;
        }
        for (&cpu, &job) in &seen_before.running {
            let lost = seen.ready.get(&job.task) == Some(&job)
                && !seen.running.values().any(|on| *on == job)
                && seen.running.contains_key(&cpu);
            if !lost || is_endless(system, needs, job.task) {
                continue;
            }
            let mut late = (policy.clone(), seen.clone());
            tell(&mut late, *now, &[Event::Ended { job }]);
            let mut early = (before.clone(), seen_before.clone());
            let completion = Event::Completion { job, cpu, then: AfterJob::Blocks };
            let ends_before = |event: &&Event| matches!(event, Event::Completion { cpu: other, .. } if *other < cpu);
            let mut earlier: Vec<Event> = events.iter().filter(ends_before).cloned().collect();
            earlier.push(completion);
            earlier.extend(events.iter().filter(|event| !ends_before(event)).cloned());
            tell(&mut early, *now, &earlier);
            found.compared += 1;
            let state = |policy: &dyn Policy| {
                let mut state = State::default();
                policy.save(*now, &mut state);
                state
            };
            let is_same = late.1.running == early.1.running && state(&*late.0) == state(&*early.0);
            found.differing += u64::from(!is_same);
        }
    }
    found
}

fn tell(on: &mut (Box<dyn Policy>, EngineView), now: Time, events: &[Event]) {
    let mut actions = Vec::new();
    for event in events {
        on.1.told(event);
        on.0.on_event(now, event.clone());
    }
    on.0.decide(now, &mut actions);
    on.1.decided(&actions);
}
