//! Processor-demand analysis of **EDF** on one CPU (Baruah, Mok, Rosier 1990), with the search of
//! **QPA** (Zhang and Burns 2009). **Exact** for sporadic tasks and for tasks that may be released
//! together; deadlines are arbitrary. A blocking time is an upper bound, so a *no* requires a miss
//! without it.
//!
//! Assumes: (1) every task may use one CPU only, (2) jobs of a task at least a period apart, or by
//! a curve (`arrivals`), (3) WCETs are kept, (4) overheads are part of `C_i`, (5) unit speeds,
//! (6) nothing changes while the system runs, (7) jobs of later deadlines delay a job for at most
//! its blocking time. A release jitter `J_i` is covered: the number of jobs that become ready and
//! are due in an interval of length `t` equals that for the deadline `D_i - J_i` and no jitter.
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | `h(t)` | [`demand`] | the work of all jobs that are released and due in an interval of length `t` |
//! | `L_a` | `load_bound` | from this length on, no demand exceeds an interval, if `U < 1` |
//! | `L_b` | `busy_period` | the CPU idles after it, if all tasks are released together |
//! | `B(t)` | `Blocking` | the longest blocking time of a task with `D_i - J_i <= t` |
//!
//! With blocking times, `h(t) + B(t)` must not exceed `t` (Baruah 2006). Let a job be late at `d`,
//! and let the interval of length `t` before `d` begin at the last instant at which no job due by
//! `d` was pending. In this interval, jobs due by `d` run, except while one of them is delayed by a
//! job that is due later. This happens once, so `B(t)` bounds it. `B(t)` does not decrease with
//! `t`, and changes only at deadlines, so the search of QPA still works. Both bounds on `t` count
//! the largest blocking time `B` as work. Let `w` be the least solution of
//! `w = B + sum ceil(w / T_i) C_i`. An interval of length `w` or more has at most the demand
//! `w - B` plus that of the interval that is shorter by `w`; so if it fails, the shorter one fails,
//! too.
//!
//! Deviation: `L_a` is computed from utilizations rounded up to 2^-62 and times rounded up to
//! nanoseconds, which makes it slightly larger.

#![expect(non_snake_case, reason = "symbols of the papers")]

use crate::Assumption::*;
use crate::fixed_point::{Diverged, GaveUp, MAX_STEPS, least_within};
use crate::group::{Group, exact, together};
use crate::locking::BARUAH_2006;
use crate::necessary::load;
use crate::proof::{MOST, TOO_LONG};
use crate::sporadic::{SHIFT, load_above};
use crate::uniprocessor::arrivals::{self, NO_CERTIFICATE, have_bursts};
use crate::uniprocessor::fixed_priority::{BLOCKED_FOR_LESS, unblocked};
use crate::{
    Certify, Citation, Decide, Evidence, Finding, Part, Point, Quantity, Reason,
    SchedulabilityTest, Scope, Sporadic, Subject, TestKind, Verdict,
};
use layland_model::{Algorithm, Duration, Form, Order, Rate, RateSum, TIME_LIMIT, Task};
use std::cell::Cell;

/// Baruah, Mok and Rosier 1990.
pub const BARUAH: Citation = Citation {
    key: "baruah1990preemptively",
    text: "S. K. Baruah, A. K. Mok and L. E. Rosier. Preemptively scheduling hard-real-time sporadic \
           tasks on one processor. RTSS 1990, pages 182-190.",
    bibtex: "@inproceedings{baruah1990preemptively,
  author    = {Sanjoy K. Baruah and Aloysius K. Mok and Louis E. Rosier},
  title     = {Preemptively Scheduling Hard-Real-Time Sporadic Tasks on One Processor},
  booktitle = {11th Real-Time Systems Symposium (RTSS)}, pages = {182--190}, year = {1990},
  doi       = {10.1109/REAL.1990.128746}
}",
};

/// Zhang and Burns 2009.
pub const ZHANG_BURNS: Citation = Citation {
    key: "zhang2009schedulability",
    text: "F. Zhang and A. Burns. Schedulability analysis for real-time systems with EDF scheduling. \
           IEEE Transactions on Computers 58(9):1250-1258, 2009.",
    bibtex: "@article{zhang2009schedulability,
  author  = {Fengxiang Zhang and Alan Burns},
  title   = {Schedulability Analysis for Real-Time Systems with {EDF} Scheduling},
  journal = {IEEE Transactions on Computers}, volume = {58}, number = {9}, pages = {1250--1258}, year = {2009}
}",
};

