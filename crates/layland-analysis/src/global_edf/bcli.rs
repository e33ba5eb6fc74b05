//! BCLI, the iterative interference test for global EDF (Bertogna, Cirinei, Lipari 2009, Section 5).
//! **Sufficient.** Accepts all that [BCL](super::bcl) accepts.
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) `D_i <= T_i`,
//! (4) `C_i <= D_i`, (5) WCETs are kept, (6) overheads are part of `C_i`, (7) unit speeds, (8) no
//! affinities within a cluster, (9) nothing changes while the system runs, (10) there are few pairs of
//! tasks. Times are integers, as
//! all of Layland's are: hence the `+ 1`.
//!
//! | paper | meaning |
//! |---|---|
//! | `S_k` | slack of `tau_k` that is known so far, from 0 |
//! | `I_i^k` | what `tau_i` does to a job of `tau_k`, given `S_i` (`workload.rs`) |
//!
//! A job of `tau_k` has a slack of at least
//! `D_k - C_k - floor(sum over i != k of min(I_i^k, D_k - C_k + 1) / m)`, and the larger the slacks
//! are, the smaller is the interference: round by round, until every task meets its deadline, or
//! no slack grows.

#![expect(non_snake_case, reason = "symbols of the paper")]

use super::workload::{Interference, Pairs, rivals, share, sum};
use super::{ALGORITHMS, PAIRED, Slacks};
use crate::group::Group;
use crate::{
    Certify, Citation, ResponseTest, SchedulabilityTest, Shortcuts, Sporadic, Subject, TestKind,
};

/// Bertogna, Cirinei and Lipari 2009.
pub const BERTOGNA_2009: Citation = Citation {
    key: "bertogna2009schedulability",
    text: "M. Bertogna, M. Cirinei and G. Lipari. Schedulability analysis of global scheduling \
           algorithms on multiprocessor platforms. IEEE Transactions on Parallel and Distributed \
           Systems 20(4):553-566, 2009.",
    bibtex: "@article{bertogna2009schedulability,
  author  = {Marko Bertogna and Michele Cirinei and Giuseppe Lipari},
  title   = {Schedulability Analysis of Global Scheduling Algorithms on Multiprocessor Platforms},
  journal = {IEEE Transactions on Parallel and Distributed Systems},
  volume  = {20}, number = {4}, pages = {553--566}, year = {2009},
  doi     = {10.1109/TPDS.2008.129}
}",
};

/// The limit of rounds. Each round is sound; more rounds only accept more.
const ROUNDS: usize = 100;

/// BCLI, for each cluster.
///
/// ```
/// use layland_analysis::{Verdict, global_edf::{bcl, bcli}};
/// use layland_model::{Duration, Service, System, Task};
/// let tasks = [(3, 10), (3, 10), (5, 14)].iter().enumerate().map(|(at, &(c, t))| {
///     Task::implicit(at.to_string(), Service::from_ns(c), Duration::from_ns(t))
/// });
/// let system = System::new(2, tasks.collect());
/// // For the third task BCL counts 6 and 6 of the others against 2 * 9; BCLI accepts as well.
/// assert_eq!(bcl::TEST.run(&system).unwrap().verdict, Verdict::Yes);
/// assert_eq!(bcli::TEST.run(&system).unwrap().verdict, Verdict::Yes);
/// ```
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "BCLI",
    title: "iterative interference test for global EDF",
    subject: Subject::Algorithms(ALGORITHMS),
    kind: TestKind::Sufficient,
    assumptions: PAIRED,
    citations: &[&BERTOGNA_2009],
    certify: Certify::By(|system| super::steps(Group::clusters(system), slacks_by)),
    shortcuts: Shortcuts {
        verdict: Some(|system| super::verdict_by(system, accepts)),
        with_bounds: Some(|system| super::both_by_slacks(system, Group::clusters(system), slacks)),
    },
    decide: |system| super::by_slacks(Group::clusters(system), slacks),
};

/// The response bounds that the test finds.
pub const RESPONSES: ResponseTest = ResponseTest {
    name: "BCLI",
    title: "iterative interference test for global EDF",
    algorithms: ALGORITHMS,
    kind: TestKind::Sufficient,
    assumptions: PAIRED,
    citations: &[&BERTOGNA_2009],
    bound: |system| super::responses_by_slacks(system, Group::clusters(system), slacks),
};

/// The slacks that the test finds, or the first task without one.
pub fn slacks(tasks: &[Sporadic], cpus: usize) -> Slacks {
    grow(tasks, cpus, |_, _| {})
}

fn slacks_by(tasks: &[Sporadic], cpus: usize, grown: &mut dyn FnMut(usize, i64)) -> Slacks {
    grow(tasks, cpus, grown)
}

fn grow(tasks: &[Sporadic], cpus: usize, grown: impl FnMut(usize, i64)) -> Slacks {
    let (m, n) = (cpus as i64, tasks.len());
    let rivals = rivals(tasks);
    let pairs = Pairs::of(tasks, &rivals);
    let mut room = Vec::new();
    let slack = |k: usize, S: &[i64]| {
        let [C_k, D_k, _] = tasks[k].ns();
        let most = D_k - C_k + 1;
        let row = pairs.with(k, D_k, &mut room);
        let does = |(I_i, &S_i): (&Interference, &i64)| I_i.with_slack(S_i).min(most);
        let others = sum(row.iter().zip(S).map(does), most) - i128::from(does((&row[k], &S[k])));
        (others < i128::from(m) * i128::from(most)).then(|| D_k - C_k - share(others, m))
    };
    super::grow_slacks(n, ROUNDS, grown, |_, _| None, slack)
}

/// Whether the test accepts these tasks, which keep its assumptions, on this many CPUs.
pub fn accepts(tasks: &[Sporadic], cpus: usize) -> bool {
    matches!(slacks(tasks, cpus), Slacks::All(_))
}
