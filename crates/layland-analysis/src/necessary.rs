//! Limits that no scheduler can exceed: a **necessary** test.
//!
//! A system fails under every scheduler if (a) a job alone takes longer than its deadline on the
//! fastest CPU that its task may use, or (b) the utilizations sum to more than the capacity of the
//! CPUs, or (c) the largest `k` of them to more than the `k` fastest CPUs (the *level condition* of
//! Horvath, Lam and Sethi 1977): a job runs on one CPU at a time.
//!
//! Assumes: (1) no job executes for longer than its WCET. Offsets do not matter. Tasks that end,
//! and tasks that suspend themselves between jobs, cannot fail (b). A system that changes while it
//! runs fails neither. Sections and suspensions within jobs only take freedom away, so both limits
//! hold with them; but a section may be executed on a CPU that its task may not use.

use crate::group::weaken_if_finite;
use crate::sporadic::{SHIFT, fixed};
use crate::uniform::demand::too_much_demand;
use crate::{
    Assumption, Certify, Decide, Finding, Quantity, Reason, Refusal, SchedulabilityTest, Scope,
    Subject, Verdict,
};
use layland_model::{
    CpuId, Criticality, ExecutionModel, Index, Levels, Rate, RateSum, System, Task, TaskId,
};
use std::cmp::Reverse;

/// Checks that the CPUs are fast enough and that their number suffices.
///
/// ```
/// use layland_analysis::{Verdict, necessary};
/// use layland_model::{Duration, Service, System, Task};
/// let task = |name| Task::implicit(name, Service::from_ms(3), Duration::from_ms(4));
/// let finding = necessary::TEST.run(&System::new(1, vec![task("a"), task("b")])).unwrap();
/// assert_eq!(finding.verdict, Verdict::No);
/// let finding = necessary::TEST.run(&System::new(2, vec![task("a"), task("b")])).unwrap();
/// assert_eq!(finding.verdict, Verdict::Unknown);
/// ```
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "CAPACITY",
    title: "no job is too long for its deadline, and the CPUs can do the sum of the utilizations",
    subject: Subject::SomeScheduler,
    kind: crate::TestKind::Necessary,
    assumptions: &[Assumption::WcetKept],
    citations: &[],
    certify: Certify::Reasons,
    decide: Decide::by(capacity).or_sooner(|system| {
        if certainly_fits(system) {
            crate::TestKind::Necessary.verdict(true)
        } else {
            capacity(system).verdict
        }
    }),
};

/// Returns true if each task alone and all tasks together fit unit-speed CPUs, and the sum is not
/// so near the limit that it needs exact arithmetic.
pub(crate) fn certainly_fits(system: &System) -> bool {
    let fits_alone =
        |task: &Task| task.own_wcet().at_unit_speed() <= task.deadline.min(task.period);
    // Each utilization is rounded up.
    let above = |task: &Task| fixed(task.own_wcet().ns(), task.period.ns()) + 1;
    let capacity = (system.platform.cpu_count() as u128) << SHIFT;
    system.platform.is_unit_speed()
        && system.tasks.values().all(fits_alone)
        && system.tasks.values().map(above).sum::<u128>() <= capacity
}

fn capacity(system: &System) -> Finding {
    let mut finding = as_it_is(system);
    // A task may leave or change before the load is too much.
    if finding.verdict == Verdict::No && !system.requests.is_empty() {
        finding.verdict = Verdict::Unknown;
        finding.reasons.push(Reason::Holds("the system changes while it runs"));
    }
    finding
}

