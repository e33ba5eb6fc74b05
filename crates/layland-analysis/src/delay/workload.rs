//! What a task executes in a window of a job, by where the window begins and what is due in it.
//!
//! | symbol | meaning |
//! |---|---|
//! | `L` | length of the window, in which the work is counted |
//! | `H` | length of the interval from the same instant to the deadline of the job: only jobs due in it count |
//! | `S` | slack: a job of the task ends at least this long before its deadline |
//!
//! The jobs of a task that come a period apart are a comb: one comes at `e`, the last that counts, and others
//! each `T` before. A job that comes at `r >= 0` executes in the window for at most `min(C, L - r)`. One that comes
//! before it has to end by `r + D - S`, so that it executes in it for at most `min(C, r + D - S)`; if it has begun
//! before, for at most `C - 1`. With `D <= T` no other job does. Between the instants at which one of these minima
//! changes sides the sum is linear in `e`, and adding a tooth never lessens it: so it is largest where `e` is as
//! late as deadlines let it be, or where a tooth is at one of these instants.

#![expect(non_snake_case, reason = "symbols of the papers")]

use crate::Sporadic;

/// No deadline limits what counts: lengths stay far below it.
pub(super) const NEVER: i64 = i64::MAX / 4;

/// How a job that comes before the window enters it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carried {
    /// With all of its work, perhaps.
    Waiting,
    /// Having executed for a unit of time at least.
    Running,
}

/// The most that jobs execute in the window if none of them comes before it.
pub(super) fn fresh(tau: &Sporadic, L: i64, H: i64) -> i64 {
    let [C, _, T] = tau.ns();
    tau.demand(H).min((L / T).saturating_mul(C).saturating_add(C.min(L % T)))
}

/// The most that jobs execute in the window if one may come before it.
pub(super) fn carrying(tau: &Sporadic, L: i64, H: i64, S: i64, carried: Carried) -> i64 {
    let [C, D, T] = tau.ns();
    let (R, E) = (D - S, H - D);
    let inside = C.min(L);
    let before = match carried {
        Carried::Waiting => inside,
        Carried::Running => (C - 1).min(L),
    };
    let work = |mut e: i64| {
        // The last tooth before the end of the window.
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
    // The last `e` up to `E` with a tooth there.
    let with_tooth_at = |at: i64| E - (E - at).rem_euclid(T);
    let starts = [E, with_tooth_at(L - inside), with_tooth_at(before - R), with_tooth_at(0)];
    starts.into_iter().map(work).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::{Duration, Service};

    /// Every comb, job by job.
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
