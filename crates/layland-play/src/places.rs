//! Where the values of a task-set file stand, so that a page can replace one and keep the rest as it is.

use crate::problem::Units;
use layland_config::Problems;
use layland_config::document::{parse, value_of};
use serde_json::{Map, Value, json};
use toml::de::{DeTable, DeValue};

/// The keys whose places a page is told.
const KEYS: [&str; 9] =
    ["name", "wcet", "period", "deadline", "offset", "affinity", "cluster", "criticality", "count"];

/// Of each task in the order of the system: its places, and how many tasks are at them.
pub(crate) struct Places {
    /// A table, and how many tasks it makes.
    tables: Vec<(Value, usize)>,
    /// The value of `cpus`.
    pub cpus: Option<Value>,
}

impl Places {
    /// Of a text that is valid.
    pub(crate) fn of(text: &str) -> Places {
        let units = Units::new(text);
        let document = parse(text, &mut Problems::default());
        let top = document.get_ref();
        let place = |table: &DeTable<'_>, key: &str| {
            value_of(table, key).map(|found| units.place(&found.span))
        };
        let mut tables = Vec::new();
        if let Some(DeValue::Array(tasks)) = value_of(top, "task").map(|found| found.value) {
            for task in tasks.iter() {
                let DeValue::Table(table) = task.get_ref() else { continue };
                let count = match value_of(table, "count").map(|found| found.value) {
                    Some(DeValue::Integer(count)) => count.as_str().parse().unwrap_or(1),
                    _ => 1,
                };
                let mut places: Map<String, Value> = KEYS
                    .into_iter()
                    .filter_map(|key| Some((key.to_owned(), place(table, key)?)))
                    .collect();
                places.insert("table".to_owned(), units.place(&task.span()));
                tables.push((Value::Object(places), count));
            }
        }
        let platform = value_of(top, "platform").map(|found| found.value);
        let cpus = match platform {
            Some(DeValue::Table(table)) => place(table, "cpus"),
            _ => None,
        };
        Places { tables, cpus }
    }

    /// The places of each task, with how many tasks share them.
    pub(crate) fn of_tasks(&self) -> impl Iterator<Item = (&Value, usize)> {
        self.tables.iter().flat_map(|(places, count)| std::iter::repeat_n((places, *count), *count))
    }
}

/// A number, or its digits where a page would lose some of them.
pub(crate) fn number(value: i64) -> Value {
    const EXACT: i64 = 1 << 53;
    if (-EXACT..=EXACT).contains(&value) { json!(value) } else { json!(value.to_string()) }
}
