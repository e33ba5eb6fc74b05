//! Every kind of violation is provoked and found; schedules of a naive scheduler are clean.
//!
//! Long because each kind of violation has its own smallest trace.

mod affinity;
mod demand;
mod mixed;

use layland_checker::{Evidence, Milestone, Origin, Violation, check, check_with};
use layland_model::{
    Change, CpuId, CpuSet, Duration, ExecutionModel, Group, Index, JobOrder, Placement, Preemption,
    Rate, Request, RequestKind, ScheduleRule, Service, Speed, System, Task, TaskId, TaskMap,
};
use layland_trace::testing::{at, id, naive, segment, task};
use layland_trace::{Job, JobEnd, JobRecord, Mark, MarkKind, Segment, Trace};
use proptest::prelude::*;

fn done(task: u32, seq: u64, release: i64, deadline: i64, end: i64, executed: i64) -> JobRecord {
    let release = at(release);
    JobRecord {
        job: Job { id: id(task, seq), arrival: release, release, deadline: at(deadline) },
        end: Some((at(end), JobEnd::Completed)),
        executed: Service::from_ns(executed),
    }
}
/// Three tasks on two CPUs.
fn system() -> System {
    System::new(2, vec![task("a", 2, 5), task("b", 3, 5), task("c", 5, 10)])
}
/// `c` runs on at 5 in a separate segment, although `b` comes first.
fn late_preemption() -> Trace {
    Trace {
        jobs: vec![
            done(0, 0, 0, 5, 2, 2),
            done(1, 0, 0, 5, 3, 3),
            done(2, 0, 0, 10, 7, 5),
            done(0, 1, 5, 10, 7, 2),
            done(1, 1, 5, 10, 10, 3),
        ],
        segments: vec![
            segment(id(0, 0), 0, 0, 2),
            segment(id(1, 0), 1, 0, 3),
            segment(id(2, 0), 0, 2, 5),
            segment(id(2, 0), 0, 5, 7),
            segment(id(0, 1), 1, 5, 7),
            segment(id(1, 1), 1, 7, 10),
        ],
        over: at(10),
        ..Trace::default()
    }
}
/// Global EDF: all deadlines are 10 from 5 on, and by rank `a` and `b` preempt `c`.
fn valid() -> Trace {
    let mut trace = late_preemption();
    trace.jobs[2] = done(2, 0, 0, 10, 9, 5);
    trace.jobs[4] = done(1, 1, 5, 10, 8, 3);
    trace.jobs.swap(2, 3);
    trace.jobs.swap(3, 4);
    trace.segments = vec![
        segment(id(0, 0), 0, 0, 2),
        segment(id(1, 0), 1, 0, 3),
        segment(id(2, 0), 0, 2, 5),
        segment(id(0, 1), 0, 5, 7),
        segment(id(1, 1), 1, 5, 8),
        segment(id(2, 0), 0, 7, 9),
    ];
    trace
}
fn global_edf(system: &System) -> ScheduleRule {
    let group =
        Group { cpus: system.platform.all_cpus(), tasks: system.tasks.ids().collect::<Vec<_>>() };
    ScheduleRule::highest_first(vec![group], JobOrder::Deadline)
}
fn found(trace: &Trace, system: &System) -> Vec<Violation> {
    check(trace, system, &global_edf(system), 100).violations
}
/// Breaks the valid trace and returns the findings.
fn broken(how: impl FnOnce(&mut Trace)) -> Vec<Violation> {
    let mut trace = valid();
    how(&mut trace);
    found(&trace, &system())
}
macro_rules! assert_found {
    ($violations:expr, $pattern:pat $(if $guard:expr)?) => {
        let violations = $violations;
        assert!(
            violations.iter().any(|violation| matches!(violation, $pattern $(if $guard)?)),
            "not among {violations:#?}"
        );
    };
}

// After the macro `assert_found`, because the module uses it.
mod set;

#[test]
fn a_valid_trace_is_clean() {
    assert_eq!(found(&valid(), &system()), []);
    assert_eq!(
        check(&Trace::default(), &system(), &ScheduleRule::None, 1).to_string(),
        "no violation"
    );
}

#[test]
fn unknown_tasks_cpus_and_jobs_are_found() {
    assert_found!(broken(|t| t.jobs[4].job.id.task = TaskId(9)), Violation::UnknownTask { .. });
    assert_found!(broken(|t| t.segments[4].cpu = CpuId(2)), Violation::UnknownCpu { .. });
    assert_found!(broken(|t| t.segments[4].job.seq = 7), Violation::UnknownJob { .. });
}

