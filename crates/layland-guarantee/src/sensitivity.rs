//! The limits of each task: the largest WCET, the least deadline, the least period and the largest jitter with
//! which all deadlines are still guaranteed, and of each CPU the factor by which the WCETs of its tasks could
//! grow.
//!
//! One number changes, all others stay, and so do the decisions of the policy before the start: the CPUs of
//! tasks, priorities, splits (`kept.rs`). A rate-monotonic or deadline-monotonic policy keeps the order that
//! the given numbers lead to.
//!
//! | number | rule |
//! |---|---|
//! | WCET | in time on the CPU of the task; what depends on it grows in proportion, rounded up: WCETs of other levels, budgets, steps, segments, execution times |
//! | deadline | alone |
//! | period | the deadline goes along where it would be longer than the period, and was not before |
//! | jitter | alone |
//!
//! Where the set is guaranteed the search goes towards the limit, elsewhere towards the first value that is
//! accepted. It is a bisection, which finds the limit where the test is monotone, as exact tests of one CPU
//! are. Other tests may accept again beyond the value: it is accepted, and the next one is not. Under EDF and
//! fixed priorities on one CPU the largest WCET has a closed form
//! ([`largest_wcet`]), whose value the policy's own tests have to confirm.

use crate::assessment::{CpuLimit, Limits, Sensitivity, UNIT};
use crate::kept::Kept;
use crate::margin::grow;
use crate::memo::Memo;
use crate::options::AssessOptions;
use crate::placed::placed;
use crate::verdict::{Asked, verdict};
use layland_analysis::Verdict;
use layland_analysis::uniprocessor::sensitivity::largest_wcet;
use layland_model::{
    Algorithm, Behaviour, CpuId, CpuSet, Duration, Form, JobOrder, Order, Rate, ScheduleRule,
    Separation, Service, Speed, System, Task, TaskId, TaskMap,
};
use layland_policy::{PolicyInfo, PolicyOptions, Registry};
use std::borrow::Cow;

/// A period is tried up to this many times its length where the set is not guaranteed.
const LONGEST: i64 = 1024;

/// Computes the limits under a policy that accepts the system and has this verdict on it. Returns none if the
/// decisions of the policy cannot be kept.
pub(crate) fn sensitivity(
    registry: &Registry,
    policy: &Asked<'_, '_>,
    system: &System,
    options: &AssessOptions,
    now: Verdict,
) -> Option<Sensitivity> {
    let rule = policy.info.build(system, &policy.options.for_its_rule()).ok()?.rule();
    let tied = tied(system, &rule);
    let (mut view, speeds) = in_time(&tied, &rule);
    // A value that is refused for jobs that come at any distance may do for jobs at ticks.
    let mut is_exact =
        options.tick.is_none() && has_exact_test(policy.info.algorithm(&policy.options), &view);
    if is_exact {
        // Exact tests are about jobs that may come at any distance.
        view.tasks
            .values_mut()
            .filter(|task| task.behaviour == Behaviour::Periodic)
            .for_each(drift);
    }
    let own = Pinned::of(policy.spec, policy.info, &policy.options, &view, &rule, options)?;
    let is_accepted = now == Verdict::Yes && own.verdict(&view) == Verdict::Yes;
    let ranked = with_given_priorities(policy, &view, &rule);
    let fixed = ranked.as_ref().and_then(|(algorithm, ranked)| {
        let (info, given) = of_algorithm(registry, &policy.options, *algorithm)?;
        let fixed = Pinned::of(policy.spec, info, &given, ranked, &rule, options)?;
        (fixed.verdict(ranked) == own.verdict(&view)).then_some(fixed)
    });
    let mut tasks = TaskMap::filled(Limits::default(), view.tasks.len());
    for id in view.tasks.ids() {
        let mut search = Bisection { is_accepted, is_exact: &mut is_exact };
        let hint = hint(policy.info.algorithm(&policy.options), &view, id);
        let wcet = search.wcet(&own, &view, id, hint);
        let limits = &mut tasks[id];
        limits.wcet = wcet.filter(|_| speeds[id].is_some()).map(Duration::from_ns);
        limits.work = wcet.and_then(|ns| {
            let Some(speed) = speeds[id] else { return Some(Service::from_ns(ns)) };
            // The stretches of steps are rounded one by one.
            let is_whole = tied.platform.is_unit_speed() || view.tasks[id].steps.is_none();
            let work = (&Rate::whole(ns) * &speed.rate()).floor()?;
            is_whole.then(|| Service::from_ns(work))
        });
        limits.jitter = search.jitter(&own, &view, id).map(Duration::from_ns);
        // With other periods and deadlines a policy may have other priorities.
        let kept = match (&ranked, &fixed) {
            (None, _) => is_ordered_alike(&rule).then_some((&own, &view)),
            (Some((_, ranked)), Some(fixed)) => Some((fixed, ranked)),
            (Some(_), None) => None,
        };
        if let Some((pinned, base)) = kept {
            limits.deadline = search.deadline(pinned, base, id).map(Duration::from_ns);
            limits.period = search.period(pinned, base, id).map(Duration::from_ns);
        }
    }
    let as_given = Pinned::of(policy.spec, policy.info, &policy.options, &tied, &rule, options)?;
    // A factor is a number of thousandths, and no exact limit.
    let mut search = Bisection { is_accepted, is_exact: &mut true };
    let of_cpu = |(cpu, ids): (CpuId, Vec<TaskId>)| CpuLimit {
        cpu,
        thousandths: search.factor(&as_given, &tied, cpu, &ids),
        speed: tied.platform.speeds[cpu].rate(),
    };
    let cpus = of_single_cpus(&rule).into_iter().map(of_cpu).collect();
    Some(Sensitivity { tasks, cpus, is_exact })
}

