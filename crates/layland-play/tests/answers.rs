//! The answers that a page receives: the bytes of the command, the places in the text, and never a
//! panic.

use layland::answers::simulate::Watch;
use layland::answers::{ChartSpan, Set, SimulateQuestion, simulation_report};
use layland_report::playground::{Start, fragment};
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;

fn ask(question: &Value) -> Value {
    serde_json::from_str(&layland_play::answer(&question.to_string())).expect("an answer is JSON")
}

fn ok(question: &Value) -> Value {
    let mut answer = ask(question);
    assert!(answer["error"].is_null(), "{question}: {answer}");
    answer["ok"].take()
}

fn error(question: &Value) -> Value {
    let mut answer = ask(question);
    assert!(answer["ok"].is_null(), "{question}: {answer}");
    answer["error"].take()
}

fn demo(name: &str) -> &'static str {
    layland_config::demo(name).expect("it is bundled").text
}

/// Returns the text from one UTF-16 offset to another.
fn between(text: &str, place: &Value) -> String {
    let at = |key: &str| place[key].as_u64().expect("it is a number") as usize;
    let units: Vec<u16> = text.encode_utf16().collect();
    String::from_utf16(&units[at("from")..at("to")]).expect("places are between characters")
}

#[test]
fn a_value_is_at_its_place_and_comments_do_not_move_it() {
    let set = "layland = 1 # ü 𝄞\n[platform]\ncpus = 2 # two\n[[task]] # à\nname = \"a\"\nwcet = \"1ms\" # short\n\
               period = \"10ms\"\ncount = 2\n[[task]]\nname = \"ß\"\nwcet = '2ms'\nperiod = \"20ms\"\noffset = \"3ms\"\n";
    let found = ok(&json!({ "ask": "inspect", "set": set }));
    let tasks = found["tasks"].as_array().expect("a list");
    assert_eq!(tasks.len(), 3);
    for task in &tasks[..2] {
        assert_eq!(between(set, &task["places"]["wcet"]), "\"1ms\"");
        assert_eq!(between(set, &task["places"]["period"]), "\"10ms\"");
        assert_eq!((&task["count"], &task["places"]["deadline"]), (&json!(2), &Value::Null));
    }
    assert_eq!(between(set, &tasks[2]["places"]["wcet"]), "'2ms'");
    assert_eq!(between(set, &tasks[2]["places"]["offset"]), "\"3ms\"");
    assert_eq!(between(set, &found["header"]["cpus"]), "2");
    assert_eq!(tasks[2]["wcet_ns"], json!([2_000_000]));
}

#[test]
fn every_bundled_set_is_inspected_simulated_and_checked() {
    for demo in layland_config::demos() {
        let inspected = ok(&json!({ "ask": "inspect", "set": demo.text }));
        let rows = inspected["tasks"].as_array().expect("a list");
        for row in rows {
            // The text at this place must have the value of the row.
            let period = between(demo.text, &row["places"]["period"]).replace(['"', '\''], "");
            let period: layland_model::Duration = period.parse().expect("a time");
            assert_eq!(row["period_ns"], period.ns(), "{}", demo.name);
        }
        let policies = ["g-edf", "p-edf"];
        let question =
            json!({ "ask": "sim", "set": demo.text, "policies": policies, "until": "50ms" });
        let simulated = ok(&question);
        let document: Value =
            serde_json::from_str(simulated["json"].as_str().expect("a text")).expect("it is JSON");
        let ran = document["results"].as_array().expect("a list");
        let ran = ran.iter().filter(|result| result["refused"].is_null()).count();
        let report = &simulated["report"];
        assert_eq!(report["packed"].as_array().map(Vec::len), Some(ran), "{}", demo.name);
        assert_eq!(report["panels"].as_array().map(Vec::len), Some(ran));
        let question = json!({
            "ask": "check", "set": demo.text, "policies": ["g-edf"], "margins": false, "effort": 100
        });
        ok(&question);
    }
}

/// A page receives the same verdict as a Rust program, even where no test decides.
#[test]
fn a_page_is_told_what_the_library_says() {
    let registry = layland_policy::Registry::standard();
    let (mut by_runs, mut by_states) = (0, 0);
    for number in 0..60i64 {
        let [a, b, c] = [2, 3, 5].map(|modulus| number % modulus + 1);
        let text = format!(
            "layland = 1\nplatform.cpus = 2\n[[task]]\nname = \"a\"\nwcet = \"{a}ns\"\nperiod = \"4ns\"\n\
             [[task]]\nname = \"b\"\nwcet = \"{b}ns\"\nperiod = \"5ns\"\ndeadline = \"4ns\"\n\
             [[task]]\nname = \"c\"\nwcet = \"{c}ns\"\nperiod = \"6ns\"\n"
        );
        let specs = ["g-edf", "g-rm", "edzl"];
        let found = ok(&json!({ "ask": "check", "set": text, "policies": specs }));
        let document: Value =
            serde_json::from_str(found["json"].as_str().expect("a text")).expect("it is JSON");
        let (format, host) = (layland_config::Format::Toml, layland_config::Host::default());
        let read = layland_config::read("set", text.as_bytes(), format, &host);
        let system = read.expect("it is a set").system;
        let all = document["policies"].as_array().expect("a list");
        for spec in specs {
            let policy = all.iter().find(|policy| policy["policy"] == spec).expect("it was asked");
            let options = layland::prelude::AssessOptions::default();
            let known = layland::prelude::assess(&registry, spec, &system, &options);
            let known = known.expect("it is in the registry");
            assert_eq!(policy["decided_by"], json!(known.decided_by), "{text}");
            assert_eq!(policy["reasons"], json!(known.reasons), "{text}");
            by_runs += u32::from(known.decided_by == Some("WITNESS"));
            by_states += u32::from(known.decided_by == Some("STATES"));
        }
    }
    assert!(by_runs > 3 && by_states > 3, "{by_runs} by runs, {by_states} by states");
}

