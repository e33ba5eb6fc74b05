//! `layland daemon` and its clients on a real kernel: programs that exist, under a policy of ours, with affinities;
//! and what is left when one of them is killed.
//!
//! The emulator executes one CPU at a time, for a while each: where three are busy, the same work takes three times as
//! long, and now and then longer. So programs have reserved a multiple of what they need, the machine is asked nothing
//! meanwhile, and a hog beside others may get less than its budget, never more.
//!
//! Needs what `ext.rs` needs.

use layland_system_tests::{
    Booted, Guest, Kernel, Profile, Ran, carries_ext, past_the_harness, static_layland,
    static_workload,
};
use std::path::Path;

/// Everything else of the machine keeps to its first CPU, as ordinary threads come before those of sched_ext.
const START: &str = "layland daemon --socket /tmp/ext.socket --cpus 1-3 --log /tmp/ext.log \
     >/tmp/daemon.out 2>&1 & echo $! >/tmp/daemon.pid; \
     while ! grep -q CPUs /tmp/daemon.out; do sleep 0.1; done";

/// A client, with what it runs after it.
fn exec(options: &str, program: &str) -> String {
    format!("taskset 1 layland exec --socket /tmp/ext.socket --engine ext {options} -- {program}")
}

/// Waits until the scheduler is loaded, or is not, for some seconds of the machine.
fn until(state: &str) -> String {
    format!(
        "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do \
         [ $(cat /sys/kernel/sched_ext/state) = {state} ] && break; sleep 0.1; done; \
         [ $(cat /sys/kernel/sched_ext/state) = {state} ] || echo NOT-{state}"
    )
}

