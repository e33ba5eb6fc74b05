//! Weak and strong rules: the CPUs that are reachable by moves.

use super::*;

/// `a` may use both CPUs, `b` CPU 0 and `c` CPU 1 only.
fn tied_system() -> System {
    let mut system = system();
    system.tasks[TaskId(1)].affinity = Some(CpuSet::single(CpuId(0)));
    system.tasks[TaskId(2)].affinity = Some(CpuSet::single(CpuId(1)));
    system.tasks.values_mut().for_each(|task| task.jobs = Some(1));
    system
}
fn affinity_findings(trace: &Trace, system: &System) -> [Vec<String>; 2] {
    let order = JobOrder::Deadline;
    [ScheduleRule::Weak { order: order.clone() }, ScheduleRule::Strong { order }].map(|rule| {
        check(trace, system, &rule, 100).violations.iter().map(Violation::to_string).collect()
    })
}

#[test]
fn a_job_that_could_be_shifted_to_an_idle_cpu_is_found() {
    let mut system = tied_system();
    system.tasks[TaskId(2)].offset = Duration::from_ns(4);
    // `a` is on CPU 0 from 0 to 2, `b` waits for it, and CPU 1 is idle until `c` comes at 4.
    let trace = Trace {
        jobs: vec![done(0, 0, 0, 5, 2, 2), done(1, 0, 0, 5, 5, 3), done(2, 0, 4, 14, 9, 5)],
        segments: vec![
            segment(id(0, 0), 0, 0, 2),
            segment(id(1, 0), 0, 2, 5),
            segment(id(2, 0), 1, 4, 9),
        ],
        over: at(9),
        ..Trace::default()
    };
    let [weak, strong] = affinity_findings(&trace, &system);
    assert_eq!(weak, [""; 0]);
    assert_eq!(
        strong,
        [
            "b#1 waits at 0ns, but could run on CPU 0 if a#1 moved from CPU 0 to CPU 1, which is idle"
        ]
    );
    // While CPU 1 is offline, no job can shift to it.
    let mut offline = trace.clone();
    offline.marks = vec![
        Mark { at: at(0), kind: MarkKind::CpuOffline(CpuId(1)) },
        Mark { at: at(3), kind: MarkKind::CpuOnline(CpuId(1)) },
    ];
    let mut asked = system.clone();
    let request = |ns, kind| Request { at: at(ns), kind };
    asked.requests = vec![
        request(0, RequestKind::CpuOffline(CpuId(1))),
        request(3, RequestKind::CpuOnline(CpuId(1))),
    ];
    assert_eq!(affinity_findings(&offline, &asked)[1], [""; 0]);
    // A request ties `a` to CPU 0, whether it is granted or not.
    let change = Change::Affinity(CpuSet::single(CpuId(0)));
    system.requests =
        vec![Request { at: at(0), kind: RequestKind::Reconfigure(TaskId(0), change) }];
    assert_eq!(affinity_findings(&trace, &system)[1], [""; 0]);
    let mut refused = trace.clone();
    refused.answers.push(layland_trace::Answer {
        at: at(0),
        request: "task `a` gets affinity 0".to_owned(),
        entering: None,
        refused: Some("no".to_owned()),
        errno: None,
    });
    assert_eq!(affinity_findings(&refused, &system)[1], strong);
}

#[test]
fn a_job_behind_an_alternating_path_is_found() {
    // `b` has to wait for `a`, which could take the CPU of `c`, which comes last.
    let trace = Trace {
        jobs: vec![done(0, 0, 0, 5, 2, 2), done(1, 0, 0, 5, 5, 3), done(2, 0, 0, 10, 5, 5)],
        segments: vec![
            segment(id(0, 0), 0, 0, 2),
            segment(id(1, 0), 0, 2, 5),
            segment(id(2, 0), 1, 0, 5),
        ],
        over: at(5),
        ..Trace::default()
    };
    let [weak, strong] = affinity_findings(&trace, &tied_system());
    assert_eq!(weak, [""; 0]);
    assert_eq!(
        strong,
        [
            "b#1 waits at 0ns, but could run on CPU 0 if a#1 moved from CPU 0 to CPU 1, which runs c#1 \
          that comes after it"
        ]
    );
    // If `c` starts late, weak scheduling is violated, too.
    let mut late = trace.clone();
    late.jobs[2] = done(2, 0, 0, 10, 6, 5);
    late.segments[2] = segment(id(2, 0), 1, 1, 6);
    late.segments.sort_by_key(|segment| (segment.end, segment.cpu));
    late.over = at(6);
    let [weak, strong] = affinity_findings(&late, &tied_system());
    assert_eq!(weak, ["c#1 waits at 0ns while CPU 1 is idle"]);
    assert!(strong.contains(&weak[0]));
    // In the reverse order `a` may not keep `b` from CPU 0.
    let order = JobOrder::Fixed(vec![3, 2, 1].into());
    let report = check(&trace, &tied_system(), &ScheduleRule::Weak { order }, 9);
    assert_eq!(
        report.violations.first().map(Violation::to_string).as_deref(),
        Some("b#1 waits at 0ns while a#1, which comes after it, runs on CPU 0")
    );
}
