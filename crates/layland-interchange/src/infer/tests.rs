//! Arrivals of many kinds, the comments of inferred sets, and the jobs that are left out.
//!
//! Long because the threads for each part of an estimate are here.

mod bursts;
mod captures;

use super::*;
use crate::kernel::observe;
use layland_model::{Behaviour, CpuId, CpuSet, Duration, Service, Step, TaskId, Time};
use proptest::prelude::*;

/// A job that arrives at this microsecond and executes for `executed` microseconds.
fn job(at: i64, executed: i64) -> SeenJob {
    SeenJob {
        arrival: Time::from_us(at),
        delay: Duration::ZERO,
        end: Some(Time::from_us(at + executed + 50)),
        executed: Service::from_us(executed),
        lost: Duration::ZERO,
        stretches: Vec::new(),
        deadline: None,
        woken_by: None,
    }
}

/// A thread with jobs of 100 us that arrive at these microseconds.
fn thread(arrivals: &[i64]) -> Thread {
    Thread {
        name: "a".to_owned(),
        priorities: vec![(39, 1)],
        jobs: arrivals.iter().map(|&at| job(at, 100)).collect(),
        cpus: CpuSet::single(CpuId(1)),
        ..Thread::default()
    }
}

fn seen(threads: Vec<Thread>) -> Observation {
    let length = Duration::from_secs(10);
    let resolution = Duration::from_ns(1);
    Observation { threads, cpus: 2, length, resolution, ..Observation::default() }
}

fn pattern(at: &[i64]) -> Pattern {
    arrivals(&thread(at).jobs).expect("there are three").pattern
}

/// Deterministic pseudo-random numbers.
fn noise(seed: u64) -> impl FnMut(i64) -> i64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as i64 % below.max(1)
    }
}

proptest! {
    /// A period is found in spite of jitter and missing arrivals.
    #[test]
    fn a_period_is_found(
        period in 500i64..200_000,
        start in 0i64..1_000_000,
        jitter in 0i64..31,
        missing in 0i64..20,
        count in 40i64..300,
        seed: u64,
    ) {
        let mut draw = noise(seed);
        let mut at = Vec::new();
        for k in 0..count {
            let late = draw(period * jitter / 100 + 1);
            if draw(100) >= missing {
                at.push(start + k * period + late);
            }
        }
        match pattern(&at) {
            Pattern::Periodic { period: found, jitter: spread, .. } => {
                let error = (found.ns() - period * 1_000).abs();
                prop_assert!(error * 100 <= period * 1_000, "{found} and not {period}us");
                prop_assert!(spread.ns() <= period * (jitter + 20) * 10, "{spread}");
            }
            other => prop_assert!(false, "{other:?}"),
        }
    }

    /// No run of jobs comes earlier than separation and jitter allow, for any gaps.
    #[test]
    fn a_separation_is_kept(gaps in prop::collection::vec(1i64..10_000, 3..80)) {
        let mut at = vec![0];
        at.extend(gaps.iter().scan(0, |sum, gap| { *sum += gap; Some(*sum) }));
        if let Pattern::Sporadic { separation, jitter, .. } = pattern(&at) {
            for from in 0..at.len() {
                for to in from + 1..at.len() {
                    let length = (at[to] - at[from]) * 1_000;
                    let least = (to - from) as i64 * separation.ns() - jitter.ns();
                    prop_assert!(length >= least, "{from} to {to}: {length} < {least}");
                }
            }
        }
    }

    /// Arrivals that are timed from the one before are not
    /// periodic, and no gap is shorter than the separation.
    #[test]
    fn what_drifts_is_not_periodic(period in 1_000i64..50_000, seed: u64) {
        let mut draw = noise(seed);
        let mut at = vec![0];
        for _ in 0..200 {
            at.push(at[at.len() - 1] + period + draw(period));
        }
        let is_sporadic = matches!(pattern(&at), Pattern::Sporadic { .. });
        prop_assert!(is_sporadic);
    }
}

