//! Tests that one question has one answer through every interface: the library's `assess`,
//! `check --json`, `check` for programs without a command line, `check` of many sets, and the limit
//! `response>bound`.
//!
//! The Python package and the playground call [`answers`](crate::answers), and tests of their own
//! compare the results with the command.

use super::CheckArgs;
use crate::ui::input::Set;
use layland_analysis::{TestKind, Verdict};
use layland_answers::{CheckQuestion, limits};
use layland_gen::Random;
use layland_guarantee::{AssessOptions, Assessment, Bound, BoundsBy, Effort, assess};
use layland_model::{Chain, Communication, Duration, Service, System, Task, TaskId};
use layland_policy::Registry;
use serde_json::Value;

const POLICIES: [&str; 7] =
    ["g-edf", "g-rm", "p-edf", "p-dm", "edzl", "dl", "g-edf:nonpreemptive=on"];

/// Draws small sets with times of a few nanoseconds. Tests often do not decide them, so that runs
/// and states do.
fn drawn(seed: u64) -> System {
    let mut random = Random::of_task(seed, 49);
    let cpus = 1 + random.below(3) as usize;
    let tasks = (0..cpus as u64 + 1 + random.below(2)).map(|at| {
        let period = random.between(2, 7);
        let wcet = random.between(1, (period + 1) / 2 + i64::from(seed.is_multiple_of(2)));
        let length = Duration::from_ns(period);
        let mut task = Task::implicit(format!("t{at}"), Service::from_ns(wcet), length);
        task.deadline = Duration::from_ns(random.between(wcet, period));
        if random.below(4) == 0 {
            task.offset = Duration::from_ns(random.between(0, period));
        }
        task
    });
    System::new(cpus, tasks.collect())
}

/// Returns the result of a program in Rust in the form of `check --json`.
fn as_json(system: &System, found: &Assessment) -> (String, Value, Vec<Value>) {
    let verdict = match found.verdict {
        Verdict::Yes => "yes",
        Verdict::No => "no",
        Verdict::Unknown => "unknown",
    };
    let bound = |bound: &Bound| match bound {
        Bound::Response { within, by, kind, .. } => {
            serde_json::json!([within.ns(), by, *kind == TestKind::Exact])
        }
        Bound::Tardiness { within, by } => serde_json::json!([within.to_string(), by]),
        Bound::Unknown => Value::Null,
    };
    assert!(found.bounds.len() == system.tasks.len() || found.refused.is_some());
    (verdict.to_owned(), found.decided_by.into(), found.bounds.values().map(bound).collect())
}

/// Returns the same values from a document.
fn of_document(policy: &Value) -> (String, Value, Vec<Value>) {
    let bound = |bound: &Value| match bound["kind"].as_str() {
        Some("response") => {
            serde_json::json!([bound["ns"], bound["by"], bound["worth"] == "exact"])
        }
        Some("tardiness") => serde_json::json!([bound["exact_ns"], bound["by"]]),
        _ => Value::Null,
    };
    let bounds = policy["bounds"].as_array().expect("a list").iter().map(bound).collect();
    let verdict = policy["verdict"].as_str().expect("a verdict").to_owned();
    (verdict, policy["decided_by"].clone(), bounds)
}