#[test]
fn unsound_segments_are_found() {
    assert_found!(broken(|t| t.segments[2].start = at(5)), Violation::EmptySegment { .. });
    assert_found!(broken(|t| t.segments[2].start = at(6)), Violation::EmptySegment { .. });
    assert_found!(broken(|t| t.segments[0].start = at(-1)), Violation::OutsideRun { .. });
    assert_found!(broken(|t| t.over = at(8)), Violation::OutsideRun { .. });
    assert_found!(
        broken(|t| t.segments[1].overhead = Duration::from_ns(4)),
        Violation::Overhead { .. }
    );
    assert_found!(
        broken(|t| t.segments[1].overhead = Duration::from_ns(-1)),
        Violation::Overhead { .. }
    );
    assert_found!(broken(|t| t.segments.swap(0, 1)), Violation::SegmentOrder { .. });
    assert_found!(
        broken(|t| {
            t.segments[1].start = at(1);
            t.segments.insert(0, segment(id(1, 0), 1, 0, 1));
        }),
        Violation::NotMerged { at: when, .. } if *when == at(1)
    );
    assert_found!(found(&late_preemption(), &system()), Violation::NotMerged { .. });
}

#[test]
fn parallel_execution_is_found() {
    assert_found!(
        broken(|t| t.segments[3].job = id(1, 1)),
        Violation::JobInParallel { first: CpuId(0), second: CpuId(1), .. }
    );
    // The third segment overlaps the first, not the second.
    assert_found!(
        broken(|t| {
            t.segments[2] = segment(id(2, 0), 0, 3, 4);
            t.segments[0] = segment(id(0, 0), 0, 0, 5);
        }),
        Violation::CpuShared { cpu: CpuId(0), at: when, .. } if *when == at(3)
    );
}

#[test]
fn forbidden_cpus_are_found() {
    let mut pinned = system();
    pinned.tasks[TaskId(2)].affinity = Some(CpuSet::single(CpuId(1)));
    assert_found!(found(&valid(), &pinned), Violation::Affinity { cpu: CpuId(0), .. });
    // A request may change the affinity: then both CPUs are allowed.
    let cpus = CpuSet::single(CpuId(0));
    let kind = RequestKind::Reconfigure(TaskId(2), Change::Affinity(cpus));
    pinned.requests.push(Request { at: at(1), kind });
    assert_eq!(found(&valid(), &pinned), []);
    let mut clustered = system();
    clustered.platform.clusters = vec![CpuSet::single(CpuId(0)), CpuSet::single(CpuId(1))];
    assert_found!(found(&valid(), &clustered), Violation::Affinity { cpu: CpuId(1), .. });
    let kind = RequestKind::SetClusterCpus { cluster: 0, cpus: CpuSet::single(CpuId(1)) };
    clustered.requests.push(Request { at: at(1), kind });
    assert_eq!(found(&valid(), &clustered), []);
}

