//! Task sets as tables: CSV with commas, semicolons or tabs.
//!
//! The first line names the columns with the keys of the task-set file. A time is a text with a
//! unit, or a plain number under a header with a unit (`period_ms`). `wcet.LO` and `wcet.HI` are
//! execution times by criticality level. An empty cell is a key that is left out. Comments before
//! the header say what is not about a task:
//!
//! ```text
//! # cpus = 4
//! # clusters = 0-1 2-3
//! # levels = LO HI
//! name,period_ms,wcet_us,affinity
//! control,5,1200,0-1
//! ```

use crate::cpus::Choice;
use crate::keys::keys_of;
use crate::problem::{Problem, Problems, Span};
use crate::read::{Host, MAX_TASKS, default_cpus};
use layland_model::nearest;
use layland_model::{
    Behaviour, CpuSet, Criticality, Duration, ExecutionModel, Field, Index, Levels, Overheads,
    ParseTimeError, Place, Platform, Service, System, Task,
};
use std::borrow::Cow;
use std::collections::BTreeMap;

pub(crate) const COLUMNS: &[&str] = &[
    "name",
    "period",
    "deadline",
    "wcet",
    "budget",
    "criticality",
    "affinity",
    "cluster",
    "offset",
    "jitter",
    "rank",
    "priority",
    "jobs",
];
const TIMES: &[&str] = &["period", "deadline", "wcet", "budget", "offset", "jitter"];
const UNITS: &[&str] = &["ns", "us", "ms", "s"];

/// Further cells of a row are not kept: no header has as many columns.
const MAX_CELLS: usize = 1000;

/// A cell and where it stands.
struct Cell<'t> {
    text: Cow<'t, str>,
    span: Span,
}

/// What a column means.
struct Column {
    /// The key.
    key: &'static str,
    /// The level of an execution time.
    level: Option<String>,
    /// The unit of its numbers.
    unit: Option<&'static str>,
    /// As written.
    title: String,
}

/// What the comments say.
#[derive(Default)]
struct Preamble {
    cpus: Option<usize>,
    cpus_span: Option<Span>,
    clusters: Vec<(CpuSet, Span)>,
    levels: Option<Vec<String>>,
}

/// Reads a table, with where each task is; `None` if there are errors.
pub(crate) fn read(
    text: &str,
    host: &Host,
    problems: &mut Problems,
) -> Option<(System, Vec<Span>)> {
    let mut reader = TableReader { problems };
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
            spans.push(Places::of(&columns, &cells));
            tasks.push(task);
        }
    }
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
    let system = System {
        levels,
        tasks: tasks
            .into_iter()
            .map(|row| {
                let cluster = platform.clusters.get(row.task.cluster).cloned();
                let affinity = row.affinity.of(&cluster.unwrap_or_default());
                Task { affinity: if row.has_affinity { affinity } else { None }, ..row.task }
            })
            .collect(),
        platform,
        requests: Vec::new(),
        provenance: None,
    };
    if reader.problems.has_errors() {
        return None;
    }
    for invalid in system.validate() {
        let problem = Problem::error("layland::csv::invalid", invalid.message).help(invalid.help);
        reader.problems.push(match invalid.place {
            Place::Task(task, field) => problem.at(spans[task.index()].field(field), "here"),
            Place::Cluster(index) => match preamble.clusters.get(index) {
                Some((_, span)) => problem.at(span.clone(), "here"),
                None => problem,
            },
            Place::Cpus => match &preamble.cpus_span {
                Some(span) => problem.at(span.clone(), "here"),
                None => problem,
            },
            Place::Set | Place::Speed(_) | Place::Overheads | Place::Request(_) => problem,
        });
    }
    Some((system, spans.into_iter().map(|places| places.row).collect()))
}

/// A task whose affinity is still a choice.
struct Row {
    task: Task,
    has_affinity: bool,
    affinity: Choice,
}

