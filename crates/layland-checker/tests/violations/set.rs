//! Contradictions between a trace and its set.

use super::*;
use layland_model::{Behaviour, OnMiss, Separation};
use layland_trace::Foreign;

/// Returns the findings for a trace with these jobs `(seq, arrival, release, deadline)` of one
/// task, each of which completes its 1 ns at once.
fn said_of(task: Task, jobs: &[(u64, i64, i64, i64)], over: i64) -> Vec<String> {
    let mut trace = Trace { over: at(over), ..Trace::default() };
    for &(seq, arrival, release, deadline) in jobs {
        let (id, end) = (id(0, seq), at(release + 1));
        let job = Job { id, arrival: at(arrival), release: at(release), deadline: at(deadline) };
        let end_and_how = Some((end, JobEnd::Completed));
        trace.jobs.push(JobRecord { job, end: end_and_how, executed: Service::from_ns(1) });
        trace.segments.push(segment(id, 0, release, release + 1));
    }
    let system = System::new(1, vec![task]);
    let report = check(&trace, &system, &global_edf(&system), 9);
    report.violations.iter().map(Violation::to_string).collect()
}

#[test]
fn periodic_jobs_come_when_the_set_says() {
    let a = || task("a", 1, 10);
    let right = [(0, 0, 0, 10), (1, 10, 10, 20), (2, 20, 20, 30)];
    assert_eq!(said_of(a(), &right, 30), [""; 0]);
    let moved = [(0, 0, 0, 10), (1, 11, 11, 21), (2, 20, 20, 30)];
    assert_eq!(
        said_of(a(), &moved, 30),
        [
            "a#2 arrives at 11ns, and by the set it is 10ns",
            // By the set, the job has waited since 10.
            "a#2 waits at 10ns while CPU 0 is idle"
        ]
    );
    let due_later = [(0, 0, 0, 10), (1, 10, 10, 21), (2, 20, 20, 30)];
    assert_eq!(
        said_of(a(), &due_later, 30),
        ["a#2 has the deadline 21ns, and by the set it is 20ns"]
    );
    let held_back = [(0, 0, 0, 10), (1, 10, 12, 20), (2, 20, 20, 30)];
    assert_eq!(
        said_of(a(), &held_back, 30),
        [
            "a#2 can run from 12ns on, and by the set it is 10ns",
            "a#2 waits at 10ns while CPU 0 is idle"
        ]
    );
    let mut jittery = a();
    jittery.jitter = Duration::from_ns(2);
    assert_eq!(said_of(jittery, &held_back, 30), [""; 0]);
}

#[test]
fn jobs_that_must_be_there_are_missed() {
    let a = || task("a", 1, 10);
    assert_eq!(
        said_of(a(), &[], 35),
        ["a#1 is missing: by the set it arrives at 0ns, and so are 3 more after it"]
    );
    assert_eq!(
        said_of(a(), &[(0, 0, 0, 10), (1, 10, 10, 20)], 21),
        ["a#3 is missing: by the set it arrives at 20ns"]
    );
    let limited = |jobs| Task { jobs: Some(jobs), ..a() };
    assert_eq!(said_of(limited(1), &[(0, 0, 0, 10)], 50), [""; 0]);
    assert_eq!(
        said_of(limited(1), &[(0, 0, 0, 10), (1, 10, 10, 20)], 50),
        ["a#2 is there, and the set has 1 job of its task"]
    );
    let listed = Task { behaviour: Behaviour::Explicit(vec![at(3), at(15)]), ..a() };
    assert_eq!(
        said_of(listed.clone(), &[(0, 3, 3, 13)], 20),
        ["a#2 is missing: by the set it arrives at 15ns"]
    );
    assert_eq!(said_of(listed, &[(0, 3, 3, 13), (1, 15, 15, 25)], 99), [""; 0]);
}

#[test]
fn sporadic_jobs_keep_their_distance() {
    let max = Duration::from_ns(5);
    let behaviour = Behaviour::Sporadic(Separation::Uniform { max });
    let a = || Task { behaviour: behaviour.clone(), ..task("a", 1, 10) };
    let jobs = |second: i64| [(0, 0, 0, 10), (1, second, second, second + 10)];
    for second in [10, 15] {
        assert_eq!(said_of(a(), &jobs(second), 20), [""; 0]);
    }
    for second in [9, 16] {
        let found = said_of(a(), &jobs(second), 20);
        let arrives = format!("a#2 arrives at {second}ns, and by the set it is from 10ns to 15ns");
        assert_eq!(found, [arrives]);
    }
    assert_eq!(
        said_of(a(), &[(0, 0, 0, 10)], 16),
        ["a#2 is missing: by the set it arrives at 15ns"]
    );
}

#[test]
fn who_sleeps_after_a_job_sleeps_as_long_as_the_set_says() {
    let gap = Duration::from_ns(4);
    let a = || Task { behaviour: Behaviour::SelfSuspending { gap }, ..task("a", 1, 10) };
    assert_eq!(said_of(a(), &[(0, 0, 0, 10), (1, 5, 5, 15)], 9), [""; 0]);
    assert_eq!(
        said_of(a(), &[(0, 0, 0, 10), (1, 6, 6, 16)], 9),
        ["a#2 arrives at 6ns, and by the set it is 5ns", "a#2 waits at 5ns while CPU 0 is idle"]
    );
}

