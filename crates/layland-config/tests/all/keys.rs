//! No format forgets a field of a task: it reads the field back, or it reports that it is lost.

use crate::common::task;
use layland_config::{
    Format, Host, Problem, RtAppPolicy, Unit, read, to_csv, to_line, to_poet, to_rt_app,
    to_schedcat, to_simso, to_toml,
};
use layland_model::*;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Returns `base` with one field of `other`, for each field.
fn with_each_field(base: &Task, other: &Task) -> Vec<(&'static str, Task)> {
    // A new field of `Task` does not compile here until it has its line below.
    let Task {
        name,
        period,
        deadline,
        wcet,
        criticality,
        budget,
        offset,
        jitter,
        affinity,
        cluster,
        rank,
        priority,
        behaviour,
        execution,
        jobs,
        on_miss,
        tolerance,
        reclaim,
        preemption,
        steps,
        follows,
        let_interval,
        cache,
        blocking_time,
        group,
        thread,
    } = other.clone();
    let base = || base.clone();
    vec![
        ("name", Task { name, ..base() }),
        ("period", Task { period, ..base() }),
        ("deadline", Task { deadline, ..base() }),
        ("wcet", Task { wcet, ..base() }),
        ("criticality", Task { criticality, ..base() }),
        ("budget", Task { budget, ..base() }),
        ("offset", Task { offset, ..base() }),
        ("jitter", Task { jitter, ..base() }),
        ("affinity", Task { affinity, ..base() }),
        ("cluster", Task { cluster, ..base() }),
        ("rank", Task { rank, ..base() }),
        ("priority", Task { priority, ..base() }),
        ("behaviour", Task { behaviour, ..base() }),
        ("execution", Task { execution, ..base() }),
        ("jobs", Task { jobs, ..base() }),
        ("on_miss", Task { on_miss, ..base() }),
        ("tolerance", Task { tolerance, ..base() }),
        ("reclaim", Task { reclaim, ..base() }),
        ("preemption", Task { preemption, ..base() }),
        ("steps", Task { steps, ..base() }),
        ("follows", Task { follows, ..base() }),
        ("let_interval", Task { let_interval, ..base() }),
        ("cache", Task { cache, ..base() }),
        ("blocking_time", Task { blocking_time, ..base() }),
        ("group", Task { group, ..base() }),
        ("thread", Task { thread, ..base() }),
    ]
}

/// A writer, with the format that reads its output.
type Writer = (&'static str, Format, fn(&System) -> (String, BTreeSet<String>));

const WRITERS: [Writer; 7] = [
    ("TOML", Format::Toml, |system| (to_toml(system), BTreeSet::new())),
    ("JSON lines", Format::Lines, |system| (to_line(system), BTreeSet::new())),
    ("CSV", Format::Csv, |system| with_messages(to_csv(system))),
    ("SimSo", Format::Simso, |system| with_messages(to_simso(system))),
    ("SchedCAT", Format::Schedcat, |system| with_messages(to_schedcat(system))),
    ("POET", Format::Poet, |system| with_messages(to_poet(system))),
    ("rt-app", Format::RtApp, |system| with_messages(to_rt_app(system, RtAppPolicy::OfTasks))),
];

/// Returns a text, and the messages about its losses.
fn with_messages((text, lost): (String, Vec<Problem>)) -> (String, BTreeSet<String>) {
    (text, lost.into_iter().map(|problem| problem.message).collect())
}

/// Returns the set of a task and of one before it, with the parts that a field of the task needs.
fn system(field: &str, task: &Task) -> System {
    let mut first = Task::implicit("T1", Service::from_ms(1), task.period);
    let mut task = task.clone();
    let mut system = System::new(4, Vec::new());
    if matches!(field, "wcet" | "criticality") || matches!(task.execution, ExecutionModel::Level(_))
    {
        system.levels = Levels::new(["LO", "HI"].map(str::to_owned).to_vec());
        for task in [&mut first, &mut task] {
            let own = task.own_wcet();
            task.wcet.resize(2, own);
        }
    }
    if field == "cluster" {
        let low = CpuSet::first(2);
        let high = system.platform.all_cpus().difference(&low);
        system.platform.clusters = vec![low, high];
    }
    if field == "steps" {
        system.resources = vec![Resource { name: "R0".to_owned(), home: None }];
    }
    if field == "group" {
        let cpus = system.platform.all_cpus();
        system.groups = vec![TaskGroup::new("G0", Duration::from_ms(5), cpus)];
    }
    system.tasks = vec![first, task].into();
    system
}

#[test]
fn each_field_is_read_back_or_said_to_be_lost() {
    let mut runner = TestRunner::deterministic();
    let draws = (task(Platform::identical(4), 2, 1), any::<bool>());
    let mut checks: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for _ in 0..250 {
        let (mut drawn, follows) = draws.new_tree(&mut runner).expect("a task").current();
        // rt-app rounds the longest valid period up to one that is not valid.
        if drawn.period.ns() == TIME_LIMIT {
            continue;
        }
        // A table trims its cells.
        drawn.name = format!("<{}>", drawn.name).into();
        drawn.follows = if follows { [TaskId(0)].into() } else { [].into() };
        drawn.cluster = usize::from(follows);
        drawn.blocking_time = drawn.offset;
        drawn.group = follows.then_some(GroupId(0));
        // Steps that only execute have the meaning of no steps.
        let is_more = |steps: &Arc<[Step]>| steps.iter().any(|step| !matches!(step, Step::Run(_)));
        drawn.steps = drawn.steps.filter(is_more);
        let plain = |wcet, period| Task { rank: 1, ..Task::implicit("T2", wcet, period) };
        // The drawn steps and segments sum to the drawn WCET.
        let like_drawn = plain(drawn.own_wcet(), drawn.period);
        for (at, (field, changed)) in with_each_field(&like_drawn, &drawn).into_iter().enumerate() {
            if changed == like_drawn && !matches!(field, "period" | "wcet") {
                continue;
            }
            let changed = system(field, &changed);
            if !changed.validate().is_empty() {
                continue;
            }
            let period = if field == "period" { Duration::from_ms(10) } else { drawn.period };
            let unchanged = system("", &plain(Service::from_ms(1), period));
            for (writer, format, write) in WRITERS {
                let (text, lost) = write(&changed);
                // POET's numbers have a unit that its writer names.
                let unit = Unit::ALL.into_iter().find(|unit| {
                    let ending = format!("the times are in {}", unit.name());
                    lost.iter().any(|message| message.ends_with(&ending))
                });
                let host = Host { cpus: Some(4), default_cpus: Some(4), unit, ..Host::default() };
                let again = read("set", text.as_bytes(), format, &host);
                let is_kept = again.is_ok_and(|again| {
                    let only = |task: &Task| with_each_field(&like_drawn, task).swap_remove(at);
                    let again = again.system.tasks.values().nth(1);
                    again.map(only) == changed.tasks.values().nth(1).map(only)
                });
                let is_said = !lost.is_subset(&write(&unchanged).1);
                assert!(is_kept || is_said, "{writer} forgets `{field}`: {lost:?}\n{text}");
                *checks.entry((writer, field)).or_default() += 1;
            }
        }
    }
    let any = Task::implicit("any", Service::from_ms(1), Duration::from_ms(2));
    assert_eq!(checks.len(), WRITERS.len() * with_each_field(&any, &any).len());
    assert!(checks.values().all(|&count| count >= 5), "{checks:?}");
}
