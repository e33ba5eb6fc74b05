//! `layland convert`: a task set in another format.

use crate::ui::exit::{Exit, Outcome};
use crate::ui::input::{self, SetArgs};
use crate::ui::{formats, terminal};
use clap::Args;
use layland_config::Format;
use std::path::{Path, PathBuf};

pub(crate) const EXAMPLES: &str = "\
Examples:
  layland convert rtapp.json -o robot.toml
      the format follows from the extension, or from --to
  layland convert robot.toml --to csv
      a table, one line per task
  layland convert -t control=1ms/5ms -t log=8ms/20ms --cpus 2
      a task-set file from the command line";

#[derive(Args)]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    pub set: SetArgs,
    /// The format to write; by default the one that the extension of the file names, or else toml
    #[arg(long, value_name = "FORMAT", value_parser = formats::by_name())]
    pub to: Option<Format>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

pub(crate) fn run(args: &ConvertArgs) -> Outcome {
    let set = input::load(&args.set)?;
    let text = formats::write(&set.system, formats::chosen(args.to, args.output.as_deref()));
    terminal::write_file(args.output.as_deref().unwrap_or(Path::new("-")), text.as_bytes())?;
    Ok(Exit::Yes)
}
