//! `layland` on a kernel with the repair: `doctor` recognizes it, `run` uses it, `exec` admits by its rule.

use super::kernel;
use crate::{Ready, ready};
use layland_system_tests::{Booted, Checks, Kernel, Skipped, past_the_harness};
use serde_json::Value;

const SWITCH: &str = "/proc/sys/kernel/sched_dl_semi_partitioned";

fn commands() -> Vec<(&'static str, String)> {
    let doctor = "layland doctor --json --latency-for 0s 2>/dev/null";
    let exec = |options: &str| {
        let work = "workload periodic 1000 40000 25 8000";
        format!("layland exec --strict -p dl-sp {options} -- {work} 2>&1")
    };
    let run = |policy: &str| {
        // A margin for the threads that do not execute for ever: 5 % of the execution time, by default.
        format!(
            "layland run demo:push-defect --policy {policy} --engine deadline --stretch 10x --until 1900ms \
             --on-cpus 1-2 --json 2>&1; code=$?; cat {SWITCH}; exit $code"
        )
    };
    vec![
        ("features", "echo HRTICK_DL >/sys/kernel/debug/sched/features".to_owned()),
        ("doctor-off", doctor.to_owned()),
        ("exec-off", exec("--on-cpus 1 --dl 8ms/40ms")),
        ("run-stock", run("dl")),
        // The run switches the repair on, and off again.
        ("run-paper", run("dl-sp")),
        ("run-light", run("dl-sp:throttle=waiting")),
        ("on", format!("sleep 1; echo 15 >{SWITCH}")),
        ("doctor-on", doctor.to_owned()),
        ("exec-tied", exec("--on-cpus 1 --dl 8ms/40ms")),
        ("exec-found", exec("--dl 8ms/40ms")),
        ("exec-all", exec("--on-cpus 0-3 --dl 8ms/40ms")),
        ("exec-too-much", exec("--on-cpus 1 --dl 38ms/40ms")),
    ]
}

fn finding(booted: &Booted, name: &str) -> Value {
    let ran = booted.ran(name);
    let document: Value =
        serde_json::from_str(&ran.output).unwrap_or_else(|error| panic!("{error}: {ran}"));
    let mut all = document["findings"].as_array().expect("there are findings").iter();
    all.find(|finding| finding["name"] == "SCHED_DEADLINE repair")
        .unwrap_or_else(|| panic!("{ran}"))
        .clone()
}

fn judge(kernel: &Kernel, booted: &Booted) {
    let label = &kernel.label;
    assert_eq!(finding(booted, "doctor-off")["state"], "info", "{label}");
    assert_eq!(finding(booted, "doctor-on")["state"], "ok", "{label}");
    let [off, tied, found, all, much] =
        ["exec-off", "exec-tied", "exec-found", "exec-all", "exec-too-much"]
            .map(|name| booted.ran(name));
    assert_eq!(off.code, Some(5), "{label}: {off}");
    assert!(off.output.contains("sched_dl_semi_partitioned is 0"), "{label}: {off}");
    for ran in [tied, found, all] {
        assert_eq!(ran.code, Some(0), "{label}: {ran}");
    }
    assert!(tied.output.contains("on CPU 1 under dl-sp: every deadline"), "{label}: {tied}");
    assert!(found.output.contains("on CPU "), "{label}: {found}");
    assert!(all.output.contains("on CPUs 0-3 under dl-sp: every deadline"), "{label}: {all}");
    // 95 % of the CPU, and the limit is 95 % less the fair server.
    assert_eq!(much.code, Some(1), "{label}: {much}");
    for (name, is_repaired) in [("run-stock", false), ("run-paper", true), ("run-light", true)] {
        let ran = booted.ran(name);
        let (document, switch) =
            ran.output.trim_end().rsplit_once('\n').unwrap_or_else(|| panic!("{ran}"));
        assert_eq!(switch, "0", "{label}: {ran}");
        let start = document.find("\n{").map_or(0, |at| at + 1);
        let document: Value = serde_json::from_str(&document[start..])
            .unwrap_or_else(|error| panic!("{error}: {ran}"));
        // Example 6: the third thread preempts the second, although the first one is due later.
        let inversions = document["kernel"]["inversions"].as_array().map_or(0, Vec::len);
        assert_eq!(inversions == 0, is_repaired, "{label}: {ran}");
    }
}

#[test]
fn programs_on_repaired_kernels() {
    let run = || -> Result<(), Skipped> {
        let (_, spend) = super::ready()?;
        let kernel = kernel(Checks::Few, spend)?;
        let Some(Ready { guest, layland }) = ready() else { return Ok(()) };
        let commands = commands();
        let commands: Vec<(&str, &str)> =
            commands.iter().map(|(name, line)| (*name, &**line)).collect();
        let booted = guest.boot(&kernel, 4, layland, &[], &commands).expect("QEMU runs");
        judge(&kernel, &booted);
        Ok(())
    };
    run().unwrap_or_else(|skipped| past_the_harness(&skipped.0));
}
