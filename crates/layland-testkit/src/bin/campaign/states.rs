//! Does the search over all states say what its slow twin says?
//! `cargo run --release -p layland-testkit -- states`
//!
//! ```text
//! states [POLICY..] [--sets N] [--seed N] [--tasks N]
//! ```
//!
//! For each policy, searches N random systems (1000 by default) of up to this number of tasks (5 by
//! default) with periods up to 8 in both ways, and simulates each pattern that misses. Stops at the
//! first difference of a policy, prints it, and exits with 1.
use layland_testkit::exhaustive::{Agreed, compare};
use layland_testkit::registry;
use rayon::prelude::*;
use std::process::ExitCode;

const USAGE: &str = "usage: states [POLICY..] [--sets N] [--seed N] [--tasks N]";
const POLICIES: [&str; 11] = [
    "g-fp",
    "g-rm",
    "g-dm",
    "p-dm",
    "g-edf",
    "g-fl",
    "edf-us",
    "edzl",
    "strong-fp",
    "strong-edf",
    "hpa-edf",
];

struct Arguments {
    specs: Vec<String>,
    sets: u64,
    seed: u64,
    tasks: u64,
}

fn arguments(words: &[String]) -> Result<Arguments, String> {
    let mut asked = Arguments { specs: Vec::new(), sets: 1_000, seed: 1, tasks: 5 };
    let mut words = words.iter().cloned();
    while let Some(word) = words.next() {
        let mut number = || {
            let text = words.next().ok_or(format!("{word} needs a value"))?;
            text.parse::<u64>().map_err(|_| format!("`{text}` is not a number"))
        };
        match word.as_str() {
            "--sets" => asked.sets = number()?,
            "--seed" => asked.seed = number()?,
            "--tasks" => asked.tasks = number()?.clamp(2, 6),
            spec => {
                registry().parse(spec).map_err(|error| error.to_string())?;
                asked.specs.push(spec.to_owned());
            }
        }
    }
    if asked.specs.is_empty() {
        asked.specs = POLICIES.map(str::to_owned).to_vec();
    }
    Ok(asked)
}

pub(crate) fn run(words: &[String]) -> ExitCode {
    let asked = match arguments(words) {
        Ok(asked) => asked,
        Err(error) => {
            eprintln!("error: {error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let mut differs = false;
    println!("{:<16} {:>8} {:>8} {:>8} {:>8}", "policy", "sets", "meet", "miss", "gave up");
    for spec in &asked.specs {
        let affinities = ["strong", "hpa"].iter().any(|form| spec.starts_with(form));
        let one = |index| compare(spec, asked.seed, index, asked.tasks, affinities).transpose();
        let found: Result<Vec<Agreed>, String> =
            (0..asked.sets).into_par_iter().filter_map(one).collect();
        match found {
            Ok(found) => {
                let count = |is: Agreed| found.iter().filter(|&&it| it == is).count();
                println!(
                    "{spec:<16} {:>8} {:>8} {:>8} {:>8}",
                    found.len(),
                    count(Agreed::Meets),
                    count(Agreed::Misses),
                    count(Agreed::GaveUp)
                );
            }
            Err(difference) => {
                differs = true;
                println!("{difference}");
            }
        }
    }
    ExitCode::from(u8::from(differs))
}
