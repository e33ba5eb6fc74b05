//! Tests of `layland play`, of links in reports, and of the playground's engine, whose answers
//! equal the command's output.

use crate::process::{folder, layland, name, run};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Output;

/// A substitute for the page of the playground, with the place for a set.
const PAGE: &str = "<!doctype html><script type=\"application/json\" id=\"start\">null</script>";

fn said(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Returns the initial data of a page.
fn start(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"start\">").expect("the page has a start");
    let text = rest.split("</script>").next().expect("it ends");
    serde_json::from_str(text).expect("it is JSON")
}

fn with_page(folder: &Path) -> PathBuf {
    let page = folder.join("play.html");
    std::fs::write(&page, PAGE).expect("it can be written");
    page
}

#[test]
fn the_engine_answers_the_bytes_of_the_command() {
    let folder = folder("play-bytes");
    let mut compared = 0;
    for demo in layland_config::demos() {
        let file = format!("{}.toml", demo.name);
        std::fs::write(folder.join(&file), demo.text).expect("it can be written");
        let policies = ["g-edf", "p-edf", "dl-sp"];
        let asked = |command: &str, more: &[&str]| {
            let mut all = vec![command, &file, "--json", "-p", "g-edf,p-edf,dl-sp"];
            all.extend(more);
            layland(&all).current_dir(&folder).output().expect("the command starts")
        };
        for (question, output) in [
            (
                json!({ "ask": "sim", "until": "200ms", "seed": 7 }),
                asked("sim", &["--until", "200ms", "--seed", "7"]),
            ),
            (json!({ "ask": "check", "effort": 500 }), asked("check", &["--effort", "500"])),
            (
                json!({ "ask": "check", "effort": 0, "margins": false, "all": true }),
                asked("check", &["--effort", "0", "--no-margin", "--all"]),
            ),
        ] {
            let mut question = question;
            question["set"] = json!(demo.text);
            question["name"] = json!(file);
            question["policies"] = json!(policies);
            let answer: Value = serde_json::from_str(&layland_play::answer(&question.to_string()))
                .expect("it is JSON");
            let printed = String::from_utf8_lossy(&output.stdout);
            assert_eq!(answer["ok"]["json"].as_str(), Some(&*printed), "{question}: {answer}");
            assert_eq!(answer["ok"]["exit"].as_i64(), output.status.code().map(i64::from));
            compared += 1;
        }
    }
    assert_eq!(compared, 3 * layland_config::demos().len());
}

#[test]
fn a_page_begins_with_the_set_and_its_comments() {
    let folder = folder("play-page");
    let page = with_page(&folder);
    let out = folder.join("dhall.html");
    let asked = ["play", "demo:dhall", "-p", "g-edf,p-edf", "--until", "2s", "-o", name(&out)];
    let output = run(&[&asked[..], &["--page", name(&page)]].concat());
    assert_eq!(output.status.code(), Some(0), "{:?}", said(&output));
    let begun = start(&std::fs::read_to_string(&out).expect("it was written"));
    let text = layland_config::demo("dhall").expect("it is bundled").text;
    assert_eq!(
        begun,
        json!({ "set": text, "name": "demo:dhall", "policies": ["g-edf", "p-edf"], "until": "2s" })
    );

    // A set that is not from a task-set file, or that gets another number of CPUs, is formatted
    // anew.
    for set in [&["-t", "</script>=1ms/5ms", "--cpus", "2"][..], &["demo:dhall", "--cpus", "7"][..]]
    {
        let output = run(&[&["play", "--page", name(&page), "-o", name(&out)][..], set].concat());
        assert_eq!(output.status.code(), Some(0), "{:?}", said(&output));
        let written = std::fs::read_to_string(&out).expect("it was written");
        assert_eq!(written.matches("</script>").count(), 1);
        let set = start(&written)["set"].as_str().expect("a text").to_owned();
        let host = layland_config::Host::default();
        let read = layland_config::read("a", set.as_bytes(), layland_config::Format::Toml, &host);
        assert!([2, 7].contains(&read.expect("it is valid").system.platform.cpu_count()));
    }
}

#[test]
fn the_page_is_found_or_the_command_says_how_to_get_it() {
    let folder = folder("play-found");
    let page = with_page(&folder);
    let asked = |variable: &Path, args: &[&str]| {
        let mut command = layland(args);
        command.env("LAYLAND_PLAY", variable).env("XDG_RUNTIME_DIR", &folder);
        command.output().expect("the command starts")
    };
    let output = asked(&page, &["play", "demo:dhall", "--print"]);
    assert_eq!(output.status.code(), Some(0), "{:?}", said(&output));
    let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert!(path.starts_with(name(&folder)), "{path}");
    assert!(start(&std::fs::read_to_string(path).expect("it was written"))["set"].is_string());

    let missing = folder.join("missing.html");
    let (code, text) = said(&asked(&missing, &["play", "demo:dhall", "--print"]));
    assert_eq!(code, Some(5));
    assert!(text.contains("missing.html") && text.contains("packaging/play.sh"), "{text}");

    // Error cases: another page, too many tasks, and an invalid set.
    let other = folder.join("other.html");
    std::fs::write(&other, "<p>").expect("it can be written");
    assert_eq!(said(&asked(&other, &["play", "demo:dhall", "--print"])).0, Some(3));
    let wrong = folder.join("wrong.toml");
    std::fs::write(&wrong, "layland = 2\n").expect("it can be written");
    assert_eq!(said(&asked(&page, &["play", name(&wrong), "--print"])).0, Some(3));
}

#[test]
fn a_report_has_a_link_where_the_page_is() {
    let folder = folder("play-link");
    let page = with_page(&folder);
    let report = folder.join("report.html");
    for command in ["sim", "check"] {
        for (variable, wanted) in [(page.clone(), true), (folder.join("missing.html"), false)] {
            let mut asked = layland(&[command, "demo:dhall", "-p", "g-edf", "-o", name(&report)]);
            asked.env("LAYLAND_PLAY", &variable).output().expect("the command starts");
            let text = std::fs::read_to_string(&report).expect("it was written");
            // Decode the attribute as a browser does.
            let text = text.replace("&#x2f;", "/");
            let link = format!("href=\"file://{}#s=", name(&variable));
            assert_eq!(text.contains(&link), wanted, "{command}");
            assert_eq!(text.contains("class=\"play\""), wanted, "{command}");
        }
    }
}
