//! Each heuristic on an example worked out by hand, the corner cases, and the errors.

use Heuristic::{Bf, Bfd, Ef, Efd, Ff, Ffd, Nf, Nfd, Wf, Wfd};
use layland_model::{CpuId, CpuSet, Duration, Index, Rate, Service, Speed, System, Task, TaskId};
use layland_offline::{
    Existence, Heuristic, anywhere, exists_partition, pack, pack_min, pack_over, partition,
};

fn tenths(numerators: &[i64]) -> Vec<Rate> {
    numerators.iter().map(|&n| Rate::new(n, 10)).collect()
}

fn system(cpus: usize, tasks: &[(i64, i64)]) -> System {
    let task = |(i, &(c, t)): (usize, &(i64, i64))| {
        Task::implicit(i.to_string(), Service::from_ms(c), Duration::from_ms(t))
    };
    System::new(cpus, tasks.iter().enumerate().map(task).collect())
}

/// Items 0.6 0.5 0.4 0.2 0.3 into 3 bins. After the first two items:
/// - FF: 0.4 joins 0.6 in bin 0 (full); 0.2 and 0.3 join 0.5 in bin 1.
/// - BF: as FF, since bin 0 is the fullest; then bin 1 (0.7, then full).
/// - WF: bins 0.6, 0.5, 0.4; 0.2 to bin 2 (0.6); 0.3 to bin 1 (0.8).
/// - NF: 0.5 opens bin 1, 0.4 joins it (0.9), 0.2 opens bin 2, 0.3 joins it.
/// - EF: bins 0, 1, 2, then 0 again (0.8), then 1 (0.8).
///
/// Decreasing order is 0.6 0.5 0.4 0.3 0.2 (items 0 1 2 4 3):
/// - FFD, BFD: 0.6 | 0.5; 0.4 to bin 0 (full); 0.3 to bin 1 (0.8); 0.2 to bin 1 (full).
/// - WFD: 0.6 | 0.5 | 0.4; 0.3 to bin 2 (0.7); 0.2 to bin 1 (0.7).
/// - NFD: 0.6 | 0.5 0.4 | 0.3 0.2.
/// - EFD: 0.6 | 0.5 | 0.4; 0.3 to bin 0 (0.9); 0.2 to bin 1 (0.7).
#[test]
fn every_heuristic_by_hand() {
    let items = tenths(&[6, 5, 4, 2, 3]);
    for (heuristic, expected) in [
        (Ff, [0, 1, 0, 1, 1]),
        (Bf, [0, 1, 0, 1, 1]),
        (Wf, [0, 1, 2, 2, 1]),
        (Nf, [0, 1, 1, 2, 2]),
        (Ef, [0, 1, 2, 0, 1]),
        (Ffd, [0, 1, 0, 1, 1]),
        (Bfd, [0, 1, 0, 1, 1]),
        (Wfd, [0, 1, 2, 1, 2]),
        (Nfd, [0, 1, 1, 2, 2]),
        (Efd, [0, 1, 2, 1, 0]),
    ] {
        let packed = pack(&items, anywhere, 3, heuristic, &Rate::ONE).unwrap();
        assert_eq!(packed, expected, "{heuristic}");
    }
}

/// An item list for which first fit and best fit differ: 0.5 0.7 0.3 0.5. FF puts 0.3 with the
/// first 0.5 and then fails; BF puts it with 0.7.
#[test]
fn best_fit_is_not_first_fit() {
    let items = tenths(&[5, 7, 3, 5]);
    assert_eq!(pack(&items, anywhere, 2, Bf, &Rate::ONE).unwrap(), [0, 1, 1, 0]);
    let error = pack(&items, anywhere, 2, Ff, &Rate::ONE).unwrap_err();
    assert_eq!((error.item, &error.rate), (3, &Rate::new(1, 2)));
    assert_eq!(error.placed, [Some(0), Some(1), Some(0), None]);
    let (emptiest, fullest) = (error.emptiest.unwrap(), error.fullest.unwrap());
    assert_eq!((emptiest.bin, emptiest.free()), (1, Rate::new(3, 10)));
    assert_eq!((fullest.bin, fullest.free()), (0, Rate::new(1, 5)));
}

/// A packer that decides with floats fails here: 0.1 + 0.2 + 0.7 is above 1 in binary.
#[test]
fn full_bins_are_exactly_full() {
    let items = ["0.1", "0.2", "0.7"].map(|text| text.parse::<Rate>().unwrap());
    let above = Rate::new(700_000_000_000_001, 1_000_000_000_000_000);
    for heuristic in Heuristic::ALL {
        assert!(pack(&items, anywhere, 1, heuristic, &Rate::ONE).is_ok());
        let over = [items[0].clone(), items[1].clone(), above.clone()];
        assert!(pack(&over, anywhere, 1, heuristic, &Rate::ONE).is_err());
    }
}

