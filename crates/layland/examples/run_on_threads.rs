//! Runs a policy on real threads and replays its decisions from the log:
//! `cargo run --example run_on_threads`.
//!
//! The example needs Linux and permission to set real-time priorities (root, CAP_SYS_NICE or the
//! limit `rtprio`).

#![expect(clippy::print_stdout, reason = "it is a program for a terminal")]

use layland::prelude::*;
use std::error::Error;

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn Error>> {
    use layland::linux::{FifoOptions, Hosts, ManagerPlace, RunError, replay, run, usable_cpus};

    let tasks = ["control=1ms/10ms", "camera=4ms/20ms"].map(parse_inline);
    let system = System::new(1, tasks.into_iter().collect::<Result<Vec<Task>, _>>()?);
    let registry = Registry::standard();
    let hosts = Hosts::choose(1, &usable_cpus()?, ManagerPlace::Auto)?;
    let options = FifoOptions::new(Duration::from_ms(500), hosts);
    let outcome = match run(&system, registry.build("p-edf", &system)?, &options) {
        Err(RunError::Refused { what, help, .. }) => {
            println!("skipped: needs real-time priorities: {what}; {help}");
            return Ok(());
        }
        outcome => outcome?,
    };
    let (events, decisions) = (outcome.events, outcome.decisions);
    println!("{events} events, {decisions} decisions on CPU {}", options.hosts.manager);
    for doubt in &outcome.doubts {
        println!("the figures are not to be believed: {doubt}");
    }
    // A policy is a pure state machine: the same events give the same decisions.
    let mut fresh = registry.build("p-edf", &system)?;
    let replayed = replay(&outcome.log, &system, &mut *fresh)?;
    assert_eq!(replayed.divergence, None);
    println!("{} decisions were repeated from the log", replayed.decisions);
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() -> Result<(), Box<dyn Error>> {
    println!("skipped: needs Linux");
    Ok(())
}
