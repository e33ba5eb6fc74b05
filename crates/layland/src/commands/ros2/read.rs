//! Parses the file of an executor from TOML. Every error has its line.

use layland_config::document::{Codes, KeyValue, Reader, Section, parse, value_of};
use layland_config::{Problems, Report};
use layland_model::{Duration, ParseTimeError, Time};
use layland_ros::{Arrivals, Callback, CallbackKind, Executor, ExecutorKind, Part, Supply, Timers};
use std::str::FromStr;

const CODES: Codes = Codes {
    missing: "layland::ros2::missing",
    unknown_key: "layland::ros2::unknown_key",
    wrong_type: "layland::ros2::wrong_type",
    out_of_range: "layland::ros2::out_of_range",
    invalid: "layland::ros2::invalid",
    unknown_name: "layland::ros2::unknown_name",
    reserved: &[],
    other_names: &[],
};

const EXECUTORS: [&str; 5] = ["default", "events-fifo", "events-edf", "events-fp", "multi"];

const KEYS: [&str; 12] = [
    "name",
    "kind",
    "wcet",
    "period",
    "offset",
    "jitter",
    "activations",
    "next",
    "group",
    "reentrant",
    "deadline",
    "priority",
];

/// Longer times are rejected, so that nothing overflows.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// Parses the executor that a file describes.
pub(super) fn read(name: &str, text: &str) -> Result<Executor, Report> {
    let mut problems = Problems::default();
    let document = parse(text, &mut problems);
    let top = document.get_ref();
    let mut reader = Reader::new(&mut problems, &CODES);
    reader.only(top, &["executor", "callback"], "the file");
    let whole = Section { what: "the file".to_owned(), span: 0..0, table: top };
    let entry = reader.required(&whole, "executor", "{ kind = \"default\" }");
    let kind = entry.as_ref().and_then(|entry| executor(&mut reader, entry));
    let sections = reader.sections(top, "callback");
    let callbacks = callbacks(&mut reader, &sections);
    let executor = match (kind, callbacks) {
        (Some((kind, supply)), Some(callbacks)) => {
            let executor = Executor::new(kind, callbacks).supplied(supply);
            for fault in executor.validate() {
                let span = match fault.part {
                    Part::Executor | Part::Supply | Part::Callbacks => {
                        entry.as_ref().map_or(0..0, |entry| entry.key_span.clone())
                    }
                    Part::Callback(at, key) => value_of(sections[at].table, key)
                        .map_or_else(|| sections[at].span.clone(), |entry| entry.span),
                };
                reader.error(CODES.invalid, span, fault.message, "here", fault.help);
            }
            Some(executor)
        }
        (None, _) | (_, None) => None,
    };
    match executor {
        Some(executor) if !problems.has_errors() => Ok(executor),
        Some(_) | None => Err(Report::new(name, text, problems)),
    }
}

