//! Processor-demand analysis of **EDF** on one CPU (Baruah, Mok, Rosier 1990), with the search of
//! **QPA** (Zhang and Burns 2009). **Exact** for sporadic tasks and for tasks that may be released
//! together; deadlines are arbitrary.
//!
//! Assumes: (1) every task may use one CPU alone, (2) jobs of a task at least a period apart, (3) no
//! release jitter, (4) WCETs are kept, (5) overheads are part of `C_i`, (6) unit speeds, (7) nothing
//! changes while the system runs.
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | `h(t)` | [`demand`] | what all jobs need that are released and due in an interval of length `t` |
//! | `L_a` | `load_bound` | no demand exceeds an interval from here on, if `U < 1` |
//! | `L_b` | `busy_period` | the CPU idles after it, if all tasks are released together |
//!
//! Deviation: `L_a` is computed from utilizations rounded up to 2^-64, which makes it a little larger.

#![expect(non_snake_case, reason = "symbols of the papers")]

use crate::Assumption::*;
use crate::fixed_point::{Diverged, MAX_STEPS, least};
use crate::group::{Group, exact, together};
use crate::necessary::load;
use crate::{
    Citation, Finding, Kind, Quantity, Reason, SchedulabilityTest, Scope, Subject, Verdict,
};
use layland_model::{Duration, Rate, RateSum, TIME_LIMIT, Task};

/// Baruah, Mok and Rosier 1990.
pub const BARUAH: Citation = Citation {
    key: "baruah1990preemptively",
    text: "S. K. Baruah, A. K. Mok and L. E. Rosier. Preemptively scheduling hard-real-time sporadic \
           tasks on one processor. RTSS 1990, pages 182-190.",
    bibtex: "@inproceedings{baruah1990preemptively,
  author    = {Sanjoy K. Baruah and Aloysius K. Mok and Louis E. Rosier},
  title     = {Preemptively Scheduling Hard-Real-Time Sporadic Tasks on One Processor},
  booktitle = {11th Real-Time Systems Symposium (RTSS)}, pages = {182--190}, year = {1990}
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
///     task.name = format!("{c}/{t}");
///     task
/// });
/// let system = System::new(1, tasks.to_vec());
/// let finding = edf::TEST.run(&system).unwrap();
/// assert_eq!(finding.verdict, Verdict::No);
/// assert_eq!(finding.reasons[0].describe(&system), "the demand in 13ms is 17ms, not within 13ms");
/// ```
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "QPA",
    title: "processor demand of EDF on each CPU",
    subject: Subject::Policies(&["p-edf"]),
    kind: Kind::Exact,
    assumptions: &[
        OneCpuEach,
        SporadicReleases,
        NoJitter,
        WcetKept,
        NoOverheads,
        UnitSpeeds,
        NoRequests,
    ],
    citations: &[&BARUAH, &ZHANG_BURNS],
    decide: |system| together(Group::affinities(system).iter().map(finding)),
};

fn finding(group: &Group<'_>) -> Finding {
    let tasks: Vec<&Task> = group.tasks().collect();
    let scope = Scope::cpus(&group.cpus);
    match processor_demand(&tasks) {
        Err(diverged) => Finding::new(Verdict::Unknown, Reason::GaveUp(diverged)),
        Ok(Demand::Met) => exact(group, true, load_of(group, true)),
        Ok(Demand::Overload) => exact(group, false, load_of(group, false)),
        Ok(Demand::Exceeds { interval, demand }) => {
            let scope = Scope { interval: Some(interval), ..scope };
            let quantity = |length: Duration| Quantity::of_ns(length.ns().into());
            let (value, bound) = (quantity(demand), quantity(interval));
            exact(group, false, Reason::compared("the demand", scope, value, bound, false))
        }
    }
}

fn load_of(group: &Group<'_>, holds: bool) -> Reason {
    match load(&group.utilization(), Rate::ONE, holds) {
        Reason::Compared(mut comparison) => {
            comparison.scope = Scope::cpus(&group.cpus);
            Reason::Compared(comparison)
        }
        other => other,
    }
}

/// What the processor-demand criterion says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// No interval is asked for more than its length.
    Met,
    /// The utilizations sum to more than 1.
    Overload,
    /// An interval is asked for more than its length.
    Exceeds {
        /// The interval.
        interval: Duration,
        /// What is asked for.
        demand: Duration,
    },
}

