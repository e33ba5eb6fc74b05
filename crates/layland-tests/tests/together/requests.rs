//! Requests to a running system, and actions of only some policies: leaving, other parameters,
//! other affinities and clusters; budgets, timers, aborting, rejecting.

use layland_checker::check;
use layland_model::{
    Change, CpuId, CpuSet, Duration, JobId, Request, RequestKind, ScheduleRule, Service, System,
    Task, TaskId, Time,
};
use layland_policy::{Action, Count, Event, Needs, Policy, Refusal, RequestId, State, TimerId};
use layland_sim::{SimOptions, simulate};
use layland_testkit::registry;
use layland_trace::{JobEnd, MarkKind, Trace};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const fn at(ms: i64) -> Time {
    Time::from_ms(ms)
}

fn task(name: &str, wcet: i64, period: i64) -> Task {
    Task::implicit(name, Service::from_ms(wcet), Duration::from_ms(period))
}

fn run<P: Policy>(system: &System, policy: P, until: Time) -> Trace {
    assert_eq!(system.validate(), []);
    let rule = policy.rule();
    let mut trace = Trace::default();
    simulate(system, policy, &mut trace, &SimOptions::until(until)).unwrap();
    let report = check(&trace, system, &rule, 9);
    assert!(report.is_clean(), "{report}");
    trace
}

/// Returns the segments as (task, cpu, start, end) in milliseconds, by start.
fn segments(trace: &Trace) -> Vec<(u32, u32, i64, i64)> {
    let ms = |time: Time| time.ns() / 1_000_000;
    let mut all: Vec<_> =
        trace.segments.iter().map(|s| (s.job.task.0, s.cpu.0, ms(s.start), ms(s.end))).collect();
    all.sort_by_key(|&(_, cpu, start, _)| (start, cpu));
    all
}

fn answers(trace: &Trace) -> Vec<(String, bool)> {
    trace.answers.iter().map(|answer| (answer.request.clone(), answer.refused.is_none())).collect()
}

#[test]
fn a_task_that_leaves_frees_its_cpu_at_once() {
    let mut system = System::new(1, vec![task("a", 6, 10), task("b", 3, 20)]);
    system.requests = vec![Request { at: at(2), kind: RequestKind::Leave(TaskId(0)) }];
    let trace = run(&system, registry().build("g-edf", &system).unwrap(), at(20));
    assert_eq!(segments(&trace), [(0, 0, 0, 2), (1, 0, 2, 5)]);
    let left = trace.jobs.iter().find(|record| record.job.id.task == TaskId(0)).unwrap();
    assert_eq!(left.end, Some((at(2), JobEnd::Left)));
    assert_eq!(left.executed, Service::from_ms(2));
    assert_eq!(answers(&trace), [("task `a` leaves".to_owned(), true)]);
}

#[test]
fn new_parameters_count_from_the_next_job() {
    let mut system = System::new(1, vec![task("a", 2, 10)]);
    let change = Change::Parameters {
        wcet: Service::from_ms(3),
        period: Duration::from_ms(5),
        deadline: Duration::from_ms(4),
    };
    let kind = RequestKind::Reconfigure(TaskId(0), change);
    system.requests = vec![Request { at: at(1), kind }];
    let mut trace = Trace::default();
    let policy = registry().build("g-rm", &system).unwrap();
    simulate(&system, policy, &mut trace, &SimOptions::until(at(20))).unwrap();
    // The arrival at 10 was already fixed; from then on the period is 5.
    assert_eq!(segments(&trace), [(0, 0, 0, 2), (0, 0, 10, 13), (0, 0, 15, 18)]);
    assert_eq!(trace.jobs[1].job.deadline, at(14));
    assert_eq!(answers(&trace), [("task `a` becomes 3ms/5ms/4ms".to_owned(), true)]);
}

