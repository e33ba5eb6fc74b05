//! Random systems for property tests: small numbers, so that ties, overloads and simultaneous
//! events are common.

use layland_model::{
    Behaviour, CpuId, CpuSet, Duration, ExecutionModel, OnMiss, Rate, Separation, Service, System,
    Task, Time,
};
use layland_sim::with_random_ranks;
use proptest::prelude::*;

fn plain_task() -> impl Strategy<Value = Task> {
    (1i64..12, 1i64..8, 0i64..10, 0usize..3).prop_map(|(period, wcet, offset, deadline)| {
        let wcet = wcet.min(period);
        let mut task = Task::implicit("", Service::from_ns(wcet), Duration::from_ns(period));
        task.offset = Duration::from_ns(offset);
        task.deadline = Duration::from_ns(match deadline {
            0 => period,
            1 => (period + wcet + 1) / 2,
            _ => period + 3,
        });
        task
    })
}

fn assemble(cpus: usize, mut tasks: Vec<Task>, priorities: &[i64]) -> System {
    for (index, task) in tasks.iter_mut().enumerate() {
        task.name = format!("t{index}").into();
        task.priority = Some(priorities[index % priorities.len()]);
    }
    System::new(cpus, tasks)
}

/// Draws periodic tasks with offsets on 1 to 4 unit-speed CPUs, with any load. Every task has a
/// priority, and some abort or skip jobs when one is late.
pub fn periodic_system() -> impl Strategy<Value = System> {
    (
        1usize..5,
        prop::collection::vec(plain_task(), 1..9),
        prop::collection::vec(0i64..4, 8),
        any::<u64>(),
        any::<u32>(),
    )
        .prop_map(|(cpus, tasks, priorities, ranks, misses)| {
            let mut system = assemble(cpus, tasks, &priorities);
            // Ranks that disagree with the order of the tasks.
            for (index, task) in system.tasks.values_mut().enumerate() {
                task.rank = (ranks >> (3 * index) & 7) as i64;
                task.on_miss = match misses >> (3 * index) & 7 {
                    0 => OnMiss::Abort,
                    1 => OnMiss::Skip,
                    _ => OnMiss::Continue,
                };
            }
            system
        })
}

/// Draws such systems with sporadic arrivals, jitter, drawn execution times, self-suspension, job
/// limits and CPUs of other speeds.
pub fn rich_system() -> impl Strategy<Value = System> {
    let traits = (0usize..6, 0usize..6, 0i64..4, prop::option::of(1u64..6));
    (periodic_system(), prop::collection::vec(traits, 8), prop::collection::vec(0usize..4, 4))
        .prop_map(|(mut system, traits, speeds)| {
            for (task, &(behaviour, execution, jitter, jobs)) in
                system.tasks.values_mut().zip(&traits)
            {
                task.behaviour = match behaviour {
                    0 | 1 => Behaviour::Periodic,
                    2 => Behaviour::Sporadic(Separation::Uniform { max: Duration::from_ns(5) }),
                    3 => Behaviour::SelfSuspending { gap: Duration::from_ns(jitter) },
                    4 => Behaviour::Explicit(vec![
                        Time::from_ns(1),
                        Time::from_ns(1),
                        Time::from_ns(9),
                    ]),
                    _ => Behaviour::Hog,
                };
                let wcet = task.own_wcet();
                task.execution = match execution {
                    0 | 1 => ExecutionModel::Wcet,
                    2 => ExecutionModel::Fraction(Rate::new(1, 2)),
                    3 => ExecutionModel::Uniform { min: Service::ZERO, max: wcet },
                    4 => ExecutionModel::Discrete(vec![(wcet, 3), (Service::from_ns(1), 1)]),
                    _ => ExecutionModel::List(vec![Service::ZERO, wcet, Service::from_ns(2)]),
                };
                task.jitter = Duration::from_ns(jitter);
                task.jobs = jobs;
            }
            let rates = [Rate::ONE, Rate::ONE, Rate::new(1, 2), Rate::new(5, 3)];
            for (speed, &which) in system.platform.speeds.values_mut().zip(&speeds) {
                *speed = layland_model::Speed::new(&rates[which]).expect("a small fraction");
            }
            system
        })
}

