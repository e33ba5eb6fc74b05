//! Births of programs, traces that consist of several captures, and those of other kernels.

use super::{job, noise, seen, thread};
use crate::infer::{Inferred, Observation, Partial, SeenJob, Taking, Thread, Wanted, infer_held};
use crate::kernel::observe;
use layland_model::{Duration, Service};
use proptest::prelude::*;

/// Says that no job takes longer than the deadline of its task.
fn late(inferred: &Inferred) -> Vec<String> {
    let tasks = inferred.system.tasks.values().zip(&inferred.responses);
    let late = tasks.filter(|(task, response)| **response > task.deadline);
    late.map(|(task, _)| format!("`{}` is late", task.name)).collect()
}

fn held(seen: &Observation, wanted: Wanted<'_>) -> Inferred {
    infer_held(seen, wanted, &Taking::default(), &late)
}

/// Returns the period and the WCET of the task of this name.
fn task(inferred: &Inferred, name: &str) -> (Duration, Service) {
    let task = inferred.system.tasks.values().find(|task| task.name == name).expect("it is there");
    (task.period, task.own_wcet())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// 3 ms every 20 ms, after any birth that keeps no other task from its CPU: the task is the steady part.
    #[test]
    fn no_birth_is_in_a_task(
        born in 100i64..70_000,
        suspended in prop_oneof![Just(0i64), 1_000i64..40_000],
        dies: bool,
        seed: u64,
    ) {
        let mut noise = noise(seed);
        let mut birth = job(0, born);
        birth.end = birth.end.map(|end| end + Duration::from_us(suspended));
        let death = dies.then(|| job(150_000 + 100 * 20_000, born));
        let jobs: Vec<SeenJob> =
            (0..100).map(|k| job(150_000 + k * 20_000 + noise(20), 3_000 - noise(50))).collect();
        let partial: Vec<Partial> =
            std::iter::once(birth).chain(death).map(|job| Partial { job, is_cut: false }).collect();
        let ctl = Thread {
            name: "ctl".to_owned(),
            unlike: partial.len() as u64,
            partial,
            jobs,
            ..thread(&[])
        };
        let inferred = held(&Observation { dialect: Some("tracefs"), ..seen(vec![ctl]) }, Wanted::RealTime);
        let (period, wcet) = task(&inferred, "ctl");
        prop_assert!(period > Duration::from_us(19_900) && period <= Duration::from_ms(20));
        prop_assert!(wcet <= Service::from_ms(3) && wcet > Service::from_us(2_900));
        prop_assert!(inferred.system.unexplained().is_empty());
    }

    /// A thread that comes and goes does not become a task, however regular its jobs; one that lives long does.
    #[test]
    fn no_task_lives_for_a_moment(life in 1_000i64..2_000_000, jobs in 4i64..10, born: bool) {
        let gap = life / (jobs + 1);
        let between = (1..=jobs).map(|k| job(500_000 + k * gap, 20)).collect();
        let ends = [500_000, 500_000 + life];
        // Some tools do not record births.
        let ends = &ends[usize::from(!born)..];
        let partial: Vec<Partial> =
            ends.iter().map(|&at| Partial { job: job(at, 20), is_cut: false }).collect();
        let unlike = partial.len() as u64;
        let helper = Thread { name: "sh".to_owned(), unlike, partial, jobs: between, ..thread(&[]) };
        let life = if born { life } else { life - gap };
        let ctl = Thread { name: "ctl".to_owned(), ..thread(&[]) };
        let ctl = Thread { jobs: (0..200).map(|k| job(k * 20_000, 3_000)).collect(), ..ctl };
        let seen = Observation { dialect: Some("tracefs"), ..seen(vec![ctl, helper]) };
        let is_task = |wanted: Wanted<'_>| {
            held(&seen, wanted).system.tasks.values().any(|task| task.name == "sh")
        };
        prop_assert_eq!(is_task(Wanted::RealTime), life + 20 >= seen.length.ns() / 10_000);
        prop_assert!(is_task(Wanted::Where(&|_, _| true)));
    }

    /// Captures in one file, each cut anywhere, with any time between them.
    #[test]
    fn the_time_between_captures_counts_for_nothing(
        gaps in prop::collection::vec(60i64..40_000, 1..4),
        cuts in prop::collection::vec((0usize..20, 0usize..20), 4),
        varies: bool,
        seed: u64,
    ) {
        let mut noise = noise(seed);
        let (mut start, mut text) = (100i64, String::new());
        let captures = gaps.len() as i64 + 1;
        for (gap, (head, tail)) in std::iter::once(&0).chain(&gaps).zip(cuts) {
            start += gap;
            let lines = capture(start, varies, &mut noise);
            let kept = &lines[head..lines.len() - tail];
            text.extend(kept.iter().map(|line| format!("{line}\n")));
            start += 1;
        }
        let seen = observe(&text).expect("it has events");
        prop_assert_eq!(seen.gaps.len(), gaps.len());
        prop_assert!(seen.length <= Duration::from_ms(1_000 * captures));
        prop_assert!(seen.threads.iter().all(|thread| thread.torn == 0));
        let inferred = held(&seen, Wanted::RealTime);
        prop_assert!(inferred.system.unexplained().is_empty());
        let (period, wcet) = task(&inferred, "ctl");
        let least = if varies { 8_900 } else { 9_900 };
        // The mean is 14 ms, and 5 % of the gaps may be jitter.
        let most = if varies { 12_000 } else { 10_000 };
        prop_assert!(period >= Duration::from_us(least) && period <= Duration::from_us(most), "{period}");
        prop_assert!(wcet <= Service::from_us(2_020) && wcet > Service::from_us(1_900), "{wcet}");
    }
}

