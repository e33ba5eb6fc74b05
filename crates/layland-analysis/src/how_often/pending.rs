//! The probability that a job is late under given arrivals, where late jobs are aborted, or later
//! ones skipped: the distribution over the sets of pending jobs, from one event to the next.
//!
//! The backlog alone is not enough here, since a job that is dropped takes its own work away.

use super::numbers::product;
use super::periodic::Judged;
use super::task::OneCpuOrder;
use super::{Chance, Mass, Rounding};
use layland_model::{OnMiss, Time};
use std::collections::{BTreeMap, BTreeSet};

/// A pending job: its place in the order of jobs, its task, its arrival and its remaining work.
type Pending = ((i64, usize, i64), usize, i64, i64);

impl Judged<'_> {
    pub(super) fn by_pending_jobs(
        &self,
        on_miss: OnMiss,
        arrivals: &[Vec<Time>],
        job_at: Time,
    ) -> Chance {
        let of = |rounding| self.miss(on_miss, arrivals, job_at.ns(), rounding);
        Chance { low: of(Rounding::Down), high: of(Rounding::Up).at_most_one() }
    }

    fn miss(&self, on_miss: OnMiss, arrivals: &[Vec<Time>], r: i64, rounding: Rounding) -> Mass {
        let (k, deadline) = (self.task, |i: usize| self.tasks[i].deadline);
        let place = |i: usize, at: i64| match self.order {
            OneCpuOrder::FixedPriority => (0, i, at),
            OneCpuOrder::EarliestDeadline => (at + deadline(i), i, at),
        };
        let mut all: Vec<(i64, usize)> = Vec::new();
        for i in self.level() {
            all.extend(arrivals[i].iter().map(|at| (at.ns(), i)));
        }
        all.sort_unstable();
        let end = r + deadline(k);
        let mut events: BTreeSet<i64> =
            all.iter().flat_map(|&(at, i)| [at, at + deadline(i)]).filter(|at| *at < end).collect();
        events.insert(end);
        let amounts: Vec<Vec<(i64, u128)>> = self
            .tasks
            .iter()
            .map(|task| {
                let amounts = task.amounts(1, 1).into_iter();
                amounts.map(|(time, rate)| (time, Mass::of(&rate, rounding).0)).collect()
            })
            .collect();
        let is_judged = |job: &Pending| (job.1, job.2) == (k, r);
        let mut late = 0u128;
        let mut now = events.first().copied().unwrap_or(0);
        let mut states = BTreeMap::from([(Vec::<Pending>::new(), Mass::ONE.0)]);
        for &event in &events {
            // Completions, then deadlines.
            let mut next: BTreeMap<Vec<Pending>, u128> = BTreeMap::new();
            for (mut jobs, mass) in std::mem::take(&mut states) {
                run(&mut jobs, event - now);
                if event == end && jobs.iter().any(is_judged) {
                    late += mass;
                    continue;
                }
                if on_miss == OnMiss::Abort {
                    jobs.retain(|job| job.2 + deadline(job.1) > event);
                }
                *next.entry(jobs).or_default() += mass;
            }
            now = event;
            // Arrivals, in the order of tasks.
            for &(_, i) in all.iter().filter(|(at, _)| *at == event && event < end) {
                let mut after: BTreeMap<Vec<Pending>, u128> = BTreeMap::new();
                for (jobs, mass) in std::mem::take(&mut next) {
                    if on_miss == OnMiss::Skip && jobs.iter().any(|job| job.1 == i) {
                        if (i, event) == (k, r) {
                            late += mass;
                        } else {
                            *after.entry(jobs).or_default() += mass;
                        }
                        continue;
                    }
                    for &(time, probability) in &amounts[i] {
                        let mut with = jobs.clone();
                        let job = (place(i, event), i, event, time);
                        let at = with.partition_point(|other| other.0 < job.0);
                        with.insert(at, job);
                        *after.entry(with).or_default() += product(mass, probability, rounding);
                    }
                }
                next = after;
            }
            states = next;
        }
        Mass(late)
    }
}

/// Runs the pending jobs for this time, the first one first.
fn run(jobs: &mut Vec<Pending>, mut time: i64) {
    let mut done = 0;
    for job in jobs.iter_mut() {
        let served = job.3.min(time);
        job.3 -= served;
        time -= served;
        if job.3 > 0 {
            break;
        }
        done += 1;
    }
    jobs.drain(..done);
}
