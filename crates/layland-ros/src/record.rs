//! What an executor did.

use layland_model::{Duration, Service, Time};

/// One run of a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The callback, by index.
    pub callback: usize,
    /// Its number among the activations of the callback, from 0.
    pub number: u64,
    /// When it was activated.
    pub activation: Time,
    /// The activation from outside from which it stems: its own, or that of the first callback of its chain.
    pub origin: Time,
    /// The callback of that activation.
    pub source: usize,
    /// When it began.
    pub start: Time,
    /// When it ended, or [`Time::NEVER`] if the supply ended before.
    pub finish: Time,
    /// What it executed.
    pub work: Service,
    /// On which thread.
    pub thread: usize,
}

/// What an executor did, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The jobs in the order in which they began.
    pub jobs: Vec<Job>,
    /// The polling points at which something was found.
    pub polls: Vec<Time>,
    /// Activations that never began, because the supply ended.
    pub waiting: usize,
}

impl Record {
    /// The longest time from an activation of a callback to the end of its job.
    pub fn longest_response(&self, callback: usize) -> Option<Duration> {
        let jobs = self.ended().filter(|job| job.callback == callback);
        jobs.map(|job| job.finish - job.activation).max()
    }

    /// The longest time from an activation from outside of `source` to the end of a job of `end` that stems from it. If
    /// several chains lead from one to the other, this is the longest of all of them.
    pub fn longest_latency(&self, source: usize, end: usize) -> Option<Duration> {
        let jobs = self.ended().filter(|job| job.source == source && job.callback == end);
        jobs.map(|job| job.finish - job.origin).max()
    }

    fn ended(&self) -> impl Iterator<Item = &Job> {
        self.jobs.iter().filter(|job| job.finish != Time::NEVER)
    }
}
