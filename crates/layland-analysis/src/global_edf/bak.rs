//! BAK, a test for global EDF by the load of a busy window before a miss (Baker 2003).
//! **Sufficient.**
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) `D_i <= T_i`,
//! (4) `C_i <= D_i`, (5) WCETs are kept, (6) overheads are part of `C_i`, (7) unit speeds, (8) no
//! affinities within a cluster, (9) nothing changes while the system runs, (10) few pairs of tasks
//! share a CPU.
//!
//! | paper | meaning |
//! |---|---|
//! | `lambda` | density of the tested task, `C_k / D_k` |
//! | `beta_i` | the contribution of `tau_i` to the load of the window |

#![expect(non_snake_case, reason = "symbols of the paper")]

use super::{ALGORITHMS, PAIRED};
use crate::group::{Group, together};
use crate::sporadic::{SHIFT, fixed};
use crate::{
    Certify, Citation, Decide, Finding, Quantity, Reason, SchedulabilityTest, Scope, Sporadic,
    Subject, TestKind, Verdict,
};
use layland_model::{Rate, RateSum};

/// Baker 2003.
pub const BAKER: Citation = Citation {
    key: "baker2003multiprocessor",
    text: "T. P. Baker. Multiprocessor EDF and deadline monotonic schedulability analysis. RTSS 2003, \
           pages 120-129.",
    bibtex: "@inproceedings{baker2003multiprocessor,
  author    = {Theodore P. Baker},
  title     = {Multiprocessor {EDF} and Deadline Monotonic Schedulability Analysis},
  booktitle = {24th IEEE Real-Time Systems Symposium (RTSS)}, pages = {120--129}, year = {2003},
  doi       = {10.1109/REAL.2003.1253260}
}",
};

/// BAK, for each cluster.
///
/// ```
/// use layland_analysis::{Verdict, global_edf::bak};
/// use layland_model::{Duration, Service, System, Task};
/// let tasks = [(15, 30), (23, 120), (52, 80)]
///     .map(|(c, t)| Task::implicit(format!("{c}/{t}"), Service::from_ms(c), Duration::from_ms(t)));
/// let finding = bak::TEST.run(&System::new(3, tasks.to_vec())).unwrap();
/// assert_eq!(finding.verdict, Verdict::Yes);
/// ```
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "BAK",
    title: "busy-window load test for global EDF",
    subject: Subject::Algorithms(ALGORITHMS),
    kind: TestKind::Sufficient,
    assumptions: PAIRED,
    citations: &[&BAKER],
    certify: Certify::Reasons,
    decide: Decide::by(|system| together(Group::clusters(system).iter().map(bak)))
        .or_sooner(|system| super::verdict_by(system, accepts)),
};

fn bak(group: &Group<'_>) -> Finding {
    let (m, tasks) = (group.cpu_count(), group.sporadic());
    let mut reasons = Vec::new();
    // Compute exact sums only for the report. A failing test reports the first task that fails.
    let shown = match first_failing(&tasks, group.cpus.len()) {
        Some(k) => k..k + 1,
        None => 0..tasks.len(),
    };
    for &(id, tau_k) in &group.tasks[shown] {
        // sum over i, k included, of min(1, beta_i) <= m (1 - lambda) + lambda.
        let lambda = tau_k.density();
        let bound = &Rate::whole(m) - &(&Rate::whole(m - 1) * &lambda);
        let sum = window(&tasks, &tau_k.into(), &lambda);
        let holds = sum.fits(&Rate::ZERO, &bound);
        let reason = Reason::compared(
            "the load of a window before the deadline",
            Scope::task(id, &group.cpus),
            Quantity::Sum(sum),
            Quantity::Number(bound),
            holds,
        );
        if !holds {
            return Finding::new(Verdict::Unknown, reason);
        }
        reasons.push(reason);
    }
    Finding { verdict: Verdict::Yes, reasons }
}

/// Returns true if the test accepts these tasks, which must keep its assumptions, on this many
/// CPUs. Decides in fixed point, and exactly where rounding could matter.
pub fn accepts(tasks: &[Sporadic], cpus: usize) -> bool {
    first_failing(tasks, cpus).is_none()
}