#[test]
fn affinities_change_where_the_policy_can_follow() {
    let mut system = System::new(2, vec![task("a", 6, 10), task("b", 6, 10)]);
    let to = |cpu: u32| Change::Affinity(CpuSet::single(CpuId(cpu)));
    system.requests = vec![Request { at: at(2), kind: RequestKind::Reconfigure(TaskId(0), to(1)) }];

    let trace = run(&system, registry().build("g-edf", &system).unwrap(), at(10));
    assert_eq!(answers(&trace), [("task `a` gets affinity 1".to_owned(), false)]);
    assert_eq!(segments(&trace), [(0, 0, 0, 6), (1, 1, 0, 6)]);

    // Under P-EDF task `a` moves to CPU 1, and its rank lets it go first there.
    let trace = run(&system, registry().build("p-edf", &system).unwrap(), at(10));
    assert_eq!(answers(&trace), [("task `a` gets affinity 1".to_owned(), true)]);
    assert_eq!(segments(&trace), [(0, 0, 0, 2), (1, 1, 0, 2), (0, 1, 2, 6), (1, 1, 6, 10)]);
}

#[test]
fn tasks_move_between_clusters_and_cpus_between_clusters() {
    let mut system = System::new(3, vec![task("a", 6, 10), task("b", 6, 10), task("c", 6, 10)]);
    system.platform.clusters = vec!["0".parse().unwrap(), "1".parse().unwrap()];
    system.tasks.values_mut().take(2).for_each(|task| task.cluster = 0);
    system.tasks[TaskId(2)].cluster = 1;
    let grow = RequestKind::SetClusterCpus { cluster: 0, cpus: "0,2".parse().unwrap() };
    let steal = RequestKind::SetClusterCpus { cluster: 1, cpus: "1,2".parse().unwrap() };
    let shrink = RequestKind::SetClusterCpus { cluster: 0, cpus: "0".parse().unwrap() };
    system.requests = vec![
        Request { at: at(1), kind: grow },
        Request { at: at(2), kind: steal },
        Request { at: at(3), kind: shrink },
        Request { at: at(4), kind: RequestKind::Reconfigure(TaskId(1), Change::Cluster(1)) },
    ];
    let trace = run(&system, registry().build("c-edf", &system).unwrap(), at(10));
    let granted: Vec<bool> = answers(&trace).into_iter().map(|(_, granted)| granted).collect();
    assert_eq!(granted, [true, false, true, true]);
    // `b` runs on CPU 2 while its cluster has it, waits for `a`, then goes first in cluster 1.
    assert_eq!(
        segments(&trace),
        [(0, 0, 0, 6), (2, 1, 0, 4), (1, 2, 1, 3), (1, 1, 4, 8), (2, 1, 8, 10)]
    );
}

/// First in, first out on CPU 0, a quantum at a time. A task is aborted after two quanta. Task 1
/// may not enter. A timer wakes the policy up at 20 ms, twice.
#[derive(Clone, Default)]
struct Quanta {
    queue: Vec<(JobId, u32)>,
    running: bool,
    refused: Option<RequestId>,
    timers: u32,
    fired: Arc<AtomicU32>,
}

const QUANTUM: Duration = Duration::from_ms(2);

