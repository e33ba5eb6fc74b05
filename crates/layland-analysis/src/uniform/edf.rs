//! U-GFB, U-LOAD, U-BCL and U-BAR: the conditions for global EDF on uniform CPUs.
#![expect(non_snake_case, reason = "symbols of the papers")]

use super::numbers::{Tau, Uniform, largest};
use layland_model::Rate;

/// The number of points that a test examines.
const STEPS: usize = 1_000_000;

/// The answer of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnUniform {
    /// It holds.
    Holds,
    /// It fails: for this task, if it is about tasks, and in an interval of this length.
    Fails {
        /// The task, by its place.
        task: Option<usize>,
        /// The length, in nanoseconds.
        interval: Option<i128>,
    },
    /// The search gave up.
    GaveUp,
}

const FAILS: OnUniform = OnUniform::Fails { task: None, interval: None };

fn largest_density(tasks: &[Tau]) -> Rate {
    tasks.iter().map(|tau| Rate::of_wide(tau.plus, tau.D)).max().unwrap_or(Rate::ZERO)
}

/// U-GFB (Funk, Goossens and Baruah 2001): the two sides of `sum d_i <= S - lambda d` with
/// `d_i = C_i+ / D_i`, in grains per nanosecond.
///
/// Proof: each task on a CPU of its own of speed `d_i` meets all deadlines, and by the lemma of the
/// module greedy EDF is never behind in the work of jobs with deadlines up to any time.
pub fn gfb(tasks: &[Tau], cpus: &Uniform) -> (Rate, Rate) {
    let sum = tasks.iter().map(|tau| Rate::of_wide(tau.plus, tau.D)).sum();
    let bound = &Rate::of_wide(cpus.total(), 1) - &(&cpus.lambda_rate() * &largest_density(tasks));
    (sum, bound)
}

/// U-LOAD (after Baruah and Goossens 2008): `LOAD <= mu - nu d`, with `mu = S - lambda d > 0`, `nu` the
/// largest `k` with `S_k < mu`, and `LOAD = max(sum C+ / T, sup over t of sum dbf(t) / t)`.
///
/// Proof: a first miss at `t_d` of a job that arrived `D` before means, by the lemma, more than `mu D` of
/// work of jobs with deadlines up to `t_d` at its arrival. Let `W(t)` be what those jobs still get or
/// need after `t`, later arrivals included, and `t_o` the earliest `t` with `W(t) >= mu (t_d - t)`. Just
/// before, work is done at a rate below `mu`, and so at most `nu` CPUs are busy: `nu` jobs are carried in.
/// One that arrived `p` before `t_o` ran while less than `mu p` was done in all, so by the lemma it got
/// more than `d p`, and has less than `d (t_d - t_o)` left: `mu < LOAD + nu d`.
pub fn load(tasks: &[Tau], cpus: &Uniform) -> OnUniform {
    let d = largest_density(tasks);
    let mu = &Rate::of_wide(cpus.total(), 1) - &(&cpus.lambda_rate() * &d);
    if mu <= Rate::ZERO {
        return FAILS;
    }
    let below = cpus.sums().take_while(|&sum| Rate::of_wide(sum, 1) < mu).count();
    let nu = Rate::whole(below as i64 - 1);
    let bound = &mu - &(&nu * &d);
    let rates: Vec<Rate> = tasks.iter().map(|tau| Rate::of_wide(tau.plus, tau.T)).collect();
    let total: Rate = rates.iter().cloned().sum();
    if total > bound {
        return FAILS;
    }
    if tasks.iter().all(|tau| tau.D >= tau.T) {
        return OnUniform::Holds;
    }
    let Some((n, den)) = bound.as_i64_pair() else { return OnUniform::GaveUp };
    let (n, den) = (i128::from(n), i128::from(den));
    // From `sum max(0, T - D) u / (bound - U)` on, the demand is at most the bound times the length.
    let horizon = if total < bound {
        let lead = tasks.iter().zip(&rates);
        let lead: Rate = lead.map(|(tau, u)| &Rate::of_wide((tau.T - tau.D).max(0), 1) * u).sum();
        (&lead / &(&bound - &total)).floor().map(i128::from)
    } else {
        // The demand grows by exactly the bound in a hyperperiod.
        let hyperperiod = tasks.iter().try_fold(1i128, |all, tau| {
            num_integer::lcm(all, tau.T).checked_mul(1).filter(|&all| all <= 1 << 40)
        });
        let latest = tasks.iter().map(|tau| tau.D).max().unwrap_or(0);
        hyperperiod.map(|all| all + latest)
    };
    let Some(horizon) = horizon else { return OnUniform::GaveUp };
    let first = tasks.iter().map(|tau| tau.D).min().unwrap_or(0);
    let last_due = |t: i128| {
        let due = |tau: &Tau| (tau.jobs_due(t) > 0).then(|| tau.D + (tau.jobs_due(t) - 1) * tau.T);
        tasks.iter().filter_map(due).max()
    };
    let mut t = horizon;
    for _ in 0..STEPS {
        let Some(due) = last_due(t).filter(|&due| due >= first) else { return OnUniform::Holds };
        t = due;
        let demand: i128 = tasks.iter().map(|tau| tau.demand(t)).sum();
        let Some(needed) = demand.checked_mul(den) else { return OnUniform::GaveUp };
        if n.checked_mul(t).is_none_or(|supply| needed > supply) {
            return OnUniform::Fails { task: None, interval: Some(t) };
        }
        // Between these lengths the demand is no more than here.
        t = (needed / n).min(t - 1);
    }
    OnUniform::GaveUp
}