#[test]
fn few_arrivals_tell_nothing_or_little() {
    assert!(arrivals(&thread(&[0, 10_000]).jobs).is_none());
    assert!(arrivals(&thread(&[5, 5, 5]).jobs).is_none());
    let estimate = |at: &[i64]| estimate(&seen(vec![thread(at)]), 0, &Taking::default());
    assert_eq!(estimate(&[0, 1]), Err(Unfit::FewJobs { jobs: 2 }));
    assert_eq!(estimate(&[0, 10_000, 20_000]).unwrap().sureness, Sureness::Guess);
    let at = |count| (0..count).map(|k| k * 10_000).collect::<Vec<i64>>();
    assert_eq!(estimate(&at(20)).unwrap().sureness, Sureness::Likely);
    assert_eq!(estimate(&at(200)).unwrap().sureness, Sureness::Sure);
    let damaged = Observation { lost: 1, ..seen(vec![thread(&at(200))]) };
    assert_eq!(
        super::estimate(&damaged, 0, &Taking::default()).unwrap().sureness,
        Sureness::Likely
    );
}

#[test]
fn a_late_job_that_runs_on_is_one_job() {
    let mut late = thread(&[0, 10_000, 20_000, 50_000, 60_000, 70_000, 80_000, 90_000]);
    // It may have been three jobs, or one long job.
    late.jobs[2].end = Some(Time::from_us(45_000));
    late.jobs[2].executed = Service::from_us(900);
    let inferred = infer(&seen(vec![late]), Wanted::RealTime, &Taking::default());
    let task = inferred.system.tasks.values().next().unwrap();
    assert_eq!(task.to_string(), "a=900us/10ms");
    assert!(inferred.words.tasks[0].above.iter().any(|line| line.contains("ran on")));
}

#[test]
fn the_wcet_is_a_quantile_with_a_margin() {
    let mut varied = thread(&(0..100).map(|k| k * 1_000).collect::<Vec<i64>>());
    for (k, job) in varied.jobs.iter_mut().enumerate() {
        job.executed = Service::from_us(k as i64 + 1);
    }
    let seen = seen(vec![varied]);
    let wcet = |quantile, margin: &str| {
        let margin = margin.parse().unwrap();
        estimate(&seen, 0, &Taking { quantile, margin, ..Taking::default() }).unwrap().wcet
    };
    assert_eq!(wcet(EVERY, "1"), Service::from_us(100));
    assert_eq!(wcet(90_000, "1"), Service::from_us(90));
    assert_eq!(wcet(50_000, "1.5"), Service::from_us(75));
    assert_eq!(wcet(1, "1"), Service::from_us(1));
}

#[test]
fn affinities_are_as_asked() {
    let at: Vec<i64> = (0..50).map(|k| k * 1_000).collect();
    let mut two = thread(&at);
    two.cpus.insert(CpuId(0));
    // One of them waited for its CPU while another one was free; the other merely never moved.
    let tied = Thread { tied: 3, ..thread(&at) };
    let seen = Observation { cpus: 3, ..seen(vec![tied, thread(&at), two]) };
    let of = |affinity| {
        let taking = Taking { affinity, ..Taking::default() };
        let inferred = infer(&seen, Wanted::RealTime, &taking);
        let affinity = |task: &layland_model::Task| task.affinity.as_ref().map(ToString::to_string);
        inferred.system.tasks.values().map(affinity).collect::<Vec<_>>()
    };
    let cpus = |text: &str| Some(text.to_owned());
    assert_eq!(of(Affinity::Pinned), [cpus("1"), None, None]);
    assert_eq!(of(Affinity::Seen), [cpus("1"), cpus("1"), cpus("0-1")]);
    assert_eq!(of(Affinity::None), [None, None, None]);
}

/// Two threads of SCHED_FIFO on CPU 1, the second of which waits for the first for 1 ms, while CPU
/// 0 runs a thread of this priority for the same time.
fn beside(priority: i32) -> Observation {
    let mut text = String::new();
    for k in 0..10i64 {
        let mut line = |us: i64, who: &str, cpu: u32, event: &str| {
            let at = 5_000_000 + k * 10_000 + us;
            let (seconds, rest) = (at / 1_000_000, at % 1_000_000);
            text += &format!("{who} [{cpu:03}] d..2. {seconds}.{rest:06}: {event}\n");
        };
        let switch = |(a, p, x): (&str, u32, i32), state: &str, (b, q, y): (&str, u32, i32)| {
            format!(
                "sched_switch: prev_comm={a} prev_pid={p} prev_prio={x} prev_state={state} ==> \
                 next_comm={b} next_pid={q} next_prio={y}"
            )
        };
        let wakes = |(a, p, x): (&str, u32, i32)| {
            format!("sched_waking: comm={a} pid={p} prio={x} target_cpu=001")
        };
        let (idle, first, second) = (("swapper", 0, 120), ("first", 5, 9), ("second", 6, 19));
        let other = ("other", 7, priority);
        line(0, "<idle>-0", 0, &switch(idle, "R", other));
        line(10, "<idle>-0", 1, &wakes(first));
        line(15, "<idle>-0", 1, &switch(idle, "R", first));
        line(20, "first-5", 1, &wakes(second));
        line(1_020, "first-5", 1, &switch(first, "S", second));
        line(1_520, "second-6", 1, &switch(second, "S", idle));
        line(2_000, "other-7", 0, &switch(other, "S", idle));
    }
    observe(&text).unwrap()
}

