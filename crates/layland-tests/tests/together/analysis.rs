//! The analyses, compared with obvious versions of themselves, and with simulations.
//!
//! Numbers are small, so that ties and full loads are common; loads are near the limits at which
//! the tests decide. Each property also counts how often it applied.
//!
//! Long because each analysis has its obvious version beside the property that compares them.

use layland_analysis::affinity::feasibility::{self, by_flow, by_hall};
use layland_analysis::deadline::admission::{self, Limit};
use layland_analysis::fixed_point::Diverged;
use layland_analysis::global_edf::{bak, bcl, compliant_vector, devi_anderson, gfb};
use layland_analysis::partitioned::{existence, lopez};
use layland_analysis::uniprocessor::edf::{self, Demand, processor_demand};
use layland_analysis::uniprocessor::fixed_priority::{self as fp, PriorityOrder, response_bounds};
use layland_analysis::{
    BoundTest, Finding, Reason, SchedulabilityTest, Subject, Tardiness, TestKind, Verdict,
    catalogue,
};
use layland_model::{
    Algorithm, Behaviour, CpuId, CpuSet, Duration, Form, Index, Order, Rate, Service, System, Task,
    TaskId, Time,
};
use layland_sim::{SimOptions, simulate};
use layland_testkit::cases::{
    Deadlines, hyperperiod, on_random, run, some_sporadic, synchronous, systems,
};
use layland_testkit::registry;
use layland_trace::{Counters, TaskCounters};
use proptest::prelude::*;

fn misses(counters: &Counters) -> bool {
    counters.total().missed > 0
}

fn verdict(test: &SchedulabilityTest, system: &System) -> Verdict {
    test.run(system).expect("the system keeps the assumptions").verdict
}

// ---------------------------------------------------------------------------------------------
// One CPU
// ---------------------------------------------------------------------------------------------

/// The processor-demand criterion, time by time up to the point where the demand repeats.
fn brute_force_demand(system: &System) -> bool {
    let tasks: Vec<&Task> = system.tasks.values().collect();
    let longest = tasks.iter().map(|task| task.deadline.ns()).max().unwrap_or(0);
    let load = system.utilization().exact();
    load <= Rate::ONE
        && (1..=hyperperiod(system) + longest).map(Duration::from_ns).all(|t| {
            let demand: i64 = tasks
                .iter()
                .filter(|task| task.deadline <= t)
                .map(|task| ((t - task.deadline).div_floor(task.period) + 1) * task.own_wcet().ns())
                .sum();
            demand <= t.ns()
        })
}

#[test]
fn qpa_is_brute_force_and_the_simulation() {
    let inputs = systems(1..2, 7, 50..105, Deadlines::Arbitrary);
    on_random(10_000, 2_500, inputs, |system| {
        let system = synchronous(system);
        let tasks: Vec<&Task> = system.tasks.values().collect();
        let qpa = processor_demand(&tasks).expect("small numbers") == Demand::Met;
        prop_assert_eq!(qpa, brute_force_demand(&system));
        let longest = tasks.iter().map(|task| task.deadline.ns()).max().unwrap_or(0);
        if system.utilization().exact() <= Rate::ONE {
            let simulated = run(&system, "g-edf", hyperperiod(&system) + longest, 0);
            prop_assert_eq!(qpa, !misses(&simulated));
        }
        let expected = if qpa { Verdict::Yes } else { Verdict::No };
        prop_assert_eq!(verdict(&edf::TEST, &system), expected);
        Ok(qpa)
    });
}

