//! The tests of EDF with virtual deadlines, compared with obvious versions of themselves.

use layland_model::{Criticality, Duration, Rate, TaskMap};
use layland_offline::criticality::virtual_deadlines::{
    self, Grid, STEPS, VirtualDeadlines, tuned_on,
};
use layland_testkit::cases::on_random;
use layland_testkit::criticality::{Plain, set_of, sets};
use layland_testkit::virtual_deadlines as twin;
use proptest::prelude::*;
use std::cell::RefCell;

/// Draws sets with a higher load.
fn heavier(levels: usize, most: usize) -> impl Strategy<Value = (usize, Vec<Plain>)> {
    (sets(levels, most), 1i64..=6).prop_map(|((levels, tasks), by)| {
        let heavier = |task: &Plain| {
            let wcet = task.wcet.iter().map(|c| (c * by).min(task.deadline)).collect();
            Plain { wcet, ..task.clone() }
        };
        (levels, tasks.iter().map(heavier).collect())
    })
}

/// Returns the tasks with deadlines equal to periods.
fn implicit(tasks: &[Plain]) -> Vec<Plain> {
    tasks.iter().map(|task| Plain { deadline: task.period, ..task.clone() }).collect()
}

/// Returns true if the set fits with the bounds of the tasks' own levels.
fn fits_plainly(tasks: &[Plain]) -> bool {
    let own = tasks.iter().map(|task| Rate::new(task.wcet[task.level], task.period));
    own.sum::<Rate>() <= Rate::ONE
}

/// Returns the cuts that EDF-VD tries.
fn cuts(levels: usize) -> std::ops::Range<usize> {
    0..(levels - 1).max(1)
}

/// EDF-VD finds the first cut for which some factor satisfies both conditions, and virtual
/// deadlines by such a factor. If there is no such cut, no fraction with a small denominator
/// satisfies them either.
#[test]
fn factors_are_those_that_satisfy_both_modes() {
    let counts: RefCell<[u32; 3]> = RefCell::default();
    on_random(12_000, 12_000, prop_oneof![heavier(2, 5), heavier(4, 5)], |(levels, tasks)| {
        let tasks = implicit(&tasks);
        let set = set_of(levels, &tasks);
        let found = virtual_deadlines::exact(&set);
        let none_before = |end: usize| {
            let fractions = (1..=24).flat_map(|d| (0..=d).map(move |n| Rate::new(n, d)));
            let mut pairs = fractions.flat_map(|x| (0..end).map(move |cut| (x.clone(), cut)));
            pairs.all(|(x, cut)| !twin::is_a_factor(&tasks, cut, &x))
        };
        match &found {
            VirtualDeadlines::Plain => prop_assert!(fits_plainly(&tasks)),
            VirtualDeadlines::Modes(modes) => {
                let cut = modes.cut.level();
                prop_assert!(!fits_plainly(&tasks) && cuts(levels).contains(&cut));
                let mut factors = Vec::new();
                for (task, deadline) in tasks.iter().zip(modes.deadline.values()) {
                    if task.level > cut {
                        factors.push(deadline / &Rate::whole(task.period))
                    } else {
                        prop_assert_eq!(deadline, &Rate::whole(task.period))
                    }
                }
                for x in &factors {
                    prop_assert_eq!(x, &factors[0]);
                    prop_assert!(*x < Rate::ONE && twin::is_a_factor(&tasks, cut, x));
                }
                prop_assert!(none_before(cut));
            }
            VirtualDeadlines::Rejected => {
                prop_assert!(!fits_plainly(&tasks) && none_before(cuts(levels).end));
            }
            VirtualDeadlines::GaveUp => return Err(TestCaseError::fail("it does not search")),
        }
        counts.borrow_mut()[match found {
            VirtualDeadlines::Plain => 0,
            VirtualDeadlines::Modes(_) => 1,
            VirtualDeadlines::Rejected | VirtualDeadlines::GaveUp => 2,
        }] += 1;
        Ok(true)
    });
    let [plain, modes, rejected] = counts.into_inner();
    assert!(plain > 500 && modes > 300 && rejected > 500, "{plain} {modes} {rejected}");
}

