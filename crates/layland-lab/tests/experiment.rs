//! Runs a small experiment from beginning to end: it checks the results, and that disturbances do
//! not change a byte.
//!
//! Long because each way in which a run can be disturbed is a test.

use layland_lab::{
    Comparison, Experiment, Judgement, Other, Results, Runner, judge, packaged, read, write,
};
use layland_policy::Registry;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

const SMALL: &str = r#"
lab = 1
title = "a small experiment"
sets = 6
seed = 9
horizon = "200ms"
block = 2

[generator]
cpus = 2
tasks = 4
periods = "list:10ms,20ms,40ms"

[[series]]
name = "g-edf"
policy = "g-edf"
[[series]]
name = "p-edf"
policy = "p-edf:fit=ffd"
[[series]]
name = "dl-sp"
policy = "dl-sp:limit=1"
bound = "TANG"
[[series]]
name = "gfb"
test = "GFB"
[[series]]
name = "rta"
test = "RTA-RM"

[[grid]]
name = "load"
utilization = ["1.0", "1.5", "2.0"]
[[grid]]
name = "other"
utilization = ["0.5", "0.75"]
series = ["g-edf", "gfb"]

[[figure]]
name = "accepted"
grid = "load"
x = "utilization"
y = "accepted"
statistic = "mean"
series = ["g-edf", "p-edf", "gfb"]
[[figure]]
name = "misses"
grid = "load"
x = "utilization"
y = "miss_ratio"
statistic = "mean"
series = ["g-edf", "dl-sp"]
log_y = true
[[figure]]
name = "tardiness"
grid = "load"
kind = "distribution"
series = ["g-edf", "dl-sp"]
only = { utilization = "2.0" }
[[figure]]
name = "weighted"
grid = "other"
x = "utilization"
y = "accepted"
statistic = "weighted"
[[figure]]
name = "bound"
grid = "load"
x = "utilization"
y = "tardiness_over_bound"
statistic = "max"
series = "dl-sp"

[[figure]]
name = "tests"
grid = "load"
x = "utilization"
y = "accepted"
statistic = "mean"
series = ["gfb", "rta"]

[[table]]
name = "tardiness"
grid = "load"
columns = ["tardiness:q0.99", "miss_ratio:median"]

[[claim]]
name = "gfb-is-sufficient"
text = "What GFB accepts misses no deadline"
figures = ["accepted", "weighted"]
left = "gfb"
is = "at most"
right = "g-edf"
[[claim]]
name = "bounded"
text = "Theorem 1 holds"
figures = ["bound"]
left = "dl-sp"
is = "at most"
right = 1
[[claim]]
name = "wrong"
text = "Fewer sets are accepted at lower loads"
figures = ["accepted"]
left = "gfb"
is = "rising"
"#;

fn folder(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("the folder can be made");
    path
}

fn small() -> Experiment {
    read("small", "small.toml", SMALL.as_bytes(), &Registry::standard())
        .unwrap_or_else(|report| panic!("{}", report.plain()))
}

