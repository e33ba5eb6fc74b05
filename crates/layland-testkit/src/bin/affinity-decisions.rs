//! Compares random decisions of the policies with affinities with brute force and the algorithms of their
//! paper: `cargo run --release -p layland-testkit --bin affinity-decisions -- [DECISIONS] [SEED]`, 100,000
//! decisions by default. Fails with the first difference.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for developers")]

use layland_testkit::affinity::drive::check_decisions;
use layland_testkit::amount_and_seed;
use std::process::ExitCode;

fn main() -> ExitCode {
    let asked = amount_and_seed(100_000);
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