#[test]
fn nobody_leaves_or_is_given_up_unasked() {
    assert_found!(
        broken(|t| t.jobs[4].end = Some((at(9), JobEnd::Left))),
        Violation::LeftUnasked { .. }
    );
    assert_found!(
        broken(|t| t.jobs[4].end = Some((at(9), JobEnd::Aborted))),
        Violation::Aborted { .. }
    );
    // The job has all its work but has not ended.
    assert_found!(broken(|t| t.jobs[4].end = None), Violation::Unfinished { .. });
}

/// The treatment of late jobs is checked, too.
#[test]
fn late_jobs_are_treated_as_the_set_says() {
    let said = |on_miss, ends: &[(i64, JobEnd, i64)]| {
        let task = Task { on_miss, ..task("a", 4, 5) };
        let system = System::new(1, vec![task]);
        let mut trace = Trace { over: at(15), ..Trace::default() };
        for (seq, &(end, how, executed)) in (0..).zip(ends) {
            let arrival = at(5 * seq as i64);
            let deadline = arrival + Duration::from_ns(5);
            let job = Job { id: id(0, seq), arrival, release: arrival, deadline };
            let executed = Service::from_ns(executed);
            trace.jobs.push(JobRecord { job, end: Some((at(end), how)), executed });
        }
        let contradicts = |violation: &Violation| {
            matches!(
                violation,
                Violation::Aborted { .. }
                    | Violation::GivenUpEarly { .. }
                    | Violation::RunsOn { .. }
            )
        };
        let report = check(&trace, &system, &global_edf(&system), 99);
        let kept = report.violations.iter().filter(|violation| contradicts(violation));
        kept.map(Violation::to_string).collect::<Vec<_>>()
    };
    use JobEnd::{Aborted, Completed};
    let right = [(4, Completed, 4), (10, Aborted, 3), (15, Completed, 4)];
    assert_eq!(said(OnMiss::Abort, &right), [""; 0]);
    assert_eq!(
        said(OnMiss::Continue, &right),
        ["a#2 is aborted at 10ns, and the policy aborts nothing"]
    );
    let early = [(4, Completed, 4), (9, Aborted, 3), (15, Completed, 4)];
    assert_eq!(said(OnMiss::Abort, &early), ["a#2 is aborted at 9ns, before its deadline 10ns"]);
    let on = [(4, Completed, 4), (11, Completed, 4), (15, Completed, 4)];
    let runs_on = "a#2 runs on after its deadline 10ns, at which its task aborts late jobs";
    assert_eq!(said(OnMiss::Abort, &on), [runs_on]);
    // The second job is late until 12, and the third one is skipped at 10.
    let skipped = [(4, Completed, 4), (12, Completed, 4), (10, Aborted, 0)];
    assert_eq!(said(OnMiss::Skip, &skipped), [""; 0]);
    let idle = [(4, Completed, 4), (9, Completed, 4), (10, Aborted, 0)];
    let unasked = "a#3 is aborted at 10ns, and the policy aborts nothing";
    assert_eq!(said(OnMiss::Skip, &idle), [unasked]);
}

#[test]
fn a_clock_without_an_origin_is_held_to_itself() {
    let (system, mut trace, rule) = dispatched_at(3_000);
    let evidence = Evidence { origin: Origin::Unknown, ..Evidence::within(Duration::from_ns(50)) };
    let said = |trace: &Trace| check_with(trace, &system, &rule, 9, &evidence).to_string();
    assert_eq!(said(&trace), "no violation");
    // The third job comes a little late: the two others agree, and it does not.
    for (seq, arrival) in [(4, 4_000), (5, 5_010)] {
        let id = id(0, seq);
        let (start, end) = (at(arrival), at(arrival + 300));
        trace.over = at(arrival + 900);
        trace.segments.push(segment(id, 0, arrival, arrival + 300));
        let job = Job { id, arrival: start, release: start, deadline: at(arrival + 1_000) };
        let end = Some((end, JobEnd::Completed));
        trace.jobs.push(JobRecord { job, end, executed: Service::from_ns(300) });
    }
    assert_eq!(said(&trace), "1 violation\n  a#6 arrives at 5.01us, and by the set it is 5us");
}

#[test]
fn who_ran_instead_is_named() {
    let (system, trace, rule) = dispatched_at(3_500);
    let foreign = [(3_000, 3_100, "manager"), (3_100, 3_450, "thief")].map(|(start, end, name)| {
        Foreign { cpu: CpuId(0), start: at(start), end: at(end), thread: name.to_owned() }
    });
    let origin = Origin::Known { since: at(3_000) };
    let evidence = Evidence { origin, ..Evidence::within(Duration::from_ns(50)) };
    assert_eq!(
        check_with(&trace, &system, &rule, 9, &evidence).to_string(),
        "1 violation\n  a#4 waits at 3us while CPU 0 is idle"
    );
    let evidence = Evidence { foreign: &foreign, ..evidence };
    assert_eq!(
        check_with(&trace, &system, &rule, 9, &evidence).to_string(),
        "1 violation\n  a#4 waits at 3us while CPU 0 runs `thief`, which is not in the set\n\
         1 of 1 has threads as the cause that are not in the set: `thief`"
    );
}
