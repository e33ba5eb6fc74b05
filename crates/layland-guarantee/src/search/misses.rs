//! A search for the most misses among `k` consecutive jobs of a task, over every state that
//! sporadic tasks on one CPU can reach.
//!
//! A state consists of the time until each task may release again, of the pending jobs, and of the
//! last `k - 1` decided outcomes of the judged task. At each tick any set of tasks that may release
//! does; then time passes, and outcomes are decided: a job is a hit when it completes by its
//! deadline, and a miss when it is pending there. Under fixed priorities, tasks below the judged one
//! are left out, and of those above it only the sum of their pending work counts.
//!
//! Late jobs continue. So it suffices to consider WCETs: with shorter jobs no job completes later,
//! and the set of misses only shrinks.
//!
//! Assumes: (1) one CPU, preemptive, fixed priorities or EDF, ties by the order of tasks; (2) jobs of
//! a task arrive at least a period apart, at ticks; (3) late jobs continue; (4) the load of the tasks
//! is at most 1, since otherwise the states have no bound; (5) no jitter, no locks, no overheads.
//! **Exact** for the tick; the arrivals that it finds are legal for all.

use layland_analysis::Sporadic;
use layland_analysis::how_often::OneCpuOrder;
use layland_model::{Duration, Rate, Time};
use std::collections::BTreeMap;

/// The question: `k` consecutive jobs of one task of a set on one CPU.
#[derive(Clone, Copy, Debug)]
pub struct MissSearch<'a> {
    /// The tasks. The first has the highest priority, or wins ties between deadlines.
    pub tasks: &'a [Sporadic],
    /// The order of jobs.
    pub order: OneCpuOrder,
    /// The index of the judged task.
    pub judged: usize,
    /// The number of consecutive jobs, 1 to 64.
    pub window: u32,
    /// Jobs arrive at multiples of it.
    pub tick: Duration,
}

/// The outcome of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundMisses {
    /// The most misses, and arrivals of each task that lead to them.
    Most {
        /// At most the window.
        misses: u32,
        /// Empty if there is no miss.
        arrivals: Vec<Vec<Time>>,
    },
    /// There are more states than the search may examine.
    GaveUp {
        /// The limit.
        states: usize,
    },
    /// The tasks need more than the CPU.
    Overload,
}

/// A pending job: its task, the time to its deadline, its remaining work, and whether its outcome is
/// decided. The first one runs.
type PendingJob = (usize, i64, i64, bool);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct MissState {
    /// The time until each task may release.
    wait: Vec<i64>,
    /// Under fixed priorities: the pending work of higher tasks.
    higher: i64,
    jobs: Vec<PendingJob>,
    /// The last outcomes of the judged task; bit 0 is the newest, and a miss is 1.
    misses: u64,
}

