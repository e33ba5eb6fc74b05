//! The options of `check` that change the question, and everything that answers it: such an option reaches all answers,
//! or the answer is *unknown*.

use super::{CheckArgs, examined};
use crate::ui::input::Set;
use clap::{Args, Command, Parser};
use layland_analysis::{Subject, Verdict, catalogue};
use layland_guarantee::BoundsBy;
use layland_model::{Duration, Preemption, Service, System, Task};
use layland_policy::Registry;
use std::collections::BTreeSet;

/// The kinds of options.
enum Kind {
    /// It says which set is asked about: all answers are about that.
    Set,
    /// It says which policies or tests are asked, and how long they search: what is not asked says nothing.
    Asked,
    /// It changes what is asked of the set: the effect on each of [`ANSWERS`].
    Question([&'static str; ANSWERS.len()]),
    /// It says what is printed, or where.
    Output,
}

/// Everything that answers.
const ANSWERS: [&str; 8] = [
    "tests and bounds",
    "the margin",
    "the verdict without affinities",
    "what some scheduler, partition or priorities can do",
    "WITNESS",
    "STATES",
    "chains",
    "certificates",
];

use Kind::{Asked, Output, Question};

const TABLE: &[(&str, Kind)] = &[
    ("set", Kind::Set),
    ("more", Kind::Set),
    ("task", Kind::Set),
    ("cpus", Kind::Set),
    ("from", Kind::Set),
    ("unit", Kind::Set),
    ("policy", Asked),
    ("test", Asked),
    ("effort", Asked),
    (
        "margin",
        Question([
            "of the larger set",
            "of the larger set",
            "of the larger set",
            "of the set as it is: what nothing can do with less, nothing can do with more; a yes decides nothing",
            "runs the larger set",
            "searches the larger set",
            "of the larger set",
            "refused together",
        ]),
    ),
    (
        "tick",
        Question([
            "a no is unknown, and no bound is reached",
            "a yes, which holds",
            "a no is unknown",
            "a no is left out, unless the densest run is on ticks",
            "runs on ticks alone",
            "searches ticks alone",
            "bounds, which hold",
            "no proof of a no",
        ]),
    ),
    ("chart", Output),
    ("output", Output),
    ("certificate", Output),
    ("bounds", Output),
    ("all", Output),
    ("no_margin", Output),
    ("cite", Output),
    ("json", Output),
    ("ascii", Output),
    ("threads", Output),
];

#[derive(Parser)]
struct Alone {
    #[command(flatten)]
    args: CheckArgs,
}

#[test]
fn every_option_has_a_row() {
    let command = CheckArgs::augment_args(Command::new("check"));
    let options: BTreeSet<&str> =
        command.get_arguments().map(|option| option.get_id().as_str()).collect();
    let rows: BTreeSet<&str> = TABLE.iter().map(|(option, _)| *option).collect();
    assert_eq!(
        options, rows,
        "does a new option change the question, and does it reach {ANSWERS:?}?"
    );
    let questions = TABLE.iter().filter(|(_, kind)| match kind {
        Question(answers) => answers.iter().all(|answer| !answer.is_empty()),
        Kind::Set | Asked | Output => false,
    });
    assert_eq!(questions.count(), 2);
}

fn task((name, c, t, d): (&str, i64, i64, i64)) -> Task {
    let mut task = Task::implicit(name.to_owned(), Service::from_ms(c), Duration::from_ms(t));
    task.deadline = Duration::from_ms(d);
    task
}

/// Under no policy does a test refute jobs at ticks: a run does, or what no scheduler can do.
#[test]
fn no_test_refutes_jobs_that_arrive_at_ticks() {
    let registry = Registry::standard();
    let sets = [
        vec![("a", 1, 30, 29), ("b", 1, 12, 12), ("c", 12, 25, 25)],
        vec![("a", 2, 5, 3), ("b", 2, 7, 4), ("c", 3, 9, 9)],
        vec![("a", 3, 5, 5), ("b", 4, 9, 9)],
    ];
    let (mut taken_back, mut refuted) = (0, 0);
    for (at, tasks) in sets.into_iter().enumerate() {
        for is_preempted in [true, false] {
            let mut system = System::new(1, tasks.iter().copied().map(task).collect());
            if !is_preempted {
                system.tasks.values_mut().for_each(|task| task.preemption = Preemption::Never);
            }
            let checked = |more: &[&str]| {
                let arguments = [&["check", "--all", "--no-margin"][..], more].concat();
                let args = Alone::parse_from(arguments).args;
                let set = Set::in_memory("set", system.clone());
                examined(&registry, &args, set, true, BoundsBy::All).expect("there are threads")
            };
            let (plain, on_ticks) = (checked(&[]), checked(&["--tick", "1ms"]));
            for found in &on_ticks.policies {
                let before = plain.policies.iter().find(|before| before.spec == found.spec);
                let before = before.map(|before| before.verdict);
                taken_back +=
                    usize::from(before == Some(Verdict::No) && found.verdict == Verdict::Unknown);
                if found.verdict != Verdict::No || found.refused.is_some() {
                    continue;
                }
                refuted += 1;
                let by = found.decided_by.expect("a test says no");
                let is_of_all =
                    catalogue::test(by).is_some_and(|test| test.subject == Subject::SomeScheduler);
                assert!(by == "WITNESS" || is_of_all, "set {at}, {}: {by}", found.spec);
            }
        }
    }
    assert!(taken_back > 0 && refuted > 10, "{taken_back} taken back, {refuted} refuted");
}
