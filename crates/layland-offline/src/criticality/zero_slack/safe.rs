//! Zero-slack instants that hold for any releases. Sound.
//!
//! A job runs at its priority only between its release and its deadline, so in any window of length
//! `x` a task executes for at most
//!
//! ```text
//! W(x) = min(x, k C + min(C, y - k T)),  y = x + D - C,  k = floor(y / T)      (0 if x <= 0)
//! ```
//!
//! Let `hc` be the tasks of higher priority with `z_j >= z_i`, `lo` the others of higher priority,
//! and `b` = `lhc` if one of them is not *quiet* at level `z_i`, and empty otherwise: one critical
//! task of low priority allows the others to run before `i`, so `b` is all of `lhc` or empty. With
//! execution times at level `z_i`, `r(z, limit)` is the least
//!
//! ```text
//! t = C_i(z_i) + sum over hc of ceil(t / T) C + sum over b of W(t) + sum over lo of W(min(t, z))
//! ```
//!
//! `Z` is feasible if `r(Z, D_i)` exists and, if there is an `hc` with `C > 0`, also
//! `r(x + Z, x + D_i)` for every `x > 0` by which a busy window may begin before the release. `x`
//! goes up to `full - D_i` with `full = r(infinity, 40 max T)`, which must exist; it suffices to
//! examine this end and the points `w - Z` with `w = C_l` or `w = k T_l + 2 C_l - D_l`, where `W`
//! of a task of `lo` stops rising. If `Z` is feasible, so is every smaller value; `Z_i` is the
//! largest feasible one.
//!
//! `h` is quiet at level `l` if `Z_h = D_h`, or if `Z_h` less all the `W(Z_h)` of its `hc`, `lo`
//! and `b`, at level `l`, leaves `C_h(l)`: its job is complete before it becomes critical.

use super::{ZeroSlack, visit};
use crate::criticality::MixedSet;
use crate::criticality::steps::{Effort, NoBound, Period, Reached, ceil, climb, sum, work};

/// The maximum number of fixed points, over a whole set.
const FIXED_POINTS: u64 = 20_000_000;

/// The maximum number of terms of sums outside fixed points, over a whole set. Examining a point
/// takes a sum over all tasks, and for thousands of tasks the points would take hours.
const TERMS: u64 = 1 << 29;

/// A task in a window: `T`, `D`, `C`.
#[derive(Clone, Copy)]
pub(super) struct WindowTask {
    period: i64,
    over: Period,
    deadline: i64,
    wcet: i64,
}

impl WindowTask {
    pub(super) fn new(set: &MixedSet, j: usize, level: usize) -> WindowTask {
        let (period, over) = (set.period[j], set.over[j]);
        WindowTask { period, over, deadline: set.deadline[j], wcet: set.c(level)[j] }
    }

    /// Returns the work of the jobs that are released in `x`, the first one at its start.
    #[inline]
    pub(super) fn arriving(&self, x: i64) -> i64 {
        work(self.over.ceil(x), self.wcet)
    }

    /// `W(x)`.
    #[inline]
    pub(super) fn most(&self, x: i64) -> i64 {
        let WindowTask { period, over, deadline, wcet } = *self;
        let y = x.saturating_add(deadline - wcet);
        if x <= 0 || wcet == 0 || y < 0 {
            return 0;
        }
        let whole = over.floor(y);
        let part = (y - whole * period).min(wcet);
        x.min(work(whole, wcet).saturating_add(part))
    }
}

/// Returns zero-slack instants by the rule above. Sound.
pub fn safe(set: &MixedSet) -> ZeroSlack {
    let mut limits = Limits::of(set);
    // quiet[h][l], for the visited tasks.
    let mut quiet: Vec<Vec<bool>> = vec![Vec::new(); set.len()];
    visit(set, |i, higher, below| {
        let any = |l: usize| below.iter().any(|&h| !quiet[h][l]);
        let (instant, finishes) = instant_of(set, i, higher, below, any, &mut limits)?;
        quiet[i] = finishes;
        Ok(instant)
    })
}

/// The limits of a search.
pub(super) struct Limits {
    /// The limit up to which a busy window is followed.
    far: i64,
    effort: Effort,
    terms: Effort,
}

