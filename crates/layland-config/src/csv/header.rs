//! The part above the rows: comments about the platform, and the titles of the columns.

use super::TableReader;
use super::rows::Cell;
use crate::host::Unit;
use crate::keys::{TASK_KEYS, TaskKey, Value};
use crate::problem::{Problem, Span};
use layland_model::{CpuSet, Levels, nearest};

/// The meaning of a column.
#[derive(Clone)]
pub(super) struct Column {
    /// The key.
    pub key: &'static TaskKey,
    /// True if its cells are times.
    pub is_time: bool,
    /// The criticality level of an execution time.
    pub level: Option<String>,
    /// The unit of its numbers.
    pub unit: Option<&'static str>,
    /// The title as written.
    pub title: String,
}

/// The content of the comments.
#[derive(Default)]
pub(super) struct Preamble {
    pub cpus: Option<usize>,
    pub cpus_span: Option<Span>,
    pub clusters: Vec<(CpuSet, Span)>,
    pub levels: Option<Vec<String>>,
}

impl TableReader<'_> {
    /// Parses the comments at the top; also returns the start of the header.
    pub(super) fn preamble(&mut self, text: &str) -> (Preamble, usize) {
        let mut preamble = Preamble::default();
        // Spreadsheets write a byte order mark.
        let mut at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        for line in text[at..].split_inclusive('\n') {
            let trimmed = line.trim();
            if !trimmed.is_empty() && !trimmed.starts_with('#') {
                break;
            }
            let span = at..at + line.trim_end().len();
            at += line.len();
            let Some((key, value)) = trimmed.trim_start_matches('#').split_once('=') else {
                continue;
            };
            let words = || value.split_whitespace();
            match key.trim() {
                "cpus" => {
                    let count = value.trim().parse().ok();
                    preamble.cpus = count.filter(|count| (1..=CpuSet::MAX_CPUS).contains(count));
                    preamble.cpus_span = Some(span.clone());
                    if preamble.cpus.is_none() {
                        let message = format!("`{}` is not a number of CPUs", value.trim());
                        self.error("layland::csv::cpus", span, message, "write # cpus = 4");
                    }
                }
                "clusters" => {
                    for word in words() {
                        match word.parse() {
                            Ok(cpus) => preamble.clusters.push((cpus, span.clone())),
                            Err(error) => {
                                let help = "write # clusters = 0-1 2-3";
                                let message = format!("{error}");
                                self.error("layland::csv::cpus", span.clone(), message, help);
                            }
                        }
                    }
                }
                "levels" => {
                    let names: Vec<String> = words().map(str::to_owned).collect();
                    let mut sorted = names.clone();
                    sorted.sort();
                    sorted.dedup();
                    if names.is_empty() || sorted.len() < names.len() || names.len() > 256 {
                        let message = "the levels need different names, at most 256".to_owned();
                        self.error("layland::csv::levels", span, message, "write # levels = LO HI");
                    } else {
                        preamble.levels = Some(names);
                    }
                }
                _ => {}
            }
        }
        (preamble, at.min(text.len()))
    }

    /// Returns the meanings of the columns; `None` for an unknown column.
    pub(super) fn header(&mut self, cells: &[Cell<'_>]) -> Vec<Option<Column>> {
        let mut columns: Vec<Option<Column>> = Vec::new();
        let mut meant: Vec<&str> = Vec::new();
        for cell in cells {
            let title = cell.text.trim();
            let column = column(title);
            let twice = columns.iter().flatten().any(|other| {
                column
                    .as_ref()
                    .is_some_and(|new| new.key.name == other.key.name && new.level == other.level)
            });
            if twice {
                let message = format!("the column `{title}` appears twice");
                self.error("layland::csv::header", cell.span.clone(), message, "remove one");
            } else if let Some(&(_, help)) = UNUSED.iter().find(|(of, _)| *of == normal(title)) {
                let message = format!("the column `{title}` does not count");
                let problem = Problem::warning("layland::csv::unused_column", message);
                self.problems.push(problem.at(cell.span.clone(), "here").help(help));
            } else if column.is_none() {
                let base = normal(title);
                let base = base.split(['.', '_', '(']).next().unwrap_or_default();
                let near = nearest(base, columns_of_tables().map(|key| key.name));
                meant.extend(near);
                let is_time = columns_of_tables().any(|key| Some(key.name) == near && is_time(key));
                let help = match near {
                    Some(near) if near == base && is_time => {
                        format!(
                            "write {near}, or a unit: {near}_ns, {near}_us, {near}_ms, {near}_s"
                        )
                    }
                    Some(near) if near == base => format!("write {near}"),
                    Some(near) => format!("did you mean `{near}`?"),
                    None => {
                        let names: Vec<&str> = columns_of_tables().map(|key| key.name).collect();
                        format!("there are: {}", names.join(", "))
                    }
                };
                let message = format!("unknown column `{title}`");
                self.error("layland::csv::unknown_column", cell.span.clone(), message, &help);
            }
            columns.push(column);
        }
        let whole = match (cells.first(), cells.last()) {
            (Some(first), Some(last)) => first.span.start..last.span.end,
            (None, _) | (_, None) => 0..0,
        };
        for key in ["name", "period", "wcet"] {
            let there = columns.iter().flatten().any(|column| column.key.name == key);
            // The sum of the `run` steps of a job is its execution time.
            let follows =
                key == "wcet" && columns.iter().flatten().any(|column| column.key.name == "steps");
            if !there && !follows && !meant.contains(&key) {
                let message = format!("the table has no column `{key}`");
                let help = "name, period and wcet are required";
                self.error("layland::csv::header", whole.clone(), message, help);
            }
        }
        columns
    }

    /// Returns the levels: from the comment, or else
    /// from the execution-time columns, left to right.
    pub(super) fn levels(&mut self, preamble: &Preamble, columns: &[Option<Column>]) -> Levels {
        let named = columns.iter().flatten().filter_map(|column| column.level.clone());
        let named: Vec<String> = named.collect();
        let Some(levels) = &preamble.levels else {
            return Levels::new(named.into_iter().take(256).collect());
        };
        for name in named.iter().filter(|name| !levels.contains(name)) {
            let message = format!("`{name}` is not one of the levels");
            let problem = Problem::error("layland::csv::levels", message);
            self.problems.push(problem.help(format!("the levels are {}", levels.join(" "))));
        }
        Levels::new(levels.clone())
    }
}

