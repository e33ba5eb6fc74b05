//! Busy periods of a run: from a multiple of the hyperperiod to the first instant at which no job is
//! pending.

use layland_model::{Duration, Time};
use layland_trace::Trace;

/// Every complete busy period, in the order of time, of a run on one CPU. One that lasts for as long as the
/// hyperperiod is left out, as is one whose last job has not ended.
pub fn busy_periods(trace: &Trace, hyperperiod: Duration) -> Vec<(Time, Time)> {
    let mut jobs: Vec<(Time, Option<Time>)> = (trace.jobs.iter())
        .map(|record| (record.job.release, record.end.map(|(at, _)| at)))
        .collect();
    jobs.sort_by_key(|&(release, _)| release);
    let mut found = Vec::new();
    let mut start = Time::ZERO;
    while start < trace.over {
        let next = start + hyperperiod;
        let first = jobs.partition_point(|&(release, _)| release < start);
        let mut over = Some(start);
        for &(release, end) in &jobs[first..] {
            match over {
                Some(over) if release > over => break,
                Some(so_far) => over = end.map(|end| end.max(so_far)),
                None => break,
            }
        }
        found.extend(over.filter(|&over| over > start && over < next).map(|over| (start, over)));
        start = next;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::{JobId, Service, TaskId};
    use layland_trace::{Job, JobEnd, JobRecord};

    fn job(task: u32, release: i64, end: Option<i64>) -> JobRecord {
        let at = Time::from_ms;
        let id = JobId { task: TaskId(task), seq: 0 };
        let job =
            Job { id, arrival: at(release), release: at(release), deadline: at(release + 10) };
        let end = end.map(|end| (at(end), JobEnd::Completed));
        JobRecord { job, end, executed: Service::ZERO }
    }

    #[test]
    fn a_busy_period_ends_when_nothing_is_pending() {
        let hyperperiod = Duration::from_ms(100);
        let jobs = vec![
            job(0, 0, Some(3)),
            job(1, 0, Some(7)),
            // Released as the last one ends: the period goes on.
            job(0, 7, Some(9)),
            job(0, 20, Some(22)),
            job(0, 100, Some(104)),
            // Not over.
            job(0, 200, None),
        ];
        let trace = Trace { jobs, over: Time::from_ms(300), ..Trace::default() };
        let ms = |from, to| (Time::from_ms(from), Time::from_ms(to));
        assert_eq!(busy_periods(&trace, hyperperiod), [ms(0, 9), ms(100, 104)]);
        // As long as the hyperperiod: it may never end.
        assert_eq!(busy_periods(&trace, Duration::from_ms(9)), []);
    }
}
