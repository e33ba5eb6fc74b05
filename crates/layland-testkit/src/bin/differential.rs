//! Do the policies do what independent references do? `cargo run --release -p layland-testkit --bin differential --
//! [SYSTEMS] [SEED]`, 2,000 systems for each reference by default. Prints how many schedules agreed with each, and
//! fails if one did not, with its system.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for developers")]

use layland_testkit::differential::campaign;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| match arguments.next() {
        None => Ok(default),
        Some(text) => text.parse::<u64>().map_err(|_| format!("`{text}` is not a number")),
    };
    let (systems, seed) = match number(2_000).and_then(|count| Ok((count, number(1)?))) {
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
