//! Other demand on a CPU with admitted threads: the threads of other programs, and the time that
//! the kernel keeps for ordinary threads. These rules are applied after those of
//! [`admit`](super::admit), which consider admitted threads only.
//!
//! A thread of another program is a [`Load`]: in each window of length `t > 0` it takes at most
//! `ceil(t / P) Q + X`. Where several such bounds are known, the least of them holds. The kernel
//! keeps time from real-time threads in two ways ([`Kept`]):
//!
//! - *Throttling* stops threads of SCHED_FIFO once they have had `Q` of a period `P`. It never acts
//!   if they execute at most `Q` in any window of length `P`.
//! - The *fair server* runs ordinary threads that have waited for `P - Q` of its period `P` without
//!   having received `Q`. It never acts if real-time threads execute at most `P - 2 Q` in any
//!   window of length `P - Q`: ordinary threads have received `Q` by then. Otherwise it is a load
//!   with `Q` of every `P`, and `Q` once more, because it may act late in one period and early in
//!   the next.
//!
//! # The execution in a window
//!
//! Let `b(u)` be the work that may arrive in a window of length `u`: the sum of `ceil(u / T) C`,
//! and `X` of the loads. In any window of length `w`, at most `w - u + b(u)` is executed, for each
//! `u` in `(0, w]` ([`executed`]). Proof: let the window start `L` after `s`, and let the CPU be
//! busy from `s` until then. Up to `s + L + w` it has executed at most the work that arrived up to
//! `s + u`, which is `b(u)`, and the whole rest of the time, which is `L + w - u`. Before the
//! window it executed `L`.
//!
//! # Response times
//!
//! A job of a task waits for every task of its level or above, and for all loads ([`response`]).
//! The bound is the least fixed point of the usual equation, computed for each job of the busy
//! window, so that deadlines may be longer than periods. It is an upper bound for any order within
//! a level: sufficient, and not exact.
//!
//! Long because the rules belong with the tests that compare them with simulated windows.

use super::register::{Guarantee, Reservation};
use super::shortfall::Shortfall;
use layland_model::{CpuSet, Duration, Service};

/// A thread that was not admitted, or any other demand that is above threads of fixed priorities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// Its name in messages.
    pub name: String,
    /// A bound on its usage.
    pub usage: Usage,
    /// Another bound on its usage, over shorter periods.
    pub in_short: Option<Usage>,
    /// True if it is throttled like threads of SCHED_FIFO.
    pub is_throttled: bool,
}

/// A bound on the usage of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Processor time in each period.
    pub runtime: Service,
    /// The period.
    pub period: Duration,
    /// Processor time that may come once in addition.
    pub extra: Service,
}

/// The time that the kernel keeps from the real-time threads of each CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Threads of SCHED_FIFO and SCHED_RR are stopped once they have had `runtime` of a period.
    Throttling {
        /// The origin of the limit in messages: a file of the kernel.
        of: String,
        /// The processor time that the threads may use.
        runtime: Duration,
        /// The period of the limit.
        period: Duration,
    },
    /// Ordinary threads that wait get `runtime` of each period.
    FairServer {
        /// The processor time that the server guarantees.
        runtime: Duration,
        /// The period of the server.
        period: Duration,
    },
}

/// An admitted task of a CPU with its level: a smaller level is more urgent. Tasks of one level
/// wait for each other.
#[derive(Clone, Copy, Debug)]
pub struct Leveled<'a> {
    /// The task.
    pub task: &'a Reservation,
    /// Its level.
    pub level: usize,
}

/// The bounds of a task or a load, in nanoseconds.
#[derive(Clone, Copy)]
pub(super) struct Part {
    bound: Curve,
    other: Option<Curve>,
}

/// At most `ceil(t / period) runtime + extra`.
#[derive(Clone, Copy)]
struct Curve {
    runtime: i128,
    period: i128,
    extra: i128,
}

impl Curve {
    fn of(usage: &Usage) -> Curve {
        // `arrives` divides by the period.
        let (runtime, period) = (usage.runtime.ns().into(), usage.period.ns().max(1).into());
        Curve { runtime, period, extra: usage.extra.ns().into() }
    }

    fn arrives(&self, window: i128) -> i128 {
        (window + self.period - 1) / self.period * self.runtime + self.extra
    }
}