#[test]
fn offline_cpus_are_found_and_not_expected_to_run() {
    let offline = |ns, cpu| Mark { at: at(ns), kind: MarkKind::CpuOffline(CpuId(cpu)) };
    let online = |ns, cpu| Mark { at: at(ns), kind: MarkKind::CpuOnline(CpuId(cpu)) };
    assert_found!(
        broken(|t| t.marks = vec![offline(4, 0)]),
        Violation::Offline { cpu: CpuId(0), at: when, .. } if *when == at(4)
    );
    // CPUs that go offline and online as the set requests.
    let asked = |how: &dyn Fn(&mut Trace)| {
        let (mut trace, mut system) = (valid(), system());
        how(&mut trace);
        system.requests = (trace.marks.iter())
            .map(|mark| Request {
                at: mark.at,
                kind: match mark.kind {
                    MarkKind::CpuOffline(cpu) => RequestKind::CpuOffline(cpu),
                    MarkKind::CpuOnline(cpu) => RequestKind::CpuOnline(cpu),
                    _ => unreachable!("only CPUs come and go here"),
                },
            })
            .collect();
        found(&trace, &system)
    };
    assert_eq!(asked(&|t| t.marks = vec![offline(3, 1), offline(3, 1), online(5, 1)]), []);
    assert_eq!(
        broken(|t| t.marks = vec![offline(3, 1), online(5, 1)])
            .iter()
            .map(Violation::to_string)
            .collect::<Vec<_>>(),
        [
            "CPU 1 goes offline at 3ns, and the set has no such request",
            "CPU 1 goes online at 5ns, and the set has no such request"
        ]
    );
    // With one CPU, `c` waits while CPU 1 is offline, but not after its return at 4.
    let late = |t: &mut Trace| {
        t.jobs = vec![done(0, 0, 0, 5, 2, 2), done(1, 0, 0, 5, 5, 3)];
        t.segments = vec![segment(id(0, 0), 0, 0, 2), segment(id(1, 0), 0, 2, 5)];
        t.marks = vec![offline(0, 1)];
        t.over = at(5);
    };
    let only_two = |how: &dyn Fn(&mut Trace)| {
        // Missing jobs are ignored here, because the trace has only two of the set's tasks.
        asked(&|t| how(t)).into_iter().filter(|found| !matches!(found, Violation::Missing { .. }))
    };
    assert_eq!(only_two(&late).collect::<Vec<_>>(), []);
    assert_found!(
        asked(&|t| {
            late(t);
            t.marks.push(online(1, 1));
        }),
        Violation::IdleWhileWaiting { cpu: CpuId(1), at: when, .. } if *when == at(1)
    );
}

/// A job may lose its CPU within a region only if the CPU goes offline, even if it returns at the same instant.
#[test]
fn a_cpu_that_blinks_takes_its_job_from_a_region() {
    let mut system = System::new(2, vec![task("a", 6, 20), task("b", 1, 10)]);
    system.tasks[TaskId(1)].offset = Duration::from_ns(1);
    let trace = Trace {
        jobs: vec![done(1, 0, 1, 11, 4, 1), done(0, 0, 0, 20, 7, 6)],
        segments: vec![
            segment(id(0, 0), 0, 0, 3),
            segment(id(1, 0), 0, 3, 4),
            segment(id(0, 0), 0, 4, 7),
        ],
        over: at(10),
        ..Trace::default()
    };
    // The other CPU is offline, so that `b` waits.
    let away = [(0, RequestKind::CpuOffline(CpuId(1)))];
    let blink = |ns, cpu| {
        let cpu = CpuId(cpu);
        [(ns, RequestKind::CpuOffline(cpu)), (ns, RequestKind::CpuOnline(cpu))]
    };
    let found = |blink: &[(i64, RequestKind)]| {
        let (mut trace, mut system) = (trace.clone(), system.clone());
        for (ns, kind) in away.iter().chain(blink) {
            let mark = match kind {
                RequestKind::CpuOffline(cpu) => MarkKind::CpuOffline(*cpu),
                RequestKind::CpuOnline(cpu) => MarkKind::CpuOnline(*cpu),
                _ => unreachable!("only CPUs come and go here"),
            };
            trace.marks.push(Mark { at: at(*ns), kind: mark });
            system.requests.push(Request { at: at(*ns), kind: kind.clone() });
        }
        let cpus = system.platform.all_cpus();
        let groups = vec![Group { cpus, tasks: system.tasks.ids().collect() }];
        let regions = TaskMap::filled(Preemption::Never, 2);
        let rule = ScheduleRule::Deferred { groups, order: JobOrder::Deadline, regions };
        check(&trace, &system, &rule, 100).violations
    };
    assert_eq!(found(&blink(3, 0)), []);
    for elsewhere in [&blink(2, 0)[..], &blink(3, 1), &[]] {
        assert_found!(
            found(elsewhere),
            Violation::WithinRegion { cpu: CpuId(0), at: when, .. } if *when == at(3)
        );
    }
}

#[test]
fn disorder_among_jobs_is_found() {
    assert_found!(
        broken(|t| t.jobs[2].job.id.seq = 2),
        Violation::SequenceNumber { expected: 1, .. }
    );
    assert_found!(
        broken(|t| t.jobs[2].job.id.seq = 0),
        Violation::SequenceNumber { expected: 1, .. }
    );
    for (how, pair) in [
        (at(11), (Milestone::Release, Milestone::End)),
        (at(4), (Milestone::Arrival, Milestone::Release)),
    ] {
        assert_found!(
            broken(|t| t.jobs[2].job.release = how),
            Violation::JobTimes { earlier, later, .. } if (*earlier, *later) == pair
        );
    }
    assert_found!(
        broken(|t| t.jobs[0].job.arrival = at(6)),
        Violation::JobTimes { earlier: Milestone::PredecessorArrival, .. }
    );
    assert_found!(
        broken(|t| t.jobs[0].end = Some((at(8), JobEnd::Completed))),
        Violation::JobTimes { earlier: Milestone::PredecessorEnd, .. }
    );
    assert_found!(
        broken(|t| t.jobs[0].job.arrival = at(-1)),
        Violation::JobTimes { earlier: Milestone::Start, .. }
    );
    assert_found!(broken(|t| t.over = at(6)), Violation::JobTimes { later: Milestone::Over, .. });
}

