//! Lists of tasks in JSON and YAML, as rows of a table: the keys of the objects are the titles.
//!
//! The list is the document itself, or the value of a key such as `tasks`. Its items are objects,
//! or objects by the names of the tasks, or lists below a list of titles. An object of lists has
//! the columns.

use super::rows::{Cell, Titled};
use super::titles;
use crate::host::MAX_TASKS;
use crate::json::{Json, Member, Value};
use crate::problem::{Problem, Problems, Span};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The settings of the whole set beside the list.
#[derive(Default)]
pub(super) struct Beside {
    pub cpus: Option<(String, Span)>,
}

/// Converts a document to the rows of a table. Returns `None` after reporting errors.
pub(super) fn rows(document: &Json, problems: &mut Problems) -> Option<(Titled<'static>, Beside)> {
    let mut beside = Beside::default();
    let list = match &document.value {
        Value::Object(members) => match members.iter().find(|member| is_list(member)) {
            Some(list) => {
                beside.read(members, problems);
                &list.value
            }
            None => document,
        },
        Value::List(_)
        | Value::Omitted
        | Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::Text(_) => document,
    };
    let mut table = Table::default();
    match &list.value {
        Value::List(items) if items.iter().all(|item| matches!(item.value, Value::List(_))) => {
            table.lists(items, problems)?;
        }
        Value::List(items) => {
            for item in items {
                let Value::Object(members) = &item.value else {
                    let message = format!("a task is an object, and this is {}", item.kind());
                    fault(
                        problems,
                        &item.span,
                        message,
                        "write { \"name\": \"a\", \"wcet\": \"1ms\", \"period\": \"5ms\" }",
                    );
                    return None;
                };
                table.object(members, &item.span, problems)?;
            }
        }
        Value::Object(members)
            if members.iter().all(|member| matches!(member.value.value, Value::Object(_))) =>
        {
            for member in members {
                let Value::Object(keys) = &member.value.value else { continue };
                let whole = member.key_span.start..member.value.span.end;
                table.named(member, keys, whole, problems)?;
            }
        }
        Value::Object(members) => table.columns(members, problems)?,
        Value::Omitted | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {
            let message = format!("a list of tasks is expected, and this is {}", list.kind());
            fault(
                problems,
                &list.span,
                message,
                "write [{ \"name\": \"a\", \"wcet\": \"1ms\", \"period\": \"5ms\" }, ..]",
            );
            return None;
        }
    }
    Some((table.finish(), beside))
}

/// Returns the titles of lists without titles, if all are as plain lines are: two or three numbers,
/// perhaps behind a name.
fn untitled(items: &[Json]) -> Option<&'static [&'static str]> {
    const TITLES: [&str; 4] = ["name", "wcet", "period", "deadline"];
    let shape = |item: &Json| {
        let Value::List(values) = &item.value else { return None };
        let is_named = matches!(values.first()?.value, Value::Text(_));
        let numbers = &values[usize::from(is_named)..];
        let is_number = |value: &Json| matches!(value.value, Value::Number(_));
        (numbers.iter().all(is_number) && matches!(numbers.len(), 2 | 3))
            .then_some((is_named, numbers.len()))
    };
    let shapes: Option<Vec<(bool, usize)>> = items.iter().map(shape).collect();
    let shapes = shapes?;
    let longest = shapes.iter().map(|(_, numbers)| *numbers).max()?;
    let is_named = shapes.first()?.0;
    let first = usize::from(!is_named);
    shapes.iter().all(|shape| shape.0 == is_named).then(|| &TITLES[first..=longest])
}

/// Returns true for the key of a list of tasks.
fn is_list(member: &Member) -> bool {
    // A column of an object of columns may have the same name.
    let is_nested = match &member.value.value {
        Value::List(items) => {
            items.iter().all(|item| matches!(item.value, Value::List(_) | Value::Object(_)))
        }
        Value::Object(_) => true,
        Value::Omitted | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => false,
    };
    is_nested && titles::LISTS.contains(&&*member.key.to_ascii_lowercase())
}