#[test]
fn one_question_has_one_answer_at_every_door() {
    let registry = Registry::standard();
    let words = POLICIES.map(|policy| ["--policy", policy]).concat();
    let (mut by_runs, mut by_states, mut bounded) = (0, 0, 0);
    for seed in 0..200 {
        let system = drawn(seed);
        let set = || Set::in_memory("set", system.clone());
        let args = CheckArgs::of_words(&words).expect("they are arguments");
        let text = args.question().ask(&registry, set()).expect("an answer").json();
        let policies = POLICIES.map(str::to_owned).to_vec();
        let question = CheckQuestion { policies, ..CheckQuestion::default() };
        assert_eq!(text, question.ask(&registry, set()).expect("an answer").json(), "set {seed}");
        let document: Value = serde_json::from_str(&text).expect("it is JSON");
        let all = document["policies"].as_array().expect("a list");
        for spec in POLICIES {
            let policy = all.iter().find(|policy| policy["policy"] == spec);
            let policy = policy.unwrap_or_else(|| panic!("set {seed}, {spec}: {text}"));
            let found = assess(&registry, spec, &system, &AssessOptions::default());
            let found = found.expect("it is in the registry");
            assert_eq!(as_json(&system, &found), of_document(policy), "set {seed}, {spec}");
            assert_eq!(found.reasons, texts(&policy["reasons"]), "set {seed}, {spec}");
            by_runs += u32::from(found.witness.is_some());
            by_states += u32::from(found.decided_by == Some("STATES"));

            let limit = ["response>bound".parse().expect("a limit")];
            let Ok(bounds) = limits::bounds(&limit, &registry, spec, &system, "") else { continue };
            for (bound, held) in found.bounds.values().zip(&bounds) {
                let within = match bound {
                    Bound::Response { within, .. } => Some(*within),
                    Bound::Tardiness { .. } | Bound::Unknown => None,
                };
                let Some(within) = within else { continue };
                assert_eq!(held.map(|held| held.within), Some(within), "set {seed}, {spec}");
                bounded += 1;
            }
        }
    }
    assert!(by_runs > 50 && by_states > 5 && bounded > 500, "{by_runs} {by_states} {bounded}");
}

/// Constraints decide the exit code even of a question that asks for no bounds, as one about many
/// sets does.
#[test]
fn constraints_on_chains_have_one_answer_with_and_without_bounds() {
    let registry = Registry::standard();
    let mut exits = [0; 3];
    for seed in 0..100 {
        let mut system = drawn(seed);
        for (at, communication) in Communication::ALL.into_iter().enumerate() {
            let most = Duration::from_ns(5 + (seed as i64 * 7 + at as i64) % 40);
            // Bounds for LET are exact: beside an exceeded one, no answer would be unknown.
            let is_constrained = communication == Communication::Implicit || seed % 2 == 0;
            system.chains.push(Chain {
                max_age: is_constrained.then_some(most),
                ..Chain::new(communication.name(), [1, 0].map(TaskId), communication)
            });
        }
        for spec in POLICIES {
            let of = |bounds| {
                let mut question = CheckQuestion::about(vec![spec.to_owned()]);
                question.options.wanted.bounds = bounds;
                let found = question.ask(&registry, Set::in_memory("set", system.clone()));
                let found = found.expect("the policy exists");
                let (verdict, _) = found.verdict(&found.policies[0]);
                (found.exit, found.policies[0].verdict, verdict)
            };
            let (exit, deadlines, verdict) = of(BoundsBy::All);
            assert_eq!(of(BoundsBy::Nobody), (exit, deadlines, verdict), "set {seed}, {spec}");
            assert_eq!(exit.name(), verdict.name(), "set {seed}, {spec}");
            if deadlines == Verdict::Yes {
                exits[verdict as usize] += 1;
            }
        }
    }
    assert!(exits.iter().all(|&count| count > 10), "{exits:?}");
}

fn texts(list: &Value) -> Vec<String> {
    let texts = list.as_array().expect("a list").iter();
    texts.map(|text| text.as_str().expect("a text").to_owned()).collect()
}

/// With less effort an answer may become unknown, but never another answer.
#[test]
fn less_effort_says_less_and_nothing_else() {
    let registry = Registry::standard();
    let mut silent = 0;
    for seed in 0..100 {
        let system = drawn(seed);
        for spec in POLICIES {
            let of = |effort| {
                let options = AssessOptions { effort, ..AssessOptions::default() };
                assess(&registry, spec, &system, &options).expect("it exists").verdict
            };
            let usual = of(Effort::default());
            let none = Effort::Usual { most: 0 };
            for less in [Effort::Quick, Effort::Tests, none, Effort::Jobs(0), Effort::Jobs(10)] {
                let verdict = of(less);
                assert!(verdict == usual || verdict == Verdict::Unknown, "set {seed}, {spec}");
                silent += u32::from(verdict != usual);
            }
        }
    }
    assert!(silent > 50, "{silent}");
}
