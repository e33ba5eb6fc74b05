//! Task sets in the formats of other tools.

use super::terminal;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use layland_config::{Format, Problem};
use layland_model::System;
use std::path::Path;

/// The value of an option that names a format.
pub(crate) fn by_name() -> impl TypedValueParser<Value = Format> {
    let names = Format::ALL.map(Format::name);
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Format>())
}

/// The system in a format. What is lost goes to standard error.
pub(crate) fn write(system: &System, format: Format) -> String {
    let (text, lost) = match format {
        Format::Toml => (layland_config::to_toml(system), Vec::new()),
        Format::RtApp => layland_config::to_rt_app(system),
        Format::Csv => layland_config::to_csv(system),
        Format::Simso => layland_config::to_simso(system),
        Format::Schedcat => layland_config::to_schedcat(system),
    };
    lost.iter().for_each(|problem: &Problem| {
        terminal::warn(&problem.to_string(), problem.help.as_deref());
    });
    text
}

/// The format that was asked for, or that the ending of the file names, or TOML.
pub(crate) fn chosen(asked: Option<Format>, output: Option<&Path>) -> Format {
    let ending = output.and_then(Path::extension).and_then(|ending| ending.to_str());
    asked.unwrap_or(match ending {
        Some("csv") => Format::Csv,
        Some("json") => Format::RtApp,
        Some("xml") => Format::Simso,
        Some(_) | None => Format::Toml,
    })
}