impl MissSearch<'_> {
    /// Examines all states, at most this number.
    ///
    /// ```
    /// use layland_analysis::{Sporadic, how_often::OneCpuOrder};
    /// use layland_guarantee::search::misses::{FoundMisses, MissSearch};
    /// use layland_model::{Duration, Service};
    /// let task = |c, t, d| Sporadic {
    ///     wcet: Service::from_ns(c),
    ///     period: Duration::from_ns(t),
    ///     deadline: Duration::from_ns(d),
    /// };
    /// let tasks = [task(1, 3, 3), task(1, 5, 1)];
    /// let (order, tick) = (OneCpuOrder::FixedPriority, Duration::from_ns(1));
    /// let search = MissSearch { tasks: &tasks, order, judged: 1, window: 2, tick };
    /// let FoundMisses::Most { misses, arrivals } = search.run(10_000) else { panic!() };
    /// assert_eq!((misses, arrivals[1].len()), (2, 2));
    /// ```
    ///
    /// # Panics
    /// Panics unless the window has 1 to 64 jobs.
    pub fn run(&self, most_states: usize) -> FoundMisses {
        assert!((1..=64).contains(&self.window), "a window of {} jobs", self.window);
        let level = match self.order {
            OneCpuOrder::FixedPriority => self.judged + 1,
            OneCpuOrder::EarliestDeadline => self.tasks.len(),
        };
        let tasks = &self.tasks[..level];
        let load: Rate = tasks.iter().map(|task| Rate::new(task.wcet.ns(), task.period.ns())).sum();
        if load > Rate::ONE {
            return FoundMisses::Overload;
        }
        let times = |task: &Sporadic| [task.wcet.ns(), task.period.ns(), task.deadline.ns()];
        let unit = tasks.iter().flat_map(times).fold(self.tick.ns(), num_integer::gcd).max(1);
        let scaled: Vec<[i64; 3]> =
            tasks.iter().map(|task| times(task).map(|time| time / unit)).collect();
        let steps = (self.tick.ns() / unit).max(1);
        let start = MissState { wait: vec![0; level], higher: 0, jobs: Vec::new(), misses: 0 };
        // Each state with its predecessor and the tasks that released there.
        let mut seen = BTreeMap::from([(start.clone(), 0usize)]);
        let mut from: Vec<(usize, u64)> = vec![(0, 0)];
        let mut open = vec![start];
        let (mut most, mut found) = (0, None);
        while let Some(state) = open.pop() {
            let at = seen[&state];
            let ready: Vec<usize> = (0..level).filter(|&i| state.wait[i] == 0).collect();
            for choice in 0..1u64 << ready.len() {
                let mut next = state.clone();
                let mut released = 0;
                for (bit, &i) in ready.iter().enumerate() {
                    if choice >> bit & 1 == 1 {
                        released |= 1 << i;
                        self.release(&mut next, i, &scaled[i]);
                    }
                }
                let mut decided = 0;
                for _ in 0..steps {
                    decided = decided.max(self.pass(&mut next));
                }
                let is_new = !seen.contains_key(&next);
                if decided > most {
                    // The arrivals up to here suffice, even if the state is not new.
                    (most, found) = (decided, Some((at, released)));
                }
                if is_new {
                    if seen.len() >= most_states {
                        return FoundMisses::GaveUp { states: most_states };
                    }
                    seen.insert(next.clone(), from.len());
                    from.push((at, released));
                    open.push(next);
                }
            }
        }
        FoundMisses::Most { misses: most, arrivals: self.witness(found, &from) }
    }

    fn release(&self, state: &mut MissState, i: usize, [wcet, period, deadline]: &[i64; 3]) {
        state.wait[i] = *period;
        if self.order == OneCpuOrder::FixedPriority && i != self.judged {
            state.higher += wcet;
            return;
        }
        let job = (i, *deadline, *wcet, false);
        // Jobs of one task are in the order of their deadlines.
        let place = |job: &PendingJob| (job.1, job.0);
        let at = state.jobs.partition_point(|other| place(other) < place(&job));
        state.jobs.insert(at, job);
    }

    /// A unit of time passes. Returns the most misses in a window that ends now.
    fn pass(&self, state: &mut MissState) -> u32 {
        for wait in &mut state.wait {
            *wait = (*wait - 1).max(0);
        }
        if state.higher > 0 {
            state.higher -= 1;
        } else if let Some(job) = state.jobs.first_mut() {
            job.2 -= 1;
        }
        let mut most = 0;
        let window = u64::MAX >> (64 - self.window);
        for job in &mut state.jobs {
            job.1 -= 1;
            let is_done = job.2 <= 0;
            if job.3 || !(is_done || job.1 == 0) {
                continue;
            }
            job.3 = true;
            if job.0 == self.judged {
                let outcomes = (state.misses << 1 | u64::from(!is_done)) & window;
                most = most.max(outcomes.count_ones());
                state.misses = outcomes & (window >> 1);
            }
        }
        state.jobs.retain(|job| job.2 > 0);
        most
    }

    /// The arrivals on the way to a state and from it.
    fn witness(&self, found: Option<(usize, u64)>, from: &[(usize, u64)]) -> Vec<Vec<Time>> {
        let Some((mut at, last)) = found else { return Vec::new() };
        let mut path = vec![last];
        while at != 0 {
            path.push(from[at].1);
            at = from[at].0;
        }
        let mut arrivals = vec![Vec::new(); self.tasks.len()];
        for (step, released) in path.into_iter().rev().enumerate() {
            for (i, times) in arrivals.iter_mut().enumerate() {
                if released >> i & 1 == 1 {
                    times.push(Time::from_ns(step as i64 * self.tick.ns()));
                }
            }
        }
        arrivals
    }
}
