//! The cost of RUN and QPS.
//!
//! - `decide`: one decision with the preceding events, as recorded in a simulation, without an
//!   engine: 16 CPUs, 32 tasks (utilization 15.6) and 160 tasks (15.9), whose periods are 20 to 200
//!   ms.
//! - `simulate`: jobs per second of the simulator, on one core. Set A: 8 CPUs, 16 tasks,
//!   utilization 7.6. Set B: 24 CPUs, 240 tasks, utilization 18. RandFixedSum, log-uniform periods
//!   of 10 to 100 ms.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use layland_gen::{Periods, Recipe, Utilizations};
use layland_model::{Duration, Rate, System, Time};
use layland_sim::{SimOptions, simulate};
use layland_testkit::logged::Logged;
use layland_testkit::registry;
use layland_trace::{Counters, NoRecord};

const POLICIES: [&str; 3] = ["run", "qps", "qps:master=edf"];

fn system(cpus: usize, tasks: usize, total: Rate, periods: (i64, i64)) -> System {
    let utilizations = Utilizations::RandFixedSum { tasks, total, min: Rate::ZERO, max: Rate::ONE };
    let mut recipe = Recipe::new(cpus, utilizations, 1);
    recipe.periods = Periods::LogUniform {
        min: Duration::from_ms(periods.0),
        max: Duration::from_ms(periods.1),
        granularity: Duration::from_ms(1),
    };
    let generator = recipe.generator().expect("the recipe is feasible");
    generator.generate(0).expect("the recipe is feasible")
}

fn decide(c: &mut Criterion) {
    let mut group = c.benchmark_group("decide");
    for (tasks, total) in [(32, Rate::new(156, 10)), (160, Rate::new(159, 10))] {
        let system = system(16, tasks, total, (20, 200));
        for name in POLICIES {
            let policy = registry().build(name, &system).expect("the system is feasible");
            let logged = Logged::new(policy.clone());
            let log = logged.log();
            let options = SimOptions::until(Time::from_ms(2_000));
            simulate(&system, logged, &mut NoRecord, &options).expect("in range");
            let log = log.lock().expect("the simulation is over").clone();
            group.throughput(Throughput::Elements(log.len() as u64)).sample_size(20);
            group.bench_function(format!("{name}/{tasks}"), |b| {
                b.iter_batched(
                    || (policy.clone(), Vec::with_capacity(64)),
                    |(mut policy, mut actions)| {
                        for step in &log {
                            for event in &step.events {
                                policy.on_event(step.now, event.clone());
                            }
                            actions.clear();
                            policy.decide(step.now, &mut actions);
                        }
                        policy
                    },
                    BatchSize::LargeInput,
                );
            });
        }
    }
    group.finish();
}

fn simulation(c: &mut Criterion) {
    let mut group = c.benchmark_group("simulate");
    let sets = [
        ("A", system(8, 16, Rate::new(76, 10), (10, 100)), 100),
        ("B", system(24, 240, Rate::whole(18), (10, 100)), 10),
    ];
    for (set, system, seconds) in &sets {
        let until = Time::from_ms(1000 * seconds);
        let counters = || Counters::new(system.tasks.len(), system.platform.cpu_count());
        for name in ["run", "qps", "g-edf"] {
            let policy = registry().build(name, system).expect("the system is feasible");
            let mut once = counters();
            simulate(system, policy.clone(), &mut once, &SimOptions::until(until))
                .expect("in range");
            group.throughput(Throughput::Elements(once.total().released)).sample_size(20);
            group.bench_function(format!("{set}/{name}"), |b| {
                b.iter_batched(
                    || (policy.clone(), counters()),
                    |(policy, mut counters)| {
                        simulate(system, policy, &mut counters, &SimOptions::until(until))
                            .expect("in range");
                        counters
                    },
                    BatchSize::PerIteration,
                );
            });
        }
    }
    group.finish();
}

criterion_group!(benches, decide, simulation);
criterion_main!(benches);
