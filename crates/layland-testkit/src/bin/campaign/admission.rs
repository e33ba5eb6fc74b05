//! Does an admitted task ever miss a deadline? `cargo run --release -p layland-testkit -- admission`
//!
//! ```text
//! admission [SEQUENCES] [SEED] [POLICY..]
//! ```
//!
//! Draws this number of sequences of joins, leaves and changes (100000 by default), spread over the
//! policies that admit tasks at run time. Simulates them behind the admission of
//! `layland-guarantee`, and prints the requests and grants under each policy. If an admitted task
//! is late in a sequence, prints the sequence with the command that repeats it, and exits with 1.
use crate::amount_and_seed;
use layland_config::to_toml;
use layland_testkit::admission::{Keeping, SequenceCounts, campaign, specs};
use layland_testkit::registry;
use std::process::ExitCode;

pub(crate) fn run(words: &[String]) -> ExitCode {
    let (sequences, seed) = match amount_and_seed(words, 100_000) {
        Ok(given) => given,
        Err(error) => {
            eprintln!("error: {error}\nusage: admission [SEQUENCES] [SEED] [POLICY..]");
            return ExitCode::from(2);
        }
    };
    let mut policies: Vec<String> = words.iter().skip(2).cloned().collect();
    if policies.is_empty() {
        policies = specs();
    }
    for spec in &policies {
        if let Err(error) = registry().parse(spec) {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    }
    let each = sequences.div_ceil(policies.len() as u64);
    let mut holds = true;
    println!(
        "{:<30} {:>9} {:>15} {:>13} {:>11} {:>9} {:>8} {:>8} {:>9}",
        "policy",
        "sequences",
        "entered",
        "changed",
        "moved",
        "lost CPUs",
        "left",
        "by quiet",
        "jobs"
    );
    for spec in &policies {
        match campaign(spec, each, seed, Keeping::Careful) {
            Ok(SequenceCounts { tally, jobs }) => {
                let of = |[asked, granted]: [u64; 2]| format!("{granted}/{asked}");
                println!(
                    "{spec:<30} {each:>9} {:>15} {:>13} {:>11} {:>9} {:>8} {:>8} {jobs:>9}",
                    of(tally.joins),
                    of(tally.changes),
                    of(tally.moves),
                    of(tally.losses),
                    tally.leaves,
                    tally.quiet
                );
            }
            Err(broken) => {
                holds = false;
                let set = to_toml(&broken.sequence.system);
                println!("{spec}: {}\n\n{:#?}\n\n{set}", broken.how, broken.sequence.manner);
                broken.story.iter().for_each(|line| println!("# {line}"));
                println!(
                    "# repeat with\n# cargo run --release -p layland-testkit -- admission 1 {} {spec}",
                    broken.seed
                );
            }
        }
    }
    if holds { ExitCode::SUCCESS } else { ExitCode::from(1) }
}
