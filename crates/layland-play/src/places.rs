//! The places of the values in a task-set file, so that a page can replace one value and leave the
//! rest unchanged.

use crate::problem::Units;
use layland_config::Problems;
use layland_config::document::{parse, value_of};
use serde_json::{Map, Value, json};
use toml::de::{DeTable, DeValue};

/// The keys whose places a page receives.
const KEYS: [&str; 9] =
    ["name", "wcet", "period", "deadline", "offset", "affinity", "cluster", "criticality", "count"];

/// The places of each task in the order of the system, and the number of tasks that share them.
pub(crate) struct Places {
    /// The places of each table, and the number of tasks that it defines.
    tables: Vec<(Value, usize)>,
    /// The place of the value of `cpus`.
    pub cpus: Option<Value>,
}

impl Places {
    /// Finds the places in a valid text.
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

    /// Returns the places of each task, with the number of tasks that share them.
    pub(crate) fn of_tasks(&self) -> impl Iterator<Item = (&Value, usize)> {
        self.tables.iter().flat_map(|(places, count)| std::iter::repeat_n((places, *count), *count))
    }
}

/// Returns a number, or its digits as a string: a page stores numbers as `f64` and would lose
/// digits.
pub(crate) fn number(value: i64) -> Value {
    const EXACT: i64 = 1 << 53;
    if (-EXACT..=EXACT).contains(&value) { json!(value) } else { json!(value.to_string()) }
}
