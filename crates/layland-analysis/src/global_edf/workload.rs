//! The interference of another task with a job under global EDF: the common bounds of
//! [`bcli`](super::bcli) and [`rta`](super::rta) (Bertogna, Cirinei, Lipari 2009; Bertogna, Cirinei
//! 2007).
//!
//! | paper | meaning |
//! |---|---|
//! | `S_i` | slack: a job of `tau_i` finishes at least this long before its deadline |
//! | `W_i(L)` | the maximum execution of `tau_i` in any window of length `L` |
//! | `I_i^k` | the maximum execution, in the window of a job of `tau_k`, of jobs of `tau_i` with deadlines in that window |

#![expect(non_snake_case, reason = "symbols of the papers")]

use crate::Sporadic;
use crate::sporadic::Divisor;

/// The parameters that determine a task's interference with others.
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

/// Returns the rivals that correspond to these tasks.
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
    /// `I_i^k = floor(D_k / T_i) C_i + min(C_i, max(0, D_k mod T_i - S_i))`: one deadline of
    /// `tau_i` coincides with that of the job of `tau_k`, and the earlier ones precede it period by
    /// period.
    #[inline]
    pub(crate) fn with_slack(self, S_i: i64) -> i64 {
        // Neither term overflows, as `C_i <= T_i`.
        self.whole + self.C.min((self.rest - S_i).max(0))
    }
}

impl Rival {
    /// Returns the interference with a job that has this relative deadline.
    #[inline]
    pub(crate) fn interference(&self, D_k: i64) -> Interference {
        let (jobs, rest) = self.T.div_rem(D_k);
        Interference { whole: jobs.saturating_mul(self.C), rest, C: self.C }
    }

    /// `W_i(L) = N C_i + min(C_i, L + D_i - C_i - S_i - N T_i)` with
    /// `N = floor((L + D_i - C_i - S_i) / T_i)`: the first job executes as late as its slack
    /// permits, all others as early as possible.
    #[inline]
    pub(crate) fn workload(&self, L: i64, S_i: i64) -> i64 {
        let (jobs, rest) = self.T.div_rem(L + self.laxity - S_i);
        jobs.saturating_mul(self.C).saturating_add(self.C.min(rest))
    }
}

/// The interference of every two tasks, which rounds evaluate repeatedly. It is tabulated for small
/// sets only; for large ones a table would not fit into memory.
pub(crate) struct Pairs<'a> {
    rivals: &'a [Rival],
    /// The interference of each task with a job of the first one, then with a job of the second,
    /// and so on; or empty.
    table: Vec<Interference>,
}

impl<'a> Pairs<'a> {
    /// The maximum number of tasks for which there is a table.
    const FEW: usize = 64;

    pub(crate) fn of(tasks: &[Sporadic], rivals: &'a [Rival]) -> Pairs<'a> {
        let row = |tau_k: &Sporadic| {
            let D_k = tau_k.deadline.ns();
            rivals.iter().map(move |tau_i| tau_i.interference(D_k))
        };
        let table = if tasks.len() <= Pairs::FEW {
            tasks.iter().flat_map(row).collect()
        } else {
            Vec::new()
        };
        Pairs { rivals, table }
    }

    /// Returns the tasks as rivals.
    pub(crate) fn rivals(&self) -> &'a [Rival] {
        self.rivals
    }

    /// Returns the interference of each task, including task `k`, with a job of task `k`, which has
    /// this deadline. `room` is a buffer that callers reuse.
    #[inline]
    pub(crate) fn with<'p>(
        &'p self,
        k: usize,
        D_k: i64,
        room: &'p mut Vec<Interference>,
    ) -> &'p [Interference] {
        let count = self.rivals.len();
        if let Some(row) = self.table.get(k * count..(k + 1) * count) {
            return row;
        }
        room.clear();
        room.extend(self.rivals.iter().map(|tau_i| tau_i.interference(D_k)));
        room
    }
}

/// A task whose [workload](Rival::workload) is evaluated in a sequence of windows, most of them
/// slightly longer than the previous one. It divides only if a window ends in another period than
/// the last one.
#[derive(Clone, Copy)]
pub(crate) struct Growing {
    tau_i: Rival,
    /// `D_i - C_i - S_i`.
    ahead: i64,
    /// The range of window lengths that end in the same period as the last window: at least `from`,
    /// and less than `below`.
    from: i64,
    below: i64,
    /// In this range the workload is the length plus `more`, and at most `most`.
    more: i64,
    most: i64,
}

