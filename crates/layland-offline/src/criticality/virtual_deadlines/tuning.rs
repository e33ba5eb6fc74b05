//! The search for virtual deadlines that shape the demand (Ekberg, Yi, ECRTS 2012 and 2014), for `D <= T`.
//!
//! Virtual deadlines start at the real ones. Lengths are examined from 0 on:
//!
//! 1. The high mode demands too much: the virtual deadline of one high task becomes a unit shorter,
//!    which moves its demand from the high mode to the low one. Among the tasks with `V > C(low)`,
//!    it is the one whose demand has grown the most with the last unit of the length; ties: the
//!    smallest rank.
//! 2. The low mode demands too much: the last step is undone, and its task is not considered again.
//!    If there is no such step, or no task for a step, the search fails.
//!
//! After each step, lengths would have to be examined again from 0 on. Most results are known,
//! though: a step lowers the demand of the high mode, and raises that of the low mode only at
//! `V + k T` of its task. So only these lengths are examined, and the search continues where it
//! was. After undoing a step, it continues where it took that step.
//!
//! The steps are as long as the unit of time, so the search needs a coarse unit. [`Grid`] is the
//! largest unit that divides all times of the set. If it is too fine, times are rounded to a
//! coarser one, execution times up and others down, which is safe. The result depends on the unit.

use super::demand::{Modal, Mode, ModeDemand, first_beyond, low_is_within};
use super::{STEPS, VirtualDeadlines, first_cut, of_ns};
use crate::criticality::steps::Effort;
use crate::criticality::{Answer, MixedSet, NoBound};
use layland_model::{Duration, Rate, TaskMap};
use std::cmp::Reverse;

/// The maximum number of units in the longest period.
const UNITS: i64 = 10_000;

/// The unit of time of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// The unit.
    pub unit: Duration,
}

impl Grid {
    /// Returns the largest unit that divides all times of the set, but at least a 10,000th of its
    /// longest period.
    pub fn of(set: &MixedSet) -> Grid {
        let wcets = (0..set.levels()).flat_map(|level| set.c(level));
        let times = set.period.iter().chain(&set.deadline).chain(wcets);
        let divisor = times.fold(0, |divisor, &time| num_integer::gcd(divisor, time));
        let longest = set.period.iter().copied().max().unwrap_or(1);
        let coarse = num_integer::div_ceil(longest, UNITS);
        Grid { unit: Duration::from_ns(divisor.max(coarse)) }
    }

    /// Returns the task in these units, or `None` if it does not fit into its rounded deadline.
    fn round(self, task: Modal) -> Option<Modal> {
        let unit = self.unit.ns();
        let (down, up) = (|time: i64| time / unit, |time: i64| num_integer::div_ceil(time, unit));
        let rounded = Modal {
            period: down(task.period),
            deadline: down(task.deadline),
            is_high: task.is_high,
            wcet_in_low: up(task.wcet_in_low),
            wcet_in_high: up(task.wcet_in_high),
            deadline_in_low: down(task.deadline),
            rank: task.rank,
        };
        let most = if task.is_high { rounded.wcet_in_high } else { rounded.wcet_in_low };
        (most <= rounded.deadline).then_some(rounded)
    }
}

/// EDF with the virtual deadlines of Ekberg and Yi's search. Sound.
pub fn tuned(set: &MixedSet) -> VirtualDeadlines {
    tuned_on(set, Grid::of(set), STEPS)
}

/// [`tuned`] with another unit, and another number of steps after which it gives up.
pub fn tuned_on(set: &MixedSet, grid: Grid, steps: u64) -> VirtualDeadlines {
    first_cut(set, |cut| {
        let tasks: Option<Vec<Modal>> = Modal::of(set, cut).map(|task| grid.round(task)).collect();
        let mut tasks = tasks.ok_or(Answer::NotSchedulable)?;
        match tune(&mut tasks, &mut Effort::new(steps)) {
            Ok(()) => Ok(in_ns(set, &tasks, grid)),
            Err(NoBound::Beyond) => Err(Answer::NotSchedulable),
            Err(NoBound::GaveUp) => Err(Answer::GaveUp),
        }
    })
}

/// Converts to nanoseconds. Low tasks keep their own deadlines, without rounding.
fn in_ns(set: &MixedSet, tasks: &[Modal], grid: Grid) -> TaskMap<Rate> {
    of_ns(tasks.iter().zip(&set.deadline).map(|(task, &deadline)| {
        if task.is_high { task.deadline_in_low * grid.unit.ns() } else { deadline }
    }))
}

