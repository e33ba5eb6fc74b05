//! LOAD, the load-based test for global EDF (Baruah, Baker 2008; Baker, Baruah 2009). **Sufficient**; deadlines are
//! arbitrary.
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) `C_i <= D_i`,
//! (4) WCETs are kept, (5) overheads are part of `C_i`, (6) unit speeds, (7) no affinities within a
//! cluster, (8) nothing changes while the system runs.
//!
//! | paper | meaning |
//! |---|---|
//! | `delta_max` | the largest density, `C_i / min(D_i, T_i)` |
//! | `mu` | `m - (m - 1) delta_max` |
//! | `LOAD` | the largest `sum DBF(tau_i, t) / t` |
//!
//! A set is schedulable if `LOAD <= mu - (ceil(mu) - 1) delta_max`: a maximal interval in which the
//! CPUs do more than `mu` of work per unit of time begins with fewer than `mu` tasks at work. The
//! proof also holds with any smaller `mu`, so the next smaller whole number may replace it if it is
//! positive: `LOAD <= (ceil(mu) - 1) - (ceil(mu) - 2) delta_max` suffices as well (Corollary 2 of
//! 2009). Deviation: `LOAD` is not computed but compared, by the processor-demand criterion on a
//! CPU with that speed and a search as in QPA. This is exact where the authors of the papers
//! approximate.

#![expect(non_snake_case, reason = "symbols of the paper")]

use super::{ALGORITHMS, ARBITRARY};
use crate::group::{Group, together};
use crate::sporadic::{SHIFT, load_above};
use crate::{
    Certify, Citation, Decide, Finding, Quantity, Reason, SchedulabilityTest, Scope, Sporadic,
    Subject, TestKind, Verdict,
};
use layland_model::{Duration, Rate};
use num_integer::Integer;

/// Baruah and Baker 2008.
pub const BARUAH_BAKER: Citation = Citation {
    key: "baruah2008global",
    text: "S. Baruah and T. Baker. Global EDF schedulability analysis of arbitrary sporadic task \
           systems. ECRTS 2008, pages 3-12.",
    bibtex: "@inproceedings{baruah2008global,
  author    = {Sanjoy Baruah and Theodore Baker},
  title     = {Global {EDF} Schedulability Analysis of Arbitrary Sporadic Task Systems},
  booktitle = {20th Euromicro Conference on Real-Time Systems (ECRTS)}, pages = {3--12}, year = {2008},
  doi       = {10.1109/ECRTS.2008.27}
}",
};

/// Baker and Baruah 2009.
pub const BAKER_BARUAH: Citation = Citation {
    key: "baker2009analysis",
    text: "T. Baker and S. Baruah. An analysis of global EDF schedulability for arbitrary-deadline \
           sporadic task systems. Real-Time Systems 43(1), pages 3-24, 2009.",
    bibtex: "@article{baker2009analysis,
  author    = {Theodore P. Baker and Sanjoy K. Baruah},
  title     = {An analysis of global {EDF} schedulability for arbitrary-deadline sporadic task systems},
  journal   = {Real-Time Systems}, volume = {43}, number = {1}, pages = {3--24}, year = {2009},
  doi       = {10.1007/s11241-009-9075-8}
}",
};

/// The maximum number of points that are examined.
const STEPS: usize = 1_000_000;

/// LOAD, for each cluster.
///
/// ```
/// use layland_analysis::{Verdict, global_edf::load};
/// use layland_model::{Duration, Service, System, Task};
/// // delta_max is 1/5: mu is 9/5, and LOAD, 2/5, is at most 9/5 - 1/5.
/// let tasks = ["a", "b"].map(|name| {
///     let mut task = Task::implicit(name, Service::from_ns(1), Duration::from_ns(10));
///     task.deadline = Duration::from_ns(5);
///     task
/// });
/// let system = System::new(2, tasks.to_vec());
/// assert_eq!(load::TEST.run(&system).unwrap().verdict, Verdict::Yes);
/// ```
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "LOAD",
    title: "load test for global EDF",
    subject: Subject::Algorithms(ALGORITHMS),
    kind: TestKind::Sufficient,
    assumptions: ARBITRARY,
    citations: &[&BARUAH_BAKER, &BAKER_BARUAH],
    certify: Certify::Reasons,
    decide: Decide::by(|system| together(Group::clusters(system).iter().map(finding)))
        .or_sooner(|system| super::verdict_by(system, accepts)),
};

