//! **PERIODIC**: the probability that a job is late, for arrivals at known offsets, or at all times
//! that are given.
//!
//! The backlog of the level at the multiples of the hyperperiod `H` is a Markov chain, monotone in
//! its state (Diaz et al. 2002, Kim et al. 2005). From an empty start it grows to the long run: lower
//! bounds. For an upper bound the chain starts above the long run: the busy period around `m H`
//! began in a hyperperiod with work `X + H`, so the backlog at `m H` is at most `H + sup S` for every
//! `m`. It is not `sup S` and one more hyperperiod that is independent of it: the one in which the
//! busy period began is selected. Each step of the chain keeps the bound.
//!
//! Assumes: (1) one CPU, preemptive, fixed priorities or EDF with ties by the order of tasks;
//! (2) execution times are independent; (3) arrivals do not depend on them; (4) late jobs continue,
//! but for given arrivals; (5) no jitter, no locks, no overheads. Under these the chances of single
//! jobs are **exact** up to rounding, and the bounds of the long run enclose it.

use super::distribution::Distribution;
use super::settled::{Work, common_tick, decay, settle, start};
use super::task::{OneCpuOrder, RandomTask, is_relevant, level};
use super::{Chance, Mass, Precision, Rounding, Unanswered};
use layland_model::{Duration, OnMiss, Time};

/// A task of a set, one job of which is judged under given arrivals; late jobs continue.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    /// All tasks. The first has the highest priority, or wins ties between deadlines.
    pub tasks: &'a [RandomTask],
    /// The order of jobs.
    pub order: OneCpuOrder,
    /// The index of the judged task.
    pub task: usize,
}

/// An arrival, in ticks, and the index of its task.
type Arrived = (i64, usize);

impl Judged<'_> {
    pub(super) fn level(&self) -> std::ops::Range<usize> {
        level(self.tasks.len(), self.order, self.task)
    }

    /// The probability that the job which arrives at `job_at` is late, from an empty start, if the
    /// jobs of each task arrive as given and all late jobs are handled in one way.
    ///
    /// ```
    /// use layland_analysis::how_often::{Judged, OneCpuOrder, RandomTask};
    /// use layland_model::{Duration, OnMiss, Rate, Service, Time};
    /// let (ns, work) = (Duration::from_ns, Service::from_ns);
    /// let often = [(work(1), Rate::new(3, 4)), (work(3), Rate::new(1, 4))];
    /// let often = RandomTask::new(&often, ns(3), ns(3), ns(0)).unwrap();
    /// let seldom = RandomTask::new(&[(work(2), Rate::ONE)], ns(6), ns(3), ns(0)).unwrap();
    /// let tasks = [often, seldom];
    /// let judged = Judged { tasks: &tasks, order: OneCpuOrder::FixedPriority, task: 1 };
    /// // The critical instant is not the worst: all together, and one just before with one just after.
    /// let at = |times: &[i64]| times.iter().map(|t| Time::from_ns(*t)).collect::<Vec<Time>>();
    /// let together = judged.under_arrivals(OnMiss::Continue, &[at(&[7]), at(&[7])], Time::from_ns(7)).unwrap();
    /// let around = judged.under_arrivals(OnMiss::Continue, &[at(&[5, 8]), at(&[7])], Time::from_ns(7)).unwrap();
    /// assert_eq!(together.high.to_rate(), Rate::new(1, 4));
    /// assert_eq!(around.high.to_rate(), Rate::new(7, 16));
    /// ```
    ///
    /// # Errors
    /// [`Unanswered::Jitter`] if a task of the level has jitter.
    pub fn under_arrivals(
        &self,
        on_miss: OnMiss,
        arrivals: &[Vec<Time>],
        job_at: Time,
    ) -> Result<Chance, Unanswered> {
        self.refuse_jitter()?;
        if on_miss != OnMiss::Continue {
            return Ok(self.by_pending_jobs(on_miss, arrivals, job_at));
        }
        let times = || arrivals.iter().flatten().map(|at| at.ns());
        let tick = common_tick(self.tasks, times().chain([job_at.ns()]));
        let first = times().min().unwrap_or(0).min(job_at.ns()) / tick;
        let mut all: Vec<Arrived> = Vec::new();
        for (i, times) in arrivals.iter().enumerate() {
            all.extend(times.iter().map(|at| (at.ns() / tick, i)));
        }
        all.sort_unstable();
        let of = |rounding| {
            let setting = self.setting(tick, rounding);
            setting.late(Distribution::point(0, rounding), first, &all, job_at.ns() / tick)
        };
        Ok(Chance { low: of(Rounding::Down), high: of(Rounding::Up) })
    }

    pub(super) fn refuse_jitter(&self) -> Result<(), Unanswered> {
        let has_jitter = self.tasks[self.level()].iter().any(|task| task.jitter > 0);
        if has_jitter { Err(Unanswered::Jitter) } else { Ok(()) }
    }

    fn setting(&self, tick: i64, rounding: Rounding) -> Setting<'_> {
        let of_task = |task: &RandomTask| Distribution::of(&task.amounts(tick, 1), rounding);
        let work = self.tasks.iter().map(of_task).collect();
        Setting { judged: *self, tick, work }
    }
}