/// QPA, for each CPU.
///
/// ```
/// use layland_analysis::{Verdict, uniprocessor::edf};
/// use layland_model::{Duration, Service, System, Task};
/// let tasks = [(6, 6, 22), (2, 12, 24), (3, 13, 18), (6, 11, 25)].map(|(c, d, t)| {
///     let mut task = Task::implicit(format!("{c}"), Service::from_ms(c), Duration::from_ms(t));
///     task.deadline = Duration::from_ms(d);
///     task.name = format!("{c}/{t}").into();
///     task
/// });
/// let system = System::new(1, tasks.to_vec());
/// let finding = edf::TEST.run(&system).unwrap();
/// assert_eq!(finding.verdict, Verdict::No);
/// assert_eq!(finding.reasons[0].describe(&system), "the demand in 13 ms is 17 ms, not within 13 ms");
/// ```
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "QPA",
    title: "processor demand of EDF on each CPU",
    subject: Subject::Algorithms(&[Algorithm::Ordered(Form::Partitioned, Order::Deadline)]),
    kind: TestKind::Exact,
    assumptions: &[
        OneCpuEach,
        BoundedArrivals,
        WcetKept,
        NoOverheads,
        UnitSpeeds,
        NoRequests,
        BlockingKept,
    ],
    citations: &[&BARUAH, &ZHANG_BURNS, &BARUAH_2006],
    certify: Certify::By(|system| Group::affinities(system).iter().map(points).collect()),
    decide: Decide::by(|system| together(Group::affinities(system).iter().map(finding))).or_sooner(
        |system| {
            let groups = Group::affinities(system);
            if groups.iter().all(is_met) {
                Verdict::Yes
            } else {
                together(groups.iter().map(finding)).verdict
            }
        },
    ),
};

fn is_met(group: &Group<'_>) -> bool {
    let tasks: Vec<&Task> = group.tasks().collect();
    let is_ready = |task: &&Task| task.jitter < task.deadline;
    tasks.iter().all(is_ready) && processor_demand(&tasks) == Ok(Demand::Met)
}

fn finding(group: &Group<'_>) -> Finding {
    let tasks: Vec<&Task> = group.tasks().collect();
    let scope = Scope::cpus(&group.cpus);
    // A job that may become ready at its deadline or later cannot meet it.
    if let Some((id, task)) = group.tasks.iter().find(|(_, task)| task.jitter >= task.deadline) {
        let quantity = |length: Duration| Quantity::of_ns(length.ns().into());
        let (value, bound) = (quantity(task.jitter), quantity(task.deadline));
        let scope = Scope::task(*id, &group.cpus);
        let reason = Reason::compared("the release jitter", scope, value, bound, false);
        return exact(group, false, reason);
    }
    let found = processor_demand(&tasks);
    if has_blocking(&tasks) && found != Ok(Demand::Met) {
        let without: Vec<Task> = tasks.into_iter().map(unblocked).collect();
        return match processor_demand(&without.iter().collect::<Vec<_>>()) {
            Ok(Demand::Met) => open(found, scope),
            found => decided(group, scope, found),
        };
    }
    decided(group, scope, found)
}

/// Decides by the demand; where it is not met, by the demand without blocking times.
fn decided(group: &Group<'_>, scope: Scope, found: Result<Demand, GaveUp>) -> Finding {
    match found {
        Err(why) => Finding::new(Verdict::Unknown, Reason::GaveUp(why)),
        Ok(Demand::Met) => exact(group, true, load_of(group, true)),
        Ok(Demand::Overload) => exact(group, false, load_of(group, false)),
        Ok(Demand::Exceeds { interval, demand }) => {
            exact(group, false, exceeded("the demand", scope, interval, demand))
        }
    }
}

/// The finding if blocking times prevent an answer: the demand is met without them, but not with
/// them.
fn open(found: Result<Demand, GaveUp>, scope: Scope) -> Finding {
    let reason = match found {
        Ok(Demand::Exceeds { interval, demand }) => {
            Some(exceeded("the demand with blocking", scope, interval, demand))
        }
        Ok(Demand::Met | Demand::Overload) => None,
        Err(why) => Some(Reason::GaveUp(why)),
    };
    let reasons = reason.into_iter().chain([Reason::Holds(BLOCKED_FOR_LESS)]);
    Finding { verdict: Verdict::Unknown, reasons: reasons.collect() }
}

