//! `layland demos`: the bundled task sets.

use crate::ui::exit::{Exit, Outcome};
use crate::ui::{document, names, terminal};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

pub(crate) const EXAMPLES: &str = "\
Examples:
  layland sim demo:dhall --policy g-edf,p-edf
  layland demos robot > mine.toml";

#[derive(Args)]
pub(crate) struct DemosArgs {
    /// Print the file of this set
    pub name: Option<String>,
    /// Print the result as JSON. It is the list, or the set
    #[arg(long)]
    pub json: bool,
}

/// The answer of `layland demos --json`, and of `layland demos NAME --json`.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
pub(crate) enum DemosDocument {
    /// All.
    All {
        /// Each demo.
        demos: Vec<Demo>,
    },
    /// One.
    One {
        /// `demo:NAME`.
        name: String,
        /// Its topic.
        title: &'static str,
        /// Its file.
        text: &'static str,
    },
}

/// A demo.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub(crate) struct Demo {
    /// `demo:NAME`.
    name: String,
    /// Its topic.
    title: &'static str,
}

pub(crate) fn run(args: &DemosArgs) -> Outcome {
    let demos = layland_config::demos();
    let Some(name) = &args.name else {
        if args.json {
            let each = demos
                .iter()
                .map(|demo| Demo { name: format!("demo:{}", demo.name), title: demo.title });
            document::print(&DemosDocument::All { demos: each.collect() })?;
            return Ok(Exit::Yes);
        }
        let width = demos.iter().map(|demo| demo.name.len()).max().unwrap_or(0);
        let lines: Vec<String> = demos
            .iter()
            .map(|demo| terminal::entry(&format!("demo:{:width$}  ", demo.name), demo.title))
            .collect();
        terminal::result(&lines.concat())?;
        return Ok(Exit::Yes);
    };
    let name = name.strip_prefix("demo:").unwrap_or(name);
    let demo = layland_config::demo(name).ok_or_else(|| names::no_demo(name))?;
    if args.json {
        document::print(&DemosDocument::One {
            name: format!("demo:{}", demo.name),
            title: demo.title,
            text: demo.text,
        })?;
    } else {
        terminal::data(demo.text)?;
    }
    Ok(Exit::Yes)
}
