//! Many sets, one after the other: what is found of one is printed before the next are read, so that a stream may be
//! as long as it likes.
//!
//! Where tests are silent about one set, or one of a few, `check` searches. Of many sets that would take most of the
//! time, so that the tests that search, and the search for a run that misses, wait until `--effort` asks for them.

use super::args::CheckArgs;
use super::checked::{Asked, Checked, check};
use super::{Cited, certificate, json, text, together};
use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::files::Stream;
use crate::ui::input::{Set, Sets};
use crate::ui::{terminal, threads};
use layland_analysis::Verdict;
use layland_guarantee::AssessOptions;
use layland_policy::Registry;
use rayon::prelude::*;
use std::path::Path;

/// So many sets are a few, each of which is searched.
pub(super) const FEW: usize = 16;

/// How many jobs are simulated in the search of each of a few sets, at most.
const EFFORT: u64 = 2_000;

/// So many sets are checked at a time for each thread: enough to share them out, and few enough to see them soon.
const AT_A_TIME: usize = 16;

/// Checks the first sets and all that follow.
pub(super) fn run(
    registry: &Registry,
    args: &CheckArgs,
    first: Vec<Result<Set, Failure>>,
    rest: Sets<'_>,
) -> Outcome {
    let are_few = first.len() <= FEW;
    let asked = Asked {
        args,
        options: AssessOptions {
            all: args.all,
            tests: args.test.clone(),
            margin: false,
            proof: args.certificate.is_some(),
            no_bounds: !args.json && !args.cite && args.certificate.is_none(),
            every_bound: args.bounds,
            no_search: args.effort.is_none() && !args.all && !are_few,
        },
        effort: match are_few {
            true => args.effort,
            false => Some(args.effort.unwrap_or(0)),
        },
        most_effort: EFFORT,
        whatever: args.json || args.certificate.is_some(),
    };
    let mut out = Answers::new(registry, args)?;
    let mut sets = first.into_iter().chain(rest);
    let mut work = || -> Result<(), Failure> {
        loop {
            let (mut some, mut failure) = (Vec::new(), None);
            for set in sets.by_ref().take(AT_A_TIME * rayon::current_num_threads()) {
                match set {
                    Ok(set) => some.push(set),
                    Err(found) => failure = Some(found),
                }
                if failure.is_some() {
                    break;
                }
            }
            if some.is_empty() && failure.is_none() {
                return Ok(());
            }
            let checked: Vec<Checked> =
                some.into_par_iter().map(|set| check(registry, &asked, set)).collect();
            out.add(&checked)?;
            // What came before a set that cannot be read is checked and said.
            if let Some(failure) = failure {
                return Err(failure);
            }
            if out.is_unread() {
                return Ok(());
            }
        }
    };
    let worked = threads::on(args.threads, &mut work)?;
    let exit = out.end()?;
    worked.map(|()| exit)
}

/// What is printed and written, and what is counted.
struct Answers<'a> {
    registry: &'a Registry,
    args: &'a CheckArgs,
    out: terminal::Results,
    certificates: Option<Stream>,
    cited: Cited,
    table: Option<Rows>,
    /// What was left out of the first set of which something was: the same policies whatever the set.
    left_out: String,
    /// How often each policy was given a yes, a no, and neither.
    counts: Vec<(String, [usize; 3])>,
    exit: Exit,
}

