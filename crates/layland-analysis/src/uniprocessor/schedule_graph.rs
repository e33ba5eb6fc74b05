//! The schedule-abstraction graph: which finish times non-preemptive jobs can have on one CPU.
//!
//! A job is released anywhere between two times and executes for anything between two amounts. The
//! policy is work-conserving, and jobs have fixed priorities that are known before the run: of the
//! jobs that are ready when the CPU gets free, the one of the highest priority begins. Such schedules
//! have anomalies: an earlier release or a shorter execution can make another job late, so no single
//! run proves anything.
//!
//! A vertex of the graph is a set of jobs that were dispatched, with the interval `[E, F]` of the
//! instants at which the CPU may get free of them. Of the jobs that are left, `j` may be next if
//! `first <= last`:
//!
//! ```text
//! first = max(E, rmin_j)
//! wc    = max(F, min over the jobs left of rmax)          the CPU is not idle for longer
//! high  = min over the jobs left of higher priority of rmax
//! last  = min(wc, high - 1)
//! ```
//!
//! It then ends within `[first + cmin_j, last + cmax_j]`. Vertices of the same set are merged if their
//! intervals overlap or are neighbours. Every value in an interval can occur, so unions lose nothing.
//!
//! Assumes: (1) whole times, (2) one CPU, (3) no preemption, (4) no overheads, (5) independent jobs.
//! **Exact** (Nasri and Brandenburg 2017). Equal priorities go to the earlier position.

use crate::Citation;
use std::collections::BTreeMap;

/// Nasri and Brandenburg 2017.
pub const NASRI_BRANDENBURG_2017: Citation = Citation {
    key: "nasri2017exact",
    text: "M. Nasri and B. B. Brandenburg. An exact and sustainable analysis of non-preemptive \
           scheduling. RTSS 2017, pages 12-23.",
    bibtex: "@inproceedings{nasri2017exact,
  author    = {Mitra Nasri and Bj{\\\"o}rn B. Brandenburg},
  title     = {An Exact and Sustainable Analysis of Non-preemptive Scheduling},
  booktitle = {38th IEEE Real-Time Systems Symposium (RTSS)}, pages = {12--23}, year = {2017}
}",
};

/// A job, in whole units of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UncertainJob {
    /// The earliest and the latest release.
    pub release: [i64; 2],
    /// The least and the largest execution time.
    pub execution: [i64; 2],
    /// The priority: smaller is higher.
    pub priority: i64,
}

/// The graph has more vertices than the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyVertices;

/// The jobs that were dispatched, as bits.
type Dispatched = Vec<u64>;

/// Returns the earliest and the latest finish of each job.
///
/// # Errors
/// If more than `limit` vertices would be examined.
///
/// ```
/// use layland_analysis::uniprocessor::schedule_graph::{UncertainJob, finish_times};
/// let job = |release, execution, priority| UncertainJob { release, execution, priority };
/// // The first job blocks the second one, if it begins before that one is released.
/// let jobs = [job([7, 10], [1, 1], 1), job([4, 4], [1, 1], 3), job([5, 7], [2, 4], 0)];
/// assert_eq!(finish_times(&jobs, 100), Ok(vec![[8, 12], [5, 5], [7, 11]]));
/// ```
///
/// # Panics
/// If a job has an interval that ends before it begins.
pub fn finish_times(jobs: &[UncertainJob], limit: usize) -> Result<Vec<[i64; 2]>, TooManyVertices> {
    let is_ordered = |[low, high]: [i64; 2]| low <= high;
    assert!(jobs.iter().all(|job| is_ordered(job.release) && is_ordered(job.execution)));
    let mut finish = vec![[i64::MAX, i64::MIN]; jobs.len()];
    // Vertices by the number of dispatched jobs, so that all that can be merged come together.
    let start: Dispatched = vec![0; jobs.len().div_ceil(64)];
    let mut vertices = BTreeMap::from([(start, vec![[0, 0]])]);
    let mut examined = 0;
    for _ in 0..jobs.len() {
        let mut next: BTreeMap<Dispatched, Vec<[i64; 2]>> = BTreeMap::new();
        for (dispatched, intervals) in &vertices {
            let is_left = |&j: &usize| dispatched[j / 64] >> (j % 64) & 1 == 0;
            let left: Vec<usize> = (0..jobs.len()).filter(is_left).collect();
            for &[earliest, latest] in intervals {
                examined += 1;
                if examined > limit {
                    return Err(TooManyVertices);
                }
                for (j, end) in successors(jobs, &left, [earliest, latest]) {
                    finish[j] = [finish[j][0].min(end[0]), finish[j][1].max(end[1])];
                    let mut with = dispatched.clone();
                    with[j / 64] |= 1 << (j % 64);
                    next.entry(with).or_default().push(end);
                }
            }
        }
        next.values_mut().for_each(merge);
        vertices = next;
    }
    Ok(finish)
}

/// The jobs that may be next, each with the interval in which it ends.
fn successors(
    jobs: &[UncertainJob],
    left: &[usize],
    [earliest, latest]: [i64; 2],
) -> Vec<(usize, [i64; 2])> {
    let certain = left.iter().map(|&j| jobs[j].release[1]).min().unwrap_or(i64::MAX);
    let busy = latest.max(certain);
    let rank = |j: usize| (jobs[j].priority, j);
    let next = |&j: &usize| {
        let job = &jobs[j];
        let higher = left.iter().filter(|&&other| rank(other) < rank(j));
        let high = higher.map(|&other| jobs[other].release[1]).min();
        let first = earliest.max(job.release[0]);
        let last = high.map_or(busy, |high| busy.min(high - 1));
        (first <= last).then_some((j, [first + job.execution[0], last + job.execution[1]]))
    };
    left.iter().filter_map(next).collect()
}

/// Merges intervals of whole numbers that overlap or are neighbours.
fn merge(intervals: &mut Vec<[i64; 2]>) {
    intervals.sort_unstable();
    intervals.dedup_by(|next, before| {
        let joins = next[0] <= before[1] + 1;
        if joins {
            before[1] = before[1].max(next[1]);
        }
        joins
    });
}
