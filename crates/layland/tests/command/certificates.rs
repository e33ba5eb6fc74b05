//! The verifier accepts the output of `layland check --certificate` and rejects false certificates:
//! a short form of the campaign `certificates` of the test kit. Every analysis has a certificate,
//! or is in the list of those without.
//!
//! Long because each lie stands beside the set that it is about.
#![cfg(target_os = "linux")]

use crate::common::skipped;
use crate::process::{folder, name, run};
use layland_analysis::{Certify, catalogue};
use layland_testkit::certificates::{Lie, NEEDS, has_python, verify};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const SETS: u64 = 80;

fn of_root(path: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)
}

fn verifier() -> PathBuf {
    of_root("tools/verify_certificate.py")
}

/// Returns the verifier's exit code and output for a set and a certificate.
fn verifier_says(set: &Path, certificate: &Path) -> (Option<i32>, String) {
    let mut command = Command::new("python3");
    let said = command.arg(verifier()).args([name(set), name(certificate)]).output();
    let said = said.expect("python3 starts");
    (said.status.code(), String::from_utf8_lossy(&said.stdout).into_owned())
}

/// Returns the lines of its output about policies, without the set.
fn of_policies(text: &str) -> Vec<&str> {
    let claims = text.lines().filter_map(|line| Some(line.split_once(' ')?.1.trim_start()));
    claims.filter(|line| !line.starts_with("any policy")).collect()
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
    for begins in ["yes PIP-RTA", "yes PCP-RTA", "yes SUSP-", "yes U-RTA-LC-"] {
        assert!(found.valid.keys().any(|test| test.starts_with(begins)), "{begins}: {found:#?}");
    }
    assert!(found.refused.contains_key(&Lie::OtherProtocol), "{:?}", found.refused);
    // With so few sets, a test with slacks may never decide.
    let must = Lie::ALL.into_iter().filter(|lie| *lie != Lie::TooMuchSlack);
    let missing: Vec<Lie> = must.filter(|lie| !found.refused.contains_key(lie)).collect();
    assert!(missing.is_empty(), "not tried: {missing:?}");
}

/// Few drawn sets are decided by each of these tests, which come after those of the slowest CPU.
#[test]
fn each_test_for_different_speeds_has_a_proof() {
    if !has_python() {
        return skipped(NEEDS);
    }
    let folder = folder("certificates-speeds");
    let [set, slow, file] = ["set.toml", "slow.toml", "certificate.json"].map(|x| folder.join(x));
    for (path, [a, b, c]) in [(&set, ["1", "2/3", "1/2"]), (&slow, ["1/2", "1/20", "1/30"])] {
        let mut text = format!(
            "layland = 1\n\n[platform]\ncpus = 3\nspeed = {{ \"0\" = \"{a}\", \"1\" = \"{b}\", \"2\" = \"{c}\" }}\n"
        );
        for (at, (wcet, period)) in [(2, 10), (3, 15), (3, 20), (3, 30)].into_iter().enumerate() {
            text += &format!(
                "\n[[task]]\nname = \"t{at}\"\nperiod = \"{period}ms\"\nwcet = \"{wcet}ms\"\npriority = {at}\n"
            );
        }
        std::fs::write(path, text).expect("the folder can be written");
    }
    for (policy, test) in [
        ("g-edf", "U-GFB"),
        ("g-edf", "U-BCL"),
        ("g-edf", "U-LOAD"),
        ("g-edf", "U-BAR"),
        ("g-rm", "U-RTA-LC-RM"),
        ("g-dm", "U-RTA-LC-DM"),
        ("g-fp", "U-RTA-LC-FP"),
    ] {
        let asked = ["check", name(&set), "-p", policy, "--test", test, "--certificate"];
        let made = run(&[&asked[..], &[name(&file)]].concat());
        assert!(made.status.success() && !made.stdout.is_empty(), "{test}: {made:?}");
        let line = |set: &PathBuf| {
            let text = verifier_says(set, &file).1;
            let found = text.lines().find(|line| line.contains(test)).map(str::to_owned);
            found.unwrap_or_else(|| panic!("{test} decided nothing: {text}"))
        };
        assert!(line(&set).ends_with(" valid"), "{}", line(&set));
        assert!(line(&slow).contains("NOT VALID"), "{}", line(&slow));
    }
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
    // Compare only answers about policies: an answer about all policies may hold for both sets.
    let verify = |set: &PathBuf| -> (Option<i32>, Vec<String>) {
        let (code, text) = verifier_says(set, &file);
        (code, of_policies(&text).into_iter().map(str::to_owned).collect())
    };
    let (code, lines) = verify(&set);
    assert!(code == Some(0) && lines.len() == 3, "{lines:?}");
    assert!(lines.iter().all(|line| line.ends_with(" valid")), "{lines:?}");
    let (code, lines) = verify(&other);
    assert!(code == Some(1) && lines.len() == 3, "{lines:?}");
    assert!(lines.iter().all(|line| line.contains("NOT VALID: task a may not be")), "{lines:?}");
}

