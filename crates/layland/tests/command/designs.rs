//! `layland check --design` and its certificate: the verifier accepts each proof that a budget of a
//! group is the least one, and refuses it once a number is changed.
#![cfg(target_os = "linux")]

use crate::common::skipped;
use crate::process::{folder, name, run};
use layland_testkit::certificates::{NEEDS, has_python};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Groups: the inner policy, the period, and tasks `(C, T, D)` in us.
const GROUPS: [(&str, i64, &[[i64; 3]]); 8] = [
    ("fp", 5_000, &[[1_000, 10_000, 10_000], [3_000, 20_000, 20_000]]),
    ("edf", 5_000, &[[1_000, 10_000, 10_000], [3_000, 20_000, 20_000]]),
    ("fp", 3_000, &[[500, 4_000, 3_500], [700, 9_000, 9_000], [2_000, 30_000, 25_000]]),
    ("edf", 3_000, &[[500, 4_000, 3_500], [700, 9_000, 9_000], [2_000, 30_000, 25_000]]),
    ("edf", 10_000, &[[3_000, 10_000, 24_000]]),
    // A single task uses its budget alone.
    ("fp", 10_000, &[[3_000, 10_000, 10_000]]),
    ("edf", 2_000, &[[3_000, 10_000, 9_000]]),
    ("edf", 7_000, &[[1_000, 3_000, 20_000], [2_000, 9_000, 40_000]]),
];

fn written(file: &Path, (inner, period, tasks): (&str, i64, &[[i64; 3]])) {
    let mut text = format!(
        "layland = 1\n\n[platform]\ncpus = 1\n\n[[group]]\nname = \"g\"\nbudget = \"design\"\nperiod = \"{period}us\"\n\
         inner = \"{inner}\"\n"
    );
    for (at, [wcet, period, deadline]) in tasks.iter().enumerate() {
        text += &format!(
            "\n[[task]]\nname = \"t{at}\"\ngroup = \"g\"\nwcet = \"{wcet}us\"\nperiod = \"{period}us\"\n\
             deadline = \"{deadline}us\"\npriority = {at}\n"
        );
    }
    std::fs::write(file, text).expect("the folder can be written");
}

/// Returns the output of the verifier.
fn verified(set: &Path, certificate: &Path) -> String {
    let verifier =
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/verify_certificate.py"));
    let said = Command::new("python3").arg(verifier).args([name(set), name(certificate)]).output();
    String::from_utf8_lossy(&said.expect("python3 starts").stdout).into_owned()
}

/// Every whole number in a value, by path, that a lie may change.
fn numbers(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(path.to_owned()),
        Value::Array(all) => {
            for (at, one) in all.iter().enumerate() {
                numbers(one, &format!("{path}/{at}"), found);
            }
        }
        Value::Object(all) => {
            all.iter().for_each(|(key, one)| numbers(one, &format!("{path}/{key}"), found));
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

#[test]
fn budgets_are_proven_and_lies_are_not() {
    if !has_python() {
        return skipped(NEEDS);
    }
    let folder = folder("designs");
    let [set, file, lie] = ["set.toml", "design.json", "lie.json"].map(|x| folder.join(x));
    let mut refused = 0;
    for group in GROUPS {
        written(&set, group);
        let made = run(&["check", name(&set), "--design", "group=g", "--certificate", name(&file)]);
        assert!(made.status.success() && !made.stdout.is_empty(), "{group:?}: {made:?}");
        let said = verified(&set, &file);
        assert!(said.trim_end().ends_with(" valid"), "{group:?}: {said}");
        let text = std::fs::read_to_string(&file).expect("it was written");
        let document: Value = serde_json::from_str(&text).expect("it is JSON");
        // A budget of 1 ns less or more contradicts one of the two proofs, or the table.
        let mut places = Vec::new();
        numbers(&document["choice"], "/choice", &mut places);
        // A response that is shorter, or a window that is left out, shows nothing.
        numbers(&document["proof"]["yes"], "/proof/yes", &mut places);
        for place in &places {
            let mut changed = document.clone();
            let number = changed.pointer_mut(place).expect("it is there");
            *number = Value::from(number.as_i64().expect("a whole number") - 1);
            std::fs::write(&lie, changed.to_string()).expect("the folder can be written");
            let said = verified(&set, &lie);
            let is_harmless =
                place.starts_with("/proof/yes/lengths_ns") && said.ends_with(" valid\n");
            assert!(is_harmless || said.contains("NOT VALID"), "{group:?} {place}: {said}");
            refused += u32::from(said.contains("NOT VALID"));
        }
        let both = [("budget_ns", 1), ("budget_ns", -1)];
        for (key, more) in both {
            let mut changed = document.clone();
            for row in ["/choice", "/table/0"] {
                let row = changed.pointer_mut(row).expect("it is there");
                let budget = row[key].as_i64().expect("a whole number") + more;
                row[key] = Value::from(budget);
                row["bandwidth"] = Value::from(fraction(budget, group.1 * 1000));
            }
            std::fs::write(&lie, changed.to_string()).expect("the folder can be written");
            let said = verified(&set, &lie);
            assert!(said.contains("NOT VALID"), "{group:?} {key} {more}: {said}");
            refused += 1;
        }
    }
    assert!(refused > 40, "{refused} lies were refused");
}

fn fraction(numerator: i64, denominator: i64) -> String {
    let (mut a, mut b) = (numerator, denominator);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    match denominator / a {
        1 => (numerator / a).to_string(),
        below => format!("{}/{below}", numerator / a),
    }
}

#[test]
fn several_cpus_and_periods_are_compared() {
    let set = folder("designs-of-many").join("set.toml");
    written(&set, ("edf", 5_000, &[[6_000, 10_000, 10_000], [6_000, 10_000, 10_000]]));
    let ask = |what: &str| run(&["check", name(&set), "--design", what, "--json"]);
    // The tasks need more than a CPU.
    let alone = ask("group=g");
    assert_eq!(alone.status.code(), Some(4), "{alone:?}");
    let found = ask("group=g,periods=1ms+2ms+5ms,cpus=1..3");
    let found: Value = serde_json::from_slice(&found.stdout).expect("it is JSON");
    let rows = found["table"].as_array().expect("a table");
    assert_eq!(rows.len(), 6, "{rows:?}");
    assert!(found["choice"]["cpus"] == 2 || found["choice"]["cpus"] == 3, "{found}");
    assert!(
        found["without"].as_str().is_some_and(|why| why.contains("several servers")),
        "{found}"
    );
    for wrong in ["group=h", "periods=1ms", "group=g,periods=5ms..1ms/1ms", "group=g,cpus=0"] {
        assert_eq!(ask(wrong).status.code(), Some(2), "{wrong}");
    }
}
