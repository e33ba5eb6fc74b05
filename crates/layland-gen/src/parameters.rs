//! Writes parameters as text for a [`Provenance`](layland_model::Provenance), and reads them back
//! without loss.

use crate::GenError;
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::sync::Arc;

#[derive(Default)]
pub(crate) struct Writer(pub(crate) BTreeMap<Arc<str>, Arc<str>>);

impl Writer {
    pub(crate) fn put(&mut self, name: &str, value: impl ToString) {
        let before = self.0.insert(name.into(), value.to_string().into());
        assert!(before.is_none(), "`{name}` is written once");
    }

    pub(crate) fn put_list<T: ToString>(&mut self, name: &str, values: &[T]) {
        let texts: Vec<String> = values.iter().map(T::to_string).collect();
        self.put(name, texts.join(" "));
    }
}

/// Reads parameters, those of a part by their names within it, and records which were read.
pub(crate) struct Reader<'a> {
    parameters: &'a BTreeMap<Arc<str>, Arc<str>>,
    read: BTreeSet<String>,
}

pub(crate) struct ParameterGroup<'r, 'a> {
    reader: &'r mut Reader<'a>,
    name: &'static str,
}

const HELP: &str = "take the provenance as the generator wrote it";

impl<'a> Reader<'a> {
    pub(crate) fn new(parameters: &'a BTreeMap<Arc<str>, Arc<str>>) -> Reader<'a> {
        Reader { parameters, read: BTreeSet::new() }
    }

    pub(crate) fn get<T: FromStr>(&mut self, name: &str) -> Result<T, GenError> {
        let text = self.text(name)?;
        text.parse().map_err(|_| self.invalid(name))
    }

    /// Reads a parameter, if it exists.
    pub(crate) fn find<T: FromStr>(&mut self, name: &str) -> Result<Option<T>, GenError> {
        if self.parameters.contains_key(name) { self.get(name).map(Some) } else { Ok(None) }
    }

    pub(crate) fn list<T: FromStr>(&mut self, name: &str) -> Result<Vec<T>, GenError> {
        let texts = self.text(name)?.split_whitespace();
        texts.map(|text| text.parse().map_err(|_| self.invalid(name))).collect()
    }

    pub(crate) fn part(&mut self, name: &'static str) -> ParameterGroup<'_, 'a> {
        ParameterGroup { reader: self, name }
    }

    pub(crate) fn invalid(&self, name: &str) -> GenError {
        let problem = "an invalid value of the parameter";
        GenError::Provenance { name: name.to_owned(), problem, help: HELP }
    }

    /// Checks that all parameters were read.
    pub(crate) fn finish(self) -> Result<(), GenError> {
        match self.parameters.keys().find(|name| !self.read.contains(&***name)) {
            None => Ok(()),
            Some(name) => {
                let problem = "an unknown parameter";
                Err(GenError::Provenance { name: name.to_string(), problem, help: HELP })
            }
        }
    }

    fn text(&mut self, name: &str) -> Result<&'a str, GenError> {
        let missing =
            || GenError::Provenance { name: name.to_owned(), problem: "no parameter", help: HELP };
        self.read.insert(name.to_owned());
        self.parameters.get(name).map(|text| &**text).ok_or_else(missing)
    }
}

impl ParameterGroup<'_, '_> {
    fn full(&self, name: &str) -> String {
        if name.is_empty() { self.name.to_owned() } else { format!("{}.{name}", self.name) }
    }
    pub(crate) fn get<T: FromStr>(&mut self, name: &str) -> Result<T, GenError> {
        let name = self.full(name);
        self.reader.get(&name)
    }
    pub(crate) fn list<T: FromStr>(&mut self, name: &str) -> Result<Vec<T>, GenError> {
        let name = self.full(name);
        self.reader.list(&name)
    }
    /// Reads a list of two values.
    pub(crate) fn pair<T: FromStr + Clone>(&mut self, name: &str) -> Result<(T, T), GenError> {
        match &self.list(name)?[..] {
            [one, other] => Ok((T::clone(one), T::clone(other))),
            _ => Err(self.invalid(name)),
        }
    }
    pub(crate) fn invalid(&self, name: &str) -> GenError {
        self.reader.invalid(&self.full(name))
    }
}