/// The guarantees of reclaiming threads depend on which threads lend bandwidth.
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
            ("lend=parallel", "lend=parallel:exhaust=postpone", "does not know exhaust=postpone"),
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

/// A miss occurs only with freely chosen releases. The search of all states finds it at halves of a
/// millisecond, and the search of first arrivals where there are too many states.
#[test]
fn runs_with_arrivals_that_were_searched_for_are_valid() {
    if !has_python() {
        return skipped(NEEDS);
    }
    let folder = folder("certificates-searched");
    let [set, file] = ["set.toml", "certificate.json"].map(|x| folder.join(x));
    let make = |last: &str| {
        let tasks = ["a=2ms/6ms", "b=1ms/2ms", "c=3ms/4ms/3ms", last];
        let tasks = tasks.iter().flat_map(|task| ["-t", task]);
        let made: Vec<&str> =
            ["convert", "--cpus", "2", "-o", name(&set)].into_iter().chain(tasks).collect();
        let made = run(&made);
        assert!(made.status.success(), "{made:?}");
        // A task must not arrive before its offset.
        let text = std::fs::read_to_string(&set).expect("it is written");
        let late = text.replace("[[task]]\n", "[[task]]\noffset = \"100ms\"\n");
        std::fs::write(&set, late).expect("it can be written");
    };
    let verified = || {
        let (_, text) = verifier_says(&set, &file);
        text.lines().find(|line| line.contains("WITNESS")).map(str::to_owned).expect("a line")
    };
    for (last, tick, found_by) in [
        ("d=1ms/7ms/4ms", None, "states"),
        ("d=1ms/7ms/4ms", Some("500us"), "states"),
        ("d=0.999ms/7ms/4ms", None, "phases"),
    ] {
        make(last);
        let mut arguments = vec!["check", name(&set), "-p", "g-rm", "--json"];
        arguments.extend(tick.iter().flat_map(|tick| ["--tick", tick]));
        let json = run(&arguments);
        let said = String::from_utf8_lossy(&json.stdout).into_owned();
        assert!(said.contains(&format!("\"found_by\": \"{found_by}\"")), "{said}");
        arguments.extend(["--certificate", name(&file)]);
        assert_eq!(run(&arguments).status.code(), Some(1));
        assert!(verified().ends_with(" valid"), "{found_by}: {}", verified());
        // A task must not arrive again before its period is over.
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

/// Returns a certificate with only this answer.
fn alone(
    policy: &str,
    verdict: &str,
    test: &str,
    analysed: &[(&str, &[u32], i64, i64)],
    proof: &str,
) -> String {
    let tasks = analysed.iter().map(|(task, cpus, wcet, deadline)| {
        format!(r#"{{"task":"{task}","cpus":{cpus:?},"wcet_ns":{wcet},"deadline_ns":{deadline}}}"#)
    });
    let tasks = tasks.collect::<Vec<_>>().join(",");
    format!(
        r#"{{"layland":"0","certificate":1,"set":"x","answers":[{{"policy":"{policy}","verdict":"{verdict}",
"decided_by":"{test}","analysed":{{"how":"","tasks":[{tasks}]}},"proof":{proof},"without":null}}],"any_policy":[]}}"#
    )
}

