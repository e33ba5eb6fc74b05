//! JSON Schemas of documents, derived from the types that are serialized.

use layland_analysis::Verdict;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

/// Returns the JSON Schema (draft 2020-12) of a document. The schema is strict: an object has the
/// members of its type, and no others.
///
/// ```
/// use layland_answers::{check, schema};
/// let schema = schema::of::<check::Document<'static>>();
/// assert_eq!(schema["properties"]["command"]["const"], "check");
/// ```
pub fn of<T: JsonSchema>() -> Value {
    let strictly = RecursiveTransform(strict as fn(&mut Schema));
    let settings = SchemaSettings::draft2020_12().for_serialize().with_transform(strictly);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Rejects unknown members, and removes the formats of numbers, which only Rust knows: a strict
/// validator refuses a schema with an unknown format. A description loses the line breaks of the
/// source.
fn strict(schema: &mut Schema) {
    let Some(members) = schema.as_object_mut() else { return };
    if let Some(Value::String(description)) = members.get_mut("description") {
        *description = description.replace('\n', " ");
    }
    if members.contains_key("properties") {
        members.insert("additionalProperties".to_owned(), false.into());
    }
    members.remove("format");
}

fn verdicts() -> [&'static str; 3] {
    [Verdict::Yes, Verdict::No, Verdict::Unknown].map(Verdict::name)
}

/// The name of a verdict.
pub(crate) fn verdict(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "enum": verdicts() })
}

/// The name of a verdict, or null.
pub(crate) fn verdict_or_null(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "enum": verdicts().map(Some).into_iter().chain([None]).collect::<Vec<_>>() })
}
