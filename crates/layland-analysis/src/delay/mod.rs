//! How long a job waits, on CPUs that jobs share as their affinities let them: what the tests with limited
//! carry-in have in common, global ones ([`g-rta-lc`](crate::global_edf::limited)) and those with
//! affinities ([`busy`](crate::affinity::busy)).
//!
//! | symbol | meaning |
//! |---|---|
//! | `J_k`, `r_k`, `d_k` | a job of `tau_k`, when it arrives and when it is due |
//! | `alpha_k` | the CPUs that `tau_k` may use |
//! | before `J_k` | of an earlier deadline, under fixed priorities of a higher one; ties by rank, then by task |
//! | rival | another task, under fixed priorities one of higher priority |
//! | crowd | the rivals that share an affinity |
//! | `S_i` | slack: every job of `tau_i` before `J_k` ends at least this long before its deadline |
//!
//! Times are integers, so that what has executed at all has executed for a unit, and a job that is not done after
//! `R` has waited for `R - C_k + 1` of the first `R` units.
//!
//! **What runs while `J_k` waits weighs 1 or more.** Each crowd has a weight.
//! - *Weak invariant.* Every CPU of a part `S` of `alpha_k` runs a job before `J_k`, of a rival whose affinity
//!   has a CPU of `S`. These weigh `1 / |S|`, all others nothing. Of a crowd with affinity `Q` at most
//!   `|Q and S|` jobs run on `S` at once.
//! - *Strong invariant.* Let `R` be the least set that contains `alpha_k` and the affinity of whatever runs
//!   on it. Every CPU of `R` runs a job before `J_k`, of a rival whose affinity is within `R`. Choose for each possible
//!   `R` a part `S(R)` that counts. A rival weighs the largest `1 / |S(R)|` over the `R` that contain its
//!   affinity and whose `S(R)` has a CPU of it. What runs on `S(R)` then weighs at least `|S(R)|` times
//!   `1 / |S(R)|`. An `R` is possible only if it is `alpha_k` joined with affinities that it meets one after the
//!   other, and if rivals confined to it can fill it. If none is possible, `J_k` never waits.
//!
//! **So `J_k` waits for at most `x` units** of a window if the work of the crowds in it, each rival's at most
//! `x + 1` and each crowd's at most as many times that as its jobs run at once, weighs less than `x + 1`.
//!
//! **Windows from the release** (EDF). Any rival may carry a job in.
//!
//! **Windows from the gap.** They begin with the last instant up to `r_k` before which it did *not* hold that a job in
//! the place of `J_k` would have waited: some CPU `c` of `S`, or of the CPUs reached, ran nothing before `J_k`. From
//! there until `r_k` all is as if `J_k` waited, so that `A` units before `r_k` count as `A` units of waiting. A
//! rival that could have used `c` was not waiting just before the window, or the invariant would not have held
//! for it: if it carries a job in, that job was running, elsewhere than on `c`, and has executed for a unit.
//! - *Weak invariant*: these are the rivals whose affinity has `c`. Of any crowds of them, if `U` joins their
//!   affinities, at most `|U| - 1` carry a job in. Which CPU of `S` is `c` is not known: the worst counts.
//! - *Strong invariant*: these are the rivals whose affinity contains `alpha_k`, because they reach what it reaches.
//!   Of any crowds of them at most `|U| - 1` carry a job in: were all CPUs of `U` running their jobs, `U` would be
//!   closed, and `J_k` would have waited.
//!
//! The limit is used for each crowd, for all of them, and for all of them with `tau_k` itself.
//!
//! Other rivals may have waited without having executed at all: they count as in windows from the release.
//! Under EDF earlier jobs of `tau_k` execute between the gap and `r_k`, too; they are done by `r_k`, since
//! `D_k <= T_k` and all jobs before `J_k` have their slacks. They weigh what jobs with the affinity `alpha_k` weigh,
//! and the possible `R` are those that rivals and such a job can fill. Under fixed priorities `J_k` may as well have
//! arrived at the gap: its response is no shorter from there (Guan et al. 2009). On one CPU whose tasks have no other
//! there is nothing to carry in, and `A` is shorter than the busy period that begins with a job of each task:
//! then this is the exact test by demand, or the exact response time.
//!
//! **All jobs.** Under EDF take the first job, in the order of jobs, with less slack than claimed: all before it have
//! theirs, so it has its own. Claims grow from 0, round by round, and count at last if every task has one. A
//! task asks all windows and all weights, and the smallest response counts: each holds on its own.

pub(crate) mod crowds;
pub(crate) mod response;
pub(crate) mod slacks;
mod workload;
