//! Groups on several servers, whose jobs migrate between them: **sufficient** tests for global fixed
//! priorities and global EDF.
//!
//! Assumes: (1) sporadic tasks with `D <= T`, (2) no server is late, (3) **linked servers**: while
//! the group has work, all its servers contend, and one that is served without a job to run pays,
//! (4) the servers that are served run the best ready jobs, (5) jobs may use every CPU of the group
//! and do not suspend themselves, (6) equal priorities count as higher, (7) overheads are part of
//! `C` and `Q`.
//!
//! | symbol | here | meaning |
//! |---|---|---|
//! | `Y_j(t)` | [`Supplies::within`] | the least integral of `min(j, servers that are served)` |
//! | `W_i(t)` | `carried` | the most work of a task in a window, if its jobs respond within `R_i` |
//! | `w_i(L)` | `workload` | the most work of jobs due in a window that ends with a deadline of the task |
//!
//! Lemma: let a job `C_k` be pending throughout a window of length `t`, with fewer than `C_k` units
//! done. Choose `t - C_k + 1` units in which it does not run. In these, each unit that is served runs
//! others. Outside them at most `j` per unit of the integral is lost. So
//! `sum min(I_i, t - C_k + 1) >= Y_j(t) - j (C_k - 1)` for every `j`, and the job is in time if this
//! fails for some `j`. The comparison is strict: with `<=` the tasks (1, 1) and (1, 5) would pass on
//! one whole CPU.
//!
//! [`long_window`] follows Shin, Easwaran and Lee 2008: the window begins with the last unit before the
//! arrival in which something that was served was left over by jobs due by `d_k`, so that at most
//! `m - 1` of them were ready, or before which none was ready.

#![expect(non_snake_case, reason = "symbols of the papers")]

use super::{Supplies, hyperperiod, overloads};
use crate::Sporadic;
use crate::fixed_point::{Diverged, GaveUp, MAX_STEPS};
use crate::global_edf::quotient;
use crate::sporadic::{SHIFT, fixed, load_above};
use layland_model::{Duration, Rate, TIME_LIMIT};

/// The response times of tasks under global fixed priorities, highest first, up to the first one
/// that is not known to be at most `min(D_k, T_k)`: the least `t` such that for some `j`
///
/// ```text
/// sum_{i<k} min(W_i(t), t - C_k + 1) + j (C_k - 1)  <  Y_j(t)
/// ```
///
/// The left side does not fall with `t`, so the search goes from each `t` that fails to the first
/// one at which some `Y_j` could be enough. While at least `j` of the minima grow with `t`, `Y_j`
/// cannot catch up; so it also passes over these.
///
/// ```
/// use layland_analysis::{Sporadic, groups::{Supplies, Supply, global}};
/// use layland_model::{Duration, GroupServer, ServerRule, Service};
/// let ns = Duration::from_ns;
/// let supply = |budget| {
///     let (budget, period, deadline) = (Service::from_ns(budget), ns(10), ns(10));
///     Supply::of(&GroupServer { budget, period, deadline, rule: ServerRule::Cbs })
/// };
/// let tasks = [(2, 12), (5, 20)].map(|(c, t)| Sporadic::implicit(Service::from_ns(c), ns(t)));
/// // Here, j = 1 decides: the small server only gets in the way.
/// let found = global::fixed_priority(&Supplies::new(vec![supply(9), supply(2)]), &tasks);
/// assert_eq!(found, [Ok(ns(4)), Ok(ns(9))]);
/// ```
pub fn fixed_priority(supplies: &Supplies, tasks: &[Sporadic]) -> Vec<Result<Duration, Diverged>> {
    let mut found: Vec<Result<Duration, Diverged>> = Vec::with_capacity(tasks.len());
    let mut responses: Vec<i64> = Vec::with_capacity(tasks.len());
    for (k, tau_k) in tasks.iter().enumerate() {
        let response = response(supplies, tau_k, &tasks[..k], &responses);
        found.push(response.map(Duration::from_ns));
        match response {
            Ok(response) => responses.push(response),
            // The carried work of lower tasks would rest on a response that is not known.
            Err(_) => break,
        }
    }
    found
}