#[test]
fn only_a_thread_that_let_another_cpu_pass_is_tied_to_its_own() {
    let tied = |seen: &Observation, name: &str| {
        seen.threads.iter().find(|thread| thread.name == name).unwrap().tied
    };
    // CPU 0 has an ordinary thread, or one of a lower priority:
    // the kernel would have moved the second thread there.
    for priority in [120, 29] {
        let seen = beside(priority);
        assert_eq!((tied(&seen, "first"), tied(&seen, "second")), (0, 10), "{priority}");
        let inferred = infer(&seen, Wanted::RealTime, &Taking::default());
        let task = |name: &str| inferred.system.tasks.values().find(|task| task.name == name);
        // If no real-time thread uses the CPU that it left
        // unused, all of them may be kept off that CPU.
        assert_eq!(task("second").unwrap().affinity.is_some(), priority == 29, "{priority}");
        assert!(task("first").unwrap().affinity.is_none());
    }
    // CPU 0 has a thread that is as important, or a
    // SCHED_DEADLINE thread, which takes precedence there.
    for priority in [19, 9, -1] {
        assert_eq!(tied(&beside(priority), "second"), 0, "{priority}");
    }
}

#[test]
fn suspensions_that_differ_count_as_execution() {
    // The fifth job does not wait for the disk.
    let cuts = ["comm=con pid=6 prio=49 target_cpu=000", "prev_comm=con", "next_comm=con"];
    let text = pipeline();
    let of_job = |line: &&str| line.starts_with("con-6") || line.starts_with("<idle>");
    let (mut kept, mut number) = (String::new(), 0);
    for line in text.lines() {
        let is_inner = cuts.iter().any(|cut| line.contains(cut)) && of_job(&line);
        number += usize::from(line.contains("prev_comm=pro"));
        let is_gone = is_inner && number == 5 && !line.contains("prev_state=S");
        if !is_gone {
            kept += &format!("{line}\n");
        }
    }
    let inferred = infer(&observe(&kept).unwrap(), Wanted::RealTime, &Taking::default());
    let consumer = inferred.chosen.tasks.last().unwrap();
    let Suspensions::Counted { jobs: 39, longest } = consumer.suspensions else {
        panic!("{:?}", consumer.suspensions)
    };
    assert_eq!(longest, Duration::from_us(1_490));
    // The longest job lasts 2495 us, counted from 10 us after its wake-up and including waits.
    assert!(consumer.wcet >= Service::from_us(2_495), "{}", consumer.wcet);
    assert_eq!(consumer.sureness, Sureness::Guess);
    let words = inferred.words.tasks.last().unwrap();
    assert!(words.above.iter().any(|line| line.contains("counts as execution")), "{words:?}");
}

#[test]
fn the_start_of_a_program_is_named_and_left_out() {
    // Thirteen irregular wake-ups, one of them long, and then 3 ms every 20 ms.
    let mut early: Vec<SeenJob> = (0..13).map(|k| job(k * 600 + k % 3 * 70, 200)).collect();
    early[4].executed = Service::from_ms(25);
    let steady = (0..100).map(|k| job(30_000 + k * 20_000, 3_000));
    let thread = Thread {
        name: "ctl".to_owned(),
        jobs: early.into_iter().chain(steady).collect(),
        ..thread(&[])
    };
    let inferred = infer(&seen(vec![thread]), Wanted::RealTime, &Taking::default());
    let tasks: Vec<String> = inferred.system.tasks.values().map(ToString::to_string).collect();
    assert_eq!(tasks, ["ctl=3ms/20ms"]);
    let [Estimate { start_up: Some(start), .. }] = inferred.chosen.tasks.as_slice() else {
        panic!("{:?}", inferred.chosen)
    };
    assert_eq!((start.jobs, start.longest), (13, Service::from_ms(25)));
    assert!(inferred.words.tasks[0].above.iter().any(|line| line.contains("its start, 13 jobs")));
}

