//! Random sets that are decided by many different tests.

use layland_gen::Random;
use layland_model::{
    Behaviour, CpuId, CpuSet, Criticality, Duration, Levels, OnMiss, Overheads, Rate, Resource,
    ResourceId, Separation, Service, Speed, Step, System, Task,
};

fn chance(random: &mut Random, percent: u64) -> bool {
    random.below(100) < percent
}

fn us(us: i64) -> Duration {
    Duration::from_us(us)
}

/// Draws a set of 1 to 8 tasks on 1 to 4 CPUs, with any load up to slightly too much.
pub(super) fn set(random: &mut Random) -> System {
    let cpus = [1, 1, 2, 2, 3, 4][random.below(6) as usize];
    let count = random.between(1, 8);
    let shares: Vec<i64> = (0..count).map(|_| random.between(1, 1000)).collect();
    // In thousandths of a CPU.
    let load = random.between(200, 1050) * cpus;
    let all: i64 = shares.iter().sum();
    let deadlines = random.below(4);
    let is_mixed = chance(random, 25);
    let [jitter, sporadic, offsets, affinities, budgets, clusters, ranks, late, blocked] =
        [20, 30, 20, 25, 30, 15, 10, 10, 20].map(|percent| chance(random, percent));
    let mut tasks = Vec::new();
    for (at, share) in shares.iter().enumerate() {
        let period = match random.below(7) {
            6 => random.between(5, 60),
            round => [10, 20, 25, 40, 50, 100][round as usize],
        };
        let period = period * if chance(random, 60) { 1000 } else { 997 };
        let wcet = (period * (load * share / all).min(1000) / 1000).max(1);
        let mut task = Task::implicit(format!("t{at}"), Service::from_us(wcet), us(period));
        task.deadline = us(match deadlines {
            0 => period,
            1 | 2 => random.between(wcet.min(period), period),
            _ => random.between(wcet, 2 * period),
        });
        task.priority = Some(random.between(1, 5));
        if jitter {
            let most = task.deadline.min(task.period).ns() / 4000;
            task.jitter = us(random.between(0, most));
        }
        if sporadic && chance(random, 60) {
            let max = us(random.between(0, period));
            task.behaviour = Behaviour::Sporadic(Separation::Uniform { max });
        }
        if offsets {
            task.offset = us(random.between(0, period));
        }
        if budgets && !is_mixed {
            let budget = wcet + random.between(0, wcet);
            task.reclaim = chance(random, 40);
            task.budget = Some(
                Service::from_us(budget).min(Service::from_ns(task.deadline.min(task.period).ns())),
            );
        }
        if blocked && chance(random, 60) {
            task.blocking_time = us(random.between(0, period / 4));
        }
        if ranks {
            task.rank = random.between(0, 3);
        }
        if late {
            task.on_miss =
                [OnMiss::Continue, OnMiss::Abort, OnMiss::Skip][random.below(3) as usize];
        }
        if is_mixed {
            let high = chance(random, 50);
            task.criticality = Criticality(u8::from(high));
            let low = if high { (wcet / 2).max(1) } else { wcet };
            task.wcet = vec![Service::from_us(low), Service::from_us(wcet)].into();
        }
        tasks.push(task);
    }
    let cpus = cpus as usize;
    let mut system = System::new(cpus, tasks);
    if chance(random, 20) {
        // None is fast: the lies make times longer by a nanosecond, which a fast CPU may not notice.
        let rates = [(1, 1), (1, 2), (2, 3), (223, 500)].map(|(n, d)| Rate::new(n, d));
        let (is_one, first) = (chance(random, 40), random.below(4));
        for speed in system.platform.speeds.values_mut() {
            let at = if is_one { first } else { random.below(4) };
            *speed = Speed::new(&rates[at as usize]).expect("a small fraction");
        }
    }
    if is_mixed {
        system.levels = Levels::new(vec!["low".to_owned(), "high".to_owned()]);
    }
    if chance(random, 15) {
        system.platform.overheads = Overheads {
            release: us(10),
            scheduling: us(20),
            context_switch: us(5),
            migration: us(30),
            interrupt: us(2),
            tick: us(10),
            tick_period: us(1000),
            block_reload_time: Duration::ZERO,
        };
    }
    let of =
        |from: usize, to: usize| -> CpuSet { (from..to).map(|cpu| CpuId(cpu as u32)).collect() };
    if clusters && cpus > 1 {
        system.platform.clusters = vec![of(0, 1), of(1, cpus)];
        for task in system.tasks.values_mut() {
            task.cluster = random.below(2) as usize;
        }
    } else if affinities {
        for task in system.tasks.values_mut() {
            let from = random.below(cpus as u64) as usize;
            let to = from + 1 + random.below((cpus - from) as u64) as usize;
            task.affinity = Some(of(from, to));
        }
    }
    system
}

