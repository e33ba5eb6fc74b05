//! End-to-end tests of `layland trace infer`: `check` and `sim` accept its set unchanged, each
//! defect of a trace gives one clear error, and real threads are identified correctly.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/process.rs"]
mod process;

use process::{folder, name, run};
use serde_json::Value;
use std::fmt::Write;
use std::process::{Child, Command, Output, Stdio};

fn said(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// Returns a trace of a producer with a period of 9.9993 ms that wakes a consumer as its last
/// action, on two CPUs, and a thread that is not real-time.
fn pipeline() -> String {
    let mut text = String::from("# tracer: nop\n");
    for k in 0..120i64 {
        let begin = 50_000_000_000 + k * 9_999_300;
        let mut line = |us: i64, who: &str, cpu: u32, flags: &str, event: &str| {
            let at = begin + us * 1_000;
            let (seconds, rest) = (at / 1_000_000_000, at % 1_000_000_000);
            let _ = writeln!(text, "{who} [{cpu:03}] {flags} {seconds}.{rest:09}: {event}");
        };
        let switch = |prev: (&str, u32, u32), state: &str, next: (&str, u32, u32)| {
            format!(
                "sched_switch: prev_comm={} prev_pid={} prev_prio={} prev_state={state} ==> \
                 next_comm={} next_pid={} next_prio={}",
                prev.0, prev.1, prev.2, next.0, next.1, next.2
            )
        };
        let idle = |cpu| if cpu == 0 { ("swapper/0", 0, 120) } else { ("swapper/1", 0, 120) };
        let (sensor, filter, shell) = (("sensor", 70, 19), ("filter", 71, 39), ("sh", 72, 120));
        let varied = 1_000 + k * 7 % 200;
        line(0, "<idle>-0", 0, "d.h3.", "sched_waking: comm=sensor pid=70 prio=19 target_cpu=000");
        line(5, "<idle>-0", 0, "d..2.", &switch(idle(0), "R", sensor));
        line(
            varied,
            "sensor-70",
            0,
            "d..3.",
            "sched_waking: comm=filter pid=71 prio=39 target_cpu=001",
        );
        line(varied + 5, "sensor-70", 0, "d..2.", &switch(sensor, "S", idle(0)));
        line(varied + 8, "<idle>-0", 1, "d..2.", &switch(idle(1), "R", filter));
        line(varied + 2_008, "filter-71", 1, "d..2.", &switch(filter, "S", shell));
        line(varied + 2_100, "sh-72", 1, "d..2.", &switch(shell, "S", idle(1)));
    }
    text
}

#[test]
fn a_set_that_is_inferred_goes_through_check_and_sim() {
    let folder = folder("infer");
    let (trace, set) = (folder.join("run.txt"), folder.join("seen.toml"));
    std::fs::write(&trace, pipeline()).expect("the folder can be written");
    let (exit, out, err) = said(&run(&["trace", "infer", name(&trace), "-o", name(&set)]));
    assert_eq!(
        (exit, err.as_str()),
        (0, "left out 1 other thread: of the kernel, or of no real-time class\n")
    );
    assert!(out.contains("filter: Woken by `sensor` 120 of 120 times"), "{out}");
    assert!(out.contains("as its last act"), "{out}");
    let text = std::fs::read_to_string(&set).expect("it was written");
    for line in [
        "period = \"9.994ms\" # 9999.3us seen",
        "# Thread 70: sure, by 120 jobs; 100 % of the gaps between arrivals fit the period.",
        "priority = 19 # SCHED_FIFO or SCHED_RR 80; a smaller number is more important",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    let (exit, out, _) = said(&run(&["check", name(&set), "-p", "p-fp,p-edf", "--json"]));
    assert_eq!(exit, 0, "{out}");
    let (exit, out, _) = said(&run(&["sim", name(&set), "-p", "p-fp,p-edf", "--check"]));
    assert_eq!(exit, 0, "{out}");
    // Write to standard output, with a quantile, a margin and the measured values.
    let options = ["--wcet", "p50", "--factor", "2", "--round", "0%", "--affinity", "none"];
    let (exit, out, _) = said(&run(&[&["trace", "infer", name(&trace)][..], &options].concat()));
    assert_eq!(exit, 0);
    assert!(out.contains("period = \"9999.3us\" # as seen"), "{out}");
    assert!(out.contains("50 % of the jobs times 2"), "{out}");
    assert!(!out.contains("affinity ="), "{out}");
    // Select a thread by its name, regardless of its class.
    let (_, out, _) = said(&run(&["trace", "infer", name(&trace), "--thread", "^sh$"]));
    assert!(out.contains("name = \"sh\"") && !out.contains("sensor\""), "{out}");
    let (_, out, _) = said(&run(&["trace", "infer", name(&trace), "--tid", "71"]));
    assert!(out.contains("name = \"filter\"") && !out.contains("name = \"sensor\""), "{out}");
}

/// Returns a trace of a thread of SCHED_FIFO that waits for 4 ms in each period while a thread of
/// SCHED_DEADLINE, none of whose jobs ends visibly, occupies the CPU.
fn beside_a_server() -> String {
    let mut text = String::from("# tracer: nop\n");
    let (idle, server, control) = ("swapper/0:0:120", "server:11:-1", "control:12:59");
    let of = |side: &str, thread: &str| {
        let words: Vec<&str> = thread.split(':').collect();
        format!("{side}_comm={} {side}_pid={} {side}_prio={}", words[0], words[1], words[2])
    };
    for k in 0..30i64 {
        let mut line = |us: i64, who: &str, flags: &str, event: &str| {
            let at = 5_000_000 + k * 10_000 + us;
            let (seconds, rest) = (at / 1_000_000, at % 1_000_000);
            let _ = writeln!(text, "{who} [000] {flags} {seconds}.{rest:06}: {event}");
        };
        let switch = |prev: &str, state: &str, next: &str| {
            let (prev, next) = (of("prev", prev), of("next", next));
            format!("sched_switch: {prev} prev_state={state} ==> {next}")
        };
        line(0, "<idle>-0", "d.h4.", "sched_waking: comm=control pid=12 prio=59 target_cpu=000");
        line(0, "<idle>-0", "d..2.", &switch(idle, "R", server));
        line(4_000, "server-11", "d..2.", &switch(server, "R+", control));
        line(9_000, "control-12", "d..2.", &switch(control, "S", idle));
    }
    text
}

#[test]
fn what_a_set_does_not_explain_ends_every_promise() {
    let folder = folder("infer-unexplained");
    let (trace, set) = (folder.join("run.txt"), folder.join("seen.toml"));
    std::fs::write(&trace, beside_a_server()).expect("the folder can be written");
    let what = "under p-fp `control` takes at most 5 ms, and a job took 9 ms; `server (11)`, SCHED_DEADLINE, had the \
                CPU for up to 4 ms of a wait";
    let told = format!("the trace shows what the set does not explain: {what}");
    let (exit, _, err) = said(&run(&["trace", "infer", name(&trace), "-o", name(&set)]));
    assert_eq!(exit, 0, "{err}");
    assert!(err.replace("\n  ", " ").contains(&told), "{err}");
    let (_, out, _) = said(&run(&["trace", "infer", name(&trace), "--json"]));
    let document: Value = serde_json::from_str(&out).expect("it is JSON");
    assert_eq!(document["unexplained"], serde_json::json!([what]));
    let text = std::fs::read_to_string(&set).expect("it was written");
    assert!(text.contains("[provenance]\nseen = \"299ms\"\nunexplained = ["), "{text}");
    let check = |set: &str, options: &[&str]| said(&run(&[&["check", set][..], options].concat()));
    // The contradiction appears in every form of output.
    let policies = ["-p", "p-fp,p-edf,dl"];
    let (exit, out, err) = check(name(&set), &[&policies[..], &["--bounds"]].concat());
    assert_eq!(exit, 4, "{out}");
    assert!(!out.contains(" yes ") && out.matches("unknown").count() == 3, "{out}");
    assert!(out.contains("the trace shows what the set does not explain"), "{out}");
    assert!(out.contains("inferred from a trace of 299 ms: a longer trace may show longer jobs"));
    assert!(err.contains("the trace shows what the set does not explain"), "{err}");
    let (exit, out, _) = check(name(&set), &[]);
    assert!(exit == 4 && out.contains("the trace shows what the set does not explain"), "{out}");
    let (exit, out, _) = check(name(&set), &[&policies[..], &["--json"]].concat());
    let document: Value = serde_json::from_str(&out).expect("it is JSON");
    assert_eq!(exit, 4);
    assert_eq!(document["set"]["seen"]["unexplained"], serde_json::json!([what]));
    for policy in document["policies"].as_array().expect("a list") {
        assert_eq!(policy["verdict"], "unknown");
        assert_eq!(policy["reasons"], serde_json::json!([told]));
        let bounds = policy["bounds"].as_array().expect("a list");
        assert!(bounds.iter().all(|bound| bound["kind"] == "unknown"), "{bounds:?}");
    }
    let (_, out, _) = check(name(&set), &["-p", "p-fp", "--certificate", "-"]);
    assert!(out.contains("the trace shows what the set does not explain"), "{out}");
    // Test several lines of sets.
    let (_, lines, _) = said(&run(&["convert", name(&set), "--to", "jsonl"]));
    let several = folder.join("several.jsonl");
    std::fs::write(&several, lines.repeat(8)).expect("the folder can be written");
    let (exit, out, _) = check(name(&several), &["-p", "p-fp", "--json"]);
    assert_eq!((exit, out.matches("\"verdict\":\"unknown\"").count()), (4, 8), "{out}");
    assert_eq!(out.lines().filter(|line| line.contains(&told)).count(), 8, "{out}");
    // The contradiction is reported until a user removes it from the file.
    let kept = text.lines().filter(|line| !line.starts_with("unexplained = "));
    std::fs::write(&set, kept.collect::<Vec<_>>().join("\n")).expect("it can be written");
    let (exit, out, _) = check(name(&set), &policies);
    assert_eq!(exit, 0, "{out}");
    assert!(out.contains("inferred from a trace of 299 ms"), "{out}");
}

/// Four jobs of 0.1 ms within 3 ms in every 40 ms, up to 4 ms late, and a thread of less importance that works for 5 ms
/// in every 40 ms.
fn batches() -> String {
    let mut text = String::from("# tracer: nop\n");
    let mut job = |at: i64, length: i64, (name, pid, prio): (&str, u32, u32)| {
        let mut line = |at: i64, who: &str, flags: &str, event: &str| {
            let (seconds, rest) = ((5_000_000 + at) / 1_000_000, (5_000_000 + at) % 1_000_000);
            let _ = writeln!(text, "{who} [000] {flags} {seconds}.{rest:06}: {event}");
        };
        let idle = "comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R";
        let waking = format!("sched_waking: comm={name} pid={pid} prio={prio} target_cpu=000");
        line(at, "<idle>-0", "d.h4.", &waking);
        let begins = format!("prev_{idle} ==> next_comm={name} next_pid={pid} next_prio={prio}");
        line(at, "<idle>-0", "d..2.", &format!("sched_switch: {begins}"));
        let ends = format!("prev_comm={name} prev_pid={pid} prev_prio={prio} prev_state=S ==>");
        let idle = "next_comm=swapper/0 next_pid=0 next_prio=120";
        let who = format!("{name}-{pid}");
        line(at + length, &who, "d..2.", &format!("sched_switch: {ends} {idle}"));
    };
    for k in 0..30 {
        (0..4).for_each(|n| {
            job(k * 40_000 + k * k % 5 * 1_000 + n * 1_000, 100, ("network", 41, 39))
        });
        job(k * 40_000 + 20_000, 5_000, ("control", 42, 59));
    }
    text
}

#[test]
fn bursts_are_jitter_and_are_guaranteed() {
    let folder = folder("infer-bursts");
    let (trace, set) = (folder.join("run.txt"), folder.join("seen.toml"));
    std::fs::write(&trace, batches()).expect("the folder can be written");
    let (exit, out, err) = said(&run(&["trace", "infer", name(&trace), "-o", name(&set)]));
    assert_eq!(exit, 0, "{err}");
    let words = "network: Its bursts are jitter: jobs come one a period in the long run, and up to 4 within one.";
    assert!(out.replace("\n  ", " ").contains(words), "{out}");
    let text = std::fs::read_to_string(&set).expect("it was written");
    for line in [
        "# Thread 41: likely, by 120 jobs; it comes in bursts.",
        "period = \"9.781ms\" # of bursts, up to the mean gap, 9.78 ms; least 1 ms, 95 % are at least 1 ms, most 40 ms",
        "deadline = \"66.99ms\" # a period and twice the jitter: it is kept as long as a burst is over",
        "jitter = \"28.6ms\" # the least with which the period allows every burst",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    let (_, out, _) = said(&run(&["trace", "infer", name(&trace), "--json"]));
    let document: Value = serde_json::from_str(&out).expect("it is JSON");
    assert_eq!(document["tasks"][0]["seen"]["pattern"], "bursts");
    let (exit, out, _) = said(&run(&["check", name(&set), "-p", "p-fp", "--json", "--bounds"]));
    let document: Value = serde_json::from_str(&out).expect("it is JSON");
    assert_eq!((exit, document["policies"][0]["verdict"].as_str()), (0, Some("yes")), "{out}");
    let bounds = document["policies"][0]["bounds"].as_array().expect("a list");
    let seen = [("network", 100_000), ("control", 5_000_000)];
    for (name, response) in seen {
        let bound = bounds.iter().find(|bound| bound["task"] == name).expect("it has a bound");
        assert!(bound["ns"].as_i64() >= Some(response), "{bound}");
    }
}

/// Returns a trace of two threads of SCHED_DEADLINE on one CPU, with 4 ms in every 20 ms and in
/// every 10 ms. The first has a relative deadline of 6 ms, and runs first if both arrive together.
fn constrained() -> String {
    let mut text = String::from("# tracer: nop\n");
    let (idle, a, b) = ("swapper/0:0:120", "a:11:-1", "b:12:-1");
    let of = |side: &str, thread: &str| {
        let words: Vec<&str> = thread.split(':').collect();
        format!("{side}_comm={} {side}_pid={} {side}_prio={}", words[0], words[1], words[2])
    };
    for k in 0..40i64 {
        let mut line = |us: i64, who: &str, event: &str| {
            let at = 5_000_000 + k * 10_000 + us;
            let (seconds, rest) = (at / 1_000_000, at % 1_000_000);
            let _ = writeln!(text, "{who} [000] d..2. {seconds}.{rest:06}: {event}");
        };
        let switch = |prev: &str, state: &str, next: &str| {
            let (prev, next) = (of("prev", prev), of("next", next));
            format!("sched_switch: {prev} prev_state={state} ==> {next}")
        };
        let wakes = |name: &str, pid: u32| {
            format!("sched_waking: comm={name} pid={pid} prio=-1 target_cpu=000")
        };
        line(0, "<idle>-0", &wakes("b", 12));
        if k % 2 == 0 {
            line(0, "<idle>-0", &wakes("a", 11));
            line(0, "<idle>-0", &switch(idle, "R", a));
            line(4_000, "a-11", &switch(a, "S", b));
            line(8_000, "b-12", &switch(b, "S", idle));
        } else {
            line(0, "<idle>-0", &switch(idle, "R", b));
            line(4_000, "b-12", &switch(b, "S", idle));
        }
    }
    text
}

#[test]
fn what_is_reserved_is_told_by_a_set() {
    let folder = folder("infer-reserved");
    let files = ["run.txt", "seen.toml", "reserved.toml"].map(|file| folder.join(file));
    let [trace, seen, reserved] = files.each_ref().map(|path| name(path));
    std::fs::write(trace, constrained()).expect("the folder can be written");
    let of = |a: &str, b: &str| {
        let set = format!(
            "layland = 1\n[platform]\ncpus = 1\n[[task]]\nname = \"first\"\nthread = \"a|c\"\n{a}\
             [[task]]\nname = \"b\"\n{b}"
        );
        std::fs::write(reserved, set).expect("it can be written");
        let infer = ["trace", "infer", trace, "--deadline-of", reserved, "-o", seen];
        let (exit, _, err) = said(&run(&infer));
        assert_eq!(exit, 0, "{err}");
        let text = std::fs::read_to_string(seen).expect("it was written");
        (text, said(&run(&["check", seen, "-p", "dl,p-edf", "--bounds"])))
    };
    let (text, (exit, out, _)) = of(
        "period = \"20ms\"\nwcet = \"4.5ms\"\ndeadline = \"6ms\"\n",
        "period = \"10ms\"\nwcet = \"4ms\"\nbudget = \"4.2ms\"\n",
    );
    let words = "# SCHED_DEADLINE: 4.5 ms of every 20 ms are reserved, within 6 ms.";
    assert!(
        text.contains(words) && text.contains("deadline = \"6ms\" # as it is reserved"),
        "{text}"
    );
    assert!(text.contains("budget = \"4.5ms\"") && text.contains("budget = \"4.2ms\""), "{text}");
    // The densities exceed 1, and QPA decides EDF on one CPU.
    assert!(exit == 0 && out.contains("│ dl       yes          QPA"), "{out}");
    // A thread that wakes up more often than once in its server's period.
    let (text, _) =
        of("period = \"20ms\"\nwcet = \"4.5ms\"\n", "period = \"20ms\"\nwcet = \"8ms\"\n");
    assert!(
        text.contains("name = \"b\"\nperiod = \"20ms\"") && text.contains("jitter = "),
        "{text}"
    );
    let (_, out, _) = said(&run(&["trace", "infer", trace, "--deadline-of", reserved, "--json"]));
    let document: Value = serde_json::from_str(&out).expect("it is JSON");
    let of_b = &document["tasks"][1]["seen"]["reserved"];
    assert_eq!(of_b["runtime_ns"], 8_000_000, "{document}");
    // The clock of the trace is a little fast: the set is one that the kernel would grant.
    let (text, (exit, out, err)) = of(
        "period = \"20ms\"\nwcet = \"4.5ms\"\ndeadline = \"6ms\"\n",
        "period = \"10.05ms\"\nwcet = \"4.2ms\"\n",
    );
    assert!(text.contains("period = \"10.05ms\" # as it is reserved; 10 ms seen"), "{text}");
    assert!(exit == 0 && out.contains("│ dl       yes"), "{out}{err}");
    // Without --deadline-of, the reservation is unknown.
    let (_, out, _) = said(&run(&["trace", "infer", trace]));
    assert!(
        out.contains("events do not contain its runtime, deadline and period; --deadline-of does.")
    );
}

#[test]
fn what_is_wrong_is_told_once_and_with_its_line() {
    let folder = folder("infer-errors");
    let path = folder.join("run.txt");
    let file = name(&path);
    let infer = |text: &str, options: &[&str]| {
        std::fs::write(&path, text).expect("the folder can be written");
        said(&run(&[&["trace", "infer", file][..], options].concat()))
    };
    let one_error = |(exit, out, err): (i32, String, String), code: i32, what: &str| {
        assert_eq!((exit, out.as_str()), (code, ""), "{err}");
        assert!(err.starts_with("error: "), "{err}");
        // An error in a regular expression contains the error of the parser.
        let told = err.lines().filter(|line| line.starts_with("error: ")).count();
        assert!(told == 1 || err.contains("regex parse error"), "{err}");
        assert!(err.contains(what), "{what} is not in {err}");
    };
    one_error(infer("", &[]), 3, "no line is an event of the scheduler: it is empty");
    one_error(infer("# a comment\nhello\n", &[]), 3, "(line 2 is not)");
    let no_cpu = "x 7 12.000345: sched:sched_switch: prev_comm=a\n";
    one_error(infer(no_cpu, &[]), 3, "line 1 does not say on which CPU it happened");
    one_error(infer(&pipeline(), &["--thread", "nobody"]), 3, "no thread has such a name or id");
    one_error(infer(&pipeline(), &["--thread", "("]), 2, "--thread is not a regular expression");
    one_error(infer(&pipeline(), &["--factor", "0"]), 2, "the factor of the WCET is above 0");
    for (option, value) in [("--wcet", "p0"), ("--wcet", "most"), ("--round", "11%")] {
        one_error(infer(&pipeline(), &[option, value]), 2, "write ");
    }
    let short: String = pipeline().lines().take(9).map(|line| format!("{line}\n")).collect();
    one_error(infer(&short, &[]), 3, "three are required");
    one_error(infer("{}", &[]), 3, "run.txt");
    // Lost events are reported, and the set is still written.
    let lost = format!("{}CPU:1 [LOST 12 EVENTS]\n", pipeline());
    let (exit, out, err) = infer(&lost, &[]);
    assert_eq!(exit, 6);
    assert!(err.contains("the kernel dropped 12 events"), "{err}");
    assert!(out.contains("# The trace is damaged: 12 events lost"), "{out}");
    let damaged = pipeline().replacen("sched_switch: prev_comm=sensor", "sched_switch: x", 1);
    let (exit, _, err) = infer(&damaged, &[]);
    assert_eq!(exit, 6);
    assert!(err.contains("1 line is not an event: line"), "{err}");
}

/// Loops of the class SCHED_IDLE, one for each CPU: some virtual machines do not trace events while
/// a CPU is idle.
struct Busy(Vec<Child>);

impl Busy {
    fn everywhere() -> Busy {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let spin = "while :; do :; done";
        let start = |cpu: usize| {
            let cpu = cpu.to_string();
            // The loop ends by itself if the test is killed.
            let arguments = ["60", "taskset", "-c", &cpu, "chrt", "--idle", "0", "sh", "-c", spin];
            Command::new("timeout").args(arguments).stderr(Stdio::null()).spawn().ok()
        };
        Busy((0..cpus).filter_map(start).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // `timeout` forwards SIGTERM; SIGKILL would leave the loop running.
            let _ = Command::new("kill").arg(child.id().to_string()).status();
            let _ = child.wait();
        }
    }
}

/// Records rt-app with perf: threads with known periods and priorities.
#[test]
fn real_threads_are_seen_as_what_they_are() {
    let starts = |program: &str| {
        let mut command = Command::new(program);
        command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
    };
    if !starts("perf") || !starts("rt-app") {
        common::skipped("perf and rt-app");
        return;
    }
    let folder = folder("infer-real");
    let (program, data) = (folder.join("program.json"), folder.join("run.data"));
    let thread = |priority: u32, run: u32, period: u32| {
        serde_json::json!({
            "policy": "SCHED_FIFO", "priority": priority, "loop": -1, "run": run,
            "timer": {"ref": format!("timer{priority}"), "period": period, "mode": "absolute"},
        })
    };
    let document = serde_json::json!({
        "tasks": {"fast": thread(60, 300, 10_000), "slow": thread(50, 1_000, 40_000)},
        "global": {
            "duration": 3, "calibration": 100, "default_policy": "SCHED_OTHER",
            "logdir": name(&folder), "log_basename": "log",
        },
    });
    std::fs::write(&program, document.to_string()).expect("the folder can be written");
    let events = "sched:sched_switch,sched:sched_waking,sched:sched_wakeup_new";
    let busy = Busy::everywhere();
    let recorded = Command::new("perf")
        .args(["record", "-q", "-a", "-e", events, "-o", name(&data), "rt-app", name(&program)])
        .output()
        .expect("perf starts");
    drop(busy);
    if !recorded.status.success() {
        common::skipped("perf that may trace the scheduler");
        return;
    }
    let output = run(&["trace", "infer", name(&data), "--thread", "(fast|slow).*", "--json"]);
    // If the loops do not keep a CPU busy, most of its events are missing in the trace.
    let told = String::from_utf8_lossy(&output.stderr);
    if told.contains("three are required") || told.contains("of its jobs lack switches") {
        common::skipped("tracepoints that see what the idle thread of each CPU does");
        return;
    }
    // The tracepoints of some virtual machines miss switches. The jobs around them are left out
    // with a warning.
    assert!(matches!(output.status.code(), Some(0 | 6)), "{output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let tasks = document["tasks"].as_array().expect("a list");
    if tasks.iter().any(|task| task["class"] != "fifo or rr") {
        common::skipped("SCHED_FIFO for rt-app");
        return;
    }
    let seen: Vec<(&str, i64, i64)> = tasks
        .iter()
        .map(|task| {
            let number = |key: &str| task[key].as_i64().expect("a number");
            (task["name"].as_str().expect("a name"), number("class_priority"), number("period_ns"))
        })
        .collect();
    let [(first, 60, fast), (second, 50, slow)] = seen.as_slice() else { panic!("{document:#}") };
    assert!(first.starts_with("fast") && second.starts_with("slow"), "{document:#}");
    // Other load may delay the threads so much that their period changes for good. The usual gap
    // between jobs stays.
    for (found, meant) in [(fast, 10_000_000i64), (slow, 40_000_000)] {
        assert!((found - meant).abs() * 20 <= meant, "{document:#}");
    }
}

/// Starts a Python loop that works for 5 ms in every 20 ms, and infers it while it runs.
#[test]
fn what_runs_now_is_inferred() {
    let script = "import time\n\
        next = time.monotonic()\n\
        while True:\n  \
          end = time.thread_time() + 0.005\n  \
          while time.thread_time() < end: pass\n  \
          next += 0.02\n  \
          time.sleep(max(0, next - time.monotonic()))\n";
    let child = Command::new("python3").args(["-c", script]).spawn();
    let Ok(mut child) = child else { return common::skipped("python3") };
    let pid = child.id().to_string();
    let output = run(&["trace", "infer", "--live", "2s", "--tid", &pid, "--json"]);
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    let told = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(5) => return common::skipped("tracefs, to see what runs"),
        Some(3) if told.contains("three are required") => {
            return common::skipped("tracepoints that see what the idle thread of each CPU does");
        }
        Some(0 | 6) => {}
        _ => panic!("{output:?}"),
    }
    let document: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let task = &document["tasks"][0];
    assert_eq!(task["thread"].to_string(), pid, "{document:#}");
    // The thread is an ordinary one, which others delay.
    assert!(task["wcet_ns"].as_i64() >= Some(5_000_000), "{document:#}");
    let both = run(&["trace", "infer", "run.txt", "--live", "1s"]);
    assert_eq!(both.status.code(), Some(2), "{both:?}");
}
