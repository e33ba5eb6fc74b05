//! The report: a plain value with everything that a page shows. `page.rs` converts it to a page.

use crate::distribution::Distribution;
use crate::guarantee::Guarantees;
use crate::line::{Line, Severity};
use crate::run::Run;
use layland_model::Time;
use layland_trace::Labels;

/// The contents of a page. All texts are plain: HTML markup in them is escaped.
#[derive(Clone, Debug)]
pub struct Report {
    /// The title of the page.
    pub title: String,
    /// The first lines, which the page sorts by severity. See [`headline`](crate::headline).
    pub lines: Vec<Line>,
    /// The command, version and seed, with which the report can be reproduced.
    pub provenance: String,
    /// The names of the tasks and the number of CPUs, of all runs.
    pub labels: Labels,
    /// The runs, one below the other.
    pub runs: Vec<Run>,
    /// The guarantees, side by side.
    pub guarantees: Option<Guarantees>,
    /// Tables, below the chart.
    pub tables: Vec<Table>,
    /// Distributions, below the tables.
    pub distributions: Vec<Distribution>,
    /// A link that opens the set in the playground, if that is the page that shows the report.
    pub playground: Option<String>,
    /// The initial window of the chart; by default about three periods around the first miss.
    pub window: Option<(Time, Time)>,
}

/// A table of texts. The first cell of a row is its name, the others are figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// The title of the table.
    pub title: String,
    /// One heading per column.
    pub headings: Vec<String>,
    /// The rows, as long as the headings.
    pub rows: Vec<Vec<String>>,
    /// The rows that are highlighted, by position, with their severities.
    pub marked: Vec<(usize, Severity)>,
    /// Notes that readers need to interpret the figures.
    pub notes: Vec<String>,
}

impl Report {
    /// Returns an empty report.
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