/// The page and the parts are one report.
#[test]
fn pieces_are_those_of_the_page() {
    let set = demo("dhall");
    let question = json!({ "ask": "sim", "set": set, "policies": ["g-edf"], "name": "demo:dhall" });
    let pieces = ok(&question)["report"].take();
    let system = layland_config::read(
        "a",
        set.as_bytes(),
        layland_config::Format::Toml,
        &Default::default(),
    );
    let set = Set::in_memory("demo:dhall", system.expect("it is valid").system);
    let question = SimulateQuestion::about(vec!["g-edf".to_owned()]);
    let registry = layland_policy::Registry::standard();
    let simulated = question.ask(&registry, set, &Watch::default()).expect("it is simulated");
    let report = simulation_report(&simulated, ChartSpan::default(), &AtomicBool::new(false));
    let page = report.expect("it is simulated again").expect("no interrupt comes").html();
    let packed = pieces["packed"][0].as_str().expect("a text");
    assert!(page.contains(&format!("id=\"run-0\">{packed}</script>")));
    let (_, data) = page.split_once("id=\"data\">").expect("the page has data");
    let data: Value = serde_json::from_str(data.split("</script>").next().unwrap_or_default())
        .expect("it is JSON");
    assert_eq!(data, pieces["data"]);
    assert!(page.contains(pieces["words"][0][0].as_str().expect("a text")));
}

#[test]
fn what_is_wrong_is_at_its_place() {
    let set = "layland = 1\n# ü\nplatfrom = 4\n";
    let found = error(&json!({ "ask": "sim", "set": set, "policies": ["g-edf"] }));
    assert_eq!(found["code"], 3);
    let problem = &found["problems"][0];
    assert_eq!(between(set, problem), "platfrom");
    assert_eq!((&problem["line"], &problem["column"]), (&json!(3), &json!(1)));
    assert!(problem["help"].as_str().is_some_and(|help| help.contains("platform")));
}

#[test]
fn what_cannot_be_answered_is_an_error_and_no_panic() {
    let set = demo("robot");
    for (question, code) in [
        (json!({ "ask": "sing" }), 2),
        (json!({ "ask": "sim" }), 2),
        (json!({ "ask": "sim", "set": set, "policies": ["nonsense"] }), 2),
        (json!({ "ask": "sim", "set": set, "policies": ["g-edf"], "until": "soon" }), 2),
        (json!({ "ask": "sim", "set": set, "policies": ["g-edf", "g-edf"] }), 2),
        (json!({ "ask": "sim", "set": set, "window": "2s..1s" }), 2),
        (json!({ "ask": "check", "set": set, "tests": ["nonsense"] }), 2),
        (json!({ "ask": "explain", "set": set, "policy": "g-edf" }), 2),
        (json!({ "ask": "export", "set": set, "to": "plain" }), 2),
        (json!({ "ask": "sim", "set": set, "window": "60s..61s" }), 2),
        (json!({ "ask": "inspect", "set": "" }), 3),
        (json!({ "ask": "inspect", "set": "\u{0}" }), 3),
        (json!({ "ask": "load", "name": "x.json", "text": "{" }), 3),
        (json!({ "ask": "load", "name": "x", "base64": "!" }), 2),
        (json!({ "ask": "load", "name": "x", "base64": "/w==" }), 3),
    ] {
        let found = error(&question);
        assert_eq!(found["code"], code, "{question}: {found}");
        assert!(found["message"].as_str().is_some_and(|message| !message.is_empty()));
    }
    assert!(layland_play::answer("no JSON").starts_with("{\"error\":"));
}

#[test]
fn a_huge_file_is_refused_at_once() {
    let long = "a".repeat(8_000_001);
    let found = error(&json!({ "ask": "load", "name": "x.csv", "text": long }));
    assert!(found["message"].as_str().is_some_and(|text| text.contains("8 MB at most")), "{found}");
    let many = "layland = 1\n[platform]\ncpus = 1\n[[task]]\nname = \"a\"\ncount = 5001\nwcet = \"1us\"\nperiod = \"1s\"\n";
    for question in [
        json!({ "ask": "inspect", "set": many }),
        json!({ "ask": "load", "name": "x.toml", "text": many }),
        json!({ "ask": "sim", "set": many }),
    ] {
        let found = error(&question);
        assert!(
            found["message"].as_str().is_some_and(|text| text.contains("5000 at most")),
            "{found}"
        );
    }
}

