//! Tests the engine `ext` on real kernels: every family of policies, look-ahead, and the failure of
//! each part.
//!
//! Needs the headers of libelf and zlib.
#![expect(clippy::print_stderr, reason = "a test says which kernels it used, and what it counted")]

use crate::{Ready, doctor, ready_for_ext, until};
use layland_system_tests::engines::{self, Compared};
use layland_system_tests::{Booted, CommandRun, Guest, Kernel};
use serde_json::Value;

/// Six tasks with a utilization of 2.22 on 3 CPUs.
const SIX: &str = r#"layland = 1
platform.cpus = 3
task = [
  { name = "a", period = "100ms", wcet = "20ms" },
  { name = "b", period = "120ms", wcet = "40ms" },
  { name = "c", period = "150ms", wcet = "60ms" },
  { name = "d", period = "200ms", wcet = "80ms" },
  { name = "e", period = "250ms", wcet = "100ms" },
  { name = "f", period = "300ms", wcet = "120ms" },
]
"#;

/// The short form of the experiment `engines`.
const SIDE_BY_SIDE: &str = r#"lab = 1
title = "side by side"
sets = 1
seed = 16
horizon = "600ms"
series = [
  { name = "g-edf", policy = "g-edf" },
  { name = "run", policy = "run" },
]
[generator]
tasks = 4
utilization = "1.4"
max = "0.8"
periods = "list:100ms,120ms,150ms,200ms"
granularity = "1ms"
min_wcet = "10ms"
[[grid]]
name = "sets"
cpus = ["2"]
[engines]
grid = "sets"
duration = "600ms"
margin = "5ms"
"#;

/// Nested affinities: one task on each of two CPUs, one on both, and the others anywhere.
const NESTED: &str = r#"layland = 1
platform.cpus = 3
task = [
  { name = "a", period = "100ms", wcet = "30ms", affinity = "0" },
  { name = "b", period = "120ms", wcet = "40ms", affinity = "1" },
  { name = "c", period = "150ms", wcet = "45ms", affinity = "0-1" },
  { name = "d", period = "200ms", wcet = "60ms" },
  { name = "e", period = "250ms", wcet = "75ms" },
]
"#;

/// One CPU with a task that never gets it: the other task has the shorter period and a utilization
/// of 1.
const STARVED: &str = r#"layland = 1
platform.cpus = 1
task = [
  { name = "greedy", period = "100ms", wcet = "100ms" },
  { name = "starved", period = "60s", wcet = "10ms" },
]
"#;

/// A run and its simulation, as `name` and `name-sim`; the log of the run is replayed.
struct Case {
    name: &'static str,
    set: &'static str,
    policy: &'static str,
    options: &'static str,
    duration: &'static str,
}

const CASES: [Case; 10] = [
    case("g-edf", "six.toml", "g-edf", ""),
    case("plain", "six.toml", "g-edf", "--no-lookahead"),
    case("p-edf", "six.toml", "p-edf:fit=wfd", ""),
    case("strong-edf", "nested.toml", "strong-edf", ""),
    case("hpa-edf", "nested.toml", "hpa-edf", ""),
    case("dl-sp", "six.toml", "dl-sp", "--reserve 5ms"),
    case("apedf", "six.toml", "apedf", "--reserve 5ms"),
    case("run", "six.toml", "run", "--reserve 5ms"),
    case("qps", "six.toml", "qps", "--reserve 5ms"),
    Case {
        duration: "1500ms",
        ..case("amc", "demo:mixed-overrun", "amc", "--stretch 5x --reserve 3ms")
    },
];
/// One case of each family: the short form.
const FAMILIES: [&str; 7] = ["g-edf", "plain", "p-edf", "hpa-edf", "dl-sp", "run", "amc"];
/// The cases that run on other kernels.
const SOME: [&str; 3] = ["g-edf", "dl-sp", "run"];

const fn case(
    name: &'static str,
    set: &'static str,
    policy: &'static str,
    options: &'static str,
) -> Case {
    Case { name, set, policy, options, duration: "900ms" }
}

