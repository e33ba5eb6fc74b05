//! Are bounds ever exceeded? `cargo run --release -p layland-testkit -- bounds`
//!
//! ```text
//! bounds [CLAIM..] [--cases N] [--seed N] [--worst FOLDER]
//! bounds CLAIM --set FILE [--simulation-seed N]
//! ```
//!
//! The first form checks each claim on N systems (12000 by default) and prints how near to its
//! limit the nearest system came; `--worst` keeps those systems. It stops at the first system that
//! breaks a claim, prints it, and exits with 1. The second form checks one claim on one system.
use layland_config::{Format, Host, read, to_toml};
use layland_testkit::bounds::{Case, Claim, ClaimReport, Finding, claims, explore};
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: bounds [CLAIM..] [--cases N] [--seed N] [--worst FOLDER]
       bounds CLAIM --set FILE [--simulation-seed N]";

#[derive(Default)]
struct Arguments {
    claims: Vec<Claim>,
    cases: usize,
    seed: u64,
    worst: Option<PathBuf>,
    set: Option<PathBuf>,
    simulation_seed: u64,
}

fn arguments(words: &[String]) -> Result<Arguments, String> {
    let mut given = Arguments { cases: 12_000, seed: 1, ..Arguments::default() };
    let mut words = words.iter().cloned();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        let number =
            |text: String| text.parse::<u64>().map_err(|_| format!("`{text}` is not a number"));
        match word.as_str() {
            "--cases" => given.cases = number(value()?)?.max(1) as usize,
            "--seed" => given.seed = number(value()?)?,
            "--simulation-seed" => given.simulation_seed = number(value()?)?,
            "--worst" => given.worst = Some(value()?.into()),
            "--set" => given.set = Some(value()?.into()),
            name => {
                let known = claims().into_iter().find(|claim| claim.name() == name);
                let names: Vec<_> = claims().iter().map(Claim::name).collect();
                given.claims.push(known.ok_or(format!("there is {}", names.join(", ")))?);
            }
        }
    }
    if given.set.is_some() && given.claims.len() != 1 {
        return Err("--set needs one claim".to_owned());
    }
    if given.claims.is_empty() {
        given.claims = claims();
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
    let outcome = match &given.set {
        Some(file) => one(&given.claims[0], file, given.simulation_seed),
        None => all(&given),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(3)
        }
    }
}

/// Checks one claim on one system.
fn one(claim: &Claim, file: &PathBuf, seed: u64) -> Result<bool, String> {
    let name = file.display().to_string();
    let bytes = std::fs::read(file).map_err(|error| format!("failed to read {name}: {error}"))?;
    let loaded = read(&name, &bytes, Format::Toml, &Host::default());
    let system = loaded.map_err(|report| report.plain())?.system;
    let finding = claim.check(&Case { system, seed });
    match &finding {
        Finding::Silent => println!("{} says nothing about this system", claim.name()),
        Finding::Holds(near) => {
            println!("{} holds: {:.4}, {}", claim.name(), near.ratio.to_f64(), near.place);
        }
        Finding::Broken(how) => println!("{} is broken: {how}", claim.name()),
    }
    Ok(!matches!(finding, Finding::Broken(_)))
}

/// Checks each claim on many systems.
fn all(given: &Arguments) -> Result<bool, String> {
    println!("{:<14} {:>8} {:>8} {:>9}  nearest", "claim", "systems", "silent", "ratio");
    for claim in &given.claims {
        let name = claim.name();
        let report = explore(claim, given.cases, given.seed);
        let ClaimReport { checked, silent, nearest, broken } = &report;
        if let Some((how, case)) = broken {
            println!("{name} ({}) is broken: {how}\n", claim.title());
            println!("{}", to_toml(&case.system));
            println!(
                "# save this as broken.toml, and repeat with\n\
                 # cargo run --release -p layland-testkit -- bounds {name} --set broken.toml \
                 --simulation-seed {}",
                case.seed
            );
            return Ok(false);
        }
        let Some((near, case)) = nearest else { continue };
        let ratio = near.ratio.to_f64();
        println!("{name:<14} {checked:>8} {silent:>8} {ratio:>9.4}  {}", near.place);
        let tasks: Vec<String> = case
            .system
            .tasks
            .values()
            .map(|task| {
                let cpu = task.affinity.as_ref().map_or(String::new(), |mask| format!("@{mask}"));
                format!("{task}{cpu}")
            })
            .collect();
        let cpus = case.system.platform.cpu_count();
        println!("{:14} {cpus} CPUs, seed {}: {}", "", case.seed, tasks.join(" "));
        if let Some(folder) = &given.worst {
            let failed = |error| format!("failed to write into {}: {error}", folder.display());
            std::fs::create_dir_all(folder).map_err(failed)?;
            std::fs::write(folder.join(format!("{name}.toml")), to_toml(&case.system))
                .map_err(failed)?;
        }
    }
    Ok(true)
}
