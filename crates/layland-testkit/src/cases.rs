//! Shared parts of the tests of analyses: random systems near the limits of the tests, and runs of them.

use crate::registry;
use layland_model::{
    Behaviour, CpuId, CpuSet, Duration, Index, Separation, Service, System, Task, Time,
};
use layland_sim::{SimOptions, simulate};
use layland_trace::Counters;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::Cell;

/// Runs a property on this many random inputs. The property returns true if it applied to the
/// input, which must happen at least `least` times.
///
/// # Panics
/// If the property fails, or applies too rarely.
pub fn on_random<S: Strategy + 'static>(
    cases: u32,
    least: u32,
    inputs: S,
    property: impl Fn(S::Value) -> Result<bool, TestCaseError>,
) {
    on_boxed(cases, least, &inputs.boxed(), &property);
}

/// This function is compiled once for each type of inputs. The runner of properties would be
/// compiled for each property, which took a third of the time to compile the tests.
fn on_boxed<T: std::fmt::Debug>(
    cases: u32,
    least: u32,
    inputs: &BoxedStrategy<T>,
    property: &dyn Fn(T) -> Result<bool, TestCaseError>,
) {
    let said = Cell::new(0);
    let mut runner = TestRunner::new(ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let outcome = runner.run(inputs, |input| {
        said.set(said.get() + u32::from(property(input)?));
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    assert!(said.get() >= least, "only {} of {cases} cases said something", said.get());
}

/// Simulates a system under a policy up to this many nanoseconds.
///
/// # Panics
/// If the policy rejects the system.
pub fn run(system: &System, policy: &str, until: i64, seed: u64) -> Counters {
    let policy = registry().build(policy, system).expect("the policy takes the system");
    let mut counters = Counters::new(system.tasks.len(), system.platform.cpu_count());
    let options = SimOptions { seed, ..SimOptions::until(Time::from_ns(until)) };
    simulate(system, policy, &mut counters, &options).expect("the horizon is in range");
    counters
}

/// The periods, which all divide 120.
const PERIODS: [i64; 10] = [4, 5, 6, 8, 10, 12, 15, 20, 24, 30];

/// The relation of the deadlines of random tasks to their periods.
#[derive(Clone, Copy)]
pub enum Deadlines {
    /// Equal to the period.
    Implicit,
    /// Between the WCET and the period.
    Constrained,
    /// Up to two periods.
    Arbitrary,
}

/// Draws up to `most` tasks with small periods that share the hyperperiod 120, with a load per CPU
/// in these percent, on these numbers of CPUs.
pub fn systems(
    cpus: std::ops::Range<usize>,
    most: usize,
    load: std::ops::Range<i64>,
    deadlines: Deadlines,
) -> impl Strategy<Value = System> {
    let task = (0usize..PERIODS.len(), 1i64..100, 0i64..100, -20i64..40, 0i64..4);
    (cpus, prop::collection::vec(task, 1..=most), load, any::<u64>()).prop_map(
        move |(cpus, tasks, load, ranks)| {
            let weights: i64 = tasks.iter().map(|&(_, weight, ..)| weight).sum();
            let task = |(index, &(period, weight, slack, offset, priority)): (
                usize,
                &(usize, i64, i64, i64, i64),
            )| {
                let period = PERIODS[period];
                let share = load * cpus as i64 * weight * period;
                let wcet = ((share + 50 * weights) / (100 * weights)).clamp(1, period);
                let name = format!("t{index}");
                let mut task =
                    Task::implicit(name, Service::from_ns(wcet), Duration::from_ns(period));
                task.deadline = Duration::from_ns(match deadlines {
                    Deadlines::Implicit => period,
                    Deadlines::Constrained => wcet + (period - wcet) * slack / 99,
                    Deadlines::Arbitrary => wcet + (2 * period - wcet) * slack / 99,
                });
                task.offset = Duration::from_ns(offset.max(0));
                task.priority = Some(priority);
                task
            };
            let tasks = tasks.iter().enumerate().map(task).collect();
            let mut system = System::new(cpus, tasks);
            for (index, task) in system.tasks.values_mut().enumerate() {
                task.rank = (ranks >> (3 * index) & 7) as i64;
            }
            system
        },
    )
}

/// Returns the system without offsets.
pub fn synchronous(mut system: System) -> System {
    system.tasks.values_mut().for_each(|task| task.offset = Duration::ZERO);
    system
}

/// Makes some tasks sporadic, selected by the bits of `which`.
pub fn some_sporadic(mut system: System, which: u8) -> System {
    for (index, task) in system.tasks.values_mut().enumerate() {
        if which >> (index % 8) & 1 == 1 {
            let max = Duration::from_ns(7);
            task.behaviour = Behaviour::Sporadic(Separation::Uniform { max });
        }
    }
    system
}

/// Returns the hyperperiod of one of [`systems`], in nanoseconds.
///
/// # Panics
/// If the system has no hyperperiod.
pub fn hyperperiod(system: &System) -> i64 {
    system.hyperperiod().expect("at most 120").ns()
}

/// The relation of the affinities of random tasks to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Masks {
    /// Arbitrary sets of CPUs.
    Arbitrary,
    /// Nested or disjoint sets: all CPUs, one of two halves, or one CPU.
    Levels,
    /// One CPU, or all CPUs.
    Two,
    /// Equal or disjoint sets: one of two halves.
    Disjoint,
}

/// Returns the system with affinities drawn from these numbers, one for each task.
pub fn with_masks(mut system: System, masks: Masks, draws: &[u64]) -> System {
    let cpus = system.platform.cpu_count();
    let range = |from: usize, to: usize| -> CpuSet { (from..to).map(CpuId::from_index).collect() };
    let half = |draw: u64| match draw % 2 {
        0 => range(0, cpus.div_ceil(2)),
        _ if cpus == 1 => range(0, 1),
        _ => range(cpus.div_ceil(2), cpus),
    };
    let single = |draw: u64| CpuSet::single(CpuId::from_index((draw % cpus as u64) as usize));
    for (task, &draw) in system.tasks.values_mut().zip(draws.iter().cycle()) {
        let (kind, draw) = (draw % 3, draw / 3);
        let mask = match (masks, kind) {
            (Masks::Arbitrary, _) => {
                let bits = draw % ((1 << cpus) - 1) + 1;
                let has = |cpu: &usize| bits >> cpu & 1 == 1;
                (0..cpus).filter(has).map(CpuId::from_index).collect()
            }
            (Masks::Disjoint, _) => half(draw),
            (Masks::Levels, 0) | (Masks::Two, 0 | 1) => range(0, cpus),
            (Masks::Levels, 1) => half(draw),
            (Masks::Levels | Masks::Two, _) => single(draw),
        };
        task.affinity = Some(mask);
    }
    system
}

/// Draws a kind of affinities, and numbers for [`with_masks`].
pub fn masks() -> impl Strategy<Value = (Masks, Vec<u64>)> {
    let kinds =
        prop::sample::select(vec![Masks::Arbitrary, Masks::Levels, Masks::Two, Masks::Disjoint]);
    (kinds, prop::collection::vec(0u64..6_000, 8))
}
