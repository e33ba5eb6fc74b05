//! How long the CPUs are busy in each hyperperiod of a run.

use layland_model::{Duration, Time};
use layland_trace::Trace;

/// The length of what the CPUs run in each complete hyperperiod, summed over them: switches and whatever
/// interrupts a job are in its segments.
pub fn busy(trace: &Trace, hyperperiod: Duration) -> Vec<Duration> {
    let mut found = Vec::new();
    let mut start = Time::ZERO;
    while start + hyperperiod <= trace.over {
        let next = start + hyperperiod;
        let segments = trace.segments.iter();
        let within = segments.map(|segment| segment.end.min(next) - segment.start.max(start));
        let sum = within.filter(|&length| length > Duration::ZERO).map(Duration::ns).sum();
        found.push(Duration::from_ns(sum));
        start = next;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::{CpuId, JobId, TaskId};
    use layland_trace::Segment;

    #[test]
    fn segments_count_in_the_hyperperiods_that_they_touch() {
        let at = Time::from_ms;
        let job = JobId { task: TaskId(0), seq: 0 };
        let segment = |cpu, start, end| Segment {
            job,
            cpu: CpuId(cpu),
            start: at(start),
            end: at(end),
            overhead: Duration::ZERO,
        };
        let segments =
            vec![segment(0, 0, 3), segment(1, 0, 9), segment(0, 8, 12), segment(0, 21, 24)];
        let trace = Trace { segments, over: at(25), ..Trace::default() };
        let found = busy(&trace, Duration::from_ms(10));
        assert_eq!(found, [Duration::from_ms(14), Duration::from_ms(2)]);
    }
}
