//! The fast tests for global EDF, from the cheapest to the most expensive, until one accepts.
//! **Sufficient.**
//!
//! The order: GFB, LOAD, BAK, BCLI (which accepts every set that BCL accepts), BAR, G-RTA, FF-DBF.
//! If every deadline equals the period, LOAD and FF-DBF accept no more sets than GFB, and are
//! skipped. [G-RTA-LC](super::limited) accepts a few more sets but takes as long as dozens of the
//! others together, so it runs only by its own name.
//!
//! Assumes the same as the tests: (1) jobs of a task at least a period apart, (2) no release
//! jitter, (3) `D_i <= T_i`, (4) `C_i <= D_i`, (5) WCETs are kept, (6) overheads are part of `C_i`,
//! (7) unit speeds, (8) no affinities within a cluster, (9) nothing changes while the system runs,
//! (10) few pairs of tasks share a CPU.

use super::{ALGORITHMS, PAIRED, bak, bar, bcli, ff_dbf, gfb, load, rta};
use crate::group::{Group, together};
use crate::sporadic::{SHIFT, load_above};
use crate::{
    Certify, Decide, Finding, Reason, SchedulabilityTest, Sporadic, Subject, TestKind, Verdict,
};

/// The combination, for each cluster.
///
/// ```
/// use layland_analysis::{Verdict, global_edf::combined};
/// use layland_model::{Duration, Service, System, Task};
/// let tasks = [(9, 10), (3, 10)].map(|(c, t)| {
///     Task::implicit(c.to_string(), Service::from_ns(c), Duration::from_ns(t))
/// });
/// let system = System::new(2, tasks.to_vec());
/// let finding = combined::TEST.run(&system).unwrap();
/// assert_eq!(finding.verdict, Verdict::Yes);
/// assert_eq!(finding.reasons[0].describe(&system), "BCLI accepts");
/// ```
pub const TEST: SchedulabilityTest = SchedulabilityTest {
    name: "GLOBAL-EDF",
    title: "the fast tests for global EDF until one accepts",
    subject: Subject::Algorithms(ALGORITHMS),
    kind: TestKind::Sufficient,
    assumptions: PAIRED,
    citations: &[
        &gfb::GOOSSENS,
        &load::BARUAH_BAKER,
        &bak::BAKER,
        &bcli::BERTOGNA_2009,
        &bar::BARUAH_2007,
        &rta::BERTOGNA_CIRINEI,
        &ff_dbf::BARUAH_2010,
    ],
    certify: Certify::Without("it names a test that accepts each cluster: ask for that test alone"),
    decide: Decide::by(|system| together(Group::clusters(system).iter().map(finding))),
};

fn finding(group: &Group<'_>) -> Finding {
    match accepted_by(&group.sporadic(), group.cpu_count() as usize) {
        Some(test) => Finding::new(Verdict::Yes, Reason::AcceptedBy(test)),
        None => Finding::new(Verdict::Unknown, Reason::Holds("no test for global EDF accepts")),
    }
}

type Accepts = fn(&[Sporadic], usize) -> bool;

/// The tests, each with true if it can accept more sets where all deadlines are periods.
const TESTS: [(&str, bool, Accepts); 7] = [
    ("GFB", true, gfb::accepts),
    ("LOAD", false, load::accepts),
    ("BAK", true, bak::accepts),
    ("BCLI", true, bcli::accepts),
    ("BAR", true, bar::accepts),
    ("G-RTA", true, rta::accepts),
    ("FF-DBF", false, ff_dbf::accepts),
];

/// Returns the test that accepts these tasks, which must keep the assumptions, on this many CPUs.
pub fn accepted_by(tasks: &[Sporadic], cpus: usize) -> Option<&'static str> {
    // The load exceeds the CPUs by more than the rounding error, so no test accepts it.
    if load_above(tasks) > ((cpus as u128) << SHIFT) + tasks.len() as u128 {
        return None;
    }
    let implicit = tasks.iter().all(|task| task.deadline == task.period);
    let (name, ..) =
        TESTS.iter().find(|(_, always, accepts)| (*always || !implicit) && accepts(tasks, cpus))?;
    Some(name)
}
