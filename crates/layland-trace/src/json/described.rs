//! Self-describing values as members of an object: `kind`, and the details by name.

use layland_model::MoveReason;
use layland_model::note::{Description, Detail, ReadDetails, Value};
use schemars::{Schema, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

/// A [`Description`] as members of an object.
///
/// ```
/// use layland_model::{Note, TaskId};
/// use layland_trace::json::Described;
/// let note = Note::Throttled { task: TaskId(2) };
/// let text = serde_json::to_string(&Described::from(note.describe())).unwrap();
/// assert_eq!(text, r#"{"kind":"throttled","task":2}"#);
/// let described: Described = serde_json::from_str(&text).unwrap();
/// assert_eq!(described.read("note", Note::read), Ok(note));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Described(Map<String, Json>);

impl From<Description> for Described {
    fn from(Description { kind, details }: Description) -> Described {
        let value = |detail: &Detail| match detail.value() {
            Value::Number(number) => serde_json::to_value(number).expect("details have 64 bits"),
            Value::Word(word) => Json::from(word),
        };
        let details = details.iter().map(|detail| (detail.name(), value(detail)));
        let members = [("kind", Json::from(kind.name))].into_iter().chain(details);
        Described(members.map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

impl Described {
    /// Reads the value with a function that builds it from its kind and details. Error messages
    /// call it a `noun`.
    ///
    /// # Errors
    /// Returns an error if no kind has this name, or if the members are not its details.
    pub fn read<T>(
        mut self,
        noun: &'static str,
        read: impl FnOnce(&str, &mut Members) -> Result<Option<T>, String>,
    ) -> Result<T, String> {
        let Some(Json::String(kind)) = self.0.remove("kind") else {
            return Err(format!("the `kind` of a {noun} is a word"));
        };
        let mut members = Members { noun, kind, members: self.0 };
        let found = read(&members.kind.clone(), &mut members)?;
        let Members { kind, members, .. } = members;
        let found = found.ok_or_else(|| format!("no {noun} is called `{kind}`"))?;
        match members.keys().next() {
            None => Ok(found),
            Some(unknown) => Err(format!("a {noun} of kind `{kind}` has no `{unknown}`")),
        }
    }
}

/// Returns the schema of events with these descriptions, each of which has a time.
pub(super) fn schema(descriptions: impl Iterator<Item = Description>) -> Schema {
    let kinds = descriptions.map(|Description { kind, details }| {
        let at = ("at", json!({ "description": "The time.", "type": "integer" }));
        let name = ("kind", json!({ "const": kind.name }));
        let details = details.iter().map(|detail| (detail.name(), of_detail(detail)));
        let members = [at, name].into_iter().chain(details);
        let members: Map<String, Json> =
            members.map(|(name, schema)| (name.to_owned(), schema)).collect();
        json!({
            "description": kind.legend,
            "type": "object",
            "required": members.keys().collect::<Vec<_>>(),
            "properties": members,
        })
    });
    let kinds: Vec<Json> = kinds.collect();
    json_schema!({ "description": "A further event.", "oneOf": kinds })
}

fn of_detail(detail: &Detail) -> Json {
    let number =
        |description| json!({ "description": description, "type": "integer", "minimum": 0 });
    match detail {
        Detail::Task(_) => number("The index of the task in `tasks`."),
        Detail::Job(_) => number("The number of the job, from 0."),
        Detail::Resource(_) => number("The resource."),
        Detail::From(_) => number("The CPU before."),
        Detail::Cpu(_) => number("The CPU."),
        Detail::Level(_) => number("The criticality, from 0."),
        Detail::Deadline(_) => json!({ "description": "The new deadline.", "type": "integer" }),
        Detail::Speed(_) => {
            json!({ "description": "The new speed, a fraction.", "type": "string" })
        }
        Detail::Why(_) => {
            let words = MoveReason::ALL.map(MoveReason::name);
            json!({ "description": "The reason for the move.", "enum": words })
        }
    }
}

/// The details that have not been read yet.
pub struct Members {
    noun: &'static str,
    kind: String,
    members: Map<String, Json>,
}

impl ReadDetails for Members {
    type Error = String;
    fn take(&mut self, name: &'static str) -> Option<Value<'_>> {
        match self.members.remove(name)? {
            Json::Number(number) => {
                let signed = number.as_i64().map(i128::from);
                signed.or_else(|| number.as_u64().map(i128::from)).map(Value::Number)
            }
            Json::String(word) => Some(Value::Word(word.into())),
            Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => None,
        }
    }
    fn wrong(&self, name: &'static str, expected: &'static str) -> String {
        format!("a {} of kind `{}` has a `{name}`: {expected}", self.noun, self.kind)
    }
}
