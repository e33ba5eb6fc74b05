//! The common input of the engines, and the failures of a run.

use super::args::RunArgs;
use crate::ui::exit::{Exit, Failure, Message};
use crate::ui::input::Set;
use crate::ui::output::Output;
use crate::ui::terminal;
use layland_linux::{Changes, RunError};
use layland_model::{Duration, Index, System};
use layland_policy::{BuildError, Registry};

/// The common input of the engines.
pub(super) struct Request<'a> {
    pub registry: &'a Registry,
    pub args: &'a RunArgs,
    pub set: Set,
    /// The set without overruns. Guarantees apply only without them.
    pub asked: System,
    pub duration: Duration,
    pub outputs: Vec<Output>,
}

/// Reports a policy that rejects the set.
pub(super) fn refused(set: &Set, spec: &str, error: &BuildError) -> Failure {
    let reason = set.located(error.to_string(), error.task());
    Failure { exit: Exit::No, ..Failure::input(format!("{spec} refused: {reason}")) }
}

/// Reports why a run did not take place, in one line with advice.
pub(crate) fn failure(error: RunError) -> Failure {
    let help = error.help();
    let failure = match &error {
        RunError::Refused { .. } | RunError::TooFewCpus { .. } | RunError::Changes { .. } => {
            Failure::refused(error.to_string())
        }
        RunError::Unsupported { .. } => Failure::input(error.to_string()),
    };
    if help.is_empty() { failure } else { failure.help(help) }
}

/// Describes the command of a run, for messages of other runs.
pub(super) fn what(args: &RunArgs, set: &Set) -> String {
    format!("layland run {} --policy {}", set.name, args.policy)
}

/// Undoes all changes of a run. If the kernel refuses, that is reported and affects the exit code.
pub(crate) fn end(changes: Changes, exit: Exit) -> Exit {
    let left = changes.end();
    for one in &left {
        terminal::complain(&Message::Plain(
            one.to_string(),
            Some("as root, when other runs have ended: layland doctor --clean".to_owned()),
        ));
    }
    if left.is_empty() { exit } else { Exit::Refused }
}

/// Returns the CPUs of the machine that the user wants, in ascending order.
pub(super) fn chosen_cpus(args: &RunArgs) -> Result<Vec<usize>, Failure> {
    let usable = layland_linux::usable_cpus()
        .map_err(|error| Failure::refused(format!("failed to list the CPUs: {error}")))?;
    let Some(set) = &args.on_cpus else { return Ok(usable) };
    if let Some(cpu) = set.iter().find(|cpu| !usable.contains(&cpu.index())) {
        return Err(Failure::usage(format!("host CPU {cpu} cannot be used"))
            .help("the process may use others, or it is offline: see taskset -p"));
    }
    Ok(set.iter().map(Index::index).collect())
}
