//! End-to-end tests of equal priorities: a trace of two threads of SCHED_FIFO that wait for each
//! other, the set that is inferred from it, the guarantees of `check`, and the judgement of the
//! kernel by `trace check`.

use crate::process::{folder, name, run};
use std::fmt::Write;

fn said(output: &std::process::Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// Returns a trace in which `bbb` runs for 3 ms. `aaa`, with the same priority, arrives 1 ms after
/// it and waits until it ends.
fn first_come_first_served() -> String {
    let mut text = String::new();
    for k in 0..50u64 {
        let mut line = |us: u64, who: &str, event: String| {
            let at = 1_000_000 + k * 10_000 + us;
            let (seconds, rest) = (at / 1_000_000, at % 1_000_000);
            let _ = writeln!(text, "  {who} [000] d..2. {seconds}.{rest:06}: {event}");
        };
        let prio = |pid: u32| if pid == 0 { 120 } else { 50 };
        let switch = |(prev, from): (&str, u32), (next, to): (&str, u32), state: &str| {
            format!(
                "sched_switch: prev_comm={prev} prev_pid={from} prev_prio={} prev_state={state} ==> \
                 next_comm={next} next_pid={to} next_prio={}",
                prio(from),
                prio(to)
            )
        };
        let wakes = |comm: &str, pid: u32| {
            format!("sched_waking: comm={comm} pid={pid} prio=50 target_cpu=000")
        };
        let (idle, a, b) = (("swapper/0", 0), ("aaa", 11), ("bbb", 12));
        line(0, "<idle>-0", wakes("bbb", 12));
        line(0, "<idle>-0", switch(idle, b, "R"));
        line(1_000, "bbb-12", wakes("aaa", 11));
        line(3_000, "bbb-12", switch(b, a, "S"));
        line(4_000, "aaa-11", switch(a, idle, "S"));
    }
    text
}

#[test]
fn what_the_kernel_does_with_equal_threads_is_guaranteed_and_not_condemned() {
    let folder = folder("levels");
    let [trace, set] = ["equal.txt", "equal.toml"].map(|file| folder.join(file));
    std::fs::write(&trace, first_come_first_served()).unwrap();
    let (code, _, talk) = said(&run(&["trace", "infer", name(&trace), "-o", name(&set)]));
    let words = "2 threads share priority 50: first come, first served among them";
    assert!(code == 0 && talk.contains(words), "{talk}");
    assert!(std::fs::read_to_string(&set).unwrap().contains(words));

    let check = ["check", name(&set), "-p", "p-fp", "--bounds", "--no-margin"];
    let (code, text, _) = said(&run(&check));
    // The trace shows 3 ms for both, but they might arrive together.
    assert!(code == 0 && text.matches(" 4 ms │").count() == 2, "{text}");
    assert!(text.contains("RTA-FIFO") && text.contains(words), "{text}");

    let checked =
        |spec: &str| said(&run(&["trace", "check", name(&trace), "--set", name(&set), "-p", spec]));
    for spec in ["p-fp", "g-fp", "p-fp:tie=fifo", "p-fp:tie=any"] {
        assert_eq!(checked(spec).0, 0, "{spec}: {}", checked(spec).1);
    }
    // The kernel does not know ranks.
    assert_eq!(checked("p-fp:tie=rank").0, 1);

    let earlier = std::fs::read_to_string(&set).unwrap().replacen(
        "name = \"aaa\"\n",
        "name = \"aaa\"\ndeadline = \"2ms\"\n",
        1,
    );
    std::fs::write(&set, earlier).unwrap();
    let (code, text, _) = said(&run(&["check", name(&set), "-p", "p-fp,g-fp", "--no-margin"]));
    assert!(code != 0 && !text.contains(" yes  "), "{text}");
}

#[test]
fn who_comes_first_is_not_lost_on_the_way_to_rt_app() {
    let folder = folder("levels-rt-app");
    let set = folder.join("set.toml");
    let task = |name: &str, rank: &str| {
        format!(
            "[[task]]\nname = \"{name}\"\nperiod = \"10ms\"\nwcet = \"1ms\"\npriority = 7\n{rank}"
        )
    };
    let head = "layland = 1\n[platform]\ncpus = 1\n";
    let convert = |policy: &str| {
        let (code, text, talk) =
            said(&run(&["convert", name(&set), "--to", "rt-app", "--policy", policy]));
        assert_eq!(code, 0, "{talk}");
        let file: serde_json::Value = serde_json::from_str(&text).unwrap();
        ["a", "b"].map(|task| file["tasks"][task]["priority"].as_i64().unwrap())
    };
    std::fs::write(&set, [head, &task("a", ""), &task("b", "")].concat()).unwrap();
    let [a, b] = convert("g-fp");
    assert_eq!(a, b);
    // Tasks with equal periods differ only in their ranks, which the converted set expresses by
    // different priorities.
    for policy in ["g-rm", "g-dm"] {
        let [a, b] = convert(policy);
        assert!(a > b, "{policy}: {a} and {b}");
    }
    let ranked = [head, &task("a", "rank = 2\n"), &task("b", "rank = 1\n")].concat();
    std::fs::write(&set, ranked).unwrap();
    let [a, b] = convert("g-fp");
    assert!(a < b, "{a} and {b}");

    let many: String = (0..100)
        .map(|k| task(&format!("t{k}"), "").replace("= 7", &format!("= {}", 1000 + k)))
        .collect();
    std::fs::write(&set, format!("{head}{many}")).unwrap();
    let (code, text, talk) =
        said(&run(&["convert", name(&set), "--to", "rt-app", "--policy", "g-fp"]));
    assert!(code == 3 && text.is_empty(), "{code}: {text}");
    assert!(talk.contains("100 priorities") && talk.contains("99"), "{talk}");
}

#[test]
fn threads_of_rt_app_with_one_priority_are_told_once() {
    let folder = folder("levels-told");
    let file = folder.join("two.json");
    let thread = |name: &str, policy: &str| {
        format!(
            "\"{name}\": {{ \"policy\": \"{policy}\", \"priority\": 50, \"run\": 1000, \
             \"timer\": {{ \"ref\": \"{name}\", \"period\": 10000, \"mode\": \"absolute\" }} }}"
        )
    };
    for (policy, words) in
        [("SCHED_FIFO", "first come, first served"), ("SCHED_RR", "in any order among them")]
    {
        let tasks = [thread("a", policy), thread("b", "SCHED_FIFO")].join(", ");
        std::fs::write(&file, format!("{{ \"tasks\": {{ {tasks} }} }}")).unwrap();
        let checked = run(&["check", name(&file), "--cpus", "1", "-p", "p-fp", "--no-margin"]);
        let (code, _, talk) = said(&checked);
        assert!(code == 0 && talk.contains("2 threads share priority -50"), "{talk}");
        assert!(talk.contains(words), "{talk}");
    }
}
