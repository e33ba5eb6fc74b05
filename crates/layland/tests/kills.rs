//! Some dozens of kills and a few overlaps, drawn anew each time: `--bin kills` of the test kit, in short.
#![cfg(target_os = "linux")]

mod common;

use layland_testkit::kills::Campaign;
use std::io::Write;
use std::path::Path;

const KILLS: usize = 30;
const OVERLAPS: usize = 4;

#[test]
fn the_machine_is_as_it_was() {
    // When a run is killed is left to chance, and can be asked for again.
    #[expect(clippy::disallowed_methods, reason = "a failure can be repeated")]
    let asked = std::env::var("LAYLAND_KILL_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = asked.unwrap_or_else(|| u64::from(std::process::id()));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kills");
    let program = Path::new(env!("CARGO_BIN_EXE_layland"));
    let mut campaign = Campaign::new(program, &folder, seed).expect("the program starts");
    let able = campaign.able();
    for (is_able, needs) in [
        (able.fifo, "SCHED_FIFO"),
        (able.deadline, "root, for SCHED_DEADLINE, cpusets and admission control"),
        (able.tracefs, "tracefs"),
    ] {
        if !is_able {
            common::skipped(needs);
        }
    }
    for _ in 0..KILLS {
        campaign.kill().expect("a run starts");
    }
    for _ in 0..OVERLAPS {
        campaign.overlap().expect("a run starts");
    }
    let found = campaign.found();
    let told = format!("again with LAYLAND_KILL_SEED={seed}\n{}", found.table());
    let _ = std::io::stderr().write_all(told.as_bytes());
    assert_eq!(found.wrong, Vec::<String>::new(), "again with LAYLAND_KILL_SEED={seed}");
}
