//! Waiting times of jobs on CPUs that they share as their affinities permit. The common part of the
//! tests with limited carry-in: global ones ([`g-rta-lc`](crate::global_edf::limited)) and those
//! with affinities ([`busy`](crate::affinity::busy)).
//!
//! | symbol | meaning |
//! |---|---|
//! | `J_k`, `r_k`, `d_k` | a job of `tau_k`, its arrival and its deadline |
//! | `alpha_k` | the CPUs that `tau_k` may use |
//! | before `J_k` | with an earlier deadline, or under fixed priorities a higher priority; ties by rank, then by task |
//! | rival | another task; under fixed priorities, one of higher priority |
//! | crowd | the rivals that share an affinity |
//! | `S_i` | slack: every job of `tau_i` before `J_k` ends at least this long before its deadline |
//!
//! Times are integers, so a job that has executed at all has executed for at least one unit, and a
//! job that has not completed after `R` has waited for `R - C_k + 1` of the first `R` units.
//!
//! **The jobs that run while `J_k` waits weigh 1 or more.** Each crowd has a weight.
//! - *Weak invariant.* Every CPU of a part `S` of `alpha_k` runs a job before `J_k`, of a rival
//!   whose affinity has a CPU of `S`. Each of these weighs `1 / |S|`, every other rival 0. Of a
//!   crowd with affinity `Q` at most `|Q and S|` jobs run on `S` at once.
//! - *Strong invariant.* Let `R` be the least set that contains `alpha_k` and the affinities of all
//!   jobs that run on it. Every CPU of `R` runs a job before `J_k`, of a rival whose affinity is
//!   within `R`. Choose for each possible `R` a part `S(R)` that counts. A rival weighs the largest
//!   `1 / |S(R)|` over the `R` that contain its affinity and whose `S(R)` has a CPU of it. The jobs
//!   that run on `S(R)` then weigh at least `|S(R)|` times `1 / |S(R)|`. An `R` is possible only if
//!   it arises from `alpha_k` by joining affinities that meet it, one after the other, and if
//!   rivals confined to it can fill it. If none is possible, `J_k` never waits.
//!
//! **So `J_k` waits for at most `x` units** of a window if the work of the crowds in it weighs less
//! than `x + 1`. The work of each rival counts up to `x + 1`, and that of each crowd up to `x + 1`
//! times the number of its jobs that run at once.
//!
//! **Windows from the release** (EDF). Any rival may carry a job in.
//!
//! **Windows from the gap.** They begin with the last instant up to `r_k` before which a job in the
//! place of `J_k` would *not* have waited: some CPU `c` of `S`, or of the reached CPUs, ran no job
//! before `J_k`. From then until `r_k` the schedule is as if `J_k` waited, so `A` units before
//! `r_k` count as `A` units of waiting. A rival that could have used `c` was not waiting just
//! before the window, or the invariant would not have held for it: if it carries a job in, this job
//! was running on a CPU other than `c`, and has executed for a unit.
//! - *Weak invariant*: these are the rivals whose affinity has `c`. Of the rivals in any group of
//!   such crowds, at most `|U| - 1` carry a job in, where `U` is the union of their affinities. The
//!   analysis takes the worst `c` of `S`.
//! - *Strong invariant*: these are the rivals whose affinity contains `alpha_k`, because they reach
//!   what it reaches. Of the rivals in any group of such crowds, at most `|U| - 1` carry a job in:
//!   if all CPUs of `U` ran their jobs, `U` would be closed, and `J_k` would have waited.
//!
//! The limit is used for each crowd, for all crowds together, and for all of them with `tau_k`
//! itself.
//!
//! Other rivals may have waited without having executed at all, so they count as in windows from
//! the release. Under EDF, earlier jobs of `tau_k` also execute between the gap and `r_k`; they
//! complete by `r_k`, since `D_k <= T_k` and all jobs before `J_k` have their slacks. They have the
//! weight of jobs with the affinity `alpha_k`, and the possible `R` are those that rivals and such
//! a job can fill. Under fixed priorities, `J_k` may be assumed to arrive at the gap, which does
//! not shorten its response (Guan et al. 2009). On one CPU whose tasks may use no other, no job is
//! carried in, and `A` is shorter than the busy period that begins with a job of each task. The
//! analysis is then the exact test by demand, or the exact response time.
//!
//! **All jobs.** Under EDF, take the first job, in the order of jobs, with less slack than claimed:
//! all jobs before it have theirs, so it has its own, a contradiction. Claims grow from 0, round by
//! round, and are final if every task has one. Each task is analysed with all windows and all
//! weights, and the smallest response counts, as each is a bound by itself.

pub(crate) mod crowds;
pub(crate) mod response;
pub(crate) mod slacks;
mod workload;
