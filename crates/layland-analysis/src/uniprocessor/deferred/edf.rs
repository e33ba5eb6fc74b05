//! Processor demand and blocking of **EDF** with non-preemptive regions on one CPU (Jeffay, Stanat
//! and Martel 1991 for jobs that are never preempted and `D_i = T_i`; George, Rivierre and Spuri
//! 1996 for any deadlines; Baruah 2005 for floating regions). **Exact** for sporadic tasks.
//!
//! Assumes: (1) every task may use one CPU only, (2) jobs of a task at least a period apart, (3) no
//! release jitter, (4) WCETs are kept, (5) overheads are part of `C_i`, (6) unit speeds,
//! (7) nothing changes while the system runs.
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | `h(t)` | [`demand`](crate::uniprocessor::edf::demand) | the work of all jobs that are released and due in an interval of length `t` |
//! | `max over D_i > t of C_i - 1` | `b` | the largest [blocking](Task::blocking) by a job that is due later |
//!
//! The tasks are schedulable if and only if `U <= 1` and `h(t) + b(t) <= t` for every `t`.
//!
//! - *If*: before a missed deadline there is an instant from which on the CPU runs only jobs that
//!   are due by this deadline, except for one region that began earlier: it belongs to a job that
//!   is due later, so `D_i > t`.
//! - *Only if*: let a job of the task begin its longest region a nanosecond before `t = 0`, when
//!   all others arrive, and let each of them arrive again as soon as possible. This job is due
//!   after `t - 1`, and keeps the CPU for `b(t)`. A floating region begins at 0 if the job comes
//!   after those that arrive then; otherwise the job keeps the CPU for at least as long. The jobs
//!   due by `t` get the remaining time, and need `h(t)`.
//!
//! Between two relative deadlines `b` is constant, and the search there is that of QPA (Zhang and
//! Burns 2009), from the longest `t` down. From the longest deadline on, no job blocks, and QPA
//! decides.

use crate::Assumption::*;
use crate::fixed_point::{GaveUp, MAX_STEPS};
use crate::group::{Group, exact, together};
use crate::uniprocessor::arrivals::{self, Demands, have_bursts};
use crate::uniprocessor::edf::{Demand, criterion, load_of};
use crate::{
    Certify, Citation, Decide, Finding, Quantity, Reason, SchedulabilityTest, Scope, Sporadic,
    Subject, TestKind, Verdict,
};
use layland_model::{Algorithm, Duration, Form, Order, Task};

/// Demand and blocking of EDF, for each CPU.
///
/// ```
/// use layland_analysis::{Verdict, uniprocessor::deferred::edf};
/// use layland_model::{Duration, Preemption, Service, System, Task};
/// // A long job keeps the CPU from a short one that is due before it ends.
/// let tasks = [(1, 4), (5, 20)].map(|(c, t)| {
///     let mut task = Task::implicit(format!("{c}/{t}"), Service::from_ns(c), Duration::from_ns(t));
///     task.preemption = Preemption::Never;
///     task
/// });
/// let mut system = System::new(1, tasks.to_vec());
/// let finding = edf::TEST.run(&system).unwrap();
/// assert_eq!(
///     finding.reasons[0].describe(&system),
///     "the demand and the blocking in 4 ns is 5 ns, not within 4 ns"
/// );
/// // In two segments of 2 and 3 it keeps it for 2 ns at most.
/// let long = system.tasks.values_mut().nth(1).unwrap();
/// long.preemption = Preemption::Between([2, 3].map(Service::from_ns).into());
/// assert_eq!(edf::TEST.run(&system).unwrap().verdict, Verdict::Yes);
/// ```
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "NP-QPA",
    title: "demand and blocking of EDF with non-preemptive regions on each CPU",
    subject: Subject::Algorithms(&[Algorithm::Deferred(Form::Partitioned, Order::Deadline)]),
    kind: TestKind::Exact,
    assumptions: &[
        OneCpuEach,
        BoundedArrivals,
        NoJitter,
        WcetKept,
        NoOverheads,
        UnitSpeeds,
        NoRequests,
    ],
    citations: &[&Citation::JEFFAY, &Citation::GEORGE, &Citation::BARUAH_LIMITED],
    certify: Certify::Without("the verifier does not know non-preemptive regions"),
    decide: Decide::by(|system| together(Group::affinities(system).iter().map(finding))),
};

