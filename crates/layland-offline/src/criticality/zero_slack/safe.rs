//! Zero-slack instants that hold whatever the releases. Sound.
//!
//! A job only runs at its priority between its release and its deadline, so in any window of length `x` a
//! task executes for at most
//!
//! ```text
//! W(x) = min(x, k C + min(C, y - k T)),  y = x + D - C,  k = floor(y / T)      (0 if x <= 0)
//! ```
//!
//! Let `hc` be the tasks of higher priority with `z_j >= z_i`, `lo` the others of higher priority, and `b` =
//! `lhc` if one of them is not *quiet* at level `z_i`, and empty otherwise: one critical task of low priority
//! lets the others run ahead of `i`, so it is all or nothing. With execution times at level `z_i`, `r(z,
//! limit)` is the least
//!
//! ```text
//! t = C_i(z_i) + sum over hc of ceil(t / T) C + sum over b of W(t) + sum over lo of W(min(t, z))
//! ```
//!
//! `Z` is feasible if `r(Z, D_i)` exists and, where there is an `hc` with `C > 0`, also `r(x + Z, x + D_i)` for
//! every `x > 0` by which a busy window may begin before the release. `x` goes up to `full - D_i` with `full =
//! r(infinity, 40 max T)`, which must exist; that end and the points `w - Z` suffice, `w = C_l` or `w = k T_l +
//! 2 C_l - D_l`, where `W` of a task of `lo` stops rising. Feasibility falls with `Z`: `Z_i` is the largest
//! feasible value.
//!
//! `h` is quiet at level `l` if `Z_h = D_h`, or if `Z_h` less all the `W(Z_h)` of its `hc`, `lo` and `b`, at
//! level `l`, leaves `C_h(l)`: its job is complete before it turns critical.

use super::{ZeroSlack, visit};
use crate::criticality::MixedSet;
use crate::criticality::steps::{Effort, NoBound, Period, floor, least, sum, work};

/// The most fixed points, over a whole set.
const FIXED_POINTS: u64 = 20_000_000;

/// The most terms of sums that are not part of a fixed point, over a whole set: a point is looked at by the sum over
/// all tasks, and thousands of tasks have as many points as take hours.
const TERMS: u64 = 1 << 29;

/// A task in a window: `T`, `D`, `C`.
#[derive(Clone, Copy)]
struct Window {
    period: i64,
    over: Period,
    deadline: i64,
    wcet: i64,
}

impl Window {
    fn new(set: &MixedSet, j: usize, level: usize) -> Window {
        let (period, over) = (set.period[j], set.over[j]);
        Window { period, over, deadline: set.deadline[j], wcet: set.c(level)[j] }
    }

    /// `W(x)`.
    #[inline]
    fn most(&self, x: i64) -> i64 {
        let Window { period, over, deadline, wcet } = *self;
        let y = x.saturating_add(deadline - wcet);
        if x <= 0 || wcet == 0 || y < 0 {
            return 0;
        }
        let whole = over.floor(y);
        let part = (y - whole * period).min(wcet);
        x.min(work(whole, wcet).saturating_add(part))
    }
}

/// Zero-slack instants with the rule above. Sound.
pub fn safe(set: &MixedSet) -> ZeroSlack {
    let (mut effort, mut terms) = (Effort::new(FIXED_POINTS), Effort::new(TERMS));
    let far = set.period.iter().max().copied().unwrap_or(0).saturating_mul(40).min(1 << 61);
    // quiet[h][l], for the tasks that were visited.
    let mut quiet: Vec<Vec<bool>> = vec![Vec::new(); set.len()];
    visit(set, |i, higher, below| {
        let (level, deadline) = (set.z(i), set.deadline[i]);
        let ahead = |l: usize| {
            let any = below.iter().any(|&h| !quiet[h][l]);
            if any { below } else { &[] }
        };
        let windows = |tasks: &[usize]| -> Vec<Window> {
            tasks.iter().map(|&j| Window::new(set, j, level)).filter(|w| w.wcet > 0).collect()
        };
        let (hc, lo): (Vec<usize>, Vec<usize>) = higher.iter().partition(|&&j| set.z(j) >= level);
        let mut busy = Busy {
            own: set.own(i),
            deadline,
            hc: windows(&hc),
            lo: windows(&lo),
            b: windows(ahead(level)),
            effort: &mut effort,
            terms: &mut terms,
        };
        let instant = busy.latest(far)?;
        let finishes = |l: usize| {
            let all = higher.iter().chain(ahead(l));
            let most = sum(all.map(|&j| Window::new(set, j, l).most(instant)));
            instant == deadline || instant.saturating_sub(most) >= set.c(l)[i]
        };
        quiet[i] = (0..=level).map(finishes).collect();
        Ok(instant)
    })
}

