//! FJP-LB: the job pattern from the load (Section 3.2; after Li and Baruah, EMSOFT 2010). The paper
//! does not restate the bound; this one is sound:
//!
//! ```text
//! B(-1) = 0;  B(m) = ceil((B(m-1) + load(m) D_max) / (1 - load(m)))        reject if load(m) >= 1
//! load(m) = max over x > 0 of (1 / x) sum over z_i >= m of max(0, floor((x - D_i) / T_i) + 1) C_i(m)
//! n_i = ceil(B(z_i) / T_i), every job with its full execution times
//! ```
//!
//! The jobs of a busy period of length `B` are due within `B + D_max`, so they need at most
//! `load (B + D_max)`. If `D = T` for all tasks of a level, its load is its utilization. Otherwise
//! the absolute deadlines are examined in order. With `S` the sum of `(T_i - D_i) C_i / T_i`, the
//! demand per time at `x` is at most `U + S / x`, so the search ends where this is not above the
//! best so far, or at the hyperperiod. After 200,000 points, this value is taken as the bound.

use super::scan::summed;
use super::{Jobs, LONGEST, utilization};
use crate::criticality::{Answer, MixedSet};
use layland_model::Rate;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The maximum number of deadlines that are examined for one load.
const POINTS: usize = 200_000;

/// FJP-LB. Sound.
pub fn load_based(set: &MixedSet, jobs: u64) -> Jobs {
    let longest = Rate::whole(set.deadline.iter().max().copied().unwrap_or(0));
    let mut busy: Vec<i64> = Vec::new();
    let mut gave_up = false;
    for m in 0..set.levels() {
        let load = load(set, m);
        if load >= Rate::ONE {
            return Jobs::none(Answer::NotSchedulable);
        }
        let before = Rate::whole(busy.last().copied().unwrap_or(0));
        let b = (&before + &(&load * &longest)) / (Rate::ONE - load);
        match b.ceil().filter(|&b| b <= LONGEST) {
            Some(b) => busy.push(b),
            None => {
                gave_up = true;
                busy.push(LONGEST);
            }
        }
    }
    if gave_up {
        return Jobs::none(Answer::GaveUp);
    }
    Jobs::scanned(set, &busy, jobs, |counts| {
        let demand = |i: usize, _k: usize, l: usize| set.c(l.min(set.z(i)))[i];
        summed(set, counts, demand)
    })
}

/// Returns `load(m)`, or an upper bound on it.
fn load(set: &MixedSet, m: usize) -> Rate {
    let mine: Vec<usize> = (0..set.len()).filter(|&i| set.z(i) >= m && set.c(m)[i] > 0).collect();
    let utilization = utilization(set, m);
    let slack = |&i: &usize| {
        Rate::new(set.period[i] - set.deadline[i], set.period[i]) * Rate::whole(set.c(m)[i])
    };
    let slack: Rate = mine.iter().map(slack).sum();
    if slack == Rate::ZERO || utilization >= Rate::ONE {
        return utilization;
    }
    let hyperperiod = mine.iter().try_fold(1i64, |lcm, &i| {
        let (a, b) = (lcm, set.period[i]);
        a.checked_mul(b / greatest_common_divisor(a, b))
    });
    let mut best = utilization.clone();
    let mut demand = 0i64;
    let mut next: BinaryHeap<Reverse<(i64, usize)>> =
        mine.iter().map(|&i| Reverse((set.deadline[i], i))).collect();
    for _ in 0..POINTS {
        let Some(&Reverse((x, _))) = next.peek() else { return best };
        while let Some(&Reverse((same, i))) = next.peek()
            && same == x
        {
            next.pop();
            demand = demand.saturating_add(set.c(m)[i]);
            next.push(Reverse((x.saturating_add(set.period[i]), i)));
        }
        let bound = &utilization + &(&slack / &Rate::whole(x));
        if bound <= best || hyperperiod.is_some_and(|hyperperiod| x > hyperperiod) {
            return best;
        }
        best = best.max(Rate::new(demand, x));
    }
    let x = next.peek().map_or(i64::MAX, |&Reverse((x, _))| x);
    best.max(&utilization + &(&slack / &Rate::whole(x)))
}

fn greatest_common_divisor(mut a: i64, mut b: i64) -> i64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