#[test]
fn execution_outside_the_life_of_a_job_is_found() {
    assert_found!(broken(|t| t.jobs[2].job.release = at(6)), Violation::BeforeRelease { .. });
    assert_found!(
        broken(|t| t.jobs[0].end = Some((at(6), JobEnd::Completed))),
        Violation::BeforePredecessor { predecessor_end, .. } if *predecessor_end == at(6)
    );
    assert_found!(
        broken(|t| t.jobs[0].end = Some((at(1), JobEnd::Completed))),
        Violation::AfterEnd { .. }
    );
}

#[test]
fn wrong_work_is_found() {
    assert_found!(broken(|t| t.jobs[1].executed = Service::from_ns(2)), Violation::Executed { .. });
    assert_found!(
        broken(|t| t.segments[1].overhead = Duration::from_ns(1)),
        Violation::Executed { .. }
    );
    assert_found!(
        broken(|t| {
            t.jobs[1].executed = Service::from_ns(2);
            t.segments[1].end = at(2);
        }),
        Violation::Demand { .. }
    );
    let demand = |model: ExecutionModel| {
        let mut system = system();
        system.tasks[TaskId(1)].execution = model;
        found(&valid(), &system).iter().any(|v| matches!(v, Violation::Demand { .. }))
    };
    let ns = Service::from_ns;
    assert!(!demand(ExecutionModel::Fraction(Rate::new(9, 10))));
    assert!(demand(ExecutionModel::Fraction(Rate::new(2, 3))));
    assert!(!demand(ExecutionModel::Uniform { min: ns(1), max: ns(3) }));
    assert!(demand(ExecutionModel::Uniform { min: ns(1), max: ns(2) }));
    assert!(!demand(ExecutionModel::Discrete(vec![(ns(2), 1), (ns(3), 1)])));
    assert!(demand(ExecutionModel::Discrete(vec![(ns(2), 1), (ns(4), 1)])));
    assert!(!demand(ExecutionModel::List(vec![ns(3)])));
    assert!(demand(ExecutionModel::List(vec![ns(3), ns(2)])));
    assert!(!demand(ExecutionModel::Level(layland_model::Criticality(0))));
}

#[test]
fn speeds_and_rounding_are_accounted_for() {
    let mut system = System::new(1, vec![task("a", 5, 20)]);
    let speed = |n, d| Speed::new(&Rate::new(n, d)).unwrap();
    system.platform.speeds[CpuId(0)] = speed(2, 3);
    // 5 / (2/3) = 7.5, rounded up to 8: a surplus of 1/3.
    let ends_at = |end, system: &System| {
        let mut trace = Trace { over: at(20), ..Trace::default() };
        trace.jobs = vec![done(0, 0, 0, 20, end, 5)];
        trace.segments = vec![segment(id(0, 0), 0, 0, end)];
        found(&trace, system)
    };
    assert_eq!(ends_at(8, &system), []);
    assert_found!(ends_at(7, &system), Violation::Executed { .. });
    assert_found!(ends_at(9, &system), Violation::Executed { .. });
    system.platform.speeds[CpuId(0)] = speed(3, 1);
    assert_eq!(ends_at(2, &system), []);
    assert_found!(ends_at(3, &system), Violation::Executed { .. });
    assert_found!(ends_at(1, &system), Violation::Executed { .. });
}

