//! Admission control of `SCHED_DEADLINE` (Tang, Anderson, Abeni 2021): **exact**, for the set of
//! tasks as it enters. The verdict says whether the kernel admits the tasks, not whether they meet
//! their deadlines.
//!
//! | condition | of | meaning |
//! |---|---|---|
//! | (1) | every cluster | the utilizations of its tasks sum to at most `limit * CPUs` |
//! | (2) | every CPU | the utilizations of the tasks that may use only this CPU sum to at most `limit` |
//!
//! Each CPU may have reserved bandwidth for ordinary threads, as Linux has since 6.8 (its fair
//! servers): this counts in (1) and in (2), like a task that may use this CPU only.
//!
//! A third condition is not in the paper, which has no costs. A task that migrates and is late is
//! throttled at the end of each budget, and this takes time. It catches up only if it leaves more of
//! its period than that:
//!
//! | condition | of | meaning |
//! |---|---|---|
//! | (3) | every task that migrates | `C + cost < T`, with `C` on the fastest CPU that it may use |
//!
//! [`Terms`] say whether (3) is enforced. Where it is not, tasks that break it are named beside the
//! verdict ([`Reason::StaysLate`]).
//!
//! Linux tests (1) and requires affinities to be whole clusters: [`global`]. The semi-partitioned
//! patch also admits tasks with one CPU, and tests (2): [`semi_partitioned`]. Utilizations are
//! those of the reservations (`budget` if given); equality is accepted. The kernel rounds;
//! [`kernel`] uses its arithmetic, which accepts slightly more.

use crate::Assumption::{self, SemiPartitioned, WholeClusters};
use crate::Citation;
use crate::group::{Group, together};
use crate::{
    Certify, Decide, Finding, Quantity, Reason, Refusal, SchedulabilityTest, Scope, Subject,
    TestKind, Verdict,
};
use layland_model::{Algorithm, CpuSet, Duration, Rate, RateSum, System, Task, TaskId, capacity};

/// The share of each CPU that real-time tasks may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Admission control is off (`sched_rt_runtime_us = -1`).
    Off,
    /// `sched_rt_runtime_us / sched_rt_period_us`.
    Share(Rate),
    /// A share of which each CPU has reserved some for ordinary threads.
    Beside {
        /// `sched_rt_runtime_us / sched_rt_period_us`.
        share: Rate,
        /// The bandwidth of the fair server of each CPU.
        fair: Rate,
    },
}

impl Limit {
    /// Returns the bandwidth that tasks may have on CPUs of this capacity, and this number; `None` if
    /// there is no limit.
    fn bound(&self, capacity: &Rate, cpus: i64) -> Option<Rate> {
        match self {
            Limit::Off => None,
            Limit::Share(share) => Some(share * capacity),
            Limit::Beside { share, fair } => {
                Some((&(share * capacity) - &(fair * &Rate::whole(cpus))).max(Rate::ZERO))
            }
        }
    }
}

/// The terms of semi-partitioned admission.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// The limit of conditions (1) and (2).
    pub limit: Limit,
    /// The time that a forced throttle costs.
    pub throttle_cost: Duration,
    /// True if condition (3) is enforced.
    pub needs_slack: bool,
}

impl Default for Limit {
    /// 950 ms of every second.
    fn default() -> Limit {
        Limit::Share(Rate::new(19, 20))
    }
}

/// Condition (1) with the default limit.
pub const GLOBAL: SchedulabilityTest = SchedulabilityTest {
    name: "AC",
    title: "admission control of SCHED_DEADLINE with its default limit",
    subject: Subject::Admission(&[Algorithm::SchedDeadline]),
    kind: TestKind::Exact,
    assumptions: &[WholeClusters],
    citations: &[&Citation::TANG],
    certify: Certify::Without(
        "that the kernel turns threads away is a rule of its own, and no missed deadline",
    ),
    decide: Decide::by(|system| condition_1(system, &Limit::default())),
};

/// Conditions (1) and (2) with the default limit.
pub const SEMI_PARTITIONED: SchedulabilityTest = SchedulabilityTest {
    name: "AC-SP",
    title: "admission control of semi-partitioned SCHED_DEADLINE with the default limit",
    subject: Subject::Admission(&[Algorithm::SemiPartitionedDeadline]),
    kind: TestKind::Exact,
    assumptions: &[SemiPartitioned],
    citations: &[&Citation::TANG],
    certify: Certify::Without(
        "that the kernel turns threads away is a rule of its own, and no missed deadline",
    ),
    decide: Decide::by(|system| on_terms(system, &Terms::default())),
};

