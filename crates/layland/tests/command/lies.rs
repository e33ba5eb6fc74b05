//! Contradictory input: traces with other deadlines than their set, logs that no engine wrote,
//! infinite files.
//!
//! The test kit tests the checker itself with thousands of cases; these tests ensure that the
//! commands use it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn layland(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_layland"));
    command.args(args).output().expect("the program can be run")
}

fn said(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}

fn written(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a file can be written");
    path.to_str().expect("the name is text").to_owned()
}

/// Two CPUs, utilization 1.795: rate-monotonic scheduling misses deadlines that EDF meets.
const SET: &str = r#"layland = 1
[platform]
cpus = 2
[[task]]
name = "a"
period = "5ms"
wcet = "2ms"
[[task]]
name = "b"
period = "7ms"
wcet = "3ms"
[[task]]
name = "c"
period = "20ms"
wcet = "10ms"
[[task]]
name = "d"
period = "30ms"
wcet = "14ms"
"#;

/// Replaces the number after each occurrence of this key.
fn with_number(text: &str, key: &str, number: &str) -> String {
    let mut parts = text.split(key);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out += key;
        out += number;
        out += part.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    out
}

#[test]
fn a_trace_cannot_excuse_itself_by_other_deadlines() {
    let folder = folder("lies");
    let set = written(&folder, "set.toml", SET);
    let [json, text] = ["true.json", "true.txt"].map(|name| folder.join(name));
    let [json, text] = [&json, &text].map(|path| path.to_str().expect("the name is text"));
    let sim =
        ["sim", &set, "--policy", "g-rm", "--until", "200ms", "-q", "--chart", "none", "-o", json];
    assert_eq!(layland(&sim).status.code(), Some(1), "some deadlines are missed");
    assert_eq!(layland(&["trace", "convert", json, "-o", text]).status.code(), Some(0));
    let far = "1000000000000";
    let lies = [
        with_number(&std::fs::read_to_string(json).unwrap(), "\"deadline\":", far),
        with_number(&std::fs::read_to_string(text).unwrap(), " d=", far),
    ];
    for (name, lie) in ["lie.json", "lie.txt"].into_iter().zip(lies) {
        let lie = written(&folder, name, &lie);
        let (exit, out, _) =
            said(&layland(&["trace", "check", &lie, "--policy", "g-edf", "--set", &set]));
        assert_eq!(exit, 1, "{out}");
        assert!(out.contains("a#1 has the deadline 1000 s, and by the set it is 5 ms"), "{out}");
        assert!(out.contains("5 jobs missed by the set's deadlines"), "{out}");
        let (exit, out, err) = said(&layland(&["trace", "stats", &lie, "--set", &set, "--json"]));
        assert_eq!(exit, 1, "{out}{err}");
        assert!(out.contains("\"missed\": 5"), "{out}");
        assert!(err.contains("the trace contradicts the set"), "{err}");
    }
    // A trace without jobs cannot belong to a set with tasks.
    let empty = r#"{"version":1,"unit":"ns","tasks":["a","b","c","d"],"cpus":2,"over":200000000,
"interrupted":false,"summary":null,"jobs":[],"segments":[],"marks":[],"answers":[]}"#;
    let empty = written(&folder, "empty.json", empty);
    let (exit, out, _) = said(&layland(&["trace", "check", &empty, "--set", &set]));
    assert_eq!(exit, 1, "{out}");
    assert!(
        out.contains("a#1 is missing: by the set it arrives at 0 ns, and so are 39 more"),
        "{out}"
    );
}

#[test]
fn a_trace_without_end_is_refused() {
    let (exit, _, err) = said(&layland(&["trace", "check", "/dev/zero", "--set", "demo:dhall"]));
    assert_eq!(exit, 3, "{err}");
    assert!(
        err.starts_with("error: /dev/zero is larger than 1 GiB, the limit for a trace"),
        "{err}"
    );
}

#[test]
fn a_log_that_no_engine_wrote_is_an_error_at_its_line() {
    let folder = folder("lies");
    let first = serde_json::json!({
        "layland": "run log 2", "policy": "g-edf", "seed": 0, "set": SET, "refusals": []
    });
    let log = |lines: &str| {
        let text = format!("{first}\n{lines}");
        let path = written(&folder, "run.log", &text);
        let (exit, out, err) = said(&layland(&["run", "--replay", &path]));
        (exit, out + &err, text)
    };
    let good = r#"{"at":0,"what":"online","cpu":0}
{"at":0,"what":"online","cpu":1}
{"at":0,"what":"decide","actions":0,"cost_ns":9}
{"at":5,"what":"join","task":0,"request":0}
{"at":5,"what":"release","job":{"task":0,"seq":0},"release":0,"deadline":5000000}
{"at":5,"what":"decide","actions":1,"cost_ns":9}
{"at":5,"what":"run","cpu":0,"job":{"task":0,"seq":0}}
"#;
    let (exit, said, _) = log(good);
    assert_eq!(exit, 0, "{said}");
    for (from, to, at, why) in [
        (
            r#"lease","job":{"task":0"#,
            r#"lease","job":{"task":9"#,
            "release",
            "task 9 is not one of the 4 tasks",
        ),
        (
            r#"lease","job":{"task":0"#,
            r#"lease","job":{"task":1"#,
            "release",
            "task 1 has not entered",
        ),
        (r#""seq":0},"re"#, r#""seq":3},"re"#, "release", "job 3 is released where job 0 is due"),
        ("5000000", "7000000", "release", "job 0 cannot be due at 7ms"),
        (r#""cpu":1}"#, r#""cpu":7}"#, r#""cpu":7}"#, "CPU 7 is not one of the 2 CPUs"),
        (r#""task":0,"re"#, r#""task":8,"re"#, "join", "the set has no task 8"),
    ] {
        let (exit, said, text) = log(&good.replacen(from, to, 1));
        let line =
            2 + text.lines().skip(1).position(|line| line.contains(at)).expect("it is there");
        assert_eq!(exit, 3, "{said}");
        assert!(said.contains(&format!("line {line}: {why}")), "{said}");
    }
}