/// A *no* about sporadic tasks does not account for offsets that avoid the worst case.
#[test]
fn offsets_turn_no_into_unknown_and_never_into_yes() {
    let inputs = systems(1..2, 5, 60..100, Deadlines::Constrained);
    on_random(3_000, 500, inputs, |system| {
        let tasks: Vec<&Task> = system.tasks.values().collect();
        let met = processor_demand(&tasks).expect("small numbers") == Demand::Met;
        let finding = verdict(&edf::TEST, &system);
        let simulated = misses(&run(&system, "g-edf", 20 + 2 * hyperperiod(&system) + 60, 0));
        match finding {
            Verdict::Yes => prop_assert!(met && !simulated),
            Verdict::No => prop_assert!(!met && simulated),
            Verdict::Unknown => prop_assert!(!met),
        }
        Ok(finding == Verdict::Unknown)
    });
}

const ORDERS: [(PriorityOrder, &str, SchedulabilityTest); 3] = [
    (PriorityOrder::RateMonotonic, "g-rm", fp::RTA.under(PriorityOrder::RateMonotonic)),
    (PriorityOrder::DeadlineMonotonic, "g-dm", fp::RTA.under(PriorityOrder::DeadlineMonotonic)),
    (PriorityOrder::Given, "g-fp", fp::RTA.under(PriorityOrder::Given)),
];

fn seen(counters: &Counters, task: TaskId) -> Duration {
    counters.task(task).max_response.unwrap_or_default()
}

#[test]
fn response_times_are_those_of_a_synchronous_release() {
    let inputs = systems(1..2, 7, 40..105, Deadlines::Arbitrary);
    on_random(4_000, 2_000, inputs, |system| {
        let system = synchronous(system);
        let bounded = system.utilization().exact() <= Rate::ONE;
        for (order, policy, test) in ORDERS {
            let bounds = response_bounds(&system, order).expect("no assumption is broken");
            // If all CPU time is used, the pending jobs at the hyperperiod are those at 0.
            let counters = run(&system, policy, 2 * hyperperiod(&system), 0);
            for (id, bound) in bounds.iter() {
                match bound {
                    Ok(bound) => prop_assert_eq!(bound.response, seen(&counters, id), "{}", policy),
                    Err(error) => prop_assert!(!bounded && *error == Diverged::Overload),
                }
            }
            let meets = bounds.iter().all(|(id, bound)| {
                bound.as_ref().is_ok_and(|bound| bound.response <= system.tasks[id].deadline)
            });
            let expected = if meets { Verdict::Yes } else { Verdict::No };
            prop_assert_eq!(verdict(&test, &system), expected, "{}", policy);
        }
        Ok(bounded)
    });
}

#[test]
fn responses_stay_within_their_bounds() {
    let jitters = prop::collection::vec(0i64..9, 7);
    let inputs =
        (systems(1..2, 7, 30..100, Deadlines::Arbitrary), jitters, any::<u8>(), any::<u64>());
    on_random(3_000, 2_000, inputs, |(system, jitters, sporadic, seed)| {
        let mut system = some_sporadic(system, sporadic);
        for (task, &jitter) in system.tasks.values_mut().zip(&jitters) {
            task.jitter = Duration::from_ns(jitter);
        }
        let mut any = false;
        for (order, policy, test) in ORDERS {
            let bounds = response_bounds(&system, order).expect("no assumption is broken");
            let counters = run(&system, policy, 600, seed);
            for bound in bounds.values().flatten() {
                prop_assert!(seen(&counters, bound.task) <= bound.response, "{}", policy);
                any = true;
            }
            if verdict(&test, &system) == Verdict::Yes {
                prop_assert!(!misses(&counters), "{}", policy);
            }
        }
        Ok(any)
    });
}