#[test]
fn broken_rules_are_found() {
    // `c` runs on at 5 although `b` comes first.
    let overtaken = |t: &mut Trace| {
        *t = late_preemption();
        t.segments[2].end = at(7);
        t.segments.remove(3);
    };
    assert_found!(
        broken(overtaken),
        Violation::Overtaken { waiting, running, cpu: CpuId(0), at: when }
            if *when == at(5) && waiting.id == id(1, 1) && running.id == id(2, 0)
    );
    assert_found!(
        broken(|t| {
            t.segments[4] = segment(id(1, 1), 1, 6, 9);
            t.jobs[3].end = Some((at(9), JobEnd::Completed));
        }),
        Violation::IdleWhileWaiting { job, cpu: CpuId(1), at: when }
            if *when == at(5) && job.id == id(1, 1)
    );
    // A fixed order that agrees with the trace is clean, and the reverse order is not.
    let rule = |priorities: [i64; 3]| {
        let group = Group { cpus: CpuSet::first(2), tasks: (0..3).map(TaskId).collect() };
        ScheduleRule::highest_first(vec![group], JobOrder::Fixed(priorities.to_vec().into()))
    };
    assert!(check(&valid(), &system(), &rule([1, 2, 3]), 9).is_clean());
    assert_found!(
        check(&valid(), &system(), &rule([3, 2, 1]), 9).violations,
        Violation::Overtaken { .. }
    );
    let group = Group { cpus: CpuSet::single(CpuId(0)), tasks: vec![TaskId(0), TaskId(1)] };
    let only_one = ScheduleRule::highest_first(vec![group], JobOrder::Deadline);
    assert_found!(
        check(&valid(), &system(), &only_one, 9).violations,
        Violation::OutsideGroup { cpu: CpuId(1), .. }
    );
}

/// With jobs on the fastest CPUs, a job that comes first must not run on the slow one, not even alone.
#[test]
fn jobs_on_slower_cpus_than_theirs_are_found() {
    let mut system = System::new(2, vec![task("a", 4, 10), task("b", 2, 10)]);
    system.platform.speeds[CpuId(1)] = Speed::new(&Rate::whole(2)).unwrap();
    let group = Group { cpus: CpuSet::first(2), tasks: vec![TaskId(0), TaskId(1)] };
    let rule = |placement| ScheduleRule::HighestFirst {
        groups: vec![group.clone()],
        order: JobOrder::Deadline,
        placement,
    };
    let of = |segments: Vec<Segment>, ends: [i64; 2]| Trace {
        jobs: vec![done(0, 0, 0, 10, ends[0], 4), done(1, 0, 0, 10, ends[1], 2)],
        segments,
        over: at(10),
        ..Trace::default()
    };
    let right = of(vec![segment(id(1, 0), 0, 0, 2), segment(id(0, 0), 1, 0, 2)], [2, 2]);
    assert!(check(&right, &system, &rule(Placement::FastestFirst), 9).is_clean());
    let swapped = of(vec![segment(id(1, 0), 1, 0, 1), segment(id(0, 0), 0, 0, 4)], [4, 1]);
    assert!(check(&swapped, &system, &rule(Placement::Anywhere), 9).is_clean());
    assert_found!(
        check(&swapped, &system, &rule(Placement::FastestFirst), 9).violations,
        Violation::NotFastest { job, cpu: CpuId(0), at: when }
            if *when == at(0) && job.id == id(0, 0)
    );
    // From 1 on the CPU of `b` is free.
    system.tasks[TaskId(0)].rank = 2;
    assert_found!(
        check(&swapped, &system, &rule(Placement::FastestFirst), 9).violations,
        Violation::NotFastest { job, cpu: CpuId(0), at: when }
            if *when == at(1) && job.id == id(0, 0)
    );
}

#[test]
fn optimal_policies_keep_to_their_cpus_and_their_deadlines() {
    let rule = |cpus| ScheduleRule::Optimal {
        groups: vec![Group { cpus: CpuSet::first(cpus), tasks: (0..3).map(TaskId).collect() }],
    };
    assert!(check(&valid(), &system(), &rule(2), 9).is_clean());
    assert_found!(
        check(&valid(), &system(), &rule(1), 9).violations,
        Violation::OutsideGroup { cpu: CpuId(1), .. }
    );
    let (mut late, mut system) = (valid(), system());
    let record = late.jobs.iter().find(|record| record.completion().is_some()).unwrap();
    let job = record.job.id;
    system.tasks[job.task].deadline = Duration::from_ns(1);
    for record in late.jobs.iter_mut().filter(|record| record.job.id.task == job.task) {
        record.job.deadline = record.job.arrival + Duration::from_ns(1);
    }
    let missed = |system: &System| {
        let violations = check(&late, system, &rule(2), 9).violations;
        violations
            .iter()
            .any(|found| matches!(found, Violation::Late { job: name, .. } if name.id == job))
    };
    assert!(missed(&system));
    let mut slow = system.clone();
    slow.platform.overheads.release = Duration::from_ns(1);
    assert!(!missed(&slow));
}

