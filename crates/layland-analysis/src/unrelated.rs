//! Can any scheduler do it, where each task takes its own time on each class of CPUs? **Exact** in ideal time
//! for tasks whose deadlines are their periods; **necessary** for shorter ones.
//!
//! Lawler and Labetoulle 1978: a task spends the share `x_ic` of its time on the CPUs of class `c`, where a job
//! takes `t_ic`. A schedule exists if and only if there are shares `x_ic >= 0` with
//!
//! | | |
//! |---|---|
//! | every job is done | `sum over c of x_ic T_i / t_ic >= 1` |
//! | a job runs on one CPU at a time | `sum over c of x_ic <= 1` |
//! | a class has `m_c` CPUs | `sum over i of x_ic <= m_c` |
//!
//! Assumes: (1) tasks that are independent and may be preempted and moved at any time, at no cost, (2) jobs of
//! a task a period apart, due at the end of it, (3) WCETs are kept, (4) a job that moves keeps the part of its
//! work that is done. In ideal time: a schedule may need moves within a nanosecond.
//!
//! The program with the factor `l` in place of 1 in the first row has a solution, all zeros, from which the
//! simplex method raises `l`. It decides at `l = 1`: the shares prove a *yes*, and the prices of the optimum
//! below 1 prove a *no*. A price `w_i` for each job, `y_i` for the time of a task and `z_c` for that of a CPU,
//! with `w_i T_i / t_ic <= y_i + z_c`: what the jobs are worth, `sum w_i`, is then no more than all time costs,
//! `sum y_i + sum m_c z_c`, whatever the shares are.
//!
//! Deviation: the largest coefficient enters, and Bland's rule (the least index) decides while pivots change
//! nothing, so that the method cannot cycle.

use layland_model::Rate;

/// The number of pivots.
const PIVOTS: usize = 20_000;

/// CPUs of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// Their number.
    pub cpus: i64,
}

/// A task: the time that its jobs take on each class, in nanoseconds, none where they may not run, and its
/// period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timed {
    /// The times, by class.
    pub times: Vec<Option<i64>>,
    /// The period, in nanoseconds.
    pub period: i64,
}

/// The answer, with its proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Feasible {
    /// There are shares: of each task, by class.
    Yes(Vec<Vec<Rate>>),
    /// There are prices.
    No(Prices),
    /// The method needs too many pivots.
    GaveUp,
}

/// Prices with which all jobs are worth more than all time costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prices {
    /// `w_i`: what a job of each task is worth.
    pub jobs: Vec<Rate>,
    /// `y_i`: the price of the time of each task.
    pub tasks: Vec<Rate>,
    /// `z_c`: the price of the time of a CPU of each class.
    pub cpus: Vec<Rate>,
}

/// Decides whether some scheduler meets all deadlines.
///
/// ```
/// use layland_analysis::unrelated::{Class, Feasible, Timed, are_shares, feasible};
/// // Three tasks of 2 in 3 on two CPUs: no partition, but feasible.
/// let tasks = vec![Timed { times: vec![Some(2)], period: 3 }; 3];
/// let classes = [Class { cpus: 2 }];
/// let Feasible::Yes(shares) = feasible(&tasks, &classes) else { panic!() };
/// assert!(are_shares(&shares, &tasks, &classes));
/// ```
pub fn feasible(tasks: &[Timed], classes: &[Class]) -> Feasible {
    let mut simplex = Simplex::of(tasks, classes);
    for _ in 0..PIVOTS {
        if simplex.factor() >= Rate::ONE {
            return Feasible::Yes(simplex.shares());
        }
        match simplex.entering() {
            Some(column) => simplex.pivot(column),
            None => return Feasible::No(simplex.prices()),
        }
    }
    Feasible::GaveUp
}

/// Returns the rate at which a job of a task is done on a class: `T_i / t_ic` per period.
fn rate(task: &Timed, class: usize) -> Option<Rate> {
    task.times[class].map(|time| Rate::new(task.period, time))
}

