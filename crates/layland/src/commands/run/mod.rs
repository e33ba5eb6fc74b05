//! `layland run`: runs a task set on real threads, under the policies of the simulator.

mod args;
mod carried;
mod deadline;
mod document;
mod fifo;
mod promise;
mod recording;
mod replay;
mod request;

use crate::ui::exit::{Failure, Outcome};
use crate::ui::gate::{self, Suite};
use crate::ui::input::Set;
use crate::ui::output::{FileKind, Output};
use crate::ui::{files, input, names, terminal};
use args::{Engine, ManagerChoice};
use layland_answers::UsualPolicy;
use layland_answers::limits::{self, Bounds, Held, Limit};
use layland_answers::simulate::ObservedConstraint;
use layland_model::{Duration, Observance, System, TaskId};
use layland_policy::Registry;
use layland_trace::{Outcomes, Summary, Trace};
use request::Request;

pub(crate) use args::{EXAMPLES, RunArgs};
pub(crate) use document::RunDocument;
pub(crate) use fifo::rows;
pub(crate) use recording::VARIABLE as MARKER_VARIABLE;
pub(crate) use request::{end, failure};

/// The longest duration by default.
const DEFAULT_DURATION: Duration = Duration::from_secs(10);
/// The additional output format of runs.
const KINDS: [FileKind; 1] = [FileKind::Kernel];

pub(crate) fn run(registry: &Registry, args: &mut RunArgs) -> Outcome {
    if let Some(path) = &args.fifo.replay {
        return replay::replay(registry, args, path);
    }
    let outputs = Output::all(&args.output, &KINDS)?;
    let is_named = !args.policy.is_empty();
    if is_named {
        args.policy = names::one(registry, &args.policy)?;
    }
    let mut set = input::load(&args.set)?;
    if !is_named {
        let usual = UsualPolicy::of(registry, &set);
        if set.policy.is_none() && !args.quiet {
            terminal::talk(&usual.describe());
        }
        args.policy = usual.spec;
    }
    let args = &*args;
    if let Some((message, help)) = set.unblocked() {
        terminal::warn(&message, Some(help));
    }
    if let Some(factor) = &args.stretch {
        set.system = layland_linux::stretched(&set.system, factor).map_err(failure)?;
        set.until = None;
    }
    let duration = args.until.or(set.until).unwrap_or(DEFAULT_DURATION);
    let duration = if args.until.is_some() { duration } else { duration.min(DEFAULT_DURATION) };
    if !(Duration::from_ms(1)..=layland_linux::LONGEST).contains(&duration) {
        let message =
            format!("a run takes 1 ms to {:#}, and not {duration:#}", layland_linux::LONGEST);
        return Err(Failure::usage(message));
    }
    if args.fifo.manager == ManagerChoice::PerCpu && args.engine != Engine::Fifo {
        let message = format!("the engine {} has one manager", args.engine.name());
        return Err(Failure::usage(message).help("a dispatcher on every CPU needs --engine fifo"));
    }
    limits::known(&args.fail_on, &set.system)?;
    let asked = set.system.clone();
    set.system = with_overruns(args, set.system)?;
    let request = Request { registry, args, set, asked, duration, outputs };
    match args.engine {
        Engine::Fifo | Engine::Ext => fifo::run(request),
        Engine::Deadline => deadline::run(request),
    }
}

/// Checks each limit and each weakly hard constraint, prints the results, and writes them for
/// continuous integration if requested. Returns the number of failures: misses of tasks without
/// constraints and constraints that are broken, or, if limits were given, the limits that are
/// exceeded.
fn gated(
    args: &RunArgs,
    set: &Set,
    (trace, summary): (&Trace, &Summary),
    bounds: &Bounds,
) -> Result<u64, Failure> {
    let (name, system) = (&set.name, &set.system);
    let outcomes = Outcomes::of_trace(trace);
    let judge = |limit: &Limit| limit.judge(summary, bounds, (system, &outcomes));
    let held: Vec<Held> = args.fail_on.iter().map(judge).collect();
    gate::tell(&args.policy, &held);
    let observed = ObservedConstraint::all(system, &outcomes, None);
    for of in &observed {
        terminal::talk(&of.in_words(system));
    }
    if let Some(path) = &args.junit {
        let name = format!("{name} under {}", args.policy);
        let constraints = observed.iter().map(|of| of.held(system)).collect();
        let suite = Suite { name, result: Ok(summary), held: held.clone(), constraints };
        files::write(path, gate::junit(&[suite]).as_bytes())?;
    }
    if !held.is_empty() {
        return Ok(held.iter().filter(|held| held.found.is_some()).count() as u64);
    }
    let tasks = system.tasks.values().zip(&summary.tasks);
    let hard = tasks.filter(|(task, _)| !task.has_constraints());
    let missed: u64 = hard.map(|(_, figures)| figures.missed).sum();
    let broken = observed.iter().filter(|of| of.observance == Observance::No).count();
    Ok(missed + broken as u64)
}

/// Returns the system in which the jobs of these tasks execute longer than specified.
fn with_overruns(args: &RunArgs, mut system: System) -> Result<System, Failure> {
    for (name, factor) in &args.overrun {
        let found = system.tasks.iter().find(|(_, task)| task.name == *name).map(|(id, _)| id);
        let task: TaskId = found.ok_or_else(|| {
            let names: Vec<&str> = system.tasks.values().map(|task| task.name.as_str()).collect();
            Failure::usage(format!("there is no task `{name}` to overrun"))
                .help(format!("there are {}", names.join(", ")))
        })?;
        system = layland_linux::with_overrun(&system, task, factor).map_err(failure)?;
    }
    Ok(system)
}
