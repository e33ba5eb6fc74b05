//! EDF with arbitrary affinities, analysed task by task as global EDF on a part of the task's CPUs:
//! the reduction of Gujarati, Cerqueira and Brandenburg 2013 with the response times of Bertogna
//! and Cirinei 2007. **Sufficient**, for every scheduler with the weak invariant: weak, strong and
//! hierarchical.
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) `D_i <= T_i`,
//! (4) `C_i <= D_i`, (5) WCETs are kept, (6) overheads are part of `C_i`, including those of
//! shifts, (7) unit speeds, (8) nothing changes while the system runs, (9) few pairs of tasks share
//! a CPU. Times are integers.
//!
//! | paper | meaning |
//! |---|---|
//! | `alpha_k`, `S` | the CPUs of `tau_k`, and a part of them (`reduction.rs`) |
//! | `R_k`, `S_k` | response bound; slack known so far, `D_k - R_k` |
//! | `W_i(L)`, `I_i^k` | the work of a rival in a window, and with deadlines in that of `J_k` (`workload.rs`) |
//!
//! **Proof.** Jobs are ordered by deadline, then rank, then task: `J_k` waits only for jobs before
//! it. Take the first job in that order with less slack than claimed. Every job before it, its own
//! predecessor included, has the claimed slack. While it waits, every CPU of `S` runs a job before
//! it, of a rival (`reduction.rs`). In a window of length `R` from its release, rival `tau_i`
//! executes for at most `W_i(R)`, and with deadlines up to that of `J_k` for at most `I_i^k`, both
//! given the slack of `tau_i`. So `J_k` waits for at most
//! `floor(sum of min(W_i(R), I_i^k, R - C_k + 1) / |S|)` of the first `R`, as under global EDF on
//! `|S|` CPUs, and has its slack. The claims grow round by round from 0, and the result of a round
//! still holds with the larger slacks of later rounds. In the end, claims are used only if every
//! task has one.
//!
//! GFB, BAK, BAR, LOAD and FF-DBF count the work of all CPUs from the first instant at which not
//! all of them are busy, and bound the work that is left at that instant. With affinities a CPU can
//! be idle while many jobs wait, so these tests do not apply.

#![expect(non_snake_case, reason = "symbols of the papers")]

use super::fixed_priority::{DERIVED, Found, finding, responses};
use super::reduction::{CpuPart, Masked};
use crate::global_edf::rta::{BERTOGNA_CIRINEI, response_among};
use crate::global_edf::workload::rivals;
use crate::{
    Certify, Citation, Decide, Respond, ResponseBound, ResponseTest, SchedulabilityTest, Subject,
    TestKind,
};
use layland_model::{Algorithm, CpuSet, Duration, Form, Order, System, TaskMap};

/// The limit of rounds. Each round is sound; more rounds only accept more.
const ROUNDS: usize = 100;

/// The policies that the test is about.
const ALGORITHMS: &[Algorithm] = &[
    Algorithm::Ordered(Form::Weak, Order::Deadline),
    Algorithm::Ordered(Form::Strong, Order::Deadline),
    Algorithm::Ordered(Form::Hierarchical, Order::Deadline),
];

/// Response times under EDF with affinities.
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "APA-EDF",
    title: "response times under EDF with affinities",
    subject: Subject::Algorithms(ALGORITHMS),
    kind: TestKind::Sufficient,
    assumptions: DERIVED,
    citations: &[&Citation::GUJARATI, &BERTOGNA_CIRINEI],
    certify: Certify::Reasons,
    decide: Decide::with_bounds(|system| {
        let bounds = bounds(system);
        (finding(system, &bounds), if_all(&bounds))
    }),
};

/// The response bounds of the test, if every task has one.
pub const RESPONSES: ResponseTest = ResponseTest {
    name: "APA-EDF",
    title: "response times under EDF with affinities",
    algorithms: ALGORITHMS,
    kind: TestKind::Sufficient,
    assumptions: DERIVED,
    citations: &[&Citation::GUJARATI, &BERTOGNA_CIRINEI],
    bound: Respond::Alone(|system| if_all(&bounds(system))),
    by_rank: None,
};

/// The bounds rest on each other: returns all or none.
fn if_all(bounds: &TaskMap<Option<Found>>) -> TaskMap<Option<ResponseBound>> {
    if bounds.values().all(Option::is_some) {
        responses(bounds)
    } else {
        TaskMap::filled(None, bounds.len())
    }
}

/// The findings for each task of a system that keeps the assumptions: a response time at most its
/// deadline, and the part of its CPUs for which it was found. These are bounds only if every task
/// has one.
///
/// ```
/// use layland_analysis::affinity::edf::bounds;
/// use layland_model::{Duration, Service, System, Task};
/// let tasks = [(4, 5, "0"), (4, 10, "0-1")].map(|(c, t, cpus)| {
///     let mut task = Task::implicit(cpus, Service::from_ms(c), Duration::from_ms(t));
///     task.affinity = cpus.parse().ok();
///     task
/// });
/// let found = bounds(&System::new(2, tasks.to_vec()));
/// // The second task always ends 6 ms before its deadline, and so never delays the first one.
/// assert!(found.values().all(Option::is_some));
/// ```
pub fn bounds(system: &System) -> TaskMap<Option<Found>> {
    let count = system.tasks.len();
    let masked = Masked::new(system, system.tasks.ids());
    let parts: Vec<Vec<CpuPart>> =
        (0..count).map(|k| masked.parts(k, || (0..count).filter(|&i| i != k).collect())).collect();
    let mut S = vec![0i64; count];
    let mut best: Vec<Option<(i64, CpuSet)>> = vec![None; count];
    let (tasks, mut room) = (rivals(&masked.tasks), Vec::with_capacity(count));
    // `changes` counts the slacks that grew. A task is analysed again only if slacks of others have
    // grown since its last analysis.
    let (mut changes, mut asked) = (0usize, vec![usize::MAX; count]);
    for _ in 0..ROUNDS {
        let mut grown = false;
        for k in 0..count {
            if asked[k] == changes {
                continue;
            }
            for part in &parts[k] {
                let m = part.cpus.len() as i64;
                let others = part.rivals.iter().copied();
                let R = response_among(&masked.tasks[k], others, &tasks, &S, m, &mut room);
                if let Some(R) = R
                    && best[k].as_ref().is_none_or(|(known, _)| R < *known)
                {
                    best[k] = Some((R, part.cpus.clone()));
                }
            }
            if let Some((R, _)) = &best[k] {
                let slack = masked.tasks[k].deadline.ns() - R;
                if slack > S[k] {
                    (S[k], grown) = (slack, true);
                    changes += 1;
                }
            }
            asked[k] = changes;
        }
        if !grown || best.iter().all(Option::is_some) {
            break;
        }
    }
    best.into_iter().map(|bound| bound.map(|(R, cpus)| (Duration::from_ns(R), cpus))).collect()
}
