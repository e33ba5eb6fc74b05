//! **SRP** under EDF on one CPU (Baker 1991), by processor demand and blocking (Baruah 2006). Sufficient.
//!
//! Assumes: (1) every task may use one CPU only, (2) jobs of a task at least a period apart, (3) no
//! release jitter, (4) `D_i <= T_i`, (5) WCETs are kept, (6) overheads are part of `C_i`, (7) unit
//! speeds, (8) nothing changes while the system runs, (9) jobs do not suspend themselves, (10) the
//! users of a resource share a CPU.
//!
//! The tasks are schedulable if `U <= 1` and for every absolute deadline `t` of a synchronous release
//! `sum over i of max(0, floor((t - D_i) / T_i) + 1) C_i + B(t) <= t`, where
//! `B(t) = max{ L : section of j on q, D_j > t, some user of q has D <= t }`.
//!
//! From the longest deadline on, no section blocks, and the search is
//! [QPA](crate::uniprocessor::edf). Between two relative deadlines `B` is constant, so the demand
//! and blocking at `t` covers all times between this value and `t`.

#![expect(non_snake_case, reason = "symbols of the papers")]

use super::tasks::{Locker, by_cpu, resource_count};
use crate::Assumption::*;
use crate::fixed_point::{GaveUp, MAX_STEPS};
use crate::group::together;
use crate::proof::{MOST, TOO_LONG};
use crate::uniprocessor::edf::{Demand, compared, criterion, last_deadline_before};
use crate::uniprocessor::fixed_priority::PriorityOrder;
use crate::{
    Certify, Decide, Evidence, Finding, Part, Point, Quantity, Reason, SchedulabilityTest, Scope,
    Sporadic, Subject, TestKind, Verdict,
};
use layland_model::{Algorithm, CpuSet, Duration, Order, Protocol, Service};

/// Demand and blocking with the stack resource policy, for each CPU.
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "SRP",
    title: "demand and blocking of EDF with the stack resource policy on each CPU",
    subject: Subject::Algorithms(&[Algorithm::Locking(Order::Deadline, Protocol::Stack)]),
    kind: TestKind::Sufficient,
    assumptions: &[
        OneCpuEach,
        SporadicReleases,
        NoJitter,
        ConstrainedDeadlines,
        WcetKept,
        NoOverheads,
        UnitSpeeds,
        NoRequests,
        NoSuspension,
        LocalResources,
    ],
    citations: &[&super::BAKER, &super::BARUAH_2006],
    certify: Certify::By(|system| {
        by_cpu(system, PriorityOrder::DeadlineMonotonic).iter().map(|tasks| points(tasks)).collect()
    }),
    decide: Decide::by(|system| {
        let cpus = by_cpu(system, PriorityOrder::DeadlineMonotonic);
        together(cpus.iter().map(|tasks| finding(tasks)))
    }),
};

/// The result of the criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stacked {
    /// The criterion holds.
    Met,
    /// `U > 1`.
    Overload,
    /// At `t`, demand and blocking exceed `t`.
    Fails {
        /// The first such `t`, or a later one if there are 100,000 deadlines before it.
        t: i64,
        /// The required time: demand and blocking at `t`.
        needed: i64,
    },
}

/// Tests whether demand and blocking fit into every interval.
///
/// # Errors
/// Returns [`GaveUp`] if the search reaches its limit.
pub fn demand_and_blocking(tasks: &[Locker]) -> Result<Stacked, GaveUp> {
    let plain: Vec<Sporadic> = tasks.iter().map(sporadic).collect();
    fits(&plain, |t| blocking(tasks, t))
}

/// [`demand_and_blocking`] with any blocking that is constant from each relative deadline to the
/// next, and 0 from the last one on.
pub(super) fn fits(plain: &[Sporadic], blocking: impl Fn(i64) -> i64) -> Result<Stacked, GaveUp> {
    let needed =
        |t: i64| plain.iter().map(|task| task.demand(t)).fold(blocking(t), i64::saturating_add);
    let fails_by = match criterion(plain)? {
        Demand::Overload => return Ok(Stacked::Overload),
        Demand::Exceeds { interval, .. } => Some(interval.ns()),
        Demand::Met => some_failure(plain, &blocking, needed)?,
    };
    let Some(last) = fails_by else { return Ok(Stacked::Met) };
    // Users want to see the first failure, which is among the deadlines up to this one.
    let mut t = 0;
    for _ in 0..BEFORE {
        t = deadline_after(plain, t);
        if t >= last || needed(t) > t {
            return Ok(Stacked::Fails { t, needed: needed(t) });
        }
    }
    Ok(Stacked::Fails { t: last, needed: needed(last) })
}

/// The maximum number of deadlines that are searched for the first failure.
const BEFORE: u64 = 100_000;

/// `h(t) + B(t)`.
fn needed(tasks: &[Locker], plain: &[Sporadic], t: i64) -> i64 {
    plain.iter().map(|task| task.demand(t)).fold(blocking(tasks, t), i64::saturating_add)
}