fn exceeded(what: &'static str, scope: Scope, interval: Duration, demand: Duration) -> Reason {
    let scope = Scope { interval: Some(interval), ..scope };
    let quantity = |length: Duration| Quantity::of_ns(length.ns().into());
    Reason::compared(what, scope, quantity(demand), quantity(interval), false)
}

fn has_blocking(tasks: &[&Task]) -> bool {
    tasks.iter().any(|task| task.blocking_time > Duration::ZERO)
}

/// Returns the points at which [`qpa`] compares the demand, if it is met.
pub(crate) fn points(group: &Group<'_>) -> Result<Part, &'static str> {
    if have_bursts(group.tasks()) {
        return Err(NO_CERTIFICATE);
    }
    let tasks: Vec<&Task> = group.tasks().collect();
    let mut points = Vec::new();
    let met = shortened(&tasks, |interval, demand| {
        if points.len() <= MOST {
            let interval = Duration::from_ns(interval);
            points.push(Point { task: None, interval, demand: demand.into() });
        }
    });
    match met {
        Ok(Demand::Met) if points.len() > MOST => Err(TOO_LONG),
        Ok(Demand::Met) => {
            let evidence = Evidence::Points(points);
            Ok(Part { cpus: group.cpus.clone(), tasks: group.ids(), evidence })
        }
        Ok(_) | Err(_) => Err("the demand is not met"),
    }
}

pub(super) fn load_of(group: &Group<'_>, holds: bool) -> Reason {
    let mut reason = load(group.utilization(), Rate::ONE, holds);
    if let Reason::Compared(comparison) = &mut reason {
        comparison.scope = Scope::cpus(&group.cpus);
    }
    reason
}

/// The answer of the processor-demand criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// No interval has more demand than its length.
    Met,
    /// The utilizations sum to more than 1.
    Overload,
    /// An interval has more demand than its length.
    Exceeds {
        /// The interval.
        interval: Duration,
        /// Its demand.
        demand: Duration,
    },
}

/// `h(t) = sum max(0, floor((t - D_i) / T_i) + 1) C_i` without jitter, saturating at
/// [`Duration::MAX`].
pub fn demand(tasks: &[&Task], t: Duration) -> Duration {
    let of_task = |task: &&Task| {
        let jobs = (t - task.deadline).div_floor(task.period) + 1;
        jobs.max(0).saturating_mul(task.own_wcet().ns())
    };
    Duration::from_ns(tasks.iter().map(of_task).fold(0, i64::saturating_add))
}

/// Tests whether tasks, sporadic or by a curve, meet every deadline under EDF on one unit-speed
/// CPU: `h(t) + B(t) <= t` for every `t`. Exact without blocking times, which are upper bounds.
///
/// # Errors
/// Returns [`GaveUp`] if the search reaches its limit. This requires a long busy period: a load of
/// exactly 1, or nearly, with unrelated periods.
pub fn processor_demand(tasks: &[&Task]) -> Result<Demand, GaveUp> {
    if have_bursts(tasks.iter().copied()) {
        return arrivals::criterion(tasks);
    }
    shortened(tasks, |_, _| {})
}

/// Decides the criterion with deadlines shortened by the jitter; `compared` receives each length
/// and its demand.
fn shortened(tasks: &[&Task], compared: impl FnMut(i64, i64)) -> Result<Demand, GaveUp> {
    let shortened =
        |task: &&Task| Sporadic { deadline: task.deadline - task.jitter, ..Sporadic::from(*task) };
    let jitter = tasks.iter().any(|task| task.jitter > Duration::ZERO);
    let blocking = Blocking::of(tasks);
    let tasks: Vec<Sporadic> = tasks.iter().map(shortened).collect();
    decide(&tasks, &blocking, jitter, compared)
}

/// [`processor_demand`] of tasks without jitter and blocking times.
///
/// # Errors
/// See [`processor_demand`].
pub fn criterion(tasks: &[Sporadic]) -> Result<Demand, GaveUp> {
    decide(tasks, &Blocking::default(), false, |_, _| {})
}

/// [`criterion`] with a callback that receives the compared intervals, in descending order, and
/// their demands.
pub(crate) fn compared(tasks: &[Sporadic], each: impl FnMut(i64, i64)) -> Result<Demand, GaveUp> {
    decide(tasks, &Blocking::default(), false, each)
}