/// Finds `V` of each task, in whole units.
fn tune(tasks: &mut [Modal], effort: &mut Effort) -> Result<(), NoBound> {
    // Utilizations do not depend on virtual deadlines, nor do the lengths to examine.
    let longest =
        ModeDemand::new(tasks).ok_or(NoBound::Beyond)?.longest().ok_or(NoBound::GaveUp)?;
    let mut may_shrink: Vec<bool> =
        tasks.iter().map(|task| task.is_high && task.deadline > task.wcet_in_low).collect();
    // The task of the last step, and the length at which it was taken.
    let mut last: Option<(usize, i64)> = None;
    let mut from = 0;
    while let Some((l, mode)) = first_beyond(tasks, from, longest, effort)? {
        let is_step_back = match mode {
            Mode::Low => true,
            Mode::High => {
                let growth = |task: &Modal| task.high(l) - task.high(l - 1);
                let candidates = (0..tasks.len()).filter(|&i| may_shrink[i]);
                let most = |&i: &usize| (growth(&tasks[i]), Reverse(tasks[i].rank));
                let step = candidates.max_by_key(most).ok_or(NoBound::Beyond)?;
                tasks[step].deadline_in_low -= 1;
                may_shrink[step] = tasks[step].deadline_in_low > tasks[step].wcet_in_low;
                (last, from) = (Some((step, l)), l);
                !low_holds_where_it_grew(tasks, step, l, effort)?
            }
        };
        if is_step_back {
            let (step, taken_at) = last.take().ok_or(NoBound::Beyond)?;
            tasks[step].deadline_in_low += 1;
            may_shrink[step] = false;
            from = taken_at;
        }
    }
    Ok(())
}

/// Returns true if the demand of the low mode is within each length up to `l` at which the last
/// step has raised the demand of a task.
fn low_holds_where_it_grew(
    tasks: &[Modal],
    step: usize,
    l: i64,
    effort: &mut Effort,
) -> Result<bool, NoBound> {
    let Modal { period, deadline_in_low, .. } = tasks[step];
    let mut at = deadline_in_low;
    while at <= l {
        effort.spend_on(tasks.len())?;
        if !low_is_within(tasks, at) {
            return Ok(false);
        }
        at += period;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(levels: usize, tasks: &[(i64, i64, u8, &[i64])]) -> VirtualDeadlines {
        tuned(&MixedSet::from_ns(levels, tasks).expect("it is valid"))
    }

    /// Times with no common divisor but one are rounded, and the result is a multiple of the unit.
    #[test]
    fn fine_times_are_rounded() {
        let ms = 1_000_000;
        let fine: [(i64, i64, u8, &[i64]); 2] = [
            (10 * ms + 1, 10 * ms + 1, 0, &[3 * ms + 7]),
            (10 * ms, 10 * ms, 1, &[3 * ms + 1, 8 * ms - 5]),
        ];
        let set = MixedSet::from_ns(2, &fine).expect("it is valid");
        let grid = Grid::of(&set);
        assert_eq!(grid.unit, Duration::from_ns(1001));
        let VirtualDeadlines::Modes(found) = tuned(&set) else { panic!("it is accepted") };
        let [low, high] = [0, 1].map(|i| found.deadline.values().as_slice()[i].clone());
        assert_eq!(low, Rate::whole(10 * ms + 1));
        let (units, one) = (&high / &Rate::whole(grid.unit.ns())).as_i64_pair().unwrap();
        assert_eq!(one, 1);
        assert!((2_998..7_000).contains(&units), "{units}");
    }

    /// A search with few steps gives up, and reports it.
    #[test]
    fn a_long_search_gives_up() {
        let set =
            MixedSet::from_ns(2, &[(10, 10, 0, &[4]), (10, 10, 1, &[3, 8])]).expect("it is valid");
        assert_eq!(tuned_on(&set, Grid::of(&set), 10), VirtualDeadlines::GaveUp);
        assert!(tuned(&set).answer().is_yes());
    }

    /// With one level the result is plain EDF.
    #[test]
    fn one_level_has_no_virtual_deadlines() {
        let VirtualDeadlines::Modes(found) = search(1, &[(10, 7, 0, &[4]), (14, 14, 0, &[8])])
        else {
            panic!("it is accepted")
        };
        assert_eq!(found.deadline.values().as_slice(), [Rate::whole(7), Rate::whole(14)]);
        assert_eq!(search(1, &[(10, 7, 0, &[4]), (14, 7, 0, &[4])]), VirtualDeadlines::Rejected);
    }
}
