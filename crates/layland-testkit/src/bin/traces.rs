//! Does the checker believe traces that lie? `cargo run --release -p layland-testkit --bin traces -- [MUTATIONS]
//! [SEED]`, 10,000 mutations by default. Prints how many of each kind ended how, and fails if one was accepted that
//! is not the schedule of its set.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for developers")]

use layland_testkit::traces::{Tally, campaign};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| match arguments.next() {
        None => Ok(default),
        Some(text) => text.parse::<u64>().map_err(|_| format!("`{text}` is not a number")),
    };
    let (mutations, seed) = match number(10_000).and_then(|count| Ok((count, number(1)?))) {
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
        let Tally { unreadable, refused, wrong, accepted, strict } = tally;
        println!("{name:<46} {unreadable:>10} {refused:>8} {wrong:>6} {accepted:>8} {strict:>6}");
    }
    for wrong in &found.wrong {
        println!("\nwrongly accepted: {wrong}");
    }
    if total.wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
