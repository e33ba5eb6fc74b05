//! Response bounds of several DAG tasks on `m` shared CPUs, in exact integer forms.
//!
//! Carry-in follows Melani et al. 2015: the carried-in instance does its work on all CPUs just
//! before its age is `R_i`, and the others do theirs immediately after their release. Everything is
//! multiplied by `m` to keep it integer:
//!
//! - `W_i(d) = q C_i + min(C_i, rem)` with `m (d + R_i) - C_i = q (m T_i) + rem`: the maximum work
//!   of `tau_i` in an interval of length `d`;
//! - `E_i = sum over j >= 0 with y > j T_i of min(C_i, m (y - j T_i))` with `y = D_k - D_i + R_i`:
//!   under EDF, the maximum work of instances with deadlines not after that of the instance under
//!   study.
//!
//! Melani et al. use fractions; one floor over all interference is sharper, and sound because times
//! are integers. The number of tasks that carry work in is not limited to `m - 1` here, because the
//! proof of that limit is for sequential tasks.
//!
//! The circular definition of the bounds is sound: at the first instant at which some instance is
//! older than its bound, all others have kept theirs, and this contradicts its own inequality.

#![expect(non_snake_case, reason = "symbols of the papers")]

use layland_offline::graph::{BoundKind, Recurrent};

/// The maximum number of steps of a search; a search that needs more finds no bound.
const STEPS: u64 = 1 << 20;

/// The parameters of a task.
struct Numbers {
    C: i128,
    L: i128,
    D: i128,
    T: i128,
    /// The bound on an instance that has all CPUs to itself.
    graham: i128,
}

impl Numbers {
    fn of(tasks: &[&Recurrent], cpus: usize) -> Vec<Numbers> {
        let numbers = |task: &&Recurrent| Numbers {
            C: task.dag.volume().into(),
            L: task.dag.length().into(),
            D: task.deadline.into(),
            T: task.period.into(),
            graham: task.dag.bound(BoundKind::Graham, cpus).expect("it follows no paths").into(),
        };
        tasks.iter().map(numbers).collect()
    }

    /// `W_i(d)`.
    fn workload(&self, d: i128, R_i: i128, m: i128) -> i128 {
        let (x, mT) = (m * (d + R_i) - self.C, m * self.T);
        x.div_euclid(mT) * self.C + self.C.min(x.rem_euclid(mT))
    }

    /// `E_i`: the instances with at least `C_i / m` before the end count in full, and the others
    /// form an arithmetic progression.
    fn with_deadlines(&self, D_k: i128, R_i: i128, m: i128) -> i128 {
        let y = D_k - self.D + R_i;
        if y <= 0 {
            return 0;
        }
        let all = (y - 1) / self.T + 1;
        let whole = match y - (self.C - 1) / m - 1 {
            room @ 0.. => (room / self.T + 1).min(all),
            _ => 0,
        };
        let rest = all - whole;
        // The sum of m (y - j T) for j from `whole` to `all - 1`.
        whole * self.C + m * (rest * y - self.T * (whole + all - 1) * rest / 2)
    }

    /// Returns the least `R` from `least` on with
    /// `R = L_k + floor((C_k - L_k + interference(R)) / m)`, if it is at most `D_k`.
    fn response(
        &self,
        least: i128,
        m: i128,
        steps: &mut u64,
        interference: impl Fn(i128) -> i128,
    ) -> Option<i128> {
        let mut R = least;
        while R <= self.D {
            *steps = steps.checked_sub(1)?;
            let next = self.L + (self.C - self.L + interference(R)) / m;
            if next <= R {
                return Some(R);
            }
            R = next;
        }
        None
    }
}

/// Returns a bound for each of these tasks, in the order of their priorities, highest first, under
/// global fixed priorities. If a task has no bound, the tasks below it have none either.
///
/// Assumptions: (1) `D_i <= T_i`, (2) sporadic without jitter, (3) priorities are all different, (4) preemptive, whole
/// times, WCETs are kept.
///
/// ```
/// use layland_analysis::graph::global_fp;
/// use layland_offline::graph::{Dag, Recurrent};
/// let fork = Dag::new(&[1, 4, 3, 3, 1], &[(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4)]).unwrap();
/// let alone = Recurrent { dag: fork, period: 8, deadline: 8 };
/// assert_eq!(global_fp(&[&alone], 3), [Some(8)]);
/// assert_eq!(global_fp(&[&alone], 2), [None]);
/// ```
pub fn global_fp(tasks: &[&Recurrent], cpus: usize) -> Vec<Option<i64>> {
    let (tasks, m) = (Numbers::of(tasks, cpus), cpus as i128);
    let mut R: Vec<i128> = Vec::with_capacity(tasks.len());
    let mut steps = STEPS;
    for tau_k in &tasks {
        let interference =
            |d| tasks.iter().zip(&R).map(|(tau_i, &R_i)| tau_i.workload(d, R_i, m)).sum();
        match tau_k.response(tau_k.graham, m, &mut steps, interference) {
            Some(R_k) => R.push(R_k),
            None => break,
        }
    }
    (0..tasks.len()).map(|k| R.get(k).map(|&R_k| R_k as i64)).collect()
}

