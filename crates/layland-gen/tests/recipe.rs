//! Recipes: golden bytes, valid systems, documented rules, and errors with advice.
//!
//! Long because each rule of a recipe has a test, and the golden sets are here.

use layland_gen::{
    Affinities, Arrivals, Criticalities, Deadlines, GenError, Offsets, Periods, Recipe, TwoBudgets,
    Utilizations,
};
use layland_model::{
    Behaviour, CpuId, CpuSet, Duration, Index, Rate, RateSum, Separation, Service, System,
};
use proptest::prelude::*;

fn ms(range: std::ops::Range<i64>) -> (Duration, Duration) {
    (Duration::from_ms(range.start), Duration::from_ms(range.end))
}

fn fixed_sum(tasks: usize, total: Rate) -> Utilizations {
    Utilizations::RandFixedSum { tasks, total, min: Rate::ZERO, max: Rate::ONE }
}

/// Class one of Compagnin, Mezzetti, Vardanega (2015): heavy tasks on 16 CPUs.
fn heavy(total: i64, seed: u64) -> Recipe {
    let utilizations = Utilizations::UntilTotal {
        total: Rate::whole(total),
        min: Rate::new(1, 2),
        max: Rate::new(9, 10),
        resolution: 1000,
        tries: 1000,
    };
    let (min, max) = ms(20..200);
    let periods = Periods::Uniform { min, max, granularity: Duration::from_ms(1) };
    Recipe { periods, ..Recipe::new(16, utilizations, seed) }
}

/// The evaluation of Bonifaci et al. (2016): 24 CPUs in two sockets, execution times above 500 us.
fn sockets(tasks: usize, seed: u64) -> Recipe {
    let (min, max) = ms(1..1000);
    Recipe {
        periods: Periods::LogUniform { min, max, granularity: Duration::from_us(1) },
        min_wcet: Service::from_us(500),
        affinities: Affinities::Levels { sockets: 2 },
        feasible: true,
        tries: 1_000_000,
        ..Recipe::new(24, fixed_sum(tasks, Rate::whole(18)), seed)
    }
}

fn lines(system: &System) -> Vec<String> {
    let line = |task: &layland_model::Task| {
        let place = task.affinity.as_ref().map_or(String::new(), |cpus| format!(" on {cpus}"));
        format!("{task} at {}{place}", task.offset)
    };
    system.tasks.values().map(line).collect()
}

/// Bytes that must not change while the rules have the same version.
#[test]
fn golden_sets() {
    let recipe = Recipe {
        offsets: Offsets::Uniform,
        deadlines: Deadlines::Constrained { min: Rate::new(1, 2), max: Rate::ONE },
        affinities: Affinities::Nested,
        ..Recipe::new(4, fixed_sum(6, Rate::new(5, 2)), 2024)
    };
    assert_eq!(lines(&recipe.generate(0).unwrap()), GOLDEN_FIXED_SUM);
    assert_eq!(lines(&heavy(3, 7).generate(1).unwrap()), GOLDEN_HEAVY);
    let bounds = (1..=5).map(|i| (Rate::ZERO, Rate::new(i, 5))).collect();
    let utilizations =
        Utilizations::Convolutional { total: Rate::new(9, 4), bounds, resolution: 1000 };
    let recipe = Recipe::new(4, utilizations, 3);
    assert_eq!(lines(&recipe.generate(0).unwrap()), GOLDEN_LATTICE);
}

const GOLDEN_FIXED_SUM: [&str; 6] = [
    "t1=67.978ms/111ms/89.867ms at 30.327ms on 2",
    "t2=12.061ms/17ms/14.963ms at 92us on 1-3",
    "t3=88.638ms/345ms/298.749ms at 111.193ms on 1",
    "t4=268.685ms/380ms/344.381ms at 272.441ms",
    "t5=53.911ms/587ms/461.696ms at 397.985ms on 2",
    "t6=10.511ms/86ms/63.303ms at 2.759ms on 1",
];
const GOLDEN_HEAVY: [&str; 4] = [
    "t1=92.144ms/104ms at 0ns",
    "t2=143.104ms/172ms at 0ns",
    "t3=106.708ms/148ms at 0ns",
    "t4=107.151ms/191ms at 0ns",
];
const GOLDEN_LATTICE: [&str; 5] = [
    "t1=20.223ms/963ms at 0ns",
    "t2=8.778ms/22ms at 0ns",
    "t3=14.76ms/41ms at 0ns",
    "t4=233.843ms/379ms at 0ns",
    "t5=52.886ms/62ms at 0ns",
];

