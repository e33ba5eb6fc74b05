use super::*;
use crate::experiment::Operand;

const GOOD: &str = r#"
lab = 1
title = "a test"
sets = 2
seed = 3
horizon = "100ms"
[generator]
cpus = 2
periods = "list:10ms,20ms"
[[series]]
name = "g-edf"
policy = "g-edf"
[[series]]
name = "gfb"
test = "GFB"
[[grid]]
name = "load"
tasks = [3, 5]
utilization = ["1.0", "1.5"]
[[figure]]
name = "misses"
grid = "load"
x = "utilization"
y = "miss_ratio"
statistic = "mean"
only = { tasks = 3 }
[[claim]]
name = "few"
text = "Few deadlines are missed"
figures = ["misses"]
left = "g-edf"
is = "at most"
right = [0.5, "g-edf/missed"]
"#;

fn complaint(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    let text = GOOD.replacen(from, to, 1);
    match read("x", "x.toml", text.as_bytes(), &Registry::standard()) {
        Ok(_) => panic!("{to} is wrong"),
        Err(report) => report.plain(),
    }
}

#[test]
fn an_experiment_is_what_its_file_says() {
    let experiment = read("x", "x.toml", GOOD.as_bytes(), &Registry::standard()).unwrap();
    assert_eq!((experiment.sets, experiment.seed, experiment.block), (2, 3, 5));
    assert_eq!(experiment.horizon, Horizon::At(Time::from_ms(100)));
    let cells = experiment.grids[0].cells();
    let values: Vec<String> = cells.iter().map(|cell| cell.values.join(" ")).collect();
    assert_eq!(values, ["3 1.0", "3 1.5", "5 1.0", "5 1.5"]);
    let grid = &experiment.grids[0];
    assert!((0..4).all(|at| grid.cell(at).as_ref() == Some(&cells[at])) && grid.cell(4).is_none());
    let line = "cpus=2 periods=list:10ms,20ms tasks=5 utilization=1.5";
    assert_eq!(cells[3].parameters.line(), line);
    assert_eq!(experiment.figures[0].labels.1, "mean miss ratio");
    assert_eq!(experiment.claims[0].left, Operand { series: 0, metric: None, figure: None });
}

#[test]
fn mistakes_are_found_where_they_are() {
    for (from, to, place, message) in [
        ("sets = 2", "stes = 2", "x.toml:4:1", "unknown key `stes`"),
        ("sets = 2", "sets = 0", "x.toml:4:8", "out of range"),
        ("lab = 1", "lab = 2", "x.toml:2:7", "this version"),
        ("\"100ms\"", "\"100\"", "x.toml:6:11", "unit"),
        ("policy = \"g-edf\"", "policy = \"gg-edf\"", "x.toml:12:10", "did you mean `g-edf`?"),
        ("test = \"GFB\"", "test = \"GFV\"", "x.toml:15:8", "did you mean `GFB`?"),
        ("\"1.5\"]", "1.5]", "x.toml:19:23", "stays exact"),
        ("\"1.5\"]", "\"9\"]", "x.toml:16:1", "and not to 9"),
        ("list:10ms", "lsit:10ms", "x.toml:9:11", "`lsit` periods are not known"),
        ("cpus = 2", "cpu = 2", "x.toml:8:1", "did you mean `cpus`?"),
        ("x = \"utilization\"", "x = \"cpus\"", "x.toml:23:5", "there is no axis `cpus`"),
        ("\"miss_ratio\"", "\"mis_ratio\"", "x.toml:24:5", "did you mean `miss_ratio`?"),
        ("\"mean\"", "\"average\"", "x.toml:25:13", "use mean, median"),
        ("only = { tasks = 3 }", "", "x.toml:20:1", "points differ in `tasks`"),
        ("tasks = 3 }", "tasks = 4 }", "x.toml:26:18", "there is no value `4`"),
        ("[\"misses\"]", "[\"mises\"]", "x.toml:30:12", "did you mean `misses`?"),
        ("left = \"g-edf\"", "left = \"edf\"", "x.toml:31:8", "there is no series `edf`"),
        ("\"at most\"", "\"less\"", "x.toml:32:6", "use below, at most"),
        ("is = \"at most\"", "is = \"like\"", "x.toml:27:1", "`factor`"),
        ("is = \"at most\"", "is = \"like\"\nfactor = 0.5", "x.toml:33:10", "below 1"),
        ("seed = 3", "seed = ", "x.toml:5:8", "not TOML"),
    ] {
        let found = complaint(from, to);
        assert!(found.contains(place) && found.contains(message), "{to}: {found}");
    }
}

#[test]
fn any_bytes_are_read_or_refused() {
    assert!(read("x", "x.toml", b"\xff", &Registry::standard()).is_err());
    for end in (0..GOOD.len()).step_by(7) {
        let _ = read("x", "x.toml", &GOOD.as_bytes()[..end], &Registry::standard());
    }
}
