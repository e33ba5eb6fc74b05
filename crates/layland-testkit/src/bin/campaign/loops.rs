//! Do both event loops of the simulator count the same?
//! `cargo run --release -p layland-testkit -- loops [SYSTEMS] [SEED]`
//!
//! Draws random systems (5000 by default), simulates each in both loops under every policy that the
//! fast one takes, and compares all figures.

use super::amount_and_seed;
use layland_gen::Random;
use layland_testkit::loops::{BothLoops, POLICIES, compare, draw};
use rayon::prelude::*;
use std::process::ExitCode;

/// The number of runs, and of those with a late job.
type Runs = (u64, u64);

fn compare_one(seed: u64, index: u64) -> Result<Runs, String> {
    let (system, until) = draw(&mut Random::of_task(seed, index));
    let (mut runs, mut late) = (0, 0);
    for spec in POLICIES {
        match compare(&system, spec, until) {
            BothLoops::Other => {}
            BothLoops::Same { late: is_late } => {
                runs += 1;
                late += u64::from(is_late);
            }
            BothLoops::Different(words) => return Err(format!("{words}\n{system:#?}")),
        }
    }
    Ok((runs, late))
}

pub(crate) fn run(words: &[String]) -> ExitCode {
    let (systems, seed) = match amount_and_seed(words, 5_000) {
        Ok(asked) => asked,
        Err(error) => {
            eprintln!("{error}\nusage: loops [SYSTEMS] [SEED]");
            return ExitCode::from(2);
        }
    };
    let all = (0..systems).into_par_iter().map(|index| compare_one(seed, index));
    match all.try_reduce(|| (0, 0), |a, b| Ok((a.0 + b.0, a.1 + b.1))) {
        Ok((runs, late)) => {
            println!(
                "{systems} systems, {runs} runs in both loops, {late} with a late job: all equal"
            );
            ExitCode::SUCCESS
        }
        Err(words) => {
            println!("{words}");
            ExitCode::FAILURE
        }
    }
}