/// [`fixed_priority`] for tasks in levels, which ascend: the tasks of one level count as higher for
/// each other. Their carried work rests on their deadlines: up to the first miss of a level, each
/// of its jobs responds within its deadline. So a level has bounds if all of its tasks have.
///
/// Returns the responses of the tasks, up to the end of the first level that fails.
pub fn in_levels(
    supplies: &Supplies,
    tasks: &[(Sporadic, i64)],
) -> Vec<Result<Duration, Diverged>> {
    let mut found: Vec<Result<Duration, Diverged>> = Vec::with_capacity(tasks.len());
    let mut responses: Vec<i64> = Vec::with_capacity(tasks.len());
    for level in tasks.chunk_by(|a, b| a.1 == b.1) {
        let start = found.len();
        for (at, (tau_k, _)) in level.iter().enumerate() {
            let equal = || level.iter().enumerate().filter(|&(other, _)| other != at);
            let above = tasks[..start].iter().chain(equal().map(|(_, task)| task));
            let above: Vec<Sporadic> = above.map(|(task, _)| *task).collect();
            let limits = equal().map(|(_, (task, _))| task.deadline.min(task.period).ns());
            let carried: Vec<i64> = responses.iter().copied().chain(limits).collect();
            found.push(response(supplies, tau_k, &above, &carried).map(Duration::from_ns));
        }
        for of_level in &found[start..] {
            match of_level {
                Ok(response) => responses.push(response.ns()),
                Err(_) => return found,
            }
        }
    }
    found
}

/// Returns true if a task whose higher tasks respond within these times responds within `t`: the
/// inequality of [`fixed_priority`] at one point.
pub fn responds_within(
    supplies: &Supplies,
    tau_k: &Sporadic,
    higher: &[Sporadic],
    responses: &[Duration],
    t: Duration,
) -> bool {
    let (C, t) = (tau_k.wcet.ns(), t.ns());
    let all = higher.iter().zip(responses);
    let interference = all.map(|(tau_i, R)| carried(tau_i, R.ns(), t).min(t - C + 1));
    let interference = interference.fold(0, i64::saturating_add);
    t >= C && supplies.levels().any(|j| needed(interference, j, C) <= supplies.Y(j, t))
}

/// `W_i(t) = floor(x / T_i) C_i + min(C_i, x mod T_i)` with `x = t + R_i - C_i`.
fn carried(tau_i: &Sporadic, R: i64, t: i64) -> i64 {
    let [C, _, T] = tau_i.ns();
    let x = t.saturating_add(R - C);
    (x / T).saturating_mul(C).saturating_add((x % T).min(C))
}

/// The least `Y_j` that is enough: `interference + j (C_k - 1) + 1`.
fn needed(interference: i64, j: usize, C: i64) -> i64 {
    (C - 1).saturating_mul(j as i64).saturating_add(interference).saturating_add(1)
}

fn response(
    supplies: &Supplies,
    tau_k: &Sporadic,
    higher: &[Sporadic],
    responses: &[i64],
) -> Result<i64, Diverged> {
    let [C, D, T] = tau_k.ns();
    let limit = D.min(T);
    let beyond = |reached: i64| {
        let [limit, reached] = [limit, reached].map(Duration::from_ns);
        Err(Diverged::Beyond { limit, reached })
    };
    // The first t at which the cap of each task no longer binds, W_i(t) <= t - C_k + 1. The
    // difference does not fall with t, since W_i grows by at most 1 per unit.
    let of_task = |(tau_i, &R): (&Sporadic, &i64)| {
        let is_free = |t: i64| carried(tau_i, R, t) <= t - C + 1;
        least_that(C, limit, is_free).unwrap_or(i64::MAX)
    };
    let mut free_from: Vec<i64> = higher.iter().zip(responses).map(of_task).collect();
    free_from.sort_unstable_by(|a, b| b.cmp(a));
    let mut t = C;
    for _ in 0..MAX_STEPS {
        if t > limit {
            return beyond(t);
        }
        let all = higher.iter().zip(responses);
        let caps = all.map(|(tau_i, &R)| carried(tau_i, R, t).min(t - C + 1));
        let interference = caps.fold(0, i64::saturating_add);
        let next = supplies.levels().map(|j| {
            let enough = supplies.inverse(j, needed(interference, j, C));
            if enough <= t {
                return t;
            }
            // With j caps that bind, the left side grows by j per unit, and Y_j by j at most.
            enough.max(free_from.get(j - 1).copied().unwrap_or(0))
        });
        match next.min() {
            Some(next) if next > t => t = next.min(limit.saturating_add(1)),
            Some(_) | None => return Ok(t),
        }
    }
    Err(GaveUp::OutOfSteps { reached: Duration::from_ns(t), steps: MAX_STEPS }.into())
}

