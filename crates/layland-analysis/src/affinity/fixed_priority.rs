//! Fixed priorities with arbitrary affinities, analysed task by task as global scheduling on a part
//! of the task's CPUs (Gujarati, Cerqueira, Brandenburg 2013, Section 4; the parts are analysed
//! after Guan, Stigge, Yi, Yu 2009, and rivals that this analysis does not cover after Bertogna,
//! Cirinei 2007). **Sufficient**, for every scheduler with the weak invariant: weak, strong and
//! hierarchical.
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) `D_i <= T_i`,
//! (4) `C_i <= D_i`, (5) WCETs are kept, (6) overheads are part of `C_i`, including those of
//! shifts, (7) unit speeds, (8) nothing changes while the system runs, (9) few pairs of tasks share
//! a CPU, (10) for given priorities: every task has one. Times are integers. Equal priorities go to
//! the smaller rank, then to the smaller id.
//!
//! | paper | meaning |
//! |---|---|
//! | `alpha_k`, `S` | the CPUs of `tau_k`, and a part of them (`reduction.rs`) |
//! | `R_k`, `S_k` | response bound; slack, `D_k - R_k` |
//! | `W^NC`, `W^CI` | the work of a task in a window without and with a carried-in job |
//! | `W_i(x)` | its maximum execution in any window of length `x` |
//! | `Omega_k(x)` | the work of rivals of higher priority in a window of length `x` |
//!
//! From the highest priority down, `R_k` is the least, over the parts `S` whose rivals all have
//! bounds, of a solution of `R = C_k + floor(Omega_k(R) / |S|)`, each rival executing for at most
//! `R - C_k + 1`. This holds by the argument of `reduction.rs` and by induction: tasks below
//! `tau_k` never keep it waiting, and tasks above it keep their bounds.
//!
//! **Carry-in.** The window begins at the last instant up to the release of `J_k` before which some
//! CPU `c` of `S` ran no task above `tau_k`; from then until `J_k` is released, all CPUs of `S` do.
//! A rival whose affinity contains `S`, hence `c`, was not waiting just before: it would have had
//! `c`. If it had a job, this job ran elsewhere, on one of the CPUs of those affinities other than
//! `c`. So of the rivals whose affinity contains `S` at most `|U| - 1` carry a job in, `U` being
//! the union of these affinities, and each of them has executed for at least one unit before the
//! window, so `W^CI` counts `C_i - 1` of it. With one affinity for all tasks, this is the limit of
//! Guan et al.
//!
//! Neither property holds for the other rivals. A rival whose affinity lacks a CPU of `S` may lack
//! `c`: just before the window it may have waited without having executed at all, beside any number
//! of similar tasks, and carries in up to `C_i`. Such a rival gets `W_i(x)` of Bertogna and Cirinei
//! 2007, which assumes nothing about the start of the window: with response times of at most `R_i`,
//! its first job in the window executes all of `C_i` as late as `R_i` permits, from the first
//! instant of the window on, and the later jobs as early as they can. No window of length `x`
//! contains more of its work, wherever it begins. (An earlier form used `W^CI` for it, too, which
//! is one unit of time too little: sets were accepted whose jobs are late by that unit.)

#![expect(non_snake_case, reason = "symbols of the papers")]

use super::reduction::{CpuPart, Masked};
use crate::Assumption::{self, *};
use crate::assumption::and;
use crate::global_edf::Slacks;
use crate::global_edf::rta::BERTOGNA_CIRINEI;
use crate::global_edf::workload::Growing;
use crate::global_fp::{Carrier, GUAN_2009, largest, response};
use crate::ordered::{Analysis, ByOrder, by_order, given_last};
use crate::uniprocessor::fixed_priority::PriorityOrder;
use crate::{
    Certify, Citation, Finding, OrderedTest, Quantity, Reason, ResponseBound, Scope, Subject,
    TestKind, Verdict,
};
use layland_model::{Algorithm, CpuSet, Duration, Form, System, TaskId, TaskMap};