fn finding(group: &Group<'_>) -> Finding {
    let tasks: Vec<&Task> = group.tasks().collect();
    let compared = |what, interval: Duration, value: Duration, holds: bool| {
        let scope = Scope { interval: Some(interval), ..Scope::cpus(&group.cpus) };
        let quantity = |length: Duration| Quantity::of_ns(length.ns().into());
        Reason::compared(what, scope, quantity(value), quantity(interval), holds)
    };
    match demand_and_blocking(&tasks) {
        Err(why) => Finding::new(Verdict::Unknown, Reason::GaveUp(why)),
        Ok(Blocked::Met { tightest }) => {
            let mut finding = exact(group, true, load_of(group, true));
            if let Some((t, needed)) = tightest {
                finding.reasons.push(compared("the demand and the blocking", t, needed, true));
            }
            finding
        }
        Ok(Blocked::Plain(Demand::Exceeds { interval, demand })) => {
            exact(group, false, compared("the demand", interval, demand, false))
        }
        Ok(Blocked::Plain(Demand::Overload | Demand::Met)) => {
            exact(group, false, load_of(group, false))
        }
        Ok(Blocked::Exceeds { interval, needed }) => {
            exact(group, false, compared("the demand and the blocking", interval, needed, false))
        }
    }
}

/// The result of the criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// The criterion holds.
    Met {
        /// The interval with blocking that has the least slack, with the time required in it.
        tightest: Option<(Duration, Duration)>,
    },
    /// The criterion fails without blocking: the result of [`criterion`].
    Plain(Demand),
    /// An interval is shorter than its demand and blocking.
    Exceeds {
        /// The interval.
        interval: Duration,
        /// Demand and blocking.
        needed: Duration,
    },
}

/// Tests whether sporadic tasks with regions meet every deadline under EDF on one unit-speed CPU.
/// Exact.
///
/// # Errors
/// Returns [`GaveUp`] if the search reaches its limit.
pub fn demand_and_blocking(tasks: &[&Task]) -> Result<Blocked, GaveUp> {
    let demands = Demands::of(tasks);
    let met = if have_bursts(tasks.iter().copied()) {
        arrivals::criterion(tasks)
    } else {
        let plain: Vec<Sporadic> = tasks.iter().map(|&task| Sporadic::from(task)).collect();
        criterion(&plain)
    };
    match met? {
        Demand::Met => {}
        failed @ (Demand::Overload | Demand::Exceeds { .. }) => return Ok(Blocked::Plain(failed)),
    }
    // In the order of deadlines: between two of them, the set of tasks that are due later is
    // constant.
    let mut by_deadline: Vec<(i64, i64)> =
        tasks.iter().map(|task| (task.deadline.ns(), task.blocking().ns())).collect();
    by_deadline.sort_unstable();
    let (mut b, mut tightest, mut steps) = (0, None, 0);
    for at in (1..by_deadline.len()).rev() {
        let (until, blocking) = by_deadline[at];
        b = b.max(blocking);
        let from = by_deadline[at - 1].0;
        let mut next = demands.last_deadline_before(until);
        while let Some(t) = next.filter(|&t| b > 0 && t >= from) {
            steps += 1;
            if steps > MAX_STEPS {
                return Err(GaveUp::OutOfSteps { reached: Duration::from_ns(t), steps });
            }
            let needed = demands.demand(t).saturating_add(b);
            if needed > t {
                let [interval, needed] = [t, needed].map(Duration::from_ns);
                return Ok(Blocked::Exceeds { interval, needed });
            }
            if tightest.is_none_or(|(at, least)| t - needed < at - least) {
                tightest = Some((t, needed));
            }
            // For every t' from `needed` to `t`: h(t') + b <= h(t) + b <= t'.
            next = if needed < t { Some(needed) } else { demands.last_deadline_before(t) };
        }
    }
    let tightest = tightest.map(|(t, needed)| (Duration::from_ns(t), Duration::from_ns(needed)));
    Ok(Blocked::Met { tightest })
}