/// Two loads that differ by 10^-18 are equal in floating point.
#[test]
fn loads_are_compared_exactly() {
    let quintillion = 1_000_000_000_000_000_000;
    let items = [
        Rate::new(1, 2),
        Rate::new(quintillion / 2 - 1, quintillion),
        Rate::new(1, 1000),
        Rate::new(1, quintillion),
    ];
    assert_eq!(pack(&items, anywhere, 2, Wf, &Rate::ONE).unwrap(), [0, 1, 1, 0]);
    // The last item makes them equal, and the lowest bin gets the next one.
    let items = [items[0].clone(), items[1].clone(), items[3].clone(), items[2].clone()];
    assert_eq!(pack(&items, anywhere, 2, Wf, &Rate::ONE).unwrap(), [0, 1, 1, 0]);
}

/// The cursor of EF walks over bins that do not fit and wraps round.
#[test]
fn evenly_fit_walks_cyclically() {
    let items = tenths(&[9, 1, 1, 9, 1, 1]);
    // 0.9 to 0; 0.1 to 1; 0.1 to 2; cursor 0: 0.9 fits in 1 (full); 0.1 to 2; 0.1 to 0 (full).
    assert_eq!(pack(&items, anywhere, 3, Ef, &Rate::ONE).unwrap(), [0, 1, 2, 1, 2, 0]);
}

#[test]
fn allowed_bins_bind_every_heuristic() {
    let items = tenths(&[4, 4, 4, 4]);
    // Items 0 and 1 may use bin 2 only.
    let allowed = |item, bin| item >= 2 || bin == 2;
    for heuristic in Heuristic::ALL {
        match heuristic {
            // The first item moves NF to the last bin, and it cannot go back.
            Nf | Nfd => {
                let error = pack(&items, allowed, 3, heuristic, &Rate::ONE).unwrap_err();
                assert_eq!(error.item, 2);
            }
            Ff | Ffd | Bf | Bfd | Wf | Wfd | Ef | Efd => {
                let bins = pack(&items, allowed, 3, heuristic, &Rate::ONE).unwrap();
                assert_eq!(bins[..2], [2, 2], "{heuristic}");
            }
        }
    }
    let error = pack(&items, |_, _| false, 3, Ff, &Rate::ONE).unwrap_err();
    assert_eq!(error.to_string(), "failed to place item 0 of rate 0.4: it may use no bin");
    let error = pack(&items, |_, bin| bin == 1, 3, Ff, &Rate::ONE).unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed to place item 2 of rate 0.4: bin 1, the only one it may use, has 0.2 left"
    );
}

#[test]
fn nothing_to_pack() {
    for heuristic in Heuristic::ALL {
        assert_eq!(pack(&[], anywhere, 0, heuristic, &Rate::ONE).unwrap(), []);
        assert!(pack(&tenths(&[1]), anywhere, 0, heuristic, &Rate::ONE).is_err());
        assert!(pack_min(&[], 3, heuristic).unwrap().is_empty());
        assert_eq!(pack_over(&[], 2, heuristic), [vec![], vec![]]);
    }
}

/// The search for the smallest K restarts for each K: WF into 2 bins fails, into 3 works.
#[test]
fn pack_min_retries_with_one_more_bin() {
    let items = tenths(&[2, 2, 3, 4, 8]);
    // Sum 1.9, two bins: 2 | 2, 3 to bin 0, 4 to bin 1, and 8 fits nowhere. Three bins: 2 | 2 | 3,
    // 4 to bin 0, 8 to bin 1.
    assert_eq!(pack_min(&items, 1, Wf).unwrap(), [vec![0, 3], vec![1, 4], vec![2]]);
    // In decreasing order 8 | 4, 3 to bin 1, 2 to bin 1, 2 to bin 0.
    assert_eq!(pack_min(&items, 1, Wfd).unwrap(), [vec![4, 1], vec![3, 2, 0]]);
    assert_eq!(pack_min(&items, 4, Ff).unwrap(), [vec![0, 1, 2], vec![3], vec![4]]);
    let error = pack_min(&[Rate::new(11, 10)], 1, Ff).unwrap_err();
    assert_eq!((error.item, error.emptiest.unwrap().free()), (0, Rate::ONE));
}

