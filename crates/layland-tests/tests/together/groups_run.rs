//! Runs of groups with budgets: the policy beside its slow twin, and what the analyses say of it.

use layland_analysis::groups::whole;
use layland_analysis::{ResponseTest, SchedulabilityTest, Verdict};
use layland_model::{
    Behaviour, CpuId, CpuSet, Duration, ExecutionModel, GroupId, Index, InnerPolicy, Order,
    ServerRule, Service, System, Task, TaskGroup, Time,
};
use layland_policy::task_groups::{ServerChange, TaskGroups};
use layland_testkit::cases::on_random;
use layland_testkit::groups_run::{self, recorded};
use proptest::prelude::*;

fn ns(length: i64) -> Duration {
    Duration::from_ns(length)
}

/// Numbers that are drawn one after another.
struct Drawn {
    numbers: Vec<i64>,
    at: usize,
}

impl Drawn {
    fn below(&mut self, end: i64) -> i64 {
        self.at += 1;
        let number =
            self.numbers[self.at % self.numbers.len()] + (self.at / self.numbers.len()) as i64;
        number.rem_euclid(end)
    }
}

/// A system with groups, and the releases of its tasks: at least a period apart, with up to the WCET.
fn drawn(numbers: Vec<i64>, until: i64, light: bool) -> (System, Vec<Vec<(i64, i64)>>) {
    let mut draw = Drawn { numbers, at: 0 };
    let cpus = 1 + draw.below(3) as usize;
    let mut groups = Vec::new();
    for at in 0..1 + draw.below(3) {
        let period = 2 + draw.below(if light { 8 } else { 11 });
        let deadline = if draw.below(3) == 0 { 1 + draw.below(period) } else { period };
        let most = if light { (deadline + 1) / 2 } else { deadline };
        let budget = 1 + draw.below(most);
        let mut own: CpuSet =
            (0..cpus).filter(|_| draw.below(2) == 0).map(CpuId::from_index).collect();
        if own.is_empty() {
            own.insert(CpuId::from_index(draw.below(cpus as i64) as usize));
        }
        let inner = match draw.below(6) {
            0 => InnerPolicy::Fp,
            1 => InnerPolicy::Edf,
            2 => InnerPolicy::Fifo,
            3 => InnerPolicy::RoundRobin(ns(1 + draw.below(3))),
            4 => InnerPolicy::NonpreemptiveFp,
            _ => InnerPolicy::NonpreemptiveEdf,
        };
        groups.push(TaskGroup {
            budget: Some(Service::from_ns(budget)),
            deadline: ns(deadline),
            inner,
            rule: ServerRule::Cbs,
            ..TaskGroup::new(format!("g{at}"), ns(period), own)
        });
    }
    let (mut tasks, mut releases) = (Vec::new(), Vec::new());
    for at in 0..1 + draw.below(5) {
        let period = if light { 12 + draw.below(30) } else { 3 + draw.below(12) };
        let wcet = 1 + draw.below(if light { 2 } else { 4 });
        let mut task = Task::implicit(format!("t{at}"), Service::from_ns(wcet), ns(period));
        task.priority = Some(draw.below(3));
        match draw.below(groups.len() as i64 + 1) as usize {
            group if group < groups.len() => task.group = Some(GroupId::from_index(group)),
            _ => {
                let cpu = CpuId::from_index(draw.below(cpus as i64) as usize);
                task.affinity = Some(CpuSet::single(cpu));
            }
        }
        let (mut all, mut now) = (Vec::new(), draw.below(8));
        while now < until {
            let work = if draw.below(3) == 0 { 1 + draw.below(wcet) } else { wcet };
            all.push((now, work));
            now += period + if draw.below(2) == 0 { draw.below(9) } else { 0 };
        }
        let times = all.iter().map(|&(at, _)| Time::from_ns(at));
        task.behaviour = Behaviour::Explicit(times.collect());
        let work = all.iter().map(|&(_, work)| Service::from_ns(work));
        task.execution = ExecutionModel::List(work.collect());
        tasks.push(task);
        releases.push(all);
    }
    let mut system = System::new(cpus, tasks);
    system.groups = groups;
    (system, releases)
}

