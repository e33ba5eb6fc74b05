//! What both engines start from, and why a run does not take place.

use super::args::RunArgs;
use crate::ui::exit::{Exit, Failure, Message};
use crate::ui::input::Set;
use crate::ui::output::Output;
use crate::ui::terminal;
use layland_linux::{Changes, RunError};
use layland_model::{Duration, Index, System};
use layland_policy::{BuildError, Registry};

/// What both engines start from.
pub(super) struct Request<'a> {
    pub registry: &'a Registry,
    pub args: &'a RunArgs,
    pub set: Set,
    /// The set without overruns: what is guaranteed is guaranteed without them.
    pub asked: System,
    pub duration: Duration,
    pub outputs: Vec<Output>,
}

/// A policy that does not take the set.
pub(super) fn refused(set: &Set, spec: &str, error: &BuildError) -> Failure {
    let reason = set.located(error.to_string(), error.task());
    Failure { exit: Exit::No, ..Failure::input(format!("{spec} refused: {reason}")) }
}

/// Why a run did not take place, as one line and what to do.
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

/// What a run was called with, for other runs.
pub(super) fn what(args: &RunArgs, set: &Set) -> String {
    format!("layland run {} --policy {}", set.name, args.policy)
}

/// Takes back all that a run has changed. What the kernel refuses is told, and decides how the run ends.
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

/// The CPUs of the machine that the user wants, ascending.
pub(super) fn chosen_cpus(args: &RunArgs) -> Result<Vec<usize>, Failure> {
    let usable = layland_linux::usable_cpus()
        .map_err(|error| Failure::refused(format!("failed to list the CPUs: {error}")))?;
    let Some(set) = &args.host_cpus else { return Ok(usable) };
    if let Some(cpu) = set.iter().find(|cpu| !usable.contains(&cpu.index())) {
        return Err(Failure::usage(format!("host CPU {cpu} cannot be used"))
            .help("the process may use others, or it is offline: see taskset -p"));
    }
    Ok(set.iter().map(Index::index).collect())
}
