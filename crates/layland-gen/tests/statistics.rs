//! Statistical tests of the samplers, with fixed seeds, so that their results never change.
//!
//! Every threshold is one that a correct sampler exceeds with a probability of about 1e-6:
//!
//! - Kolmogorov-Smirnov: `D > sqrt(ln(2 / p) / 2) / sqrt(N)`, with `N n m / (n + m)` for two
//!   samples;
//! - chi-square: the quantile by Wilson and Hilferty, `d (1 - 2/(9d) + z sqrt(2/(9d)))^3` with
//!   `z = 4.753`.
//!
//! Samplers that are known to be wrong fail the same tests, which shows that the tests can fail.

use layland_gen::{
    Aspect, ConvolutionalFixedSum, Independent, Periods, RandFixedSum, Random, Recipe, UUniFast,
    UUniFastDiscard, Utilizations,
};
use layland_model::{Duration, Rate, TaskId};
use std::collections::BTreeMap;

const SAMPLES: usize = 20_000;
const P: f64 = 1e-6;
const Z: f64 = 4.753;

fn random(seed: u64) -> Random {
    Random::new(seed, 0, Aspect::Utilizations)
}

fn vectors(count: usize, mut draw: impl FnMut() -> Vec<f64>) -> Vec<Vec<f64>> {
    (0..count).map(|_| draw()).collect()
}

fn column(vectors: &[Vec<f64>], i: usize) -> Vec<f64> {
    vectors.iter().map(|x| x[i]).collect()
}

/// Returns the distance between the sample's distribution
/// function and the exact one, over the threshold.
fn ks(mut sample: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = sample.len() as f64;
    let distance = |(k, x): (usize, &f64)| {
        let exact = cdf(*x);
        (exact - k as f64 / n).abs().max((exact - (k + 1) as f64 / n).abs())
    };
    let largest = sample.iter().enumerate().map(distance).fold(0.0, f64::max);
    largest / ((2.0 / P).ln() / 2.0 / n).sqrt()
}

/// Returns the distance between two samples' distribution functions, over the threshold.
fn ks_two(mut a: Vec<f64>, mut b: Vec<f64>) -> f64 {
    a.sort_by(f64::total_cmp);
    b.sort_by(f64::total_cmp);
    let (n, m) = (a.len() as f64, b.len() as f64);
    let (mut i, mut j, mut largest) = (0, 0, 0.0f64);
    while i < a.len() && j < b.len() {
        let x = a[i].min(b[j]);
        while i < a.len() && a[i] <= x {
            i += 1;
        }
        while j < b.len() && b[j] <= x {
            j += 1;
        }
        largest = largest.max((i as f64 / n - j as f64 / m).abs());
    }
    largest / ((2.0 / P).ln() / 2.0 * (n + m) / (n * m)).sqrt()
}

/// Returns chi-square of counts against expected counts, over the threshold. Cells with an
/// expectation below 5 are merged.
fn chi_square(cells: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    let (mut sum, mut degrees) = (0.0, -1.0);
    let (mut rest, mut rest_expected) = (0.0, 0.0);
    for (count, expected) in cells {
        if expected < 5.0 {
            rest += count;
            rest_expected += expected;
        } else {
            sum += (count - expected).powi(2) / expected;
            degrees += 1.0;
        }
    }
    if rest_expected > 0.0 {
        sum += (rest - rest_expected).powi(2) / rest_expected.max(1.0);
        degrees += 1.0;
    }
    let spread = 2.0 / (9.0 * degrees);
    sum / (degrees * (1.0 - spread + Z * f64::sqrt(spread)).powi(3))
}

fn binomial(n: u32, k: u32) -> f64 {
    (0..k).map(|i| f64::from(n - i) / f64::from(i + 1)).product()
}

fn factorial(n: u32) -> f64 {
    (1..=n).map(f64::from).product()
}

/// Returns the distribution of a sum of `n` uniform numbers (Irwin and Hall), integrated `integral`
/// times: its density for 0, its distribution function for 1.
fn irwin_hall(n: u32, x: f64, integral: u32) -> f64 {
    if x >= f64::from(n) {
        return f64::from(integral);
    }
    let power = (n - 1 + integral) as i32;
    let terms = (0..=n).take_while(|&k| f64::from(k) <= x);
    terms
        .map(|k| (-1f64).powi(k as i32) * binomial(n, k) * (x - f64::from(k)).powi(power))
        .sum::<f64>()
        / factorial(n - 1 + integral)
}

