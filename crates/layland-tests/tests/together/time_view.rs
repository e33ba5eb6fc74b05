//! CPUs of other speeds: a set on CPUs of one speed in each cluster has the answers and the schedule
//! of the set that is converted to time, and no accepted set misses.
//!
//! The conversion here is the slow twin of `System::time_view`: it counts the work of a CPU nanosecond
//! by nanosecond.

use layland_analysis::Verdict;
use layland_guarantee::{AssessOptions, Bound, assess};
use layland_model::{
    Algorithm, CpuId, CpuSet, Duration, ExecutionModel, Form, Preemption, Rate, Resource,
    ResourceId, Service, Speed, Step, System, Task, TaskId, Time,
};
use layland_sim::{SimOptions, simulate};
use layland_testkit::cases::on_random;
use layland_testkit::curves::bursty;
use layland_testkit::registry;
use layland_testkit::strategies::{periodic_system, rich_system};
use layland_trace::{Counters, Segment, Trace};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Counts the nanoseconds by which a CPU has done some work.
fn counted(work: Service, speed: Speed) -> i64 {
    let (mut done, mut ns) = (0i64, 0);
    while done < work.ns() * speed.denominator() {
        done += speed.numerator();
        ns += 1;
    }
    ns
}

/// Converts a system whose clusters have CPUs of one speed each.
pub(crate) fn converted(system: &System) -> System {
    let mut twin = system.clone();
    for id in system.tasks.ids() {
        let cpu = system.allowed_cpus(id).lowest().unwrap();
        let speed = system.platform.speeds[cpu];
        let time = |work: Service| Service::from_ns(counted(work, speed));
        let task = &mut twin.tasks[id];
        task.wcet.iter_mut().for_each(|wcet| *wcet = time(*wcet));
        if let Some(steps) = &task.steps {
            let timed: Vec<Step> = steps
                .iter()
                .map(|&step| match step {
                    Step::Run(length) => Step::Run(time(length)),
                    Step::Lock(_) | Step::Unlock(_) | Step::Suspend(_) => step,
                })
                .collect();
            let whole: Service = timed
                .iter()
                .map(|step| match *step {
                    Step::Run(length) => length,
                    Step::Lock(_) | Step::Unlock(_) | Step::Suspend(_) => Service::ZERO,
                })
                .sum();
            task.wcet = vec![whole].into();
            task.steps = Some(timed.into());
        }
        if let Preemption::Between(segments) = &mut task.preemption {
            let (mut work, mut last) = (Service::ZERO, 0);
            let mut timed = Vec::new();
            for &segment in segments.iter() {
                work += segment;
                let end = counted(work, speed);
                timed.push(Service::from_ns(end - last));
                last = end;
            }
            timed.retain(|segment| *segment > Service::ZERO);
            *segments = timed.into();
        }
        task.execution = match &task.execution {
            ExecutionModel::Uniform { min, max } => {
                ExecutionModel::Uniform { min: time(*min), max: time(*max) }
            }
            ExecutionModel::Discrete(values) => {
                ExecutionModel::Discrete(values.iter().map(|&(c, n)| (time(c), n)).collect())
            }
            ExecutionModel::List(values) => {
                ExecutionModel::List(values.iter().map(|&c| time(c)).collect())
            }
            other => other.clone(),
        };
        task.budget = task.budget.map(time);
    }
    twin.platform.speeds.values_mut().for_each(|speed| *speed = Speed::UNIT);
    twin
}

/// The division of the CPUs of a system.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Division {
    /// Each task has one CPU.
    Single,
    /// Clusters of two CPUs.
    Pairs,
    /// One cluster with all CPUs.
    Whole,
}

/// Draws a division, speeds, and steps or regions of the tasks.
fn draws() -> impl Strategy<Value = (Division, Vec<(i64, i64)>, Vec<u8>, u8)> {
    let division = prop_oneof![
        4 => Just(Division::Single),
        1 => Just(Division::Pairs),
        1 => Just(Division::Whole)
    ];
    let speed = prop_oneof![
        1 => Just((1, 1)),
        6 => (1i64..10, 1i64..10),
        1 => (200i64..1000, Just(1000)),
    ];
    (division, prop::collection::vec(speed, 4), prop::collection::vec(any::<u8>(), 8), any::<u8>())
}

