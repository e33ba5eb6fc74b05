//! A TOML document whose keys and values have their
//! positions, read strictly: every fault is reported.
//!
//! [`parse`] returns the document. A [`Reader`] then extracts typed values from it. If a value has
//! the wrong type, a number is out of range, or a key is missing or unknown, it reports the
//! position and continues, so that one pass finds every fault.
//!
//! ```
//! use layland_config::document::{Codes, Reader, Section, parse};
//! use layland_config::{Problems, Report};
//!
//! const CODES: Codes = Codes {
//!     missing: "robot::missing",
//!     unknown_key: "robot::unknown_key",
//!     wrong_type: "robot::wrong_type",
//!     out_of_range: "robot::out_of_range",
//!     invalid: "robot::invalid",
//!     unknown_name: "robot::unknown_name",
//!     reserved: &[],
//!     other_names: &[("hands", "arms")],
//! };
//! let text = "arms = 0\nlges = 2\n";
//! let mut problems = Problems::default();
//! let document = parse(text, &mut problems);
//! let robot = Section { what: "the robot".to_owned(), span: 0..0, table: document.get_ref() };
//! let mut reader = Reader::new(&mut problems, &CODES);
//! reader.only(robot.table, &["arms", "legs"], &robot.what);
//! let arms = reader.required(&robot, "arms", "2").and_then(|arms| reader.integer::<u8>(&arms, 1..=8));
//! assert_eq!(arms, None);
//! let report = Report::new("robot.toml", text, problems).plain();
//! assert!(report.contains("robot.toml:1:8: error: `arms` is out of range [robot::out_of_range]"));
//! assert!(report.contains("robot.toml:2:1: error: unknown key `lges` [robot::unknown_key]"));
//! assert!(report.contains("did you mean `legs`?"));
//! ```

use crate::problem::{Problem, Problems, Span};
use layland_model::{Duration, nearest};
use std::borrow::Cow;
use std::ops::RangeInclusive;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The code of the error of a second [task].
pub(crate) const BRACKETS: &str = "layland::taskset::brackets";

/// In longer texts the parser reports only the first TOML fault.
const RECOVERABLE: usize = 1 << 20;

/// Parses a TOML document with the positions of its keys and values; adds its faults to `problems`.
pub fn parse<'t>(text: &'t str, problems: &mut Problems) -> Spanned<DeTable<'t>> {
    let (document, faults) = parse_with_faults(text);
    faults.iter().for_each(|fault| problems.push(syntax(fault, text)));
    document
}

/// Returns the readable part of a text, and every TOML
/// fault in it unless the text is too long for that.
pub(crate) fn parse_with_faults(text: &str) -> (Spanned<DeTable<'_>>, Vec<toml::de::Error>) {
    match DeTable::parse(text) {
        Ok(document) => (document, Vec::new()),
        Err(_) if text.len() <= RECOVERABLE => DeTable::parse_recoverable(text),
        Err(first) => (DeTable::parse_recoverable("").0, vec![first]),
    }
}

/// Converts a TOML fault to a problem.
pub(crate) fn syntax(fault: &toml::de::Error, text: &str) -> Problem {
    let span = fault.span().unwrap_or(0..0);
    let word = text.get(span.clone()).unwrap_or_default();
    // The library distinguishes its faults only by their messages; a test checks this one.
    if fault.message() == "duplicate key" {
        // Both tables [task] are complete, so neither should be removed.
        if word == "task" && text[..span.start].trim_end().ends_with('[') {
            let message = "two tables are called `task`";
            let problem = Problem::error(BRACKETS, message);
            let help = "write [[task]], with two brackets, before each task";
            return problem.at(span, "one pair of brackets").help(help);
        }
        let message = format!("`{word}` is given twice");
        let problem = Problem::error("layland::taskset::duplicate_key", message);
        return problem.at(span, "again").help("remove one of the two");
    }
    let mut problem =
        Problem::error("layland::toml::syntax", format!("not TOML: {}", fault.message()));
    if fault.span().is_some() {
        problem = problem.at(span.clone(), "here");
    }
    let before = text.get(..span.start).unwrap_or_default();
    let after = &text[before.len()..];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let start = before.rfind(['=', '[', ',', '\n']).map_or(0, |at| at + 1);
    let end = before.len() + after.find(['\n', ',', ']', '}', '#']).unwrap_or(after.len());
    let value = text[start..end].trim();
    if value.len() < 40 && value.parse::<Duration>().is_ok() {
        problem.help(format!("a time is written in quotes: \"{value}\""))
    } else if is_deep(before) {
        problem.help("lists and tables are nested too deep: is a bracket left open?")
    } else if text[line_start..].starts_with('[') {
        problem.help("write [platform] or [[task]] on a line of its own, with all brackets")
    } else {
        problem.help("a value is \"text\", 12, true, [ .. ] or { key = .. }")
    }
}