/// The assumptions of the tests that derive priorities.
pub(super) const DERIVED: &[Assumption] = &[
    SporadicReleases,
    NoJitter,
    ConstrainedDeadlines,
    FitsAlone,
    WcetKept,
    NoOverheads,
    UnitSpeeds,
    NoRequests,
    FewPairs,
];
const GIVEN: &[Assumption] = &and::<10>(DERIVED, Priorities);

/// `APA-RM`, `APA-DM` and `APA-FP`: response times under fixed priorities with affinities.
pub const TEST: OrderedTest = OrderedTest {
    listing: given_last!("APA", "response times under ", " priorities with affinities"),
    subject: by_order!(|ORDER| Subject::Algorithms(&[
        Algorithm::Ordered(Form::Weak, ORDER),
        Algorithm::Ordered(Form::Strong, ORDER),
        Algorithm::Ordered(Form::Hierarchical, ORDER),
    ])),
    kind: TestKind::Sufficient,
    assumptions: ByOrder::new(GIVEN, DERIVED),
    citations: &[&Citation::GUJARATI, &GUAN_2009, &BERTOGNA_CIRINEI],
    certify: ByOrder::all(Certify::Reasons),
    analysis: Analysis::Together(|system, order| both(system, &bounds(system, order))),
};

/// A response bound, and the part of the CPUs for which it was found.
pub type Found = (Duration, CpuSet);

/// The response bound of each task that has one at most its deadline, with the part of its CPUs for
/// which it was found, for a system that keeps the assumptions. Of equal bounds, the one for the
/// largest part is taken, then for the part with the lowest CPUs.
///
/// ```
/// use layland_analysis::affinity::fixed_priority::bounds;
/// use layland_analysis::uniprocessor::fixed_priority::PriorityOrder;
/// use layland_model::{Duration, Service, System, Task};
/// // The second task has two CPUs and one rival: it never waits.
/// let tasks = [(4, 5, "0"), (4, 10, "0-1")].map(|(c, t, cpus)| {
///     let mut task = Task::implicit(cpus, Service::from_ms(c), Duration::from_ms(t));
///     task.affinity = cpus.parse().ok();
///     task
/// });
/// let system = System::new(2, tasks.to_vec());
/// let bounds: Vec<_> = bounds(&system, PriorityOrder::RateMonotonic).values().cloned().collect();
/// let found = |ms, cpus: &str| Some((Duration::from_ms(ms), cpus.parse().unwrap()));
/// assert_eq!(bounds, [found(4, "0"), found(4, "0-1")]);
/// ```
pub fn bounds(system: &System, order: PriorityOrder) -> TaskMap<Option<Found>> {
    let ids = order.sort_all(system);
    let masked = Masked::new(system, ids.iter().copied());
    // The slacks of the tasks that have bounds, by priority.
    let mut S: Vec<Option<i64>> = Vec::with_capacity(ids.len());
    let mut found = TaskMap::filled(None, ids.len());
    for (k, &id) in ids.iter().enumerate() {
        let mut best: Option<(i64, CpuSet)> = None;
        for part in masked.parts(k, || (0..k).collect()) {
            let Some(R) = response_on(&masked, k, &part, &S) else { continue };
            let better = best.as_ref().is_none_or(|(known, cpus)| {
                (R, cpus.len(), &part.cpus) < (*known, part.cpus.len(), cpus)
            });
            if better {
                best = Some((R, part.cpus));
            }
        }
        let [_, D_k, _] = masked.tasks[k].ns();
        S.push(best.as_ref().map(|(R, _)| D_k - R));
        found[id] = best.map(|(R, cpus)| (Duration::from_ns(R), cpus));
    }
    found
}