impl Growing {
    pub(crate) fn new(tau_i: Rival, S_i: i64) -> Growing {
        // The range is empty at first, so that the first window enters a period.
        Growing { tau_i, ahead: tau_i.laxity - S_i, from: i64::MAX, below: 0, more: 0, most: 0 }
    }

    /// `W_i(L)`.
    #[inline]
    pub(crate) fn workload(&mut self, L: i64) -> i64 {
        if L < self.from || L >= self.below {
            self.enter(L);
        }
        self.most.min(L + self.more)
    }

    fn enter(&mut self, L: i64) {
        let Rival { C, T, .. } = self.tau_i;
        let (jobs, beyond) = T.div_rem(L + self.ahead);
        let before = jobs.saturating_mul(C);
        self.from = L - beyond;
        self.below = self.from.saturating_add(T.number());
        // The cap has no effect on the workload, but keeps `L + more` from overflowing.
        self.more = before.saturating_sub(self.from).min(i64::MAX / 2);
        self.most = before.saturating_add(C);
    }
}

/// Returns `floor(sum / m)` of a sum that is not negative. Most sums fit 64 bits, in which a
/// division takes a fraction of the time.
#[inline]
pub(crate) fn share(sum: i128, m: i64) -> i64 {
    debug_assert!(sum >= 0);
    match u64::try_from(sum) {
        Ok(sum) => (sum / m as u64) as i64,
        Err(_) => (sum / i128::from(m)) as i64,
    }
}

/// Returns the sum of lengths of time, each at most `most`. It is added up in 64 bits if they
/// suffice, which takes a fraction of the time.
#[inline]
pub(crate) fn sum(lengths: impl ExactSizeIterator<Item = i64>, most: i64) -> i128 {
    match (most as u64).checked_mul(lengths.len() as u64) {
        Some(_) => i128::from(lengths.map(|length| length as u64).sum::<u64>()),
        None => lengths.map(i128::from).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sporadic::random;
    use layland_model::{Duration, Service};

    #[test]
    fn what_is_kept_from_the_last_window_changes_nothing() {
        let mut draw = random(3);
        for _ in 0..2_000 {
            let period = 1 + draw(200) as i64;
            let wcet = 1 + draw(period as u64) as i64;
            let deadline = wcet + draw((period - wcet + 1) as u64) as i64;
            let [T, D] = [period, deadline].map(Duration::from_ns);
            let tau = Sporadic { wcet: Service::from_ns(wcet), deadline: D, period: T };
            let slack = draw((deadline - wcet + 1) as u64) as i64;
            let rival = Rival::from(&tau);
            let mut growing = Growing::new(rival, slack);
            // Most windows are slightly longer, some much longer, some shorter.
            let mut L = 0;
            for _ in 0..30 {
                L = match draw(8) {
                    0 => draw(2_000) as i64,
                    1 => L + draw(1_000) as i64,
                    _ => L + draw(60) as i64,
                };
                assert_eq!(growing.workload(L), rival.workload(L, slack), "{tau:?} {slack} {L}");
            }
        }
    }

    #[test]
    fn a_table_has_what_is_computed_anew() {
        let mut draw = random(5);
        for count in [1, 7, Pairs::FEW, Pairs::FEW + 1] {
            let task = |_| {
                let period = 10 + draw(5_000) as i64;
                Sporadic::implicit(Service::from_ns(1 + period / 7), Duration::from_ns(period))
            };
            let tasks: Vec<Sporadic> = (0..count).map(task).collect();
            let rivals = rivals(&tasks);
            let (pairs, mut room) = (Pairs::of(&tasks, &rivals), Vec::new());
            assert_eq!(pairs.table.is_empty(), count > Pairs::FEW);
            for (k, tau_k) in tasks.iter().enumerate() {
                let row = pairs.with(k, tau_k.deadline.ns(), &mut room);
                assert_eq!(row.len(), count);
                for (tau_i, of) in rivals.iter().zip(row) {
                    let anew = tau_i.interference(tau_k.deadline.ns());
                    for S_i in [0, 3, 1_000] {
                        assert_eq!(of.with_slack(S_i), anew.with_slack(S_i));
                    }
                }
            }
        }
    }
}
