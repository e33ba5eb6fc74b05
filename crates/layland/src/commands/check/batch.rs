//! Checks many sets, one after the other ([`batch`]).
//!
//! For one set, or a few, `check` searches when the tests do not decide. For many sets this would
//! take most of the time, so that the tests that search, and the search for a run that misses, are
//! left out unless `--effort` asks for them.

use super::args::CheckArgs;
use super::text;
use crate::ui::batch::{self, Go};
use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::files::Stream;
use crate::ui::input::{Set, Sets};
use crate::ui::rows::{self, Counts, Need, Rows, Selection};
use crate::ui::terminal;
use layland_analysis::Verdict;
use layland_answers::check::{Cited, IN_GENERAL};
use layland_answers::{CheckQuestion, Checked};
use layland_guarantee::{BoundsBy, Effort, Findings, More, Wanted};
use layland_model::counted as nouns;
use layland_policy::Registry;
use std::path::Path;

/// The largest number of sets that are each searched.
pub(super) const FEW: usize = rows::FEW;

/// The largest number of jobs that are simulated when each of a few sets is searched.
const EFFORT: u64 = 2_000;

/// The number of sets that each thread checks at a time.
const AT_A_TIME: usize = 16;

const HEADINGS: [&str; 4] = ["set", "policy", "guaranteed", "by"];

/// Checks the first sets and all that follow.
pub(super) fn run(
    registry: &Registry,
    args: &CheckArgs,
    mut question: CheckQuestion,
    first: Vec<Result<Set, Failure>>,
    rest: Sets<'_>,
) -> Outcome {
    let are_few = first.len() <= FEW;
    question.options.wanted = wanted(args);
    question.options.effort = match (args.effort, are_few) {
        (Some(jobs), _) => Effort::Jobs(jobs),
        (None, true) => Effort::Usual { most: EFFORT },
        (None, false) if args.all => Effort::Tests,
        (None, false) => Effort::Quick,
    };
    question.any_policy = args.json || args.certificate.is_some();
    let sets = first.into_iter().chain(rest);
    let is_quiet = args.certificate.as_deref() == Some(Path::new("-"));
    let has_json = args.json && !is_quiet;
    let mut out = Answers::new(registry, args, is_quiet, are_few)?;
    // The line is made by the many worker threads, if lines are printed at all.
    let work = |set| {
        let checked = question.answer(registry, set);
        let json = if has_json { checked.json_line() } else { Vec::new() };
        (checked, json)
    };
    let worked = batch::each(sets, args.workers, AT_A_TIME, work, |found| out.add(&found));
    out.end(worked)
}

/// Returns what the output shows, and no more: a table shows one verdict and one test for each set.
fn wanted(args: &CheckArgs) -> Wanted {
    let is_table = !args.json && !args.cite && args.certificate.is_none();
    Wanted {
        findings: match (is_table, args.all) {
            (true, _) => Findings::Verdict,
            (false, true) => Findings::All,
            (false, false) => Findings::UntilDecided,
        },
        bounds: match (is_table, args.bounds) {
            (true, _) => BoundsBy::Nobody,
            (false, true) => BoundsBy::All,
            (false, false) => BoundsBy::Named,
        },
        more: More::of(false, args.certificate.is_some()),
        limits: args.sensitivity && !is_table,
    }
}

/// The output, and the counts for its summary.
struct Answers<'a> {
    registry: &'a Registry,
    args: &'a CheckArgs,
    out: terminal::Results,
    certificates: Option<Stream>,
    /// True if the certificate goes to standard output. A program reads it there, so nothing else
    /// is printed.
    is_quiet: bool,
    cited: Cited,
    table: Option<Rows<4>>,
    selection: Selection,
    /// The message of the first set for which something was left out. The policies are the same for
    /// every set.
    left_out: String,
    /// For each policy, the number of sets with the verdict yes, no and unknown.
    counts: Counts<3>,
    /// The number of sets.
    sets: usize,
    exit: Exit,
}

