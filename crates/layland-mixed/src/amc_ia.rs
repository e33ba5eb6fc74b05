//! AMC-IA, the paper's improved analysis (Huang et al. 2014, Section 3.1), and a corrected one.

use crate::fixed::Responses;
use crate::{Assignment, MixedSet};
use layland_model::{Duration, TaskId};

/// The most fixed points that one analysis of a set computes by default.
pub const FIXED_POINTS: u64 = 20_000_000;

/// The paper's analysis with the best priorities. Not sound.
pub fn paper(set: &MixedSet, fixed_points: u64) -> Assignment<Vec<Duration>> {
    let _ = (set, fixed_points);
    unimplemented!()
}

/// The corrected analysis with the best priorities: `R_i(0), .., R_i(z_i)` of each task. Sound.
pub fn safe(set: &MixedSet, fixed_points: u64) -> Assignment<Vec<Duration>> {
    let _ = (set, fixed_points);
    unimplemented!()
}

/// The priorities of [`safe`] alone, which takes a fraction of the time: tasks that pass AMC-RT are
/// not looked at any further.
pub fn safe_order(set: &MixedSet, fixed_points: u64) -> Assignment<()> {
    let _ = (set, fixed_points);
    unimplemented!()
}

/// The corrected analysis under the given priorities, highest first.
pub fn safe_under(
    set: &MixedSet,
    order: &[TaskId],
    fixed_points: u64,
) -> Responses<Vec<Duration>> {
    let _ = (set, order, fixed_points);
    unimplemented!()
}
