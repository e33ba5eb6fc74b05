//! Tests reports in a real browser: `browser/run.mjs` opens each in a
//! headless Chromium and acts like a reader. Needs the commands
//! `chromium` and `node`; without them it reports that it was skipped.

#![expect(clippy::disallowed_methods, reason = "the environment may name the browser")]

use layland_model::{CpuId, Criticality, Duration, JobId, Note, ResourceId, Service, TaskId, Time};
use layland_report::{
    Answer, Distribution, Growth, Guarantee, GuaranteedTask, Guarantees, Line, Report, Run,
    Severity, TaskBound, TestResult,
};
use layland_trace::{
    Job, JobEnd, JobRecord, Labels, LockMark, Mark, MarkKind, Recorder, Segment, Trace,
};
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// Returns true if a browser is available; reports the test as skipped otherwise.
fn browser_is_there(test: &str) -> bool {
    for needed in [std::env::var("CHROMIUM").unwrap_or("chromium".to_owned()), "node".to_owned()] {
        let there =
            Command::new(&needed).arg("--version").output().is_ok_and(|out| out.status.success());
        if !there {
            // Not through the macro, because a passing test does not show its output.
            let line = format!("{test}: skipped: needs {needed}\n");
            let _ = std::io::stderr().write_all(line.as_bytes());
            return false;
        }
    }
    true
}

fn open(name: &str, report: &Report) {
    drive(name, "run.mjs", report, &[]);
}

fn drive(name: &str, script: &str, report: &Report, more: &[&str]) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("report-{name}.html"));
    std::fs::write(&file, report.html()).expect("the folder for tests can be written to");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser").join(script);
    let out = Command::new("node").arg(script).arg(&file).args(more).output();
    let out = out.expect("node was there before");
    let said = String::from_utf8_lossy(&out.stdout);
    let errors = String::from_utf8_lossy(&out.stderr);
    let _ = writeln!(std::io::stderr(), "{name}: {said}{errors}");
    assert!(out.status.success(), "{name}: {said}");
}

/// A trace on some CPUs, whose tasks take turns. A job runs in two pieces, on two CPUs if there are
/// several, and every 50th job is late.
fn turns(jobs: u64, cpus: u32, tasks: u32, start: i64) -> Trace {
    let mut trace = Trace::default();
    let at = |us: i64| Time::from_ns(start) + Duration::from_ns(us * 1000);
    let mut now = 0;
    for round in 0..jobs / u64::from(cpus) {
        for cpu in 0..cpus {
            let task = (round as u32 * cpus + cpu) % tasks;
            let id = JobId { task: TaskId(task), seq: round };
            let piece = |cpu, from, to| Segment {
                job: id,
                cpu: CpuId(cpu),
                start: at(from),
                end: at(to),
                overhead: Duration::ZERO,
            };
            trace.executed(&piece(cpu, now, now + 40 + i64::from(task)));
            trace.executed(&piece((cpu + 1) % cpus, now + 100, now + 130));
            let due = if (round + u64::from(cpu)) % 50 == 7 { now + 120 } else { now + 200 };
            let job = Job { id, arrival: at(now), release: at(now), deadline: at(due) };
            trace.ended(&job, at(now + 130), JobEnd::Completed, Service::from_ns(70_000));
        }
        let kinds =
            [MarkKind::Note(Note::Throttled { task: TaskId(0) }), MarkKind::CpuOffline(CpuId(0))];
        if let Some(kind) = kinds.get(round as usize) {
            trace.marked(&Mark { at: at(now), kind: kind.clone() });
        }
        now += 200;
    }
    trace.over(at(now), false);
    trace
}

fn report(names: Vec<String>, cpus: usize, traces: Vec<Trace>) -> Report {
    let mut report =
        Report::new("A <b>test</b>", Labels { tasks: names.into(), cpus, ..Labels::default() });
    report.lines.push(Line::new(Severity::BrokenBound, "a bound & a half"));
    let names = ["first", "<script>window.laylandInjected = 1</script>"];
    report.runs = names.iter().zip(traces).map(|(&name, trace)| Run::new(name, trace)).collect();
    report.distributions = Distribution::of_runs(&report.runs, &report.labels);
    report
}

