//! Are the bounds ever exceeded? Every claim that bounds the behaviour of schedules is checked
//! against simulations of thousands of random and adversarial systems.
//!
//! A [`Claim`] draws a system, simulates it, and measures how near the schedule came to the claimed
//! limit. [`explore`] does that for many systems. It works in rounds: half of the systems of a
//! round are drawn, and half are small changes of those that came nearest so far. It stops at the
//! first system that exceeds the limit. Every number follows from the seed, whatever the number of
//! threads.

pub mod claims;
pub mod draw;

pub use claims::{Claim, claims};

use layland_gen::{Aspect, Random};
use layland_model::{Rate, System};
use rayon::prelude::*;

/// A system, and the seed for the times that its simulation draws.
#[derive(Clone, Debug)]
pub struct Case {
    /// The system, which is valid.
    pub system: System,
    /// The seed of the simulation.
    pub seed: u64,
}

/// The distance of a schedule from a claimed limit.
#[derive(Clone, Debug)]
pub struct Near {
    /// The observed value divided by the claimed one; at most 1.
    pub ratio: Rate,
    /// The policy and the task.
    pub place: String,
}

/// The result of a case for a claim.
#[derive(Clone, Debug)]
pub enum Finding {
    /// The claim does not apply to this system.
    Silent,
    /// The claim holds.
    Holds(Near),
    /// The claim does not hold, with a description.
    Broken(String),
}

/// The results of many cases for a claim.
#[derive(Clone, Debug)]
pub struct ClaimReport {
    /// The number of cases to which the claim applies.
    pub checked: usize,
    /// The number of other cases.
    pub silent: usize,
    /// The nearest case.
    pub nearest: Option<(Near, Case)>,
    /// The first case that breaks the claim, with a description.
    pub broken: Option<(String, Case)>,
}

/// The number of rounds, and the number of nearest cases that are changed.
const ROUNDS: usize = 8;
const PARENTS: usize = 24;

/// Checks a claim on at least this many cases to which it applies.
///
/// # Panics
/// If the claim applies to hardly any of the systems that it draws.
pub fn explore(claim: &Claim, cases: usize, seed: u64) -> ClaimReport {
    let mut report = ClaimReport { checked: 0, silent: 0, nearest: None, broken: None };
    let mut parents: Vec<(Near, Case)> = Vec::new();
    let mut next = 0u64;
    while report.checked < cases && report.broken.is_none() {
        let tried = report.checked + report.silent;
        assert!(tried < 20 * cases + 1000, "{} says nothing about most systems", claim.name());
        let count = cases.div_ceil(ROUNDS) as u64;
        // Each case has its own random numbers, so that the result does not depend on the threads.
        let found: Vec<(Case, Finding)> = (next..next + count)
            .into_par_iter()
            .map(|index| {
                let mut random = Random::new(seed, index, Aspect::Utilizations);
                let case = if parents.is_empty() || index % 2 == 0 {
                    claim.draw(&mut random)
                } else {
                    let parent = &parents[random.below(parents.len() as u64) as usize].1;
                    claim.change(parent, &mut random)
                };
                let finding = claim.check(&case);
                (case, finding)
            })
            .collect();
        next += count;
        for (case, finding) in found {
            match finding {
                Finding::Silent => report.silent += 1,
                Finding::Holds(near) => {
                    report.checked += 1;
                    parents.push((near, case));
                }
                Finding::Broken(how) => {
                    report.checked += 1;
                    report.broken.get_or_insert((how, case));
                }
            }
        }
        // The sort is stable: among cases that are equally near, the first stays first.
        parents.sort_by(|(one, _), (other, _)| other.ratio.cmp(&one.ratio));
        parents.truncate(PARENTS);
        report.nearest = parents.first().cloned();
    }
    report
}
