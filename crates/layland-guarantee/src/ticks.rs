//! `--tick`: jobs arrive only at ticks, which tests do not consider.
//!
//! A *yes* and a bound cover more runs than there are, so they hold. A *no* rests on a pattern of
//! releases that may need jobs between ticks, such as one that arrives a nanosecond after the start
//! of a non-preemptive job. It becomes *unknown*, unless a run on ticks misses.

use crate::assessment::{Assessment, Bound, Said};
use layland_analysis::{Subject, TestKind, Verdict, catalogue};
use layland_model::{Duration, System};

/// Withdraws the answers that may not hold for jobs that arrive at ticks.
pub(crate) fn only(found: &mut Assessment, system: &System, tick: Duration) {
    for bound in found.bounds.values_mut() {
        if let Bound::Response { kind, .. } = bound {
            *kind = TestKind::Sufficient;
        }
    }
    let is_taken_back = |verdict: Verdict, by: Option<&str>| {
        let test = by.and_then(catalogue::test);
        let is_of_all = test.is_some_and(|test| test.subject == Subject::SomeScheduler);
        verdict == Verdict::No && !(is_of_all && has_dense_run(system, tick))
    };
    if found.without_affinities == Some(Verdict::No) {
        found.without_affinities = Some(Verdict::Unknown);
    }
    if found.refused.is_some() || !is_taken_back(found.verdict, found.decided_by) {
        return;
    }
    let why = format!(
        "{} refutes it for jobs that may come at any time, which says nothing of jobs at multiples of {tick:#}",
        found.decided_by.unwrap_or("a test"),
    );
    found.verdict = Verdict::Unknown;
    found.decided_by = None;
    found.reasons.insert(0, why);
    if let Some(proven) = &mut found.proven {
        proven.proof = Err("a miss may need jobs between ticks");
    }
}

/// Withdraws refutations of every scheduler, every partition or all priorities that may not hold
/// either.
pub fn on_ticks(whatever: &mut Vec<Said>, system: &System, tick: Duration) {
    let is_no =
        |said: &Said| (*said.finding).as_ref().is_ok_and(|finding| finding.verdict == Verdict::No);
    whatever.retain(|said| !is_no(said) || has_dense_run(system, tick));
}

/// Returns true if the densest run is on ticks: all tasks arrive together, and each as often as it
/// may. A test that refutes every scheduler refutes it by that run.
fn has_dense_run(system: &System, tick: Duration) -> bool {
    let is_whole = |length: Duration| length.ns() % tick.ns() == 0;
    let is_on_ticks = |task: &layland_model::Task| {
        is_whole(task.period) && is_whole(task.offset) && task.jitter == Duration::ZERO
    };
    system.tasks.values().all(is_on_ticks)
}
