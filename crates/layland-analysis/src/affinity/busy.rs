//! Response times with affinities, in windows that begin with the last gap. Under strong
//! scheduling, they use the CPUs that a job reaches. **Sufficient.**
//!
//! | test | scheduling | addition |
//! |---|---|---|
//! | `APA-EDF-LC` | weak, strong, hierarchical | to [`APA-EDF`](super::edf): limits on the carried-in work, and on the CPUs that tasks of one affinity use at once |
//! | `SAPA-EDF` | strong, hierarchical | to `APA-EDF-LC`: a job waits only while all CPUs that it reaches are busy |
//! | `SAPA-RM`, `SAPA-DM`, `SAPA-FP` | strong, hierarchical | to [`APA-RM`](super::fixed_priority), `APA-DM` and `APA-FP`: both of these |
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) `D_i <= T_i`,
//! (4) `C_i <= D_i`, (5) WCETs are kept, (6) overheads are part of `C_i`, including those of
//! shifts, (7) unit speeds, (8) nothing changes while the system runs, (9) few pairs of tasks share
//! a CPU, (10) for given priorities: every task has one. Times are integers. Equal priorities go to
//! the smaller rank, then to the smaller id.
//!
//! The proof is in `delay/mod.rs`. It is derived here, from the reduction of Gujarati, Cerqueira
//! and Brandenburg 2013, the limited carry-in of Baruah 2007, Guan, Stigge, Yi and Yu 2009 and Sun
//! and Lipari 2015, and the strong invariant of Bonifaci, Brandenburg, D'Angelo and
//! Marchetti-Spaccamela 2016 (Definition II.2). No paper is known to present it in this form.
//!
//! For each task, all choices of weights are tried: one for each part `S` of its CPUs
//! (`reduction.rs`), and under the strong invariant one for each part and each number of CPUs from
//! which on reached sets count as a whole. So `SAPA-EDF` accepts every set that `APA-EDF-LC`
//! accepts, unless it gives up: the number of steps for each system is limited.

#![expect(non_snake_case, reason = "symbols of the papers")]

use super::fixed_priority::{DERIVED, Found, both};
use super::reduction::Masked;
use crate::Assumption::{self, Priorities};
use crate::assumption::and;
use crate::delay::crowds::{Delay, strong, weak};
use crate::delay::slacks::{MOST_TASKS, under_edf, under_priorities};
use crate::global_edf::bar::BARUAH_2007;
use crate::global_edf::limited::SUN_LIPARI;
use crate::global_fp::GUAN_2009;
use crate::ordered::{Analysis, ByOrder, by_order, given_last};
use crate::uniprocessor::fixed_priority::PriorityOrder;
use crate::{
    BoundedTest, Certify, Citation, OrderedTest, ResponseTest, SchedulabilityTest, Subject,
    TestKind,
};
use layland_model::{Algorithm, Duration, Form, Order, System, TaskMap};

const GIVEN: &[Assumption] = &and::<10>(DERIVED, Priorities);
const WITHOUT: Certify =
    Certify::Without("that a window of any length has room is a search, which has no short form");

const LIMITED: BoundedTest = BoundedTest {
    name: "APA-EDF-LC",
    title: "response times under EDF with affinities, with limited carry-in",
    algorithms: &[
        Algorithm::Ordered(Form::Weak, Order::Deadline),
        Algorithm::Ordered(Form::Strong, Order::Deadline),
        Algorithm::Ordered(Form::Hierarchical, Order::Deadline),
    ],
    assumptions: DERIVED,
    citations: &[&Citation::GUJARATI, &BARUAH_2007, &SUN_LIPARI],
    certify: WITHOUT,
    both: |system| both(system, &edf(system, false)),
};
/// `APA-EDF-LC`: response times under EDF with affinities, with limited carry-in.
pub const EDF: SchedulabilityTest = LIMITED.test();
/// The response bounds of `APA-EDF-LC`.
pub const EDF_RESPONSE: ResponseTest = LIMITED.responses();

const STRONG: BoundedTest = BoundedTest {
    name: "SAPA-EDF",
    title: "response times under EDF with affinities, by the CPUs that a job reaches",
    algorithms: &[
        Algorithm::Ordered(Form::Strong, Order::Deadline),
        Algorithm::Ordered(Form::Hierarchical, Order::Deadline),
    ],
    assumptions: DERIVED,
    citations: &[&Citation::BONIFACI, &Citation::GUJARATI, &BARUAH_2007, &SUN_LIPARI],
    certify: WITHOUT,
    both: |system| both(system, &edf(system, true)),
};
/// `SAPA-EDF`: response times under EDF with affinities, by the CPUs that a job reaches.
pub const STRONG_EDF: SchedulabilityTest = STRONG.test();
/// The response bounds of `SAPA-EDF`.
pub const STRONG_EDF_RESPONSE: ResponseTest = STRONG.responses();