/// NuttX writes wake-ups without a priority, and the results of system calls.
#[test]
fn a_trace_of_another_kernel_is_read_whole() {
    let (mut text, idle) = ("# tracer: nop\n#\n".to_owned(), "<noname>-0   [0]");
    let (own, none) = ("comm=ctl PID=5 PRIO=200", "comm=<noname> PID=0 PRIO=0");
    let who = |side: &str, thread: &str| {
        let fields = thread.replace("PID", &format!("{side}_pid"));
        format!("{side}_{}", fields.replace("PRIO", &format!("{side}_prio")))
    };
    for k in 0..20 {
        let at = |us: i64| format!("{}.{:09}", 7 + k / 100, (k % 100) * 10_000_000 + us * 1_000);
        for (us, thread, event) in [
            (1, idle, "sched_waking: comm=ctl pid=5 target_cpu=0".to_owned()),
            (
                3,
                idle,
                format!(
                    "sched_switch: {} prev_state=R ==> {}",
                    who("prev", none),
                    who("next", own)
                ),
            ),
            (900, "ctl-5   [0]", "sys_write(arg0: 0x1, arg1: 0x2)".to_owned()),
            (950, "ctl-5   [0]", "sys_write -> 0x3".to_owned()),
            (
                2_003,
                "ctl-5   [0]",
                format!(
                    "sched_switch: {} prev_state=S ==> {}",
                    who("prev", own),
                    who("next", none)
                ),
            ),
        ] {
            text += &format!("   {thread}    {}: {event}\n", at(us));
        }
    }
    let seen = observe(&text).expect("it has events");
    assert_eq!((seen.unknown_lines, seen.remarks.len()), (0, 0), "{:?}", seen.remarks);
    let is_it = |name: &str, _: Option<u32>| name == "ctl";
    let (period, wcet) = task(&held(&seen, Wanted::Where(&is_it)), "ctl");
    assert_eq!(period, Duration::from_ms(10));
    assert_eq!(wcet, Service::from_ms(2));
    // A wake-up that is cut off is damaged.
    let cut = text.replacen(" target_cpu=0", "", 1);
    assert_eq!(observe(&cut).expect("it has events").unknown_lines, 1);
}

/// Returns the lines of a second, in which `ctl` works for 2 ms every 10 ms, or every 9 to 19 ms.
fn capture(start: i64, varies: bool, noise: &mut impl FnMut(i64) -> i64) -> Vec<String> {
    let mut lines = Vec::new();
    let mut at = noise(5_000);
    while at < 990_000 {
        let mut line = |us: i64, who: &str, event: &str| {
            let us = at + us;
            lines.push(format!("{who} [001] d..2. {}.{us:06}: {event}", start));
        };
        line(0, "<idle>-0", "sched_waking: comm=ctl pid=77 prio=9 target_cpu=001");
        let idle = "comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R";
        let ctl = "next_comm=ctl next_pid=77 next_prio=9";
        line(10, "<idle>-0", &format!("sched_switch: prev_{idle} ==> {ctl}"));
        let ctl = "prev_comm=ctl prev_pid=77 prev_prio=9 prev_state=S";
        let idle = "next_comm=swapper/1 next_pid=0 next_prio=120";
        line(2_010 - noise(40), "ctl-77", &format!("sched_switch: {ctl} ==> {idle}"));
        at += if varies { 9_000 + noise(10_000) } else { 10_000 };
    }
    lines
}
