//! What `layland check --certificate` writes is valid to its verifier, and what is false is not: the campaign
//! `certificates` of the test kit, in short. And every analysis has a certificate, or stands in the list of those
//! without.
#![cfg(target_os = "linux")]

use crate::common::skipped;
use crate::process::{folder, name, run};
use layland_analysis::{Certify, catalogue};
use layland_testkit::certificates::{Lie, NEEDS, has_python, verify};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const SETS: u64 = 80;

fn of_root(path: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)
}

fn verifier() -> PathBuf {
    of_root("tools/verify_certificate.py")
}

/// The verifier's exit code and what it prints of a set and a certificate.
fn verifier_says(set: &Path, certificate: &Path) -> (Option<i32>, String) {
    let mut command = Command::new("python3");
    let said = command.arg(verifier()).args([name(set), name(certificate)]).output();
    let said = said.expect("python3 starts");
    (said.status.code(), String::from_utf8_lossy(&said.stdout).into_owned())
}

#[test]
fn proofs_are_valid_and_lies_are_not() {
    if !has_python() {
        return skipped(NEEDS);
    }
    let program = PathBuf::from(env!("CARGO_BIN_EXE_layland"));
    let found = verify(&program, &verifier(), &folder("certificates"), SETS, 1);
    let found = found.unwrap_or_else(|why| panic!("{why}"));
    assert!(found.proofs() > 1000, "{found:#?}");
    let tests =
        ["yes QPA", "yes RTA-RM", "no RTA-DM", "yes GFB", "yes BCL-DM", "yes AMC-RT", "no WITNESS"];
    assert!(tests.iter().all(|test| found.valid.contains_key(*test)), "{found:#?}");
    for begins in ["yes PIP-RTA", "yes PCP-RTA", "yes SUSP-"] {
        assert!(found.valid.keys().any(|test| test.starts_with(begins)), "{begins}: {found:#?}");
    }
    assert!(found.refused.contains_key(&Lie::OtherProtocol), "{:?}", found.refused);
    assert!(found.refused.len() >= 12, "every kind of lie is tried: {:?}", found.refused);
    assert!(found.refused.contains_key(&Lie::Swapped), "{:?}", found.refused);
}

#[test]
fn a_certificate_of_another_set_is_not_valid() {
    if !has_python() {
        return skipped(NEEDS);
    }
    let folder = folder("certificates-by-hand");
    let [set, other, file] = ["set.toml", "other.toml", "certificate.json"].map(|x| folder.join(x));
    for (path, wcet) in [(&set, "a=1ms/5ms"), (&other, "a=2ms/5ms")] {
        let made = ["convert", "-t", wcet, "-t", "b=2ms/7ms", "--cpus", "1", "-o", name(path)];
        assert!(run(&made).status.success());
    }
    let checked =
        run(&["check", name(&set), "-p", "p-edf,p-rm,g-edf", "--certificate", name(&file)]);
    assert!(checked.status.success() && !checked.stdout.is_empty(), "{checked:?}");
    // Of each policy: what is said of any may hold of both sets.
    let verify = |set: &PathBuf| -> (Option<i32>, Vec<String>) {
        let (code, text) = verifier_says(set, &file);
        let lines = text.lines().filter(|line| !line.starts_with("any policy"));
        (code, lines.map(str::to_owned).collect())
    };
    let (code, lines) = verify(&set);
    assert!(code == Some(0) && lines.len() == 3, "{lines:?}");
    assert!(lines.iter().all(|line| line.ends_with(" valid")), "{lines:?}");
    let (code, lines) = verify(&other);
    assert!(code == Some(1) && lines.len() == 3, "{lines:?}");
    assert!(lines.iter().all(|line| line.contains("NOT VALID: task a may not be")), "{lines:?}");
}

/// What threads that reclaim are promised depends on who lends.
#[test]
fn who_lends_what_is_part_of_the_proof() {
    if !has_python() {
        return skipped(NEEDS);
    }
    let file = folder("certificates-lent").join("certificate.json");
    let set = of_root("cases/tang2021.in/migrating.toml");
    let verified = || verifier_says(&set, &file).1.lines().next().expect("a line").to_owned();
    for policy in ["dl", "dl-sp"] {
        let spec = format!("{policy}:grub=on:umax=19/20:lend=parallel");
        let checked = run(&["check", name(&set), "-p", &spec, "--certificate", name(&file)]);
        assert!(checked.status.success(), "{checked:?}");
        assert!(verified().ends_with(" valid"), "{}", verified());
        let text = std::fs::read_to_string(&file).expect("it is written");
        let lies = [
            ("lend=parallel", "lend=domain", "more is lent"),
            ("lend=parallel", "lend=cpu", "more is lent"),
            ("umax=19/20", "umax=17/20", "more is reserved"),
            ("umax=19/20", "umax=1", "no room for whole nanoseconds"),
            ("lend=parallel", "lend=parallel:arith=kernel", "roundings"),
            ("lend=parallel", "lend=parallel:exhaust=postpone", "beyond their budgets"),
        ];
        for (truth, lie, why) in lies {
            std::fs::write(&file, text.replace(truth, lie)).expect("it can be written");
            assert!(
                verified().contains("NOT VALID") && verified().contains(why),
                "{lie}: {}",
                verified()
            );
        }
    }
}

