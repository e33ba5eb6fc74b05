//! Traces that consist of several captures.

use super::noise;
use crate::infer::{Inferred, Observation, Taking, Wanted, infer_held};
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