impl Policy for Quanta {
    fn on_event(&mut self, _now: Time, event: Event) {
        match event {
            Event::Join { task: TaskId(1), request, .. } => self.refused = Some(request),
            Event::Release { job, .. } if job.task != TaskId(1) => self.queue.push((job, 0)),
            Event::Completion { .. } => {
                self.queue.remove(0);
                self.running = false;
            }
            Event::BudgetExhausted { job, cpu } => {
                assert_eq!((job, cpu), (self.queue[0].0, CpuId(0)));
                let (job, used) = self.queue.remove(0);
                self.queue.push((job, used + 1));
                self.running = false;
            }
            Event::Timer { id } => {
                assert_eq!(id, TimerId(7));
                self.timers += 1;
                self.fired.fetch_add(1, Ordering::Relaxed);
            }
            Event::Join { .. }
            | Event::Ended { .. }
            | Event::Arrival { .. }
            | Event::Measured { .. }
            | Event::Step { .. }
            | Event::Leave { .. }
            | Event::Release { .. }
            | Event::Reconfigure { .. }
            | Event::SetClusterCpus { .. }
            | Event::CpuOnline { .. }
            | Event::CpuOffline { .. } => {}
        }
    }

    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        if let Some(request) = self.refused.take() {
            actions.push(Action::Refuse { request, reason: Refusal::busy("no room") });
        }
        if now == Time::ZERO || (now == at(20) && self.timers == 1) {
            actions.push(Action::SetTimer { id: TimerId(7), at: at(20) });
            // This timer is cleared at once, so it never expires.
            actions.push(Action::SetTimer { id: TimerId(3), at: at(1) });
            actions.push(Action::ClearTimer { id: TimerId(3) });
        }
        if let Some(position) = self.queue.iter().position(|&(_, used)| used == 2) {
            let (job, _) = self.queue.remove(position);
            actions.push(Action::Abort { job });
        }
        if let (false, Some(&(job, _))) = (self.running, self.queue.first()) {
            self.running = true;
            actions.push(Action::Run { cpu: CpuId(0), job, budget: Some(QUANTUM) });
        }
        assert!(self.timers <= 2);
    }

    fn save(&self, _now: Time, state: &mut State) {
        state.number(i64::from(self.timers));
    }

    fn needs(&self) -> Needs {
        Needs::READY_JOBS
    }

    fn rule(&self) -> ScheduleRule {
        ScheduleRule::None
    }

    fn counts(&self) -> Vec<Count> {
        Vec::new()
    }
}

#[test]
fn budgets_run_out_jobs_are_given_up_and_tasks_refused() {
    let tasks = vec![task("a", 3, 50), task("no", 1, 50), task("long", 9, 50)];
    let system = System::new(1, tasks);
    let policy = Quanta::default();
    let fired = Arc::clone(&policy.fired);
    let trace = run(&system, policy, at(30));
    assert_eq!(
        fired.load(Ordering::Relaxed),
        2,
        "once as set, once as set again for the same instant"
    );
    assert_eq!(segments(&trace), [(0, 0, 0, 2), (2, 0, 2, 4), (0, 0, 4, 5), (2, 0, 5, 7)]);
    let ends: Vec<_> = trace.jobs.iter().map(|record| (record.job.id.task.0, record.end)).collect();
    assert_eq!(
        ends,
        [
            (1, Some((at(0), JobEnd::Left))),
            (0, Some((at(5), JobEnd::Completed))),
            (2, Some((at(7), JobEnd::Aborted))),
        ]
    );
    assert_eq!(answers(&trace), [("task `no` enters".to_owned(), false)]);
    let exhausted: Vec<Time> = trace
        .marks
        .iter()
        .filter(|mark| matches!(mark.kind, MarkKind::BudgetExhausted(..)))
        .map(|mark| mark.at)
        .collect();
    assert_eq!(exhausted, [at(2), at(4), at(7)]);
}

/// A policy that runs the only task on CPU 0, with an action that a test selects.
#[derive(Clone)]
struct Broken(fn(JobId) -> Action);

impl Policy for Broken {
    fn on_event(&mut self, _now: Time, _event: Event) {}
    fn decide(&mut self, _now: Time, actions: &mut Vec<Action>) {
        actions.push((self.0)(JobId { task: TaskId(0), seq: 3 }));
    }
    fn save(&self, _now: Time, _state: &mut State) {}
    fn rule(&self) -> ScheduleRule {
        ScheduleRule::None
    }
    fn needs(&self) -> Needs {
        Needs::READY_JOBS
    }
    fn counts(&self) -> Vec<Count> {
        Vec::new()
    }
}

#[test]
#[should_panic(expected = "which is not ready")]
fn running_a_job_that_is_not_ready_is_a_bug_of_the_policy() {
    let system = System::new(1, vec![task("a", 1, 5)]);
    let policy = Broken(|job| Action::Run { cpu: CpuId(0), job, budget: None });
    run(&system, policy, at(5));
}

#[test]
#[should_panic(expected = "which is not ready")]
fn giving_up_a_job_that_is_not_ready_is_a_bug_of_the_policy() {
    let system = System::new(1, vec![task("a", 1, 5)]);
    run(&system, Broken(|job| Action::Abort { job }), at(5));
}
