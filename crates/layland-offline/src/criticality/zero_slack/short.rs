//! A test whether every task has a zero-slack instant, without computing the instants. First fit
//! runs it for every task and CPU. The answer is that of [`safe`](super::safe), whose header
//! defines the symbols.

use super::safe::{Busy, Limits, WindowTask};
use crate::criticality::growing::Grows;
use crate::criticality::steps::{NoBound, Reached, climb, sum};
use crate::criticality::{MixedSet, rate_monotonic};
use layland_model::{Index, TaskId};
use std::cmp::{Ordering, Reverse};

/// Returns true if [`safe`](super::safe()) finds an instant for every task. Takes a fraction of the
/// time.
pub fn accepts(set: &MixedSet) -> bool {
    refused(set, None).is_none()
}

/// Returns a task for which [`safe`](super::safe()) finds no instant, or gives up; `None` if every
/// task has one. Tests whether `Z = 0` is feasible, first for the suspect and then from the lowest
/// priority upwards.
///
/// Every task is tested separately, so a suspect that is refused ends the search. A task that was
/// refused on a CPU beside one task is usually refused beside the next one, too, which makes most
/// answers of a first fit fast.
///
/// `b` is `lhc` or empty. An instant that is feasible with `lhc` is feasible with less, and one
/// that is infeasible without `lhc` is infeasible with it. Only if the two results differ, the
/// tasks of `lhc` are tested until one is not quiet.
pub fn refused(set: &MixedSet, suspect: Option<TaskId>) -> Option<TaskId> {
    refused_but(set, suspect, |_| false)
}

/// [`refused`], where tasks are known that are [never late](Busy::is_never_late) beside all of
/// `lhc`.
fn refused_but(
    set: &MixedSet,
    suspect: Option<TaskId>,
    is_never_late: impl Fn(usize) -> bool,
) -> Option<TaskId> {
    if let Some(lowest) = whose_window_does_not_end(set) {
        return Some(TaskId::from_index(lowest));
    }
    let order: Vec<usize> = rate_monotonic(set).iter().map(|task| task.index()).collect();
    let quiet = vec![None; set.len() * set.levels()];
    let mut lazy = Lazy { set, order: &order, quiet, limits: Limits::of(set) };
    let suspect = suspect.and_then(|task| order.iter().position(|&i| i == task.index()));
    let mut differ = Vec::new();
    for place in suspect.into_iter().chain((0..order.len()).rev().filter(|&at| Some(at) != suspect))
    {
        if is_never_late(order[place]) {
            continue;
        }
        let has_one = match lazy.has_one(place) {
            Ok(HasOne::Yes) => true,
            Ok(HasOne::IfAllAreQuiet) if Some(place) == suspect => {
                lazy.some_is_not_quiet(place, set.z(order[place])) == Ok(false)
            }
            Ok(HasOne::IfAllAreQuiet) => {
                differ.push(place);
                true
            }
            Ok(HasOne::No) | Err(_) => false,
        };
        if !has_one {
            return Some(TaskId::from_index(order[place]));
        }
    }
    // This step takes most of the time.
    let is_refused =
        |&place: &usize| lazy.some_is_not_quiet(place, set.z(order[place])) != Ok(false);
    let place = differ.into_iter().find(is_refused)?;
    Some(TaskId::from_index(order[place]))
}

/// The tasks of a CPU, of which each has a zero-slack instant, to test whether each would have one
/// beside one more.
///
/// A task that is never late needs no search for its instant. A sum over the others shows that, to
/// which one more adds a term.
#[derive(Default)]
pub struct Instants {
    /// The most work that delays each task, and its own, up to its deadline.
    work: Option<Vec<i64>>,
    /// The same beside the task that was asked for last.
    next: Option<Vec<i64>>,
    /// The task that was refused last. A number beyond the tasks is that of the new one.
    suspect: Option<usize>,
}

impl Instants {
    /// Returns the sums beside a new task, the last one of the set.
    fn work(&self, set: &MixedSet) -> Vec<i64> {
        let new = set.len() - 1;
        let others = |i: usize| sum((0..set.len()).filter(|&j| j != i).map(|j| delay(set, i, j)));
        let whole = |i: usize| set.own(i).saturating_add(others(i));
        let known = self.work.as_ref().filter(|work| work.len() == new);
        let add = |i: usize| match known {
            Some(work) if i < new => work[i].saturating_add(delay(set, i, new)),
            Some(_) | None => whole(i),
        };
        (0..set.len()).map(add).collect()
    }
}

impl Grows for Instants {
    fn accepts(&mut self, set: &MixedSet) -> bool {
        let new = set.len() - 1;
        let work = self.work(set);
        let suspect = self.suspect.map(|suspect| TaskId::from_index(suspect.min(new)));
        let refused = refused_but(set, suspect, |i| work[i] <= set.deadline[i]);
        if let Some(refused) = refused {
            self.suspect = Some(if refused.index() == new { usize::MAX } else { refused.index() });
        }
        self.next = refused.is_none().then_some(work);
        refused.is_none()
    }

    fn put(&mut self) {
        self.work = self.next.take();
    }

    fn forget(&mut self) {
        *self = Instants::default();
    }
}