/// The first form of the test (Baruah et al., ESA 2011), as in other tools: with `a` for low tasks,
/// `l` for high tasks at their low bounds and `h` at their own, `a + min(h, l / (1 - h))` is at
/// most 1. The later form accepts all of these sets and more, except for those whose low tasks fill
/// the CPU.
#[test]
fn the_later_form_accepts_what_the_first_one_does() {
    let counts: RefCell<[u32; 3]> = RefCell::default();
    on_random(6_000, 6_000, heavier(2, 5), |(levels, tasks)| {
        let tasks = implicit(&tasks);
        let sum = |own: usize, at: usize| -> Rate {
            let of_level = tasks.iter().filter(|task| task.level == own);
            of_level.map(|task| Rate::new(task.wcet[at], task.period)).sum()
        };
        let (a, l, h) = (sum(0, 0), sum(1, 0), sum(1, 1));
        let carried =
            if h < Rate::ONE { h.clone().min(&l / &(Rate::ONE - h.clone())) } else { h.clone() };
        let fits = &a + &l <= Rate::ONE && h <= Rate::ONE;
        let first = fits && a < Rate::ONE && a + carried <= Rate::ONE;
        let found = virtual_deadlines::exact(&set_of(levels, &tasks));
        let later = matches!(found, VirtualDeadlines::Plain | VirtualDeadlines::Modes(_));
        prop_assert!(later || !first, "{tasks:?}");
        counts.borrow_mut()[usize::from(first) + usize::from(later)] += 1;
        Ok(true)
    });
    let [neither, later, both] = counts.into_inner();
    println!("accepted by both {both}, by the later form alone {later}, by neither {neither}");
    assert!(both > 500 && later > 50 && neither > 500, "{both} {later} {neither}");
}

fn in_ns(deadlines: &TaskMap<Rate>) -> Vec<i64> {
    deadlines.values().map(|rate| rate.floor().expect("it is small")).collect()
}

/// Whole virtual deadlines: `floor(x T)` for the largest factor, by densities or length by length.
#[test]
fn whole_virtual_deadlines_are_those_of_the_rule() {
    let counts: RefCell<[u32; 3]> = RefCell::default();
    on_random(8_000, 8_000, prop_oneof![heavier(2, 4), heavier(3, 4)], |(levels, tasks)| {
        let tasks = implicit(&tasks);
        let set = set_of(levels, &tasks);
        let of_cut = |cut: usize| {
            let level = Criticality(cut as u8);
            let x = virtual_deadlines::factors(&set, level)?.most;
            let mut density = Rate::ZERO;
            let mut found = Vec::new();
            for task in &tasks {
                let v = if task.level > cut {
                    (&x * &Rate::whole(task.period)).floor()?
                } else {
                    task.period
                };
                let low = if task.level > cut { task.wcet[cut] } else { task.wcet[task.level] };
                if v < low.max(1) {
                    return None;
                }
                density = density + Rate::new(low, v);
                found.push(v);
            }
            let fits = density <= Rate::ONE || twin::both_modes_fit(&tasks, cut, &found);
            fits.then_some((cut, found))
        };
        let found = virtual_deadlines::whole(&set);
        counts.borrow_mut()[match &found {
            VirtualDeadlines::Plain => {
                prop_assert!(fits_plainly(&tasks));
                0
            }
            VirtualDeadlines::Modes(modes) => {
                let found = Some((modes.cut.level(), in_ns(&modes.deadline)));
                prop_assert_eq!(found, cuts(levels).find_map(of_cut));
                1
            }
            VirtualDeadlines::Rejected => {
                prop_assert_eq!(cuts(levels).find_map(of_cut), None);
                2
            }
            VirtualDeadlines::GaveUp => return Err(TestCaseError::fail("it is a small set")),
        }] += 1;
        Ok(true)
    });
    let [plain, modes, rejected] = counts.into_inner();
    assert!(plain > 300 && modes > 200 && rejected > 300, "{plain} {modes} {rejected}");
}

/// Compares Ekberg and Yi's search with the printed one, which starts from length 0 after each
/// step. No virtual deadlines are valid if both modes do not fit.
#[test]
fn the_search_is_the_printed_one() {
    let shortened: RefCell<[u32; 3]> = RefCell::default();
    on_random(6_000, 6_000, prop_oneof![heavier(2, 4), heavier(3, 3)], |(levels, tasks)| {
        let set = set_of(levels, &tasks);
        let slow = cuts(levels).find_map(|cut| Some((cut, twin::ekberg_yi(&tasks, cut)?)));
        let unit = Duration::from_ns(1);
        let found = match tuned_on(&set, Grid { unit }, STEPS) {
            VirtualDeadlines::Modes(modes) => Some((modes.cut.level(), in_ns(&modes.deadline))),
            VirtualDeadlines::Rejected => None,
            VirtualDeadlines::Plain | VirtualDeadlines::GaveUp => {
                return Err(TestCaseError::fail("it is a small set, and has modes"));
            }
        };
        prop_assert_eq!(&found, &slow);
        let kind = match &found {
            Some((cut, deadlines)) => {
                prop_assert!(twin::both_modes_fit(&tasks, *cut, deadlines));
                usize::from(tasks.iter().zip(deadlines).any(|(task, v)| task.deadline > *v))
            }
            None => 2,
        };
        shortened.borrow_mut()[kind] += 1;
        Ok(true)
    });
    let [as_real, shorter, rejected] = shortened.into_inner();
    assert!(as_real > 300 && shorter > 500 && rejected > 500, "{as_real} {shorter} {rejected}");
}
