//! The interference test for EDZL, with slacks that grow (after Cirinei and Baker 2007). **Sufficient.**
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) `D_i <= T_i`,
//! (4) `C_i <= D_i`, (5) WCETs are kept, (6) overheads are part of `C_i`, (7) unit speeds, (8) no
//! affinities within a cluster, (9) nothing changes while the system runs, (10) there are few pairs
//! of tasks. Times are integers, as everywhere in Layland.
//!
//! | symbol | meaning |
//! |---|---|
//! | `x_k` | `D_k - C_k`: the time that a job of `tau_k` can wait |
//! | `S_i` | slack: until a job is late, jobs of `tau_i` end at least this long before their deadlines |
//! | `W_i(k)` | the maximum work of `tau_i` in the window of a job of `tau_k`, given `S_i` (`workload.rs`) |
//! | `zero(k)` | `sum over i != k of min(W_i(k), x_k) >= m x_k`: a job of `tau_k` may run out of laxity |
//! | `miss(k)` | `sum over i != k of min(W_i(k), x_k + 1) >= m (x_k + 1)`: a job of `tau_k` may be late |
//!
//! Every deadline is met if at most `m` tasks may run out of laxity, or no task may be late.
//!
//! *Proof.* Consider the first instant at which a laxity turns negative. The job waits there
//! without laxity, so `m` others without laxity run: `m + 1` tasks have run out of laxity, each
//! after waiting for its whole `x_k`, and one of them for a unit more. A job that keeps a job of
//! `tau_k` from running has no laxity or is due no later. A job of `tau_i` that is due `y` later
//! and has no laxity runs without interruption until its deadline, so it executes for at most
//! `C_i - y` in the window, which is at most `W_i(k)`. Before that instant no job is late, so the
//! slacks hold.
//!
//! After a round that does not accept, each task that may not be late has the slack
//! `x_k - floor(sum over i != k of min(W_i(k), x_k + 1) / m)`, and the next round uses it. All
//! slacks of a round follow from those of the round before.
//!
//! Deviations: the paper's conditions were not available. They are in real time, with a strict
//! inequality for tasks that may be late; these are in integers, with the proof above.

#![expect(non_snake_case, reason = "symbols of the paper")]

use super::PAIRED;
use super::workload::{Pairs, rivals, share, sum};
use crate::group::{Group, together};
use crate::{
    Certify, Citation, Decide, Finding, Quantity, Reason, SchedulabilityTest, Scope, Sporadic,
    Subject, TestKind, Verdict,
};
use layland_model::{Algorithm, Rate};

/// Cirinei and Baker 2007.
pub const CIRINEI_BAKER: Citation = Citation {
    key: "cirinei2007edzl",
    text: "M. Cirinei and T. P. Baker. EDZL scheduling analysis. ECRTS 2007.",
    bibtex: "@inproceedings{cirinei2007edzl,
  author    = {Michele Cirinei and Theodore P. Baker},
  title     = {{EDZL} Scheduling Analysis},
  booktitle = {19th Euromicro Conference on Real-Time Systems (ECRTS)}, year = {2007}
}",
};

/// Han et al. 2006: jobs that execute for less than their WCETs end no later under EDZL.
pub const HAN: Citation = Citation {
    key: "han2006finish",
    text: "S. Han, H. Kim, X. Piao, M. Park, S. Cho and Y. Cho. Finish time predictability of earliest deadline zero \
           laxity algorithm for multiprocessor real-time systems. IEICE Transactions on Information and Systems \
           E89-D(12):2981-2984, 2006.",
    bibtex: "@article{han2006finish,
  author  = {Sangchul Han and Heeheon Kim and Xuefeng Piao and Minkyu Park and Seongje Cho and Yookun Cho},
  title   = {Finish Time Predictability of Earliest Deadline Zero Laxity Algorithm for Multiprocessor
             Real-Time Systems},
  journal = {IEICE Transactions on Information and Systems},
  volume  = {E89-D}, number = {12}, pages = {2981--2984}, year = {2006},
  doi     = {10.1093/ietisy/e89-d.12.2981}
}",
};

/// The limit of rounds. Each round is sound; more rounds only accept more.
const ROUNDS: usize = 100;