/// Gives the clusters of a system speeds, and its tasks regions or steps.
fn prepared(
    mut system: System,
    (division, speeds, extras, kind): (Division, Vec<(i64, i64)>, Vec<u8>, u8),
) -> System {
    let cpus: Vec<CpuId> = system.platform.cpus().collect();
    let size = match division {
        Division::Single => 1,
        Division::Pairs => 2,
        Division::Whole => cpus.len(),
    };
    let clusters: Vec<CpuSet> =
        cpus.chunks(size).map(|chunk| chunk.iter().copied().collect()).collect();
    for (cluster, &(n, d)) in clusters.iter().zip(&speeds) {
        let speed = Speed::new(&Rate::new(n, d)).unwrap();
        cluster.iter().for_each(|cpu| system.platform.speeds[cpu] = speed);
    }
    if kind % 3 == 0 {
        system.resources = vec![Resource { name: "bus".to_owned(), home: None }];
    }
    let count = clusters.len();
    for (at, (task, &extra)) in system.tasks.values_mut().zip(&extras).enumerate() {
        let place = at % count;
        match division {
            Division::Single => task.affinity = Some(clusters[place].clone()),
            Division::Pairs => task.cluster = place,
            Division::Whole => {}
        }
        let wcet = task.own_wcet().ns();
        let cut = i64::from(extra) % wcet + 1;
        match kind % 3 {
            // Steps: one-CPU protocols and suspensions.
            0 if division == Division::Single && extra % 3 > 0 && wcet > 1 && cut < wcet => {
                let (a, b) = (Service::from_ns(cut), Service::from_ns(wcet - cut));
                let bus = ResourceId(0);
                let is_shared = place == 0 && extra % 2 == 0;
                task.steps = Some(if is_shared {
                    [Step::Lock(bus), Step::Run(a), Step::Unlock(bus), Step::Run(b)].into()
                } else {
                    let gap = Step::Suspend(Duration::from_ns(i64::from(extra) % 3));
                    [Step::Run(a), gap, Step::Run(b)].into()
                });
            }
            1 if extra % 4 == 0 => task.preemption = Preemption::Never,
            1 if extra % 4 == 1 && cut < wcet => {
                let segments = [Service::from_ns(cut), Service::from_ns(wcet - cut)];
                task.preemption = Preemption::Between(segments.into());
            }
            1 if extra % 4 == 2 => {
                task.preemption = Preemption::Delayed(Duration::from_ns(1 + i64::from(extra) % 4));
            }
            _ => {}
        }
    }
    if division == Division::Pairs {
        system.platform.clusters = clusters;
    }
    system
}

/// The policies whose answers are those of the converted set: they run the jobs of the highest
/// priorities in groups of CPUs, and reserve nothing.
fn specs() -> Vec<String> {
    let is_meant = |algorithm: Algorithm| match algorithm {
        Algorithm::Ordered(form, _) | Algorithm::Deferred(form, _) | Algorithm::Levels(form, _) => {
            form != Form::Hierarchical
        }
        Algorithm::Locking(..) | Algorithm::TopFirst(_) => true,
        Algorithm::FairLateness | Algorithm::Efdf => true,
        _ => false,
    };
    let by_name = registry().iter().filter(|info| is_meant(info.algorithm(&Default::default())));
    let mut specs: Vec<String> = by_name.map(|info| info.name.to_string()).collect();
    for locks in ["srp", "fmlp+", "msrp"] {
        specs.push(format!("p-edf:locks={locks}"));
    }
    for locks in ["none", "pip", "pcp", "ipcp", "mpcp", "fmlp+", "msrp"] {
        specs.push(format!("p-fp:locks={locks}"));
    }
    specs.extend(
        ["p-edf:nonpreemptive", "p-rm:nonpreemptive", "g-edf:nonpreemptive"].map(String::from),
    );
    specs
}

/// Returns the verdict of an assessment, the test that decides, whether the policy refuses, and the bounds.
pub(crate) fn said(
    spec: &str,
    system: &System,
) -> (Verdict, Option<&'static str>, bool, Vec<Bound>) {
    let found = assess(registry(), spec, system, &AssessOptions::by_tests()).unwrap();
    let bounds = found.bounds.values().cloned().collect();
    (found.verdict, found.decided_by, found.refused.is_some(), bounds)
}

/// Returns the policies for a division of the CPUs. Without ties to CPUs, packing has an order of its
/// own: that of the densities before the conversion.
fn specs_for(system: &System) -> Vec<String> {
    let is_tied = system.tasks.ids().all(|id| system.allowed_cpus(id).len() == 1);
    specs().into_iter().filter(|spec| is_tied || !spec.starts_with("p-")).collect()
}

fn compare_answers(
    system: &System,
    counts: &mut BTreeMap<String, [usize; 3]>,
) -> Result<bool, TestCaseError> {
    let twin = converted(system);
    let mut decided = false;
    for spec in specs_for(system) {
        let (ours, theirs) = (said(&spec, system), said(&spec, &twin));
        // CAPACITY may rule both out by other numbers, so the name of the test is not compared.
        let is_same = ours.0 == theirs.0 && ours.2 == theirs.2 && ours.3 == theirs.3;
        prop_assert!(is_same, "{spec}: {ours:?}, and converted {theirs:?}\n{system:?}");
        let count = counts.entry(spec).or_default();
        if !ours.2 {
            count[ours.0 as usize] += 1;
            decided |= ours.0 != Verdict::Unknown;
        }
    }
    Ok(decided)
}

