//! JSON documents on standard output. A document is a type with a schema, so that `layland schema`
//! describes everything that is printed.

use super::exit::Failure;
use super::terminal;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Prints a document, indented.
pub(crate) fn print(document: &(impl JsonSchema + Serialize)) -> Result<(), Failure> {
    // Serialization cannot fail: all keys are strings.
    terminal::data(&(serde_json::to_string_pretty(document).unwrap_or_default() + "\n"))
}

/// Prints a document as one line, for streams.
#[cfg(target_os = "linux")]
pub(crate) fn print_line(document: &(impl JsonSchema + Serialize)) -> Result<(), Failure> {
    terminal::data(&(serde_json::to_string(document).unwrap_or_default() + "\n"))
}

/// An object with a member for each pair, in this order.
pub(crate) struct Named<K, T>(pub Vec<(K, T)>);

impl<K: Serialize, T: Serialize> Serialize for Named<K, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<K, T: JsonSchema> JsonSchema for Named<K, T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        BTreeMap::<String, T>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BTreeMap::<String, T>::json_schema(generator)
    }
}
