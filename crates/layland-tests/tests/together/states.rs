//! The search for a release pattern with a miss, compared with its slow twin, which has no partial
//! systems, no pruning and no jumps over time, and with the simulator.

use layland_guarantee::search::states::{
    ArrivalGrid, Explored, Extent, Outcome, TakenJobs, explore,
};
use layland_model::{Duration, Service, System, Task};
use layland_testkit::exhaustive::{Agreed, compare};
use layland_testkit::registry;

const STATES: usize = 400_000;

fn explored(spec: &str, system: &System, grid: ArrivalGrid) -> Option<Explored> {
    let policy = registry().build(spec, system).ok()?;
    let extent = Extent { jobs: TakenJobs::Own, grid, states: STATES, wants_responses: true };
    explore(system, &*policy, extent).ok()
}

/// Compares the searches, and returns the number of systems that meet all deadlines, and of those that miss one.
fn compared(spec: &str, sets: u64, affinities: bool) -> (usize, usize) {
    let agreed = |index| match compare(spec, 14, index, 5, affinities) {
        Ok(agreed) => agreed,
        Err(difference) => panic!("{difference}"),
    };
    let agreed: Vec<Agreed> = (0..sets).filter_map(agreed).collect();
    let count = |is: Agreed| agreed.iter().filter(|&&it| it == is).count();
    (count(Agreed::Meets), count(Agreed::Misses))
}

#[test]
fn the_search_agrees_with_its_twin() {
    for spec in ["g-edf", "g-fl", "edzl", "g-rm", "g-dm", "g-fp", "p-edf", "p-dm"] {
        let (meets, misses) = compared(spec, 150, false);
        println!("{spec}: {meets} meet, {misses} miss");
        assert!(meets >= 20, "{spec}: {meets}");
        assert!(misses >= 5 || spec.starts_with("p-"), "{spec}: {misses}");
    }
}

#[test]
fn the_search_agrees_with_its_twin_about_affinities() {
    for spec in ["strong-edf", "strong-rm", "strong-fp", "hpa-edf"] {
        let (meets, misses) = compared(spec, 150, true);
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
    let at = |grid| explored("g-rm", &system, grid).expect("it can be searched").outcome;
    let tick = |ns| ArrivalGrid::Tick(Duration::from_ns(ns));
    for grid in [tick(2), ArrivalGrid::Unit(1)] {
        assert!(matches!(at(grid), Outcome::Meets { .. }), "{grid:?}");
    }
    for grid in [tick(1), ArrivalGrid::Unit(2)] {
        let Outcome::Misses { arrivals, .. } = at(grid) else { panic!("it misses at halves") };
        assert!(arrivals.iter().any(|arrival| arrival.at.ns() % 2 == 1), "{grid:?}");
    }
}
