//! Runs the script that measures the command and writes `docs/speed.md` once, with small inputs. No
//! test judges the speed of the command.
#![cfg(target_os = "linux")]

use crate::common::skipped;
use crate::process::{folder, name, run};
use layland_testkit::certificates::{NEEDS, has_python};
use std::process::Command;

#[test]
fn the_script_writes_its_page() {
    if !has_python() {
        return skipped(NEEDS);
    }
    let page = folder("speed-page").join("speed.md");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/measure_speed.py");
    let said = Command::new("python3")
        .args([script, "--short", "--runs", "1", "--program", env!("CARGO_BIN_EXE_layland")])
        .args(["--page", name(&page)])
        .output()
        .expect("python3 starts");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let text = std::fs::read_to_string(&page).expect("it is there");
    let titles: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let expected = [
        "The simulator",
        "What a job costs",
        "Ten seconds, with everything around them",
        "A policy in Python",
        "Many sets in a stream",
        "A million tasks",
        "Starting",
        "What this page does not measure",
    ];
    assert_eq!(titles, expected);
    let version = run(&["--version"]).stdout;
    assert!(text.contains(String::from_utf8_lossy(&version).trim()), "{text}");
    // Every policy and every command has a figure, and no policy rejects a set.
    assert_eq!(text.matches("refuses").count(), 0, "{text}");
    for row in ["| generated |", "| all policies, JSON |", "| simulated for 1 s |", "| `hpa-edf` |"]
    {
        assert!(text.contains(row), "{row} in {text}");
    }
}
