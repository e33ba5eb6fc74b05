//! How tight are the tests? `cargo run --release -p layland-testkit -- tightness`
//!
//! ```text
//! tightness [POLICY..] [--sets N] [--seed N] [--tasks N]
//! ```
//!
//! For each policy, draws N random small sets (3000 by default) of up to this number of tasks (5 by
//! default) with periods up to 8 for which a search of all states finds no late job; and N sets of
//! 10 tasks on 4 CPUs, with log-uniform periods, loads between 1.5 and 3.5 and, under policies with
//! affinities, nested ones, about which nothing is known. Prints, for each test, how many sets it
//! accepts, and how many of those no earlier test accepts.
use super::small_sets::SmallSets;
use layland_analysis::Verdict;
use layland_gen::{Affinities, Recipe, Utilizations};
use layland_guarantee::{AssessOptions, assess};
use layland_model::{Rate, System};
use layland_testkit::exhaustive::{Model, STATES, SearchResult, draw, search};
use layland_testkit::registry;
use rayon::prelude::*;
use std::process::ExitCode;

const USAGE: &str = "usage: tightness [POLICY..] [--sets N] [--seed N] [--tasks N]";

const POLICIES: [&str; 7] =
    ["g-edf", "g-rm", "weak-edf", "strong-edf", "hpa-edf", "strong-rm", "hpa-rm"];

/// Returns the tests that were run, in the order of the catalogue, with true if the test accepts the system.
fn accepted_by(spec: &str, system: &System) -> Vec<(&'static str, bool)> {
    let options = AssessOptions::of_every_test();
    let found = assess(registry(), spec, system, &options).expect("the policy exists");
    let sufficient = found
        .said
        .iter()
        .filter(|said| matches!(said.test.subject, layland_analysis::Subject::Algorithms(_)));
    sufficient
        .map(|said| {
            let yes = (*said.finding).as_ref().is_ok_and(|finding| finding.verdict == Verdict::Yes);
            (said.test.name, yes)
        })
        .collect()
}

/// Returns a small system that the policy accepts and that never misses a deadline.
fn small(spec: &str, asked: &SmallSets, index: u64, affinities: bool) -> Option<System> {
    let system = draw(asked.seed, index, asked.tasks, affinities);
    let policy = registry().build(spec, &system).ok()?;
    let model = Model::new(&system, &*policy, false)?;
    matches!(search(&model, false, STATES), SearchResult::Meets { .. }).then_some(system)
}

/// Returns a larger system that the policy accepts.
fn large(spec: &str, asked: &SmallSets, index: u64, affinities: bool) -> Option<System> {
    let total = Rate::new(15 + (index % 21) as i64, 10);
    let (min, max) = (Rate::ZERO, Rate::ONE);
    let mut recipe =
        Recipe::new(4, Utilizations::RandFixedSum { tasks: 10, total, min, max }, asked.seed);
    if affinities {
        (recipe.affinities, recipe.feasible) = (Affinities::Nested, true);
    }
    let system = recipe.generate(index).ok()?;
    registry().build(spec, &system).ok()?;
    Some(system)
}

fn print(spec: &str, what: &str, answers: &[Vec<(&'static str, bool)>]) {
    let mut names: Vec<&'static str> = Vec::new();
    for &(name, _) in answers.iter().flatten() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let share = |count: usize| 100.0 * count as f64 / answers.len().max(1) as f64;
    println!("{spec}, {what}: {} sets", answers.len());
    let mut known = vec![false; answers.len()];
    for name in names {
        let (mut yes, mut more) = (0, 0);
        for (answer, known) in answers.iter().zip(&mut known) {
            if answer.contains(&(name, true)) {
                yes += 1;
                more += usize::from(!*known);
                *known = true;
            }
        }
        if yes > 0 {
            println!(
                "  {name:<14} {yes:>6} {:>5.1} %  adds {more:>5} {:>5.1} %",
                share(yes),
                share(more)
            );
        }
    }
    let all = known.iter().filter(|known| **known).count();
    println!("  {:<14} {all:>6} {:>5.1} %", "all", share(all));
}

pub(crate) fn run(words: &[String]) -> ExitCode {
    let usual = || POLICIES.map(str::to_owned).to_vec();
    let asked = match SmallSets::asked(words, (3_000, 5), None, usual, USAGE) {
        Ok(asked) => asked,
        Err(exit) => return exit,
    };
    for spec in &asked.specs {
        let affinities = ["weak", "strong", "hpa"].iter().any(|form| spec.starts_with(form));
        let of = |draw: fn(&str, &SmallSets, u64, bool) -> Option<System>| -> Vec<_> {
            let sets = (0..asked.sets).into_par_iter();
            let systems = sets.filter_map(|index| draw(spec, &asked, index, affinities));
            systems.map(|system| accepted_by(spec, &system)).collect()
        };
        print(spec, "small, never late", &of(small));
        print(spec, "10 tasks, 4 CPUs", &of(large));
    }
    ExitCode::SUCCESS
}
