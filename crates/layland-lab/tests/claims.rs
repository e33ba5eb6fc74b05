//! Claims, their intervals and the report, on results that are made by hand.

use layland_lab::{
    CellRows, Experiment, GridRows, Judged, Judgement, METRICS, Method, Results, Row, judge,
    metric, read, write_paper,
};
use layland_policy::Registry;
use std::path::Path;

const EXPERIMENT: &str = r#"
lab = 1
title = "two <policies>"
source = "A paper"
sets = 10
seed = 1
horizon = "1s"
[generator]
cpus = 1
tasks = 2
[[series]]
name = "a"
policy = "g-edf"
[[series]]
name = "b"
policy = "g-rm"
[[grid]]
name = "load"
utilization = ["0.2", "0.4", "0.6", "0.8"]
[[figure]]
name = "misses"
grid = "load"
x = "utilization"
y = "miss_ratio"
statistic = "mean"
[[erratum]]
source = "Section 2"
text = "It is not so"
commands = ["layland sim demo:dhall"]
[[claim]]
name = "more"
text = "a misses more than b"
source = "Section 1"
figures = ["misses"]
from = 0.8
left = "a"
is = "above"
right = "b"
[[claim]]
name = "often"
text = "often"
figures = ["misses"]
share = 0.5
left = "a"
is = "above"
right = "b"
[[claim]]
name = "flat"
text = "the misses of b are alike"
figures = ["misses"]
left = "b"
is = "flat"
factor = 1.5
[[claim]]
name = "none"
text = "b misses everything"
figures = ["misses"]
ours = true
left = "b"
is = "at least"
right = 1
"#;

fn experiment() -> Experiment {
    read("two", "two.toml", EXPERIMENT.as_bytes(), &Registry::standard())
        .unwrap_or_else(|report| panic!("{}", report.plain()))
}

/// Results with `sets` systems at each point, with these values of each series.
fn results(sets: u64, of: impl Fn(usize, u64, usize) -> f64) -> Results {
    let at = metric("miss_ratio").expect("it is a metric");
    let weight = metric("utilization").expect("it is a metric");
    let cells = (0..4).map(|point: usize| {
        let rows = (0..sets).flat_map(|set| (0..2).map(move |series| (set, series)));
        let rows = rows.map(|(set, series)| {
            let mut values = vec![None; METRICS.len()];
            values[at] = Some(of(point, set, series));
            values[weight] = Some(0.5);
            Row { set, series, values, ..Row::default() }
        });
        let values = vec![["0.2", "0.4", "0.6", "0.8"][point].to_owned()];
        CellRows { values, seed: 7 + point as u64, rows: rows.collect() }
    });
    Results { grids: vec![GridRows { grid: 0, cells: cells.collect() }], units: 1, done: 1 }
}

fn one<'a>(judged: &'a [Judged<'_>], name: &str) -> &'a Judged<'a> {
    judged.iter().find(|judged| judged.claim.name == name).expect("it is judged")
}

/// One set in four misses more under `a`, and all others miss alike: with few sets that decides
/// nothing, although the means differ.
#[test]
fn a_difference_of_few_systems_decides_nothing() {
    let experiment = experiment();
    let rare = |_: usize, set: u64, series: usize| {
        if series == 0 && set.is_multiple_of(4) { 0.75 } else { 0.5 }
    };
    let few = results(8, rare);
    let judged = judge(&experiment, &few);
    let more = one(&judged, "more");
    assert_eq!((more.judgement, more.agree, more.of), (Judgement::Undecided, 1, 1));
    assert_eq!(more.here(), "undecided at 8 sets");
    let sampled = more.sampled.expect("it is sampled");
    assert_eq!((sampled.method, sampled.low, sampled.high), (Method::Bootstrap, 0, 1));
    let decides = sampled.decides.expect("more sets decide");
    assert!((16..=64).contains(&decides), "{decides}");
    let many = results(decides, rare);
    let judged = judge(&experiment, &many);
    let more = one(&judged, "more");
    assert_eq!(more.judgement, Judgement::Holds);
    let (low, high) = more.points[0].interval.expect("it has an interval");
    assert!(0.0 < low && low < more.points[0].gap && more.points[0].gap < high);
    assert!(!more.points[0].is_open());
}

/// Series are compared in pairs: a difference between sets that both series share is not noise.
#[test]
fn systems_are_compared_in_pairs() {
    let experiment = experiment();
    let paired = |_: usize, set: u64, series: usize| {
        set as f64 / 10.0 + if series == 0 { 0.01 } else { 0.0 }
    };
    let results = results(10, paired);
    let judged = judge(&experiment, &results);
    assert_eq!(one(&judged, "more").judgement, Judgement::Holds);
    // Without the pairs the same numbers decide nothing.
    let apart = |point: usize, set: u64, series: usize| {
        if series == 1 { paired(point, set, 1) } else { paired(point, (set * 7 + 3) % 10, 0) }
    };
    let apart = self::results(10, apart);
    let judged = judge(&experiment, &apart);
    assert_eq!(one(&judged, "more").judgement, Judgement::Undecided);
}

