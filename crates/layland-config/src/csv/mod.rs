//! Reads task sets as tables, by the titles of their columns, whatever separates these: commas,
//! semicolons or tabs (CSV), blanks, pipes (markdown), `&` (LaTeX). Lists of objects in JSON and
//! YAML and lines of words are tables, too.
//!
//! The first line names the columns with the keys of the task-set file or with other common names
//! ([`titles`]), unless the user names them ([`Host::columns`]). A time has a unit, or is a plain number
//! under a title with a unit (`period_ms`, `Period (ms)`), or is in the unit that the user sets
//! ([`Host::unit`]). `wcet.LO` and `wcet.HI` are execution times by criticality level. The steps of
//! a job are one cell (`run 1ms; lock bus; run 2ms; unlock bus`), and the resources are those that
//! steps name. The tasks that a task follows are one cell, too (`camera; radar`). An empty cell is
//! an omitted key, and tasks without names are `t0`, `t1` and so on. Comments before the header
//! contain the properties of the whole set:
//!
//! ```text
//! # cpus = 4
//! # clusters = 0-1 2-3
//! # levels = LO HI
//! name,period_ms,wcet_us,affinity
//! control,5,1200,0-1
//! ```

pub(crate) mod cells;
mod columns;
mod follows;
mod header;
mod layout;
mod letters;
mod objects;
mod pairs;
mod row;
mod rows;
mod steps;
mod task;
mod times;
pub(crate) mod titles;
pub(crate) mod words;
mod write;

pub(crate) use layout::{Layout, layout, layout_of_rows, separated, within, without_titles};
pub(crate) use objects::Grid;
pub use write::to_csv;

use crate::host::{Host, MAX_TASKS, default_cpus};
use crate::json::Json;
use crate::keys::keys_of;
use crate::once::{self, Once};
use crate::problem::{Problem, Problems, Span};
use follows::{Following, Ids};
use header::{Column, Preamble};
use layland_model::{CpuSet, Field, Index, Levels, Platform, System, SystemPart, Task, TaskId};
use row::Row;
use rows::{Cell, RawRow, Rows, TextRows, Titled};
use steps::Named;

