//! Tests `layland daemon` and its clients on a real kernel: existing programs under our policies,
//! with affinities; and the state after one of them was killed.
//!
//! The emulator executes one CPU at a time, in turns: when three are busy, the same work takes
//! three times as long, and sometimes longer. So programs reserve a multiple of their requirements,
//! the machine receives no commands meanwhile, and a hog beside others may get less than its
//! budget, but never more.

use crate::{Ready, ready_for_ext, until};
use layland_system_tests::{Booted, CommandRun, Kernel};
use serde_json::Value;

/// Keeps all other threads on the first CPU, as ordinary threads come before those of sched_ext.
fn start(cpus: &str) -> String {
    format!(
        "layland daemon --socket /tmp/ext.socket --on-cpus {cpus} --log /tmp/ext.log >/tmp/daemon.out 2>&1 & \
         echo $! >/tmp/daemon.pid; while ! grep -q CPUs /tmp/daemon.out; do sleep 0.1; done"
    )
}

/// A command line of a client.
fn client(options: &str) -> String {
    format!("taskset 1 layland exec --socket /tmp/ext.socket --engine ext {options}")
}

/// A command line of a client that runs a program.
fn exec(options: &str, program: &str) -> String {
    format!("{} -- {program}", client(options))
}

/// The commands, on three CPUs from `first` on.
#[expect(clippy::too_many_lines, reason = "a script, a command a paragraph")]
fn commands(first: u32) -> Vec<(&'static str, String)> {
    let [a, b, c] = [first, first + 1, first + 2];
    let all = format!("{a}-{c}");
    // The mask in the format of `taskset`.
    let mask = format!("{:x}", 1 << a);
    let hog = |dl: &str, ms: u32| {
        exec(&format!("-q --on-cpus {a} --dl {dl} --name hog"), &format!("workload hog {ms}"))
    };
    // The thread that works, and not the client whose command line contains the same words.
    let victim = "victim=$(busybox pidof workload)";
    // Prints its class once it is this one, or after some seconds: 0 is SCHED_OTHER, and 7 is
    // SCHED_EXT.
    let class = |number: u32| {
        format!(
            "i=0; while class=$(busybox cut -d' ' -f41 /proc/$victim/stat); \
             [ $class != {number} ] && [ $i -lt 300 ]; do sleep 0.1; i=$((i + 1)); done; echo class $class"
        )
    };
    let [ours, ordinary] = [class(7), class(0)];
    vec![
        ("start", start(&all)),
        // Alone, and limited to a fifth of its CPU.
        ("hog", hog("2ms/10ms", 2_000)),
        // Hogs and programs that keep to their reservations, on the same CPUs.
        (
            "beside",
            format!(
                "({}) >/tmp/hog1 2>&1 & a=$!; ({}) >/tmp/hog2 2>&1 & b=$!; ({}) >/tmp/other 2>&1 & c=$!; ({}) & d=$!; \
                 wait $d; code=$?; layland exec --list; wait $a $b $c; cat /tmp/hog1 /tmp/hog2 /tmp/other; \
                 exit $code",
                hog("2ms/10ms", 3_500),
                exec(&format!("-q --on-cpus {b} --dl 10ms/20ms --name greedy"), "workload hog 3500"),
                exec(&format!("-q --on-cpus {b} --dl 4ms/20ms --name other"), "workload periodic 500 20000 100 4000"),
                exec(&format!("-q --on-cpus {a} --dl 4ms/10ms --name ctl"), "workload periodic 500 10000 150 4000"),
            ),
        ),
        ("idle", until("disabled")),
        // Threads that may use every CPU: two on three CPUs, and a hog.
        (
            "wide",
            format!(
                "({}) & a=$!; ({}) & b=$!; sleep 0.5; {}; code=$?; wait $a $b; exit $code",
                exec(&format!("-q --on-cpus {all} --dl 8ms/20ms --name free"), "workload hog 2500"),
                exec(&format!("-q --on-cpus {all} --dl 8ms/20ms --name second"), "workload periodic 1200 20000 80 8000"),
                exec("-q --dl 4ms/20ms --name third", "workload periodic 600 20000 80 4000"),
            ),
        ),
        // A thread of the class that was not admitted gets the rest of its CPU that the admitted
        // ones leave.
        (
            "stranger",
            format!(
                "({}) >/tmp/hog1 & a=$!; {}; (taskset {mask} workload stranger 1500) >/tmp/stranger & b=$!; {}; code=$?; \
                 wait $a $b; echo hog $(cat /tmp/hog1) stranger $(cat /tmp/stranger); exit $code",
                hog("5ms/10ms", 2_500),
                until("enabled"),
                exec(&format!("-q --on-cpus {a} --dl 3ms/10ms --name ctl"), "workload periodic 1000 10000 100 3000"),
            ),
        ),
        // A request that exceeds the capacity is rejected; and a dry run admits nothing.
        (
            "full",
            format!(
                "({}) & a=$!; sleep 1; {}; code=$?; wait $a; exit $code",
                hog("5ms/10ms", 2_000),
                exec(&format!("--on-cpus {a} --dl 6ms/10ms --name more"), "workload hog 100 2>&1"),
            ),
        ),
        ("dry", exec(&format!("--on-cpus {a} --dl 2ms/10ms --dry-run"), "workload hog 100")),
        // A user has a limited share, and cannot use threads of other users.
        (
            "user",
            format!(
                "workload as 1000 {}",
                exec(&format!("-q --on-cpus {b} --dl 3ms/10ms"), "workload periodic 1000 10000 50 3000")
            ),
        ),
        (
            "share",
            format!(
                "workload as 1000 {}",
                exec(&format!("--on-cpus {b} --dl 7ms/10ms"), "workload hog 100 2>&1")
            ),
        ),
        (
            "foreign",
            "workload as 1000 layland exec --socket /tmp/ext.socket --engine ext --pid 1 --dl 1ms/10ms"
                .to_owned(),
        ),
        // The kernel's record of the program, in a file.
        (
            "report",
            format!(
                "{}; layland trace stats /tmp/seen.json --json; ls /sys/kernel/tracing/instances",
                exec(
                    &format!("-q --on-cpus {a} --dl 3ms/10ms --name seen -o /tmp/seen.json"),
                    "workload periodic 1000 10000 30 3000"
                )
            ),
        ),
        // A process that is killed leaves nothing behind.
        (
            "client",
            format!(
                "{} & a=$!; {}; {victim}; kill -9 $a; wait $a; {}; busybox pidof workload && echo LEFT; exit 0",
                exec(&format!("-q --on-cpus {a} --dl 2ms/10ms"), "workload hog 20000"),
                until("enabled"),
                until("disabled"),
            ),
        ),
        (
            "program",
            format!(
                "{} & a=$!; {}; {victim}; sleep 0.5; kill -9 $victim; wait $a; code=$?; {}; exit $code",
                exec(&format!("-q --on-cpus {a} --dl 2ms/10ms"), "workload hog 20000"),
                until("enabled"),
                until("disabled"),
            ),
        ),
        (
            "leave",
            format!(
                "{} & a=$!; {}; sleep 0.3; {victim}; {ours}; layland exec --socket /tmp/ext.socket --leave hog; {}; \
                 {ordinary}; taskset -p $victim; kill -9 $victim; wait $a; exit 0",
                hog("2ms/10ms", 20_000),
                until("enabled"),
                until("disabled"),
            ),
        ),
        // A service that runs already: the threads of its control group join, and are released.
        (
            "group",
            format!(
                "mkdir /sys/fs/cgroup/svc; \
                 sh -c 'echo $$ >/sys/fs/cgroup/svc/cgroup.procs; exec workload hog 20000' & h=$!; sleep 0.5; \
                 {{ {}; }} & a=$!; {}; sleep 0.5; {victim}; {ours}; \
                 layland exec --socket /tmp/ext.socket --leave svc; {}; {ordinary}; kill -9 $h; wait $a; exit 0",
                client(&format!("-q --on-cpus {a} --dl 2ms/10ms --cgroup svc")),
                until("enabled"),
                until("disabled"),
            ),
        ),
        // Only one scheduler can be loaded: an error names the other one, on either side.
        (
            "second",
            format!(
                "layland run six.toml --engine ext --until 3s >/dev/null 2>&1 & a=$!; {}; {}; code=$?; wait $a; exit $code",
                until("enabled"),
                exec(&format!("--on-cpus {a} --dl 2ms/10ms"), "workload hog 100"),
            ),
        ),
        (
            "other",
            format!(
                "({}) & a=$!; {}; layland run six.toml --engine ext --until 1s; code=$?; wait $a; exit $code",
                hog("2ms/10ms", 3_000),
                until("enabled"),
            ),
        ),
        (
            "log",
            format!(
                "busybox rm /tmp/ext.log; {}; i=0; while ! [ -e /tmp/ext.log ] && [ $i -lt 300 ]; do sleep 0.1; i=$((i + 1)); done",
                hog("2ms/10ms", 500)
            ),
        ),
        ("replay", "layland run --replay /tmp/ext.log".to_owned()),
        (
            "daemon",
            format!(
                "{} & a=$!; {}; sleep 0.3; {victim}; kill -9 $(cat /tmp/daemon.pid); {}; sleep 1; {ordinary}; \
                 taskset -p $victim; layland exec --list; kill -9 $victim; wait $a; layland doctor --clean >/dev/null; exit 0",
                exec(&format!("-q --on-cpus {a} --dl 2ms/10ms"), "workload hog 20000"),
                until("enabled"),
                until("disabled"),
            ),
        ),
        ("gone", exec(&format!("--on-cpus {a} --dl 2ms/10ms"), "workload hog 100")),
        // A service manager holds the socket, and starts the daemon when a client connects.
        (
            "activated",
            format!(
                "workload activate /tmp/given.socket layland daemon --on-cpus {all} >/tmp/given.out 2>&1 & a=$!; \
                 while ! [ -e /tmp/given.socket ]; do sleep 0.1; done; sleep 0.3; cat /tmp/given.out; \
                 {}; code=$?; kill $a; wait $a; cat /tmp/given.out; exit $code",
                exec(&format!("-q --on-cpus {a} --dl 3ms/10ms"), "workload periodic 1000 10000 20 3000")
                    .replace("/tmp/ext.socket", "/tmp/given.socket"),
            ),
        ),
        ("said", "cat /tmp/daemon.out".to_owned()),
    ]
}

