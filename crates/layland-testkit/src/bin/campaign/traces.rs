//! Does the checker accept traces that lie?
//! `cargo run --release -p layland-testkit -- traces [MUTATIONS] [SEED]`, 10,000 mutations by
//! default. Prints the outcomes of each kind of mutation, and fails if one was accepted that is not
//! the schedule of its set.
use crate::amount_and_seed;
use layland_testkit::traces::{MutationTally, campaign};
use std::process::ExitCode;

pub(crate) fn run(words: &[String]) -> ExitCode {
    let (mutations, seed) = match amount_and_seed(words, 10_000) {
        Ok(given) => given,
        Err(what) => {
            eprintln!("{what}");
            return ExitCode::FAILURE;
        }
    };
    let found = campaign(mutations, seed);
    println!(
        "{:<46} {:>10} {:>8} {:>6} {:>8} {:>6}",
        "", "unreadable", "refused", "wrong", "accepted", "strict"
    );
    let total = found.total();
    for (name, tally) in found.tallies.iter().chain([(&"all", &total)]) {
        let MutationTally { unreadable, refused, wrong, accepted, strict } = tally;
        println!("{name:<46} {unreadable:>10} {refused:>8} {wrong:>6} {accepted:>8} {strict:>6}");
    }
    for wrong in &found.wrong {
        println!("\nwrongly accepted: {wrong}");
    }
    if total.wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