impl Case {
    fn commands(&self) -> Vec<(String, String)> {
        let Case { name, set, policy, options, duration } = self;
        let run = format!(
            "layland run {set} --policy {policy} {options} --engine ext --until {duration} --check --quiet --log /tmp/{name}.log --json"
        );
        let replay = format!("layland run --replay /tmp/{name}.log");
        vec![((*name).to_owned(), run), (format!("{name}-replay"), replay)]
    }

    /// Checks the properties of every run: no doubts, every rule kept, and every decision as in the
    /// log.
    fn judge(&self, kernel: &Kernel, booted: &Booted) -> Value {
        let (label, name) = (&kernel.label, self.name);
        let ran = document(booted.ran(name));
        assert_eq!(ran["doubts"], Value::Array(Vec::new()), "{label}: {name}: {ran:#}");
        assert_eq!(ran["broken_rules"], Value::Array(Vec::new()), "{label}: {name}: {ran:#}");
        let replayed = booted.ran(&format!("{name}-replay"));
        assert_eq!(replayed.code, Some(0), "{label}: {replayed}");
        let ext = &ran["ext"];
        assert_eq!((&ext["by_caretaker"], &ext["lost"]), (&0.into(), &0.into()), "{label}: {ext}");
        let latency = |what: &str| ran["overheads"][what]["p50_ns"].as_f64().unwrap_or(0.0) / 1e3;
        eprintln!(
            "{label}: {name}: {} completed, {} missed, {} right, {} of them adjusted, {} wrong, {} followed, {} woken, \
             {} commits, {} bounced, wake-up to running {:.0} us, end to next job {:.0} us",
            ran["summary"]["total"]["completed"],
            ran["summary"]["total"]["missed"],
            ext["right"],
            ext["adjusted"],
            ext["wrong"],
            ext["followed"],
            ext["woken"],
            ext["commits"],
            ext["bounced"],
            latency("wake-up to running"),
            latency("end to next job"),
        );
        ran
    }
}

fn document(ran: &CommandRun) -> Value {
    serde_json::from_str(&ran.output).unwrap_or_else(|error| panic!("{error}: {ran}"))
}

/// A run in the background, an action that disturbs it, and its exit code.
fn disturbed(deed: &str) -> String {
    // The time from loading the scheduler to the first job is longer on a slower machine.
    format!(
        "layland run six.toml --policy g-edf --engine ext --until 3s --check --json --quiet & run=$!; \
         {}; sleep 1; {deed}; wait $run; code=$?; sleep 1; \
         [ $(cat /sys/kernel/sched_ext/state) = disabled ] || echo LOADED; \
         busybox pidof layland-load && echo LEFT; exit $code",
        until("enabled"),
    )
}