impl Beside {
    /// Reads the keys beside the list: the number of CPUs. All others are named, as they do not
    /// count.
    fn read(&mut self, members: &[Member], problems: &mut Problems) {
        for member in members.iter().filter(|member| !is_list(member)) {
            let key = titles::simple(&member.key);
            if let Value::Number(number) = &member.value.value
                && CPUS.contains(&&*key)
            {
                self.cpus = Some((number.clone(), member.value.span.clone()));
                continue;
            }
            let is_text = matches!(member.value.value, Value::Text(_));
            if is_text && ["name", "title", "description", "comment"].contains(&&*key) {
                continue;
            }
            let is_structure = match &member.value.value {
                Value::Object(inner) => !inner.is_empty(),
                Value::List(items) => !items.is_empty(),
                Value::Omitted
                | Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::Text(_) => false,
            };
            let problem = if is_structure {
                // Resources, servers and edges are such lists, and a guarantee without them is false.
                let message =
                    format!("`{}` is not read, and tasks may be delayed by it", member.key);
                let help = "write a task-set file, which has resources, steps and chains; or remove the key, if \
                            it does not matter";
                Problem::error("layland::csv::structure", message).help(help)
            } else {
                let message = format!("the key `{}` beside the tasks does not count", member.key);
                let help =
                    "a task-set file has a place for the platform and other properties of the set";
                Problem::warning("layland::csv::unused_column", message).help(help)
            };
            problems.push(problem.at(member.key_span.clone(), "here"));
        }
    }
}

/// The keys of the number of CPUs.
const CPUS: [&str; 8] = ["cpus", "cpu", "cores", "processors", "m", "numcpus", "ncpus", "numcores"];

/// Rows with their titles, which another format collects.
#[derive(Default)]
pub(crate) struct Grid(Table);

impl Grid {
    /// Adds a row of titles and values, each with its place.
    pub(crate) fn push(&mut self, row: Vec<(String, String, Span, Span)>, whole: &Span) {
        let mut cells = BTreeMap::new();
        for (title, value, title_span, span) in row {
            let at = self.0.title(&title, &title_span);
            cells.insert(at, Cell { text: Cow::Owned(value), span });
        }
        self.0.rows.push((whole.clone(), cells));
    }

    pub(super) fn kept(&self) -> Titled<'static> {
        self.0.clone().finish()
    }
}

#[derive(Clone, Default)]
struct Table {
    titles: Vec<Cell<'static>>,
    /// The positions of the titles.
    at: BTreeMap<String, usize>,
    /// The cells of each row by position, with the span of the row.
    rows: Vec<(Span, BTreeMap<usize, Cell<'static>>)>,
}

impl Table {
    fn title(&mut self, title: &str, span: &Span) -> usize {
        let next = self.titles.len();
        let at = *self.at.entry(titles::same(title)).or_insert(next);
        if at == next {
            self.titles.push(Cell { text: Cow::Owned(title.to_owned()), span: span.clone() });
        }
        at
    }

    fn row(
        &mut self,
        span: &Span,
        cells: BTreeMap<usize, Cell<'static>>,
        problems: &mut Problems,
    ) -> Option<()> {
        if self.rows.len() == MAX_TASKS {
            let message = format!("the list has more than {MAX_TASKS} tasks");
            fault(problems, span, message, "split it");
            return None;
        }
        self.rows.push((span.clone(), cells));
        Some(())
    }

    fn object(&mut self, members: &[Member], whole: &Span, problems: &mut Problems) -> Option<()> {
        let mut cells = BTreeMap::new();
        for member in members {
            if is_record(member) {
                let message = format!("the list `{}` does not count", member.key);
                let problem = Problem::warning("layland::csv::unused_column", message);
                let help = "a guarantee is about all jobs that the WCET and the period allow";
                problems.push(problem.at(member.key_span.clone(), "here").help(help));
                continue;
            }
            let at = self.title(column(member), &member.key_span);
            let cell = cell(&member.key, &member.value, problems)?;
            if cells.insert(at, cell).is_some() {
                let message = format!("`{}` is given twice", member.key);
                fault(problems, &member.key_span, message, "remove one of the two");
                return None;
            }
        }
        self.row(whole, cells, problems)
    }