const SIX: &str = r#"layland = 1
platform.cpus = 3
task = [
  { name = "a", period = "100ms", wcet = "20ms" },
  { name = "b", period = "120ms", wcet = "40ms" },
]
"#;

#[test]
fn programs_under_a_policy_of_ours_on_other_kernels() {
    let Some(Ready { guest, layland }) = ready_for_ext() else { return };
    // Scripts check programs after fixed times, which are too short for a machine of half the
    // speed.
    let mut guest = guest.clone();
    guest.shift = 1;
    // The short form leaves PREEMPT_RT to runs (`ext.rs`): a manager that polls there keeps the
    // emulator busy, so that this boot would take the longest of all.
    for kernel in guest.chosen(&["7.3"], &["7.3", "7.3-rt"]) {
        eprintln!("{}: {}", kernel.label, kernel.package);
        // Under PREEMPT_RT the manager polls, and has the second CPU to itself.
        let first = if kernel.label.ends_with("-rt") { 2 } else { 1 };
        let commands = commands(first);
        let commands: Vec<(&str, &str)> =
            commands.iter().map(|(name, line)| (*name, line.as_str())).collect();
        let booted = guest
            .boot(kernel, first + 3, layland, &[("six.toml", SIX)], &commands)
            .expect("QEMU runs");
        for ran in &booted.ran {
            eprintln!("{ran}");
        }
        judge(kernel, &booted, first);
    }
}

