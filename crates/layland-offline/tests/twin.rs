//! The packing functions against a naive twin that follows the table of rules literally with exact
//! rationals, and compares the search with all placements.

use layland_model::{CpuId, CpuSet, Duration, Index, Rate, Service, Speed, System, Task};
use layland_offline::{
    Existence, Heuristic, anywhere, exists_partition, pack, pack_min, pack_over, partition,
};
use proptest::prelude::*;
use std::cmp::Reverse;

/// The remaining room of each bin, the current bin or cursor, and the rule.
struct Naive {
    left: Vec<Rate>,
    cursor: usize,
    rule: &'static str,
}

impl Naive {
    fn new(left: Vec<Rate>, heuristic: Heuristic) -> Naive {
        Naive { left, cursor: 0, rule: &heuristic.name()[..2] }
    }

    fn choose(
        &mut self,
        rate: impl Fn(usize) -> Rate,
        allowed: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let bins = self.left.len();
        let fitting: Vec<usize> =
            (0..bins).filter(|&bin| allowed(bin) && rate(bin) <= self.left[bin]).collect();
        let bin = match self.rule {
            "ff" => fitting.first().copied(),
            "bf" => fitting.iter().copied().min_by_key(|&bin| (self.left[bin].clone(), bin)),
            "wf" => {
                fitting.iter().copied().min_by_key(|&bin| (Reverse(self.left[bin].clone()), bin))
            }
            "nf" => fitting.iter().copied().find(|&bin| bin >= self.cursor),
            "ef" => fitting.iter().copied().min_by_key(|&bin| (bin + bins - self.cursor) % bins),
            rule => unreachable!("{rule}"),
        }?;
        match self.rule {
            "nf" => self.cursor = bin,
            "ef" => self.cursor = (bin + 1) % bins,
            _ => {}
        }
        Some(bin)
    }
}

fn naive_order(items: &[Rate], heuristic: Heuristic) -> Vec<usize> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    if heuristic.name().len() == 3 {
        order.sort_by_key(|&item| (Reverse(items[item].clone()), item));
    }
    order
}

fn naive_pack(
    items: &[Rate],
    allowed: impl Fn(usize, usize) -> bool,
    capacities: Vec<Rate>,
    heuristic: Heuristic,
) -> Result<Vec<usize>, usize> {
    naive_pack_sizes(items, |item, _| items[item].clone(), allowed, capacities, heuristic)
}

/// Packs items that have another size in each bin.
fn naive_pack_sizes(
    items: &[Rate],
    size: impl Fn(usize, usize) -> Rate,
    allowed: impl Fn(usize, usize) -> bool,
    capacities: Vec<Rate>,
    heuristic: Heuristic,
) -> Result<Vec<usize>, usize> {
    let mut bin_of = vec![0; items.len()];
    let mut naive = Naive::new(capacities, heuristic);
    for item in naive_order(items, heuristic) {
        let bin = naive.choose(|bin| size(item, bin), |bin| allowed(item, bin)).ok_or(item)?;
        naive.left[bin] = &naive.left[bin] - &size(item, bin);
        bin_of[item] = bin;
    }
    Ok(bin_of)
}

/// The work that a CPU of this speed does in the whole nanoseconds that a job takes, for the length of
/// its period: what the task takes of the speed.
fn size_on(rate: &Rate, speed: &Rate) -> Rate {
    let (work, period) = rate.as_i64_pair().unwrap();
    let time = (&Rate::whole(work) / speed).ceil().unwrap();
    &Rate::new(time, period) * speed
}

fn naive_pack_min(items: &[Rate], at_least: usize, heuristic: Heuristic) -> Vec<Vec<usize>> {
    let order = naive_order(items, heuristic);
    (at_least..)
        .find_map(|count| {
            let bin_of = naive_pack(items, anywhere, vec![Rate::ONE; count], heuristic).ok()?;
            let bins = (0..count)
                .map(|bin| order.iter().copied().filter(|&item| bin_of[item] == bin).collect())
                .filter(|bin: &Vec<usize>| !bin.is_empty());
            Some(bins.collect())
        })
        .expect("some number of bins is enough")
}

fn naive_pack_over(items: &[Rate], count: usize, heuristic: Heuristic) -> Vec<Vec<usize>> {
    let mut naive = Naive::new(vec![Rate::ONE; count], heuristic);
    let mut bins = vec![Vec::new(); count];
    for item in naive_order(items, heuristic) {
        let bin = naive.choose(|_| items[item].clone(), |_| true).unwrap_or_else(|| {
            (0..count).min_by_key(|&bin| (Reverse(naive.left[bin].clone()), bin)).unwrap()
        });
        naive.left[bin] = &naive.left[bin] - &items[item];
        bins[bin].push(item);
    }
    bins
}

/// Rates on small grids, with many ties and full bins; and rates with unrelated denominators.
fn rates(most: usize) -> impl Strategy<Value = Vec<Rate>> {
    let on_grid = prop_oneof![Just(2), Just(6), Just(10), Just(12)].prop_flat_map(|d| {
        prop::collection::vec((1i64..=d).prop_map(move |n| Rate::new(n, d)), 0..=24)
    });
    let unrelated = prop::collection::vec(
        (1i64..1_000_000_000, 1i64..1_000_000_000).prop_map(|(a, b)| Rate::new(a.min(b), a.max(b))),
        0..=24,
    );
    prop_oneof![on_grid, unrelated].prop_map(move |mut rates| {
        rates.truncate(most);
        rates
    })
}