impl Limits {
    pub(super) fn of(set: &MixedSet) -> Limits {
        let longest = set.period.iter().max().copied().unwrap_or(0);
        Limits {
            far: longest.saturating_mul(40).min(1 << 61),
            effort: Effort::new(FIXED_POINTS),
            terms: Effort::new(TERMS),
        }
    }
}

/// Returns the instant of a task, and whether it is quiet at each level. `any(l)` returns true if
/// one of `below` is not quiet.
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
        let most = sum(all.map(|&j| WindowTask::new(set, j, l).most(instant)));
        instant == deadline || instant.saturating_sub(most) >= set.c(l)[i]
    };
    Ok((instant, (0..=level).map(finishes).collect()))
}

/// A point at which a `Z` does not hold.
struct BrokenPoint {
    w: i64,
    /// `Z` holds for all windows of this range that begin less than this before the release.
    from: i64,
}

/// The work that may delay a job.
pub(super) struct Busy<'a> {
    own: i64,
    pub(super) deadline: i64,
    hc: Vec<WindowTask>,
    lo: Vec<WindowTask>,
    pub(super) b: Vec<WindowTask>,
    /// Pairs in which both numbers rise: for every `z` from the first number on, `r(z, ..)` is not
    /// below the second.
    pub(super) lengths: Vec<(i64, i64)>,
    limits: &'a mut Limits,
}

impl<'a> Busy<'a> {
    pub(super) fn new(
        set: &MixedSet,
        i: usize,
        higher: &[usize],
        b: &[usize],
        limits: &'a mut Limits,
    ) -> Busy<'a> {
        let level = set.z(i);
        let (mut hc, mut lo) = (Vec::with_capacity(higher.len()), Vec::new());
        for &j in higher {
            let window = WindowTask::new(set, j, level);
            if window.wcet > 0 {
                if set.z(j) >= level { &mut hc } else { &mut lo }.push(window);
            }
        }
        let b = b.iter().map(|&j| WindowTask::new(set, j, level)).filter(|window| window.wcet > 0);
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
        // The length increases with z, so the search begins at the result for a smaller z.
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

    /// Returns true if the job is complete by its deadline even if no task is ever suspended: no
    /// window begins ahead.
    pub(super) fn is_never_late(&self) -> bool {
        self.demand(i64::MAX, self.deadline) <= self.deadline
    }

    /// The largest feasible `Z`.
    ///
    /// The binary search of the definition examines every point `w` for each `Z` that it tries. But
    /// `r(w, limit)` does not depend on `Z`. It excludes all `Z` above `w + D_i - r(w)` that are
    /// below `w` and at least `w` less the maximum time by which windows may begin ahead. So one
    /// visit of each point suffices, and only the points within a still possible `Z` need to be
    /// examined.
    pub(super) fn latest(&mut self) -> Result<i64, NoBound> {
        if self.is_never_late() {
            return Ok(self.deadline);
        }
        let ahead = self.ahead()?;
        // If 0 is not feasible, no Z is.
        if !self.ends_hold(0, ahead)? {
            return Err(NoBound::Beyond);
        }
        let mut yes = self.latest_by_ends(ahead)?;
        // From here on `yes` is the largest Z that has not been excluded.
        let mut late = self.first_late(yes, vec![(1, ahead)])?;
        while let Some(BrokenPoint { w, from }) = late {
            let before = yes;
            yes = match self.length(w, w + self.deadline) {
                Ok(length) => w + self.deadline - length,
                Err(NoBound::Beyond) => -1,
                Err(NoBound::GaveUp) => return Err(NoBound::GaveUp),
            };
            // The point excludes only a Z for which its window begins at most `ahead` before the
            // release.
            yes = yes.max(w - ahead - 1);
            if yes < 0 {
                return Err(NoBound::Beyond);
            }
            // Windows that held for a later instant still hold. Windows that begin less before it
            // were not among them.
            let less = before - yes;
            late = self.first_late(yes, vec![(from + less, ahead), (1, less.min(ahead))])?;
        }
        Ok(yes)
    }