/// Where the fields of a task stand.
struct Places {
    row: Span,
    fields: Vec<(&'static str, Span)>,
}

impl Places {
    fn of(columns: &[Option<Column>], cells: &[Cell<'_>]) -> Places {
        let fields = columns.iter().zip(cells).filter(|(_, cell)| !cell.text.trim().is_empty());
        Places {
            row: cells.first().map_or(0..0, |cell| cell.span.clone()),
            fields: fields
                .filter_map(|(column, cell)| Some((column.as_ref()?.key, cell.span.clone())))
                .collect(),
        }
    }

    fn field(&self, field: Field) -> Span {
        let find = |key: &&str| self.fields.iter().find(|(of, _)| of == key);
        keys_of(field).iter().find_map(find).map_or(self.row.clone(), |(_, span)| span.clone())
    }
}

/// The sign that is most frequent in the header.
fn separator(header: &str) -> u8 {
    let count = |sign: &u8| header.bytes().filter(|byte| byte == sign).count();
    // Of two that are equally frequent, the last is taken: comma before semicolon before tab.
    [b'\t', b';', b','].into_iter().max_by_key(count).unwrap_or(b',')
}

/// The rows of a table.
struct Rows<'t> {
    text: &'t str,
    at: usize,
    separator: u8,
}

/// The cells of a row, or the place of a quote that is not closed.
type RawRow<'t> = Result<Vec<Cell<'t>>, Span>;

impl<'t> Iterator for Rows<'t> {
    type Item = RawRow<'t>;
    fn next(&mut self) -> Option<RawRow<'t>> {
        let bytes = self.text.as_bytes();
        if self.at >= bytes.len() {
            return None;
        }
        let mut cells = Vec::new();
        loop {
            let start = self.at;
            let cell = if bytes.get(start) == Some(&b'"') {
                let mut end = start + 1;
                loop {
                    match self.text[end..].find('"') {
                        None => {
                            self.at = bytes.len();
                            return Some(Err(start..start + 1));
                        }
                        Some(found) if bytes.get(end + found + 1) == Some(&b'"') => {
                            end += found + 2
                        }
                        Some(found) => {
                            end += found;
                            break;
                        }
                    }
                }
                let text = self.text[start + 1..end].replace("\"\"", "\"");
                self.at = end + 1;
                Cell { text: Cow::Owned(text), span: start..end + 1 }
            } else {
                Cell { text: Cow::Borrowed(""), span: start..start }
            };
            let rest = &bytes[self.at..];
            let stop = rest.iter().position(|&byte| byte == self.separator || byte == b'\n');
            let end = self.at + stop.unwrap_or(rest.len());
            let tail = self.text[self.at..end].trim_end_matches('\r');
            let span_end = self.at + tail.len();
            let cell = match cell.text {
                // What follows a closed quote belongs to the cell.
                Cow::Owned(text) => Cell { text: Cow::Owned(text + tail), span: start..span_end },
                Cow::Borrowed(_) => Cell { text: Cow::Borrowed(tail), span: start..span_end },
            };
            if cells.len() < MAX_CELLS {
                cells.push(cell);
            }
            self.at = end + 1;
            if bytes.get(end) != Some(&self.separator) {
                return Some(Ok(cells));
            }
        }
    }
}