#[test]
fn reports_are_limited_but_count_all() {
    let mut trace = valid();
    trace.segments.clear();
    let report = check(&trace, &system(), &ScheduleRule::None, 2);
    assert_eq!((report.violations.len(), report.count), (2, 5));
    assert_eq!(
        report.to_string(),
        "5 violations\n  a#1 got 2ns, but its segments supply 0ns\n  \
         b#1 got 3ns, but its segments supply 0ns\n  and 3 more"
    );
}

fn task_sets() -> impl Strategy<Value = (usize, Vec<(i64, i64)>, i64)> {
    let task = (1i64..8, 2i64..16).prop_map(|(c, t)| (c.min(t), t));
    (1usize..4, prop::collection::vec(task, 1..7), 1i64..80)
}

proptest! {
    #[test]
    fn naive_schedules_are_clean((cpus, tasks, over) in task_sets()) {
        let (system, trace) = naive(cpus, &tasks, over);
        let report = check(&trace, &system, &global_edf(&system), 10);
        prop_assert!(report.is_clean(), "{report}");
        let mut copy = Trace::default();
        trace.replay(&mut copy);
        prop_assert_eq!(copy, trace);
    }

    #[test]
    fn mutations_are_found(
        (cpus, tasks, over) in task_sets(),
        pick in any::<prop::sample::Index>(),
        kind in 0..4,
        by in prop_oneof![-5i64..0, 1i64..5],
    ) {
        let (system, mut trace) = naive(cpus, &tasks, over);
        prop_assume!(!trace.segments.is_empty());
        let index = pick.index(trace.segments.len());
        match kind {
            0 => {
                let segment = &mut trace.segments[index];
                segment.start += Duration::from_ns(by);
                segment.end += Duration::from_ns(by);
            }
            1 => trace.segments[index].end += Duration::from_ns(by),
            2 => {
                trace.segments.remove(index);
            }
            _ => {
                // Move the segment to a CPU that is taken, or to one that does not exist.
                let Segment { cpu, start, end, .. } = trace.segments[index];
                let taken = trace.segments.iter().find(|other| {
                    other.cpu != cpu && other.start < end && other.end > start
                });
                trace.segments[index].cpu =
                    taken.map_or(CpuId::from_index(cpus), |other| other.cpu);
            }
        }
        trace.segments.sort_by_key(|segment| (segment.end, segment.cpu));
        let report = check(&trace, &system, &global_edf(&system), 10);
        prop_assert!(!report.is_clean());
    }
}

/// One job, released at 3000 and dispatched at `start`, in a system of one CPU under EDF.
fn dispatched_at(start: i64) -> (System, Trace, ScheduleRule) {
    let system = System::new(1, vec![task("a", 300, 1_000)]);
    let mut trace = Trace { over: at(4_000), ..Trace::default() };
    let id = id(0, 3);
    trace.segments.push(segment(id, 0, start, start + 310));
    trace.jobs.push(JobRecord {
        job: Job { id, arrival: at(3_000), release: at(3_000), deadline: at(4_000) },
        end: Some((at(start + 310), JobEnd::Completed)),
        executed: Service::from_ns(310),
    });
    let group = Group { cpus: CpuSet::first(1), tasks: vec![TaskId(0)] };
    (system, trace, ScheduleRule::highest_first(vec![group], JobOrder::Deadline))
}

#[test]
fn a_latency_excuses_what_is_no_longer() {
    let (system, trace, rule) = dispatched_at(3_050);
    // Without a latency there are three findings: the number, the demand, and the idle CPU.
    assert_eq!(check(&trace, &system, &rule, 10).count, 3);
    let within = |latency| {
        let origin = Origin::Known { since: at(3_000) };
        let evidence = Evidence { origin, ..Evidence::within(Duration::from_ns(latency)) };
        check_with(&trace, &system, &rule, 10, &evidence)
    };
    assert!(within(50).is_clean(), "{}", within(50));
    assert_eq!(within(49).to_string(), "1 violation\n  a#4 waits at 3us while CPU 0 is idle");
    assert_eq!(within(9).count, 2);
}
