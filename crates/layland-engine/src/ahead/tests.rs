//! Tables filled by policies, and the limits of queries.

use super::*;
use layland_model::{Duration, Service, System, Task};
use layland_policy::{Registry, RequestId};
use std::sync::Arc;

fn job(task: u32, seq: u64) -> JobId {
    JobId { task: TaskId(task), seq }
}

/// Global EDF on two CPUs at time 0: tasks 0 and 1 run, 2 waits, 3 comes at 1 ms with the earliest deadline.
fn g_edf() -> (Box<dyn Policy>, Situation) {
    let task = |period| Task::implicit("a", Service::from_ms(2), Duration::from_ms(period));
    let system = System::new(2, vec![task(5), task(10), task(20), task(3)]);
    let mut policy = Registry::standard().build("g-edf", &system).unwrap();
    for cpu in system.platform.cpus() {
        policy.on_event(Time::ZERO, Event::CpuOnline { cpu });
    }
    for (id, task) in system.tasks.iter() {
        let parameters = Arc::new(task.clone());
        policy.on_event(Time::ZERO, Event::Join { task: id, parameters, request: RequestId(id.0) });
        if id != TaskId(3) {
            let (job, deadline) = (job(id.0, 0), Time::ZERO + task.period);
            policy.on_event(Time::ZERO, Event::Release { job, release: Time::ZERO, deadline });
        }
    }
    policy.decide(Time::ZERO, &mut Vec::new());
    let then = Some(AfterJob::Blocks);
    let running = |cpu, task| Running { cpu: CpuId(cpu), job: job(task, 0), then };
    let at = Time::from_ms(1);
    let comes = Job { id: job(3, 0), arrival: at, release: at, deadline: Time::from_ms(4) };
    let situation = Situation {
        running: vec![running(0, 0), running(1, 1)],
        sleeping: vec![comes],
        until: Time::NEVER,
        timers: Vec::new(),
        timers_at: Time::NEVER,
    };
    (policy, situation)
}

#[test]
fn a_table_knows_who_comes_next() {
    let (policy, situation) = g_edf();
    let mut table = AnswerTable::new(2, 4);
    assert!(table.fill(&*policy, Time::ZERO, &situation, || false));
    for (cpu, after) in [(CpuId(0), job(0, 0)), (CpuId(1), job(1, 0))] {
        let follows = Successor { after, next: Some(job(2, 0)), budget: None };
        assert_eq!(table.successor(cpu), Some(follows));
    }
    // It preempts the later of the two deadlines, if the job with that deadline is still there.
    let takes = Some((CpuId(1), Some(job(1, 0))));
    assert_eq!(table.wake(TaskId(3)), Some(Wake { job: job(3, 0), takes, budget: None }));
}

/// On one CPU the server with the earlier deadline runs. The other one has its whole budget, and a
/// third wakes up with the budget that its wake-up rule gives at that time.
#[test]
fn an_entry_has_the_budget_of_its_answer() {
    let task =
        |wcet, period| Task::implicit("a", Service::from_ms(wcet), Duration::from_ms(period));
    let system = System::new(1, vec![task(2, 10), task(3, 20), task(1, 5)]);
    let mut policy = Registry::standard().build("dl-sp", &system).unwrap();
    policy.on_event(Time::ZERO, Event::CpuOnline { cpu: CpuId(0) });
    for (id, task) in system.tasks.iter() {
        let (parameters, request) = (Arc::new(task.clone()), RequestId(id.0));
        policy.on_event(Time::ZERO, Event::Join { task: id, parameters, request });
        if id != TaskId(2) {
            let (job, deadline) = (job(id.0, 0), Time::ZERO + task.period);
            policy.on_event(Time::ZERO, Event::Release { job, release: Time::ZERO, deadline });
        }
    }
    policy.decide(Time::ZERO, &mut Vec::new());
    let running = Running { cpu: CpuId(0), job: job(0, 0), then: Some(AfterJob::Blocks) };
    let at = Time::from_ms(1);
    let comes = Job { id: job(2, 0), arrival: at, release: at, deadline: Time::from_ms(6) };
    let situation = Situation {
        running: vec![running],
        sleeping: vec![comes],
        until: Time::from_ms(2),
        timers: Vec::new(),
        timers_at: Time::NEVER,
    };
    let mut table = AnswerTable::new(1, 3);
    assert!(table.fill(&*policy, Time::ZERO, &situation, || false));
    let (after, next) = (job(0, 0), Some(job(1, 0)));
    let follows = Successor { after, next, budget: Some(Duration::from_ms(3)) };
    assert_eq!(table.successor(CpuId(0)), Some(follows));
    let takes = Some((CpuId(0), Some(job(0, 0))));
    let wakes = Wake { job: job(2, 0), takes, budget: Some(Duration::from_ms(1)) };
    assert_eq!(table.wake(TaskId(2)), Some(wakes));
}