/// Returns the first task whose condition does not hold.
fn first_failing(tasks: &[Sporadic], cpus: usize) -> Option<usize> {
    /// Binary digits after the point of the summands, and the longest period that this precision
    /// allows.
    const FINE: u32 = 32;
    const LONGEST: i64 = 1 << 40;
    if tasks.iter().any(|task| task.period.ns() > LONGEST) {
        return (0..tasks.len()).find(|&k| !exactly(tasks, cpus, k));
    }
    // For each task, u_i and u_i (T_i - D_i), each rounded down by less than a unit.
    let shares: Vec<(u128, u128)> = tasks
        .iter()
        .map(|task| {
            let [C, D, T] = task.ns();
            let lead = ((C as u128 * (T - D) as u128) << FINE) / T as u128;
            (fixed(C, T), lead)
        })
        .collect();
    (0..tasks.len()).find(|&k| {
        let [C_k, D_k, _] = tasks[k].ns();
        let lambda = fixed(C_k, D_k);
        let most = (D_k as u128) << FINE;
        // sum of min(D_k, beta_i D_k), between low and high.
        let (mut low, mut high) = (0u128, 0u128);
        for (task, &(u_i, lead)) in tasks.iter().zip(&shares) {
            let [C_i, _, T_i] = task.ns();
            let base = ((u_i * D_k as u128) >> (SHIFT - FINE)) + lead;
            // max(0, C_i - lambda T_i); lambda T_i is up to a unit larger than this.
            let taken = (lambda * T_i as u128) >> (SHIFT - FINE);
            let carried = ((C_i as u128) << FINE).saturating_sub(taken);
            // The rounding error is at most D_k or T_i times 2^-62 ns, below 2^10 units, and three
            // units more.
            const ROUNDING: u128 = (1 << 11) + 3;
            low += (base + carried.saturating_sub(ROUNDING)).min(most);
            high += (base + carried + ROUNDING).min(most);
        }
        let room = (cpus as u128 * (D_k - C_k) as u128 + C_k as u128) << FINE;
        !(high <= room || (low <= room && exactly(tasks, cpus, k)))
    })
}

#[cold]
fn exactly(tasks: &[Sporadic], cpus: usize, k: usize) -> bool {
    let lambda = Rate::new(tasks[k].wcet.ns(), tasks[k].deadline.ns());
    let sum = window(tasks, &tasks[k], &lambda);
    let m = cpus as i64;
    sum.fits(&Rate::ZERO, &(&Rate::whole(m) - &(&Rate::whole(m - 1) * &lambda)))
}

/// The sum over `i` of `min(1, beta_i)`.
fn window(tasks: &[Sporadic], tau_k: &Sporadic, lambda: &Rate) -> RateSum {
    let mut sum = RateSum::with_capacity(tasks.len());
    for tau_i in tasks {
        match small_beta(tau_i, tau_k) {
            Some((numerator, denominator)) if numerator >= denominator => sum.add(&Rate::ONE),
            Some((numerator, denominator)) => sum.add_fraction(numerator, denominator),
            None => sum.add(&beta(tau_i, tau_k, lambda).min(Rate::ONE)),
        }
    }
    sum
}

/// [`beta`] as a fraction of 128-bit integers with denominator `D_k^2 T_i`; `None` if it overflows.
fn small_beta(tau_i: &Sporadic, tau_k: &Sporadic) -> Option<(u128, u128)> {
    let [C_i, D_i, T_i] = tau_i.ns().map(i128::from);
    let [C_k, D_k, _] = tau_k.ns().map(i128::from);
    let denominator = (D_k * T_i).checked_mul(D_k)?;
    let base = (C_i * (D_k + T_i - D_i)).checked_mul(D_k)?;
    // `T_i (C_i D_k - C_k T_i)` if `u_i > lambda`.
    let carried = T_i.checked_mul((C_i * D_k - C_k * T_i).max(0))?;
    let numerator = base.checked_add(carried)?;
    Some((numerator.try_into().ok()?, denominator.try_into().ok()?))
}

/// `beta_i = u_i (1 + (T_i - D_i) / D_k)`, plus `(C_i - lambda T_i) / D_k` if `u_i > lambda`.
fn beta(tau_i: &Sporadic, tau_k: &Sporadic, lambda: &Rate) -> Rate {
    let [C_i, D_i, T_i] = tau_i.ns();
    let D_k = tau_k.deadline.ns();
    let u_i = Rate::new(C_i, T_i);
    let beta = &u_i * &Rate::new(D_k + T_i - D_i, D_k);
    if u_i <= *lambda {
        return beta;
    }
    let carried = &Rate::whole(C_i) - &(lambda * &Rate::whole(T_i));
    &beta + &(&carried / &Rate::whole(D_k))
}
