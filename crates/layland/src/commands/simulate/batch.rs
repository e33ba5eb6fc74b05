//! Simulates many sets, one after the other ([`batch`]). Prints a line for each set and policy,
//! without charts and files.

use super::SimArgs;
use crate::pages::figures::{self, figures};
use crate::ui::batch::{self, Go};
use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::gate;
use crate::ui::input::Set;
use crate::ui::rows::{Counts, FEW, Need, Rows, Selection};
use crate::ui::{interrupt, terminal};
use clap::builder::styling::AnsiColor;
use layland_answers::limits::Held;
use layland_answers::simulate::{PolicyRun, Ran, Watch};
use layland_answers::{SimulateQuestion, Simulated};
use layland_model::counted;
use layland_policy::Registry;
use std::sync::atomic::{AtomicBool, Ordering};

/// The number of sets that each thread simulates at a time; a single set may take long.
const AT_A_TIME: usize = 1;

const HEADINGS: [&str; 8] = [
    "set",
    "policy",
    figures::IN_FULL[0],
    figures::IN_FULL[1],
    figures::IN_FULL[2],
    figures::IN_FULL[6],
    figures::IN_FULL[7],
    figures::IN_FULL[8],
];

/// Extra width for the names and numbers of later sets, which may be longer than those of the
/// first.
const ROOM: &str = "    ";

/// The result of one set.
struct Answer {
    name: String,
    policies: Vec<OfPolicy>,
    /// The document, if documents are printed.
    json: Vec<u8>,
    exit: Exit,
}

/// The result of one policy.
struct OfPolicy {
    spec: String,
    /// The figures as in the table of one set; `None` if the policy rejected the set.
    figures: Option<[String; 9]>,
    missed: u64,
    held: Vec<Held>,
    /// The constraints on chains.
    constraints: Vec<Held>,
    /// The violations that the checker found.
    broken: Vec<String>,
}

impl OfPolicy {
    /// Returns the cells of its row.
    fn cells(&self, set: &str) -> [String; 8] {
        let figure = |at: usize| match (&self.figures, at) {
            (Some(figures), at) => figures[at].clone(),
            (None, 0) => "refused".to_owned(),
            (None, _) => "-".to_owned(),
        };
        let [jobs, missed, tardiness, response, preemptions, migrations] =
            [0, 1, 2, 6, 7, 8].map(figure);
        let (set, spec) = (set.to_owned(), self.spec.clone());
        [set, spec, jobs, missed, tardiness, response, preemptions, migrations]
    }
}

/// Simulates the first set and all that follow.
pub(super) fn run(
    registry: &Registry,
    args: &SimArgs,
    question: &SimulateQuestion,
    first: Set,
    mut rest: impl Iterator<Item = Result<Set, Failure>> + Send,
) -> Outcome {
    refuse_what_shows_one(args)?;
    // The table depends on the number of sets, and the lines of a stream do not.
    let known = if args.json { 0 } else { FEW };
    let first: Vec<_> = std::iter::once(Ok(first)).chain(rest.by_ref().take(known)).collect();
    let are_few = first.len() <= FEW;
    let interrupt = interrupt::listen();
    let watch = Watch { interrupt: Some(interrupt), progress: None };
    let mut out = Answers::new(args, interrupt, are_few);
    let sets = first.into_iter().chain(rest).inspect(|set| {
        if let Some((message, help)) = set.as_ref().ok().and_then(Set::unblocked) {
            terminal::warn(&message, Some(help));
        }
    });
    let work = |set: Set| {
        let name = set.name.clone();
        let simulated = question.answer(registry, set, &watch);
        let simulated = simulated.map_err(|error| Failure::from(error).about(&name))?;
        Ok(Answer::of(simulated, args))
    };
    let worked = batch::each(sets, args.workers, AT_A_TIME, work, |found| out.add(found));
    out.end(worked)
}

/// Rejects options for charts and files, which are about one set.
fn refuse_what_shows_one(args: &SimArgs) -> Result<(), Failure> {
    let is_drawn = args.chart.is_some_and(|chart| chart.rows().is_some());
    let shows = [
        (!args.output.is_empty(), "-o writes files of one set"),
        (is_drawn, "--chart shows one set"),
        (args.window.is_some(), "--window is of the charts of one set"),
        (args.per_task, "--per-task shows the tasks of one set"),
        (args.junit.is_some(), "--junit writes a file of one set"),
    ];
    match shows.into_iter().find(|(is_asked, _)| *is_asked) {
        None => Ok(()),
        Some((_, what)) => Err(Failure::usage(format!("{what}, and there are several")).help(
            "leave it out, or simulate the set by itself; --json has the figures of every task",
        )),
    }
}