/// Draws a set of 2 to 7 tasks on 2 to 4 CPUs of different speeds, with up to three fifths of the load that
/// the CPUs can do.
pub(super) fn set_on_uniform_cpus(random: &mut Random) -> System {
    let (cpus, count) = (random.between(2, 4), random.between(2, 7));
    let rates = [(1, 1), (2, 3), (1, 2), (223, 500), (1, 10)].map(|(n, d)| Rate::new(n, d));
    let speeds: Vec<&Rate> = (0..cpus).map(|_| &rates[random.below(5) as usize]).collect();
    let capacity: Rate = speeds.iter().copied().cloned().sum();
    // In thousandths of a CPU of speed 1.
    let load = (&capacity * &Rate::whole(random.between(100, 600))).floor().unwrap_or(0);
    let shares: Vec<i64> = (0..count).map(|_| random.between(1, 1000)).collect();
    let all: i64 = shares.iter().sum();
    let constrained = chance(random, 60);
    let task = |(at, share): (usize, &i64)| {
        let period = random.between(5, 100) * if chance(random, 60) { 1000 } else { 997 };
        let wcet = (period * (load * share / all).min(1000) / 1000).max(1);
        let mut task = Task::implicit(format!("t{at}"), Service::from_us(wcet), us(period));
        if constrained {
            task.deadline = us(random.between(wcet.max(period / 2), period));
        }
        task.priority = Some(random.between(1, 5));
        task
    };
    let tasks = shares.iter().enumerate().map(task).collect();
    let mut system = System::new(cpus as usize, tasks);
    for (speed, rate) in system.platform.speeds.values_mut().zip(speeds) {
        *speed = Speed::new(rate).expect("a small fraction");
    }
    system
}

/// The steps of jobs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StepShape {
    Suspends,
    Locks,
    Nests,
    Both,
}

/// Draws a set of 2 to 6 tasks on 1 or 2 CPUs whose jobs lock resources of their CPU, or suspend themselves.
pub(super) fn set_with_steps(random: &mut Random) -> System {
    let cpus = random.between(1, 2);
    let shape = [StepShape::Suspends, StepShape::Locks, StepShape::Nests, StepShape::Both]
        [random.below(4) as usize];
    let count = random.between(2, 6);
    let tasks = (0..count).map(|at| task_with_steps(random, shape, at, at % cpus)).collect();
    let mut system = System::new(cpus as usize, tasks);
    let resource = |at| Resource { name: format!("r{at}"), home: None };
    system.resources = (0..3 * cpus).map(resource).collect();
    system
}

fn task_with_steps(random: &mut Random, shape: StepShape, at: i64, cpu: i64) -> Task {
    let run = |length: i64| Step::Run(Service::from_us(length));
    let mut steps = vec![run(random.between(1, 20))];
    let locks = if shape == StepShape::Suspends { 0 } else { random.between(0, 2) };
    for _ in 0..locks {
        let outer = random.between(0, 2);
        let own = |at: i64| ResourceId((3 * cpu + at) as u32);
        steps.extend([Step::Lock(own(outer)), run(random.between(1, 20))]);
        // Nested locks are acquired in ascending order.
        if shape != StepShape::Locks && outer < 2 && chance(random, 50) {
            let inner = own(random.between(outer + 1, 2));
            steps.extend([Step::Lock(inner), run(random.between(1, 20)), Step::Unlock(inner)]);
        }
        steps.extend([Step::Unlock(own(outer)), run(random.between(1, 10))]);
    }
    if matches!(shape, StepShape::Suspends | StepShape::Both) && chance(random, 60) {
        for _ in 0..random.between(1, 2) {
            steps.extend([Step::Suspend(us(random.between(1, 60))), run(random.between(1, 10))]);
        }
        // A job may end with a suspension.
        if chance(random, 30) {
            steps.pop();
        }
    }
    let length = |step: &Step| match *step {
        Step::Run(length) => length.ns() / 1000,
        Step::Lock(_) | Step::Unlock(_) | Step::Suspend(_) => 0,
    };
    let wcet: i64 = steps.iter().map(length).sum();
    let period = random.between(3 * wcet, 10 * wcet + 100);
    Task {
        deadline: us(random.between(period * 2 / 3, period)),
        priority: Some(random.between(1, 5)),
        affinity: Some(CpuSet::single(CpuId(cpu as u32))),
        rank: random.between(0, 1),
        steps: Some(steps.into()),
        ..Task::implicit(format!("t{at}"), Service::from_us(wcet), us(period))
    }
}
