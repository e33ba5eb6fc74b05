//! `layland demos`: the bundled task sets.

use crate::ui::exit::{Exit, Outcome};
use crate::ui::{names, terminal};
use clap::Args;
use serde_json::json;

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

pub(crate) fn run(args: &DemosArgs) -> Outcome {
    let demos = layland_config::demos();
    let Some(name) = &args.name else {
        if args.json {
            let each: Vec<_> = demos
                .iter()
                .map(|demo| json!({ "name": format!("demo:{}", demo.name), "title": demo.title }))
                .collect();
            terminal::data(&format!("{:#}\n", json!({ "demos": each })))?;
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
        let demo = json!({ "name": format!("demo:{}", demo.name), "title": demo.title, "text": demo.text });
        terminal::data(&format!("{demo:#}\n"))?;
    } else {
        terminal::data(demo.text)?;
    }
    Ok(Exit::Yes)
}
