//! Mixed-criticality analyses by their definitions: one time, one change and one job after the other.
//!
//! Each function is the obvious version of one in `layland_offline::criticality`: fixed points by
//! linear search, every integer instant of a mode change, every zero-slack instant from the
//! deadline down, priorities of jobs by backtracking. Times are plain integers. They suit only
//! small sets.

use layland_model::{Criticality, Duration, Service};
use layland_offline::criticality::{MixedSet, MixedTask};
use proptest::prelude::*;

/// `(T, D, z, [C(0), .., C(N-1)])`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plain {
    /// `T`.
    pub period: i64,
    /// `D`.
    pub deadline: i64,
    /// `z`.
    pub level: usize,
    /// `C(l)`.
    pub wcet: Vec<i64>,
}

/// Builds the set of these tasks.
///
/// # Panics
/// If the set is invalid.
pub fn set_of(levels: usize, tasks: &[Plain]) -> MixedSet {
    let task = |task: &Plain| MixedTask {
        period: Duration::from_ns(task.period),
        deadline: Duration::from_ns(task.deadline),
        criticality: Criticality(task.level as u8),
        wcet: task.wcet.iter().map(|&c| Service::from_ns(c)).collect(),
    };
    MixedSet::new(levels, &tasks.iter().map(task).collect::<Vec<_>>()).expect("it is valid")
}

/// Draws small sets with up to this many levels and tasks. Half of the tasks have two budgets; some
/// have no demand below their level.
pub fn sets(levels: usize, most: usize) -> impl Strategy<Value = (usize, Vec<Plain>)> {
    let task = (3i64..=18, 0i64..=6, 0usize..8, prop::collection::vec(0i64..=2, 5), any::<bool>());
    (1..=levels, prop::collection::vec(task, 1..=most), 1i64..=3).prop_map(
        |(levels, tasks, share)| {
            let one =
                |(period, less, level, growth, two_budgets): (i64, i64, usize, Vec<i64>, bool)| {
                    let level = level % levels;
                    let deadline = if less > 3 { period } else { (period - less).max(1) };
                    let scale = |grown: i64| (grown * period * share / 24).min(deadline);
                    let mut wcet: Vec<i64> = Vec::new();
                    let mut sum = growth[0].min(1);
                    for l in 0..levels {
                        if l > 0 && l <= level && (!two_budgets || l == level) {
                            sum += growth[l % growth.len()];
                        }
                        wcet.push(scale(sum));
                    }
                    for l in level..levels {
                        wcet[l] = wcet[level].max(1);
                    }
                    Plain { period, deadline, level, wcet }
                };
            (levels, tasks.into_iter().map(one).collect())
        },
    )
}

fn ceil(a: i64, b: i64) -> i64 {
    if a <= 0 { -(-a / b) } else { (a + b - 1) / b }
}

/// Returns the least `t >= 1` with `f(t) <= t`, if it is at most `limit`.
fn first(limit: i64, f: impl Fn(i64) -> i64) -> Option<i64> {
    (1..=limit).find(|&t| f(t) <= t)
}

/// Eq. 2.
pub fn smc(tasks: &[Plain], i: usize, higher: &[usize]) -> Option<i64> {
    let Plain { deadline, level, ref wcet, .. } = tasks[i];
    first(deadline, |r| {
        let delay = higher.iter().map(|&j| ceil(r, tasks[j].period) * tasks[j].wcet[level]);
        wcet[level] + delay.sum::<i64>()
    })
}

/// AMC-RT.
pub fn amc_rt(tasks: &[Plain], i: usize, higher: &[usize]) -> Option<Vec<i64>> {
    let mut found: Vec<i64> = Vec::new();
    for m in 0..=tasks[i].level {
        let r = first(tasks[i].deadline, |r| {
            let delay = higher.iter().map(|&j| {
                let Plain { period, level, ref wcet, .. } = tasks[j];
                if level < m {
                    ceil(found[level], period) * wcet[level]
                } else {
                    ceil(r, period) * wcet[m]
                }
            });
            tasks[i].wcet[m] + delay.sum::<i64>()
        })?;
        found.push(r);
    }
    Some(found)
}