#[test]
fn a_report_with_wild_names_works_from_disk() {
    if !browser_is_there("a_report_with_wild_names_works_from_disk") {
        return;
    }
    let names =
        ["<script>window.laylandInjected=1</script>", "\"'&", "<img src=x onerror=alert(1)>", "λ…"];
    let names = names.map(str::to_owned).to_vec();
    open("wild", &report(names, 2, vec![turns(200, 2, 4, 0), turns(100, 2, 4, 0)]));
}

#[test]
fn times_beyond_floating_point_work() {
    if !browser_is_there("times_beyond_floating_point_work") {
        return;
    }
    let names: Vec<String> = (0..3).map(|task| format!("t{task}")).collect();
    // Times far from 0, and a trace so long that the script must store the rounding errors.
    let far = turns(60, 2, 3, (1 << 60) + 1);
    let mut both = turns(60, 2, 3, 1);
    both.segments.extend(far.segments.iter().map(|segment| Segment {
        job: JobId { seq: segment.job.seq + 1000, ..segment.job },
        ..*segment
    }));
    both.over = far.over;
    let mut wide = report(names.clone(), 2, vec![both]);
    wide.window = Some((Time::ZERO, Time::from_ms(6)));
    open("far", &report(names, 2, vec![far]));
    open("wide", &wide);
}

#[test]
fn a_hundred_thousand_segments_work() {
    if !browser_is_there("a_hundred_thousand_segments_work") {
        return;
    }
    let names: Vec<String> = (0..20).map(|task| format!("task-{task}")).collect();
    let mut large = report(names, 4, vec![turns(50_000, 4, 20, 0)]);
    large.lines.clear();
    open("large", &large);
}

#[test]
fn criticality_levels_are_drawn() {
    if !browser_is_there("criticality_levels_are_drawn") {
        return;
    }
    let names: Vec<String> = (0..4).map(|task| format!("task-{task}")).collect();
    let mut trace = turns(400, 2, 4, 0);
    // The level on CPU 1 rises and falls step by step, once
    // for a nanosecond; earlier marks are of other kinds.
    let changes = [(2_000, 1), (3_000, 2), (6_000, 0), (20_000, 2), (20_000, 0), (30_000, 1)];
    for (index, (us, level)) in changes.into_iter().enumerate() {
        let at = Time::from_ns(us * 1000 + index as i64);
        let kind = MarkKind::Note(Note::Indicator { cpu: CpuId(1), level: Criticality(level) });
        trace.marked(&Mark { at, kind });
    }
    let mut levels = report(names, 2, vec![trace, turns(100, 2, 4, 0)]);
    levels.labels.levels = ["LO", "<b>MID</b>", "HI"].map(str::to_owned).to_vec();
    open("levels", &levels);
}

#[test]
fn locks_spins_and_suspensions_are_drawn() {
    if !browser_is_there("locks_spins_and_suspensions_are_drawn") {
        return;
    }
    let names = ["camera", "lidar"].map(str::to_owned).to_vec();
    let ms = Time::from_ms;
    let mut trace = Trace { over: ms(12), ..Trace::default() };
    let id = |task| JobId { task: TaskId(task), seq: 0 };
    for (task, end) in [(0, 9), (1, 7)] {
        let job = Job { id: id(task), arrival: ms(0), release: ms(0), deadline: ms(12) };
        let end = Some((ms(end), JobEnd::Completed));
        trace.jobs.push(JobRecord { job, end, executed: Service::ZERO });
    }
    // The camera holds resource 3 from 1 to 4 and sleeps
    // until 8. The lidar spins for it from 2 to 4.
    for (task, cpu, from, to, overhead) in [(0, 0, 0, 4, 0), (0, 0, 8, 9, 0), (1, 1, 0, 7, 2)] {
        let (start, end, overhead) = (ms(from), ms(to), Duration::from_ms(overhead));
        trace.segments.push(Segment { job: id(task), cpu: CpuId(cpu), start, end, overhead });
    }
    let lock = |task, what| MarkKind::Lock(id(task), ResourceId(3), what);
    let [asks, gets, gives] = [LockMark::Requested, LockMark::Granted, LockMark::Unlocked];
    for (at, kind) in [
        (1, lock(0, asks)),
        (1, lock(0, gets)),
        (2, lock(1, asks)),
        (4, lock(0, gives)),
        (4, MarkKind::Suspended(id(0))),
        (4, lock(1, gets)),
        (6, lock(1, gives)),
        (8, MarkKind::Resumed(id(0))),
    ] {
        trace.marked(&Mark { at: ms(at), kind });
    }
    open("locks", &report(names, 2, vec![trace]));
}