fn commands() -> Vec<(&'static str, String)> {
    let hog = |cpus: &str, dl: &str, ms: u32| {
        exec(&format!("-q {cpus} --dl {dl} --name hog"), &format!("workload hog {ms}"))
    };
    // The thread that works, and not the client that has the same words.
    let victim = "victim=$(busybox pidof workload)";
    // Its class: 0 is SCHED_OTHER, and 7 is SCHED_EXT.
    let class = "echo class $(busybox cut -d' ' -f41 /proc/$victim/stat)";
    vec![
        ("start", START.to_owned()),
        // Alone, and held to a fifth of its CPU.
        ("hog", hog("--cpus 1", "2ms/10ms", 2_000)),
        // Hogs and programs that keep to what they have reserved, on the same CPUs.
        (
            "beside",
            format!(
                "({}) >/tmp/hog1 2>&1 & a=$!; ({}) >/tmp/hog2 2>&1 & b=$!; ({}) >/tmp/other 2>&1 & c=$!; ({}) & d=$!; \
                 wait $d; code=$?; layland exec --list; wait $a $b $c; cat /tmp/hog1 /tmp/hog2 /tmp/other; \
                 exit $code",
                hog("--cpus 1", "2ms/10ms", 3_500),
                exec("-q --cpus 2 --dl 10ms/20ms --name greedy", "workload hog 3500"),
                exec("-q --cpus 2 --dl 4ms/20ms --name other", "workload periodic 500 20000 100"),
                exec("-q --cpus 1 --dl 4ms/10ms --name ctl", "workload periodic 500 10000 150"),
            ),
        ),
        ("idle", until("disabled")),
        // Threads that may use every CPU, two on three of them and a hog.
        (
            "wide",
            format!(
                "({}) & a=$!; ({}) & b=$!; sleep 0.5; {}; code=$?; wait $a $b; exit $code",
                exec("-q --cpus 1-3 --dl 8ms/20ms --name free", "workload hog 2500"),
                exec("-q --cpus 1-3 --dl 8ms/20ms --name second", "workload periodic 2400 20000 80"),
                exec("-q --dl 4ms/20ms --name third", "workload periodic 1200 20000 80"),
            ),
        ),
        // A thread of the class that nobody has admitted gets what those who were admitted leave, on the same CPU.
        (
            "stranger",
            format!(
                "({}) >/tmp/hog1 & a=$!; {}; (taskset 2 workload stranger 1500) >/tmp/stranger & b=$!; {}; code=$?; \
                 wait $a $b; echo hog $(cat /tmp/hog1) stranger $(cat /tmp/stranger); exit $code",
                hog("--cpus 1", "5ms/10ms", 2_500),
                until("enabled"),
                exec("-q --cpus 1 --dl 3ms/10ms --name ctl", "workload periodic 1000 10000 100"),
            ),
        ),
        // Nobody has room for more than there is; and what would be admitted is not.
        (
            "full",
            format!(
                "({}) & a=$!; sleep 1; {}; code=$?; wait $a; exit $code",
                hog("--cpus 1", "5ms/10ms", 2_000),
                exec("--cpus 1 --dl 6ms/10ms --name more", "workload hog 100 2>&1"),
            ),
        ),
        ("dry", exec("--cpus 1 --dl 2ms/10ms --dry-run", "workload hog 100")),
        // A user has a share, and no threads of others.
        (
            "user",
            format!(
                "workload as 1000 {}",
                exec("-q --cpus 2 --dl 3ms/10ms", "workload periodic 1000 10000 50")
            ),
        ),
        (
            "share",
            format!(
                "workload as 1000 {}",
                exec("--cpus 2 --dl 7ms/10ms", "workload hog 100 2>&1")
            ),
        ),
        (
            "foreign",
            "workload as 1000 layland exec --socket /tmp/ext.socket --engine ext --pid 1 --dl 1ms/10ms"
                .to_owned(),
        ),
        // Whoever is killed leaves nothing behind.
        (
            "client",
            format!(
                "{} & a=$!; {}; {victim}; kill -9 $a; wait $a; {}; busybox pidof workload && echo LEFT; exit 0",
                exec("-q --cpus 1 --dl 2ms/10ms", "workload hog 20000"),
                until("enabled"),
                until("disabled"),
            ),
        ),
        (
            "program",
            format!(
                "{} & a=$!; {}; {victim}; sleep 0.5; kill -9 $victim; wait $a; code=$?; {}; exit $code",
                exec("-q --cpus 1 --dl 2ms/10ms", "workload hog 20000"),
                until("enabled"),
                until("disabled"),
            ),
        ),
        (
            "leave",
            format!(
                "{} & a=$!; {}; sleep 0.3; {victim}; {class}; layland exec --socket /tmp/ext.socket --leave hog; {}; \
                 {class}; taskset -p $victim; kill -9 $victim; wait $a; exit 0",
                hog("--cpus 1", "2ms/10ms", 20_000),
                until("enabled"),
                until("disabled"),
            ),
        ),
        // One scheduler is loaded: another one is named, on either side.
        (
            "second",
            format!(
                "layland run six.toml --engine ext --duration 3s >/dev/null 2>&1 & a=$!; {}; {}; code=$?; wait $a; exit $code",
                until("enabled"),
                exec("--cpus 1 --dl 2ms/10ms", "workload hog 100"),
            ),
        ),
        (
            "other",
            format!(
                "({}) & a=$!; {}; layland run six.toml --engine ext --duration 1s; code=$?; wait $a; exit $code",
                hog("--cpus 1", "2ms/10ms", 3_000),
                until("enabled"),
            ),
        ),
        ("log", format!("{}; {}", hog("--cpus 1", "2ms/10ms", 500), until("disabled"))),
        ("replay", "layland run --replay /tmp/ext.log".to_owned()),
        (
            "daemon",
            format!(
                "{} & a=$!; {}; sleep 0.3; {victim}; kill -9 $(cat /tmp/daemon.pid); {}; sleep 1; {class}; \
                 taskset -p $victim; layland exec --list; kill -9 $victim; wait $a; layland doctor --clean >/dev/null; exit 0",
                exec("-q --cpus 1 --dl 2ms/10ms", "workload hog 20000"),
                until("enabled"),
                until("disabled"),
            ),
        ),
        ("gone", exec("--cpus 1 --dl 2ms/10ms", "workload hog 100")),
        // A service manager has the socket, and starts the daemon when somebody knocks.
        (
            "activated",
            format!(
                "workload activate /tmp/given.socket layland daemon --cpus 1-3 >/tmp/given.out 2>&1 & a=$!; \
                 while ! [ -e /tmp/given.socket ]; do sleep 0.1; done; sleep 0.3; cat /tmp/given.out; \
                 {}; code=$?; kill $a; wait $a; cat /tmp/given.out; exit $code",
                exec("-q --cpus 1 --dl 3ms/10ms", "workload periodic 1000 10000 20")
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
fn programs_under_a_policy_of_ours() {
    if !carries_ext() {
        return past_the_harness(
            "skipped: needs the headers of libelf and zlib (libelf-dev, zlib1g-dev)",
        );
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    let mut guest = match Guest::fetch(&folder) {
        Ok(guest) => guest,
        Err(skipped) => return past_the_harness(&skipped.0),
    };
    guest.programs.push(("workload".to_owned(), static_workload(&folder)));
    let layland =
        std::fs::read(static_layland(&folder, Profile::Dev)).expect("the program was built");
    for kernel in guest.labelled(&["7.3"]) {
        eprintln!("{}: {}", kernel.label, kernel.package);
        let commands = commands();
        let commands: Vec<(&str, &str)> =
            commands.iter().map(|(name, line)| (*name, line.as_str())).collect();
        let booted =
            guest.boot(kernel, 4, &layland, &[("six.toml", SIX)], &commands).expect("QEMU runs");
        for ran in &booted.ran {
            eprintln!("{ran}");
        }
        judge(kernel, &booted);
    }
}

/// The number after a word of a text.
fn number(ran: &Ran, word: &str) -> u64 {
    let mut words = ran.output.split([' ', '\n']).skip_while(|found| *found != word);
    words
        .nth(1)
        .and_then(|number| number.parse().ok())
        .unwrap_or_else(|| panic!("no {word}: {ran}"))
}

/// The shares of the hog and of the stranger.
fn shares(ran: &Ran) -> (u64, u64) {
    let line = ran.output.lines().find(|line| line.starts_with("hog share"));
    let words: Vec<&str> = line.unwrap_or_default().split(' ').collect();
    let number = |place: usize| words.get(place).and_then(|word| word.parse().ok());
    match (number(2), number(5)) {
        (Some(hog), Some(stranger)) => (hog, stranger),
        _ => panic!("no shares: {ran}"),
    }
}

fn judge(kernel: &Kernel, booted: &Booted) {
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
    let says = |ran: &Ran, sought: &str| assert!(ran.output.contains(sought), "{label}: {ran}");
    code("start", 0);
    // What it got, in thousandths of a CPU: its budget, and no more.
    let alone = number(code("hog", 0), "share");
    assert!((170..=205).contains(&alone), "{label}: {alone}");
    let beside = code("beside", 0);
    says(beside, "late 0 of 150");
    says(beside, "late 0 of 100");
    for name in ["hog", "greedy"] {
        says(beside, name);
    }
    says(beside, "SCHED_EXT");
    code("idle", 0);
    assert_eq!(code("wide", 0).output.matches("late 0 of 80").count(), 2, "{label}");
    let free = number(booted.ran("wide"), "share");
    assert!((100..=410).contains(&free), "{label}: {free}");
    let stranger = code("stranger", 0);
    says(stranger, "late 0 of 100");
    let (of_hog, of_stranger) = shares(stranger);
    assert!(
        (450..=505).contains(&of_hog) && (50..=420).contains(&of_stranger),
        "{label}: {stranger}"
    );
    says(code("full", 1), "cannot be guaranteed");
    code("dry", 0);
    says(code("user", 0), "late 0 of 50");
    says(code("share", 1), "a user may have");
    says(code("foreign", 5), "belongs to user 0");
    code("client", 0);
    code("program", 137);
    let left = code("leave", 0);
    says(left, "class 7\nclass 0");
    says(left, "mask: 1");
    says(code("second", 5), "layland run six.toml");
    says(code("other", 5), "is loaded");
    says(code("replay", 0), "all as in the log");
    says(code("daemon", 0), "class 0");
    says(booted.ran("daemon"), "mask: 1");
    code("gone", 5);
    let activated = code("activated", 0);
    says(activated, "late 0 of 20");
    assert_eq!(
        activated.output.matches("layland daemon: CPUs 1-3").count(),
        1,
        "{label}: {activated}"
    );
}
