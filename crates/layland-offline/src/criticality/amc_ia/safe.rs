//! Sound counts, for any number of levels.
//!
//! The paper's idea is kept: a job that is due at or before the change was complete by then, so it
//! kept the lower bound. The differences: each interfering task has its own worst phase, and `s_l`
//! is the change itself, just after the integer `s_l`, not a deadline.
//!
//! For a task with one jump, at level `g`, from `lo` to `hi`, and `s = s_g`, `a = ceil(t / T)` jobs in an
//! open interval of length `t`, `b = floor(e / T) + 1` jobs up to the change `e` that closes it:
//!
//! | | open | closed |
//! |---|---|---|
//! | no jump so far | `a C(0)` | `b C(0)` |
//! | `s < D` | `a hi` | `b hi` |
//! | A: first large job right after `s - D` | `max(0, ceil((t-s+D)/T)) hi + min(a, floor((s-D)/T)) lo` | `(floor((e-s+D)/T) + 1) hi + floor((s-D)/T) lo` |
//! | B: released at 0 | `n lo + (a-n) hi`, `n = min(a, floor((s-D)/T) + 1)` | `n lo + (b-n) hi`, `n = min(b, ..)` |
//!
//! and then the larger of A and B counts. No other pattern of releases has more demand, because
//! moving the first large job between multiples of `T` only loses jobs. A task with several jumps
//! has the sum of separate maxima: `n C(0) + sum over l of M_l (C(l) - C(l-1))`, `M_l` like the
//! large jobs of A, at most `n`.
//!
//! Candidates for `s_m` in `[s_(m-1), R(m-1))`: `s_(m-1)`, `k T_j` and `s_g - D_j + k T_j` for the
//! tasks of level `m - 1`. Between them, the demand of closing tasks is constant, and the demand of
//! the others decreases.
//!
//! Proof of soundness: every job due at the change or before it is complete, as the task is
//! schedulable at the lower level, which the assignment checks. Tasks below run no later than the
//! change. An interval that starts with the indicator raised is covered by `s = 0`. For two levels
//! it is never above AMC-MAX at the same `s`.

use super::{Count, Interferer};
use crate::criticality::steps::{Period, ceil, sum, work};

pub(super) struct Safe;

pub(super) enum Open {
    /// No jump so far, or one before any deadline: all jobs have equal length.
    Uniform { period: Period, wcet: i64 },
    /// One jump: `s - D`, and the number of small jobs of A.
    Jump { period: Period, lo: i64, hi: i64, since: i64, small: i64 },
    /// Several jumps: `s - D` and the growth of each.
    Several { period: Period, base: i64, jumps: Vec<(i64, i64)> },
}

impl Count for Safe {
    type Open = Open;

    fn candidates(higher: &[Interferer], m: usize, s: &[i64], r: i64, found: &mut Vec<i64>) {
        let before = s[m - 1];
        found.push(before);
        for task in higher.iter().filter(|task| task.level == m - 1) {
            let mut every_period = |from: i64| {
                // The first candidate at or after `before`.
                let mut at = if from < before {
                    from + ceil(before - from, task.period) * task.period
                } else {
                    from
                };
                while at < r {
                    found.push(at);
                    at += task.period;
                }
            };
            every_period(0);
            for &(l, _) in &task.jumps {
                let from = s[l] - task.deadline;
                // A negative start moves up to 0 or later by whole periods.
                every_period(if from < 0 {
                    from + ceil(-from, task.period) * task.period
                } else {
                    from
                });
            }
        }
    }

    fn closed(task: &Interferer, s: &[i64], _r: i64) -> i64 {
        let end = s[task.level + 1];
        let jobs = task.over.floor(end) + 1;
        match task.jumps.as_slice() {
            [] => work(jobs, task.base),
            &[(g, by)] => {
                let (lo, hi, since) = (task.base, task.base + by, s[g] - task.deadline);
                if since < 0 {
                    return work(jobs, hi);
                }
                let small = task.over.floor(since);
                let large = task.over.floor(end - since) + 1;
                let a = work(large, hi).saturating_add(work(small, lo));
                let early = jobs.min(small + 1);
                let b = work(early, lo).saturating_add(work(jobs - early, hi));
                a.max(b)
            }
            several => {
                let more = several.iter().map(|&(l, by)| {
                    let since = s[l] - task.deadline;
                    let large =
                        if since < 0 { jobs } else { jobs.min(task.over.floor(end - since) + 1) };
                    work(large, by)
                });
                work(jobs, task.base).saturating_add(sum(more))
            }
        }
    }

    fn open(task: &Interferer, m: usize, s: &[i64]) -> Open {
        let &Interferer { over: period, deadline, base, .. } = task;
        match task.jumps.as_slice() {
            [] => Open::Uniform { period, wcet: base },
            &[(g, _)] if g > m => Open::Uniform { period, wcet: base },
            &[(g, by)] => match s[g] - deadline {
                since if since < 0 => Open::Uniform { period, wcet: base + by },
                since => {
                    let small = period.floor(since);
                    Open::Jump { period, lo: base, hi: base + by, since, small }
                }
            },
            several => {
                let so_far = several.iter().filter(|&&(l, _)| l <= m);
                let jumps = so_far.map(|&(l, by)| (s[l] - deadline, by)).collect();
                Open::Several { period, base, jumps }
            }
        }
    }

    #[inline]
    fn demand(open: &Open, t: i64) -> i64 {
        match *open {
            Open::Uniform { period, wcet } => work(period.ceil(t), wcet),
            Open::Jump { period, lo, hi, since, small } => {
                let jobs = period.ceil(t);
                let large = if t <= since { 0 } else { period.ceil(t - since) };
                let a = work(large, hi).saturating_add(work(jobs.min(small), lo));
                let early = jobs.min(small + 1);
                let b = work(early, lo).saturating_add(work(jobs - early, hi));
                a.max(b)
            }
            Open::Several { period, base, ref jumps } => {
                let jobs = period.ceil(t);
                let more = jumps.iter().map(|&(since, by)| {
                    let large = match () {
                        () if since < 0 => jobs,
                        () if t <= since => 0,
                        () => jobs.min(period.ceil(t - since)),
                    };
                    work(large, by)
                });
                work(jobs, base).saturating_add(sum(more))
            }
        }
    }
}