/// With their largest jitter all tasks are ready at 20, so the worst case occurs.
#[test]
fn response_bounds_with_jitter_are_reached() {
    let jitters = prop::collection::vec(0i64..9, 6);
    on_random(
        2_000,
        1_000,
        (systems(1..2, 6, 40..100, Deadlines::Implicit), jitters),
        |(system, jitters)| {
            if system.utilization().exact() > Rate::ONE {
                return Ok(false);
            }
            let mut jittered = system.clone();
            let mut shifted = system;
            for ((task, late), &jitter) in
                jittered.tasks.values_mut().zip(shifted.tasks.values_mut()).zip(&jitters)
            {
                // The first job arrives earlier by the jitter; all others arrive as early as possible.
                task.jitter = Duration::from_ns(jitter);
                let first = Time::from_ns(20);
                let others = (1..400).map(|k| Time::from_ns(20 - jitter + k * task.period.ns()));
                let times = std::iter::once(first).chain(others.filter(|&at| at >= first));
                late.behaviour = Behaviour::Explicit(times.collect());
            }
            let bounds =
                response_bounds(&jittered, PriorityOrder::Given).expect("no assumption is broken");
            // The jobs that are ready at 20 arrived earlier by the jitter. Their response times are
            // longer by the jitter than in this run; those of later jobs are not.
            let mut trace = layland_trace::Trace::default();
            let policy = registry().build("g-fp", &shifted).expect("it takes every system");
            simulate(&shifted, policy, &mut trace, &SimOptions::until(Time::from_ns(500)))
                .expect("in range");
            for bound in bounds.values().flatten() {
                let jitter = jittered.tasks[bound.task].jitter;
                let period = jittered.tasks[bound.task].period;
                // Several jobs may be ready at 20 if the jitter is longer than the period.
                if jitter >= period {
                    continue;
                }
                let worst = trace.jobs.iter().filter(|record| record.job.id.task == bound.task);
                let worst = worst
                    .filter_map(|record| {
                        let early = if record.job.id.seq == 0 { jitter } else { Duration::ZERO };
                        Some(record.completion()? - record.job.arrival + early)
                    })
                    .max();
                if jitters
                    .iter()
                    .zip(jittered.tasks.values())
                    .all(|(&j, task)| j < task.period.ns())
                {
                    prop_assert_eq!(worst, Some(bound.response));
                }
            }
            Ok(true)
        },
    );
}

#[test]
fn utilization_bounds_and_assignments_agree_with_response_times() {
    on_random(3_000, 600, systems(1..2, 6, 30..100, Deadlines::Implicit), |system| {
        let system = synchronous(system);
        let exact = verdict(&fp::RTA.under(PriorityOrder::RateMonotonic), &system);
        let hyperbolic = verdict(&fp::HYPERBOLIC, &system);
        let product = system
            .tasks
            .values()
            .fold(Rate::ONE, |product, task| &product * &(&task.utilization() + &Rate::ONE));
        prop_assert_eq!(hyperbolic == Verdict::Yes, product <= Rate::whole(2));
        if verdict(&fp::LIU_LAYLAND, &system) == Verdict::Yes {
            prop_assert_eq!(hyperbolic, Verdict::Yes);
        }
        if hyperbolic == Verdict::Yes {
            prop_assert_eq!(exact, Verdict::Yes);
        }
        Ok(hyperbolic == Verdict::Yes)
    });
}

fn permutations(items: &[TaskId]) -> Vec<Vec<TaskId>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, &first) in items.iter().enumerate() {
        let mut rest = items.to_vec();
        rest.remove(at);
        all.extend(permutations(&rest).into_iter().map(|mut tail| {
            tail.insert(0, first);
            tail
        }));
    }
    all
}

#[test]
fn audsley_finds_priorities_if_any_work() {
    on_random(2_000, 300, systems(1..2, 4, 60..103, Deadlines::Arbitrary), |system| {
        let mut system = synchronous(system);
        let mut with_order = |order: &[TaskId]| {
            for (priority, &task) in order.iter().enumerate() {
                system.tasks[task].priority = Some(priority as i64);
            }
            (verdict(&fp::RTA.under(PriorityOrder::Given), &system), system.clone())
        };
        let ids: Vec<TaskId> = (0..).map(TaskId).take(with_order(&[]).1.tasks.len()).collect();
        let any = permutations(&ids).iter().any(|order| with_order(order).0 == Verdict::Yes);
        let finding = fp::AUDSLEY.run(&with_order(&[]).1).expect("no assumption is broken");
        prop_assert_eq!(finding.verdict, if any { Verdict::Yes } else { Verdict::No });
        if let [Reason::PriorityOrder(order)] = &finding.reasons[..] {
            let (verdict, system) = with_order(order);
            prop_assert_eq!(verdict, Verdict::Yes);
            prop_assert!(!misses(&run(&system, "g-fp", 300, 0)));
        }
        Ok(any && with_order(&[]).1.tasks.len() > 1)
    });
}

