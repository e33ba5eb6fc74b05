//! The report: a plain value with everything that a page shows. How it becomes a page is in `page.rs`.

use crate::distribution::Distribution;
use crate::guarantee::Guarantees;
use crate::line::{Line, Severity};
use crate::run::Run;
use layland_model::Time;
use layland_trace::Labels;

/// What a page shows. Every text is plain: what HTML takes for markup is escaped.
#[derive(Clone, Debug)]
pub struct Report {
    /// What it is about.
    pub title: String,
    /// What it says first, the most severe line on top and the loudest. See [`headline`](crate::headline).
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
    /// A link that opens the set in the playground, if that is where the reader is.
    pub playground: Option<String>,
    /// What the chart shows at first; by default about three periods around the first miss.
    pub window: Option<(Time, Time)>,
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
            playground: None,
            window: None,
        }
    }
}
