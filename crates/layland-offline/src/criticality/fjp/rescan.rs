//! The scan for priorities at run time (after Li and Baruah 2010): the remaining jobs of a busy
//! period get new priorities, which are as safe as those of the offline stage.
//!
//! | here | meaning |
//! |---|---|
//! | `left[i]` | the number of jobs of task `i` that need a priority |
//! | `first[i]` | the earliest release of the first of them, counted from now |
//! | `from` | the criticality indicator: tasks below it have no jobs, and every job executes at least at this level |
//!
//! The pattern is the worst one that is still possible: job `k` of task `i`, from 1, is released at
//! `first[i] + (k-1) T_i` and due `D_i` later. The tests are those of the offline stage with these
//! dates:
//!
//! ```text
//! jobs_j(f) = min(left_j, ceil((f - first_j) / T_j)), 0 up to first_j
//! f(m)      = least f with f = sum over z_j >= m of jobs_j(f) C_j(m)
//!                            + sum over z_j < m of jobs_j(f(z_j)) C_j(z_j)
//! passes if f(z_i) <= first_i + (k-1) T_i + D_i                       for m = from..z_i
//! ```
//!
//! or, for patterns whose demands are summed up, the sum at level `z_i` instead of `f(z_i)`.
//!
//! **A scan never fails** if the offline scan with the same test found priorities for at least as
//! many jobs of each task. Proof: take the offline order of the first `left[i]` entries of each
//! task. Each entry has at most the jobs above it that it had before; `first` only postpones
//! releases; the job itself is due no earlier; and without the tasks below `from`, no `f`
//! increases. So each entry still passes when only those above it are left. A scan may take another
//! job first, but this makes the tests of the others no harder.
//!
//! **Bound on the work.** With `J` jobs left, `n` tasks and `N` levels: at most `J` passes with `n`
//! tests each, of `N` fixed points each, whose steps cost `n` divisions; each step reaches at least
//! one more release, so a fixed point has at most `J + 1` steps, and the total is `O(J^2 n^2 N)`.
//! This is pseudo-polynomial, since `J` grows with the numbers in the set. The actual work is far
//! less, because a known `f` is not computed again. Scans do not allocate.

use super::safe::Delay;
use super::scan::{Scan, Totals, total};
use crate::criticality::MixedSet;
use crate::criticality::lengths::Lengths;
use layland_model::TaskMap;

/// The test that a job must pass to have the lowest priority.
#[derive(Clone, Debug)]
enum Test {
    /// The test of `safe`, with the known bounds of each level.
    Delays(Lengths),
    /// The sum of all demands, with the total per level. Job `k` executes at the least level `m`
    /// with `counts[i][m] >= k`, or at the task's own level if there are no counts.
    Totals { counts: Option<TaskMap<Vec<u64>>>, total: Vec<i128> },
}

/// The scan, prepared for repetition.
///
/// ```
/// use layland_offline::criticality::{MixedSet, fjp};
/// let set = MixedSet::from_ns(2, &[(10, 10, 1, &[4, 6]), (30, 30, 0, &[6, 6])])?;
/// let found = fjp::safe(&set, fjp::JOBS);
/// assert_eq!(found.priorities.unwrap().values().as_slice(), [vec![2, 0], vec![1]]);
/// let mut rescan = fjp::Rescan::delays(set);
/// let mut order = Vec::new();
/// // The same jobs are left, but the first task cannot have one before 5: the second task may now come first.
/// assert!(rescan.scan(&[2, 1], &[5, 0], 0, |task, job| order.push((task, job))));
/// assert_eq!(order, [(0, 1), (0, 0), (1, 0)]);
/// # Ok::<(), layland_offline::criticality::MixedError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rescan {
    set: MixedSet,
    scan: Scan,
    test: Test,
}

impl Rescan {
    /// Uses the test of [`safe`](super::safe). Sets that [`load_based`](super::load_based) accepts
    /// also pass it, because its sum is never below the delay.
    pub fn delays(set: MixedSet) -> Rescan {
        let known = Lengths::of(set.levels());
        Rescan { scan: Scan::new(&set), set, test: Test::Delays(known) }
    }

    /// Uses the test of [`load_based`](super::load_based): the sum of all demands.
    pub fn totals(set: MixedSet) -> Rescan {
        Rescan::summing(set, None)
    }

    /// Uses the test of [`ija_paper`](super::ija_paper) and [`ija_floor`](super::ija_floor) for a
    /// pattern with these counts. Not sound.
    pub fn pattern(set: MixedSet, counts: TaskMap<Vec<u64>>) -> Rescan {
        Rescan::summing(set, Some(counts))
    }

    fn summing(set: MixedSet, counts: Option<TaskMap<Vec<u64>>>) -> Rescan {
        let total = Vec::with_capacity(set.levels());
        Rescan { scan: Scan::new(&set), set, test: Test::Totals { counts, total } }
    }

    /// Places the jobs from the lowest priority upwards: `place` receives the task and the index of
    /// each job among the remaining jobs of its task, from 0. Returns true if all have been placed.
    pub fn scan(
        &mut self,
        left: &[usize],
        first: &[i64],
        from: usize,
        place: impl FnMut(usize, usize),
    ) -> bool {
        let Rescan { set, scan, test } = self;
        let first = |task: usize| first[task];
        let done = match test {
            Test::Delays(known) => {
                known.forget();
                scan.run(left, &mut Delay { set, known, first, from }, place)
            }
            Test::Totals { counts, total: sums } => {
                let counts = counts.as_ref();
                let own = |task: usize| set.z(task);
                let executes = |task: usize, job: usize| match counts {
                    None => own(task),
                    Some(counts) => {
                        let counts = &counts.values().as_slice()[task];
                        counts.iter().position(|&n| n >= job as u64).unwrap_or(own(task))
                    }
                };
                let demand = |task: usize, job: usize, level: usize| {
                    set.c(level.min(executes(task, job)).min(own(task)))[task]
                };
                sums.clear();
                sums.extend((0..set.levels()).map(|level| total(left, level, demand)));
                scan.run(left, &mut Totals { set, demand, total: sums, first }, place)
            }
        };
        done.is_ok()
    }
}
