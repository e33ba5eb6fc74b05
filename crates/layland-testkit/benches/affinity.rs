//! The cost of a decision under the policies with affinities: everything between an event and the actions.
//!
//! The events are recorded in a simulation beforehand and fed to a copy of the policy. Affinities
//! are drawn as in the evaluation of Bonifaci et al. 2016: all CPUs, one of two halves, or one CPU.
//! Only feasible sets are used, at three quarters of the capacity.
//!
//! - `decision`: the mean over all decisions, 24 CPUs, 240 tasks, periods of 1 ms to 1 s.
//! - A table on standard error with percentiles over all these decisions. Each decision is made in
//!   several runs and counts with its minimum time, because interruptions on a shared machine are
//!   not a cost of the policy.
//! - Tables on standard error with the median and the mean of decisions on a single arrival and on
//!   a single departure, against the promised complexity: O(m) per arrival and O(m + log n) per
//!   departure for `hpa`, O(m^2) for `strong`.

#![expect(clippy::print_stderr, reason = "benchmarks print tables")]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "benchmarks read the clock"
)]

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use layland_gen::{Affinities, Periods, Recipe, Utilizations};
use layland_model::{Duration, Rate, System, Time};
use layland_policy::{Event, Policy};
use layland_sim::{SimOptions, simulate};
use layland_testkit::logged::{Logged, Step};
use layland_testkit::registry;
use layland_trace::Counters;
use std::hint::black_box;
use std::time::Instant;

const POLICIES: [&str; 5] = ["g-rm", "hpa-rm", "hpa-edf", "strong-edf", "weak-edf"];

/// Returns a feasible set.
fn system(cpus: usize, tasks: usize, scale: i64) -> System {
    let total = Rate::new(3 * cpus as i64, 4);
    let utilizations =
        Utilizations::UUniFastDiscard { tasks, total, max: Rate::ONE, tries: 100_000 };
    let mut recipe = Recipe::new(cpus, utilizations, 1);
    recipe.periods = Periods::LogUniform {
        min: Duration::from_us(1000 * scale),
        max: Duration::from_ms(1000 * scale),
        granularity: Duration::from_us(1),
    };
    recipe.affinities = Affinities::Levels { sockets: 2 };
    recipe.feasible = true;
    recipe.tries = 100_000;
    let generator = recipe.generator().expect("the recipe is feasible");
    generator.generate(0).expect("one set in a hundred thousand is feasible")
}

/// Records the events of a policy in a simulation.
fn log(policy: &dyn Policy, system: &System, until: Time) -> Vec<Step> {
    let logged = Logged::new(policy.clone_policy());
    let log = logged.log();
    let mut counters = Counters::new(system.tasks.len(), system.platform.cpu_count());
    simulate(system, logged, &mut counters, &SimOptions::until(until)).expect("in range");
    log.lock().expect("nobody panicked").clone()
}

/// Returns the policy, and the system adapted to it.
fn built(name: &str, system: &System) -> (Box<dyn Policy>, System) {
    let mut system = system.clone();
    if name.starts_with("g-") {
        system.tasks.values_mut().for_each(|task| task.affinity = None);
    }
    let policy = registry().build(name, &system).unwrap_or_else(|error| panic!("{name}: {error}"));
    (policy, system)
}

fn replay(policy: &mut Box<dyn Policy>, steps: &[Step]) {
    let mut actions = Vec::with_capacity(64);
    for step in steps {
        step.events.iter().for_each(|event| policy.on_event(step.now, event.clone()));
        actions.clear();
        policy.decide(step.now, &mut actions);
        black_box(&actions);
    }
}

fn decisions(c: &mut Criterion) {
    let system = system(24, 240, 1);
    let until = Time::from_ms(4_000);
    for name in POLICIES {
        let (policy, system) = built(name, &system);
        let steps = log(&*policy, &system, until);
        let mut group = c.benchmark_group("decision");
        group.throughput(Throughput::Elements(steps.len() as u64)).sample_size(20);
        group.bench_function(name, |b| {
            b.iter_batched(
                || policy.clone(),
                |mut policy| {
                    replay(&mut policy, &steps);
                    policy
                },
                BatchSize::PerIteration,
            );
        });
        group.finish();
    }
}