/// `SAPA-RM`, `SAPA-DM` and `SAPA-FP`: response times under fixed priorities with affinities, by the
/// CPUs that a job reaches.
pub const STRONG_FIXED: OrderedTest = OrderedTest {
    listing: given_last!(
        "SAPA",
        "response times under ",
        " priorities with affinities, by the CPUs that a job reaches"
    ),
    subject: by_order!(|ORDER| Subject::Algorithms(&[
        Algorithm::Ordered(Form::Strong, ORDER),
        Algorithm::Ordered(Form::Hierarchical, ORDER),
    ])),
    kind: TestKind::Sufficient,
    assumptions: ByOrder::new(GIVEN, DERIVED),
    citations: &[&Citation::BONIFACI, &Citation::GUJARATI, &GUAN_2009],
    certify: ByOrder::all(WITHOUT),
    analysis: Analysis::Together(|system, order| both(system, &priorities(system, order))),
};

/// The choices of weights for a task, given the tasks that may come before it.
fn choices(masked: &Masked, k: usize, others: &[usize], is_strong: bool) -> Vec<Delay> {
    let mut all = weak(masked, k, others);
    if is_strong {
        all.extend(strong(masked, k, others));
    }
    all
}

fn found(response: i64, delay: &Delay) -> Found {
    (Duration::from_ns(response), delay.cpus.clone())
}

/// The response bounds under EDF of a system that keeps the assumptions, with the CPUs that the
/// reasons name: one for every task, or none if a task may be late. `is_strong`: under the strong
/// invariant.
///
/// ```
/// use layland_analysis::affinity::busy::edf;
/// use layland_model::{Duration, Service, System, Task};
/// // The first task waits for the second only while the other CPU is busy, too: under strong scheduling never.
/// let tasks = [(5, 5, "0"), (4, 10, "0-1")].map(|(c, t, cpus)| {
///     let mut task = Task::implicit(cpus, Service::from_ms(c), Duration::from_ms(t));
///     task.affinity = cpus.parse().ok();
///     task
/// });
/// let system = System::new(2, tasks.to_vec());
/// assert!(edf(&system, true).values().all(Option::is_some));
/// ```
pub fn edf(system: &System, is_strong: bool) -> TaskMap<Option<Found>> {
    let count = system.tasks.len();
    if count > MOST_TASKS {
        return TaskMap::filled(None, count);
    }
    let masked = Masked::new(system, system.tasks.ids());
    let of = |k: usize| {
        let others: Vec<usize> = (0..count).filter(|&i| i != k).collect();
        choices(&masked, k, &others, is_strong)
    };
    let delays: Vec<Vec<Delay>> = (0..count).map(of).collect();
    let best = under_edf(&masked.tasks, &delays);
    // A bound rests on those of all other tasks, so it holds only if all of them exist.
    let all = best.iter().all(Option::is_some);
    let bound = |(k, best): (usize, Option<(i64, usize)>)| {
        best.filter(|_| all).map(|(R, at)| found(R, &delays[k][at]))
    };
    best.into_iter().enumerate().map(bound).collect()
}

/// [`edf`] under fixed priorities, for strong scheduling: from the highest priority down to the
/// first task that may be late.
pub fn priorities(system: &System, order: PriorityOrder) -> TaskMap<Option<Found>> {
    let ids = order.sort_all(system);
    let masked = Masked::new(system, ids.iter().copied());
    let of = |k: usize| choices(&masked, k, &(0..k).collect::<Vec<usize>>(), true);
    let mut bounds = TaskMap::filled(None, ids.len());
    if ids.len() > MOST_TASKS {
        return bounds;
    }
    for (k, best) in under_priorities(&masked.tasks, of).into_iter().enumerate() {
        bounds[ids[k]] = best.map(|(R, delay)| found(R, &delay));
    }
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;
    use crate::ordered::GIVEN_LAST;
    use layland_model::{Service, Task};

    /// `C`, `D`, `T` and the CPUs of each task.
    fn system(cpus: usize, tasks: &[(i64, i64, i64, &str)]) -> System {
        let task = |&(c, d, t, mask): &(i64, i64, i64, &str)| {
            let (wcet, period) = (Service::from_ns(c), Duration::from_ns(t));
            let mut task = Task::implicit(format!("{c}/{d}/{t}@{mask}"), wcet, period);
            (task.deadline, task.affinity) = (Duration::from_ns(d), mask.parse().ok());
            task.priority = Some(t);
            task
        };
        System::new(cpus, tasks.iter().map(task).collect())
    }

    fn says(test: &SchedulabilityTest, system: &System) -> Verdict {
        test.run(system).unwrap().verdict
    }

    #[test]
    fn tasks_confined_to_a_cpu_are_judged_exactly() {
        // On CPU 0, EDF meets all deadlines unless the load exceeds the CPU; the third task has a
        // CPU of its own.
        let set = |c| system(2, &[(2, 5, 5, "0"), (c, 7, 7, "0"), (3, 9, 9, "1")]);
        assert_eq!(says(&super::super::edf::TEST, &set(4)), Verdict::Unknown);
        assert_eq!(says(&EDF, &set(4)), Verdict::Yes);
        assert_eq!(says(&EDF, &set(5)), Verdict::Unknown);
    }

    #[test]
    fn a_job_that_reaches_a_free_cpu_never_waits() {
        let tasks = [(4, 8, 8, "0"), (3, 4, 4, "0-1")];
        for order in GIVEN_LAST {
            let old = super::super::fixed_priority::TEST.under(order);
            assert_eq!(says(&old, &system(2, &tasks)), Verdict::Unknown);
            assert_eq!(says(&STRONG_FIXED.under(order), &system(2, &tasks)), Verdict::Yes);
        }
    }
}