impl<'a> Answers<'a> {
    fn new(
        registry: &'a Registry,
        args: &'a CheckArgs,
        is_quiet: bool,
        are_few: bool,
    ) -> Result<Answers<'a>, Failure> {
        let certificates = args.certificate.as_deref().map(Stream::create).transpose()?;
        Ok(Answers {
            registry,
            args,
            out: terminal::Results::default(),
            certificates,
            is_quiet,
            cited: Cited::default(),
            table: None,
            selection: Selection::new(are_few),
            left_out: String::new(),
            counts: Counts::default(),
            sets: 0,
            exit: Exit::Yes,
        })
    }

    fn go(&self) -> Go {
        let unread = self.certificates.as_ref().is_some_and(Stream::is_unread);
        if unread || self.out.is_unread() { Go::Stop } else { Go::On }
    }

    fn add(&mut self, found: &[(Checked, Vec<u8>)]) -> Result<Go, Failure> {
        let checked = || found.iter().map(|(checked, _)| checked);
        self.sets += found.len();
        let worst = checked().map(|checked| checked.exit).chain([self.exit]);
        self.exit = Exit::worst(worst);
        if let Some(certificates) = &mut self.certificates {
            for one in checked() {
                // Serialization cannot fail: all keys are names.
                let line = serde_json::to_string(&one.certificate(self.registry));
                certificates.write((line.unwrap_or_default() + "\n").as_bytes())?;
            }
        }
        if self.args.cite {
            checked().for_each(|one| self.cited.add(self.registry, one));
        } else if self.is_quiet {
            return Ok(self.go());
        } else if self.args.json {
            for (_, json) in found {
                self.out.write(json)?;
            }
        } else {
            self.rows(checked())?;
        }
        self.out.flush()?;
        Ok(self.go())
    }

    fn rows<'c>(
        &mut self,
        checked: impl Iterator<Item = &'c Checked> + Clone,
    ) -> Result<(), Failure> {
        let rows = checked.clone().enumerate().flat_map(|(at, one)| {
            one.policies.iter().map(move |policy| {
                let (verdict, by) = one.verdict(policy);
                let cells = [&one.set.name, &policy.spec, verdict.name(), by.unwrap_or("-")];
                (at, verdict, cells)
            })
        });
        let ascii = self.args.ascii;
        let mut text = String::new();
        let table = self.table.get_or_insert_with(|| {
            let mut table = Rows::new(HEADINGS, ascii);
            // The columns are sized by the first `AT_A_TIME` sets, regardless of how many sets
            // arrive together.
            let first = rows.clone().take_while(|(at, ..)| *at < AT_A_TIME);
            first.for_each(|(_, _, cells)| table.widen(cells));
            table
        });
        for (_, verdict, cells) in rows {
            let (column, need) = match verdict {
                Verdict::Yes => (0, Need::None),
                Verdict::No => (1, Need::Alarm),
                Verdict::Unknown => (2, Need::Doubt),
            };
            self.counts.count(cells[1], column);
            let had_rows = self.selection.has_rows();
            if !self.selection.takes(need) {
                continue;
            }
            if !had_rows {
                table.top(&mut text);
            }
            table.row(cells, Some((2, text::style(verdict))), &mut text);
        }
        if self.left_out.is_empty() {
            let mut texts = checked.map(text::left_out);
            self.left_out = texts.find(|text| !text.is_empty()).unwrap_or_default();
        }
        self.out.write(text.as_bytes())
    }

    /// Ends the table and prints the summary of all sets.
    fn end(mut self, worked: Result<(), Failure>) -> Outcome {
        match (self.certificates.take(), &worked) {
            (Some(certificates), Ok(())) => certificates.keep()?,
            (Some(certificates), Err(_)) => certificates.give_up()?,
            (None, _) => {}
        }
        if self.args.cite && !self.is_quiet {
            self.out.write(self.cited.text().as_bytes())?;
        }
        if let Some(table) = &self.table {
            let mut text = String::new();
            if self.selection.has_rows() {
                table.bottom(&mut text);
            }
            text.extend(self.selection.in_words().map(|words| text::line(&words)));
            text += &self.left_out;
            for (spec, [yes, no, unknown]) in self.counts.of_each() {
                let counted = yes + no + unknown;
                // A policy that no test is about has no row for a set, unless it was named.
                let others = match self.sets.saturating_sub(counted) {
                    0 => String::new(),
                    left => format!("; no test applies to the other {}", nouns(left, "set")),
                };
                text += &text::line(&format!(
                    "{spec}: {yes} guaranteed, {no} not, {unknown} unknown, of {counted}{others}",
                ));
            }
            if let Some(margin) = &self.args.reserve {
                text += &text::line(&text::analysed(margin, IN_GENERAL));
            }
            self.out.write(text.as_bytes())?;
        }
        self.out.flush()?;
        worked.map(|()| self.exit)
    }
}
