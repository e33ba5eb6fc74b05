//! The tests of EDF with virtual deadlines by their conditions: length by length, starting again
//! from 0 after each step.
//!
//! Each function is the obvious version of one in
//! `layland_offline::criticality::virtual_deadlines`, for small sets only.

use crate::criticality::Plain;
use layland_model::Rate;

/// Returns a task with two modes: `(T, D, C(low), C(high), is high)`.
fn in_two_modes(task: &Plain, cut: usize) -> (i64, i64, i64, i64, bool) {
    let own = task.wcet[task.level];
    let is_high = task.level > cut;
    let low = if is_high { task.wcet[cut] } else { own };
    (task.period, task.deadline, low, own, is_high)
}

/// Returns true if a factor `x` is valid for EDF-VD with a cut, by the conditions of both modes:
/// `low + high / x <= 1` and `x low + own <= 1`.
pub fn is_a_factor(tasks: &[Plain], cut: usize, x: &Rate) -> bool {
    let sum = |which: &dyn Fn(i64, i64, bool) -> i64| -> Rate {
        let share = |task: &Plain| {
            let (period, _, low, own, is_high) = in_two_modes(task, cut);
            Rate::new(which(low, own, is_high), period)
        };
        tasks.iter().map(share).sum()
    };
    let low = sum(&|low, _, is_high| if is_high { 0 } else { low });
    let high = sum(&|low, _, is_high| if is_high { low } else { 0 });
    let own = sum(&|_, own, is_high| if is_high { own } else { 0 });
    // Without high work the low mode needs no factor. The test excludes low tasks that fill the CPU.
    let low_fits =
        if *x > Rate::ZERO { &low + &(&high / x) <= Rate::ONE } else { high == Rate::ZERO };
    low < Rate::ONE && low_fits && &(x * &low) + &own <= Rate::ONE
}

/// Returns the demand of both modes at a length, as printed.
fn demands(tasks: &[Plain], cut: usize, virtual_deadlines: &[i64], l: i64) -> (i64, i64) {
    let (mut low_mode, mut high_mode) = (0, 0);
    for (task, &v) in tasks.iter().zip(virtual_deadlines) {
        let (period, deadline, low, own, is_high) = in_two_modes(task, cut);
        let jobs = |since: i64| (since.div_euclid(period) + 1).max(0);
        low_mode += jobs(l - v) * low;
        if is_high {
            let (gap, n) = (deadline - v, l % period);
            let full = jobs(l - gap) * own;
            let has_done = full > 0 && deadline > n && n >= gap;
            high_mode += full - if has_done { (low - n + gap).max(0) } else { 0 };
        }
    }
    (low_mode, high_mode)
}

/// Returns the lengths up to the last one at which something new can happen, in both modes; `None`
/// if one mode needs more than the CPU. The demand is at most `U l + sum C`, and repeats with the
/// periods.
fn lengths(tasks: &[Plain], cut: usize) -> Option<std::ops::RangeInclusive<i64>> {
    let lcm = tasks.iter().fold(1, |lcm, task| {
        (1..).map(|times| lcm * times).find(|all| all % task.period == 0).expect("one divides")
    });
    let periodic = lcm + tasks.iter().map(|task| task.deadline).max().unwrap_or(0);
    let of_mode = |mode: Vec<(i64, i64)>| {
        let utilization: Rate = mode.iter().map(|&(period, wcet)| Rate::new(wcet, period)).sum();
        let work = Rate::whole(mode.iter().map(|&(_, wcet)| wcet).sum());
        let room = Rate::ONE - utilization;
        (room >= Rate::ZERO).then(|| {
            if room > Rate::ZERO {
                periodic.min((work / room).floor().expect("it is small") + 1)
            } else {
                periodic
            }
        })
    };
    let modal = || tasks.iter().map(|task| in_two_modes(task, cut));
    let low = of_mode(modal().map(|(period, _, low, _, _)| (period, low)).collect())?;
    let high = modal().filter(|task| task.4).map(|(period, _, _, own, _)| (period, own));
    Some(0..=low.max(of_mode(high.collect())?))
}

/// Returns true if virtual deadlines are valid by the demand of both modes, length by length.
pub fn both_modes_fit(tasks: &[Plain], cut: usize, virtual_deadlines: &[i64]) -> bool {
    lengths(tasks, cut).is_some_and(|mut all| {
        all.all(|l| {
            let (low, high) = demands(tasks, cut, virtual_deadlines, l);
            low <= l && high <= l
        })
    })
}

/// Ekberg and Yi's search in steps of 1, starting again from length 0 after each. Returns the
/// virtual deadlines.
pub fn ekberg_yi(tasks: &[Plain], cut: usize) -> Option<Vec<i64>> {
    let all = lengths(tasks, cut)?;
    let mut found: Vec<i64> = tasks.iter().map(|task| task.deadline).collect();
    let modal = |i: usize| in_two_modes(&tasks[i], cut);
    let mut candidates: Vec<usize> = (0..tasks.len())
        .filter(|&i| {
            let (_, deadline, low, _, is_high) = modal(i);
            is_high && deadline > low
        })
        .collect();
    let mut last: Option<usize> = None;
    'again: loop {
        for l in all.clone() {
            let (low, high) = demands(tasks, cut, &found, l);
            if low > l {
                let step = last.take()?;
                found[step] += 1;
                candidates.retain(|&i| i != step);
                continue 'again;
            }
            if high > l {
                let growth = |i: usize| {
                    let alone = |l: i64| match l {
                        -1 => 0,
                        l => demands(&tasks[i..=i], cut, &found[i..=i], l).1,
                    };
                    alone(l) - alone(l - 1)
                };
                let most = candidates.iter().map(|&i| growth(i)).max()?;
                let step = *candidates.iter().find(|&&i| growth(i) == most)?;
                found[step] -= 1;
                if found[step] == modal(step).2 {
                    candidates.retain(|&i| i != step);
                }
                last = Some(step);
                continue 'again;
            }
        }
        return Some(found);
    }
}