    /// Returns the largest `Z` that holds for windows that begin at the release, and `ahead` before
    /// it; 0 must hold.
    fn latest_by_ends(&mut self, ahead: i64) -> Result<i64, NoBound> {
        let (mut yes, mut no) = (0, self.deadline + 1);
        // If the demand is met at the deadline itself, no search for a fixed point is needed. Few
        // other cases hold.
        let met = |busy: &Busy<'_>, z: i64, x: i64| {
            let limit = x + busy.deadline;
            busy.demand(x + z, limit) <= limit
        };
        while no - yes > 1 {
            let middle = yes + (no - yes) / 2;
            self.limits.terms.spend_on(self.hc.len() + self.lo.len() + self.b.len())?;
            if met(self, middle, 0) && (ahead == 0 || met(self, middle, ahead)) {
                yes = middle;
            } else {
                no = middle;
            }
        }
        no = self.deadline + 1;
        let mut step = 1;
        while no - yes > 1 {
            let next = if step < no - yes { yes + step } else { yes + (no - yes) / 2 };
            if self.ends_hold(next, ahead)? {
                (yes, step) = (next, step.saturating_mul(2));
            } else {
                (no, step) = (next, i64::MAX);
            }
        }
        Ok(yes)
    }

    /// Returns true if there is a feasible `Z`, which is the case if 0 is feasible.
    pub(super) fn is_possible(&mut self) -> Result<bool, NoBound> {
        if self.is_never_late() {
            return Ok(true);
        }
        if !self.holds(0, 0)? {
            return Ok(false);
        }
        match self.ahead() {
            Ok(ahead) => {
                Ok(self.ends_hold(0, ahead)? && self.first_late(0, vec![(1, ahead)])?.is_none())
            }
            Err(NoBound::Beyond) => Ok(false),
            Err(NoBound::GaveUp) => Err(NoBound::GaveUp),
        }
    }

    /// Returns the maximum time by which a busy window may begin before the release.
    fn ahead(&mut self) -> Result<i64, NoBound> {
        if self.hc.is_empty() {
            Ok(0)
        } else {
            Ok((self.length(i64::MAX, self.limits.far)? - self.deadline).max(0))
        }
    }

    /// Returns true if `Z` holds for windows that begin at the release, and `ahead` before it.
    fn ends_hold(&mut self, z: i64, ahead: i64) -> Result<bool, NoBound> {
        Ok(self.holds(z, 0)? && (ahead == 0 || self.holds(z, ahead)?))
    }

    /// Returns a point `w` at which `Z` does not hold, for windows that begin within these ranges
    /// before the release. The last range is examined first.
    ///
    /// Thousands of points lie close together, and most hold by a wide margin: if the demand of the
    /// last point of a range is met by the deadline of the first one, all points in between hold.
    /// So whole ranges are tested first, and bisected if they fail.
    fn first_late(
        &mut self,
        z: i64,
        mut ranges: Vec<(i64, i64)>,
    ) -> Result<Option<BrokenPoint>, NoBound> {
        let shortest = self.lo.iter().map(|task| task.period).min().unwrap_or(0);
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
                let WindowTask { period, deadline, wcet, .. } = self.lo[task];
                if (from..=to).contains(&(wcet - z)) && !self.holds(z, wcet - z)? {
                    return Ok(Some(BrokenPoint { w: wcet, from }));
                }
                // w = k T + 2 C - D, from the first one in the range on.
                let start = 2 * wcet - deadline - z;
                let mut x = match start {
                    start if start >= from => start,
                    start => start + ceil(from - start, period) * period,
                };
                while x <= to {
                    if !self.holds(z, x)? {
                        return Ok(Some(BrokenPoint { w: z + x, from }));
                    }
                    x += period;
                }
            }
        }
        Ok(None)
    }

    /// Returns true if a simple bound shows that `Z` holds for every window that begins in this
    /// range before the release.
    fn hold(&mut self, z: i64, from: i64, to: i64) -> Result<bool, NoBound> {
        self.limits.terms.spend_on(self.hc.len() + self.lo.len() + self.b.len())?;
        let limit = from + self.deadline;
        Ok(self.demand(to + z, limit) <= limit)
    }

    /// Returns true if a window that begins `x` before the release ends by the deadline.
    pub(super) fn holds(&mut self, z: i64, x: i64) -> Result<bool, NoBound> {
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