/// Returns the nanoseconds of each decision, in order.
fn each(policy: &mut Box<dyn Policy>, steps: &[Step], idle: u64) -> Vec<u64> {
    let mut actions = Vec::with_capacity(64);
    let timed = steps.iter().map(|step| {
        let events = step.events.clone();
        actions.clear();
        let start = Instant::now();
        events.into_iter().for_each(|event| policy.on_event(step.now, event));
        policy.decide(step.now, &mut actions);
        let ns = start.elapsed().as_nanos() as u64;
        black_box(&actions);
        ns.saturating_sub(idle)
    });
    timed.collect()
}

/// Returns the cost of reading the clock.
fn idle() -> u64 {
    (0..1000).map(|_| Instant::now().elapsed().as_nanos() as u64).min().unwrap_or(0)
}

fn percentiles(_: &mut Criterion) {
    const RUNS: usize = 9;
    eprintln!("nanoseconds of a decision, m 24, n 240, least of {RUNS} runs");
    eprintln!("    policy decisions     p50     p99   p99.9     max");
    let system = system(24, 240, 1);
    for name in POLICIES {
        let (policy, system) = built(name, &system);
        let steps = log(&*policy, &system, Time::from_ms(4_000));
        let mut least = each(&mut policy.clone(), &steps, idle());
        for _ in 1..RUNS {
            let again = each(&mut policy.clone(), &steps, idle());
            least.iter_mut().zip(again).for_each(|(least, ns)| *least = ns.min(*least));
        }
        least.sort_unstable();
        let at = |share: f64| least[((least.len() - 1) as f64 * share) as usize];
        eprintln!(
            "{name:>10} {:>9} {:>7} {:>7} {:>7} {:>7}",
            least.len(),
            at(0.5),
            at(0.99),
            at(0.999),
            at(1.0)
        );
    }
}

/// Returns the nanoseconds of each decision on one arrival, and of each decision on one departure.
fn times(policy: &mut Box<dyn Policy>, steps: &[Step]) -> [Vec<u64>; 2] {
    let idle = idle();
    let mut times = [Vec::new(), Vec::new()];
    let mut actions = Vec::with_capacity(64);
    for step in steps {
        let which = match step.events.as_slice() {
            [Event::Release { .. }] => Some(0),
            [Event::Completion { .. }] => Some(1),
            _ => None,
        };
        let events = step.events.clone();
        actions.clear();
        let start = Instant::now();
        events.into_iter().for_each(|event| policy.on_event(step.now, event));
        policy.decide(step.now, &mut actions);
        let ns = start.elapsed().as_nanos() as u64;
        if let Some(which) = which {
            times[which].push(ns.saturating_sub(idle));
        }
        black_box(&actions);
    }
    times.iter_mut().for_each(|times| times.sort_unstable());
    times
}

fn row(name: &str, system: &System, until: Time) {
    let (mut policy, system) = built(name, system);
    let steps = log(&*policy, &system, until);
    let [arrivals, departures] = times(&mut policy, &steps);
    let median = |times: &[u64]| times.get(times.len() / 2).copied().unwrap_or(0);
    let p99 = |times: &[u64]| times.get(times.len() * 99 / 100).copied().unwrap_or(0);
    let mean = |times: &[u64]| times.iter().sum::<u64>() / times.len().max(1) as u64;
    let (m, n) = (system.platform.cpu_count(), system.tasks.len());
    eprintln!(
        "{name:>10} {m:>5} {n:>7} {:>9} {:>7} {:>7} {:>8} {:>7} {:>7} {:>8} {:>9.1} {:>9.3}",
        arrivals.len() + departures.len(),
        median(&arrivals),
        mean(&arrivals),
        p99(&arrivals),
        median(&departures),
        mean(&departures),
        p99(&departures),
        mean(&departures) as f64 / m as f64,
        mean(&departures) as f64 / (m * m) as f64,
    );
}

fn growth(_: &mut Criterion) {
    eprintln!("nanoseconds of a decision on one arrival (a) and on one departure (d)");
    eprintln!(
        "    policy     m       n decisions   a p50  a mean    a p99   d p50  d mean    d p99  d mean/m d mean/m^2"
    );
    for name in POLICIES {
        for cpus in [8usize, 24, 64, 128, 256, 1024] {
            let system = system(cpus, 10 * cpus, cpus as i64);
            row(name, &system, Time::from_ms(800));
        }
        for tasks in [100usize, 1_000, 10_000, 100_000] {
            let system = system(24, tasks, 1 + tasks as i64 / 240);
            row(name, &system, Time::from_ms(1_600));
        }
    }
}

criterion_group!(benches, decisions, percentiles, growth);
criterion_main!(benches);
