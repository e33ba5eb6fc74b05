//! Bonifaci, Brandenburg, D'Angelo and Marchetti-Spaccamela 2016: its definitions on the bundled
//! sets, and the speed of its Theorem IV.8. The paper has no schedule with worked-out numbers.

use layland_analysis::affinity::{feasibility, hpa_speed};
use layland_analysis::{TestKind, Verdict};
use layland_checker::check;
use layland_config::{Format, Host, demo, read};
use layland_model::{CpuId, CpuSet, Duration, Rate, Service, Speed, System, Task, TaskId, Time};
use layland_policy::Policy;
use layland_sim::{SimOptions, simulate};
use layland_testkit::affinity::drive::{Driver, random};
use layland_testkit::registry;
use layland_trace::{Counters, Trace};
use std::collections::BTreeMap;

fn system(name: &str) -> System {
    let demo = demo(name).expect("a bundled task set");
    read(name, demo.text.as_bytes(), Format::Toml, &Host::default()).unwrap().system
}

fn run(system: &System, policy: &str, until: Time) -> Trace {
    let policy = registry().build(policy, system).expect("the policy takes the example");
    let rule = policy.rule();
    let mut trace = Trace::default();
    simulate(system, policy, &mut trace, &SimOptions::until(until)).unwrap();
    let report = check(&trace, system, &rule, 5);
    assert!(report.is_clean(), "{report}");
    trace
}

/// Returns the executions of a task, in milliseconds: CPU, from, to.
fn schedule(trace: &Trace, task: u32) -> Vec<(u32, i64, i64)> {
    let ms = |at: Time| at.ns() / 1_000_000;
    let own = trace.segments.iter().filter(|segment| segment.job.task == TaskId(task));
    own.map(|segment| (segment.cpu.0, ms(segment.start), ms(segment.end))).collect()
}

fn misses(trace: &Trace) -> usize {
    trace.jobs.iter().filter(|record| record.missed(trace.over)).count()
}

#[test]
fn shifting_saves_what_weak_scheduling_loses() {
    let system = system("shifting");
    let (poll, control, driver) = (0, 1, 2);
    let weak = run(&system, "weak-edf", Time::from_ms(11));
    assert_eq!(schedule(&weak, poll)[..2], [(1, 0, 1), (1, 5, 6)]);
    assert_eq!(schedule(&weak, control)[..1], [(0, 0, 5)]);
    assert_eq!(schedule(&weak, driver), [(0, 5, 11)]);
    assert!(misses(&weak) > 0);
    for policy in ["strong-edf", "hpa-edf"] {
        let strong = run(&system, policy, Time::from_ms(10));
        assert_eq!(schedule(&strong, poll), [(1, 0, 1), (1, 5, 6)], "{policy}");
        assert_eq!(schedule(&strong, control), [(0, 0, 1), (1, 1, 5)], "{policy}");
        assert_eq!(schedule(&strong, driver), [(0, 1, 7)], "{policy}");
    }
    for order in ["edf", "rm", "dm"] {
        for (family, is_late) in [("weak", true), ("strong", false), ("hpa", false)] {
            let trace = run(&system, &format!("{family}-{order}"), Time::from_ms(1000));
            assert_eq!(misses(&trace) > 0, is_late, "{family}-{order}");
        }
    }
    // The violation of strong scheduling in the weak schedule, with its remedy.
    let strong = registry().build("strong-edf", &system).unwrap().rule();
    let report = check(&weak, &system, &strong, 1);
    assert_eq!(
        report.violations[0].to_string(),
        "driver#1 waits at 1ms, but could run on CPU 0 if control#1 moved from CPU 0 to CPU 1, which is idle"
    );
}

#[test]
fn a_socket_can_be_too_full() {
    let mut system = system("crowded-socket");
    let finding = feasibility::TEST.run(&system).unwrap();
    assert_eq!(finding.verdict, TestKind::Exact.verdict(false));
    assert_eq!(
        finding.reasons[0].describe(&system),
        "the utilization of the tasks confined to these CPUs on CPUs 0-1 is 2.1, not within 2"
    );
    assert!(misses(&run(&system, "hpa-edf", Time::from_ms(2000))) > 0);
    let stereo = system.tasks.iter().find(|(_, task)| task.name == "stereo").unwrap().0;
    system.tasks[stereo].affinity = None;
    assert_eq!(feasibility::TEST.run(&system).unwrap().verdict, Verdict::Yes);
    assert_eq!(misses(&run(&system, "hpa-edf", Time::from_ms(2000))), 0);
}