/// Returns true if these shares prove a *yes*.
pub fn are_shares(shares: &[Vec<Rate>], tasks: &[Timed], classes: &[Class]) -> bool {
    let is_possible = |(task, own): (&Timed, &Vec<Rate>)| {
        let done = |(class, share): (usize, &Rate)| match rate(task, class) {
            Some(rate) if *share >= Rate::ZERO => Some(&rate * share),
            None if *share == Rate::ZERO => Some(Rate::ZERO),
            Some(_) | None => None,
        };
        let done: Option<Vec<Rate>> = own.iter().enumerate().map(done).collect();
        let is_done = done.is_some_and(|done| done.into_iter().sum::<Rate>() >= Rate::ONE);
        own.len() == classes.len() && is_done && own.iter().cloned().sum::<Rate>() <= Rate::ONE
    };
    let has_room = |(at, class): (usize, &Class)| {
        shares.iter().map(|own| own[at].clone()).sum::<Rate>() <= Rate::whole(class.cpus)
    };
    shares.len() == tasks.len()
        && tasks.iter().zip(shares).all(is_possible)
        && classes.iter().enumerate().all(has_room)
}

/// Returns true if these prices prove a *no*.
pub fn are_prices(prices: &Prices, tasks: &[Timed], classes: &[Class]) -> bool {
    let Prices { jobs, tasks: of_tasks, cpus } = prices;
    let all = jobs.iter().chain(of_tasks).chain(cpus);
    let is_paid = |(at, task): (usize, &Timed)| {
        (0..classes.len()).all(|class| {
            rate(task, class).is_none_or(|rate| &jobs[at] * &rate <= &of_tasks[at] + &cpus[class])
        })
    };
    let worth: Rate = jobs.iter().cloned().sum();
    let time: Rate = of_tasks.iter().cloned().sum();
    let of_cpus = classes.iter().zip(cpus).map(|(class, price)| &Rate::whole(class.cpus) * price);
    jobs.len() == tasks.len()
        && of_tasks.len() == tasks.len()
        && cpus.len() == classes.len()
        && all.clone().all(|price| *price >= Rate::ZERO)
        && tasks.iter().enumerate().all(is_paid)
        && worth > &time + &of_cpus.sum::<Rate>()
}

/// A variable of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Variable {
    /// The factor.
    Factor,
    /// A share, of a task and a class.
    Share(usize, usize),
    /// The slack of the row of a job.
    OfJob(usize),
    /// The slack of the row of a task's time.
    OfTask(usize),
    /// The slack of the row of a class.
    OfClass(usize),
}

fn one_if(holds: bool) -> Rate {
    if holds { Rate::ONE } else { Rate::ZERO }
}

/// A dictionary: each basic variable is its value less the sum of its row times the other variables.
struct Simplex {
    basic: Vec<Variable>,
    others: Vec<Variable>,
    rows: Vec<Vec<Rate>>,
    values: Vec<Rate>,
    /// The factor is `value` plus the sum of these times the other variables.
    gains: Vec<Rate>,
    value: Rate,
    /// The last pivot left the factor as it was.
    is_stuck: bool,
    shape: (usize, usize),
}

