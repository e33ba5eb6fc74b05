//! A policy of your own beside the built-in ones: `cargo run --example own_policy`.
//!
//! The shell (`layland::policy::shell`) implements what policies share: tasks and CPUs that come
//! and go, clusters, and the CPU of each job. The policy only chooses the next job. A registered
//! policy is equal to the built-in ones: the library checks and simulates it by its name, and so
//! does every command of this program, as in `cargo run --example own_policy -- explain GFB`.

#![expect(clippy::print_stdout, reason = "it is a program for a terminal")]

use layland::model::{Algorithm, Citation, Form, Group, JobOrder, Order, ScheduleRule};
use layland::policy::shell::{Grouped, Priority, Progress, Scheduler, Scope, Turn};
use layland::policy::{HighestFirst, OptionInfo, Values};
use layland::prelude::*;
use std::error::Error;
use std::process::ExitCode;

/// The name under which it is registered.
const NAME: &str = "own-edf";

/// When a CPU is idle, the waiting job with the earliest deadline starts and runs to completion.
#[derive(Clone, Debug, Default)]
struct NonPreemptive {
    /// Sorted so that the highest priority is last.
    waiting: Vec<Priority>,
}

impl Scheduler for NonPreemptive {
    const PROGRESS: Progress = Progress::Ignored;

    fn wait(&mut self, job: Priority) {
        let at = self.waiting.partition_point(|&other| job.is_higher_than(other));
        self.waiting.insert(at, job);
    }
    fn forget(&mut self, job: Priority) {
        self.waiting.retain(|&other| other != job);
    }
    fn clear(&mut self) {
        self.waiting.clear();
    }
    fn decide(&mut self, turn: &mut Turn<'_>) {
        while turn.has_idle_cpu() {
            let Some(highest) = self.waiting.pop() else { return };
            turn.start(highest);
        }
    }
    fn rule(&self, _groups: Vec<Group>, _order: JobOrder) -> ScheduleRule {
        // `layland trace check` checks traces against this rule. No rule exists for non-preemptive
        // schedules.
        ScheduleRule::None
    }
}

fn info() -> PolicyInfo {
    PolicyInfo::new(
        NAME,
        "global EDF with an option",
        "the m earliest deadlines run, or, with preempt=off, a job that has started runs to its end",
        |system, options| {
            let (scope, order) = (Scope::Global, Order::Deadline);
            Ok(if options.switch("preempt", true)? {
                let edf = HighestFirst::default();
                Box::new(Grouped::new(NAME, scope, order, system, options, edf)?)
            } else {
                let edf = NonPreemptive::default();
                Box::new(Grouped::new(NAME, scope, order, system, options, edf)?)
            })
        },
    )
    // With preemption the algorithm is global EDF, and all results for global EDF apply.
    .implementing_by(|options| match options.switch("preempt", true) {
        Ok(true) => Algorithm::Ordered(Form::Global, Order::Deadline),
        Ok(false) | Err(_) => Algorithm::Other,
    })
    .refusing(["several clusters, and affinities to some CPUs only: it migrates over all CPUs"])
    .with_options([OptionInfo::new(
        "preempt",
        "on (default): an earlier deadline preempts; off: a job that has started runs to its end",
        Values::Switch,
    )])
    .citing([Citation::LIU_LAYLAND])
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let registry = Registry::standard().with(info())?;
    if std::env::args_os().len() > 1 {
        return Ok(layland::main_with(&registry));
    }
    // On one CPU, `long` makes `short` miss if it is not preempted.
    let tasks = ["long=6ms/20ms", "short=1ms/3ms"].map(parse_inline);
    let system = System::new(1, tasks.into_iter().collect::<Result<Vec<Task>, _>>()?);
    for spec in ["own-edf", "own-edf:preempt=off"] {
        let answer = assess(&registry, spec, &system, &AssessOptions::default())?;
        let by = answer.decided_by.unwrap_or("no test");
        println!("{spec}: guaranteed: {} (by {by})", answer.verdict.name());

        let policy = registry.build(spec, &system)?;
        let mut counters = Counters::new(system.tasks.len(), system.platform.cpu_count());
        simulate(&system, policy, &mut counters, &SimOptions::until(Time::from_ms(60)))?;
        let total = counters.total();
        println!("{spec}: {} missed, {} preemptions", total.missed, total.preemptions);
    }
    Ok(ExitCode::SUCCESS)
}
