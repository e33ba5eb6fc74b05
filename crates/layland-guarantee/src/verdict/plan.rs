//! The plan of an analysis: the system that a policy runs, in as many views as there are analyses
//! for, and the answers that hold for its runs.

use super::admission::admission;
use super::levels::in_its_levels;
use crate::about::{About, Places};
use crate::assessment::{Assessment, Bound};
use crate::kept::Kept;
use crate::memo::{Known, Memo};
use crate::placed::placed_anew;
use crate::seen::Seen;
use crate::timed::in_time;
use crate::views::{self, Answers, Bounds, IN_TIME, View, algorithms};
use layland_analysis::overheads::{Inflated, inflate_placed};
use layland_analysis::{Finding, Subject, Verdict, catalogue};
use layland_model::{
    Algorithm, Form, JobOrder, Piece, Protocol, ScheduleRule, SplitOrder, System, TaskMap,
};
use layland_policy::deadline::KernelOptions;
use layland_policy::{PolicyInfo, PolicyOptions};
use std::borrow::Cow;
use std::sync::Arc;

/// The policy that is assessed.
pub(crate) struct Asked<'s, 'a> {
    pub(crate) spec: &'s str,
    pub(crate) info: &'s PolicyInfo,
    pub(crate) options: PolicyOptions,
    pub(crate) memo: &'s Memo<'a>,
}

/// The subject of the analyses.
pub(super) struct Plan<'a> {
    pub(super) rule: ScheduleRule,
    pub(super) algorithm: Algorithm,
    /// The options of a policy that schedules threads.
    pub(super) threads: Option<KernelOptions>,
    /// The first view is the system that the policy runs.
    pub(super) views: Vec<Seen<'a>>,
    /// The system as given.
    pub(super) known: Arc<Known<'a>>,
    pub(super) is_turned_away: bool,
    /// The reason why only statements about the algorithm itself can be used.
    pub(super) nothing_more: Option<&'static str>,
    /// The policy runs with parameters that no sound analysis accepts.
    pub(super) is_uncovered: bool,
    /// Some jobs need not meet their deadlines.
    pub(super) is_covered_alone: bool,
    pub(super) counts_reloads: bool,
}

