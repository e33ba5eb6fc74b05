//! `layland explain SET --policy P`: draws the structure that a policy derives from a task set.

use super::ExplainArgs;
use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::input::{self, SetArgs};
use crate::ui::{files, terminal};
use layland_answers::Structure;
use layland_policy::Registry;
use std::path::Path;

/// Draws the structure that a policy derives from a task set.
pub(super) fn draw(registry: &Registry, args: &ExplainArgs, set: &str, policy: &str) -> Outcome {
    let format = args.output.as_deref().map_or(Ok(Format::Text), Format::of)?;
    let set =
        input::load(&SetArgs { set: Some(set.to_owned()), cpus: args.cpus, ..SetArgs::default() })?;
    let structure = Structure::of(registry, &set.system, policy)?;
    let drawn = match format {
        Format::Text => structure.text().into_bytes(),
        Format::Svg => structure.svg().into_bytes(),
        Format::Png => crate::ui::output::png(&structure.svg())?,
        Format::Dot => structure.dot().into_bytes(),
    };
    match &args.output {
        Some(path) => files::write(path, &drawn)?,
        None => terminal::data(&String::from_utf8_lossy(&drawn))?,
    }
    Ok(Exit::Yes)
}

/// The format of a drawing.
#[derive(Clone, Copy)]
enum Format {
    Text,
    Svg,
    Png,
    Dot,
}

impl Format {
    /// Returns the format for the extension of a file.
    fn of(path: &Path) -> Result<Format, Failure> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("svg") => Ok(Format::Svg),
            Some("png") => Ok(Format::Png),
            Some("dot" | "gv") => Ok(Format::Dot),
            Some("txt") => Ok(Format::Text),
            Some(_) | None => {
                Err(Failure::usage(format!("{} has no known extension", path.display()))
                    .help("a drawing is written as .svg, .png, .dot or .txt"))
            }
        }
    }
}
