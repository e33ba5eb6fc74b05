//! `layland check`: can it be guaranteed? Every analysis that applies, for each policy.

mod args;
mod batch;
mod certificate;
mod checked;
mod json;
mod report;
mod short;
mod text;
mod witness;

use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::input::{Set, Sets};
use crate::ui::output::{FileKind, Output};
use crate::ui::report as reports;
use crate::ui::{files, names, terminal, threads};
use checked::{Asked, Checked, check};
use layland_analysis::{BoundTest, Citation, ResponseTest, catalogue};
use layland_guarantee::{AssessOptions, Bound, states};
use layland_model::Algorithm;
use layland_policy::Registry;
use std::collections::BTreeMap;
use std::path::Path;

pub(crate) use args::{CheckArgs, EXAMPLES};
pub(crate) use witness::{NAME as WITNESS, STATES, STATES_TITLE, TITLE as WITNESS_TITLE};

pub(crate) fn run(registry: &Registry, args: &mut CheckArgs) -> Outcome {
    args.policy = names::all(registry, &args.policy)?;
    let args = &*args;
    for name in &args.test {
        known_test(name)?;
    }
    let output =
        args.output.as_deref().map(|path| Output::of(path, &[FileKind::Html])).transpose()?;
    let mut sets = Sets::new(&args.set, &args.more);
    // One set more than a few is a stream.
    let mut first: Vec<Result<Set, Failure>> = sets.by_ref().take(batch::FEW + 1).collect();
    if first.len() > 1 && output.is_some() {
        return Err(Failure::usage("a report shows one set, and there are several")
            .help("leave -o out, or check each set by itself"));
    }
    match first.len() {
        1 => one(registry, args, first.remove(0)?, output.as_ref()),
        _ => batch::run(registry, args, first, sets),
    }
}

/// One set, with all that is known of it.
fn one(registry: &Registry, args: &CheckArgs, set: Set, output: Option<&Output>) -> Outcome {
    let options = AssessOptions {
        // A report has room for what every test says.
        all: args.all || output.is_some(),
        tests: args.test.clone(),
        margin: !args.no_margin,
        proof: args.certificate.is_some(),
        every_bound: true,
        ..AssessOptions::default()
    };
    let most_effort = checked::EFFORT;
    let asked = Asked { args, options, effort: args.effort, most_effort, whatever: true };
    let checked = threads::on(args.threads, || check(registry, &asked, set))?;
    let text = if args.cite {
        let mut cited = Cited::default();
        cited.add(registry, &checked);
        cited.text()
    } else if args.json {
        format!("{:#}\n", json::document(&checked))
    } else {
        text::report(registry, &checked, args)
    };
    // On standard output a certificate is what a program reads: nothing else is printed.
    if args.certificate.as_deref() != Some(Path::new("-")) {
        terminal::result(&text)?;
    }
    if let Some(path) = &args.certificate {
        let document = certificate::document(registry, &checked);
        files::write(path, format!("{document:#}\n").as_bytes())?;
    }
    if let Some(output) = output {
        reports::write(&output.path, &report::report(registry, &checked), false)?;
    }
    Ok(checked.exit)
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

/// The references of what decided, of the bounds, and of the policies.
#[derive(Default)]
struct Cited(BTreeMap<&'static str, &'static str>);

impl Cited {
    fn add(&mut self, registry: &Registry, checked: &Checked) {
        let mut cite = |citation: &Citation| {
            self.0.insert(citation.key, citation.bibtex);
        };
        for policy in &checked.policies {
            if let Some(test) = policy.decided_by.and_then(catalogue::test) {
                test.citations.iter().copied().for_each(&mut cite);
            }
            if policy.decided_by == Some(STATES) {
                states::CITATIONS.iter().copied().for_each(&mut cite);
            }
            policy.bounds.values().flat_map(of_bound).for_each(&mut cite);
            if let Ok((info, options)) = registry.parse(&policy.spec) {
                // RUN and QPS have an accounting of their own, which they cite.
                let is_optimal =
                    matches!(info.algorithm(&options), Algorithm::Run | Algorithm::Qps);
                if policy.inflation.is_some() && !is_optimal {
                    cite(&layland_analysis::overheads::BRANDENBURG);
                }
                info.citations.iter().for_each(&mut cite);
            }
        }
    }

    fn text(&self) -> String {
        let texts: Vec<&str> = self.0.values().copied().collect();
        format!("{}\n", texts.join("\n\n"))
    }
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