/// The number after a word in the output.
fn number(ran: &CommandRun, word: &str) -> u64 {
    let mut words = ran.output.split([' ', '\n']).skip_while(|found| *found != word);
    words
        .nth(1)
        .and_then(|number| number.parse().ok())
        .unwrap_or_else(|| panic!("no {word}: {ran}"))
}

/// The shares of the hog and of the stranger.
fn shares(ran: &CommandRun) -> (u64, u64) {
    let line = ran.output.lines().find(|line| line.starts_with("hog share"));
    let words: Vec<&str> = line.unwrap_or_default().split(' ').collect();
    let number = |place: usize| words.get(place).and_then(|word| word.parse().ok());
    match (number(2), number(5)) {
        (Some(hog), Some(stranger)) => (hog, stranger),
        _ => panic!("no shares: {ran}"),
    }
}

/// Returns true if `programs` programs with `jobs` jobs were hardly ever late while they kept to their
/// budgets, as they did most of the time.
fn were_in_time(ran: &CommandRun, programs: usize, jobs: u32) -> bool {
    let end = format!(" of {jobs}, ");
    let number = |text: &str| text.split(' ').next()?.parse::<u32>().ok();
    let is_in_time = |line: &&str| {
        let late = line.strip_prefix("late ").and_then(number);
        let over = line.split_once(&end).and_then(|(_, rest)| number(rest));
        // The emulator stands still while its host does other work: one job in fifty may be late.
        late.is_some_and(|late| late * 50 <= jobs) && over.is_some_and(|over| over * 4 <= jobs)
    };
    ran.output.lines().filter(is_in_time).count() == programs
}