/// A program that loads itself in its first job does not have a WCET of that length, unless it has
/// said that this is a job.
#[test]
fn a_first_job_that_is_far_longer_is_named_and_left_out() {
    let with_first = |executed: i64, is_marked: bool| {
        let later = (2..100).map(|k| job(k * 20_000, 3_000 + k % 7 * 20));
        let jobs = [job(0, executed)].into_iter().chain(later).collect();
        let thread = Thread { name: "ctl".to_owned(), jobs, is_marked, ..thread(&[]) };
        infer(&seen(vec![thread]), Wanted::RealTime, &Taking::default())
    };
    let long = with_first(37_000, false);
    let ctl = &long.system.tasks[TaskId(0)];
    assert_eq!(ctl.period, Duration::from_ms(20));
    assert_eq!(ctl.own_wcet(), Service::from_us(3_120));
    let line = "Left out: its start, 1 job in the first 40 ms, of up to 37 ms; ";
    assert!(long.words.tasks[0].above.iter().any(|above| above.starts_with(line)), "{long:?}");
    // Three times as long may be a job like others.
    assert_eq!(with_first(9_000, false).system.tasks[TaskId(0)].own_wcet(), Service::from_ms(9));
    assert_eq!(with_first(37_000, true).system.tasks[TaskId(0)].own_wcet(), Service::from_ms(37));
}

#[test]
fn round_lengths_and_rates_are_believed_and_others_kept() {
    let tolerance = "0.01".parse().unwrap();
    for (seen, meant) in [
        (9_999_300, Some(10_000_000)),
        (10_080_000, Some(10_000_000)),
        (10_120_000, None),
        (1_000_001, Some(1_000_000)),
        (24_990_000, Some(25_000_000)),
        (12_499_900, Some(12_500_000)),
        (12_340_000, None),
        (16_666_131, Some(16_666_667)),
        (33_332_865, Some(33_333_333)),
        (1, Some(1)),
        (0, None),
    ] {
        let found = nominal(Duration::from_ns(seen), &tolerance).map(|found| found.length.ns());
        assert_eq!(found, meant, "{seen}");
    }
    assert_eq!(nominal(Duration::from_ms(10), &layland_model::Rate::ZERO), None);
}

/// A producer that wakes a consumer at its end, and is woken by a timer. Every job of the consumer
/// has a suspension in state D in its middle.
fn pipeline() -> String {
    let mut text = String::new();
    for k in 0..40i64 {
        let mut line = |us: i64, who: &str, flags: &str, event: &str| {
            let at = 7_000_000 + k * 10_000 + us;
            let (seconds, rest) = (at / 1_000_000, at % 1_000_000);
            text += &format!("{who} [000] {flags} {seconds}.{rest:06}: {event}\n");
        };
        let switch = |prev: &str, state: &str, next: &str| {
            let of = |side: &str, thread: &str| {
                let (name, rest) = thread.split_once(':').unwrap();
                let (pid, prio) = rest.split_once(':').unwrap();
                format!("{side}_comm={name} {side}_pid={pid} {side}_prio={prio}")
            };
            format!(
                "sched_switch: {} prev_state={state} ==> {}",
                of("prev", prev),
                of("next", next)
            )
        };
        let (idle, p, c) = ("swapper/0:0:120", "pro:5:39", "con:6:49");
        line(0, "<idle>-0", "d.h3.", "sched_waking: comm=pro pid=5 prio=39 target_cpu=000");
        line(10, "<idle>-0", "d..2.", &switch(idle, "R", p));
        line(1_000, "pro-5", "d..3.", "sched_waking: comm=con pid=6 prio=49 target_cpu=000");
        line(1_010, "pro-5", "d..2.", &switch(p, "S", c));
        line(1_510, "con-6", "d..2.", &switch(c, "D", idle));
        line(3_000, "<idle>-0", "d.h3.", "sched_waking: comm=con pid=6 prio=49 target_cpu=000");
        line(3_005, "<idle>-0", "d..2.", &switch(idle, "R", c));
        line(3_505, "con-6", "d..2.", &switch(c, "S", idle));
    }
    text
}

