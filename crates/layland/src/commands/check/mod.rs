//! `layland check`: can it be guaranteed? Every analysis that applies, for each policy.

mod args;
mod certificate;
mod checked;
mod json;
mod report;
mod short;
mod text;
mod witness;

use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::input::{self, Set};
use crate::ui::output::{FileKind, Output};
use crate::ui::report as reports;
use crate::ui::{files, names, terminal, threads};
use checked::{Checked, check};
use layland_analysis::{BoundTest, Citation, ResponseTest, catalogue};
use layland_guarantee::{AssessOptions, Bound, states};
use layland_model::Algorithm;
use layland_policy::Registry;
use rayon::prelude::*;
use std::path::Path;

pub(crate) use args::{CheckArgs, EXAMPLES};
pub(crate) use witness::{NAME as WITNESS, STATES, STATES_TITLE, TITLE as WITNESS_TITLE};

pub(crate) fn run(registry: &Registry, args: &mut CheckArgs) -> Outcome {
    args.policy = names::all(registry, &args.policy)?;
    let args = &*args;
    for name in &args.test {
        known_test(name)?;
    }
    let sets = sets(args)?;
    let several = sets.len() > 1;
    let output =
        args.output.as_deref().map(|path| Output::of(path, &[FileKind::Html])).transpose()?;
    if several && output.is_some() {
        let count = sets.len();
        return Err(Failure::usage(format!("a report shows one set, and there are {count}"))
            .help("leave -o out, or check each set by itself"));
    }
    let options = AssessOptions {
        // A report has room for what every test says.
        all: args.all || output.is_some(),
        tests: args.test.clone(),
        margin: !args.no_margin && !several,
        proof: args.certificate.is_some(),
    };
    let all = || -> Vec<Checked> {
        sets.into_par_iter().map(|set| check(registry, args, set, &options, several)).collect()
    };
    let checked = threads::on(args.threads, all)?;
    let exit = together(checked.iter().map(|checked| checked.exit));
    let text = if args.cite {
        cite(registry, &checked)
    } else if args.json {
        match &checked[..] {
            [one] => format!("{:#}\n", json::document(one)),
            // One line per set.
            many => many.iter().map(|one| format!("{}\n", json::document(one))).collect(),
        }
    } else if several {
        text::batch(&checked, args)
    } else {
        checked.iter().map(|one| text::report(registry, one, args)).collect()
    };
    // On standard output a certificate is what a program reads: nothing else is printed.
    if args.certificate.as_deref() != Some(Path::new("-")) {
        terminal::result(&text)?;
    }
    if let Some(path) = &args.certificate {
        files::write(path, certificates(registry, &checked).as_bytes())?;
    }
    if let (Some(output), [one]) = (output, &checked[..]) {
        reports::write(&output.path, &report::report(registry, one), false)?;
    }
    Ok(exit)
}

/// One document, or with several sets one line each.
fn certificates(registry: &Registry, checked: &[Checked]) -> String {
    match checked {
        [one] => format!("{:#}\n", certificate::document(registry, one)),
        many => {
            many.iter().map(|one| format!("{}\n", certificate::document(registry, one))).collect()
        }
    }
}

/// The worst: no, unknown, yes.
fn together(exits: impl Iterator<Item = Exit>) -> Exit {
    let rank = |exit: &Exit| match exit {
        Exit::No => 2,
        Exit::Unknown => 1,
        Exit::Yes
        | Exit::Usage
        | Exit::BadInput
        | Exit::Refused
        | Exit::Untrusted
        | Exit::Interrupted
        | Exit::Bug => 0,
    };
    exits.max_by_key(rank).unwrap_or(Exit::Yes)
}

fn known_test(name: &str) -> Result<(), Failure> {
    if catalogue::test(name).is_some() || catalogue::bound(name).is_some() {
        return Ok(());
    }
    let names: Vec<&str> = catalogue::TESTS.iter().map(|test| test.name).collect();
    Err(Failure::usage(format!("there is no test `{name}`"))
        .help(format!("there are {}", names.join(", "))))
}

/// The sets that are meant. A file that ends in .jsonl has one set per line.
fn sets(args: &CheckArgs) -> Result<Vec<Set>, Failure> {
    let mut sets = Vec::new();
    let first = args.set.set.iter();
    let names: Vec<Option<String>> = match first.len() {
        0 => vec![None],
        _ => first.chain(&args.more).map(|name| Some(name.clone())).collect(),
    };
    for name in names {
        match &name {
            Some(lines) if lines.ends_with(".jsonl") => {
                sets.extend(input::lines(lines, &args.set)?)
            }
            Some(_) | None => sets.push(input::load(&args.set.with(name))?),
        }
    }
    Ok(sets)
}

/// The references of what decided, of the bounds, and of the policies.
fn cite(registry: &Registry, checked: &[Checked]) -> String {
    let mut entries: Vec<&Citation> = Vec::new();
    for one in checked {
        for policy in &one.policies {
            if let Some(test) = policy.decided_by.and_then(catalogue::test) {
                entries.extend(test.citations);
            }
            if policy.decided_by == Some(STATES) {
                entries.extend(states::CITATIONS);
            }
            for bound in policy.bounds.values() {
                entries.extend(of_bound(bound));
            }
            if let Ok((info, options)) = registry.parse(&policy.spec) {
                // RUN and QPS have an accounting of their own, which they cite.
                let is_optimal =
                    matches!(info.algorithm(&options), Algorithm::Run | Algorithm::Qps);
                if policy.inflation.is_some() && !is_optimal {
                    entries.push(&layland_analysis::overheads::BRANDENBURG);
                }
                entries.extend(&info.citations);
            }
        }
    }
    entries.sort_by_key(|citation| citation.key);
    entries.dedup_by_key(|citation| citation.key);
    let texts: Vec<&str> = entries.iter().map(|citation| citation.bibtex).collect();
    format!("{}\n", texts.join("\n\n"))
}

fn of_bound(bound: &Bound) -> Vec<&'static Citation> {
    let by = match bound {
        Bound::Unknown => return Vec::new(),
        Bound::Response { by, .. } | Bound::Tardiness { by, .. } => *by,
    };
    let responses = catalogue::RESPONSES.iter().find(|test: &&ResponseTest| test.name == by);
    let tardiness = catalogue::bound(by).map(|test: &BoundTest| test.citations);
    responses.map(|test| test.citations).or(tardiness).unwrap_or_default().to_vec()
}