#[test]
fn policies_carried_on_other_kernels() {
    let Some(Ready { guest, layland }) = ready_for_ext() else { return };
    let files = [
        ("six.toml", SIX),
        ("nested.toml", NESTED),
        ("starved.toml", STARVED),
        ("side-by-side.toml", SIDE_BY_SIDE),
    ];
    let boot = |guest: &Guest, kernel: &Kernel, cpus: u32, commands: &[(String, String)]| {
        let commands: Vec<(&str, &str)> =
            commands.iter().map(|(name, line)| (name.as_str(), line.as_str())).collect();
        guest.boot(kernel, cpus, layland, &files, &commands).expect("QEMU runs")
    };
    let commands = |names: &[&str]| -> Vec<(String, String)> {
        let chosen = CASES.iter().filter(|case| names.contains(&case.name));
        chosen.flat_map(Case::commands).collect()
    };
    let named = |(name, line): (&str, String)| (name.to_owned(), line);
    let doctors = || doctor::COMMANDS.map(|(name, line)| named((name, line.to_owned())));
    let judge = |kernel: &Kernel, booted: &Booted, names: &[&str]| {
        for case in CASES.iter().filter(|case| names.contains(&case.name)) {
            let ran = case.judge(kernel, booted);
            judge_case(kernel, case, &ran);
        }
    };
    // A boot takes as long as all of these commands: use few boots with many commands, and the
    // faults last.
    for kernel in guest.labelled(&["7.3", "7.3-rt"]) {
        eprintln!("{}: {}", kernel.label, kernel.package);
        if kernel.label.ends_with("-rt") {
            // The manager polls there, and needs a CPU that the kernel does not use. That kernel
            // also has more work: a machine of half the speed would be late.
            let mut fast = guest.clone();
            fast.shift = 1;
            let all = [doctors().to_vec(), commands(&SOME)].concat();
            let booted = boot(&fast, kernel, 5, &all);
            doctor::judge(kernel, &booted);
            judge(kernel, &booted, &SOME);
            continue;
        }
        let mut all = [doctors().to_vec(), commands(&FAMILIES), faults()].concat();
        // The long form also measures.
        let has_all = !guest.chosen(&[], &["7.3"]).is_empty();
        if has_all {
            let side_by_side = engines::commands("side-by-side.toml").map(named);
            all.splice(0..0, side_by_side);
        }
        let booted = boot(guest, kernel, 4, &all);
        doctor::judge(kernel, &booted);
        judge(kernel, &booted, &FAMILIES);
        if has_all {
            judge_side_by_side(kernel, &Compared::read(&booted));
        }
        judge_faults(kernel, &booted);
    }
    // Also run every policy, more CPUs than tasks, and a task that waits longer than the kernel's
    // watchdog allows.
    for kernel in guest.chosen(&[], &["7.3"]) {
        let every = CASES.map(|case| case.name);
        let all = [commands(&every), vec![named(("starved", STARVED_RUN.to_owned()))]].concat();
        let booted = boot(guest, kernel, 8, &all);
        judge(kernel, &booted, &every);
        judge_starved(kernel, &booted);
    }
}

/// Every engine runs the same jobs, and none is late.
fn judge_side_by_side(kernel: &Kernel, compared: &Compared) {
    let (label, text) = (&kernel.label, &compared.text);
    let mut engines = Vec::new();
    for row in &compared.rows[1..] {
        let cell = |column| compared.cell(row, column);
        assert_eq!(cell("missed"), "0", "{label}: {text}");
        let alike: f64 = cell("alike").parse().expect("it is a number");
        // Threads of SCHED_DEADLINE do not count the time that the machine takes from them, and
        // throttling by the kernel is not under our control.
        assert!(alike > 0.95 || cell("engine") == "SCHED_DEADLINE", "{label}: {text}");
        engines.push((cell("series"), cell("engine")));
    }
    let of = |series| engines.iter().filter(|(of, _)| of == series).count();
    assert_eq!((of("g-edf"), of("run")), (6, 4), "{label}: {text}");
    eprintln!("{label}: {text}");
}

fn judge_case(kernel: &Kernel, case: &Case, ran: &Value) {
    let (label, name) = (&kernel.label, case.name);
    let ext = &ran["ext"];
    let count = |what: &str| ext[what].as_u64().expect("it is counted");
    if name == "amc" {
        // An overrun drops the jobs of lower criticality, and no other job is late.
        let tasks = ran["summary"]["tasks"].as_array().expect("there are tasks");
        let sum =
            |what: &str| tasks.iter().map(|task| task[what].as_u64().unwrap_or(0)).sum::<u64>();
        assert!(sum("aborted") > 0, "{label}: {ran:#}");
        return;
    }
    assert_eq!(ran["summary"]["total"]["missed"], 0, "{label}: {name}: {ran:#}");
    match name {
        "plain" => assert_eq!(count("right") + count("wrong"), 0, "{label}: {name}: {ext}"),
        // Actions of several servers at once require several CPUs.
        "run" | "qps" => assert!(count("followed") > 0, "{label}: {name}: {ext}"),
        _ => {
            assert!(count("followed") > 0 && count("woken") > 0, "{label}: {name}: {ext}");
            assert!(count("right") > count("wrong"), "{label}: {name}: {ext}");
        }
    }
}

