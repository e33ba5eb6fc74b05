//! The record of an execution.

use layland_model::{Duration, Service, Time};

/// One run of a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The callback, by index.
    pub callback: usize,
    /// Its number among the activations of the callback, from 0.
    pub number: u64,
    /// The time of its activation.
    pub activation: Time,
    /// The activation from outside that caused it: its own, or that of the first callback of its
    /// chain.
    pub origin: Time,
    /// The callback of that activation.
    pub source: usize,
    /// The time at which it began.
    pub start: Time,
    /// The time at which it ended, or [`Time::NEVER`] if the supply ended first.
    pub finish: Time,
    /// The work that it executed.
    pub work: Service,
    /// The thread on which it ran.
    pub thread: usize,
}

/// The actions of an executor, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The jobs in the order in which they began.
    pub jobs: Vec<Job>,
    /// The polling points that found an activation.
    pub polls: Vec<Time>,
    /// The number of activations whose jobs never began, because the supply ended.
    pub waiting: usize,
}

impl Record {
    /// The longest time from an activation of a callback to the end of its job.
    pub fn longest_response(&self, callback: usize) -> Option<Duration> {
        let jobs = self.ended().filter(|job| job.callback == callback);
        jobs.map(|job| job.finish - job.activation).max()
    }

    /// The longest time from an activation from outside of `source` to the end of a job of `end`
    /// that it caused. If several chains lead from one to the other, this is the longest over all
    /// of them.
    pub fn longest_latency(&self, source: usize, end: usize) -> Option<Duration> {
        let jobs = self.ended().filter(|job| job.source == source && job.callback == end);
        jobs.map(|job| job.finish - job.origin).max()
    }

    fn ended(&self) -> impl Iterator<Item = &Job> {
        self.jobs.iter().filter(|job| job.finish != Time::NEVER)
    }
}
