//! `layland sim`: a task set under one or more policies, side by side.
//!
//! Each policy is simulated once with streaming statistics, so that memory does not grow with
//! simulated time; what charts and files show is simulated again, which gives the same schedule.

mod args;
mod chart;
mod comparison;
mod files;
mod json;
mod report;
mod text;

use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::output::Output;
use crate::ui::{input, interrupt, terminal, threads};
use comparison::{Comparison, Simulated};
use layland_policy::Registry;
use layland_sim::with_random_ranks;
use std::sync::atomic::Ordering;

pub(crate) use args::{EXAMPLES, SimArgs};

/// The policy where neither the user nor the file names one.
const DEFAULT: &str = "g-edf";

pub(crate) fn run(registry: &Registry, args: &SimArgs) -> Outcome {
    let outputs = Output::all(&args.output, &[])?;
    let mut specs = specs(registry, &args.policy)?;
    let mut set = input::load(&args.set)?;
    if specs.is_empty() {
        specs.push(set.policy.unwrap_or(DEFAULT).to_owned());
    }
    if let Some(seed) = args.explore {
        set.system = with_random_ranks(&set.system, seed);
    }
    let interrupt = interrupt::listen();
    let simulate = || Comparison::simulate(registry, args, &specs, &set, interrupt);
    let comparison = threads::on(args.threads, simulate)??;
    // What was simulated up to an interrupt is drawn and written: the second one ends that.
    if comparison.cut && !outputs.is_empty() {
        terminal::talk(
            "interrupted: writing what there is; press Ctrl-C again to stop immediately",
        );
    }
    let write = || outputs.iter().try_for_each(|output| comparison.write(output));
    let exit = || verdict(&comparison.policies, interrupt.load(Ordering::SeqCst));
    if args.json {
        let written = write();
        let code = written.as_ref().map_or_else(|failure| failure.exit, |()| exit());
        terminal::result(&format!("{:#}\n", comparison.as_json(code)))?;
        written?;
    } else {
        terminal::result(&comparison.as_text()?)?;
        write()?;
    }
    Ok(exit())
}

/// The policies that are asked for. Each exists, and each is there once.
fn specs(registry: &Registry, asked: &[String]) -> Result<Vec<String>, Failure> {
    let mut specs: Vec<String> = Vec::new();
    for spec in asked.iter().map(|spec| spec.trim()) {
        if spec.is_empty() {
            return Err(Failure::usage("a policy in the list has no name")
                .help("separate policies by one comma, as in g-edf,p-edf"));
        }
        registry.parse(spec).map_err(|error| Failure::usage(error.to_string()))?;
        if specs.iter().any(|known| known == spec) {
            return Err(Failure::usage(format!("policy `{spec}` is named twice"))
                .help("name each policy once"));
        }
        specs.push(spec.to_owned());
    }
    Ok(specs)
}

/// No, if a policy refused the set or one of its tasks, missed a deadline or broke a rule.
fn verdict(policies: &[Simulated], interrupted: bool) -> Exit {
    let broken = policies.iter().any(|policy| {
        matches!(&policy.result, Ok(ran) if ran.checked.as_ref().is_some_and(|found| !found.is_empty()))
    });
    let all_met = policies
        .iter()
        .all(|policy| matches!(&policy.result, Ok(ran) if ran.summary.total.missed == 0 && ran.refusals.entries == 0));
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