#[test]
fn every_format_comes_back() {
    let set = "layland = 1\n[platform]\ncpus = 2\n[[task]]\nname = \"a\"\nwcet = \"1ms\"\nperiod = \"5ms\"\n\
               [[task]]\nname = \"b\"\nwcet = \"2ms\"\nperiod = \"10ms\"\n";
    let rows = |set: &str| {
        let found = ok(&json!({ "ask": "inspect", "set": set }));
        let rows = found["tasks"].as_array().expect("a list").clone();
        rows.into_iter()
            .map(|row| (row["wcet_ns"].clone(), row["period_ns"].clone()))
            .collect::<Vec<_>>()
    };
    let about = ok(&json!({ "ask": "about" }));
    for format in about["formats"].as_array().expect("a list") {
        // A job set has the jobs of a hyperperiod; its numbers and those of POET have no unit.
        if format["writes"] == false || format["name"] == "sag" || format["name"] == "poet" {
            continue;
        }
        let written = ok(&json!({ "ask": "export", "set": set, "to": format["name"] }));
        let name = format!("x.{}", written["extension"].as_str().expect("a text"));
        let file = json!({ "ask": "load", "text": written["text"], "name": name, "from": format["name"], "cpus": 2 });
        let back = ok(&file);
        assert_eq!(back["format"], format["name"]);
        assert_eq!(rows(back["toml"].as_str().expect("a text")), rows(set), "{format}");
    }
}

#[test]
fn a_set_that_a_format_cannot_have_is_an_error_with_a_way_out() {
    let tasks: String = (0..100)
        .map(|k| {
            format!("[[task]]\nname = \"t{k}\"\nwcet = \"1us\"\nperiod = \"5ms\"\npriority = {k}\n")
        })
        .collect();
    let set = format!("layland = 1\n[platform]\ncpus = 2\n{tasks}");
    let found = error(&json!({ "ask": "export", "set": set, "to": "rt-app" }));
    assert_eq!(found["message"], "the set needs 100 priorities, and SCHED_FIFO has 99");
    assert!(found["help"].as_str().is_some_and(|help| help.contains("tie = \"fifo\"")), "{found}");
    assert_eq!(found["code"], 3);
}

#[test]
fn a_page_knows_policies_and_sets() {
    let about = ok(&json!({ "ask": "about" }));
    let policies = about["policies"].as_array().expect("a list");
    assert_eq!(policies.len(), layland_policy::Registry::standard().iter().count());
    assert!(policies.iter().all(|policy| policy["title"].is_string()));
    assert_eq!(about["demos"].as_array().map(Vec::len), Some(layland_config::demos().len()));
    assert_eq!(about["columns"][0], "arrival");
    assert!(about["schema"]["properties"]["task"].is_object());
}

#[test]
fn structures_are_trees() {
    let set = demo("virtual-clusters");
    for policy in ["run", "qps"] {
        let found = ok(&json!({ "ask": "explain", "set": set, "policy": policy }));
        let trees = found["trees"]["trees"].as_array().expect("a list");
        assert!(!trees.is_empty());
        let title = trees[0]["title"].as_str().expect("a text");
        assert!(found["text"].as_str().is_some_and(|text| text.contains(title)));
        let svg = ok(&json!({ "ask": "explain", "set": set, "policy": policy, "format": "svg" }));
        assert!(svg["text"].as_str().is_some_and(|text| text.starts_with("<svg")));
    }
}

#[test]
fn a_link_is_that_of_the_report() {
    let start = Start {
        set: demo("dhall").to_owned(),
        policies: vec!["g-edf".to_owned()],
        ..Start::default()
    };
    let found = ok(&json!({ "ask": "link", "start": start }));
    assert_eq!(found["fragment"], fragment(&start));
}

/// A user who drags a number gets verdicts at once; the bounds follow later.
#[test]
fn verdicts_do_not_wait_for_bounds() {
    let set = demo("three-tasks");
    let policies = ["g-edf", "p-edf"];
    let verdicts = |bounds: bool| {
        let question =
            json!({ "ask": "check", "set": set, "policies": policies, "bounds": bounds });
        let found = ok(&question);
        let text = found["json"].as_str().expect("a text").to_owned();
        let document: Value = serde_json::from_str(&text).expect("it is JSON");
        let policies = document["policies"].as_array().expect("a list").clone();
        let verdicts: Vec<_> = policies.iter().map(|policy| policy["verdict"].clone()).collect();
        (verdicts, found["exit"].clone(), text)
    };
    let (with, without) = (verdicts(true), verdicts(false));
    assert_eq!((&with.0, &with.1), (&without.0, &without.1));
    assert!(with.2.contains("CVA-REDUCED") && !without.2.contains("CVA-REDUCED"));
}