impl Part {
    pub(super) fn of_task(task: &Reservation) -> Part {
        let (runtime, period, extra) = (task.runtime, task.period, Service::ZERO);
        Part { bound: Curve::of(&Usage { runtime, period, extra }), other: None }
    }

    pub(super) fn of_load(load: &Load) -> Part {
        Part { bound: Curve::of(&load.usage), other: load.in_short.as_ref().map(Curve::of) }
    }

    /// Returns the most work that may arrive in a non-empty window of this length.
    pub(super) fn arrives(&self, window: i128) -> i128 {
        let other = self.other.map_or(i128::MAX, |other| other.arrives(window));
        self.bound.arrives(window).min(other)
    }

    fn curves(&self) -> impl Iterator<Item = Curve> {
        [Some(self.bound), self.other].into_iter().flatten()
    }
}

/// Returns a bound on the execution in any window of this length, as the module's documentation
/// proves.
fn executed(parts: &[Part], window: i128) -> i128 {
    /// The number of windows tried per curve; each gives a bound.
    const TRIED: i128 = 64;
    let bound = |u: i128| window - u + parts.iter().map(|part| part.arrives(u)).sum::<i128>();
    let multiples = parts.iter().flat_map(Part::curves).flat_map(|curve| {
        let last = window / curve.period;
        ((last - TRIED).max(1)..=last).map(move |jobs| jobs * curve.period)
    });
    // The trivial bound: the whole window, or nothing if there are no parts.
    let first = if parts.is_empty() { 0 } else { window };
    multiples.chain([window]).filter(|&u| u > 0).map(bound).fold(first, i128::min)
}

fn duration(ns: i128) -> Duration {
    Duration::from_ns(i64::try_from(ns).unwrap_or(i64::MAX))
}

/// Returns the longest response time of a task of `runtime` and `period` below others, up to
/// `limit`; `None` if it is longer or is not found.
fn response(own: Part, above: &[Part], limit: i128) -> Option<i128> {
    /// The limit on iterations over all jobs of a busy window, which may never end.
    const STEPS: usize = 100_000;
    let own = own.bound;
    let mut worst = 0;
    let mut window = own.runtime + above.iter().map(|part| part.arrives(1)).sum::<i128>();
    let mut steps = 0;
    for job in 0.. {
        loop {
            // The bound on arrivals is for windows that are not empty.
            let others: i128 = above.iter().map(|part| part.arrives(window.max(1))).sum();
            let next = (job + 1) * own.runtime + others;
            steps += 1;
            if next - job * own.period > limit || steps > STEPS {
                return None;
            }
            if next <= window {
                break;
            }
            window = next;
        }
        worst = worst.max(window - job * own.period);
        if window <= (job + 1) * own.period {
            break;
        }
    }
    Some(worst)
}

/// Returns the fair server as a load, and the shortfall, if real-time threads leave too little time
/// to ordinary threads.
fn server_beside(parts: &[Part], cpus: &CpuSet, kept: &Kept) -> Option<(Load, Shortfall)> {
    let Kept::FairServer { runtime, period } = kept else { return None };
    let (q, p) = (i128::from(runtime.ns()), i128::from(period.ns()));
    let (window, limit) = (p - q, p - 2 * q);
    let demand = executed(parts, window);
    (demand > limit).then(|| {
        let load = Load {
            name: "the fair server of the kernel".to_owned(),
            usage: Usage {
                runtime: Service::from_ns(runtime.ns()),
                period: *period,
                extra: Service::from_ns(runtime.ns()),
            },
            in_short: None,
            is_throttled: false,
        };
        let (window, limit, demand) = (duration(window), duration(limit), duration(demand));
        let cpus = cpus.clone();
        (
            load,
            Shortfall::FairServer { cpus, demand, limit, window, server: *runtime, every: *period },
        )
    })
}

/// Returns the loads above all tasks of a CPU: these, and the fair server if it may act, then with
/// the shortfall.
pub(super) fn above(
    cpus: &CpuSet,
    tasks: &[Part],
    loads: &[Load],
    kept: &[Kept],
) -> (Vec<Load>, Option<Shortfall>) {
    let all: Vec<Part> = tasks.iter().copied().chain(loads.iter().map(Part::of_load)).collect();
    let (mut above, mut why) = (loads.to_vec(), None);
    for (load, shortfall) in kept.iter().filter_map(|one| server_beside(&all, cpus, one)) {
        above.push(load);
        why = Some(shortfall);
    }
    (above, why)
}

