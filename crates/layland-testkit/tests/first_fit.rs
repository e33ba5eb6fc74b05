//! The short answers that a first fit asks for, with what is remembered from one task to the next, against whole
//! analyses.

use layland_model::TaskId;
use layland_offline::criticality::{MixedSet, fjp, zero_slack};
use layland_testkit::cases::on_random;
use layland_testkit::criticality::{Plain, set_of, sets};
use proptest::prelude::*;
use std::cell::Cell;

/// Tasks come to one CPU one after the other, and stay if they are accepted.
fn come(
    levels: usize,
    tasks: &[Plain],
    mut accepts: impl FnMut(&MixedSet) -> Result<bool, TestCaseError>,
) -> Result<u32, TestCaseError> {
    let mut there: Vec<Plain> = Vec::new();
    let mut refused = 0;
    for task in tasks {
        there.push(task.clone());
        if !accepts(&set_of(levels, &there))? {
            there.pop();
            refused += 1;
        }
    }
    Ok(refused)
}

#[test]
fn jobs_that_were_stuck_change_no_answer() {
    let asked = Cell::new(0);
    on_random(12_000, 2_000, sets(3, 16), |(levels, tasks)| {
        let mut refused = 0;
        for most in [30, fjp::JOBS] {
            let mut stuck = None;
            refused += come(levels, &tasks, |set| {
                asked.set(asked.get() + u32::from(stuck.is_some()));
                let accepted = fjp::accepts_unless(set, most, &mut stuck);
                prop_assert_eq!(accepted, fjp::safe(set, most).answer.is_yes());
                prop_assert_eq!(accepted, fjp::accepts(set, most));
                Ok(accepted)
            })?;
        }
        Ok(refused > 2)
    });
    assert!(asked.get() > 1_000, "{} sets came after jobs that were stuck", asked.get());
}

#[test]
fn whoever_is_suspected_first_changes_no_answer() {
    let by_others = Cell::new(0);
    on_random(12_000, 2_000, sets(3, 12), |(levels, tasks)| {
        let mut suspect = None;
        let refused = come(levels, &tasks, |set| {
            let found = zero_slack::safe(set);
            let refused = zero_slack::refused(set, suspect);
            prop_assert_eq!(refused.is_none(), found.answer.is_yes());
            // Whoever is suspected, and whether the task is there.
            for other in (0..=set.len() as u32).map(TaskId) {
                let by = zero_slack::refused(set, Some(other));
                prop_assert_eq!(by.is_none(), refused.is_none());
                by_others.set(by_others.get() + u32::from(by != refused));
            }
            suspect = refused.or(suspect);
            Ok(refused.is_none())
        })?;
        Ok(refused > 2)
    });
    assert!(by_others.get() > 1_000, "{} sets were refused for another task", by_others.get());
}
