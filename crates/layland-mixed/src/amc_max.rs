//! AMC-MAX: the worst over every instant of the mode change (Huang et al. 2014, Section 2.3; after
//! Baruah, Burns and Davis 2011), for two levels. Sound.

use crate::fixed::Responses;
use crate::{Assignment, MixedError, MixedSet};
use layland_model::{Duration, TaskId};

/// AMC-MAX with the best priorities: `R_i(0), .., R_i(z_i)` of each task.
///
/// # Errors
/// [`MixedError::TwoLevelsOnly`] for a set with more than two levels.
pub fn amc_max(set: &MixedSet) -> Result<Assignment<Vec<Duration>>, MixedError> {
    let _ = set;
    unimplemented!()
}

/// AMC-MAX under the given priorities, highest first.
///
/// # Errors
/// As [`amc_max`].
pub fn under(set: &MixedSet, order: &[TaskId]) -> Result<Responses<Vec<Duration>>, MixedError> {
    let _ = (set, order);
    unimplemented!()
}