#[test]
fn a_consumer_is_woken_by_its_producer_and_not_by_interrupts() {
    let seen = observe(&pipeline()).unwrap();
    let inferred = infer(&seen, Wanted::RealTime, &Taking::default());
    let tasks: Vec<String> = inferred.system.tasks.values().map(ToString::to_string).collect();
    // A wait for a disk, in state D, does not end a job and is not execution, but a step of its
    // own. The latency after the wait is part of the following stretch. The latency before the job
    // makes the WCET longer and the period shorter.
    assert_eq!(tasks, ["pro=1.01ms/9.99ms", "con=1.005ms/10ms"]);
    let run = |us| Step::Run(Service::from_us(us));
    let suspend = |us| Step::Suspend(Duration::from_us(us));
    let consumer = inferred.system.tasks.values().last().unwrap();
    assert_eq!(consumer.steps(), [run(500), suspend(1_490), run(505)]);
    let offsets: Vec<i64> =
        inferred.system.tasks.values().map(|task| task.offset.ns() / 1_000).collect();
    assert_eq!(offsets, [0, 1_000]);
    let [chain] = inferred.chains.as_slice() else { panic!("{:?}", inferred.chains) };
    assert_eq!((chain.times, chain.of, chain.at_end), (40, 40, 40));
    assert!(chain.is_certain);
    assert_eq!(chain.after, Some([Duration::from_ms(1); 3]));
    // Without flags the same chain is found, but it is not certain.
    let bare = pipeline().replace("d.h3. ", "").replace("d..3. ", "").replace("d..2. ", "");
    let inferred = infer(&observe(&bare).unwrap(), Wanted::RealTime, &Taking::default());
    assert!(!inferred.chains[0].is_certain);
}

#[test]
fn jobs_without_beginning_or_end_are_left_out() {
    let text = pipeline();
    let lines: Vec<&str> = text.lines().collect();
    // The text begins in the first job of the producer and ends in the last one of the consumer.
    let cut = lines[2..lines.len() - 1].join("\n");
    let seen = observe(&cut).unwrap();
    let of = |name: &str| seen.threads.iter().find(|thread| thread.name == name).unwrap();
    assert_eq!((of("pro").beheaded, of("pro").jobs.len()), (1, 39));
    let ends = of("con").jobs.iter().filter(|job| job.end.is_some()).count();
    assert_eq!((of("con").jobs.len(), ends), (40, 39));
    let inferred = infer(&seen, Wanted::RealTime, &Taking::default());
    let tasks: Vec<String> = inferred.system.tasks.values().map(ToString::to_string).collect();
    assert_eq!(tasks, ["pro=1.01ms/9.99ms", "con=1.005ms/10ms"]);
}

#[test]
fn a_missing_switch_costs_its_job_alone() {
    let text = pipeline();
    let lines: Vec<&str> = text.lines().collect();
    let mut torn = lines.clone();
    // In its tenth job the consumer leaves for good, but the switch is missing.
    torn.remove(9 * 8 + 7);
    let seen = observe(&torn.join("\n")).unwrap();
    let consumer = seen.threads.iter().find(|thread| thread.name == "con").unwrap();
    assert!(consumer.torn > 0 && consumer.jobs.len() >= 37, "{}", consumer.torn);
    let inferred = infer(&seen, Wanted::RealTime, &Taking::default());
    let tasks: Vec<String> = inferred.system.tasks.values().map(ToString::to_string).collect();
    assert_eq!(tasks, ["pro=1.01ms/9.99ms", "con=1.005ms/10ms"]);
}

#[test]
fn what_is_left_of_torn_jobs_tells_no_period() {
    // A CPU that traces nothing while it is idle leaves a few of many jobs, with meaningless gaps.
    let left = |torn| {
        let thread = Thread { torn, ..thread(&[0, 920_000, 2_880_000, 3_840_000]) };
        super::estimate(&seen(vec![thread]), 0, &Taking::default()).map(|task| task.period)
    };
    assert!(left(3).is_ok());
    assert_eq!(left(4), Err(Unfit::MostlyTorn { torn: 4, jobs: 4 }));
}

