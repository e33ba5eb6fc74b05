//! Does the search over all states say what its slow twin says?
//! `cargo run --release -p layland-testkit -- states`
//!
//! ```text
//! states [POLICY..] [--sets N] [--seed N] [--tasks N]
//! ```
//!
//! For each policy, searches N random systems (1000 by default) of up to this number of tasks (5 by
//! default) with periods up to 8 in both ways, and simulates each pattern that misses. Stops at the
//! first difference of a policy, prints it, and exits with 1.
use super::small_sets::SmallSets;
use layland_testkit::exhaustive::{Agreed, compare};
use rayon::prelude::*;
use std::process::ExitCode;

const USAGE: &str = "usage: states [POLICY..] [--sets N] [--seed N] [--tasks N]";
const POLICIES: [&str; 11] = [
    "g-fp",
    "g-rm",
    "g-dm",
    "p-dm",
    "g-edf",
    "g-fl",
    "edf-us",
    "edzl",
    "strong-fp",
    "strong-edf",
    "hpa-edf",
];

pub(crate) fn run(words: &[String]) -> ExitCode {
    let usual = || POLICIES.map(str::to_owned).to_vec();
    let asked = match SmallSets::asked(words, (1_000, 5), None, usual, USAGE) {
        Ok(asked) => asked,
        Err(exit) => return exit,
    };
    let mut differs = false;
    println!("{:<16} {:>8} {:>8} {:>8} {:>8}", "policy", "sets", "meet", "miss", "gave up");
    for spec in &asked.specs {
        let affinities = ["strong", "hpa"].iter().any(|form| spec.starts_with(form));
        let one = |index| compare(spec, asked.seed, index, asked.tasks, affinities).transpose();
        let found: Result<Vec<Agreed>, String> =
            (0..asked.sets).into_par_iter().filter_map(one).collect();
        match found {
            Ok(found) => {
                let count = |is: Agreed| found.iter().filter(|&&it| it == is).count();
                println!(
                    "{spec:<16} {:>8} {:>8} {:>8} {:>8}",
                    found.len(),
                    count(Agreed::Meets),
                    count(Agreed::Misses),
                    count(Agreed::GaveUp)
                );
            }
            Err(difference) => {
                differs = true;
                println!("{difference}");
            }
        }
    }
    ExitCode::from(u8::from(differs))
}
