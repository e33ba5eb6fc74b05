//! `layland check`: can the deadlines be guaranteed? Applies every suitable analysis to each
//! policy.

mod args;
mod batch;
#[cfg(test)]
mod blocking;
mod certificate;
mod chains;
mod checked;
#[cfg(test)]
mod doors;
mod json;
mod kernel;
#[cfg(test)]
mod options;
mod report;
mod reserved;
mod short;
mod text;

use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::input::{Set, Sets};
use crate::ui::output::{FileKind, Output};
use crate::ui::report as reports;
use crate::ui::{files, names, terminal, threads};
use checked::{Asked, Checked, check};
use layland_analysis::chains::ChainAnalysis;
use layland_analysis::{BoundTest, Citation, ResponseTest, catalogue};
use layland_guarantee::search::{CYCLE, STATES, states};
use layland_guarantee::{AssessOptions, Bound, BoundsBy, Effort, Findings, More, Wanted};
use layland_model::Algorithm;
use layland_policy::Registry;
use std::collections::BTreeMap;
use std::path::Path;

pub(crate) use args::CheckArgs;
#[cfg(feature = "command")]
pub(crate) use args::EXAMPLES;
pub(crate) fn run(registry: &Registry, args: &mut CheckArgs) -> Outcome {
    args.policy = names::all(registry, &args.policy)?;
    let args = &*args;
    for name in &args.test {
        known_test(name)?;
    }
    let output =
        args.output.as_deref().map(|path| Output::of(path, &[FileKind::Html])).transpose()?;
    let mut sets = Sets::new(&args.set, &args.more).without_origin();
    // One set more than a few makes it a stream.
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

/// Returns the output of `--json` for a set, and the exit code. The command computes all bounds.
/// The playground computes none while a user drags a number, because for many tasks bounds take
/// longer than all verdicts.
pub(crate) fn document(
    registry: &Registry,
    mut args: CheckArgs,
    set: Set,
    bounds: BoundsBy,
) -> Result<(String, Exit), Failure> {
    args.policy = names::all(registry, &args.policy)?;
    args.test.iter().try_for_each(|name| known_test(name))?;
    let checked = examined(registry, &args, set, args.all, bounds)?;
    Ok((json::document(&checked), checked.exit))
}

/// Returns the page that `-o FILE.html` writes for a set.
pub(crate) fn page(registry: &Registry, mut args: CheckArgs, set: Set) -> Result<String, Failure> {
    args.policy = names::all(registry, &args.policy)?;
    args.test.iter().try_for_each(|name| known_test(name))?;
    Ok(report::report(registry, &examined(registry, &args, set, true, BoundsBy::All)?).html())
}

/// Returns the file that `--certificate` writes for a set.
pub(crate) fn proven(
    registry: &Registry,
    mut args: CheckArgs,
    set: Set,
) -> Result<String, Failure> {
    args.policy = names::all(registry, &args.policy)?;
    args.test.iter().try_for_each(|name| known_test(name))?;
    Ok(certificate_text(registry, &examined(registry, &args, set, args.all, BoundsBy::All)?))
}

fn certificate_text(registry: &Registry, checked: &Checked) -> String {
    format!("{:#}\n", certificate::document(registry, checked))
}

/// Analyses one set: with the answers of all tests, or until one test decides.
fn examined(
    registry: &Registry,
    args: &CheckArgs,
    set: Set,
    every_test: bool,
    bounds: BoundsBy,
) -> Result<Checked, Failure> {
    let findings = if every_test { Findings::All } else { Findings::UntilDecided };
    let more = More::of(!args.no_margin, args.certificate.is_some());
    let options = AssessOptions {
        tests: args.test.clone(),
        wanted: Wanted { findings, bounds, more },
        effort: args.effort.map_or(Effort::default(), Effort::Jobs),
        tick: args.tick,
    };
    let asked = Asked { args, options, whatever: true };
    threads::on(args.threads, || check(registry, &asked, set))
}

/// Prints the answer about one set.
fn one(registry: &Registry, args: &CheckArgs, set: Set, output: Option<&Output>) -> Outcome {
    // A report shows the answers of all tests.
    let checked = examined(registry, args, set, args.all || output.is_some(), BoundsBy::All)?;
    let text = if args.cite {
        let mut cited = Cited::default();
        cited.add(registry, &checked);
        cited.text()
    } else if args.json {
        json::document(&checked)
    } else {
        text::report(registry, &checked, args)
    };
    // A certificate on standard output is read by a program, so nothing else is printed.
    if args.certificate.as_deref() != Some(Path::new("-")) {
        terminal::result(&text)?;
    }
    kernel::warn(&args.policy, &checked.set.system);
    if let Some(path) = &args.certificate {
        files::write(path, certificate_text(registry, &checked).as_bytes())?;
    }
    if let Some(output) = output {
        reports::write(&output.path, &report::report(registry, &checked), false)?;
    }
    Ok(checked.exit)
}

fn known_test(name: &str) -> Result<(), Failure> {
    if catalogue::test(name).is_some() || catalogue::bound(name).is_some() {
        return Ok(());
    }
    let names: Vec<&str> = catalogue::TESTS.iter().map(|test| test.name).collect();
    Err(Failure::usage(format!("there is no test `{name}`"))
        .help(format!("there are {}", names.join(", "))))
}

/// The references of the deciding tests, of the bounds, and of the policies.
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
            if policy.decided_by == Some(CYCLE) {
                cite(&states::HA_LIU);
            }
            policy.bounds.values().flat_map(of_bound).for_each(&mut cite);
            let of_chains = checked.chains.get(&policy.spec).into_iter().flatten();
            for bound in of_chains.filter(|bound| bound.within.is_ok()) {
                let by = ChainAnalysis::ALL.into_iter().filter(|by| by.name == bound.by);
                by.flat_map(|by| by.citations).copied().for_each(&mut cite);
            }
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