/// U-BCL: for each task `k`, `sum over the others of min(W_i, s_1 D_k) <= S D_k - (lambda + 1) C_k`, where
/// `W_i` is what jobs of `i` with deadlines up to that of a job of `k` may get in its window.
///
/// Proof: the lemma with `L = D_k` and `w < C_k`; a job works at most at `s_1`.
pub fn bcl(tasks: &[Tau], cpus: &Uniform) -> OnUniform {
    let fails = |&k: &usize| {
        let (most, room) = bcl_sides(tasks, cpus, k);
        most > room
    };
    match (0..tasks.len()).find(fails) {
        None => OnUniform::Holds,
        Some(k) => OnUniform::Fails { task: Some(k), interval: None },
    }
}

/// The two sides of the condition of U-BCL for a task, times the denominator of `lambda`.
pub(super) fn bcl_sides(tasks: &[Tau], cpus: &Uniform, k: usize) -> (i128, i128) {
    let (lambda, den) = cpus.lambda();
    let (D_k, C_k, s_1) = (tasks[k].D, tasks[k].C, cpus.first());
    let others = tasks.iter().enumerate().filter(|&(i, _)| i != k);
    let interference: i128 = others
        .map(|(_, tau)| {
            let N = ((D_k - tau.D).div_euclid(tau.T) + 1).max(0);
            let carried = tau.plus.min(s_1 * (D_k - N * tau.T).max(0));
            (N * tau.plus + carried).min(s_1 * D_k)
        })
        .sum();
    (den * interference, den * cpus.total() * D_k - (lambda + den) * C_k)
}

/// U-BAR (after Baruah 2007): for each task `k` and each length `L` from `D_k` on,
/// `sum NC_i + (the m - 1 largest CI_i - NC_i) <= S L - (lambda + 1) C_k`.
///
/// Proof: the window begins at the last instant before the arrival at which a CPU was idle for jobs with
/// deadlines up to `t_d`; all CPUs are busy up to the arrival, and at most `m - 1` tasks carry in. Between
/// two lengths at which a term changes its form the left side is convex, so only these are examined.
pub fn bar(tasks: &[Tau], cpus: &Uniform) -> OnUniform {
    let total: Rate = tasks.iter().map(|tau| Rate::of_wide(tau.plus, tau.T)).sum();
    let spare = &Rate::of_wide(cpus.total(), 1) - &total;
    if spare <= Rate::ZERO {
        return FAILS;
    }
    let (lambda, den) = cpus.lambda();
    let all: i128 = tasks.iter().map(|tau| tau.plus).sum();
    let carried = largest(tasks.iter().map(|tau| tau.plus).collect(), cpus.cpus() - 1);
    let mut steps = 0;
    for (k, own) in tasks.iter().enumerate() {
        let work = Rate::of_wide((all + carried) * den + (lambda + den) * own.C, den);
        let Some(horizon) = (&work / &spare).floor().map(i128::from) else {
            return OnUniform::GaveUp;
        };
        for L in lengths(tasks, cpus, own.D, horizon, &mut steps) {
            if let Some(false) = bar_holds(tasks, cpus, k, L) {
                return OnUniform::Fails { task: Some(k), interval: Some(L) };
            }
        }
        if steps > STEPS {
            return OnUniform::GaveUp;
        }
    }
    OnUniform::Holds
}

/// Returns true if the condition of U-BAR holds for a task and a length; none beyond 128 bits.
fn bar_holds(tasks: &[Tau], cpus: &Uniform, k: usize, L: i128) -> Option<bool> {
    let (lambda, den) = cpus.lambda();
    let s_1 = cpus.first();
    let (mut sum, mut more) = (0i128, Vec::with_capacity(tasks.len()));
    for (i, tau) in tasks.iter().enumerate() {
        let body = (L / tau.T) * tau.plus + tau.plus.min(s_1 * (L % tau.T));
        let (own, cap) = if i == k { (tau.plus, s_1 * (L - tau.D)) } else { (0, s_1 * L) };
        let without = (tau.demand(L) - own).min(cap);
        let with = without.max((body - own).min(cap));
        sum += without;
        more.push(with - without);
    }
    let most = (sum + largest(more, cpus.cpus() - 1)).checked_mul(den)?;
    let room = cpus.total().checked_mul(L)?.checked_mul(den)? - (lambda + den) * tasks[k].C;
    Some(most <= room)
}

