//! The priorities of OCBP by brute force at each scan, by the rule: the slow twin of
//! [`Recomputed`](layland_policy::criticality::ocbp::Recomputed) and
//! [`Rescan`](layland_offline::criticality::fjp::Rescan).

use crate::criticality::Plain;
use layland_model::{System, Task};

/// The variant of the recomputation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anew {
    /// True for the test by the sum of all demands, false for the test by delays.
    pub summed: bool,
    /// True if all tasks are assumed to be released at once, whenever their last jobs came.
    pub together: bool,
}

/// The entries of all tasks under OCBP, as sets of numbers.
#[derive(Clone, Debug)]
pub struct Entries {
    tasks: Vec<Plain>,
    anew: Anew,
    offline: Vec<Vec<i64>>,
    remaining: Vec<Vec<i64>>,
    last: Vec<Option<i64>>,
    /// The number of computations of priorities, and the number of them without a result.
    pub scans: (u64, u64),
}

impl Entries {
    /// Creates the entries from the offline lists, for tasks in the order of the system.
    pub fn new(system: &System, offline: Vec<Vec<i64>>, anew: Anew) -> Entries {
        let levels = system.levels.count();
        let plain = |task: &Task| {
            let level = task.criticality.level();
            let wcet = |l: usize| task.wcet[l.min(level).min(task.wcet.len() - 1)].ns();
            Plain {
                period: task.period.ns(),
                deadline: task.deadline.ns(),
                level,
                wcet: (0..levels).map(wcet).collect(),
            }
        };
        Entries {
            tasks: system.tasks.values().map(plain).collect(),
            anew,
            remaining: offline.clone(),
            last: vec![None; offline.len()],
            offline,
            scans: (0, 0),
        }
    }

    /// Resets the entries at the end of a busy period.
    pub fn reset(&mut self) {
        self.remaining.clone_from(&self.offline);
        self.last.fill(None);
    }

    /// Returns the priorities of arriving jobs of these tasks. `y` is the highest pending priority,
    /// if there is one.
    pub fn arrive(
        &mut self,
        now: i64,
        arriving: &[usize],
        y: Option<i64>,
        level: usize,
    ) -> Vec<i64> {
        let highest = |list: &Vec<i64>| list.iter().copied().max();
        let heads = arriving.iter().filter_map(|&task| highest(&self.remaining[task]));
        if let Some(y) = y
            && heads.max().is_some_and(|head| head > y)
        {
            self.scan(now, arriving, y, level);
        }
        let take = |&task: &usize| {
            self.last[task] = Some(now);
            let priority = highest(&self.remaining[task]).unwrap_or(-1);
            self.remaining[task].retain(|&other| other != priority);
            priority
        };
        arriving.iter().map(take).collect()
    }

    fn scan(&mut self, now: i64, arriving: &[usize], y: i64, level: usize) {
        let tasks = &self.tasks;
        let above = |i: usize| self.remaining[i].iter().filter(|&&priority| priority > y).count();
        let left: Vec<usize> =
            (0..tasks.len()).map(|i| if tasks[i].level < level { 0 } else { above(i) }).collect();
        let first = |i: usize| match self.last[i] {
            Some(last) if !self.anew.together && !arriving.contains(&i) => {
                (last + tasks[i].period - now).max(0)
            }
            _ => 0,
        };
        let first: Vec<i64> = (0..tasks.len()).map(first).collect();
        let order = rescan(tasks, &left, &|i, left| {
            if self.anew.summed {
                summed_job(tasks, i, left, &first)
            } else {
                delayed_job(tasks, i, left, &first, level)
            }
        });
        self.scans.0 += 1;
        let order = order.unwrap_or_else(|| {
            self.scans.1 += 1;
            let jobs = |i: usize| (0..left[i]).map(move |k| (i, k));
            let mut all: Vec<(usize, usize)> = (0..tasks.len()).flat_map(jobs).collect();
            all.sort_by_key(|&(i, k)| self.offline[i][k]);
            all
        });
        self.remaining.iter_mut().for_each(|list| list.retain(|&priority| priority <= y));
        for (place, (i, _)) in order.into_iter().enumerate() {
            self.remaining[i].push(y + 1 + place as i64);
        }
    }
}

/// The scan at run time, by brute force. Returns the remaining jobs from the lowest priority
/// upwards, each by its task and its number among the task's remaining jobs, from 0. Returns `None`
/// if some job cannot be placed.
///
/// Of all levels with a task whose last job may be the lowest, take the highest. Each such task of
/// it places one job; then the search starts again.
pub fn rescan(
    tasks: &[Plain],
    left: &[usize],
    may_be_lowest: &dyn Fn(usize, &[usize]) -> bool,
) -> Option<Vec<(usize, usize)>> {
    let mut left = left.to_vec();
    let mut placed = Vec::new();
    while left.iter().any(|&jobs| jobs > 0) {
        let before = placed.len();
        let levels = tasks.iter().map(|task| task.level + 1).max().unwrap_or(0);
        for level in (0..levels).rev() {
            for i in (0..tasks.len()).filter(|&i| tasks[i].level == level) {
                if left[i] > 0 && may_be_lowest(i, &left) {
                    left[i] -= 1;
                    placed.push((i, left[i]));
                }
            }
            if placed.len() > before {
                break;
            }
        }
        if placed.len() == before {
            return None;
        }
    }
    Some(placed)
}

/// Tests a job at run time, with the releases counted one by one. `first[j]` is the earliest
/// arrival of the first job of task `j`. Tasks below `from` have none.
pub fn delayed_job(tasks: &[Plain], i: usize, left: &[usize], first: &[i64], from: usize) -> bool {
    let release = |j: usize, k: usize| first[j] + k as i64 * tasks[j].period;
    let due = release(i, left[i] - 1) + tasks[i].deadline;
    let before = |j: usize, t: i64| (0..left[j]).filter(|&k| release(j, k) < t).count() as i64;
    // The end of the interval at each level.
    let mut ends: Vec<i64> = vec![0; from];
    for m in from..=tasks[i].level {
        let end = (1..=due).find(|&t| {
            let work = |j: usize| match tasks[j].level {
                level if level < m => before(j, ends[level]) * tasks[j].wcet[level],
                _ => before(j, t) * tasks[j].wcet[m],
            };
            (0..tasks.len()).map(work).sum::<i64>() <= t
        });
        match end {
            Some(end) => ends.push(end),
            None => return false,
        }
    }
    true
}

/// Tests a job at run time by the sum of all demands.
pub fn summed_job(tasks: &[Plain], i: usize, left: &[usize], first: &[i64]) -> bool {
    let due = first[i] + (left[i] as i64 - 1) * tasks[i].period + tasks[i].deadline;
    let level = tasks[i].level;
    let each = tasks.iter().zip(left).map(|(task, &left)| left as i64 * task.wcet[level]);
    each.sum::<i64>() <= due
}