#[test]
fn threads_are_chosen_by_class_then_by_period_then_by_name() {
    let at: Vec<i64> = (0..50).map(|k| k * 10_000).collect();
    let of = |name: &str, priority| Thread {
        name: name.to_owned(),
        priorities: vec![(priority, 9)],
        ..thread(&at)
    };
    let all = seen(vec![of("migration/0", 0), of("plain", 120), of("rt", 39), of("dl", -1)]);
    let chosen = |seen: &Observation, wanted: Wanted| {
        let inferred = infer(seen, wanted, &Taking::default());
        let names = inferred.system.tasks.values().map(|task| task.name.to_string());
        (names.collect::<Vec<_>>(), inferred.chosen.by)
    };
    let names = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    assert_eq!(chosen(&all, Wanted::RealTime), (names(&["dl", "rt"]), Choice::RealTime));
    let plain = seen(vec![of("plain", 120), of("kworker/1", 120)]);
    assert_eq!(chosen(&plain, Wanted::RealTime), (names(&["plain"]), Choice::Periodic));
    let asked = |name: &str, _: Option<u32>| name.starts_with('p');
    assert_eq!(chosen(&all, Wanted::Where(&asked)), (names(&["plain"]), Choice::Asked));
    let inferred = infer(&all, Wanted::RealTime, &Taking::default());
    assert_eq!(inferred.chosen.left_out.len(), 1);
    assert_eq!(inferred.chosen.others, 1);
}

#[test]
fn names_are_lines_and_differ() {
    let at: Vec<i64> = (0..5).map(|k| k * 10_000).collect();
    let of = |name: &str, pid| Thread { name: name.to_owned(), pid, ..thread(&at) };
    let all = vec![of("a", Some(7)), of("a", Some(8)), of("b\n", None), of("", None), of("", None)];
    let inferred = infer(&seen(all), Wanted::RealTime, &Taking::default());
    let names: Vec<&str> = inferred.system.tasks.values().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["a", "a-8", "b?", "thread", "thread.2"]);
    assert!(inferred.system.validate().is_empty());
}

#[test]
fn rare_short_gaps_are_jitter_and_not_a_separation() {
    let mut at = vec![0i64];
    for k in 1..200 {
        // The arrivals drift, so that no line fits; every fiftieth one is early.
        let gap = 10_000 + k * 37 % 400 - if k % 50 == 0 { 7_000 } else { 0 };
        at.push(at[at.len() - 1] + gap);
    }
    let Pattern::Sporadic { separation, jitter, .. } = pattern(&at) else { panic!() };
    assert!(separation >= Duration::from_ms(10), "{separation}");
    assert!(jitter >= Duration::from_ms(6), "{jitter}");
    let inferred = infer(&seen(vec![thread(&at)]), Wanted::RealTime, &Taking::default());
    let task = inferred.system.tasks.values().next().unwrap();
    assert!(matches!(task.behaviour, Behaviour::Sporadic(_)));
    assert_eq!((task.period, task.jitter), (separation, jitter));
}

/// The period and jitter for arrivals at these microseconds.
fn fitted(at: &[i64], taking: &Taking) -> (Duration, Duration) {
    let estimate = estimate(&seen(vec![thread(at)]), 0, taking).unwrap();
    (estimate.period, estimate.jitter)
}

/// Returns true if no run of arrivals comes earlier than period and jitter allow.
fn allows(at: &[i64], (period, jitter): (Duration, Duration)) -> bool {
    (0..at.len()).all(|from| {
        (from + 1..at.len()).all(|to| {
            let span = (at[to] - at[from]) * 1_000;
            span >= (to - from) as i64 * period.ns() - jitter.ns()
        })
    })
}

proptest! {
    /// This holds for any rounding, and for arrivals that are doubled, late or missing.
    #[test]
    fn no_window_holds_more_arrivals_than_the_set_allows(
        period in 500i64..200_000,
        jitter in prop_oneof![Just(0i64), Just(2), 0i64..500],
        missing in 0i64..10,
        doubled in 0i64..10,
        count in 5i64..200,
        is_exact: bool,
        seed: u64,
    ) {
        let mut draw = noise(seed);
        let mut at = Vec::new();
        for k in 0..count {
            let late = draw(jitter + 1) + if draw(50) == 0 { draw(period) } else { 0 };
            if draw(100) >= missing {
                at.push(k * period + late);
            }
            if draw(100) < doubled {
                at.push(k * period + late + draw(period));
            }
        }
        at.sort_unstable();
        at.dedup();
        prop_assume!(at.len() >= 3);
        let exact = Taking { tolerance: layland_model::Rate::ZERO, ..Taking::default() };
        let taking = if is_exact { exact } else { Taking::default() };
        let found = fitted(&at, &taking);
        // The start of the program is not part of the estimate.
        let start = steady(&thread(&at).jobs).map_or(0, |(start, _)| start);
        prop_assert!(allows(&at[start..], found), "{found:?} of {at:?} from {start} on");
    }
}