/// Columns of other tools that are ignored, each with the reason or the alternative.
const UNUSED: &[(&str, &str)] = &[
    ("bcet", "jobs may take less than the WCET: describe it with `exec` in a task-set file"),
    ("acet", "describe how long jobs take with `exec` in a task-set file"),
    ("utilization", "it follows from the WCET and the period"),
    ("u", "it follows from the WCET and the period"),
    ("wcrt", "`layland check` computes it"),
];

/// Returns true if a line is the header of a table: several
/// titles, one of which is for the names of tasks or their times.
pub(crate) fn is_header(line: &str) -> bool {
    let titles: Vec<&str> = line.split([',', ';', '\t']).collect();
    let is_known = |title: &&str| column(title.trim().trim_matches('"')).is_some();
    titles.len() > 1
        && !line.contains('=')
        && titles.iter().filter(|title| is_known(title)).count() > 1
}

/// Returns the meaning of a title: a key in any case,
/// perhaps with its unit (`period_ms`, `Period (ms)`).
fn column(title: &str) -> Option<Column> {
    let written = title.to_owned();
    // The names of levels are case-sensitive.
    let (title, level) = match title.split_at_checked("wcet.".len()) {
        Some((start, level)) if start.eq_ignore_ascii_case("wcet.") && !level.is_empty() => {
            ("wcet", Some(level))
        }
        Some(_) | None => (title, None),
    };
    let (level, unit_of_level) = match level.and_then(split_unit) {
        Some((level, unit)) => (Some(level), Some(unit)),
        None => (level.map(str::to_owned), None),
    };
    let key = |name: &str| {
        let is_title = |titles: &[&str]| titles.contains(&name);
        columns_of_tables().find(|key| key.name == name || key.column.is_some_and(is_title))
    };
    let name = normal(title);
    let (key, unit) = match (key(&name), split_unit(title)) {
        (Some(key), _) => (key, unit_of_level),
        (None, Some((rest, unit))) => {
            let key = key(&normal(&rest)).filter(|key| is_time(key))?;
            (key, Some(unit))
        }
        (None, None) => return None,
    };
    Some(Column { key, is_time: is_time(key), level, unit, title: written })
}

/// Iterates over the keys that tables have.
fn columns_of_tables() -> impl Iterator<Item = &'static TaskKey> + Clone {
    TASK_KEYS.iter().filter(|key| key.column.is_some())
}

/// Returns true if the cells of a column are times.
fn is_time(key: &TaskKey) -> bool {
    match key.value {
        Value::Time(..) => true,
        Value::Own(_) => key.name == "wcet",
        Value::Number(..)
        | Value::Count(..)
        | Value::Flag(..)
        | Value::Text(..)
        | Value::Word(_) => false,
    }
}

/// Normalizes a title, so that insignificant differences disappear.
fn normal(title: &str) -> String {
    title.trim().to_ascii_lowercase().replace([' ', '-'], "_")
}

/// Splits a title and the unit at its end.
fn split_unit(title: &str) -> Option<(String, &'static str)> {
    let title = title.trim();
    let (rest, unit) = match title.strip_suffix([')', ']']) {
        Some(inner) => inner.rsplit_once(['(', '['])?,
        None => title.rsplit_once('_')?,
    };
    let unit =
        Unit::ALL.into_iter().find(|known| unit.trim().eq_ignore_ascii_case(known.name()))?;
    Some((rest.trim().to_owned(), unit.name()))
}