/// The tasks in ticks, with masses rounded in one direction.
struct Setting<'a> {
    judged: Judged<'a>,
    tick: i64,
    work: Vec<Distribution>,
}

impl Setting<'_> {
    /// The probability that the job at `r` is late, with this backlog of relevant jobs at `from` and
    /// these arrivals, sorted by time.
    fn late(&self, start: Distribution, from: i64, arrivals: &[Arrived], r: i64) -> Mass {
        let Judged { tasks, order, task: k } = self.judged;
        let end = tasks[k].deadline / self.tick;
        let comes_before =
            |at: i64, i: usize| is_relevant(tasks, order, (k, r * self.tick), (i, at * self.tick));
        let relevant = arrivals.iter().filter(|&&(at, i)| {
            at >= from && at < r + end && (i, at) != (k, r) && comes_before(at, i)
        });
        let (mut backlog, mut now) = (start, from);
        let mut relevant = relevant.peekable();
        while let Some(&(at, i)) = relevant.next_if(|(at, _)| *at < r) {
            backlog.drain(at - now);
            now = at;
            // All of the backlog comes before the job, so more than this makes it late for certain.
            backlog.add(&self.work[i], r + end - now);
        }
        backlog.drain(r - now);
        backlog.add(&self.work[k], end);
        // From here on, the amounts are the work since `r`: the job is done once they are up.
        for &(at, i) in relevant {
            backlog.take_out(at - r);
            backlog.add(&self.work[i], end);
        }
        backlog.above(end)
    }
}

/// Strictly periodic arrivals at known offsets.
#[derive(Clone, Copy, Debug)]
pub struct Periodic<'a> {
    /// The tasks and the judged one.
    pub judged: Judged<'a>,
    /// The first arrival of each task.
    pub offsets: &'a [Duration],
}

/// The chance of the jobs that arrive at one offset in each hyperperiod, in the long run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InTheLongRun {
    /// The arrival, from a multiple of the hyperperiod.
    pub offset: Duration,
    /// The least and the greatest chance that jobs late enough may have.
    pub chance: Chance,
}