/// Checks that the tasks of a CPU under fixed priorities keep their guarantees despite these loads,
/// which are above all of them, and despite the time that the kernel keeps.
///
/// # Errors
/// The demand that is too large, or the task that may be late.
pub fn keeps_priorities(
    cpus: &CpuSet,
    tasks: &[Leveled<'_>],
    loads: &[Load],
    kept: &[Kept],
) -> Result<(), Box<Shortfall>> {
    let own: Vec<Part> = tasks.iter().map(|one| Part::of_task(one.task)).collect();
    let (above, why) = above(cpus, &own, loads, kept);
    let with = || loads.iter().filter(|load| load.is_throttled);
    let throttled: Vec<Part> = own.into_iter().chain(with().map(Part::of_load)).collect();
    let stopped = kept.iter().find_map(|one| {
        let Kept::Throttling { of, runtime, period } = one else { return None };
        let demand = duration(executed(&throttled, period.ns().into()));
        (demand > *runtime).then(|| Shortfall::Throttled {
            cpus: cpus.clone(),
            of: of.clone(),
            with: with().map(|load| load.name.clone()).collect(),
            demand,
            limit: *runtime,
            window: *period,
        })
    });
    // A throttled task is late because of its own demand, so report this before any load above it.
    if let Some(stopped) = stopped {
        return Err(stopped.into());
    }
    if above.is_empty() {
        return Ok(());
    }
    for (at, one) in tasks.iter().enumerate() {
        let allowed = match one.task.guarantee {
            Guarantee::Deadlines => one.task.deadline,
            Guarantee::Tardiness(most) => one.task.deadline + most,
        };
        let higher = tasks.iter().enumerate();
        let higher = higher.filter(|&(other, it)| other != at && it.level <= one.level);
        let higher = higher.map(|(_, it)| Part::of_task(it.task));
        let parts: Vec<Part> = higher.chain(above.iter().map(Part::of_load)).collect();
        if response(Part::of_task(one.task), &parts, allowed.ns().into()).is_none() {
            let only_server = loads.is_empty();
            let task = one.task.name.clone();
            let beside = above.iter().map(|load| load.name.clone()).collect();
            let shortfall = match why {
                Some(why) if only_server => why,
                Some(_) | None => Shortfall::Beside { task, allowed, beside },
            };
            return Err(shortfall.into());
        }
    }
    Ok(())
}

/// Checks that tasks with servers, which may all use all of these CPUs, leave the kernel's fair
/// server nothing to do. On several CPUs this is known only of each task by itself; the result is
/// then [`LeavesRoom::OnEachAlone`].
///
/// # Errors
/// The demand that makes the server act.
pub fn leaves_room<'a>(
    cpus: &CpuSet,
    tasks: impl Iterator<Item = &'a Reservation>,
    kept: &[Kept],
) -> Result<LeavesRoom, Box<Shortfall>> {
    let parts: Vec<Part> = tasks.map(Part::of_task).collect();
    let mut room = LeavesRoom::Always;
    for one in kept {
        let Some((_, shortfall)) = server_beside(&parts, cpus, one) else { continue };
        if cpus.len() < 2 {
            return Err(shortfall.into());
        }
        // A single task may take too much of a CPU from ordinary threads, wherever it runs.
        if let Some((_, of_one)) = parts.iter().find_map(|part| server_beside(&[*part], cpus, one))
        {
            return Err(of_one.into());
        }
        room = LeavesRoom::OnEachAlone;
    }
    Ok(room)
}

