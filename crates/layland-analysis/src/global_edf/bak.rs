//! BAK, a test for global EDF by the load of a busy window before a miss (Baker 2003).
//! **Sufficient.**
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) `D_i <= T_i`,
//! (4) `C_i <= D_i`, (5) WCETs are kept, (6) overheads are part of `C_i`, (7) unit speeds, (8) no
//! affinities within a cluster, (9) nothing changes while the system runs.
//!
//! | paper | meaning |
//! |---|---|
//! | `lambda` | density of the task that is tested, `C_k / D_k` |
//! | `beta_i` | what `tau_i` contributes to the load of the window |

#![expect(non_snake_case, reason = "symbols of the paper")]

use super::{CONSTRAINED, POLICIES};
use crate::group::{Group, together};
use crate::{
    Citation, Finding, Kind, Quantity, Reason, SchedulabilityTest, Scope, Subject, Verdict,
};
use layland_model::{Rate, RateSum, Task};

/// Baker 2003.
pub const BAKER: Citation = Citation {
    key: "baker2003multiprocessor",
    text: "T. P. Baker. Multiprocessor EDF and deadline monotonic schedulability analysis. RTSS 2003, \
           pages 120-129.",
    bibtex: "@inproceedings{baker2003multiprocessor,
  author    = {Theodore P. Baker},
  title     = {Multiprocessor {EDF} and Deadline Monotonic Schedulability Analysis},
  booktitle = {24th IEEE Real-Time Systems Symposium (RTSS)}, pages = {120--129}, year = {2003}
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
    subject: Subject::Policies(POLICIES),
    kind: Kind::Sufficient,
    assumptions: CONSTRAINED,
    citations: &[&BAKER],
    decide: |system| together(Group::clusters(system).iter().map(bak)),
};

fn bak(group: &Group<'_>) -> Finding {
    let m = group.cpu_count();
    let mut reasons = Vec::new();
    for &(id, tau_k) in &group.tasks {
        // sum over i, k included, of min(1, beta_i) <= m (1 - lambda) + lambda.
        let lambda = tau_k.density();
        let bound = &Rate::whole(m) - &(&Rate::whole(m - 1) * &lambda);
        let mut sum = RateSum::default();
        group.tasks().for_each(|tau_i| sum.add(&beta(tau_i, tau_k, &lambda).min(Rate::ONE)));
        let holds = sum.fits(&Rate::ZERO, &bound);
        let reason = Reason::compared(
            "the load of a window before the deadline",
            Scope::task(id, &group.cpus),
            Quantity::Number(sum.exact()),
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

/// `beta_i = u_i (1 + (T_i - D_i) / D_k)`, and `(C_i - lambda T_i) / D_k` more if `u_i > lambda`.
fn beta(tau_i: &Task, tau_k: &Task, lambda: &Rate) -> Rate {
    let [C_i, D_i, T_i] = [tau_i.own_wcet().ns(), tau_i.deadline.ns(), tau_i.period.ns()];
    let D_k = tau_k.deadline.ns();
    let u_i = tau_i.utilization();
    let beta = &u_i * &Rate::new(D_k + T_i - D_i, D_k);
    if u_i <= *lambda {
        return beta;
    }
    let carried = &Rate::whole(C_i) - &(lambda * &Rate::whole(T_i));
    &beta + &(&carried / &Rate::whole(D_k))
}