/// The answers of each policy for a set with speeds are those for the converted set.
#[test]
fn answers_are_those_of_the_converted_set() {
    let counts = std::cell::RefCell::new(BTreeMap::new());
    let jittery = (rich_system(), draws(), any::<bool>()).prop_map(|(mut system, draws, plain)| {
        for task in system.tasks.values_mut() {
            if plain {
                task.jitter = Duration::ZERO;
            }
        }
        prepared(system, draws)
    });
    let plain = (periodic_system(), draws()).prop_map(|(system, draws)| prepared(system, draws));
    let curves = (bursty(), draws()).prop_map(|(system, (_, speeds, extras, kind))| {
        prepared(system, (Division::Single, speeds, extras, kind))
    });
    let all = prop_oneof![2 => plain, 1 => jittery, 1 => curves];
    on_random(400, 200, all, |system| compare_answers(&system, &mut counts.borrow_mut()));
    let counts = counts.into_inner();
    let silent: Vec<&String> =
        counts.iter().filter(|(_, count)| count[0] == 0).map(|(spec, _)| spec).collect();
    let expected: BTreeSet<&str> = BTreeSet::new();
    let silent: BTreeSet<&str> = silent.into_iter().map(String::as_str).collect();
    assert!(silent.is_subset(&expected), "no set is accepted under {silent:?}: {counts:?}");
}

/// The task and the number of a job, its CPU, and the start and the end of a segment.
pub(crate) type Slice = (TaskId, u64, CpuId, Time, Time);

/// Returns the segments of a run.
pub(crate) fn segments(spec: &str, system: &System, until: Time) -> Option<Vec<Slice>> {
    let policy = registry().build(spec, system).ok()?;
    let mut trace = Trace::default();
    simulate(system, policy, &mut trace, &SimOptions::until(until)).unwrap();
    let of = |segment: &Segment| {
        (segment.job.task, segment.job.seq, segment.cpu, segment.start, segment.end)
    };
    Some(trace.segments.iter().map(of).collect())
}

/// The schedule is that of the converted set, slice by slice.
#[test]
fn schedules_are_those_of_the_converted_set() {
    let all = (periodic_system(), draws()).prop_map(|(system, draws)| prepared(system, draws));
    on_random(1_500, 700, all, |system| {
        let twin = converted(&system);
        let mut ran = false;
        for spec in specs_for(&system) {
            let until = Time::from_ns(120);
            let (ours, theirs) = (segments(&spec, &system, until), segments(&spec, &twin, until));
            prop_assert_eq!(&ours, &theirs, "{}: {:?}", spec, system);
            ran |= ours.is_some_and(|all| !all.is_empty());
        }
        Ok(ran)
    });
}

/// Returns true if a job of a run is late.
fn is_late(spec: &str, system: &System) -> bool {
    let policy = registry().build(spec, system).unwrap();
    let mut counters = Counters::new(system.tasks.len(), system.platform.cpu_count());
    simulate(system, policy, &mut counters, &SimOptions::until(Time::from_ns(300))).unwrap();
    counters.total().missed > 0
}

/// No set is late that is accepted, wherever the policy puts its tasks: CPUs differ one from another,
/// and no task is tied to any.
#[test]
fn no_accepted_set_is_late() {
    let speeds =
        prop::collection::vec(prop_oneof![(1i64..10, 1i64..10), (1i64..1000, Just(1000))], 4);
    let fits = ["auto", "ff", "ffd", "bf", "bfd", "wf", "wfd", "nf", "nfd", "ef", "efd"];
    on_random(3_000, 400, (periodic_system(), speeds, 0usize..11), |(mut system, speeds, fit)| {
        for (speed, &(n, d)) in system.platform.speeds.values_mut().zip(&speeds) {
            *speed = Speed::new(&Rate::new(n, d)).unwrap();
        }
        let mut accepted = false;
        for name in ["p-edf", "p-rm", "p-dm", "p-fp", "p-edf:nonpreemptive", "p-dm:nonpreemptive"] {
            let spec = format!("{name}:fit={}", fits[fit]);
            if said(&spec, &system).0 == Verdict::Yes {
                accepted = true;
                prop_assert!(!is_late(&spec, &system), "{spec}: {system:?}");
            }
        }
        Ok(accepted)
    });
}

/// Packing by the sum of `C / T` against the speed would make most jobs late.
#[test]
fn packing_counts_whole_nanoseconds() {
    let task = |name: &str| Task::implicit(name, Service::from_ns(1), Duration::from_ns(3));
    let mut system = System::new(2, vec![task("a"), task("b"), task("c")]);
    system.platform.speeds.values_mut().for_each(|speed| {
        *speed = Speed::new(&Rate::new(2, 3)).unwrap();
    });
    let found = said("p-edf", &system);
    assert_eq!((found.0, is_late("p-edf", &system)), (Verdict::No, true));
    system.tasks = System::new(2, vec![task("a"), task("b")]).tasks;
    let found = said("p-edf", &system);
    assert_eq!((found.0, is_late("p-edf", &system)), (Verdict::Yes, false));
}
