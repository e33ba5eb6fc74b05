//! The number of mixed-criticality sets per second that the analyses judge, on one core.
//!
//! Sets of 20 tasks are like those of Huang et al. 2014, Section 4: UUniFast, periods 100 to 10,000
//! us in steps of 100, levels in turn, `CF = 1.5`; 100 sets per utilization. AMC-RT and AMC-MAX use
//! two levels, the others four. Sets are checked and stored beforehand; a verdict is the whole
//! test, with the search for priorities.
//!
//! Another benchmark measures what OCBP computes at run time: new priorities for all jobs of the
//! busy period of each set that FJP accepts, which is the longest scan possible. The throughput is
//! in jobs, so 1 / throughput would stay constant if the work were linear.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use layland_gen::{Periods, Recipe, TwoBudgets, Utilizations};
use layland_model::{Duration, Rate};
use layland_offline::criticality::{
    MixedSet, amc_ia, amc_max, amc_rt, fixed, fjp, period_transformation, virtual_deadlines,
    zero_slack,
};
use std::hint::black_box;

fn sets(levels: usize, percent: i64) -> Vec<MixedSet> {
    let utilizations = Utilizations::UUniFast { tasks: 20, total: Rate::new(percent, 100) };
    let recipe = Recipe {
        periods: Periods::Uniform {
            min: Duration::from_us(100),
            max: Duration::from_ms(10),
            granularity: Duration::from_us(100),
        },
        two_budgets: Some(TwoBudgets::new(levels, Rate::new(3, 2))),
        ..Recipe::new(1, utilizations, 2014)
    };
    let generator = recipe.generator().expect("the recipe is right");
    (0..100)
        .map(|index| {
            let system = generator.generate(index).expect("the recipe is right");
            MixedSet::of_system(&system).expect("the set is of the model")
        })
        .collect()
}

/// An analysis as a function that returns true if it accepts a set.
type Accepts = fn(&MixedSet) -> bool;

fn bench(c: &mut Criterion, levels: usize, tests: &[(&str, Accepts)]) {
    for percent in [50, 65, 75, 85] {
        let sets = sets(levels, percent);
        for (name, test) in tests {
            let accepted = sets.iter().filter(|set| test(set)).count();
            let mut group = c.benchmark_group(*name);
            group.throughput(Throughput::Elements(sets.len() as u64)).sample_size(20);
            let point = format!("n20-levels{levels}-u0.{percent}");
            group.bench_function(BenchmarkId::new(point, format!("{accepted}% accepted")), |b| {
                b.iter(|| sets.iter().filter(|set| test(black_box(set))).count());
            });
            group.finish();
        }
    }
}

fn two_levels(c: &mut Criterion) {
    bench(
        c,
        2,
        &[
            ("AMC-RT", |set| amc_rt::order(set).answer().is_yes()),
            ("AMC-MAX", |set| amc_max::amc_max(set).is_ok_and(|found| found.answer().is_yes())),
            ("EDF-VD", |set| virtual_deadlines::exact(set).answer().is_yes()),
            ("EDF-VD-WHOLE", |set| virtual_deadlines::whole(set).answer().is_yes()),
            ("EKBERG-YI", |set| virtual_deadlines::tuned(set).answer().is_yes()),
        ],
    );
}

fn four_levels(c: &mut Criterion) {
    bench(
        c,
        4,
        &[
            ("FTP-SMC", |set| fixed::ftp_smc(set).answer().is_yes()),
            ("AMC-IA", |set| amc_ia::safe(set, amc_ia::FIXED_POINTS).answer().is_yes()),
            ("AMC-IA-order", |set| amc_ia::safe_order(set, amc_ia::FIXED_POINTS).answer().is_yes()),
            ("PT", |set| period_transformation::safe(set, 1).answer.is_yes()),
            ("ZSS", |set| zero_slack::safe(set).answer.is_yes()),
            ("FJP", |set| fjp::safe(set, fjp::JOBS).answer.is_yes()),
            ("FJP-IJA-PAPER", |set| fjp::ija_paper(set, fjp::JOBS).answer.is_yes()),
        ],
    );
}

fn scans(c: &mut Criterion) {
    for percent in [50, 65, 75, 85] {
        let scan = |set: MixedSet| {
            let found = fjp::safe(&set, fjp::JOBS);
            let counts = found.counts.filter(|_| found.answer.is_yes())?;
            let left: Vec<usize> = counts.values().map(|&count| count as usize).collect();
            Some((left, fjp::Rescan::delays(set)))
        };
        let mut scans: Vec<_> = sets(4, percent).into_iter().filter_map(scan).collect();
        if scans.is_empty() {
            continue;
        }
        let jobs: usize = scans.iter().flat_map(|(left, _)| left).sum();
        let first = vec![0; scans[0].0.len()];
        let mut group = c.benchmark_group("OCBP-scan");
        group.throughput(Throughput::Elements(jobs as u64)).sample_size(20);
        let point = format!("n20-levels4-u0.{percent}");
        let each = format!("{} sets, {} jobs each", scans.len(), jobs / scans.len());
        group.bench_function(BenchmarkId::new(point, each), |b| {
            b.iter(|| {
                for (left, rescan) in &mut scans {
                    let mut last = (0, 0);
                    let placed = rescan.scan(left, &first, 0, |task, job| last = (task, job));
                    black_box((placed, last));
                }
            });
        });
        group.finish();
    }
}

criterion_group!(benches, two_levels, four_levels, scans);
criterion_main!(benches);
