//! The state of a job.

use crate::State;
use layland_model::{JobId, ResourceId, TaskId, TaskMap, Time};

/// A job that is not over.
#[derive(Clone, Debug)]
pub(super) struct LockingJob {
    pub(super) id: JobId,
    pub(super) deadline: Time,
    /// The time at which it became ready, by its release or the end of its last suspension.
    pub(super) ready: Time,
    pub(super) doing: Doing,
    /// True if it was selected since its release, or since its last suspension.
    pub(super) begun: bool,
    /// The resources that it holds, in the order of its grants.
    pub(super) held: Vec<LockedResource>,
    /// The resource that it has requested and does not hold yet, with the number of the request.
    pub(super) asked: Option<LockedResource>,
}

/// A resource, and the number of the request or the grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LockedResource {
    pub(super) resource: ResourceId,
    pub(super) at: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// It can have a CPU: it executes there, spins, or tries to get its requested resource.
    Ready,
    /// It waits for a resource that another job holds. The field is the holder, if the holder
    /// inherits its priority.
    Waits(Option<TaskId>),
    /// It suspends itself.
    Suspends,
}

/// Saves the state that decisions depend on, for the job of each task.
pub(super) fn save(
    jobs: &TaskMap<Option<LockingJob>>,
    queue_in_levels: bool,
    now: Time,
    state: &mut State,
) {
    // Only the order of the numbers of requests and grants matters.
    let mut numbers: Vec<u64> = Vec::new();
    let pending = || jobs.values().flatten();
    for job in pending() {
        numbers.extend(job.held.iter().chain(&job.asked).map(|held| held.at));
    }
    numbers.sort_unstable();
    let save = |held: &LockedResource, state: &mut State| {
        state.number(i64::from(held.resource.0));
        state.number(numbers.partition_point(|&at| at < held.at) as i64);
    };
    for job in jobs.values() {
        let Some(job) = job else {
            state.number(-1);
            continue;
        };
        state.number(match job.doing {
            Doing::Ready => 0,
            Doing::Suspends => 1,
            Doing::Waits(None) => 2,
            Doing::Waits(Some(task)) => 3 + i64::from(task.0),
        });
        state.time(job.deadline, now);
        if queue_in_levels {
            state.time(job.ready, now);
        }
        state.number(i64::from(job.begun));
        state.number(job.held.len() as i64);
        job.held.iter().for_each(|held| save(held, state));
        state.number(i64::from(job.asked.is_some()));
        job.asked.iter().for_each(|asked| save(asked, state));
    }
}
