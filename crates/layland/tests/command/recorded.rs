//! A kernel trace remains one after conversion: the JSON is judged in the same way as the original
//! text.

use crate::process::{folder, name, run};
use serde_json::Value;
use std::fmt::Write;

/// Returns a trace in which `act` runs for 1 ms every 10 ms, sometimes later than its wake-up, and
/// `late` never sleeps and is not a task of the set. Between 200 ms and 201 ms `act` runs a second
/// time.
fn text(lost: bool) -> String {
    let mut text = String::new();
    let mut line = |us: u64, who: &str, event: String| {
        let at = 5_000_000 + us;
        let (seconds, rest) = (at / 1_000_000, at % 1_000_000);
        let _ = writeln!(text, "  {who} [000] d..2. {seconds}.{rest:06}: {event}");
    };
    let switch = |(prev, from, before): (&str, u32, u32),
                  (next, to, after): (&str, u32, u32),
                  state: &str| {
        format!(
            "sched_switch: prev_comm={prev} prev_pid={from} prev_prio={before} prev_state={state} ==> \
             next_comm={next} next_pid={to} next_prio={after}"
        )
    };
    let (act, late) = (("act", 11, 50), ("late", 12, 120));
    let begins: Vec<u64> = (0..40)
        .flat_map(|k| {
            if k == 20 { vec![0, 3_000] } else { vec![0] }
                .into_iter()
                .map(move |more| k * 10_000 + more)
        })
        .collect();
    for (k, begin) in begins.into_iter().enumerate() {
        let delay = if k % 7 == 0 { 400 } else { 20 };
        line(begin, "late-12", "sched_waking: comm=act pid=11 prio=50 target_cpu=000".to_owned());
        line(begin + delay, "late-12", switch(late, act, "R"));
        line(begin + delay + 1_000, "act-11", switch(act, late, "S"));
    }
    if lost {
        text += "CPU:0 [LOST 23 EVENTS]\n";
    }
    text
}

const SET: &str = "layland = 1\n[platform]\ncpus = 1\n[[task]]\nname = \"act\"\nperiod = \"10ms\"\nwcet = \"2ms\"\n\
                   deadline = \"5ms\"\npriority = 1\n";

fn document(arguments: &[&str]) -> (i32, Value) {
    let output = run(arguments);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let document = serde_json::from_str(&text);
    let code = output.status.code().unwrap_or(-1);
    (code, document.unwrap_or_else(|error| panic!("{arguments:?}: {error}: {text}")))
}

/// Removes the name of the file from the document.
fn without_name(mut document: Value) -> Value {
    document["trace"] = Value::Null;
    document
}

#[test]
fn json_of_a_recorded_trace_is_judged_as_its_text() {
    let folder = folder("recorded");
    let [set, kernel, json, again] =
        ["set.toml", "kernel.txt", "kernel.json", "again.json"].map(|file| folder.join(file));
    std::fs::write(&set, SET).unwrap();
    let mut codes = Vec::new();
    for lost in [false, true] {
        std::fs::write(&kernel, text(lost)).unwrap();
        let with_set = ["--set", name(&set)];
        let convert = |from, to| {
            run(&[&["trace", "convert", from, "-o", to][..], &with_set].concat());
        };
        convert(name(&kernel), name(&json));
        convert(name(&json), name(&again));
        assert_eq!(std::fs::read(&json).unwrap(), std::fs::read(&again).unwrap());
        for latency in [&[][..], &["--latency", "100us"], &["--latency", "1ms"]] {
            for policy in [&[][..], &["-p", "p-fp"]] {
                let judged = |file| {
                    let check = ["trace", "check", file, "--json"];
                    document(&[&check[..], &with_set, latency, policy].concat())
                };
                let ((code, of_text), (same, of_json)) =
                    (judged(name(&kernel)), judged(name(&json)));
                assert_eq!((code, without_name(of_text)), (same, without_name(of_json)));
                codes.push(code);
            }
        }
        let figures =
            |file| document(&[&["trace", "stats", file, "--json"][..], &with_set].concat());
        let ((code, of_text), (same, of_json)) = (figures(name(&kernel)), figures(name(&json)));
        assert_eq!((code, &of_text["summary"]), (same, &of_json["summary"]));
        assert_eq!(of_text["source"]["lost_events"], of_json["source"]["lost_events"]);
        assert_eq!(of_json["source"]["dialect"], of_text["source"]["dialect"]);
        assert!(of_text["summary"]["total"]["missed"].is_u64(), "{of_text}");
    }
    codes.sort_unstable();
    codes.dedup();
    assert!(codes.contains(&0) && codes.contains(&1) && codes.contains(&6), "{codes:?}");
}

#[test]
fn figures_of_deadlines_are_null_where_none_is_known() {
    let folder = folder("no-deadlines");
    let [kernel, json] = ["kernel.txt", "kernel.json"].map(|file| folder.join(file));
    std::fs::write(&kernel, text(false)).unwrap();
    run(&["trace", "convert", name(&kernel), "--thread", "^act$", "-o", name(&json)]);
    let of_deadlines = [
        "missed",
        "tardy",
        "max_tardiness_ns",
        "sum_tardiness_ns",
        "overdue_ns",
        "miss_ratio",
        "mean_tardiness_ns",
    ];
    let (_, of_text) = document(&["trace", "stats", name(&kernel), "--thread", "^act$", "--json"]);
    let (_, of_json) = document(&["trace", "stats", name(&json), "--json"]);
    let converted: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    for document in [of_text, of_json, converted] {
        let summary = &document["summary"];
        let tasks = summary["tasks"].as_array().expect("a list");
        assert_eq!(tasks.len(), 1);
        for task in tasks.iter().chain([&summary["total"]]) {
            for figure in of_deadlines {
                assert!(task[figure].is_null(), "{figure}: {task}");
            }
            assert!(task["max_response_ns"].is_u64() && task["released"].is_u64(), "{task}");
        }
    }
}
