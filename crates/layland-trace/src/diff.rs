//! Finds where two runs of one set first differ, and why ([`diff()`]): a run on a machine and its
//! simulation, or two policies, or two kernels.
//!
//! At every instant each CPU runs some job or none. An interval in which the two runs disagree for
//! no longer than a tolerance is *jitter*: it is counted, and its length is recorded. The first
//! longer interval is the difference. Its reason is the first of the following that holds for the
//! first CPU (by number) that differs, where `x` is the job that run A executes there and `y` the
//! job of run B:
//!
//! 1. [`Reason::Release`]: one of the two jobs is not released yet in the other run;
//! 2. [`Reason::Missing`]: one of them does not exist in the other run at all;
//! 3. [`Reason::Execution`]: one of them has ended in the other run, after a different amount of
//!    work;
//! 4. [`Reason::Place`]: the job runs in the other run too, on another CPU;
//! 5. [`Reason::Latency`]: the CPU is idle in one run, and that run dispatches the same job there
//!    later: an overhead, or another thread;
//! 6. [`Reason::Decision`]: none of these: with the same jobs pending, another one was chosen.

use crate::{JobRecord, Labels, Segment, Trace};
use layland_model::{CpuId, Duration, Index, JobId, Service, Time};
use std::collections::BTreeMap;
use std::fmt::Write;

/// One of the two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first.
    A,
    /// The second.
    B,
}

impl Side {
    fn other(self) -> Side {
        match self {
            Side::A => Side::B,
            Side::B => Side::A,
        }
    }
    /// The letter of the run.
    pub fn name(self) -> &'static str {
        match self {
            Side::A => "A",
            Side::B => "B",
        }
    }
}

/// The reason why the runs differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A job is released later in one of the runs.
    Release {
        /// The job.
        job: JobId,
        /// The run in which it is later.
        late: Side,
        /// The length of the delay.
        by: Duration,
    },
    /// A job is not part of one of the runs.
    Missing {
        /// The job.
        job: JobId,
        /// The run in which it is missing.
        from: Side,
    },
    /// A job needed a different amount of work.
    Execution {
        /// The job.
        job: JobId,
        /// The amount in A.
        a: Service,
        /// The amount in B.
        b: Service,
    },
    /// A job runs on another CPU.
    Place {
        /// The job.
        job: JobId,
        /// Its CPU in A.
        a: CpuId,
        /// Its CPU in B.
        b: CpuId,
    },
    /// A job is dispatched later in one of the runs although its CPU was free.
    Latency {
        /// The job.
        job: JobId,
        /// The run in which it is later.
        late: Side,
        /// The length of the delay.
        by: Duration,
    },
    /// Another job was chosen.
    Decision {
        /// The job in A.
        a: Option<JobId>,
        /// The job in B.
        b: Option<JobId>,
    },
}

/// The first difference that is longer than the tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Difference {
    /// The instant at which it begins.
    pub at: Time,
    /// Its length.
    pub length: Duration,
    /// The CPU; the lowest one if several differ.
    pub cpu: CpuId,
    /// The reason.
    pub reason: Reason,
}

/// The result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The first difference; `None` if the runs agree.
    pub first: Option<Difference>,
    /// The end of the shorter run: nothing is compared after it.
    pub until: Time,
    /// The number of disagreements of at most the tolerance, on each CPU before its first longer one.
    pub jitters: u64,
    /// The length of the longest of these.
    pub longest_jitter: Duration,
    /// The total length of these.
    pub total_jitter: Duration,
}

