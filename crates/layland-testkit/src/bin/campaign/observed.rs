//! Does a set that was inferred explain its trace? `cargo run --release -p layland-testkit -- observed [TRACES]
//! [SEED]`, 10,000 traces by default. Prints how the traces of each feature ended, and fails if a bound is below what
//! a trace shows, or a guarantee above it.
use crate::amount_and_seed;
use layland_testkit::observed::{Tally, campaign};
use std::process::ExitCode;

pub(crate) fn run(words: &[String]) -> ExitCode {
    let (traces, seed) = match amount_and_seed(words, 10_000) {
        Ok(given) => given,
        Err(what) => {
            eprintln!("{what}");
            return ExitCode::FAILURE;
        }
    };
    let found = campaign(traces, seed);
    println!(
        "{:<16} {:>8} {:>8} {:>12} {:>11} {:>8}",
        "", "traces", "broken", "unexplained", "guaranteed", "nothing"
    );
    for (feature, tally) in &found.tallies {
        let Tally { traces, broken, unexplained, guaranteed, nothing } = tally;
        let name = format!("{feature:?}");
        println!(
            "{name:<16} {traces:>8} {broken:>8} {unexplained:>12} {guaranteed:>11} {nothing:>8}"
        );
    }
    for broken in found.broken.iter().take(20) {
        println!("{broken}");
    }
    if found.broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