impl Answer {
    /// Keeps what is printed. Returns `None` if the simulation was interrupted: figures of a part of
    /// its time cannot be compared with others.
    fn of(simulated: Simulated, args: &SimArgs) -> Option<Answer> {
        if simulated.interrupted {
            return None;
        }
        let as_json = args.json;
        let json = if as_json { simulated.json_line() } else { Vec::new() };
        let of = |PolicyRun { spec, result, held }| {
            let ran = result.ok();
            let total = ran.as_ref().map(|ran: &Ran| &ran.summary.total);
            OfPolicy {
                spec,
                figures: total.filter(|_| !as_json).map(|total| figures(total, args.digits())),
                missed: total.map_or(0, |total| total.missed),
                held,
                constraints: ran.as_ref().map_or_else(Vec::new, Ran::constraints),
                broken: ran.and_then(|ran| ran.broken_rules).unwrap_or_default(),
            }
        };
        let Simulated { set, policies, exit, .. } = simulated;
        Some(Answer {
            name: set.name,
            policies: policies.into_iter().map(of).collect(),
            json,
            exit,
        })
    }
}

/// The output, and the counts for its summary.
struct Answers<'a> {
    args: &'a SimArgs,
    interrupt: &'a AtomicBool,
    out: terminal::Results,
    table: Option<Rows<8>>,
    selection: Selection,
    /// For each policy, the number of sets of which it met every deadline, missed one, and rejected
    /// the set.
    counts: Counts<3>,
    sets: usize,
    exit: Exit,
}

impl<'a> Answers<'a> {
    fn new(args: &'a SimArgs, interrupt: &'a AtomicBool, are_few: bool) -> Answers<'a> {
        Answers {
            args,
            interrupt,
            out: terminal::Results::default(),
            table: None,
            selection: Selection::new(are_few),
            counts: Counts::default(),
            sets: 0,
            exit: Exit::Yes,
        }
    }

    fn add(&mut self, answers: Vec<Result<Option<Answer>, Failure>>) -> Result<Go, Failure> {
        for answer in answers {
            match answer {
                Ok(Some(answer)) => self.one(&answer)?,
                Ok(None) => break,
                Err(failure) => {
                    self.out.flush()?;
                    return Err(failure);
                }
            }
        }
        self.out.flush()?;
        let is_over = self.out.is_unread() || self.interrupt.load(Ordering::SeqCst);
        Ok(if is_over { Go::Stop } else { Go::On })
    }

    fn one(&mut self, answer: &Answer) -> Result<(), Failure> {
        self.sets += 1;
        self.exit = Exit::worst([self.exit, answer.exit].into_iter());
        if self.args.json {
            self.out.write(&answer.json)?
        } else {
            self.rows(answer)?
        }
        for OfPolicy { spec, held, constraints, broken, .. } in &answer.policies {
            let who = format!("{}: {spec}", answer.name);
            gate::tell(&who, held);
            if held.is_empty() {
                gate::tell(&who, constraints);
            }
            if !broken.is_empty() {
                let broken = broken.join("\n");
                terminal::talk(&format!("{who}: BROKEN RULES, a bug of layland:\n{broken}"));
            }
        }
        Ok(())
    }

    fn rows(&mut self, answer: &Answer) -> Result<(), Failure> {
        let mut text = String::new();
        let ascii = self.args.ascii;
        let table = self.table.get_or_insert_with(|| {
            let mut table = Rows::new(HEADINGS, ascii).right_from(2);
            for policy in &answer.policies {
                let mut wide = policy.cells(&answer.name);
                // The column of policies needs no extra width, because the policies are the same
                // for every set.
                wide.iter_mut()
                    .enumerate()
                    .filter(|(at, _)| *at != 1)
                    .for_each(|(_, cell)| *cell += ROOM);
                table.widen(wide.each_ref().map(String::as_str));
            }
            table
        });
        for policy in &answer.policies {
            let (end, need, coloured) = match (&policy.figures, policy.missed) {
                (Some(_), 0) => (0, Need::None, None),
                (Some(_), _) => (1, Need::Alarm, Some((3, AnsiColor::Red.on_default().bold()))),
                (None, _) => (2, Need::Doubt, Some((2, AnsiColor::Yellow.on_default()))),
            };
            self.counts.count(&policy.spec, end);
            let had_rows = self.selection.has_rows();
            if !self.selection.takes(need) {
                continue;
            }
            if !had_rows {
                table.top(&mut text);
            }
            let cells = policy.cells(&answer.name);
            table.row(cells.each_ref().map(String::as_str), coloured, &mut text);
        }
        self.out.write(text.as_bytes())
    }

    /// Ends the table and prints the summary of all sets.
    fn end(mut self, worked: Result<(), Failure>) -> Outcome {
        if let Some(table) = &self.table {
            let mut text = String::new();
            if self.selection.has_rows() {
                table.bottom(&mut text);
            }
            text.extend(self.selection.in_words().map(|words| terminal::wrap(&words, "") + "\n"));
            for (spec, [met, missed, refused]) in self.counts.of_each() {
                let all = met + missed + refused;
                let line = format!(
                    "{spec}: {met} met every deadline, {missed} did not, {refused} refused, of {all}"
                );
                text += &(terminal::wrap(&line, "") + "\n");
            }
            self.out.write(text.as_bytes())?;
        }
        self.out.flush()?;
        worked?;
        if self.interrupt.load(Ordering::SeqCst) {
            let sets = counted(self.sets, "set");
            terminal::talk(&format!("interrupted: {sets} simulated"));
            return Ok(Exit::Interrupted);
        }
        Ok(self.exit)
    }
}
