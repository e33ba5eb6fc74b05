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
    // A latency of 5 ns excuses 5 ns for each segment, and not more.
    let within = Evidence { latency: Duration::from_ns(5), ..bounded };
    assert_eq!(said(&ExecutionModel::Wcet, 55, completed, &within), 0);
    assert_eq!(said(&ExecutionModel::Wcet, 56, completed, &within), 1);
}