#[test]
fn a_period_is_never_rounded_beyond_what_was_seen() {
    let of =
        |gap: i64| fitted(&(0..50i64).map(|k| k * gap).collect::<Vec<i64>>(), &Taking::default());
    assert_eq!(of(10_000), (Duration::from_ms(10), Duration::ZERO));
    assert_eq!(of(9_910), (Duration::from_us(9_910), Duration::ZERO));
    assert_eq!(of(10_080), (Duration::from_ms(10), Duration::ZERO));
    // A small jitter makes the period shorter, and a larger one stays jitter.
    let late = |us| {
        let at: Vec<i64> = (0..50i64).map(|k| k * 10_000 + k % 2 * us).collect();
        fitted(&at, &Taking::default())
    };
    assert_eq!(late(4), (Duration::from_us(9_996), Duration::ZERO));
    let (period, jitter) = late(500);
    assert_eq!(period, Duration::from_ms(10));
    assert!(jitter >= Duration::from_us(500), "{jitter}");
    let exact = Taking { tolerance: layland_model::Rate::ZERO, ..Taking::default() };
    let at: Vec<i64> = (0..50i64).map(|k| k * 10_000 + k % 2 * 2).collect();
    assert!(fitted(&at, &exact).1 >= Duration::from_us(2));
}

#[test]
fn a_thread_that_sleeps_within_its_jobs_has_steps() {
    // 1.5 ms, a sleep of 0.1 ms, 6 ms, and the next job 10 ms after the beginning of the first.
    let mut jobs = Vec::new();
    for k in 0..50 {
        for (at, executed) in [(k * 10_000, 1_500), (k * 10_000 + 1_600, 6_000)] {
            jobs.push(SeenJob { end: Some(Time::from_us(at + executed)), ..job(at, executed) });
        }
    }
    let inferred =
        infer(&seen(vec![Thread { jobs, ..thread(&[]) }]), Wanted::RealTime, &Taking::default());
    let task = inferred.system.tasks.values().next().unwrap();
    assert_eq!(task.to_string(), "a=7.5ms/10ms");
    let run = |us| Step::Run(Service::from_us(us));
    assert_eq!(task.steps(), [run(1_500), Step::Suspend(Duration::from_us(100)), run(6_000)]);
    assert_eq!(inferred.chosen.tasks[0].parts, 2);
}

#[test]
fn what_the_trace_shows_and_no_set_explains_is_kept() {
    let seen = seen(vec![thread(&(0..50).map(|k| k * 10_000).collect::<Vec<i64>>())]);
    let of = |unexplained: &dyn Fn(&Inferred) -> Vec<String>| {
        infer_held(&seen, Wanted::RealTime, &Taking::default(), unexplained).system
    };
    assert!(of(&|_| Vec::new()).unexplained().is_empty());
    let system = of(&|inferred| {
        assert!(inferred.policies.contains(&"g-fp") || inferred.policies == ["p-fp"]);
        assert_eq!(inferred.responses, [Duration::from_us(150)]);
        vec!["`a` took long".to_owned()]
    });
    assert_eq!(system.unexplained(), ["`a` took long"]);
    // The number of used CPUs explains it: one of two.
    let system = of(&|inferred| match inferred.system.platform.cpu_count() {
        1 => Vec::new(),
        _ => vec!["`a` took long".to_owned()],
    });
    assert_eq!((system.platform.cpu_count(), system.unexplained().len()), (1, 0));
}

