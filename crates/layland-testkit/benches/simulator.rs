//! The number of jobs per second that the simulator processes, on one core.
//!
//! - Set A: 8 CPUs, 16 tasks, utilization 7.6. Set B: 24 CPUs, 240 tasks, utilization 18. Both:
//!   RandFixedSum, log-uniform periods of 10 to 100 ms in whole milliseconds, synchronous.
//! - Sets a0 to a2 and b0 to b2 (`sets/`): the same shapes, as used to measure other simulators,
//!   from the generators of SimSo 0.8.5: `StaffordRandFixedSum(n, U, 5)`, then
//!   `gen_periods_loguniform(n, 5, 10, 100, round_to_int=True)`. WCETs are in whole microseconds,
//!   rounded down; `numpy.random.seed` is 802095 for a and 2410075 for b. P-EDF cannot pack a0 and
//!   a2.
//! - Set L: 256 CPUs, 10,000 tasks, utilization 190.
//! - Growth: 8 CPUs, 10 to 100,000 tasks (UUniFast), utilization 6, periods that grow with the
//!   number of tasks, and about twenty jobs of each.
//!
//! `counters` counts jobs, misses, tardiness, preemptions and migrations, and response times;
//! `statistics` also keeps the distribution of response times; `trace` records everything.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use layland_config::{Format, Host, read};
use layland_gen::{Periods, Recipe, Utilizations};
use layland_model::{Duration, Rate, System, Time};
use layland_policy::Policy;
use layland_sim::{SimOptions, simulate};
use layland_testkit::registry;
use layland_trace::{Counters, Recorder, Statistics, Trace};

/// Returns a generated system: the first of its family that P-EDF can pack.
fn generated(cpus: usize, utilizations: Utilizations, scale: i64) -> System {
    let mut recipe = Recipe::new(cpus, utilizations, 1);
    recipe.periods = Periods::LogUniform {
        min: Duration::from_ms(10 * scale),
        max: Duration::from_ms(100 * scale),
        granularity: Duration::from_ms(1),
    };
    let generator = recipe.generator().expect("the recipe is feasible");
    (0..1000)
        .map(|index| generator.generate(index).expect("the recipe is feasible"))
        .find(|system| registry().build("p-edf:fit=ffd", system).is_ok())
        .expect("one set in a thousand can be packed")
}

/// Returns a set from the folder `sets`.
fn listed(name: &str, text: &str, cpus: usize) -> System {
    let host = Host { default_cpus: Some(cpus), ..Host::default() };
    match read(name, text.as_bytes(), Format::Plain, &host) {
        Ok(loaded) => loaded.system,
        Err(report) => panic!("{name}: {report}"),
    }
}

fn fixed_sum(tasks: usize, total: Rate) -> Utilizations {
    Utilizations::RandFixedSum { tasks, total, min: Rate::ZERO, max: Rate::ONE }
}

fn policy(name: &str, system: &System) -> Box<dyn Policy> {
    registry().build(name, system).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn jobs(system: &System, until: Time) -> u64 {
    let mut counters = Counters::new(system.tasks.len(), system.platform.cpu_count());
    simulate(system, policy("g-edf", system), &mut counters, &SimOptions::until(until))
        .expect("in range");
    counters.total().released
}

fn bench<R: Recorder>(
    c: &mut Criterion,
    name: &str,
    (system, policy, until): (&System, &dyn Policy, Time),
    recorder: impl Fn() -> R,
) {
    let mut group = c.benchmark_group("simulate");
    group.throughput(Throughput::Elements(jobs(system, until))).sample_size(20);
    group.bench_function(name, |b| {
        b.iter_batched(
            || (policy.clone_policy(), recorder()),
            |(policy, mut recorder)| {
                simulate(system, policy, &mut recorder, &SimOptions::until(until))
                    .expect("in range");
                recorder
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

fn headline(c: &mut Criterion) {
    let sets = [
        ("A", generated(8, fixed_sum(16, Rate::new(76, 10)), 1), 100),
        ("B", generated(24, fixed_sum(240, Rate::whole(18)), 1), 10),
        ("a0", listed("a0", include_str!("sets/a0.txt"), 8), 100),
        ("a1", listed("a1", include_str!("sets/a1.txt"), 8), 100),
        ("a2", listed("a2", include_str!("sets/a2.txt"), 8), 100),
        ("b0", listed("b0", include_str!("sets/b0.txt"), 24), 10),
        ("b1", listed("b1", include_str!("sets/b1.txt"), 24), 10),
        ("b2", listed("b2", include_str!("sets/b2.txt"), 24), 10),
        ("L", generated(256, fixed_sum(10_000, Rate::whole(190)), 1), 1),
    ];
    for (set, system, seconds) in &sets {
        let until = Time::from_ms(1000 * seconds);
        let (tasks, cpus) = (system.tasks.len(), system.platform.cpu_count());
        for name in ["g-edf", "p-edf"] {
            // Not every listed set can be packed.
            let Ok(policy) = registry().build(name, system) else { continue };
            let run = (system, &*policy, until);
            bench(c, &format!("{set}/{name}/counters"), run, || Counters::new(tasks, cpus));
            bench(c, &format!("{set}/{name}/statistics"), run, || Statistics::new(tasks, cpus));
            bench(c, &format!("{set}/{name}/trace"), run, Trace::default);
        }
    }
}

fn growth(c: &mut Criterion) {
    for tasks in [10, 100, 1_000, 10_000, 100_000] {
        let utilizations = Utilizations::UUniFastDiscard {
            tasks,
            total: Rate::whole(6),
            max: Rate::ONE,
            tries: 100_000,
        };
        let system = generated(8, utilizations, tasks as i64 / 10);
        let until = Time::from_ms(80 * tasks as i64);
        let policy = policy("g-edf", &system);
        let run = (&system, &*policy, until);
        bench(c, &format!("growth/{tasks}"), run, || Counters::new(tasks, 8));
    }
}

criterion_group!(benches, headline, growth);
criterion_main!(benches);