/// AMC-MAX, over every integer instant.
pub fn amc_max(tasks: &[Plain], i: usize, higher: &[usize]) -> Option<Vec<i64>> {
    let low = amc_rt(&just_lowest(tasks), i, higher)?[0];
    if tasks[i].level == 0 {
        return Some(vec![low]);
    }
    let at = |s: i64| {
        first(tasks[i].deadline, |t| {
            let delay = higher.iter().map(|&k| {
                let Plain { period, deadline, level, ref wcet } = tasks[k];
                let all = ceil(t, period);
                match level {
                    0 => (s / period + 1) * wcet[0],
                    _ => {
                        let large = (ceil(t - s - (period - deadline), period) + 1).clamp(0, all);
                        large * wcet[1] + (all - large) * wcet[0]
                    }
                }
            });
            tasks[i].wcet[1] + delay.sum::<i64>()
        })
    };
    let all: Option<Vec<i64>> = (0..low).map(at).collect();
    Some(vec![low, all?.into_iter().max()?])
}

/// Returns the tasks with their parameters at level 0.
fn just_lowest(tasks: &[Plain]) -> Vec<Plain> {
    tasks.iter().map(|task| Plain { level: 0, ..task.clone() }).collect()
}

/// The variant of the AMC analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ia {
    /// The paper's variant, over all deadlines.
    Paper,
    /// The corrected variant, over all integers.
    Safe,
}

/// AMC-IA, over all sequences of changes.
pub fn amc_ia(which: Ia, tasks: &[Plain], i: usize, higher: &[usize]) -> Option<Vec<i64>> {
    let lowest = amc_rt(&just_lowest(tasks), i, higher)?[0];
    let mut worst = vec![lowest];
    worst.resize(tasks[i].level + 1, 0);
    changes(which, tasks, i, higher, &mut vec![0], &mut vec![lowest], &mut worst)?;
    Some(worst)
}

fn changes(
    which: Ia,
    tasks: &[Plain],
    i: usize,
    higher: &[usize],
    s: &mut Vec<i64>,
    r: &mut Vec<i64>,
    worst: &mut [i64],
) -> Option<()> {
    let m = s.len();
    if m > tasks[i].level {
        return Some(());
    }
    let (before, last) = (s[m - 1], r[m - 1]);
    let candidates: Vec<i64> = match which {
        Ia::Safe => (before..last).collect(),
        Ia::Paper => {
            let mut all = vec![before];
            for &j in higher {
                let releases = (0..).map(|k| k * tasks[j].period).take_while(|&at| at < last);
                all.extend(releases.map(|at| at + tasks[j].deadline).filter(|&s| s > before));
            }
            all
        }
    };
    for candidate in candidates {
        s.push(candidate);
        let found = first(tasks[i].deadline, |t| {
            let delay = higher.iter().map(|&j| match which {
                Ia::Paper => paper_demand(&tasks[j], m, s, r, t),
                Ia::Safe => safe_demand(&tasks[j], m, s, t),
            });
            tasks[i].wcet[m] + delay.sum::<i64>()
        });
        r.push(found?);
        worst[m] = worst[m].max(found?);
        changes(which, tasks, i, higher, s, r, worst)?;
        s.pop();
        r.pop();
    }
    Some(())
}

