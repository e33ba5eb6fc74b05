//! Tests of bursts, and of patterns that are not bursts. Drawn ones are in the tests of all crates together.

use super::{seen, thread};
use crate::infer::{Estimate, Pattern, SeenJob, Taking, Thread, Wanted, estimate, infer};
use layland_model::{Behaviour, Duration, Service};

/// The thread of these arrivals in microseconds, whose jobs take so many.
fn of(at: &[i64], executed: i64, change: impl Fn(&mut Thread)) -> Estimate {
    let job = |job: SeenJob| SeenJob { executed: Service::from_us(executed), ..job };
    let mut thread = thread(at);
    thread.jobs = thread.jobs.into_iter().map(job).collect();
    change(&mut thread);
    estimate(&seen(vec![thread]), 0, &Taking::default()).expect("it has three jobs")
}

fn is_burst(estimate: &Estimate) -> bool {
    matches!(estimate.arrivals.pattern, Pattern::Bursts { .. })
}

/// Ten jobs at the beginning of every 100 ms, 10 us apart.
fn batches(count: i64) -> Vec<i64> {
    (0..count).flat_map(|k| (0..10).map(move |n| k * 100_000 + n * 10)).collect()
}

#[test]
fn a_batch_is_the_jitter_of_a_task_with_the_rate_of_all_batches() {
    let found = of(&batches(100), 100, |_| {});
    assert!(is_burst(&found));
    // The mean gap is 9.91 ms: the last batch has no gap after it.
    assert_eq!(found.period, Duration::from_us(9_910));
    assert_eq!(found.jitter, Duration::from_us(9 * 9_910 - 90));
    let thread = thread(&batches(100));
    let inferred = infer(&seen(vec![thread]), Wanted::RealTime, &Taking::default());
    let task = inferred.system.tasks.values().next().expect("there is one");
    assert_eq!(task.deadline, task.period + task.jitter * 2);
    assert!(matches!(task.behaviour, Behaviour::Sporadic(_)));
    let words = &inferred.words.tasks[0];
    assert_eq!(words.above[0], "likely, by 1000 jobs; it comes in bursts.");
    let bursts =
        "Its bursts are jitter: jobs come one a period in the long run, and up to 10 within one.";
    assert_eq!(words.above[1], bursts);
}

#[test]
fn a_clock_with_mostly_empty_periods_comes_in_bursts() {
    // Three or four ticks of 1 ms with a job, and the rest of ten without.
    let at: Vec<i64> =
        (0..100).flat_map(|k| (0..3 + k * k % 3).map(move |n| k * 10_000 + n * 1_000)).collect();
    let found = of(&at, 100, |_| {});
    assert!(is_burst(&found));
    assert!(found.period > Duration::from_us(2_400), "{}", found.period);
    // Where most of them have one it stays periodic.
    let at: Vec<i64> =
        (0..100).flat_map(|k| (0..6 + k * k % 3).map(move |n| k * 10_000 + n * 1_000)).collect();
    let found = of(&at, 100, |_| {});
    assert_eq!((is_burst(&found), found.period), (false, Duration::from_ms(1)));
}

#[test]
fn a_separation_stays_where_it_makes_no_task_too_heavy() {
    // Few jobs.
    assert!(!is_burst(&of(&batches(1)[..9], 100, |_| {})));
    // 0.2 us in every 10 us are 2 % of a CPU, where 0.002 % were seen; 0.04 us are 0.4 %.
    let brief = |ns| {
        let change = move |thread: &mut Thread| {
            let jobs = thread.jobs.iter_mut();
            jobs.for_each(|job| job.executed = Service::from_ns(ns));
        };
        of(&batches(100), 0, change)
    };
    assert!(is_burst(&brief(200)));
    assert!(!is_burst(&brief(40)));
    // Gaps from 10 to 20 ms.
    let at: Vec<i64> = (0..100).map(|k| k * 15_000 + k * k * 37 % 5_000).collect();
    assert!(!is_burst(&of(&at, 5_000, |_| {})));
}

#[test]
fn a_burst_is_short_beside_the_trace() {
    // One phase with a job every 1 ms, and one with a job every 20 ms: this is a rate that changes, and no burst.
    let fast = (0..1_000).map(|k| k * 1_000 + k * k * 13 % 300);
    let slow = (1..200).map(|k| 1_000_000 + k * 20_000 + k * k * 31 % 7_000);
    let found = of(&fast.chain(slow).collect::<Vec<i64>>(), 500, |_| {});
    let mean = found.arrivals.gaps[1];
    assert!(mean > Duration::from_ms(4), "{mean}");
    assert!(found.period < Duration::from_ms(2), "{}", found.period);
    // Seen are five seconds.
    assert!(found.jitter <= Duration::from_ms(500), "{}", found.jitter);
}

#[test]
fn what_is_told_of_a_thread_counts() {
    let of_deadline = |deadline| {
        of(&batches(100), 100, move |thread| {
            thread.jobs.iter_mut().for_each(|job| job.deadline = Some(deadline));
        })
    };
    // A deadline counts from the arrival, and jitter is a part of the response.
    assert!(!is_burst(&of_deadline(Duration::from_ms(80))));
    assert!(is_burst(&of_deadline(Duration::from_ms(100))));
    // A server limits what a burst gets.
    assert!(!is_burst(&of(&batches(100), 100, |thread| thread.priorities = vec![(-1, 1)])));
}
