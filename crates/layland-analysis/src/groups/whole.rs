//! Sets with groups: on each CPU the servers and the plain tasks, and in each group its tasks.
//! **Sufficient.**
//!
//! | test | between servers and plain tasks | servers |
//! |---|---|---|
//! | [`BY_DEADLINE`] | EDF on each CPU | constant-bandwidth |
//! | [`BY_PRIORITY`] | fixed priorities on each CPU | deferrable and polling, one CPU per group |
//!
//! A group is in time if its servers are served on all of its CPUs ([`outer`]), and its tasks are in
//! time on the least supply that this leaves: on one CPU by the tests of its inner policy, or by
//! [`lone_response_time`] for a single task; on several CPUs, if its tasks may use all of them, by the
//! tests for linked servers; and if each has one CPU, by those of one CPU for each.

use super::outer::{self, Entity, Served};
use super::{
    EASWARAN, GroupTask, InnerTest, SHIN_EASWARAN, SHIN_LEE, Shortfall, Supplies, Supply, design,
    lone_response_time,
};
use crate::Assumption::*;
use crate::fixed_point::Diverged;
use crate::group::together;
use crate::test::ResponseBounds;
use crate::{
    Assumption, BoundedTest, Certify, Decide, Finding, Quantity, Reason, ResponseBound,
    ResponseTest, SchedulabilityTest, Scope, Sporadic, Verdict,
};
use layland_model::{
    Algorithm, CpuId, CpuSet, Duration, GroupId, GroupServer, Index, Order, Rate, RateSum, System,
    Task, TaskGroup, TaskId, TaskMap,
};
use std::collections::BTreeMap;

const KEPT: [Assumption; 5] = [SporadicReleases, NoJitter, WcetKept, NoOverheads, UnitSpeeds];

const fn kept(groups: Assumption) -> [Assumption; 8] {
    let [a, b, c, d, e] = KEPT;
    [groups, a, b, c, d, e, NoRequests, OneLevel]
}

const NO_PROOF: &str = "the verifier does not know the supply of servers";

const fn test(
    name: &'static str,
    title: &'static str,
    algorithms: &'static [Algorithm],
    assumptions: &'static [Assumption],
    both: fn(&System) -> (Finding, ResponseBounds),
) -> BoundedTest {
    BoundedTest {
        name,
        title,
        algorithms,
        assumptions,
        citations: &[&SHIN_LEE, &EASWARAN, &SHIN_EASWARAN],
        certify: Certify::Without(NO_PROOF),
        both,
    }
}

const BY_DEADLINE_TEST: BoundedTest = test(
    "GROUPS-EDF",
    "demand of servers under EDF on each CPU, and of groups against their supply",
    &[Algorithm::Groups(Order::Deadline)],
    &kept(GroupsByDeadline),
    |system| both(system, Order::Deadline, true),
);
/// `GROUPS-EDF`: servers and plain tasks under EDF on each CPU, and groups against their supply.
pub const BY_DEADLINE: SchedulabilityTest = SchedulabilityTest {
    decide: Decide::with_bounds(BY_DEADLINE_TEST.both)
        .or_sooner(|system| both(system, Order::Deadline, false).0.verdict),
    ..BY_DEADLINE_TEST.test()
};
/// The response bounds of `GROUPS-EDF`.
pub const BY_DEADLINE_RESPONSES: ResponseTest = BY_DEADLINE_TEST.responses();

const BY_PRIORITY_TEST: BoundedTest = test(
    "GROUPS-FP",
    "response times of servers by priority on each CPU, and of groups against their supply",
    &[Algorithm::Groups(Order::Given)],
    &kept(GroupsByPriority),
    |system| both(system, Order::Given, true),
);
/// `GROUPS-FP`: servers and plain tasks under fixed priorities on each CPU, and groups against their
/// supply.
pub const BY_PRIORITY: SchedulabilityTest = SchedulabilityTest {
    decide: Decide::with_bounds(BY_PRIORITY_TEST.both)
        .or_sooner(|system| both(system, Order::Given, false).0.verdict),
    ..BY_PRIORITY_TEST.test()
};
/// The response bounds of `GROUPS-FP`.
pub const BY_PRIORITY_RESPONSES: ResponseTest = BY_PRIORITY_TEST.responses();

/// The reason that a *yes* about several CPUs rests on.
const LINKED: &str = "jobs that migrate between the servers of a group rely on linked servers: while the group has work, \
     all of them contend, and one without a job pays";
const NARROW: &str = "no test is known for tasks that may use some CPUs of their group and not all";
const NO_TEST: &str = "no test is known for this inner policy on several CPUs";
const LONG: &str = "the tests for several CPUs need deadlines within the periods";
const NOTHING_LEFT: &str = "the groups within it leave nothing to its servers";
const NOT_SERVED: &str = "its servers are not known to be served in time";