/// Returns the demand by the printed sum.
fn paper_demand(task: &Plain, m: usize, s: &[i64], r: &[i64], t: i64) -> i64 {
    let Plain { period, deadline, level, ref wcet } = *task;
    let count = |l: usize| {
        if level == l {
            ceil(s[l + 1], period).min(ceil(r[l], period))
        } else if s[l + 1] < deadline {
            0
        } else {
            (s[l + 1] - deadline) / period + 1
        }
    };
    let all = if level < m { count(level) } else { ceil(t, period) };
    let levels = level.min(m);
    let mut before = 0;
    let mut sum = 0;
    for (l, bound) in wcet.iter().enumerate().take(levels + 1) {
        let jobs = if l == levels { all } else { count(l).min(all) };
        sum += (jobs - before) * bound;
        before = jobs;
    }
    sum
}

/// Returns the demand of the worse of the two worst phases.
fn safe_demand(task: &Plain, m: usize, s: &[i64], t: i64) -> i64 {
    let Plain { period, deadline, level, ref wcet } = *task;
    let open = level >= m;
    let jobs = if open { ceil(t, period) } else { s[level + 1] / period + 1 };
    let after = |from: i64| {
        if open {
            ceil(t - from + deadline, period).max(0)
        } else {
            (s[level + 1] - from + deadline).div_euclid(period) + 1
        }
    };
    let jumps: Vec<usize> = (1..=level).filter(|&l| wcet[l] > wcet[l - 1]).collect();
    match jumps[..] {
        [] => jobs * wcet[0],
        [g] if g > m => jobs * wcet[0],
        [g] => {
            let (lo, hi) = (wcet[g - 1], wcet[g]);
            if s[g] < deadline {
                return jobs * hi;
            }
            let small = (s[g] - deadline) / period;
            let a = after(s[g]) * hi + if open { small.min(jobs) } else { small } * lo;
            let early = jobs.min(small + 1);
            a.max(early * lo + (jobs - early) * hi)
        }
        _ => {
            let so_far = jumps.iter().filter(|&&l| l <= m);
            let large = |l: usize| if s[l] < deadline { jobs } else { jobs.min(after(s[l])) };
            jobs * wcet[0] + so_far.map(|&l| large(l) * (wcet[l] - wcet[l - 1])).sum::<i64>()
        }
    }
}

/// Returns zero-slack instants, from the highest criticality down. `one` finds the instant of a
/// task, given the tasks of higher priority, and the tasks of lower priority but higher
/// criticality. `None` for a task that depends on one without an instant.
fn instants(
    tasks: &[Plain],
    order: &[usize],
    mut one: impl FnMut(usize, &[usize], &[usize]) -> Option<i64>,
) -> Vec<Option<i64>> {
    let place = |i: usize| order.iter().position(|&j| j == i).expect("every task is in the order");
    let mut found: Vec<Option<i64>> = vec![None; tasks.len()];
    let mut visit = order.to_vec();
    visit.sort_by_key(|&i| (std::cmp::Reverse(tasks[i].level), place(i)));
    for i in visit {
        let (higher, rest) = order.split_at(place(i));
        let matters_more = |&h: &usize| tasks[h].level > tasks[i].level;
        let below: Vec<usize> = rest.iter().copied().filter(matters_more).collect();
        if below.iter().all(|&h| found[h].is_some()) {
            found[i] = one(i, higher, &below);
        }
    }
    found
}

