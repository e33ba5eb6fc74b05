//! The decisions of a policy before the start, kept while all WCETs grow or shrink.
//!
//! A policy that assigns tasks to CPUs, gives them priorities or splits them does so once, by the
//! WCETs of the set. If the jobs of a running system take longer, none of these decisions changes.
//! So the [margin](crate::Margin) keeps them:
//!
//! | what | how |
//! |---|---|
//! | CPUs and clusters | the groups of the policy's rule |
//! | tasks that come first (`edf-us`, `fpedf`, `edf-k`, `rm-us`) | the class of the rule; bounds of another do not apply |
//! | priorities found by a search (`smc`, `amc`) | those of each CPU, with which the test of the search runs |
//! | pieces (`cd`, `edf-wm`) | on their CPUs, each with its share of the WCET; a piece without laxity still has none |
//! | the reduction tree (`run`), the quasi-partition (`qps`) | the clients of each server |
//!
//! Lengths that follow from WCETs are budgets, and grow with them: those of servers and pieces,
//! non-preemptive segments, rates, slices (`pt`), zero-slack instants (`zss`), virtual deadlines
//! (`edf-vd`), job priorities (`plrs`, `ocbp`) and priority points (`g-fl`, `c-fl`).

use crate::placed::{placed, placed_anew};
use layland_analysis::mixed::{self, Orders};
use layland_model::{
    Algorithm, CpuSet, Duration, JobOrder, Piece, Preemption, Rate, ScheduleRule, Service,
    Splitting, System, TIME_LIMIT, TaskId, TaskMap,
};
use layland_offline::{Client, Clients};
use layland_policy::fair::{qps, run};
use layland_policy::{PolicyInfo, PolicyOptions, Refusal, SystemRefusal};
use std::collections::BTreeMap;

/// The decisions for a system.
pub(crate) struct Kept<'s> {
    system: &'s System,
    algorithm: Algorithm,
    rule: ScheduleRule,
    /// The options of the policy, and those that fix the tree or the quasi-partition.
    options: PolicyOptions,
    tree: Option<Tree>,
    /// The priorities that a search found.
    pub(crate) orders: Option<Orders>,
}

/// The clients of each server.
#[derive(PartialEq, Eq)]
enum Tree {
    Run(Vec<Clients>, Vec<(usize, Vec<usize>)>),
    Qps(Vec<(Vec<Client>, Option<usize>)>),
}