/// The least `t` in `from..=to` that has a property which all later ones have, too.
fn least_that(from: i64, to: i64, has: impl Fn(i64) -> bool) -> Option<i64> {
    let (mut from, mut to) = (from, to);
    if from > to || !has(to) {
        return None;
    }
    while from < to {
        let middle = from + (to - from) / 2;
        if has(middle) { to = middle } else { from = middle + 1 }
    }
    Some(to)
}

/// The answer of a test for global EDF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// Every task is in time.
    All,
    /// The tasks need more than the bandwidth of all servers.
    Overload,
    /// The test does not accept this task, by position, for a window of this length.
    AllBut(usize, Duration),
}

/// The interference test of Bertogna, Cirinei and Lipari for global EDF: for every task, some `j` has
///
/// ```text
/// sum_{i != k} min(w_i(D_k), D_k - C_k + 1) + j (C_k - 1)  <  Y_j(D_k)
/// ```
///
/// with `w_i(L) = n C_i + min(C_i, max(0, L - n T_i))` and
/// `n = max(0, floor((L - D_i) / T_i) + 1)`.
pub fn interference(supplies: &Supplies, tasks: &[Sporadic]) -> Accepted {
    for (k, tau_k) in tasks.iter().enumerate() {
        let [C, D, _] = tau_k.ns();
        let others = tasks.iter().enumerate().filter(|&(i, _)| i != k);
        let caps = others.map(|(_, tau_i)| workload(tau_i, D).1.min(D - C + 1));
        let interference = caps.fold(0, i64::saturating_add);
        if !supplies.levels().any(|j| needed(interference, j, C) <= supplies.Y(j, D)) {
            return Accepted::AllBut(k, tau_k.deadline);
        }
    }
    Accepted::All
}

/// The number of jobs that lie in a window of this length which ends at a deadline, and `w_i(L)`.
fn workload(tau_i: &Sporadic, L: i64) -> (i64, i64) {
    let [C, D, T] = tau_i.ns();
    let n = if L < D { 0 } else { (L - D) / T + 1 };
    let carried = (L - n.saturating_mul(T)).clamp(0, C);
    (n, n.saturating_mul(C).saturating_add(carried))
}

/// The test of long windows for global EDF, by Shin, Easwaran and Lee: for every task and every
/// `L >= D_k`, with `A = L - D_k`,
///
/// ```text
/// sum lo_i + sum of the m - 1 largest (hi_i - lo_i) + m (C_k - 1) + 1  <=  Y_m(L)
/// lo_i = min(n_i C_i - [i=k] C_k, cap_i)    hi_i = min(w_i - [i=k] C_k, cap_i)
/// cap_k = A    cap_i = L - C_k + 1
/// ```
///
/// Both sides do not fall with `L`, so the search of QPA works: from a length whose demand is `h` it
/// goes down to the least one with the supply `h`. Where that is the same length, it goes to the
/// previous corner of a `lo_i`, a `hi_i` or the supply. Between two corners the left side is a
/// maximum of linear functions and the right side is linear, so the ends decide.
///
/// # Errors
/// Returns [`GaveUp`] if the search reaches its limit, or no length is known to end it.
pub fn long_window(supplies: &Supplies, tasks: &[Sporadic]) -> Result<Accepted, GaveUp> {
    let bandwidth: Rate = supplies.each().iter().map(|supply| supply.bandwidth()).sum();
    if overloads(tasks.iter(), &bandwidth) {
        return Ok(Accepted::Overload);
    }
    let mut steps = MAX_STEPS;
    for k in 0..tasks.len() {
        let window = Window { supplies, tasks, k };
        if let Some(length) = window.failing(&mut steps)? {
            return Ok(Accepted::AllBut(k, Duration::from_ns(length)));
        }
    }
    Ok(Accepted::All)
}

/// The windows for the deadlines of task `k`.
struct Window<'a> {
    supplies: &'a Supplies,
    tasks: &'a [Sporadic],
    k: usize,
}