fn utilizations() -> impl Strategy<Value = Utilizations> {
    let tasks = 1usize..20;
    prop_oneof![
        (tasks.clone(), 1i64..99).prop_map(|(tasks, percent)| Utilizations::UUniFast {
            tasks,
            total: Rate::new(percent, 100)
        }),
        (tasks.clone(), 1i64..40).prop_map(|(tasks, percent)| Utilizations::UUniFastDiscard {
            tasks,
            total: Rate::new(percent * tasks as i64, 100),
            max: Rate::ONE,
            tries: 1_000_000,
        }),
        (tasks.clone(), 0i64..=100)
            .prop_map(|(tasks, percent)| fixed_sum(tasks, Rate::new(percent * tasks as i64, 100))),
        (prop::collection::vec((0i64..30, 30i64..100), 1..10), 0i64..=100).prop_map(
            |(bounds, percent)| {
                let (low, high) = bounds.iter().fold((0, 0), |s, b| (s.0 + b.0, s.1 + b.1));
                Utilizations::Convolutional {
                    total: Rate::new(low + (high - low) * percent / 100, 100),
                    bounds: (bounds.into_iter())
                        .map(|(a, b)| (Rate::new(a, 100), Rate::new(b, 100)))
                        .collect(),
                    resolution: 100,
                }
            }
        ),
        tasks.prop_map(|tasks| Utilizations::Independent {
            tasks,
            min: Rate::new(1, 10),
            max: Rate::new(1, 2)
        }),
        (2i64..16).prop_map(|total| Utilizations::UntilTotal {
            total: Rate::whole(total),
            min: Rate::new(1, 2),
            max: Rate::new(9, 10),
            resolution: 1000,
            tries: 10_000,
        }),
    ]
}

fn periods() -> impl Strategy<Value = Periods> {
    let (min, max) = ms(3..500);
    prop_oneof![
        Just(Periods::Uniform { min, max, granularity: Duration::from_us(7) }),
        Just(Periods::LogUniform { min, max, granularity: Duration::from_ms(5) }),
        Just(Periods::Harmonic { bases: vec![min, max], factor: 2, powers: 5 }),
        Just(Periods::Choice(vec![min, max, Duration::from_ns(12_345_678)])),
    ]
}