impl<'a> Plan<'a> {
    /// Returns none if the policy refuses the system, or nothing can be said about it; the
    /// assessment has the reason.
    pub(super) fn of(
        asked: &Asked<'_, 'a>,
        system: &Cow<'a, System>,
        kept: Option<&Kept<'_>>,
        found: &mut Assessment,
    ) -> Option<Plan<'a>> {
        let rule = match kept {
            Some(kept) => kept.rule_for(asked.info, system),
            None => {
                let built = asked.info.build(system, &asked.options.for_its_rule());
                built.map(|policy| policy.rule())
            }
        };
        let rule = match rule {
            Ok(rule) => rule,
            Err(refusal) => {
                found.verdict = Verdict::No;
                found.reasons.push(format!("the policy refuses the set: {refusal}"));
                found.refused = Some(refusal);
                return None;
            }
        };
        // The answers of tests would be about other jobs than those of the trace.
        if !system.unexplained().is_empty() {
            found.bounds = TaskMap::filled(Bound::Unknown, system.tasks.len());
            found
                .reasons
                .extend(system.unexplained().iter().map(|what| format!("{UNEXPLAINED}: {what}")));
            return None;
        }
        let placed = placed_anew(system, &rule).map_or_else(|| system.clone(), Cow::Owned);
        // In time first: overheads are times, and are added to those.
        let slowest = views::of_slowest(&placed, algorithm_of(&rule, asked), &rule);
        let view = if rule.counts_in_time() { placed.time_view(protocol_of(&rule)) } else { None };
        let counts_times = view.is_some();
        let placed = view.map_or(placed, Cow::Owned);
        let inflated = inflated(&rule, &placed, system, found);
        let algorithm = algorithm_of(&rule, asked);
        let threads = if algorithm.schedules_threads() {
            match KernelOptions::of(algorithm, &asked.options) {
                Ok(options) => Some(options),
                Err(refusal) => {
                    found.reasons.push(format!("no analysis knows these options: {refusal}"));
                    return None;
                }
            }
        } else {
            None
        };
        let is_another_theory =
            threads.as_ref().is_some_and(|options| views::is_another_theory(system, options));
        let theory = if is_another_theory || algorithm.in_slots() {
            Vec::new()
        } else {
            let uniform = views::on_the_fastest(algorithm, &rule);
            algorithms(algorithm, &placed).into_iter().chain(uniform).collect()
        };
        // The policy chose classes and priority points by the WCETs without overheads.
        let has_other_classes =
            matches!(algorithm, Algorithm::TopFirst(_) | Algorithm::FairLateness)
                && inflated.is_some();
        let is_other =
            kept.is_some_and(|kept| !kept.is_of_the_algorithm(asked.info, &asked.options, system));
        let theory = if has_other_classes || is_other { Vec::new() } else { theory };
        let analysed = match inflated {
            Some(Inflated { system, tasks }) => {
                found.inflation = Some(tasks);
                Cow::Owned(system)
            }
            None => placed,
        };
        let top_first = views::of_top_class(&analysed, &rule);
        let pieces = views::of_pieces(&analysed, &rule);
        let servers = views::of_servers(&analysed, algorithm, &rule);
        let own = match views::with_regions(&analysed, &rule) {
            Some(regions) => View { algorithms: theory, ..regions },
            None => View::plain(theory, analysed),
        };
        let mut views = vec![own];
        views[0].tells.extend(counts_times.then_some(IN_TIME));
        views.extend(slowest);
        views.extend(top_first);
        views.extend(pieces);
        views.extend(servers);
        let has_servers = views.iter().any(|view| view.answers == Answers::None);
        let mut nothing_more = has_servers
            .then_some("there are no bounds on jobs of servers, only on the tasks beside them");
        let is_admitted = |finding: &Finding| finding.verdict != Verdict::No;
        let is_turned_away = threads.as_ref().is_some_and(|options| {
            options.limit.is_some()
                && !admission(algorithm, system, options).as_ref().is_ok_and(is_admitted)
        });
        if is_turned_away {
            nothing_more = Some("admission control turns threads away");
        } else if let Some(options) = &threads {
            match views::of_threads(algorithm, system, options) {
                Ok(more) => views.extend(more),
                Err(why) => nothing_more = Some(why),
            }
        } else if algorithm.in_slots() {
            match views::in_slots(algorithm, system, &asked.options) {
                Ok(view) => views.push(view),
                Err(why) => nothing_more = Some(why),
            }
        }
        let mut views: Vec<Seen<'_>> =
            views.into_iter().map(|view| Seen::of(view, asked.memo)).collect();
        views[0].has_ties_by_rank = has_ties_by_rank(&rule);
        // A job that would be late is aborted, so bounds above the deadline bound no completion.
        let has_no_bounds_of_late = algorithm == Algorithm::Efdf
            || threads.as_ref().is_some_and(|options| !views::has_bounds_of_late(options));
        if has_no_bounds_of_late {
            views[0].bounds = Bounds::InTime;
        }
        let views = views;
        Some(Plan {
            known: asked.memo.of(known_in_time(system)),
            is_uncovered: is_uncovered(&rule, system),
            is_covered_alone: is_covered_alone(algorithm, system),
            counts_reloads: counts_reloads(&rule, algorithm, system),
            rule,
            algorithm,
            threads,
            views,
            is_turned_away,
            nothing_more,
        })
    }
}

/// Returns the set for tests about any scheduler.
fn known_in_time<'a>(system: &Cow<'a, System>) -> Cow<'a, System> {
    match in_time(system) {
        Cow::Borrowed(_) => system.clone(),
        Cow::Owned(timed) => Cow::Owned(timed),
    }
}

/// Returns the protocol of a rule for locks.
fn protocol_of(rule: &ScheduleRule) -> Option<Protocol> {
    let ScheduleRule::Locking(locking) = rule else { return None };
    Some(locking.protocol)
}

/// Returns true if some jobs need not meet their deadlines, so that it says nothing if no scheduler
/// keeps all of them.
fn is_covered_alone(algorithm: Algorithm, system: &System) -> bool {
    system.levels.is_mixed()
        && catalogue::TESTS.iter().any(|test| match test.subject {
            Subject::Covered(covered) => covered.contains(&algorithm),
            Subject::Algorithms(_)
            | Subject::Unsound(..)
            | Subject::SomeScheduler
            | Subject::SomePartition
            | Subject::SomePartitionUnder(_)
            | Subject::SomePriorities
            | Subject::Admission(_) => false,
        })
}