/// Compares two runs of one set. Tasks and CPUs have the same numbers in both.
///
/// ```
/// use layland_model::Duration;
/// use layland_trace::Trace;
/// use layland_trace::diff::diff;
/// let run = Trace::default();
/// assert_eq!(diff(&run, &run, Duration::ZERO).first, None);
/// ```
pub fn diff(a: &Trace, b: &Trace, tolerance: Duration) -> Comparison {
    let until = a.over.min(b.over);
    let (a, b) = (IndexedRun::new(a), IndexedRun::new(b));
    let mut times: Vec<Time> = (a.trace.segments.iter().chain(&b.trace.segments))
        .flat_map(|segment| [segment.start, segment.end])
        .filter(|&at| at < until)
        .collect();
    times.sort_unstable();
    times.dedup();
    let mut comparison = Comparison { until, ..Comparison::default() };
    let cpus = a.trace.cpu_count().max(b.trace.cpu_count());
    // For each CPU, the start of the current disagreement.
    let mut since: Vec<Option<Time>> = vec![None; cpus];
    let mut first: Option<(Time, Duration, CpuId)> = None;
    for (index, cpu) in (0..cpus).map(|index| (index, CpuId::from_index(index))) {
        let mut close = |from: Time, to: Time, comparison: &mut Comparison| {
            let length = to - from;
            if length > tolerance {
                // Strictly earlier: of differences at one instant, that of the lowest CPU stays.
                if first.is_none_or(|(at, _, _)| from < at) {
                    first = Some((from, length, cpu));
                }
                return true;
            }
            comparison.jitters += 1;
            comparison.longest_jitter = comparison.longest_jitter.max(length);
            comparison.total_jitter += length;
            false
        };
        for &at in &times {
            let agree = a.on(cpu, at) == b.on(cpu, at);
            match (agree, since[index]) {
                (false, None) => since[index] = Some(at),
                (true, Some(from)) => {
                    since[index] = None;
                    if close(from, at, &mut comparison) {
                        break;
                    }
                }
                (true, None) | (false, Some(_)) => {}
            }
        }
        if let Some(from) = since[index] {
            close(from, until, &mut comparison);
        }
    }
    comparison.first = first.map(|(at, length, cpu)| {
        let reason = reason(&a, &b, cpu, at, tolerance);
        Difference { at, length, cpu, reason }
    });
    comparison
}

/// A run, indexed for queries.
struct IndexedRun<'a> {
    trace: &'a Trace,
    by_cpu: BTreeMap<CpuId, Vec<&'a Segment>>,
    jobs: BTreeMap<JobId, &'a JobRecord>,
}

impl<'a> IndexedRun<'a> {
    fn new(trace: &'a Trace) -> Self {
        let mut by_cpu: BTreeMap<CpuId, Vec<&Segment>> = BTreeMap::new();
        for segment in &trace.segments {
            by_cpu.entry(segment.cpu).or_default().push(segment);
        }
        by_cpu.values_mut().for_each(|segments| segments.sort_by_key(|segment| segment.start));
        let jobs = trace.jobs.iter().map(|record| (record.job.id, record)).collect();
        IndexedRun { trace, by_cpu, jobs }
    }

    /// The job that a CPU runs from this time on.
    fn on(&self, cpu: CpuId, at: Time) -> Option<JobId> {
        let segments = self.by_cpu.get(&cpu)?;
        let after = segments.partition_point(|segment| segment.start <= at);
        let segment = segments.get(after.checked_sub(1)?)?;
        (segment.end > at).then_some(segment.job)
    }

    /// The CPU on which a job runs.
    fn cpu_of(&self, job: JobId, at: Time) -> Option<CpuId> {
        self.by_cpu.keys().copied().find(|&cpu| self.on(cpu, at) == Some(job))
    }

    /// The next time at which a CPU begins to run a job.
    fn next_start(&self, cpu: CpuId, job: JobId, at: Time) -> Option<Time> {
        let segments = self.by_cpu.get(&cpu)?;
        let from = segments.partition_point(|segment| segment.start < at);
        segments[from..].iter().find(|segment| segment.job == job).map(|segment| segment.start)
    }
}