impl Simplex {
    fn of(tasks: &[Timed], classes: &[Class]) -> Simplex {
        let (n, k) = (tasks.len(), classes.len());
        let mut others = vec![Variable::Factor];
        for (at, task) in tasks.iter().enumerate() {
            let may = |class: &usize| task.times[*class].is_some();
            others.extend((0..k).filter(may).map(|class| Variable::Share(at, class)));
        }
        let row = |of: &dyn Fn(Variable) -> Rate| others.iter().map(|&other| of(other)).collect();
        let (mut basic, mut rows, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (at, task) in tasks.iter().enumerate() {
            // l - sum over c of x_ic T_i / t_ic <= 0.
            let of_job: Vec<Rate> = row(&|other| {
                if other == Variable::Factor {
                    Rate::ONE
                } else if let Variable::Share(i, class) = other
                    && i == at
                {
                    &Rate::ZERO - &rate(task, class).unwrap_or(Rate::ZERO)
                } else {
                    Rate::ZERO
                }
            });
            let of_task: Vec<Rate> =
                row(&|other| one_if(matches!(other, Variable::Share(i, _) if i == at)));
            basic.extend([Variable::OfJob(at), Variable::OfTask(at)]);
            rows.extend([of_job, of_task]);
            values.extend([Rate::ZERO, Rate::ONE]);
        }
        for (at, class) in classes.iter().enumerate() {
            rows.push(row(&|other| one_if(matches!(other, Variable::Share(_, c) if c == at))));
            basic.push(Variable::OfClass(at));
            values.push(Rate::whole(class.cpus));
        }
        let gains = row(&|other| one_if(other == Variable::Factor));
        let (value, is_stuck, shape) = (Rate::ZERO, false, (n, k));
        Simplex { basic, others, rows, values, gains, value, is_stuck, shape }
    }

    fn factor(&self) -> Rate {
        // Without a task every factor is possible.
        if self.shape.0 == 0 { Rate::ONE } else { self.value.clone() }
    }

    /// Returns the column that enters; none at the optimum.
    fn entering(&self) -> Option<usize> {
        let gaining = (0..self.others.len()).filter(|&at| self.gains[at] > Rate::ZERO);
        if self.is_stuck {
            return gaining.min_by_key(|&at| self.others[at]);
        }
        gaining.max_by(|&a, &b| {
            let by_gain = self.gains[a].cmp(&self.gains[b]);
            by_gain.then_with(|| self.others[b].cmp(&self.others[a]))
        })
    }

    fn pivot(&mut self, column: usize) {
        let limit = |row: usize| &self.values[row] / &self.rows[row][column];
        let limits = (0..self.rows.len()).filter(|&row| self.rows[row][column] > Rate::ZERO);
        let leaving = limits.min_by(|&a, &b| {
            let by_limit = limit(a).cmp(&limit(b));
            by_limit.then_with(|| self.basic[a].cmp(&self.basic[b]))
        });
        // Every variable has a limit: shares by their rows, and the factor by the jobs of a task.
        let Some(leaving) = leaving else { return };
        let pivot = self.rows[leaving][column].clone();
        let before = self.value.clone();
        let mut row = std::mem::take(&mut self.rows[leaving]);
        row[column] = Rate::ONE;
        row.iter_mut().filter(|entry| **entry != Rate::ZERO).for_each(|entry| {
            *entry = &*entry / &pivot;
        });
        let value = &self.values[leaving] / &pivot;
        for (at, other) in self.rows.iter_mut().enumerate() {
            if at == leaving || other[column] == Rate::ZERO {
                continue;
            }
            let by = std::mem::replace(&mut other[column], Rate::ZERO);
            for (entry, own) in other.iter_mut().zip(&row).filter(|(_, own)| **own != Rate::ZERO) {
                *entry = &*entry - &(&by * own);
            }
            self.values[at] = &self.values[at] - &(&by * &value);
        }
        let by = std::mem::replace(&mut self.gains[column], Rate::ZERO);
        for (gain, own) in self.gains.iter_mut().zip(&row).filter(|(_, own)| **own != Rate::ZERO) {
            *gain = &*gain - &(&by * own);
        }
        self.value = &self.value + &(&by * &value);
        self.is_stuck = self.value == before;
        self.rows[leaving] = row;
        self.values[leaving] = value;
        std::mem::swap(&mut self.basic[leaving], &mut self.others[column]);
    }

    fn shares(&self) -> Vec<Vec<Rate>> {
        let (n, k) = self.shape;
        let mut shares = vec![vec![Rate::ZERO; k]; n];
        for (variable, value) in self.basic.iter().zip(&self.values) {
            if let Variable::Share(task, class) = *variable {
                shares[task][class] = value.clone();
            }
        }
        shares
    }

    /// The prices of the rows: what the optimum would lose for each of them.
    fn prices(&self) -> Prices {
        let (n, k) = self.shape;
        let zeros = |count| vec![Rate::ZERO; count];
        let (mut jobs, mut tasks, mut cpus) = (zeros(n), zeros(n), zeros(k));
        for (variable, gain) in self.others.iter().zip(&self.gains) {
            let price = &Rate::ZERO - gain;
            match *variable {
                Variable::OfJob(task) => jobs[task] = price,
                Variable::OfTask(task) => tasks[task] = price,
                Variable::OfClass(class) => cpus[class] = price,
                Variable::Factor | Variable::Share(..) => {}
            }
        }
        Prices { jobs, tasks, cpus }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(seed: u64) -> (Vec<Timed>, Vec<Class>) {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut below = |limit: i64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 33) % limit as u64) as i64
        };
        let classes: Vec<Class> = (0..=below(3)).map(|_| Class { cpus: 1 + below(3) }).collect();
        let tasks = (0..=below(6))
            .map(|_| {
                let mut times: Vec<Option<i64>> =
                    classes.iter().map(|_| (below(5) > 0).then(|| 1 + below(12))).collect();
                if times.iter().all(Option::is_none) {
                    times[0] = Some(1 + below(12));
                }
                Timed { times, period: 2 + below(15) }
            })
            .collect();
        (tasks, classes)
    }

    /// Both answers have proofs, which are checked by themselves: a task set cannot have both.
    #[test]
    fn every_answer_has_a_proof() {
        let (mut yes, mut no) = (0, 0);
        for seed in 0..4000 {
            let (tasks, classes) = drawn(seed);
            match feasible(&tasks, &classes) {
                Feasible::Yes(shares) => {
                    assert!(are_shares(&shares, &tasks, &classes), "{tasks:?} {classes:?}");
                    yes += 1;
                }
                Feasible::No(prices) => {
                    assert!(are_prices(&prices, &tasks, &classes), "{tasks:?} {classes:?}");
                    no += 1;
                }
                Feasible::GaveUp => panic!("{tasks:?} {classes:?}"),
            }
        }
        assert!(yes > 500 && no > 500, "{yes} {no}");
    }

    /// On classes of one speed each, without masks, the level condition of Horvath, Lam and Sethi decides.
    #[test]
    fn the_level_condition_says_the_same() {
        let mut both = [0; 2];
        for seed in 0..2000 {
            let (mut tasks, classes) = drawn(seed);
            let speeds: Vec<i64> = (1..=classes.len() as i64).collect();
            // 12 is a multiple of every speed.
            for task in &mut tasks {
                let work = task.times.iter().flatten().next().copied().unwrap_or(1);
                task.times = speeds.iter().map(|speed| Some(work * 12 / speed)).collect();
                task.period *= 4;
            }
            let mut loads: Vec<Rate> = (tasks.iter())
                .map(|task| Rate::new(task.times[0].unwrap_or(1), task.period))
                .collect();
            loads.sort_unstable_by(|a, b| b.cmp(a));
            let mut all: Vec<i64> = Vec::new();
            for (class, &speed) in classes.iter().zip(&speeds) {
                all.extend((0..class.cpus).map(|_| speed));
            }
            all.sort_unstable_by(|a, b| b.cmp(a));
            let holds = (1..=loads.len()).all(|count| {
                let load: Rate = loads[..count].iter().cloned().sum();
                load <= Rate::whole(all.iter().take(count).sum())
            });
            let is_feasible = matches!(feasible(&tasks, &classes), Feasible::Yes(_));
            assert_eq!(is_feasible, holds, "{tasks:?} {classes:?}");
            both[usize::from(holds)] += 1;
        }
        assert!(both.iter().all(|&count| count > 200), "{both:?}");
    }

    #[test]
    fn a_false_proof_is_none() {
        let tasks = vec![Timed { times: vec![Some(2), Some(4)], period: 3 }; 3];
        let classes = [Class { cpus: 1 }, Class { cpus: 1 }];
        let Feasible::No(prices) = feasible(&tasks, &classes) else { panic!("it is too much") };
        assert!(are_prices(&prices, &tasks, &classes));
        let mut cheap = prices.clone();
        cheap.cpus[0] = Rate::ZERO;
        assert!(!are_prices(&cheap, &tasks, &classes));
        let shares = vec![vec![Rate::new(2, 3), Rate::ZERO]; 3];
        assert!(!are_shares(&shares, &tasks, &classes));
    }
}
