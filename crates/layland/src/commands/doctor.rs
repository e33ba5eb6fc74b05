//! `layland doctor`: reports what works on this machine, why other things do not, and the exact
//! fix.

use crate::ui::exit::{Exit, Message, Outcome};
use crate::ui::terminal;
use clap::Args;
use layland_answers::values::time_of;
use layland_linux::Register;
use layland_linux::doctor::{Finding, State, examine, heal, left_behind};
use layland_model::Duration;
use serde_json::json;

pub(crate) const EXAMPLES: &str = "\
Examples:
  layland doctor
      tries everything that running and recording need; nothing stays changed
  sudo layland doctor --clean
      undoes the changes of runs that were killed together with their guardian

Exits with 0 if everything that was tried works; warnings do not count, nor does a kernel that is too old for \
sched_ext. Exits with 5 if a privilege is missing and 1 if anything else is; the output says what to do.

With --clean it exits with 0 if nothing is left, and with 5 if the system refuses to undo a change. The changes of a \
run that is alive are never touched.";

#[derive(Args)]
pub(crate) struct DoctorArgs {
    /// Undo the changes that runs left behind when they died: settings of the kernel, cpusets, tracing instances
    #[arg(long)]
    pub clean: bool,
    /// The time for which the latency of timers is measured
    #[arg(long, value_name = "TIME", value_parser = time_of::<Duration>, default_value = "2s")]
    pub latency_for: Duration,
    /// Print the result as JSON. It is one document
    #[arg(long)]
    pub json: bool,
}

pub(crate) fn run(args: &DoctorArgs) -> Outcome {
    if args.clean {
        return clean();
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
        terminal::data(&format!("{document:#}\n"))?;
    } else {
        terminal::result(&text(&findings))?;
    }
    Ok(exit)
}

/// Undoes every change that earlier runs have left behind, as far as possible.
fn clean() -> Outcome {
    let register = Register::open().map_err(layland_linux::ChangeError::Register)?;
    let left = left_behind(&register);
    let mut text = String::new();
    let mut exit = Exit::Yes;
    for one in &left {
        match heal(&register, one) {
            Ok(()) => text += &format!("{}\n", one.healed()),
            Err(error) => {
                exit = Exit::Refused;
                terminal::complain(&Message::Plain(
                    format!("failed to take back {}: {error}", one.path().display()),
                    Some(
                        "run it as root, e.g. with sudo, when no other SCHED_DEADLINE thread runs"
                            .to_owned(),
                    ),
                ));
            }
        }
    }
    if left.is_empty() {
        text += "nothing to take back\n";
    }
    terminal::result(&text)?;
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

/// Formats one line for each finding, and one for its fix.
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
        text += &terminal::entry(&format!("{sign}  {name:width$}  "), detail);
        if let Some(fix) = fix {
            text += &terminal::entry(&format!("{:width$}  fix: ", "", width = width + 9), fix);
        }
    }
    text
}
