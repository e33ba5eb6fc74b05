//! TOML values with their places, read strictly: every fault becomes a problem.

use crate::cpus::Choice;
use crate::problem::{Problem, Problems, Span};
use layland_model::nearest;
use layland_model::{CpuId, CpuSet, Index, ParseTimeError, Rate};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::str::FromStr;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A key with its value.
#[derive(Clone, Debug)]
pub(super) struct Entry<'t> {
    /// The key, for messages.
    pub key: &'t str,
    /// The bytes of the key.
    pub key_span: Span,
    /// The bytes of the value.
    pub span: Span,
    /// The value.
    pub value: &'t DeValue<'t>,
}

/// The entry of a table, if it is there.
pub(super) fn entry<'t>(table: &'t DeTable<'t>, key: &str) -> Option<Entry<'t>> {
    table.get_key_value(key).map(|(key, value)| in_table(key, value))
}

/// The entry that a key and a value make.
pub(super) fn in_table<'t>(
    key: &'t Spanned<std::borrow::Cow<'t, str>>,
    value: &'t Spanned<DeValue<'t>>,
) -> Entry<'t> {
    Entry { key: key.get_ref(), key_span: key.span(), span: value.span(), value: value.get_ref() }
}

impl<'t> Entry<'t> {
    /// An element of a list, under the key of the list.
    pub(super) fn element(&self, value: &'t Spanned<DeValue<'t>>) -> Entry<'t> {
        Entry { span: value.span(), value: value.get_ref(), ..self.clone() }
    }
}

/// What a value is, in words.
fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a decimal number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Reads values; collects what is wrong with them.
pub(super) struct Reader<'p> {
    pub problems: &'p mut Problems,
}

