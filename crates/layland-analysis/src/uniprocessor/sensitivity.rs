//! The largest WCET of one task with which all tasks of a CPU meet their deadlines, without a search over
//! WCETs. **Exact** for sporadic tasks.
//!
//! | function | source |
//! |---|---|
//! | [`largest_wcet_edf`] | Zhang, Burns and Baruah 2011 |
//! | [`largest_wcet_fixed`] | Bini, Di Natale and Buttazzo 2008 |
//!
//! Assumes: (1) one CPU of unit speed, (2) jobs of a task at least a period apart, without jitter, (3) WCETs
//! are kept, (4) overheads are part of `C_i`, (5) no blocking; for fixed priorities also (6) `D_i <= T_i`.

#![expect(non_snake_case, reason = "symbols of the papers")]

use crate::Sporadic;
use crate::group::Group;
use crate::uniprocessor::fixed_priority::PriorityOrder;
use layland_model::{Duration, Order, Rate, System, Task, TaskId};
use std::iter::once;

/// The number of lengths that are examined.
const STEPS: usize = 200_000;

/// Returns the largest WCET of a task on its CPU, in nanoseconds, under EDF or fixed priorities; 0 if there is
/// none. `None` if the system breaks an assumption, or there are too many lengths to examine.
///
/// ```
/// use layland_analysis::uniprocessor::sensitivity::largest_wcet;
/// use layland_model::{Duration, Order, Service, System, Task, TaskId};
/// let task = |c, t| Task::implicit(format!("{t}"), Service::from_ns(c), Duration::from_ns(t));
/// let system = System::new(1, vec![task(1, 4), task(2, 6), task(3, 12)]);
/// let of = |task| largest_wcet(&system, TaskId(task), Order::DeadlineMonotonic);
/// assert_eq!([0, 1, 2].map(of), [Some(1), Some(3), Some(5)]);
/// ```
pub fn largest_wcet(system: &System, task: TaskId, order: Order) -> Option<i64> {
    let groups = Group::affinities(system);
    let group = groups.iter().find(|group| group.tasks.iter().any(|&(id, _)| id == task))?;
    let is_plain = |task: &Task| {
        task.jitter == Duration::ZERO
            && task.blocking_time == Duration::ZERO
            && task.bursts().is_none()
            && task.steps.is_none()
            && task.follows.is_empty()
            && task.preemption.is_anywhere()
    };
    if group.cpus.len() != 1 || !system.platform.is_unit_speed() || !group.tasks().all(is_plain) {
        return None;
    }
    let sorted = match order {
        Order::Deadline => group.tasks.clone(),
        Order::RateMonotonic => PriorityOrder::RateMonotonic.sort(group),
        Order::DeadlineMonotonic => PriorityOrder::DeadlineMonotonic.sort(group),
        Order::Given => PriorityOrder::Given.sort(group),
    };
    let at = sorted.iter().position(|&(id, _)| id == task)?;
    let tasks: Vec<Sporadic> = sorted.iter().map(|&(_, task)| Sporadic::from(task)).collect();
    match order {
        Order::Deadline => largest_wcet_edf(&tasks, at),
        Order::RateMonotonic | Order::DeadlineMonotonic | Order::Given => {
            largest_wcet_fixed(&tasks, at)
        }
    }
}