/// Returns the most work of task `j` that delays task `i` up to its deadline, if no task is suspended.
fn delay(set: &MixedSet, i: usize, j: usize) -> i64 {
    let (level, deadline) = (set.z(i), set.deadline[i]);
    let place = |i: usize| (set.period[i], Reverse(set.level[i]), set.rank[i]);
    let window = WindowTask::new(set, j, level);
    match (place(j) < place(i), set.z(j).cmp(&level)) {
        (true, Ordering::Equal | Ordering::Greater) => window.arriving(deadline),
        (true, Ordering::Less) | (false, Ordering::Greater) => window.most(deadline),
        (false, Ordering::Equal | Ordering::Less) => 0,
    }
}

/// The answer whether a task has an instant.
enum HasOne {
    Yes,
    No,
    /// The task has an instant if every task of lower priority and higher criticality is quiet.
    IfAllAreQuiet,
}

/// The quiet tasks, determined on demand.
struct Lazy<'a> {
    set: &'a MixedSet,
    order: &'a [usize],
    /// The known results for each task at each level.
    quiet: Vec<Option<bool>>,
    limits: Limits,
}

impl Lazy<'_> {
    /// Returns the tasks of lower priority than the one at this position, and of higher
    /// criticality.
    fn below(&self, place: usize) -> Vec<usize> {
        let level = self.set.z(self.order[place]);
        let lower = self.order[place + 1..].iter().copied();
        lower.filter(|&h| self.set.z(h) > level).collect()
    }

    fn has_one(&mut self, place: usize) -> Result<HasOne, NoBound> {
        let below = self.below(place);
        let (i, higher) = (self.order[place], &self.order[..place]);
        let mut busy = Busy::new(self.set, i, higher, &below, &mut self.limits);
        if busy.is_possible()? {
            return Ok(HasOne::Yes);
        }
        let with_all = !busy.b.is_empty();
        busy.b.clear();
        busy.lengths.clear();
        if with_all && busy.is_possible()? { Ok(HasOne::IfAllAreQuiet) } else { Ok(HasOne::No) }
    }

    fn some_is_not_quiet(&mut self, place: usize, level: usize) -> Result<bool, NoBound> {
        let own = self.set.z(self.order[place]);
        // The lowest priority has the most work ahead of it, so it is the most likely not to be
        // quiet.
        for at in (place + 1..self.order.len()).rev() {
            if self.set.z(self.order[at]) > own && !self.is_quiet(at, level)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns true if the task at this position is quiet at a level. Skips the search for its
    /// instant `Z` if less work decides.
    fn is_quiet(&mut self, at: usize, level: usize) -> Result<bool, NoBound> {
        let h = self.order[at];
        let known = h * self.set.levels() + level;
        if let Some(quiet) = self.quiet[known] {
            return Ok(quiet);
        }
        let own = self.set.z(h);
        let below = self.below(at);
        let mut ahead = |of: usize| -> Result<&[usize], NoBound> {
            Ok(if self.some_is_not_quiet(at, of)? { &below } else { &[] })
        };
        let (at_own, at_level) = (ahead(own)?, ahead(level)?);
        let Lazy { set, order, ref mut limits, .. } = *self;
        let higher = &order[..at];
        let mut busy = Busy::new(set, h, higher, at_own, limits);
        let quiet = busy.is_never_late() || {
            let c = set.c(level)[h];
            let others = || higher.iter().chain(at_level).map(|&j| WindowTask::new(set, j, level));
            let taken = |z: i64| sum(others().map(|task| task.most(z)));
            // Every `Z` before the first one that leaves `C > 0` leaves less, and is not the
            // deadline.
            let first = match climb(c, busy.deadline, |z| taken(z).saturating_add(c))? {
                Reached::At(first) => first,
                Reached::Beyond(_) => busy.deadline,
            };
            (c == 0 || busy.holds(first, 0)?) && {
                let instant = busy.latest()?;
                instant == busy.deadline || instant.saturating_sub(taken(instant)) >= c
            }
        };
        self.quiet[known] = Some(quiet);
        Ok(quiet)
    }
}

/// Returns a task whose longest busy window cannot end, by utilization. The test is necessary: it
/// must find none.
///
/// With a task of `hc` that executes, `r(infinity, ..)` must exist. `ceil(t / T) C >= t C / T`, and
/// `W(t) >= t C / T` unless it is `t` itself or `C > D`, with which nothing is accepted. So the sum
/// of `C / T` over the tasks of higher priority is at most 1. It is tested for the lowest priority
/// of each level, which has the most tasks above it.
fn whose_window_does_not_end(set: &MixedSet) -> Option<usize> {
    let place = |i: usize| (set.period[i], Reverse(set.level[i]), set.rank[i]);
    (0..set.levels()).find_map(|level| {
        let of_level = (0..set.len()).filter(|&i| set.z(i) == level);
        let i = of_level.max_by_key(|&i| place(i))?;
        let (c, lowest) = (set.c(level), place(i));
        let higher = || (0..set.len()).filter(|&j| place(j) < lowest);
        let shares = higher().map(|j| c[j] as u128 * MixedSet::ONE / set.period[j] as u128);
        let ends = shares.sum::<u128>() <= MixedSet::ONE
            || !higher().any(|j| set.z(j) >= level && c[j] > 0);
        (!ends).then_some(i)
    })
}
