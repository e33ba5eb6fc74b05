//! Limits on the execution of a job: the demand of its model in a simulation, and its upper bound in the world.

use super::{at, done, id, segment, task};
use layland_checker::{Demand, Evidence, check_with};
use layland_model::{Duration, ExecutionModel, Rate, ScheduleRule, Service, System};
use layland_trace::{JobEnd, Trace};

/// Returns every model with a WCET of 50 ns, the maximum execution of one job under it, and the
/// minimum if it is drawn.
fn models() -> Vec<(ExecutionModel, i64, i64)> {
    let ns = Service::from_ns;
    vec![
        (ExecutionModel::Wcet, 50, 50),
        (ExecutionModel::Fraction(Rate::new(1, 2)), 50, 25),
        (ExecutionModel::Fraction(Rate::new(3, 2)), 75, 75),
        (ExecutionModel::Uniform { min: ns(10), max: ns(40) }, 50, 10),
        (ExecutionModel::Uniform { min: ns(10), max: ns(60) }, 60, 10),
        (ExecutionModel::Discrete(vec![(ns(20), 1), (ns(30), 2)]), 50, 20),
        (ExecutionModel::List(vec![ns(20), ns(70)]), 70, 20),
    ]
}

/// Returns the number of findings about the demand of a job that gets `got` at once.
fn said(execution: &ExecutionModel, got: i64, end: Option<JobEnd>, evidence: &Evidence) -> u64 {
    let mut a = task("a", 50, 100);
    a.execution = execution.clone();
    let system = System::new(1, vec![a]);
    let mut record = done(0, 0, 0, 100, got, got);
    record.end = end.map(|how| (at(got), how));
    let trace = Trace {
        jobs: vec![record],
        segments: vec![segment(id(0, 0), 0, 0, got)],
        over: at(100),
        ..Trace::default()
    };
    // An end by the set would need a request, which is not tested here.
    let report = check_with(&trace, &system, &ScheduleRule::None, 9, evidence);
    let of_demand = |text: &&String| text.contains("execut") || text.contains("is not complete");
    report.violations.iter().map(ToString::to_string).filter(|text| of_demand(&text)).count() as u64
}

#[test]
fn the_world_is_asked_whether_it_exceeded_and_a_simulation_for_what_it_drew() {
    let bounded = Evidence { demand: Demand::Bounded, ..Evidence::default() };
    let drawn = Evidence::default();
    let completed = Some(JobEnd::Completed);
    for (model, most, least) in models() {
        for got in 1..=most {
            for end in [completed, Some(JobEnd::Aborted), None] {
                assert_eq!(said(&model, got, end, &bounded), 0, "{model:?} {got} {end:?}");
            }
        }
        for end in [completed, Some(JobEnd::Aborted), None] {
            assert_eq!(said(&model, most + 1, end, &bounded), 1, "{model:?} {end:?}");
        }
        assert_eq!(said(&model, least, completed, &drawn), 0, "{model:?}");
        assert_eq!(said(&model, least - 1, completed, &drawn), 1, "{model:?}");
    }
    // A latency of 5 ns excuses 5 ns, and not more.
    let within = Evidence { latency: Duration::from_ns(5), ..bounded };
    assert_eq!(said(&ExecutionModel::Wcet, 55, completed, &within), 0);
    assert_eq!(said(&ExecutionModel::Wcet, 56, completed, &within), 1);
}

/// A job of 10 ms that is preempted again and again, and executes for `got_us` in all.
fn preempted(segments: i64, got_us: i64, demand: Demand) -> u64 {
    let us = 1_000;
    let system = System::new(1, vec![task("a", 10_000 * us, 1_000_000 * us)]);
    let each = got_us * us / segments;
    let of = |k: i64| segment(id(0, 0), 0, k * 2_000 * us, k * 2_000 * us + each);
    let end = (segments - 1) * 2_000 * us + each;
    let trace = Trace {
        jobs: vec![done(0, 0, 0, 1_000_000 * us, end, got_us * us)],
        segments: (0..segments).map(of).collect(),
        over: at(end),
        ..Trace::default()
    };
    let latency = Duration::from_ms(4);
    let evidence = Evidence { latency, demand, ..Evidence::default() };
    let report = check_with(&trace, &system, &ScheduleRule::None, 9, &evidence);
    report.violations.iter().filter(|found| found.to_string().contains("execut")).count() as u64
}

#[test]
fn a_latency_excuses_no_job_for_each_of_its_preemptions() {
    // 10 ms, 4 ms of latency, and 100 us for each of 125 preemptions.
    assert_eq!(preempted(126, 26_400, Demand::Bounded), 0);
    assert_eq!(preempted(126, 26_600, Demand::Bounded), 1);
    assert_eq!(preempted(126, 100_000, Demand::Bounded), 1);
    assert_eq!(preempted(1, 13_900, Demand::Bounded), 0);
    assert_eq!(preempted(1, 14_100, Demand::Bounded), 1);
    // In a run of ours each decision of the engine may be late.
    assert_eq!(preempted(126, 100_000, Demand::Drawn), 0);
}