fn as_it_is(system: &System) -> Finding {
    let is_unit_speed = system.platform.is_unit_speed();
    for (id, task) in system.tasks.iter() {
        let shortest = if is_unit_speed {
            task.own_wcet().at_unit_speed()
        } else {
            // Sections may be executed on the home of their resource (DPCP).
            let is_tied = task.sections().is_empty();
            let allowed =
                if is_tied { system.allowed_cpus(id) } else { system.platform.all_cpus() };
            let times =
                allowed.iter().map(|cpu| system.platform.speeds[cpu].time_for(task.own_wcet()));
            times.min().unwrap_or(task.own_wcet().at_unit_speed())
        };
        if shortest > task.deadline {
            let quantity = |ns: i64| Quantity::of_ns(ns.into());
            let (value, bound) = (quantity(shortest.ns()), quantity(task.deadline.ns()));
            let scope = Scope { task: Some(id), ..Scope::default() };
            let reason = Reason::compared("the execution time", scope, value, bound, false);
            return Finding::new(Verdict::No, reason);
        }
    }
    let sum = system.utilization();
    let capacity = if is_unit_speed {
        Rate::whole(system.platform.cpu_count() as i64)
    } else {
        system.platform.speeds.values().map(|speed| speed.rate()).sum()
    };
    let holds = sum.fits(&Rate::ZERO, &capacity);
    let level = if is_unit_speed || !holds { None } else { above_level(system) };
    if let Some(reason) = level {
        let mut finding = Finding::new(Verdict::No, reason);
        weaken_if_finite(system, &mut finding);
        return finding;
    }
    if let (false, true, Some(reason)) = (is_unit_speed, holds, too_much_demand(system)) {
        return Finding::new(Verdict::No, reason);
    }
    let mut finding =
        Finding::new(crate::TestKind::Necessary.verdict(holds), load(sum, capacity, holds));
    weaken_if_finite(system, &mut finding);
    finding
}

/// Returns the comparison that fails, if the utilizations of some tasks exceed the speeds of as many
/// CPUs, the fastest ones.
fn above_level(system: &System) -> Option<Reason> {
    let speeds = &system.platform.speeds;
    let mut cpus: Vec<CpuId> = system.platform.cpus().collect();
    cpus.sort_by_key(|&cpu| (Reverse(speeds[cpu].rate()), cpu));
    let mut utilizations: Vec<Rate> = system.tasks.values().map(Task::utilization).collect();
    utilizations.sort_unstable_by(|a, b| b.cmp(a));
    let (mut sum, mut capacity) = (Rate::ZERO, Rate::ZERO);
    for (at, (utilization, &cpu)) in utilizations.iter().zip(&cpus).enumerate() {
        sum = &sum + utilization;
        capacity = &capacity + &speeds[cpu].rate();
        if sum > capacity {
            let (value, bound) = (Quantity::Number(sum), Quantity::Number(capacity));
            return Some(Reason::Largest {
                count: at + 1,
                interval: None,
                cpus: cpus[..=at].iter().copied().collect(),
                value,
                bound,
            });
        }
    }
    None
}

/// The finding of a test about any scheduler, where a policy may drop jobs of lower criticality. A
/// *no* then covers only jobs that no policy may drop: in a run of a level in which every job
/// executes for its WCET of that level, the jobs of the tasks of this level and of higher ones.
///
/// ```
/// use layland_analysis::{Verdict, necessary};
/// use layland_model::{Criticality, Duration, Levels, Service, System, Task};
/// let task = |name, low, high, level| Task {
///     wcet: [low, high].map(Service::from_ms).into(),
///     criticality: Criticality(level),
///     ..Task::implicit(name, Service::from_ms(low), Duration::from_ms(10))
/// };
/// let mut system = System::new(1, vec![task("view", 5, 5, 0), task("brake", 4, 8, 1)]);
/// system.levels = Levels::new(["LO", "HI"].map(str::to_owned).to_vec());
/// // 5 + 8 of 10 are too much, and so no scheduler meets every deadline; 5 + 4 are not, and neither are 8.
/// assert_eq!(necessary::TEST.run(&system).unwrap().verdict, Verdict::No);
/// let found = necessary::of_what_none_may_drop(&necessary::TEST, &system).unwrap();
/// assert_eq!(found.verdict, Verdict::Unknown);
/// ```
///
/// # Errors
/// See [`SchedulabilityTest::run`].
pub fn of_what_none_may_drop(
    test: &SchedulabilityTest,
    system: &System,
) -> Result<Finding, Refusal> {
    let finding = test.run(system)?;
    if finding.verdict != Verdict::No || !system.levels.is_mixed() {
        return Ok(finding);
    }
    let of_level = |level: usize| {
        let (kept, ids) = kept_at(system, level);
        let found = if ids.is_empty() { None } else { test.run(&kept).ok() };
        found.filter(|found| found.verdict == Verdict::No).map(|found| named(found, &ids))
    };
    let none = || Finding::new(Verdict::Unknown, Reason::Holds(MAY_BE_DROPPED));
    Ok((0..system.levels.count()).find_map(of_level).unwrap_or_else(none))
}

