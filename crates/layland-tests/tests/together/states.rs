//! The search for a release pattern with a miss, compared with its slow twin, which has no partial
//! systems, no pruning and no jumps over time, and with the simulator.

use layland_guarantee::search::states::{Explored, Outcome, explore};
use layland_model::{Duration, Service, System, Task};
use layland_testkit::exhaustive::{self, Arrival, Model, draw, replay};
use layland_testkit::registry;

const STATES: usize = 400_000;

fn explored(spec: &str, system: &System, tick: i64) -> Option<Explored> {
    let policy = registry().build(spec, system).ok()?;
    explore(system, &*policy, Some(Duration::from_ns(tick)), STATES).ok()
}

/// Compares the searches, and returns the number of systems that meet all deadlines, and of those that miss one.
fn compare(spec: &str, sets: u64, affinities: bool) -> (usize, usize) {
    let (mut meets, mut misses) = (0, 0);
    for index in 0..sets {
        let system = draw(14, index, 5, affinities);
        let Some(found) = explored(spec, &system, 1) else { continue };
        let policy = registry().build(spec, &system).expect("it was built before");
        let model = Model::new(&system, &*policy, false).expect("it is small");
        match (found.outcome, exhaustive::search(&model, false, STATES)) {
            (
                Outcome::Meets { responses },
                exhaustive::SearchResult::Meets { responses: slow, states },
            ) => {
                let responses: Vec<i64> =
                    responses.values().map(|response| response.ns()).collect();
                assert_eq!(responses, slow, "{spec} {index}: {system:?}");
                assert!(found.states <= states, "{spec} {index}: {} of {states}", found.states);
                meets += 1;
            }
            (Outcome::Misses { arrivals, .. }, exhaustive::SearchResult::Misses { .. }) => {
                let arrival = |arrival: &layland_guarantee::search::states::Arrival| Arrival {
                    at: arrival.at.ns(),
                    task: arrival.task.0 as usize,
                    work: system.tasks[arrival.task].own_wcet().ns(),
                };
                let arrivals: Vec<Arrival> = arrivals.iter().map(arrival).collect();
                assert!(replay(spec, &system, &arrivals), "{spec} {index}: {arrivals:?}");
                misses += 1;
            }
            (_, exhaustive::SearchResult::GaveUp) => {}
            (fast, slow) => panic!("{spec} {index}: {fast:?}, but {slow:?}: {system:?}"),
        }
    }
    (meets, misses)
}

#[test]
fn the_search_agrees_with_its_twin() {
    for spec in ["g-edf", "g-fl", "g-rm", "g-dm", "g-fp", "p-edf", "p-dm"] {
        let (meets, misses) = compare(spec, 150, false);
        println!("{spec}: {meets} meet, {misses} miss");
        assert!(meets >= 20, "{spec}: {meets}");
        assert!(misses >= 5 || spec.starts_with("p-"), "{spec}: {misses}");
    }
}

#[test]
fn the_search_agrees_with_its_twin_about_affinities() {
    for spec in ["strong-edf", "strong-rm", "strong-fp", "hpa-edf"] {
        let (meets, misses) = compare(spec, 150, true);
        println!("{spec}: {meets} meet, {misses} miss");
        assert!(meets >= 10 && misses >= 5, "{spec}: {meets}, {misses}");
    }
}

/// (C, D, T) of each task, by descending priority, on two CPUs.
fn four() -> System {
    let task = |(i, [c, d, t]): (usize, [i64; 3])| {
        let (c, t) = (Service::from_ns(c), Duration::from_ns(t));
        let mut task = Task::implicit(format!("t{i}"), c, t);
        task.deadline = Duration::from_ns(d);
        task.priority = Some(i as i64);
        task
    };
    let parameters = [[4, 12, 12], [2, 4, 4], [6, 6, 8], [2, 8, 14]];
    System::new(2, parameters.into_iter().enumerate().map(task).collect())
}

#[test]
fn what_holds_for_a_tick_may_not_hold_for_half_of_it() {
    let system = four();
    let at = |tick| explored("g-rm", &system, tick).expect("it can be searched").outcome;
    assert!(matches!(at(2), Outcome::Meets { .. }));
    let Outcome::Misses { arrivals, .. } = at(1) else { panic!("it misses at halves") };
    assert!(arrivals.iter().any(|arrival| arrival.at.ns() % 2 == 1));
}