/// Reads a table in a text. Returns the system and the span of each task, or `None` after reporting
/// errors.
pub(crate) fn read(
    text: &str,
    layout: Layout,
    host: &Host,
    problems: &mut Problems,
) -> Option<(System, Vec<Span>)> {
    let mut reader = TableReader::new(problems, host);
    let (preamble, header_at) = reader.preamble(text);
    let mut rows = TextRows { text, at: header_at, end: text.len(), layout, columns: None };
    // Where the text does not begin with titles, a table may stand in the middle of it.
    let is_prose = host.columns.is_none() && layout::layout(text).is_none();
    let inner = is_prose.then(|| layout::within(text)).flatten();
    if let Some((of, range)) = inner {
        (rows.layout, rows.at, rows.end) = (of, range.start, range.end);
    }
    let layout = rows.layout;
    match layout {
        Layout::Pipes => {
            // Prose may stand before the table.
            let first = text.find(['|', '│', '┃', '║']).unwrap_or(text.len());
            let first = text[..first].rfind('\n').map_or(0, |end| end + 1);
            rows.at = layout::pipes(text).unwrap_or(first).max(header_at.min(first));
        }
        Layout::Latex => {
            let within = layout::latex(text);
            (rows.at, rows.end) = (within.start.max(header_at), within.end);
        }
        Layout::Separated(_) | Layout::Blanks => {}
    }
    if let Some(at) = layout::another(text, layout, rows.at.min(rows.end)) {
        let line = text[at..].lines().next().unwrap_or_default();
        let message = "the text has another table, which is not read";
        let problem = Problem::warning("layland::csv::another", message);
        let help = "put its tasks into a file of their own";
        reader
            .problems
            .push(problem.at(at..at + line.trim_end().len(), "it begins here").help(help));
    }
    let is_empty = text[rows.at.min(rows.end)..rows.end].trim().is_empty();
    if is_empty || Rows::Text(rows.clone()).next().is_none() {
        let problem = Problem::error("layland::csv::header", "the table is empty");
        reader.problems.push(problem.help("start with a line of names: name,period,wcet"));
        return None;
    }
    reader.decimal = match layout {
        Layout::Separated(b';') => Decimal::Comma,
        Layout::Separated(_) | Layout::Blanks | Layout::Pipes | Layout::Latex => Decimal::Point,
    };
    let header = match &host.columns {
        Some(columns) => {
            rows.columns = Some(columns.0.len());
            // A line of titles gives way to those of the user.
            let first = Rows::Text(rows.clone()).next().and_then(Result::ok).unwrap_or_default();
            if !first.iter().any(|cell| cell.text.starts_with(|c: char| c.is_ascii_digit())) {
                rows.next();
            }
            columns.cells()
        }
        None => {
            let first = text[rows.at..].lines().next().unwrap_or_default();
            if without_titles(first.trim()) == Some(layout) {
                let span = rows.at..rows.at + first.trim_end().len();
                let message = "the table has no titles".to_owned();
                let cells: Vec<&str> = first
                    .split([',', ';', '\t', ' '])
                    .filter(|cell| !cell.trim().is_empty())
                    .collect();
                let is_number = cells
                    .first()
                    .is_some_and(|cell| cell.starts_with(|c: char| c.is_ascii_digit()));
                let columns = match (is_number, cells.len()) {
                    (true, 3) => "C,T,D",
                    (true, _) => "O,C,D,T",
                    (false, 3) => "Task,C,T",
                    (false, _) => "Task,C,T,D",
                };
                let help = format!(
                    "say what its {} columns are, as in --columns {columns}, or write a first line of titles",
                    cells.len()
                );
                reader.error("layland::csv::header", span, message, &help);
                return None;
            }
            rows.columns = columns_of(&rows);
            let row = rows.next()?;
            reader.row(row)?
        }
    };
    reader.table(text, preamble, &header, Rows::Text(rows))
}

/// Reads a list of tasks in JSON or YAML as a table.
pub(crate) fn read_objects(
    text: &str,
    document: &Json,
    host: &Host,
    problems: &mut Problems,
) -> Option<(System, Vec<Span>)> {
    let (kept, beside) = objects::rows(document, problems)?;
    let mut reader = TableReader::new(problems, host);
    let mut preamble = Preamble::default();
    if let Some((cpus, span)) = beside.cpus {
        let count = cpus.parse().ok().filter(|count| (1..=CpuSet::MAX_CPUS).contains(count));
        if count.is_none() {
            let message = format!("`{cpus}` is not a number of CPUs");
            reader.error(
                "layland::csv::cpus",
                span.clone(),
                message,
                "write a whole number, as in 4",
            );
        }
        (preamble.cpus, preamble.cpus_span) = (count, Some(span));
    }
    reader.kept(text, preamble, &kept)
}

/// Reads rows that another format has collected.
pub(crate) fn read_grid(
    text: &str,
    grid: &Grid,
    host: &Host,
    problems: &mut Problems,
) -> Option<(System, Vec<Span>)> {
    let kept = grid.kept();
    TableReader::new(problems, host).kept(text, Preamble::default(), &kept)
}

/// Reads lines of words (`T1: C=1, T=4`) as a table.
pub(crate) fn read_words(
    text: &str,
    host: &Host,
    problems: &mut Problems,
) -> Option<(System, Vec<Span>)> {
    let kept = words::rows(text, problems);
    let mut reader = TableReader::new(problems, host);
    let (preamble, _) = reader.preamble(text);
    reader.kept(text, preamble, &kept)
}

/// Returns the number of columns of a table with blanks between them: a title may have two words,
/// and so may a cell.
fn columns_of(rows: &TextRows<'_>) -> Option<usize> {
    if rows.layout != Layout::Blanks {
        return None;
    }
    let is_content = |line: &&str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#') && !layout::is_rule(line)
    };
    let mut lines = rows.text[rows.at..].lines().filter(is_content);
    let first = lines.next()?;
    let by_words = first.split_whitespace().count();
    let by_runs = layout::by_runs(first).len();
    let fits = |count: usize| {
        let is_row = |line: &&str| {
            line.split_whitespace().count() == count || layout::by_runs(line).len() == count
        };
        lines.clone().take(20).filter(is_row).count()
    };
    Some(if by_runs > 1 && fits(by_runs) > fits(by_words) { by_runs } else { by_words })
}

