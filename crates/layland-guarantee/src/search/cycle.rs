//! Periodic tasks with offsets: every release is known, and the schedule is simulated until it
//! repeats.
//!
//! A run in which every job executes for its WCET is legal, so a late job in it is a *no*: it is
//! the densest run. It is the worst run if the policy is *predictable*: if no job ends later when
//! executions are shorter. This holds for preemptive scheduling by fixed priorities of jobs on
//! identical CPUs (Ha and Liu 1994). Then a recurrence without a late job is a *yes*, for these
//! offsets and jobs that arrive exactly a period apart.

use super::states::Response;
use super::{CYCLE, FirstLate, Found, Search, at_wcet, until};
use layland_model::{
    Behaviour, Duration, JobOrder, Rate, ScheduleRule, System, Task, TaskId, counted,
};
use layland_sim::{Horizon, SimOptions, simulate};
use layland_trace::{Both, Counters};
use std::sync::atomic::AtomicBool;

impl Search<'_> {
    /// Returns the answer of the schedule up to its recurrence, if every release is known.
    pub(super) fn cycle(&self) -> Found {
        let Search { registry, spec, system, effort, .. } = *self;
        // The offsets of a set from a trace are observations, not guarantees.
        if !has_known_releases(system) || system.observed.is_some() {
            return Found::Nothing(None);
        }
        let say = |text: &str| Found::Nothing(Some(text.to_owned()));
        if system.has_blocking() {
            return say("no schedule says when jobs are blocked");
        }
        if !self.is_on_ticks(system) {
            return say("with these periods and offsets jobs arrive between ticks");
        }
        let Ok(policy) = registry.build(spec, system) else { return Found::Nothing(None) };
        if !is_predictable(system, &policy.rule()) {
            return say(
                "no test uses the offsets, and a job may end later for shorter executions: `layland sim --cycle` shows \
                 the schedule in which every job executes for its WCET",
            );
        }
        let run = at_wcet(system);
        let late = AtomicBool::new(false);
        let (tasks, cpus) = (system.tasks.len(), system.platform.cpu_count());
        let first = FirstLate { late: &late, found: None };
        let mut recorder = Both(first, Counters::new(tasks, cpus));
        let at_most = until(&run, effort);
        let options = SimOptions {
            horizon: Horizon::Recurrence { at_most },
            interrupt: Some(&late),
            ..SimOptions::until(at_most)
        };
        let Ok(outcome) = simulate(&run, policy, &mut recorder, &options) else {
            return Found::Nothing(None);
        };
        let Both(first, counters) = recorder;
        if first.found.is_some() || outcome.cycle.is_none() {
            return say(
                "the schedule with these offsets does not repeat itself within the effort: --effort N looks at N jobs",
            );
        }
        let longest = |id: TaskId| Response {
            within: counters.task(id).max_response.unwrap_or_default(),
            is_exact: true,
        };
        let why = format!(
            "for these offsets, and jobs that come exactly a period apart: none of {} is late until the schedule \
             repeats itself",
            counted(counters.total().released, "job"),
        );
        Found::Meets(system.tasks.ids().map(longest).collect(), why, CYCLE)
    }
}

/// Returns true if every release is known, and not all tasks arrive together.
fn has_known_releases(system: &System) -> bool {
    let is_known = |task: &Task| {
        task.jitter == Duration::ZERO
            && task.jobs.is_none()
            && task.behaviour == Behaviour::Periodic
    };
    system.requests.is_empty()
        && !system.levels.is_mixed()
        && system.tasks.values().all(is_known)
        && system.tasks.values().any(|task| task.offset > Duration::ZERO)
}

/// Returns true if no job ends later when executions are shorter.
fn is_predictable(system: &System, rule: &ScheduleRule) -> bool {
    let has_fixed_priorities = |order: &JobOrder| match order {
        JobOrder::Deadline
        | JobOrder::Points(_)
        | JobOrder::Feasible
        | JobOrder::Fixed(_)
        | JobOrder::TopFirst { .. } => true,
        // The position of a job in its queue depends on the end of the job before it.
        JobOrder::ZeroLaxity | JobOrder::DeadlineThenRunning | JobOrder::Levels { .. } => false,
    };
    let ScheduleRule::HighestFirst { order, .. } = rule else { return false };
    has_fixed_priorities(order)
        && !system.has_followers()
        && system.platform.overheads.is_zero()
        && system.platform.speeds.values().all(|speed| speed.rate() == Rate::ONE)
        && system.tasks.values().all(|task| task.steps.is_none())
}
