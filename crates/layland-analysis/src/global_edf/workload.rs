//! What another task can do to a job under global EDF: the bounds that [`bcli`](super::bcli) and
//! [`rta`](super::rta) share (Bertogna, Cirinei, Lipari 2009; Bertogna, Cirinei 2007).
//!
//! | paper | meaning |
//! |---|---|
//! | `S_i` | slack: a job of `tau_i` finishes at least this long before its deadline |
//! | `W_i(L)` | the most that `tau_i` executes in any window of length `L` |
//! | `I_i^k` | the most that jobs of `tau_i` with deadlines in it execute in the window of a job of `tau_k` |

#![expect(non_snake_case, reason = "symbols of the papers")]

use crate::Sporadic;

/// `I_i^k = floor(D_k / T_i) C_i + min(C_i, max(0, D_k mod T_i - S_i))`: a deadline of `tau_i` is that
/// of the job of `tau_k`, earlier ones come each period before.
#[inline]
pub(super) fn edf_interference(tau_i: &Sporadic, D_k: i64, S_i: i64) -> i64 {
    let [C_i, _, T_i] = tau_i.ns();
    let (jobs, rest) = (D_k / T_i, D_k % T_i);
    jobs.saturating_mul(C_i).saturating_add(C_i.min((rest - S_i).max(0)))
}

/// `W_i(L) = N C_i + min(C_i, L + D_i - C_i - S_i - N T_i)` with
/// `N = floor((L + D_i - C_i - S_i) / T_i)`: the first job executes as late as its slack lets it, all
/// others as early as they can.
#[inline]
pub(crate) fn workload(tau_i: &Sporadic, L: i64, S_i: i64) -> i64 {
    let [C_i, D_i, T_i] = tau_i.ns();
    let reach = L + D_i - C_i - S_i;
    let (jobs, rest) = (reach / T_i, reach % T_i);
    jobs.saturating_mul(C_i).saturating_add(C_i.min(rest))
}
