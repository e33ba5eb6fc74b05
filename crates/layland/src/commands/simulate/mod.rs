//! `layland sim`: simulates a task set under one or more policies, side by side. Several sets are
//! simulated one after the other (`batch.rs`).

mod args;
mod batch;
mod files;
mod text;

use crate::pages::simulation::View;
use crate::ui::exit::{Exit, Outcome};
use crate::ui::gate::Suite;
use crate::ui::input::{Set, Sets};
use crate::ui::output::Output;
use crate::ui::progress::{Bar, Lines};
use crate::ui::{files as ui_files, gate, input, interrupt, terminal, threads};
use files::Files;
use layland_answers::simulate::{Ran, Watch};
use layland_answers::{SimulateQuestion, UsualPolicy};
use layland_model::Time;
use layland_policy::Registry;
use std::sync::atomic::Ordering;

pub(crate) use args::{EXAMPLES, SimArgs};
pub(crate) use files::write_files;

pub(crate) fn run(registry: &Registry, args: &SimArgs) -> Outcome {
    let outputs = Output::all(&args.output, &[])?;
    let question = args.question().resolved(registry)?;
    input::policies_are_not_sets(&args.more)?;
    let mut sets = Sets::new(&args.set, &args.more).peekable();
    // If no set is named, the arguments describe one.
    let first = sets.next().unwrap_or_else(|| input::load(&args.set))?;
    match sets.peek() {
        None => one(registry, args, &question, first.alone(), &outputs),
        Some(_) => batch::run(registry, args, &question, first, sets),
    }
}

/// Simulates one set and prints the result.
fn one(
    registry: &Registry,
    args: &SimArgs,
    question: &SimulateQuestion,
    set: Set,
    outputs: &[Output],
) -> Outcome {
    if let Some((message, help)) = set.unblocked() {
        terminal::warn(&message, Some(help));
    }
    if question.policies.is_empty() && set.policy.is_none() && !args.quiet {
        terminal::talk(&UsualPolicy::of(registry, &set).describe());
    }
    let shown = args.shown();
    shown.within(question, &set)?;
    let interrupt = interrupt::listen();
    let end = question.latest_end(&set);
    let (bar, lines) = (Bar::simulating(end, args.quiet, args.ascii), Lines::new(args.quiet));
    let tell = |now: Time| {
        bar.set_position(now.ns() as u64);
        let all = end.map(|end| end.ns() as u64);
        lines.tell(now.ns() as u64, all, || format!("simulated up to {now:#}"));
    };
    let watch = Watch { interrupt: Some(interrupt), progress: Some(&tell) };
    let simulated = threads::on(args.workers, || question.answer(registry, set, &watch))?;
    bar.finish();
    let mut simulated = simulated?;
    // The time that was simulated before an interrupt is drawn and written; a second interrupt ends
    // that.
    if simulated.interrupted && !outputs.is_empty() {
        terminal::talk(
            "interrupted: writing what there is; press Ctrl-C again to stop immediately",
        );
    }
    let view = View { simulated: &simulated, shown, interrupt };
    if !args.json {
        terminal::result(&text::text(&view, args)?)?;
    }
    let files = Files { view, ascii: args.ascii, quiet: args.quiet };
    let written = outputs.iter().try_for_each(|output| files.write(output));
    if interrupt.load(Ordering::SeqCst) {
        simulated.exit = Exit::worst([simulated.exit, Exit::Interrupted].into_iter());
    }
    if args.json {
        let exit = simulated.exit;
        simulated.exit = written.as_ref().map_or_else(|failure| failure.exit, |()| exit);
        terminal::write_result(|out| {
            serde_json::to_writer_pretty(&mut *out, &simulated.document())?;
            out.write_all(b"\n")
        })?;
    }
    written?;
    for policy in &simulated.policies {
        gate::tell(&policy.spec, &policy.held);
    }
    if let Some(path) = &args.junit {
        let suites = simulated.policies.iter().map(|policy| Suite {
            name: format!("{} under {}", simulated.set.name, policy.spec),
            result: policy.result.as_ref().map(|ran| &ran.summary).map_err(String::as_str),
            held: policy.held.clone(),
            constraints: policy.result.as_ref().map_or_else(|_| Vec::new(), Ran::constraints),
        });
        let junit = gate::junit(&suites.collect::<Vec<_>>());
        ui_files::write(path, junit.as_bytes())?;
    }
    Ok(simulated.exit)
}