impl Reader<'_> {
    /// Reports an error at a place.
    pub(super) fn error(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
        label: &str,
        help: impl Into<String>,
    ) {
        self.problems.push(Problem::error(code, message).at(span, label).help(help));
    }

    /// Reports a value of the wrong type.
    pub(super) fn wrong_type(&mut self, entry: &Entry<'_>, wanted: &str, help: impl Into<String>) {
        let message = format!("`{}` is {wanted}, not {}", entry.key, kind(entry.value));
        let label = format!("this is {}", kind(entry.value));
        self.error("layland::taskset::wrong_type", entry.span.clone(), message, &label, help);
    }

    /// Reports a key that is not there. The span is the table's.
    pub(super) fn missing(&mut self, span: Span, what: &str, key: &str, help: impl Into<String>) {
        let message = format!("{what} has no `{key}`");
        self.error("layland::taskset::missing", span, message, "here", help);
    }

    /// Reports every key of the table that is not in `known`.
    pub(super) fn only(&mut self, table: &DeTable<'_>, known: &[&str], what: &str) {
        if table.len() <= known.len() && table.keys().all(|key| known.contains(&&**key.get_ref())) {
            return;
        }
        for key in table.keys() {
            let name: &str = key.get_ref();
            if known.contains(&name) {
                continue;
            }
            if let Some((_, help)) = NOT_YET.iter().find(|(not_yet, _)| *not_yet == name) {
                let message = format!("`{name}` is not supported yet");
                let code = "layland::taskset::not_supported";
                self.error(code, key.span(), message, "not supported yet", *help);
                continue;
            }
            // The search takes its time: there may be millions of keys.
            let near =
                if self.problems.is_full() { None } else { nearest(name, known.iter().copied()) };
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None if known.is_empty() => "remove it".to_owned(),
                None => format!("{what} has: {}", known.join(", ")),
            };
            let message = format!("unknown key `{name}`");
            self.error("layland::taskset::unknown_key", key.span(), message, "unknown", help);
        }
    }

    pub(super) fn table<'t>(
        &mut self,
        entry: &Entry<'t>,
        example: &str,
    ) -> Option<&'t DeTable<'t>> {
        let table = entry.value.as_table();
        if table.is_none() {
            self.wrong_type(entry, "a table", format!("write {example}"));
        }
        table
    }

    /// The elements of a list.
    pub(super) fn list<'t>(&mut self, entry: &Entry<'t>, example: &str) -> Option<Vec<Entry<'t>>> {
        let DeValue::Array(list) = entry.value else {
            self.wrong_type(entry, "a list", format!("write {} = {example}", entry.key));
            return None;
        };
        Some(list.iter().map(|value| entry.element(value)).collect())
    }

    pub(super) fn text<'t>(&mut self, entry: &Entry<'t>, example: &str) -> Option<&'t str> {
        let DeValue::String(text) = entry.value else {
            self.wrong_type(entry, "a text", format!("write {} = \"{example}\"", entry.key));
            return None;
        };
        Some(text)
    }

    pub(super) fn boolean(&mut self, entry: &Entry<'_>) -> Option<bool> {
        let DeValue::Boolean(value) = entry.value else {
            self.wrong_type(entry, "true or false", format!("write {} = true", entry.key));
            return None;
        };
        Some(*value)
    }

    /// A whole number.
    pub(super) fn integer<T: TryFrom<i128>>(
        &mut self,
        entry: &Entry<'_>,
        range: RangeInclusive<i128>,
    ) -> Option<T> {
        let DeValue::Integer(number) = entry.value else {
            self.wrong_type(
                entry,
                "a whole number",
                format!("write {} = {}", entry.key, example(&range)),
            );
            return None;
        };
        let value = i128::from_str_radix(number.as_str(), number.radix()).ok();
        let value =
            value.filter(|value| range.contains(value)).and_then(|value| T::try_from(value).ok());
        if value.is_none() {
            let message = format!("`{}` is out of range", entry.key);
            let help = format!("it is at least {} and at most {}", range.start(), range.end());
            self.error(
                "layland::taskset::out_of_range",
                entry.span.clone(),
                message,
                "out of range",
                help,
            );
        }
        value
    }

    /// A time: a text with a unit.
    pub(super) fn time<T: FromStr<Err = ParseTimeError>>(
        &mut self,
        entry: &Entry<'_>,
    ) -> Option<T> {
        let bare = |number: &str| ParseTimeError::MissingUnit { number: number.to_owned() };
        let parsed = match entry.value {
            DeValue::String(text) => text.parse(),
            DeValue::Integer(number) => Err(bare(number.as_str())),
            DeValue::Float(number) => Err(bare(number.as_str())),
            DeValue::Boolean(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
                self.wrong_type(entry, "a time", "write a number with a unit, as in \"5ms\"");
                return None;
            }
        };
        parsed.map_err(|fault| self.problems.push(time_fault(&fault, entry))).ok()
    }

    /// A number that is kept exactly: a text.
    pub(super) fn rate(&mut self, entry: &Entry<'_>) -> Option<Rate> {
        let number = match entry.value {
            DeValue::String(text) => {
                let parsed = text.parse();
                return parsed
                    .map_err(|_| {
                        let message = format!("`{text}` is not a number");
                        let help = "write a decimal (\"0.75\") or a fraction (\"3/4\")";
                        self.error(
                            "layland::taskset::not_a_number",
                            entry.span.clone(),
                            message,
                            "not a number",
                            help,
                        );
                    })
                    .ok();
            }
            DeValue::Integer(number) => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            DeValue::Boolean(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
                "0.95"
            }
        };
        let help = format!("write \"{number}\" in quotes: so it is kept exactly");
        self.wrong_type(entry, "a text with a number", help);
        None
    }

    /// CPUs: a text, or a list of CPUs and texts.
    pub(super) fn cpus(
        &mut self,
        entry: &Entry<'_>,
        topology: &BTreeMap<String, Vec<CpuSet>>,
    ) -> Option<Choice> {
        const HELP: &str = "write \"0-3\", [0, 2], [\"0-1\", 3], \"all\", \"!7\" or \"l3:0\"";
        let mut choice = Choice::default();
        let mut ok = true;
        let elements = match entry.value {
            DeValue::String(_) => vec![entry.clone()],
            DeValue::Array(list) => list.iter().map(|value| entry.element(value)).collect(),
            DeValue::Integer(number) => {
                let help = format!("write {} = [{number}]", entry.key);
                self.wrong_type(entry, "a set of CPUs", help);
                return None;
            }
            DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Datetime(_) | DeValue::Table(_) => {
                self.wrong_type(entry, "a set of CPUs", HELP);
                return None;
            }
        };
        if elements.is_empty() {
            let message = format!("`{}` names no CPU", entry.key);
            self.error("layland::taskset::cpus", entry.span.clone(), message, "empty", HELP);
            return None;
        }
        for element in elements {
            match element.value {
                DeValue::String(text) => {
                    if let Err((message, help)) = choice.add(text, topology) {
                        let code = "layland::taskset::cpus";
                        self.error(code, element.span, message, "not a set of CPUs", help);
                        ok = false;
                    }
                }
                DeValue::Integer(_) => {
                    match self.integer::<u32>(&element, 0..=CpuSet::MAX_CPUS as i128 - 1) {
                        Some(cpu) => choice.add_cpu(CpuSet::single(CpuId(cpu))),
                        None => ok = false,
                    }
                }
                DeValue::Float(_)
                | DeValue::Boolean(_)
                | DeValue::Datetime(_)
                | DeValue::Array(_)
                | DeValue::Table(_) => {
                    self.wrong_type(&element, "a list of CPUs", HELP);
                    ok = false;
                }
            }
        }
        ok.then_some(choice)
    }

    /// CPUs that must exist, none of them relative to anything.
    pub(super) fn fixed_cpus(
        &mut self,
        entry: &Entry<'_>,
        topology: &BTreeMap<String, Vec<CpuSet>>,
        all: &CpuSet,
    ) -> Option<CpuSet> {
        let choice = self.cpus(entry, topology)?;
        let cpus = choice.of(all).unwrap_or_else(|| all.clone());
        self.exist(entry, &cpus.union(choice.excluded()), all).then_some(cpus)
    }

    /// Whether the CPUs exist; reports it if not.
    pub(super) fn exist(&mut self, entry: &Entry<'_>, cpus: &CpuSet, all: &CpuSet) -> bool {
        let outside = cpus.difference(all);
        if !outside.is_empty() {
            let message = format!("`{}` names CPU {outside}, which does not exist", entry.key);
            let help = format!("the CPUs are {all}");
            self.error("layland::taskset::cpus", entry.span.clone(), message, "no such CPU", help);
        }
        outside.is_empty()
    }
}

