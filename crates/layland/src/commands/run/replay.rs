//! `layland run --replay`: repeats every decision of a log.

use super::args::RunArgs;
use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::{input, terminal};
use layland_config::{Format, Host};
use layland_linux::LogFile;
use layland_model::System;
use layland_policy::Registry;
use serde_json::json;
use std::path::Path;

/// Replays the events of a log to a fresh policy, and compares the decisions.
pub(super) fn replay(registry: &Registry, args: &RunArgs, path: &Path) -> Outcome {
    let name = path.display().to_string();
    let content = std::fs::read_to_string(path)
        .map_err(|error| Failure::input(format!("failed to read {name}: {error}")))?;
    let file = LogFile::read(&content).map_err(|error| {
        Failure::input(format!("{name}: {error}")).help("`layland run --log FILE` writes a log")
    })?;
    let host = Host { cpus: None, default_cpus: None, ..Host::default() };
    // A log of programs has no set: each program's reservation is an event of the log.
    let system = if file.set.is_empty() {
        System::new(file.log.cpus().max(1), Vec::new())
    } else {
        let set = layland_config::read(&name, file.set.as_bytes(), Format::Toml, &host);
        set.map_err(|report| input::failure(&report))?.system
    };
    let mut policy = registry
        .build(&file.policy, &system)
        .map_err(|error| Failure::input(format!("{name}: {error}")))?;
    let replayed =
        layland_linux::replay(&file.log, &system, &mut *policy).map_err(|impossible| {
            let line = LogFile::line_of(impossible.record);
            Failure::input(format!("{name}: line {line}: {}", impossible.message))
                .help("no engine can have written this: the log is damaged")
        })?;
    let exit = if replayed.divergence.is_none() { Exit::Yes } else { Exit::No };
    if args.json {
        let divergence = replayed.divergence.as_ref().map(|divergence| {
            json!({
                "decision": divergence.decision,
                "at_ns": divergence.at.ns(),
                "logged": format!("{:?}", divergence.logged),
                "decided": format!("{:?}", divergence.decided),
            })
        });
        let answer = json!({
            "layland": env!("CARGO_PKG_VERSION"),
            "command": "run --replay",
            "policy": file.policy,
            "events": replayed.events,
            "decisions": replayed.decisions,
            "divergence": divergence,
            "exit": exit,
        });
        terminal::data(&format!("{answer:#}\n"))?;
        return Ok(exit);
    }
    let text = match &replayed.divergence {
        None => format!(
            "{}: {} events, {} decisions: all as in the log\n",
            file.policy, replayed.events, replayed.decisions
        ),
        Some(divergence) => format!(
            "{}: decision {} at {} differs\n  log: {:?}\n  now: {:?}\n",
            file.policy, divergence.decision, divergence.at, divergence.logged, divergence.decided
        ),
    };
    terminal::result(&text)?;
    Ok(exit)
}