/// The servers of a system with their supply, where they are known to be served.
type Servers = BTreeMap<(GroupId, CpuId), GroupServer>;

/// For more groups than this, the reasons leave out the least budgets, which take many tests each.
const MOST_SLACKS: usize = 32;

/// The finding and the bounds; `tells` the reasons that take more tests.
fn both(system: &System, order: Order, tells: bool) -> (Finding, ResponseBounds) {
    let mut bounds = TaskMap::filled(None, system.tasks.len());
    let (mut servers, mut findings) = (Servers::new(), Vec::new());
    let ids = || (0..system.groups.len()).map(GroupId::from_index);
    let stated: Vec<Vec<(CpuId, GroupServer)>> =
        ids().map(|id| system.group_servers(id).unwrap_or_default()).collect();
    for cpu in system.platform.cpus() {
        let on_cpu = OnCpu::of(system, &stated, cpu);
        findings.push(match order {
            Order::Given => on_cpu.by_priority(system, &mut servers, &mut bounds),
            Order::Deadline | Order::RateMonotonic | Order::DeadlineMonotonic => {
                on_cpu.by_deadline(&mut servers, &mut bounds)
            }
        });
    }
    let tells = tells && system.groups.len() <= MOST_SLACKS;
    for (id, stated) in ids().zip(&stated) {
        let members = Members::of(system, id, stated, tells);
        findings.push(members.finding(system, &servers, &mut bounds));
    }
    (together(findings.into_iter()), bounds)
}

/// The servers and the plain tasks of a CPU.
struct OnCpu<'a> {
    cpu: CpuId,
    servers: Vec<(GroupId, GroupServer)>,
    tasks: Vec<(TaskId, &'a Task)>,
}

impl<'a> OnCpu<'a> {
    fn of(system: &'a System, stated: &[Vec<(CpuId, GroupServer)>], cpu: CpuId) -> OnCpu<'a> {
        let mut servers = Vec::new();
        for (at, all) in stated.iter().enumerate() {
            let here = all.iter().filter(|&&(on, _)| on == cpu);
            servers.extend(here.map(|&(_, one)| (GroupId::from_index(at), one)));
        }
        let is_here =
            |id: TaskId, task: &Task| task.group.is_none() && system.allowed_cpus(id).contains(cpu);
        let tasks = system.tasks.iter().filter(|&(id, task)| is_here(id, task)).collect();
        OnCpu { cpu, servers, tasks }
    }

    fn scope(&self) -> Scope {
        Scope::cpus(&CpuSet::single(self.cpu))
    }

    fn by_deadline(&self, servers: &mut Servers, bounds: &mut ResponseBounds) -> Finding {
        let of_groups: Vec<GroupServer> = self.servers.iter().map(|&(_, server)| server).collect();
        let tasks: Vec<Sporadic> = self.tasks.iter().map(|&(_, task)| task.into()).collect();
        if of_groups.is_empty() && tasks.is_empty() {
            return Finding { verdict: Verdict::Yes, reasons: Vec::new() };
        }
        let load = |holds| {
            let mut sum = RateSum::default();
            of_groups.iter().for_each(|server| sum.add(&server.bandwidth()));
            self.tasks.iter().for_each(|(_, task)| task.add_utilization(&mut sum));
            let (value, bound) = (Quantity::Sum(sum), Quantity::Number(Rate::ONE));
            let what = "the bandwidth of servers and tasks";
            Reason::compared(what, self.scope(), value, bound, holds)
        };
        match outer::earliest_deadline(&of_groups, &tasks) {
            Ok(Served::InTime) => {
                for &(id, server) in &self.servers {
                    servers.insert((id, self.cpu), server);
                }
                for &(id, task) in &self.tasks {
                    bounds[id] = Some(ResponseBound::new(id, task.deadline));
                }
                Finding::new(Verdict::Yes, load(true))
            }
            Ok(Served::Overload) => Finding::new(Verdict::Unknown, load(false)),
            Ok(Served::Exceeds { interval, demand }) => {
                let scope = Scope { interval: Some(interval), ..self.scope() };
                let (value, bound) = (Quantity::Time(demand), time(interval));
                let what = "the demand of servers and tasks";
                let reason = Reason::compared(what, scope, value, bound, false);
                Finding::new(Verdict::Unknown, reason)
            }
            Err(why) => Finding::new(Verdict::Unknown, Reason::GaveUp(why)),
        }
    }

    fn by_priority(
        &self,
        system: &System,
        servers: &mut Servers,
        bounds: &mut ResponseBounds,
    ) -> Finding {
        // Equal priorities: the server first, then groups and tasks as listed.
        let mut entities: Vec<((i64, bool, usize), Entity)> = Vec::new();
        for &(id, server) in &self.servers {
            let priority = system.groups[id.index()].priority.unwrap_or(i64::MAX);
            entities.push(((priority, false, id.index()), Entity::Server(server)));
        }
        for &(id, task) in &self.tasks {
            let priority = task.priority.unwrap_or(i64::MAX);
            entities.push(((priority, true, id.index()), Entity::Task(task.into())));
        }
        entities.sort_by_key(|&(key, _)| key);
        let listed: Vec<Entity> = entities.iter().map(|&(_, entity)| entity).collect();
        let mut finding = Finding { verdict: Verdict::Yes, reasons: Vec::new() };
        let found = outer::fixed_priority(&listed);
        for (((_, is_task, at), entity), response) in entities.into_iter().zip(found) {
            let (what, deadline) = match entity {
                Entity::Task(task) => ("the response time", task.deadline),
                Entity::Server(server) => ("the response time of the server", server.deadline),
            };
            let reason = match response {
                Ok(response) => {
                    let (value, bound) = (time(response), time(deadline));
                    let reason = |scope| Reason::compared(what, scope, value, bound, true);
                    if is_task {
                        let id = TaskId::from_index(at);
                        bounds[id] = Some(ResponseBound::new(id, response));
                        reason(Scope { task: Some(id), ..self.scope() })
                    } else if let Entity::Server(server) = entity {
                        let id = GroupId::from_index(at);
                        // The budget is served by its response time.
                        servers
                            .insert((id, self.cpu), GroupServer { deadline: response, ..server });
                        reason(self.scope()).of_group(id)
                    } else {
                        continue;
                    }
                }
                Err(why) => {
                    finding.verdict = Verdict::Unknown;
                    if is_task {
                        Reason::NoBound(TaskId::from_index(at), why)
                    } else {
                        let id = GroupId::from_index(at);
                        Reason::NotPartitioned(format!("the response time of its server: {why}"))
                            .of_group(id)
                    }
                }
            };
            finding.reasons.push(reason);
        }
        finding
    }
}

fn time(length: Duration) -> Quantity {
    Quantity::of_ns(length.ns().into())
}

/// The tasks of a group.
struct Members<'a> {
    id: GroupId,
    group: &'a TaskGroup,
    tasks: Vec<(TaskId, &'a Task)>,
    /// Its servers, as far as the groups within it leave anything.
    stated: &'a [(CpuId, GroupServer)],
    tells: bool,
}

impl<'a> Members<'a> {
    fn of(
        system: &'a System,
        id: GroupId,
        stated: &'a [(CpuId, GroupServer)],
        tells: bool,
    ) -> Members<'a> {
        let is_in = |&(_, task): &(TaskId, &Task)| task.group == Some(id);
        let tasks = system.tasks.iter().filter(is_in).collect();
        Members { id, group: &system.groups[id.index()], tasks, stated, tells }
    }

