//! `layland man`: manual pages.

use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::terminal;
use clap::Args;
use std::path::PathBuf;

pub(crate) const EXAMPLES: &str = "\
Examples:
  layland man sim | man -l -
  layland man -o ~/.local/share/man/man1";

#[derive(Args)]
pub(crate) struct ManArgs {
    /// The command to print the page of; by default the page of layland itself
    #[arg(conflicts_with = "output")]
    pub command: Option<String>,
    /// Write one page per command into this folder
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
}

/// The pages of a command line.
pub(crate) fn run(mut cli: clap::Command, args: &ManArgs) -> Outcome {
    let failed =
        |error: std::io::Error| Failure::refused(format!("failed to write the manual: {error}"));
    cli.build();
    if let Some(folder) = &args.output {
        std::fs::create_dir_all(folder).map_err(failed)?;
        clap_mangen::generate_to(cli, folder).map_err(failed)?;
        return Ok(Exit::Yes);
    }
    let command = match &args.command {
        None => cli,
        Some(name) => cli.find_subcommand(name).cloned().ok_or_else(|| {
            Failure::usage(format!("there is no command `{name}`"))
                .help("`layland --help` lists them; -o FOLDER writes every page")
        })?,
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page).map_err(failed)?;
    terminal::result(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Yes)
}
