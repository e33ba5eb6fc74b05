//! `layland schema`: the JSON Schemas of task-set files, and of the JSON output of the program.
//!
//! Those of questions are derived from the types of their answers. The definitions of `outputs.json`
//! are written by hand, strictly: a member without a definition is an error, so that a document and
//! its schema cannot diverge unnoticed.

use crate::ui::exit::{Exit, Outcome};
use crate::ui::terminal;
use clap::builder::PossibleValuesParser;
use layland_answers::{check, schema, simulate};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

pub(crate) const EXAMPLES: &str = "\
Examples:
  layland schema > layland.schema.json
      for editors; the first line of the task set is then `#:schema ./layland.schema.json`
  layland schema sim > sim.schema.json
      for programs that read what `layland sim --json` prints";

const OUTPUTS: &str = include_str!("outputs.json");

/// The definitions of the outputs with a schema.
const NAMES: [&str; 22] = [
    "check",
    "certificate",
    "sim",
    "run",
    "trace",
    "trace-check",
    "trace-stats",
    "trace-log",
    "trace-diff",
    "trace-infer",
    "lab-list",
    "lab-units",
    "lab-part",
    "lab-run",
    "policies",
    "demos",
    "ros2",
    "explain",
    "exec",
    "top",
    "doctor",
    "calibrate",
];

#[derive(Debug, clap::Args)]
pub(crate) struct SchemaArgs {
    /// The subject: `set` is a task-set file, `trace` a trace in a file, `certificate` the output of `check
    /// --certificate`, `trace-log` that of `trace stats` for a log of rt-app, and each other one the output of the
    /// command of this name with --json
    #[arg(
        value_name = "WHAT",
        default_value = "set",
        hide_default_value = true,
        value_parser = PossibleValuesParser::new(std::iter::once("set").chain(NAMES)),
    )]
    what: String,
}

pub(crate) fn run(args: &SchemaArgs) -> Outcome {
    let schema = match args.what.as_str() {
        "set" => layland_config::schema(),
        "check" => titled("check", schema::of::<check::Document<'static>>()),
        "certificate" => titled("certificate", schema::of::<check::Certificate<'static>>()),
        "sim" => titled("sim", schema::of::<simulate::Document<'static>>()),
        name => titled(name, of(name)),
    };
    terminal::data(&format!("{schema:#}\n"))?;
    Ok(Exit::Yes)
}

fn titled(name: &str, mut schema: Value) -> Value {
    schema["title"] = format!("Layland {}, {name}", env!("CARGO_PKG_VERSION")).into();
    schema
}

/// Returns the schema of an output without a type: its definition, and those that it refers to.
fn of(name: &str) -> Value {
    let all: Map<String, Value> =
        serde_json::from_str(OUTPUTS).expect("the definitions are part of the program");
    let mut used = BTreeSet::new();
    let mut open = vec![name.to_owned()];
    while let Some(next) = open.pop() {
        references(&all[&next], &mut open);
        used.insert(next);
        open.retain(|name| !used.contains(name));
    }
    let definitions: Map<String, Value> =
        all.into_iter().filter(|(name, _)| used.contains(name)).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": name,
        "$ref": format!("#/$defs/{name}"),
        "$defs": definitions,
    })
}

/// Collects the names of the definitions that a schema refers to.
fn references(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            let reference = members.get("$ref").and_then(Value::as_str);
            found.extend(
                reference.and_then(|path| path.strip_prefix("#/$defs/")).map(str::to_owned),
            );
            members.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
