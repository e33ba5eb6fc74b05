//! Do claims turn into their opposites under other seeds?
//! `cargo run --release -p layland-testkit -- verdicts`
//!
//! ```text
//! verdicts [EXPERIMENT..] [--sets N] [--seeds N] [--horizon TIME]
//! ```
//!
//! Measures the packaged experiments of papers under this many seeds (5 by default), with the
//! packaged number of sets unless `--sets` says another, and prints each claim with its judgements.
use layland_lab::packaged::{self, PAPERS};
use layland_lab::parse_horizon;
use layland_testkit::verdicts::verdicts;
use std::process::ExitCode;

const USAGE: &str = "usage: verdicts [EXPERIMENT..] [--sets N] [--seeds N] [--horizon TIME]";

pub(super) fn run(words: &[String]) -> ExitCode {
    match all(words) {
        Ok(false) => ExitCode::SUCCESS,
        Ok(true) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Returns true if a claim turned into its opposite.
fn all(words: &[String]) -> Result<bool, String> {
    let (mut names, mut sets, mut seeds, mut horizon) = (Vec::new(), None, 5, None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        let number =
            |text: &String| text.parse::<u64>().map_err(|_| format!("`{text}` is not a number"));
        match word.as_str() {
            "--sets" => sets = Some(number(value()?)?),
            "--seeds" => seeds = number(value()?)?,
            "--horizon" => horizon = Some(parse_horizon(value()?)?),
            name => names.push(name.to_owned()),
        }
    }
    if names.is_empty() {
        names = PAPERS.map(str::to_owned).to_vec();
    }
    let mut is_flipped = false;
    for name in &names {
        let packaged = packaged::find(name).ok_or(format!("there is no experiment `{name}`"))?;
        let mut experiment = packaged.experiment();
        experiment.sets = sets.unwrap_or(experiment.sets);
        experiment.horizon = horizon.unwrap_or(experiment.horizon);
        let folder = std::env::temp_dir().join(format!("layland-verdicts-{}", std::process::id()));
        let found = verdicts(&experiment, 1..seeds + 1, &folder);
        let _ = std::fs::remove_dir_all(&folder);
        let found = found.map_err(|error| error.to_string())?;
        let flips = found.flips();
        for (claim, judged) in &found.of {
            let judged: Vec<&str> = judged.iter().map(|judgement| judgement.name()).collect();
            let mark = if flips.contains(&claim.as_str()) { "FLIPS " } else { "" };
            println!("{mark}{name} {claim}: {}", judged.join(", "));
        }
        is_flipped |= !flips.is_empty();
    }
    Ok(is_flipped)
}
