//! Zero slack: the heap of criticalities makes the decisions of the rule, one by one.

use layland_gen::{Aspect, Random};
use layland_model::{
    Behaviour, Criticality, Duration, ExecutionModel, Levels, Request, RequestKind, ScheduleRule,
    Service, System, Task, TaskId, Time,
};
use layland_policy::criticality::PerCpu;
use layland_policy::criticality::zss::{Late, ZeroSlack};
use layland_policy::{Action, Count, Event, Needs, Policy, State};
use layland_sim::{SimOptions, simulate};
use layland_testkit::mixed::{ZeroSlackRule, describe, draw_run, draw_set};
use layland_trace::Trace;
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Both forms with equal events. Their actions must be equal, including timers.
#[derive(Clone)]
struct Both {
    heap: PerCpu<ZeroSlack>,
    rule: PerCpu<ZeroSlackRule>,
    what: Arc<str>,
    decisions: Arc<AtomicU64>,
}

impl Both {
    fn new(system: &System, order: &[usize], zero_slack: &[Option<i64>], late: Late) -> Both {
        let heap = ZeroSlack::new(order, zero_slack, late);
        let rule = ZeroSlackRule { order: order.to_vec(), zero_slack: zero_slack.to_vec(), late };
        let what = format!("order {order:?}, instants {zero_slack:?}, {late:?}");
        Both {
            heap: PerCpu::on_one_cpu("heap", system, heap),
            rule: PerCpu::on_one_cpu("rule", system, rule),
            what: format!("{what}\n{}", describe(system)).into(),
            decisions: Arc::default(),
        }
    }
}

impl Policy for Both {
    fn on_event(&mut self, now: Time, event: Event) {
        self.heap.on_event(now, event.clone());
        self.rule.on_event(now, event);
    }
    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        let mut expected = Vec::new();
        self.rule.decide(now, &mut expected);
        self.heap.decide(now, actions);
        self.decisions.fetch_add(1, Ordering::Relaxed);
        assert_eq!(*actions, expected, "heap and rule differ at {now}: {}", self.what);
    }
    fn save(&self, now: Time, state: &mut State) {
        self.heap.save(now, state);
    }
    fn needs(&self) -> Needs {
        self.heap.needs()
    }
    fn rule(&self) -> ScheduleRule {
        ScheduleRule::None
    }
    fn counts(&self) -> Vec<Count> {
        self.heap.counts()
    }
}

/// Compares random sets of 2 to 4 levels and 2 to 5 tasks, in runs with overruns of every level,
/// periodic, with offsets or sporadic, with any order and instants, sensible or not; in some a task
/// leaves. Deadlines are short enough that many jobs are late. Returns the number of decisions.
fn agrees(seed: u64, index: u64) -> u64 {
    let mut random = Random::new(seed, index, Aspect::Criticalities);
    let mut system = draw_set(&mut random);
    let until = 240;
    let mut below = |n: i64| random.below(n.max(1) as u64) as i64;
    let count = system.tasks.len();
    if below(2) == 0 {
        for task in system.tasks.values_mut() {
            let deadline = 1 + below(task.deadline.ns());
            task.deadline = Duration::from_ns(deadline);
        }
    }
    let mut order: Vec<usize> = (0..count).collect();
    (1..count).rev().for_each(|last| order.swap(last, below(last as i64 + 1) as usize));
    let instants: Vec<Option<i64>> = (system.tasks.values())
        .map(|task| (below(4) > 0).then(|| below(task.deadline.ns() + 1)))
        .collect();
    let late = if below(2) == 0 { Late::Suspend } else { Late::Demote };
    let leaves = (below(4) == 0).then(|| (below(until), below(count as i64)));
    let (mut run, _) = draw_run(&mut random, &system, until);
    run.requests.extend(leaves.map(|(at, task)| Request {
        at: Time::from_ns(at),
        kind: RequestKind::Leave(TaskId(task as u32)),
    }));
    let policy = Both::new(&run, &order, &instants, late);
    let decisions = policy.decisions.clone();
    simulate(&run, policy, &mut Trace::default(), &SimOptions::until(Time::from_ns(until)))
        .unwrap_or_else(|error| panic!("{seed}/{index}: {error}"));
    decisions.load(Ordering::Relaxed)
}

