//! Layland's report: recorded runs, guarantees, tables and distributions in one HTML file that opens
//! from disk, without a network and without anything beside it.
//!
//! A [`Report`] is a plain value: commands fill it and ask for its [`html`](Report::html). The page
//! says first what matters most, then shows the runs one below the other on one axis of time.
//!
//! ```
//! use layland_model::{CpuId, Duration, JobId, Service, TaskId, Time};
//! use layland_report::{Line, Report, Run, Severity};
//! use layland_trace::{Job, JobEnd, Labels, Recorder, Segment, Trace};
//! let mut trace = Trace::default();
//! let id = JobId { task: TaskId(0), seq: 0 };
//! let (start, end) = (Time::ZERO, Time::from_ms(3));
//! trace.executed(&Segment { job: id, cpu: CpuId(0), start, end, overhead: Duration::ZERO });
//! let job = Job { id, arrival: start, release: start, deadline: Time::from_ms(2) };
//! trace.ended(&job, end, JobEnd::Completed, Service::from_ms(3));
//! trace.over(Time::from_ms(4), false);
//!
//! let labels = Labels { tasks: vec!["<brake>".to_owned()].into(), cpus: 1, levels: vec![] };
//! let mut report = Report::new("An example", labels);
//! report.runs.push(Run::new("g-edf", trace));
//! report.lines.push(Line::new(Severity::Bad, "g-edf misses a deadline"));
//! let html = report.html();
//! assert!(html.starts_with("<!doctype html>") && html.contains("&lt;brake&gt;"));
//! ```
//!
//! The page keeps 64-bit times exact (see `encode.rs`). Its scripts are the files in `assets/js`, one
//! after the other in one function; distributions are drawn with uPlot (MIT, its text is in
//! `assets/vendor` and in every page).

#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

mod distribution;
mod encode;
mod guarantee;
mod page;
mod story;

pub use distribution::{Distribution, Series};
pub use guarantee::{Answer, Guarantee, GuaranteedTask, Guarantees, TaskBound, TestResult};
pub use story::{blame, headline};

use layland_model::Time;
use layland_trace::{Labels, Statistics, Summary, Trace};

/// What a page shows. Every text is plain: what HTML takes for markup is escaped.
#[derive(Clone, Debug)]
pub struct Report {
    /// What it is about.
    pub title: String,
    /// What it says first, the most severe line on top and the loudest. See [`headline`].
    pub lines: Vec<Line>,
    /// What made it: command, version, seed, so that it can be made again.
    pub provenance: String,
    /// The names of the tasks and the number of CPUs, of all runs.
    pub labels: Labels,
    /// What ran, one below the other.
    pub runs: Vec<Run>,
    /// What can be guaranteed, side by side.
    pub guarantees: Option<Guarantees>,
    /// Tables, below the chart.
    pub tables: Vec<Table>,
    /// Distributions, below the tables.
    pub distributions: Vec<Distribution>,
    /// What the chart shows at first; by default about three periods around the first miss.
    pub window: Option<(Time, Time)>,
}

/// A recorded run with its name.
#[derive(Clone, Debug)]
pub struct Run {
    /// The policy, or what tells this run from the others.
    pub name: String,
    /// What happened.
    pub trace: Trace,
    /// The part of time in which the trace is complete; by default all of the run.
    pub shown: Option<(Time, Time)>,
    /// The figures of the whole run, if the trace is only a part of it.
    pub summary: Option<Summary>,
    /// What else there is to say about it.
    pub note: Option<String>,
}

/// How much a line matters, in rising order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// For information.
    Note,
    /// As it should be.
    Good,
    /// Something to know before trusting the rest, such as a cut.
    Warning,
    /// A deadline was missed, a set is not schedulable.
    Bad,
    /// A rule that a policy promises to keep does not hold.
    BrokenRule,
    /// A bound that was promised does not hold.
    BrokenBound,
}

impl Severity {
    /// What the style sheet calls it.
    fn class(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Good => "good",
            Severity::Warning => "warning",
            Severity::Bad => "bad",
            Severity::BrokenRule | Severity::BrokenBound => "broken",
        }
    }

    /// The sign and the word that stand for it where there is no colour.
    fn sign(self) -> (&'static str, &'static str) {
        match self {
            Severity::Note => ("i", "note"),
            Severity::Good => ("✓", "good"),
            Severity::Warning => ("!", "warning"),
            Severity::Bad => ("✗", "missed"),
            Severity::BrokenRule => ("✗", "RULE BROKEN"),
            Severity::BrokenBound => ("✗", "BOUND BROKEN"),
        }
    }
}

/// A sentence, and how much it matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// How much.
    pub severity: Severity,
    /// The sentence.
    pub text: String,
}

impl Line {
    /// A line.
    pub fn new(severity: Severity, text: impl Into<String>) -> Line {
        Line { severity, text: text.into() }
    }
}

/// A table of texts. The first cell of a row names it, the others are figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// One heading per column.
    pub headings: Vec<String>,
    /// The rows, as long as the headings.
    pub rows: Vec<Vec<String>>,
    /// The rows that stand out, by position, and how much.
    pub marked: Vec<(usize, Severity)>,
    /// What a reader must know about the figures.
    pub notes: Vec<String>,
}

impl Run {
    /// A run whose whole trace is there.
    pub fn new(name: impl Into<String>, trace: Trace) -> Run {
        Run { name: name.into(), trace, shown: None, summary: None, note: None }
    }

    /// The part of time that the trace covers.
    fn shown(&self) -> (Time, Time) {
        self.shown.unwrap_or((Time::ZERO, self.trace.over))
    }

    /// The figures of the run: those given, or those of the trace.
    fn figures(&self, labels: &Labels) -> Summary {
        self.summary.clone().unwrap_or_else(|| {
            let mut statistics = Statistics::default();
            self.trace.replay(&mut statistics);
            statistics.summary(labels)
        })
    }
}

impl Report {
    /// A report with nothing in it yet.
    pub fn new(title: impl Into<String>, labels: Labels) -> Report {
        Report {
            title: title.into(),
            lines: Vec::new(),
            provenance: String::new(),
            labels,
            runs: Vec::new(),
            guarantees: None,
            tables: Vec::new(),
            distributions: Vec::new(),
            window: None,
        }
    }

    /// The page. The same report gives the same bytes.
    pub fn html(&self) -> String {
        page::render(self)
    }
}