/// Three sets at a point are too few to draw from: four points that agree decide nothing, and a
/// claim of one point even less.
#[test]
fn with_few_systems_the_points_are_counted() {
    let experiment = experiment();
    let results = results(3, |_, _, series| if series == 0 { 0.9 } else { 0.1 });
    let judged = judge(&experiment, &results);
    let often = one(&judged, "often");
    let sampled = often.sampled.expect("it is sampled");
    assert_eq!((often.agree, often.of), (4, 4));
    assert_eq!((often.judgement, sampled.method), (Judgement::Undecided, Method::Binomial));
    assert_eq!((sampled.low, sampled.high, sampled.decides), (1, 4, Some(6)));
}

#[test]
fn often_is_a_share_of_the_points_and_flat_compares_each_two() {
    let experiment = experiment();
    // `a` misses more at two of four points.
    let half = |point: usize, set: u64, series: usize| match (series, point) {
        (0, 0 | 1) => 0.2 + set as f64 * 1e-3,
        (0, _) => 0.8 + set as f64 * 1e-3,
        _ => 0.5 + set as f64 * 1e-3,
    };
    let results = results(12, half);
    let judged = judge(&experiment, &results);
    let often = one(&judged, "often");
    assert_eq!((often.judgement, often.agree, often.of), (Judgement::Holds, 2, 4));
    let flat = one(&judged, "flat");
    assert_eq!((flat.judgement, flat.agree, flat.of), (Judgement::Holds, 6, 6));
    let none = one(&judged, "none");
    assert_eq!((none.judgement, none.agree, none.of), (Judgement::Fails, 0, 4));
    let steep = self::results(12, |point, _, series| (point + 1) as f64 * (series + 1) as f64);
    let judged = judge(&experiment, &steep);
    // From 2, 4, 6, 8 only 4 to 6 and 6 to 8 are within a factor of 1.5.
    assert_eq!(one(&judged, "flat").agree, 2);
}

/// Sides that are equal in every system are equal in every draw: the claim that one is larger does
/// not hold.
#[test]
fn what_is_equal_in_every_system_is_not_larger() {
    let experiment = experiment();
    let results = results(10, |_, set, _| set as f64 + 1.0);
    let judged = judge(&experiment, &results);
    let often = one(&judged, "often");
    let sampled = often.sampled.expect("it is sampled");
    assert_eq!((often.judgement, sampled.low, sampled.high), (Judgement::Fails, 0, 0));
    let equal = EXPERIMENT.replace("is = \"above\"", "is = \"equal to\"");
    let experiment = read("two", "two.toml", equal.as_bytes(), &Registry::standard())
        .unwrap_or_else(|report| panic!("{}", report.plain()));
    let judged = judge(&experiment, &results);
    assert_eq!(one(&judged, "often").judgement, Judgement::Holds);
}

/// A claim about every system says how many may be against it where none was.
#[test]
fn none_of_ten_systems_may_still_be_many() {
    let experiment = experiment();
    let results = results(10, |_, _, _| 1.0);
    let judged = judge(&experiment, &results);
    let none = one(&judged, "none");
    assert_eq!((none.judgement, none.agree, none.of), (Judgement::Holds, 4, 4));
    let rest = none.sampled.expect("it is sampled").rest.expect("none is against it");
    assert!((rest - 0.369).abs() < 1e-3, "{rest}");
}

#[test]
fn a_report_has_every_figure_claim_and_erratum() {
    let experiment = experiment();
    let results = results(10, |point, set, series| (point + series) as f64 + set as f64 / 100.0);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("paper");
    let _ = std::fs::remove_dir_all(&folder);
    let written = write_paper(&experiment, &results, None, &folder).expect("it can be written");
    let written: Vec<_> = written.iter().map(|file| file.to_string_lossy()).collect();
    assert_eq!(written, ["two.html", "two.pdf", "two.md"]);
    let html = std::fs::read_to_string(folder.join("two.html")).expect("it is there");
    for part in [
        "<title>two &lt;policies&gt;</title>",
        "layland lab paper two --sets 10 --seed 1 --horizon 1s",
        "layland lab run two --only misses --sets 10 --seed 1 --horizon 1s",
        "<img alt=",
        "a misses more than b (Section 1)",
        "99 %: ",
        "(ours)",
        "Section 2: It is not so",
        "layland sim demo:dhall",
    ] {
        assert!(html.contains(part), "{part} is not in {html}");
    }
    let page = std::fs::read_to_string(folder.join("two.md")).expect("it is there");
    for part in ["](two/misses.svg)", "a misses more than b (Section 1)", "Section 2: It is not so"]
    {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    assert!(folder.join("two/misses.svg").is_file());
    let pdf = std::fs::read(folder.join("two.pdf")).expect("it is there");
    assert!(pdf.starts_with(b"%PDF-") && pdf.len() > 5000);
    let again = Path::new(env!("CARGO_TARGET_TMPDIR")).join("paper-again");
    write_paper(&experiment, &results, None, &again).expect("it can be written");
    assert_eq!(std::fs::read(again.join("two.pdf")).expect("it is there"), pdf);
}
