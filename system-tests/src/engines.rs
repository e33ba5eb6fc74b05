//! The engines side by side: the experiment `engines` of `layland lab`, in a guest.
//!
//! What an emulator's clock shows, and what not, is in `docs/engines.md`.

use crate::Booted;
use std::fmt::Write;

/// What the experiment said.
pub struct Compared {
    /// `engines.csv`: a line per run, below their names.
    pub rows: Vec<Vec<String>>,
    /// All of it, with what was skipped.
    pub text: String,
}

/// What runs an experiment on every engine in a guest: the packaged one, or one in a file.
#[must_use]
pub fn commands(experiment: &str) -> [(&'static str, String); 2] {
    let run = format!(
        "layland lab run {experiment} --sets 1 --real-threads --quiet --threads 1 --out lab >/dev/null && cat lab/engines.csv"
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
    /// What [`commands`] gave.
    ///
    /// # Panics
    ///
    /// If the experiment did not run to its end; what it wrote is shown.
    #[must_use]
    pub fn read(booted: &Booted) -> Self {
        let table = booted.ran("table");
        assert_eq!(table.code, Some(0), "{table}");
        let cells = |line: &str| line.split(',').map(str::to_owned).collect();
        let rows = table.output.lines().map(cells).collect();
        Self { rows, text: booted.ran("text").output.clone() }
    }

    /// What a row has in a column.
    ///
    /// # Panics
    ///
    /// If there is no such column.
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