/// The test, for each cluster.
///
/// ```
/// use layland_analysis::{Verdict, global_edf::{combined, edzl}};
/// use layland_model::{Duration, Service, System, Task};
/// // Dhall's effect: EDF lets the heavy task wait for two light ones, EDZL does not.
/// let tasks = [(2, 10), (2, 10), (10, 11)].iter().enumerate().map(|(at, &(c, t))| {
///     Task::implicit(at.to_string(), Service::from_ms(c), Duration::from_ms(t))
/// });
/// let system = System::new(2, tasks.collect());
/// assert_eq!(combined::TEST.run(&system).unwrap().verdict, Verdict::Unknown);
/// assert_eq!(edzl::TEST.run(&system).unwrap().verdict, Verdict::Yes);
/// ```
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "EDZL",
    title: "interference test for EDZL",
    subject: Subject::Algorithms(&[Algorithm::Edzl]),
    kind: TestKind::Sufficient,
    assumptions: PAIRED,
    citations: &[&CIRINEI_BAKER, &HAN],
    certify: Certify::Without(
        "its slacks hold only until a job is late, which the steps of slacks do not say",
    ),
    decide: Decide::by(|system| together(Group::clusters(system).iter().map(finding)))
        .or_sooner(|system| super::verdict_by(system, accepts)),
};

/// The result of the test for tasks on their CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Laxities {
    /// Only these tasks may run out of laxity, at most as many as there are CPUs.
    FewRunOut(Vec<usize>),
    /// No task may be late.
    NoneLate,
    /// This task may be late, as far as the slacks of the others show, and more tasks may run out
    /// of laxity than there are CPUs.
    Late(usize),
}

/// Returns the result of the test, and the slacks of the tasks after its last round.
pub fn laxities(tasks: &[Sporadic], cpus: usize) -> (Laxities, Vec<i64>) {
    laxities_within(tasks, cpus, ROUNDS)
}

/// [`laxities`] with at most this number of rounds. One round is the test of Cirinei and Baker,
/// without slacks.
pub fn laxities_within(tasks: &[Sporadic], cpus: usize, rounds: usize) -> (Laxities, Vec<i64>) {
    let (m, count) = (cpus as i64, tasks.len());
    let rivals = rivals(tasks);
    let pairs = Pairs::of(tasks, &rivals);
    let mut room = Vec::new();
    let mut S = vec![0i64; count];
    for round in 1.. {
        let mut next = S.clone();
        let (mut run_out, mut late) = (Vec::new(), None);
        for (k, tau_k) in tasks.iter().enumerate() {
            let [C_k, D_k, _] = tau_k.ns();
            let x_k = D_k - C_k;
            let row = pairs.with(k, D_k, &mut room);
            // `sum over i != k of min(W_i(k), most)`.
            let others = |most: i64| {
                let all =
                    sum(row.iter().zip(&S).map(|(W_i, &S_i)| W_i.with_slack(S_i).min(most)), most);
                all - i128::from(row[k].with_slack(S[k]).min(most))
            };
            if others(x_k) >= i128::from(m) * i128::from(x_k) {
                run_out.push(k);
            }
            let blocked = others(x_k + 1);
            if blocked >= i128::from(m) * i128::from(x_k + 1) {
                late = late.or(Some(k));
            } else {
                next[k] = S[k].max(x_k - share(blocked, m));
            }
        }
        let Some(late) = late else { return (Laxities::NoneLate, next) };
        if run_out.len() <= cpus {
            return (Laxities::FewRunOut(run_out), next);
        }
        if next == S || round == rounds {
            return (Laxities::Late(late), next);
        }
        S = next;
    }
    unreachable!("the last round returns")
}

/// Returns true if the test accepts these tasks, which must keep its assumptions, on this many
/// CPUs.
pub fn accepts(tasks: &[Sporadic], cpus: usize) -> bool {
    !matches!(laxities(tasks, cpus).0, Laxities::Late(_))
}

fn finding(group: &Group<'_>) -> Finding {
    let whole = |count: usize| Quantity::Number(Rate::whole(count as i64));
    match laxities(&group.sporadic(), group.cpus.len()).0 {
        Laxities::NoneLate => Finding::new(
            Verdict::Yes,
            Reason::Holds("no task is kept from running for longer than its jobs can wait"),
        ),
        Laxities::FewRunOut(tasks) => Finding::new(
            Verdict::Yes,
            Reason::compared(
                "the number of tasks that may run out of laxity",
                Scope::cpus(&group.cpus),
                whole(tasks.len()),
                whole(group.cpus.len()),
                true,
            ),
        ),
        Laxities::Late(at) => Finding::new(Verdict::Unknown, Reason::MayBeLate(group.tasks[at].0)),
    }
}
