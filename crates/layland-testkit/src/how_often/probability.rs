//! Probabilities of misses under given arrivals, one unit of time after the other, in exact
//! rationals; and the greatest of them over all arrivals.

use layland_model::{OnMiss, Rate};
use std::collections::BTreeMap;

/// A task with random execution times; the first of a list has the highest priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowRandomTask {
    /// Execution times with their probabilities.
    pub times: Vec<(i64, Rate)>,
    /// The least time between two arrivals.
    pub period: i64,
    /// The relative deadline.
    pub deadline: i64,
}

/// A set on one CPU.
#[derive(Clone, Debug)]
pub struct SlowSet {
    /// The tasks.
    pub tasks: Vec<SlowRandomTask>,
    /// True for earliest deadline first, false for fixed priorities.
    pub is_edf: bool,
    /// The handling of late jobs.
    pub on_miss: OnMiss,
    /// The index of the judged task.
    pub judged: usize,
}

/// A pending job: task, arrival, remaining work.
type Pending = (usize, i64, i64);

impl SlowSet {
    /// The exact probability that the job of the judged task which arrives at `job_at` misses its
    /// deadline.
    pub fn miss(&self, arrivals: &[Vec<i64>], job_at: i64) -> Rate {
        let judged = (self.judged, job_at);
        let end = job_at + self.tasks[self.judged].deadline;
        let mut missed = Rate::ZERO;
        let mut states = BTreeMap::from([(Vec::<Pending>::new(), Rate::ONE)]);
        for now in 0..=end {
            let mut next: BTreeMap<Vec<Pending>, Rate> = BTreeMap::new();
            for (mut jobs, chance) in states {
                if now == end && jobs.iter().any(|&(i, at, _)| (i, at) == judged) {
                    missed = &missed + &chance;
                    continue;
                }
                if self.on_miss == OnMiss::Abort {
                    jobs.retain(|&(i, at, _)| at + self.tasks[i].deadline > now);
                }
                put(&mut next, jobs, chance);
            }
            for (i, of_task) in arrivals.iter().enumerate() {
                if !of_task.contains(&now) {
                    continue;
                }
                let mut after = BTreeMap::new();
                for (jobs, chance) in next {
                    let is_pending = jobs.iter().any(|job| job.0 == i);
                    if self.on_miss == OnMiss::Skip && is_pending {
                        if (i, now) == judged {
                            missed = &missed + &chance;
                        } else {
                            put(&mut after, jobs, chance);
                        }
                        continue;
                    }
                    for (time, rate) in &self.tasks[i].times {
                        let mut with = jobs.clone();
                        with.push((i, now, *time));
                        with.sort_unstable();
                        put(&mut after, with, &chance * rate);
                    }
                }
                next = after;
            }
            states = BTreeMap::new();
            for (mut jobs, chance) in next {
                let first = (0..jobs.len()).min_by_key(|&at| {
                    let (i, arrival, _) = jobs[at];
                    let due = if self.is_edf { arrival + self.tasks[i].deadline } else { 0 };
                    (due, i, arrival)
                });
                if let Some(first) = first {
                    jobs[first].2 -= 1;
                    if jobs[first].2 == 0 {
                        jobs.remove(first);
                    }
                }
                put(&mut states, jobs, chance);
            }
        }
        missed
    }

    /// The greatest probability over all arrivals from 0 on, with a job of the judged task at
    /// `job_at`.
    pub fn greatest(&self, job_at: i64) -> Rate {
        let end = job_at + self.tasks[self.judged].deadline;
        let mut all: Vec<Vec<Vec<i64>>> = vec![Vec::new()];
        for (i, task) in self.tasks.iter().enumerate() {
            let mut patterns = patterns(task.period, 0, end);
            if i == self.judged {
                patterns.retain(|pattern| pattern.contains(&job_at));
            }
            all = all
                .into_iter()
                .flat_map(|chosen| {
                    patterns.iter().map(move |pattern| {
                        let mut with = chosen.clone();
                        with.push(pattern.clone());
                        with
                    })
                })
                .collect();
        }
        let each = all.iter().map(|arrivals| self.miss(arrivals, job_at));
        each.max().unwrap_or(Rate::ZERO)
    }
}

/// All arrivals at least a period apart in `from..end`.
pub(super) fn patterns(period: i64, from: i64, end: i64) -> Vec<Vec<i64>> {
    let mut all = vec![Vec::new()];
    for first in from..end {
        for rest in patterns(period, first + period, end) {
            all.push([vec![first], rest].concat());
        }
    }
    all
}

fn put(states: &mut BTreeMap<Vec<Pending>, Rate>, jobs: Vec<Pending>, chance: Rate) {
    let sum = states.entry(jobs).or_insert(Rate::ZERO);
    *sum = &*sum + &chance;
}
