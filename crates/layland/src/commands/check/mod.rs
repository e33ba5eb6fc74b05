//! `layland check`: can the deadlines be guaranteed? Applies every suitable analysis to each
//! policy.

mod args;
mod batch;
mod chains;
mod design;
#[cfg(test)]
mod doors;
mod kernel;
#[cfg(test)]
mod options;
mod report;
mod sensitivity;
mod text;

use crate::ui::exit::{Failure, Outcome};
use crate::ui::input::{Set, Sets};
use crate::ui::output::{FileKind, Output};
use crate::ui::report as reports;
use crate::ui::{files, input, terminal, threads};
use layland_answers::CheckQuestion;
use layland_answers::check::Cited;
use layland_guarantee::{Findings, More};
use layland_model::shown::Digits;
use layland_policy::Registry;
use std::path::Path;

pub(crate) use args::CheckArgs;
pub(crate) use args::EXAMPLES;

impl CheckArgs {
    /// Returns the question about one set.
    pub(crate) fn question(&self) -> CheckQuestion {
        let mut question = CheckQuestion::about(self.policy.clone())
            .with_every_test(self.all)
            .with_factor(!self.no_margin)
            .with_limits(self.sensitivity)
            .with_effort(self.effort);
        question.margin.clone_from(&self.reserve);
        question.options.tests.clone_from(&self.test);
        question.options.tick = self.tick;
        question.options.digits = Digits(self.digits);
        let wanted = &mut question.options.wanted;
        wanted.more = More::of(wanted.more.has_margin(), self.certificate.is_some());
        question
    }
}

pub(crate) fn run(registry: &Registry, args: &mut CheckArgs) -> Outcome {
    if let Some(question) = &args.design {
        return design::run(question, args);
    }
    let question = args.question().resolved(registry)?;
    args.policy.clone_from(&question.policies);
    let args = &*args;
    let output =
        args.output.as_deref().map(|path| Output::of(path, &[FileKind::Html])).transpose()?;
    input::policies_are_not_sets(&args.more)?;
    let mut sets = Sets::new(&args.set, &args.more).without_origin();
    // One set more than a few makes it a stream.
    let mut first: Vec<Result<Set, Failure>> = sets.by_ref().take(batch::FEW + 1).collect();
    if first.len() > 1 && output.is_some() {
        return Err(Failure::usage("a report shows one set, and there are several")
            .help("leave -o out, or check each set by itself"));
    }
    match first.len() {
        1 => one(registry, args, question, first.remove(0)?, output.as_ref()),
        _ => batch::run(registry, args, question, first, sets),
    }
}

/// Returns the page that `-o FILE.html` writes about a set. It shows the answers of all tests.
pub(crate) fn page(
    registry: &Registry,
    mut question: CheckQuestion,
    set: Set,
) -> Result<String, Failure> {
    question.options.wanted.findings = Findings::All;
    let are_named = !question.policies.is_empty();
    Ok(report::report(registry, &question.ask(registry, set)?, are_named).html())
}

/// Prints the answer about one set.
fn one(
    registry: &Registry,
    args: &CheckArgs,
    mut question: CheckQuestion,
    set: Set,
    output: Option<&Output>,
) -> Outcome {
    if output.is_some() {
        // A report shows the answers of all tests.
        question.options.wanted.findings = Findings::All;
    }
    if let Some((message, help)) = set.counted_as_hard() {
        terminal::warn(&message, Some(help));
    }
    let checked = threads::on(args.workers, || question.answer(registry, set))?;
    let text = if args.cite {
        let mut cited = Cited::default();
        cited.add(registry, &checked);
        cited.text()
    } else if args.json {
        checked.json()
    } else {
        text::report(registry, &checked, args)
    };
    // A certificate on standard output is read by a program, so nothing else is printed.
    if args.certificate.as_deref() != Some(Path::new("-")) {
        let print = if args.cite || args.json { terminal::data } else { terminal::result };
        print(&text)?;
    }
    kernel::warn(registry, &args.policy, &checked.set.system);
    if let Some(path) = &args.certificate {
        files::write(path, checked.certificate_text(registry).as_bytes())?;
    }
    if let Some(output) = output {
        let report = report::report(registry, &checked, !args.policy.is_empty());
        reports::write(&output.path, &report, false)?;
    }
    Ok(checked.exit)
}
