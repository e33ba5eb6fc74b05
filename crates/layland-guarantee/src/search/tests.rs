//! A run that repeats in time has no late job, however long it is; and the effort bounds the cost
//! of a search.

use super::{Decisions, Found, Origin, Search, until};
use layland_gen::Random;
use layland_model::{Duration, Service, System, Task};
use layland_policy::Registry;

#[test]
fn no_job_is_late_in_a_run_that_repeats_itself_in_time() {
    let mut random = Random::of_task(15, 0);
    let registry = Registry::standard();
    let (mut in_time, mut late) = (0, 0);
    for _ in 0..300 {
        let tasks = (0..random.between(2, 5)).map(|at| {
            let period = [2, 3, 4, 6, 8, 12][random.between(0, 5) as usize];
            let wcet = random.between(1, period);
            let length = Duration::from_ns(period);
            let mut task = Task::implicit(format!("t{at}"), Service::from_ns(wcet), length);
            task.deadline = Duration::from_ns(random.between(wcet, period));
            task.offset = Duration::from_ns(random.between(0, 9));
            task
        });
        let system = System::new(2, tasks.collect());
        for spec in ["g-edf", "g-rm", "p-edf", "edzl", "run"] {
            let search = Search {
                registry: &registry,
                spec,
                system: &system,
                effort: 2_000,
                decisions: Decisions::of(2_000),
                tick: None,
            };
            let end = until(&system, search.effort);
            if registry.build(spec, &system).is_err() {
                continue;
            }
            let first = search.late(system.clone(), Origin::Densest, end);
            if search.repeats_in_time(&system, end) {
                assert!(first.is_none(), "{spec}: {system:?}");
                in_time += 1;
            } else {
                late += usize::from(first.is_some());
            }
        }
    }
    assert!(in_time > 100 && late > 100, "{in_time} in time, {late} late");
}

/// With slots of a nanosecond a job has millions of them: the search ends by its limit on
/// decisions, and reports it.
#[test]
fn decisions_are_part_of_the_effort() {
    let task = |name: &str, [c, d, t]: [i64; 3]| {
        let mut task = Task::implicit(name, Service::from_ns(c), Duration::from_ns(t));
        task.deadline = Duration::from_ns(d);
        task
    };
    const MS: i64 = 1_000_000;
    let tasks = [
        task("a", [1, 1, 10 * MS]),
        task("b", [5 * MS, 10 * MS, 10 * MS]),
        task("c", [6 * MS, 11 * MS, 11 * MS]),
    ];
    let (system, registry) = (System::new(2, tasks.to_vec()), Registry::standard());
    for spec in ["pd2", "er-pd2"] {
        let decisions = Decisions::of(200);
        let search = Search {
            registry: &registry,
            spec,
            system: &system,
            effort: 20_000,
            decisions: decisions.clone(),
            tick: None,
        };
        let found = search.run();
        let told = decisions.ended().expect("none is left");
        assert!(matches!(&found, Found::Nothing(Some(text)) if *text == told), "{found:?}");
    }
}
