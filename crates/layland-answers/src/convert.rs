//! Task sets in the formats of other tools.

use crate::Unanswered;
use layland_config::{Format, Problem, RtAppPolicy, Severity};
use layland_model::System;

/// Returns the text of a system in a format, and what is lost.
///
/// # Errors
/// If the format cannot represent the system at all.
pub fn convert(
    system: &System,
    format: Format,
    policy: RtAppPolicy,
) -> Result<(String, Vec<Problem>), Unanswered> {
    let (text, lost) = match format {
        Format::Toml => (layland_config::to_toml(system), Vec::new()),
        Format::RtApp => layland_config::to_rt_app(system, policy),
        // No front end offers the formats that are only read: they are tables of another form.
        Format::Csv
        | Format::Table
        | Format::Objects
        | Format::Yaml
        | Format::Plain
        | Format::Schedsim
        | Format::Dot => layland_config::to_csv(system),
        Format::Sag => layland_config::to_sag(system),
        Format::Poet => layland_config::to_poet(system),
        Format::Simso => layland_config::to_simso(system),
        Format::Schedcat => layland_config::to_schedcat(system),
        Format::Lines => (layland_config::to_line(system), Vec::new()),
    };
    match lost.iter().find(|problem| problem.severity == Severity::Error) {
        None => Ok((text, lost)),
        Some(problem) => {
            let message = problem.message.clone();
            Err(Unanswered { help: problem.help.clone(), ..Unanswered::input(message) })
        }
    }
}