impl<'s> Kept<'s> {
    /// Returns the decisions of a policy for a system; none if it refuses the system.
    pub(crate) fn of(
        info: &PolicyInfo,
        given: &PolicyOptions,
        system: &'s System,
    ) -> Option<Kept<'s>> {
        let policy = info.build(system, &given.for_its_rule()).ok()?;
        let (rule, algorithm) = (policy.rule(), info.algorithm(given));
        let there = placed(system, &rule);
        let timed = there.time_view(None);
        let orders = mixed::orders(timed.as_ref().unwrap_or(&there), algorithm);
        let (tree, options) = match named(algorithm, system, given) {
            Some((tree, options)) => (Some(tree), options),
            None => (None, given.clone()),
        };
        Some(Kept { system, algorithm, rule, options, tree, orders })
    }

    /// Returns the rule with these decisions.
    pub(crate) fn rule(&self) -> &ScheduleRule {
        &self.rule
    }

    /// Returns true if other WCETs could lead to other decisions.
    pub(crate) fn may_differ(&self) -> bool {
        let system = self.system;
        let is_given = || {
            let one = |id| system.allowed_cpus(id).len() == 1;
            placed_anew(system, &self.rule).is_none() || system.tasks.ids().all(one)
        };
        match &self.rule {
            ScheduleRule::HighestFirst { order: JobOrder::TopFirst { .. }, .. }
            | ScheduleRule::MixedCriticality { .. }
            | ScheduleRule::Split { .. } => true,
            ScheduleRule::HighestFirst { .. }
            | ScheduleRule::Deferred { .. }
            | ScheduleRule::Served { .. }
            | ScheduleRule::Locking(_)
            | ScheduleRule::LeastLaxity { .. } => !is_given(),
            ScheduleRule::Optimal { .. } => self.tree.is_some(),
            ScheduleRule::Weak { .. }
            | ScheduleRule::Strong { .. }
            | ScheduleRule::Pfair { .. }
            | ScheduleRule::Shares { .. }
            | ScheduleRule::Allotted { .. }
            | ScheduleRule::None => false,
        }
    }

    /// Returns the rule with these decisions for the system with other WCETs.
    ///
    /// # Errors
    /// The refusal of the policy, if it does not accept the system with these decisions.
    pub(crate) fn rule_for(
        &self,
        info: &PolicyInfo,
        scaled: &System,
    ) -> Result<ScheduleRule, SystemRefusal> {
        let mut rule = self.rule.clone();
        match &mut rule {
            ScheduleRule::HighestFirst { .. }
            | ScheduleRule::Locking(_)
            | ScheduleRule::LeastLaxity { .. } => {}
            ScheduleRule::Deferred { regions, .. } => {
                for (id, task) in scaled.tasks.iter() {
                    let (before, region) = (&self.system.tasks[id], &mut regions[id]);
                    match region {
                        region if *region == before.preemption => {
                            region.clone_from(&task.preemption);
                        }
                        Preemption::Between(segments) => {
                            between(segments, before.own_wcet(), task.own_wcet());
                        }
                        Preemption::Anywhere | Preemption::Never | Preemption::Delayed(_) => {}
                    }
                }
            }
            ScheduleRule::Served { groups, servers, .. } => {
                for group in groups {
                    let speed = scaled.speed_of(&group.cpus).unwrap_or_default();
                    for &id in &group.tasks {
                        if let (Some(server), Some(budget)) =
                            (&mut servers[id], scaled.tasks[id].budget)
                        {
                            server.budget = Service::from_ns(speed.time_for(budget).ns());
                        }
                    }
                }
            }
            ScheduleRule::Split { pieces } => {
                let has_windows = matches!(self.algorithm, Algorithm::Split(Splitting::Windows, _));
                for (id, own) in scaled.tasks.ids().zip(pieces.values_mut()) {
                    grow_pieces(own, (self.system, scaled), id, has_windows);
                }
            }
            // The test with these priorities decides.
            ScheduleRule::MixedCriticality { .. } if self.orders.is_some() => {}
            ScheduleRule::MixedCriticality { .. } => {
                let there = placed(scaled, &self.rule);
                let options = self.options.without(&["fit", "sort"]).for_its_rule();
                return Ok(info.build(&there, &options)?.rule());
            }
            ScheduleRule::Optimal { .. }
            | ScheduleRule::Pfair { .. }
            | ScheduleRule::Shares { .. }
            | ScheduleRule::Allotted { .. }
            | ScheduleRule::Weak { .. }
            | ScheduleRule::Strong { .. }
            | ScheduleRule::None => {
                let policy = info.build(scaled, &self.options.for_its_rule())?;
                let tree = self.tree.as_ref();
                let other = || named(self.algorithm, scaled, &self.options).map(|(tree, _)| tree);
                if tree.is_some() && tree != other().as_ref() {
                    let what = "the servers that the policy made would be others";
                    return Err(Refusal::busy(what).into());
                }
                return Ok(policy.rule());
            }
        }
        Ok(rule)
    }

    /// Returns true if bounds about the algorithm itself also hold for these decisions: not if
    /// another class of tasks would come first.
    pub(crate) fn is_of_the_algorithm(
        &self,
        info: &PolicyInfo,
        given: &PolicyOptions,
        scaled: &System,
    ) -> bool {
        let ScheduleRule::HighestFirst { order: JobOrder::TopFirst { top, .. }, .. } = &self.rule
        else {
            return true;
        };
        let anew = info.build(scaled, &given.for_its_rule());
        let class_of = |rule: &ScheduleRule| {
            let ScheduleRule::HighestFirst { order: JobOrder::TopFirst { top, .. }, .. } = rule
            else {
                return None;
            };
            Some(top.clone())
        };
        anew.is_ok_and(|policy| class_of(&policy.rule()).as_ref() == Some(top))
    }
}

/// Divides a WCET as the segments divided another one: each ends at the same share of it, rounded
/// up. Empty segments are dropped.
pub(crate) fn between(segments: &mut Box<[Service]>, before: Service, after: Service) {
    let (mut end, mut last) = (0, 0);
    let mut scaled = Vec::with_capacity(segments.len());
    for segment in segments.iter() {
        end += segment.ns();
        let ends = grown(end, after.ns(), before.ns());
        if ends > last {
            scaled.push(Service::from_ns(ends - last));
        }
        last = ends;
    }
    *segments = scaled.into();
}

/// Returns a length times `by / of`, rounded up.
pub(crate) fn grown(length: i64, by: i64, of: i64) -> i64 {
    // The product of two lengths can exceed 64 bits.
    let (part, of) = (i128::from(length) * i128::from(by), i128::from(of.max(1)));
    i64::try_from((part + of - 1) / of).map_or(TIME_LIMIT, |ns| ns.min(TIME_LIMIT))
}

