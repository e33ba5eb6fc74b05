//! A slow command shows a progress line on a terminal, and nowhere else.
#![expect(clippy::disallowed_methods, reason = "a thread reads what the command prints")]

use crate::common::skipped;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// A command that would take a minute on a fast machine: it simulates many jobs under a policy that
/// decides often. The test ends it as soon as it has seen enough.
const SLOW: &str = "check demo:dhall --policy llf --no-margin --effort 300000000";

#[test]
fn a_long_command_says_on_a_terminal_that_it_works() {
    let command = format!("{} {SLOW}", env!("CARGO_BIN_EXE_layland"));
    let run = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut run) = run else { return skipped("`script` of util-linux") };
    let mut seen = run.stdout.take().expect("it is piped");
    let (pieces, read) = channel();
    std::thread::spawn(move || {
        let mut piece = [0; 4096];
        while let Ok(length @ 1..) = seen.read(&mut piece) {
            if pieces.send(piece[..length].to_vec()).is_err() {
                break;
            }
        }
    });
    let mut text = String::new();
    // Two updates show that the line continues.
    let is_told = |text: &str| text.contains("checking, 1 s") && text.contains("checking, 2 s");
    while !is_told(&text) {
        let Ok(piece) = read.recv_timeout(Duration::from_secs(60)) else { break };
        text += &String::from_utf8_lossy(&piece);
    }
    run.kill().expect("it runs, or has ended");
    run.wait().expect("it is a child");
    assert!(is_told(&text), "{text:?}");
}

#[test]
fn no_line_is_left_before_a_result_or_in_a_pipe() {
    let quick = SLOW.replace("300000000", "100000");
    let command = format!("{} {quick}", env!("CARGO_BIN_EXE_layland"));
    let plain = Command::new("sh").args(["-c", &command]).output().expect("there is a shell");
    let text = String::from_utf8_lossy(&plain.stdout).into_owned();
    assert!(text.contains("llf") && plain.stderr.is_empty(), "{text}");
    let run = Command::new("script").args(["-qec", &command, "/dev/null"]).output();
    let Ok(run) = run else { return skipped("`script` of util-linux") };
    let shown = String::from_utf8_lossy(&run.stdout).into_owned();
    // The output after the last progress line is the result.
    let result = &shown[shown.rfind("checking, ").unwrap_or(0)..];
    assert!(result.contains("llf") && result.contains("policy"), "{shown:?}");
}
