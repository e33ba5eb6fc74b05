//! Response-time analysis for global EDF (Bertogna, Cirinei 2007). **Sufficient.** Accepts all that
//! [BCLI](super::bcli) accepts.
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) `D_i <= T_i`,
//! (4) `C_i <= D_i`, (5) WCETs are kept, (6) overheads are part of `C_i`, (7) unit speeds, (8) no
//! affinities within a cluster, (9) nothing changes while the system runs, (10) there are few pairs of
//! tasks. Times are integers.
//!
//! | paper | meaning |
//! |---|---|
//! | `R_k` | bound on the response times of `tau_k`: the least fixed point of `C_k + floor(sum over i != k of min(W_i(R), I_i^k, R - C_k + 1) / m)` |
//! | `S_k` | slack, `D_k - R_k` |
//! | `W_i`, `I_i^k` | what `tau_i` can do (`workload.rs`) |
//!
//! Rounds as in BCLI. Deviations: before the rounds a task is looked for that is late whatever they do, with
//! response times that only grow, from `C_k` on, and the slacks that these leave. And `R_k` is a point at
//! or a little above the least fixed point, as the search for it takes steps of at least a 64th of
//! `D_k - C_k`.

#![expect(non_snake_case, reason = "symbols of the paper")]

use super::workload::{Rival, rivals, share, sum};
use super::{ALGORITHMS, PAIRED, Slacks};
use crate::group::Group;
use crate::{Certify, Citation, ResponseTest, SchedulabilityTest, Sporadic, Subject, TestKind};

/// Bertogna and Cirinei 2007.
pub const BERTOGNA_CIRINEI: Citation = Citation {
    key: "bertogna2007response",
    text: "M. Bertogna and M. Cirinei. Response-time analysis for globally scheduled symmetric \
           multiprocessor platforms. RTSS 2007, pages 149-160.",
    bibtex: "@inproceedings{bertogna2007response,
  author    = {Marko Bertogna and Michele Cirinei},
  title     = {Response-Time Analysis for Globally Scheduled Symmetric Multiprocessor Platforms},
  booktitle = {28th IEEE Real-Time Systems Symposium (RTSS)}, pages = {149--160}, year = {2007},
  doi       = {10.1109/RTSS.2007.31}
}",
};

/// The limit of rounds, and of the passes before them.
const ROUNDS: usize = 50;

/// These passes end when no response time grows by more than this part of `D_k - C_k`: then they come near a
/// fixed point.
const LEAST_GROWTH: i64 = 256;

/// So often the cap `R - C_k + 1` is raised in one pass, for one task.
const STEPS: usize = 64;

/// RTA, for each cluster.
///
/// ```
/// use layland_analysis::{Verdict, global_edf::{bcli, rta}};
/// use layland_model::{Duration, Service, System, Task};
/// let tasks = [(2, 5), (2, 6), (3, 10)].iter().enumerate().map(|(at, &(c, t))| {
///     Task::implicit(at.to_string(), Service::from_ns(c), Duration::from_ns(t))
/// });
/// let system = System::new(2, tasks.collect());
/// assert_eq!(rta::TEST.run(&system).unwrap().verdict, Verdict::Yes);
/// ```
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "G-RTA",
    title: "response-time analysis for global EDF",
    subject: Subject::Algorithms(ALGORITHMS),
    kind: TestKind::Sufficient,
    assumptions: PAIRED,
    citations: &[&BERTOGNA_CIRINEI],
    certify: Certify::By(|system| super::steps(Group::clusters(system), slacks_by)),
    decide: |system| super::by_slacks(Group::clusters(system), slacks),
};

/// The response bounds that the test finds.
pub const RESPONSES: ResponseTest = ResponseTest {
    name: "G-RTA",
    title: "response-time analysis for global EDF",
    algorithms: ALGORITHMS,
    kind: TestKind::Sufficient,
    assumptions: PAIRED,
    citations: &[&BERTOGNA_CIRINEI],
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
    let (rivals, mut room) = (rivals(tasks), Vec::with_capacity(n));
    let mut response = |k: usize, S: &[i64]| {
        response_among(&tasks[k], (0..n).filter(|&i| i != k), &rivals, S, m, &mut room)
    };
    if let Some(k) = surely_late(tasks, &rivals, m) {
        return Slacks::Late(k);
    }
    super::grow_slacks(n, ROUNDS, grown, |k, S| Some(tasks[k].deadline.ns() - response(k, S)?))
}