/// Returns a bound for each of these tasks under global EDF, or none at all if a task has none
/// within its deadline.
///
/// The bounds are the least ones that satisfy all inequalities together: each starts from an
/// instance with all CPUs to itself, and grows with the carry-in of the others until nothing
/// changes. Lowering all bounds from the deadlines is sound, too, but ends at the largest solution,
/// or above a deadline where smaller solutions exist.
///
/// Assumptions: those of [`global_fp`], except the one about priorities.
///
/// ```
/// use layland_analysis::graph::global_edf;
/// use layland_offline::graph::{Dag, Recurrent};
/// let task = |work: &[i64], period| {
///     Recurrent { dag: Dag::new(work, &[(0, 1)]).unwrap(), period, deadline: period }
/// };
/// assert_eq!(global_edf(&[&task(&[1, 1], 9)], 2), Some(vec![2]));
/// assert_eq!(global_edf(&[&task(&[5, 5], 9)], 2), None);
/// ```
pub fn global_edf(tasks: &[&Recurrent], cpus: usize) -> Option<Vec<i64>> {
    let (tasks, m) = (Numbers::of(tasks, cpus), cpus as i128);
    let mut R: Vec<i128> = tasks.iter().map(|tau_k| tau_k.graham).collect();
    let mut steps = STEPS;
    loop {
        let before = R.clone();
        for (k, tau_k) in tasks.iter().enumerate() {
            let others = || tasks.iter().zip(&R).enumerate().filter(|&(i, _)| i != k);
            let limits: Vec<i128> =
                others().map(|(_, (tau_i, &R_i))| tau_i.with_deadlines(tau_k.D, R_i, m)).collect();
            R[k] = tau_k.response(R[k], m, &mut steps, |d| {
                let workload = others().map(|(_, (tau_i, &R_i))| tau_i.workload(d, R_i, m));
                workload.zip(&limits).map(|(W, &E)| W.min(E)).sum()
            })?;
        }
        if R == before {
            return Some(R.into_iter().map(|R_k| R_k as i64).collect());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `E_i` by its definition, one instance at a time.
    #[test]
    fn the_sum_of_instances_is_the_sum_of_each() {
        let mut seen = 0;
        for C in 1..9 {
            for T in 1..6 {
                for m in 1..4 {
                    for y in -3..20 {
                        // y = D_k - D + R_i.
                        let tau_i = Numbers { C, L: 1, D: 3, T, graham: C };
                        let each = (0..30).map(|j| y - j * T).filter(|&left| left > 0);
                        let slow: i128 = each.map(|left| C.min(m * left)).sum();
                        assert_eq!(tau_i.with_deadlines(y, 3, m), slow, "C {C} T {T} m {m} y {y}");
                        seen += i32::from(slow > 0);
                    }
                }
            }
        }
        assert!(seen > 1000, "{seen}");
    }

    /// The bounds lowered from the deadlines, as in the specification: sound, but not the least
    /// ones.
    fn lowered(tasks: &[Numbers], m: i128) -> Option<Vec<i128>> {
        let mut R: Vec<i128> = tasks.iter().map(|tau_k| tau_k.D).collect();
        loop {
            let lower = |k: usize| {
                let tau_k = &tasks[k];
                let others = tasks.iter().zip(&R).enumerate().filter(|&(i, _)| i != k);
                let others: Vec<_> = others.map(|(_, other)| other).collect();
                tau_k.response(tau_k.graham, m, &mut STEPS.clone(), |d| {
                    let at_most = |&(tau_i, &R_i): &(&Numbers, &i128)| {
                        tau_i.workload(d, R_i, m).min(tau_i.with_deadlines(tau_k.D, R_i, m))
                    };
                    others.iter().map(at_most).sum()
                })
            };
            let found: Vec<Option<i128>> = (0..tasks.len()).map(lower).collect();
            let next = found.iter().zip(tasks).map(|(R_k, tau_k)| R_k.unwrap_or(tau_k.D)).collect();
            if next == R {
                return found.into_iter().collect();
            }
            R = next;
        }
    }

    #[test]
    fn the_least_bounds_are_no_larger_than_lowered_ones() {
        let (mut same, mut less, mut alone, mut none) = (0, 0, 0, 0);
        for m in 2..4 {
            for draw in 0..40_000i64 {
                // The digits of the number in mixed bases.
                let mut rest = draw;
                let mut digit = |base: i64| {
                    let digit = rest % base;
                    rest /= base;
                    digit
                };
                let tasks: Vec<Recurrent> = (0..3)
                    .map(|_| {
                        let (first, wide, slack) = (1 + digit(3), 1 + digit(4), digit(4));
                        let work = vec![first; 1 + wide as usize];
                        let edges: Vec<_> = (1..work.len()).map(|to| (0, to)).collect();
                        let dag = layland_offline::graph::Dag::new(&work, &edges).unwrap();
                        let deadline = dag.length() + dag.volume() / 2 + slack;
                        Recurrent { dag, period: deadline + slack, deadline }
                    })
                    .collect();
                let tasks: Vec<&Recurrent> = tasks.iter().collect();
                let from_above = lowered(&Numbers::of(&tasks, m), m as i128);
                match (global_edf(&tasks, m), from_above) {
                    (Some(least), Some(lowered)) => {
                        let pairs = || least.iter().map(|&R_k| i128::from(R_k)).zip(&lowered);
                        assert!(pairs().all(|(least, lowered)| least <= *lowered), "{tasks:?}");
                        let is_same = pairs().all(|(least, lowered)| least == *lowered);
                        *(if is_same { &mut same } else { &mut less }) += 1;
                    }
                    (Some(_), None) => alone += 1,
                    (None, None) => none += 1,
                    (None, Some(_)) => panic!("{tasks:?} have larger bounds alone"),
                }
            }
        }
        assert!(same > 100 && less + alone > 0 && none > 100, "{same} {less} {alone} {none}");
    }
}