fn reason(a: &IndexedRun, b: &IndexedRun, cpu: CpuId, at: Time, tolerance: Duration) -> Reason {
    let (x, y) = (a.on(cpu, at), b.on(cpu, at));
    // Each job that runs in one of the runs, with the other run.
    let pairs = || {
        let of_a = x.map(|job| (job, Side::A, a, b));
        let of_b = y.map(|job| (job, Side::B, b, a));
        [of_b, of_a].into_iter().flatten()
    };
    for (job, side, here, there) in pairs() {
        match there.jobs.get(&job) {
            None => return Reason::Missing { job, from: side.other() },
            Some(other) if other.job.release > at => {
                let own = here.jobs.get(&job).map_or(at, |record| record.job.release);
                let by = other.job.release - own;
                return Reason::Release { job, late: side.other(), by };
            }
            Some(_) => {}
        }
    }
    for (job, side, here, there) in pairs() {
        let (Some(own), Some(other)) = (here.jobs.get(&job), there.jobs.get(&job)) else {
            continue;
        };
        let is_over = other.end.is_some_and(|(end, _)| end <= at);
        let difference = (own.executed - other.executed).ns().abs();
        if is_over && difference > 0 {
            let (a, b) = match side {
                Side::A => (own.executed, other.executed),
                Side::B => (other.executed, own.executed),
            };
            return Reason::Execution { job, a, b };
        }
    }
    for (job, side, _, there) in pairs() {
        if let Some(other) = there.cpu_of(job, at) {
            let (a, b) = match side {
                Side::A => (cpu, other),
                Side::B => (other, cpu),
            };
            return Reason::Place { job, a, b };
        }
    }
    if x.is_none() || y.is_none() {
        for (job, side, _, there) in pairs() {
            let Some(later) = there.next_start(cpu, job, at) else { continue };
            // Only jitter of other tasks ran there in the meantime.
            let segments = there.by_cpu.get(&cpu).map_or(&[][..], Vec::as_slice);
            let is_free = segments
                .iter()
                .filter(|segment| segment.end > at && segment.start < later)
                .all(|segment| segment.end.min(later) - segment.start.max(at) <= tolerance);
            if is_free {
                return Reason::Latency { job, late: side.other(), by: later - at };
            }
        }
    }
    Reason::Decision { a: x, b: y }
}

impl Difference {
    /// Describes the difference in words.
    pub fn explain(&self, labels: &Labels) -> String {
        let name = |id: JobId| format!("{}#{}", labels.task(id.task), id.number());
        let chosen = |job: Option<JobId>| job.map_or_else(|| "nothing".to_owned(), name);
        let why = match self.reason {
            Reason::Release { job, late, by } => {
                format!("jitter: {} is released {by} later in {}", name(job), late.name())
            }
            Reason::Missing { job, from } => format!("{} is not in {}", name(job), from.name()),
            Reason::Execution { job, a, b } => {
                format!("execution: {} executes {a} in A and {b} in B", name(job))
            }
            Reason::Place { job, a, b } => {
                format!("another CPU: {} runs on CPU {a} in A and on CPU {b} in B", name(job))
            }
            Reason::Latency { job, late, by } => format!(
                "overhead: {} gets CPU {} {by} later in {}, though nothing of the set holds it",
                name(job),
                self.cpu,
                late.name()
            ),
            Reason::Decision { a, b } => format!(
                "another decision: CPU {} runs {} in A and {} in B",
                self.cpu,
                chosen(a),
                chosen(b)
            ),
        };
        format!("first difference at {} on CPU {}, for {}: {why}", self.at, self.cpu, self.length)
    }
}

