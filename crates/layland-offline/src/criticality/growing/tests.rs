use super::*;
use crate::criticality::{period_transformation, zero_slack};
use proptest::prelude::*;
use std::cell::Cell;

type Whole = fn(&MixedSet) -> bool;

/// The analyses, each with its slow twin.
fn twins() -> Vec<(&'static str, Box<dyn Grows>, Whole)> {
    let grows = |cut_off| Box::new(Growing::new(cut_off)) as Box<dyn Grows>;
    vec![
        ("smc", grows(CutOff::best()), |set| fixed::order(set).answer().is_yes()),
        ("rm", grows(CutOff::rate_monotonic()), |set| fixed::rms(set).answer().is_yes()),
        ("cm", grows(CutOff::criticality_monotonic()), |set| fixed::cms(set).answer().is_yes()),
        ("amc", Box::new(Growing::new(Adaptive)), |set| amc_rt::order(set).answer().is_yes()),
        ("zss", Box::new(zero_slack::Instants::default()), zero_slack::accepts),
        ("pt", Box::new(Growing::new(Cut::default())), period_transformation::accepts),
    ]
}

/// `(T, T - D, level, C(0), C(l + 1) - C(l), put)`
type Drawn = (i64, i64, u8, i64, i64, bool);

fn set_of(tasks: &[Drawn], unit: i64) -> MixedSet {
    let wcets: Vec<Vec<i64>> = (tasks.iter())
        .map(|t| (0..3).map(|l| unit * (t.3 + t.4 * i64::from(t.2.min(l))).max(1)).collect())
        .collect();
    let plain: Vec<(i64, i64, u8, &[i64])> = (tasks.iter().zip(&wcets))
        .map(|(t, wcet)| (t.0 * unit, (t.0 - t.1).max(1) * unit, t.2, wcet.as_slice()))
        .collect();
    MixedSet::from_ns(3, &plain).expect("it is valid")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn a_set_that_grows_is_accepted_as_a_whole(
        tasks in prop::collection::vec(
            (5i64..200, 0i64..20, 0u8..3, 0i64..8, 0i64..4, prop::bool::weighted(0.8)), 1..24,
        ),
        unit in prop_oneof![Just(1i64), Just(1_000_003)],
        forgets in prop::option::weighted(0.2, 0usize..20),
    ) {
        for (name, mut growing, whole) in twins() {
            let mut there: Vec<Drawn> = Vec::new();
            for (count, &task) in tasks.iter().enumerate() {
                if forgets == Some(count) {
                    there.pop();
                    growing.forget();
                }
                there.push(task);
                let set = set_of(&there, unit);
                let accepted = growing.accepts(&set);
                prop_assert_eq!(accepted, whole(&set), "{}: {:?}", name, there);
                if accepted && task.5 {
                    growing.put();
                } else {
                    there.pop();
                }
            }
        }
    }
}

thread_local! {
    static ASSIGNMENTS: Cell<usize> = const { Cell::new(0) };
}

/// SMC, with a count of the whole assignments.
#[derive(Clone)]
struct Counted(CutOff);

impl Analysis for Counted {
    fn prepare(&mut self, set: &MixedSet) -> bool {
        self.0.prepare(set)
    }
    fn first_level(&self, set: &MixedSet, i: usize) -> usize {
        self.0.first_level(set, i)
    }
    fn limit(&self, set: &MixedSet, i: usize) -> i64 {
        self.0.limit(set, i)
    }
    fn work(&self, set: &MixedSet, j: usize, m: usize, length: impl Fn(usize) -> i64) -> i64 {
        self.0.work(set, j, m, length)
    }
    fn priorities(&self, _: &MixedSet) -> Priorities {
        let assign = |set: &MixedSet| {
            ASSIGNMENTS.set(ASSIGNMENTS.get() + 1);
            fixed::order(set)
        };
        Priorities::Best { assign, is_stuck: none_passes::<fixed::UnorderedTasks> }
    }
}

#[test]
fn few_answers_need_a_whole_assignment() {
    let mut growing = Growing::new(Counted(CutOff::best()));
    let mut there: Vec<Drawn> = Vec::new();
    let mut refused = 0;
    for task in 0..400i64 {
        let period = 2_000 + 37 * task % 1_700;
        there.push((period, task % 90, (task % 3) as u8, 9, task % 5, true));
        if growing.accepts(&set_of(&there, 1)) {
            growing.put();
        } else {
            there.pop();
            refused += 1;
        }
    }
    assert!(refused > 50, "{refused} of 400 are refused");
    let assignments = ASSIGNMENTS.get();
    assert!(assignments <= 50, "{assignments} assignments for 400 answers");
}
