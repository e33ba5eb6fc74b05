//! Are verdicts right in all states of small systems?
//! `cargo run --release -p layland-testkit -- exhaustive`
//!
//! ```text
//! exhaustive [POLICY..] [--sets N] [--seed N] [--tasks N] [--shorter]
//! ```
//!
//! For each policy (by default all whose rule is an order of jobs), searches N random systems (2000
//! by default) of up to this number of tasks (4 by default) with periods up to 8 for a late job,
//! over all arrivals of jobs. `any` rows check the analyses against every scheduler with the weak
//! invariant. With `--shorter`, jobs may also end early. Prints how good the verdicts of
//! `layland check` were, and the first system of each policy with a wrong verdict or bound; exits
//! with 1 if there is one.
use super::small_sets::SmallSets;
use layland_config::to_toml;
use layland_model::{Algorithm, Form};
use layland_testkit::exhaustive::{Judgement, TallyOptions, draw, tally, with_arrivals};
use layland_testkit::registry;
use std::process::ExitCode;

const USAGE: &str = "usage: exhaustive [POLICY..] [--sets N] [--seed N] [--tasks N] [--shorter]";

/// The names of the policies that order jobs.
fn ordered() -> Vec<String> {
    registry()
        .iter()
        .filter(|info| matches!(info.algorithm(&Default::default()), Algorithm::Ordered(..)))
        .map(|info| info.name.to_string())
        .collect()
}

pub(crate) fn run(words: &[String]) -> ExitCode {
    let given = match SmallSets::asked(words, (2_000, 4), Some("--shorter"), ordered, USAGE) {
        Ok(given) => given,
        Err(exit) => return exit,
    };
    let SmallSets { specs, sets, seed, tasks, flag: shorter } = given;
    let asked = TallyOptions { seed, sets, tasks, any_weak: false, shorter };
    println!(
        "{:<16} {:>6} {:>6} {:>6} {:>13} {:>14} {:>7} {:>9} {:>8} {:>6} {:>8}",
        "policy",
        "sets",
        "yes",
        "no",
        "unknown meets",
        "unknown misses",
        "gave up",
        "false yes",
        "false no",
        "bounds",
        "replayed"
    );
    let mut wrong = false;
    for spec in &specs {
        let is_weak = matches!(
            registry().parse(spec).map(|(info, options)| info.algorithm(&options)),
            Ok(Algorithm::Ordered(Form::Weak, _))
        );
        for any_weak in [false, true].into_iter().take(1 + usize::from(is_weak)) {
            let found = tally(spec, TallyOptions { any_weak, ..asked });
            let of = |judgement| found.count(judgement);
            println!(
                "{:<16} {:>6} {:>6} {:>6} {:>13} {:>14} {:>7} {:>9} {:>8} {:>6} {:>8}",
                format!("{spec}{}", if any_weak { " any" } else { "" }),
                found.sets(),
                of(Judgement::RightYes),
                of(Judgement::RightNo),
                of(Judgement::UnknownMeets),
                of(Judgement::UnknownMisses),
                of(Judgement::GaveUp),
                of(Judgement::FalseYes),
                of(Judgement::FalseNo),
                of(Judgement::BoundExceeded),
                found.replayed,
            );
            if let Some((index, judged)) = found.bad.first() {
                wrong = true;
                let affinities =
                    ["weak", "strong", "hpa"].iter().any(|form| spec.starts_with(form));
                let system = draw(asked.seed, *index, asked.tasks, affinities);
                println!("set {index}: {}\n{}", judged.why, to_toml(&system));
                if !judged.arrivals.is_empty() {
                    println!("{}", to_toml(&with_arrivals(&system, &judged.arrivals)));
                }
            }
            if let Some(index) = found.not_replayed.first() {
                wrong = true;
                println!("set {index}: the simulator does not miss where the search does");
            }
        }
    }
    ExitCode::from(u8::from(wrong))
}
