//! The ready jobs of a group, in the order of its inner policy.

use layland_model::{CpuId, Duration, InnerPolicy, JobId, TaskId, Time};
use std::collections::BTreeSet;

/// A ready job.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadyJob {
    pub(super) job: JobId,
    pub(super) deadline: Time,
    /// Its place in the order of arrival.
    pub(super) place: u64,
    /// True if it has executed.
    pub(super) has_started: bool,
    /// The CPU that ran it last.
    pub(super) last: Option<CpuId>,
    /// The rest of its turn.
    pub(super) slice: Duration,
}

/// The order of a ready job: the smaller one comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct JobKey {
    waits: bool,
    urgency: i64,
    place: u64,
    pub(super) task: TaskId,
}

/// The ready jobs of a group, best first.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    inner: InnerPolicy,
    /// True if a job that has begun is not preempted by others of its group.
    keeps_started: bool,
    keys: BTreeSet<JobKey>,
}

impl Queue {
    pub(super) fn new(inner: InnerPolicy) -> Queue {
        Queue { inner, keeps_started: !inner.is_preemptive(), keys: BTreeSet::new() }
    }

    /// Lets jobs that have begun come first, whatever the inner policy says.
    pub(super) fn keep_started(&mut self) {
        self.keeps_started = true;
    }

    /// Returns true if jobs that have begun come first.
    pub(super) fn keeps_started(&self) -> bool {
        self.keeps_started
    }

    /// The order of a ready job of a task with this priority and this rank.
    fn key(&self, ready: &ReadyJob, priority: i64, rank: usize) -> JobKey {
        let (urgency, place) = match self.inner {
            InnerPolicy::Fp | InnerPolicy::RoundRobin(_) | InnerPolicy::NonpreemptiveFp => {
                (priority, ready.place)
            }
            InnerPolicy::Edf | InnerPolicy::NonpreemptiveEdf => (ready.deadline.ns(), rank as u64),
            InnerPolicy::Fifo => (0, ready.place),
        };
        let waits = !(self.keeps_started && ready.has_started);
        JobKey { waits, urgency, place, task: ready.job.task }
    }

    pub(super) fn insert(&mut self, ready: &ReadyJob, priority: i64, rank: usize) {
        self.keys.insert(self.key(ready, priority, rank));
    }

    pub(super) fn remove(&mut self, ready: &ReadyJob, priority: i64, rank: usize) {
        self.keys.remove(&self.key(ready, priority, rank));
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The tasks of the ready jobs, best first.
    pub(super) fn tasks(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.keys.iter().map(|key| key.task)
    }

    /// The length of a turn, with turns.
    pub(super) fn quantum(&self) -> Option<Duration> {
        match self.inner {
            InnerPolicy::RoundRobin(quantum) => Some(quantum),
            InnerPolicy::Fp
            | InnerPolicy::Edf
            | InnerPolicy::Fifo
            | InnerPolicy::NonpreemptiveFp
            | InnerPolicy::NonpreemptiveEdf => None,
        }
    }
}
