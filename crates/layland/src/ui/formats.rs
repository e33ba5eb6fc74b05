//! Task sets in the formats of other tools.

use super::exit::Failure;
use super::terminal;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use layland_config::{Format, Problem, RtAppPolicy, Severity, Unit};
use layland_model::System;
use std::path::Path;

/// The value of an option that names a format.
pub(crate) fn by_name() -> impl TypedValueParser<Value = Format> {
    let names = Format::ALL.map(Format::name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Format>())
}

/// The formats that are written.
pub(crate) fn written() -> impl TypedValueParser<Value = Format> {
    let written = Format::ALL.into_iter().filter(|format| *format != Format::Plain);
    PossibleValuesParser::new(written.map(Format::name)).try_map(|name| name.parse::<Format>())
}

/// The value of an option that names a unit of time.
pub(crate) fn unit() -> impl TypedValueParser<Value = Unit> {
    let names = Unit::ALL.map(Unit::name);
    PossibleValuesParser::new(names).try_map(|name| Unit::find(&name).ok_or("not a unit"))
}

/// The system in a format. What is lost goes to standard error.
///
/// # Errors
/// If the format cannot have it at all.
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

/// The system in a format, and what is lost.
///
/// # Errors
/// If the format cannot have it at all: there is no text then.
pub(crate) fn written_as(
    system: &System,
    format: Format,
    policy: RtAppPolicy,
) -> Result<(String, Vec<Problem>), Failure> {
    let (text, lost) = match format {
        Format::Toml => (layland_config::to_toml(system), Vec::new()),
        Format::RtApp => layland_config::to_rt_app(system, policy),
        // Nobody can ask for lines of times: they keep too little.
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

/// The format that was asked for, or that the ending of the file names, or TOML.
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

/// Whether the name of a file says that it has one set in each line.
pub(crate) fn is_lines(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "jsonl" || ending == "ndjson")
}
