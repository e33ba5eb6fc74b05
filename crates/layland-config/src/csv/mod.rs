//! Reads task sets as tables: CSV with commas, semicolons or tabs.
//!
//! The first line names the columns with the keys of the task-set file, in any case, or with other
//! common names (`Task`, `C`, `T`). A time has a unit, or is a plain number under a title with a
//! unit (`period_ms`, `Period (ms)`), or is in the unit that the user sets ([`Host::unit`]).
//! `wcet.LO` and `wcet.HI` are execution times by criticality level. The steps of a job are one
//! cell (`run 1ms; lock bus; run 2ms; unlock bus`), and the resources are those that steps name.
//! The tasks that a task follows are one cell, too (`camera; radar`). An empty cell is an omitted
//! key. Comments before the header contain the properties of the whole set:
//!
//! ```text
//! # cpus = 4
//! # clusters = 0-1 2-3
//! # levels = LO HI
//! name,period_ms,wcet_us,affinity
//! control,5,1200,0-1
//! ```

pub(crate) mod cells;
mod follows;
mod header;
mod rows;
mod steps;
mod task;
mod write;

pub(crate) use header::is_header;
pub use write::to_csv;

use crate::host::{Host, MAX_TASKS, default_cpus};
use crate::keys::keys_of;
use crate::problem::{Problem, Problems, Span};
use follows::{Following, Ids};
use header::Column;
use layland_model::{CpuSet, Field, Index, Platform, System, SystemPart, Task, TaskId};
use rows::{Cell, RawRow, Rows, separator};
use steps::Named;

/// Reads a table. Returns the system and the span of each task, or `None` after reporting errors.
pub(crate) fn read(
    text: &str,
    host: &Host,
    problems: &mut Problems,
) -> Option<(System, Vec<Span>)> {
    let mut reader = TableReader { problems, host, without_unit: None, named: Named::default() };
    let (preamble, header_at) = reader.preamble(text);
    let rest = &text[header_at..];
    let header_line = rest.lines().next().unwrap_or_default();
    if header_line.trim().is_empty() {
        let problem = Problem::error("layland::csv::header", "the table is empty");
        reader.problems.push(problem.help("start with a line of names: name,period,wcet"));
        return None;
    }
    let separator = separator(header_line);
    let mut rows = Rows { text, at: header_at, separator };
    let header = reader.row(rows.next()?)?;
    let columns = reader.header(&header);
    let levels = reader.levels(&preamble, &columns);
    let (mut tasks, mut spans) = (Vec::new(), Vec::new());
    let mut following = Vec::new();
    for row in rows {
        let Some(cells) = reader.row(row) else { continue };
        let blank = cells.iter().all(|cell| cell.text.trim().is_empty());
        if blank || text[cells[0].span.clone()].trim_start().starts_with('#') {
            continue;
        }
        if tasks.len() == MAX_TASKS {
            let message = format!("the table has more than {MAX_TASKS} rows");
            reader.error("layland::csv::too_many", cells[0].span.clone(), message, "split it");
            break;
        }
        if let Some(task) = reader.task(&columns, &cells, &levels, tasks.len()) {
            spans.push(cells[0].span.clone());
            let mut named = columns.iter().zip(&cells);
            let followed =
                named.find(|(column, _)| column.as_ref().is_some_and(|c| c.key.name == "follows"));
            following.extend(followed.and_then(|(_, cell)| Following::of(cell, tasks.len())));
            tasks.push(task);
        }
    }
    reader.report_unit();
    if !following.is_empty() {
        // Resolve names only now: a task may follow a later one.
        let mut ids = Ids::new();
        for (at, row) in tasks.iter().enumerate() {
            ids.entry(row.task.name.to_string()).or_insert(TaskId::from_index(at));
        }
        for cell in &following {
            match cell.tasks(&ids, !reader.problems.is_full()) {
                Ok(follows) => tasks[cell.task].task.follows = follows,
                Err(faults) => {
                    for fault in faults {
                        let span = cell.span.clone();
                        reader.error("layland::csv::follows", span, fault.message, &fault.help);
                    }
                }
            }
        }
    }
    // Applied to an empty set, a selection contains only the CPUs that it names explicitly.
    let used = tasks.iter().filter_map(|task| task.affinity.of(&CpuSet::new())?.highest());
    let used = used.max().map(|cpu| cpu.index() + 1);
    let cpus = match preamble.cpus {
        Some(cpus) => cpus,
        None => default_cpus(host, used, "the table", reader.problems)?,
    };
    let mut platform = Platform::identical(cpus);
    if !preamble.clusters.is_empty() {
        platform.clusters = preamble.clusters.iter().map(|(cpus, _)| cpus.clone()).collect();
    }
    let has_rank: Vec<bool> = tasks.iter().map(|row| row.has_rank).collect();
    let mut system = System {
        levels,
        tasks: tasks
            .into_iter()
            .map(|row| {
                if !row.has_affinity {
                    return Task { affinity: None, ..row.task };
                }
                let cluster = platform.clusters.get(row.task.cluster).cloned();
                Task { affinity: row.affinity.of(&cluster.unwrap_or_default()), ..row.task }
            })
            .collect(),
        platform,
        in_level: None,
        resources: std::mem::take(&mut reader.named.resources),
        chains: Vec::new(),
        requests: Vec::new(),
        provenance: None,
        observed: None,
    };
    system.in_level = crate::levels::by_default(&system, |id| has_rank[id.index()]);
    if reader.problems.has_errors() {
        return None;
    }
    for invalid in system.validate() {
        let problem = Problem::error("layland::csv::invalid", invalid.message).help(invalid.help);
        reader.problems.push(match invalid.part {
            SystemPart::Task(task, field) => {
                let row = RowSpans::at(text, separator, &columns, &spans[task.index()]);
                problem.at(row.field(field), "here")
            }
            SystemPart::Step(task, _) => {
                let row = RowSpans::at(text, separator, &columns, &spans[task.index()]);
                problem.at(row.field(Field::Steps), "here")
            }
            SystemPart::Resource(index) => match reader.named.spans.get(index) {
                Some(span) => problem.at(span.clone(), "here"),
                None => problem,
            },
            SystemPart::Cluster(index) => match preamble.clusters.get(index) {
                Some((_, span)) => problem.at(span.clone(), "here"),
                None => problem,
            },
            SystemPart::Cpus => match &preamble.cpus_span {
                Some(span) => problem.at(span.clone(), "here"),
                None => problem,
            },
            SystemPart::Set
            | SystemPart::Speed(_)
            | SystemPart::Overheads
            | SystemPart::Chain(_)
            | SystemPart::Request(_) => problem,
        });
    }
    Some((system, spans))
}