impl Window<'_> {
    /// A length that fails, if there is one.
    fn failing(&self, steps: &mut u64) -> Result<Option<i64>, GaveUp> {
        let m = self.supplies.count();
        let shortest = self.tasks[self.k].deadline.ns();
        let mut L = self.longest().ok_or(GaveUp::Endless)?.max(shortest);
        let mut more = Vec::with_capacity(self.tasks.len());
        loop {
            *steps = steps
                .checked_sub(1)
                .ok_or(GaveUp::OutOfSteps { reached: Duration::from_ns(L), steps: MAX_STEPS })?;
            let h = self.demand(L, &mut more);
            if h > self.supplies.Y(m, L) {
                return Ok(Some(L));
            }
            let enough = self.supplies.inverse(m, h);
            if enough <= shortest {
                return Ok(None);
            }
            let next = if enough < L { enough } else { self.corner_before(L) };
            if next < shortest {
                // The piece that ends at L begins before the shortest window, which is its other end.
                let h = self.demand(shortest, &mut more);
                let fails = h > self.supplies.Y(m, shortest);
                return Ok(fails.then_some(shortest));
            }
            L = next;
        }
    }

    /// The left side.
    fn demand(&self, L: i64, more: &mut Vec<i64>) -> i64 {
        let m = self.supplies.count();
        let [C_k, D_k, _] = self.tasks[self.k].ns();
        let mut sum = needed(0, m, C_k);
        more.clear();
        for (i, tau_i) in self.tasks.iter().enumerate() {
            let (n, w) = workload(tau_i, L);
            let own = if i == self.k { C_k } else { 0 };
            let cap = if i == self.k { L - D_k } else { L - C_k + 1 };
            let lo = (n.saturating_mul(tau_i.wcet.ns()) - own).min(cap);
            let hi = (w - own).min(cap);
            sum = sum.saturating_add(lo);
            more.push(hi - lo);
        }
        if m - 1 < more.len() && m > 1 {
            more.select_nth_unstable_by(m - 2, |a, b| b.cmp(a));
        }
        more.iter().take(m - 1).fold(sum, |sum, &more| sum.saturating_add(more))
    }

    /// The largest length below `L` at which the slope of a `lo_i`, a `hi_i` or a supply changes; the
    /// one before `L`, if something jumps at `L`.
    fn corner_before(&self, L: i64) -> i64 {
        let [C_k, D_k, _] = self.tasks[self.k].ns();
        let mut corner =
            self.supplies.each().iter().map(|supply| supply.turn_before(L)).max().unwrap_or(0);
        for (i, tau_i) in self.tasks.iter().enumerate() {
            let [C, D, T] = tau_i.ns();
            let (n, _) = workload(tau_i, L);
            let begins = if n == 0 { 0 } else { D + (n - 1).saturating_mul(T) };
            if begins == L {
                return L - 1;
            }
            let (own, lag) = if i == self.k { (C_k, D_k) } else { (0, C_k - 1) };
            let (low, high) = (n.saturating_mul(C) - own, n.saturating_mul(C) + C - own);
            let carry = n.saturating_mul(T);
            for at in [begins, carry, carry + C, low + lag, high + lag] {
                if at < L {
                    corner = corner.max(at);
                }
            }
        }
        corner
    }

    /// The longest window that needs a look, if it is known.
    fn longest(&self) -> Option<i64> {
        let (supplies, m) = (self.supplies.each(), self.supplies.count());
        let [C_k, D_k, _] = self.tasks[self.k].ns();
        let gap = supplies.iter().map(|supply| supply.repeats().0).max()?;
        // From here on no cap binds, and both sides repeat.
        let mut far = Some(D_k.max(gap));
        let mut most: i128 = needed(0, m, C_k).into();
        for tau_i in self.tasks {
            let [C, D, T] = tau_i.ns().map(i128::from);
            let product = (T - D) * C;
            most += num_integer::Integer::div_ceil(&product, &T);
            if C < T {
                // (U (T - D) + C + C_k) / (1 - U)
                let above = product + (C + i128::from(C_k)) * T;
                let free = i64::try_from(num_integer::Integer::div_ceil(&above, &(T - C))).ok();
                far = far.zip(free.filter(|&ns| ns <= TIME_LIMIT)).map(|(far, free)| far.max(free));
            }
        }
        let mut costs: Vec<i64> = self.tasks.iter().map(|task| task.wcet.ns()).collect();
        costs.sort_unstable_by(|a, b| b.cmp(a));
        most += costs.iter().take(m - 1).map(|&C| i128::from(C)).sum::<i128>();
        let mut bandwidth = 0u128;
        for supply in supplies {
            let (numerator, denominator) = supply.alpha();
            bandwidth += fixed(numerator, denominator);
            let product = i128::from(numerator) * i128::from(supply.delay().ns());
            most += num_integer::Integer::div_ceil(&product, &denominator.into());
        }
        let repetition = hyperperiod(self.tasks.iter(), supplies);
        let repetition = repetition.zip(far).and_then(|(H, far)| H.checked_add(far));
        debug_assert!(bandwidth <= (m as u128) << SHIFT, "a server is at most a CPU");
        let room = bandwidth.checked_sub(load_above(self.tasks)).filter(|&room| room > 0);
        let load_bound = room.and_then(|room| quotient(most.max(0), room));
        match (repetition, load_bound) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }
}