    /// Reads a task under its name.
    fn named(
        &mut self,
        name: &Member,
        members: &[Member],
        whole: Span,
        problems: &mut Problems,
    ) -> Option<()> {
        let has_name = members.iter().any(|member| titles::simple(&member.key) == "name");
        if !has_name {
            let at = self.title("name", &name.key_span);
            self.object(members, &whole, problems)?;
            let cell = Cell { text: Cow::Owned(name.key.clone()), span: name.key_span.clone() };
            if let Some((_, cells)) = self.rows.last_mut() {
                cells.insert(at, cell);
            }
            return Some(());
        }
        self.object(members, &whole, problems)
    }

    /// Reads lists below a list of titles, or lists of numbers: `C, T` or `C, T, D`, as in plain lines.
    fn lists(&mut self, items: &[Json], problems: &mut Problems) -> Option<()> {
        let bare = untitled(items);
        for title in bare.unwrap_or_default() {
            let span = items.first().map_or(0..0, |item| item.span.clone());
            self.titles.push(Cell { text: Cow::Borrowed(title), span });
        }
        for (row, item) in items.iter().enumerate() {
            let Value::List(values) = &item.value else { continue };
            let is_header = row == 0 && bare.is_none();
            if is_header {
                let is_known = |text: &str| titles::meaning(text).is_some();
                let is_title =
                    |value: &Json| matches!(&value.value, Value::Text(text) if is_known(text));
                if !values.iter().any(is_title) {
                    let help = "begin with a list of titles, [[\"name\", \"wcet\", \"period\"], ..], or write objects";
                    fault(problems, &item.span, "the numbers have no titles".to_owned(), help);
                    return None;
                }
            }
            let mut cells = BTreeMap::new();
            for (at, value) in values.iter().enumerate() {
                let key =
                    self.titles.get(at).map(|title| title.text.to_string()).unwrap_or_default();
                let cell = cell(&key, value, problems)?;
                if is_header {
                    // Equal titles are reported with those of other tables.
                    self.titles.push(cell);
                } else if at < self.titles.len() {
                    cells.insert(at, cell);
                } else {
                    let message = format!(
                        "the row has {} values, and there are {} titles",
                        values.len(),
                        self.titles.len()
                    );
                    fault(problems, &value.span, message, "remove the rest");
                    return None;
                }
            }
            if !is_header {
                self.row(&item.span, cells, problems)?;
            }
        }
        Some(())
    }