// ---------------------------------------------------------------------------------------------
// Global EDF
// ---------------------------------------------------------------------------------------------

/// Checks that a set that a test accepts never misses a deadline, whatever the offsets and separations.
fn never_misses(test: &SchedulabilityTest, load: std::ops::Range<i64>, least: u32) {
    let inputs = (systems(2..5, 8, load, Deadlines::Constrained), any::<u8>(), any::<u64>());
    on_random(8_000, least, inputs, |(system, sporadic, seed)| {
        let accepted = verdict(test, &system) == Verdict::Yes;
        prop_assert!(accepted || verdict(test, &system) == Verdict::Unknown);
        if accepted {
            prop_assert!(!misses(&run(&system, "g-edf", 400, 0)));
            let sporadic = some_sporadic(system, sporadic);
            prop_assert!(!misses(&run(&sporadic, "g-edf", 600, seed)));
        }
        Ok(accepted)
    });
}

#[test]
fn what_gfb_accepts_never_misses() {
    never_misses(&gfb::TEST, 10..70, 1_500);
}

#[test]
fn what_bcl_accepts_never_misses() {
    never_misses(&bcl::TEST, 10..70, 800);
}

#[test]
fn what_bak_accepts_never_misses() {
    never_misses(&bak::TEST, 10..70, 1_200);
}

fn late(counters: TaskCounters) -> Duration {
    counters.max_tardiness.max(counters.overdue)
}

/// Checks that tardiness stays within the bound, and that there is a bound if the load fits the CPUs.
fn tardiness_within(test: &BoundTest, policy: &str, deadlines: Deadlines) {
    let inputs = (systems(2..5, 9, 75..103, deadlines), any::<u8>(), any::<u64>());
    on_random(2_500, 1_500, inputs, |(system, sporadic, seed)| {
        let feasible =
            system.utilization().exact() <= Rate::whole(system.platform.cpu_count() as i64);
        let bounds = match test.run(&system).expect("no assumption is broken") {
            Tardiness::Bounded(bounds) => bounds,
            Tardiness::Unknown(_) => {
                prop_assert!(!feasible);
                return Ok(false);
            }
        };
        prop_assert!(feasible);
        for system in [system.clone(), some_sporadic(system, sporadic)] {
            let counters = run(&system, policy, 1_500, seed);
            for bound in bounds.values() {
                let seen = late(counters.task(bound.task));
                prop_assert!(Rate::whole(seen.ns()) <= bound.tardiness, "{bound:?}, seen {seen}");
            }
        }
        Ok(true)
    });
}

#[test]
fn tardiness_is_within_devi_anderson() {
    tardiness_within(&devi_anderson::TEST, "g-edf", Deadlines::Implicit);
}

#[test]
fn tardiness_is_within_devi_anderson_with_regions() {
    tardiness_within(&devi_anderson::NONPREEMPTIVE, "g-edf:nonpreemptive", Deadlines::Implicit);
}

/// Every job of the last task may wait for both of the others. The bound of Devi's thesis, as in
/// SchedCAT, is 50.5 ns: `(100 - 1) / 2 + 1`.
#[test]
fn a_smaller_bound_with_regions_is_exceeded() {
    let task = |(c, t)| Task::implicit("", Service::from_ns(c), Duration::from_ns(t));
    let mut system = System::new(2, [(100, 200), (100, 200), (1, 2)].map(task).to_vec());
    system.tasks[TaskId(2)].offset = Duration::from_ns(1);
    let seen = late(run(&system, "g-edf:nonpreemptive", 1_000, 1).task(TaskId(2)));
    assert_eq!(seen, Duration::from_ns(98));
    let Ok(Tardiness::Bounded(bounds)) = devi_anderson::NONPREEMPTIVE.run(&system) else {
        panic!()
    };
    assert!(Rate::whole(seen.ns()) <= bounds[TaskId(2)].tardiness);
}

