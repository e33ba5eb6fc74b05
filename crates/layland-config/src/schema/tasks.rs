//! `[[task]]` and `[defaults]` in the schema. Their keys come from the table of keys.

use super::values::{Tie, TimeText};
use crate::keys::{TASK_KEYS, TIE, TaskKey, Value};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value as Json};
use std::borrow::Cow;

/// A task.
pub(super) struct TaskTable;

impl JsonSchema for TaskTable {
    fn schema_name() -> Cow<'static, str> {
        "TaskTable".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut keys = Map::new();
        for key in TASK_KEYS {
            let mut value = described(value(key, generator), key.meaning);
            for &(limit, number) in key.limits {
                value.insert(limit.to_owned(), number.into());
            }
            keys.insert(key.name.to_owned(), value.into());
        }
        let required: Vec<&str> =
            TASK_KEYS.iter().filter(|key| key.is_required).map(|key| key.name).collect();
        let mut table = table(keys);
        table.insert("required".to_owned(), required.into());
        let mut table = described(table, "A task.");
        // The WCET follows from the steps.
        let any = ["wcet", "steps"].map(|key| Json::from(json_schema!({ "required": [key] })));
        table.insert("anyOf".to_owned(), any.to_vec().into());
        table
    }
}

/// Defaults for keys that a task leaves out.
pub(super) struct DefaultsTable;

impl JsonSchema for DefaultsTable {
    fn schema_name() -> Cow<'static, str> {
        "DefaultsTable".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut keys = Map::new();
        for key in TASK_KEYS.iter().filter(|key| key.is_inherited) {
            let value = described(value(key, generator), "See the task.");
            keys.insert(key.name.to_owned(), value.into());
        }
        let tie = described(
            generator.subschema_for::<Option<Tie>>(),
            "The rule that decides between jobs of tasks with the same `priority`, for policies that read it. If left out:\n\
             \"rank\", if every task that shares its priority has a rank; otherwise \"fifo\".",
        );
        keys.insert(TIE.to_owned(), tie.into());
        described(table(keys), "Defaults for keys that a task leaves out.")
    }
}

/// Returns a table with these keys and no others.
fn table(keys: Map<String, Json>) -> Schema {
    json_schema!({ "type": "object", "additionalProperties": false, "properties": keys })
}

fn described(mut schema: Schema, meaning: &str) -> Schema {
    schema.insert("description".to_owned(), meaning.into());
    schema
}

/// Returns the type of the value of a key.
fn value(key: &TaskKey, generator: &mut SchemaGenerator) -> Schema {
    match &key.value {
        Value::Time(..) if key.is_required => generator.subschema_for::<TimeText>(),
        Value::Time(..) => generator.subschema_for::<Option<TimeText>>(),
        Value::Number(..) => generator.subschema_for::<Option<i64>>(),
        Value::Count(..) => generator.subschema_for::<Option<u64>>(),
        Value::Flag(..) => generator.subschema_for::<Option<bool>>(),
        Value::Text(..) => generator.subschema_for::<Option<String>>(),
        Value::Word(word) => (word.schema)(generator),
        Value::Own(own) => (own.schema)(generator),
    }
}
