//! **RATE**: an upper bound for every way to handle late jobs, by virtual servers.
//!
//! | symbol | here | meaning |
//! |---|---|---|
//! | `g_i` | [`Shares`] | the work per period of the virtual server of task `i`, in 1/16 tick; `sum g_i / T_i <= 1` |
//! | `W_i` | | the backlog of that server just before an arrival, `W' = max(0, W + C - g_i)`, in the long run |
//! | `r` | | the instant when the judged job is ready |
//! | `unit` | [`Grid::arrivals`] | arrivals are at multiples of it; 0 for any time |
//!
//! If the job is not done at `r + t`, relevant work that arrived in `[s, r + t)` exceeds
//! `r + t - s`, where `s` is the start of the busy period around `r`. So the sum over the tasks of
//! the work in `[s, r + t)` minus `g_i / T_i (r - s)` exceeds `t`, and each term is at most its
//! supremum over `s`: the backlog of the server of `i` at `r`, and the work that arrives later. The
//! tasks are independent once the arrivals are fixed, so the suprema are. Of each task only the
//! distance of its last arrival before `r` is free; the least distance that leaves room for `n`
//! later arrivals is the worst.
//!
//! If jobs are aborted or skipped, the pending work is in each run at most that of jobs which
//! continue. A skipped job is a miss, too: the job before it is pending a period after its arrival.
//!
//! Assumes: (1) one CPU, preemptive, fixed priorities or EDF; (2) execution times are independent;
//! (3) arrivals do not depend on them, and are at least a period apart; (4) jitter of at most a
//! period; (5) no locks, no overheads. **Sufficient**.

use super::distribution::Distribution;
use super::periodic::Judged;
use super::settled::{Work, decay, is_supermartingale, settle, start};
use super::task::{OneCpuOrder, RandomTask, full_load, mean_load};
use super::{Mass, Precision, Rounding, Scaled, Unanswered};
use layland_model::{Duration, OnMiss, Rate};

/// The units of a calculation. Execution times are rounded up to ticks, and the instants at which
/// work is compared with time are rounded down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// The tick of execution times, at least a nanosecond.
    pub tick: Duration,
    /// Arrivals are at multiples of this time: 0 if they may come at any time.
    pub arrivals: Duration,
}

/// The parts of a tick in which shares are given.
const PARTS: i64 = 16;
/// Above this number of cells, work is rounded up to ticks.
const FINE: i64 = 1 << 14;
/// At most this number of instants is compared. Beyond it, the last one of each task.
const INSTANTS: usize = 64;

/// The work per period of the virtual servers of a level, in sixteenths of a tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shares(pub Vec<i64>);