fn numbers() -> impl Strategy<Value = Vec<i64>> {
    prop::collection::vec(0..1000i64, 97)
}

#[test]
fn runs_are_those_of_the_twin() {
    on_random(3_000, 1_500, numbers(), |numbers| {
        let (system, releases) = drawn(numbers, 60, false);
        let slow = groups_run::run(&system, &releases, 80);
        let fast = groups_run::fast(&system, 80);
        prop_assert_eq!(fast, Ok(slow.clone()), "{:#?}", system);
        Ok(slow.events.iter().any(|event| event.3 == "throttle"))
    });
}

const TEST: SchedulabilityTest = whole::BY_DEADLINE;
const RESPONSES: ResponseTest = whole::BY_DEADLINE_RESPONSES;

/// Where the analysis accepts a set, no job is late, and none takes longer than its bound.
#[test]
fn accepted_groups_are_in_time() {
    let accepted = std::cell::Cell::new(0);
    on_random(4_000, 400, numbers(), |numbers| {
        let (system, _) = drawn(numbers, 300, true);
        prop_assert!(system.validate().is_empty(), "{:?}", system.validate());
        let bounds = RESPONSES
            .run(&system)
            .map_err(|refusal| TestCaseError::fail(format!("{refusal:?}")))?;
        let is_accepted = TEST.run(&system).is_ok_and(|finding| finding.verdict == Verdict::Yes);
        accepted.set(accepted.get() + u32::from(is_accepted));
        let policy = TaskGroups::new(&system, Order::Deadline);
        let (trace, _) = recorded(&system, policy, 330).map_err(TestCaseError::fail)?;
        let mut said = false;
        for record in &trace.jobs {
            let Some(bound) = bounds[record.job.id.task].as_ref() else { continue };
            said = true;
            let until = record.job.arrival + bound.response;
            let end = record.end.map(|(at, _)| at);
            let is_in_time = end.map_or(until > Time::from_ns(330), |end| end <= until);
            prop_assert!(is_in_time, "{:?} after {:?}: {:#?}", record, bound, system);
        }
        if is_accepted {
            let is_late = trace.jobs.iter().any(|record| record.missed(Time::from_ns(330)));
            prop_assert!(!is_late, "{:#?}", system);
        }
        Ok(said)
    });
    assert!(accepted.get() > 100, "{} sets were accepted", accepted.get());
}

/// A server that is served by its deadlines has used its budget by then, if its group has work.
#[test]
fn no_server_is_late_where_the_servers_fit() {
    use layland_analysis::Sporadic;
    use layland_analysis::groups::outer::{self, Served};
    on_random(2_000, 200, numbers(), |numbers| {
        let (system, _) = drawn(numbers, 120, true);
        let fits = |cpu: CpuId| {
            let mut servers = Vec::new();
            for at in 0..system.groups.len() {
                let own = system.group_servers(GroupId::from_index(at)).unwrap_or_default();
                servers.extend(own.iter().filter(|(on, _)| *on == cpu).map(|&(_, server)| server));
            }
            let is_here = |task: &&Task| {
                task.group.is_none() && task.affinity.as_ref().is_some_and(|own| own.contains(cpu))
            };
            let tasks: Vec<Sporadic> =
                system.tasks.values().filter(is_here).map(Into::into).collect();
            outer::earliest_deadline(&servers, &tasks) == Ok(Served::InTime)
        };
        let policy = TaskGroups::new(&system, Order::Deadline);
        let (_, events) = recorded(&system, policy, 150).map_err(TestCaseError::fail)?;
        let mut said = false;
        for event in events.iter().filter(|event| fits(event.cpu)) {
            // A server that is postponed at its next period has used the budget after its deadline.
            said |= event.change == ServerChange::Throttle;
            let is_on_time = event.change != ServerChange::Throttle || event.at <= event.deadline;
            prop_assert!(is_on_time, "{:?}: {:#?}", event, system);
            prop_assert!(
                event.change != ServerChange::Postpone
                    || system.groups[event.group.index()].deadline
                        == system.groups[event.group.index()].period,
                "{:?}",
                event
            );
        }
        Ok(said)
    });
}