/// The miss is where releases are chosen freely: at whole milliseconds by a search of all states, at halves by one of
/// first arrivals.
#[test]
fn runs_with_arrivals_that_were_searched_for_are_valid() {
    if !has_python() {
        return skipped(NEEDS);
    }
    let folder = folder("certificates-searched");
    let [set, file] = ["set.toml", "certificate.json"].map(|x| folder.join(x));
    let tasks = ["a=2ms/6ms", "b=1ms/2ms", "c=3ms/4ms/3ms", "d=1ms/7ms/4ms"];
    let tasks = tasks.iter().flat_map(|task| ["-t", task]);
    let made: Vec<&str> =
        ["convert", "--cpus", "2", "-o", name(&set)].into_iter().chain(tasks).collect();
    let made = run(&made);
    assert!(made.status.success(), "{made:?}");
    // No task comes before its offset either.
    let text = std::fs::read_to_string(&set).expect("it is written");
    let late = text.replace("[[task]]\n", "[[task]]\noffset = \"100ms\"\n");
    std::fs::write(&set, late).expect("it can be written");
    let verified = || {
        let (_, text) = verifier_says(&set, &file);
        text.lines().find(|line| line.contains("WITNESS")).map(str::to_owned).expect("a line")
    };
    for (tick, found_by) in [(None, "phases"), (Some("500us"), "states")] {
        let mut arguments = vec!["check", name(&set), "-p", "g-rm", "--json"];
        arguments.extend(tick.iter().flat_map(|tick| ["--tick", tick]));
        let json = run(&arguments);
        let said = String::from_utf8_lossy(&json.stdout).into_owned();
        assert!(said.contains(&format!("\"found_by\": \"{found_by}\"")), "{said}");
        arguments.extend(["--certificate", name(&file)]);
        assert_eq!(run(&arguments).status.code(), Some(1));
        assert!(verified().ends_with(" valid"), "{found_by}: {}", verified());
        // No task comes again before its period is over.
        let text = std::fs::read_to_string(&file).expect("it is written");
        let mut certificate: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let jobs = certificate["answers"][0]["proof"]["jobs"].as_array_mut().expect("a run");
        let of_b: Vec<usize> = (0..jobs.len()).filter(|&at| jobs[at]["task"] == "b").collect();
        let first = jobs[of_b[0]]["arrival_ns"].as_i64().expect("a time");
        for time in ["arrival_ns", "ready_ns"] {
            jobs[of_b[1]][time] = (first + 2_000_000 - 1).into();
        }
        std::fs::write(&file, certificate.to_string()).expect("it can be written");
        assert!(verified().ends_with("NOT VALID: b comes too early or late"), "{}", verified());
    }
}

/// The names in the first column of the tables of a section.
fn names(section: &str) -> BTreeSet<&str> {
    let rows = section.lines().filter_map(|line| line.strip_prefix("| "));
    let first = rows.filter_map(|row| row.split(" | ").next());
    first.filter(|name| *name != "test").flat_map(|names| names.split(", ")).collect()
}

#[test]
fn every_analysis_has_a_certificate_or_is_in_the_list_of_those_without() {
    let text = std::fs::read_to_string(of_root("docs/certificates.md")).expect("it is there");
    let (_, rest) = text.split_once("## Tests with a certificate").expect("a section");
    let (with, without) = rest.split_once("## Tests without").expect("a section");
    let (mut has, mut has_not) = (BTreeSet::new(), BTreeSet::new());
    let mut rows = String::from("| test | why |\n|---|---|\n");
    for test in catalogue::TESTS {
        match test.certify {
            Certify::Reasons | Certify::By(_) => drop(has.insert(test.name)),
            Certify::Without(why) => {
                has_not.insert(test.name);
                rows += &format!("| {} | {why} |\n", test.name);
            }
        }
    }
    assert_eq!(names(with), has);
    assert_eq!(names(without), has_not);
    assert!(without.contains(&rows), "the table of tests without a certificate is\n{rows}");
}