/// The time for which a job may be delayed by a job with a later deadline.
#[derive(Default)]
pub(super) struct Blocking {
    /// The deadlines, ascending, at which the largest blocking time of the tasks with deadlines up
    /// to there grows, each with this blocking time.
    from: Vec<(i64, i64)>,
}

impl Blocking {
    /// Uses deadlines shortened by the jitter, because a job that becomes ready and is due in an
    /// interval may have arrived before it.
    pub(super) fn of(tasks: &[&Task]) -> Blocking {
        let blocked = tasks.iter().filter(|task| task.blocking_time > Duration::ZERO);
        let mut from: Vec<(i64, i64)> = blocked
            .map(|task| ((task.deadline - task.jitter).ns(), task.blocking_time.ns()))
            .collect();
        from.sort_unstable();
        let mut largest = 0;
        for (_, blocking) in &mut from {
            largest = largest.max(*blocking);
            *blocking = largest;
        }
        Blocking { from }
    }

    /// `B(t)`.
    pub(super) fn within(&self, t: i64) -> i64 {
        let until = self.from.partition_point(|&(deadline, _)| deadline <= t);
        until.checked_sub(1).map_or(0, |at| self.from[at].1)
    }

    /// The largest blocking time.
    pub(super) fn largest(&self) -> i64 {
        self.from.last().map_or(0, |&(_, blocking)| blocking)
    }
}

/// Decides the criterion. With jitter, the synchronous busy period is not a bound.
fn decide(
    tasks: &[Sporadic],
    blocking: &Blocking,
    jitter: bool,
    mut compared: impl FnMut(i64, i64),
) -> Result<Demand, GaveUp> {
    // An upper bound on the sum of the utilizations, in units of 2^-62.
    let above = load_above(tasks);
    if above > 1 << SHIFT && !at_most_one(tasks) {
        return Ok(Demand::Overload);
    }
    let B = blocking.largest();
    if B == 0 && tasks.iter().all(|task| task.deadline >= task.period) {
        return Ok(Demand::Met);
    }
    let load_bound = load_bound(tasks, B, above);
    // With a full load, a CPU that is blocked once is busy for ever.
    let is_endless = jitter || B > 0 && load_bound.is_none();
    let busy_period =
        if is_endless { Err(GaveUp::Endless) } else { busy_period(tasks, B, load_bound) };
    let repetition = if B > 0 { repetition(tasks) } else { None };
    let bounds = [load_bound, busy_period.ok(), repetition];
    let L = match (bounds.into_iter().flatten().min(), busy_period) {
        (Some(L), _) => L,
        (None, Err(why)) => return Err(why),
        (None, Ok(L_b)) => L_b,
    };
    let d_min = tasks.iter().map(|task| task.deadline.ns()).min().unwrap_or(0);
    let demand = |t| {
        let h =
            tasks.iter().map(|task| task.demand(t)).fold(blocking.within(t), i64::saturating_add);
        compared(t, h);
        h
    };
    qpa(L, d_min, |t| last_deadline_before(tasks, t), demand)
}

/// Returns a length from which on every failing interval has a shorter failing one, shorter by a
/// hyperperiod; `None` if it is too long. Beyond all relative deadlines, the demand grows by at
/// most a hyperperiod in one hyperperiod, and `B(t)` does not grow.
fn repetition(tasks: &[Sporadic]) -> Option<i64> {
    let longest = tasks.iter().map(|task| task.deadline.ns()).max()?;
    let lcm = tasks.iter().try_fold(1, |lcm: i64, task| {
        let T = task.period.ns();
        lcm.checked_mul(T / num_integer::gcd(lcm, T)).filter(|&lcm| lcm <= TIME_LIMIT)
    })?;
    lcm.checked_add(longest)
}

#[cold]
fn at_most_one(tasks: &[Sporadic]) -> bool {
    let mut U = RateSum::default();
    tasks.iter().for_each(|task| U.add(&Rate::new(task.wcet.ns(), task.period.ns())));
    U.fits(&Rate::ZERO, &Rate::ONE)
}