/// QPS's overpacking: the item that fits no bin goes to the emptiest one, the lowest of equal ones.
#[test]
fn pack_over_exceeds_the_emptiest_bin() {
    let items = tenths(&[7, 6, 6, 5]);
    // FFD: 7 | 6 | 6, then 5 exceeds bin 1, the lower of the two emptiest.
    assert_eq!(pack_over(&items, 3, Ffd), [vec![0], vec![1, 3], vec![2]]);
    // NFD: the current bin is the last one.
    assert_eq!(pack_over(&items, 3, Nfd), [vec![0], vec![1, 3], vec![2]]);
}

/// The worked example of the RUN and QPS specification: six tasks on three CPUs; FFD and EFD put
/// five rates of 3/5 into five bins of one item each.
#[test]
fn five_of_three_fifths() {
    let items = vec![Rate::new(3, 5); 5];
    let alone: Vec<Vec<usize>> = (0..5).map(|item| vec![item]).collect();
    for heuristic in Heuristic::ALL {
        assert_eq!(pack_min(&items, 3, heuristic).unwrap(), alone);
    }
}

#[test]
fn speeds_are_capacities() {
    let mut system = system(2, &[(1, 2), (1, 2), (1, 1)]);
    system.platform.speeds[CpuId(1)] = Speed::new(&Rate::whole(2)).unwrap();
    let cpus = |heuristic| partition(&system, heuristic).map(|map| map.as_slice().to_vec());
    assert_eq!(cpus(Ff).unwrap(), [0, 0, 1].map(CpuId));
    // The fast CPU is the emptiest one, even when its load equals that of the slow one.
    assert_eq!(cpus(Wf).unwrap(), [1, 1, 0].map(CpuId));
    // The slow CPU is the fullest one from the start.
    assert_eq!(cpus(Bf).unwrap(), [0, 0, 1].map(CpuId));
    system.platform.speeds[CpuId(0)] = Speed::new(&Rate::new(2, 5)).unwrap();
    let error = partition(&system, Bfd).map(|_| ()).map_err(|error| error.fullest.unwrap().free());
    assert_eq!(error, Ok(()));
}

#[test]
fn ranks_clusters_and_affinities_count() {
    let mut system = system(4, &[(1, 2), (1, 2), (1, 2), (1, 2), (1, 10)]);
    system.platform.clusters =
        vec![CpuSet::first(2), CpuSet::first(4).difference(&CpuSet::first(2))];
    system.tasks[TaskId(0)].cluster = 1;
    system.tasks[TaskId(1)].cluster = 1;
    system.tasks[TaskId(1)].affinity = Some(CpuSet::single(CpuId(3)));
    system.tasks[TaskId(4)].rank = -1;
    let map = partition(&system, Ff).unwrap();
    assert_eq!(map.as_slice(), [2, 3, 0, 1, 0].map(CpuId));
    // Constrained deadlines increase the density: 1 in 2 of every 10.
    system.tasks[TaskId(4)].deadline = Duration::from_ms(2);
    let map = partition(&system, Ff).unwrap();
    assert_eq!(map.as_slice(), [2, 3, 0, 1, 0].map(CpuId));
    // Now task 4 fills CPU 0, and only one of tasks 2 and 3 fits CPU 1.
    system.tasks[TaskId(4)].deadline = Duration::from_ms(1);
    system.tasks[TaskId(3)].wcet = vec![Service::from_us(1_200)].into();
    let error = partition(&system, Ff).unwrap_err();
    assert_eq!(error.task, TaskId(3));
    assert_eq!(
        error.to_string(),
        "failed to place `3` of density 0.6: of the CPUs it may use (0-1), CPU 1 has the most \
         left: 0.5"
    );
    assert_eq!(error.placed.as_slice()[4], Some(CpuId::from_index(0)));
}

#[test]
fn three_tasks_of_two_thirds_do_not_partition_onto_two_cpus() {
    let system = system(2, &[(2, 3), (2, 3), (2, 3)]);
    assert_eq!(exists_partition(&system, 100), Existence::NoPartition);
}

/// Thirteen tasks of 0.51 on twelve CPUs: without symmetry, there would be 12! ways to fill them.
#[test]
fn identical_cpus_are_tried_once() {
    let twelve = system(12, &[(51, 100); 13]);
    assert_eq!(exists_partition(&twelve, 1_000), Existence::NoPartition);
}

/// Denominators without a small common multiple.
#[test]
fn unrelated_periods_are_searched_exactly() {
    let primes = [999_999_937, 999_999_929, 999_999_893, 999_999_883, 999_999_797, 999_999_761];
    let half = primes.map(|p| (p / 2, p));
    assert!(matches!(exists_partition(&system(3, &half), 1_000), Existence::Partition(_)));
    let above = primes.map(|p| (p / 2 + 1, p));
    assert_eq!(exists_partition(&system(3, &above), 1_000), Existence::NoPartition);
}