/// Splits the CPUs of a system into clusters of at most `size`, and distributes the tasks over them.
pub fn clustered(mut system: System, size: usize) -> System {
    let cpus: Vec<_> = system.platform.cpus().collect();
    let clusters: Vec<CpuSet> =
        cpus.chunks(size).map(|chunk| chunk.iter().copied().collect()).collect();
    for (index, task) in system.tasks.values_mut().enumerate() {
        task.cluster = index % clusters.len();
    }
    system.platform.clusters = clusters;
    system
}

/// Gives the tasks affinities: all CPUs, halves and single CPUs, or arbitrary sets, some of which overlap.
pub fn masked(mut system: System, laminar: bool) -> System {
    let cpus: Vec<_> = system.platform.cpus().collect();
    let half = cpus.len().div_ceil(2);
    for (index, task) in system.tasks.values_mut().enumerate() {
        let set: CpuSet = match (index % 4, laminar) {
            (0, _) => continue,
            (1, true) => cpus[..half].iter().copied().collect(),
            (2, true) if half < cpus.len() => cpus[half..].iter().copied().collect(),
            (_, true) => CpuSet::single(cpus[index * 3 % cpus.len()]),
            (_, false) => {
                let pick = |at: usize| cpus[at % cpus.len()];
                [pick(index), pick(index / 2), pick(3 * index + 1)].into_iter().collect()
            }
        };
        task.affinity = Some(set);
    }
    system
}

/// Draws threads of every kind: (period, budget, deadline, execution), offset, kind.
fn thread() -> impl Strategy<Value = Task> {
    let numbers = (2i64..14, 1i64..9, 0i64..6, 0i64..3);
    (numbers, 0i64..12, 0usize..6, 0i64..4).prop_map(|(numbers, offset, kind, gap)| {
        let (period, budget, shorter, overrun) = numbers;
        let budget = budget.min(period);
        let wcet = Service::from_ns(budget + overrun - 1).max(Service::from_ns(1));
        let mut task = Task::implicit("", wcet, Duration::from_ns(period));
        task.budget = Some(Service::from_ns(budget));
        task.deadline = Duration::from_ns((period - shorter / 2).max(budget));
        task.offset = Duration::from_ns(offset);
        task.behaviour = match kind {
            0 => Behaviour::Periodic,
            1 => Behaviour::Yield,
            2 => Behaviour::SelfSuspending { gap: Duration::from_ns(gap) },
            3 => Behaviour::Explicit(vec![Time::from_ns(3), Time::from_ns(3), Time::from_ns(20)]),
            _ => Behaviour::Hog,
        };
        task
    })
}

/// Draws threads with affinities: none, one CPU, or an arbitrary set.
pub fn threads() -> impl Strategy<Value = System> {
    (1usize..5, prop::collection::vec((thread(), 0u32..4, 1u32..16), 1..9), any::<u64>()).prop_map(
        |(cpus, tasks, seed)| {
            let all = CpuSet::first(cpus);
            let tasks = tasks.into_iter().enumerate().map(|(at, (mut task, kind, bits))| {
                task.name = format!("t{at}").into();
                task.reclaim = seed >> at & 1 == 1;
                let some: CpuSet = all.iter().filter(|cpu| bits >> cpu.0 & 1 == 1).collect();
                task.affinity = match kind {
                    0 => None,
                    1 | 2 => Some(CpuSet::single(CpuId(bits % cpus as u32))),
                    _ => Some(some).filter(|some| !some.is_empty()),
                };
                task
            });
            with_random_ranks(&System::new(cpus, tasks.collect()), seed)
        },
    )
}
