//! The part above the rows: comments about the platform, and the titles of the columns.

use super::TableReader;
use super::rows::Cell;
use super::titles::{self, Meaning, Title, columns_of_tables, is_time};
use crate::keys::{TASK_KEYS, TaskKey};
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
    /// True if its cells are shares of a CPU in place of execution times.
    pub is_share: bool,
    /// True for a number in place of a name.
    pub is_number: bool,
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
            if !trimmed.is_empty() && !trimmed.starts_with(['#', '%']) {
                break;
            }
            let span = at..at + line.trim_end().len();
            at += line.len();
            let Some((key, value)) = trimmed.trim_start_matches(['#', '%']).split_once('=') else {
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

    /// Returns the meanings of the columns; `None` for a column that does not count.
    pub(super) fn header(&mut self, cells: &[Cell<'_>]) -> Vec<Option<Column>> {
        let mut columns: Vec<Option<Column>> = Vec::new();
        let mut meant: Vec<&str> = Vec::new();
        let is_execution = |cell: &Cell<'_>| {
            let meaning = titles::meaning(cell.text.trim());
            meaning.is_some_and(|meaning| meaning.is_key("wcet") || meaning.is_key("steps"))
        };
        let has_execution = cells.iter().any(is_execution);
        for cell in cells {
            let title = cell.text.trim();
            let column = match titles::read(title) {
                Some(Title { meaning: Meaning::Utilization, .. }) if has_execution => {
                    self.unused(title, &cell.span, "it follows from the WCET and the period");
                    None
                }
                Some(Title { meaning: Meaning::Unused(help), .. }) => {
                    self.unused(title, &cell.span, help);
                    None
                }
                Some(Title { meaning: Meaning::Unclear(help), .. }) => {
                    let message = format!("the column `{title}` has several meanings");
                    self.error("layland::csv::unknown_column", cell.span.clone(), message, help);
                    meant.extend(["period", "wcet"]);
                    None
                }
                Some(Title { meaning: Meaning::NotModelled(column), .. }) => {
                    let message = format!("the column `{title}` {}", column.what);
                    self.error(
                        "layland::csv::not_modelled",
                        cell.span.clone(),
                        message,
                        column.help,
                    );
                    None
                }
                Some(found) => Column::of(found, title),
                None => {
                    meant.extend(self.unknown(title, &cell.span));
                    None
                }
            };
            let other = column.as_ref().and_then(|new: &Column| {
                columns.iter().position(|other: &Option<Column>| {
                    other.as_ref().is_some_and(|other| {
                        other.key.name == new.key.name && other.level == new.level
                    })
                })
            });
            let Some(other) = other else {
                columns.push(column);
                continue;
            };
            // Numbers name the tasks if nothing else does.
            let help = "the tasks have names in another column";
            let was_number = columns[other].as_ref().is_some_and(|other| other.is_number);
            let is_number = column.as_ref().is_some_and(|new| new.is_number);
            if was_number && !is_number {
                self.unused(&cells[other].text, &cells[other].span, help);
                columns[other] = None;
                columns.push(column);
            } else if is_number {
                self.unused(title, &cell.span, help);
                columns.push(None);
            } else {
                let message = format!("the column `{title}` appears twice");
                self.error("layland::csv::header", cell.span.clone(), message, "remove one");
                columns.push(None);
            }
        }
        self.required(&columns, cells, &meant);
        columns
    }

    /// Reports required columns that are missing, but for those that an unknown title probably
    /// means.
    fn required(&mut self, columns: &[Option<Column>], cells: &[Cell<'_>], meant: &[&str]) {
        let whole = match (cells.first(), cells.last()) {
            (Some(first), Some(last)) => first.span.start..last.span.end,
            (None, _) | (_, None) => 0..0,
        };
        for key in ["period", "wcet"] {
            let has = |name: &str| columns.iter().flatten().any(|column| column.key.name == name);
            // The sum of the `run` steps of a job is its execution time.
            if has(key) || (key == "wcet" && has("steps")) || meant.contains(&key) {
                continue;
            }
            let message = format!("the table has no column `{key}`");
            let help = if key == "period" {
                "period and wcet are required; a job that comes once has a period of at least its deadline, and `jobs` is 1"
            } else {
                "period and wcet are required"
            };
            self.error("layland::csv::header", whole.clone(), message, help);
        }
    }

    /// Warns of a column that does not count.
    fn unused(&mut self, title: &str, span: &Span, help: &str) {
        let title = title.trim();
        if title.is_empty() {
            return;
        }
        let message = format!("the column `{title}` does not count");
        let problem = Problem::warning("layland::csv::unused_column", message);
        self.problems.push(problem.at(span.clone(), "here").help(help));
    }

    /// Reports an unknown title. Returns the key that it probably means.
    fn unknown(&mut self, title: &str, span: &Span) -> Option<&'static str> {
        let base = title.to_lowercase().replace([' ', '-'], "_");
        let base = base.split(['.', '_', '(']).next().unwrap_or_default();
        let near = nearest(base, columns_of_tables().map(|key| key.name));
        let is_time = columns_of_tables().any(|key| Some(key.name) == near && is_time(key));
        let help = match near {
            Some(near) if near == base && is_time => {
                format!("write {near}, or a unit: {near}_ns, {near}_us, {near}_ms, {near}_s")
            }
            Some(near) if near == base => format!("write {near}"),
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                let names: Vec<&str> = columns_of_tables().map(|key| key.name).collect();
                format!(
                    "there are: {}; --columns names all columns anew, with - for one that does not count",
                    names.join(", ")
                )
            }
        };
        let message = format!("unknown column `{title}`");
        self.error("layland::csv::unknown_column", span.clone(), message, &help);
        near
    }

    /// Leaves the criticality of tasks out if nothing depends on it: no execution time is that of a level.
    pub(super) fn without_levels(
        &mut self,
        preamble: &Preamble,
        cells: &[Cell<'_>],
        columns: &mut [Option<Column>],
    ) {
        let has_level = columns.iter().flatten().any(|column| column.level.is_some());
        if preamble.levels.is_some() || has_level {
            return;
        }
        for (cell, column) in cells.iter().zip(columns) {
            if column.as_ref().is_some_and(|column| column.key.name == "criticality") {
                let help = "all levels have the same execution times; give each its own, as wcet.LO and wcet.HI";
                self.unused(&cell.text, &cell.span, help);
                *column = None;
            }
        }
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

impl Column {
    fn of(found: Title, title: &str) -> Option<Column> {
        let key = match found.meaning {
            Meaning::Key(key) => key,
            Meaning::Type => TASK_KEYS.iter().find(|key| key.name == "release")?,
            Meaning::Utilization => TASK_KEYS.iter().find(|key| key.name == "wcet")?,
            Meaning::Unused(_) | Meaning::Unclear(_) | Meaning::NotModelled(_) => return None,
        };
        let Title { level, unit, is_number, .. } = found;
        let is_share = matches!(found.meaning, Meaning::Utilization);
        let (is_time, title) = (is_time(key) && !is_share, title.to_owned());
        Some(Column { key, is_time, level, unit, is_share, is_number, title })
    }
}