#[test]
fn tardiness_is_within_the_plain_compliant_vector() {
    tardiness_within(&compliant_vector::PLAIN, "g-edf", Deadlines::Constrained);
}

#[test]
fn tardiness_is_within_the_reduced_compliant_vector() {
    tardiness_within(&compliant_vector::REDUCED, "g-edf", Deadlines::Constrained);
}

// ---------------------------------------------------------------------------------------------
// Partitions
// ---------------------------------------------------------------------------------------------

fn pinned(system: &System, cpu_of: impl Fn(TaskId) -> CpuId) -> System {
    let mut pinned = system.clone();
    for id in system.tasks.ids() {
        pinned.tasks[id].affinity = Some(CpuSet::single(cpu_of(id)));
    }
    pinned
}

#[test]
fn partitions_are_those_that_run_without_a_miss() {
    let deadlines = prop_oneof![
        systems(2..4, 5, 60..103, Deadlines::Implicit),
        systems(2..4, 5, 60..103, Deadlines::Constrained),
    ];
    on_random(2_000, 800, deadlines, |system| {
        let system = synchronous(system);
        let cpus = system.platform.cpu_count();
        let finding = existence::TEST.run(&system).expect("no assumption is broken");
        match (finding.verdict, &finding.reasons[..]) {
            (Verdict::Yes, [Reason::Partition(cpu_of)]) => {
                let pinned = pinned(&system, |task| cpu_of[task]);
                prop_assert!(!misses(&run(&pinned, "p-edf:fit=given", 240, 0)));
                prop_assert_eq!(verdict(&edf::TEST, &pinned), Verdict::Yes);
            }
            (Verdict::No, _) => {
                // No assignment works. Assignments that differ only in the names of the CPUs are tried as well.
                for code in 0..cpus.pow(system.tasks.len() as u32) {
                    let cpu = |task: TaskId| code / cpus.pow(task.index() as u32) % cpus;
                    let pinned = pinned(&system, |task| CpuId::from_index(cpu(task)));
                    prop_assert!(misses(&run(&pinned, "p-edf:fit=given", 240, 0)));
                }
            }
            (Verdict::Unknown, _) => {
                prop_assert!(system.tasks.values().any(|task| task.deadline < task.period));
            }
            (Verdict::Yes, reasons) => prop_assert!(false, "a yes for {:?}", reasons),
        }
        if system.tasks.values().all(|task| task.deadline == task.period)
            && verdict(&lopez::TEST, &system) == Verdict::Yes
        {
            prop_assert_eq!(finding.verdict, Verdict::Yes);
            prop_assert!(!misses(&run(&system, "p-edf:fit=ff", 240, 0)));
        }
        Ok(finding.verdict == Verdict::Yes)
    });
}

// ---------------------------------------------------------------------------------------------
// Affinities
// ---------------------------------------------------------------------------------------------

/// Checks Hall's condition for every set of CPUs.
fn brute_force_hall(system: &System) -> bool {
    let masks: Vec<CpuSet> = system.tasks.ids().map(|id| system.allowed_cpus(id)).collect();
    let cpus = system.platform.cpu_count();
    system.tasks.values().all(|task| task.utilization() <= Rate::ONE)
        && (1u32..1 << cpus).all(|bits| {
            let set: CpuSet =
                (0..cpus).filter(|cpu| bits >> cpu & 1 == 1).map(CpuId::from_index).collect();
            let inside = system.tasks.values().zip(&masks).filter(|(_, mask)| mask.is_subset(&set));
            let sum: Rate = inside.map(|(task, _)| task.utilization()).sum();
            sum <= Rate::whole(set.len() as i64)
        })
}

