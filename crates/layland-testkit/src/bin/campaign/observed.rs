//! Does an inferred set explain its trace?
//! `cargo run --release -p layland-testkit -- observed [TRACES] [SEED]`, 10,000 traces by default.
//! Prints the outcomes for the traces of each feature. Fails if an inferred upper bound is below
//! the observed value, or an inferred guarantee above it, and keeps such traces in the folder of
//! temporary files.
use crate::amount_and_seed;
use layland_testkit::observed::{FeatureTally, campaign, trace};
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
        let FeatureTally { traces, broken, unexplained, guaranteed, nothing } = tally;
        let name = format!("{feature:?}");
        println!(
            "{name:<16} {traces:>8} {broken:>8} {unexplained:>12} {guaranteed:>11} {nothing:>8}"
        );
    }
    let kept = std::env::temp_dir().join("layland-observed");
    for (feature, seed) in found.seeds.iter().take(20) {
        let file = kept.join(format!("{feature:?}-{seed}.txt"));
        let written = std::fs::create_dir_all(&kept)
            .and_then(|()| std::fs::write(&file, trace(*feature, *seed).text));
        match written {
            Ok(()) => println!("wrote {}", file.display()),
            Err(error) => eprintln!("{}: {error}", file.display()),
        }
    }
    for broken in found.broken.iter().take(20) {
        println!("{broken}");
    }
    if found.broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