impl Judged<'_> {
    /// The work of each task of the level, in sixteenths of a tick.
    fn fine_work(&self, tick: i64) -> Vec<Work> {
        let of = |task: &RandomTask| -> Work { (task.amounts(tick, PARTS), 1) };
        self.tasks[self.level()].iter().map(of).collect()
    }

    /// Returns true if the servers fit on the CPU.
    fn fits(&self, shares: &[i64], tick: i64) -> bool {
        let load = |(task, share): (&RandomTask, &i64)| {
            &Rate::new(*share, PARTS) * &Rate::new(tick, task.period)
        };
        self.tasks[self.level()].iter().zip(shares).map(load).sum::<Rate>() <= Rate::ONE
    }

    /// Shares with which the backlogs of all servers decay alike, and the fastest decay for which
    /// they fit. If the greatest execution times fit, they are the shares.
    ///
    /// # Errors
    /// [`Unanswered::Overload`] if no shares fit.
    pub fn shares(&self, grid: &Grid) -> Result<Shares, Unanswered> {
        let tick = grid.tick.ns();
        let tasks = &self.tasks[self.level()];
        let work = self.fine_work(tick);
        let longest: Vec<i64> =
            work.iter().map(|(amounts, _)| amounts.last().map_or(0, |last| last.0)).collect();
        if full_load(tasks) <= Rate::ONE && self.fits(&longest, tick) {
            return Ok(Shares(longest));
        }
        if mean_load(tasks) >= Rate::ONE {
            return Err(Unanswered::Overload);
        }
        // The least share of each task whose backlog decays at least like this.
        let least = |q: Scaled| -> Vec<i64> {
            let of_task = |(at, one): (usize, &Work)| {
                let (mut low, mut high) = (0, longest[at]);
                while low < high {
                    let middle = low + (high - low) / 2;
                    let excess = (longest[at] - middle) as u64;
                    let decays = is_supermartingale(std::slice::from_ref(one), excess, q);
                    if decays { high = middle } else { low = middle + 1 }
                }
                high
            };
            work.iter().enumerate().map(of_task).collect()
        };
        let at = |digits: u64| least(Scaled::of(digits.into(), -64, Rounding::Down));
        let near_one = |j: u32| 0u64.wrapping_sub(1 << (64 - j));
        let fits = |digits: u64| Some(at(digits)).filter(|shares| self.fits(shares, tick));
        let found = (1..=40).find_map(|j| Some((j, fits(near_one(j))?)));
        let (j, mut best) = found.ok_or(Unanswered::Overload)?;
        let (mut low, mut high) = (if j == 1 { 0 } else { near_one(j - 1) }, near_one(j));
        for _ in 0..16 {
            let middle = low + (high - low) / 2;
            match fits(middle) {
                Some(shares) if middle > low => (high, best) = (middle, shares),
                Some(_) | None => low = middle,
            }
        }
        Ok(Shares(best))
    }

    /// An upper bound of the probability that a job takes longer than `limit` from its arrival, if
    /// late jobs continue or are aborted there. Any shares that fit are sound.
    ///
    /// # Errors
    /// [`Unanswered::Overload`] if the shares do not fit, or one is too small for its task.
    pub fn rate_response(
        &self,
        limit: Duration,
        shares: &Shares,
        grid: &Grid,
        precision: &Precision,
    ) -> Result<Mass, Unanswered> {
        let tick = grid.tick.ns();
        if shares.0.len() != self.level().len() || !self.fits(&shares.0, tick) {
            return Err(Unanswered::Overload);
        }
        let work = self.fine_work(tick);
        let mut backlogs = Vec::new();
        for (one, &share) in work.iter().zip(&shares.0) {
            let decay = decay(std::slice::from_ref(one), share).ok_or(Unanswered::Overload)?;
            let amount = Distribution::of(&one.0, Rounding::Up);
            let mut backlog = start(decay, 0, precision);
            let largest = precision.cells as i64;
            settle(&mut backlog, precision, |backlog| {
                backlog.add(&amount, largest + share);
                backlog.drain(share);
            });
            backlogs.push(backlog);
        }
        let own = &self.tasks[self.task];
        let end = limit.ns() - own.jitter;
        if end <= 0 {
            return Ok(Mass::ONE);
        }
        let servers = Servers { judged: self, grid, work: &work, shares: &shares.0, backlogs };
        let least = self.instants(end).into_iter().map(|t| servers.not_done(t)).min();
        Ok(least.unwrap_or(Mass::ONE).at_most_one())
    }

    /// An upper bound of the probability of a miss.
    ///
    /// # Errors
    /// See [`rate_response`](Self::rate_response).
    pub fn rate(
        &self,
        on_miss: OnMiss,
        shares: &Shares,
        grid: &Grid,
        precision: &Precision,
    ) -> Result<Mass, Unanswered> {
        let own = &self.tasks[self.task];
        let of = |limit: i64| self.rate_response(Duration::from_ns(limit), shares, grid, precision);
        let late = of(own.deadline)?;
        Ok(match on_miss {
            OnMiss::Continue | OnMiss::Abort => late,
            OnMiss::Skip => late.plus(of(own.period)?).at_most_one(),
        })
    }

    /// The instants after `r` at which work is compared with time: the end, and those before which
    /// one more job of a task would count.
    fn instants(&self, end: i64) -> Vec<i64> {
        let tasks = &self.tasks[self.level()];
        let first = |task: &RandomTask| {
            let at = task.period - task.jitter;
            if at > 0 { at } else { at + task.period }
        };
        let count = |task: &RandomTask| (end - 1 - first(task)).max(-1).div_euclid(task.period) + 1;
        let is_few = tasks.iter().map(count).sum::<i64>() < INSTANTS as i64;
        let mut all = vec![end];
        for task in tasks {
            let count = count(task);
            let from = if is_few { 0 } else { (count - 1).max(0) };
            all.extend((from..count).map(|j| first(task) + j * task.period));
        }
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// The virtual servers of a level.
struct Servers<'a> {
    judged: &'a Judged<'a>,
    grid: &'a Grid,
    work: &'a [Work],
    shares: &'a [i64],
    backlogs: Vec<Distribution>,
}

impl Servers<'_> {
    /// `P(sum X_i > t)`.
    fn not_done(&self, t: i64) -> Mass {
        let (k, tick) = (self.judged.task, self.grid.tick.ns());
        let ticks = t / tick;
        let is_fine = ticks.saturating_mul(PARTS) <= FINE;
        let (factor, largest) = if is_fine { (1, ticks * PARTS) } else { (PARTS, ticks) };
        let mut sum = Distribution::point(0, Rounding::Up);
        for (at, i) in self.judged.level().enumerate() {
            let task = &self.judged.tasks[i];
            let (back, later) =
                if i == k { (task.period - task.jitter, 1) } else { self.around(i, t) };
            let served = i128::from(self.shares[at]) * i128::from(back) / i128::from(task.period);
            let amount = Distribution::of(&self.work[at].0, Rounding::Up);
            let mut x = self.backlogs[at].clone();
            let served = served as i64;
            x.add(&amount, ticks.saturating_mul(PARTS).saturating_add(served));
            x.drain(served);
            let (x, amount) =
                if is_fine { (x, amount) } else { (x.coarsened(factor), amount.coarsened(factor)) };
            sum.add(&x, largest);
            sum.add_copies(&amount, later, largest);
        }
        sum.above(largest)
    }

    /// The distance from the last arrival of task `i` before `r` back from `r`, and the number of
    /// later arrivals that are relevant before `r + t`.
    fn around(&self, i: usize, t: i64) -> (i64, i64) {
        let (task, own) = (&self.judged.tasks[i], &self.judged.tasks[self.judged.task]);
        let u = t + task.jitter;
        let e = own.deadline - task.deadline;
        if self.judged.order == OneCpuOrder::EarliestDeadline && e < t {
            let n = ((e + task.jitter).div_euclid(task.period) + 1).max(0);
            return (n * task.period - (e + task.jitter), n);
        }
        let n = num_integer::Integer::div_ceil(&u, &task.period);
        let unit = self.grid.arrivals.ns();
        ((n * task.period - u + unit).min(task.period), n)
    }
}