/// Lists the segments of both runs around a time, side by side, at most `lines` before it and after
/// it.
pub fn context(a: &Trace, b: &Trace, labels: &Labels, at: Time, lines: usize) -> String {
    let mut rows: Vec<(&Segment, Side)> = (a.segments.iter().map(|segment| (segment, Side::A)))
        .chain(b.segments.iter().map(|segment| (segment, Side::B)))
        .collect();
    rows.sort_by_key(|(segment, side)| (segment.start, segment.cpu, *side == Side::B));
    let middle = rows.partition_point(|(segment, _)| segment.start < at);
    let from = middle.saturating_sub(lines);
    let to = (middle + lines.max(1)).min(rows.len());
    let mut text = String::new();
    for (index, (segment, side)) in rows.iter().enumerate().take(to).skip(from) {
        let here = if index == middle { ">" } else { " " };
        let name = format!("{}#{}", labels.task(segment.job.task), segment.job.number());
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{here} {}  CPU {}  {:>14} .. {:<14}  {name}",
            side.name(),
            segment.cpu,
            segment.start.to_string(),
            segment.end.to_string(),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, id, naive, segment};
    use proptest::prelude::*;

    fn ns(ns: i64) -> Duration {
        Duration::from_ns(ns)
    }

    /// Returns a run, and a changed copy of it.
    fn changed(change: impl Fn(&mut Trace)) -> (Trace, Trace) {
        let (_, a) = naive(2, &[(2, 5), (3, 6)], 12);
        let mut b = a.clone();
        change(&mut b);
        (a, b)
    }

    fn first(change: impl Fn(&mut Trace)) -> Difference {
        let (a, b) = changed(change);
        diff(&a, &b, ns(0)).first.unwrap()
    }

    #[test]
    fn each_reason_is_found() {
        let of = |trace: &Trace, job| trace.segments.iter().position(|s| s.job == job).unwrap();
        let record = |trace: &Trace, job| trace.jobs.iter().position(|r| r.job.id == job).unwrap();
        let late = first(|b| {
            let (segment, job) = (of(b, id(0, 1)), record(b, id(0, 1)));
            b.segments[segment].start += ns(1);
            b.segments[segment].end += ns(1);
            b.jobs[job].job.release += ns(1);
        });
        let reason = Reason::Release { job: id(0, 1), late: Side::B, by: ns(1) };
        assert_eq!((late.at, late.reason), (at(5), reason));

        let slow = first(|b| {
            let segment = of(b, id(0, 1));
            b.segments[segment].start += ns(1);
        });
        assert_eq!(slow.reason, Reason::Latency { job: id(0, 1), late: Side::B, by: ns(1) });

        let long = first(|b| {
            let (segment, job) = (of(b, id(0, 0)), record(b, id(0, 0)));
            b.segments[segment].end += ns(1);
            b.jobs[job].executed += Service::from_ns(1);
            b.jobs[job].end = Some((at(3), crate::JobEnd::Completed));
        });
        let (a, b) = (Service::from_ns(2), Service::from_ns(3));
        assert_eq!(long.reason, Reason::Execution { job: id(0, 0), a, b });

        let swapped = first(|b| {
            for segment in &mut b.segments {
                segment.cpu = CpuId(1 - segment.cpu.0);
            }
        });
        assert!(matches!(swapped.reason, Reason::Place { .. }), "{swapped:?}");

        let gone = first(|b| {
            b.jobs.retain(|record| record.job.id != id(1, 1));
            b.segments.retain(|segment| segment.job != id(1, 1));
        });
        assert_eq!(gone.reason, Reason::Missing { job: id(1, 1), from: Side::B });
    }

    #[test]
    fn another_choice_is_another_decision() {
        let (_, mut a) = naive(1, &[(2, 8), (3, 8)], 8);
        let mut b = a.clone();
        a.segments = vec![segment(id(0, 0), 0, 0, 2), segment(id(1, 0), 0, 2, 5)];
        b.segments = vec![segment(id(1, 0), 0, 0, 3), segment(id(0, 0), 0, 3, 5)];
        let found = diff(&a, &b, ns(0)).first.unwrap();
        assert_eq!(found.reason, Reason::Decision { a: Some(id(0, 0)), b: Some(id(1, 0)) });
        let labels = Labels {
            tasks: vec!["x".to_owned(), "y".to_owned()].into(),
            cpus: 1,
            ..Labels::default()
        };
        assert_eq!(
            found.explain(&labels),
            "first difference at 0ns on CPU 0, for 2ns: another decision: CPU 0 runs x#1 in A and y#1 in B"
        );
        assert_eq!(
            context(&a, &b, &labels, found.at, 2),
            "> A  CPU 0             0ns .. 2ns             x#1\n\
             \x20 B  CPU 0             0ns .. 3ns             y#1\n"
        );
    }

    proptest! {
        /// Runs agree with themselves, and jitter up to the tolerance is not a difference.
        #[test]
        fn jitter_is_no_difference(
            cpus in 1usize..3,
            tasks in prop::collection::vec((1i64..5, 5i64..12), 1..4),
            shifts in prop::collection::vec(0i64..4, 64),
        ) {
            let (_, trace) = naive(cpus, &tasks, 60);
            let a = crate::testing::stretched(trace, 10);
            prop_assert_eq!(diff(&a, &a, ns(0)).first, None);
            let mut b = a.clone();
            for (segment, shift) in b.segments.iter_mut().zip(shifts) {
                segment.start += ns(shift);
            }
            let comparison = diff(&a, &b, ns(4));
            prop_assert_eq!(comparison.first, None);
            prop_assert!(comparison.longest_jitter <= ns(4));
        }
    }
}