/// Returns `R_k` for this part, if its rivals have slacks and `R_k` is at most `D_k`.
fn response_on(masked: &Masked, k: usize, part: &CpuPart, S: &[Option<i64>]) -> Option<i64> {
    let [C_k, D_k, _] = masked.tasks[k].ns();
    let mut U = CpuSet::new();
    let mut rivals = Vec::with_capacity(part.rivals.len());
    for &i in &part.rivals {
        let contains = part.cpus.is_subset(&masked.masks[i]);
        if contains {
            U = U.union(&masked.masks[i]);
        }
        let tau_i = &masked.tasks[i];
        rivals.push((Carrier::new(tau_i, S[i]?), Growing::new(tau_i.into(), S[i]?), contains));
    }
    let carriers = U.len().saturating_sub(1);
    let mut more: Vec<i64> = Vec::with_capacity(rivals.len());
    response(C_k, D_k, part.cpus.len() as i64, |x| {
        let most = x - C_k + 1;
        let mut sum = 0i128;
        more.clear();
        for (carrier, tau_i, contains) in &mut rivals {
            if *contains {
                let [no, carried] = carrier.workloads(x).map(|W| W.min(most));
                sum += i128::from(no);
                more.push((carried - no).max(0));
            } else {
                // The rival may have waited for other CPUs before the window, with all of its C
                // left.
                sum += i128::from(tau_i.workload(x).min(most));
            }
        }
        sum + largest(&mut more, carriers)
    })
}

/// Returns *yes* if every task has a bound.
pub(super) fn finding(system: &System, bounds: &TaskMap<Option<Found>>) -> Finding {
    let late: Vec<TaskId> =
        bounds.iter().filter(|(_, bound)| bound.is_none()).map(|(id, _)| id).collect();
    if !late.is_empty() {
        let reasons = late.into_iter().map(Reason::MayBeLate).collect();
        return Finding { verdict: Verdict::Unknown, reasons };
    }
    let reason = |(id, bound): (TaskId, &Option<Found>)| {
        let (response, cpus) = bound.as_ref()?;
        let quantity = |length: Duration| Quantity::of_ns(length.ns().into());
        let (value, bound) = (quantity(*response), quantity(system.tasks[id].deadline));
        let scope = Scope::task(id, cpus);
        Some(Reason::compared("the response time", scope, value, bound, true))
    };
    Finding { verdict: Verdict::Yes, reasons: bounds.iter().filter_map(reason).collect() }
}

/// Returns the bounds without the parts.
pub(super) fn responses(bounds: &TaskMap<Option<Found>>) -> TaskMap<Option<ResponseBound>> {
    let response = |(task, bound): (TaskId, &Option<Found>)| {
        bound.as_ref().map(|&(response, _)| ResponseBound::new(task, response))
    };
    bounds.iter().map(response).collect()
}

/// Returns the finding and the bounds.
pub(super) fn both(
    system: &System,
    bounds: &TaskMap<Option<Found>>,
) -> (Finding, TaskMap<Option<ResponseBound>>) {
    (finding(system, bounds), responses(bounds))
}

/// The slacks in the order of priorities, or the first task without one, for comparisons with tests
/// of global scheduling.
pub fn slacks(system: &System, order: PriorityOrder) -> Slacks {
    let bounds = bounds(system, order);
    let mut slacks = Vec::new();
    for (at, id) in order.sort_all(system).into_iter().enumerate() {
        match &bounds[id] {
            Some((response, _)) => slacks.push((system.tasks[id].deadline - *response).ns()),
            None => return Slacks::Late(at),
        }
    }
    Slacks::All(slacks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::{Service, Task};

    /// Two CPUs, and for each task `C`, `D`, `T` and the CPUs. `b` may wait for CPU 0 without
    /// having executed when `k` arrives, so that all of `b` comes before `k`: with releases at 0
    /// and 2 (`a`, `b`) and at 1 (`c`, `k`), `k` has a response time of 3.
    #[test]
    fn a_rival_that_waits_elsewhere_carries_in_all_of_its_job() {
        let tasks = [(1, 2, 2, "0-1"), (1, 2, 2, "0"), (1, 8, 8, "0-1"), (1, 2, 24, "0-1")].map(
            |(c, d, t, cpus)| {
                let (wcet, period) = (Service::from_ns(c), Duration::from_ns(t));
                let mut task = Task::implicit(format!("{c}/{t}"), wcet, period);
                (task.deadline, task.affinity) = (Duration::from_ns(d), cpus.parse().ok());
                task
            },
        );
        let system = System::new(2, tasks.to_vec());
        let found: Vec<Option<i64>> = bounds(&system, PriorityOrder::RateMonotonic)
            .values()
            .map(|bound| bound.as_ref().map(|(response, _)| response.ns()))
            .collect();
        assert_eq!(found[3], None, "{found:?}");
    }
}