/// Returns true if more brackets are open at the end of a text than any valid file has.
fn is_deep(before: &str) -> bool {
    let count = |brackets: [char; 2]| before.matches(brackets).count();
    count(['[', '{']) > count([']', '}']) + 40
}

/// A key and its value.
#[derive(Clone, Debug)]
pub struct KeyValue<'t> {
    /// The key, for messages.
    pub key: &'t str,
    /// The bytes of the key.
    pub key_span: Span,
    /// The bytes of the value.
    pub span: Span,
    /// The value.
    pub value: &'t DeValue<'t>,
}

impl<'t> KeyValue<'t> {
    /// Returns a key and its value as parsed.
    pub fn new(key: &'t Spanned<Cow<'t, str>>, value: &'t Spanned<DeValue<'t>>) -> KeyValue<'t> {
        let (span, value) = (value.span(), value.get_ref());
        KeyValue { key: key.get_ref(), key_span: key.span(), span, value }
    }

    /// Returns an element of a list, under the key of the list.
    #[must_use]
    pub fn element(&self, value: &'t Spanned<DeValue<'t>>) -> KeyValue<'t> {
        KeyValue { span: value.span(), value: value.get_ref(), ..self.clone() }
    }
}

/// Returns the value of a key, if the table contains the key.
pub fn value_of<'t>(table: &'t DeTable<'t>, key: &str) -> Option<KeyValue<'t>> {
    table.get_key_value(key).map(|(key, value)| KeyValue::new(key, value))
}

/// Returns the keys of a table and their values, in the order of the file.
pub fn in_file_order<'t>(table: &'t DeTable<'t>) -> Vec<KeyValue<'t>> {
    let mut all: Vec<_> = table.iter().map(|(key, value)| KeyValue::new(key, value)).collect();
    all.sort_by_key(|one| one.key_span.start);
    all
}

/// Returns the type of a value, in words.
fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a decimal number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// A table of the document, with its name in messages and its position.
#[derive(Clone, Debug)]
pub struct Section<'t> {
    /// Its name in messages.
    pub what: String,
    /// The bytes to which messages about the table point.
    pub span: Span,
    /// The table.
    pub table: &'t DeTable<'t>,
}

/// The codes of the problems that are common to all TOML formats.
#[derive(Clone, Copy, Debug)]
pub struct Codes {
    /// A key is missing.
    pub missing: &'static str,
    /// A key does not exist in this format.
    pub unknown_key: &'static str,
    /// A value has the wrong type.
    pub wrong_type: &'static str,
    /// A number is too small or too large.
    pub out_of_range: &'static str,
    /// A value has the right type, but is not valid.
    pub invalid: &'static str,
    /// A name does not exist.
    pub unknown_name: &'static str,
    /// Keys that are rejected with an explanation of their own.
    pub reserved: &'static [Reserved],
    /// Other names of keys, as other formats and papers have them, with the keys that they mean.
    pub other_names: &'static [(&'static str, &'static str)],
}

/// A key that is reserved for later versions of a format.
#[derive(Clone, Copy, Debug)]
pub struct Reserved {
    /// The key.
    pub key: &'static str,
    /// The code of the problem.
    pub code: &'static str,
    /// The alternative to suggest.
    pub help: &'static str,
}