/// Returns the largest WCET of the `i`-th of these tasks, the highest priority first, with which all meet their
/// deadlines under fixed priorities on one CPU (Bini, Di Natale and Buttazzo 2008, Theorem 4, for whole
/// nanoseconds); 0 if there is none.
///
/// `C_i <= min over k >= i of max over t of floor((t - other(t)) / n_i(t))`, if the tasks before `i` meet
/// their own deadlines, which no `C_i` changes: for each task `k` that `tau_i` delays, `t` goes through `D_k`
/// and the multiples of the periods of the tasks above `k` up to there; `other(t)` is the work of the other
/// tasks that delay a job of `k` within `t`, with its own; `n_i(t)` is `ceil(t / T_i)`, and 1 for `k = i`.
///
/// `None` if a deadline is beyond its period, or there are too many lengths.
pub fn largest_wcet_fixed(tasks: &[Sporadic], i: usize) -> Option<i64> {
    let tasks: Vec<[i128; 3]> = tasks.iter().map(wide).collect();
    if tasks.iter().any(|&[_, D, T]| D > T) {
        return None;
    }
    let ceil = |t: i128, T: i128| num_integer::Integer::div_ceil(&t, &T);
    let (mut least, mut steps) = (i128::from(i64::MAX), 0usize);
    for k in 0..tasks.len() {
        let D_k = tasks[k][1];
        let mut best = i128::MIN;
        let multiples = tasks[..k].iter().flat_map(|&[_, _, T]| (1..=D_k / T).map(move |q| q * T));
        for t in once(D_k).chain(multiples) {
            steps += k + 1;
            if steps > STEPS {
                return None;
            }
            let above = tasks[..k].iter().enumerate().filter(|&(j, _)| j != i);
            let delays: i128 = above.map(|(_, &[C, _, T])| ceil(t, T) * C).sum();
            let own = if k == i { 0 } else { tasks[k][0] };
            let jobs = if k > i { ceil(t, tasks[i][2]) } else { 1 };
            best = best.max((t - delays - own).div_euclid(jobs));
        }
        if k < i && best < 0 {
            return Some(0);
        }
        least = if k < i { least } else { least.min(best) };
    }
    i64::try_from(least.max(0)).ok()
}

/// Returns the largest WCET of the `i`-th of these tasks with which all meet their deadlines under EDF on one
/// CPU; 0 if there is none:
/// `C_i = min(D_i, floor((1 - U_others) T_i), min over t of floor((t - dbf_others(t)) / n_i(t)))`, where
/// `n_i(t)` counts the jobs of `tau_i` that are due within `t`.
///
/// One pass of QPA from the largest `t` down finds it (Zhang, Burns and Baruah 2011): where the demand is too
/// much, `C_i` becomes what fits. Longer intervals then have less demand than before.
///
/// `None` if the pass has too many steps.
pub fn largest_wcet_edf(tasks: &[Sporadic], i: usize) -> Option<i64> {
    let wide: Vec<[i128; 3]> = tasks.iter().map(wide).collect();
    let rest = wide.iter().enumerate().filter(|&(j, _)| j != i).map(|(_, task)| *task);
    let others: Vec<[i128; 3]> = rest.collect();
    let rate = |&[C, _, T]: &[i128; 3]| Rate::of_wide(C, T);
    let spare = &Rate::ONE - &others.iter().map(rate).sum::<Rate>();
    let [_, D_i, T_i] = wide[i];
    let by_load = i128::from((&spare * &Rate::of_wide(T_i, 1)).floor()?);
    let mut C_i = by_load.min(D_i);
    if C_i < 1 {
        return Some(0);
    }
    let all = |C_i: i128| others.iter().copied().chain([[C_i, D_i, T_i]]);
    let jobs_due = |t: i128, D: i128, T: i128| if t < D { 0 } else { (t - D) / T + 1 };
    let due_before = |t: i128| {
        let last = |[_, D, T]: [i128; 3]| (t > D).then(|| D + (t - 1 - D) / T * T);
        all(0).filter_map(last).max()
    };
    let horizon =
        [by_slack(&all(C_i).collect::<Vec<_>>()), busy_period(&all(C_i).collect::<Vec<_>>())];
    let horizon = horizon.into_iter().flatten().min()?;
    let mut next = due_before(horizon + 1);
    for _ in 0..STEPS {
        let Some(t) = next else { return i64::try_from(C_i).ok() };
        let of_others: i128 = others.iter().map(|&[C, D, T]| jobs_due(t, D, T) * C).sum();
        let jobs = jobs_due(t, D_i, T_i);
        if of_others + jobs * C_i > t {
            if jobs == 0 || t - of_others < jobs {
                return Some(0);
            }
            C_i = (t - of_others) / jobs;
        }
        let demand = of_others + jobs * C_i;
        // Between these lengths the demand is no more than here.
        next = if demand < t { due_before(demand + 1) } else { due_before(t) };
    }
    None
}

/// The length from which on no demand exceeds the interval, by the load: `L_a` of QPA. `None` for a load of 1.
fn by_slack(tasks: &[[i128; 3]]) -> Option<i128> {
    let load: Rate = tasks.iter().map(|&[C, _, T]| Rate::of_wide(C, T)).sum();
    let spare = &Rate::ONE - &load;
    if spare <= Rate::ZERO {
        return None;
    }
    let lead = tasks.iter().map(|&[C, D, T]| Rate::of_wide((T - D).max(0) * C, T)).sum::<Rate>();
    (&lead / &spare).floor().map(i128::from)
}