    fn finding(&self, system: &System, servers: &Servers, bounds: &mut ResponseBounds) -> Finding {
        if self.tasks.is_empty() {
            return Finding { verdict: Verdict::Yes, reasons: Vec::new() };
        }
        let all = &self.group.cpus;
        let allowed: Vec<CpuSet> =
            self.tasks.iter().map(|&(id, _)| system.allowed_cpus(id)).collect();
        if allowed.iter().all(|cpus| cpus == all) {
            let mut finding = self.on(all, &self.tasks, servers, bounds);
            if finding.verdict == Verdict::Yes && all.len() > 1 {
                finding.reasons.push(Reason::Holds(LINKED).of_group(self.id));
            }
            return finding;
        }
        if allowed.iter().any(|cpus| cpus.len() != 1) {
            return self.unknown(Reason::Holds(NARROW));
        }
        together(all.iter().map(|cpu| {
            let is_here = |&(at, _): &(usize, &(TaskId, &Task))| allowed[at].contains(cpu);
            let here: Vec<(TaskId, &Task)> =
                self.tasks.iter().enumerate().filter(is_here).map(|(_, task)| *task).collect();
            self.on(&CpuSet::single(cpu), &here, servers, bounds)
        }))
    }

    fn unknown(&self, reason: Reason) -> Finding {
        Finding::new(Verdict::Unknown, reason.of_group(self.id))
    }