fn executor(reader: &mut Reader<'_>, entry: &KeyValue<'_>) -> Option<(ExecutorKind, Supply)> {
    let table = reader.table(entry, "[executor]")?;
    reader.only(table, &["kind", "timers", "threads", "supply"], "[executor]");
    let section = Section { what: "[executor]".to_owned(), span: entry.key_span.clone(), table };
    let kind = reader.required(&section, "kind", "\"default\"")?;
    let name = reader.text(&kind, "default")?;
    let timers = match value_of(table, "timers") {
        None => Timers::Live,
        Some(entry) => match reader.text(&entry, "live")? {
            "live" => Timers::Live,
            "snapshot" => Timers::Snapshot,
            other => {
                reader.unknown(&entry, "rule for timers", other, ["live", "snapshot"].into_iter());
                return None;
            }
        },
    };
    let threads = value_of(table, "threads");
    let number: Option<usize> = match &threads {
        Some(entry) => Some(reader.integer(entry, 1..=1024)?),
        None => None,
    };
    if !EXECUTORS.contains(&name) {
        reader.unknown(&kind, "executor", name, EXECUTORS.into_iter());
        return None;
    }
    if let Some(entry) = threads.as_ref().filter(|_| name != "multi" && number != Some(1)) {
        let message = format!("an executor `{name}` has one thread");
        reader.invalid(entry, message, "remove `threads`, or write kind = \"multi\"");
        return None;
    }
    let chosen = match name {
        "default" => ExecutorKind::Default(timers),
        "events-fifo" => ExecutorKind::EventsFifo,
        "events-edf" => ExecutorKind::EventsEdf,
        "events-fp" => ExecutorKind::EventsFp,
        "multi" => {
            reader.required(&section, "threads", "2")?;
            ExecutorKind::Multi { timers, threads: number? }
        }
        _ => return None,
    };
    if let Some(entry) = value_of(table, "timers").filter(|_| chosen.timers().is_none()) {
        let message = format!("an executor `{name}` has no rule for timers");
        reader.invalid(&entry, message, "remove `timers`: all that is activated is in one queue");
        return None;
    }
    let supply = match value_of(table, "supply") {
        None => Supply::Always,
        Some(entry) => supply(reader, &entry)?,
    };
    Some((chosen, supply))
}

fn supply(reader: &mut Reader<'_>, entry: &KeyValue<'_>) -> Option<Supply> {
    if let Some(table) = entry.value.as_table() {
        reader.only(table, &["period", "budget"], "a supply");
        let section = Section { what: "the supply".to_owned(), span: entry.span.clone(), table };
        let mut length = |key: &str, example: &str| {
            let value = reader.required(&section, key, example)?;
            time::<Duration>(reader, &value)
        };
        let (period, budget) = (length("period", "\"10ms\""), length("budget", "\"6ms\""));
        return Some(Supply::Server { period: period?, budget: budget? });
    }
    let example = "{ period = \"10ms\", budget = \"6ms\" }";
    let mut intervals = Vec::new();
    for pair in reader.list(entry, example)? {
        let ends = reader.list(&pair, "[[\"0ms\", \"4ms\"]]")?;
        let [start, end] = &ends[..] else {
            reader.invalid(
                &pair,
                "an interval of the supply has a start and an end",
                "write two times",
            );
            return None;
        };
        intervals.push((time::<Time>(reader, start)?, time::<Time>(reader, end)?));
    }
    Some(Supply::Intervals(intervals))
}

trait Bounded {
    fn length(&self) -> Duration;
}

impl Bounded for Duration {
    fn length(&self) -> Duration {
        *self
    }
}

impl Bounded for Time {
    fn length(&self) -> Duration {
        self.since_start()
    }
}

/// Parses a time in quotes, at most a year.
fn time<T: FromStr<Err = ParseTimeError> + Bounded>(
    reader: &mut Reader<'_>,
    entry: &KeyValue<'_>,
) -> Option<T> {
    let text = reader.text(entry, "10ms")?;
    match text.parse::<T>() {
        Ok(time) if time.length() <= LONGEST => Some(time),
        Ok(_) => {
            reader.invalid(
                entry,
                format!("`{}` is longer than a year", entry.key),
                "write a shorter time",
            );
            None
        }
        Err(error) => {
            reader.invalid(entry, format!("`{}`: {error}", entry.key), error.help());
            None
        }
    }
}

/// Parses the time of a key, if the key is present. The outer `None` means that it is wrong.
fn optional<T>(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    key: &str,
    read: impl FnOnce(&mut Reader<'_>, &KeyValue<'_>) -> Option<T>,
) -> Option<Option<T>> {
    match value_of(section.table, key) {
        None => Some(None),
        Some(entry) => read(reader, &entry).map(Some),
    }
}