#[test]
fn the_platform_depends_on_the_trace_and_not_on_factors() {
    let seen = seen(vec![thread(&(0..50).map(|k| k * 10_000).collect::<Vec<i64>>())]);
    // Two CPUs explain no wait of 150 us, but for jobs that execute at least as long.
    let of = |quantile, margin: &str| {
        let margin = margin.parse().unwrap();
        let taking = Taking { quantile, margin, ..Taking::default() };
        let inferred = infer_held(&seen, Wanted::RealTime, &taking, &|inferred| {
            let system = &inferred.system;
            let wcet = system.tasks.values().next().unwrap().own_wcet();
            let is_explained = system.platform.cpu_count() == 1 || wcet >= Service::from_us(150);
            if is_explained { Vec::new() } else { vec!["`a` took long".to_owned()] }
        });
        let wcet = inferred.system.tasks.values().next().unwrap().own_wcet();
        (inferred.system.platform.cpu_count(), wcet)
    };
    let (cpus, wcet) = of(EVERY, "1");
    assert_eq!(cpus, 1);
    for (quantile, margin) in
        [(EVERY, "2"), (EVERY, "1.1"), (EVERY, "0.5"), (50_000, "1"), (1, "9")]
    {
        assert_eq!(of(quantile, margin).0, cpus, "{quantile} {margin}");
    }
    assert!(of(EVERY, "2").1 > wcet, "the factor still counts");
}

#[test]
fn a_reservation_is_never_shorter_than_its_deadline() {
    // The clock of the trace is a little fast, or slow, or far too fast.
    for us in [9_990, 9_950, 10_000, 10_010, 5_000] {
        let at: Vec<i64> = (0..50).map(|k| k * us).collect();
        for deadline in [4, 10, 12] {
            let reserved = Reserved {
                runtime: Service::from_ms(1),
                deadline: Duration::from_ms(deadline),
                period: Duration::from_ms(10),
            };
            let own =
                Thread { reserved: Some(reserved), priorities: vec![(-1, 50)], ..thread(&at) };
            let inferred = infer(&seen(vec![own]), Wanted::RealTime, &Taking::default());
            let task = inferred.system.tasks.values().next().unwrap();
            assert!(task.deadline <= task.period, "{us} {deadline}: {task}");
            let estimate = &inferred.chosen.tasks[0];
            let word = &inferred.words.tasks[0].keys["period"];
            let is_told = estimate.seen_period().is_none() || word.contains("reserved");
            assert!(is_told, "{us} {deadline}: {word}");
        }
    }
}

/// A thread without a wake-up gets the CPU after 3 ms, for 1
/// ms. Until then another thread of the given priority had it.
fn never_woken(priority: i32) -> Thread {
    let mut text = String::new();
    let mut line = |us: i64, who: &str, event: &str| {
        let (seconds, rest) = ((5_000_000 + us) / 1_000_000, (5_000_000 + us) % 1_000_000);
        text += &format!("{who} [000] d..2. {seconds}.{rest:06}: {event}\n");
    };
    let switch = |(a, p, x): (&str, u32, i32), (b, q, y): (&str, u32, i32)| {
        format!(
            "sched_switch: prev_comm={a} prev_pid={p} prev_prio={x} prev_state=S ==> \
             next_comm={b} next_pid={q} next_prio={y}"
        )
    };
    let wakes = |comm: &str, pid: u32| format!("sched_waking: comm={comm} pid={pid} prio=59");
    let (idle, other, own) = (("swapper/0", 0, 120), ("other", 5, priority), ("own", 6, 59));
    line(0, "other-5", &wakes("third", 9));
    line(3_000, "other-5", &switch(other, own));
    line(4_000, "own-6", &switch(own, idle));
    for k in 1..20i64 {
        line(k * 10_000, "<idle>-0", &wakes("own", 6));
        line(k * 10_000, "<idle>-0", &switch(idle, own));
        line(k * 10_000 + 1_000, "own-6", &switch(own, idle));
    }
    let seen = observe(&text).unwrap();
    seen.threads.into_iter().find(|thread| thread.name == "own").unwrap()
}

#[test]
fn a_job_that_began_before_the_trace_has_waited_for_who_had_its_cpu() {
    let arrival = |thread: &Thread| thread.partial[0].job.arrival;
    assert_eq!(arrival(&never_woken(39)), Time::ZERO);
    assert_eq!(arrival(&never_woken(59)), Time::ZERO);
    // It would not have waited for threads of these priorities.
    for priority in [69, 120] {
        assert_eq!(arrival(&never_woken(priority)), Time::from_ms(3), "{priority}");
    }
}
