//! A policy of your own beside the built-in ones: `cargo run --example own_policy`.
//!
//! The shell (`layland::policy::shell`) implements what policies share: tasks and CPUs that come
//! and go, clusters, and the CPU of each job. The policy only chooses the next job. A registered
//! policy is equal to the built-in ones: pass the registry to `layland::main_with`, and the command
//! simulates, checks, traces and runs the policy by its name.

#![expect(clippy::print_stdout, reason = "it is a program for a terminal")]

use layland::model::{Algorithm, Group, JobOrder, Order, ScheduleRule};
use layland::policy::shell::{Grouped, Priority, Progress, Scheduler, Scope, Turn};
use layland::prelude::*;
use std::error::Error;

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
        "np-edf",
        "non-preemptive global EDF",
        "the earliest deadline starts on a CPU that is idle, and runs to its end",
        |system, options| {
            let (scope, order) = (Scope::Global, Order::Deadline);
            let edf = NonPreemptive::default();
            Ok(Box::new(Grouped::new("np-edf", scope, order, system, options, edf)?))
        },
    )
    .implementing_by(|_| Algorithm::Other)
}

fn main() -> Result<(), Box<dyn Error>> {
    let registry = Registry::standard().with(info())?;
    let tasks = ["long=6ms/20ms", "short=1ms/3ms"].map(parse_inline);
    let system = System::new(1, tasks.into_iter().collect::<Result<Vec<Task>, _>>()?);
    for spec in ["g-edf", "np-edf"] {
        let policy = registry.build(spec, &system)?;
        let mut counters = Counters::new(system.tasks.len(), system.platform.cpu_count());
        simulate(&system, policy, &mut counters, &SimOptions::until(Time::from_ms(60)))?;
        let total = counters.total();
        println!("{spec}: {} missed, {} preemptions", total.missed, total.preemptions);
    }
    Ok(())
}
