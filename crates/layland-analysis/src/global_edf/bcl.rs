//! BCL, a test for global EDF by interference in the window of each job (Bertogna, Cirinei, Lipari
//! 2005). **Sufficient.**
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) `D_i <= T_i`,
//! (4) `C_i <= D_i`, (5) WCETs are kept, (6) overheads are part of `C_i`, (7) unit speeds, (8) no
//! affinities within a cluster, (9) nothing changes while the system runs, (10) few pairs of tasks
//! share a CPU.
//!
//! The paper's `beta_i` is the workload of `tau_i` in a window of length `D_k`, divided by `D_k`,
//! and its `lambda_k = C_k / D_k`; here all terms are multiplied by `D_k`, so that integers decide.

#![expect(non_snake_case, reason = "symbols of the paper")]

use super::workload::rivals;
use super::{ALGORITHMS, PAIRED};
use crate::group::{Group, together};
use crate::{
    Certify, Citation, Decide, Finding, Quantity, Reason, SchedulabilityTest, Scope, Sporadic,
    Subject, TestKind, Verdict,
};
use layland_model::Task;

/// Bertogna, Cirinei and Lipari 2005.
pub const BERTOGNA: Citation = Citation {
    key: "bertogna2005improved",
    text: "M. Bertogna, M. Cirinei and G. Lipari. Improved schedulability analysis of EDF on \
           multiprocessor platforms. ECRTS 2005, pages 209-218.",
    bibtex: "@inproceedings{bertogna2005improved,
  author    = {Marko Bertogna and Michele Cirinei and Giuseppe Lipari},
  title     = {Improved Schedulability Analysis of {EDF} on Multiprocessor Platforms},
  booktitle = {17th Euromicro Conference on Real-Time Systems (ECRTS)}, pages = {209--218}, year = {2005},
  doi       = {10.1109/ECRTS.2005.18}
}",
};

/// BCL, for each cluster.
///
/// ```
/// use layland_analysis::{Verdict, global_edf::bcl};
/// use layland_model::{Duration, Service, System, Task};
/// let tasks = [(12, 20), (35, 50), (15, 20)]
///     .map(|(c, t)| Task::implicit(format!("{c}/{t}"), Service::from_ms(c), Duration::from_ms(t)));
/// let finding = bcl::TEST.run(&System::new(3, tasks.to_vec())).unwrap();
/// assert_eq!(finding.verdict, Verdict::Yes);
/// ```
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "BCL",
    title: "interference test for global EDF",
    subject: Subject::Algorithms(ALGORITHMS),
    kind: TestKind::Sufficient,
    assumptions: PAIRED,
    citations: &[&BERTOGNA],
    certify: Certify::Reasons,
    decide: Decide::by(|system| together(Group::clusters(system).iter().map(bcl)))
        .or_sooner(|system| super::verdict_by(system, accepts)),
};

fn bcl(group: &Group<'_>) -> Finding {
    let m = i128::from(group.cpu_count());
    let mut reasons = Vec::new();
    for (at, &(id, tau_k)) in group.tasks.iter().enumerate() {
        // Theorem: sum over i != k of min(beta_i, 1 - lambda_k) < m (1 - lambda_k), or equality with
        // some 0 < beta_i <= 1 - lambda_k.
        let slack = i128::from(tau_k.deadline.ns() - tau_k.own_wcet().ns());
        let others = (group.tasks.iter().enumerate()).filter(|&(other, _)| other != at);
        let (mut sum, mut small) = (0, false);
        for (_, &(_, tau_i)) in others {
            let beta = workload(tau_i, tau_k);
            small |= 0 < beta && beta <= slack;
            sum += beta.min(slack);
        }
        let holds = sum < m * slack || (sum == m * slack && small);
        let reason = Reason::compared(
            "the interference with a job",
            Scope { interval: Some(tau_k.deadline), ..Scope::task(id, &group.cpus) },
            Quantity::of_ns(sum),
            Quantity::of_ns(m * slack),
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
/// CPUs. Decides without computing reasons.
pub fn accepts(tasks: &[Sporadic], cpus: usize) -> bool {
    let (m, rivals) = (cpus as i128, rivals(tasks));
    tasks.iter().enumerate().all(|(k, tau_k)| {
        let [C_k, D_k, _] = tau_k.ns();
        let slack = D_k - C_k;
        let (mut sum, mut small) = (0i128, false);
        for (i, tau_i) in rivals.iter().enumerate() {
            if i != k {
                // With no known slack: floor(D_k / T_i) C_i + min(C_i, D_k mod T_i).
                let beta = tau_i.interference(D_k).with_slack(0);
                small |= 0 < beta && beta <= slack;
                sum += i128::from(beta.min(slack));
            }
        }
        let room = m * i128::from(slack);
        sum < room || (sum == room && small)
    })
}

/// `beta_i D_k = N_i C_i + min(C_i, max(0, D_k - N_i T_i))` with
/// `N_i = floor((D_k - D_i) / T_i) + 1`.
fn workload(tau_i: &Task, tau_k: &Task) -> i128 {
    let [C_i, D_i, T_i] = [tau_i.own_wcet().ns(), tau_i.deadline.ns(), tau_i.period.ns()];
    let D_k = tau_k.deadline.ns();
    let N_i = (D_k - D_i).div_euclid(T_i) + 1;
    i128::from(N_i) * i128::from(C_i) + i128::from(C_i.min((D_k - N_i * T_i).max(0)))
}
