//! Sets that are inferred of threads whose jobs come in bursts: they allow every window of the trace, are about as
//! heavy as the threads were, and get an answer.

use layland_interchange::infer::{
    Estimate, Observation, Pattern, SeenJob, Taking, Thread, estimate,
};
use layland_interchange::kernel::observe;
use layland_model::{Behaviour, Duration, Service, System, Task, Time};
use layland_sim::{SimOptions, simulate};
use layland_testkit::kernel_text::{TextOptions, kernel_text};
use layland_testkit::observed::{BurstModel, InferredSet, held, inferred, shown};
use layland_testkit::registry;
use layland_trace::{Labels, Trace};
use proptest::prelude::*;

/// A thread with these gaps between its jobs, of which the longest take this long; times are nanoseconds.
fn thread(gaps: &[i64], longest: i64) -> Thread {
    let mut at = 1_000;
    let mut jobs = Vec::new();
    for k in 0..=gaps.len() {
        let executed = if k % 3 == 0 { longest } else { longest / 2 };
        jobs.push(SeenJob {
            arrival: Time::from_ns(at),
            delay: Duration::ZERO,
            end: Some(Time::from_ns(at + executed)),
            executed: Service::from_ns(executed),
            lost: Duration::ZERO,
            stretches: Vec::new(),
            deadline: None,
            woken_by: None,
        });
        at += gaps.get(k).copied().unwrap_or(0);
    }
    Thread { name: "bursty".to_owned(), priorities: vec![(39, 1)], jobs, ..Thread::default() }
}

fn of(thread: &Thread) -> Estimate {
    let seen = Observation { threads: vec![thread.clone()], cpus: 1, ..Observation::default() };
    estimate(&seen, 0, &Taking::default()).expect("it has three jobs")
}

/// The slow twin of the jitter: over all pairs of arrivals.
fn least_jitter(jobs: &[SeenJob], period: Duration) -> Duration {
    let mut least = Duration::ZERO;
    for (from, first) in jobs.iter().enumerate() {
        for (more, last) in jobs[from..].iter().enumerate() {
            least = least.max(period * more as i64 - (last.arrival - first.arrival));
        }
    }
    least
}

/// A set allows what its trace shows, and is as heavy as that.
fn is_jitter(model: BurstModel, count: usize, mean: i64, percent: i64, seed: u64) {
    let gaps = model.gaps(count, mean, seed);
    let longest = (mean / 100 * percent / 1_000).max(1) * 1_000;
    let thread = thread(&gaps, longest);
    let Estimate { period, jitter, wcet, arrivals, .. } = of(&thread);
    assert!(matches!(arrivals.pattern, Pattern::Bursts { .. }), "{arrivals:?}");
    assert_eq!(jitter, least_jitter(&thread.jobs, period), "of {period}");
    assert_eq!(wcet.ns(), longest);
    // The load is at most a tenth larger than what was seen, or by 1/200 of a CPU; four digits are left of the period.
    let mean = gaps.iter().sum::<i64>() / gaps.len() as i64;
    let load = |gap: i64| longest as f64 / gap as f64;
    let allowed = (load(mean) * 1.1).max(load(mean) + 0.005) * 1.002;
    assert!(load(period.ns()) <= allowed, "{period} of {mean} ns");
    assert!(period.ns() <= mean, "{period} of {mean} ns");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn bursts_are_jitter_of_a_task_that_is_no_heavier_than_they_are(
        count in 1_000usize..2_000,
        mean in 50_000i64..20_000_000,
        percent in 2i64..60,
        seed: u64,
    ) {
        BurstModel::ALL.into_iter().for_each(|model| is_jitter(model, count, mean, percent, seed));
    }

    /// Every pattern allows its own arrivals, even for short traces.
    #[test]
    fn every_window_is_allowed(
        count in 3usize..300,
        mean in 1_000i64..20_000_000,
        percent in 1i64..200,
        seed: u64,
    ) {
        for model in BurstModel::ALL {
            let thread = thread(&model.gaps(count, mean, seed), (mean / 100 * percent).max(1));
            let Estimate { period, jitter, start_up, parts, .. } = of(&thread);
            if parts > 1 {
                continue;
            }
            // The start of a program is left out.
            let jobs = &thread.jobs[start_up.map_or(0, |start| start.jobs)..];
            prop_assert!(jitter >= least_jitter(jobs, period), "{jitter} of {period}");
        }
    }
}

/// Returns the trace of a kernel with one CPU: a thread that arrives in bursts and takes 5 % of the
/// CPU, beside a periodic one.
fn machine(model: BurstModel, mean: i64, share: i64, is_first: bool, seed: u64) -> String {
    let until = Time::from_ns(400 * mean);
    let gaps = model.gaps(500, mean, seed);
    let at = gaps.iter().scan(Time::from_ns(mean), |at, gap| {
        *at += Duration::from_ns(*gap);
        Some(*at)
    });
    let of = Duration::from_ns;
    let mut bursty = Task::implicit("bursty", Service::from_ns(mean / 20), of(mean));
    bursty.behaviour = Behaviour::Explicit(at.take_while(|at| *at < until).collect());
    let period = mean * 10;
    let mut control = Task::implicit("control", Service::from_ns(period / 100 * share), of(period));
    let priorities = if is_first { [39, 49] } else { [49, 39] };
    bursty.priority = Some(priorities[0].into());
    control.priority = Some(priorities[1].into());
    let system = System::new(1, vec![bursty, control]);
    let policy = registry().build("p-fp", &system).expect("it takes explicit arrivals");
    let mut trace = Trace::default();
    simulate(&system, policy, &mut trace, &SimOptions::until(until)).expect("it is in range");
    let options = TextOptions {
        start_ns: 77_000_000_000,
        is_coarse: false,
        priorities: priorities.to_vec(),
        from: Time::ZERO,
    };
    kernel_text(&trace, &Labels::of(&system), &options)
}

/// From a trace to a guarantee. Without a period near the mean gap, 15 of these 40 sets are guaranteed.
#[test]
fn a_machine_with_bursts_and_little_load_is_guaranteed() {
    let (mut guaranteed, mut in_bursts) = (0, 0);
    for seed in 0..40u64 {
        let model = BurstModel::ALL[seed as usize % 4];
        let is_first = seed % 8 < 4;
        let (mean, share) = (1_000_000 + seed as i64 * 77_000, 10 + seed as i64 % 7 * 5);
        let text = machine(model, mean, share, is_first, seed);
        let inferred = inferred(&observe(&text).expect("it has events"));
        let of = format!("{model:?}, seed {seed}: {:?}, {:?}", inferred.system, inferred.words);
        // No bound is below what the trace shows.
        let InferredSet { broken, is_unexplained, is_guaranteed, .. } = held(&shown(&text));
        assert!(broken.is_empty(), "{broken:?} of {of}");
        assert!(!is_unexplained, "{of}");
        // Batches that are jobs of their own at times, and one long job at others, are as heavy as if all were long.
        assert!(is_guaranteed || !is_first || model == BurstModel::Batches, "{of}");
        guaranteed += usize::from(is_guaranteed);
        let is_burst = |task: &Estimate| matches!(task.arrivals.pattern, Pattern::Bursts { .. });
        in_bursts += inferred.chosen.tasks.iter().filter(|task| is_burst(task)).count();
    }
    assert!(guaranteed >= 34, "{guaranteed}");
    assert!(in_bursts >= 30, "{in_bursts}");
}