fn recipes() -> impl Strategy<Value = Recipe> {
    let factors = (Rate::new(1, 3), Rate::new(6, 7));
    let (low, high) = factors;
    let timing = (
        prop_oneof![
            Just(Deadlines::Implicit),
            Just(Deadlines::Constrained { min: Rate::ZERO, max: high.clone() }),
            Just(Deadlines::Factor { min: low.clone(), max: Rate::new(5, 2) }),
        ],
        prop_oneof![Just(Offsets::Synchronous), Just(Offsets::Uniform)],
        prop_oneof![
            Just(Arrivals::Periodic),
            Just(Arrivals::Uniform { max: low.clone() }),
            Just(Arrivals::Exponential { mean: low, max: Rate::whole(3) }),
        ],
        prop_oneof![
            Just(Duration::from_us(1)),
            Just(Duration::from_ns(1)),
            Just(Duration::from_us(250))
        ],
    );
    let criticalities = prop_oneof![
        Just(None),
        Just(Some(Criticalities::dual(Rate::new(1, 2), Rate::whole(2)))),
        Just(Some(Criticalities {
            levels: ["A", "B", "C"].map(str::to_owned).to_vec(),
            probabilities: vec![Rate::new(1, 3), Rate::ZERO, Rate::new(2, 3)],
            min_factor: Rate::ONE,
            max_factor: high + Rate::ONE,
            capped: true,
        })),
    ];
    let affinities = prop_oneof![
        Just(Affinities::Global),
        Just(Affinities::Clustered { clusters: 3 }),
        Just(Affinities::Partitioned),
        Just(Affinities::RoundRobin),
        Just(Affinities::Levels { sockets: 2 }),
        Just(Affinities::Nested),
    ];
    let few = prop_oneof![Just(Service::ZERO), Just(Service::from_us(100))];
    (utilizations(), periods(), timing, criticalities, affinities, few, any::<u64>()).prop_map(
        |(utilizations, periods, timing, criticalities, affinities, min_wcet, seed)| Recipe {
            periods,
            deadlines: timing.0,
            offsets: timing.1,
            arrivals: timing.2,
            granularity: timing.3,
            criticalities,
            affinities,
            min_wcet,
            ..Recipe::new(5, utilizations, seed)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn every_recipe_makes_valid_systems_again(recipe in recipes(), index in any::<u64>()) {
        let system = match recipe.generate(index) {
            Ok(system) => system,
            // Utilizations of zero have no period that is long enough.
            Err(GenError::Exhausted { .. }) if recipe.min_wcet > Service::ZERO => return Ok(()),
            Err(error) => panic!("{error}"),
        };
        prop_assert_eq!(system.validate(), []);

        let provenance = system.provenance.as_ref().unwrap();
        let version = concat!("layland-gen ", env!("CARGO_PKG_VERSION"));
        prop_assert_eq!(&provenance.generator, version);
        let (again, same_index) = Recipe::from_provenance(provenance).unwrap();
        prop_assert_eq!(same_index, index);
        prop_assert_eq!(&again, &recipe);
        prop_assert_eq!(&again.generate(index).unwrap(), &system);

        let granule = recipe.granularity;
        let whole = |length: Duration| length.ns() % granule.ns() == 0;
        for task in system.tasks.values() {
            prop_assert!(task.wcet.iter().all(|c| whole(c.at_unit_speed())));
            prop_assert!(task.wcet[0] >= recipe.min_wcet);
            let own = task.own_wcet().at_unit_speed();
            prop_assert!(own <= task.deadline || own > task.period);
            if recipe.criticalities.as_ref().is_some_and(|levels| levels.capped) {
                prop_assert!(own <= task.period);
            }
            match &recipe.deadlines {
                Deadlines::Implicit => prop_assert_eq!(task.deadline, task.period),
                Deadlines::Constrained { .. } => prop_assert!(task.deadline <= task.period),
                Deadlines::Factor { max, .. } => {
                    let longest = max * &Rate::whole(task.period.ns());
                    prop_assert!(Rate::whole(task.deadline.ns()) <= longest);
                }
            }
            prop_assert!(task.offset < task.period && whole(task.offset));
            match (&recipe.arrivals, &task.behaviour) {
                (Arrivals::Periodic, Behaviour::Periodic) => {}
                (Arrivals::Uniform { .. }, Behaviour::Sporadic(Separation::Uniform { max })) => {
                    prop_assert!(*max <= task.period && whole(*max));
                }
                (
                    Arrivals::Exponential { .. },
                    Behaviour::Sporadic(Separation::Exponential { mean, max }),
                ) => prop_assert!(whole(*mean) && *max <= 3 * task.period),
                (arrivals, behaviour) => prop_assert!(false, "{arrivals:?} {behaviour:?}"),
            }
        }
    }
}

/// The execution time is the largest whole number of granules with `C / T <= u`. If the periods are
/// multiples of the grid of utilizations, there is no rounding loss.
#[test]
fn heavy_sets_have_their_total_exactly() {
    for index in 0..50 {
        let system = heavy(16, 1).generate(index).unwrap();
        assert_eq!(system.utilization().exact(), Rate::whole(16));
        for task in system.tasks.values() {
            let u = task.utilization();
            assert!(u >= Rate::new(1, 2) && u <= Rate::new(9, 10), "{task}");
            assert!(task.period.ns() % 1_000_000 == 0);
            assert!((20..=200).contains(&(task.period.ns() / 1_000_000)));
        }
    }
}

/// Rounding down to a microsecond loses less than one microsecond per task and period.
#[test]
fn rounding_loses_less_than_a_granule() {
    for index in 0..50 {
        let system = Recipe::new(4, fixed_sum(12, Rate::whole(3)), 9).generate(index).unwrap();
        let lost = 3.0 - system.utilization().to_f64();
        let granules: f64 = system.tasks.values().map(|task| 1e3 / task.period.ns() as f64).sum();
        assert!((-1e-4..=granules).contains(&lost), "{lost}");
    }
}

/// For each of the 2^m sets of CPUs, the tasks that may run nowhere else fit: Hall's condition by
/// brute force, compared with the check that considers only the nested sets.
#[test]
fn feasible_sets_satisfy_hall_for_every_set_of_cpus() {
    for affinities in [
        Affinities::Nested,
        Affinities::Partitioned,
        Affinities::Levels { sockets: 2 },
        Affinities::Clustered { clusters: 2 },
    ] {
        let plain = Recipe { affinities, ..Recipe::new(5, fixed_sum(9, Rate::new(33, 10)), 4) };
        let feasible = Recipe { feasible: true, tries: 100_000, ..plain.clone() };
        let mut infeasible = 0;
        for index in 0..30 {
            assert!(hall_for_all(&feasible.generate(index).unwrap()), "{affinities:?} {index}");
            let system = plain.generate(index).unwrap();
            // The first valid try is accepted, so a plain
            // set that is valid equals the feasible one.
            let same = lines(&system) == lines(&feasible.generate(index).unwrap());
            assert_eq!(hall_for_all(&system), same, "{affinities:?} {index}");
            infeasible += usize::from(!same);
        }
        assert!(infeasible > 0, "{affinities:?}: nothing was tested");
    }
}

/// A task above 1 fits nowhere, regardless of the number of CPUs.
#[test]
fn no_task_of_a_feasible_set_exceeds_one() {
    let utilizations = Utilizations::UUniFast { tasks: 5, total: Rate::new(5, 2) };
    let plain = Recipe::new(4, utilizations, 12);
    let above = |system: &System| system.tasks.values().any(|t| t.utilization() > Rate::ONE);
    assert!((0..30).any(|index| above(&plain.generate(index).unwrap())));
    let feasible = Recipe { feasible: true, ..plain };
    assert!((0..30).all(|index| !above(&feasible.generate(index).unwrap())));
}

fn hall_for_all(system: &System) -> bool {
    let cpus = system.platform.cpu_count();
    let sets = (1u32..1 << cpus).map(|bits| -> CpuSet {
        (0..cpus).filter(|cpu| bits >> cpu & 1 == 1).map(CpuId::from_index).collect()
    });
    let small = system.tasks.values().all(|task| task.utilization() <= Rate::ONE);
    let inside = |set: &CpuSet| {
        let mut sum = RateSum::default();
        for (id, task) in system.tasks.iter() {
            if system.allowed_cpus(id).is_subset(set) {
                sum.add(&task.utilization());
            }
        }
        sum.exact() <= Rate::whole(set.len() as i64)
    };
    small && sets.into_iter().all(|set| inside(&set))
}

#[test]
fn two_sockets() {
    let system = sockets(48, 5).generate(0).unwrap();
    assert_eq!(system.validate(), []);
    let socket: [CpuSet; 2] = ["0-11", "12-23"].map(|text| text.parse().unwrap());
    let mut levels = [0; 3];
    for (id, task) in system.tasks.iter() {
        let allowed = system.allowed_cpus(id);
        match allowed.len() {
            24 => levels[0] += 1,
            12 => {
                assert!(socket.contains(&allowed));
                levels[1] += 1;
            }
            n => {
                assert_eq!(n, 1);
                levels[2] += 1;
            }
        }
        assert!(task.wcet[0] >= Service::from_us(500));
        assert!(task.period >= Duration::from_ms(1) && task.period <= Duration::from_secs(1));
    }
    assert!(levels.iter().all(|&count| count >= 4), "{levels:?}");
}

#[test]
fn clusters_cover_the_cpus() {
    let recipe = Recipe {
        affinities: Affinities::Clustered { clusters: 3 },
        ..Recipe::new(8, fixed_sum(30, Rate::whole(4)), 6)
    };
    let system = recipe.generate(0).unwrap();
    let clusters: Vec<String> = system.platform.clusters.iter().map(CpuSet::to_string).collect();
    assert_eq!(clusters, ["0-1", "2-4", "5-7"]);
    assert!((0..3).all(|c| system.tasks.values().any(|task| task.cluster == c)));
}

/// Half of the tasks are HI with twice the execution time; others keep theirs at every level.
#[test]
fn two_budgets() {
    let utilizations = Utilizations::UUniFast { tasks: 6, total: Rate::new(3, 5) };
    let keeps = TwoBudgets { lowest_grows: false, ..TwoBudgets::new(3, Rate::new(3, 2)) };
    for (two_budgets, grows) in [(TwoBudgets::new(3, Rate::new(3, 2)), true), (keeps, false)] {
        let recipe =
            Recipe { two_budgets: Some(two_budgets), ..Recipe::new(1, utilizations.clone(), 5) };
        let plain = Recipe { two_budgets: None, ..recipe.clone() }.generate(2).unwrap();
        let system = recipe.generate(2).unwrap();
        let (again, index) = Recipe::from_provenance(system.provenance.as_ref().unwrap()).unwrap();
        assert_eq!((again, index), (recipe, 2));
        for ((at, task), plain) in system.tasks.values().enumerate().zip(plain.tasks.values()) {
            let (level, below) = (at % 3, plain.wcet[0].ns() / 1_000);
            let own = if level > 0 || grows { (3 * below + 1) / 2 } else { below };
            let us: Vec<i64> = task.wcet.iter().map(|c| c.ns() / 1_000).collect();
            let expected: Vec<i64> = (0..3).map(|l| if l < level { below } else { own }).collect();
            assert_eq!((us, task.period), (expected, plain.period));
        }
    }
    let both = Recipe {
        two_budgets: Some(TwoBudgets::new(2, Rate::ONE)),
        criticalities: Some(Criticalities::dual(Rate::new(1, 4), Rate::whole(2))),
        ..Recipe::new(1, utilizations, 5)
    };
    assert!(both.generator().is_err());
}

#[test]
fn dual_criticality() {
    let criticalities = Some(Criticalities::dual(Rate::new(1, 4), Rate::whole(2)));
    let recipe = Recipe { criticalities, ..Recipe::new(4, fixed_sum(20, Rate::whole(2)), 11) };
    let plain = Recipe { criticalities: None, ..recipe.clone() };
    let mut high = 0;
    for index in 0..100 {
        let (system, plain) = (recipe.generate(index).unwrap(), plain.generate(index).unwrap());
        assert_eq!(system.levels.names(), ["LO", "HI"]);
        for (task, other) in system.tasks.values().zip(plain.tasks.values()) {
            // The other streams are unaffected.
            assert_eq!((task.wcet[0], task.period), (other.wcet[0], other.period));
            let level = task.criticality.level() as i64;
            assert_eq!(task.wcet[1], task.wcet[0] * (1 + level));
            high += level;
        }
    }
    // 500 are expected, with a standard deviation of 19; the bound is five of them.
    assert!((403..597).contains(&high), "{high}");
}

#[test]
fn a_set_does_not_depend_on_the_sets_before_it() {
    let generator = heavy(8, 3).generator().unwrap();
    let forward: Vec<_> = (0..5).map(|index| generator.generate(index)).collect();
    let backward: Vec<_> = (0..5).rev().map(|index| generator.generate(index)).collect();
    assert!(forward.iter().eq(backward.iter().rev()));
    assert!(forward.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn errors_say_what_to_do() {
    let error = |recipe: Recipe| recipe.generate(0).unwrap_err().to_string();
    let base = || Recipe::new(4, fixed_sum(4, Rate::ONE), 1);
    let with = |utilizations| Recipe { utilizations, ..base() };
    let half = Rate::new(1, 2);

    assert_eq!(
        error(with(fixed_sum(4, Rate::new(9, 2)))),
        "4 tasks with utilizations within these bounds add up to 0 to 4, and not to 4.5: change the total, the bounds or the number of tasks"
    );
    assert_eq!(
        error(with(Utilizations::UUniFastDiscard {
            tasks: 16,
            total: Rate::whole(14),
            max: Rate::ONE,
            tries: 100
        })),
        "none of 100 tries kept every utilization below its bound: use RandFixedSum, which draws \
         from the same distribution without discarding"
    );
    assert_eq!(
        error(with(Utilizations::Convolutional {
            total: Rate::new(1, 3),
            bounds: vec![(Rate::ZERO, Rate::ONE)],
            resolution: 100
        })),
        "the total utilization 1/3 is not a multiple of 1/100: round it, or use another resolution"
    );
    assert!(matches!(
        with(Utilizations::Convolutional {
            total: Rate::whole(2),
            bounds: vec![(Rate::ZERO, half.clone()); 3],
            resolution: 100
        })
        .generate(0),
        Err(GenError::Infeasible(_))
    ));
    assert!(matches!(
        with(Utilizations::Convolutional {
            total: Rate::whole(100),
            bounds: vec![(Rate::ZERO, Rate::ONE); 200],
            resolution: 100_000
        })
        .generate(0),
        Err(GenError::TooFine { .. })
    ));
    assert_eq!(
        error(with(Utilizations::UntilTotal {
            total: Rate::ONE,
            min: Rate::new(3, 5),
            max: Rate::new(7, 10),
            resolution: 100,
            tries: 10
        })),
        "`total` is 1: no number of tasks in the range has this total: choose another"
    );
    let (min, max) = (Duration::from_us(1_200), Duration::from_us(1_900));
    let granularity = Duration::from_ms(1);
    assert_eq!(
        error(Recipe { periods: Periods::Uniform { min, max, granularity }, ..base() }),
        "no multiple of the granularity 1ms lies between 1.2ms and 1.9ms: widen the range or use a \
         finer granularity"
    );
    assert_eq!(
        error(Recipe { granularity: Duration::from_secs(1), ..base() }),
        "`granularity` is 1s: it must not be longer than the shortest period"
    );
    assert_eq!(
        error(Recipe { min_wcet: Service::from_ms(900), ..base() }),
        "none of 1000 tries had periods long enough for `min_wcet`, where it was to be feasible as \
         well: lower `min_wcet`, raise the longest period, or raise the smallest utilization"
    );
    assert_eq!(
        error(Recipe {
            affinities: Affinities::Partitioned,
            feasible: true,
            ..Recipe::new(2, fixed_sum(2, Rate::new(21, 10)), 1)
        }),
        "2 tasks with utilizations within these bounds add up to 0 to 2, and not to 2.1: change the total, the bounds or the number of tasks"
    );
    assert_eq!(
        error(Recipe { feasible: true, ..Recipe::new(1, fixed_sum(3, Rate::whole(2)), 1) }),
        "none of 1000 tries satisfied Hall's condition: lower the total utilization, widen the \
         affinities, or raise `tries`"
    );
    for wrong in [
        Recipe { cpus: 0, ..base() },
        Recipe { tries: 0, ..base() },
        Recipe { granularity: Duration::ZERO, ..base() },
        Recipe { affinities: Affinities::Clustered { clusters: 5 }, ..base() },
        Recipe { affinities: Affinities::Levels { sockets: 0 }, ..base() },
        Recipe { periods: Periods::Choice(vec![]), ..base() },
        Recipe {
            deadlines: Deadlines::Constrained { min: half.clone(), max: Rate::whole(2) },
            ..base()
        },
        Recipe {
            arrivals: Arrivals::Exponential { mean: Rate::ZERO, max: half.clone() },
            ..base()
        },
        Recipe { criticalities: Some(Criticalities::dual(Rate::whole(2), Rate::ONE)), ..base() },
        Recipe { criticalities: Some(Criticalities::dual(half.clone(), half.clone())), ..base() },
        with(Utilizations::Independent { tasks: 3, min: Rate::ONE, max: half.clone() }),
    ] {
        assert!(matches!(wrong.generate(0), Err(GenError::Parameter { .. })), "{wrong:?}");
    }
}

#[test]
fn a_foreign_or_changed_provenance_is_refused() {
    let recipe = Recipe::new(4, fixed_sum(4, Rate::ONE), 1);
    let change = |name: &str, value: Option<&str>| {
        let mut provenance = recipe.provenance(2);
        match value {
            Some(value) => provenance.parameters.insert(name.into(), value.into()),
            None => provenance.parameters.remove(name),
        };
        Recipe::from_provenance(&provenance).unwrap_err().to_string()
    };
    let help = "take the provenance as the generator wrote it";
    assert_eq!(change("index", None), format!("the provenance has no parameter `index`: {help}"));
    assert_eq!(
        change("cpus", Some("four")),
        format!("the provenance has an invalid value of the parameter `cpus`: {help}")
    );
    assert_eq!(
        change("colour", Some("red")),
        format!("the provenance has an unknown parameter `colour`: {help}")
    );
    assert!(change("rules", Some("2")).contains("other rules"));
    let mut provenance = recipe.provenance(2);
    provenance.generator = "other 1.0".to_owned();
    assert!(Recipe::from_provenance(&provenance).is_err());
}

#[test]
fn a_table_that_would_fill_the_memory_is_refused() {
    let error = layland_gen::RandFixedSum::new(30_001, 30.0, 0.0, 1.0).unwrap_err();
    assert_eq!(error, layland_gen::GenError::TooMany { tasks: 30_001, most: 30_000 });
}