/// A number of the range that looks natural.
fn example(range: &RangeInclusive<i128>) -> i128 {
    if range.contains(&1) { 1 } else { *range.start() }
}

/// What is wrong with a time, at its place.
fn time_fault(fault: &ParseTimeError, entry: &Entry<'_>) -> Problem {
    let (code, label) = match fault {
        ParseTimeError::MissingUnit { .. } => ("layland::taskset::missing_unit", "a bare number"),
        ParseTimeError::UnknownUnit { .. } => ("layland::taskset::unknown_unit", "unknown unit"),
        ParseTimeError::NotANumber { .. } => ("layland::taskset::not_a_time", "not a time"),
        ParseTimeError::NotWhole { .. } => ("layland::taskset::not_whole", "not whole"),
        ParseTimeError::TooLarge { .. } => ("layland::taskset::too_large", "too long"),
    };
    let message = match fault {
        ParseTimeError::MissingUnit { .. } => format!("`{}`: {fault}", entry.key),
        ParseTimeError::UnknownUnit { .. }
        | ParseTimeError::NotANumber { .. }
        | ParseTimeError::NotWhole { .. }
        | ParseTimeError::TooLarge { .. } => fault.to_string(),
    };
    Problem::error(code, message).at(entry.span.clone(), label).help(fault.help())
}

/// Keys that are reserved, each with what to do without.
const NOT_YET: &[(&str, &str)] = &[
    ("command", "remove it: a task of a set is a synthetic load"),
    ("reserve", "remove it: the whole of every CPU is for the tasks"),
    ("policy", "remove it: name policies on the command line"),
    ("return", "remove it"),
];

/// The index of a CPU set's element, for tables with one entry per CPU.
pub(super) fn cpu_indices(set: &CpuSet) -> impl Iterator<Item = usize> + '_ {
    set.iter().map(Index::index)
}
