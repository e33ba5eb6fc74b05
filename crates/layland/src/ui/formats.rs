//! Task sets in the formats of other tools.

use super::exit::Failure;
use super::terminal;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use layland_answers::convert;
use layland_config::{Format, RtAppPolicy, Unit};
use layland_model::System;
use std::path::Path;

/// Parses the value of an option that names a format.
pub(crate) fn by_name() -> impl TypedValueParser<Value = Format> {
    let names = Format::ALL.map(Format::name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Format>())
}

/// Parses the name of a format that can be written.
pub(crate) fn written() -> impl TypedValueParser<Value = Format> {
    let written = Format::ALL.into_iter().filter(|format| format.is_written());
    PossibleValuesParser::new(written.map(Format::name)).try_map(|name| name.parse::<Format>())
}

/// Parses the value of an option that names a unit of time.
pub(crate) fn unit() -> impl TypedValueParser<Value = Unit> {
    let names = Unit::ALL.map(Unit::name);
    PossibleValuesParser::new(names).try_map(|name| Unit::find(&name).ok_or("not a unit"))
}

/// Formats the system. Losses are reported on standard error.
///
/// # Errors
/// Fails if the format cannot represent the system at all.
pub(crate) fn write(
    system: &System,
    format: Format,
    policy: RtAppPolicy,
) -> Result<String, Failure> {
    let (text, lost) = convert(system, format, policy)?;
    for problem in &lost {
        terminal::warn(&problem.to_string(), problem.help.as_deref());
    }
    Ok(text)
}

/// Returns the requested format, or that of the file's extension, or TOML.
pub(crate) fn chosen(asked: Option<Format>, output: Option<&Path>) -> Format {
    let ending = output.and_then(Path::extension).and_then(|ending| ending.to_str());
    asked.unwrap_or(match ending {
        Some("csv") => Format::Csv,
        Some("json") => Format::RtApp,
        Some("xml") => Format::Simso,
        Some(_) if output.is_some_and(is_lines) => Format::Lines,
        Some(_) | None => Format::Toml,
    })
}

/// Returns true if the name of a file indicates one set per line.
pub(crate) fn is_lines(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "jsonl" || ending == "ndjson")
}
