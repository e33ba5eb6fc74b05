//! The `[[chain]]` tables: cause-effect chains, whose tasks may be anywhere in the file.

use super::Decoder;
use crate::document::{KeyValue, value_of};
use crate::problem::Span;
use layland_model::{Chain, Communication, Duration, Index, Task, TaskId, nearest};
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

pub(crate) const CHAIN: &[&str] = &["name", "tasks", "communication", "max_reaction", "max_age"];

const TASKS: &str = "[\"camera\", \"brake\"]";

impl Decoder<'_, '_> {
    /// Reads every valid `[[chain]]`, with the span of its tasks.
    pub(super) fn chains<'t>(
        &mut self,
        top: &'t DeTable<'t>,
        tasks: &[Task],
    ) -> (Vec<Chain>, Vec<Span>) {
        let Some(section) = value_of(top, "chain") else { return Default::default() };
        if let DeValue::Table(_) = section.value {
            let help = "write [[chain]], with two brackets, before each chain";
            self.reader.wrong_type(&section, "a list of tables", help);
            return Default::default();
        }
        let mut names: BTreeMap<&str, TaskId> = BTreeMap::new();
        for (at, task) in tasks.iter().enumerate() {
            names.entry(&task.name).or_insert(TaskId::from_index(at));
        }
        let (mut chains, mut spans) = (Vec::new(), Vec::new());
        for element in self.reader.list(&section, "[]").unwrap_or_default() {
            if let Some((chain, span)) = self.chain(&element, &names) {
                chains.push(chain);
                spans.push(span);
            }
        }
        (chains, spans)
    }

    /// Reads a table; returns `None` after reporting a fault.
    fn chain(
        &mut self,
        element: &KeyValue<'_>,
        names: &BTreeMap<&str, TaskId>,
    ) -> Option<(Chain, Span)> {
        let table = self.reader.table(element, "[[chain]] before each chain")?;
        self.reader.only(table, CHAIN, "a chain");
        let name = match value_of(table, "name") {
            Some(entry) => self.reader.text(&entry, "brake").map(str::to_owned),
            None => {
                let help = "name it: name = \"brake\"";
                self.reader.missing(element.span.clone(), "a chain", "name", help);
                None
            }
        };
        let communication = match value_of(table, "communication") {
            Some(entry) => self.communication(&entry),
            None => Some(Communication::default()),
        };
        let max_reaction = self.constraint(table, "max_reaction");
        let max_age = self.constraint(table, "max_age");
        let Some(entry) = value_of(table, "tasks") else {
            let help = format!("name them in order: tasks = {TASKS}");
            self.reader.missing(element.span.clone(), "a chain", "tasks", help);
            return None;
        };
        let tasks = self.chained(&entry, names)?.into();
        let (name, communication) = (name?, communication?);
        let (max_reaction, max_age) = (max_reaction?, max_age?);
        Some((Chain { name, tasks, communication, max_reaction, max_age }, entry.span))
    }

    /// Reads the time of a key that may be left out; returns `None` after reporting a fault.
    fn constraint(&mut self, table: &DeTable<'_>, key: &str) -> Option<Option<Duration>> {
        match value_of(table, key) {
            Some(entry) => self.reader.time(&entry).map(Some),
            None => Some(None),
        }
    }

    fn communication(&mut self, entry: &KeyValue<'_>) -> Option<Communication> {
        let name = self.reader.text(entry, "let")?;
        let found = Communication::find(name);
        if found.is_none() {
            let names = Communication::ALL.iter().map(|way| way.name());
            self.reader.unknown(entry, "way to hand data on", name, names);
        }
        found
    }

    /// Returns the tasks of a list of names, if each exists.
    fn chained(
        &mut self,
        entry: &KeyValue<'_>,
        names: &BTreeMap<&str, TaskId>,
    ) -> Option<Vec<TaskId>> {
        let elements = self.reader.list(entry, TASKS)?;
        let mut tasks = Some(Vec::with_capacity(elements.len()));
        for element in &elements {
            let Some(name) = self.reader.text(element, "camera") else {
                tasks = None;
                continue;
            };
            if let Some(&id) = names.get(name) {
                tasks.iter_mut().for_each(|tasks| tasks.push(id));
                continue;
            }
            tasks = None;
            let near = if self.reader.problems.is_full() {
                None
            } else {
                nearest(name, names.keys().copied())
            };
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "name a task of this file".to_owned(),
            };
            let message = format!("there is no task `{name}`");
            let code = "layland::taskset::chain";
            self.reader.error(code, element.span.clone(), message, "unknown task", help);
        }
        tasks
    }
}
