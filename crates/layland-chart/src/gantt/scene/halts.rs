//! The times at which jobs do not progress by themselves: they
//! spin, suspend themselves, or wait for locks off their CPUs.

use super::TaskRow;
use layland_model::{JobId, Time};
use layland_trace::{Halt, Halts, Segment, Why};

/// A time for which a job waits for a lock and keeps its CPU.
#[derive(Clone, Copy)]
pub(in crate::gantt) struct Spin {
    pub job: JobId,
    pub from: Time,
    pub to: Time,
}

/// Returns the times at which a job spins in a segment.
pub(super) fn spins(segment: &Segment, halts: &Halts) -> impl Iterator<Item = Spin> {
    let Segment { job, start, end, .. } = *segment;
    let all = halts.of_task(job.task);
    let until = all.partition_point(|halt| halt.from < end);
    let during = all[..until].iter().rev();
    let during = during.take_while(move |halt| halt.job == job && start < halt.to);
    // A job that gets a lock at once has a wait of zero length.
    let waits = during.filter(|halt| matches!(halt.why, Why::Waits(_)) && halt.from < halt.to);
    waits.map(move |halt| Spin { job, from: halt.from.max(start), to: halt.to.min(end) })
}

/// Removes from the waits of a job the times at which it suspends itself or waits for a lock,
/// because it is not ready then. The first `already` waits belong to earlier jobs.
pub(super) fn halt(row: &mut TaskRow, already: usize, job: JobId, end: Time, halts: &Halts) {
    let all = halts.of_task(job.task);
    // The halts are in the order of time, and so are the jobs.
    let first = all.partition_point(|halt| halt.job < job);
    for halt in all[first..].iter().take_while(|halt| halt.job == job) {
        let Halt { from, why, .. } = *halt;
        let to = halt.to.min(end);
        if from >= to {
            continue;
        }
        match why {
            Why::Suspends => row.suspensions.push((from, to)),
            Why::Waits(_) => {}
            Why::GivesBack(_) => continue,
        }
        // Backwards, because `splice` shifts the later waits.
        for at in (already..row.waits.len()).rev() {
            let (start, stop) = row.waits[at];
            if from < stop && start < to {
                let parts = [(start, from.min(stop)), (to.max(start), stop)];
                row.waits.splice(at..=at, parts.into_iter().filter(|(start, stop)| start < stop));
            }
        }
    }
}