/// Runs QPA from the last deadline below `L` down, as long as the demand is met. No deadline is
/// shorter than `d_min`.
pub(super) fn qpa(
    L: i64,
    d_min: i64,
    last_deadline_before: impl Fn(i64) -> Option<i64>,
    mut demand: impl FnMut(i64) -> i64,
) -> Result<Demand, GaveUp> {
    let Some(mut t) = last_deadline_before(L) else { return Ok(Demand::Met) };
    for _ in 0..MAX_STEPS {
        let h = demand(t);
        if h > t {
            let [interval, demand] = [t, h].map(Duration::from_ns);
            return Ok(Demand::Exceeds { interval, demand });
        }
        // For every t' from `d_min` to `t`: h(t') <= h(t) <= d_min <= t'.
        if h <= d_min {
            return Ok(Demand::Met);
        }
        // For every t' from `h` to `t`: h(t') <= h(t) <= t'. The next length to examine is `h`
        // itself.
        t = if h < t {
            h
        } else {
            match last_deadline_before(t) {
                Some(earlier) => earlier,
                None => return Ok(Demand::Met),
            }
        };
    }
    Err(GaveUp::OutOfSteps { reached: Duration::from_ns(t), steps: MAX_STEPS })
}

/// Returns the largest `k T_i + D_i < t`.
pub(crate) fn last_deadline_before(tasks: &[Sporadic], t: i64) -> Option<i64> {
    let of_task = |task: &Sporadic| {
        let [_, D, T] = task.ns();
        // Strictly before `t`, hence the 1.
        let room = t - 1 - D;
        (room >= 0).then(|| D + T * (room / T))
    };
    tasks.iter().filter_map(of_task).max()
}

/// `L_b`, the least fixed point of `w = B + sum ceil(w / T_i) C_i`, if it is at most the limit.
/// Instead of dividing, it adds the jobs that arrive before `w` one by one.
fn busy_period(tasks: &[Sporadic], B: i64, limit: Option<i64>) -> Result<i64, GaveUp> {
    if B > 0 {
        return blocked_busy_period(tasks, B, limit);
    }
    let limit = limit.unwrap_or(TIME_LIMIT);
    let mut next: Vec<i64> = tasks.iter().map(|task| task.period.ns()).collect();
    let mut w = tasks.iter().map(|task| task.wcet.ns()).fold(0, i64::saturating_add);
    for _ in 0..MAX_STEPS {
        if w > limit {
            return Err(GaveUp::OutOfRange { reached: Duration::from_ns(w) });
        }
        let mut more = 0i64;
        for (next, task) in next.iter_mut().zip(tasks) {
            // All ones if a job of this task arrives before `w`: no branch to mispredict.
            let comes = -i64::from(*next < w);
            more += task.wcet.ns() & comes;
            *next += task.period.ns() & comes;
        }
        if more == 0 {
            return Ok(w);
        }
        w += more;
    }
    Err(GaveUp::OutOfSteps { reached: Duration::from_ns(w), steps: MAX_STEPS })
}

/// [`busy_period`] by divisions, because many jobs arrive during a long blocking.
fn blocked_busy_period(tasks: &[Sporadic], B: i64, limit: Option<i64>) -> Result<i64, GaveUp> {
    let work = |w: Duration| {
        let of_task = |task: &Sporadic| w.div_ceil(task.period).saturating_mul(task.wcet.ns());
        Duration::from_ns(tasks.iter().map(of_task).fold(B, i64::saturating_add))
    };
    let range = Duration::from_ns(limit.unwrap_or(TIME_LIMIT));
    let steps = Cell::new(MAX_STEPS);
    match least_within(work(Duration::from_ns(1)), range, (range, &steps), work) {
        Ok(w) => Ok(w.ns()),
        Err(Diverged::Beyond { reached, .. }) => Err(GaveUp::OutOfRange { reached }),
        Err(Diverged::GaveUp(why)) => Err(why),
        Err(Diverged::Overload) => Err(GaveUp::Endless),
    }
}

/// `L_a = max(max(D_i - T_i), (B + sum (T_i - D_i) u_i) / (1 - U))`, rounded up; `None` if `U` is
/// 1, or nearly, or if `L_a` is too long.
fn load_bound(tasks: &[Sporadic], B: i64, above: u128) -> Option<i64> {
    let room = (1u128 << SHIFT).checked_sub(above)?;
    let (mut numerator, mut longest_past) = (i128::from(B), 0);
    for task in tasks {
        let [C, D, T] = task.ns();
        // Round up, whatever the sign.
        let product = i128::from(T - D) * i128::from(C);
        numerator += num_integer::Integer::div_ceil(&product, &i128::from(T));
        longest_past = longest_past.max(D - T);
    }
    if room == 0 {
        return None;
    }
    crate::global_edf::quotient(numerator.max(0), room).map(|L_a| L_a.max(longest_past))
}
