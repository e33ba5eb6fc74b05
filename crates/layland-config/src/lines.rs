//! A set in one line of JSON, with the keys and values
//! of the task-set file: a line of a stream of sets.
//!
//! ```text
//! {"layland":1,"platform":{"cpus":2},"task":[{"name":"control","period":"5ms","wcet":"1ms"}]}
//! ```
//!
//! There are three ways to read a line and two to write one. The fastest reader
//! ([`scan`]) accepts the lines that we write ourselves, and the next one
//! ([`plain`]) the same keys in any order; a stream has millions of those. All other
//! lines are converted to the document that a TOML file is parsed into, and all
//! other systems are written by way of TOML text. Tests check that all ways agree.

mod scan;

use crate::host::{Host, MAX_TASKS};
use crate::json::{self, Json, Value};
use crate::problem::{Problem, Problems, Span};
use crate::read::HowMade;
use crate::taskset::{self, quote};
use layland_model::{Duration, Levels, Platform, Provenance, Service, System, Task};
use scan::scan;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::str::FromStr;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// Reads a text that has one set in one line. Returns the
/// position of each task if the line needed the slowest reader.
pub(crate) fn read(
    text: &str,
    host: &Host,
    made: HowMade,
    problems: &mut Problems,
) -> Option<(System, Option<Duration>, Vec<Span>)> {
    if let Some(system) = scan(text, made).or_else(|| plain(text)) {
        return Some((system, None, Vec::new()));
    }
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    // One set may also be spread over several lines.
    if let (Some((_, first)), Some((at, _))) = (lines.next(), lines.next())
        && json::parse(first, &mut Problems::default()).is_some()
    {
        let start: usize = text.split_inclusive('\n').take(at).map(str::len).sum();
        let problem = Problem::error("layland::lines::several", "there is more than one set");
        let help =
            "take one line by itself, as in `sed -n 1p FILE`; `check` and `sim` take them all";
        problems.push(problem.at(start..start + 1, "the second one").help(help));
        return None;
    }
    let document = json::parse(text, problems)?;
    if is_rt_app(&document) {
        return crate::rtapp::read(text, host, problems);
    }
    let Value::Object(_) = &document.value else {
        let message = format!("a set is an object, and this is {}", document.kind());
        let problem = Problem::error("layland::taskset::wrong_type", message);
        let help = "write {\"layland\":1,\"platform\":{\"cpus\":2},\"task\":[ .. ]}";
        problems.push(problem.at(document.span, "here").help(help));
        return None;
    };
    let DeValue::Table(table) = value(&document, problems)?.into_inner() else { return None };
    let mut found = Problems::default();
    let system = taskset::read_table(&table, host, &mut found);
    let failed = found.has_errors() || problems.has_errors();
    problems.absorb(found);
    system.filter(|_| !failed).map(|(system, spans)| (system, None, spans))
}

/// rt-app calls its threads `tasks`, and has no version.
fn is_rt_app(document: &Json) -> bool {
    let Value::Object(members) = &document.value else { return false };
    let has = |key: &str| members.iter().any(|member| member.key == key);
    has("tasks") && !has("layland")
}

/// Converts a JSON value to a TOML value, at its position.
fn value<'j>(json: &'j Json, problems: &mut Problems) -> Option<Spanned<DeValue<'j>>> {
    let span = json.span.clone();
    let of = match &json.value {
        Value::Text(text) => DeValue::String(Cow::Borrowed(text)),
        Value::Bool(value) => DeValue::Boolean(*value),
        Value::Number(number) => match DeValue::parse(number) {
            Ok(parsed) => parsed.into_inner(),
            Err(_) => {
                let message = format!("`{number}` is not a number");
                let problem = Problem::error("layland::json::syntax", message);
                problems.push(problem.at(span, "here").help("write 12 or 1.5"));
                return None;
            }
        },
        Value::Null | Value::Omitted => {
            let problem = Problem::error("layland::json::null", "there is no value");
            let help = "leave the key out: it then has its default";
            problems.push(problem.at(span, "here").help(help));
            return None;
        }
        Value::List(items) => {
            let mut array = DeArray::new();
            for item in items {
                array.push(value(item, problems)?);
            }
            DeValue::Array(array)
        }
        Value::Object(members) => {
            let mut table = DeTable::new();
            for member in members {
                let span = member.key_span.clone();
                let key = Cow::Borrowed(member.key.as_str());
                if table.contains_key(key.as_ref()) {
                    let message = format!("`{key}` is given twice");
                    let problem = Problem::error("layland::taskset::duplicate_key", message);
                    problems.push(problem.at(span, "again").help("remove one of the two"));
                    return None;
                }
                let value = value(&member.value, problems)?;
                table.insert(Spanned::new(span, key), value);
            }
            DeValue::Table(table)
        }
    };
    Some(Spanned::new(span, of))
}

// ---------------------------------------------------------------------------------------------
// The fast ways
// ---------------------------------------------------------------------------------------------

/// The keys that generators write.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'t> {
    layland: u64,
    platform: PlatformKeys,
    #[serde(borrow)]
    task: Vec<TaskKeys<'t>>,
    #[serde(borrow)]
    provenance: Option<ProvenanceKeys<'t>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlatformKeys {
    cpus: u16,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskKeys<'t> {
    name: &'t str,
    period: &'t str,
    deadline: Option<&'t str>,
    wcet: &'t str,
    offset: Option<&'t str>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProvenanceKeys<'t> {
    generator: String,
    seed: u64,
    #[serde(borrow, default)]
    parameters: BTreeMap<&'t str, Cow<'t, str>>,
}