fn judge(kernel: &Kernel, booted: &Booted, first: u32) {
    let label = &kernel.label;
    for ran in &booted.ran {
        for left in ["NOT-", "LEFT", "has a bug"] {
            assert!(!ran.output.contains(left), "{label}: {ran}");
        }
    }
    let code = |name: &str, expected: i32| {
        let ran = booted.ran(name);
        assert_eq!(ran.code, Some(expected), "{label}: {ran}");
        ran
    };
    let in_time = |ran: &CommandRun, programs: usize, jobs: u32| {
        assert!(were_in_time(ran, programs, jobs), "{label}: {ran}");
    };
    let says =
        |ran: &CommandRun, sought: &str| assert!(ran.output.contains(sought), "{label}: {ran}");
    code("start", 0);
    // Its share, in thousandths of a CPU: its budget, and not more.
    let alone = number(code("hog", 0), "share");
    assert!((140..=205).contains(&alone), "{label}: {alone}");
    let beside = code("beside", 0);
    in_time(beside, 1, 150);
    in_time(beside, 1, 100);
    for name in ["hog", "greedy"] {
        says(beside, name);
    }
    says(beside, "SCHED_EXT");
    code("idle", 0);
    let wide = code("wide", 0);
    in_time(wide, 2, 80);
    let free = number(wide, "share");
    assert!((100..=410).contains(&free), "{label}: {free}");
    let stranger = code("stranger", 0);
    in_time(stranger, 1, 100);
    let (of_hog, of_stranger) = shares(stranger);
    assert!(
        (400..=505).contains(&of_hog) && (50..=420).contains(&of_stranger),
        "{label}: {stranger}"
    );
    says(code("full", 1), "cannot be guaranteed");
    code("dry", 0);
    in_time(code("user", 0), 1, 50);
    says(code("share", 1), "a user may have");
    says(code("foreign", 5), "belongs to user 0");
    let report = code("report", 0);
    in_time(report, 1, 30);
    let (_, stats) = report.output.split_at(report.output.find('{').unwrap_or_default());
    let stats: Value = serde_json::from_str(stats).unwrap_or_else(|_| panic!("{label}: {report}"));
    let seen = &stats["summary"]["tasks"][0];
    assert_eq!(seen["name"], "seen", "{label}: {report}");
    assert!(seen["completed"].as_u64() >= Some(30), "{label}: {report}");
    code("client", 0);
    code("program", 137);
    let left = code("leave", 0);
    says(left, "class 7\nclass 0");
    says(left, "mask: 1");
    says(code("group", 0), "class 7\nclass 0");
    says(code("second", 5), "layland run six.toml");
    says(code("other", 5), "is loaded");
    says(code("replay", 0), "all as in the log");
    says(code("daemon", 0), "class 0");
    says(booted.ran("daemon"), "mask: 1");
    code("gone", 5);
    let activated = code("activated", 0);
    in_time(activated, 1, 20);
    let announced = format!("layland daemon: CPUs {first}-{}", first + 2);
    assert_eq!(activated.output.matches(&announced).count(), 1, "{label}: {activated}");
}