/// With Caps Lock on, so that the key is `N`.
#[test]
fn a_miss_tells_who_held_the_cpus() {
    if !browser_is_there("a_miss_tells_who_held_the_cpus") {
        return;
    }
    let mut trace = Trace::default();
    let ms = Time::from_ms;
    let mut ran = |task, seq, cpu, arrival, due, pieces: &[(i64, i64)]| {
        let id = JobId { task: TaskId(task), seq };
        for &(from, to) in pieces {
            let (start, end) = (ms(from), ms(to));
            let overhead = Duration::ZERO;
            trace.executed(&Segment { job: id, cpu: CpuId(cpu), start, end, overhead });
        }
        let (arrival, end) = (ms(arrival), ms(pieces.last().map_or(0, |piece| piece.1)));
        let job = Job { id, arrival, release: arrival, deadline: ms(due) };
        trace.ended(&job, end, JobEnd::Completed, Service::from_ms(1));
    };
    // The second job of `late` is ready when its first one ends, at 3 ms, and is due at 9 ms.
    ran(1, 0, 0, 0, 20, &[(0, 1)]);
    ran(0, 0, 0, 0, 4, &[(1, 3)]);
    ran(1, 1, 0, 2, 20, &[(3, 7)]);
    ran(2, 0, 1, 0, 20, &[(0, 5)]);
    ran(0, 1, 0, 2, 9, &[(7, 8), (9, 11)]);
    ran(1, 2, 0, 8, 20, &[(8, 9)]);
    trace.over(ms(20), false);
    let names = ["late", "<b>one</b>", "two"].map(str::to_owned).to_vec();
    let texts = [
        "late #2 under first",
        "Before its deadline it waited for 5 ms. Meanwhile:",
        "CPU 0: <b>one</b> for 5 ms",
        "CPU 1: two for 2 ms, idle for 3 ms",
    ];
    drive("held", "held.mjs", &report(names, 2, vec![trace]), &texts);
}

#[test]
fn guarantees_are_drawn_beside_deadlines() {
    if !browser_is_there("guarantees_are_drawn_beside_deadlines") {
        return;
    }
    let ms = Duration::from_ms;
    let by = || "<b>RTA</b>".to_owned();
    let task = |name: &str, wcet, deadline| GuaranteedTask {
        name: name.to_owned(),
        wcet: ms(wcet),
        period: ms(deadline),
        deadline: ms(deadline),
    };
    let test = |answer| TestResult {
        name: by(),
        title: "a test".to_owned(),
        kind: "exact".to_owned(),
        answer,
        reasons: vec!["the response time of `a` & `b`".to_owned()],
        sources: vec!["<i>A source</i>".to_owned(), "Another".to_owned()],
    };
    let response = |within, exact| TaskBound::Response { within: ms(within), exact, by: by() };
    let tardiness = |within: i64| TaskBound::Tardiness { within: Some(ms(within)), by: by() };
    let policy = |name: &str, answer, bounds| Guarantee {
        policy: name.to_owned(),
        answer,
        reasons: (0..6).map(|k| format!("reason {k}")).collect(),
        decided_by: (answer == Answer::Yes).then_some(0),
        margin: Some(Growth::of(if answer == Answer::Yes { 2750 } else { 875 })),
        bounds,
        tests: vec![test(answer), test(Answer::DoesNotApply)],
    };
    let found = Guarantees {
        tasks: vec![task("<script>window.laylandInjected=1</script>", 2, 10), task("b", 3, 1000)],
        policies: vec![
            policy("p-edf", Answer::Yes, vec![response(10, true), response(400, false)]),
            // One task is slightly late, and one so much that its bar is cut.
            policy("g-edf", Answer::No, vec![tardiness(3), tardiness(1_000_000)]),
            // No test decides, so its bound says nothing about jobs.
            policy("g-dm", Answer::Unknown, vec![tardiness(3), tardiness(0)]),
            policy("dl", Answer::Unknown, vec![tardiness(0), TaskBound::Unknown]),
            policy("g-fp", Answer::Refused, Vec::new()),
        ],
        any_policy: vec![test(Answer::Unknown)],
        are_named: true,
    };
    let mut report = Report::new("Guarantees", Labels::default());
    report.lines = found.headline();
    report.guarantees = Some(found);
    let expected = r#"{"policies": 5, "tasks": 2, "late": 2, "open": 1}"#;
    drive("guarantees", "guarantees.mjs", &report, &[expected]);
}
