//! Campaigns: the tests in short form, at any length.
//! `cargo run --release -p layland-testkit -- CAMPAIGN [ARGUMENT..]`
//!
//! They are one program, because otherwise the tests would build and link one program for each campaign.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for developers")]

mod admission;
mod affinity_decisions;
mod bounds;
mod certificates;
mod differential;
mod exhaustive;
mod kills;
mod loops;
mod messages;
mod mixed;
mod observed;
mod optimal;
mod promises;
mod small_sets;
mod soak;
mod states;
mod tightness;
mod traces;
mod vectors;
mod verdicts;

use std::process::ExitCode;

/// The name of a campaign, its question, and the function that runs it.
type Campaign = (&'static str, &'static str, fn(&[String]) -> ExitCode);

const CAMPAIGNS: [Campaign; 19] = [
    ("admission", "does an admitted task ever miss a deadline?", admission::run),
    ("affinity-decisions", "do affinities decide as their paper does?", affinity_decisions::run),
    ("bounds", "are bounds ever exceeded?", bounds::run),
    ("certificates", "does the verifier tell true proofs from false ones?", certificates::run),
    ("differential", "do policies do what references do?", differential::run),
    ("exhaustive", "are verdicts right in every state of small systems?", exhaustive::run),
    ("kills", "what do runs leave behind that are killed?", kills::run),
    ("loops", "do both event loops of the simulator count the same?", loops::run),
    ("messages", "does the daemon answer everybody, whatever it is asked?", messages::run),
    ("mixed", "does what a mixed-criticality analysis accepts survive?", mixed::run),
    ("observed", "does a set that was inferred explain its trace?", observed::run),
    ("optimal", "do optimal policies ever miss a deadline?", optimal::run),
    ("promises", "does exec keep what it promises on this kernel?", promises::run),
    ("soak", "does memory stay flat while programs come and go?", soak::run),
    ("states", "does the search over all states agree with its slow twin?", states::run),
    ("tightness", "how tight are the tests?", tightness::run),
    ("traces", "does the checker believe traces that lie?", traces::run),
    ("vectors", "do folders of test vectors pass?", vectors::run),
    ("verdicts", "do claims of papers turn into their opposites under other seeds?", verdicts::run),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let named = |name: &String| CAMPAIGNS.iter().find(|campaign| campaign.0 == name);
    if let Some((_, _, run)) = words.first().and_then(named) {
        return run(&words[1..]);
    }
    let mut usage = "usage: CAMPAIGN [ARGUMENT..], where CAMPAIGN is one of\n".to_owned();
    for (name, question, _) in &CAMPAIGNS {
        usage += &format!("  {name:<20} {question}\n");
    }
    if words.first().is_some_and(|word| word == "--help" || word == "-h") {
        println!("{usage}The arguments of each are in docs/campaigns.md.");
        return ExitCode::SUCCESS;
    }
    eprint!("{usage}");
    ExitCode::from(2)
}

/// Parses the amount and the seed of a campaign from its first two arguments. The defaults are
/// `default` and 1.
///
/// # Errors
/// If one of them is not a number.
fn amount_and_seed(words: &[String], default: u64) -> Result<(u64, u64), String> {
    let mut words = words.iter();
    let mut number = |default: u64| match words.next() {
        None => Ok(default),
        Some(text) => text.parse::<u64>().map_err(|_| format!("`{text}` is not a number")),
    };
    Ok((number(default)?, number(1)?))
}