impl Periodic<'_> {
    /// The least common multiple of the periods of the level.
    ///
    /// # Errors
    /// [`Unanswered::TooLarge`] if it has more than `2^62` nanoseconds.
    pub fn hyperperiod(&self) -> Result<Duration, Unanswered> {
        let level = &self.judged.tasks[self.judged.level()];
        let mut periods = level.iter().map(|task| task.period);
        let lcm = periods.try_fold(1i64, |lcm, period| {
            let next = lcm.checked_mul(period / num_integer::gcd(lcm, period))?;
            (next <= 1 << 62).then_some(next)
        });
        lcm.map(Duration::from_ns).ok_or(Unanswered::TooLarge)
    }

    fn tick(&self) -> i64 {
        common_tick(self.judged.tasks, self.offsets.iter().map(|offset| offset.ns()))
    }

    /// The arrivals of the level in `from..until`, in ticks, sorted; `first` gives the first arrival
    /// of each task.
    fn arrivals(
        &self,
        from: i64,
        until: i64,
        tick: i64,
        first: impl Fn(usize) -> i64,
    ) -> Vec<Arrived> {
        let mut all = Vec::new();
        for i in self.judged.level() {
            let period = self.judged.tasks[i].period / tick;
            let skipped = num_integer::Integer::div_ceil(&(from - first(i)), &period).max(0);
            let mut at = first(i) + skipped * period;
            while at < until {
                all.push((at, i));
                at += period;
            }
        }
        all.sort_unstable();
        all
    }

    /// The chance of the job with this number, counted from 0, from an empty start at time 0.
    ///
    /// # Errors
    /// [`Unanswered::Jitter`], as the arrivals would not be known.
    pub fn job(&self, number: i64) -> Result<Chance, Unanswered> {
        self.judged.refuse_jitter()?;
        let (k, tick) = (self.judged.task, self.tick());
        let first = |i: usize| self.offsets[i].ns() / tick;
        let own = &self.judged.tasks[k];
        let r = first(k) + number * (own.period / tick);
        let arrivals = self.arrivals(0, r + own.deadline / tick, tick, first);
        let of = |rounding| {
            let setting = self.judged.setting(tick, rounding);
            setting.late(Distribution::point(0, rounding), 0, &arrivals, r)
        };
        Ok(Chance { low: of(Rounding::Down), high: of(Rounding::Up) })
    }

    /// The chances in the long run, one for each job of a hyperperiod in the order of their offsets.
    /// No job of the set is late with a higher probability than the greatest of them.
    ///
    /// # Errors
    /// [`Unanswered::Overload`] if the mean load of the level is 1 or more and work is random,
    /// [`Unanswered::Jitter`], and [`Unanswered::TooLarge`] if a hyperperiod has more cells than
    /// `precision` allows.
    pub fn long_run(&self, precision: &Precision) -> Result<Vec<InTheLongRun>, Unanswered> {
        let turns = self.turns(precision)?;
        let own = &self.judged.tasks[self.judged.task];
        let period = own.period / turns.tick;
        let first = turns.first(self.judged.task);
        let of = |job: i64| {
            let offset = first + job * period;
            let chance = turns.chance(offset);
            InTheLongRun { offset: Duration::from_ns(offset * turns.tick), chance }
        };
        Ok((0..turns.H / period).map(of).collect())
    }

    /// The chance of the first job of each hyperperiod, in the long run.
    pub(super) fn first_of_each_turn(&self, precision: &Precision) -> Result<Chance, Unanswered> {
        let turns = self.turns(precision)?;
        Ok(turns.chance(turns.first(self.judged.task)))
    }

    fn turns(&self, precision: &Precision) -> Result<Turns<'_>, Unanswered> {
        let judged = self.judged;
        judged.refuse_jitter()?;
        let tick = self.tick();
        let H = self.hyperperiod()?.ns() / tick;
        if H > precision.cells as i64 {
            return Err(Unanswered::TooLarge);
        }
        let work_of = |task: &RandomTask| -> Work {
            (task.amounts(tick, 1), (H / (task.period / tick)) as u64)
        };
        let work: Vec<Work> = judged.tasks[judged.level()].iter().map(work_of).collect();
        let decay = decay(&work, H).ok_or(Unanswered::Overload)?;
        let empty = Distribution::point(0, Rounding::Down);
        let mut turns = Turns { of: *self, tick, H, low: empty, high: start(decay, H, precision) };
        let arrivals = self.arrivals(0, H, tick, |i| turns.first(i));
        // Enough for the start, and for its growth within a hyperperiod.
        let largest = H.saturating_add(precision.cells as i64);
        for rounding in [Rounding::Down, Rounding::Up] {
            let setting = judged.setting(tick, rounding);
            let backlog = match rounding {
                Rounding::Down => &mut turns.low,
                Rounding::Up => &mut turns.high,
            };
            settle(backlog, precision, |backlog| {
                let mut now = 0;
                for &(at, i) in &arrivals {
                    backlog.drain(at - now);
                    now = at;
                    backlog.add(&setting.work[i], largest);
                }
                backlog.drain(H - now);
                if rounding == Rounding::Down {
                    backlog.forget_beyond();
                }
            });
        }
        Ok(turns)
    }
}

/// Hyperperiods in the long run, in ticks: the backlog at their beginning, from both sides.
struct Turns<'a> {
    of: Periodic<'a>,
    tick: i64,
    H: i64,
    low: Distribution,
    high: Distribution,
}

impl Turns<'_> {
    /// The phase of a task modulo its period: from the largest offset on, each hyperperiod has the
    /// arrivals of these phases.
    fn first(&self, i: usize) -> i64 {
        let offset = self.of.offsets[i].ns() / self.tick;
        offset % (self.of.judged.tasks[i].period / self.tick)
    }

    /// The chance of the job that arrives at this offset in each hyperperiod.
    fn chance(&self, offset: i64) -> Chance {
        let judged = self.of.judged;
        // The calculation begins at a multiple of the hyperperiod at least the longest deadline
        // before the job: so every job that is pending there comes before it.
        let longest = judged.tasks.iter().map(|task| task.deadline / self.tick).max().unwrap_or(0);
        let turns = num_integer::Integer::div_ceil(&(longest - offset).max(0), &self.H);
        let r = offset + turns * self.H;
        let end = r + judged.tasks[judged.task].deadline / self.tick;
        let arrivals = self.of.arrivals(0, end, self.tick, |i| self.first(i));
        let late = |backlog: &Distribution, rounding| {
            judged.setting(self.tick, rounding).late(backlog.clone(), 0, &arrivals, r)
        };
        let high = late(&self.high, Rounding::Up).at_most_one();
        Chance { low: late(&self.low, Rounding::Down), high }
    }
}
