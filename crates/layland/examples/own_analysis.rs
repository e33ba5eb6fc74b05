//! A schedulability test of your own, judged by random sets: `cargo run --example own_analysis`.
//!
//! The test is the density test for global EDF on m CPUs (Goossens, Funk and Baruah 2003, with
//! densities for deadlines that are shorter than periods): the sum of the densities is at most m -
//! (m - 1) d, where d is the largest of them. The example compares the test with simulations, in
//! which a late job would refute it, and with all known tests.

#![expect(clippy::print_stdout, reason = "it is a program for a terminal")]

use layland::r#gen::{Deadlines, Recipe, Utilizations};
use layland::prelude::*;
use std::error::Error;

/// A sufficient test. It assumes sporadic tasks that do not suspend, and CPUs of speed 1.
fn density_test(system: &System) -> Verdict {
    let cpus = Rate::whole(system.platform.cpu_count() as i64);
    let (mut sum, mut largest) = (Rate::ZERO, Rate::ZERO);
    for task in system.tasks.values() {
        let density = Rate::new(task.own_wcet().ns(), task.deadline.min(task.period).ns());
        largest = largest.max(density.clone());
        sum = &sum + &density;
    }
    let others = &cpus - &Rate::ONE;
    if sum <= &cpus - &(&others * &largest) { Verdict::Yes } else { Verdict::Unknown }
}

fn main() -> Result<(), Box<dyn Error>> {
    let registry = Registry::standard();
    let only_verdict = AssessOptions::default();
    println!("utilization  density  all tests  no miss in 1 s");
    for tenths in [10, 15, 20, 25, 30] {
        let total = Rate::new(tenths, 10);
        let shares =
            Utilizations::RandFixedSum { tasks: 12, total, min: Rate::ZERO, max: Rate::ONE };
        let mut recipe = Recipe::new(4, shares, 7);
        recipe.deadlines = Deadlines::Constrained { min: Rate::new(3, 4), max: Rate::ONE };
        let generator = recipe.generator()?;
        let (mut mine, mut all, mut met) = (0, 0, 0);
        for number in 0..50 {
            let system = generator.generate(number)?;
            let answer = density_test(&system);
            let known = assess(&registry, "g-edf", &system, &only_verdict)?.verdict;
            let mut counters = Counters::new(system.tasks.len(), system.platform.cpu_count());
            let policy = registry.build("g-edf", &system)?;
            simulate(&system, policy, &mut counters, &SimOptions::until(Time::from_ms(1000)))?;
            let is_met = counters.total().missed == 0;
            assert!(is_met || answer != Verdict::Yes, "refuted by set {number} at {tenths}/10");
            mine += u32::from(answer == Verdict::Yes);
            all += u32::from(known == Verdict::Yes);
            met += u32::from(is_met);
        }
        println!("{:11.1}  {mine:7}  {all:9}  {met:14}", tenths as f64 / 10.0);
    }
    Ok(())
}