fn heuristics() -> impl Strategy<Value = Heuristic> {
    prop::sample::select(Heuristic::ALL.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn pack_is_its_twin(
        items in rates(24),
        masks in prop::collection::vec(prop_oneof![Just(u8::MAX), any::<u8>()], 24),
        bins in 1usize..8,
        heuristic in heuristics(),
        capacity in prop_oneof![Just(Rate::ONE), Just(Rate::new(3, 4)), Just(Rate::new(5, 3))],
    ) {
        let allowed = |item: usize, bin: usize| masks[item] >> bin & 1 == 1;
        let ours = pack(&items, allowed, bins, heuristic, &capacity).map_err(|error| error.item);
        prop_assert_eq!(ours, naive_pack(&items, allowed, vec![capacity; bins], heuristic));
    }

    #[test]
    fn pack_min_is_its_twin(items in rates(24), at_least in 1usize..6, heuristic in heuristics()) {
        let ours = pack_min(&items, at_least, heuristic).unwrap();
        prop_assert_eq!(ours, naive_pack_min(&items, at_least, heuristic));
    }

    #[test]
    fn pack_over_is_its_twin(items in rates(24), bins in 1usize..6, heuristic in heuristics()) {
        prop_assert_eq!(
            pack_over(&items, bins, heuristic),
            naive_pack_over(&items, bins, heuristic)
        );
    }

    #[test]
    fn partition_and_search_are_their_twins(
        items in rates(6),
        masks in prop::collection::vec(prop_oneof![Just(7u8), 1..8u8], 6),
        cpus in 1usize..4,
        speeds in prop::collection::vec(prop_oneof![Just((1, 1)), Just((1, 2)), Just((3, 2))], 3),
        heuristic in heuristics(),
    ) {
        prop_assume!(!items.is_empty());
        let speeds: Vec<Rate> = speeds[..cpus].iter().map(|&(n, d)| Rate::new(n, d)).collect();
        let allowed = |item: usize, bin: usize| masks[item] >> bin & 1 == 1 || bin == 0;
        let task = |(i, rate): (usize, &Rate)| {
            let (n, d) = rate.as_i64_pair().unwrap();
            let mut task =
                Task::implicit(i.to_string(), Service::from_ns(n), Duration::from_ns(d));
            let mask: CpuSet =
                (0..cpus).filter(|&cpu| allowed(i, cpu)).map(CpuId::from_index).collect();
            task.affinity = Some(mask);
            task
        };
        let mut system = System::new(cpus, items.iter().enumerate().map(task).collect());
        system.platform.speeds = speeds.iter().map(|rate| Speed::new(rate).unwrap()).collect();
        let bins = |map: layland_model::TaskMap<CpuId>| -> Vec<usize> {
            map.values().map(|cpu| cpu.index()).collect()
        };

        let ours = partition(&system, heuristic).map(bins).map_err(|error| error.task.index());
        let size = |item: usize, bin: usize| size_on(&items[item], &speeds[bin]);
        let twin = naive_pack_sizes(&items, size, allowed, speeds.clone(), heuristic);
        prop_assert_eq!(&ours, &twin);

        // All placements, in lexicographic order.
        let first = (0..cpus.pow(items.len() as u32)).find_map(|code| {
            let bin_of: Vec<usize> = (0..items.len())
                .rev()
                .map(|place| code / cpus.pow(place as u32) % cpus)
                .collect();
            let fits = (0..cpus).all(|bin| {
                let held = (0..items.len()).filter(|&item| bin_of[item] == bin);
                held.map(|item| size(item, bin)).sum::<Rate>() <= speeds[bin]
            });
            let may = bin_of.iter().enumerate().all(|(item, &bin)| allowed(item, bin));
            (fits && may).then_some(bin_of)
        });
        match exists_partition(&system, 1_000_000) {
            Existence::Partition(map) => prop_assert_eq!(Some(bins(map)), first),
            Existence::NoPartition => {
                prop_assert_eq!(None, first);
                prop_assert!(ours.is_err(), "the heuristic found a partition, the search none");
            }
            Existence::Unknown { nodes } => prop_assert!(false, "{nodes} nodes were not enough"),
        }
    }
}

/// The size for which the packing is designed: random periods, then families of equal tasks, where
/// every comparison of loads is a tie.
fn ten_thousand(seed: u64, families: u64) -> Vec<Rate> {
    let mut state = seed;
    let mut draw = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as i64
    };
    let kinds: Vec<Rate> = (0..families)
        .map(|_| {
            let period = 1_000_000 + draw() % 1_000_000_000;
            Rate::new(period / 50 + draw() % (period / 400), period)
        })
        .collect();
    (0..10_000).map(|item| kinds[item * families as usize / 10_000].clone()).collect()
}

#[test]
fn ten_thousand_unrelated_tasks_on_256_cpus() {
    let items = ten_thousand(1, 10_000);
    for heuristic in Heuristic::ALL {
        pack(&items, anywhere, 256, heuristic, &Rate::ONE).unwrap();
    }
}

#[test]
fn ten_thousand_tasks_of_forty_kinds_on_256_cpus() {
    let items = ten_thousand(2, 40);
    for heuristic in Heuristic::ALL {
        pack(&items, anywhere, 256, heuristic, &Rate::ONE).unwrap();
    }
}