struct TableReader<'p> {
    problems: &'p mut Problems,
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

    /// The comments on top, and where the header starts.
    fn preamble(&mut self, text: &str) -> (Preamble, usize) {
        let mut preamble = Preamble::default();
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

    /// What the columns mean; none for those that are not known.
    fn header(&mut self, cells: &[Cell<'_>]) -> Vec<Option<Column>> {
        let mut columns: Vec<Option<Column>> = Vec::new();
        let mut meant: Vec<&str> = Vec::new();
        for cell in cells {
            let title = cell.text.trim();
            let column = column(title);
            let twice = columns.iter().flatten().any(|other| {
                column.as_ref().is_some_and(|new| new.key == other.key && new.level == other.level)
            });
            if twice {
                let message = format!("the column `{title}` is there twice");
                self.error("layland::csv::header", cell.span.clone(), message, "remove one");
            } else if column.is_none() {
                let base = title.split(['.', '_']).next().unwrap_or_default();
                let near = nearest(base, COLUMNS.iter().copied());
                meant.extend(near);
                let help = match near {
                    Some(near) if near == base && TIMES.contains(&near) => {
                        format!(
                            "write {near}, or a unit: {near}_ns, {near}_us, {near}_ms, {near}_s"
                        )
                    }
                    Some(near) if near == base => format!("write {near}"),
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("there are: {}", COLUMNS.join(", ")),
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
            let there = columns.iter().flatten().any(|column| column.key == key);
            if !there && !meant.contains(&key) {
                let message = format!("the table has no column `{key}`");
                let help = "name, period and wcet are required";
                self.error("layland::csv::header", whole.clone(), message, help);
            }
        }
        columns
    }

    /// The levels: from the comment, or else the execution-time columns from left to right.
    fn levels(&mut self, preamble: &Preamble, columns: &[Option<Column>]) -> Levels {
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

    fn task(
        &mut self,
        columns: &[Option<Column>],
        cells: &[Cell<'_>],
        levels: &Levels,
        position: usize,
    ) -> Option<Row> {
        if cells.len() > columns.len() {
            let extra = &cells[columns.len()];
            let message =
                format!("the row has {} cells, the header {}", cells.len(), columns.len());
            let help = "remove the rest, or put a text with separators in quotes: \"0,2\"";
            self.error("layland::csv::row", extra.span.clone(), message, help);
            return None;
        }
        let mut texts: BTreeMap<&str, &Cell<'_>> = BTreeMap::new();
        let mut times: BTreeMap<&str, i64> = BTreeMap::new();
        let mut by_level: Vec<Option<i64>> = vec![None; levels.count()];
        let mut ok = true;
        for (column, cell) in columns.iter().zip(cells) {
            let Some(column) = column else { continue };
            if cell.text.trim().is_empty() {
                continue;
            }
            if !TIMES.contains(&column.key) {
                texts.insert(column.key, cell);
                continue;
            }
            let Some(ns) = self.time(column, cell) else {
                ok = false;
                continue;
            };
            match column.level.as_ref().map(|level| levels.find(level)) {
                Some(Some(level)) => by_level[level.level()] = Some(ns),
                // Reported with the header.
                Some(None) => ok = false,
                None => drop(times.insert(column.key, ns)),
            }
        }
        let row = cells.first().map_or(0..0, |cell| cell.span.clone());
        let Some(name) = texts.get("name").map(|cell| cell.text.trim().to_owned()) else {
            self.error("layland::csv::missing", row, "the row has no name".to_owned(), "name it");
            return None;
        };
        let has_wcet = times.contains_key("wcet") || by_level.iter().any(Option::is_some);
        for (key, there) in [("period", times.contains_key("period")), ("wcet", has_wcet)] {
            if !there && ok {
                let message = format!("task `{name}` has no {key}");
                let help = "fill the cell: there is no default";
                self.error("layland::csv::missing", row.clone(), message, help);
            }
        }
        let criticality = match texts.get("criticality") {
            None => Criticality::default(),
            Some(cell) => match levels.find(cell.text.trim()) {
                Some(level) => level,
                None => {
                    let message = format!("`{}` is not a criticality level", cell.text.trim());
                    let help = format!("the levels are {}", levels.names().join(" "));
                    self.error("layland::csv::levels", cell.span.clone(), message, &help);
                    return None;
                }
            },
        };
        let mut affinity = Choice::default();
        if let Some(cell) = texts.get("affinity")
            && let Err((message, help)) = affinity.add(cell.text.trim(), &BTreeMap::new())
        {
            self.error("layland::csv::cpus", cell.span.clone(), message, &help);
            ok = false;
        }
        let (rank, priority) =
            (self.whole("rank", &texts, &mut ok), self.whole("priority", &texts, &mut ok));
        let (cluster, jobs) =
            (self.whole("cluster", &texts, &mut ok), self.whole("jobs", &texts, &mut ok));
        let period = Duration::from_ns(*times.get("period").filter(|_| ok)?);
        let wcet = match times.get("wcet") {
            Some(&ns) if by_level.iter().all(Option::is_none) => {
                vec![Service::from_ns(ns); levels.count()]
            }
            Some(_) => {
                let message = format!("task `{name}` has `wcet` and times by level");
                let help = "fill either one column or the other";
                self.error("layland::csv::row", row, message, help);
                return None;
            }
            None => {
                if !has_wcet {
                    return None;
                }
                let own = by_level[..=criticality.level()].iter().try_fold(0, |_, time| *time);
                let Some(own) = own else {
                    let message = format!("task `{name}` has no wcet for each level up to its own");
                    let help = "fill the cells: there is no default";
                    self.error("layland::csv::missing", row, message, help);
                    return None;
                };
                by_level.iter().map(|time| Service::from_ns(time.unwrap_or(own))).collect()
            }
        };
        let time = |key: &str| times.get(key).copied();
        let length = |key: &str| Duration::from_ns(time(key).unwrap_or(0));
        Some(Row {
            has_affinity: texts.contains_key("affinity"),
            affinity,
            task: Task {
                name,
                period,
                deadline: time("deadline").map_or(period, Duration::from_ns),
                wcet,
                criticality,
                budget: time("budget").map(Service::from_ns),
                offset: length("offset"),
                jitter: length("jitter"),
                affinity: None,
                cluster: cluster.unwrap_or(0),
                rank: rank.unwrap_or(position as i64),
                priority,
                behaviour: Behaviour::Periodic,
                execution: ExecutionModel::Wcet,
                jobs,
            },
        })
    }

    fn whole<T: std::str::FromStr>(
        &mut self,
        key: &str,
        texts: &BTreeMap<&str, &Cell<'_>>,
        ok: &mut bool,
    ) -> Option<T> {
        let cell = texts.get(key)?;
        let number = cell.text.trim().parse().ok();
        if number.is_none() {
            let message = format!("`{key}` is a whole number, not `{}`", cell.text.trim());
            self.error("layland::csv::not_a_number", cell.span.clone(), message, "as in 1");
            *ok = false;
        }
        number
    }

    /// A time with a unit, or a number under a header with one.
    fn time(&mut self, column: &Column, cell: &Cell<'_>) -> Option<i64> {
        let text = cell.text.trim();
        let read: Result<Duration, ParseTimeError> = match column.unit {
            Some(unit) => format!("{text}{unit}").parse(),
            None => text.parse(),
        };
        let fault = match read {
            Ok(time) => return Some(time.ns()),
            Err(fault) => fault,
        };
        let bare = matches!(fault, ParseTimeError::MissingUnit { .. });
        let title = &column.title;
        let (message, help) = match column.unit {
            Some(unit) if text.ends_with(char::is_alphabetic) => (
                format!("`{text}` has a unit, and the column `{title}` has one too"),
                format!("write the number of {unit} alone, or call the column {}", column.key),
            ),
            Some(unit) => (
                format!("`{text}` is not a number of {unit}"),
                format!("write a decimal number, with a point: {fault}"),
            ),
            None if bare => (
                format!("`{title}`: {fault}"),
                format!("write {text}ms, or call the column {}_ms", column.key),
            ),
            None => (fault.to_string(), fault.help().replace('"', "")),
        };
        self.error("layland::csv::time", cell.span.clone(), message, &help);
        None
    }
}

/// The meaning of a title, if it has one.
fn column(title: &str) -> Option<Column> {
    let find = |name: &str| COLUMNS.iter().copied().find(|key| *key == name);
    let title = title.to_owned();
    if let Some(key) = find(&title) {
        return Some(Column { key, level: None, unit: None, title });
    }
    let split_unit = |text: &str| {
        let (rest, unit) = text.rsplit_once('_')?;
        let unit = UNITS.iter().copied().find(|known| *known == unit)?;
        Some((rest.to_owned(), unit))
    };
    let (rest, unit) = match split_unit(&title) {
        Some((rest, unit)) => (rest, Some(unit)),
        None => (title.clone(), None),
    };
    if let Some(level) = rest.strip_prefix("wcet.").filter(|level| !level.is_empty()) {
        return Some(Column { key: "wcet", level: Some(level.to_owned()), unit, title });
    }
    let key = find(&rest).filter(|key| TIMES.contains(key))?;
    Some(Column { key, level: None, unit, title })
}

/// The text of a task in a column.
type Text<'a> = &'a dyn Fn(usize, &Task) -> String;

/// A system as a table with commas, and everything that is lost on the way.
///
/// ```
/// use layland_config::to_csv;
/// use layland_model::{Duration, Service, System, Task};
/// let task = Task::implicit("control", Service::from_ms(1), Duration::from_ms(5));
/// let (text, lost) = to_csv(&System::new(2, vec![task]));
/// assert_eq!(text, "# cpus = 2\nname,period,wcet\ncontrol,5ms,1ms\n");
/// assert!(lost.is_empty());
/// ```
pub fn to_csv(system: &System) -> (String, Vec<Problem>) {
    let platform = &system.platform;
    let lost = lost(system);
    let mut out = format!("# cpus = {}\n", platform.cpu_count());
    if platform.clusters != [platform.all_cpus()] {
        let clusters: Vec<String> = platform.clusters.iter().map(CpuSet::to_string).collect();
        out += &format!("# clusters = {}\n", clusters.join(" "));
    }
    let mixed = system.levels != Levels::default();
    if mixed {
        out += &format!("# levels = {}\n", system.levels.names().join(" "));
    }
    let any = |differs: &dyn Fn(usize, &Task) -> bool| {
        system.tasks.iter().any(|(id, task)| differs(id.index(), task))
    };
    let mut titles: Vec<String> = vec!["name".to_owned(), "period".to_owned()];
    let mut columns: Vec<Text<'_>> =
        vec![&|_, task| task.name.clone(), &|_, task| task.period.to_string()];
    let optional: [(&str, bool, Text<'_>); 10] = [
        ("deadline", any(&|_, t| t.deadline != t.period), &|_, t| t.deadline.to_string()),
        ("wcet", !mixed, &|_, t| t.own_wcet().to_string()),
        ("budget", any(&|_, t| t.budget.is_some()), &|_, t| {
            t.budget.map_or(String::new(), |budget| budget.to_string())
        }),
        ("criticality", any(&|_, t| t.criticality.level() > 0), &|_, t| {
            system.levels.names().get(t.criticality.level()).cloned().unwrap_or_default()
        }),
        ("affinity", any(&|_, t| t.affinity.is_some()), &|_, t| {
            t.affinity.as_ref().map_or(String::new(), CpuSet::to_string)
        }),
        ("cluster", any(&|_, t| t.cluster > 0), &|_, t| t.cluster.to_string()),
        ("offset", any(&|_, t| t.offset.ns() != 0), &|_, t| t.offset.to_string()),
        ("jitter", any(&|_, t| t.jitter.ns() != 0), &|_, t| t.jitter.to_string()),
        ("rank", any(&|at, t| t.rank != at as i64), &|_, t| t.rank.to_string()),
        ("priority", any(&|_, t| t.priority.is_some()), &|_, t| {
            t.priority.map_or(String::new(), |priority| priority.to_string())
        }),
    ];
    for (title, present, column) in optional {
        if present {
            titles.push(title.to_owned());
            columns.push(column);
        }
    }
    let jobs: Text<'_> = &|_, t| t.jobs.map_or(String::new(), |jobs| jobs.to_string());
    if any(&|_, t| t.jobs.is_some()) {
        titles.push("jobs".to_owned());
        columns.push(jobs);
    }
    let levels = if mixed { system.levels.count() } else { 0 };
    titles.extend(system.levels.names().iter().take(levels).map(|name| format!("wcet.{name}")));
    let quoted: Vec<String> = titles.iter().map(|title| cell(title)).collect();
    out += &format!("{}\n", quoted.join(","));
    for (id, task) in system.tasks.iter() {
        let mut cells: Vec<String> =
            columns.iter().map(|column| cell(&column(id.index(), task))).collect();
        cells.extend(
            (0..levels)
                .map(|level| task.wcet.get(level).map_or(String::new(), |wcet| wcet.to_string())),
        );
        out += &format!("{}\n", cells.join(","));
    }
    (out, lost)
}

/// What a table cannot say.
fn lost(system: &System) -> Vec<Problem> {
    let mut lost = Vec::new();
    let mut lose = |is: bool, what: String| {
        if is {
            let problem = Problem::warning("layland::csv::lost", format!("{what} lost"));
            lost.push(problem.help("a table has no column for it: write a task-set file"));
        }
    };
    let platform = &system.platform;
    lose(!platform.is_unit_speed(), "the speeds of the CPUs are".to_owned());
    lose(!platform.topology.is_empty(), "the names of the topology are".to_owned());
    lose(platform.overheads != Overheads::default(), "the overheads are".to_owned());
    lose(!system.requests.is_empty(), format!("{} requests are", system.requests.len()));
    lose(system.provenance.is_some(), "the provenance is".to_owned());
    for task in system.tasks.values() {
        let name = &task.name;
        lose(task.behaviour != Behaviour::Periodic, format!("the release of `{name}` is"));
        lose(task.execution != ExecutionModel::Wcet, format!("the execution of `{name}` is"));
    }
    lost
}

/// A cell, in quotes where it needs them.
fn cell(text: &str) -> String {
    let plain = !text.contains([',', '"', '\n', '\r', ';', '\t', '#']) && text.trim() == text;
    if plain { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}
