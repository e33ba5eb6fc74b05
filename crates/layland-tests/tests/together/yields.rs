//! A thread that yields at the end of each job does so even if it is late: `release = "yield"`
//! discards the rest of the budget at the end of *each* job, like a thread that calls `sched_yield`
//! in its loop.

use layland_model::{Behaviour, Duration, JobId, Service, System, Task, TaskId, Time};
use layland_policy::{AfterJob, Event};
use layland_sim::{SimOptions, simulate};
use layland_testkit::logged::Logged;
use layland_testkit::registry;
use layland_trace::Trace;

/// `late` yields, and needs 6 ms with a budget of 4 ms: each job is late, and leaves 2 ms of its second budget.
fn system() -> System {
    let ms = Duration::from_ms;
    let mut late = Task::implicit("late", Service::from_ms(6), ms(10));
    late.behaviour = Behaviour::Yield;
    late.budget = Some(Service::from_ms(4));
    System::new(1, vec![late, Task::implicit("other", Service::from_ms(30), ms(100))])
}

#[test]
fn a_late_job_yields_in_the_simulator() {
    let system = system();
    let logged = Logged::new(registry().build("dl", &system).unwrap());
    let steps = logged.log();
    let mut trace = Trace::default();
    let until = Time::from_ms(100);
    let _ = simulate(&system, logged, &mut trace, &SimOptions::until(until)).unwrap();
    let yields = TaskId(0);
    let late: Vec<JobId> = (trace.jobs.iter())
        .filter(|record| record.job.id.task == yields && record.missed(trace.over))
        .map(|record| record.job.id)
        .collect();
    assert!(!late.is_empty(), "nobody is late");
    let mut ended = 0;
    for event in steps.lock().unwrap().iter().flat_map(|step| &step.events) {
        if let Event::Completion { job, then, .. } = event
            && job.task == yields
        {
            assert_eq!(*then, AfterJob::Yields, "{job:?}");
            ended += usize::from(late.contains(job));
        }
    }
    assert!(ended > 0, "no late job completed");
    // A job that had to wait for the late one gets the next budget, not the rest of the late job's.
    let starts = |seq: u64| {
        let own = trace.segments.iter().find(|segment| segment.job == JobId { task: yields, seq });
        own.expect("it ran").start
    };
    let ends = |seq: u64| {
        let own = trace.jobs.iter().find(|record| record.job.id == JobId { task: yields, seq });
        own.and_then(|record| record.completion()).expect("it completed")
    };
    let (late, next) = (late[0].seq, late[0].seq + 1);
    assert!(
        starts(next) > ends(late),
        "job {next} runs at {} with the budget of {late}",
        starts(next)
    );
}
