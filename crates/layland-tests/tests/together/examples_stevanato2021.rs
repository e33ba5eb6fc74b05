//! The counterexample to a conjecture of Stevanato, Cucinotta, Abeni and Bristot de Oliveira 2021.
//! It states that apEDF converges to a schedulable partition whenever one exists. The
//! counterexample is the bundled set `no-convergence`; its recurring state proves that it never
//! converges.

use layland_config::{Format, Host, demo, read};
use layland_model::{Duration, System, TaskMap, Time};
use layland_offline::{Existence, exists_partition};
use layland_sim::{Cycle, Horizon, SimOptions, simulate};
use layland_testkit::registry;
use layland_trace::Trace;

fn system() -> System {
    let demo = demo("no-convergence").unwrap();
    read(demo.name, demo.text.as_bytes(), Format::Toml, &Host::default()).unwrap().system
}

/// Returns the cycle of a policy, with the numbers of jobs that end in it, and of late ones.
fn cycle(policy: &str) -> (Cycle, usize, usize) {
    let system = system();
    let run = |horizon: Horizon| {
        let mut trace = Trace::default();
        let policy = registry().build(policy, &system).unwrap();
        let options = SimOptions { horizon, ..SimOptions::until(Time::ZERO) };
        let outcome = simulate(&system, policy, &mut trace, &options).unwrap();
        (outcome, trace)
    };
    let (outcome, _) = run(Horizon::Recurrence { at_most: Time::from_ms(10_000) });
    let cycle = outcome.cycle.expect("the state recurs");
    let (_, trace) = run(Horizon::At(cycle.from + cycle.length));
    let ended: Vec<_> = trace
        .jobs
        .iter()
        .filter(|record| record.completion().is_some_and(|at| at > cycle.from))
        .collect();
    let late = ended.iter().filter(|record| record.missed(trace.over)).count();
    (cycle, ended.len(), late)
}

#[test]
fn a_partition_exists_and_misses_nothing() {
    let found = exists_partition(&system(), 1000);
    let Existence::Partition(cpus) = found else { panic!("{found:?}") };
    let cpus: TaskMap<_> = cpus;
    let on: Vec<u32> = cpus.values().map(|cpu| cpu.0).collect();
    assert_eq!(on, [0, 1, 0, 1]);
    let (_, jobs, late) = cycle("p-edf");
    assert_eq!((jobs, late), (6, 0));
}

#[test]
fn apedf_misses_one_job_in_six_for_ever() {
    let (cycle, jobs, late) = cycle("apedf");
    assert_eq!((cycle.length, jobs, late), (Duration::from_ms(200), 6, 1));
}

#[test]
fn a2pedf_misses_two_jobs_in_twelve_for_ever() {
    let (cycle, jobs, late) = cycle("a2pedf");
    assert_eq!((cycle.length, jobs, late), (Duration::from_ms(400), 12, 2));
}
