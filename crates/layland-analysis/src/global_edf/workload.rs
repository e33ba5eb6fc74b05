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
        // Neither is longer than times can be, as `C_i <= T_i`.
        self.whole + self.C.min((self.rest - S_i).max(0))
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

/// The interference of each two tasks of a few, which rounds ask for again and again. Of many it is computed anew each
/// time: a table would not fit the memory.
pub(crate) struct Pairs<'a> {
    rivals: &'a [Rival],
    /// That of each task with a job of the first one, then with one of the second, and so on; or nothing.
    table: Vec<Interference>,
}

impl<'a> Pairs<'a> {
    /// With more tasks than these there is no table.
    const FEW: usize = 64;

    pub(crate) fn of(tasks: &[Sporadic], rivals: &'a [Rival]) -> Pairs<'a> {
        let row = |tau_k: &Sporadic| {
            let D_k = tau_k.deadline.ns();
            rivals.iter().map(move |tau_i| tau_i.interference(D_k))
        };
        let table = match tasks.len() <= Pairs::FEW {
            true => tasks.iter().flat_map(row).collect(),
            false => Vec::new(),
        };
        Pairs { rivals, table }
    }

    /// The tasks.
    pub(crate) fn rivals(&self) -> &'a [Rival] {
        self.rivals
    }

    /// What each task does to a job of task `k`, which has this deadline, itself among them. `room` is memory to use
    /// again.
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

/// A task that is asked for its [workload](Rival::workload) in one window after the other, of which most are a little
/// longer than the one before: it divides only where a window ends in another period than the last one.
#[derive(Clone, Copy)]
pub(crate) struct Growing {
    tau_i: Rival,
    /// `D_i - C_i - S_i`.
    ahead: i64,
    /// The windows that end in the period in which the last one ended: from this length on, and below this one.
    from: i64,
    below: i64,
    /// In these the workload is their length and so much more, and at most this.
    more: i64,
    most: i64,
}

impl Growing {
    pub(crate) fn new(tau_i: Rival, S_i: i64) -> Growing {
        // No window is in no period.
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
        // What is more than this has no effect.
        self.more = before.saturating_sub(self.from).min(i64::MAX / 2);
        self.most = before.saturating_add(C);
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

/// The sum of lengths of time, each at most this one: in 64 bits if they suffice, which take a part of the time.
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
            // Mostly a little longer, sometimes much, sometimes shorter.
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
