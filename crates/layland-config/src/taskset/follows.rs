//! The tasks that a task follows, by name. They may be anywhere in the file.

use super::Decoder;
use super::task::TaskTable;
use crate::document::{KeyValue, value_of};
use layland_model::{Index, Task, TaskId, nearest};
use std::collections::BTreeMap;
use toml::de::DeValue;

impl Decoder<'_, '_> {
    /// Sets the tasks that each task follows. `origin` has for each task the index of its table.
    ///
    /// A copy follows the copy of the same number, if there is one.
    pub(super) fn follow(
        &mut self,
        tables: &[TaskTable<'_>],
        tasks: &mut [Task],
        origin: &[(u32, bool)],
    ) {
        let entry_of = |table: u32| value_of(tables[table as usize].table, "follows");
        if !(0..tables.len()).any(|table| entry_of(table as u32).is_some()) {
            return;
        }
        let mut names: BTreeMap<String, TaskId> = BTreeMap::new();
        for (at, task) in tasks.iter().enumerate() {
            names.entry(task.name.to_string()).or_insert(TaskId::from_index(at));
        }
        for (at, &(table, is_copy)) in origin.iter().enumerate() {
            let Some(entry) = entry_of(table) else { continue };
            let has_count = value_of(tables[table as usize].table, "count").is_some();
            let copy =
                has_count.then(|| tasks[at].name.rsplit('.').next().unwrap_or_default().to_owned());
            if let Some(follows) = self.followed(&entry, &names, copy.as_deref(), is_copy) {
                tasks[at].follows = follows.into();
            }
        }
    }

    /// Returns the tasks of a list of names. Faults are reported only for the first copy.
    fn followed(
        &mut self,
        entry: &KeyValue<'_>,
        names: &BTreeMap<String, TaskId>,
        copy: Option<&str>,
        is_copy: bool,
    ) -> Option<Vec<TaskId>> {
        let elements = self.reader.list(entry, "[\"camera\"]")?;
        let mut follows = Vec::with_capacity(elements.len());
        for element in &elements {
            if is_copy && !matches!(element.value, DeValue::String(_)) {
                continue;
            }
            let Some(name) = self.reader.text(element, "camera") else { continue };
            let of_copy = copy.and_then(|copy| names.get(&format!("{name}.{copy}")));
            match of_copy.or_else(|| names.get(name)) {
                Some(&id) => follows.push(id),
                None if is_copy => {}
                None => {
                    let message = format!("there is no task `{name}`");
                    let near = if self.reader.problems.is_full() {
                        None
                    } else {
                        nearest(name, names.keys().map(String::as_str))
                    };
                    let help = match near {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => "name a task of this file".to_owned(),
                    };
                    let code = "layland::taskset::follows";
                    self.reader.error(code, element.span.clone(), message, "unknown task", help);
                }
            }
        }
        Some(follows)
    }
}