/// Parses the callbacks. Returns `None` if one of them cannot be read.
fn callbacks(reader: &mut Reader<'_>, sections: &[Section<'_>]) -> Option<Vec<Callback>> {
    let names: Vec<&str> = sections
        .iter()
        .map(|section| value_of(section.table, "name").and_then(|entry| entry.value.as_str()))
        .map(Option::unwrap_or_default)
        .collect();
    let mut groups: Vec<String> = Vec::new();
    let all: Vec<Option<Callback>> =
        sections.iter().map(|section| callback(reader, section, &names, &mut groups)).collect();
    all.into_iter().collect()
}

fn callback(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    names: &[&str],
    groups: &mut Vec<String>,
) -> Option<Callback> {
    reader.only(section.table, &KEYS, &section.what);
    let name = reader.required(section, "name", "\"lidar\"");
    let name = name.and_then(|entry| reader.text(&entry, "lidar"));
    let kind = reader.required(section, "kind", "\"subscription\"").and_then(|entry| {
        let text = reader.text(&entry, "subscription")?;
        let found = CallbackKind::ALL.into_iter().find(|kind| kind.name() == text);
        if found.is_none() {
            let known = CallbackKind::ALL.into_iter().map(CallbackKind::name);
            reader.unknown(&entry, "kind of callback", text, known);
        }
        found
    });
    let wcet = reader.required(section, "wcet", "\"2ms\"");
    let wcet = wcet.and_then(|entry| time::<Duration>(reader, &entry));
    let [period, offset, jitter, deadline] = ["period", "offset", "jitter", "deadline"]
        .map(|key| optional(reader, section, key, time::<Duration>));
    let listed = optional(reader, section, "activations", |reader, entry| {
        let all = reader.list(entry, "[\"0ms\", \"8ms\"]")?;
        all.iter().map(|one| time::<Time>(reader, one)).collect::<Option<Vec<Time>>>()
    });
    let next = optional(reader, section, "next", |reader, entry| {
        let mut next = Vec::new();
        for one in reader.one_or_more(entry) {
            let name = reader.text(&one, "filter")?;
            match names.iter().position(|&other| other == name) {
                Some(at) => next.push(at),
                None => {
                    reader.unknown(&one, "callback", name, names.iter().copied());
                    return None;
                }
            }
        }
        Some(next)
    });
    let group = optional(reader, section, "group", |reader, entry| {
        let name = reader.text(entry, "sensors")?;
        let known = groups.iter().position(|group| group == name);
        Some(known.unwrap_or_else(|| {
            groups.push(name.to_owned());
            groups.len() - 1
        }))
    });
    let reentrant = optional(reader, section, "reentrant", |reader, entry| reader.boolean(entry));
    let priority = optional(reader, section, "priority", |reader, entry| {
        reader.integer::<i64>(entry, -1_000_000..=1_000_000)
    });
    let (period, listed) = (period?, listed?);
    for (key, value) in [("offset", &offset), ("jitter", &jitter)] {
        if period.is_none() && matches!(value, Some(Some(_))) {
            let entry = value_of(section.table, key)?;
            let message = format!("`{key}` without `period`");
            reader.invalid(&entry, message, "add period = \"10ms\", or remove it");
            return None;
        }
    }
    let arrivals = match (period, listed) {
        (Some(_), Some(_)) => {
            let entry = value_of(section.table, "activations")?;
            let message = "`period` and `activations` at once";
            reader.invalid(&entry, message, "remove one of the two");
            return None;
        }
        (Some(period), None) => {
            let [offset, jitter] = [offset?, jitter?].map(Option::unwrap_or_default);
            Some(Arrivals::Periodic { period, offset, jitter })
        }
        (None, Some(all)) => Some(Arrivals::Listed(all)),
        (None, None) => None,
    };
    Some(Callback {
        arrivals,
        group: group?,
        reentrant: reentrant?.unwrap_or_default(),
        deadline: deadline?,
        priority: priority?,
        ..Callback::new(name?, kind?, wcet?.at_unit_speed()).then(next?.unwrap_or_default())
    })
}
