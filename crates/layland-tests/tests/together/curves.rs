//! Arrival curves: the simulator's arrivals and the checker's verdicts agree, and the tests of one
//! CPU are compared with simulations, with the crate `response-time-analysis`, and with themselves
//! on sporadic tasks.

use crate::schedules::{build, run, violations};
use layland_analysis::uniprocessor::fixed_priority::PriorityOrder;
use layland_analysis::uniprocessor::{deferred, edf, edf_response, fixed_priority};
use layland_analysis::{Refusal, ResponseBound, ResponseTest, Verdict, catalogue};
use layland_guarantee::{AssessOptions, assess};
use layland_model::{
    ArrivalCurve, Behaviour, Duration, Preemption, Separation, Service, System, Task, TaskId,
    TaskMap, Time,
};
use layland_sim::SimOptions;
use layland_testkit::cases::on_random;
use layland_testkit::curves::{bursty, by_curve, too_close};
use layland_testkit::registry;
use layland_trace::Trace;
use proptest::prelude::*;
use response_time_analysis as other;
use response_time_analysis::arrival::{ArrivalBound, Curve, ExtrapolatingCurve, Propagated};
use response_time_analysis::demand::RBF;
use response_time_analysis::wcet::Scalar;

/// Long enough for every relevant busy period of the random sets with a load below 1.
const HORIZON: Time = Time::from_ns(3_000);

fn ns(lengths: &[i64]) -> Vec<Duration> {
    lengths.iter().copied().map(Duration::from_ns).collect()
}

fn curve(lengths: &[i64]) -> ArrivalCurve {
    ArrivalCurve::new(&ns(lengths)).unwrap()
}

fn task(name: &str, wcet: i64, lengths: &[i64]) -> Task {
    let mut task = Task::implicit(name, Service::from_ns(wcet), Duration::from_ns(1));
    by_curve(&mut task, curve(lengths), None);
    task.deadline = Duration::from_ns(30);
    task
}

fn arrivals(trace: &Trace, task: TaskId) -> Vec<i64> {
    let own = trace.jobs.iter().filter(|record| record.job.id.task == task);
    own.map(|record| record.job.arrival.ns()).collect()
}

fn drawn(system: &System, max: i64) -> System {
    let mut drawn = system.clone();
    for task in drawn.tasks.values_mut() {
        let curve = task.curve_arrivals().unwrap().curve.clone();
        by_curve(task, curve, Some(Separation::Uniform { max: Duration::from_ns(max) }));
    }
    drawn
}

/// Returns the longest response time of each task, over jobs that end before the horizon.
fn longest(trace: &Trace, system: &System) -> TaskMap<Duration> {
    let mut longest = TaskMap::filled(Duration::ZERO, system.tasks.len());
    for record in &trace.jobs {
        let task = record.job.id.task;
        let Some(end) = record.completion() else { continue };
        longest[task] = longest[task].max(end - record.job.arrival);
    }
    longest
}

#[test]
fn bursts_come_as_densely_as_permitted() {
    let mut burst = task("burst", 1, &[1, 2, 20]);
    burst.offset = Duration::from_ns(3);
    let system = System::new(1, vec![burst]);
    assert_eq!(system.validate(), []);
    let trace = run(&system, build("p-edf", &system), &SimOptions::until(Time::from_ns(60)));
    assert_eq!(arrivals(&trace, TaskId(0)), [3, 4, 5, 23, 24, 25, 43, 44, 45]);
    assert_eq!(violations("p-edf", &trace, &system), "");
}

