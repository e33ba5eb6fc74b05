//! `layland man`: generates manual pages.

use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::{files, terminal};
use clap::Args;
use std::path::{Path, PathBuf};

pub(crate) const EXAMPLES: &str = "\
Examples:
  layland man sim | man -l -
  layland man -o ~/.local/share/man/man1";

#[derive(Args)]
pub(crate) struct ManArgs {
    /// The command to print the page of. By default the page of layland itself
    #[arg(conflicts_with = "output")]
    pub command: Option<String>,
    /// Write into this folder. It gets one page per command
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
}

/// Writes the pages of a command line.
pub(crate) fn run(mut cli: clap::Command, args: &ManArgs) -> Outcome {
    let failed =
        |error: std::io::Error| Failure::refused(format!("failed to write the manual: {error}"));
    // A page about the `help` command has no use, and each page states its version.
    cli = cli.disable_help_subcommand(true).propagate_version(true);
    cli.build();
    if let Some(folder) = &args.output {
        std::fs::create_dir_all(folder).map_err(failed)?;
        return write_all(&cli, folder);
    }
    let command = match &args.command {
        None => cli,
        Some(name) => cli.find_subcommand(name).cloned().ok_or_else(|| {
            Failure::usage(format!("there is no command `{name}`"))
                .help("`layland --help` lists them; -o FOLDER writes every page")
        })?,
    };
    terminal::data(&String::from_utf8_lossy(&page(&command)?))?;
    Ok(Exit::Yes)
}

/// Returns the page of a command. Its name is that of the file: `layland-lab-run`.
fn page(command: &clap::Command) -> Result<Vec<u8>, Failure> {
    let man = clap_mangen::Man::new(command.clone())
        .source(concat!("layland ", env!("CARGO_PKG_VERSION")))
        .manual("Layland");
    let mut page = Vec::new();
    man.render(&mut page)
        .map_err(|error| Failure::refused(format!("failed to write the manual: {error}")))?;
    let page = String::from_utf8_lossy(&page);
    // The library lists every option without its value. The usage line of `--help` is correct.
    let lines: Vec<&str> = page.lines().collect();
    let synopsis = lines.iter().position(|line| *line == ".SH SYNOPSIS");
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim().replace('-', "\\-");
    let replaced = lines.iter().enumerate().map(|(at, line)| match synopsis {
        Some(synopsis) if at == synopsis + 1 => usage.as_str(),
        Some(_) | None => line,
    });
    Ok((replaced.collect::<Vec<_>>().join("\n") + "\n").into_bytes())
}

/// Writes the pages of a command and of all its subcommands.
fn write_all(command: &clap::Command, folder: &Path) -> Outcome {
    let name = command.get_display_name().unwrap_or(command.get_name());
    files::write(&folder.join(format!("{name}.1")), &page(command)?)?;
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        write_all(below, folder)?;
    }
    Ok(Exit::Yes)
}
