//! Compares the engines: the experiment `engines` of `layland lab`, in a guest.
//!
//! `docs/engines.md` describes what the clock of an emulator can show.

use crate::Booted;
use std::fmt::Write;

/// The output of the experiment.
pub struct Compared {
    /// `engines.csv`: the header, then a line per run.
    pub rows: Vec<Vec<String>>,
    /// The full text output, including skipped runs.
    pub text: String,
}

/// The commands that run an experiment on every engine in a guest: a packaged experiment, or one in
/// a file.
#[must_use]
pub fn commands(experiment: &str) -> [(&'static str, String); 2] {
    let run = format!(
        "layland lab run {experiment} --sets 1 --real-threads --quiet --workers 1 --output lab >/dev/null && cat lab/engines.csv"
    );
    [("table", run), ("text", "cat lab/engines.txt".to_owned())]
}

/// The columns of the table of `docs/engines.md`, by their names in the file.
const COLUMNS: [(&str, &str); 14] = [
    ("utilization", "U"),
    ("series", "policy"),
    ("engine", "engine"),
    ("jobs", "jobs"),
    ("missed", "missed"),
    ("preemptions", "preempted"),
    ("migrations", "migrated"),
    ("decisions", "decisions"),
    ("alike", "alike %"),
    ("release_median_us", "release"),
    ("next_median_us", "next"),
    ("wake_median_us", "wake-up"),
    ("right", "right / wrong"),
    ("commits", "commits"),
];

impl Compared {
    /// Reads the output of [`commands`].
    ///
    /// # Panics
    ///
    /// Panics if the experiment did not complete; the message contains its output.
    #[must_use]
    pub fn read(booted: &Booted) -> Self {
        let table = booted.ran("table");
        assert_eq!(table.code, Some(0), "{table}");
        let cells = |line: &str| line.split(',').map(str::to_owned).collect();
        let rows = table.output.lines().map(cells).collect();
        Self { rows, text: booted.ran("text").output.clone() }
    }

    /// The cell of a row in a column.
    ///
    /// # Panics
    ///
    /// Panics if there is no such column.
    #[must_use]
    pub fn cell(&self, row: &[String], column: &str) -> String {
        let at = self.rows[0].iter().position(|name| name == column);
        row[at.unwrap_or_else(|| panic!("there is no column {column}"))].clone()
    }

    /// The table of `docs/engines.md`.
    #[must_use]
    pub fn markdown(&self) -> String {
        let names: Vec<&str> = COLUMNS.iter().map(|&(_, name)| name).collect();
        let mut text = format!("| {} |\n|{}\n", names.join(" | "), "---|".repeat(names.len()));
        for row in &self.rows[1..] {
            let cells = COLUMNS.map(|(column, _)| {
                let cell = self.cell(row, column);
                let number = cell.parse::<f64>().ok();
                match (column, number) {
                    ("series", _) => format!("`{cell}`"),
                    ("alike", Some(share)) => format!("{:.1}", share * 100.0),
                    ("right", Some(_)) => format!("{cell} / {}", self.cell(row, "wrong")),
                    (_, Some(us)) if column.ends_with("_us") => format!("{us:.0}"),
                    _ => cell,
                }
            });
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
        text
    }
}
