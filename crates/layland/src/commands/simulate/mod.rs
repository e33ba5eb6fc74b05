//! `layland sim`: simulates a task set under one or more policies, side by side.
//!
//! Each policy is simulated once with streaming statistics, so that memory does not grow with
//! simulated time. The contents of charts and files are simulated again, which gives the same
//! schedule. Several sets are simulated one after the other (`batch.rs`).

mod args;
mod batch;
mod chains;
mod chart;
mod comparison;
mod files;
mod json;
mod report;
mod text;

use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::input::{Set, Sets};
use crate::ui::output::Output;
use crate::ui::{gate, input, interrupt, terminal, threads};
use comparison::{Comparison, Simulate, Simulated};
use layland_answers::limits::{self, Bounds, Held};
use layland_policy::Registry;
use layland_report::Report;
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(feature = "command")]
pub(crate) use args::EXAMPLES;
pub(crate) use args::SimArgs;
pub(crate) use comparison::usual_end;

/// The policy if neither the user nor the file names one.
const DEFAULT: &str = "g-edf";

pub(crate) fn run(registry: &Registry, args: &SimArgs) -> Outcome {
    let outputs = Output::all(&args.output, &[])?;
    let specs = layland_answers::distinct_policies(registry, &args.policy)?;
    let mut sets = Sets::new(&args.set, &args.more).peekable();
    // If no set is named, the arguments describe one.
    let first = sets.next().unwrap_or_else(|| input::load(&args.set))?;
    match sets.peek() {
        None => one(registry, args, specs, &first.alone(), &outputs),
        Some(_) => batch::run(registry, args, &specs, first, sets),
    }
}

/// Simulates one set and prints the result.
fn one(
    registry: &Registry,
    args: &SimArgs,
    specs: Vec<String>,
    set: &Set,
    outputs: &[Output],
) -> Outcome {
    if let Some((message, help)) = set.unblocked() {
        terminal::warn(&message, Some(help));
    }
    let specs = policies(specs, set);
    let bounds = bounds(registry, args, &specs, set)?;
    let interrupt = interrupt::listen();
    let asked = Simulate { registry, args, quiet: args.quiet, interrupt };
    let simulate = || Comparison::simulate(&asked, &specs, set);
    let comparison = threads::on(args.threads, simulate)??;
    // The time that was simulated before an interrupt is drawn and written; a second interrupt ends
    // that.
    if comparison.cut && !outputs.is_empty() {
        terminal::talk(
            "interrupted: writing what there is; press Ctrl-C again to stop immediately",
        );
    }
    let write = || outputs.iter().try_for_each(|output| comparison.write(output));
    let held = comparison.held(&bounds);
    let exit = || verdict(&comparison.policies, &held, interrupt.load(Ordering::SeqCst));
    if args.json {
        let written = write();
        let code = written.as_ref().map_or_else(|failure| failure.exit, |()| exit());
        comparison.write_json(code)?;
        written?;
    } else {
        terminal::result(&comparison.as_text()?)?;
        write()?;
    }
    for (policy, found) in comparison.policies.iter().zip(&held) {
        gate::tell(&policy.spec, found);
    }
    if let Some(path) = &args.junit {
        comparison.write_junit(path, held.clone())?;
    }
    Ok(exit())
}

/// Returns the page that `-o FILE.html` writes for a set; `None` if it was interrupted.
pub(crate) fn page(
    registry: &Registry,
    args: SimArgs,
    set: &Set,
    interrupt: &AtomicBool,
) -> Result<Option<String>, Failure> {
    let args = SimArgs { quiet: true, tasks: true, ..args };
    simulated(registry, &args, set, interrupt)?.page()
}

/// Returns the output of `--json` for a set, its exit code, and the report of `-o FILE.html` if it
/// is wanted.
pub(crate) fn document(
    registry: &Registry,
    args: SimArgs,
    set: &Set,
    with_report: bool,
    interrupt: &AtomicBool,
) -> Result<(String, Exit, Option<Report>), Failure> {
    let args = SimArgs { quiet: true, json: true, ..args };
    let specs = policies(layland_answers::distinct_policies(registry, &args.policy)?, set);
    let bounds = bounds(registry, &args, &specs, set)?;
    let comparison = simulated(registry, &args, set, interrupt)?;
    let held = comparison.held(&bounds);
    let exit = verdict(&comparison.policies, &held, interrupt.load(Ordering::SeqCst));
    let report = if with_report { comparison.report()? } else { None };
    Ok((comparison.json(exit), exit, report))
}

/// Returns the charts that `-o FILE.svg` writes for a set, for each policy that accepts it.
pub(crate) fn charts(
    registry: &Registry,
    args: SimArgs,
    set: &Set,
    interrupt: &AtomicBool,
) -> Result<Vec<(String, String)>, Failure> {
    let args = SimArgs { quiet: true, ..args };
    simulated(registry, &args, set, interrupt)?.charts()
}

/// Writes the files of `-o` for a set.
pub(crate) fn write(
    registry: &Registry,
    args: SimArgs,
    set: &Set,
    interrupt: &AtomicBool,
) -> Result<(), Failure> {
    let args = SimArgs { quiet: true, ..args };
    let outputs = Output::all(&args.output, &[])?;
    let comparison = simulated(registry, &args, set, interrupt)?;
    outputs.iter().try_for_each(|output| comparison.write(output))
}

fn simulated<'a>(
    registry: &'a Registry,
    args: &'a SimArgs,
    set: &'a Set,
    interrupt: &'a AtomicBool,
) -> Result<Comparison<'a>, Failure> {
    let specs = policies(layland_answers::distinct_policies(registry, &args.policy)?, set);
    let asked = Simulate { registry, args, quiet: true, interrupt };
    threads::on(args.threads, || Comparison::simulate(&asked, &specs, set))?
}

/// Returns the policies that the user requested, or else the one that the set requests.
fn policies(mut specs: Vec<String>, set: &Set) -> Vec<String> {
    if specs.is_empty() {
        specs.push(set.policy.unwrap_or(DEFAULT).to_owned());
    }
    specs
}

/// Returns the guaranteed bounds under each policy that the limits need.
fn bounds(
    registry: &Registry,
    args: &SimArgs,
    specs: &[String],
    set: &Set,
) -> Result<Vec<Bounds>, Failure> {
    limits::known(&args.fail_on, &set.system)?;
    let of = |spec: &String| limits::bounds(&args.fail_on, registry, spec, &set.system, "");
    Ok(specs.iter().map(of).collect::<Result<_, _>>()?)
}

/// Returns no if a policy rejected the set or one of its tasks, missed a deadline or broke a rule.
/// If limits were given, only misses that exceed a limit count.
fn verdict(policies: &[Simulated], held: &[Vec<Held>], interrupted: bool) -> Exit {
    let broken = policies.iter().any(|policy| {
        matches!(&policy.result, Ok(ran) if ran.checked.as_ref().is_some_and(|found| !found.is_empty()))
    });
    let is_kept = |(policy, held): (&Simulated, &Vec<Held>)| match &policy.result {
        Ok(ran) if held.is_empty() => ran.summary.total.missed == 0 && ran.refusals.entries == 0,
        Ok(ran) => held.iter().all(|held| held.found.is_none()) && ran.refusals.entries == 0,
        Err(_) => false,
    };
    let all_met = policies.iter().zip(held).all(is_kept);
    if broken {
        Exit::Bug
    } else if interrupted {
        Exit::Interrupted
    } else if all_met {
        Exit::Yes
    } else {
        Exit::No
    }
}
