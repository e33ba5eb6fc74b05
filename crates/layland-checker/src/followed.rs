//! Jobs that wait for jobs of other tasks ([`Graph`](layland_model::Graph)), and when those jobs
//! complete in the trace.

use layland_model::{JobId, System, Time};
use layland_trace::{JobEnd, JobRecord, Trace};

/// For each job whose task follows others, returns the latest completion among the jobs with its
/// number of those tasks, or [`Time::NEVER`] if one of them did not complete. Empty if no task
/// follows another one.
///
/// `by_id` has the positions of the jobs in the order of their identifiers.
pub(crate) fn ends(trace: &Trace, system: &System, by_id: &[usize]) -> Vec<Option<Time>> {
    if !system.has_followers() {
        return Vec::new();
    }
    let end_of = |id: JobId| match record_of(trace, by_id, id).and_then(|record| record.end) {
        Some((at, JobEnd::Completed)) => at,
        Some((_, JobEnd::Aborted | JobEnd::Left)) | None => Time::NEVER,
    };
    let followed = |record: &JobRecord| {
        let JobId { task, seq } = record.job.id;
        let follows = &system.tasks.get(task)?.follows;
        follows.iter().map(|&task| end_of(JobId { task, seq })).max()
    };
    trace.jobs.iter().map(followed).collect()
}

/// Returns the job of a trace with this identifier.
pub(crate) fn record_of<'t>(trace: &'t Trace, by_id: &[usize], id: JobId) -> Option<&'t JobRecord> {
    let at = by_id.partition_point(|&at| trace.jobs[at].job.id < id);
    by_id.get(at).map(|&at| &trace.jobs[at]).filter(|record| record.job.id == id)
}