/// Returns the system of a line that has only these keys and no faults.
fn plain(text: &str) -> Option<System> {
    let line: Line<'_> = serde_json::from_str(text).ok()?;
    let cpus = usize::from(line.platform.cpus);
    if line.layland != taskset::VERSION as u64 || cpus == 0 || line.task.len() > MAX_TASKS {
        return None;
    }
    let mut tasks = Vec::with_capacity(line.task.len());
    for (rank, keys) in line.task.iter().enumerate() {
        let period: Duration = time(keys.period)?;
        let mut task = Task::implicit(keys.name, time::<Service>(keys.wcet)?, period);
        task.rank = rank as i64;
        if let Some(deadline) = keys.deadline {
            task.deadline = time(deadline)?;
        }
        if let Some(offset) = keys.offset {
            task.offset = time(offset)?;
        }
        tasks.push(task);
    }
    let mut system = System::new(cpus, tasks);
    system.provenance = line.provenance.map(|keys| Provenance {
        generator: keys.generator,
        seed: keys.seed,
        parameters: (keys.parameters.into_iter())
            .map(|(key, value)| (key.into(), value.into()))
            .collect(),
    });
    system.validate().is_empty().then_some(system)
}

fn time<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

/// Returns a system as one line of JSON, with its newline.
/// It reads back like [`to_toml`](crate::to_toml).
///
/// ```
/// use layland_config::to_line;
/// use layland_model::{Duration, Service, System, Task};
/// let task = Task::implicit("control", Service::from_ms(1), Duration::from_ms(5));
/// assert_eq!(
///     to_line(&System::new(2, vec![task])),
///     "{\"layland\":1,\"platform\":{\"cpus\":2},\
///      \"task\":[{\"name\":\"control\",\"period\":\"5ms\",\"wcet\":\"1ms\"}]}\n"
/// );
/// ```
pub fn to_line(system: &System) -> String {
    let mut line = if is_plain(system) {
        plain_line(system)
    } else {
        let text = taskset::to_toml(system);
        let mut line = String::with_capacity(text.len());
        // Our own output is valid TOML.
        if let Ok(document) = DeTable::parse(&text) {
            table_line(document.get_ref(), &mut line);
        }
        line
    };
    line.push('\n');
    line
}

/// Returns true if [`plain_line`] writes all parts of the system.
fn is_plain(system: &System) -> bool {
    let System {
        platform,
        levels,
        tasks,
        in_level: _,
        resources,
        groups,
        chains,
        requests,
        provenance: _,
        observed,
    } = system;
    let is_plain_task = |(at, task): (usize, &Task)| {
        let plain = Task {
            deadline: task.deadline,
            offset: task.offset,
            rank: at as i64,
            ..Task::implicit(task.name.clone(), task.own_wcet(), task.period)
        };
        *task == plain
    };
    *platform == Platform::identical(platform.cpu_count())
        && observed.is_none()
        && *levels == Levels::default()
        && resources.is_empty()
        && groups.is_empty()
        && chains.is_empty()
        && requests.is_empty()
        && tasks.values().enumerate().all(is_plain_task)
}

fn plain_line(system: &System) -> String {
    let mut line = String::with_capacity(64 * system.tasks.len() + 1024);
    // Writing to a string never fails.
    let _ = write!(
        line,
        "{{\"layland\":{},\"platform\":{{\"cpus\":{}}}",
        taskset::VERSION,
        system.platform.cpu_count()
    );
    for (at, task) in system.tasks.values().enumerate() {
        line += if at == 0 { ",\"task\":[{\"name\":" } else { ",{\"name\":" };
        quote(&task.name, &mut line);
        line += ",\"period\":\"";
        task.period.append_to(&mut line);
        if task.deadline != task.period {
            line += "\",\"deadline\":\"";
            task.deadline.append_to(&mut line);
        }
        line += "\",\"wcet\":\"";
        task.own_wcet().append_to(&mut line);
        if task.offset != Duration::ZERO {
            line += "\",\"offset\":\"";
            task.offset.append_to(&mut line);
        }
        line += "\"}";
    }
    if !system.tasks.is_empty() {
        line.push(']');
    }
    if let Some(Provenance { generator, seed, parameters }) = &system.provenance {
        line += ",\"provenance\":{\"generator\":";
        quote(generator, &mut line);
        match i64::try_from(*seed) {
            Ok(seed) => drop(write!(line, ",\"seed\":{seed}")),
            Err(_) => drop(write!(line, ",\"seed\":\"{seed}\"")),
        }
        for (at, (key, value)) in parameters.iter().enumerate() {
            line += if at == 0 { ",\"parameters\":{" } else { "," };
            quote(key, &mut line);
            line.push(':');
            quote(value, &mut line);
        }
        line += if parameters.is_empty() { "}" } else { "}}" };
    }
    line.push('}');
    line
}

fn table_line(table: &DeTable<'_>, line: &mut String) {
    // In the order of the text.
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    line.push('{');
    for (at, (key, value)) in entries.into_iter().enumerate() {
        if at > 0 {
            line.push(',');
        }
        quote(key.get_ref(), line);
        line.push(':');
        value_line(value.get_ref(), line);
    }
    line.push('}');
}

fn value_line(value: &DeValue<'_>, line: &mut String) {
    match value {
        DeValue::String(text) => quote(text, line),
        DeValue::Integer(number) => *line += number.as_str(),
        DeValue::Float(number) => *line += number.as_str(),
        DeValue::Boolean(value) => *line += if *value { "true" } else { "false" },
        DeValue::Datetime(date) => quote(&date.to_string(), line),
        DeValue::Array(items) => {
            line.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    line.push(',');
                }
                value_line(item.get_ref(), line);
            }
            line.push(']');
        }
        DeValue::Table(table) => table_line(table, line),
    }
}
