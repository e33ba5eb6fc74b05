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
use crate::criticality::steps::{Effort, NoBound, Period, Reached, ceil, climb, sum, work};
use crate::criticality::{MixedSet, rate_monotonic};
use layland_model::Index;
use std::cmp::Reverse;

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

    /// The work of the jobs that are released in `x`, the first at its start.
    #[inline]
    fn arriving(&self, x: i64) -> i64 {
        work(self.over.ceil(x), self.wcet)
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
    let mut limits = Limits::of(set);
    // quiet[h][l], for the tasks that were visited.
    let mut quiet: Vec<Vec<bool>> = vec![Vec::new(); set.len()];
    visit(set, |i, higher, below| {
        let any = |l: usize| below.iter().any(|&h| !quiet[h][l]);
        let (instant, finishes) = instant_of(set, i, higher, below, any, &mut limits)?;
        quiet[i] = finishes;
        Ok(instant)
    })
}

/// Whether [`safe`] finds an instant for every task, which takes a fraction of the time: it asks whether `Z = 0` is
/// feasible, from the lowest priority upwards.
///
/// `b` is `lhc` or empty. What holds with `lhc` holds with less, and what does not hold without it does not hold with
/// it. Only where the two differ, the instants of `lhc` decide, until one of its tasks is not quiet: more than half
/// of the time goes there. First fit of 2,000 tasks on 64 CPUs takes 5.5 s of processor time on 2 cores of a shared
/// AMD EPYC, a sixth of what whole analyses take.
pub fn accepts(set: &MixedSet) -> bool {
    windows_end(set) && every_task_has_one(set).unwrap_or(false)
}

