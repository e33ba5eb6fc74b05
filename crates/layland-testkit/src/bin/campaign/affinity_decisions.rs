//! Do the policies with affinities decide like brute force and the algorithms of their paper?
//! `cargo run --release -p layland-testkit -- affinity-decisions [DECISIONS] [SEED]`
//!
//! Compares 100,000 random decisions by default, and fails with the first difference.

use crate::amount_and_seed;
use layland_testkit::affinity::drive::check_decisions;
use std::process::ExitCode;

pub(crate) fn run(words: &[String]) -> ExitCode {
    let asked = amount_and_seed(words, 100_000);
    let compared = asked.and_then(|(decisions, seed)| check_decisions(decisions, seed));
    match compared {
        Ok(compared) => {
            println!("all decisions agree: {compared:?}");
            ExitCode::SUCCESS
        }
        Err(what) => {
            eprintln!("{what}");
            ExitCode::FAILURE
        }
    }
}