/// Returns a set of tasks (name, period, WCET, deadline) in nanoseconds.
fn by_hand(cpus: u32, levels: &str, tasks: &[(&str, i64, &str, i64)]) -> String {
    let mut text = format!("layland = 1\n[platform]\ncpus = {cpus}\n{levels}");
    for (name, period, wcet, deadline) in tasks {
        text += &format!(
            "[[task]]\nname = \"{name}\"\nperiod = \"{period}ns\"\ndeadline = \"{deadline}ns\"\n{wcet}\n"
        );
    }
    text
}

/// A set, a policy, a verdict, the test that allegedly proves it, the tasks in the certificate
/// (name, CPUs, WCET, period), and the proof.
type FalseClaim<'a> =
    (&'a str, &'a str, &'a str, &'a str, &'a [(&'a str, &'a [u32], i64, i64)], String);

/// False claims, each with a plausible proof: `check` gives another answer for each.
#[test]
#[expect(clippy::too_many_lines, reason = "a list of lies")]
fn claims_that_are_false_are_refused_whatever_their_proofs_look_like() {
    if !has_python() {
        return skipped(NEEDS);
    }
    let folder = folder("certificates-false");
    let [set, file] = ["set.toml", "certificate.json"].map(|x| folder.join(x));
    let parts = |evidence: &str, tasks: &str, items: &str| {
        format!(
            r#"{{"kind":"parts","parts":[{{"cpus":[0],"tasks":[{tasks}],"evidence":"{evidence}","items":[{items}]}}]}}"#
        )
    };
    let compared = |cpus: &str, task: &str, value: &str, bound: &str| {
        format!(
            r#"{{"kind":"comparisons","comparisons":[{{"what":"x","cpus":{cpus},"task":{task},"interval_ns":null,"value":{value},"bound":{bound},"holds":true}}]}}"#
        )
    };
    let wcet = |ns: i64| format!("wcet = \"{ns}ns\"");
    let two = by_hand(1, "", &[("a", 10, &wcet(1), 10), ("b", 100, &wcet(50), 100)]);
    let two_of: &[(&str, &[u32], i64, i64)] = &[("a", &[0], 1, 10), ("b", &[0], 50, 100)];
    let three = by_hand(
        2,
        "",
        &[("a", 10, &wcet(1), 10), ("b", 100, &wcet(50), 100), ("c", 100, &wcet(50), 100)],
    );
    let three_of: &[(&str, &[u32], i64, i64)] =
        &[("a", &[0, 1], 1, 10), ("b", &[0, 1], 50, 100), ("c", &[0, 1], 50, 100)];
    let levels = "[criticality]\nlevels = [\"LO\", \"HI\"]\n";
    let low = |ns: i64| format!("criticality = \"LO\"\nwcet = \"{ns}ns\"");
    let mixed = by_hand(1, levels, &[("a", 10, &low(5), 10), ("b", 12, &low(3), 5)]);
    let mixed_of: &[(&str, &[u32], i64, i64)] = &[("a", &[0], 5, 10), ("b", &[0], 3, 5)];
    let responses = r#"{"task":"b","lengths_ns":[3]},{"task":"a","lengths_ns":[8]}"#;
    let levels_of = parts("levels", r#""a","b""#, responses);
    let unpacked = by_hand(
        2,
        "",
        &[("a", 10, &wcet(2), 10), ("b", 10, &wcet(9), 10), ("c", 10, &wcet(2), 10)],
    );
    let unpacked_of: &[(&str, &[u32], i64, i64)] =
        &[("a", &[0], 2, 10), ("b", &[1], 9, 10), ("c", &[0], 2, 10)];
    // These tasks meet their deadlines, but the busy period is too long for a verifier.
    let second = 1_000_000_000;
    let slow = by_hand(
        1,
        "",
        &[
            ("fast", 10 * second, &wcet(5 * second), 10 * second),
            ("slow", 200 * second + 7, &wcet(100 * second + 3), 210 * second),
        ],
    );
    let slow_of: &[(&str, &[u32], i64, i64)] =
        &[("fast", &[0], 5 * second, 10 * second), ("slow", &[0], 100 * second + 3, 210 * second)];
    let drops = "criticality = \"HI\"\nwcet = { LO = \"1ns\", HI = \"6ns\" }";
    let dropped = by_hand(1, levels, &[("a", 10, &low(6), 10), ("b", 10, drops, 10)]);
    let dropped_of: &[(&str, &[u32], i64, i64)] = &[("a", &[0], 6, 10), ("b", &[0], 6, 10)];
    let full = by_hand(1, "", &[("a", 10, &wcet(5), 10), ("b", 10, &wcet(5), 10)]);
    let full_of: &[(&str, &[u32], i64, i64)] = &[("a", &[0], 5, 10), ("b", &[0], 5, 10)];
    let run = |execution: &str| {
        format!(
            r#"{{"kind":"run","jobs":[{{"task":"a","arrival_ns":0,"ready_ns":0,"execution_ns":{execution}}},{{"task":"b","arrival_ns":0,"ready_ns":0,"execution_ns":5}}],"late":{{"task":"b","arrival_ns":0,"deadline_ns":10}}}}"#
        )
    };
    let points = parts("points", r#""a","b""#, "");
    let gfb = compared("[0,1]", "null", r#""11/10""#, r#""3/2""#);
    let lopez = compared("null", "null", r#""13/10""#, r#""3/2""#);
    let late = |value: &str| compared("null", r#""slow""#, value, &format!("\"{}\"", 210 * second));
    // Under first come, first served, a job waits for another of its own priority, regardless of
    // the order in the file.
    let shared = |rank: &str| {
        let of = |ns: i64| format!("wcet = \"{ns}ns\"\npriority = 1\n{rank}");
        by_hand(1, "", &[("a", 10, &of(1), 4), ("b", 20, &of(5), 20)])
    };
    let (shared, ranked) = (shared(""), shared("rank = 1\n"));
    let shared_of: &[(&str, &[u32], i64, i64)] = &[("a", &[0], 1, 4), ("b", &[0], 5, 20)];
    let busy = parts(
        "busy periods",
        r#""a","b""#,
        r#"{"task":"a","lengths_ns":[1]},{"task":"b","lengths_ns":[6]}"#,
    );
    let cases: [FalseClaim<'_>; 21] = [
        (&shared, "p-fp", "yes", "RTA", shared_of, busy.clone()),
        (&two, "p-edf:nonpreemptive=on", "yes", "QPA", two_of, points.clone()),
        (&two, "p-edf:nonpreemptive", "yes", "QPA", two_of, points.clone()),
        (&two, "p-edf:fit=ff:fit=nf", "yes", "QPA", two_of, points.clone()),
        (&unpacked, "p-edf:fit=given", "yes", "QPA", unpacked_of, points.clone()),
        (&two, "p-edf:colour=blue", "yes", "QPA", two_of, points.clone()),
        (&two, "run:packing=0+1", "yes", "OPTIMAL", two_of, points.clone()),
        (&three, "g-edf:nonpreemptive=on", "yes", "GFB", three_of, gfb),
        (&mixed, "smc:order=rm", "yes", "FTP-SMC", mixed_of, levels_of.clone()),
        (&mixed, "smc:order=cm", "yes", "FTP-SMC", mixed_of, levels_of.clone()),
        (&mixed, "amc:order=rm", "yes", "AMC-RT", mixed_of, levels_of.clone()),
        (&mixed, "rms", "yes", "SMC-RM", mixed_of, levels_of),
        (&unpacked, "p-edf:fit=nf", "yes", "LOPEZ", unpacked_of, lopez),
        (&unpacked, "c-edf", "yes", "QPA", unpacked_of, points.clone()),
        (&slow, "p-rm", "no", "RTA-RM", slow_of, late("null")),
        (&slow, "p-rm", "no", "RTA-RM", slow_of, late("\"104976941575000000\"")),
        (
            &dropped,
            "amc",
            "no",
            "CAPACITY",
            dropped_of,
            compared("null", "null", r#""6/5""#, r#""1""#),
        ),
        (&full, "p-edf", "no", "WITNESS", full_of, run("0")),
        (&full, "p-edf", "no", "WITNESS", full_of, run("5")),
        (&full, "p-edf", "no", "WITNESS", full_of, run("6")),
        (&full, "p-edf:tie=running", "no", "WITNESS", full_of, run("5")),
    ];
    for (text, policy, verdict, test, analysed, proof) in cases {
        std::fs::write(&set, text).expect("it can be written");
        std::fs::write(&file, alone(policy, verdict, test, analysed, &proof))
            .expect("it can be written");
        let (code, said) = verifier_says(&set, &file);
        assert_eq!(code, Some(1), "{policy} {verdict} {test}: {said}");
        assert!(
            said.contains("NOT VALID") && said.contains(policy) && said.contains(verdict),
            "{said}"
        );
    }
    // If ranks decide, that claim is true.
    for (text, policy) in [(&ranked, "p-fp"), (&shared, "p-fp:tie=rank")] {
        std::fs::write(&set, text).expect("it can be written");
        std::fs::write(&file, alone(policy, "yes", "RTA", shared_of, &busy))
            .expect("it can be written");
        let (code, said) = verifier_says(&set, &file);
        assert_eq!(code, Some(0), "{policy}: {said}");
    }
    // The claim that no priorities work is false for the same reason.
    std::fs::write(&set, &slow).expect("it can be written");
    let none = compared("null", r#""slow""#, "null", "null");
    let opa = format!(
        r#"{{"certificate":1,"answers":[],"any_policy":[{{"test":"OPA","verdict":"no","proof":{none},"without":null}}]}}"#
    );
    std::fs::write(&file, opa).expect("it can be written");
    let (code, said) = verifier_says(&set, &file);
    assert!(code == Some(1) && said.contains("NOT VALID"), "{said}");
}

/// A script that relies on the exit code of the verifier is not misled by files that claim nothing.
#[test]
fn the_exit_code_says_whether_all_that_is_claimed_is_shown() {
    if !has_python() {
        return skipped(NEEDS);
    }
    let folder = folder("certificates-exit");
    let [set, file] = ["set.toml", "certificate.json"].map(|x| folder.join(x));
    let made = ["convert", "-t", "a=1ms/5ms", "-t", "b=2ms/7ms", "--cpus", "1", "-o", name(&set)];
    assert!(run(&made).status.success());
    let checked = run(&["check", name(&set), "-p", "p-edf,llf", "--certificate", name(&file)]);
    assert!(!checked.stdout.is_empty(), "{checked:?}");
    let good = std::fs::read_to_string(&file).expect("it is written");
    let of = |arguments: &[&str]| {
        let mut command = Command::new("python3");
        let said = command.arg(verifier()).args(arguments).output().expect("python3 starts");
        let text = [said.stdout, said.stderr].concat();
        (said.status.code(), String::from_utf8_lossy(&text).into_owned())
    };
    let both = [name(&set), name(&file)];
    let (code, said) = of(&both);
    assert!(code == Some(1) && said.contains("no proof: "), "llf has none: {said}");
    let (code, said) = of(&[both[0], both[1], "p-edf"]);
    assert!(code == Some(0) && said.lines().count() == 1, "{said}");
    assert!(said.starts_with(&format!("{}  p-edf  yes  QPA  valid", both[0])), "{said}");
    assert_eq!(of(&[both[0], both[1], "p-edf", "p-rm"]).0, Some(2), "p-rm is not there");
    let deep = "[".repeat(100_000);
    let with = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        good.replacen(from, to, 1)
    };
    let unreadable = [
        String::new(),
        "{}".to_owned(),
        "[]".to_owned(),
        "null".to_owned(),
        deep,
        r#"{"certificate":1,"answers":[],"any_policy":[]}"#.to_owned(),
        r#"{"certificate":1,"answers":null,"any_policy":[]}"#.to_owned(),
        r#"{"certificate":true,"answers":[],"any_policy":[]}"#.to_owned(),
        with("\"certificate\": 1", "\"certificate\": 1.0"),
        with("\"certificate\": 1", "\"certificate\": 2"),
        with("\"answers\": [", "\"answers\": [7, "),
        with("\"verdict\": \"yes\"", "\"verdict\": \"maybe\""),
        with("\"verdict\": \"yes\"", "\"verdict\": \"no\", \"verdict\": \"yes\""),
        with("\"wcet_ns\": 1000000", "\"wcet_ns\": 1000000.0"),
        with("\"wcet_ns\": 1000000", "\"wcet_ns\": 1e6"),
        with("\"wcet_ns\": 1000000", "\"wcet_ns\": \"1000000\""),
        with("\"wcet_ns\": 1000000", "\"wcet_ns\": -0"),
        with("\"wcet_ns\": 1000000", "\"wcet_ns\": NaN"),
        with("\"wcet_ns\": 1000000", &format!("\"wcet_ns\": 1{}", "0".repeat(5000))),
        with("\"how\": ", "\"who\": "),
    ];
    for text in unreadable {
        std::fs::write(&file, &text).expect("it can be written");
        let (code, said) = of(&both);
        let shown: String = text.chars().take(300).collect();
        assert!(code == Some(2) && said.starts_with("failed to read: "), "{said}: {shown}");
        assert!(!said.contains("Traceback"), "{said}");
    }
    std::fs::write(&file, &good).expect("it can be written");
    let set_text = std::fs::read_to_string(&set).expect("it is written");
    for (from, to) in [
        ("cpus = 1", "cpus = \"0-3\""),
        ("cpus = 1", "cpus = true"),
        ("cpus = 1", "cpus = 1.0"),
        ("cpus = 1", "cpus = 1000000000000"),
        ("cpus = 1", "cpus = 1\nclusters = [\"0-99999999999\"]"),
        ("name = \"a\"", "name = \"a\"\nrank = 1.5"),
        ("name = \"a\"", "name = \"a\"\nrank = true"),
        ("name = \"a\"", "name = \"a\"\nsteps = [1]"),
        ("name = \"a\"", "name = \"a\"\nrelease = 7"),
        ("name = \"a\"", "name = \"b\""),
        ("period = \"5ms\"", "period = \"5 parsecs\""),
        ("period = \"5ms\"", "period = \"0ms\""),
        ("period = \"5ms\"", "period = 5"),
        ("[[task]]", "[task"),
    ] {
        assert!(set_text.contains(from), "{from} in {set_text}");
        std::fs::write(&set, set_text.replacen(from, to, 1)).expect("it can be written");
        let (code, said) = of(&both);
        assert!(code == Some(2) && said.starts_with("failed to read: "), "{to}: {said}");
    }
    assert_eq!(of(&[name(&folder.join("none")), both[1]]).0, Some(2));
    assert_eq!(of(&[both[0]]).0, Some(2));
}

/// An unreadable line does not end the processing of the others.
#[test]
fn a_batch_goes_on_after_a_bad_line() {
    use std::io::Write;
    if !has_python() {
        return skipped(NEEDS);
    }
    let mut command = Command::new("python3");
    command.arg(verifier()).arg("--lines");
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut process = command.spawn().expect("python3 starts");
    let lines: [&[u8]; 7] = [
        b"",
        b"{",
        b"\xff\xfe",
        b"7",
        b"{\"set\":1,\"certificate\":2}",
        b"[[[",
        b"{\"set\":\"\",\"certificate\":null}",
    ];
    let mut input = process.stdin.take().expect("a pipe");
    for line in lines {
        input.write_all(&[line, b"\n"].concat()).expect("it reads");
    }
    drop(input);
    let said = process.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&said.stdout);
    assert_eq!(text.lines().count(), lines.len(), "{text}");
    assert!(text.lines().all(|line| line.contains("false, ")), "{text}");
    assert!(said.status.success());
}

/// The verifier has a list of policies and their options. A proof covers each option, or the
/// verifier rejects it.
#[test]
fn every_option_of_every_policy_is_in_the_list_of_the_verifier() {
    if !has_python() {
        return skipped(NEEDS);
    }
    let script = "import json, verify_certificate as v\n\
                  lists = [v.POLICIES, v.OTHERS, v.DROPPING]\n\
                  print(json.dumps({name: sorted(found) for one in lists for name, found in one.items()}))";
    let mut command = Command::new("python3");
    let said = command
        .args(["-c", script])
        .current_dir(of_root("tools"))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let said = said.output().expect("python3 starts");
    let known: BTreeMap<String, BTreeSet<String>> =
        serde_json::from_slice(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    let registry = layland_policy::Registry::standard();
    let of = |info: &layland_policy::PolicyInfo| {
        let options = info.options.iter().map(|option| option.name.to_string());
        (info.name.to_string(), options.collect())
    };
    let right: BTreeMap<String, BTreeSet<String>> = registry.iter().map(of).collect();
    assert_eq!(known, right);
}

/// Returns the names in the first column of the tables of a section.
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
    for test in catalogue::TESTS.iter() {
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