/// Returns the distribution function of one coordinate, uniform on `{sum = total, 0 <= x_i <= 1}`:
/// given `x_1`, the others are `n - 1` uniform numbers with the sum `total - x_1`.
fn marginal(n: u32, total: f64, x: f64) -> f64 {
    let below = |s: f64| if s <= 0.0 { 0.0 } else { irwin_hall(n - 1, s, 1) };
    (below(total) - below(total - x)) / irwin_hall(n, total, 0)
}

fn check_sum(vectors: &[Vec<f64>], total: f64, min: f64, max: f64) {
    for x in vectors {
        assert!((x.iter().sum::<f64>() - total).abs() < 1e-9, "{x:?}");
        assert!(x.iter().all(|x| (min..=max).contains(x)), "{x:?}");
    }
}

/// Draws uniformly from the slice of the cube by rejection: all coordinates but the last are
/// uniform, the last is the remainder, and the vector is accepted if that is within the bounds.
fn rejection(n: usize, total: f64, random: &mut Random) -> Vec<f64> {
    loop {
        let mut x: Vec<f64> = (1..n).map(|_| random.unit()).collect();
        let last = total - x.iter().sum::<f64>();
        if (0.0..=1.0).contains(&last) {
            x.push(last);
            return x;
        }
    }
}

/// An obvious but wrong sampler: uniform numbers, scaled to the total.
fn normalised(n: usize, total: f64, random: &mut Random) -> Vec<f64> {
    let x: Vec<f64> = (0..n).map(|_| random.unit()).collect();
    let sum: f64 = x.iter().sum();
    x.into_iter().map(|x| x * total / sum).collect()
}

/// On the simplex, `x_i / U` has the distribution Beta(1, n - 1).
#[test]
fn uunifast_is_uniform_on_the_simplex() {
    for (n, total) in [(2, 1.0), (3, 0.7), (5, 1.0), (20, 3.0)] {
        let mut random = random(n as u64);
        let sampler = UUniFast::new(n, total);
        let drawn = vectors(SAMPLES, || sampler.sample(&mut random));
        check_sum(&drawn, total, 0.0, total);
        for i in [0, 1, n - 1] {
            let d = ks(column(&drawn, i), |x| 1.0 - (1.0 - x / total).powi(n as i32 - 1));
            assert!(d < 1.0, "n = {n}, coordinate {i}: {d}");
        }
    }
}

#[test]
fn normalised_draws_fail_the_simplex_test() {
    let mut random = random(1);
    let drawn = vectors(SAMPLES, || normalised(4, 1.0, &mut random));
    check_sum(&drawn, 1.0, 0.0, 1.0);
    assert!(ks(column(&drawn, 0), |x| 1.0 - (1.0 - x).powi(3)) > 3.0);
}

#[test]
fn bounded_sums_have_the_exact_marginals() {
    for (n, total) in [(2, 0.7), (2, 1.0), (2, 1.4), (3, 1.5), (3, 1.0), (4, 2.3), (8, 3.0)] {
        let seed = (n * 100) as u64 + (total * 10.0) as u64;
        let (mut a, mut b) = (random(seed), random(seed + 1));
        let discard = UUniFastDiscard::new(n, total, 1.0, 1_000_000);
        let fixed = RandFixedSum::new(n, total, 0.0, 1.0).unwrap();
        for (name, drawn) in [
            ("discard", vectors(SAMPLES, || discard.sample(&mut a).unwrap())),
            ("fixed", vectors(SAMPLES, || fixed.sample(&mut b))),
        ] {
            check_sum(&drawn, total, 0.0, 1.0);
            for i in [0, n - 1] {
                let d = ks(column(&drawn, i), |x| marginal(n as u32, total, x));
                assert!(d < 1.0, "{name}, n = {n}, U = {total}, coordinate {i}: {d}");
            }
        }
    }
}

#[test]
fn normalised_draws_fail_the_bounded_test() {
    let mut random = random(2);
    let drawn = vectors(SAMPLES, || {
        loop {
            let x = normalised(4, 2.3, &mut random);
            if x.iter().all(|&x| x <= 1.0) {
                return x;
            }
        }
    });
    check_sum(&drawn, 2.3, 0.0, 1.0);
    assert!(ks(column(&drawn, 0), |x| marginal(4, 2.3, x)) > 2.0);
}