/// A task that no round can help: `R` is at most every response time that the rounds can come to, and still
/// above its deadline. From `R_k = C_k` on, with the slacks `D_i - R_i` that no task exceeds. What the others
/// do at most is taken from the pass before, which is no more than they do.
fn surely_late(tasks: &[Sporadic], rivals: &[Rival], m: i64) -> Option<usize> {
    let n = tasks.len();
    let mut R: Vec<i64> = tasks.iter().map(|tau_i| tau_i.wcet.ns()).collect();
    let mut S: Vec<i64> = tasks.iter().map(|tau_i| tau_i.deadline.ns() - tau_i.wcet.ns()).collect();
    let mut most = Vec::with_capacity(n);
    for _ in 0..ROUNDS {
        let mut grows = false;
        for k in 0..n {
            let [C_k, D_k, _] = tasks[k].ns();
            let before = R[k];
            most.clear();
            let of = |(tau_i, &S_i): (&Rival, &i64)| {
                let I_i = tau_i.interference(D_k).with_slack(S_i);
                I_i.min(tau_i.workload(before, S_i))
            };
            most.extend(rivals[..k].iter().zip(&S[..k]).map(of));
            most.extend(rivals[k + 1..].iter().zip(&S[k + 1..]).map(of));
            for _ in 0..STEPS {
                let others = sum(most.iter().map(|&most| most.min(R[k] - C_k + 1)));
                let next = C_k + share(others, m);
                if next <= R[k] {
                    break;
                }
                if next > D_k {
                    return Some(k);
                }
                R[k] = next;
            }
            S[k] = D_k - R[k];
            grows |= R[k] - before > (D_k - C_k) / LEAST_GROWTH;
        }
        if !grows {
            return None;
        }
    }
    None
}

/// The data that the search for `R_k` needs of another task.
#[derive(Clone, Copy)]
pub(crate) struct Other {
    tau_i: Rival,
    S_i: i64,
    /// `I_i^k`, which does not depend on `R`.
    I_i: i64,
}

/// `R_k` if it is at most `D_k`, where only these other tasks interfere. `room` is memory to use again.
pub(crate) fn response_among(
    tau_k: &Sporadic,
    others: impl Iterator<Item = usize>,
    rivals: &[Rival],
    S: &[i64],
    m: i64,
    room: &mut Vec<Other>,
) -> Option<i64> {
    let [C_k, D_k, _] = tau_k.ns();
    room.clear();
    room.extend(others.map(|i| {
        let (tau_i, S_i) = (rivals[i], S[i]);
        Other { tau_i, S_i, I_i: tau_i.interference(D_k).with_slack(S_i) }
    }));
    // Tasks that cannot interfere, whatever R is.
    room.retain(|other| other.I_i > 0);
    // What a task does grows with R until it is all that it can do, I_i: from then on it is not asked again while R
    // grows. Those that are still asked are in front.
    let (mut asked, mut settled, mut last) = (room.len(), 0i128, C_k);
    super::fixed_point_bound(C_k, D_k, |R| {
        if R < last {
            (asked, settled) = (room.len(), 0);
        }
        last = R;
        let most = R - C_k + 1;
        let (mut others, mut at) = (settled, 0);
        while at < asked {
            let Other { tau_i, S_i, I_i } = room[at];
            let does = I_i.min(most).min(tau_i.workload(R, S_i));
            others += i128::from(does);
            if does == I_i {
                settled += i128::from(does);
                asked -= 1;
                room.swap(at, asked);
            } else {
                at += 1;
            }
        }
        C_k + share(others, m)
    })
}

/// Whether the test accepts these tasks, which keep its assumptions, on this many CPUs.
pub fn accepts(tasks: &[Sporadic], cpus: usize) -> bool {
    matches!(slacks(tasks, cpus), Slacks::All(_))
}