/// The busy period that begins with a job of each task: `L_b` of QPA.
fn busy_period(tasks: &[[i128; 3]]) -> Option<i128> {
    let mut length: i128 = tasks.iter().map(|&[C, _, _]| C).sum();
    for _ in 0..STEPS / tasks.len().max(1) {
        let work = |&[C, _, T]: &[i128; 3]| num_integer::Integer::div_ceil(&length, &T) * C;
        let following: i128 = tasks.iter().map(work).sum();
        if following == length {
            return Some(length);
        }
        length = following;
    }
    None
}

fn wide(task: &Sporadic) -> [i128; 3] {
    task.ns().map(i128::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uniprocessor::edf::{Demand, criterion};
    use crate::uniprocessor::fixed_priority::response_time;
    use layland_model::Service;

    /// A small generator of numbers, without a seed from outside.
    struct Draw(u64);

    impl Draw {
        fn between(&mut self, low: i64, high: i64) -> i64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            low + ((self.0 >> 33) % (high - low + 1) as u64) as i64
        }
    }

    fn sets() -> Vec<Vec<Sporadic>> {
        let mut draw = Draw(1);
        (0..3000)
            .map(|_| {
                let count = draw.between(1, 4);
                let wants_long = draw.between(0, 3) == 0;
                (0..count)
                    .map(|_| {
                        let period = draw.between(2, 20);
                        let most = if wants_long { 2 * period } else { period };
                        let deadline = draw.between(1, most);
                        let wcet = draw.between(1, (period / 2).max(1));
                        Sporadic {
                            wcet: Service::from_ns(wcet),
                            deadline: Duration::from_ns(deadline),
                            period: Duration::from_ns(period),
                        }
                    })
                    .collect()
            })
            .collect()
    }

    /// Tries every WCET.
    fn tried(tasks: &[Sporadic], i: usize, accepts: impl Fn(&[Sporadic]) -> bool) -> i64 {
        let with = |c: i64| {
            let mut tasks = tasks.to_vec();
            tasks[i].wcet = Service::from_ns(c);
            tasks
        };
        let accepted: Vec<i64> = (1..=60).filter(|&c| accepts(&with(c))).collect();
        let largest = accepted.len() as i64;
        assert_eq!(accepted, (1..=largest).collect::<Vec<_>>(), "not monotone: {tasks:?}");
        largest
    }

    #[test]
    fn the_closed_forms_find_what_trying_every_value_finds() {
        let (mut compared, mut positive) = (0, 0);
        for tasks in sets() {
            for i in 0..tasks.len() {
                let by_demand = |tasks: &[Sporadic]| criterion(tasks) == Ok(Demand::Met);
                let found = largest_wcet_edf(&tasks, i).unwrap();
                assert_eq!(found, tried(&tasks, i, by_demand), "EDF, {i}: {tasks:?}");
                compared += 1;
                positive += usize::from(found > 0);
                let responds = |tasks: &[Sporadic]| {
                    let as_tasks: Vec<Task> = (tasks.iter())
                        .map(|task| Task {
                            deadline: task.deadline,
                            ..Task::implicit("t", task.wcet, task.period)
                        })
                        .collect();
                    let refs: Vec<&Task> = as_tasks.iter().collect();
                    (0..refs.len())
                        .all(|k| response_time(refs[k], &refs[..k], refs[k].deadline).is_ok())
                };
                match largest_wcet_fixed(&tasks, i) {
                    None => assert!(tasks.iter().any(|task| task.deadline > task.period)),
                    Some(found) => assert_eq!(found, tried(&tasks, i, responds), "{i}: {tasks:?}"),
                }
            }
        }
        assert!(compared > 5000 && positive > 2000, "{compared} {positive}");
    }

    #[test]
    fn what_takes_too_long_has_no_closed_form() {
        let task = |c, t| Sporadic::implicit(Service::from_ns(c), Duration::from_ns(t));
        let tasks = [task(1, 3), task(1, 1_000_000_007)];
        assert_eq!(largest_wcet_fixed(&tasks, 0), None);
        assert_eq!(largest_wcet_edf(&tasks, 0), Some(2));
    }
}