/// The conditions under which the fair server never acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeavesRoom {
    /// It never acts, whichever ordinary threads there are.
    Always,
    /// It never acts unless several tasks, one after the other, keep ordinary threads from a CPU of
    /// the cluster.
    OnEachAlone,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(name: &str, us: (i64, i64)) -> Reservation {
        Reservation::implicit(name, Service::from_us(us.0), Duration::from_us(us.1))
    }

    fn leveled(tasks: &[Reservation]) -> Vec<Leveled<'_>> {
        tasks.iter().enumerate().map(|(level, task)| Leveled { task, level }).collect()
    }

    fn one_cpu() -> CpuSet {
        CpuSet::first(1)
    }

    const MS: Duration = Duration::from_ms(1);

    fn throttling() -> Kept {
        let of = "sched_rt_runtime_us".to_owned();
        Kept::Throttling { of, runtime: MS * 950, period: MS * 1000 }
    }

    fn fair_server() -> Kept {
        Kept::FairServer { runtime: MS * 50, period: MS * 1000 }
    }

    #[test]
    fn what_is_throttled_is_refused_with_what_is_too_much() {
        // The set that a kernel stopped for 50 ms of each second: it demands 980 ms of 1 s.
        let busy = [task("ctl", (4_900, 10_000)), task("vision", (9_700, 20_000))];
        let said = keeps_priorities(&one_cpu(), &leveled(&busy), &[], &[throttling()]);
        let said = said.unwrap_err().to_string();
        assert_eq!(
            said,
            "real-time threads may use 975 ms of 1 s on CPU 0, and the kernel stops them after 950 ms \
             (sched_rt_runtime_us): 25 ms too much"
        );
        // Exactly as much as the limit, and sets that ran without a miss on the same kernel.
        for us in [(9_500, 10_000), (9_300, 10_000), (940_000, 1_000_000)] {
            let tasks = [task("one", us)];
            assert_eq!(
                keeps_priorities(&one_cpu(), &leveled(&tasks), &[], &[throttling()]),
                Ok(())
            );
        }
        let limit =
            Kept::Throttling { of: "a group".to_owned(), runtime: MS * 300, period: MS * 1000 };
        let tasks = [task("one", (3_500, 10_000))];
        assert!(keeps_priorities(&one_cpu(), &leveled(&tasks), &[], &[limit]).is_err());
    }

    #[test]
    fn the_fair_server_is_a_load_where_it_may_act() {
        let keeps = |tasks: &[Reservation]| {
            keeps_priorities(&one_cpu(), &leveled(tasks), &[], &[fair_server()])
        };
        // At most 900 ms of any 950 ms: the server has nothing to do.
        assert_eq!(keeps(&[task("one", (9_000, 10_000))]), Ok(()));
        let refused = keeps(&[task("one", (9_700, 10_000))]).unwrap_err();
        assert!(matches!(*refused, Shortfall::FairServer { .. }), "{refused}");
        assert!(refused.to_string().contains("get 50 ms of every 1 s"), "{refused}");
        // Long jobs have time for what the server takes: 50 ms in each of three periods, and once
        // more.
        let long = |deadline| {
            let mut long = task("long", (2_000_000, 4_000_000));
            long.deadline = MS * deadline;
            keeps(&[long])
        };
        assert_eq!(long(2_200), Ok(()));
        assert!(long(2_199).is_err());
    }

    #[test]
    fn threads_of_others_are_loads() {
        let usage = |runtime: i64, period: i64, extra: i64| Usage {
            runtime: Service::from_us(runtime),
            period: MS * period,
            extra: Service::from_us(extra),
        };
        let load = |runtime: i64, extra: i64| Load {
            name: "other (7, SCHED_FIFO 97)".to_owned(),
            usage: usage(runtime, 20, extra),
            in_short: None,
            is_throttled: true,
        };
        let mut own = task("own", (5_000, 10_000));
        let keeps = |own: &Reservation, load: Load| {
            keeps_priorities(&one_cpu(), &leveled(std::slice::from_ref(own)), &[load], &[])
        };
        assert_eq!(keeps(&own, load(5_000, 0)), Ok(()));
        let refused = keeps(&own, load(5_000, 1)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "`own` may take longer than 10 ms beside other (7, SCHED_FIFO 97)"
        );
        own.guarantee = Guarantee::Tardiness(MS);
        assert_eq!(keeps(&own, load(5_000, 1)), Ok(()));
        // A load that occupies the whole CPU does not make the search endless.
        assert!(keeps(&own, load(20_000, 0)).is_err());
        // 100 ms at once is too much; 100 ms spread over periods of 20 ms is not.
        own.guarantee = Guarantee::Deadlines;
        let long = Load { usage: usage(100_000, 1_000, 100_000), ..load(0, 0) };
        assert!(keeps(&own, long.clone()).is_err());
        let in_short = Some(usage(2_000, 20, 2_000));
        assert_eq!(keeps(&own, Load { in_short, ..long.clone() }), Ok(()));
        // The two bounds together are tighter than each alone: 104 ms of 1 s is below the limit of
        // 105 ms, which neither bound shows.
        let parts = [Part::of_load(&Load { in_short, ..long.clone() })];
        let executed = |parts: &[Part]| executed(parts, 1_000_000_000);
        assert!(executed(&parts) <= executed(&[Part::of_load(&long)]).min(200_000_000));
    }

    #[test]
    fn responses_are_those_of_the_paper_and_of_later_jobs() {
        let part = |(runtime, period): (i64, i64)| Part::of_task(&task("", (runtime, period)));
        let of = |own, above: &[(i64, i64)], limit: i64| {
            let above: Vec<Part> = above.iter().map(|&of| part(of)).collect();
            response(part(own), &above, i128::from(limit) * 1000)
        };
        // Huang et al. 2014, Section 3.1.
        assert_eq!(of((20, 100), &[(1, 2), (1, 10)], 100), Some(50_000));
        // Lehoczky 1990: the fifth job of a busy window is the latest one.
        assert_eq!(of((62, 100), &[(26, 70)], 200), Some(118_000));
        assert_eq!(of((62, 100), &[(26, 70)], 117), None);
    }

    #[test]
    fn on_several_cpus_each_task_is_looked_at_alone() {
        let room = |cpus, tasks: &[Reservation]| {
            leaves_room(&CpuSet::first(cpus), tasks.iter(), &[fair_server()])
        };
        let third: Vec<Reservation> = (0..5).map(|_| task("third", (33_000, 100_000))).collect();
        assert_eq!(room(2, &third), Ok(LeavesRoom::OnEachAlone));
        assert_eq!(room(2, &third[..2]), Ok(LeavesRoom::Always));
        assert!(room(2, &[task("dense", (98_000, 100_000))]).is_err());
        assert!(room(1, &[task("dense", (95_500, 100_000))]).is_err());
        assert_eq!(room(1, &[task("dense", (94_000, 100_000))]), Ok(LeavesRoom::Always));
        let none =
            leaves_room(&one_cpu(), [task("dense", (98_000, 100_000))].iter(), &[throttling()]);
        assert_eq!(none, Ok(LeavesRoom::Always));
    }

    /// Marsaglia's xorshift: good enough for a bound that must hold for all inputs.
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % bound
        }
    }

    /// The most that a simulated CPU executes in any window, with randomly generated releases.
    fn simulated(parts: &[(u64, u64)], window: usize, random: &mut Random) -> i128 {
        let length = 12 * window;
        let mut arriving = vec![0_u64; length];
        for &(runtime, period) in parts {
            let mut at = random.below(2 * period);
            while at < length as u64 {
                arriving[at as usize] += runtime;
                at += period + random.below(3) * random.below(2);
            }
        }
        let mut pending = 0;
        let busy: Vec<u64> = (arriving.iter())
            .map(|coming| {
                pending += coming;
                let runs = pending.min(1);
                pending -= runs;
                runs
            })
            .collect();
        busy.windows(window).map(|of| i128::from(of.iter().sum::<u64>())).max().unwrap_or(0)
    }

    #[test]
    fn no_more_is_executed_in_a_window() {
        let mut random = Random(11);
        let mut reached = 0;
        for _ in 0..3_000 {
            let count = 1 + random.below(3);
            let parts: Vec<(u64, u64)> = (0..count)
                .map(|_| {
                    let period = 2 + random.below(14);
                    (1 + random.below(period.min(6)), period)
                })
                .collect();
            let window = 1 + random.below(40) as usize;
            let bound = |&(runtime, period): &(u64, u64)| Part {
                bound: Curve { runtime: runtime.into(), period: period.into(), extra: 0 },
                other: None,
            };
            let bounds: Vec<Part> = parts.iter().map(bound).collect();
            let (most, seen) =
                (executed(&bounds, window as i128), simulated(&parts, window, &mut random));
            assert!(seen <= most, "{parts:?} in {window}: {seen} of {most}");
            reached += usize::from(seen == most);
        }
        // A bound that is never reached would show little.
        assert!(reached > 500, "{reached}");
    }
}
