//! Checks, simulates and draws a task set: `cargo run --example simulate_and_check`.

#![expect(clippy::print_stdout, reason = "it is a program for a terminal")]

use layland::chart::gantt::{TextOptions, View};
use layland::prelude::*;
use layland::trace::Labels;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    // Two light tasks and a heavy one on two CPUs: Dhall's effect.
    let tasks = ["light=2ms/10ms", "lighter=2ms/10ms", "heavy=10ms/11ms"];
    let tasks = tasks.map(parse_inline).into_iter().collect::<Result<Vec<Task>, _>>()?;
    let system = System::new(2, tasks);
    let registry = Registry::standard();

    for spec in ["g-edf", "p-edf:fit=ffd"] {
        let answer = assess(&registry, spec, &system, &AssessOptions::default())?;
        let by = answer.decided_by.unwrap_or("no test");
        println!("{spec}: guaranteed: {} (by {by})", answer.verdict.name());

        let policy = registry.build(spec, &system)?;
        let counters = Counters::new(system.tasks.len(), system.platform.cpu_count());
        let mut seen = Both(Trace::default(), counters);
        simulate(&system, policy, &mut seen, &SimOptions::until(Time::from_ms(110)))?;
        let Both(trace, counters) = seen;
        let total = counters.total();
        println!("{spec}: {} of {} jobs missed their deadlines", total.missed, total.released);

        let labels = Labels::of(&system);
        let view = View::new(&trace, &labels).window(Time::ZERO, Time::from_ms(22));
        println!("{}", view.text(&TextOptions::default()));
    }
    Ok(())
}