/// Tests whether Linux admits all tasks: condition (1).
///
/// ```
/// use layland_analysis::{Verdict, deadline::admission::{Limit, global}};
/// use layland_model::{Duration, Service, System, Task};
/// let tasks = [(95, 100), (19, 20)]
///     .map(|(q, t)| Task::implicit(format!("{q}/{t}"), Service::from_ms(q), Duration::from_ms(t)));
/// let finding = global(&System::new(2, tasks.to_vec()), &Limit::default()).unwrap();
/// assert_eq!(finding.verdict, Verdict::Yes); // Equality is accepted.
/// ```
///
/// Examples of Tang et al. about admission:
///
/// ```
/// use layland_analysis::{Verdict, deadline::admission::{Limit, global}};
/// use layland_model::{Duration, Service, System, Task};
/// let admits = |cpus, tasks: &[(i64, i64)]| {
///     let tasks = tasks.iter().map(|&(q, t)| {
///         Task::implicit(format!("{q}/{t}"), Service::from_ms(q), Duration::from_ms(t))
///     });
///     global(&System::new(cpus, tasks.collect()), &Limit::default()).unwrap().verdict == Verdict::Yes
/// };
/// // Example 1: the second task gets in once the first asks for less.
/// assert!(!admits(1, &[(94, 100), (94, 100)]) && admits(1, &[(1, 100), (94, 100)]));
/// // Examples 2 and 4: 1.89 of 1.90.
/// assert!(admits(2, &[(63, 100); 3]));
/// // Example 3: 2.8 of 2.85, and a task of them beside the one on the other CPU.
/// assert!(admits(3, &[(70, 100); 4]) && admits(1, &[(70, 100), (2, 10)]));
/// ```
///
/// # Errors
/// Returns a refusal if a task may not use its whole cluster.
pub fn global(system: &System, limit: &Limit) -> Result<Finding, Refusal> {
    Assumption::check_all(GLOBAL.assumptions, system)?;
    Ok(condition_1(system, limit))
}

/// [`global`] as Linux since 5.9 tests it on CPUs of different speed: the sum of the speeds counts
/// in place of their number. It admits systems that no scheduler can keep up with (Defect 3 of Tang
/// et al. 2021), because it does not compare the largest `k` tasks with the fastest `k` CPUs.
///
/// ```
/// use layland_analysis::{Verdict, deadline::admission::{Limit, global_by_capacity}};
/// use layland_model::{CpuId, Duration, Rate, Service, Speed, System, Task};
/// let task = |name| Task::implicit(name, Service::from_ms(9), Duration::from_ms(10));
/// let mut system = System::new(5, vec![task("a"), task("b")]);
/// (1..5).for_each(|c| system.platform.speeds[CpuId(c)] = Speed::new(&Rate::new(1, 4)).unwrap());
/// // 1.8 of 0.95 (1 + 4/4), though at any time the two tasks get 1.25 at most.
/// assert_eq!(global_by_capacity(&system, &Limit::default()).unwrap().verdict, Verdict::Yes);
/// ```
///
/// # Errors
/// Returns a refusal if a task may not use its whole cluster.
pub fn global_by_capacity(system: &System, limit: &Limit) -> Result<Finding, Refusal> {
    Assumption::check_all(GLOBAL.assumptions, system)?;
    let compare = |group: &Group<'_>| {
        let capacity = group.cpus.iter().map(|c| system.platform.speeds[c].rate()).sum();
        at_most(group, &capacity, limit, "(1) the utilization")
    };
    Ok(together(Group::clusters(system).iter().map(compare)))
}

/// Tests whether the semi-partitioned patch admits all tasks: conditions (1) and (2).
///
/// Examples of Tang et al. with partitioned tasks:
///
/// ```
/// use layland_analysis::{Verdict, deadline::admission::{Limit, semi_partitioned}};
/// use layland_model::{Duration, Service, System, Task};
/// // (C, T) and the CPU of a partitioned task.
/// let verdict = |cpus, tasks: &[(i64, i64, Option<&str>)]| {
///     let tasks = tasks.iter().map(|&(q, t, cpu)| Task {
///         affinity: cpu.map(|cpu| cpu.parse().unwrap()),
///         ..Task::implicit(format!("{q}/{t}"), Service::from_ms(q), Duration::from_ms(t))
///     });
///     semi_partitioned(&System::new(cpus, tasks.collect()), &Limit::default()).unwrap().verdict
/// };
/// let example_5 = [
///     (2, 6, Some("0")), (2, 2, None), (1, 6, Some("1")), (2, 2, None), (2, 6, Some("2")),
/// ];
/// assert_eq!(verdict(3, &example_5), Verdict::Yes); // 2.833 of 2.85
/// let example_6 = [(10, 70, Some("0")), (10, 50, Some("1")), (5, 10, None)];
/// assert_eq!(verdict(2, &example_6), Verdict::Yes);
/// let example_7 = [(1, 2, Some("0")), (1, 1, None)];
/// assert_eq!(verdict(2, &example_7), Verdict::Yes);
/// // Condition (2): all that is partitioned cannot be on one CPU.
/// let on_one = [(2, 6, Some("0")), (2, 6, Some("0")), (2, 6, Some("0"))];
/// assert_eq!(verdict(3, &on_one), Verdict::No);
/// ```
///
/// # Errors
/// Returns a refusal if a task may use some CPUs of its cluster, but neither all nor one.
pub fn semi_partitioned(system: &System, limit: &Limit) -> Result<Finding, Refusal> {
    semi_partitioned_on(system, &Terms { limit: limit.clone(), ..Terms::default() })
}