/// What may delay a job.
struct Busy<'a> {
    own: i64,
    deadline: i64,
    hc: Vec<Window>,
    lo: Vec<Window>,
    b: Vec<Window>,
    effort: &'a mut Effort,
    terms: &'a mut Effort,
}

impl Busy<'_> {
    /// The right side of the recurrence.
    fn demand(&self, z: i64, t: i64) -> i64 {
        let hc = sum(self.hc.iter().map(|task| work(task.over.ceil(t), task.wcet)));
        let b = sum(self.b.iter().map(|task| task.most(t)));
        let lo = sum(self.lo.iter().map(|task| task.most(t.min(z))));
        self.own.saturating_add(hc).saturating_add(b).saturating_add(lo)
    }

    /// `r(z, limit)`.
    fn length(&mut self, z: i64, limit: i64) -> Result<i64, NoBound> {
        self.effort.spend()?;
        least(self.own, limit, |t| self.demand(z, t))
    }

    /// The largest feasible `Z`.
    ///
    /// The binary search of the definition looks at every point `w` for each `Z` that it tries. But `r(w, limit)` is
    /// the same number for every `Z`: it excludes all `Z` above `w + D_i - r(w)` that are below `w` and at least `w`
    /// less how far windows may begin ahead. So one visit of each point does, and only what is within a `Z`
    /// that is still possible has to be looked at.
    fn latest(&mut self, far: i64) -> Result<i64, NoBound> {
        let ahead = match self.hc.is_empty() {
            true => 0,
            false => (self.length(i64::MAX, far)? - self.deadline).max(0),
        };
        // Feasibility falls with Z: what is not feasible at 0 is not feasible at all.
        if !self.ends_hold(0, ahead)? {
            return Err(NoBound::Beyond);
        }
        let (mut yes, mut no) = (0, self.deadline + 1);
        while no - yes > 1 {
            let middle = yes + (no - yes) / 2;
            match self.ends_hold(middle, ahead)? {
                true => yes = middle,
                false => no = middle,
            }
        }
        // From here on `yes` is the largest Z that nothing has excluded so far.
        while let Some(w) = self.first_late(yes, ahead)? {
            yes = match self.length(w, w + self.deadline) {
                Ok(length) => w + self.deadline - length,
                Err(NoBound::Beyond) => -1,
                Err(NoBound::GaveUp) => return Err(NoBound::GaveUp),
            };
            // The point excludes only a Z for which its window begins no more than `ahead` before.
            yes = yes.max(w - ahead - 1);
            if yes < 0 {
                return Err(NoBound::Beyond);
            }
        }
        Ok(yes)
    }

    /// Whether `Z` holds for windows that begin at the release, and `ahead` before it.
    fn ends_hold(&mut self, z: i64, ahead: i64) -> Result<bool, NoBound> {
        Ok(self.holds(z, 0)? && (ahead == 0 || self.holds(z, ahead)?))
    }

    /// A point `w` at which `Z` does not hold, for windows that begin up to `ahead` before the release.
    fn first_late(&mut self, z: i64, ahead: i64) -> Result<Option<i64>, NoBound> {
        for task in 0..self.lo.len() {
            let Window { period, deadline, wcet, .. } = self.lo[task];
            if (1..=ahead).contains(&(wcet - z)) && !self.holds(z, wcet - z)? {
                return Ok(Some(wcet));
            }
            // w = k T + 2 C - D, from the first above z.
            let start = 2 * wcet - deadline - z;
            let mut x = match start {
                start if start > 0 => start,
                start => start + (floor(-start, period) + 1) * period,
            };
            while x <= ahead {
                if !self.holds(z, x)? {
                    return Ok(Some(z + x));
                }
                x += period;
            }
        }
        Ok(None)
    }

    /// Whether a window that begins `x` before the release ends by the deadline.
    fn holds(&mut self, z: i64, x: i64) -> Result<bool, NoBound> {
        self.terms.spend_on(self.hc.len() + self.lo.len() + self.b.len())?;
        let limit = x + self.deadline;
        if self.demand(x + z, limit) <= limit {
            return Ok(true);
        }
        match self.length(x + z, limit) {
            Ok(_) => Ok(true),
            Err(NoBound::Beyond) => Ok(false),
            Err(NoBound::GaveUp) => Err(NoBound::GaveUp),
        }
    }
}