impl<'a> Answers<'a> {
    fn new(registry: &'a Registry, args: &'a CheckArgs) -> Result<Answers<'a>, Failure> {
        let certificates = args.certificate.as_deref().map(Stream::create).transpose()?;
        Ok(Answers {
            registry,
            args,
            out: terminal::Results::default(),
            certificates,
            cited: Cited::default(),
            table: None,
            left_out: String::new(),
            counts: Vec::new(),
            exit: Exit::Yes,
        })
    }

    /// On standard output a certificate is what a program reads: nothing else is printed.
    fn is_quiet(&self) -> bool {
        self.args.certificate.as_deref() == Some(Path::new("-"))
    }

    fn is_unread(&self) -> bool {
        let unread = self.certificates.as_ref().is_some_and(Stream::is_unread);
        unread || self.out.is_unread()
    }

    fn add(&mut self, checked: &[Checked]) -> Result<(), Failure> {
        let worst = checked.iter().map(|checked| checked.exit).chain([self.exit]);
        self.exit = together(worst);
        if let Some(certificates) = &mut self.certificates {
            for one in checked {
                let document = certificate::document(self.registry, one);
                certificates.write(format!("{document}\n").as_bytes())?;
            }
        }
        if self.args.cite {
            checked.iter().for_each(|one| self.cited.add(self.registry, one));
        } else if self.is_quiet() {
            return Ok(());
        } else if self.args.json {
            for one in checked {
                self.out.write(format!("{}\n", json::document(one)).as_bytes())?;
            }
        } else {
            self.rows(checked)?;
        }
        self.out.flush()
    }

    fn rows(&mut self, checked: &[Checked]) -> Result<(), Failure> {
        let rows = checked.iter().flat_map(|one| {
            one.policies.iter().map(|policy| Row {
                set: &one.set.name,
                policy: &policy.spec,
                verdict: policy.verdict,
                by: policy.decided_by.unwrap_or("-"),
            })
        });
        let ascii = self.args.ascii;
        let mut text = String::new();
        let table = self.table.get_or_insert_with(|| {
            let table = Rows::new(rows.clone(), ascii);
            table.top(&mut text);
            table
        });
        for row in rows {
            let at = self.counts.iter().position(|(spec, _)| spec == row.policy);
            let at = at.unwrap_or_else(|| {
                self.counts.push((row.policy.to_owned(), [0; 3]));
                self.counts.len() - 1
            });
            let column = match row.verdict {
                Verdict::Yes => 0,
                Verdict::No => 1,
                Verdict::Unknown => 2,
            };
            self.counts[at].1[column] += 1;
            table.row(&row, &mut text);
        }
        if self.left_out.is_empty() {
            let texts = checked.iter().map(text::left_out);
            self.left_out = texts.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
        }
        self.out.write(text.as_bytes())
    }

    /// Ends the table, and says what all sets were given.
    fn end(mut self) -> Outcome {
        if let Some(certificates) = self.certificates.take() {
            certificates.keep()?;
        }
        if self.args.cite && !self.is_quiet() {
            self.out.write(self.cited.text().as_bytes())?;
        }
        if let Some(table) = &self.table {
            let mut text = String::new();
            table.bottom(&mut text);
            text += &self.left_out;
            for (spec, [yes, no, unknown]) in &self.counts {
                text += &text::line(&format!(
                    "{spec}: {yes} guaranteed, {no} not, {unknown} unknown, of {}",
                    yes + no + unknown
                ));
            }
            self.out.write(text.as_bytes())?;
        }
        self.out.flush()?;
        Ok(self.exit)
    }
}

/// A line of the table.
struct Row<'a> {
    set: &'a str,
    policy: &'a str,
    verdict: Verdict,
    by: &'a str,
}

/// A table that is drawn row by row: its columns are as wide as the first rows need.
struct Rows {
    widths: [usize; 4],
    style: &'static Style,
}

const HEADINGS: [&str; 4] = ["set", "policy", "guaranteed", "by"];

/// Left, line and right of each border, and the sides.
struct Style {
    top: [char; 3],
    header: [char; 3],
    bottom: [char; 3],
    side: char,
    gap: &'static str,
}

const BOX: Style = Style {
    top: ['┌', '─', '┐'],
    header: ['╞', '═', '╡'],
    bottom: ['└', '─', '┘'],
    side: '│',
    gap: "   ",
};
const ASCII: Style = Style {
    top: ['+', '-', '+'],
    header: ['+', '=', '+'],
    bottom: ['+', '-', '+'],
    side: '|',
    gap: "   ",
};

impl Rows {
    fn new<'a>(rows: impl Iterator<Item = Row<'a>>, ascii: bool) -> Rows {
        let mut widths = HEADINGS.map(str::len);
        for Row { set, policy, verdict: _, by } in rows {
            for (at, cell) in [(0, set), (1, policy), (3, by)] {
                widths[at] = widths[at].max(cell.chars().count());
            }
        }
        Rows { widths, style: if ascii { &ASCII } else { &BOX } }
    }

    fn top(&self, out: &mut String) {
        self.border(self.style.top, out);
        self.cells(HEADINGS, None, out);
        self.border(self.style.header, out);
    }

    fn row(&self, Row { set, policy, verdict, by }: &Row<'_>, out: &mut String) {
        self.cells([set, policy, verdict.name(), by], Some(*verdict), out);
    }

    fn bottom(&self, out: &mut String) {
        self.border(self.style.bottom, out);
    }

    fn border(&self, [left, line, right]: [char; 3], out: &mut String) {
        let inside = self.widths.iter().sum::<usize>() + 3 * self.style.gap.len() + 2;
        out.push(left);
        out.extend(std::iter::repeat_n(line, inside));
        out.push(right);
        out.push('\n');
    }

    fn cells(&self, cells: [&str; 4], verdict: Option<Verdict>, out: &mut String) {
        out.push(self.style.side);
        out.push(' ');
        for (at, cell) in cells.into_iter().enumerate() {
            if at > 0 {
                *out += self.style.gap;
            }
            match verdict.filter(|_| at == 2 && terminal::colours()) {
                Some(verdict) => *out += &text::coloured(verdict),
                None => *out += cell,
            }
            let blanks = self.widths[at].saturating_sub(cell.chars().count());
            out.extend(std::iter::repeat_n(' ', blanks));
        }
        out.push(' ');
        out.push(self.style.side);
        out.push('\n');
    }
}
