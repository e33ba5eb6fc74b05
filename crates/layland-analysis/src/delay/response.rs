//! The response time of a task for one choice of weights. The proof is in [`super`].

#![expect(non_snake_case, reason = "symbols of the papers")]

use super::crowds::{Delay, Gap, WHOLE};
use super::workload::{Carried, NEVER, carrying, fresh};
use crate::Sporadic;
use crate::global_edf::fixed_point_bound;

/// A search for the end of a busy period gives up after this number of steps, a search through the
/// lengths of windows after eight times as many.
const STEPS: usize = 250;

/// The common data of searches, and the work that they may still do.
pub(crate) struct DelaySearch<'a> {
    pub(crate) tasks: &'a [Sporadic],
    /// The number of times that the work of a task in a window may still be computed.
    pub(crate) budget: i64,
    /// A buffer for the additional work of rivals that carry a job in.
    more: Vec<i128>,
}

/// A window that begins `A` before the release. It counts the work in `L` of jobs due in `H`, at
/// most `x` for each task.
#[derive(Clone, Copy)]
struct DelayWindow {
    A: i64,
    L: i64,
    H: i64,
    x: i64,
}

impl<'a> DelaySearch<'a> {
    pub(crate) fn new(tasks: &'a [Sporadic], budget: i64) -> DelaySearch<'a> {
        DelaySearch { tasks, budget, more: Vec::new() }
    }

    /// Returns `R_k` under EDF in windows from the release, if one up to `D_k` is found.
    pub(crate) fn since_release(&mut self, k: usize, S: &[i64], delay: &Delay) -> Option<i64> {
        let [C, D, _] = self.tasks[k].ns();
        fixed_point_bound(C, D, |R| {
            if self.budget < 0 {
                return i64::MAX;
            }
            C + self.waits(delay, None, S, DelayWindow { A: 0, L: R, H: D, x: R - C + 1 }, None)
        })
    }

    /// Returns `R_k` under fixed priorities in windows from the gap, if one up to `D_k` is found.
    pub(crate) fn by_priority(&mut self, k: usize, S: &[i64], delay: &Delay) -> Option<i64> {
        let [C, D, _] = self.tasks[k].ns();
        let response = |gap| {
            fixed_point_bound(C, D, |R| {
                if self.budget < 0 {
                    return i64::MAX;
                }
                let window = DelayWindow { A: 0, L: R, H: NEVER, x: R - C + 1 };
                C + self.waits(delay, Some(gap), S, window, None)
            })
        };
        delay.gaps.iter().map(response).try_fold(C, |most, R| Some(most.max(R?)))
    }

    /// Returns `R_k` under EDF in windows from the gap, if one up to `D_k` is found.
    pub(crate) fn since_gap(&mut self, k: usize, S: &[i64], delay: &Delay) -> Option<i64> {
        let [C, D, _] = self.tasks[k].ns();
        // As in `fixed_point_bound`, each step is at least a fixed part of the whole range.
        let (mut R, step) = (C, (D - C) / 64 + 1);
        for gap in &delay.gaps {
            let (mut A, mut left) = (self.longest(k, S, delay, gap)?, 8 * STEPS);
            let longest = A;
            // The waiting time does not decrease as `A` grows: if it is `w` at `A`, the bound holds
            // for all lengths from `w - R + C` to `A`.
            while A >= 0 {
                left = left.checked_sub(1).filter(|_| self.budget >= 0)?;
                let window = DelayWindow { A, L: A + R, H: A + D, x: A + R - C + 1 };
                let waits = self.waits(delay, Some(gap), S, window, Some(k));
                if waits <= A + R - C {
                    A = waits - R + C - 1;
                } else if R == D {
                    return None;
                } else {
                    R = (C + waits - A).max(R + step).min(D);
                    A = longest;
                }
            }
        }
        Some(R)
    }

    /// Returns the largest `A` to examine. In longer windows the work is too little by the
    /// utilizations, or it cannot have kept all CPUs that count busy before the release.
    fn longest(&mut self, k: usize, S: &[i64], delay: &Delay, gap: &Gap) -> Option<i64> {
        let by_load = self.by_load(k, delay);
        let mut x = 1i64;
        for _ in 0..STEPS {
            if by_load.is_some_and(|most| most <= x) {
                break;
            }
            let next = if delay.is_alone {
                // The busy period that begins with a job of each task.
                let others = delay.crowds.iter().flat_map(|crowd| crowd.members.iter());
                let all = others.chain([&k]).map(|&i| self.tasks[i].ns());
                all.fold(0i64, |sum, [C, _, T]| {
                    sum.saturating_add(((x - 1) / T + 1).saturating_mul(C))
                })
            } else {
                let window = DelayWindow { A: 0, L: x, H: NEVER, x };
                // The jobs of the task itself, with or without carry-in.
                let own = if gap.own {
                    carrying(&self.tasks[k], x, NEVER, S[k], Carried::Running)
                } else {
                    fresh(&self.tasks[k], x, NEVER)
                };
                let own = own.min(x);
                let others = self.weight(delay, Some(gap), S, window, None);
                waited(others + i128::from(own) * i128::from(delay.own)) + 1
            };
            if next <= x {
                return Some(x);
            }
            if self.budget < 0 || next > NEVER / 4 {
                break;
            }
            x = next;
        }
        by_load
    }

    /// Jobs due in `A + D_k` execute for at most `u_i (A + D_k) + C_i`, earlier jobs of the task
    /// itself for at most `u_k A + C_k`. Returns the largest `A` up to which this weighs at least
    /// `A + 1`; `None` if the load weighs 1 or more.
    fn by_load(&self, k: usize, delay: &Delay) -> Option<i64> {
        const SHIFT: u32 = 32;
        let [C_k, D_k, T_k] = self.tasks[k].ns().map(i128::from);
        // `u` in 2^-32, rounded up.
        let load = |C: i128, T: i128| (C << SHIFT) / T + 1;
        let own = i128::from(delay.own);
        let (mut sum, mut rest) = (own * load(C_k, T_k), (own * C_k) << SHIFT);
        for crowd in &delay.crowds {
            for &i in crowd.members.iter() {
                let [C, _, T] = self.tasks[i].ns().map(i128::from);
                let weight = i128::from(crowd.weight);
                sum += weight * load(C, T);
                rest = rest.checked_add(weight.checked_mul(load(C, T))?.checked_mul(D_k)?)?;
                rest += (weight * C) << SHIFT;
            }
        }
        let room = (i128::from(WHOLE) << SHIFT) - sum;
        let most = (room > 0).then(|| rest / room)?;
        i64::try_from(most).ok().filter(|&most| most < NEVER / 4)
    }

    fn waits(
        &mut self,
        delay: &Delay,
        gap: Option<&Gap>,
        S: &[i64],
        window: DelayWindow,
        own: Option<usize>,
    ) -> i64 {
        waited(self.weight(delay, gap, S, window, own))
    }

    /// The weight of all jobs that may run in the window. `own` is the task itself, if its earlier
    /// jobs count.
    fn weight(
        &mut self,
        delay: &Delay,
        gap: Option<&Gap>,
        S: &[i64],
        DelayWindow { A, L, H, x }: DelayWindow,
        own: Option<usize>,
    ) -> i128 {
        let mut sum = 0i128;
        self.more.clear();
        for (at, crowd) in delay.crowds.iter().enumerate() {
            let weight = i128::from(crowd.weight);
            let limit = gap.and_then(|gap| gap.limited[at]);
            let (first, mut all) = (self.more.len(), 0i128);
            for &i in crowd.members.iter() {
                let tau_i = &self.tasks[i];
                if limit.is_some() {
                    let no = fresh(tau_i, L, H).min(x);
                    let yes = carrying(tau_i, L, H, S[i], Carried::Running).min(x);
                    all += i128::from(no);
                    self.more.push(i128::from(yes - no));
                } else {
                    all += i128::from(carrying(tau_i, L, H, S[i], Carried::Waiting).min(x));
                }
            }
            self.budget -= crowd.members.len() as i64;
            if let Some(limit) = limit {
                let kept = self.keep_largest(first, limit);
                self.more.truncate(kept);
            }
            let most = i128::from(crowd.at_once) * i128::from(x);
            let room = most - all.min(most);
            self.more[first..].iter_mut().for_each(|more| *more = room.min(*more) * weight);
            sum += all.min(most) * weight;
        }
        let Some(gap) = gap else { return sum };
        let mut own_more = 0;
        if let Some(k) = own {
            // Count the jobs that arrive a period apart before `r_k` and after the gap, and the one
            // before the gap.
            let [C, D, T] = self.tasks[k].ns();
            let whole = (A / T).saturating_mul(C);
            let carried = (A % T + D - S[k] - T).clamp(0, C - 1);
            let (no, yes) = (whole.min(A), whole.saturating_add(carried).min(A));
            sum += i128::from(no) * i128::from(delay.own);
            if gap.own {
                own_more = i128::from(yes - no) * i128::from(delay.own);
            }
        }
        let mut most = gap.rivals;
        if gap.all > gap.rivals {
            sum += own_more;
        } else {
            self.more.push(own_more);
            most = gap.all;
        }
        let kept = self.keep_largest(0, most);
        sum + self.more[..kept].iter().sum::<i128>()
    }

    /// Moves the `count` largest numbers from `first` on to the front, and returns where they end.
    fn keep_largest(&mut self, first: usize, count: usize) -> usize {
        let numbers = &mut self.more[first..];
        if count > 0 && numbers.len() > count {
            numbers.select_nth_unstable_by(count - 1, |a, b| b.cmp(a));
        }
        first + count.min(numbers.len())
    }
}

/// The units of waiting for which a weight suffices.
fn waited(weight: i128) -> i64 {
    i64::try_from(weight / i128::from(WHOLE)).unwrap_or(i64::MAX).min(NEVER)
}
