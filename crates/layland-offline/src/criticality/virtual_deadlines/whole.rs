//! EDF-VD with virtual deadlines in whole nanoseconds: `V = floor(x T)` with the largest factor `x`.
//!
//! The high mode only requires `V <= x T`. The low mode is tested again: the sum of the densities
//! `C / V` of high tasks and of the utilizations of low ones is at most 1, or else the demand is
//! within every length ([`demand`](super::demand)). So some sets are accepted that
//! [`exact`](super::exact) does not accept, and vice versa.

use super::demand::{Modal, ModeDemand};
use super::{STEPS, VirtualDeadlines, factors, first_cut, fits_plainly, of_ns};
use crate::criticality::steps::Effort;
use crate::criticality::{Answer, MixedSet};
use layland_model::Rate;

/// EDF-VD with whole virtual deadlines. Sound.
///
/// # Panics
/// Panics if a deadline differs from the period.
pub fn whole(set: &MixedSet) -> VirtualDeadlines {
    assert_eq!(set.deadline, set.period, "the test is for deadlines equal to periods");
    if fits_plainly(set) {
        return VirtualDeadlines::Plain;
    }
    first_cut(set, |cut| {
        let rejected = Answer::NotSchedulable;
        let x = factors(set, cut).ok_or(rejected)?.most;
        let mut tasks: Vec<Modal> = Modal::of(set, cut).collect();
        for task in tasks.iter_mut().filter(|task| task.is_high) {
            // The factor is below 1, since the tasks do not fit without modes.
            let floor = (&x * &Rate::whole(task.period)).floor();
            task.deadline_in_low = floor.expect("it is below the period");
            if task.deadline_in_low < task.wcet_in_low.max(1) {
                return Err(rejected);
            }
        }
        let found = of_ns(tasks.iter().map(|task| task.deadline_in_low));
        let density = |task: &Modal| Rate::new(task.wcet_in_low, task.deadline_in_low);
        if tasks.iter().map(density).sum::<Rate>() <= Rate::ONE {
            return Ok(found);
        }
        let demand = ModeDemand::new(&tasks).ok_or(rejected)?;
        match demand.is_within(&mut Effort::new(STEPS)) {
            Answer::Schedulable => Ok(found),
            answer @ (Answer::NotSchedulable | Answer::GaveUp) => Err(answer),
        }
    })
}
