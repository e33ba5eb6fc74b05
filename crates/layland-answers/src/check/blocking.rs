//! Tests of the answers of `check` about blocking times, searches included: more blocking never
//! improves an answer, and nothing is guaranteed where no test accounts for blocking.

use crate::{CheckQuestion, Set};
use layland_analysis::Verdict;
use layland_guarantee::More;
use layland_model::{Duration, Service, System, Task, TaskId};
use layland_policy::Registry;
use std::collections::BTreeMap;

/// Returns the verdict and the deciding test of each policy.
fn verdicts(system: &System) -> BTreeMap<String, (Verdict, Option<&'static str>)> {
    let mut question = CheckQuestion { every_policy: true, ..CheckQuestion::default() };
    question.options.wanted.more = More::Nothing;
    question.options.tick = Some(Duration::from_ms(1));
    let set = Set::in_memory("set", system.clone());
    let checked = question.ask(&Registry::standard(), set).expect("the question has no names");
    let of = checked.policies.into_iter();
    of.map(|found| (found.spec, (found.verdict, found.decided_by))).collect()
}

/// The name, the WCET, the period and the offset of a task.
type Given = (&'static str, i64, i64, i64);

fn task((name, c, t, offset): Given) -> Task {
    let ms = Duration::from_ms;
    let mut task = Task::implicit(name.to_owned(), Service::from_ms(c), ms(t));
    task.priority = Some(t);
    task.offset = ms(offset);
    task
}

#[test]
fn a_search_promises_nothing_to_jobs_that_are_blocked_and_refutes_nothing_by_it() {
    let counted = ["QPA", "RTA", "RTA-RM", "RTA-DM", "LL", "HB"];
    let sets: [(usize, &[Given]); 5] = [
        (1, &[("a", 1, 4, 0), ("b", 2, 8, 0), ("c", 4, 14, 0)]),
        (1, &[("a", 2, 4, 0), ("b", 2, 4, 2)]),
        (2, &[("a", 3, 6, 0), ("b", 3, 6, 0), ("c", 2, 6, 0)]),
        (2, &[("a", 1, 3, 0), ("b", 2, 4, 1), ("c", 3, 6, 0)]),
        (2, &[("a", 2, 3, 0), ("b", 2, 3, 0), ("c", 2, 3, 0)]),
    ];
    let (mut kept, mut lost, mut searched) = (0, 0, 0);
    for (cpus, tasks) in sets {
        let plain = System::new(cpus, tasks.iter().copied().map(task).collect());
        let without = verdicts(&plain);
        for blocking in [Duration::from_ms(1), Duration::from_secs(1)] {
            let mut system = plain.clone();
            system.tasks[TaskId(0)].blocking_time = blocking;
            for (spec, (verdict, by)) in verdicts(&system) {
                let Some(&(before, decided)) = without.get(&spec) else { continue };
                match verdict {
                    Verdict::Yes => {
                        let is_counted = by.is_some_and(|by| counted.contains(&by));
                        assert!(is_counted, "{spec}: yes by {by:?} of {system:?}");
                        assert_eq!(before, Verdict::Yes, "{spec}");
                        assert!(blocking < Duration::from_secs(1), "{spec}: {by:?}");
                        kept += 1;
                    }
                    // A job that is late with blocking must also be late without it.
                    Verdict::No => assert_eq!(before, Verdict::No, "{spec}: no by {by:?}"),
                    Verdict::Unknown if before == Verdict::Yes => {
                        lost += 1;
                        let searches = ["STATES", "INFLATED", "CYCLE"];
                        searched += usize::from(decided.is_some_and(|by| searches.contains(&by)));
                    }
                    Verdict::Unknown => {}
                }
            }
        }
    }
    assert!(
        kept > 10 && lost > 20 && searched > 0,
        "{kept} kept, {lost} lost, {searched} searched"
    );
}