/// Extracts values from a document and collects their faults.
pub struct Reader<'p> {
    /// The faults so far.
    pub problems: &'p mut Problems,
    codes: &'static Codes,
}

impl<'p> Reader<'p> {
    /// Returns a reader that reports problems with these codes.
    pub fn new(problems: &'p mut Problems, codes: &'static Codes) -> Reader<'p> {
        Reader { problems, codes }
    }

    /// Reports an error at a position.
    pub fn error(
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
    pub fn wrong_type(&mut self, entry: &KeyValue<'_>, wanted: &str, help: impl Into<String>) {
        let message = format!("`{}` is {wanted}, not {}", entry.key, kind(entry.value));
        let label = format!("this is {}", kind(entry.value));
        self.error(self.codes.wrong_type, entry.span.clone(), message, &label, help);
    }

    /// Reports a value that is not valid.
    pub fn invalid(
        &mut self,
        entry: &KeyValue<'_>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.error(self.codes.invalid, entry.span.clone(), message, "here", help);
    }

    /// Reports a missing key. The span is that of the table.
    pub fn missing(&mut self, span: Span, what: &str, key: &str, help: impl Into<String>) {
        let message = format!("{what} has no `{key}`");
        self.error(self.codes.missing, span, message, "here", help);
    }

    /// Reports a name that does not exist.
    pub fn unknown<'n>(
        &mut self,
        entry: &KeyValue<'_>,
        what: &str,
        name: &str,
        known: impl Iterator<Item = &'n str> + Clone,
    ) {
        let help = match nearest(name, known.clone()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there is {}", known.collect::<Vec<_>>().join(", ")),
        };
        let message = format!("there is no {what} `{name}`");
        self.error(self.codes.unknown_name, entry.span.clone(), message, "unknown", help);
    }

    /// Reports every key of the table that is not in `known`.
    pub fn only(&mut self, table: &DeTable<'_>, known: &[&str], what: &str) {
        for key in table.keys() {
            let name: &str = key.get_ref();
            if known.contains(&name) {
                continue;
            }
            if let Some(reserved) = self.codes.reserved.iter().find(|one| one.key == name) {
                let message = format!("`{name}` is not supported yet");
                self.error(reserved.code, key.span(), message, "not supported yet", reserved.help);
                continue;
            }
            // The search is slow, and a file can have millions of unknown keys.
            let near =
                if self.problems.is_full() { None } else { nearest(name, known.iter().copied()) };
            let mut others = self.codes.other_names.iter();
            let meant = others.find(|(other, key)| *other == name && known.contains(key));
            let help = match meant.map(|(_, key)| *key).or(near) {
                Some(near) => format!("did you mean `{near}`?"),
                None if known.is_empty() => "remove it".to_owned(),
                None => format!("{what} has: {}", known.join(", ")),
            };
            let message = format!("unknown key `{name}`");
            self.error(self.codes.unknown_key, key.span(), message, "unknown", help);
        }
    }

    /// Returns the value of a required key.
    pub fn required<'t>(
        &mut self,
        section: &Section<'t>,
        key: &str,
        example: &str,
    ) -> Option<KeyValue<'t>> {
        let found = value_of(section.table, key);
        if found.is_none() {
            let help = format!("add {key} = {example}");
            self.missing(section.span.clone(), &section.what, key, help);
        }
        found
    }

    /// Returns the value as a table.
    pub fn table<'t>(&mut self, entry: &KeyValue<'t>, example: &str) -> Option<&'t DeTable<'t>> {
        let table = entry.value.as_table();
        if table.is_none() {
            self.wrong_type(entry, "a table", format!("write {example}"));
        }
        table
    }

    /// Returns the elements of a list.
    pub fn list<'t>(&mut self, entry: &KeyValue<'t>, example: &str) -> Option<Vec<KeyValue<'t>>> {
        let DeValue::Array(list) = entry.value else {
            self.wrong_type(entry, "a list", format!("write {} = {example}", entry.key));
            return None;
        };
        Some(list.iter().map(|value| entry.element(value)).collect())
    }

    /// Returns the elements of a list that is not empty, or the value itself.
    pub fn one_or_more<'t>(&mut self, entry: &KeyValue<'t>) -> Vec<KeyValue<'t>> {
        let DeValue::Array(list) = entry.value else { return vec![entry.clone()] };
        if list.is_empty() {
            self.invalid(entry, format!("`{}` is empty", entry.key), "leave it out, or fill it");
        }
        list.iter().map(|value| entry.element(value)).collect()
    }

    /// Returns the tables of a list of tables.
    pub fn sections<'t>(&mut self, top: &'t DeTable<'t>, key: &str) -> Vec<Section<'t>> {
        let Some(entry) = value_of(top, key) else { return Vec::new() };
        let mut sections = Vec::new();
        for element in self.one_or_more(&entry) {
            if let Some(table) = self.table(&element, &format!("[[{key}]]")) {
                sections.push(Section { what: format!("this {key}"), span: element.span, table });
            }
        }
        sections
    }

    /// Returns the value as a string.
    pub fn text<'t>(&mut self, entry: &KeyValue<'t>, example: &str) -> Option<&'t str> {
        let DeValue::String(text) = entry.value else {
            self.wrong_type(entry, "a string", format!("write {} = \"{example}\"", entry.key));
            return None;
        };
        Some(text)
    }

    /// Returns the value as a Boolean.
    pub fn boolean(&mut self, entry: &KeyValue<'_>) -> Option<bool> {
        let DeValue::Boolean(value) = entry.value else {
            self.wrong_type(entry, "true or false", format!("write {} = true", entry.key));
            return None;
        };
        Some(*value)
    }

    /// Returns the value as a whole number.
    pub fn integer<T: TryFrom<i128>>(
        &mut self,
        entry: &KeyValue<'_>,
        range: RangeInclusive<i128>,
    ) -> Option<T> {
        let DeValue::Integer(number) = entry.value else {
            let help = format!("write {} = {}", entry.key, example(&range));
            self.wrong_type(entry, "a whole number", help);
            return None;
        };
        let value = i128::from_str_radix(number.as_str(), number.radix()).ok();
        let value =
            value.filter(|value| range.contains(value)).and_then(|value| T::try_from(value).ok());
        if value.is_none() {
            let message = format!("`{}` is out of range", entry.key);
            let help = format!("it is at least {} and at most {}", range.start(), range.end());
            let (code, span) = (self.codes.out_of_range, entry.span.clone());
            self.error(code, span, message, "out of range", help);
        }
        value
    }

    /// Returns a number that is drawn with or compared with; the value is not exact.
    pub fn number(&mut self, entry: &KeyValue<'_>) -> Option<f64> {
        let value = match entry.value {
            DeValue::Integer(number) => number.as_str().parse().ok(),
            DeValue::Float(number) => number.as_str().parse().ok(),
            DeValue::String(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Array(_)
            | DeValue::Table(_) => {
                self.wrong_type(entry, "a number", format!("write {} = 0.5", entry.key));
                return None;
            }
        };
        let value = value.filter(|value: &f64| value.is_finite());
        if value.is_none() {
            self.invalid(entry, format!("`{}` is not a number", entry.key), "write it as 0.001");
        }
        value
    }

    /// Returns two numbers, the first below the second.
    pub fn interval(&mut self, entry: &KeyValue<'_>) -> Option<(f64, f64)> {
        let elements = match entry.value {
            DeValue::Array(list) if list.len() == 2 => self.one_or_more(entry),
            DeValue::Array(_)
            | DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_)
            | DeValue::Table(_) => {
                let help = format!("write {} = [0, 1]", entry.key);
                self.wrong_type(entry, "a list of two numbers", help);
                return None;
            }
        };
        let (low, high) = (self.number(&elements[0])?, self.number(&elements[1])?);
        if low >= high {
            let message = format!("`{}` is empty", entry.key);
            self.invalid(entry, message, "write the smaller number first");
            return None;
        }
        Some((low, high))
    }
}

/// Returns a plausible number in the range.
fn example(range: &RangeInclusive<i128>) -> i128 {
    if range.contains(&1) { 1 } else { *range.start() }
}
