//! Does an admitted task ever miss a deadline? `cargo run --release -p layland-testkit -- admission`
//!
//! ```text
//! admission [SEQUENCES] [SEED] [POLICY..]
//! admission beside [SCENES] [SEED] [REGIME..]
//! ```
//!
//! Draws this number of sequences of joins, leaves and changes (100000 by default), spread over the
//! policies that admit tasks at run time. Simulates them behind the admission of
//! `layland-guarantee`, and prints the requests and grants under each policy. If an admitted task
//! is late in a sequence, prints the sequence with the command that repeats it, and exits with 1.
//!
//! With `beside`, programs ask the book of a machine beside threads of others, in this number of
//! scenes (100000 by default) spread over the regimes, such as `p-dm` and `dl-sp (ext)`.
use crate::amount_and_seed;
use layland_config::to_toml;
use layland_guarantee::admission::Regime;
use layland_testkit::admission::{
    Keeping, SeenBeside, SequenceCounts, campaign, campaign_beside, specs,
};
use layland_testkit::registry;
use std::process::ExitCode;

pub(crate) fn run(words: &[String]) -> ExitCode {
    if words.first().is_some_and(|word| word == "beside") {
        return beside(&words[1..]);
    }
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

fn beside(words: &[String]) -> ExitCode {
    let (scenes, seed) = match amount_and_seed(words, 100_000) {
        Ok(given) => given,
        Err(error) => {
            eprintln!("error: {error}\nusage: admission beside [SCENES] [SEED] [REGIME..]");
            return ExitCode::from(2);
        }
    };
    let mut regimes = Vec::new();
    for name in words.iter().skip(2) {
        let Some(regime) = Regime::find(name) else {
            let known = Regime::ALL.map(Regime::name).join(", ");
            eprintln!("error: `{name}` is none of {known}");
            return ExitCode::from(2);
        };
        regimes.push(regime);
    }
    if regimes.is_empty() {
        regimes = Regime::ALL.to_vec();
    }
    let each = scenes.div_ceil(regimes.len() as u64);
    let mut holds = true;
    println!(
        "{:<14} {:>9} {:>15} {:>9} {:>9} {:>9} {:>12}",
        "regime", "scenes", "entered", "left", "jobs", "just in time", "foreign us"
    );
    for regime in regimes {
        let name = regime.name();
        match campaign_beside(regime, each, seed) {
            Ok(SeenBeside { asked, entered, left, jobs, tight, foreign }) => {
                let entered = format!("{entered}/{asked}");
                println!(
                    "{name:<14} {each:>9} {entered:>15} {left:>9} {jobs:>9} {tight:>9} {foreign:>12}"
                );
            }
            Err(broken) => {
                holds = false;
                println!("{name}: {}\n", broken.how);
                broken.story.iter().for_each(|line| println!("# {line}"));
                println!(
                    "# repeat with\n# cargo run --release -p layland-testkit -- admission beside 1 {} '{name}'",
                    broken.seed
                );
            }
        }
    }
    if holds { ExitCode::SUCCESS } else { ExitCode::from(1) }
}