/// Correct marginals do not imply a uniform distribution: compare functions of all coordinates.
#[test]
fn rand_fixed_sum_and_the_lattice_are_jointly_uniform() {
    for total in [0.8, 1.7, 2.0, 3.2] {
        let mut exact = random(10);
        let exact = vectors(SAMPLES, || rejection(4, total, &mut exact));
        let (mut a, mut b) = (random(11), random(12));
        let fixed = RandFixedSum::new(4, total, 0.0, 1.0).unwrap();
        let rate = Rate::new((total * 10.0) as i64, 10);
        let unit = [const { (Rate::ZERO, Rate::ONE) }; 4];
        let lattice = ConvolutionalFixedSum::new(&rate, &unit, 100_000).unwrap();
        let steps = |random: &mut Random| -> Vec<f64> {
            lattice.sample_steps(random).into_iter().map(|m| m as f64 / 1e5).collect()
        };
        // The lattice scans a row per number, so draw fewer vectors from it.
        for (name, drawn) in [
            ("fixed", vectors(SAMPLES, || fixed.sample(&mut a))),
            ("lattice", vectors(SAMPLES / 20, || steps(&mut b))),
        ] {
            check_sum(&drawn, total, 0.0, 1.0);
            let functions: [fn(&Vec<f64>) -> f64; 6] = [
                |x| x[1],
                |x| x.iter().copied().fold(0.0, f64::max),
                |x| x.iter().copied().fold(1.0, f64::min),
                |x| x[0] + x[1],
                |x| x[0] * x[3],
                |x| x.iter().map(|x| x * x).sum(),
            ];
            for (k, f) in functions.into_iter().enumerate() {
                let d = ks_two(drawn.iter().map(f).collect(), exact.iter().map(f).collect());
                assert!(d < 1.0, "{name}, U = {total}, function {k}: {d}");
            }
        }
    }
}

/// Three numbers in [0, 1] with the sum 1.5 fill a hexagon around (1/2, 1/2, 1/2). Scaled by `r`
/// about its centre it has `r^2` of the area, and each of the six orders has one sixth.
#[test]
fn the_hexagon_is_filled_evenly() {
    let size = |x: &Vec<f64>| x.iter().map(|x| 2.0 * (x - 0.5).abs()).fold(0.0, f64::max);
    let order = |x: &Vec<f64>| {
        usize::from(x[0] < x[1]) + 2 * usize::from(x[1] < x[2]) + 4 * usize::from(x[0] < x[2])
    };
    let verdict = |drawn: &[Vec<f64>]| {
        let area = ks(drawn.iter().map(size).collect(), |r| r * r);
        let mut counts = [0.0; 8];
        drawn.iter().for_each(|x| counts[order(x)] += 1.0);
        let sixth = drawn.len() as f64 / 6.0;
        // Two of the eight patterns are contradictory.
        area.max(chi_square(counts.into_iter().filter(|&n| n > 0.0).map(|n| (n, sixth))))
    };
    let mut random = random(20);
    let fixed = RandFixedSum::new(3, 1.5, 0.0, 1.0).unwrap();
    let drawn = vectors(SAMPLES, || fixed.sample(&mut random));
    assert!(verdict(&drawn) < 1.0);
    // Wrong: drawn one after the other, each uniformly from the values that remain possible.
    let drawn = vectors(SAMPLES, || {
        let first = random.unit();
        let low = (0.5 - first).max(0.0);
        let second = low + ((1.5 - first).min(1.0) - low) * random.unit();
        vec![first, second, 1.5 - first - second]
    });
    assert!(verdict(&drawn) > 2.0);
}

#[test]
fn other_bounds_are_the_unit_cube_moved_and_scaled() {
    let mut random = random(30);
    let (min, max) = (0.1, 0.6);
    let fixed = RandFixedSum::new(5, 1.9, min, max).unwrap();
    let drawn = vectors(SAMPLES, || fixed.sample(&mut random));
    check_sum(&drawn, 1.9, min, max);
    let total = (1.9 - 5.0 * min) / (max - min);
    for i in 0..5 {
        let d = ks(column(&drawn, i), |x| marginal(5, total, (x - min) / (max - min)));
        assert!(d < 1.0, "coordinate {i}: {d}");
        let other = ks_two(column(&drawn, i), column(&drawn, (i + 1) % 5));
        assert!(other < 1.0, "coordinates {i} and the next: {other}");
    }
}