/// Returns true if the set of CPUs that a *no* names is indeed too small.
fn names_a_violation(system: &System, finding: &Finding) -> bool {
    let [Reason::Compared(comparison)] = &finding.reasons[..] else { return false };
    if let Some(task) = comparison.scope.task {
        return system.tasks[task].utilization() > Rate::ONE;
    }
    let Some(cpus) = &comparison.scope.cpus else { return false };
    let inside = system.tasks.iter().filter(|(id, _)| system.allowed_cpus(*id).is_subset(cpus));
    inside.map(|(_, task)| task.utilization()).sum::<Rate>() > Rate::whole(cpus.len() as i64)
}

/// Splits a range of CPUs repeatedly; the mask is the part that remains after `depth` halvings.
fn laminar_mask(cpus: usize, turns: u8, depth: u8) -> CpuSet {
    let (mut from, mut to) = (0, cpus);
    for turn in 0..depth {
        let middle = (from + to).div_ceil(2);
        if middle == to {
            break;
        }
        if turns >> turn & 1 == 0 { to = middle } else { from = middle }
    }
    (from..to).map(CpuId::from_index).collect()
}

fn hall_is_flow(laminar: bool, huge: bool) {
    let masks = prop::collection::vec((any::<u8>(), 0u8..4), 10);
    let inputs = (systems(2..7, 10, 40..103, Deadlines::Implicit), masks);
    on_random(4_000, 1_000, inputs, |(mut system, masks)| {
        let cpus = system.platform.cpu_count();
        for (task, &(bits, depth)) in system.tasks.values_mut().zip(&masks) {
            let mask: CpuSet = if laminar {
                laminar_mask(cpus, bits, depth)
            } else {
                (0..cpus).filter(|cpu| bits >> cpu & 1 == 1).map(CpuId::from_index).collect()
            };
            task.affinity = (!mask.is_empty()).then_some(mask);
        }
        if huge {
            // The periods have no common multiple that fits, so the flow is computed in rationals.
            const PRIMES: [i64; 4] =
                [999_999_999_989, 999_999_999_961, 999_999_999_937, 999_999_999_899];
            for (index, task) in system.tasks.values_mut().enumerate() {
                let prime = PRIMES[index % PRIMES.len()];
                task.wcet = vec![Service::from_ns(task.own_wcet().ns() * prime)].into();
                task.period = Duration::from_ns(task.period.ns() * prime + (index as i64 % 3));
                task.deadline = task.period;
            }
        }
        let holds = brute_force_hall(&system);
        let flow = by_flow(&system);
        prop_assert_eq!(flow.verdict, TestKind::Exact.verdict(holds));
        prop_assert!(holds || names_a_violation(&system, &flow));
        if let Some(hall) = by_hall(&system) {
            prop_assert_eq!(hall.verdict, flow.verdict);
            prop_assert!(holds || names_a_violation(&system, &hall));
        } else {
            prop_assert!(!laminar);
        }
        prop_assert_eq!(verdict(&feasibility::TEST, &system), flow.verdict);
        Ok(holds)
    });
}

#[test]
fn laminar_hall_is_maximum_flow_is_brute_force() {
    hall_is_flow(true, false);
}

#[test]
fn arbitrary_masks_maximum_flow_is_brute_force() {
    hall_is_flow(false, false);
}

#[test]
fn rational_maximum_flow_is_brute_force() {
    hall_is_flow(true, true);
    hall_is_flow(false, true);
}

// ---------------------------------------------------------------------------------------------
// All together
// ---------------------------------------------------------------------------------------------

