//! Task sets in the formats of other tools.

use super::exit::Failure;
use super::terminal;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use layland_config::{Format, Problem, RtAppPolicy, Severity, Unit};
use layland_model::System;
use std::path::Path;

/// Parses the value of an option that names a format.
pub(crate) fn by_name() -> impl TypedValueParser<Value = Format> {
    let names = Format::ALL.map(Format::name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Format>())
}

/// Parses the name of a format that can be written.
pub(crate) fn written() -> impl TypedValueParser<Value = Format> {
    let written = Format::ALL.into_iter().filter(|format| *format != Format::Plain);
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
    let (text, lost) = written_as(system, format, policy)?;
    for problem in &lost {
        terminal::warn(&problem.to_string(), problem.help.as_deref());
    }
    Ok(text)
}

/// Formats the system, and returns what is lost.
///
/// # Errors
/// Fails if the format cannot represent the system at all.
pub(crate) fn written_as(
    system: &System,
    format: Format,
    policy: RtAppPolicy,
) -> Result<(String, Vec<Problem>), Failure> {
    let (text, lost) = match format {
        Format::Toml => (layland_config::to_toml(system), Vec::new()),
        Format::RtApp => layland_config::to_rt_app(system, policy),
        // The plain format cannot be requested, because it preserves too little.
        Format::Csv | Format::Plain => layland_config::to_csv(system),
        Format::Simso => layland_config::to_simso(system),
        Format::Schedcat => layland_config::to_schedcat(system),
        Format::Lines => (layland_config::to_line(system), Vec::new()),
    };
    match lost.iter().find(|problem| problem.severity == Severity::Error) {
        None => Ok((text, lost)),
        Some(problem) => {
            let failure = Failure::input(problem.message.clone());
            let help = problem.help.iter();
            Err(help.fold(failure, |failure, help| failure.help(help.clone())))
        }
    }
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
