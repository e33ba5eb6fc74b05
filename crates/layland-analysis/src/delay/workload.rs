//! The work of a task in a window of a job, by the start of the window and the deadlines in it.
//!
//! | symbol | meaning |
//! |---|---|
//! | `L` | length of the window, in which the work is counted |
//! | `H` | length of the interval from the same instant to the deadline of the job: only jobs due in it count |
//! | `S` | slack: a job of the task ends at least this long before its deadline |
//!
//! The jobs of a task that arrive a period apart form a comb: the last job that counts arrives at
//! `e`, the others at intervals of `T` before it. A job that arrives at `r >= 0` executes in the
//! window for at most `min(C, L - r)`. A job that arrives before the window must complete by
//! `r + D - S`, so it executes in the window for at most `min(C, r + D - S)`, or for at most
//! `C - 1` if it has begun before. With `D <= T` there is at most one such job. Between the
//! instants at which one of these minima switches, the sum is linear in `e`, and adding a tooth
//! never reduces it. So the sum is largest where `e` is as late as deadlines permit, or where a
//! tooth is at one of these instants.

#![expect(non_snake_case, reason = "symbols of the papers")]

use crate::Sporadic;

/// Stands for no limit by deadlines; all lengths stay far below it.
pub(super) const NEVER: i64 = i64::MAX / 4;

/// The state of a job that arrives before the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carried {
    /// The job may have all of its work left.
    Waiting,
    /// The job has executed for at least one unit of time.
    Running,
}

/// The maximum work in the window if no job arrives before it.
pub(super) fn fresh(tau: &Sporadic, L: i64, H: i64) -> i64 {
    let [C, _, T] = tau.ns();
    tau.demand(H).min((L / T).saturating_mul(C).saturating_add(C.min(L % T)))
}

/// The maximum work in the window if one job may arrive before it.
pub(super) fn carrying(tau: &Sporadic, L: i64, H: i64, S: i64, carried: Carried) -> i64 {
    let [C, D, T] = tau.ns();
    let (R, E) = (D - S, H - D);
    let inside = C.min(L);
    let before = match carried {
        Carried::Waiting => inside,
        Carried::Running => (C - 1).min(L),
    };
    let work = |mut e: i64| {
        // Start from the last tooth before the end of the window.
        if e >= L {
            e -= ((e - L) / T + 1) * T;
        }
        let mut sum = 0i64;
        if e > L - inside {
            sum += L - e;
            e -= T;
        }
        if e >= 0 {
            let jobs = e / T + 1;
            sum = sum.saturating_add(jobs.saturating_mul(inside));
            e -= jobs * T;
        }
        sum.saturating_add(before.min(e + R).max(0))
    };
    // The last `e` up to `E` that puts a tooth at `at`.
    let with_tooth_at = |at: i64| E - (E - at).rem_euclid(T);
    let starts = [E, with_tooth_at(L - inside), with_tooth_at(before - R), with_tooth_at(0)];
    starts.into_iter().map(work).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::{Duration, Service};

    /// Tries every comb, job by job.
    fn slow(tau: &Sporadic, L: i64, H: i64, S: i64, carried: Option<Carried>) -> i64 {
        let [C, D, T] = tau.ns();
        let comb = |e: i64| -> i64 {
            let of = |r: i64| {
                let work = match carried {
                    _ if r >= 0 => C.min(L - r),
                    None => 0,
                    Some(Carried::Waiting) => C.min(r + D - S).min(L),
                    Some(Carried::Running) => (C - 1).min(r + D - S).min(L),
                };
                work.max(0)
            };
            (0..40).map(|back| of(e - back * T)).sum()
        };
        let last = H - D;
        ((last - T)..=last).map(comb).max().unwrap_or(0)
    }

    #[test]
    fn the_largest_comb_is_found() {
        let mut checked = 0;
        for (c, d, t) in
            [(1, 1, 1), (1, 2, 3), (2, 3, 3), (2, 2, 5), (3, 5, 6), (4, 7, 7), (1, 6, 6)]
        {
            let (wcet, deadline, period) =
                (Service::from_ns(c), Duration::from_ns(d), Duration::from_ns(t));
            let tau = Sporadic { wcet, deadline, period };
            for L in 1..20 {
                for H in L..24 {
                    assert_eq!(fresh(&tau, L, H), slow(&tau, L, H, 0, None), "{tau:?} {L} {H}");
                    for S in 0..=d - c {
                        for carried in [Carried::Waiting, Carried::Running] {
                            let (fast, slow) = (
                                carrying(&tau, L, H, S, carried),
                                slow(&tau, L, H, S, Some(carried)),
                            );
                            assert_eq!(fast, slow, "{tau:?} {L} {H} {S} {carried:?}");
                            checked += 1;
                        }
                    }
                }
            }
        }
        assert!(checked > 5_000);
    }
}