/// The lengths up to a horizon at which a term of U-BAR may change its form, and the whole lengths
/// beside them.
fn lengths(
    tasks: &[Tau],
    cpus: &Uniform,
    from: i128,
    horizon: i128,
    steps: &mut usize,
) -> Vec<i128> {
    let s_1 = cpus.first();
    let mut found = vec![from, horizon];
    let mut add = |at: i128, steps: &mut usize| {
        found.extend([at - 1, at, at + 1]);
        *steps += 1;
    };
    for tau in tasks {
        let mut jobs = 0i128;
        while jobs * tau.T <= horizon && *steps <= STEPS {
            // A job is due; a job comes; it may be done; the work so far is that of one fast CPU.
            for at in [
                tau.D + jobs * tau.T,
                jobs * tau.T,
                jobs * tau.T + tau.plus / s_1,
                jobs * tau.plus / s_1,
            ] {
                if at + 1 >= from && at - 1 <= horizon {
                    add(at, steps);
                }
            }
            // With a job of its own task subtracted, the limit is that of a shorter length.
            for at in [from + jobs * tau.plus / s_1, from + (jobs + 1) * tau.plus / s_1] {
                if at - 1 <= horizon {
                    add(at, steps);
                }
            }
            jobs += 1;
        }
    }
    found.retain(|&at| (from..=horizon).contains(&at));
    found.sort_unstable();
    found.dedup();
    found
}

/// The condition *by demand*, which is **necessary** under every scheduler: for every `t` the `k` largest
/// `dbf_i(t)`, with `C_i`, sum to at most `S_k t` for `k < m`, and all to at most `S t`. It contains the
/// level condition (Horvath, Lam and Sethi 1977): the same of the utilizations `C_i / T_i`.
pub fn by_demand(tasks: &[Tau], cpus: &Uniform) -> OnUniform {
    let sums: Vec<i128> = cpus.sums().skip(1).collect();
    let (m, n) = (sums.len(), tasks.len());
    // The limits for the 1, 2, .. largest, and for all.
    let limits: Vec<(usize, i128)> =
        (1..m.min(n)).map(|k| (k, sums[k - 1])).chain([(n, cpus.total())]).collect();
    let utilizations = sorted(tasks.iter().map(|tau| Rate::of_wide(tau.C, tau.T)).collect());
    let leads = tasks.iter().map(|tau| Rate::of_wide((tau.T - tau.D).max(0) * tau.C, tau.T));
    let leads = sorted(leads.collect());
    let mut horizon = Some(Rate::ZERO);
    for &(k, limit) in &limits {
        let limit = Rate::of_wide(limit, 1);
        let level: Rate = utilizations[..k].iter().cloned().sum();
        if level > limit {
            return FAILS;
        }
        let lead: Rate = leads[..k].iter().cloned().sum();
        horizon = if level < limit {
            horizon.map(|until| until.max(&lead / &(&limit - &level)))
        } else {
            None
        };
    }
    let latest = tasks.iter().map(|tau| tau.D).max().unwrap_or(0);
    let hyperperiod = tasks.iter().try_fold(1i128, |all, tau| {
        Some(num_integer::lcm(all, tau.T)).filter(|&all| all <= 1 << 40)
    });
    let by_load = horizon.and_then(|until| until.floor()).map(i128::from);
    let by_cycle = hyperperiod.map(|all| all + latest);
    let Some(until) = by_load.into_iter().chain(by_cycle).min() else { return OnUniform::GaveUp };
    let jobs: i128 = tasks.iter().map(|tau| tau.jobs_due(until)).sum();
    if jobs.saturating_mul(n as i128) > STEPS as i128 {
        return OnUniform::GaveUp;
    }
    let due =
        |tau: &Tau| (0..tau.jobs_due(until)).map(|job| tau.D + job * tau.T).collect::<Vec<_>>();
    let mut lengths: Vec<i128> = tasks.iter().flat_map(due).collect();
    lengths.sort_unstable();
    lengths.dedup();
    match lengths.into_iter().find(|&t| largest_demands(tasks, cpus, t).is_some()) {
        Some(t) => OnUniform::Fails { task: None, interval: Some(t) },
        None => OnUniform::Holds,
    }
}

/// Returns the number of tasks whose demands, the largest ones in an interval, exceed what as many CPUs do
/// in it, or all of them if it is all tasks; with both amounts.
pub(super) fn largest_demands(
    tasks: &[Tau],
    cpus: &Uniform,
    t: i128,
) -> Option<(usize, i128, i128)> {
    let mut demands: Vec<i128> = tasks.iter().map(|tau| tau.jobs_due(t) * tau.C).collect();
    demands.sort_unstable_by(|a, b| b.cmp(a));
    let few = cpus.sums().skip(1).take(cpus.cpus() - 1).enumerate();
    let few = few.map(|(at, sum)| (at + 1, sum)).take(tasks.len().saturating_sub(1));
    few.chain([(tasks.len(), cpus.total())])
        .map(|(k, limit)| (k, demands[..k].iter().sum::<i128>(), limit * t))
        .find(|(_, demand, limit)| demand > limit)
}

/// Sorts numbers, the largest first.
fn sorted(mut numbers: Vec<Rate>) -> Vec<Rate> {
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    numbers
}
