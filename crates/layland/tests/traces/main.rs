//! Tests of `layland trace` on kernel recordings: the violations that it reports, the distinction
//! of waits and suspensions, and the handling of damaged, foreign or hostile input.

#[path = "../common/process.rs"]
mod process;
mod text;

use process::{folder, name, run};
use serde_json::Value;
use std::path::Path;
use std::process::Output;
use text::Text;

/// Returns the exit code, standard output and standard error.
fn said(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// A set with upper bounds. Each thread of [`varied`] is one of its tasks.
const BOUNDS: &str = "layland = 1
[platform]
cpus = 1
[[task]]
name = \"audio\"
period = \"5ms\"
wcet = \"1ms\"
priority = 9
[[task]]
name = \"control\"
period = \"10ms\"
wcet = \"2ms\"
priority = 19
";

/// Returns a trace of two threads under SCHED_FIFO whose jobs need various times below their WCETs,
/// except that job 7 of `control` needs `longest`.
fn varied(longest: i64) -> String {
    let mut text = Text::default();
    for k in 0..40 {
        let (audio, control) = (("audio", 41, 9), ("control", 42, 19));
        let at = k * 5_000;
        let needs = 300 + k * 97 % 500;
        text.wakes(at, audio);
        text.switch(at + 2, "R", audio);
        if k % 2 == 0 {
            let own = if k == 14 { longest } else { 700 + k * 53 % 600 };
            text.wakes(at + 10, control);
            text.switch(at + 2 + needs, "S", control);
            text.switch(at + 2 + needs + own, "S", Text::IDLE);
        } else {
            text.switch(at + 2 + needs, "S", Text::IDLE);
        }
    }
    text.into()
}

#[test]
fn a_job_that_needs_less_than_its_wcet_is_no_violation() {
    let folder = folder("traces-bounds");
    let (trace, set, seen) =
        (folder.join("run.txt"), folder.join("set.toml"), folder.join("seen.toml"));
    std::fs::write(&trace, varied(1_900)).expect("the folder can be written");
    std::fs::write(&set, BOUNDS).expect("the folder can be written");
    let check = |trace, set, options: &[&str]| {
        said(&run(&[&["trace", "check", trace, "--set", set], options].concat()))
    };
    for policy in ["p-fp", "p-rm", "g-fp"] {
        let options = ["-p", policy, "--latency", "50us"];
        let (exit, out, err) = check(name(&trace), name(&set), &options);
        assert_eq!(exit, 0, "{policy}: {out}{err}");
        assert!(out.contains("no violation"), "{out}");
    }
    // A trace complies with the set that is inferred from it.
    let (exit, ..) = said(&run(&["trace", "infer", name(&trace), "-o", name(&seen)]));
    assert_eq!(exit, 0);
    let (exit, out, err) = check(name(&trace), name(&seen), &["-p", "p-fp", "--latency", "50us"]);
    assert_eq!(exit, 0, "{out}{err}");
    // An execution time above the WCET is a violation, of this job only.
    std::fs::write(&trace, varied(2_400)).expect("the folder can be written");
    let (exit, out, _) = check(name(&trace), name(&set), &["-p", "p-fp", "--latency", "50us"]);
    assert_eq!(exit, 1);
    assert!(out.contains("1 violation beyond"), "{out}");
    assert!(out.contains("control#8 executes for 2.4 ms, and the set allows 2 ms"), "{out}");
    // A simulated trace must comply with the times that its model drew.
    let json = folder.join("sim.json");
    let (exit, ..) = said(&run(&["sim", name(&set), "-p", "p-fp", "-o", name(&json)]));
    assert_eq!(exit, 0);
    let (exit, out, _) = check(name(&json), name(&set), &["-p", "p-fp"]);
    assert_eq!(exit, 0, "{out}");
    let less = BOUNDS.replace("wcet = \"2ms\"", "wcet = \"3ms\"");
    std::fs::write(&set, less).expect("the folder can be written");
    let (exit, out, _) = check(name(&json), name(&set), &["-p", "p-fp"]);
    assert_eq!(exit, 1, "{out}");
    assert!(out.contains("but its execution time is 3 ms"), "{out}");
}

/// Returns a trace in which `hi` runs for 2 ms, waits for a disk for 3 ms (state D) and runs for 2
/// ms, every 10 ms; `lo` runs for 3 ms at a lower priority.
fn blocked() -> String {
    let mut text = Text::default();
    let (hi, lo) = (("hi", 71, 9), ("lo", 72, 19));
    for k in 0..30 {
        let at = k * 10_000;
        text.wakes(at, hi);
        text.switch(at + 10, "R", hi);
        text.switch(at + 2_000, "D", Text::IDLE);
        if k % 2 == 0 {
            text.wakes(at + 2_500, lo);
            text.switch(at + 2_510, "R", lo);
        }
        text.wakes(at + 5_000, hi);
        text.switch(at + 5_010, "R", hi);
        text.switch(at + 7_000, "S", if k % 2 == 0 { lo } else { Text::IDLE });
        if k % 2 == 0 {
            text.switch(at + 7_600, "S", Text::IDLE);
        }
    }
    text.into()
}

#[test]
fn no_bound_of_a_set_with_suspensions_is_below_what_its_trace_shows() {
    let folder = folder("traces-blocked");
    let (trace, seen) = (folder.join("run.txt"), folder.join("seen.toml"));
    let (trace, seen) = (name(&trace), name(&seen));
    std::fs::write(trace, blocked()).expect("the folder can be written");
    let (exit, _, err) = said(&run(&["trace", "infer", trace, "-o", seen]));
    assert_eq!(exit, 0, "{err}");
    let set = std::fs::read_to_string(seen).expect("it was written");
    assert!(set.contains("steps = [\"run 2ms\", \"suspend 3ms\", \"run 2ms\"]"), "{set}");
    let bounds = run(&["check", seen, "-p", "p-fp", "--bounds", "--no-margin", "--json"]);
    let bounds: Value = serde_json::from_slice(&bounds.stdout).expect("it is JSON");
    let stats = run(&["trace", "stats", trace, "--set", seen, "--json"]);
    let stats: Value = serde_json::from_slice(&stats.stdout).expect("it is JSON");
    for figures in stats["summary"]["tasks"].as_array().expect("there are tasks") {
        let response = figures["max_response_ns"].as_i64().expect("it has one");
        let task = figures["name"].as_str().expect("it has a name");
        let promised = promised(&bounds, task);
        assert!(promised >= response, "{task}: {promised} is promised, and {response} was seen");
        if task == "hi" {
            assert_eq!(response, 7_000_000);
            assert_eq!(figures["preemptions_per_job"], 0.0, "a job that blocks is not preempted");
        }
    }
    // It does not count as a wait either: the CPU may be idle meanwhile.
    let check = ["trace", "check", trace, "--set", seen, "-p", "p-fp", "--latency", "100us"];
    let (exit, out, err) = said(&run(&check));
    assert_eq!(exit, 0, "{out}{err}");
    // It does not count as a wait in a set without suspensions either.
    let set = folder.join("set.toml");
    let text = "layland = 1\n[platform]\ncpus = 1\n[[task]]\nname = \"hi\"\nperiod = \"10ms\"\n\
                wcet = \"4ms\"\npriority = 9\n[[task]]\nname = \"lo\"\nperiod = \"20ms\"\n\
                wcet = \"3.5ms\"\npriority = 19\n";
    std::fs::write(&set, text).expect("the folder can be written");
    let set = name(&set);
    for policy in ["p-fp", "g-fp", "p-edf"] {
        let check = ["trace", "check", trace, "--set", set, "-p", policy, "--latency", "100us"];
        let (exit, out, err) = said(&run(&check));
        assert_eq!(exit, 0, "{policy}: {out}{err}");
    }
    let (_, chart, _) =
        said(&run(&["trace", "view", trace, "--set", set, "--window", "0ms..10ms"]));
    assert!(chart.contains("suspended"), "{chart}");
    // Any other wait still counts as one.
    let waits = blocked().replace("prev_prio=9 prev_state=D", "prev_prio=9 prev_state=R");
    std::fs::write(trace, waits).expect("the folder can be written");
    let check = ["trace", "check", trace, "--set", set, "-p", "p-fp", "--latency", "100us"];
    let (exit, out, _) = said(&run(&check));
    assert_eq!(exit, 1, "{out}");
    assert!(out.contains("hi#1 waits at"), "{out}");
}

/// Returns the bound on the response time of a task under the only requested policy.
fn promised(document: &Value, task: &str) -> i64 {
    let bounds = document["policies"][0]["bounds"].as_array().expect("there are bounds");
    let bound = bounds.iter().find(|bound| bound["task"] == task && bound["kind"] == "response");
    bound.and_then(|bound| bound["ns"].as_i64()).unwrap_or_else(|| panic!("{document:#}"))
}

#[test]
fn a_line_that_is_not_understood_is_counted_and_hides_no_message() {
    let folder = folder("traces-lines");
    let path = folder.join("run.txt");
    let path = name(&path);
    let infer = |text: &str| {
        std::fs::write(path, text).expect("the folder can be written");
        said(&run(&["trace", "infer", path]))
    };
    // perf without names: a thread that has just ended has the number -1.
    let switch = "sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=9 prev_state=S ==> \
                  next_comm=swapper/1 next_pid=0 next_prio=120";
    let nameless = format!("     7 [001] 100.000010: {switch}\n").repeat(9)
        + "    -1 [001] 100.070000: sched:sched_waking: comm=a pid=7 prio=9 target_cpu=001\n";
    let (exit, _, err) = infer(&nameless);
    assert_eq!(exit, 3, "{err}");
    assert!(err.contains("use perf script -F comm,tid,cpu,time,event,trace"), "{err}");
    assert!(err.contains("line 1 does not name the thread that was running"), "{err}");
    // Without the CPU, that is what is missing.
    let (exit, _, err) = infer(&format!("a     7 100.000010: {switch}\n"));
    assert!(exit == 3 && err.contains("line 1 does not say on which CPU"), "{err}");
    // Unread lines are reported in all cases.
    let (exit, _, err) = infer(&(varied(1_900) + "what is this\n"));
    assert_eq!(exit, 6, "{err}");
    assert!(err.contains("1 line is not an event: line"), "{err}");
    // A line with the time 0, or a second trace behind the first, does not count towards its
    // length.
    let stray = "dummy-0000 [000] 0.0: 0: trace_event_clock_sync: parent_ts=0.0\n".to_owned();
    let length = |text: &str| {
        std::fs::write(path, text).expect("the folder can be written");
        let output = run(&["trace", "infer", path, "--json"]);
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        let document: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        (document["length_ns"].as_i64().expect("it has a length"), err)
    };
    let (alone, _) = length(&varied(1_900));
    let (with_stray, err) = length(&(stray + &varied(1_900)));
    assert_eq!((with_stray, err.contains("no event from")), (alone, false), "{err}");
    let two = varied(1_900) + &varied(1_900).replace(" 100.", " 4100.");
    let (with_gap, err) = length(&two);
    assert_eq!(with_gap, 2 * alone);
    assert!(err.contains("are these two traces?"), "{err}");
}

#[test]
fn traces_of_other_tools_are_named() {
    let folder = folder("traces-foreign");
    let (own, chrome) = (folder.join("own.pftrace"), folder.join("chrome.json"));
    let (exit, ..) = said(&run(&["sim", "demo:dhall", "-p", "g-edf", "-o", name(&own), "-q"]));
    assert!(matches!(exit, 0 | 1));
    let events =
        "{\"traceEvents\":[{\"name\":\"a\",\"ph\":\"X\",\"ts\":0,\"dur\":9,\"pid\":1,\"tid\":1}]}";
    std::fs::write(&chrome, events).expect("the folder can be written");
    for command in ["stats", "infer", "check", "view"] {
        for (file, what) in [(&own, "a trace of Perfetto"), (&chrome, "a Chrome trace")] {
            let mut args = vec!["trace", command, name(file)];
            if command == "check" {
                args.extend(["--set", "demo:dhall"]);
            }
            let (exit, _, err) = said(&run(&args));
            assert_eq!(exit, 3, "{args:?}: {err}");
            assert!(err.contains(what) && err.contains("help: "), "{args:?}: {err}");
        }
    }
}

/// A set that was inferred names no CPUs: its trace is held to the CPUs that it shows, and not to
/// those that the policy would choose.
#[test]
fn the_trace_of_an_inferred_set_is_checked_on_its_cpus() {
    let folder = folder("traces-inferred");
    let trace =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/notebooks/12-kernel-trace.txt");
    let set = folder.join("seen.toml");
    let infer = ["trace", "infer", name(&trace), "-o", name(&set)];
    let check = ["trace", "check", name(&trace), "--set", name(&set), "--latency", "200us", "-p"];
    // The threads ran on CPU 1 alone, which is CPU 0 of the set.
    for options in [&[][..], &["--factor", "1.2"]] {
        let (exit, ..) = said(&run(&[&infer[..], options].concat()));
        assert_eq!(exit, 0);
        for policy in ["p-fp", "g-fp"] {
            let (exit, out, err) = said(&run(&[&check[..], &[policy]].concat()));
            assert!(err.contains("the threads used CPU 1: taken as CPU 0 of the set"), "{err}");
            assert!(exit == 0 && out.contains("no violation"), "{out}");
        }
    }
    // With both CPUs a partition leaves a choice.
    let both = std::fs::read_to_string(&set).unwrap().replacen("cpus = 1", "cpus = 2", 1);
    std::fs::write(&set, both).unwrap();
    let (exit, out, err) = said(&run(&[&check[..], &["p-fp"]].concat()));
    assert!(err.contains("each task is held to the CPU on which the trace shows it"), "{err}");
    assert!(exit == 0 && out.contains("no violation"), "{out}");
    // A policy without a partition has nothing to choose.
    let (_, _, err) = said(&run(&[&check[..], &["g-fp"]].concat()));
    assert!(!err.contains("is held to the CPU"), "{err}");
}

/// The CPUs of a machine are not those of a set, which counts from 0.
#[test]
fn a_trace_is_checked_on_the_cpus_that_its_threads_used() {
    let folder = folder("traces-cpus");
    let (trace, set) = (folder.join("run.txt"), folder.join("set.toml"));
    let check = |on: &str, cpus: usize, rest: &str, policy: &str| {
        let text = varied(1_900).replace("[000]", &format!("[{on}]"));
        std::fs::write(&trace, text).expect("the folder can be written");
        let head = format!("layland = 1\n[platform]\ncpus = {cpus}\n");
        let tasks = BOUNDS.split_once("[[task]]").expect("it has tasks").1;
        let tasks = tasks.replace("wcet", &format!("{rest}wcet"));
        std::fs::write(&set, format!("{head}[[task]]{tasks}")).expect("it can be written");
        let (trace, set) = (name(&trace), name(&set));
        let check = ["trace", "check", trace, "--set", set, "-p", policy, "--latency", "50us"];
        said(&run(&check))
    };
    for policy in ["p-rm", "p-fp", "g-rm", "g-edf", "p-edf"] {
        for (on, cpus) in [("000", 1), ("001", 1), ("017", 1), ("002", 2), ("005", 4)] {
            // A global policy would use the other CPUs.
            if cpus > 1 && policy.starts_with("g-") {
                continue;
            }
            let (exit, out, err) = check(on, cpus, "", policy);
            let number: usize = on.parse().expect("it is a number");
            assert!(exit == 0 && out.contains("no violation"), "{policy} {on} {cpus}: {out}{err}");
            let words = format!("the threads used CPU {number}: taken as CPU 0 of the set");
            assert_eq!(err.contains(&words), number >= cpus, "{policy} {on} {cpus}: {err}");
        }
    }
    // The program does not know the partition. The remedy is printed once.
    for policy in ["p-rm", "p-fp", "p-edf"] {
        let (exit, out, err) = check("001", 2, "", policy);
        assert!(exit == 0 && out.contains("no violation"), "{policy}: {out}{err}");
        let words = format!(
            "{policy} puts audio on CPU 0, the trace shows it on CPU 1: write affinity = [1]"
        );
        assert_eq!(err.matches(&words).count(), 1, "{policy}: {err}");
    }
    // An affinity is one.
    let (exit, out, _) = check("001", 2, "affinity = [0]\n", "p-rm");
    assert!(exit == 1 && out.contains("runs on CPU 1"), "{out}");
}

/// A set that was inferred has upper bounds, also for the trace of a simulation that it is from.
#[test]
fn a_set_inferred_from_a_simulation_is_kept_by_its_trace() {
    let folder = folder("traces-simulated");
    let (set, trace, seen) =
        (folder.join("set.toml"), folder.join("h.json"), folder.join("seen.toml"));
    for varies in [true, false] {
        let exec = |max: &str| {
            if varies {
                format!("exec = {{ model = \"uniform\", min = \"200us\", max = \"{max}\" }}")
            } else {
                "exec = \"wcet\"".to_owned()
            }
        };
        let (slow, fast, mid) = (exec("5ms"), exec("1ms"), exec("2ms"));
        for policy in ["p-rm", "g-rm", "g-edf", "p-edf"] {
            // Not in the order of their periods.
            let text = format!(
                "layland = 1\n[platform]\ncpus = 2\n\
                 [[task]]\nname = \"slow\"\nperiod = \"20ms\"\nwcet = \"5ms\"\n{slow}\n\
                 [[task]]\nname = \"fast\"\nperiod = \"5ms\"\nwcet = \"1ms\"\n{fast}\n\
                 [[task]]\nname = \"mid\"\nperiod = \"8ms\"\nwcet = \"2ms\"\n{mid}\n"
            );
            std::fs::write(&set, text).expect("the folder can be written");
            let (set, trace, seen) = (name(&set), name(&trace), name(&seen));
            let sim = ["sim", set, "-p", policy, "--until", "1s", "-o", trace, "-q"];
            let (exit, _, err) = said(&run(&sim));
            assert_eq!(exit, 0, "{err}");
            let (exit, _, err) = said(&run(&["trace", "infer", trace, "-o", seen]));
            assert_eq!(exit, 0, "{err}");
            let (exit, out, err) =
                said(&run(&["trace", "check", trace, "--set", seen, "-p", policy]));
            assert!(exit == 0 && out.contains("no violation"), "{policy} {varies}: {out}{err}");
        }
    }
}

#[test]
fn a_trace_that_is_too_large_is_refused_before_it_is_read() {
    let folder = folder("traces-large");
    let path = folder.join("large.txt");
    let file = std::fs::File::create(&path).expect("the folder can be written");
    // A sparse file needs no disk space.
    file.set_len(1 << 40).expect("a file can have a hole");
    let (exit, _, err) = said(&run(&["trace", "stats", name(&path)]));
    assert_eq!(exit, 3, "{err}");
    assert!(err.contains("is larger than 1 GiB"), "{err}");
    drop(std::fs::remove_file(&path));
}

/// Returns a trace in which a thread of the set preempts a worker whose switches the kernel does
/// not record, once in ten jobs. Its wake-up is then `early` microseconds before its first event.
fn unrecorded(early: i64) -> String {
    let mut text = Text::default();
    let (own, worker) = (("own", 51, 9), ("worker", 52, 120));
    for k in 0..20 {
        let at = k * 10_000;
        text.switch(at + 100, "R", if k % 10 == 5 { worker } else { Text::IDLE });
        text.wakes(at + 1_000 - early, own);
        if k % 10 == 5 {
            text.silently(own);
            text.wakes(at + 1_010, ("other", 60, 120));
        } else {
            text.switch(at + 1_005, "R", own);
        }
        text.switch(at + 3_000, "S", Text::IDLE);
    }
    text.into()
}

#[test]
fn no_verdict_hangs_on_an_instant_that_the_kernel_did_not_record() {
    let folder = folder("traces-unrecorded");
    let (trace, set) = (folder.join("run.txt"), folder.join("set.toml"));
    let (trace, set) = (name(&trace), name(&set));
    let text = "layland = 1\n[platform]\ncpus = 1\n[[task]]\nname = \"own\"\nperiod = \"10ms\"\n\
                wcet = \"2.5ms\"\npriority = 9\n";
    std::fs::write(set, text).expect("the folder can be written");
    std::fs::write(trace, unrecorded(2)).expect("the folder can be written");
    let check = |latency| {
        let args = ["trace", "check", trace, "--set", set, "-p", "p-fp", "--latency", latency];
        let output = run(&[&args[..], &["--json"]].concat());
        let document: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        (output.status.code(), document["source"].clone(), said(&output).2)
    };
    // The thread began within 12 us, which is less than the latency.
    let (exit, source, err) = check("50us");
    assert_eq!(exit, Some(0), "{err}");
    assert_eq!((&source["lost_events"], &source["unrecorded_switches"]), (&0.into(), &2.into()));
    let word = "2 switches to tasks are not recorded, and nothing is lost; the first: `own` began on CPU 0 \
                after `worker` between 100.050998 s and 100.051010 s";
    assert!(err.contains(word), "{err}");
    let (exit, out, _) = said(&run(&["trace", "stats", trace, "--set", set]));
    assert_eq!(exit, 0, "{out}");
    assert!(out.contains("0 events lost") && out.contains("2 switches not recorded"), "{out}");
    // The thread may have waited for 500 us, and it is unknown whether that is longer than the
    // latency.
    std::fs::write(trace, unrecorded(500)).expect("the folder can be written");
    let (exit, _, err) = check("505us");
    assert_eq!(exit, Some(6), "{err}");
    assert!(err.contains("it hangs on when a thread began"), "{err}");
}

#[test]
fn a_trace_under_sched_deadline_is_judged_by_its_servers() {
    let of =
        |name: &str| format!("{}/../../docs/guide/traces.in/{name}", env!("CARGO_MANIFEST_DIR"));
    let (trace, set) = (of("reserved.txt"), of("reserved.toml"));
    let check = |trace: &str, latency: &str| {
        let args = ["trace", "check", trace, "--set", &set, "-p", "dl", "--latency", latency];
        let output = run(&[&args[..], &["--json"]].concat());
        let document: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        (output.status.code(), document["reservations"].clone(), said(&output).2)
    };
    // This kernel checks budgets with its tick of 4 ms.
    let (exit, judged, err) = check(&trace, "5ms");
    assert_eq!(exit, Some(0), "{judged:#} {err}");
    for thread in judged["threads"].as_array().expect("there are threads") {
        assert_eq!(thread["kept"], "yes", "{thread}");
        assert!(thread["periods"].as_u64() >= Some(5), "{thread}");
    }
    let hog = &judged["threads"][1];
    assert!(hog["throttled"].as_u64() >= Some(5), "{hog}");
    let (exit, judged, _) = check(&trace, "100us");
    assert_eq!(exit, Some(1), "{judged:#}");
    assert!(judged["threads"][1]["exceeded"].as_u64() > Some(0), "{judged:#}");
    // Threads that had to wait for an ordinary one.
    let folder = folder("traces-reserved");
    let other = folder.join("other.txt");
    let text = std::fs::read_to_string(&trace).expect("it is there");
    let waits = text.lines().filter(|line| !line.contains("next_comm=camera"));
    let waits: String = waits.map(|line| format!("{line}\n")).collect();
    std::fs::write(&other, waits).expect("the folder can be written");
    let (exit, _, err) = check(name(&other), "5ms");
    assert_eq!(exit, Some(6), "{err}");
    assert!(err.contains("switches do not fit the ones before them, the first: at"), "{err}");
}
