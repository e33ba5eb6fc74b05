//! Busy periods of a run, and the activity of the CPUs in them.
//!
//! A busy period begins with a common release of the tasks and ends when no job is pending. It is
//! determined in the run of the baseline; under another policy, the execution of the same *jobs* is
//! compared. So the work is the same for a policy that idles with jobs pending, or whose busy
//! period extends into later arrivals.

use layland_model::{Duration, JobId, Time};
use layland_trace::{JobEnd, JobRecord, Trace};
use std::collections::{BTreeMap, BTreeSet};

/// A busy period that begins with a common release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BusyPeriod {
    /// The arrival of the first jobs.
    pub start: Time,
    /// The jobs that arrive before it ends.
    pub jobs: BTreeSet<JobId>,
}

/// The busy periods that begin at multiples of the hyperperiod with no job pending, by the number
/// of the multiple. Busy periods with a job that did not complete are omitted: the run ended, or
/// the machine lost the job.
pub(super) fn busy_periods(trace: &Trace, hyperperiod: Duration) -> BTreeMap<u64, BusyPeriod> {
    let mut jobs: Vec<&JobRecord> = trace.jobs.iter().collect();
    jobs.sort_by_key(|record| (record.job.arrival, record.job.id));
    let mut found = BTreeMap::new();
    let mut next = 0;
    while let Some(first) = jobs.get(next) {
        // Collect all jobs that arrive before the end of earlier ones. An idle instant ends a busy
        // period, even if jobs arrive at it.
        let start = first.job.arrival;
        let (mut end, mut is_complete) = (start, true);
        let mut period = BusyPeriod { start, jobs: BTreeSet::new() };
        while let Some(record) = jobs.get(next) {
            if record.job.arrival > start && record.job.arrival >= end {
                break;
            }
            match record.end {
                Some((at, JobEnd::Completed)) => end = end.max(at),
                Some((at, JobEnd::Aborted | JobEnd::Left)) => {
                    (end, is_complete) = (end.max(at), false);
                }
                None => (end, is_complete) = (trace.over, false),
            }
            period.jobs.insert(record.job.id);
            next += 1;
        }
        let since = start.since_start().ns();
        if is_complete && since % hyperperiod.ns() == 0 {
            found.insert((since / hyperperiod.ns()) as u64, period);
        }
    }
    found
}

/// The total time for which the CPUs run the jobs of a busy period, summed over the CPUs: switches
/// and other interruptions of a job are in its segments. `None` if a job did not complete.
pub(super) fn busy(trace: &Trace, period: &BusyPeriod) -> Option<Duration> {
    end(trace, period)?;
    let segments = trace.segments.iter().filter(|segment| period.jobs.contains(&segment.job));
    Some(segments.map(|segment| segment.end - segment.start).sum())
}

/// The completion of the last job of a busy period. `None` if a job did not complete.
pub(super) fn end(trace: &Trace, period: &BusyPeriod) -> Option<Time> {
    let of_period = trace.jobs.iter().filter(|record| period.jobs.contains(&record.job.id));
    let ends: Option<Vec<Time>> = of_period.map(JobRecord::completion).collect();
    ends.filter(|ends| ends.len() == period.jobs.len())?.into_iter().max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::{CpuId, Service, TaskId};
    use layland_trace::{Job, Segment};

    const HYPERPERIOD: Duration = Duration::from_ms(20);

    fn id(task: u32, seq: u64) -> JobId {
        JobId { task: TaskId(task), seq }
    }

    /// A job: task, number, arrival and segments in milliseconds. It completes with its last
    /// segment.
    type Row<'a> = (u32, u64, i64, &'a [(i64, i64)]);

    fn trace(jobs: &[Row], over: i64) -> Trace {
        let at = Time::from_ms;
        let mut trace = Trace { over: at(over), ..Trace::default() };
        for &(task, seq, arrival, pieces) in jobs {
            let (job, cpu, overhead) = (id(task, seq), CpuId(0), Duration::ZERO);
            let segment =
                |&(start, end)| Segment { job, cpu, start: at(start), end: at(end), overhead };
            trace.segments.extend(pieces.iter().map(segment));
            let (arrival, deadline) = (at(arrival), at(arrival + 20));
            trace.jobs.push(JobRecord {
                job: Job { id: job, arrival, release: arrival, deadline },
                end: pieces.last().map(|&(_, end)| (at(end), JobEnd::Completed)),
                executed: Service::ZERO,
            });
        }
        trace
    }

    /// Two tasks of 3 ms every 4 ms (from 8 ms on: every 12 ms) and 5 ms every 20 ms.
    fn baseline() -> Trace {
        trace(
            &[
                (0, 0, 0, &[(0, 3)]),
                (1, 0, 0, &[(3, 4), (7, 8)]),
                (0, 1, 4, &[(4, 7)]),
                // This job arrives in the idle instant: it begins another busy period, which does
                // not start with a common release.
                (0, 2, 8, &[(8, 11)]),
                (0, 3, 20, &[(20, 23)]),
                (1, 1, 20, &[(23, 25)]),
                (0, 4, 40, &[(40, 43)]),
                (1, 2, 40, &[]),
            ],
            45,
        )
    }

    #[test]
    fn a_busy_period_is_what_arrives_before_the_cpu_is_idle_again() {
        let found = busy_periods(&baseline(), HYPERPERIOD);
        // The third busy period is not complete.
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), [0, 1]);
        assert_eq!(found[&0].jobs, [id(0, 0), id(0, 1), id(1, 0)].into());
        assert_eq!(found[&1].jobs, [id(0, 3), id(1, 1)].into());
        assert_eq!(found[&1].start, Time::from_ms(20));
        let busy = |at: u64| busy(&baseline(), &found[&at]);
        assert_eq!([busy(0), busy(1)], [Duration::from_ms(8), Duration::from_ms(5)].map(Some));
        assert_eq!(end(&baseline(), &found[&0]), Some(Time::from_ms(8)));
    }

    #[test]
    fn another_policy_is_measured_by_the_same_jobs() {
        // The second task waits while the CPU is idle, and a later job runs before it ends.
        let other = trace(
            &[
                (0, 0, 0, &[(0, 4)]),
                (0, 1, 4, &[(4, 7)]),
                (0, 2, 8, &[(9, 12)]),
                (1, 0, 0, &[(12, 13), (15, 17)]),
                (0, 3, 20, &[(20, 24)]),
                (1, 1, 20, &[]),
            ],
            40,
        );
        let found = busy_periods(&baseline(), HYPERPERIOD);
        assert_eq!(busy(&other, &found[&0]), Some(Duration::from_ms(10)));
        assert_eq!(end(&other, &found[&0]), Some(Time::from_ms(17)));
        // A job is pending or was lost, so there is nothing to compare.
        assert_eq!(busy(&other, &found[&1]), None);
        let lost = trace(&[(0, 3, 20, &[(20, 23)])], 40);
        assert_eq!(busy(&lost, &found[&1]), None);
    }

    #[test]
    fn a_busy_period_may_reach_into_the_next_hyperperiod() {
        let long = trace(
            &[
                (0, 0, 0, &[(0, 30)]),
                (0, 1, 20, &[(30, 40)]),
                (0, 2, 40, &[(40, 45)]),
                (0, 3, 60, &[(60, 61)]),
            ],
            80,
        );
        let found = busy_periods(&long, HYPERPERIOD);
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), [0, 2, 3]);
        assert_eq!(found[&0].jobs.len(), 2);
    }
}