/// Returns true if an exact test is about the policy and the system.
fn has_exact_test(algorithm: Algorithm, view: &System) -> bool {
    let is_plain = |task: &Task| {
        task.steps.is_none() && task.follows.is_empty() && task.blocking_time == Duration::ZERO
    };
    matches!(algorithm, Algorithm::Ordered(Form::Partitioned, _))
        && view.platform.overheads.is_zero()
        && view.tasks.ids().all(|id| view.allowed_cpus(id).len() == 1)
        && view.tasks.values().all(is_plain)
}

/// Lets the jobs of a periodic task come at any distance from those of others.
fn drift(task: &mut Task) {
    let max = Duration::from_ns(1);
    task.behaviour = Behaviour::Sporadic(Separation::Uniform { max });
}

/// Returns each CPU that is a group of its own, with its tasks.
fn of_single_cpus(rule: &ScheduleRule) -> Vec<(CpuId, Vec<TaskId>)> {
    let groups = rule.groups().unwrap_or_default().iter();
    let mut found: Vec<(CpuId, Vec<TaskId>)> = groups
        .filter(|group| group.cpus.len() == 1 && !group.tasks.is_empty())
        .filter_map(|group| Some((group.cpus.lowest()?, group.tasks.clone())))
        .collect();
    found.sort_unstable();
    found
}

/// Returns the system in which each task that has one CPU for itself is tied to it. Clusters stay: overheads
/// count the releases of all tasks of a cluster.
fn tied(system: &System, rule: &ScheduleRule) -> System {
    let mut tied = system.clone();
    tied.provenance = None;
    for (cpu, ids) in of_single_cpus(rule) {
        for id in ids {
            tied.tasks[id].affinity = Some(CpuSet::single(cpu));
        }
    }
    tied
}

/// Returns the system in the time of its CPUs, and the speed by which the times of each task are those of its
/// work; `None` for tasks on CPUs of different speeds, whose WCETs stay work.
fn in_time(tied: &System, rule: &ScheduleRule) -> (System, TaskMap<Option<Speed>>) {
    let there = placed(tied, rule);
    let locking = if let ScheduleRule::Locking(locking) = rule { Some(locking) } else { None };
    let protocol = locking.map(|locking| locking.protocol);
    let view = if rule.counts_in_time() { there.time_view(protocol) } else { None };
    let speed_of = |task: &Task| there.speed_of(&there.platform.clusters[task.cluster]);
    let Some(view) = view else {
        let is_unit = there.platform.is_unit_speed();
        let speed = |_: &Task| is_unit.then_some(Speed::UNIT);
        return (tied.clone(), there.tasks.values().map(speed).collect());
    };
    let mut timed = tied.clone();
    timed.platform.speeds.clone_from(&view.platform.speeds);
    for (id, task) in view.tasks.iter() {
        let (cluster, affinity) = (tied.tasks[id].cluster, tied.tasks[id].affinity.clone());
        timed.tasks[id] = Task { cluster, affinity, ..task.clone() };
    }
    (timed, there.tasks.values().map(speed_of).collect())
}

