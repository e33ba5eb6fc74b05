//! Finds which threads wake which.

use super::observation::{Observation, SeenJob};
use layland_model::{Duration, Time};
use std::collections::BTreeMap;

/// The percentage of a thread's wake-ups that one thread must cause for a chain to be reported.
const LEAST_SHARE: usize = 50;

/// A thread that wakes another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The index of the waking thread among the threads of the observation.
    pub producer: usize,
    /// The index of the thread that is woken.
    pub consumer: usize,
    /// The number of the consumer's jobs that the producer caused.
    pub times: usize,
    /// The number of the consumer's jobs whose cause is in the trace.
    pub of: usize,
    /// True if the trace distinguishes wake-ups by a thread
    /// from those by an interrupt during its execution.
    pub is_certain: bool,
    /// The time from the arrival of the producer's job to the wake-up: least, median, most. `None`
    /// if the jobs of the producer are not in the trace.
    pub after: Option<[Duration; 3]>,
    /// The number of the producer's jobs that end when they have
    /// woken the consumer, or within another tenth of their length.
    pub at_end: usize,
}

/// Returns the chains that lead to these threads, in the order of the threads.
pub fn chains(seen: &Observation, threads: &[usize]) -> Vec<Chain> {
    let by_pid: BTreeMap<u32, usize> = (seen.threads.iter().enumerate())
        .filter_map(|(place, thread)| Some((thread.pid?, place)))
        .collect();
    threads.iter().filter_map(|&consumer| chain(seen, &by_pid, consumer)).collect()
}

fn chain(seen: &Observation, by_pid: &BTreeMap<u32, usize>, consumer: usize) -> Option<Chain> {
    let jobs = &seen.threads[consumer].jobs;
    let causes = jobs.iter().filter_map(|job| Some((job.arrival, job.woken_by?)));
    let causes: Vec<_> = causes.collect();
    let mut by_producer: BTreeMap<usize, Vec<Time>> = BTreeMap::new();
    for &(at, waker) in &causes {
        if waker.in_interrupt != Some(true)
            && let Some(&producer) = by_pid.get(&waker.pid)
            && producer != consumer
        {
            by_producer.entry(producer).or_default().push(at);
        }
    }
    // Of equally frequent producers, take the first.
    let (producer, at) =
        by_producer.into_iter().max_by_key(|(place, at)| (at.len(), std::cmp::Reverse(*place)))?;
    if at.len() * 100 < causes.len() * LEAST_SHARE || at.len() < 3 {
        return None;
    }
    let from = &seen.threads[producer].jobs;
    let of_job = |at: Time| {
        let job = from[..from.partition_point(|job| job.arrival <= at)].last()?;
        job.end.is_none_or(|end| at <= end).then_some((at, job))
    };
    let within: Vec<(Time, &SeenJob)> = at.iter().filter_map(|&at| of_job(at)).collect();
    let mut after: Vec<Duration> = within.iter().map(|(at, job)| *at - job.arrival).collect();
    after.sort_unstable();
    let is_end = |(at, job): &&(Time, &SeenJob)| {
        job.end.is_some_and(|end| (end - *at).ns() * 10 <= (end - job.arrival).ns())
    };
    let is_certain = causes.iter().all(|(_, waker)| waker.in_interrupt.is_some());
    let at_end = within.iter().filter(is_end).count();
    // An interrupt wakes threads while any thread runs.
    // Without flags, report only regular wake-ups.
    let is_regular = at_end * 10 >= at.len() * 9
        || (at.len() * 10 >= causes.len() * 9 && from.len().abs_diff(at.len()) * 10 <= at.len());
    if !is_certain && !is_regular {
        return None;
    }
    Some(Chain {
        producer,
        consumer,
        times: at.len(),
        of: causes.len(),
        is_certain,
        after: match (after.first(), after.get(after.len() / 2), after.last()) {
            (Some(&least), Some(&median), Some(&most)) => Some([least, median, most]),
            _ => None,
        },
        at_end,
    })
}