/// Many tasks: the densities in the table fall to 1e-350. With 240 tasks and U = 18 the bound 1 has
/// little effect (some task exceeds it once in 3500 vectors of the simplex), so the marginal is
/// Beta(1, 239); U = 222 is its mirror image.
#[test]
fn two_hundred_and_forty_tasks() {
    let mut random = random(40);
    let beta = |x: f64| 1.0 - (1.0 - x / 18.0).powi(239);
    for total in [18.0, 222.0] {
        let fixed = RandFixedSum::new(240, total, 0.0, 1.0).unwrap();
        let drawn = vectors(2_000, || fixed.sample(&mut random));
        check_sum(&drawn, total, 0.0, 1.0);
        for i in [0, 120, 239] {
            let mirror = |x: f64| if total > 100.0 { 1.0 - x } else { x };
            let d = ks(column(&drawn, i).into_iter().map(mirror).collect(), beta);
            assert!(d < 1.0, "U = {total}, coordinate {i}: {d}");
        }
    }
    for total in [0.0, 1e-3, 0.5, 1.0, 120.0, 239.0, 239.5, 240.0] {
        let fixed = RandFixedSum::new(240, total, 0.0, 1.0).unwrap();
        check_sum(&vectors(20, || fixed.sample(&mut random)), total, 0.0, 1.0);
    }
}

/// Counts every lattice point of an asymmetric polytope.
#[test]
fn the_lattice_is_drawn_uniformly() {
    let bounds = [(0, 5), (2, 9), (1, 3), (0, 8)];
    let rates = bounds.map(|(a, b)| (Rate::new(a, 10), Rate::new(b, 10)));
    for total in [4, 9, 14, 20, 24, 25] {
        let mut points: BTreeMap<Vec<i64>, f64> = BTreeMap::new();
        for code in 0..10_000i64 {
            let m = vec![code / 1000, code / 100 % 10, code / 10 % 10, code % 10];
            let within = m.iter().zip(bounds).all(|(m, (a, b))| (a..=b).contains(m));
            if within && m.iter().sum::<i64>() == total {
                points.insert(m, 0.0);
            }
        }
        let mut random = random(50 + total as u64);
        let sampler = ConvolutionalFixedSum::new(&Rate::new(total, 10), &rates, 10).unwrap();
        for _ in 0..SAMPLES {
            let m = sampler.sample_steps(&mut random);
            *points.get_mut(&m).unwrap_or_else(|| panic!("{m:?} is outside")) += 1.0;
        }
        let each = SAMPLES as f64 / points.len() as f64;
        if points.len() > 1 {
            let d = chi_square(points.values().map(|&count| (count, each)));
            assert!(d < 1.0, "total {total}, {} points: {d}", points.len());
        }
    }
}

/// Thirty tasks with different bounds: compares each marginal with counts by plain summation.
#[test]
fn the_lattice_has_the_exact_marginals() {
    let widths: Vec<usize> = (0..30).map(|i| 10 + 5 * (i % 7)).collect();
    let bounds: Vec<(Rate, Rate)> =
        widths.iter().map(|&w| (Rate::ZERO, Rate::new(w as i64, 100))).collect();
    // The number of ways in which some of the numbers sum
    // to t. 40^30 is within the floating-point range.
    let ways = |skip: usize| {
        let mut ways = vec![1.0f64];
        for (_, &w) in widths.iter().enumerate().filter(|(i, _)| *i != skip) {
            let mut next = vec![0.0; ways.len() + w];
            for (t, count) in ways.iter().enumerate() {
                next[t..=t + w].iter_mut().for_each(|n| *n += count);
            }
            ways = next;
        }
        ways
    };
    for total in [60usize, 370, 650] {
        let mut random = random(60);
        let rate = Rate::new(total as i64, 100);
        let sampler = ConvolutionalFixedSum::new(&rate, &bounds, 100).unwrap();
        let drawn: Vec<Vec<i64>> =
            (0..SAMPLES).map(|_| sampler.sample_steps(&mut random)).collect();
        for i in [0, 6, 13, 29] {
            let others = ways(i);
            let weights: Vec<f64> = (0..=widths[i])
                .map(|m| total.checked_sub(m).and_then(|t| others.get(t)).copied().unwrap_or(0.0))
                .collect();
            let all: f64 = weights.iter().sum();
            let mut counts = vec![0.0; widths[i] + 1];
            drawn.iter().for_each(|x| counts[x[i] as usize] += 1.0);
            let expected = weights.iter().map(|w| w / all * SAMPLES as f64);
            let d = chi_square(counts.into_iter().zip(expected));
            assert!(d < 1.0, "total {total}, coordinate {i}: {d}");
        }
    }
}