/// Returns zero-slack instants, by a search through all instants from the deadline down. `order` is
/// rate monotonic. The value of a task is `None` if it has no instant, or if it depends on a task
/// without one.
pub fn zero_slack_safe(tasks: &[Plain], order: &[usize]) -> Vec<Option<i64>> {
    let mut quiet: Vec<Vec<bool>> = vec![Vec::new(); tasks.len()];
    instants(tasks, order, |i, higher, below| {
        let Plain { deadline, level, ref wcet, .. } = tasks[i];
        let ahead = |l: usize| -> Vec<usize> {
            if below.iter().any(|&h| !quiet[h][l]) { below.to_vec() } else { Vec::new() }
        };
        let b = ahead(level);
        let length = |z: i64, limit: i64| {
            first(limit, |t| {
                let above = higher.iter().map(|&j| {
                    if tasks[j].level >= level {
                        ceil(t, tasks[j].period) * tasks[j].wcet[level]
                    } else {
                        window(&tasks[j], level, t.min(z))
                    }
                });
                let b = b.iter().map(|&h| window(&tasks[h], level, t));
                wcet[level] + above.sum::<i64>() + b.sum::<i64>()
            })
        };
        // Without any work of such tasks, none is carried into a window that begins with the release.
        let any = higher.iter().any(|&j| tasks[j].level >= level && tasks[j].wcet[level] > 0);
        let longest = tasks.iter().map(|task| task.period).max().unwrap_or(0);
        let full = length(i64::MAX, 40 * longest);
        let feasible = |z: i64| {
            let early = match (any, full) {
                (false, _) => 0,
                (true, Some(full)) => (full - deadline).max(0),
                (true, None) => return false,
            };
            (0..=early).all(|x| length(x + z, x + deadline).is_some())
        };
        let z = (0..=deadline).rev().find(|&z| feasible(z))?;
        quiet[i] = (0..=level)
            .map(|l| {
                let most =
                    higher.iter().chain(&ahead(l)).map(|&j| window(&tasks[j], l, z)).sum::<i64>();
                z == deadline || z - most >= wcet[l]
            })
            .collect();
        Some(z)
    })
}

/// The original zero-slack method, step by step, with every integer as a possible end of idle time.
pub fn zero_slack_paper(tasks: &[Plain], order: &[usize]) -> Vec<Option<i64>> {
    let mut progress: Vec<Vec<i64>> = vec![Vec::new(); tasks.len()];
    instants(tasks, order, |i, higher, below| {
        let Plain { deadline, level, ref wcet, .. } = tasks[i];
        let rest = |h: usize, l: usize| (tasks[h].wcet[l] - progress[h][l]).max(0);
        let normal = |l: usize, t: i64| {
            let above = higher.iter().map(|&j| ceil(t, tasks[j].period) * tasks[j].wcet[l]);
            let below = below.iter().map(|&h| ceil(t, tasks[h].period) * rest(h, l));
            above.sum::<i64>() + below.sum::<i64>()
        };
        let idle = |z: i64, l: usize| (0..=z).map(|x| x - normal(l, x)).max().unwrap_or(0).max(0);
        let critical = |t: i64| {
            let above = higher.iter().filter(|&&j| tasks[j].level >= level);
            let above = above.map(|&j| ceil(t, tasks[j].period) * tasks[j].wcet[level]);
            let below = below.iter().map(|&h| ceil(t, tasks[h].period) * rest(h, level));
            above.sum::<i64>() + below.sum::<i64>()
        };
        let mut left = wcet[level];
        let instant = loop {
            let length = match left {
                0 => Some(0),
                left => (left..=deadline).find(|&t| left + critical(t) <= t),
            };
            let Some(length) = length else { break None };
            let next = (wcet[level] - idle(deadline - length, level)).max(0);
            if next == left {
                break Some(deadline - length);
            }
            left = next;
        };
        let instant = instant?;
        progress[i] = (0..=level).map(|l| idle(instant, l)).collect();
        Some(instant)
    })
}

