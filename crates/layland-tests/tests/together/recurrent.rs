//! The figures of long runs whose schedules recur, against the same runs event by event.

use layland_gen::Random;
use layland_model::{Duration, ExecutionModel, OnMiss, Overheads, Service, System, Task, Time};
use layland_policy::PolicyOptions;
use layland_sim::{EventLoop, Figures, SimOptions, simulate_figures};
use layland_testkit::registry;
use layland_trace::{Both, FirstMiss, Labels, Refusals, Statistics};
use std::collections::BTreeMap;

/// Returns a small system with a short hyperperiod.
fn draw(random: &mut Random) -> System {
    let cpus = random.between(1, 3) as usize;
    let count = random.between(1, 5) as usize;
    let tasks = (0..count).map(|index| {
        let period = [2, 3, 4, 6, 8, 12][random.below(6) as usize];
        let us = |random: &mut Random, low, high| Duration::from_us(random.between(low, high));
        let wcet = random.between(1, period).min(random.between(1, period));
        let task =
            Task::implicit(format!("t{index}"), Service::from_us(wcet), Duration::from_us(period));
        let deadline =
            if random.below(3) == 0 { us(random, wcet, 2 * period) } else { task.period };
        let offset = if random.below(3) == 0 { us(random, 0, 20) } else { Duration::ZERO };
        let execution = match random.below(4) {
            0 => ExecutionModel::List(
                (0..random.between(1, 3))
                    .map(|_| Service::from_us(random.between(1, wcet)))
                    .collect(),
            ),
            _ => ExecutionModel::Wcet,
        };
        let on_miss = match random.below(6) {
            0 => OnMiss::Abort,
            1 => OnMiss::Skip,
            _ => OnMiss::Continue,
        };
        let jobs = (random.below(10) == 0).then(|| random.below(40));
        Task { deadline, offset, execution, on_miss, jobs, rank: index as i64, ..task }
    });
    let mut system = System::new(cpus, tasks.collect());
    if random.below(8) == 0 {
        let us = Duration::from_us(1);
        system.platform.overheads =
            Overheads { context_switch: us, release: us, ..Overheads::default() };
    }
    system
}

/// Returns all figures of a run as text, and whether a job was late.
fn figures(
    system: &System,
    spec: &str,
    until: Time,
    event_loop: EventLoop,
) -> Option<(String, bool)> {
    let policy = registry().build(spec, system).ok()?;
    let statistics = Statistics::new(system.tasks.len(), system.platform.cpu_count());
    let mut recorder: Figures = Both(statistics, Both(FirstMiss::default(), Refusals::default()));
    let options = SimOptions { event_loop, ..SimOptions::until(until) };
    let outcome = simulate_figures(system, policy, &mut recorder, &options).expect("a horizon");
    let Both(statistics, Both(FirstMiss(first), refusals)) = recorder;
    let summary = statistics.summary(&Labels::of(system));
    let run = (outcome.end, outcome.events, outcome.decisions, outcome.interrupted);
    Some((format!("{summary:#?}\n{first:?} {} {run:?}", refusals.count), first.is_some()))
}

#[test]
fn a_run_that_recurs_has_the_figures_of_the_run_event_by_event() {
    let mut random = Random::of_task(20_261_130, 7);
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    let mut late = 0;
    for _ in 0..60 {
        let system = draw(&mut random);
        if !system.validate().is_empty() {
            continue;
        }
        let hyperperiod = system.hyperperiod().expect("it is short").ns();
        let until = Time::from_ns(30_000 + hyperperiod * random.between(64, 90))
            .saturating_add(Duration::from_ns(random.between(0, hyperperiod)));
        for info in registry().iter() {
            if info.build(&system, &PolicyOptions::default()).is_err() {
                continue;
            }
            let (Some(short), Some(long)) = (
                figures(&system, &info.name, until, EventLoop::Fitting),
                figures(&system, &info.name, until, EventLoop::General),
            ) else {
                continue;
            };
            assert_eq!(short, long, "{} until {until}\n{system:#?}", info.name);
            late += u32::from(long.1);
            *counts.entry(info.name.to_string()).or_default() += 1;
        }
    }
    assert!(counts.len() > 30 && late > 50, "{late} of {counts:?}");
}

/// The test above does not compare a run with itself: event by event this one takes minutes.
#[test]
fn a_run_of_a_hundred_million_hyperperiods_is_a_short_one() {
    let task = |name, wcet, period| {
        Task::implicit(name, Service::from_us(wcet), Duration::from_us(period))
    };
    let system = System::new(2, vec![task("a", 1, 2), task("b", 2, 3), task("c", 3, 6)]);
    let until = Time::from_ns(6_000 * 100_000_000);
    let (text, _) = figures(&system, "g-edf", until, EventLoop::Fitting).expect("it is accepted");
    assert!(text.contains("300000000"), "{text}");
}