/// A task with a curve may state a period only if it is that of the curve.
#[test]
fn a_period_of_its_own_is_refused() {
    let mut system = System::new(1, vec![task("burst", 1, &[1, 2, 20])]);
    system.tasks[TaskId(0)].period = Duration::from_ns(20);
    let found = system.validate();
    assert_eq!(
        found[0].message,
        "the arrivals of `burst` are 6ns apart in the long run, and its period is 20ns"
    );
    assert_eq!(found[0].help, "write period = \"6ns\"");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Drawn arrivals keep to the curve, the checker agrees, and it finds an arrival that is too early.
    #[test]
    fn drawn_arrivals_keep_to_the_curve(system in bursty(), max in 0i64..6, seed: u64, which: prop::sample::Index) {
        for system in [system.clone(), drawn(&system, max)] {
            let options = SimOptions { seed, ..SimOptions::until(Time::from_ns(300)) };
            let mut trace = run(&system, build("p-edf", &system), &options);
            prop_assert_eq!(violations("p-edf", &trace, &system), "");
            for (id, task) in system.tasks.iter() {
                let distances = task.curve_arrivals().unwrap().curve.delta_min().to_vec();
                prop_assert_eq!(too_close(&distances, &arrivals(&trace, id)), None);
            }
            // A job comes earlier than its curve permits, and the trace is otherwise consistent.
            let at = which.index(trace.jobs.len());
            let job = trace.jobs[at].job;
            let others = arrivals(&trace, job.id.task);
            let moved = job.arrival.ns() - 1;
            let mut changed = others.clone();
            changed[job.id.seq as usize] = moved;
            let arrivals = system.tasks[job.id.task].curve_arrivals().unwrap();
            let distances = arrivals.curve.delta_min().to_vec();
            if job.id.seq > 0 && moved >= others[job.id.seq as usize - 1] && too_close(&distances, &changed).is_some() {
                let job = &mut trace.jobs[at].job;
                job.arrival = Time::from_ns(moved);
                let said = violations("p-edf", &trace, &system);
                prop_assert!(said.contains("arrive"), "{}\n{:?}", said, changed);
            }
        }
    }

    /// Every policy that accepts the tasks keeps a *yes*, for the densest arrivals and for drawn
    /// ones. A policy that rejects them gives a reason.
    #[test]
    fn no_guarantee_is_broken(system in bursty(), max in 1i64..6, seed: u64) {
        for info in registry() {
            let spec = &*info.name;
            for system in [system.clone(), drawn(&system, max)] {
                let Ok(found) = assess(registry(), spec, &system, &AssessOptions::by_tests()) else { continue };
                if found.verdict != Verdict::Yes {
                    continue;
                }
                let options = SimOptions { seed, ..SimOptions::until(Time::from_ns(400)) };
                let Ok(policy) = registry().build(spec, &system) else { continue };
                let trace = run(&system, policy, &options);
                let late = trace.jobs.iter().find(|record| {
                    record.completion().map_or(record.job.deadline < trace.over, |end| end > record.job.deadline)
                });
                prop_assert!(late.is_none(), "{}: {:?} by {:?}\n{:#?}", spec, late, found.decided_by, system);
            }
        }
    }
}

type Bounds = Result<TaskMap<Option<ResponseBound>>, Refusal>;

pub(crate) fn bounds(test: &ResponseTest, system: &System) -> Vec<Option<Duration>> {
    let found: Bounds = test.run(system);
    found.unwrap().values().map(|bound| bound.as_ref().map(|bound| bound.response)).collect()
}

/// If all tasks are released together and as densely as permitted, each response time under fixed
/// priorities is the longest possible. Under EDF a deadline is missed if any can be. No bound is
/// exceeded.
#[test]
fn bounds_hold_and_are_reached() {
    on_random(600, 300, bursty(), |system| {
        let fp =
            bounds(&fixed_priority::RTA.responses_under(PriorityOrder::Given).unwrap(), &system);
        let trace = run(&system, build("p-fp", &system), &SimOptions::until(HORIZON));
        let mut said = false;
        for (id, &longest) in longest(&trace, &system).iter() {
            let Some(bound) = fp[id.0 as usize] else { continue };
            prop_assert_eq!(longest, bound, "{:?}\n{:#?}", id, system);
            said |= bound > system.tasks[id].own_wcet().at_unit_speed();
        }
        let rta = fixed_priority::RTA.under(PriorityOrder::Given).run(&system).unwrap().verdict;
        let late = |trace: &Trace| {
            let is_late = |end: Time, deadline: Time| end > deadline;
            trace.jobs.iter().any(|record| {
                is_late(record.completion().unwrap_or(trace.over), record.job.deadline)
            })
        };
        match rta {
            Verdict::Yes => prop_assert!(!late(&trace)),
            Verdict::No => prop_assert!(late(&trace)),
            Verdict::Unknown => {}
        }
        let edf = bounds(&edf_response::RESPONSES, &system);
        let trace = run(&system, build("p-edf", &system), &SimOptions::until(HORIZON));
        let qpa = edf::TEST.run(&system).unwrap().verdict;
        match qpa {
            Verdict::Yes => prop_assert!(!late(&trace)),
            Verdict::No => prop_assert!(late(&trace)),
            Verdict::Unknown => {}
        }
        for seed in 0..3 {
            let system = if seed == 0 { system.clone() } else { drawn(&system, 3) };
            let options = SimOptions { seed, ..SimOptions::until(HORIZON) };
            let trace = run(&system, build("p-edf", &system), &options);
            for (id, &longest) in longest(&trace, &system).iter() {
                prop_assert!(
                    edf[id.0 as usize].is_none_or(|bound| longest <= bound),
                    "{system:#?}"
                );
            }
        }
        let found = edf_response::TEST.run(&system).unwrap().verdict;
        let both_know = found != Verdict::Unknown && qpa != Verdict::Unknown;
        prop_assert!(!both_know || found == qpa, "{system:#?}");
        Ok(said)
    });
}