/// `B(t)`.
pub fn blocking(tasks: &[Locker], t: i64) -> i64 {
    let mut reached = vec![false; resource_count(tasks)];
    for user in tasks.iter().filter(|task| task.D <= t) {
        user.sections.iter().for_each(|section| reached[section.q] = true);
    }
    let later = tasks.iter().filter(|task| task.D > t).flat_map(|task| &task.sections);
    let blocks = later.filter(|section| reached[section.q]);
    blocks.map(|section| section.length).max().unwrap_or(0)
}

/// Returns some `t` below the longest deadline that fails because of blocking.
fn some_failure(
    plain: &[Sporadic],
    blocking: impl Fn(i64) -> i64,
    needed: impl Fn(i64) -> i64,
) -> Result<Option<i64>, GaveUp> {
    let mut deadlines: Vec<i64> = plain.iter().map(|task| task.deadline.ns()).collect();
    deadlines.sort_unstable();
    deadlines.dedup();
    let mut steps = 0;
    for stretch in deadlines.windows(2) {
        let (from, until) = (stretch[0], stretch[1]);
        if blocking(from) == 0 {
            continue;
        }
        let mut next = last_deadline_before(plain, until);
        while let Some(t) = next.filter(|&t| t >= from) {
            steps += 1;
            if steps > MAX_STEPS {
                return Err(GaveUp::OutOfSteps { reached: Duration::from_ns(t), steps });
            }
            let needed = needed(t);
            if needed > t {
                return Ok(Some(t));
            }
            next = if needed < t { Some(needed) } else { last_deadline_before(plain, t) };
        }
    }
    Ok(None)
}

/// Returns the required time at intervals, in descending order, of a set that fits: at and above
/// the longest deadline, the points at which QPA compares the demand, and below it at least one in
/// each stretch between two relative deadlines.
pub(super) fn points(tasks: &[Locker]) -> Result<Part, &'static str> {
    let plain: Vec<Sporadic> = tasks.iter().map(sporadic).collect();
    let mut points = Vec::new();
    let mut add = |t: i64, needed: i64| {
        if points.len() <= MOST {
            let interval = Duration::from_ns(t);
            points.push(Point { task: None, interval, demand: needed.into() });
        }
        points.len() <= MOST
    };
    let mut deadlines: Vec<i64> = tasks.iter().map(|task| task.D).collect();
    deadlines.sort_unstable();
    deadlines.dedup();
    let longest = deadlines[deadlines.len() - 1];
    let met = compared(&plain, |t, demand| {
        if t >= longest {
            add(t, demand);
        }
    });
    if met != Ok(Demand::Met) {
        return Err("the demand is not met");
    }
    for stretch in deadlines.windows(2).rev() {
        let (from, until) = (stretch[0], stretch[1]);
        let mut next = last_deadline_before(&plain, until);
        while let Some(t) = next.filter(|&t| t >= from) {
            let needed = needed(tasks, &plain, t);
            if !add(t, needed) {
                return Err(TOO_LONG);
            }
            next = if needed < t { Some(needed) } else { last_deadline_before(&plain, t) };
        }
    }
    if points.len() > MOST {
        return Err(TOO_LONG);
    }
    let (cpus, ids) = (CpuSet::single(tasks[0].cpu), tasks.iter().map(|task| task.id).collect());
    Ok(Part { cpus, tasks: ids, evidence: Evidence::Points(points) })
}

/// Returns the first deadline of a synchronous release after `t >= 0`.
fn deadline_after(tasks: &[Sporadic], t: i64) -> i64 {
    let of_task = |task: &Sporadic| {
        let [_, D, T] = task.ns();
        if t < D { D } else { D.saturating_add(((t - D) / T + 1).saturating_mul(T)) }
    };
    tasks.iter().map(of_task).min().unwrap_or(i64::MAX)
}

pub(super) fn sporadic(task: &Locker) -> Sporadic {
    let [deadline, period] = [task.D, task.T].map(Duration::from_ns);
    Sporadic { wcet: Service::from_ns(task.C), deadline, period }
}

fn finding(tasks: &[Locker]) -> Finding {
    said(CpuSet::single(tasks[0].cpu), demand_and_blocking(tasks))
}

/// Returns the finding on a CPU from the result of the criterion.
pub(super) fn said(cpu: CpuSet, found: Result<Stacked, GaveUp>) -> Finding {
    said_of(
        cpu,
        found,
        ("the demand and the blocking", "demand and blocking are within each interval"),
    )
}

/// [`said`] for a sum with another name, and with another text if it fits.
pub(super) fn said_of(
    cpu: CpuSet,
    found: Result<Stacked, GaveUp>,
    (what, fits): (&'static str, &'static str),
) -> Finding {
    let number = |ns: i64| Quantity::of_ns(ns.into());
    match found {
        Ok(Stacked::Met) => Finding::new(Verdict::Yes, Reason::Holds(fits)),
        Ok(Stacked::Overload) => {
            Finding::new(Verdict::Unknown, Reason::Holds("the CPU has more load than it can do"))
        }
        Ok(Stacked::Fails { t, needed }) => {
            let scope = Scope { interval: Some(Duration::from_ns(t)), ..Scope::cpus(&cpu) };
            Finding::new(
                Verdict::Unknown,
                Reason::compared(what, scope, number(needed), number(t), false),
            )
        }
        Err(why) => Finding::new(Verdict::Unknown, Reason::GaveUp(why)),
    }
}
