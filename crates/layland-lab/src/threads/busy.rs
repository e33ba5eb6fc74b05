//! How long a CPU is busy in each hyperperiod of a run.

use layland_model::{CpuId, Duration, Time};
use layland_trace::Trace;

/// The length of what the CPU runs in each complete hyperperiod, with the time of each: switches and
/// whatever interrupts a job are in its segments.
pub fn busy(trace: &Trace, cpu: CpuId, hyperperiod: Duration) -> Vec<(Time, Duration)> {
    let mut found = Vec::new();
    let mut start = Time::ZERO;
    while start + hyperperiod <= trace.over {
        let next = start + hyperperiod;
        let segments = trace.segments.iter().filter(|segment| segment.cpu == cpu);
        let within = segments.map(|segment| segment.end.min(next) - segment.start.max(start));
        let sum = within.filter(|&length| length > Duration::ZERO).map(Duration::ns).sum();
        found.push((start, Duration::from_ns(sum)));
        start = next;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::{JobId, TaskId};
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
        let ms = |start, busy| (at(start), Duration::from_ms(busy));
        assert_eq!(busy(&trace, CpuId(0), Duration::from_ms(10)), [ms(0, 5), ms(10, 2)]);
    }
}