pub(crate) fn length(length: Duration) -> other::time::Duration {
    other::time::Duration::from(length.ns().unsigned_abs())
}

pub(crate) fn theirs(task: &Task) -> ExtrapolatingCurve {
    // Their curves continue from at least two distances.
    let curve = &task.curve_arrivals().unwrap().curve;
    let count = curve.delta_min().len().max(2) as u64;
    ExtrapolatingCurve::new(Curve::new((1..=count).map(|k| length(curve.distance(k))).collect()))
}

pub(crate) fn cost(task: &Task) -> Scalar {
    Scalar::new(other::time::Service::from(task.own_wcet().ns().unsigned_abs()))
}

pub(crate) fn service(length: i64) -> other::time::Service {
    other::time::Service::from(length.unsigned_abs())
}

/// The limit of the other implementation's search for a fixed point.
pub(crate) const LIMIT: u64 = 20_000;

/// Returns true if the other implementation has a bound for a task. It has to equal ours.
pub(crate) fn agree(
    what: &str,
    at: usize,
    ours: Option<u64>,
    theirs: other::fixed_point::SearchResult,
    system: &System,
) -> Result<bool, TestCaseError> {
    // With a load of 1, their search may run to its limit.
    let [ours, theirs] =
        [ours, theirs.ok().map(u64::from)].map(|bound| bound.filter(|&bound| bound <= LIMIT / 2));
    prop_assert!(
        theirs.is_none() || ours == theirs,
        "{what} of {at}: {ours:?}, {theirs:?}\n{system:#?}"
    );
    Ok(theirs.is_some())
}

/// The bounds are those of another implementation, which shares no code with this one: preemptive
/// and non-preemptive, for fixed priorities and EDF.
#[test]
fn bounds_are_those_of_another_implementation() {
    let limit = other::time::Duration::from(LIMIT);
    on_random(500, 400, (bursty(), 0i64..9), |(system, jitter)| {
        let tasks: Vec<&Task> = system.tasks.values().collect();
        let mut whole = system.clone();
        whole.tasks.values_mut().for_each(|task| task.preemption = Preemption::Never);
        let mut late = system.clone();
        late.tasks.values_mut().next().unwrap().jitter = Duration::from_ns(jitter);
        let ours = |test: &ResponseTest, system: &System| -> Vec<Option<u64>> {
            let all = bounds(test, system).into_iter();
            all.map(|bound| bound.map(|bound| bound.ns().unsigned_abs())).collect()
        };
        let fp = ours(&fixed_priority::RTA.responses_under(PriorityOrder::Given).unwrap(), &system);
        let fp_late =
            ours(&fixed_priority::RTA.responses_under(PriorityOrder::Given).unwrap(), &late);
        let np_fp = ours(
            &deferred::fixed_priority::TEST.responses_under(PriorityOrder::Given).unwrap(),
            &whole,
        );
        let edf = ours(&edf_response::RESPONSES, &system);
        let np_edf = ours(&deferred::edf_response::RESPONSES, &whole);
        let mut said = false;
        for (at, task) in tasks.iter().enumerate() {
            let compare = |what: &str, ours, found| agree(what, at, ours, found, &system);
            let demand = RBF::new(theirs(task), cost(task));
            let higher: Vec<_> =
                tasks[..at].iter().map(|task| RBF::new(theirs(task), cost(task))).collect();
            let found = other::fixed_priority::fully_preemptive::dedicated_uniproc_rta(
                &demand, &higher, limit,
            );
            said |= compare("FP", fp[at], found)?;
            if at > 0 {
                let with_jitter: Vec<RBF<Box<dyn ArrivalBound>, Scalar>> = (tasks[..at]
                    .iter()
                    .enumerate())
                .map(|(place, task)| {
                    let late = length(Duration::from_ns(if place == 0 { jitter } else { 0 }));
                    let arrivals: Box<dyn ArrivalBound> =
                        Box::new(Propagated::with_jitter(&theirs(task), late));
                    RBF::new(arrivals, cost(task))
                })
                .collect();
                let found = other::fixed_priority::fully_preemptive::dedicated_uniproc_rta(
                    &demand,
                    &with_jitter,
                    limit,
                );
                compare("FP with jitter", fp_late[at], found)?;
            }
            let blocking =
                tasks[at + 1..].iter().map(|task| task.own_wcet().ns() - 1).max().unwrap_or(0);
            let own_arrivals = theirs(task);
            let tua = other::fixed_priority::fully_nonpreemptive::TaskUnderAnalysis {
                wcet: cost(task),
                arrivals: &own_arrivals,
                blocking_bound: service(blocking),
            };
            let found = other::fixed_priority::fully_nonpreemptive::dedicated_uniproc_rta(
                &tua, &higher, limit,
            );
            compare("NP-FP", np_fp[at], found)?;
            let rest: Vec<(RBF<ExtrapolatingCurve, Scalar>, &Task)> = (tasks.iter().enumerate())
                .filter(|&(place, _)| place != at)
                .map(|(_, task)| (RBF::new(theirs(task), cost(task)), *task))
                .collect();
            let others: Vec<_> = (rest.iter())
                .map(|(rbf, task)| other::edf::fully_preemptive::Task {
                    rbf,
                    deadline: length(task.deadline),
                })
                .collect();
            let tua = other::edf::fully_preemptive::Task {
                rbf: &demand,
                deadline: length(task.deadline),
            };
            let found = other::edf::fully_preemptive::dedicated_uniproc_rta(&tua, &others, limit);
            compare("EDF", edf[at], found)?;
            let curves: Vec<(ExtrapolatingCurve, &Task)> =
                rest.iter().map(|&(_, task)| (theirs(task), task)).collect();
            let others: Vec<_> = (curves.iter())
                .map(|(arrivals, task)| other::edf::fully_nonpreemptive::Task {
                    wcet: cost(task),
                    arrivals,
                    deadline: length(task.deadline),
                })
                .collect();
            let tua = other::edf::fully_nonpreemptive::Task {
                wcet: cost(task),
                arrivals: &own_arrivals,
                deadline: length(task.deadline),
            };
            let found =
                other::edf::fully_nonpreemptive::dedicated_uniproc_rta(&tua, &others, limit);
            compare("NP-EDF", np_edf[at], found)?;
        }
        Ok(said)
    });
}