/// Returns the algorithm with given priorities, and the system with the priorities that the policy gave; none
/// if the order of the policy is no order of tasks, or the given one.
fn with_given_priorities(
    policy: &Asked<'_, '_>,
    view: &System,
    rule: &ScheduleRule,
) -> Option<(Algorithm, System)> {
    let is_found = |order: Order| matches!(order, Order::RateMonotonic | Order::DeadlineMonotonic);
    let algorithm = policy.info.algorithm(&policy.options);
    let given = if let Algorithm::Ordered(form, order) = algorithm
        && is_found(order)
    {
        Algorithm::Ordered(form, Order::Given)
    } else if let Algorithm::Deferred(form, order) = algorithm
        && is_found(order)
    {
        Algorithm::Deferred(form, Order::Given)
    } else if let Algorithm::Locking(order, protocol) = algorithm
        && is_found(order)
    {
        Algorithm::Locking(Order::Given, protocol)
    } else if let Algorithm::Served(kind, order) = algorithm
        && is_found(order)
    {
        Algorithm::Served(kind, Order::Given)
    } else {
        return None;
    };
    let Some(JobOrder::Fixed(numbers)) = rule.order() else { return None };
    let mut ids: Vec<TaskId> = view.tasks.ids().collect();
    ids.sort_by_key(|&id| (numbers[id], view.tasks[id].rank, id));
    let mut ranked = view.clone();
    for (priority, id) in ids.into_iter().enumerate() {
        ranked.tasks[id].priority = Some(priority as i64);
    }
    Some((given, ranked))
}

/// Returns the policy that implements an algorithm, with these options and at most another order.
fn of_algorithm<'r>(
    registry: &'r Registry,
    given: &PolicyOptions,
    algorithm: Algorithm,
) -> Option<(&'r PolicyInfo, PolicyOptions)> {
    // No two tasks share a priority, so that ties make no difference.
    let given = given.without(&["accept", "order"]);
    let served = given.with("order", "fp");
    let options = [served.with("tie", "rank"), served, given.with("tie", "rank"), given];
    registry.iter().find_map(|info| {
        let fits = |options: &&PolicyOptions| {
            let has = |name: &str| info.options.iter().any(|option| option.name == name);
            options.names().all(has) && info.algorithm(options) == algorithm
        };
        options.iter().find(fits).map(|options| (info, options.clone()))
    })
}

/// Returns true if the order of jobs is the same, or given by their own deadlines, whatever the periods and
/// deadlines of the tasks are.
fn is_ordered_alike(rule: &ScheduleRule) -> bool {
    // Pieces have windows within deadlines, and levels have priorities of their own.
    let has_own =
        matches!(rule, ScheduleRule::Split { .. } | ScheduleRule::MixedCriticality { .. });
    let depends =
        |order: &JobOrder| matches!(order, JobOrder::Points(_) | JobOrder::TopFirst { .. });
    !has_own && !rule.order().is_some_and(depends)
}

/// Returns the largest WCET by its closed form, as the first value that is tried.
fn hint(algorithm: Algorithm, view: &System, id: TaskId) -> Option<i64> {
    let Algorithm::Ordered(Form::Partitioned, order) = algorithm else { return None };
    largest_wcet(view, id, order)
}

/// A policy with the decisions that it made.
struct Pinned<'s> {
    spec: &'s str,
    info: &'s PolicyInfo,
    options: PolicyOptions,
    kept: Kept<'s>,
    asked: AssessOptions,
}

impl<'s> Pinned<'s> {
    /// Returns none if the policy refuses the system, or makes other groups of it.
    fn of(
        spec: &'s str,
        info: &'s PolicyInfo,
        options: &PolicyOptions,
        base: &'s System,
        rule: &ScheduleRule,
        asked: &AssessOptions,
    ) -> Option<Pinned<'s>> {
        let kept = Kept::of(info, options, base)?;
        (kept.rule().groups() == rule.groups()).then(|| Pinned {
            spec,
            info,
            options: options.clone(),
            kept,
            asked: asked.for_another_system(),
        })
    }

    fn verdict(&self, system: &System) -> Verdict {
        if !system.validate().is_empty() {
            return Verdict::No;
        }
        let memo = Memo::default();
        let options = self.options.clone();
        let policy = Asked { spec: self.spec, info: self.info, options, memo: &memo };
        verdict(&policy, Cow::Borrowed(system), &self.asked, Some(&self.kept)).verdict
    }

    /// Returns the verdict on the system with another task.
    fn with(&self, base: &System, id: TaskId, change: impl FnOnce(&mut Task)) -> Verdict {
        let mut other = base.clone();
        change(&mut other.tasks[id]);
        self.verdict(&other)
    }
}

/// The search for limits of a set that is accepted, or is not.
struct Bisection<'e> {
    is_accepted: bool,
    is_exact: &'e mut bool,
}

