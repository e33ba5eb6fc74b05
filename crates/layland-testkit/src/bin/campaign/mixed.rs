//! Do sets that a mixed-criticality analysis accepts survive?
//! `cargo run --release -p layland-testkit -- mixed`
//!
//! ```text
//! mixed [POLICY..] [--sets N] [--runs N] [--seed N]
//! mixed --beside POLICY POLICY [--sets N] [--runs N] [--seed N]
//! ```
//!
//! For each policy (by default all whose analysis is safe) draws sets until the analysis has
//! accepted N (2000 by default), and simulates each in several adversarial runs (1000 by default).
//! Prints how many sets were drawn, accepted and broken, and the first broken run of each policy
//! with its releases and demands. Exits with 1 if a safe policy is broken.
//!
//! With `--beside` it simulates two policies in the same runs, and prints how often their schedules differ.
use layland_testkit::mixed::{Beside, SAFE, beside, describe, try_set};
use rayon::prelude::*;
use std::process::ExitCode;

/// The number of sets that are drawn together.
const BATCH: u64 = 256;

pub(crate) fn run(words: &[String]) -> ExitCode {
    let mut compare = false;
    let (mut policies, mut sets, mut runs, mut seed) = (Vec::new(), 2000u64, 1000u64, 1u64);
    let mut words = words.iter().cloned();
    let usage = || {
        eprintln!("usage: mixed [POLICY..] [--beside] [--sets N] [--runs N] [--seed N]");
        ExitCode::from(2)
    };
    while let Some(word) = words.next() {
        let number = |text: Option<String>| text.and_then(|text| text.parse::<u64>().ok());
        let place = match word.as_str() {
            "--sets" => &mut sets,
            "--runs" => &mut runs,
            "--seed" => &mut seed,
            "--beside" => {
                compare = true;
                continue;
            }
            _ if word.starts_with('-') => return usage(),
            _ => {
                policies.push(word);
                continue;
            }
        };
        match number(words.next()) {
            Some(value) => *place = value,
            None => return usage(),
        }
    }
    if compare {
        let [a, b] = &policies[..] else { return usage() };
        let mut found = Beside::default();
        let mut drawn = 0;
        while found.sets < sets && drawn < sets * 1000 {
            let batch = (drawn..drawn + BATCH).into_par_iter();
            let all = batch.map(|index| beside([a, b], seed, index, runs));
            found = found.and(all.reduce(Beside::default, Beside::and));
            drawn += BATCH;
        }
        println!(
            "{a}, {b}: {} sets that both accept, {} runs, {} schedules differ; jobs missed {}, {}; segments {}, {}",
            found.sets,
            found.runs,
            found.differ,
            found.missed[0],
            found.missed[1],
            found.segments[0],
            found.segments[1],
        );
        return ExitCode::SUCCESS;
    }
    if policies.is_empty() {
        policies.extend(SAFE.iter().map(|&spec| spec.to_owned()));
    }
    let mut failed = false;
    for spec in &policies {
        let (mut drawn, mut accepted, mut simulated, mut broken) = (0, 0, 0, 0);
        let mut first = None;
        while accepted < sets && drawn < sets * 1000 {
            let batch: Vec<_> = (drawn..drawn + BATCH)
                .into_par_iter()
                .map(|index| (index, try_set(spec, seed, index, runs)))
                .collect();
            drawn += BATCH;
            for (index, tried) in batch {
                accepted += u64::from(tried.accepted);
                simulated += tried.runs;
                broken += u64::from(tried.broken.is_some());
                if first.is_none() {
                    first = tried.broken.map(|broken| (index, broken));
                }
            }
        }
        println!(
            "{spec:<34} {drawn:>8} sets drawn, {accepted:>6} accepted, {simulated:>9} runs, {broken} sets broken"
        );
        if let Some((index, (run, system, how))) = first {
            println!("  set {index}, run {run}: {how}\n{}", describe(&system));
            failed |= SAFE.contains(&spec.as_str());
        }
    }
    ExitCode::from(u8::from(failed))
}