const MAY_BE_DROPPED: &str =
    "policies may drop jobs of lower criticality, and those that none may drop are not too much";

/// The tasks of this level and of higher ones with their WCETs at this level, and their ids.
fn kept_at(system: &System, level: usize) -> (System, Vec<TaskId>) {
    let all = system.tasks.iter().filter(|(_, task)| task.criticality.level() >= level);
    let of = |(id, task): (TaskId, &Task)| {
        let kept = Task {
            wcet: vec![task.wcet[level.min(task.wcet.len() - 1)]].into(),
            criticality: Criticality::default(),
            execution: ExecutionModel::Wcet,
            // The tasks that they follow may be dropped.
            follows: [].into(),
            ..task.clone()
        };
        (id, kept)
    };
    let (ids, tasks): (Vec<TaskId>, Vec<Task>) = all.map(of).unzip();
    let (levels, chains) = (Levels::default(), Vec::new());
    (System { tasks: tasks.into(), levels, chains, ..system.clone() }, ids)
}

/// Translates the ids of some tasks in a finding to their ids among all tasks.
fn named(mut finding: Finding, ids: &[TaskId]) -> Finding {
    for reason in &mut finding.reasons {
        if let Reason::Compared(comparison) = reason
            && let Some(task) = &mut comparison.scope.task
        {
            *task = ids[task.index()];
        }
    }
    finding
}

/// The sum of the utilizations of all tasks, and its limit.
pub(crate) fn load(sum: RateSum, capacity: Rate, holds: bool) -> Reason {
    let (value, capacity) = (Quantity::Sum(sum), Quantity::Number(capacity));
    Reason::compared("the utilization", Scope::default(), value, capacity, holds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::{
        Behaviour, Duration, Request, RequestKind, Service, System, Task, TaskId, Time,
    };

    fn overloaded() -> System {
        let task = |name, c, t| Task::implicit(name, Service::from_ms(c), Duration::from_ms(t));
        System::new(1, vec![task("a", 6, 10), task("b", 60, 100)])
    }

    #[test]
    fn a_task_that_leaves_in_time_overloads_nothing() {
        let mut system = overloaded();
        assert_eq!(TEST.run(&system).unwrap().verdict, Verdict::No);
        let kind = RequestKind::Leave(TaskId(1));
        system.requests.push(Request { at: Time::from_ns(50_000_000), kind });
        assert_eq!(TEST.run(&system).unwrap().verdict, Verdict::Unknown);
    }

    /// Locks and suspensions make nothing easier, but a section may be executed on the home CPU of
    /// its resource.
    #[test]
    fn steps_change_no_limit() {
        use layland_model::{CpuId, CpuSet, Rate, Resource, ResourceId, Speed, Step};
        let mut system = overloaded();
        let ms = Service::from_ms;
        let steps = [Step::Run(ms(3)), Step::Suspend(Duration::from_ms(1)), Step::Run(ms(3))];
        system.tasks[TaskId(0)].steps = Some(steps.into());
        assert_eq!(TEST.run(&system).unwrap().verdict, Verdict::No);
        let one = Task::implicit("a", ms(6), Duration::from_ms(10));
        let mut system = System::new(2, vec![one]);
        system.platform.speeds[CpuId(0)] = Speed::new(&Rate::new(1, 2)).unwrap();
        system.tasks[TaskId(0)].affinity = Some(CpuSet::single(CpuId(0)));
        assert_eq!(TEST.run(&system).unwrap().verdict, Verdict::No);
        let q = ResourceId(0);
        system.resources = vec![Resource { name: "bus".to_owned(), home: Some(CpuId(1)) }];
        system.tasks[TaskId(0)].steps =
            Some([Step::Lock(q), Step::Run(ms(6)), Step::Unlock(q)].into());
        assert_eq!(TEST.run(&system).unwrap().verdict, Verdict::Unknown);
    }

    #[test]
    fn a_task_that_suspends_itself_has_no_period() {
        let mut system = overloaded();
        system.tasks[TaskId(1)].behaviour =
            Behaviour::SelfSuspending { gap: Duration::from_ms(500) };
        assert_eq!(TEST.run(&system).unwrap().verdict, Verdict::Unknown);
    }
}
