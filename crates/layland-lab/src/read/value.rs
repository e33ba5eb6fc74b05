//! Values of TOML with their places, read strictly: every fault becomes a problem.

use layland_config::{Problem, Problems, Span};
use layland_model::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A key with its value.
#[derive(Clone, Debug)]
pub struct Entry<'t> {
    pub key: &'t str,
    pub key_span: Span,
    pub span: Span,
    pub value: &'t DeValue<'t>,
}

/// The entry of a table, if it is there.
pub fn entry<'t>(table: &'t DeTable<'t>, key: &str) -> Option<Entry<'t>> {
    entries(table).find(|entry| entry.key == key)
}

/// The entries of a table in the order of the file.
pub fn entries<'t>(table: &'t DeTable<'t>) -> impl Iterator<Item = Entry<'t>> {
    let mut all: Vec<Entry<'t>> = table
        .iter()
        .map(|(key, value)| Entry {
            key: key.get_ref(),
            key_span: key.span(),
            span: value.span(),
            value: value.get_ref(),
        })
        .collect();
    all.sort_by_key(|entry| entry.key_span.start);
    all.into_iter()
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

/// A table of the document, what it is called, and its place.
#[derive(Clone, Debug)]
pub struct Section<'t> {
    pub what: String,
    pub span: Span,
    pub table: &'t DeTable<'t>,
}

/// Reads values; collects what is wrong with them.
pub struct Reader<'p> {
    pub problems: &'p mut Problems,
}

impl Reader<'_> {
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

    pub fn wrong_type(&mut self, entry: &Entry<'_>, wanted: &str, help: impl Into<String>) {
        let message = format!("`{}` is {wanted}, not {}", entry.key, kind(entry.value));
        let label = format!("this is {}", kind(entry.value));
        self.error("layland::lab::wrong_type", entry.span.clone(), message, &label, help);
    }

    /// A value that its place does not allow.
    pub fn invalid(
        &mut self,
        entry: &Entry<'_>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.error("layland::lab::invalid", entry.span.clone(), message, "here", help);
    }

    /// A name that does not exist.
    pub fn unknown<'n>(
        &mut self,
        entry: &Entry<'_>,
        what: &str,
        name: &str,
        known: impl Iterator<Item = &'n str> + Clone,
    ) {
        let help = match nearest(name, known.clone()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there is {}", known.collect::<Vec<_>>().join(", ")),
        };
        let message = format!("there is no {what} `{name}`");
        self.error("layland::lab::unknown_name", entry.span.clone(), message, "unknown", help);
    }

    /// Reports every key that is not known.
    pub fn only(&mut self, section: &Section<'_>, known: &[&str]) {
        for entry in entries(section.table) {
            if known.contains(&entry.key) {
                continue;
            }
            let help = match nearest(entry.key, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("{} has: {}", section.what, known.join(", ")),
            };
            let message = format!("unknown key `{}`", entry.key);
            self.error(
                "layland::lab::unknown_key",
                entry.key_span.clone(),
                message,
                "unknown",
                help,
            );
        }
    }

    /// The entry; reported if it is not there.
    pub fn required<'t>(
        &mut self,
        section: &Section<'t>,
        key: &str,
        example: &str,
    ) -> Option<Entry<'t>> {
        let found = entry(section.table, key);
        if found.is_none() {
            let message = format!("{} has no `{key}`", section.what);
            let help = format!("add {key} = {example}");
            self.error("layland::lab::missing", section.span.clone(), message, "here", help);
        }
        found
    }

    pub fn text<'t>(&mut self, entry: &Entry<'t>) -> Option<&'t str> {
        let DeValue::String(text) = entry.value else {
            self.wrong_type(entry, "a text", format!("write {} = \"..\"", entry.key));
            return None;
        };
        Some(text)
    }

    pub fn boolean(&mut self, entry: &Entry<'_>) -> Option<bool> {
        let DeValue::Boolean(value) = entry.value else {
            self.wrong_type(entry, "true or false", format!("write {} = true", entry.key));
            return None;
        };
        Some(*value)
    }

    /// A whole number of at least `least`.
    pub fn count(&mut self, entry: &Entry<'_>, least: u64) -> Option<u64> {
        let DeValue::Integer(number) = entry.value else {
            self.wrong_type(entry, "a whole number", format!("write {} = {least}", entry.key));
            return None;
        };
        let value = u64::from_str_radix(number.as_str(), number.radix()).ok();
        let value = value.filter(|value| (least..=i64::MAX as u64).contains(value));
        if value.is_none() {
            let message = format!("`{}` is out of range", entry.key);
            self.invalid(entry, message, format!("it is at least {least} and fits 63 bits"));
        }
        value
    }

    /// A number to draw with, or to compare with.
    pub fn number(&mut self, entry: &Entry<'_>) -> Option<f64> {
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

    /// The elements of a list, or the value itself.
    pub fn one_or_more<'t>(&mut self, entry: &Entry<'t>) -> Vec<Entry<'t>> {
        let DeValue::Array(list) = entry.value else { return vec![entry.clone()] };
        if list.is_empty() {
            self.invalid(entry, format!("`{}` is empty", entry.key), "leave it out, or fill it");
        }
        let element = |value: &'t Spanned<DeValue<'t>>| Entry {
            span: value.span(),
            value: value.get_ref(),
            ..entry.clone()
        };
        list.iter().map(element).collect()
    }

    /// The tables of a list of tables.
    pub fn sections<'t>(&mut self, top: &'t DeTable<'t>, key: &str) -> Vec<Section<'t>> {
        let Some(entry) = entry(top, key) else { return Vec::new() };
        let mut sections = Vec::new();
        for element in self.one_or_more(&entry) {
            match element.value {
                DeValue::Table(table) => sections.push(Section {
                    what: format!("this {key}"),
                    span: element.span,
                    table,
                }),
                _ => self.wrong_type(&element, "a table", format!("write [[{key}]]")),
            }
        }
        sections
    }

    /// Two numbers, the first below the second.
    pub fn interval(&mut self, entry: &Entry<'_>) -> Option<(f64, f64)> {
        let elements = match entry.value {
            DeValue::Array(list) if list.len() == 2 => self.one_or_more(entry),
            _ => {
                self.wrong_type(
                    entry,
                    "a list of two numbers",
                    format!("write {} = [0, 1]", entry.key),
                );
                return None;
            }
        };
        let (low, high) = (self.number(&elements[0])?, self.number(&elements[1])?);
        if low >= high {
            self.invalid(
                entry,
                format!("`{}` is empty", entry.key),
                "the first is the smaller one",
            );
            return None;
        }
        Some((low, high))
    }
}
