//! Programs come and go under every policy. A reused id is a new task for every part.

use layland_engine::programs::{Programs, Visit};
use layland_model::{
    Duration, JobId, JobOrder, Request, RequestKind, Service, System, Task, TaskId, Time,
};
use layland_policy::{Policy, Refusal, Registry};
use layland_sim::{Horizon, SimError, SimOptions, simulate_with};
use layland_testkit::programs::Churn;
use layland_trace::{JobEnd, NoRecord, Trace};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const UNTIL: Time = Time::from_ms(120);
/// No program needs longer for a job than its period.
const LONGEST_PERIOD: Duration = Duration::from_ms(4);

/// Returns two CPUs and three light tasks, two of which leave early, so that their ids are reused.
fn system() -> System {
    let mut tasks: Vec<Task> = (0..3)
        .map(|at| {
            let mut task =
                Task::implicit(format!("t{at}"), Service::from_us(100), Duration::from_ms(5));
            task.priority = Some(at + 1);
            task
        })
        .collect();
    tasks[2].offset = Duration::from_ms(1);
    let mut system = System::new(2, tasks);
    system.requests = [(5, 0), (9, 1)]
        .map(|(ms, task)| Request { at: Time::from_ms(ms), kind: RequestKind::Leave(TaskId(task)) })
        .into();
    system
}

/// Programs, with the parameters that each of them requested, by the id and the time at which it entered.
struct Watched {
    churn: Churn,
    last: Option<Arc<Task>>,
    entered: BTreeMap<TaskId, Vec<(Time, Arc<Task>)>>,
}

impl Programs for Watched {
    fn next(&self) -> Time {
        self.churn.next()
    }
    fn visit(&mut self, now: Time) -> Option<Visit> {
        let visit = self.churn.visit(now);
        if let Some(Visit::Enters(task)) = &visit {
            self.last = Some(Arc::clone(task));
        }
        visit
    }
    fn entered(&mut self, now: Time, task: TaskId, refused: Option<&Refusal>) {
        self.churn.entered(now, task, refused);
        let parameters = self.last.take().expect("it has asked");
        if refused.is_none() {
            self.entered.entry(task).or_default().push((now, parameters));
        }
    }
}

/// Runs programs under a policy, and checks that every job is one of the program that had the id at that time.
fn run(name: &str, seed: u64) -> Churn {
    let system = system();
    let policy =
        Registry::standard().build(name, &system).unwrap_or_else(|error| panic!("{name}: {error}"));
    let rule = policy.rule();
    let churn = Churn::new(seed, 8).with_single_cpus(2);
    let mut programs = Watched { churn, last: None, entered: BTreeMap::new() };
    let mut trace = Trace::default();
    let options = SimOptions { seed, ..SimOptions::until(UNTIL) };
    simulate_with(&system, policy, &mut trace, &options, &mut programs).expect("it is in range");
    let context = format!("{name}, seed {seed}");

    let mut names: BTreeSet<JobId> = BTreeSet::new();
    for record in &trace.jobs {
        let job = record.job;
        assert!(names.insert(job.id), "{context}: {:?} names two jobs", job.id);
        let of_set = system.tasks.get(job.id.task).filter(|_| {
            programs.entered.get(&job.id.task).is_none_or(|all| job.arrival < all[0].0)
        });
        let owner = of_set.unwrap_or_else(|| {
            let all = &programs.entered[&job.id.task];
            let (_, task) =
                all.iter().rev().find(|(at, _)| *at <= job.arrival).expect("it entered");
            task
        });
        assert_eq!(job.deadline, job.arrival + owner.deadline, "{context}: {job:?}");
        match record.end {
            Some((at, JobEnd::Completed)) => {
                assert_eq!(record.executed, owner.own_wcet(), "{context}: {record:?}");
                assert!(at <= job.deadline, "{context}: {record:?} is late, with CPUs to spare");
            }
            Some((_, JobEnd::Left)) => {}
            Some((_, JobEnd::Aborted)) => panic!("{context}: {record:?} was given up"),
            None => assert!(
                UNTIL - job.release < LONGEST_PERIOD.max(owner.period),
                "{context}: {record:?}"
            ),
        }
    }
    // A policy's decisions before the start cover only the tasks with which it was built.
    let gives_cpus = name == "federated";
    let takes_nobody = gives_cpus
        || rule.plans_with_wcets()
        || matches!(rule.order(), Some(JobOrder::TopFirst { .. } | JobOrder::Points(_)));
    let Churn { asked, refused, .. } = programs.churn;
    assert!(asked > 50, "{context}: {asked}");
    assert_eq!(takes_nobody, refused == asked, "{context}: {refused} of {asked} were refused");
    programs.churn
}

#[test]
fn every_policy_takes_an_id_that_is_given_again_for_a_new_task() {
    for info in &Registry::standard() {
        for seed in 0..8 {
            let churn = run(&info.name, seed);
            // Ids are reused: there are never more than those of the set plus those of the present programs.
            assert!(churn.highest <= TaskId(10), "{}: {}", info.name, churn.highest);
        }
    }
}

#[test]
fn an_id_that_a_request_names_later_is_not_given_again() {
    let mut system = system();
    let late = Request { at: Time::from_ms(100), kind: RequestKind::Leave(TaskId(0)) };
    system.requests.push(late);
    let policy = Registry::standard().build("g-edf", &system).unwrap();
    let mut programs = Watched { churn: Churn::new(1, 8), last: None, entered: BTreeMap::new() };
    simulate_with(&system, policy, &mut NoRecord, &SimOptions::until(UNTIL), &mut programs)
        .unwrap();
    let first = programs.entered.get(&TaskId(0)).map(|all| all[0].0);
    assert!(first.is_none_or(|at| at >= Time::from_ms(100)), "{first:?}");
    assert!(programs.entered.contains_key(&TaskId(1)));
}

#[test]
fn programs_never_recur() {
    let system = system();
    let policy = Registry::standard().build("g-edf", &system).unwrap();
    let horizon = Horizon::Recurrence { at_most: UNTIL };
    let options = SimOptions { horizon, ..SimOptions::until(UNTIL) };
    let outcome =
        simulate_with(&system, policy, &mut NoRecord, &options, &mut Churn::new(1, 8)).map(|_| ());
    assert_eq!(outcome, Err(SimError::ProgramsNeverRecur));
}
