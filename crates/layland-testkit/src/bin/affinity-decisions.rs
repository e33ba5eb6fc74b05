//! Compares random decisions of the policies with affinities with brute force and the algorithms of their
//! paper: `cargo run --release -p layland-testkit --bin affinity-decisions -- [DECISIONS] [SEED]`, 100,000
//! decisions by default. Fails with the first difference.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for developers")]

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| match arguments.next() {
        None => Ok(default),
        Some(text) => text.parse::<u64>().map_err(|_| format!("`{text}` is not a number")),
    };
    let compared = number(100_000).and_then(|decisions| {
        layland_testkit::affinity::drive::check_decisions(decisions, number(1)?)
    });
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
