//! FF-DBF, the forced-forward demand test for global EDF (Baruah, Bonifaci, Marchetti-Spaccamela,
//! Stiller 2010). **Sufficient.** For implicit deadlines it is GFB.
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) `D_i <= T_i`,
//! (4) `C_i <= D_i`, (5) WCETs are kept, (6) overheads are part of `C_i`, (7) unit speeds, (8) no
//! affinities within a cluster, (9) nothing changes while the system runs, (10) few pairs of tasks
//! share a CPU.
//!
//! | paper | meaning |
//! |---|---|
//! | `sigma` | speed of the slower CPUs with which the set is compared, at least every density |
//! | `q_i`, `r_i` | `floor(t / T_i)`, `t mod T_i` |
//! | `FF-DBF(tau_i, t, sigma)` | `q_i C_i`, and `C_i` if `r_i >= D_i`, or else `max(0, C_i - (D_i - r_i) sigma)` |
//!
//! A set is schedulable if for some `sigma` and all `t`: the sum of the FF-DBFs is at most
//! `(m - (m - 1) sigma) t`.
//!
//! Deviation: `sigma` is tried at the largest density and at [`STEPS`] further points up to where
//! `(m - (m - 1) sigma)` is the load, as multiples of 2^-20 (rounded up); any choice is sound. The
//! search over `t` is that of QPA, as the left side does not decrease with `t`.

#![expect(non_snake_case, reason = "symbols of the paper")]

use super::{ALGORITHMS, PAIRED};
use crate::group::{Group, together};
use crate::sporadic::{SHIFT, fixed, load_above};
use crate::{
    Certify, Citation, Decide, Finding, Quantity, Reason, SchedulabilityTest, Scope, Sporadic,
    Subject, TestKind, Verdict,
};
use layland_model::Rate;
use num_integer::Integer;

/// Baruah, Bonifaci, Marchetti-Spaccamela and Stiller 2010.
pub const BARUAH_2010: Citation = Citation {
    key: "baruah2010improved",
    text: "S. Baruah, V. Bonifaci, A. Marchetti-Spaccamela and S. Stiller. Improved multiprocessor \
           global schedulability analysis. Real-Time Systems 46(1):3-24, 2010.",
    bibtex: "@article{baruah2010improved,
  author  = {Sanjoy Baruah and Vincenzo Bonifaci and Alberto Marchetti-Spaccamela and Sebastian Stiller},
  title   = {Improved Multiprocessor Global Schedulability Analysis},
  journal = {Real-Time Systems}, volume = {46}, number = {1}, pages = {3--24}, year = {2010}
}",
};

/// The number of values of `sigma` that are tried in addition to the smallest.
pub const STEPS: u64 = 20;
/// The maximum number of points that are examined for one `sigma`.
const POINTS: usize = 100_000;
/// `sigma` is a multiple of 2^-20.
const SIGMA_SHIFT: u32 = 20;

/// FF-DBF, for each cluster.
///
/// ```
/// use layland_analysis::{Verdict, global_edf::{ff_dbf, gfb}};
/// use layland_model::{Duration, Service, System, Task};
/// let task = |name, c, d, t| {
///     let mut task = Task::implicit(name, Service::from_ns(c), Duration::from_ns(t));
///     task.deadline = Duration::from_ns(d);
///     task
/// };
/// // Densities of 1/2, 1/2 and 1/2 sum to 3/2 = 2 - 1/2.
/// let tasks = [task("a", 1, 2, 10), task("b", 2, 4, 10), task("c", 3, 6, 10)];
/// let system = System::new(2, tasks.to_vec());
/// assert_eq!(gfb::TEST.run(&system).unwrap().verdict, Verdict::Yes);
/// assert_eq!(ff_dbf::TEST.run(&system).unwrap().verdict, Verdict::Yes);
/// ```
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "FF-DBF",
    title: "forced-forward demand test for global EDF",
    subject: Subject::Algorithms(ALGORITHMS),
    kind: TestKind::Sufficient,
    assumptions: PAIRED,
    citations: &[&BARUAH_2010],
    certify: Certify::Reasons,
    decide: Decide::by(|system| together(Group::clusters(system).iter().map(finding)))
        .or_sooner(|system| super::verdict_by(system, accepts)),
};