/// Returns true if the promise of a *yes* of one test contains the promise of the other.
fn implies(one: &SchedulabilityTest, other: &SchedulabilityTest) -> bool {
    let partitioned = |fixed: bool| {
        one.subject.algorithms().iter().all(|algorithm| {
            matches!(algorithm, Algorithm::Ordered(Form::Partitioned, order)
                if !fixed || *order != Order::Deadline)
        })
    };
    match (one.subject, other.subject) {
        (Subject::Admission(_) | Subject::Unsound(..), _)
        | (_, Subject::Admission(_) | Subject::Unsound(..)) => false,
        (_, Subject::SomeScheduler) => true,
        (Subject::Algorithms(of_one), Subject::Algorithms(of_other)) => {
            of_one.iter().any(|algorithm| of_other.contains(algorithm))
        }
        (Subject::Algorithms(_), Subject::SomePartition) => partitioned(false),
        (Subject::Algorithms(of_one), Subject::SomePartitionUnder(order)) => {
            let same = Algorithm::Ordered(Form::Partitioned, order);
            of_one.iter().all(|algorithm| *algorithm == same)
        }
        (Subject::Algorithms(_), Subject::SomePriorities) => partitioned(true),
        (one, other) => one == other,
    }
}

/// No two tests contradict each other, and each verdict is possible for the test's kind.
#[test]
fn tests_do_not_contradict_each_other() {
    let inputs = prop_oneof![
        systems(1..4, 6, 20..110, Deadlines::Implicit),
        systems(1..4, 6, 20..110, Deadlines::Constrained),
        systems(1..2, 6, 20..110, Deadlines::Arbitrary),
    ];
    let inputs = (inputs, any::<u8>());
    on_random(3_000, 2_000, inputs, |(system, sporadic)| {
        let system = some_sporadic(system, sporadic);
        let mut given: Vec<(&SchedulabilityTest, Verdict)> = Vec::new();
        for test in catalogue::TESTS.iter() {
            let Ok(finding) = test.run(&system) else { continue };
            match (test.kind, finding.verdict) {
                (TestKind::Exact, _)
                | (TestKind::Sufficient, Verdict::Yes | Verdict::Unknown)
                | (TestKind::Necessary, Verdict::No | Verdict::Unknown) => {}
                (kind, verdict) => prop_assert!(false, "{:?} says {:?}", kind, verdict),
            }
            prop_assert!(!finding.reasons.is_empty(), "{} gives no reason", test.name);
            finding.reasons.iter().for_each(|reason| drop(reason.describe(&system)));
            given.push((test, finding.verdict));
        }
        for (one, yes) in &given {
            for (other, no) in &given {
                if *yes == Verdict::Yes && *no == Verdict::No {
                    prop_assert!(!implies(one, other), "{} yes, {} no", one.name, other.name);
                }
            }
        }
        Ok(given.len() > 3)
    });
}

/// The kernel's rounding accepts every set that the exact condition accepts, except within the
/// rounding of the limit. It rejects every set that is above by more than the rounding of the
/// tasks.
#[test]
fn the_kernel_rounds_by_less_than_its_unit() {
    on_random(3_000, 500, systems(1..5, 9, 85..100, Deadlines::Implicit), |system| {
        let cpus = system.platform.all_cpus();
        let limit = Limit::default();
        let exact = admission::global(&system, &limit).expect("no assumption is broken").verdict;
        let kernel = admission::kernel(system.tasks.values(), &cpus, &limit).verdict;
        let load = system.utilization().exact();
        let bound = &Rate::new(19, 20) * &Rate::whole(cpus.len() as i64);
        let unit = Rate::new(1, 1 << 20);
        let of = |count: usize| &unit * &Rate::whole(count as i64);
        if &load + &of(cpus.len()) <= bound {
            prop_assert_eq!((exact, kernel), (Verdict::Yes, Verdict::Yes));
        }
        if load >= &bound + &of(system.tasks.len()) {
            prop_assert_eq!((exact, kernel), (Verdict::No, Verdict::No));
        }
        Ok(exact == Verdict::Yes)
    });
}
