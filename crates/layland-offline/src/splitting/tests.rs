//! Cases that the twins of the test kit do not cover: long times, full CPUs, many CPUs.

use super::*;
use layland_model::{Service, Task};

fn system(cpus: usize, tasks: &[(i64, i64, i64)]) -> System {
    let task = |(index, &(wcet, deadline, period)): (usize, &(i64, i64, i64))| {
        let (wcet, period) = (Service::from_ns(wcet), Duration::from_ns(period));
        let mut task = Task::implicit(format!("t{index}"), wcet, period);
        task.deadline = Duration::from_ns(deadline);
        task
    };
    System::new(cpus, tasks.iter().enumerate().map(task).collect())
}

fn budgets(pieces: &[Piece]) -> Vec<i64> {
    pieces.iter().map(|piece| piece.budget.ns()).collect()
}

/// Real sets have nanoseconds: the pieces equal those in coarse units, except for the fraction of a
/// unit that more digits give.
#[test]
fn finer_units_give_no_less() {
    let coarse = system(2, &[(6, 10, 10), (6, 10, 10), (6, 10, 10)]);
    let fine: Vec<_> = [(6, 10, 10); 3].map(|(c, d, t)| (c, d, t).map_each(1_000_003)).to_vec();
    let fine = system(2, &fine);
    for splitting in Splitting::ALL {
        let [coarse, fine] = [&coarse, &fine].map(|system| {
            let pieces = split(system, splitting, SplitOrder::default()).unwrap();
            let own = pieces.values().find(|own| own.len() > 1).expect("one is split");
            own[0].budget.ns()
        });
        assert!(fine >= coarse * 1_000_003, "{splitting:?}: {coarse} {fine}");
    }
}

trait MapEach {
    fn map_each(self, factor: i64) -> Self;
}

impl MapEach for (i64, i64, i64) {
    fn map_each(self, factor: i64) -> Self {
        (self.0 * factor, self.1 * factor, self.2 * factor)
    }
}

/// Utilization 2 on two CPUs: busy periods bound the search, and rounding loses nothing.
#[test]
fn a_full_machine_is_split_to_the_last_nanosecond() {
    let full = system(2, &[(2, 3, 3), (2, 3, 3), (2, 3, 3)]);
    for splitting in Splitting::ALL {
        let pieces = split(&full, splitting, SplitOrder::default()).unwrap();
        let split = pieces.values().find(|own| own.len() > 1).expect("one is split");
        assert_eq!(budgets(split), [1, 1], "{splitting:?}");
    }
    let over = system(2, &[(2, 3, 3), (2, 3, 3), (2, 3, 3), (1, 1_000_000, 1_000_000)]);
    for splitting in Splitting::ALL {
        let error = split(&over, splitting, SplitOrder::default()).unwrap_err();
        assert!(error.rest > Duration::ZERO, "{splitting:?}: {error}");
    }
}

/// Thirds of long, odd periods on many CPUs take negligible time.
#[test]
fn many_cpus_and_long_periods_are_quick() {
    let tasks: Vec<(i64, i64, i64)> = (0..48)
        .map(|index| {
            let period = 999_999_937 + 7_919 * index;
            (period / 3 * 2, period, period)
        })
        .collect();
    let system = system(40, &tasks);
    for splitting in Splitting::ALL {
        let found = split(&system, splitting, SplitOrder::default());
        assert!(found.is_ok() || splitting != Splitting::FailFirst, "{found:?}");
        let whole = |own: &Vec<Piece>| own.len() == 1;
        assert!(found.is_err() || !found.unwrap().values().all(whole), "{splitting:?}");
    }
}

#[test]
fn who_has_no_place_is_told_with_what_is_left() {
    // Each CPU has a task with a laxity of 2, and the third task needs 7 in 10.
    let none = system(2, &[(8, 10, 10), (8, 10, 10), (7, 10, 10)]);
    let error = split(&none, Splitting::FailFirst, SplitOrder::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed to place `t2`: no CPU takes all of it, and if it is split 3 ns of its 7 ns are left over"
    );
    let windows = split(&none, Splitting::Windows, SplitOrder::default()).unwrap_err();
    assert_eq!(windows.rest, Duration::from_ns(3));
}
