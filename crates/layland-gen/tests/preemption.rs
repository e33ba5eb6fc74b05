//! Bursts, non-preemptive regions and cache blocks: golden bytes, the documented rules, the
//! independence of the other parts of a set, and errors.

use layland_gen::{
    Arrivals, Bursts, Caches, Criticalities, Deadlines, Graphs, Offsets, Periods, Recipe, Regions,
    Sections, Shape, Suspensions, TwoBudgets, Utilizations, text,
};
use layland_model::{
    Behaviour, CacheSets, CacheUse, Duration, Preemption, Rate, Service, System, Task,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn recipe(tasks: usize, total: Rate, seed: u64) -> Recipe {
    let (min, max) = (Rate::new(1, 100), Rate::ONE);
    Recipe::new(2, Utilizations::RandFixedSum { tasks, total, min, max }, seed)
}

fn percent(least: i64, most: i64) -> (Rate, Rate) {
    (Rate::new(least, 100), Rate::new(most, 100))
}

fn bursts() -> Bursts {
    Bursts { jobs: (1, 4), distance: percent(10, 30) }
}

fn line(task: &Task) -> String {
    let times = |times: &[String]| times.join(" ");
    let arrivals = match task.bursts() {
        None => "periodic".to_owned(),
        Some(curve) => {
            times(&curve.delta_min().iter().map(Duration::to_string).collect::<Vec<_>>())
        }
    };
    let regions = match &task.preemption {
        Preemption::Anywhere => "none".to_owned(),
        Preemption::Never => "all".to_owned(),
        Preemption::Delayed(region) => region.to_string(),
        Preemption::Between(segments) => {
            times(&segments.iter().map(Service::to_string).collect::<Vec<_>>())
        }
    };
    let CacheUse { ucb, ecb } = task.cache.as_deref().unwrap();
    format!("{task}; {arrivals}; {regions}; {ucb} of {ecb}")
}

#[test]
fn golden_sets() {
    let made = |regions, index| {
        let caches =
            Caches { reuse: percent(0, 30), utilization: Rate::whole(2), ..Caches::new(64) };
        let plain = recipe(3, Rate::new(3, 2), 2024);
        let recipe = Recipe {
            bursts: Some(bursts()),
            regions: Some(regions),
            caches: Some(caches),
            ..plain
        };
        let system = recipe.generate(index).unwrap();
        assert_eq!(system.platform.overheads.block_reload_time, Duration::from_us(8));
        system.tasks.values().map(line).collect::<Vec<_>>()
    };
    let floating = Regions::Floating { share: percent(5, 20) };
    let sets =
        [made(Regions::Segments { count: (1, 3) }, 0), made(floating, 1), made(Regions::Whole, 2)];
    assert_eq!(sets.concat(), GOLDEN);
}

const GOLDEN: [&str; 9] = [
    "t1=26.314ms/111ms; 11.862ms 23.724ms 333ms; 692us 23.667ms 1.955ms;  of 0-9,40-63",
    "t2=9.053ms/17ms; 2.866ms 5.732ms 51ms; 1.302ms 7.751ms; 49 of 49-53",
    "t3=251.979ms/345ms; 66.702ms 133.404ms 1.035s; 251.979ms; 28-44 of 0-63",
    "t1=670.754ms/684ms; 94.485ms 1.368s; 132.043ms;  of 12-15",
    "t2=10.427ms/21ms; periodic; 735us; 0-15,63 of 0-63",
    "t3=342us/15ms; 2.201ms 4.402ms 6.603ms 60ms; 43us;  of 0-4,48-63",
    "t1=2.77ms/16ms; 1.869ms 3.738ms 5.607ms 64ms; all; 60 of 0-63",
    "t2=218.91ms/258ms; 50.478ms 100.956ms 151.434ms 1.032s; all; 28 of 15-30",
    "t3=362.603ms/758ms; 121.955ms 243.91ms 2.274s; all; 6-11 of 0-24,63",
];

fn regions() -> impl Strategy<Value = Regions> {
    prop_oneof![
        (1u32..6, 0u32..5)
            .prop_map(|(least, more)| Regions::Segments { count: (least, least + more) }),
        (0i64..50, 0i64..50)
            .prop_map(|(least, more)| Regions::Floating { share: percent(least, least + more) }),
        Just(Regions::Whole),
    ]
}

fn caches() -> impl Strategy<Value = Caches> {
    (1u32..300, 1i64..2000, 0i64..50, 0i64..50, 0i64..20).prop_map(
        |(sets, utilization, least, more, us)| Caches {
            sets,
            utilization: Rate::new(utilization, 100),
            reuse: percent(least, least + more),
            block_reload_time: Duration::from_us(us),
        },
    )
}

/// Other parts of a recipe with which these can be combined.
fn besides() -> impl Strategy<Value = Recipe> {
    let plain = |seed| Recipe {
        granularity: Duration::from_us(100),
        offsets: Offsets::Uniform,
        deadlines: Deadlines::Factor { min: Rate::new(1, 2), max: Rate::whole(2) },
        ..recipe(5, Rate::whole(2), seed)
    };
    (any::<u64>(), 0..4).prop_map(move |(seed, kind)| {
        let plain = plain(seed);
        match kind {
            0 => plain,
            1 => {
                let criticalities = Criticalities::dual(Rate::new(1, 2), Rate::new(7, 4));
                Recipe { criticalities: Some(criticalities), ..plain }
            }
            2 => Recipe { two_budgets: Some(TwoBudgets::new(3, Rate::new(3, 2))), ..plain },
            _ => {
                let shape = Shape::Gnp { edge: Rate::new(1, 5) };
                Recipe { graphs: Some(Graphs { shape, nodes: (3, 6) }), ..plain }
            }
        }
    })
}

/// Returns the set without the parts that this file tests.
fn stripped(system: &System) -> System {
    let mut system = system.clone();
    system.provenance = None;
    system.platform.overheads.block_reload_time = Duration::ZERO;
    for task in system.tasks.values_mut() {
        task.behaviour = Behaviour::Periodic;
        task.preemption = Preemption::Anywhere;
        task.cache = None;
    }
    system
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn sets_are_valid_and_otherwise_as_without(
        plain in besides(),
        jobs in prop::option::of((1u32..6, 0u32..6)),
        distance in (0i64..60, 0i64..=40),
        regions in prop::option::of(regions()),
        caches in prop::option::of(caches()),
    ) {
        let bursts = jobs.filter(|_| plain.graphs.is_none()).map(|(least, more)| Bursts {
            jobs: (least, least + more),
            distance: percent(distance.0, distance.0 + distance.1),
        });
        let recipe = Recipe { bursts: bursts.clone(), regions, caches: caches.clone(), ..plain.clone() };
        let (system, plain) = (recipe.generate(4).unwrap(), plain.generate(4).unwrap());
        prop_assert_eq!(system.validate(), []);
        let (again, index) = Recipe::from_provenance(system.provenance.as_ref().unwrap()).unwrap();
        prop_assert_eq!((&again, index), (&recipe, 4));
        prop_assert_eq!(&again.generate(4).unwrap(), &system);
        prop_assert_eq!(stripped(&system), stripped(&plain));
        // Bursts do not change utilizations.
        prop_assert_eq!(system.utilization().exact(), plain.utilization().exact());

        for task in system.tasks.values() {
            let wcet = task.own_wcet();
            match (&recipe.regions, &task.preemption) {
                (None, Preemption::Anywhere) | (Some(Regions::Whole), Preemption::Never) => {}
                (Some(Regions::Segments { count }), Preemption::Between(segments)) => {
                    prop_assert!(segments.iter().all(|segment| segment.ns() % 100_000 == 0));
                    let (most, granules) = (i64::from(count.1), wcet.ns() / 100_000);
                    let number = segments.len() as i64;
                    prop_assert!(number >= granules.min(count.0.into()) && number <= granules.min(most));
                }
                (Some(Regions::Floating { share: (min, max) }), Preemption::Delayed(region)) => {
                    let granule = Rate::whole(100_000);
                    let (region, wcet) = (Rate::whole(region.ns()), Rate::whole(wcet.ns()));
                    prop_assert!(region == granule || region <= max * &wcet);
                    prop_assert!(&region + &granule > min * &wcet && region >= granule);
                }
                (regions, preemption) => prop_assert!(false, "{regions:?} {preemption:?}"),
            }
            match (&bursts, task.bursts()) {
                (Some(Bursts { jobs, distance }), Some(curve)) => {
                    let (count, length) = curve.cycle();
                    prop_assert!((u64::from(jobs.0)..=u64::from(jobs.1)).contains(&count));
                    prop_assert_eq!(length, task.period * count as i64);
                    let d = curve.distance(1);
                    prop_assert!((1..count).all(|steps| curve.distance(steps) == d * steps as i64));
                    let (d, period) = (Rate::whole(d.ns()), Rate::whole(task.period.ns()));
                    prop_assert!(d <= &distance.1 * &period);
                    prop_assert!(&d + &Rate::whole(100_000) > &distance.0 * &period);
                }
                (Some(Bursts { jobs, .. }), None) => prop_assert_eq!(jobs.0, 1),
                (None, curve) => prop_assert!(curve.is_none()),
            }
            prop_assert_eq!(task.cache.is_some(), caches.is_some());
        }
        let reload = caches.map_or(Duration::ZERO, |caches| caches.block_reload_time);
        prop_assert_eq!(system.platform.overheads.block_reload_time, reload);
    }

    /// The blocks of a task are consecutive, and their total is the drawn utilization.
    #[test]
    fn cache_blocks_follow_each_other(caches in caches(), tasks in 1usize..12, seed in any::<u64>()) {
        let sets = caches.sets as usize;
        let recipe = Recipe { caches: Some(caches.clone()), ..recipe(tasks, Rate::ONE, seed) };
        let system = recipe.generate(0).unwrap();
        let (mut sum, mut is_full) = (0, false);
        for task in system.tasks.values() {
            let CacheUse { ucb, ecb } = task.cache.as_deref().unwrap();
            prop_assert!(ecb.bound() <= sets && !ecb.is_empty());
            let (least, most) = &caches.reuse;
            let share = |x: &Rate| (x * &Rate::whole(ecb.len() as i64)).floor().unwrap();
            prop_assert!((share(least)..=share(most)).contains(&(ucb.len() as i64)));
            // The evicting sets are consecutive from some set on,
            // and so are the useful ones from one of these on.
            let is_run = |of: &CacheSets, from: usize| {
                (0..of.len()).all(|at| of.contains((from + at) % sets))
            };
            let is_right = |first: usize| {
                let useful = (first..=first + ecb.len() - ucb.len()).any(|from| is_run(ucb, from));
                is_run(ecb, first) && useful
            };
            prop_assert!((0..sets).any(is_right));
            sum += ecb.len();
            is_full |= ecb.len() == sets;
        }
        if !is_full {
            let wanted = &caches.utilization * &Rate::whole(sets as i64);
            let sum = Rate::whole(sum as i64);
            prop_assert!(&sum - &wanted <= Rate::whole(tasks as i64));
            prop_assert!(&wanted - &sum <= Rate::whole(tasks as i64));
        }
    }
}

/// The counts are even over this number of cells, within five standard deviations.
fn assert_even<K: Ord + std::fmt::Debug>(counts: &BTreeMap<K, u32>, cells: usize) {
    assert_eq!(counts.len(), cells, "{counts:?}");
    let total: u32 = counts.values().sum();
    let expected = f64::from(total) / cells as f64;
    let five = 5.0 * f64::sqrt(expected * (1.0 - 1.0 / cells as f64));
    assert!(counts.values().all(|&count| (f64::from(count) - expected).abs() < five), "{counts:?}");
}

/// One task of six granules, with a period of sixty.
fn six() -> Recipe {
    let rate = Rate::new(1, 10);
    let utilizations = Utilizations::Convolutional {
        total: rate.clone(),
        bounds: vec![(rate.clone(), rate)],
        resolution: 10,
    };
    Recipe {
        periods: Periods::Choice(vec![Duration::from_ms(60)]),
        granularity: Duration::from_ms(1),
        ..Recipe::new(1, utilizations, 5)
    }
}

fn counted<K: Ord>(recipe: &Recipe, key: impl Fn(&Task) -> K) -> BTreeMap<K, u32> {
    let generator = recipe.generator().unwrap();
    let mut counts = BTreeMap::new();
    for index in 0..6_000 {
        let system = generator.generate(index).unwrap();
        for task in system.tasks.values() {
            *counts.entry(key(task)).or_insert(0) += 1;
        }
    }
    counts
}

fn segments(task: &Task) -> Vec<i64> {
    let Preemption::Between(segments) = &task.preemption else { panic!("{:?}", task.preemption) };
    segments.iter().map(|segment| segment.ns() / 1_000_000).collect()
}

#[test]
fn all_ways_to_cut_a_job_are_equally_likely() {
    let cut = |count| Recipe { regions: Some(Regions::Segments { count }), ..six() };
    // 1 + 1 + 4, 1 + 2 + 3, ..: two of five positions.
    assert_even(&counted(&cut((3, 3)), segments), 10);
    assert_even(&counted(&cut((2, 5)), |task| segments(task).len()), 4);
    // Six granules are at most six segments.
    assert_eq!(counted(&cut((7, 9)), segments), BTreeMap::from([(vec![1; 6], 6_000)]));
}

#[test]
fn bursts_and_places_in_the_cache_are_uniform() {
    let bursts = Bursts { jobs: (1, 5), distance: (Rate::ZERO, Rate::new(599, 600)) };
    let drawn = Recipe { bursts: Some(bursts), ..six() };
    let jobs = |task: &Task| task.bursts().map_or(1, |curve| curve.cycle().0);
    assert_even(&counted(&drawn, jobs), 5);
    let distance = |task: &Task| task.bursts().map(|curve| curve.distance(1).ns() / 6_000_000);
    let mut distances = counted(&drawn, distance);
    distances.remove(&None);
    assert_even(&distances, 10);
    // Six evicting sets of eight begin at eight positions, and three useful ones of them at four.
    let caches = Caches {
        utilization: Rate::new(3, 4),
        reuse: (Rate::new(1, 2), Rate::new(1, 2)),
        ..Caches::new(8)
    };
    let place = |task: &Task| {
        let CacheUse { ucb, ecb } = task.cache.as_deref().unwrap();
        format!("{ucb} of {ecb}")
    };
    assert_even(&counted(&Recipe { caches: Some(caches), ..six() }, place), 32);
}

/// UUniFast divides the cache utilization: below the
/// whole of two tasks, the first one's part is uniform.
#[test]
fn the_parts_of_a_cache_are_uniform() {
    let caches = Caches { utilization: Rate::ONE, ..Caches::new(100) };
    let recipe = Recipe { caches: Some(caches), ..recipe(2, Rate::ONE, 9) };
    let first = |task: &Task| (task.name == "t1").then(|| task.cache.as_ref().unwrap().ecb.len());
    let mut counts = counted(&recipe, first);
    counts.remove(&None);
    // A task has at least one block, so every part below two blocks gives one.
    let few = counts.remove(&Some(1)).unwrap();
    assert!((60..180).contains(&few), "{few}");
    assert_even(&counts, 98);
}

/// A distance of a whole period and bursts of one job give periodic tasks.
#[test]
fn what_is_no_burst_is_periodic() {
    for (jobs, distance) in [((3, 3), percent(100, 100)), ((1, 1), percent(0, 10))] {
        let recipe = Recipe { bursts: Some(Bursts { jobs, distance }), ..six() };
        let system = recipe.generate(0).unwrap();
        assert!(system.tasks.values().all(|task| task.behaviour == Behaviour::Periodic));
    }
    let at_once = Bursts { jobs: (3, 3), distance: percent(0, 0) };
    let system = Recipe { bursts: Some(at_once), ..six() }.generate(0).unwrap();
    let task = system.tasks.values().next().unwrap();
    let [none, long] = [0, 180].map(Duration::from_ms);
    assert_eq!(task.bursts().unwrap().delta_min(), [none, none, long]);
}

#[test]
fn errors_say_what_to_do() {
    let error = |recipe: Recipe| recipe.generate(0).unwrap_err().to_string();
    let plain = || recipe(2, Rate::ONE, 1);
    let suspensions = || Some(Suspensions { count: (1, 1), share: percent(1, 10) });
    let sections = Sections {
        resources: 1,
        access: Rate::ONE,
        requests: (1, 1),
        length: (Service::from_us(1), Service::from_us(2)),
    };
    let graphs = Graphs { shape: Shape::Gnp { edge: Rate::ONE }, nodes: (2, 2) };
    let with_bursts = |bursts| Recipe { bursts: Some(bursts), ..plain() };
    let with_regions = |regions| Recipe { regions: Some(regions), ..plain() };
    let with_caches = |caches| Recipe { caches: Some(caches), ..plain() };
    let cases = [
        (
            with_bursts(Bursts { jobs: (0, 3), ..bursts() }),
            "`bursts` is 0..3: a burst has 1 to 512 jobs, the smaller number first",
        ),
        (
            with_bursts(Bursts { jobs: (3, 513), ..bursts() }),
            "`bursts` is 3..513: a burst has 1 to 512 jobs, the smaller number first",
        ),
        (
            with_bursts(Bursts { distance: percent(50, 101), ..bursts() }),
            "`burst_distance` is 1/2..101/100: shares of the period are between 0 and 1, and in order",
        ),
        (
            Recipe {
                periods: Periods::Choice(vec![Duration::from_secs(1_000_000_000)]),
                ..with_bursts(bursts())
            },
            "`bursts` is 1..4: this many periods are too long: draw shorter bursts or periods",
        ),
        (
            Recipe { arrivals: Arrivals::Uniform { max: Rate::ONE }, ..with_bursts(bursts()) },
            "`bursts` is given: they say when jobs arrive: leave them or `arrivals` out",
        ),
        (
            Recipe { graphs: Some(graphs), ..with_bursts(bursts()) },
            "`bursts` is given: graphs arrive without bursts: leave these or graphs out",
        ),
        (
            with_regions(Regions::Segments { count: (4, 2) }),
            "`regions` is segments:4..2: a job has 1 to 1000 segments, the smaller number first",
        ),
        (
            with_regions(Regions::Floating { share: percent(10, 200) }),
            "`regions` is floating:1/10..2: shares of the WCET are between 0 and 1, and in order",
        ),
        (
            Recipe { suspensions: suspensions(), ..with_regions(Regions::Whole) },
            "`regions` is given: jobs with steps have none: leave out this, or sections and suspensions",
        ),
        (
            Recipe { sections: Some(sections), ..with_caches(Caches::new(64)) },
            "`cache_sets` is given: jobs with steps have none: leave out this, or sections and suspensions",
        ),
        (with_caches(Caches::new(0)), "`cache_sets` is 0: a cache has 1 to 65536 sets"),
        (
            with_caches(Caches { utilization: Rate::ZERO, ..Caches::new(64) }),
            "`cache_utilization` is 0: blocks over sets are above 0, and at most 1000",
        ),
        (
            with_caches(Caches { reuse: percent(10, 5), ..Caches::new(64) }),
            "`reuse` is 1/10..1/20: shares of the evicting sets are between 0 and 1, and in order",
        ),
        (
            with_caches(Caches { block_reload_time: Duration::from_us(-8), ..Caches::new(64) }),
            "`block_reload` is -8us: it is 0s or longer, and at most about 36 years",
        ),
    ];
    for (recipe, message) in cases {
        assert_eq!(error(recipe), message);
    }
}

#[test]
fn regions_are_read_from_texts() {
    assert_eq!(text::regions("segments:2..5"), Ok(Regions::Segments { count: (2, 5) }));
    assert_eq!(text::regions("segments:3"), Ok(Regions::Segments { count: (3, 3) }));
    assert_eq!(
        text::regions("floating:0.1..0.3"),
        Ok(Regions::Floating { share: percent(10, 30) })
    );
    assert_eq!(text::regions("whole"), Ok(Regions::Whole));
    let known = "regions are not known: use segments:MIN..MAX, floating:MIN..MAX or whole";
    for (wrong, message) in [
        ("segments", "`segments` needs MIN..MAX, as in segments:2..5".to_owned()),
        ("segments:few", "`few` is not MIN..MAX, as in 5..20".to_owned()),
        ("floating", "`floating` needs MIN..MAX, as in floating:0.1..0.3".to_owned()),
        ("whole:1", format!("`whole:1` {known}")),
        ("none", format!("`none` {known}")),
    ] {
        assert_eq!(text::regions(wrong), Err(message), "{wrong}");
    }
    assert!(text::regions("floating:much").is_err());
}
