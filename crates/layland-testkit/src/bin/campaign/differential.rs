//! Do the policies agree with independent references?
//! `cargo run --release -p layland-testkit -- differential [SYSTEMS] [SEED]`, 2,000 systems for
//! each reference by default. Prints how many schedules agreed with each, and fails with the system
//! of the first difference.
use crate::amount_and_seed;
use layland_testkit::differential::campaign;
use std::process::ExitCode;

pub(crate) fn run(words: &[String]) -> ExitCode {
    let (systems, seed) = match amount_and_seed(words, 2_000) {
        Ok(given) => given,
        Err(what) => {
            eprintln!("{what}");
            return ExitCode::FAILURE;
        }
    };
    let tallies = campaign(systems, seed);
    println!("{:<34} {:>8} {:>10} {:>7}", "reference", "systems", "schedules", "differ");
    for tally in &tallies {
        let differ = tally.differing.len();
        println!("{:<34} {:>8} {:>10} {differ:>7}", tally.name, tally.systems, tally.agreed);
    }
    let differing: Vec<&String> = tallies.iter().flat_map(|tally| &tally.differing).collect();
    for how in differing.iter().take(10) {
        println!("\n{how}");
    }
    if differing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