impl Bisection<'_> {
    /// Returns the last accepted value between one that is accepted, or stands for none, and one that is not.
    /// With a hint it and its neighbour are tried first.
    fn last(
        &mut self,
        accepted: i64,
        refused: i64,
        hint: Option<i64>,
        mut says: impl FnMut(i64) -> Verdict,
    ) -> i64 {
        let (mut yes, mut no, mut why) = (accepted, refused, Verdict::No);
        let towards = (refused - accepted).signum();
        let mut first = hint.into_iter().flat_map(|value| [value, value + towards]);
        while (no - yes).abs() > 1 {
            let is_between = |value: &i64| (yes.min(no) + 1..yes.max(no)).contains(value);
            let at = first.next().filter(is_between).unwrap_or(yes + (no - yes) / 2);
            match says(at) {
                Verdict::Yes => yes = at,
                other @ (Verdict::No | Verdict::Unknown) => (no, why) = (at, other),
            }
        }
        *self.is_exact &= why == Verdict::No;
        yes
    }

    fn wcet(
        &mut self,
        pinned: &Pinned<'_>,
        base: &System,
        id: TaskId,
        hint: Option<i64>,
    ) -> Option<i64> {
        let task = &base.tasks[id];
        let now = task.own_wcet().ns();
        let says = |ns: i64| {
            pinned.with(base, id, |task| {
                grow(task, ns, now);
            })
        };
        let found = if self.is_accepted {
            // A job alone that takes longer than its deadline is late, even on the fastest CPU.
            let fastest = base.platform.fastest().rate();
            let most = (&Rate::whole(task.deadline.ns()) * &fastest).ceil()?.max(now);
            self.last(now, most.checked_add(1)?, hint, says)
        } else {
            self.last(0, now, hint, says)
        };
        (found > 0).then_some(found)
    }

    fn deadline(&mut self, pinned: &Pinned<'_>, base: &System, id: TaskId) -> Option<i64> {
        let Task { deadline, period, .. } = base.tasks[id];
        let says = |ns: i64| pinned.with(base, id, |task| task.deadline = Duration::from_ns(ns));
        if self.is_accepted {
            return Some(self.last(deadline.ns(), 0, None, says));
        }
        let longest = period.max(deadline).ns();
        let may_be = longest > deadline.ns() && says(longest) == Verdict::Yes;
        may_be.then(|| self.last(longest, deadline.ns(), None, says))
    }

    fn period(&mut self, pinned: &Pinned<'_>, base: &System, id: TaskId) -> Option<i64> {
        let Task { deadline, period, .. } = base.tasks[id];
        // These arrive by another rule than their periods.
        let has_period = match base.tasks[id].behaviour {
            Behaviour::Periodic | Behaviour::Sporadic(_) | Behaviour::Hog | Behaviour::Yield => {
                true
            }
            Behaviour::Explicit(_) | Behaviour::SelfSuspending { .. } | Behaviour::Curve(_) => {
                false
            }
        };
        if !has_period {
            return None;
        }
        let says = |ns: i64| {
            pinned.with(base, id, |task| {
                task.period = Duration::from_ns(ns);
                if deadline <= period {
                    task.deadline = deadline.min(task.period);
                }
            })
        };
        if self.is_accepted {
            return Some(self.last(period.ns(), 0, None, says));
        }
        let mut longer = period.ns();
        while longer < period.ns().saturating_mul(LONGEST) {
            let shorter = longer;
            longer = longer.checked_mul(2)?;
            if says(longer) == Verdict::Yes {
                return Some(self.last(longer, shorter, None, says));
            }
        }
        None
    }

    fn jitter(&mut self, pinned: &Pinned<'_>, base: &System, id: TaskId) -> Option<i64> {
        let Task { deadline, jitter, .. } = base.tasks[id];
        let says = |ns: i64| pinned.with(base, id, |task| task.jitter = Duration::from_ns(ns));
        if self.is_accepted {
            // A job that becomes ready at its deadline is late.
            return Some(self.last(jitter.ns(), deadline.max(jitter).ns() + 1, None, says));
        }
        let may_be = jitter > Duration::ZERO && says(0) == Verdict::Yes;
        may_be.then(|| self.last(0, jitter.ns(), None, says))
    }

    /// Returns the factor of the WCETs of some tasks, those of a CPU.
    fn factor(&mut self, pinned: &Pinned<'_>, base: &System, cpu: CpuId, ids: &[TaskId]) -> i64 {
        let speed = base.platform.speeds[cpu].rate();
        // Beyond this factor a WCET exceeds its deadline.
        let alone = ids.iter().filter_map(|&id| {
            let task = &base.tasks[id];
            let most = &Rate::whole(task.deadline.ns()) * &Rate::whole(UNIT);
            (&(&most * &speed) / &Rate::whole(task.own_wcet().ns().max(1))).ceil()
        });
        let limit = alone.min().unwrap_or(UNIT).saturating_add(1);
        let says = |thousandths: i64| {
            let mut other = base.clone();
            for &id in ids {
                crate::margin::scale(&mut other.tasks[id], thousandths);
            }
            pinned.verdict(&other)
        };
        if self.is_accepted {
            self.last(UNIT, limit.max(UNIT + 1), None, says)
        } else {
            self.last(0, UNIT, None, says)
        }
    }
}
