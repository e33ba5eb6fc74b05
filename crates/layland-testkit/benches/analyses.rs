//! The number of task sets per second that the analyses judge, on one core.
//!
//! - n = 20 on one CPU: U 0.7 with `D = C + x (T - C)`, x uniform, and U 0.9 with implicit deadlines;
//! - m = 4, n = 20 and m = 8, n = 40: U 0.4 m and 0.6 m, implicit deadlines.
//!
//! All cases use RandFixedSum, log-uniform periods of 10 to 100 ms in whole milliseconds, and 100
//! sets. Sets are bare tasks ([`Sporadic`]). Priorities are sorted beforehand; a verdict is the
//! whole test.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use layland_analysis::Sporadic;
use layland_analysis::global_edf::{
    bak, bar, bcl, bcli, combined, ff_dbf, gfb, limited, load, rta,
};
use layland_analysis::uniprocessor::edf::criterion as processor_demand;
use layland_analysis::uniprocessor::fixed_priority::sweep;
use layland_gen::{Deadlines, Periods, Recipe, Utilizations};
use layland_model::{Duration, Rate};
use std::hint::black_box;

fn sets(cpus: usize, tasks: usize, total: Rate, constrained: bool) -> Vec<Vec<Sporadic>> {
    let utilizations = Utilizations::RandFixedSum { tasks, total, min: Rate::ZERO, max: Rate::ONE };
    let mut recipe = Recipe::new(cpus, utilizations, 7);
    recipe.periods = Periods::LogUniform {
        min: Duration::from_ms(10),
        max: Duration::from_ms(100),
        granularity: Duration::from_ms(1),
    };
    if constrained {
        recipe.deadlines = Deadlines::Constrained { min: Rate::ZERO, max: Rate::ONE };
    }
    let generator = recipe.generator().expect("the recipe is feasible");
    (0..100)
        .map(|index| {
            let system = generator.generate(index).expect("the recipe is feasible");
            let mut tasks: Vec<Sporadic> = system.tasks.values().map(Sporadic::from).collect();
            tasks.sort_by_key(|task| task.deadline);
            tasks
        })
        .collect()
}

fn bench(
    c: &mut Criterion,
    name: &str,
    point: &str,
    sets: &[Vec<Sporadic>],
    test: impl Fn(&[Sporadic]) -> bool,
) {
    let accepted = sets.iter().filter(|set| test(set)).count();
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Elements(sets.len() as u64)).sample_size(20);
    group.bench_function(BenchmarkId::new(point, format!("{accepted}% accepted")), |b| {
        b.iter(|| sets.iter().filter(|set| test(black_box(set))).count());
    });
    group.finish();
}

fn one_cpu(c: &mut Criterion) {
    for (point, total, constrained) in
        [("n20-u0.7-constrained", Rate::new(7, 10), true), ("n20-u0.9", Rate::new(9, 10), false)]
    {
        let sets = sets(1, 20, total, constrained);
        bench(c, "QPA", point, &sets, |tasks| {
            processor_demand(tasks) == Ok(layland_analysis::uniprocessor::edf::Demand::Met)
        });
        bench(c, "RTA-DM", point, &sets, |tasks| {
            let mut responses = Vec::with_capacity(tasks.len());
            sweep(tasks, &mut responses).is_ok()
        });
    }
}

fn several_cpus(c: &mut Criterion) {
    type Accepts = fn(&[Sporadic], usize) -> bool;
    let tests: [(&str, Accepts); 10] = [
        ("GFB", gfb::accepts),
        ("BAK", bak::accepts),
        ("BCL", bcl::accepts),
        ("BCLI", bcli::accepts),
        ("LOAD", load::accepts),
        ("BAR", bar::accepts),
        ("G-RTA", rta::accepts),
        ("FF-DBF", ff_dbf::accepts),
        ("G-RTA-LC", limited::accepts),
        ("GLOBAL-EDF", |tasks, cpus| combined::accepted_by(tasks, cpus).is_some()),
    ];
    for (m, n) in [(4usize, 20usize), (8, 40)] {
        for tenths in [4, 6] {
            let sets = sets(m, n, Rate::new(tenths * m as i64, 10), false);
            let point = format!("m{m}-n{n}-u0.{tenths}m");
            for (name, accepts) in tests {
                bench(c, name, &point, &sets, |tasks| accepts(tasks, m));
            }
        }
    }
}

criterion_group!(benches, one_cpu, several_cpus);
criterion_main!(benches);