    /// Tests these tasks of the group on its servers on these CPUs.
    fn on(
        &self,
        cpus: &CpuSet,
        tasks: &[(TaskId, &Task)],
        servers: &Servers,
        bounds: &mut ResponseBounds,
    ) -> Finding {
        if tasks.is_empty() {
            return Finding { verdict: Verdict::Yes, reasons: Vec::new() };
        }
        let served: Vec<GroupServer> =
            cpus.iter().filter_map(|cpu| servers.get(&(self.id, cpu)).copied()).collect();
        if served.len() < cpus.len() {
            let there = self.stated.iter().filter(|(cpu, _)| cpus.contains(*cpu)).count();
            let why = if there < cpus.len() { NOTHING_LEFT } else { NOT_SERVED };
            return self.unknown(Reason::Holds(why));
        }
        let member = |&(_, task): &(TaskId, &Task)| GroupTask {
            task: task.into(),
            priority: task.priority.unwrap_or(0),
        };
        let test = InnerTest::new(self.group.inner, tasks.iter().map(member).collect());
        let supplies = Supplies::new(served.iter().map(Supply::of).collect());
        let alone = match (tasks, &served[..]) {
            ([(id, task)], [server]) => {
                let response = lone_response_time(server, &Sporadic::from(*task));
                response.map(|response| (*id, response))
            }
            _ => None,
        };
        let mut known: Vec<Option<Duration>> = match test.responses(&supplies, false) {
            Ok(found) => found.into_iter().map(|found| found?.ok()).collect(),
            Err(_) => vec![None; tasks.len()],
        };
        if let Some((_, response)) = alone {
            known[0] = Some(known[0].map_or(response, |known| known.min(response)));
        }
        let decided = test.decide(&supplies);
        let is_late = |(known, (_, task)): (&Option<Duration>, &(TaskId, &Task))| {
            known.is_none_or(|known| known > task.deadline)
        };
        let has_bounds = !known.iter().zip(tasks).any(is_late);
        for (known, &(id, task)) in known.iter().zip(tasks) {
            let response = known.or_else(|| decided.is_ok().then_some(task.deadline));
            bounds[id] = response.map(|response| ResponseBound::new(id, response));
        }
        match decided {
            Err(short) if !has_bounds => self.unknown(reason(&short, tasks, cpus, &supplies)),
            Ok(()) | Err(_) => {
                let mut reasons = Vec::new();
                for (known, &(id, task)) in known.iter().zip(tasks) {
                    let Some(known) = known else { continue };
                    let scope = Scope::task(id, cpus);
                    let (value, bound) = (time(*known), time(task.deadline));
                    let what = "the response time";
                    reasons.push(Reason::compared(what, scope, value, bound, true));
                }
                reasons.extend(self.tells.then(|| self.slack(&test, &served, cpus)).flatten());
                let reasons = reasons.into_iter().map(|reason| reason.of_group(self.id)).collect();
                Finding { verdict: Verdict::Yes, reasons }
            }
        }
    }

    /// The least budget that the tests accept, beside the one that the group has.
    fn slack(&self, test: &InnerTest, served: &[GroupServer], cpus: &CpuSet) -> Option<Reason> {
        let first = served.first()?;
        if served.iter().any(|server| server != first) {
            return None;
        }
        let design = design::Design {
            test: test.clone(),
            rule: first.rule,
            servers: served.len(),
            cost: Duration::ZERO,
        };
        let least = design.least(first.period, first.deadline).ok().flatten()?;
        let what = "the least budget that is enough";
        let (value, bound) = (time(least.at_unit_speed()), time(first.budget.at_unit_speed()));
        Some(Reason::compared(what, Scope::cpus(cpus), value, bound, true))
    }
}

/// The reason why a group is not known to be in time.
fn reason(
    short: &Shortfall,
    tasks: &[(TaskId, &Task)],
    cpus: &CpuSet,
    supplies: &Supplies,
) -> Reason {
    match *short {
        Shortfall::Task(at, Diverged::Beyond { reached, .. }) => {
            let (id, task) = tasks[at];
            let (value, bound) = (time(reached), time(task.deadline));
            let what = "the response time";
            Reason::compared(what, Scope::task(id, cpus), value, bound, false).at_least()
        }
        Shortfall::Task(at, why) => Reason::NoBound(tasks[at].0, why),
        Shortfall::Demand { interval, demand } => {
            let scope = Scope { interval: Some(interval), ..Scope::cpus(cpus) };
            let least = supplies.within(supplies.count(), interval);
            let (value, bound) = (time(demand), time(least.at_unit_speed()));
            Reason::compared("the demand", scope, value, bound, false)
        }
        Shortfall::Window(at, _) => Reason::MayBeLate(tasks[at].0),
        Shortfall::Overload => {
            let mut sum = RateSum::default();
            tasks.iter().for_each(|(_, task)| task.add_utilization(&mut sum));
            let bandwidth: Rate = supplies.each().iter().map(Supply::bandwidth).sum();
            let (value, bound) = (Quantity::Sum(sum), Quantity::Number(bandwidth));
            Reason::compared("the utilization", Scope::cpus(cpus), value, bound, false)
        }
        Shortfall::GaveUp(why) => Reason::GaveUp(why),
        Shortfall::NoTest => Reason::Holds(NO_TEST),
        Shortfall::LongDeadline(_) => Reason::Holds(LONG),
    }
}