/// [`semi_partitioned`] on these terms.
///
/// ```
/// use layland_analysis::{Verdict, deadline::admission::{Limit, Terms, semi_partitioned_on}};
/// use layland_model::{Duration, Rate, Service, System, Task};
/// // Example 5 of Tang et al.: 2.833 of 2.85.
/// let tasks = [(2, 6, Some("0")), (2, 2, None), (1, 6, Some("1")), (2, 2, None), (2, 6, Some("2"))];
/// let tasks = tasks.map(|(c, t, cpu)| Task {
///     affinity: cpu.map(|cpu| cpu.parse().unwrap()),
///     ..Task::implicit("tau", Service::from_ms(c), Duration::from_ms(t))
/// });
/// let system = System::new(3, tasks.to_vec());
/// let verdict = |terms| semi_partitioned_on(&system, &terms).unwrap().verdict;
/// let terms = Terms::default();
/// assert_eq!(verdict(terms.clone()), Verdict::Yes);
/// // With a fair server of 5 % on each CPU, which leaves 2.7 ..
/// let limit = Limit::Beside { share: Rate::new(19, 20), fair: Rate::new(1, 20) };
/// assert_eq!(verdict(Terms { limit, ..terms.clone() }), Verdict::No);
/// // .. and where tasks must be able to catch up.
/// assert_eq!(verdict(Terms { needs_slack: true, ..terms }), Verdict::No);
/// ```
///
/// # Errors
/// Returns a refusal if a task may use some CPUs of its cluster, but neither all nor one.
pub fn semi_partitioned_on(system: &System, terms: &Terms) -> Result<Finding, Refusal> {
    Assumption::check_all(SEMI_PARTITIONED.assumptions, system)?;
    Ok(on_terms(system, terms))
}

fn on_terms(system: &System, terms: &Terms) -> Finding {
    let mut finding = both_conditions(system, &terms.limit);
    let late = stays_late(system, terms.throttle_cost);
    let is_turned_away = terms.needs_slack && terms.limit != Limit::Off && !late.is_empty();
    if is_turned_away {
        if finding.verdict == Verdict::Yes {
            finding.reasons.clear();
        }
        finding.verdict = Verdict::No;
    }
    if !late.is_empty() && (is_turned_away || finding.verdict == Verdict::Yes) {
        finding.reasons.push(Reason::StaysLate(late));
    }
    finding
}

/// Returns the tasks that do not catch up once they are late, if a forced throttle costs this much:
/// those that migrate, with `C + cost >= T` (condition (3)), where `C` is the time of the reservation
/// on the fastest CPU that the task may use.
///
/// A late job of such a task ends at least `C + cost` after the one before: the CPU is taken from the
/// task for `cost` at the end of each budget (Tang et al. 2021, Section 4.1; about 100 us in
/// Linux, in an emulator). Without costs only tasks that need all of a CPU are named: any cost
/// keeps them late.
///
/// ```
/// use layland_analysis::deadline::admission::stays_late;
/// use layland_model::{Duration, Service, System, Task, TaskId};
/// let task = |us| Task::implicit("tau", Service::from_us(us), Duration::from_ms(20));
/// let system = System::new(3, vec![task(20_000), task(19_960), task(19_600)]);
/// assert_eq!(stays_late(&system, Duration::ZERO), [TaskId(0)]);
/// assert_eq!(stays_late(&system, Duration::from_us(50)), [TaskId(0), TaskId(1)]);
/// ```
pub fn stays_late(system: &System, cost: Duration) -> Vec<TaskId> {
    let stays = |&(id, task): &(TaskId, &Task)| {
        let allowed = system.allowed_cpus(id);
        let takes = |cpu| system.platform.speeds[cpu].time_for(task.reservation());
        let least = allowed.iter().map(takes).min();
        allowed.len() > 1 && least.is_some_and(|least| least + cost >= task.period)
    };
    system.tasks.iter().filter(stays).map(|(id, _)| id).collect()
}

pub(crate) fn both_conditions(system: &System, limit: &Limit) -> Finding {
    together([condition_1(system, limit), condition_2(system, limit)].into_iter())
}