/// Returns the values of FJP-IJA: `B(m)`, `s^(m+1)` and `n^m` of each task, with a ceiling or a
/// floor; `None` beyond `limit`.
#[expect(clippy::type_complexity, reason = "three lists")]
pub fn ija(
    tasks: &[Plain],
    levels: usize,
    floor: bool,
    limit: i64,
) -> Option<(Vec<i64>, Vec<i64>, Vec<Vec<i64>>)> {
    let (mut busy, mut change, mut counts) = (Vec::new(), vec![0i64], Vec::<Vec<i64>>::new());
    let before =
        |counts: &[Vec<i64>], m: usize, i: usize| if m == 0 { 0 } else { counts[m - 1][i] };
    for m in 0..levels {
        let b = first(limit, |b| {
            let each = (0..tasks.len()).map(|i| {
                let Plain { period, level, ref wcet, .. } = tasks[i];
                let done: i64 =
                    (0..m).map(|l| (counts[l][i] - before(&counts, l, i)) * wcet[l]).sum();
                let new = (ceil(b, period) - before(&counts, m, i)).max(0);
                done + if level >= m { new * wcet[m] } else { 0 }
            });
            each.sum()
        })?;
        let mine = tasks.iter().filter(|task| task.level == m);
        let last = mine.map(|task| (ceil(b, task.period) - 1) * task.period + task.wcet[m]).max();
        let s = change[m].max(last.unwrap_or(0));
        let now = (0..tasks.len()).map(|i| {
            let Plain { period, level, .. } = tasks[i];
            let before = before(&counts, m, i);
            match level.cmp(&m) {
                std::cmp::Ordering::Less => before,
                std::cmp::Ordering::Equal => before.max(ceil(b, period)),
                std::cmp::Ordering::Greater if floor => before.max(s / period),
                std::cmp::Ordering::Greater => before.max(ceil(s, period)),
            }
        });
        counts.push(now.collect());
        busy.push(b);
        change.push(s);
    }
    Some((busy, change[1..].to_vec(), counts))
}

/// Returns the maximum execution of a task in a window, by trying every job that may be in it. The
/// first job ends at its deadline, just after the window began.
fn window(task: &Plain, level: usize, x: i64) -> i64 {
    let c = task.wcet[level];
    if x <= 0 || c == 0 {
        return 0;
    }
    // The first job runs in the last C before its deadline, at the start of the window; the others
    // run at their releases.
    let mut sum = 0;
    let first_release = c - task.deadline;
    for k in 0.. {
        let from = if k == 0 { 0 } else { first_release + k * task.period };
        if from >= x {
            break;
        }
        sum += c.min(x - from);
    }
    sum.min(x)
}

/// Returns true if all jobs get a priority, by backtracking over every choice of the lowest one.
pub fn some_priorities(
    left: &mut Vec<usize>,
    may_be_lowest: &dyn Fn(usize, &[usize]) -> bool,
) -> bool {
    if left.iter().all(|&jobs| jobs == 0) {
        return true;
    }
    for i in 0..left.len() {
        if left[i] > 0 && may_be_lowest(i, left) {
            left[i] -= 1;
            let found = some_priorities(left, may_be_lowest);
            left[i] += 1;
            if found {
                return true;
            }
        }
    }
    false
}

/// Tests a job of the safe pattern.
pub fn fjp_safe_job(tasks: &[Plain], i: usize, left: &[usize]) -> bool {
    let due = (left[i] as i64 - 1) * tasks[i].period + tasks[i].deadline;
    let mut f: Vec<i64> = Vec::new();
    for m in 0..=tasks[i].level {
        let found = first(due, |t| {
            let each = tasks.iter().zip(left).map(|(task, &left)| {
                let level = task.level.min(m);
                let until = if task.level < m { f[task.level] } else { t };
                ceil(until, task.period).min(left as i64) * task.wcet[level]
            });
            each.sum()
        });
        match found {
            Some(found) => f.push(found),
            None => return false,
        }
    }
    true
}

/// Returns the load at a level, over every interval up to the hyperperiod and the longest deadline,
/// as numerator and denominator. The load by the utilization is left out.
pub fn load(tasks: &[Plain], m: usize, until: i64) -> (i64, i64) {
    let demand = |x: i64| {
        let mine = tasks.iter().filter(|task| task.level >= m && task.deadline <= x);
        mine.map(|task| ((x - task.deadline) / task.period + 1) * task.wcet[m]).sum::<i64>()
    };
    let larger = |a: (i64, i64), b: (i64, i64)| if a.0 * b.1 >= b.0 * a.1 { a } else { b };
    (1..=until).map(|x| (demand(x), x)).fold((0, 1), larger)
}
