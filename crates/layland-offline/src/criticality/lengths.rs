//! Lengths of busy intervals per level, which the tests of AMC-RT and of job priorities compare
//! with deadlines:
//!
//! ```text
//! f(m) = least f >= 1 with f = sum over z_j >= m of jobs_j(f) C_j(m)
//!                            + sum over z_j < m of jobs_j(f(z_j)) C_j(z_j)
//! ```
//!
//! over all tasks that have no priority yet. The tested task is one of them, and has one job in any
//! interval that is not longer than its period. So `f(m)` is equal for every task that may get the
//! lowest priority, and one search serves them all. [`Lengths`] keeps two bounds of each `f(m)`, so
//! most tests only compare two numbers. When a job or a task has received its priority, the `f(m)`
//! decrease by at least the removed work.

use crate::criticality::MixedSet;
use crate::criticality::steps::{NoBound, Reached, climb, sum, work};

/// The known bounds on `f(m)`, for each level `m`.
#[derive(Clone, Debug)]
pub(crate) struct Lengths(Vec<LengthBounds>);

/// `above < f(m) <= within`. With the `within` of lower levels in place of their `f`, the right
/// side of `f(m)` at `within` is at most `within`.
#[derive(Clone, Copy, Debug)]
struct LengthBounds {
    above: i64,
    within: i64,
}

const NOTHING: LengthBounds = LengthBounds { above: 0, within: i64::MAX };

impl Lengths {
    /// Creates the bounds for this number of levels, with nothing known.
    pub(crate) fn of(levels: usize) -> Lengths {
        Lengths(vec![NOTHING; levels])
    }

    /// Resets all bounds.
    pub(crate) fn forget(&mut self) {
        self.0.fill(NOTHING);
    }

    /// Returns true if `f(last) <= limit`. `jobs(j, f)` must not decrease with `f`, and no task
    /// below level `from` may have a job.
    pub(crate) fn within(
        &mut self,
        set: &MixedSet,
        (from, last): (usize, usize),
        limit: i64,
        jobs: impl Fn(usize, i64) -> i64,
    ) -> Result<bool, NoBound> {
        let known = &mut self.0;
        if known[last].within <= limit {
            return Ok(true);
        }
        if known[last].above >= limit {
            return Ok(false);
        }
        // No interval is longer than one that suffices for all levels.
        let all = sum((0..set.len()).map(|j| work(jobs(j, limit), set.c(last.min(set.z(j)))[j])));
        if all <= limit {
            known[..=last].iter_mut().for_each(|f| f.within = f.within.min(all.max(1)));
            return Ok(true);
        }
        for m in from..=last {
            let LengthBounds { above, within } = known[m];
            if within - 1 <= above {
                continue;
            }
            let c = set.c(m);
            let closed = (0..set.len()).filter(|&j| set.z(j) < m).map(|j| {
                // The loop has already made this bound exact.
                let ends = known[set.z(j)].within;
                work(jobs(j, ends), set.own(j))
            });
            let closed = sum(closed);
            let reached = climb(closed.max(above.saturating_add(1)), limit, |f| {
                let open = (0..set.len()).filter(|&j| set.z(j) >= m);
                sum(open.map(|j| work(jobs(j, f), c[j]))).saturating_add(closed)
            })?;
            let (above, found) = match reached {
                Reached::At(found) => (found - 1, true),
                Reached::Beyond(reached) => (reached - 1, false),
            };
            // No level has a smaller value than the level before it.
            known[m..].iter_mut().for_each(|f| f.above = f.above.max(above));
            if !found {
                return Ok(false);
            }
            known[m].within = above + 1;
        }
        Ok(true)
    }

    /// Removes a job of task `i` that is released at `release`, the last one of its task. Right
    /// sides change from its release on.
    pub(crate) fn without_job(&mut self, set: &MixedSet, from: usize, i: usize, release: i64) {
        self.reduce(set, from, i, release, |_| 1);
    }

    /// Removes task `i` with all its jobs, which are released from 0 on.
    pub(crate) fn without_task(&mut self, set: &MixedSet, i: usize) {
        self.reduce(set, 0, i, 0, |within| set.over[i].ceil(within));
    }

    fn reduce(
        &mut self,
        set: &MixedSet,
        from: usize,
        i: usize,
        release: i64,
        jobs: impl Fn(i64) -> i64,
    ) {
        let own = set.z(i);
        // Levels above its own count its jobs up to `f(own)`.
        let ended = self.0[own].within;
        for (m, f) in self.0.iter_mut().enumerate().skip(from) {
            if f.within <= release || (m > own && ended <= release) {
                continue;
            }
            // A value above the release stays above it, because no interval up to there has
            // changed.
            f.above = f.above.min(release);
            if f.within < i64::MAX {
                let gone = work(
                    jobs(f.within.min(if m > own { ended } else { i64::MAX })),
                    set.c(m.min(own))[i],
                );
                f.within = (f.within - gone).max(1);
            }
        }
    }
}