/// The kernel's watchdog would end everything after 30 s.
const STARVED_RUN: &str = "layland run starved.toml --policy p-rm --manager dedicated --engine ext --until 34s --json --quiet";

fn judge_starved(kernel: &Kernel, booted: &Booted) {
    let label = &kernel.label;
    let starved = document(booted.ran("starved"));
    assert!(starved["end_ns"].as_u64() >= Some(34_000_000_000), "{label}: {starved:#}");
    assert_eq!(starved["doubts"], Value::Array(Vec::new()), "{label}: {starved:#}");
}

/// The disturbances of runs.
fn faults() -> Vec<(String, String)> {
    let named = |name: &str, line: String| (name.to_owned(), line);
    vec![
        named("frozen", disturbed("kill -STOP $run; sleep 0.5; kill -CONT $run")),
        named("dead", disturbed("kill -STOP $run; sleep 2; kill -CONT $run")),
        named("manager", disturbed("kill -9 $run")),
        named("threads", disturbed("kill -9 $(busybox pidof layland-load)")),
        named(
            "hotplug",
            disturbed(
                "echo 0 >/sys/devices/system/cpu/cpu3/online; sleep 0.8; echo 1 >/sys/devices/system/cpu/cpu3/online",
            ),
        ),
        named("interrupt", disturbed("kill -INT $run")),
        named(
            "overrun",
            "layland run six.toml --policy dl-sp --reserve 5ms --overrun a=3x --engine ext --until 1500ms --check --json"
                .to_owned(),
        ),
        named(
            "second",
            format!(
                "layland run six.toml --engine ext --until 2s >/dev/null 2>&1 & {}; \
                 layland run starved.toml --policy p-rm --engine ext --until 1s; code=$?; wait; exit $code",
                until("enabled"),
            ),
        ),
    ]
}

fn judge_faults(kernel: &Kernel, booted: &Booted) {
    let label = &kernel.label;
    let of = |name: &str| {
        let ran = booted.ran(name);
        for left in ["NOT-", "LOADED", "LEFT"] {
            assert!(!ran.output.contains(left), "{label}: {ran}");
        }
        (ran.code, &ran.output)
    };
    let doubts = |name: &str, sought: &str| {
        let (code, output) = of(name);
        assert_eq!(code, Some(6), "{label}: {name}: {output}");
        assert!(output.contains(sought), "{label}: {name}: {output}");
    };
    doubts("frozen", "by the caretaker of the kernel");
    doubts("dead", "the manager has not answered for too long");
    doubts("threads", "the run ended at");
    assert_eq!(of("manager").0, Some(137), "{label}: {}", of("manager").1);
    assert_eq!(of("interrupt").0, Some(130), "{label}: {}", of("interrupt").1);
    // For 0.8 s only two CPUs are online, which are too few: jobs are late, but every decision is
    // that of the policy.
    let hotplug = document(booted.ran("hotplug"));
    assert_eq!(hotplug["broken_rules"], Value::Array(Vec::new()), "{label}: {hotplug:#}");
    assert!(of("hotplug").0.is_some_and(|code| code < 2), "{label}: {hotplug:#}");
    // A task that exceeds its budget is throttled, and most of its jobs are late; no other task is.
    // The emulator executes one CPU at a time, and the others pause meanwhile, once for 137 ms: one
    // in four jobs of the other tasks may be late.
    let overrun = document(booted.ran("overrun"));
    assert_eq!(overrun["broken_rules"], Value::Array(Vec::new()), "{label}: {overrun:#}");
    for task in overrun["summary"]["tasks"].as_array().expect("there are tasks") {
        let [missed, released] =
            ["missed", "released"].map(|of| task[of].as_u64().expect("a count"));
        let holds =
            if task["name"] == "a" { missed * 2 > released } else { missed * 4 <= released };
        assert!(holds, "{label}: {task}");
    }
    // Only one scheduler can be loaded: the error names the other run, which is not disturbed.
    let second = booted.ran("second");
    assert_eq!(second.code, Some(5), "{label}: {second}");
}