#[test]
fn an_entry_is_given_once_and_where_its_assumptions_hold() {
    let (policy, situation) = g_edf();
    let filled = || {
        let mut table = AnswerTable::new(2, 4);
        assert!(table.fill(&*policy, Time::ZERO, &situation, || false));
        table
    };
    let mut table = filled();
    let next = table.take_successor(CpuId(0), job(0, 0), |waiting| waiting == job(2, 0));
    assert_eq!(next.and_then(|entry| entry.next), Some(job(2, 0)));
    assert_eq!(table.take_successor(CpuId(0), job(0, 0), |_| true), None, "it was used");
    assert_eq!(table.take_successor(CpuId(1), job(1, 0), |_| false), None, "it runs elsewhere");
    assert_eq!(filled().take_successor(CpuId(0), job(0, 1), |_| true), None, "another job");
    let on = |cpu: CpuId| Some(job(cpu.0, 0));
    assert!(filled().take_wake(job(3, 0), on).is_some());
    assert_eq!(filled().take_wake(job(3, 1), on), None, "another job");
    assert_eq!(filled().take_wake(job(3, 0), |_| None), None, "nobody is there");
    let mut table = filled();
    table.clear();
    assert_eq!(table.take_wake(job(3, 0), on), None, "the policy has decided since");
}

#[test]
fn an_interruption_leaves_the_rest_empty() {
    let (policy, situation) = g_edf();
    for asked in 0..=3 {
        let (mut table, mut questions) = (AnswerTable::new(2, 4), 0);
        let is_complete = table.fill(&*policy, Time::ZERO, &situation, || {
            questions += 1;
            questions > asked
        });
        assert_eq!(is_complete, asked == 3);
        let known = [
            table.successor(CpuId(0)).is_some(),
            table.successor(CpuId(1)).is_some(),
            table.wake(TaskId(3)).is_some(),
        ];
        assert_eq!(known, [asked > 0, asked > 1, asked > 2]);
    }
}

#[test]
fn a_ledger_says_whom_to_ask_about() {
    let task = |ms| Task::implicit("a", Service::from_ms(1), Duration::from_ms(ms));
    let mut system = System::new(3, vec![task(5), task(10), task(20), task(3), task(4)]);
    system.tasks[TaskId(3)].offset = Duration::from_ms(1);
    let policy = Registry::standard().build("g-edf", &system).unwrap();
    let mut ledger: Ledger<_, ()> = Ledger::new(&system, policy, 0, |work| work.ns());
    // 0 and 1 run, and the next job of 1 waits for its end; 2 waits; 3 sleeps; 4 has yet to enter.
    for (id, status) in
        [Status::Ready, Status::Ready, Status::Ready, Status::Idle].into_iter().enumerate()
    {
        let task = &mut ledger.tasks[TaskId(id as u32)];
        task.status = status;
        if status == Status::Ready {
            task.job.id.seq = 0;
        }
    }
    ledger.tasks[TaskId(1)].blocked = true;
    let on = |cpu: CpuId| (cpu.0 < 2).then(|| job(cpu.0, 0));
    let mut situation = Situation::default();
    situation.update(&ledger, on, Time::from_ms(7));
    let running = |cpu, then| Running { cpu: CpuId(cpu), job: job(cpu, 0), then };
    assert_eq!(situation.running, [running(0, Some(AfterJob::Blocks)), running(1, None)]);
    let sleeping: Vec<JobId> = situation.sleeping.iter().map(|job| job.id).collect();
    assert_eq!((sleeping, situation.until), (vec![job(3, 0)], Time::from_ms(7)));
    assert_eq!((situation.timers.len(), situation.timers_at), (0, Time::NEVER));
    ledger.timers.grow(3);
    for (id, ms) in [(0, 2), (1, 3), (2, 2)] {
        ledger.timers.set(id, Time::from_ms(ms));
    }
    situation.update(&ledger, on, Time::from_ms(7));
    assert_eq!((situation.until, situation.timers_at), (Time::from_ms(7), Time::from_ms(2)));
    assert_eq!(situation.timers, [TimerId(0), TimerId(2)]);
}

#[test]
fn nothing_is_asked_about_what_lies_behind_a_timer() {
    let (policy, mut situation) = g_edf();
    for (until_us, knows) in [(1_001, true), (1_000, false)] {
        situation.until = Time::from_us(until_us);
        let mut table = AnswerTable::new(2, 4);
        assert!(table.fill(&*policy, Time::ZERO, &situation, || false));
        assert_eq!(table.wake(TaskId(3)).is_some(), knows);
        assert!(table.successor(CpuId(0)).is_some());
    }
    // An event at the expiry of timers is combined with them in one query.
    (situation.until, situation.timers) = (Time::NEVER, vec![TimerId(0)]);
    for (timers_at_us, knows) in [(1_000, true), (999, false)] {
        situation.timers_at = Time::from_us(timers_at_us);
        let mut table = AnswerTable::new(2, 4);
        assert!(table.fill(&*policy, Time::ZERO, &situation, || false));
        assert_eq!(table.wake(TaskId(3)).is_some(), knows);
    }
    situation.until = Time::ZERO;
    let mut table = AnswerTable::new(2, 4);
    assert!(table.fill(&*policy, Time::ZERO, &situation, || false));
    assert_eq!(table.successor(CpuId(0)), None);
}