/// A thousand tasks: without the weights `theta^m` the counts would exceed every range.
#[test]
fn the_lattice_takes_many_tasks() {
    let mut random = random(70);
    for (n, total, resolution) in [(240, 18, 1000), (1000, 40, 500), (1000, 960, 500)] {
        let bounds = vec![(Rate::ZERO, Rate::ONE); n];
        let sampler = ConvolutionalFixedSum::new(&Rate::whole(total), &bounds, resolution).unwrap();
        let drawn: Vec<Vec<i64>> = (0..100).map(|_| sampler.sample_steps(&mut random)).collect();
        for x in &drawn {
            assert_eq!(x.iter().sum::<i64>(), total * i64::from(resolution));
            assert!(x.iter().all(|m| (0..=i64::from(resolution)).contains(m)));
        }
        // Tasks drawn first and last have the same distribution.
        let part = |range: std::ops::Range<usize>| -> Vec<f64> {
            drawn.iter().flat_map(|x| &x[range.clone()]).map(|&m| m as f64).collect()
        };
        let d = ks_two(part(0..100), part(n - 100..n));
        assert!(d < 1.0, "n = {n}: {d}");
    }
}

#[test]
fn independent_draws_are_uniform() {
    let mut random = random(80);
    let drawn = Independent::new(SAMPLES, 0.1, 0.5).sample(&mut random);
    assert!(ks(drawn, |x| (x - 0.1) / 0.4) < 1.0);
}

/// Periods and utilizations of recipes, over many indices.
fn tasks_of(periods: Periods) -> (Vec<f64>, Vec<f64>) {
    let utilizations = Utilizations::UUniFast { tasks: 10, total: Rate::ONE };
    let recipe = Recipe { periods, ..Recipe::new(1, utilizations, 90) };
    let generator = recipe.generator().unwrap();
    let systems = (0..SAMPLES as u64 / 10).map(|index| generator.generate(index).unwrap());
    systems
        .flat_map(|system| {
            let pair = |id| {
                let task = &system.tasks[TaskId(id)];
                (task.period.ns() as f64, task.utilization().to_f64())
            };
            (0..10).map(pair).collect::<Vec<_>>()
        })
        .unzip()
}

#[test]
fn log_uniform_periods_have_equal_decades() {
    let (min, max) = (Duration::from_ms(1), Duration::from_secs(1));
    let granularity = Duration::from_us(10);
    let (periods, utilizations) = tasks_of(Periods::LogUniform { min, max, granularity });
    // Ten cells per decade, from 100 granules to 100 000.
    let total = (100_001f64 / 100.0).ln();
    let edge = |k: i32| (100.0 * 10f64.powf(f64::from(k) / 10.0)).ceil();
    let test = |periods: &[f64]| {
        chi_square((0..30).map(|k| {
            let (low, high) = (edge(k), if k == 29 { 100_001.0 } else { edge(k + 1) });
            let within = |&&period: &&f64| (low..high).contains(&(period / 1e4));
            let count = periods.iter().filter(within).count() as f64;
            (count, (high / low).ln() / total * periods.len() as f64)
        }))
    };
    assert!(periods.iter().all(|period| (1e6..=1e9).contains(period) && period % 1e4 == 0.0));
    assert!(test(&periods) < 1.0, "{}", test(&periods));

    // Uniform periods fail.
    let (uniform, _) = tasks_of(Periods::Uniform { min, max, granularity });
    assert!(test(&uniform) > 3.0);
    // (k + 1) - 100 of the 99 901 multiples up to k are at most k.
    let d = ks(uniform, |x| (x / 1e4 - 99.0) / 99_901.0);
    assert!(d < 1.0, "{d}");

    // Periods do not depend on utilizations: compare both sides of the medians.
    let median = |values: &[f64]| {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    };
    let (middle_t, middle_u) = (median(&periods), median(&utilizations));
    let mut counts = [0.0; 4];
    for (t, u) in periods.iter().zip(&utilizations) {
        counts[usize::from(*t < middle_t) + 2 * usize::from(*u < middle_u)] += 1.0;
    }
    let quarter = periods.len() as f64 / 4.0;
    assert!(chi_square(counts.into_iter().map(|count| (count, quarter))) < 1.0);
}

#[test]
fn lists_and_harmonic_periods_are_even() {
    let bases = vec![Duration::from_ms(10), Duration::from_ms(25)];
    let harmonic = Periods::Harmonic { bases, factor: 2, powers: 3 };
    let values = [10, 20, 40, 80, 25, 50, 100, 200].map(Duration::from_ms);
    for periods in [harmonic, Periods::Choice(values.to_vec())] {
        let (periods, _) = tasks_of(periods);
        let each = periods.len() as f64 / 8.0;
        let count = |value: Duration| {
            let same = |&&period: &&f64| period as i64 == value.ns();
            periods.iter().filter(same).count() as f64
        };
        let d = chi_square(values.map(|value| (count(value), each)));
        assert!(d < 1.0, "{d}");
    }
}
