//! The interference of another task with a job under global EDF: the bounds that [`bcli`](super::bcli) and
//! [`rta`](super::rta) share (Bertogna, Cirinei, Lipari 2009; Bertogna, Cirinei 2007).
//!
//! | paper | meaning |
//! |---|---|
//! | `S_i` | slack: a job of `tau_i` finishes at least this long before its deadline |
//! | `W_i(L)` | the most that `tau_i` executes in any window of length `L` |
//! | `I_i^k` | the most that jobs of `tau_i` with deadlines in it execute in the window of a job of `tau_k` |

#![expect(non_snake_case, reason = "symbols of the papers")]

use crate::Sporadic;
use crate::sporadic::Divisor;

/// A task as it disturbs others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rival {
    C: i64,
    /// `D_i - C_i`.
    laxity: i64,
    T: Divisor,
}

impl From<&Sporadic> for Rival {
    fn from(tau_i: &Sporadic) -> Rival {
        let [C, D, T] = tau_i.ns();
        Rival { C, laxity: D - C, T: Divisor::new(T) }
    }
}

/// The tasks as they disturb others.
pub(crate) fn rivals(tasks: &[Sporadic]) -> Vec<Rival> {
    tasks.iter().map(Rival::from).collect()
}

/// The interference of a task under EDF, except for the part that depends on its slack.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Interference {
    /// `floor(D_k / T_i) C_i`.
    whole: i64,
    /// `D_k mod T_i`.
    rest: i64,
    C: i64,
}

impl Interference {
    /// `I_i^k = floor(D_k / T_i) C_i + min(C_i, max(0, D_k mod T_i - S_i))`: a deadline of `tau_i` is
    /// that of the job of `tau_k`, earlier ones come each period before.
    #[inline]
    pub(crate) fn with_slack(self, S_i: i64) -> i64 {
        self.whole.saturating_add(self.C.min((self.rest - S_i).max(0)))
    }
}

impl Rival {
    /// Its interference with a job that has this relative deadline.
    #[inline]
    pub(crate) fn interference(&self, D_k: i64) -> Interference {
        let (jobs, rest) = self.T.div_rem(D_k);
        Interference { whole: jobs.saturating_mul(self.C), rest, C: self.C }
    }

    /// `W_i(L) = N C_i + min(C_i, L + D_i - C_i - S_i - N T_i)` with
    /// `N = floor((L + D_i - C_i - S_i) / T_i)`: the first job executes as late as its slack lets it,
    /// all others as early as they can.
    #[inline]
    pub(crate) fn workload(&self, L: i64, S_i: i64) -> i64 {
        let (jobs, rest) = self.T.div_rem(L + self.laxity - S_i);
        jobs.saturating_mul(self.C).saturating_add(self.C.min(rest))
    }
}

/// `floor(sum / m)` of a sum that is not negative: most fit 64 bits, whose division takes a part of the time.
#[inline]
pub(crate) fn share(sum: i128, m: i64) -> i64 {
    debug_assert!(sum >= 0);
    match u64::try_from(sum) {
        Ok(sum) => (sum / m as u64) as i64,
        Err(_) => (sum / i128::from(m)) as i64,
    }
}

/// The sum of lengths of time, each at most [`TIME_LIMIT`](layland_model::TIME_LIMIT) and a nanosecond:
/// eight fit 64 bits, in which most of the sum is done.
#[inline]
pub(crate) fn sum(lengths: impl Iterator<Item = i64>) -> i128 {
    let (mut sum, mut part, mut count) = (0u128, 0u64, 0u32);
    for length in lengths {
        debug_assert!(length >= 0);
        part += length as u64;
        count += 1;
        if count % 8 == 0 {
            sum += u128::from(part);
            part = 0;
        }
    }
    (sum + u128::from(part)) as i128
}
