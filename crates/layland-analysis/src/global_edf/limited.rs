//! Response-time analysis for global EDF with limited carry-in (Sun, Lipari 2015, by the windows of
//! Baruah 2007). **Sufficient.** Accepts every set that [G-RTA](super::rta) or [BAR](super::bar)
//! accepts, unless it gives up.
//!
//! Assumes: (1) jobs of a task at least a period apart, (2) no release jitter, (3) `D_i <= T_i`,
//! (4) `C_i <= D_i`, (5) WCETs are kept, (6) overheads are part of `C_i`, (7) unit speeds, (8) no
//! affinities within a cluster, (9) nothing changes while the system runs, (10) few pairs of tasks
//! share a CPU. Times are integers.
//!
//! | paper | meaning |
//! |---|---|
//! | `A_k` | from the last instant before which some CPU ran no job that comes before that of `tau_k`, to its release |
//! | `W^NC`, `W^CI` | work in a window of length `A_k + R_k` of jobs due within `A_k + D_k`, without and with a job carried in |
//! | `R_k`, `S_k` | response bound; slack, `D_k - R_k` |
//!
//! `R_k` is a bound if for all `A_k >= 0` it is at least
//! `C_k - A_k + floor((sum of W^NC and of the m - 1 largest W^CI - W^NC) / m)`, each `W` at most
//! `A_k + R_k - C_k + 1`; or if it is a response time by G-RTA. The slacks grow round by round, as
//! in G-RTA. On one CPU the test is exact. The proof is in `delay/mod.rs`, with one set of CPUs for
//! all tasks.
//!
//! Deviations: `W` counts a job only if it is due in time *and* executes in the window, by the
//! worst distance between the two ends, where the paper takes the smaller of two bounds; a
//! carried-in job has executed for a unit, as in Guan et al. 2009. The lengths `A_k` are limited by
//! the time for which the CPUs can be busy, and a search from above covers all lengths up to there,
//! as in BAR. The test gives up after a fixed number of steps.

use super::{ALGORITHMS, PAIRED, Slacks};
use crate::delay::crowds::{Delay, shared};
use crate::delay::slacks::{MOST_TASKS, under_edf};
use crate::global_edf::bar::BARUAH_2007;
use crate::group::Group;
use crate::{
    Certify, Citation, Decide, Respond, ResponseTest, SchedulabilityTest, Sporadic, Subject,
    TestKind,
};
use layland_model::CpuSet;

/// Sun and Lipari 2015.
pub const SUN_LIPARI: Citation = Citation {
    key: "sun2015response",
    text: "Y. Sun and G. Lipari. Response time analysis with limited carry-in for global earliest \
           deadline first scheduling. RTSS 2015, pages 130-140.",
    bibtex: "@inproceedings{sun2015response,
  author    = {Youcheng Sun and Giuseppe Lipari},
  title     = {Response Time Analysis with Limited Carry-In for Global Earliest Deadline First
               Scheduling},
  booktitle = {36th IEEE Real-Time Systems Symposium (RTSS)}, pages = {130--140}, year = {2015},
  doi       = {10.1109/RTSS.2015.20}
}",
};

/// The test, for each cluster.
///
/// ```
/// use layland_analysis::{Verdict, global_edf::{limited, rta}};
/// use layland_model::{Duration, Service, System, Task};
/// // One CPU, which is full: EDF does that.
/// let tasks = [(2, 4), (3, 6)].map(|(c, t)| {
///     Task::implicit(t.to_string(), Service::from_ns(c), Duration::from_ns(t))
/// });
/// let system = System::new(1, tasks.to_vec());
/// assert_eq!(rta::TEST.run(&system).unwrap().verdict, Verdict::Unknown);
/// assert_eq!(limited::TEST.run(&system).unwrap().verdict, Verdict::Yes);
/// ```
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "G-RTA-LC",
    title: "response-time analysis for global EDF with limited carry-in",
    subject: Subject::Algorithms(ALGORITHMS),
    kind: TestKind::Sufficient,
    assumptions: PAIRED,
    citations: &[&SUN_LIPARI, &BARUAH_2007],
    certify: Certify::Without(
        "that a window of any length has room is a search, which has no short form",
    ),
    decide: Decide::with_bounds(|system| {
        super::both_by_slacks(system, Group::clusters(system), slacks)
    })
    .or_sooner(|system| super::verdict_by(system, accepts)),
};

/// The response bounds of the test.
pub const RESPONSES: ResponseTest = ResponseTest {
    name: "G-RTA-LC",
    title: "response-time analysis for global EDF with limited carry-in",
    algorithms: ALGORITHMS,
    kind: TestKind::Sufficient,
    assumptions: PAIRED,
    citations: &[&SUN_LIPARI, &BARUAH_2007],
    bound: Respond::Alone(|system| {
        super::responses_by_slacks(system, Group::clusters(system), slacks)
    }),
    by_rank: None,
};

/// Returns the slacks of the tasks, or the first task without one.
pub fn slacks(tasks: &[Sporadic], cpus: usize) -> Slacks {
    let (all, count) = (CpuSet::first(cpus), tasks.len());
    if count > MOST_TASKS {
        return Slacks::GaveUp;
    }
    let delays: Vec<Vec<Delay>> = (0..count).map(|k| vec![shared(&all, count, k)]).collect();
    let found = under_edf(tasks, &delays);
    let slack = |(tau_k, found): (&Sporadic, &Option<(i64, usize)>)| {
        found.map(|(R, _)| tau_k.deadline.ns() - R)
    };
    match found.iter().position(Option::is_none) {
        Some(late) => Slacks::Late(late),
        None => Slacks::All(tasks.iter().zip(&found).filter_map(slack).collect()),
    }
}

/// Returns true if the test accepts these tasks, which must keep its assumptions, on this many
/// CPUs.
pub fn accepts(tasks: &[Sporadic], cpus: usize) -> bool {
    matches!(slacks(tasks, cpus), Slacks::All(_))
}