    /// Reads an object of columns.
    fn columns(&mut self, members: &[Member], problems: &mut Problems) -> Option<()> {
        let mut rows: Vec<(Span, BTreeMap<usize, Cell<'static>>)> = Vec::new();
        for member in members {
            let Value::List(values) = &member.value.value else {
                let message =
                    format!("`{}` is {}, and not a list of tasks", member.key, member.value.kind());
                fault(
                    problems,
                    &member.key_span,
                    message,
                    "write {\"tasks\": [{ \"name\": \"a\", \"wcet\": \"1ms\", \"period\": \"5ms\" }]}",
                );
                return None;
            };
            let at = self.title(&member.key, &member.key_span);
            for (row, value) in values.iter().enumerate() {
                if rows.len() == row {
                    rows.push((value.span.clone(), BTreeMap::new()));
                }
                rows[row].1.insert(at, cell(&member.key, value, problems)?);
            }
        }
        rows.into_iter().try_for_each(|(span, cells)| self.row(&span, cells, problems))
    }

    fn finish(self) -> Titled<'static> {
        let count = self.titles.len();
        let row = |(span, mut cells): (Span, BTreeMap<usize, Cell<'static>>)| {
            let empty = || Cell { text: Cow::Borrowed(""), span: span.clone() };
            (0..count).map(|at| cells.remove(&at).unwrap_or_else(empty)).collect()
        };
        Titled { titles: self.titles, rows: self.rows.into_iter().map(row).collect() }
    }
}

/// Returns true for the jobs of a task that a simulator has recorded or will release.
fn is_record(member: &Member) -> bool {
    let Value::List(items) = &member.value.value else { return false };
    let are_objects = items.iter().all(|item| matches!(item.value, Value::Object(_)));
    titles::simple(&member.key) == "jobs" && !items.is_empty() && are_objects
}

/// The titles of lists of critical sections.
const SECTIONS: [&str; 2] = ["sections", "criticalsections"];

/// Returns the title of the column of a key: sections are steps.
fn column(member: &Member) -> &str {
    if steps_of(&member.key, &member.value).is_some() { "steps" } else { &member.key }
}

/// Returns critical sections, `[[resource, time], ..]`, as the steps of a job; `None` for any other
/// value.
fn steps_of(key: &str, value: &Json) -> Option<String> {
    let Value::List(items) = &value.value else { return None };
    if !SECTIONS.contains(&&*titles::simple(key)) {
        return None;
    }
    let step = |item: &Json| {
        let Value::List(pair) = &item.value else { return None };
        let [resource, time] = &pair[..] else { return None };
        let text = |value: &Json| match &value.value {
            Value::Number(text) | Value::Text(text) => Some(text.clone()),
            Value::Omitted | Value::Null | Value::Bool(_) | Value::List(_) | Value::Object(_) => {
                None
            }
        };
        let (resource, time) = (text(resource)?, text(time)?);
        Some(match &*resource {
            "0" => format!("run {time}"),
            name => format!("lock r{name}; run {time}; unlock r{name}"),
        })
    };
    let steps: Option<Vec<String>> = items.iter().map(step).collect();
    steps.filter(|steps| !steps.is_empty()).map(|steps| steps.join("; "))
}

/// Returns a value as the text of a cell. A list has the separator of the column: steps and
/// predecessors have semicolons between them, segments blanks, and CPUs commas.
fn cell(key: &str, value: &Json, problems: &mut Problems) -> Option<Cell<'static>> {
    let simple = |value: &Json| match &value.value {
        Value::Omitted | Value::Null => Some(String::new()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(text) | Value::Text(text) => Some(text.clone()),
        Value::List(_) | Value::Object(_) => None,
    };
    if let Some(text) = steps_of(key, value) {
        let message = format!("`{key}` is read as steps: each item locks a resource for a time");
        let problem = Problem::warning("layland::csv::sections", message);
        let help = "the resource 0 is none; a task-set file has the same as `steps`";
        problems.push(problem.at(value.span.clone(), "here").help(help));
        return Some(Cell { text: Cow::Owned(text), span: value.span.clone() });
    }
    let text = if let Value::List(items) = &value.value {
        let is = |name: &str| titles::meaning(key).is_some_and(|meaning| meaning.is_key(name));
        let between = if is("affinity") {
            ","
        } else if is("segments") {
            " "
        } else {
            "; "
        };
        let parts: Option<Vec<String>> = items.iter().map(simple).collect();
        match parts {
            // Execution times by level.
            Some(parts) if is("wcet") => Some(format!("{{{}}}", parts.join(", "))),
            parts => parts.map(|parts| parts.join(between)),
        }
    } else {
        simple(value)
    };
    let Some(text) = text else {
        let message =
            format!("`{key}` is {}, which a table of tasks has no place for", value.kind());
        fault(
            problems,
            &value.span,
            message,
            "write a time, a number or a string, or remove the key if no task is delayed by it; a task-set file has more \
             keys, such as `steps`",
        );
        return None;
    };
    Some(Cell { text: Cow::Owned(text), span: value.span.clone() })
}

fn fault(problems: &mut Problems, span: &Span, message: String, help: &str) {
    problems
        .push(Problem::error("layland::csv::objects", message).at(span.clone(), "here").help(help));
}