fn condition_1(system: &System, limit: &Limit) -> Finding {
    let compare = |group: &Group<'_>| at_most(group, &count(group), limit, "(1) the utilization");
    together(Group::clusters(system).iter().map(compare))
}

/// A one-CPU cluster has no partitioned tasks, as its tasks may use all of it. The sums are equal.
fn condition_2(system: &System, limit: &Limit) -> Finding {
    let groups = Group::affinities(system);
    let partitioned = groups.iter().filter(|group| group.cpus.len() == 1);
    let what = "(2) the partitioned utilization";
    together(partitioned.map(|group| at_most(group, &count(group), limit, what)))
}

fn count(group: &Group<'_>) -> Rate {
    Rate::whole(group.cpu_count())
}

fn reserved(task: &Task) -> Rate {
    Rate::new(task.reservation().ns(), task.period.ns())
}

fn at_most(group: &Group<'_>, capacity: &Rate, limit: &Limit, what: &'static str) -> Finding {
    let mut sum = RateSum::default();
    group.tasks().for_each(|task| sum.add(&reserved(task)));
    let (bound, holds) = match limit.bound(capacity, group.cpu_count()) {
        None => (capacity.clone(), true),
        Some(bound) => {
            let holds = sum.fits(&Rate::ZERO, &bound);
            (bound, holds)
        }
    };
    let (value, bound) = (Quantity::Sum(sum), Quantity::Number(bound));
    let reason = Reason::compared(what, Scope::cpus(&group.cpus), value, bound, holds);
    Finding::new(TestKind::Exact.verdict(holds), reason)
}

/// `floor(Q * 2^20 / T)`, the bandwidth of a reservation as the kernel computes it (`to_ratio`).
///
/// ```
/// use layland_analysis::deadline::admission::kernel_bandwidth;
/// use layland_model::{Duration, Service, Task};
/// let third = Task::implicit("third", Service::from_ms(1), Duration::from_ms(3));
/// assert_eq!(kernel_bandwidth(&third), 349_525); // 2^20 / 3 is 349 525.33
/// ```
pub fn kernel_bandwidth(task: &Task) -> u64 {
    let [budget, period] = [task.reservation().ns(), task.period.ns()].map(i64::unsigned_abs);
    capacity::bandwidth(budget, period)
}

/// Tests whether the kernel's own arithmetic admits these tasks to a cluster: the sum of their
/// [`kernel_bandwidth`]s is at most `floor(limit * 2^20)` times the CPUs.
///
/// Utilizations are rounded down by up to 2^-20 each, and so is the limit: under the default limit
/// this accepts slightly more than condition (1) or, right at the limit, slightly less.
pub fn kernel<'a>(tasks: impl Iterator<Item = &'a Task>, cpus: &CpuSet, limit: &Limit) -> Finding {
    let full = (cpus.len() as u64) << capacity::CAPACITY_SHIFT;
    in_units(tasks, cpus, full, limit)
}

/// [`global_by_capacity`] in the kernel's own arithmetic: a speed is a [capacity](capacity::of_speed)
/// in 1024ths, rounded down.
///
/// # Errors
/// Returns a refusal if a task may not use its whole cluster.
pub fn kernel_by_capacity(system: &System, limit: &Limit) -> Result<Finding, Refusal> {
    Assumption::check_all(GLOBAL.assumptions, system)?;
    let compare = |group: &Group<'_>| {
        let of_cpu = |cpu| capacity::of_speed(system.platform.speeds[cpu]);
        let capacity = group.cpus.iter().map(of_cpu).sum();
        in_units(group.tasks(), &group.cpus, capacity, limit)
    };
    Ok(together(Group::clusters(system).iter().map(compare)))
}

fn in_units<'a>(
    tasks: impl Iterator<Item = &'a Task>,
    cpus: &CpuSet,
    capacity: u64,
    limit: &Limit,
) -> Finding {
    let total = tasks.map(kernel_bandwidth).fold(0, u64::saturating_add);
    let within = |share, fair| {
        let [share, fair] = [share, fair].map(capacity::units);
        capacity::beside_fair(share, fair, cpus.len(), capacity)
    };
    let bound = match limit {
        Limit::Off => u64::MAX,
        Limit::Share(share) => within(share, &Rate::ZERO),
        Limit::Beside { share, fair } => within(share, fair),
    };
    let scale = Rate::whole(1 << capacity::BANDWIDTH_SHIFT);
    let number = |units: u64| {
        Quantity::Number(&Rate::whole(i64::try_from(units).unwrap_or(i64::MAX)) / &scale)
    };
    let holds = total <= bound;
    let what = "(1) the utilization, rounded down by the kernel,";
    let reason = Reason::compared(what, Scope::cpus(cpus), number(total), number(bound), holds);
    Finding::new(TestKind::Exact.verdict(holds), reason)
}
