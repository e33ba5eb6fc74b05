//! The titles of columns, as people write them: `C_i`, `T_i (ms)`, `Burst Time`, `$\tau$`,
//! `wcet.HI`.
//!
//! A title is a key of the task-set file or one of its other names ([`TaskKey::column`]), in any
//! case and with any signs between its words. A unit may follow it. Titles that could mean two
//! things are errors, since a guess could be wrong without being seen.

use crate::host::Unit;
use crate::keys::{TASK_KEYS, TaskKey, Value};

/// The meaning of a title.
#[derive(Clone, Copy)]
pub(crate) enum Meaning {
    /// A key of a task.
    Key(&'static TaskKey),
    /// The kind of a task: periodic or sporadic.
    Type,
    /// A share of a CPU, from which the execution time follows where no other column has it.
    Utilization,
    /// A column that does not count, with the reason or the alternative.
    Unused(&'static str),
    /// A title with several meanings, with what to write in its place.
    Unclear(&'static str),
    /// A column that changes what can be guaranteed, and that the model does not have.
    NotModelled(&'static NotModelled),
}

impl Meaning {
    /// Returns true for the column of this key.
    pub(crate) fn is_key(self, name: &str) -> bool {
        matches!(self, Meaning::Key(key) if key.name == name)
    }
}

/// A title that is known.
pub(super) struct Title {
    pub meaning: Meaning,
    /// The criticality level of an execution time.
    pub level: Option<String>,
    /// The unit of its numbers.
    pub unit: Option<&'static str>,
    /// True for a number in place of a name, as in `id`.
    pub is_number: bool,
}

/// Columns that do not count, each with the reason or the alternative.
const UNUSED: &[(&[&str], &str)] = &[
    (&["bcet"], "jobs may take less than the WCET: describe it with `exec` in a task-set file"),
    (&["acet"], "describe how long jobs take with `exec` in a task-set file"),
    (&["density"], "it follows from the WCET and the deadline"),
    (&["wcrt", "responsetime"], "`layland check` computes it"),
    (&["comment", "comments", "note", "notes", "description", "remark", "remarks"], "it is text"),
    (&[""], "it has no title"),
];

/// Titles of shares of a CPU.
const UTILIZATION: [&str; 7] = ["utilization", "utilisation", "util", "u", "ui", "ct", "citi"];

/// Titles with several meanings.
const UNCLEAR: &[(&[&str], &str)] = &[
    (&["p", "pi"], "write period or priority: `P` is both"),
    (
        &["r", "ri"],
        "write offset for the first release; response times are computed, so that a column of them goes",
    ),
];

/// Something that the model does not have. An answer without it would be about another system.
pub(crate) struct NotModelled {
    titles: &'static [&'static str],
    pub(crate) what: &'static str,
    pub(crate) help: &'static str,
}

const NOT_MODELLED: &[NotModelled] = &[
    NotModelled {
        titles: &[
            "component",
            "componentid",
            "group",
            "groupid",
            "container",
            "containerid",
            "vm",
            "vmid",
        ],
        what: "groups tasks under a reservation",
        help: "a table has no place for budgets: write a task-set file, with a [[group]] for each and `group` in its tasks",
    },
    NotModelled {
        titles: &["speed", "speedfactor", "cpuspeed", "corespeed"],
        what: "is a speed, and a table has no place for speeds",
        help: "write a task-set file: speed = { \"0-3\" = \"0.5\" } in its [platform]",
    },
    NotModelled {
        titles: &[
            "probability",
            "probabilities",
            "prob",
            "pr",
            "pmf",
            "distribution",
            "pdue",
            "pmiss",
            "pbenign",
            "pfail",
            "pfault",
            "faultprobability",
        ],
        what: "is a probability, and deadlines are guaranteed for all jobs or not at all",
        help: "for a guarantee that every job keeps its deadline, name the columns without it: --columns, with - in its place",
    },
];

/// Titles of columns of numbers that name tasks if no other column does.
const NUMBERS: [&str; 8] = ["id", "taskid", "processid", "pid", "no", "nr", "number", "index"];

/// Words in brackets that are not units, and say that the times have none.
const NO_UNITS: [&str; 6] = ["ticks", "tick", "units", "timeunits", "tu", "relative"];

/// The names of keys under which lists of tasks are found.
pub(crate) const LISTS: [&str; 9] = [
    "tasks",
    "taskset",
    "task_set",
    "task",
    "processes",
    "threads",
    "task_list",
    "workload",
    "jobs",
];

/// Returns the meaning of a title, if it is known.
pub(crate) fn meaning(title: &str) -> Option<Meaning> {
    read(title).map(|title| title.meaning)
}

/// Returns one text for titles with the same meaning: objects of one list may name the same
/// property differently.
pub(super) fn same(title: &str) -> String {
    match read(title) {
        Some(Title { meaning: Meaning::Key(key), level: None, unit: None, is_number: false }) => {
            key.name.to_owned()
        }
        Some(_) | None => title.to_owned(),
    }
}

/// Reads a title.
pub(super) fn read(title: &str) -> Option<Title> {
    // A megabyte in the first line is not a title.
    if title.len() > 200 {
        return None;
    }
    let title = title.trim().trim_matches(['*', '`', '_']).trim();
    // The names of levels are case-sensitive.
    if let Some((start, level)) = title.split_at_checked("wcet.".len())
        && start.eq_ignore_ascii_case("wcet.")
        && !level.is_empty()
    {
        let (level, unit) = match split_unit(level) {
            Some((level, unit)) => (level, Some(unit)),
            None => (level.to_owned(), None),
        };
        return Some(of_level(level, unit));
    }
    if let Some(found) = bare(&simple(title)) {
        return Some(found);
    }
    if let Some((rest, unit)) = split_unit(title) {
        return read(&rest).filter(Title::is_time).map(|found| Title { unit: Some(unit), ..found });
    }
    let (base, inner) = match title.strip_suffix([')', ']']) {
        Some(open) => open.rsplit_once(['(', '['])?,
        None => title.rsplit_once('_')?,
    };
    let found = bare(&simple(base))?;
    let is_same = |other: Title| match (found.meaning, other.meaning) {
        (Meaning::Key(a), Meaning::Key(b)) => a.name == b.name,
        _ => false,
    };
    let inner = inner.trim();
    if found.meaning.is_key("wcet") && ["lo", "hi"].contains(&&*inner.to_ascii_lowercase()) {
        return Some(of_level(inner.to_owned(), None));
    }
    let is_known = NO_UNITS.contains(&&*simple(inner)) || bare(&simple(inner)).is_some_and(is_same);
    is_known.then_some(found)
}

impl Title {
    /// Returns true if the cells below it are times.
    pub(super) fn is_time(&self) -> bool {
        matches!(self.meaning, Meaning::Key(key) if is_time(key))
    }
}

fn of_level(level: String, unit: Option<&'static str>) -> Title {
    let key = columns_of_tables().find(|key| key.name == "wcet");
    let meaning = key.map_or(Meaning::Type, Meaning::Key);
    Title { meaning, level: Some(level), unit, is_number: false }
}

/// Returns the meaning of a title without its unit, in its simple form.
fn bare(simple: &str) -> Option<Title> {
    let is_one_of = |titles: &[&str]| titles.contains(&simple);
    let of_key =
        |key: &&TaskKey| key.name.replace('_', "") == simple || key.column.is_some_and(is_one_of);
    let key = columns_of_tables().find(of_key).map(Meaning::Key);
    let unused = || UNUSED.iter().find(|(titles, _)| is_one_of(titles));
    let not_modelled = || NOT_MODELLED.iter().find(|column| is_one_of(column.titles));
    let unclear = || UNCLEAR.iter().find(|(titles, _)| is_one_of(titles));
    let meaning = key
        .or_else(|| is_one_of(&["type", "tasktype", "kind"]).then_some(Meaning::Type))
        .or_else(|| is_one_of(&UTILIZATION).then_some(Meaning::Utilization))
        .or_else(|| unused().map(|&(_, help)| Meaning::Unused(help)))
        .or_else(|| unclear().map(|&(_, help)| Meaning::Unclear(help)))
        .or_else(|| not_modelled().map(Meaning::NotModelled))?;
    Some(Title { meaning, level: None, unit: None, is_number: is_one_of(&NUMBERS) })
}

/// Iterates over the keys that tables have.
pub(super) fn columns_of_tables() -> impl Iterator<Item = &'static TaskKey> + Clone {
    TASK_KEYS.iter().filter(|key| key.column.is_some())
}

/// Returns true if the cells of a column are times.
pub(super) fn is_time(key: &TaskKey) -> bool {
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

/// Returns the letters and digits of a title in lower case: blanks, signs and commands of LaTeX are
/// only its look.
pub(crate) fn simple(title: &str) -> String {
    let mut out = String::new();
    let mut rest = title;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            // Of `\textbf{..}` and the like the content counts, and of `\tau` the name.
            '\\' => {
                let is_letter = |c: char| c.is_ascii_alphabetic();
                let length = rest.find(|c| !is_letter(c)).unwrap_or(rest.len());
                if rest[length..].starts_with('{') {
                    rest = &rest[length..];
                }
            }
            'τ' => out += "tau",
            'φ' | 'ϕ' => out += "phi",
            c if c.is_alphanumeric() => out.extend(c.to_lowercase()),
            _ => {}
        }
    }
    out
}

/// Splits a title and the unit at its end: `period_ms`, `Period (ms)`, `T [us]`, `C in ms`,
/// `wcetMs`.
fn split_unit(title: &str) -> Option<(String, &'static str)> {
    let title = title.trim();
    let (rest, word) = match title.strip_suffix([')', ']']) {
        Some(inner) => inner.rsplit_once(['(', '['])?,
        None => match title.rsplit_once(['_', ' ', '/', ',']) {
            Some(split) => split,
            None => {
                let at = title.len().checked_sub(2).filter(|&at| title.is_char_boundary(at))?;
                let (rest, word) = title.split_at(at);
                let is_camel = ["Ns", "Us", "Ms"].contains(&word)
                    && rest.ends_with(|c: char| c.is_ascii_lowercase());
                is_camel.then_some((rest, word))?
            }
        },
    };
    let unit = unit(word.trim())?;
    let rest = rest.trim().trim_end_matches(['_', '/', ',', '-']).trim_end();
    Some((rest.strip_suffix(" in").unwrap_or(rest).trim_end().to_owned(), unit))
}

/// Returns the unit that a word names.
fn unit(word: &str) -> Option<&'static str> {
    let word: String = word.chars().filter(|c| !"$\\{}.".contains(*c)).collect();
    let unit = match &*word.to_lowercase() {
        "ns" | "nsec" | "nsecs" | "nanos" | "nanoseconds" => Unit::Ns,
        "us" | "µs" | "μs" | "mus" | "mu s" | "usec" | "usecs" | "micros" | "microseconds" => {
            Unit::Us
        }
        "ms" | "msec" | "msecs" | "millis" | "milliseconds" => Unit::Ms,
        "s" | "sec" | "secs" | "seconds" => Unit::S,
        _ => return None,
    };
    Some(unit.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_known_as_people_write_them() {
        for (title, key, unit) in [
            ("Task", "name", None),
            ("$\\tau_i$", "name", None),
            ("τ", "name", None),
            ("Process", "name", None),
            ("C_i", "wcet", None),
            ("$C_i$", "wcet", None),
            ("$C_{i}$ (ms)", "wcet", Some("ms")),
            ("C_i (ms)", "wcet", Some("ms")),
            ("Ci", "wcet", None),
            ("Cost", "wcet", None),
            ("ET", "wcet", None),
            ("Burst", "wcet", None),
            ("Burst Time", "wcet", None),
            ("**CPU Burst [µs]**", "wcet", Some("us")),
            ("Worst-Case Execution Time (C)", "wcet", None),
            ("Execution Time (C) [ms]", "wcet", Some("ms")),
            ("\\textbf{WCET}", "wcet", None),
            ("wcetMs", "wcet", Some("ms")),
            ("T_i (ms)", "period", Some("ms")),
            ("Period in milliseconds", "period", Some("ms")),
            ("Period/us", "period", Some("us")),
            ("period_s", "period", Some("s")),
            ("T (ticks)", "period", None),
            ("D_i", "deadline", None),
            ("Relative Deadline", "deadline", None),
            ("Deadline (relative)", "deadline", None),
            ("Release time", "offset", None),
            ("Arrival", "offset", None),
            ("O", "offset", None),
            ("prio", "priority", None),
            ("Core", "affinity", None),
            ("on_miss", "on_miss", None),
        ] {
            let found = read(title).unwrap_or_else(|| panic!("`{title}` is not known"));
            assert!(found.meaning.is_key(key), "{title}");
            assert_eq!(found.unit, unit, "{title}");
        }
        for (title, level, unit) in [
            ("wcet.LO", "LO", None),
            ("wcet.HI_us", "HI", Some("us")),
            ("C(LO)", "LO", None),
            ("C_i(HI)", "HI", None),
            ("wcet_hi", "hi", None),
            ("C(HI) (ms)", "HI", Some("ms")),
        ] {
            let found = read(title).unwrap_or_else(|| panic!("`{title}` is not known"));
            assert_eq!((found.level.as_deref(), found.unit), (Some(level), unit), "{title}");
        }
        assert!(matches!(meaning("Type"), Some(Meaning::Type)));
        assert!(matches!(meaning("P"), Some(Meaning::Unclear(_))));
        assert!(matches!(meaning("C/T"), Some(Meaning::Utilization)));
        for title in ["colour", "name_ms", "period_h", "task_C_D", "the tasks"] {
            assert!(read(title).is_none(), "{title}");
        }
    }
}
