//! Do optimal policies ever miss a deadline? `cargo run --release -p layland-testkit -- optimal`
//!
//! ```text
//! optimal [CLAIM..] [--cases N] [--seed N]
//! optimal CLAIM --set FILE --until NS [--simulation-seed N]
//! ```
//!
//! The first form checks each claim on N systems (10000 by default, for sporadic ones 3000) that
//! fully use their CPUs. It stops at the first system that breaks a claim, prints it, and exits
//! with 1. The second form checks one claim on one system.
use layland_config::{Format, Host, read, to_toml};
use layland_model::Time;
use layland_testkit::optimal::{CLAIMS, Claim, SystemKind};
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: optimal [CLAIM..] [--cases N] [--seed N]
       optimal CLAIM --set FILE --until NS [--simulation-seed N]";

struct Arguments {
    claims: Vec<Claim>,
    cases: Option<u64>,
    seed: u64,
    set: Option<PathBuf>,
    until: Option<u64>,
    simulation_seed: u64,
}

fn arguments(words: &[String]) -> Result<Arguments, String> {
    let mut given = Arguments {
        claims: Vec::new(),
        cases: None,
        seed: 1,
        set: None,
        until: None,
        simulation_seed: 0,
    };
    let mut words = words.iter().cloned();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        let number =
            |text: String| text.parse::<u64>().map_err(|_| format!("`{text}` is not a number"));
        match word.as_str() {
            "--cases" => given.cases = Some(number(value()?)?.max(1)),
            "--seed" => given.seed = number(value()?)?,
            "--simulation-seed" => given.simulation_seed = number(value()?)?,
            "--until" => given.until = Some(number(value()?)?),
            "--set" => given.set = Some(value()?.into()),
            name => {
                let known = CLAIMS.into_iter().find(|claim| claim.name == name);
                let names = CLAIMS.map(|claim| claim.name).join(", ");
                given.claims.push(known.ok_or(format!("there is {names}"))?);
            }
        }
    }
    if given.set.is_some() && (given.claims.len() != 1 || given.until.is_none()) {
        return Err("--set needs one claim, and --until".to_owned());
    }
    if given.claims.is_empty() {
        given.claims = CLAIMS.to_vec();
    }
    Ok(given)
}

pub(crate) fn run(words: &[String]) -> ExitCode {
    let given = match arguments(words) {
        Ok(given) => given,
        Err(error) => {
            eprintln!("error: {error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let holds = match (&given.set, given.until) {
        (Some(file), Some(until)) => one(&given, file, Time::from_ns(until as i64)),
        _ => Ok(given.claims.iter().all(|claim| many(claim, &given))),
    };
    match holds {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(3)
        }
    }
}

/// Checks one claim on one system.
fn one(given: &Arguments, file: &PathBuf, until: Time) -> Result<bool, String> {
    let claim = &given.claims[0];
    let name = file.display().to_string();
    let bytes = std::fs::read(file).map_err(|error| format!("failed to read {name}: {error}"))?;
    let loaded = read(&name, &bytes, Format::Toml, &Host::default());
    let system = loaded.map_err(|report| report.plain())?.system;
    let checked = claim.check(&system, until, given.simulation_seed);
    match &checked {
        Ok(seen) => println!("{} holds: {} jobs", claim.name, seen.jobs),
        Err(how) => println!("{} is broken: {how}", claim.name),
    }
    Ok(checked.is_ok())
}

/// Checks one claim on many systems.
fn many(claim: &Claim, given: &Arguments) -> bool {
    let is_sporadic = matches!(claim.about, SystemKind::Sporadic | SystemKind::SporadicSlots);
    let cases = given.cases.unwrap_or(if is_sporadic { 3_000 } else { 10_000 });
    let progress = |done| eprint!("\r{} {done}/{cases} ", claim.name);
    let found = claim.explore(cases, given.seed, progress);
    eprintln!();
    match found {
        Ok(seen) => {
            let per_job = |count: u64| count as f64 / seen.jobs.max(1) as f64;
            println!(
                "{:<14} {} systems, {} of them at 100 %: {} jobs, none late; per job {:.3} preemptions, \
                 {:.3} migrations",
                claim.name,
                seen.systems,
                seen.full,
                seen.jobs,
                per_job(seen.preemptions),
                per_job(seen.migrations)
            );
            true
        }
        Err(broken) => {
            println!("{} is broken: {}\n\n{}", claim.name, broken.how, to_toml(&broken.system));
            println!(
                "# save this as broken.toml, and repeat with\n# cargo run --release -p layland-testkit \
                 -- optimal {} --set broken.toml --until {} --simulation-seed {}",
                claim.name,
                broken.until.ns(),
                broken.seed
            );
            false
        }
    }
}