/// To every test, a curve without more information than a period is a sporadic task. A curve with
/// more information is rejected by all tests except those that support curves.
#[test]
fn a_plain_curve_is_sporadic() {
    let max = Duration::from_ns(3);
    let sporadic = |name: &str, wcet: i64, period: i64| {
        let task = Task::implicit(name, Service::from_ns(wcet), Duration::from_ns(period));
        Task {
            behaviour: Behaviour::Sporadic(Separation::Uniform { max }),
            priority: Some(wcet),
            ..task
        }
    };
    let system =
        System::new(1, vec![sporadic("a", 1, 4), sporadic("b", 2, 6), sporadic("c", 4, 14)]);
    let mut plain = system.clone();
    let mut bursts = system.clone();
    for task in plain.tasks.values_mut() {
        let period = task.period.ns();
        by_curve(task, curve(&[period, 2 * period]), Some(Separation::Uniform { max }));
    }
    for task in bursts.tasks.values_mut() {
        let period = task.period.ns();
        by_curve(task, curve(&[1, 3 * period]), None);
    }
    let mut takes = Vec::new();
    for test in catalogue::TESTS.iter() {
        assert_eq!(test.run(&system), test.run(&plain), "{}", test.name);
        if test.run(&system).is_ok() && test.run(&bursts).is_ok() {
            takes.push(test.name);
        }
    }
    let expected = [
        "CAPACITY",
        "QPA",
        "EDF-RTA",
        "RTA",
        "RTA-RM",
        "RTA-DM",
        "OPA",
        "NP-QPA",
        "NP-EDF-RTA",
        "NP-RTA",
        "NP-RTA-RM",
        "NP-RTA-DM",
        "RTA-LEVEL",
        "PARTITION-RM",
        "PARTITION-DM",
        "PARTITION-FP",
        "AC",
        "AC-SP",
    ];
    assert_eq!(takes, expected);
}

/// Policies that depend on periods reject bursts by name; the others accept them.
#[test]
fn policies_that_rest_on_periods_refuse_bursts() {
    let mut system = System::new(2, vec![task("a", 1, &[1, 20]), task("b", 1, &[0, 30])]);
    system.tasks.values_mut().for_each(|task| {
        task.priority = Some(i64::from(task.name == "b"));
        task.deadline = task.period;
    });
    let mut refused = Vec::new();
    for info in registry() {
        if let Err(error) = registry().build(&info.name, &system) {
            assert!(
                error.to_string().contains("task `a` arrives by a curve"),
                "{}: {error}",
                info.name
            );
            refused.push(info.name.to_string());
        }
    }
    let expected = ["cd", "edf-wm", "run", "qps", "dp-wrap", "lre-tl", "u-edf", "pd2", "er-pd2"];
    assert_eq!(refused, expected);
}
