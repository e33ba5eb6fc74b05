//! Priorities for global scheduling: an order under which a test accepts every task.
//!
//! The order matters more than the test. These candidates are tried in turn:
//!
//! 1. `D - C` ascending, by the response times with limited carry-in ([`guan`]; `RTA-LC` in the
//!    literature);
//! 2. `D - kappa C` ascending, with `kappa = (m - 1 + sqrt(5 m^2 - 6 m + 1)) / (2 m)`, in the same way;
//! 3. deadline-monotonic priorities, in the same way;
//! 4. Audsley's assignment with the deadline analysis `DA-LC` of Davis and Burns.
//!
//! `RTA-LC` uses the responses of higher tasks, so its answer about a task depends on *their* order,
//! and Audsley's argument does not hold for it. `DA-LC` depends on the set of higher tasks alone.
//! **Sufficient**: no candidate may be accepted although an order works. Ties go to the earlier task.
//! The fractions of `kappa` are rounded down to `2^-32`: every order may be tried.
//!
//! | paper | here | meaning |
//! |---|---|---|
//! | `NC_j(L)`, `CI_j(L)` | `Contender` | the work of a task in a window of length `L`, without and with carried-in work |

#![expect(non_snake_case, reason = "symbols of the papers")]

use super::{guan, largest};
use crate::global_edf::Slacks;
use crate::{Citation, Sporadic};

/// Davis and Burns 2011.
pub const DAVIS_BURNS_2011: Citation = Citation {
    key: "davis2011improved",
    text: "R. I. Davis and A. Burns. Improved priority assignment for global fixed priority \
           pre-emptive scheduling in multiprocessor real-time systems. Real-Time Systems 47(1), \
           2011, pages 1-40.",
    bibtex: "@article{davis2011improved,
  author  = {Robert I. Davis and Alan Burns},
  title   = {Improved priority assignment for global fixed priority pre-emptive scheduling in multiprocessor
             real-time systems},
  journal = {Real-Time Systems}, volume = {47}, number = {1}, pages = {1--40}, year = {2011},
  doi     = {10.1007/s11241-010-9106-5}
}",
};

/// The candidate that was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// `D - C` ascending, accepted by response times with limited carry-in.
    DeadlineMinusWcet,
    /// `D - kappa C` ascending, accepted likewise.
    DeadlineMinusScaledWcet,
    /// Deadline-monotonic, accepted likewise.
    DeadlineMonotonic,
    /// Audsley's assignment, accepted by the deadline analysis with limited carry-in.
    Audsley,
}

/// Returns an order of the tasks, highest priority first, under which no deadline is missed on this
/// many CPUs, and how it was found; `None` if no candidate is accepted.
///
/// ```
/// use layland_analysis::Sporadic;
/// use layland_analysis::global_fp::assignment::{Chosen, assign};
/// use layland_model::{Duration, Service};
/// let task = |[c, d, t]: [i64; 3]| Sporadic {
///     wcet: Service::from_ns(c),
///     deadline: Duration::from_ns(d),
///     period: Duration::from_ns(t),
/// };
/// let tasks = [[6, 6, 7], [2, 4, 6], [2, 6, 6], [1, 2, 2]].map(task);
/// assert_eq!(assign(&tasks, 3), Some((vec![0, 3, 1, 2], Chosen::DeadlineMinusWcet)));
/// ```
pub fn assign(tasks: &[Sporadic], cpus: usize) -> Option<(Vec<usize>, Chosen)> {
    let candidates = [
        (by_deadline_minus_wcet(tasks), Chosen::DeadlineMinusWcet),
        (by_deadline_minus_scaled_wcet(tasks, cpus), Chosen::DeadlineMinusScaledWcet),
        (by_deadline(tasks), Chosen::DeadlineMonotonic),
    ];
    let is_accepted = |order: &[usize]| {
        let ordered: Vec<Sporadic> = order.iter().map(|&i| tasks[i]).collect();
        matches!(guan(&ordered, cpus), Slacks::All(_))
    };
    let accepted = candidates.into_iter().find(|(order, _)| is_accepted(order));
    accepted.or_else(|| Some((audsley(tasks, cpus)?, Chosen::Audsley)))
}

/// The tasks by ascending key; ties by position.
fn by<K: Ord>(tasks: &[Sporadic], key: impl Fn([i64; 3]) -> K) -> Vec<usize> {
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|&i| key(tasks[i].ns()));
    order
}

/// The tasks by `D - C`, the least first: the highest priority.
pub fn by_deadline_minus_wcet(tasks: &[Sporadic]) -> Vec<usize> {
    by(tasks, |[C, D, _]| D - C)
}

/// The tasks by their deadlines, the least first.
pub fn by_deadline(tasks: &[Sporadic]) -> Vec<usize> {
    by(tasks, |[_, D, _]| D)
}

/// The tasks by `D - kappa C`, the least first.
pub fn by_deadline_minus_scaled_wcet(tasks: &[Sporadic], cpus: usize) -> Vec<usize> {
    const BITS: u32 = 32;
    let m = cpus as u128;
    // The radicand is not negative: it has its zeros at 1/5 and 1.
    let root = (5 * m * m + 1 - 6 * m) << (2 * BITS);
    let kappa = (((m - 1) << BITS) + root.isqrt()) / (2 * m);
    by(tasks, |[C, D, _]| (i128::from(D) << BITS) - kappa as i128 * i128::from(C))
}

/// Audsley's assignment with [`can_be_lowest`]. Candidates for the lowest priority are tried from the
/// largest `D - C` down.
pub fn audsley(tasks: &[Sporadic], cpus: usize) -> Option<Vec<usize>> {
    let mut left = by_deadline_minus_wcet(tasks);
    let mut lowest_first = Vec::with_capacity(tasks.len());
    while !left.is_empty() {
        let fits = |&at: &usize| {
            let higher = left.iter().enumerate().filter(|&(other, _)| other != at);
            let higher: Vec<Sporadic> = higher.map(|(_, &i)| tasks[i]).collect();
            can_be_lowest(&tasks[left[at]], &higher, cpus)
        };
        let at = (0..left.len()).rev().find(fits)?;
        lowest_first.push(left.remove(at));
    }
    lowest_first.reverse();
    Some(lowest_first)
}

/// `DA-LC`: `C_k + floor((sum of NC_j(D_k) + the m - 1 largest CI_j(D_k) - NC_j(D_k)) / m) <= D_k`,
/// whatever the order of the higher tasks is, if those meet their deadlines.
pub fn can_be_lowest(task: &Sporadic, higher: &[Sporadic], cpus: usize) -> bool {
    let [C_k, D_k, _] = task.ns();
    if C_k > D_k {
        return false;
    }
    let most = D_k - C_k + 1;
    let mut sum = 0i128;
    let mut more: Vec<i64> = Vec::with_capacity(higher.len());
    for tau_j in higher {
        let Contender { NC, CI } = Contender::new(tau_j, D_k, most);
        sum += i128::from(NC);
        more.push((CI - NC).max(0));
    }
    sum += largest(&mut more, cpus - 1);
    i128::from(C_k) + sum / cpus as i128 <= i128::from(D_k)
}

/// The work of a task in a window, at most the time that it may delay another one.
struct Contender {
    NC: i64,
    CI: i64,
}

impl Contender {
    fn new(task: &Sporadic, L: i64, most: i64) -> Contender {
        let [C, D, T] = task.ns();
        let work = |x: i64| (x / T).saturating_mul(C).saturating_add(C.min(x % T)).min(most);
        Contender { NC: work(L), CI: work(L.saturating_add(D - C)) }
    }
}
