//! Whether every task has a zero-slack instant, without the instants: what a first fit asks for every task and CPU.
//! The answer is that of [`safe`](super::safe), whose header has the symbols.

use super::safe::{Busy, Limits, Window};
use crate::criticality::steps::{NoBound, Reached, climb, sum};
use crate::criticality::{MixedSet, rate_monotonic};
use layland_model::{Index, TaskId};
use std::cmp::Reverse;

/// Whether [`safe`](super::safe()) finds an instant for every task, which takes a fraction of the time.
pub fn accepts(set: &MixedSet) -> bool {
    refused(set, None).is_none()
}

/// A task for which [`safe`](super::safe()) finds no instant, or gives up; none if every task has one. It is asked
/// whether `Z = 0` is feasible, of the suspect first and then from the lowest priority upwards.
///
/// Every task is asked for itself, so that a suspect that is refused ends the search. Who was refused on a CPU beside
/// one task is mostly refused beside the next one, too: that makes most answers of a first fit short.
///
/// `b` is `lhc` or empty. What holds with `lhc` holds with less, and what does not hold without it does not hold with
/// it. Only where the two differ it is asked who of `lhc` is quiet, until one is not.
pub fn refused(set: &MixedSet, suspect: Option<TaskId>) -> Option<TaskId> {
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
    // This takes most of the time.
    let is_refused =
        |&place: &usize| lazy.some_is_not_quiet(place, set.z(order[place])) != Ok(false);
    let place = differ.into_iter().find(is_refused)?;
    Some(TaskId::from_index(order[place]))
}

/// Whether a task has an instant.
enum HasOne {
    Yes,
    No,
    /// If every task of lower priority and higher criticality is quiet.
    IfAllAreQuiet,
}

/// Who is quiet, found when somebody asks.
struct Lazy<'a> {
    set: &'a MixedSet,
    order: &'a [usize],
    /// Of each task at each level.
    quiet: Vec<Option<bool>>,
    limits: Limits,
}

impl Lazy<'_> {
    /// The tasks of lower priority than the one at this place, and higher criticality.
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
        match with_all && busy.is_possible()? {
            true => Ok(HasOne::IfAllAreQuiet),
            false => Ok(HasOne::No),
        }
    }

    fn some_is_not_quiet(&mut self, place: usize, level: usize) -> Result<bool, NoBound> {
        let own = self.set.z(self.order[place]);
        // The lowest priority has the most ahead of it.
        for at in (place + 1..self.order.len()).rev() {
            if self.set.z(self.order[at]) > own && !self.is_quiet(at, level)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the task at this place is quiet at a level. Its instant `Z` is not looked for where less decides.
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
            let others = || higher.iter().chain(at_level).map(|&j| Window::new(set, j, level));
            let taken = |z: i64| sum(others().map(|task| task.most(z)));
            // Every `Z` before the first that leaves `C > 0` leaves less, and is not the deadline.
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

/// A task whose longest busy window cannot end, by utilization; that there is none is necessary.
///
/// With a task of `hc` that executes, `r(infinity, ..)` must exist. `ceil(t / T) C >= t C / T`, and `W(t) >= t C / T`
/// unless it is `t` itself or `C > D`, with which nothing is accepted. So the sum of `C / T` over the tasks of higher
/// priority is not above 1. It is looked at for the lowest priority of each level, which has the most above it.
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