/// The answer of the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// The load is within the bound.
    Within,
    /// The bound is not positive.
    NoRoom,
    /// The demand in an interval is more than the bound times its length.
    Above(Duration),
    /// The utilization is the bound, nearly the bound, or more, or the search gave up.
    NoEnd,
}

fn finding(group: &Group<'_>) -> Finding {
    let tasks = group.sporadic();
    let m = group.cpu_count();
    let (numerator, denominator) = bound(&tasks, m);
    let rate = |n: i128, d: i128| Rate::of_wide(n, d);
    let bound = rate(numerator, denominator);
    let scope = |interval| Scope { interval, ..Scope::cpus(&group.cpus) };
    let compared = |value: Quantity, interval: Option<Duration>, holds: bool| {
        let bound = Quantity::Number(bound.clone());
        Reason::compared("the load", scope(interval), value, bound, holds)
    };
    match load(&tasks, m as usize) {
        Load::Within => {
            Finding::new(Verdict::Yes, compared(Quantity::Sum(group.utilization()), None, true))
        }
        Load::NoRoom | Load::NoEnd => Finding::new(
            Verdict::Unknown,
            compared(Quantity::Sum(group.utilization()), None, false),
        ),
        Load::Above(t) => {
            let demand: i128 = tasks.iter().map(|tau_i| i128::from(tau_i.demand(t.ns()))).sum();
            let value = Quantity::Number(rate(demand, i128::from(t.ns())));
            Finding::new(Verdict::Unknown, compared(value, Some(t), false))
        }
    }
}

/// Returns as a fraction the larger of `mu - (ceil(mu) - 1) delta_max` and the same expression with
/// `ceil(mu) - 1` in place of `mu`.
fn bound(tasks: &[Sporadic], m: i64) -> (i128, i128) {
    let density = |tau: &Sporadic| {
        let [C, D, T] = tau.ns().map(i128::from);
        (C, D.min(T))
    };
    let less = |&(a, b): &(i128, i128), &(c, d): &(i128, i128)| (a * d).cmp(&(c * b));
    let (C, D) = tasks.iter().map(density).max_by(less).unwrap_or((0, 1));
    let m = i128::from(m);
    let mu = m * D - (m - 1) * C;
    let whole = Integer::div_ceil(&mu, &D) - 1;
    let first = mu - whole * C;
    (if whole > 0 { first.max(whole * D - (whole - 1) * C) } else { first }, D)
}

/// The test, for tasks that keep its assumptions.
pub fn load(tasks: &[Sporadic], cpus: usize) -> Load {
    let (speed, unit) = bound(tasks, cpus as i64);
    if speed <= 0 {
        return Load::NoRoom;
    }
    // With the speed s: for t >= sum max(0, T_i - D_i) u_i / (s - U), and from all of max (D_i - T_i)
    // on, the demand is at most s t. (Deadlines beyond periods only lower the demand.)
    let (whole, rest) = (speed / unit, speed % unit);
    let s = ((whole as u128) << SHIFT) + ((rest as u128) << SHIFT) / unit as u128;
    let room = s.saturating_sub(load_above(tasks));
    if room == 0 {
        return Load::NoEnd;
    }
    let lead = |tau_i: &Sporadic| {
        let [C, D, T] = tau_i.ns().map(i128::from);
        Integer::div_ceil(&((T - D).max(0) * C), &T)
    };
    let V: i128 = tasks.iter().map(lead).sum();
    let Some(limit) = super::quotient(V, room) else { return Load::NoEnd };
    let mut t = limit;
    for _ in 0..STEPS {
        if t <= 0 {
            return Load::Within;
        }
        let demand: i128 = tasks.iter().map(|tau_i| i128::from(tau_i.demand(t))).sum();
        if demand * unit > speed * i128::from(t) {
            return Load::Above(Duration::from_ns(t));
        }
        // Skip all lengths down to the one for which the demand, which does not decrease with t,
        // would be too much.
        t = Integer::div_ceil(&(demand * unit), &speed) as i64 - 1;
    }
    Load::NoEnd
}

/// Returns true if the test accepts these tasks, which must keep its assumptions, on this many
/// CPUs.
pub fn accepts(tasks: &[Sporadic], cpus: usize) -> bool {
    load(tasks, cpus) == Load::Within
}
