//! `layland doctor`: what works on this machine, why not, and the exact fix.

use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::terminal;
use crate::ui::values::time_of;
use clap::Args;
use layland_linux::doctor::{Finding, State, clean, examine};
use layland_model::Duration;
use serde_json::json;

pub(crate) const EXAMPLES: &str = "\
Examples:
  layland doctor
      tries everything that running and recording need; nothing stays changed
  sudo layland doctor --clean
      removes what was left behind by runs that were killed together with their guardian

Exits with 0 if everything that was tried works, with 5 if a privilege is missing, and with 1 if
something else is.";

#[derive(Args)]
pub(crate) struct DoctorArgs {
    /// Remove the cpusets and tracing instances of earlier runs that have ended
    #[arg(long)]
    pub clean: bool,
    /// For how long the latency of timers is measured
    #[arg(long, value_name = "TIME", value_parser = time_of::<Duration>, default_value = "2s")]
    pub latency_for: Duration,
    /// Print the findings as one JSON document
    #[arg(long)]
    pub json: bool,
}

pub(crate) fn run(args: &DoctorArgs) -> Outcome {
    if args.clean {
        let removed = clean().map_err(|(path, error)| {
            Failure::refused(format!("failed to remove {}: {error}", path.display()))
                .help("run it as root, e.g. with sudo")
        })?;
        let text: String = if removed.is_empty() {
            "nothing to remove\n".to_owned()
        } else {
            removed.iter().map(|path| format!("removed {}\n", path.display())).collect()
        };
        terminal::result(&text)?;
        return Ok(Exit::Yes);
    }
    let findings = examine(args.latency_for.ns().max(0));
    let exit = verdict(&findings);
    if args.json {
        let document = json!({
            "layland": env!("CARGO_PKG_VERSION"),
            "command": "doctor",
            "findings": findings,
            "exit": exit,
        });
        terminal::result(&format!("{document:#}\n"))?;
    } else {
        terminal::result(&text(&findings))?;
    }
    Ok(exit)
}

fn verdict(findings: &[Finding]) -> Exit {
    if findings.iter().any(|finding| finding.state == State::NeedsPrivilege) {
        Exit::Refused
    } else if findings.iter().any(|finding| finding.state == State::Missing) {
        Exit::No
    } else {
        Exit::Yes
    }
}

/// One line for each finding, and one with its fix.
fn text(findings: &[Finding]) -> String {
    let width = findings.iter().map(|finding| finding.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for Finding { name, state, detail, fix } in findings {
        let sign = match state {
            State::Ok => "ok     ",
            State::Info => "       ",
            State::Warning => "warning",
            State::NeedsPrivilege => "refused",
            State::Missing => "missing",
        };
        text += &format!("{sign}  {name:width$}  {detail}\n");
        if let Some(fix) = fix {
            text += &format!("{:width$}  fix: {fix}\n", "", width = width + 9);
        }
    }
    text
}
