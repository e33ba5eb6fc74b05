//! [`TaskRow`] and [`Tally`]: a task of a group, its ready job, and its figures.

use super::least::NEVER;
use layland_model::TaskId;

/// No CPU, and no job.
pub(super) const NOBODY: u32 = u32::MAX;

/// A task and its ready job. Every event reads one, so it fits in a pair of cache lines.
#[derive(Clone, Debug)]
#[repr(align(128))]
pub(super) struct TaskRow {
    pub id: TaskId,
    /// The arrival of the next job.
    pub next: u64,
    pub period: u64,
    pub demand: u64,
    /// The relative deadline.
    pub relative: u64,
    /// The key of a job is its arrival times this number, plus the next one: the number is zero if
    /// all jobs have the same key.
    pub key_per_arrival: u64,
    pub key_at_zero: u64,
    /// The demand that is left of the ready job, while it does not run.
    pub left: u64,
    pub arrival: u64,
    pub seq: u64,
    /// The time until which the task ran last.
    pub last_time: u64,
    /// The CPU that runs the job, or [`NOBODY`].
    pub cpu: u32,
    /// The CPU on which the task ran last, or [`NOBODY`].
    pub last_cpu: u32,
    pub ready: bool,
    /// True if the next job has arrived and waits for this one to end.
    pub blocked: bool,
    pub joined: bool,
    /// True if the ready job has executed.
    pub has_run: bool,
}

impl TaskRow {
    pub(super) fn new(id: TaskId) -> TaskRow {
        TaskRow {
            id,
            next: 0,
            period: 0,
            demand: 0,
            relative: 0,
            key_per_arrival: 0,
            key_at_zero: 0,
            left: 0,
            arrival: 0,
            // The first release makes the sequence number 0.
            seq: u64::MAX,
            last_time: 0,
            cpu: NOBODY,
            last_cpu: NOBODY,
            ready: false,
            blocked: false,
            joined: false,
            has_run: false,
        }
    }
}

/// The figures of a task that a recorder receives at the end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tally {
    pub completed: u64,
    pub sum_response: u64,
    pub min_response: u64,
    pub max_response: u64,
    pub preemptions: u64,
    pub migrations: u64,
    pub migrations_within_jobs: u64,
    pub shifts: u64,
}

pub(super) const NOTHING: Tally = Tally {
    completed: 0,
    sum_response: 0,
    min_response: NEVER,
    max_response: 0,
    preemptions: 0,
    migrations: 0,
    migrations_within_jobs: 0,
    shifts: 0,
};