/// `h(t) = sum max(0, floor((t - D_i) / T_i) + 1) C_i`, or [`Duration::MAX`] where that is more.
pub fn demand(tasks: &[&Task], t: Duration) -> Duration {
    let of_task = |task: &&Task| {
        let jobs = (t - task.deadline).div_floor(task.period) + 1;
        jobs.max(0).saturating_mul(task.own_wcet().ns())
    };
    Duration::from_ns(tasks.iter().map(of_task).fold(0, i64::saturating_add))
}

/// Whether sporadic tasks meet every deadline under EDF on one unit-speed CPU: `h(t) <= t` for every
/// `t`. Exact.
///
/// # Errors
/// If the search is given up, which takes a long busy period: a load of exactly 1, or nearly, with
/// unrelated periods.
pub fn processor_demand(tasks: &[&Task]) -> Result<Demand, Diverged> {
    let mut U = RateSum::default();
    tasks.iter().for_each(|task| U.add(&task.utilization()));
    if !U.fits(&Rate::ZERO, &Rate::ONE) {
        return Ok(Demand::Overload);
    }
    if tasks.iter().all(|task| task.deadline >= task.period) {
        return Ok(Demand::Met);
    }
    let L = match (busy_period(tasks, load_bound(tasks)), load_bound(tasks)) {
        (Ok(L_b), Some(L_a)) => L_b.min(L_a),
        (Ok(L_b), None) => L_b,
        (Err(_), Some(L_a)) => L_a,
        (Err(diverged), None) => return Err(diverged),
    };
    qpa(tasks, L)
}

/// QPA: from the last deadline below `L` down, as far as the demand is below.
fn qpa(tasks: &[&Task], L: Duration) -> Result<Demand, Diverged> {
    let d_min = tasks.iter().map(|task| task.deadline).min().unwrap_or(Duration::ZERO);
    let Some(mut t) = last_deadline_before(tasks, L) else { return Ok(Demand::Met) };
    for _ in 0..MAX_STEPS {
        let h = demand(tasks, t);
        if h > t {
            return Ok(Demand::Exceeds { interval: t, demand: h });
        }
        if h <= d_min {
            return Ok(Demand::Met);
        }
        t = match (h < t, last_deadline_before(tasks, t)) {
            (true, _) => h,
            (false, Some(earlier)) => earlier,
            (false, None) => return Ok(Demand::Met),
        };
    }
    Err(Diverged::OutOfSteps { reached: t, steps: MAX_STEPS })
}

/// `max { k T_i + D_i < t }`.
fn last_deadline_before(tasks: &[&Task], t: Duration) -> Option<Duration> {
    let one = Duration::from_ns(1);
    let of_task = |task: &&Task| {
        let room = t - one - task.deadline;
        (room >= Duration::ZERO).then(|| task.deadline + task.period * room.div_floor(task.period))
    };
    tasks.iter().filter_map(of_task).max()
}

/// `L_b`, the least fixed point of `w = sum ceil(w / T_i) C_i`, if it is at most the limit.
fn busy_period(tasks: &[&Task], limit: Option<Duration>) -> Result<Duration, Diverged> {
    let all = tasks.iter().map(|task| task.own_wcet().ns()).fold(0, i64::saturating_add);
    least(Duration::from_ns(all), limit.unwrap_or(Duration::from_ns(TIME_LIMIT)), |w| {
        let of_task = |task: &&Task| w.div_ceil(task.period).saturating_mul(task.own_wcet().ns());
        Duration::from_ns(tasks.iter().map(of_task).fold(0, i64::saturating_add))
    })
}

/// `L_a = max(max(D_i - T_i), sum (T_i - D_i) u_i / (1 - U))`, rounded up; none if `U` is 1, or
/// nearly, or `L_a` too long.
fn load_bound(tasks: &[&Task]) -> Option<Duration> {
    const ONE: i128 = 1 << 64;
    let (mut U, mut numerator) = (0i128, 0i128);
    let mut longest_past = 0;
    for task in tasks {
        let (C, T) = (i128::from(task.own_wcet().ns()), i128::from(task.period.ns()));
        let lead = i128::from(task.period.ns() - task.deadline.ns());
        let (below, above) = ((C << 64) / T, num_integer::Integer::div_ceil(&(C << 64), &T));
        U = U.checked_add(above)?;
        numerator =
            numerator.checked_add(lead.checked_mul(if lead < 0 { below } else { above })?)?;
        longest_past = longest_past.max(-lead);
    }
    let L_a = (U < ONE).then(|| num_integer::Integer::div_ceil(&numerator, &(ONE - U)))?;
    let L_a = i64::try_from(L_a.max(longest_past)).ok().filter(|&ns| ns <= TIME_LIMIT)?;
    Some(Duration::from_ns(L_a))
}