/// Runs the experiment on this number of threads.
fn run(experiment: &Experiment, folder: &Path, threads: usize) -> Results {
    let registry = &Registry::standard();
    let runner = Runner {
        experiment,
        registry,
        folder,
        code: None,
        interrupt: None,
        progress: None,
        damaged: None,
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let results = pool.install(|| runner.run(&runner.plan(&[]).unwrap())).unwrap();
    write(experiment, &results, &[], folder).unwrap();
    results
}

/// Every file below a folder.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_owned();
                found.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[track_caller]
fn assert_same(a: &Path, b: &Path) {
    let (a, b) = (files(a), files(b));
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
    for (name, bytes) in &a {
        assert!(*bytes == b[name], "{} differs", name.display());
    }
}

#[test]
fn threads_change_no_byte() {
    let (one, two) = (folder("one-thread"), folder("two-threads"));
    let experiment = small();
    assert_eq!(run(&experiment, &one, 1), run(&experiment, &two, 2));
    assert_same(&one, &two);
    for name in ["results.csv", "results.parquet", "distributions.csv", "figures/misses.svg"] {
        assert!(one.join(name).exists(), "{name}");
    }
    let pdf = std::fs::read(one.join("figures/accepted.pdf")).unwrap();
    assert!(pdf.starts_with(b"%PDF-"));
    let parquet = std::fs::read(one.join("results.parquet")).unwrap();
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
}

#[test]
fn what_is_left_out_is_named() {
    let folder = folder("left-out");
    let results = run(&small(), &folder, 1);
    assert_eq!(results.without_values().len(), 1);
    let claims = std::fs::read_to_string(folder.join("claims.txt")).unwrap();
    assert!(claims.contains("no value of rta, which is left out: "), "{claims}");
    let note = "Left out, without a value: rta.";
    for (figure, has_note) in [("tests", true), ("accepted", false)] {
        let svg = std::fs::read_to_string(folder.join(format!("figures/{figure}.svg"))).unwrap();
        assert_eq!(svg.contains(note), has_note, "{figure}");
    }
}

#[test]
fn an_interrupted_run_goes_on_and_changes_no_byte() {
    let (whole, cut) = (folder("whole"), folder("cut"));
    let experiment = small();
    run(&experiment, &whole, 2);

    let interrupt = AtomicBool::new(false);
    let stop = |progress: layland_lab::Progress| {
        if progress.done >= 3 {
            interrupt.store(true, Ordering::SeqCst);
        }
    };
    let registry = Registry::standard();
    let runner = Runner {
        experiment: &experiment,
        registry: &registry,
        folder: &cut,
        code: None,
        interrupt: Some(&interrupt),
        progress: Some(&stop),
        damaged: None,
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let results = pool.install(|| runner.run(&runner.plan(&[]).unwrap())).unwrap();
    assert!(!results.is_complete() && results.done == 3, "{} of {}", results.done, results.units);
    write(&experiment, &results, &[], &cut).unwrap();
    assert!(judge(&experiment, &results).iter().all(|j| j.judgement == Judgement::Undecided));

    // A truncated shard, the shard of another unit, and the partial file of a killed write.
    let shards: Vec<PathBuf> =
        std::fs::read_dir(cut.join("shards")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let bytes = std::fs::read(&shards[0]).unwrap();
    std::fs::write(&shards[0], &bytes[..bytes.len() / 2]).unwrap();
    std::fs::write(&shards[1], &bytes).unwrap();
    let part = shards[2].with_extension("json.1.part");
    std::fs::write(&part, b"{").unwrap();
    let seen = AtomicBool::new(false);
    let told = |progress: layland_lab::Progress| {
        assert!(progress.resumed == 1);
        seen.store(true, Ordering::SeqCst);
    };
    let runner = Runner { interrupt: None, progress: Some(&told), ..runner };
    assert!(runner.run(&runner.plan(&[]).unwrap()).unwrap().is_complete());
    assert!(seen.load(Ordering::SeqCst));
    // A file that another process may be writing stays; an old partial file is removed.
    assert!(part.exists());
    #[expect(clippy::disallowed_types, reason = "the age of a file is a date")]
    let long_ago = std::time::SystemTime::UNIX_EPOCH;
    std::fs::File::open(&part).unwrap().set_modified(long_ago).unwrap();
    run(&experiment, &cut, 2);
    assert!(!part.exists());
    assert_same(&whole, &cut);
}

#[test]
fn a_damaged_shard_is_reported_and_measured_again() {
    let (whole, harmed) = (folder("sound"), folder("harmed"));
    let experiment = small();
    run(&experiment, &whole, 2);
    run(&experiment, &harmed, 2);
    let registry = Registry::standard();
    let names: Vec<PathBuf> = files(&harmed.join("shards"))
        .into_keys()
        .map(|name| harmed.join("shards").join(name))
        .collect();
    let (mut digits, mut kinds) = (0, 0);
    for (at, shard) in names.iter().cycle().take(60).enumerate() {
        let mut bytes = std::fs::read(shard).unwrap();
        // One digit of the results, of the key or of the hash; a half; an empty file; trailing
        // bytes.
        let place = (at * 7919) % bytes.len();
        match at % 8 {
            0 => bytes.truncate(place),
            1 => bytes.clear(),
            2 => bytes.extend(b" "),
            _ => {
                let is_digit = |at: &usize| bytes[*at].is_ascii_digit();
                let digit = (place..bytes.len()).chain(0..place).find(is_digit).unwrap();
                bytes[digit] = if bytes[digit] == b'9' { b'8' } else { bytes[digit] + 1 };
                digits += 1;
            }
        }
        kinds |= 1 << (at % 8);
        std::fs::write(shard, &bytes).unwrap();
        let reported = std::sync::Mutex::new(Vec::new());
        let damaged = |path: &Path| reported.lock().unwrap().push(path.to_owned());
        let runner = Runner {
            experiment: &experiment,
            registry: &registry,
            folder: &harmed,
            code: None,
            interrupt: None,
            progress: None,
            damaged: Some(&damaged),
        };
        let results = runner.run(&runner.plan(&[]).unwrap()).unwrap();
        write(&experiment, &results, &[], &harmed).unwrap();
        let mut reported = reported.into_inner().unwrap();
        reported.dedup();
        assert_eq!(&reported, std::slice::from_ref(shard), "change {at}");
    }
    assert!(digits > 30 && kinds == 255);
    assert_same(&whole, &harmed);
}

#[test]
fn units_are_counted_before_they_are_listed() {
    let folder = folder("many");
    let registry = Registry::standard();
    for sets in [1_000_000_000, u64::from(u32::MAX), u64::MAX] {
        let experiment = Experiment { sets, ..small() };
        let runner = Runner {
            experiment: &experiment,
            registry: &registry,
            folder: &folder,
            code: None,
            interrupt: None,
            progress: None,
            damaged: None,
        };
        let error = runner.plan(&[]).unwrap_err().to_string();
        assert!(error.contains("units of work, and 250000 are the most"), "{error}");
    }
    // A product of short lists has more points than the file has bytes.
    let values: Vec<String> = (4..204).map(|tasks| tasks.to_string()).collect();
    let list = values.join(", ");
    let axes = format!("name = \"load\"\ntasks = [{list}]\ncpus = [{list}]");
    let long = SMALL.replace("name = \"load\"", &axes);
    assert_ne!(long, SMALL);
    let report = read("many", "many.toml", long.as_bytes(), &registry).unwrap_err();
    assert!(report.plain().contains("points, and 100000 are the most"), "{}", report.plain());
}

#[test]
fn more_sets_keep_those_that_are_there() {
    let folder = folder("more");
    let mut experiment = small();
    experiment.sets = 2;
    let few = run(&experiment, &folder, 1);
    experiment.sets = 4;
    let registry = Registry::standard();
    let runner = Runner {
        experiment: &experiment,
        registry: &registry,
        folder: &folder,
        code: None,
        interrupt: None,
        progress: None,
        damaged: None,
    };
    let more = runner.run(&runner.plan(&[]).unwrap()).unwrap();
    for (few, more) in few.grids.iter().zip(&more.grids) {
        for (few, more) in few.cells.iter().zip(&more.cells) {
            assert_eq!(few.rows[..], more.rows[..few.rows.len()]);
            assert_eq!(few.rows.len() * 2, more.rows.len());
        }
    }
    // An experiment with another seed is another experiment.
    let other = Experiment { seed: experiment.seed + 1, ..experiment.clone() };
    let runner = Runner { experiment: &other, ..runner };
    assert_ne!(runner.run(&runner.plan(&[]).unwrap()).unwrap(), more);
}

#[test]
fn claims_are_judged_and_figures_choose_grids() {
    let folder = folder("claims");
    let experiment = small();
    let results = run(&experiment, &folder, 2);
    let judged = judge(&experiment, &results);
    let judgements: Vec<Judgement> = judged.iter().map(|judged| judged.judgement).collect();
    assert_eq!(judgements, [Judgement::Holds, Judgement::Holds, Judgement::Fails]);
    // Below the hard loads, both series accept all systems.
    assert_eq!((judged[0].agree, judged[0].of, judged[0].even), (1, 1, 4));
    assert!(!judged[2].against.is_empty());
    // A claim that could not have failed is not shown.
    let mut empty = experiment.clone();
    let left = empty.claims[0].left.clone();
    empty.claims[0].comparison = Comparison::AtMost(vec![Other::Series(left)]);
    let judged = &judge(&empty, &results)[0];
    assert_eq!((judged.judgement, judged.of), (Judgement::NotShown, 0));
    assert!(judged.even > 0);

    // The result of `Like` depends on the factor.
    let with = |comparison: &dyn Fn(Vec<Other>) -> Comparison| {
        let mut alike = experiment.clone();
        let Comparison::AtMost(others) = alike.claims[0].comparison.clone() else {
            panic!("it is at most")
        };
        alike.claims[0].comparison = comparison(others);
        let judged = &judge(&alike, &results)[0];
        (judged.judgement, judged.agree, judged.of)
    };
    let strict = with(&|others| Comparison::Like(others, 1.0));
    assert_eq!(strict, with(&Comparison::Equals));
    assert!(0 < strict.1 && strict.1 < strict.2, "{strict:?}");
    let half = vec![Other::Value(0.5)];
    let near = |factor| with(&|_| Comparison::Like(half.clone(), factor)).1;
    // No share of accepted systems is one half, and a share of 1 is twice as much.
    assert_eq!((near(1.0), near(2.0)), (0, strict.1));

    // RTA does not apply to several CPUs: it has no value, and states the reason.
    let rows = || results.cells(0).iter().flat_map(|cell| &cell.rows);
    let of = |name: &str| experiment.series.iter().position(|series| series.name == name);
    assert!(rows().filter(|row| Some(row.series) == of("rta")).all(|row| row.refused.is_some()));
    // A system that P-EDF cannot pack counts as not accepted.
    let refused = |row: &&layland_lab::Row| {
        Some(row.series) == of("p-edf") && row.refused.is_some() && row.values[0] == Some(0.0)
    };
    assert!(rows().any(|row| refused(&row)));

    let registry = Registry::standard();
    let runner = Runner {
        experiment: &experiment,
        registry: &registry,
        folder: &folder,
        code: None,
        interrupt: None,
        progress: None,
        damaged: None,
    };
    let only = runner.plan(&[3]).unwrap();
    assert_eq!((only.grids.as_slice(), only.units()), ([1].as_slice(), 6));
}

/// A series can have its own overheads: a CPU that spends as much time on decisions as on jobs
/// misses deadlines.
#[test]
fn a_series_has_the_overheads_that_it_names() {
    let text = SMALL.replacen(
        "policy = \"p-edf:fit=ffd\"\n",
        "policy = \"p-edf:fit=ffd\"\n[[series]]\nname = \"slow\"\npolicy = \"p-edf:fit=ffd\"\noverhead = { scheduling = \"5ms\" }\n",
        1,
    );
    let experiment =
        read("slow", "slow.toml", text.as_bytes(), &Registry::standard()).expect("it is right");
    let results = run(&experiment, &folder("overheads"), 2);
    let missed = |name: &str| -> f64 {
        let of = experiment.series.iter().position(|series| series.name == name).expect("a series");
        let at = layland_lab::metric("missed").expect("a metric");
        let rows = results.cells(0).iter().flat_map(|cell| &cell.rows);
        rows.filter(|row| row.series == of).filter_map(|row| row.values[at]).sum()
    };
    assert!(missed("slow") > 10.0 * missed("p-edf").max(1.0), "{}", missed("slow"));
    let wrong = text.replacen("scheduling = \"5ms\"", "schedulign = \"5ms\"", 1);
    let Err(report) = read("slow", "slow.toml", wrong.as_bytes(), &Registry::standard()) else {
        panic!("it is wrong");
    };
    assert!(report.plain().contains("did you mean `scheduling`?"), "{}", report.plain());
}

/// Bursts, regions and cache blocks are parameters of a grid like all others.
#[test]
fn grids_vary_bursts_regions_and_caches() {
    let text = r#"
lab = 1
title = "what delays jobs"
sets = 20
seed = 5
horizon = "100ms"

[generator]
cpus = 1
tasks = 5
utilization = "0.7"
periods = "log:5ms..500ms"

[[series]]
name = "plain"
test = "RTA-RM"
[[series]]
name = "regions"
test = "NP-RTA-RM"
[[series]]
name = "ecb-only"
test = "CRPD-ECB-ONLY-RM"
[[series]]
name = "combined"
test = "CRPD-COMBINED-RM"

[[grid]]
name = "bursts"
bursts = ["1", "4"]
burst_distance = ["0"]
series = ["plain"]
[[grid]]
name = "regions"
regions = ["segments:50", "whole"]
series = ["regions"]
[[grid]]
name = "caches"
cache_sets = ["256"]
cache_utilization = ["1", "10"]
series = ["ecb-only", "combined"]

[[figure]]
name = "accepted"
grid = "caches"
x = "cache_utilization"
y = "accepted"
statistic = "mean"
"#;
    let experiment =
        read("delays", "delays.toml", text.as_bytes(), &Registry::standard()).expect("it is right");
    let results = run(&experiment, &folder("delays"), 2);
    let at = layland_lab::metric("accepted").expect("a metric");
    // The number of accepted sets of each series at each point of a grid.
    let accepted = |grid: usize| -> Vec<Vec<f64>> {
        let of_series = |cell: &layland_lab::CellRows, series: usize| {
            let rows = cell.rows.iter().filter(|row| row.series == series);
            rows.filter_map(|row| row.values[at]).sum()
        };
        let series = &experiment.grids[grid].series;
        let of_cell = |cell| series.iter().map(|&series| of_series(cell, series)).collect();
        results.cells(grid).iter().map(of_cell).collect()
    };
    let all = |grid| results.cells(grid).iter().flat_map(|cell| &cell.rows);
    assert!((0..3).flat_map(all).all(|row| row.refused.is_none()));
    for grid in 0..2 {
        let accepted = accepted(grid);
        assert!(accepted[0][0] > accepted[1][0], "{accepted:?}");
    }
    let accepted = accepted(2);
    assert!(accepted.iter().all(|both| both[0] <= both[1]), "{accepted:?}");
    assert!(accepted[0][0] > accepted[1][0] && accepted[1][0] < accepted[1][1], "{accepted:?}");
}

/// Patterns are counted, and a grid that is not pooled keeps every system of an experiment that is
/// pooled.
#[test]
fn a_grid_may_keep_every_system() {
    let text = r#"
lab = 1
title = "patterns"
sets = 6
seed = 3
horizon = "1ms"
block = 3
pooled = true
[generator]
tasks = 6
levels = 2
[[series]]
name = "ija"
test = "FJP-IJA-PAPER"
[[series]]
name = "smc"
test = "FTP-SMC"
[[grid]]
name = "means"
utilization = ["0.4"]
[[grid]]
name = "each"
pooled = false
utilization = ["0.4"]
"#;
    let experiment = read("patterns", "patterns.toml", text.as_bytes(), &Registry::standard())
        .unwrap_or_else(|report| panic!("{}", report.plain()));
    let results = run(&experiment, &folder("patterns"), 1);
    let at = layland_lab::METRICS.iter().position(|metric| metric.name == "pattern_jobs").unwrap();
    let values = |grid: usize, series: usize| -> Vec<Option<f64>> {
        let rows = results.cells(grid).iter().flat_map(|cell| &cell.rows);
        rows.filter(|row| row.series == series).map(|row| row.values[at]).collect()
    };
    let each: Vec<f64> = values(1, 0).into_iter().map(|value| value.expect("it exists")).collect();
    assert_eq!(each.len(), 6);
    assert!(
        each.iter().all(|&jobs| jobs >= 6.0) && each.iter().any(|&jobs| jobs > 6.0),
        "{each:?}"
    );
    let means = [&each[..3], &each[3..]].map(|block| Some(block.iter().sum::<f64>() / 3.0));
    assert_eq!(values(0, 0), means);
    assert_eq!(values(1, 1), [None; 6]);
}

#[test]
fn packaged_experiments_are_right_and_run() {
    for packaged in packaged::ALL {
        let mut experiment = packaged.experiment();
        let is_judged = !experiment.claims.is_empty() && !experiment.figures.is_empty();
        // The runs of engines are measured on real threads only, and shown as tables.
        assert!(is_judged || experiment.engines.is_some(), "{}", packaged.name);
        experiment.sets = 1;
        experiment.horizon = layland_lab::parse_horizon("400ms").unwrap();
        for grid in &mut experiment.grids {
            grid.axes.iter_mut().for_each(|(_, values)| values.truncate(2));
        }
        let folder = folder(packaged.name);
        assert!(run(&experiment, &folder, 2).is_complete(), "{}", packaged.name);
    }
}

/// The names of results also depend on the code of the caller: two builds of it never mix.
#[test]
fn other_code_has_other_units() {
    let folder = folder("other-code");
    let (experiment, registry) = (small(), Registry::standard());
    let names = |code: Option<&str>| {
        let runner = Runner {
            experiment: &experiment,
            registry: &registry,
            folder: &folder,
            code,
            interrupt: None,
            progress: None,
            damaged: None,
        };
        let plan = runner.plan(&[]).unwrap();
        runner.listed(&plan).map(|unit| unit.name).collect::<Vec<_>>()
    };
    assert_eq!(names(Some("one")), names(Some("one")));
    for other in [None, Some("two")] {
        assert!(names(Some("one")).iter().all(|name| !names(other).contains(name)));
    }
    assert_eq!(layland_lab::BUILD.len(), 32, "a checkout is named by its sources");
}