/// Grows the pieces of a task to another WCET: each ends at the same share of the WCET, with its
/// budget rounded up to a whole nanosecond of its CPU.
fn grow_pieces(own: &mut [Piece], (before, after): (&System, &System), id: TaskId, windows: bool) {
    let [from, to] =
        [before, after].map(|system| Rate::whole(system.tasks[id].own_wcet().ns().max(1)));
    let factor = &to / &from;
    // The work at the end of the piece, by the old budgets and by the new ones.
    let (mut end, mut done, mut offset) = (Rate::ZERO, Rate::ZERO, Duration::ZERO);
    let count = own.len();
    for (at, piece) in own.iter_mut().enumerate() {
        let cuts = piece.has_no_laxity();
        let speed = before.platform.speeds[piece.cpu].rate();
        end = &end + &(&Rate::whole(piece.budget.ns()) * &speed);
        // A last piece may have more time than its rest takes.
        let ends = &end.clone().min(from.clone()) * &factor;
        let budget = (&(&ends - &done) / &speed).ceil().map_or(TIME_LIMIT, |ns| ns.min(TIME_LIMIT));
        piece.budget = Duration::from_ns(budget);
        done = &done + &(&Rate::whole(budget) * &speed);
        if windows || count == 1 {
            continue;
        }
        piece.offset = offset;
        let is_last = at + 1 == count;
        piece.deadline =
            if cuts && !is_last { piece.budget } else { after.tasks[id].deadline - offset };
        offset += piece.deadline;
    }
}

/// Returns the tree or the quasi-partition of a policy, and the options that fix it.
fn named(
    algorithm: Algorithm,
    system: &System,
    options: &PolicyOptions,
) -> Option<(Tree, PolicyOptions)> {
    let list = |numbers: &[usize]| join(numbers, "+");
    if algorithm == Algorithm::Run {
        let (_, tree) = run::tree(system, options).ok()?;
        let (mut packing, mut duals) = (Vec::new(), Vec::new());
        for server in &tree.servers {
            match &server.clients {
                Clients::Tasks(tasks) => packing.push(list(tasks)),
                Clients::Duals(servers) if server.level == 1 => duals.push(list(servers)),
                Clients::Duals(_) => {}
            }
        }
        let mut named = options.with("packing", packing.join("/"));
        if !duals.is_empty() {
            named = named.with("duals", duals.join("/"));
        }
        let roots = tree.subsystems.into_iter().map(|part| (part.root, part.tasks)).collect();
        let clients = tree.servers.into_iter().map(|server| server.clients).collect();
        return Some((Tree::Run(clients, roots), named));
    }
    if algorithm == Algorithm::Qps {
        let (_, sets) = qps::sets(system, options).ok()?;
        let round = |round: &Vec<Vec<Client>>| {
            let bins = round.iter().filter(|bin| !bin.is_empty());
            bins.map(|bin| join(bin, "+")).collect::<Vec<_>>().join("/")
        };
        let rounds: Vec<String> = sets.rounds.iter().map(round).collect();
        let named = options.with("packing", rounds.join("//"));
        let set = |set: layland_offline::ExecutionSet| {
            (set.clients, set.master.map(|master| master.host))
        };
        return Some((Tree::Qps(sets.sets.into_iter().map(set).collect()), named));
    }
    None
}

fn join<T: ToString>(items: &[T], between: &str) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}

/// The number of deadlines that are examined.
const DEADLINES: usize = 200_000;

/// Returns the task whose job is late first under EDF on one CPU, if the first jobs of all tasks
/// that may use only that CPU arrive together; none if no job is late among the first deadlines.
pub(crate) fn late_first(system: &System, cpus: &CpuSet) -> Option<TaskId> {
    let own: TaskMap<bool> =
        system.tasks.ids().map(|id| system.allowed_cpus(id) == *cpus).collect();
    let mut next: BTreeMap<(Duration, TaskId), ()> = BTreeMap::new();
    for (id, task) in system.tasks.iter().filter(|(id, _)| own[*id]) {
        next.insert((task.deadline - task.jitter, id), ());
    }
    let mut demand = 0i64;
    for _ in 0..DEADLINES {
        let ((due, id), ()) = next.pop_first()?;
        let task = &system.tasks[id];
        demand = demand.saturating_add(task.own_wcet().ns());
        // Jobs with the same deadline count together.
        let is_last = next.first_key_value().is_none_or(|((later, _), ())| *later > due);
        if is_last && demand > due.ns() {
            return Some(id);
        }
        next.insert((due + task.period, id), ());
    }
    None
}
