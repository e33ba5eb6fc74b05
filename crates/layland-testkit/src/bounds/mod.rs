//! Are the bounds ever exceeded? Every claim that bounds what a schedule can do, held against
//! simulations of thousands of random and adversarial systems.
//!
//! A [`Claim`] draws a system, simulates it, and says how near the schedule came to what is claimed.
//! [`explore`] does that for many: it works in rounds, half of whose systems are drawn and half of
//! which are small changes of those that came nearest so far, and it stops at the first that goes
//! beyond. Every number follows from the seed, whatever the number of threads.

pub mod claims;
pub mod draw;

pub use claims::{Claim, claims};

use layland_gen::{Aspect, Random};
use layland_model::{Rate, System};
use rayon::prelude::*;

/// A system, and the seed of the times that its simulation draws.
#[derive(Clone, Debug)]
pub struct Case {
    /// The system. Valid.
    pub system: System,
    /// The seed of the simulation.
    pub seed: u64,
}

/// How near a schedule came to what is claimed.
#[derive(Clone, Debug)]
pub struct Near {
    /// What was observed over what is claimed; at most 1.
    pub ratio: Rate,
    /// Where: a policy, and a task.
    pub place: String,
}

/// What a case says about a claim.
#[derive(Clone, Debug)]
pub enum Finding {
    /// The claim is not about this system.
    Silent,
    /// It holds.
    Holds(Near),
    /// It does not: how.
    Broken(String),
}

/// What many cases say about a claim.
#[derive(Clone, Debug)]
pub struct Report {
    /// The cases that the claim is about.
    pub checked: usize,
    /// The others.
    pub silent: usize,
    /// The nearest case.
    pub nearest: Option<(Near, Case)>,
    /// The first case that breaks the claim, and how.
    pub broken: Option<(String, Case)>,
}

/// How many rounds, and from how many of the nearest cases the changed ones come.
const ROUNDS: usize = 8;
const PARENTS: usize = 24;

/// Checks a claim on at least this many cases that it is about.
///
/// # Panics
/// If the claim is silent about nearly all systems that it draws.
pub fn explore(claim: &Claim, cases: usize, seed: u64) -> Report {
    let mut report = Report { checked: 0, silent: 0, nearest: None, broken: None };
    let mut parents: Vec<(Near, Case)> = Vec::new();
    let mut next = 0u64;
    while report.checked < cases && report.broken.is_none() {
        let tried = report.checked + report.silent;
        assert!(tried < 20 * cases + 1000, "{} says nothing about most systems", claim.name());
        let count = cases.div_ceil(ROUNDS) as u64;
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
        // The sort is stable: of cases that are equally near, the first stays first.
        parents.sort_by(|(one, _), (other, _)| other.ratio.cmp(&one.ratio));
        parents.truncate(PARENTS);
        report.nearest = parents.first().cloned();
    }
    report
}