/// CPU 0 becomes idle. The tasks on CPUs 1 and 2 are between it and the task that waits for CPU 2.
#[test]
fn a_departure_shifts_along_an_alternating_path() {
    let masks = ["0", "0-1", "1-2", "2"].map(|cpus| cpus.parse::<CpuSet>().unwrap());
    for (policy, after) in [
        ("weak-edf", BTreeMap::from([(CpuId(1), TaskId(1)), (CpuId(2), TaskId(2))])),
        ("strong-edf", (0..3).map(|cpu| (CpuId(cpu), TaskId(cpu + 1))).collect()),
    ] {
        let mut driver = Driver::new(policy, 3, &masks).unwrap();
        (0..4).for_each(|task| driver.arrive(TaskId(task), i64::from(task)));
        let before: BTreeMap<CpuId, TaskId> = (0..3).map(|at| (CpuId(at), TaskId(at))).collect();
        assert_eq!(driver.mapping(), &before, "{policy}");
        driver.depart(TaskId(0));
        assert_eq!(driver.mapping(), &after, "{policy}");
    }
}

/// Every set that is feasible at speed 1 meets all deadlines under HPA-EDF at the speed of Theorem IV.8.
#[test]
fn feasible_collections_meet_their_deadlines_at_the_speed_of_theorem_iv_8() {
    let (mut tried, mut late_at_unit_speed) = (0, 0);
    for index in 0..2_000 {
        let mut random = random(11, index);
        let clusters = 2 + random.below(2) as usize;
        let size = 1 + random.below(3) as usize;
        let cpus = clusters * size;
        let all: Vec<_> = CpuSet::first(cpus).iter().collect();
        let tasks = (0..cpus + 1 + random.below(5) as usize).map(|at| {
            // Periods are in units of a microsecond, so that rounding to nanoseconds does not matter.
            let period = 1000 * [4, 5, 6, 8, 10, 12][random.below(6) as usize];
            let wcet = 1000 + random.below(period as u64 - 999) as i64;
            let mut task =
                Task::implicit(format!("t{at}"), Service::from_ns(wcet), Duration::from_ns(period));
            task.offset = Duration::from_ns(1000 * random.below(6) as i64);
            let cluster = random.below(clusters as u64 + 1) as usize;
            task.affinity =
                all.chunks(size).nth(cluster).map(|cpus| cpus.iter().copied().collect());
            task
        });
        let mut system = System::new(cpus, tasks.collect());
        if feasibility::TEST.run(&system).unwrap().verdict != Verdict::Yes {
            continue;
        }
        tried += 1;
        let misses_at = |system: &System| {
            let policy = registry().build("hpa-edf", system).unwrap();
            let mut counters = Counters::new(system.tasks.len(), cpus);
            let options = SimOptions::until(Time::from_ns(480_000));
            simulate(system, policy, &mut counters, &options).unwrap();
            counters.total().missed > 0
        };
        late_at_unit_speed += usize::from(misses_at(&system));
        // The exact speed, rounded up to thousandths, and the bounds of the theorem for all such platforms.
        let exact = hpa_speed::for_system(&system).unwrap();
        let thousandths = (&exact.high * &Rate::whole(1000)).ceil().unwrap() as i64;
        let bound = if size == 1 { 2_415 } else { 3_562 };
        assert!(thousandths <= bound);
        for speed in [thousandths, bound] {
            let speed = Speed::new(&Rate::new(speed, 1000)).expect("a small fraction");
            system.platform.speeds.values_mut().for_each(|each| *each = speed);
            assert!(!misses_at(&system), "set {index} misses at {speed:?}\n{system:#?}");
        }
    }
    assert!(tried >= 300, "only {tried} feasible collections");
    assert!(late_at_unit_speed >= 10, "only {late_at_unit_speed} of {tried} miss at speed 1");
}