impl<'p> TableReader<'p> {
    fn new(problems: &'p mut Problems, host: &'p Host) -> TableReader<'p> {
        TableReader {
            problems,
            host,
            decimal: Decimal::Point,
            without_unit: None,
            rounded: None,
            has_told_share: false,
            background: Vec::new(),
            named: Named::default(),
        }
    }

    fn kept(
        self,
        text: &str,
        preamble: Preamble,
        kept: &Titled<'_>,
    ) -> Option<(System, Vec<Span>)> {
        if kept.rows.is_empty() {
            let problem = Problem::error("layland::csv::header", "there is no task");
            self.problems.push(problem.help("write at least one, with its WCET and its period"));
            return None;
        }
        let rows = Rows::Titled { rows: &kept.rows, at: 0 };
        self.table(text, preamble, &kept.titles, rows)
    }

    /// Converts the rows of a table below its titles to a system.
    fn table(
        mut self,
        text: &str,
        preamble: Preamble,
        header: &[Cell<'_>],
        rows: Rows<'_>,
    ) -> Option<(System, Vec<Span>)> {
        let resolved = letters::resolved(header, &rows);
        let header = resolved.as_deref().unwrap_or(header);
        let split = pairs::split(header, &rows);
        let (header, mut rows) = match &split {
            Some((titles, cells)) => (&titles[..], Rows::Titled { rows: cells, at: 0 }),
            None => (header, rows),
        };
        let mut columns = self.header(header);
        self.without_levels(&preamble, header, &mut columns);
        let levels = self.levels(&preamble, &columns);
        let (tasks, spans) = self.rows(text, &columns, &levels, &mut rows);
        self.report_unit();
        self.report_rounded();
        self.system(preamble, levels, (tasks, spans), |span| {
            RowSpans::of(&columns, &rows.again(span))
        })
    }

    /// Reads the rows. Returns their tasks, and the span of the first cell of each.
    fn rows<'t>(
        &mut self,
        text: &str,
        columns: &[Option<Column>],
        levels: &Levels,
        rows: &mut Rows<'t>,
    ) -> (Vec<Row>, Vec<Span>) {
        let (mut tasks, mut spans) = (Vec::new(), Vec::new());
        let mut following = Vec::new();
        for row in rows {
            let Some(cells) = self.row(row) else { continue };
            let blank = cells.iter().all(|cell| cell.text.trim().is_empty());
            if blank || text[cells[0].span.clone()].trim_start().starts_with('#') {
                continue;
            }
            if tasks.len() == MAX_TASKS {
                let message = format!("the table has more than {MAX_TASKS} rows");
                self.error("layland::csv::too_many", cells[0].span.clone(), message, "split it");
                break;
            }
            if let Some(task) = self.task(columns, &cells, levels, tasks.len()) {
                spans.push(cells[0].span.clone());
                let mut named = columns.iter().zip(&cells);
                let is_follows = |column: &Option<Column>| {
                    column.as_ref().is_some_and(|c| c.key.name == "follows")
                };
                let followed = named.find(|(column, _)| is_follows(column));
                following.extend(followed.and_then(|(_, cell)| Following::of(cell, tasks.len())));
                tasks.push(task);
            }
        }
        self.follow(&following, &mut tasks);
        self.report_background();
        let once: Vec<Once> =
            tasks.iter().enumerate().filter_map(|(at, row)| row.once(at)).collect();
        let mut settled: Vec<&mut Task> = tasks.iter_mut().map(|row| &mut row.task).collect();
        once::settle(&mut settled, &once);
        (tasks, spans)
    }

    /// Reports single jobs without deadlines, once for all.
    fn report_background(&mut self) {
        let Some((name, span)) = self.background.first().cloned() else { return };
        let message = match self.background.len() - 1 {
            0 => format!(
                "the single job `{name}` is left out: it has no deadline, and gives way to all others"
            ),
            more => format!(
                "`{name}` and {more} more single jobs are left out: they have no deadlines, and give way to all others"
            ),
        };
        let problem = Problem::warning("layland::csv::background", message).at(span, "here");
        let help = "to count it, give it a deadline; a server (a task with `budget`, and its arrivals as `release`) serves it \
                    soon, and without preemption it may delay others";
        self.problems.push(problem.help(help));
    }

    /// Resolves the names of the tasks that tasks follow, once all are known: a task may follow a
    /// later one.
    fn follow(&mut self, following: &[Following], tasks: &mut [Row]) {
        let mut ids = Ids::new();
        if !following.is_empty() {
            for (at, row) in tasks.iter().enumerate() {
                ids.entry(row.task.name.to_string()).or_insert(TaskId::from_index(at));
            }
        }
        for cell in following {
            match cell.tasks(&ids, !self.problems.is_full()) {
                Ok(follows) => tasks[cell.task].task.follows = follows,
                Err(faults) => {
                    for fault in faults {
                        let span = cell.span.clone();
                        self.error("layland::csv::follows", span, fault.message, &fault.help);
                    }
                }
            }
        }
    }

    /// Makes the system of these tasks, and points at what is invalid in it.
    fn system(
        mut self,
        preamble: Preamble,
        levels: Levels,
        (tasks, spans): (Vec<Row>, Vec<Span>),
        row_at: impl Fn(&Span) -> RowSpans,
    ) -> Option<(System, Vec<Span>)> {
        // Applied to an empty set, a selection contains only the CPUs that it names explicitly.
        let used = tasks.iter().filter_map(|task| task.affinity.of(&CpuSet::new())?.highest());
        let used = used.max().map(|cpu| cpu.index() + 1);
        let cpus = match preamble.cpus {
            Some(cpus) => cpus,
            None => default_cpus(self.host, used, "the table", self.problems)?,
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
            resources: std::mem::take(&mut self.named.resources),
            groups: Vec::new(),
            chains: Vec::new(),
            requests: Vec::new(),
            provenance: None,
            observed: None,
        };
        system.in_level = crate::levels::by_default(&system, |id| has_rank[id.index()]);
        if self.problems.has_errors() {
            return None;
        }
        for invalid in system.validate() {
            let problem =
                Problem::error("layland::csv::invalid", invalid.message).help(invalid.help);
            self.problems.push(match invalid.part {
                SystemPart::Task(task, field) => {
                    let row = row_at(&spans[task.index()]);
                    problem.at(row.field(field), "here")
                }
                SystemPart::Step(task, _) => {
                    let row = row_at(&spans[task.index()]);
                    problem.at(row.field(Field::Steps), "here")
                }
                SystemPart::Resource(index) => match self.named.spans.get(index) {
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
                | SystemPart::Group(_)
                | SystemPart::Chain(_)
                | SystemPart::Request(_) => problem,
            });
        }
        Some((system, spans))
    }
}

/// The spans of the fields of a task.
struct RowSpans {
    row: Span,
    fields: Vec<(&'static str, Span)>,
}

impl RowSpans {
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

/// The decimal sign of the numbers in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decimal {
    /// A point. A comma is taken as one where it cannot separate thousands.
    Point,
    /// A comma, as spreadsheets write with semicolons between the columns. A point is taken, too.
    Comma,
}

struct TableReader<'p> {
    problems: &'p mut Problems,
    host: &'p Host,
    decimal: Decimal,
    /// The first number without a unit, with its column and span.
    without_unit: Option<(Column, Span)>,
    /// The number of times that were rounded to whole nanoseconds, with the first and its span.
    rounded: Option<(u64, String, Span)>,
    /// True if a column of utilizations has been named.
    has_told_share: bool,
    /// The single jobs without deadlines, with the spans of their rows.
    background: Vec<(String, Span)>,
    /// The resources that steps name.
    named: Named,
}

impl TableReader<'_> {
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