fn every_task_has_one(set: &MixedSet) -> Result<bool, NoBound> {
    let order: Vec<usize> = rate_monotonic(set).iter().map(|task| task.index()).collect();
    let mut lazy =
        Lazy { set, order: &order, quiet: vec![None; set.len()], limits: Limits::of(set) };
    let mut differ = Vec::new();
    for place in (0..order.len()).rev() {
        let below = lazy.below(place);
        let mut busy = Busy::new(set, order[place], &order[..place], &below, &mut lazy.limits);
        if busy.is_possible()? {
            continue;
        }
        let with_all = !busy.b.is_empty();
        busy.b.clear();
        busy.lengths.clear();
        if !(with_all && busy.is_possible()?) {
            return Ok(false);
        }
        differ.push(place);
    }
    for place in differ {
        let level = set.z(order[place]);
        if lazy.some_is_not_quiet(place, level)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Who is quiet, found when somebody asks.
struct Lazy<'a> {
    set: &'a MixedSet,
    order: &'a [usize],
    /// At each level up to its own.
    quiet: Vec<Option<Vec<bool>>>,
    limits: Limits,
}

impl Lazy<'_> {
    /// The tasks of lower priority than the one at this place, and higher criticality.
    fn below(&self, place: usize) -> Vec<usize> {
        let level = self.set.z(self.order[place]);
        let lower = self.order[place + 1..].iter().copied();
        lower.filter(|&h| self.set.z(h) > level).collect()
    }

    fn some_is_not_quiet(&mut self, place: usize, level: usize) -> Result<bool, NoBound> {
        let own = self.set.z(self.order[place]);
        // The lowest priority has the most ahead of it.
        for at in (place + 1..self.order.len()).rev() {
            let h = self.order[at];
            if self.set.z(h) <= own {
                continue;
            }
            if self.quiet[h].is_none() {
                let any: Result<Vec<bool>, NoBound> =
                    (0..=self.set.z(h)).map(|l| self.some_is_not_quiet(at, l)).collect();
                let (any, below) = (any?, self.below(at));
                let higher = &self.order[..at];
                let (_, quiet) =
                    instant_of(self.set, h, higher, &below, |l| any[l], &mut self.limits)?;
                self.quiet[h] = Some(quiet);
            }
            if self.quiet[h].as_ref().is_some_and(|quiet| !quiet[level]) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// How far a search goes.
struct Limits {
    /// Up to where a busy window is followed.
    far: i64,
    effort: Effort,
    terms: Effort,
}

impl Limits {
    fn of(set: &MixedSet) -> Limits {
        let longest = set.period.iter().max().copied().unwrap_or(0);
        Limits {
            far: longest.saturating_mul(40).min(1 << 61),
            effort: Effort::new(FIXED_POINTS),
            terms: Effort::new(TERMS),
        }
    }
}

/// Whether the longest busy window of every task can end, by utilization. Necessary.
///
/// With a task of `hc` that executes, `r(infinity, ..)` must exist. `ceil(t / T) C >= t C / T`, and `W(t) >= t C / T`
/// unless it is `t` itself or `C > D`, with which nothing is accepted. So the sum of `C / T` over the tasks of higher
/// priority is not above 1. It is looked at for the lowest priority of each level, which has the most above it.
fn windows_end(set: &MixedSet) -> bool {
    let place = |i: usize| (set.period[i], Reverse(set.level[i]), set.rank[i]);
    (0..set.levels()).all(|level| {
        let of_level = (0..set.len()).filter(|&i| set.z(i) == level);
        let Some(lowest) = of_level.max_by_key(|&i| place(i)).map(place) else { return true };
        let c = set.c(level);
        let higher = || (0..set.len()).filter(|&j| place(j) < lowest);
        let shares = higher().map(|j| c[j] as u128 * MixedSet::ONE / set.period[j] as u128);
        shares.sum::<u128>() <= MixedSet::ONE || !higher().any(|j| set.z(j) >= level && c[j] > 0)
    })
}

/// The instant of a task, and whether it is quiet at each level; `any(l)` says whether one of `below` is not quiet.
fn instant_of(
    set: &MixedSet,
    i: usize,
    higher: &[usize],
    below: &[usize],
    any: impl Fn(usize) -> bool,
    limits: &mut Limits,
) -> Result<(i64, Vec<bool>), NoBound> {
    let (level, deadline) = (set.z(i), set.deadline[i]);
    let ahead = |l: usize| if any(l) { below } else { &[] };
    let instant = Busy::new(set, i, higher, ahead(level), limits).latest()?;
    let finishes = |l: usize| {
        let all = higher.iter().chain(ahead(l));
        let most = sum(all.map(|&j| Window::new(set, j, l).most(instant)));
        instant == deadline || instant.saturating_sub(most) >= set.c(l)[i]
    };
    Ok((instant, (0..=level).map(finishes).collect()))
}

/// What may delay a job.
struct Busy<'a> {
    own: i64,
    deadline: i64,
    hc: Vec<Window>,
    lo: Vec<Window>,
    b: Vec<Window>,
    /// `r(z, ..)` is not below the second number for every `z` from the first on; both rise.
    lengths: Vec<(i64, i64)>,
    limits: &'a mut Limits,
}

impl<'a> Busy<'a> {
    fn new(
        set: &MixedSet,
        i: usize,
        higher: &[usize],
        b: &[usize],
        limits: &'a mut Limits,
    ) -> Busy<'a> {
        let level = set.z(i);
        let (mut hc, mut lo) = (Vec::with_capacity(higher.len()), Vec::new());
        for &j in higher {
            let window = Window::new(set, j, level);
            if window.wcet > 0 {
                if set.z(j) >= level { &mut hc } else { &mut lo }.push(window);
            }
        }
        let b = b.iter().map(|&j| Window::new(set, j, level)).filter(|window| window.wcet > 0);
        Busy {
            own: set.own(i),
            deadline: set.deadline[i],
            hc,
            lo,
            b: b.collect(),
            lengths: Vec::new(),
            limits,
        }
    }

    /// The right side of the recurrence.
    fn demand(&self, z: i64, t: i64) -> i64 {
        let hc = sum(self.hc.iter().map(|task| task.arriving(t)));
        let b = sum(self.b.iter().map(|task| task.most(t)));
        let lo = sum(self.lo.iter().map(|task| task.most(t.min(z))));
        self.own.saturating_add(hc).saturating_add(b).saturating_add(lo)
    }

    /// `r(z, limit)`.
    fn length(&mut self, z: i64, limit: i64) -> Result<i64, NoBound> {
        self.limits.effort.spend()?;
        // The length rises with z: what was found for less is where the search begins.
        let at = self.lengths.partition_point(|&(from, _)| from <= z);
        let start = if at > 0 { self.lengths[at - 1].1 } else { self.own };
        let (reached, found) = match climb(start, limit, |t| self.demand(z, t))? {
            Reached::At(found) => (found, Ok(found)),
            Reached::Beyond(reached) => (reached, Err(NoBound::Beyond)),
        };
        if reached > start {
            let lower = self.lengths[at..].iter().take_while(|&&(_, r)| r <= reached).count();
            self.lengths.splice(at..at + lower, [(z, reached)]);
        }
        found
    }

    /// The largest feasible `Z`.
    ///
    /// The binary search of the definition looks at every point `w` for each `Z` that it tries. But `r(w, limit)` is
    /// the same number for every `Z`: it excludes all `Z` above `w + D_i - r(w)` that are below `w` and at least `w`
    /// less how far windows may begin ahead. So one visit of each point does, and only what is within a `Z`
    /// that is still possible has to be looked at.
    fn latest(&mut self) -> Result<i64, NoBound> {
        // The job is complete by its deadline even if nothing is ever suspended: no window begins ahead.
        if self.demand(i64::MAX, self.deadline) <= self.deadline {
            return Ok(self.deadline);
        }
        let ahead = self.ahead()?;
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

    /// Whether there is a feasible `Z`: whether 0 is one.
    fn is_possible(&mut self) -> Result<bool, NoBound> {
        if self.demand(i64::MAX, self.deadline) <= self.deadline {
            return Ok(true);
        }
        if !self.holds(0, 0)? {
            return Ok(false);
        }
        match self.ahead() {
            Ok(ahead) => Ok(self.ends_hold(0, ahead)? && self.first_late(0, ahead)?.is_none()),
            Err(NoBound::Beyond) => Ok(false),
            Err(NoBound::GaveUp) => Err(NoBound::GaveUp),
        }
    }

    /// By how much a busy window may begin before the release.
    fn ahead(&mut self) -> Result<i64, NoBound> {
        match self.hc.is_empty() {
            true => Ok(0),
            false => Ok((self.length(i64::MAX, self.limits.far)? - self.deadline).max(0)),
        }
    }

    /// Whether `Z` holds for windows that begin at the release, and `ahead` before it.
    fn ends_hold(&mut self, z: i64, ahead: i64) -> Result<bool, NoBound> {
        Ok(self.holds(z, 0)? && (ahead == 0 || self.holds(z, ahead)?))
    }

    /// A point `w` at which `Z` does not hold, for windows that begin up to `ahead` before the release.
    ///
    /// Thousands of points lie close together, and most hold by far: if the demand of the last of some points is met by
    /// the deadline of the first, all in between hold. So whole ranges are looked at first, and cut in two.
    fn first_late(&mut self, z: i64, ahead: i64) -> Result<Option<i64>, NoBound> {
        let shortest = self.lo.iter().map(|task| task.period).min().unwrap_or(0);
        let mut ranges = vec![(1, ahead)];
        while let Some((from, to)) = ranges.pop() {
            if self.lo.is_empty() || from > to || self.hold(z, from, to)? {
                continue;
            }
            if to - from > shortest {
                let middle = from + (to - from) / 2;
                ranges.push((middle + 1, to));
                ranges.push((from, middle));
                continue;
            }
            for task in 0..self.lo.len() {
                let Window { period, deadline, wcet, .. } = self.lo[task];
                if (from..=to).contains(&(wcet - z)) && !self.holds(z, wcet - z)? {
                    return Ok(Some(wcet));
                }
                // w = k T + 2 C - D, from the first in the range.
                let start = 2 * wcet - deadline - z;
                let mut x = match start {
                    start if start >= from => start,
                    start => start + ceil(from - start, period) * period,
                };
                while x <= to {
                    if !self.holds(z, x)? {
                        return Ok(Some(z + x));
                    }
                    x += period;
                }
            }
        }
        Ok(None)
    }

    /// Whether it is plain that `Z` holds for every window that begins so long before the release.
    fn hold(&mut self, z: i64, from: i64, to: i64) -> Result<bool, NoBound> {
        self.limits.terms.spend_on(self.hc.len() + self.lo.len() + self.b.len())?;
        let limit = from + self.deadline;
        Ok(self.demand(to + z, limit) <= limit)
    }

    /// Whether a window that begins `x` before the release ends by the deadline.
    fn holds(&mut self, z: i64, x: i64) -> Result<bool, NoBound> {
        self.limits.terms.spend_on(self.hc.len() + self.lo.len() + self.b.len())?;
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