/// The spans of the fields of a task.
struct RowSpans {
    row: Span,
    fields: Vec<(&'static str, Span)>,
}

impl RowSpans {
    /// Finds the row whose first cell this is and parses it again: keeping the spans of all rows
    /// would need more memory than their tasks.
    fn at(text: &str, separator: u8, columns: &[Option<Column>], first: &Span) -> RowSpans {
        let row = Rows { text, at: first.start, separator }.next();
        RowSpans::of(columns, &row.and_then(Result::ok).unwrap_or_default())
    }

    fn of(columns: &[Option<Column>], cells: &[Cell<'_>]) -> RowSpans {
        let fields = columns.iter().zip(cells).filter(|(_, cell)| !cell.text.trim().is_empty());
        RowSpans {
            row: cells.first().map_or(0..0, |cell| cell.span.clone()),
            fields: fields
                .filter_map(|(column, cell)| Some((column.as_ref()?.key.name, cell.span.clone())))
                .collect(),
        }
    }

    fn field(&self, field: Field) -> Span {
        let find = |key: &str| self.fields.iter().find(|(of, _)| *of == key);
        keys_of(field).find_map(find).map_or(self.row.clone(), |(_, span)| span.clone())
    }
}

struct TableReader<'p> {
    problems: &'p mut Problems,
    host: &'p Host,
    /// The first number without a unit, with its column and span.
    without_unit: Option<(Column, Span)>,
    /// The resources that steps name.
    named: Named,
}

impl TableReader<'_> {
    /// Reports numbers without a unit, once: all of them lack the same unit.
    fn report_unit(&mut self) {
        let Some((column, span)) = self.without_unit.take() else { return };
        let message = format!("`{}`: a time needs a unit", column.title);
        let help = format!(
            "say it for all columns with --unit, in the title, as in {}_ms, or after each number",
            column.key.name
        );
        self.error("layland::csv::time", span, message, &help);
    }

    fn error(&mut self, code: &'static str, span: Span, message: String, help: &str) {
        self.problems.push(Problem::error(code, message).at(span, "here").help(help));
    }

    fn row<'t>(&mut self, row: RawRow<'t>) -> Option<Vec<Cell<'t>>> {
        row.map_err(|span| {
            let message = "the quote is not closed".to_owned();
            self.error("layland::csv::quote", span, message, "close it with \"");
        })
        .ok()
    }
}