/// Returns true if the tests count what tasks reload into their caches.
fn counts_reloads(rule: &ScheduleRule, algorithm: Algorithm, system: &System) -> bool {
    // The tests count preemptions by jobs of higher priority; exhausted budgets and migrations
    // cause more.
    system.has_reloads()
        && matches!((rule, algorithm), (ScheduleRule::HighestFirst { .. }, Algorithm::Ordered(..)))
}

/// Returns the system that the policy runs with overheads in the WCETs; none if there are no
/// overheads, or no analysis counts them.
fn inflated(
    rule: &ScheduleRule,
    placed: &System,
    system: &System,
    found: &mut Assessment,
) -> Option<Inflated> {
    let ScheduleRule::HighestFirst { order, .. } = rule else { return None };
    if system.platform.overheads.without_reloads().is_zero() {
        return None;
    }
    // Jobs also preempt when they run out of laxity, or are aborted. The policy computes the laxity
    // from WCETs without overheads, and its timers cost time.
    let by_laxity = match order {
        JobOrder::ZeroLaxity => Some("EDZL"),
        JobOrder::Feasible => Some("EFDF"),
        JobOrder::Deadline
        | JobOrder::DeadlineThenRunning
        | JobOrder::Points(_)
        | JobOrder::Fixed(_)
        | JobOrder::Levels { .. }
        | JobOrder::TopFirst { .. } => None,
    };
    if let Some(algorithm) = by_laxity {
        found.reasons.push(format!("no analysis of {algorithm} counts overheads"));
        return None;
    }
    if system.has_followers() {
        found.reasons.push("no analysis of tasks that follow others counts overheads".to_owned());
        return None;
    }
    // Jobs also move when a job on a faster CPU ends.
    if !placed.platform.is_unit_speed() {
        let why = "no analysis counts overheads on CPUs of different speeds";
        found.reasons.push(why.to_owned());
        return None;
    }
    inflate_placed(placed, system)
        .map_err(|refusal| found.reasons.push(format!("overheads: {refusal}")))
        .ok()
}

/// Returns the algorithm by which the policy schedules such a system.
fn algorithm_of(rule: &ScheduleRule, asked: &Asked<'_, '_>) -> Algorithm {
    match (rule, in_its_levels(rule, asked.info.algorithm(&asked.options))) {
        // The tasks have regions.
        (ScheduleRule::Deferred { .. }, Algorithm::Ordered(form, order)) => {
            Algorithm::Deferred(form, order)
        }
        // The tasks have steps.
        (ScheduleRule::Locking(rule), Algorithm::Ordered(Form::Partitioned, order)) => {
            Algorithm::Locking(order, rule.protocol)
        }
        (ScheduleRule::HighestFirst { .. }, Algorithm::Locking(order, _)) => {
            Algorithm::Ordered(Form::Partitioned, order)
        }
        (_, algorithm) => algorithm,
    }
}

/// Returns true if a policy runs with parameters (an order, instants, lists) that no sound analysis
/// accepts.
fn is_uncovered(rule: &ScheduleRule, system: &System) -> bool {
    let ScheduleRule::MixedCriticality { guaranteed, .. } = rule else { return false };
    *guaranteed != system.platform.all_cpus()
}

/// Returns true if jobs with the same deadline go by rank under the rule. Threads with servers,
/// tasks that come first and pieces have rules of their own, and so has EDF where the running job
/// continues.
fn has_ties_by_rank(rule: &ScheduleRule) -> bool {
    matches!(
        rule,
        ScheduleRule::HighestFirst { order: JobOrder::Deadline, .. }
            | ScheduleRule::Deferred { order: JobOrder::Deadline, .. }
    )
}

const UNEXPLAINED: &str = "the trace shows what the set does not explain";

/// Returns the tests about the default order, which also serve a policy that splits tasks in the
/// same way in any order.
pub(super) fn of_split(algorithm: Algorithm) -> Places {
    let Algorithm::Split(splitting, _) = algorithm else { return Places::default() };
    About::of(&[Algorithm::Split(splitting, SplitOrder::default())]).tests
}

/// Returns the pieces of tasks, if the rule has some.
pub(super) fn pieces_of(rule: &ScheduleRule) -> Option<&TaskMap<Vec<Piece>>> {
    let ScheduleRule::Split { pieces } = rule else { return None };
    Some(pieces)
}