fn finding(group: &Group<'_>) -> Finding {
    let scope = Scope::cpus(&group.cpus);
    match witness(&group.sporadic(), group.cpu_count() as usize) {
        Some(sigma) => {
            let sigma = Rate::new(sigma as i64, 1 << SIGMA_SHIFT);
            let (value, bound) = (Quantity::Number(sigma), Quantity::Number(Rate::ONE));
            let what = "the speed that shows that it fits";
            Finding::new(Verdict::Yes, Reason::compared(what, scope, value, bound, true))
        }
        None => Finding::new(
            Verdict::Unknown,
            Reason::Holds("no speed that was tried shows that the forced-forward demand fits"),
        ),
    }
}

/// Returns a `sigma` for which the condition holds, in units of 2^-20, for tasks that keep the
/// assumptions.
pub fn witness(tasks: &[Sporadic], cpus: usize) -> Option<u64> {
    const ONE: u64 = 1 << SIGMA_SHIFT;
    let m = cpus as u64;
    let density = |tau: &Sporadic| {
        let [C, D, _] = tau.ns();
        ((C as u128) << SIGMA_SHIFT).div_ceil(D as u128) as u64
    };
    let least = tasks.iter().map(density).max()?;
    // m - (m - 1) sigma > U.
    let room = ((cpus as u128) << SHIFT).checked_sub(load_above(tasks))? >> (SHIFT - SIGMA_SHIFT);
    let largest = match m {
        1 => least,
        m => (room as u64 / (m - 1)).min(ONE),
    };
    if least > largest {
        return None;
    }
    // Implicit deadlines: the demand is at most U t, and the smallest sigma is best.
    let lead = |tau_i: &Sporadic| {
        let [C, D, T] = tau_i.ns().map(i128::from);
        Integer::div_ceil(&((T - D) * C), &T)
    };
    let V: i128 = tasks.iter().map(lead).sum();
    let steps = if V == 0 || least == largest { 0 } else { STEPS };
    (0..=steps)
        .map(|step| least + (largest - least) * step / steps.max(1))
        .find(|&sigma| fits(tasks, m, sigma, V))
}

/// Tests `sum FF-DBF(tau_i, t, sigma) <= (m - (m - 1) sigma) t` for all `t`. It always holds for
/// `t >= sum (T_i - D_i) u_i / (m - (m - 1) sigma - U)`.
fn fits(tasks: &[Sporadic], m: u64, sigma: u64, V: i128) -> bool {
    let speed = (m << SIGMA_SHIFT) - (m - 1) * sigma;
    let above = load_above(tasks);
    let room = (u128::from(speed) << (SHIFT - SIGMA_SHIFT)).saturating_sub(above);
    if V == 0 {
        // The demand is at most U t.
        return room > 0;
    }
    if room == 0 {
        return false;
    }
    let Some(mut t) = super::quotient(V, room) else { return false };
    let (speed, sigma) = (i128::from(speed), i128::from(sigma));
    for _ in 0..POINTS {
        if t <= 0 {
            return true;
        }
        // In units of 2^-20 ns.
        let demand: i128 = tasks.iter().map(|tau_i| forced_forward(tau_i, t, sigma)).sum();
        if demand > speed * i128::from(t) {
            return false;
        }
        t = Integer::div_ceil(&demand, &speed) as i64 - 1;
    }
    false
}

/// `FF-DBF(tau_i, t, sigma)` in units of 2^-20 ns.
fn forced_forward(tau_i: &Sporadic, t: i64, sigma: i128) -> i128 {
    let [C, D, T] = tau_i.ns();
    let (jobs, rest) = (t / T, t % T);
    let whole = i128::from(C) << SIGMA_SHIFT;
    let last = match D - rest {
        early if early <= 0 => whole,
        early => (whole - i128::from(early) * sigma).max(0),
    };
    i128::from(jobs) * whole + last
}

/// Returns true if the test accepts these tasks, which must keep its assumptions, on this many
/// CPUs.
pub fn accepts(tasks: &[Sporadic], cpus: usize) -> bool {
    debug_assert!(tasks.iter().all(|tau| fixed(tau.wcet.ns(), tau.deadline.ns()) <= 1 << SHIFT));
    witness(tasks, cpus).is_some()
}