#[test]
fn the_heap_decides_what_the_rule_decides() {
    let decisions: u64 = (0..20_000).into_par_iter().map(|index| agrees(11, index)).sum();
    assert!(decisions > 500_000, "{decisions}");
}

// --- Examples ----------------------------------------------------------------------------------

/// Returns the completion times of tasks `(D, z, release, demand)` with one job each, highest
/// priority first.
fn completions(tasks: &[(i64, u8, i64, i64)], instants: &[Option<i64>], late: Late) -> Vec<i64> {
    let task = |(index, &(deadline, level, release, demand)): (usize, &(i64, u8, i64, i64))| {
        let name = format!("tau{index}");
        let mut task = Task::implicit(name, Service::from_ns(demand), Duration::from_ns(100));
        task.deadline = Duration::from_ns(deadline);
        task.criticality = Criticality(level);
        task.wcet = vec![Service::from_ns(demand); 3].into();
        task.behaviour = Behaviour::Explicit(vec![Time::from_ns(release)]);
        task.execution = ExecutionModel::List(vec![Service::from_ns(demand)]);
        task
    };
    let mut system = System::new(1, tasks.iter().enumerate().map(task).collect());
    system.levels = Levels::new(["low", "middle", "high"].map(str::to_owned).to_vec());
    let order: Vec<usize> = (0..tasks.len()).collect();
    let policy = Both::new(&system, &order, instants, late);
    let mut trace = Trace::default();
    simulate(&system, policy, &mut trace, &SimOptions::until(Time::from_ns(100))).unwrap();
    trace.jobs.sort_by_key(|record| record.job.id.task);
    trace.jobs.iter().map(|record| record.completion().expect("every job ends").ns()).collect()
}

/// C9: two late tasks of one criticality. The printed heap never wakes the second one.
#[test]
fn two_late_tasks_of_one_criticality_end() {
    let tasks = [(4, 0, 0, 3), (5, 0, 0, 3), (20, 1, 0, 6)];
    for late in [Late::Suspend, Late::Demote] {
        // The high job is critical at once. The jobs that it suspends become late meanwhile, and
        // run by priority then.
        assert_eq!(completions(&tasks, &[None, None, Some(0)], late), [9, 12, 6], "{late:?}");
    }
}

/// The other case in which the printed heap fails: critical, then late, with one pop.
#[test]
fn a_job_that_was_critical_and_is_late_has_one_entry() {
    // The middle job suspends the low one from 1 on, is late from 2 on, and ends at 3.
    let tasks = [(50, 0, 1, 1), (2, 1, 0, 3), (50, 2, 40, 1)];
    assert_eq!(completions(&tasks, &[None, Some(1), None], Late::Suspend), [4, 3, 41]);
    // When demoted, it suspends no job.
    assert_eq!(completions(&tasks, &[None, Some(1), None], Late::Demote), [3, 4, 41]);
}

/// `b` would end first with a heap onto which a suspended job is pushed only when it is woken.
#[test]
fn a_late_job_takes_over_from_one_of_lower_priority() {
    // `a` is released at 1, when `b` is late, and is late itself at 2.
    let (a, b, high) = ((1, 0, 1, 1), (1, 0, 0, 3), (50, 1, 40, 1));
    assert_eq!(completions(&[a, b, high], &[None; 3], Late::Suspend), [3, 4, 41]);
    assert_eq!(completions(&[a, b, high], &[None; 3], Late::Demote), [2, 4, 41]);
}

/// The jobs that a critical job suspends include a late one whose own entry is equal.
#[test]
fn a_critical_job_comes_before_a_late_one() {
    // `low` is late at 1. `high` is critical at 2 and runs, although its priority is the lowest.
    let (low, high) = ((1, 0, 0, 4), (50, 1, 1, 2));
    for late in [Late::Suspend, Late::Demote] {
        assert_eq!(completions(&[low, high], &[None, Some(1)], late), [6, 3], "{late:?}");
    }
}
