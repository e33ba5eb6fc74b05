//! What else may have a CPU on which threads have been admitted: threads of others, and what the kernel keeps for
//! ordinary threads. These rules come after those of [`admit`](super::admit), which are about those who are admitted
//! alone.
//!
//! A thread of another program is a [`Load`]: in each window of length `t > 0` it takes at most
//! `ceil(t / P) Q + X`, and where several such bounds are known, the least of them. The kernel keeps time from
//! real-time threads in two ways ([`Kept`]):
//!
//! - *Throttling* stops threads of SCHED_FIFO when they have had `Q` of a period `P`. It never acts if they execute at
//!   most `Q` in any window of length `P`.
//! - The *fair server* runs ordinary threads that have waited for `P - Q` of its period `P` without having had `Q`.
//!   It never acts if real-time threads execute at most `P - 2 Q` in any window of length `P - Q`: ordinary threads
//!   have had `Q` by then. Otherwise it is a load with `Q` of every `P`, and `Q` once more, because it may act late in
//!   one period and early in the next.
//!
//! # How much is executed in a window
//!
//! Let `b(u)` be what may arrive in a window of length `u`: the sum of `ceil(u / T) C`, and `X` of the loads. In any
//! window of length `w`, at most `w - u + b(u)` is executed, for each `u` in `(0, w]` ([`executed`]). Proof: let the
//! CPU be busy since `s` when the window starts, `L` after `s`. Up to `s + L + w` it has executed at most what arrived
//! up to `s + u`, which is `b(u)`, and everything in the rest, which is `L + w - u`. Before the window it executed `L`.
//!
//! # Response times
//!
//! A job of a task waits for every task of its level and above, and for all loads ([`response`]): the least fixed point
//! of the usual equation, for each job of the busy window, so that deadlines may be later than periods. It is an upper
//! bound whatever the order within a level: sufficient, and not exact.
//!
//! Long because the rules and the tests that hold them to simulated windows belong together.

use super::refusal::Shortfall;
use super::register::{Guarantee, Reservation};
use layland_model::{CpuSet, Duration, Service};

/// A thread that nobody has admitted, or another thing that comes above threads of fixed priorities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Load {
    /// What it is, for people.
    pub name: String,
    /// What it uses at most.
    pub usage: Usage,
    /// Another bound on that, over shorter periods.
    pub in_short: Option<Usage>,
    /// Whether it is throttled as threads of SCHED_FIFO are.
    pub is_throttled: bool,
}

/// A bound on what a load uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Processor time in each period.
    pub runtime: Service,
    /// The period.
    pub period: Duration,
    /// Processor time that may come once beside that.
    pub extra: Service,
}

/// What the kernel keeps from the real-time threads of each CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Threads of SCHED_FIFO and SCHED_RR are stopped when they have had so much of a period.
    Throttling {
        /// Whose limit it is, for people: a file of the kernel.
        of: String,
        /// What they may have.
        runtime: Duration,
        /// Of how much.
        period: Duration,
    },
    /// Ordinary threads get so much of a period, if they wait.
    FairServer {
        /// What they get.
        runtime: Duration,
        /// Of how much.
        period: Duration,
    },
}

/// An admitted task of a CPU, with its level: the smaller is the more urgent. Tasks of one level wait for each other.
#[derive(Clone, Copy, Debug)]
pub struct Leveled<'a> {
    /// The task.
    pub task: &'a Reservation,
    /// Its level.
    pub level: usize,
}

/// As much of a task or a load as matters here, in nanoseconds.
#[derive(Clone, Copy)]
struct Part {
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
        let (runtime, period) = (usage.runtime.ns().into(), usage.period.ns().max(1).into());
        Curve { runtime, period, extra: usage.extra.ns().into() }
    }

    fn arrives(&self, window: i128) -> i128 {
        (window + self.period - 1) / self.period * self.runtime + self.extra
    }
}

impl Part {
    fn of_task(task: &Reservation) -> Part {
        let (runtime, period, extra) = (task.runtime, task.period, Service::ZERO);
        Part { bound: Curve::of(&Usage { runtime, period, extra }), other: None }
    }

    fn of_load(load: &Load) -> Part {
        Part { bound: Curve::of(&load.usage), other: load.in_short.as_ref().map(Curve::of) }
    }

    /// What may arrive in a window of this length, which is not empty.
    fn arrives(&self, window: i128) -> i128 {
        let other = self.other.map_or(i128::MAX, |other| other.arrives(window));
        self.bound.arrives(window).min(other)
    }

    fn curves(&self) -> impl Iterator<Item = Curve> {
        [Some(self.bound), self.other].into_iter().flatten()
    }
}

/// The most that is executed in any window of this length: see the documentation of the module.
fn executed(parts: &[Part], window: i128) -> i128 {
    /// As many windows are tried of each part: each gives a bound.
    const TRIED: i128 = 64;
    let bound = |u: i128| window - u + parts.iter().map(|part| part.arrives(u)).sum::<i128>();
    let multiples = parts.iter().flat_map(Part::curves).flat_map(|curve| {
        let last = window / curve.period;
        ((last - TRIED).max(1)..=last).map(move |jobs| jobs * curve.period)
    });
    // In an empty window nothing arrives, and all of the CPU may be used.
    let first = if parts.is_empty() { 0 } else { window };
    multiples.chain([window]).filter(|&u| u > 0).map(bound).fold(first, i128::min)
}

fn duration(ns: i128) -> Duration {
    Duration::from_ns(i64::try_from(ns).unwrap_or(i64::MAX))
}

/// The longest response of a task of `runtime` and `period` below others, up to `limit`; `None` if it is longer, or is
/// not found.
fn response(own: Part, above: &[Part], limit: i128) -> Option<i128> {
    /// As many steps towards a fixed point, and as many jobs of one busy window.
    const STEPS: usize = 100_000;
    let own = own.bound;
    let mut worst = 0;
    let mut window = own.runtime + above.iter().map(|part| part.arrives(1)).sum::<i128>();
    let mut steps = 0;
    for job in 0.. {
        loop {
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

/// The load that the fair server is where real-time threads leave ordinary ones too little, and how much that is.
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

/// Whether the tasks of a CPU under fixed priorities keep their guarantees beside these loads, which come above all of
/// them, and what the kernel keeps.
///
/// # Errors
/// What is missing.
pub fn keeps_priorities(
    cpus: &CpuSet,
    tasks: &[Leveled<'_>],
    loads: &[Load],
    kept: &[Kept],
) -> Result<(), Box<Shortfall>> {
    let own: Vec<Part> = tasks.iter().map(|one| Part::of_task(one.task)).collect();
    let of_loads = |is_it: &dyn Fn(&Load) -> bool| -> Vec<Part> {
        loads.iter().filter(|load| is_it(load)).map(Part::of_load).collect()
    };
    let all = [own.clone(), of_loads(&|_| true)].concat();
    let throttled = [own, of_loads(&|load| load.is_throttled)].concat();
    let mut above = loads.to_vec();
    let mut why = None;
    let mut stopped = None;
    for one in kept {
        if let Kept::Throttling { of, runtime, period } = one {
            let demand = duration(executed(&throttled, period.ns().into()));
            if demand > *runtime && stopped.is_none() {
                let with = loads.iter().filter(|load| load.is_throttled);
                stopped = Some(Shortfall::Throttled {
                    cpus: cpus.clone(),
                    of: of.clone(),
                    with: with.map(|load| load.name.clone()).collect(),
                    demand,
                    limit: *runtime,
                    window: *period,
                });
            }
        }
        if let Some((load, shortfall)) = server_beside(&all, cpus, one) {
            above.push(load);
            why = Some(shortfall);
        }
    }
    // What is stopped is late by its own demand, whoever comes above it.
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

/// Whether tasks with servers, which all may use all of these CPUs, leave the fair server of the kernel nothing to do.
/// On several CPUs that is known of each task by itself: then [`LeavesRoom::OnEachAlone`].
///
/// # Errors
/// What is missing.
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
        // One alone may keep a CPU from ordinary threads, wherever it runs.
        if let Some((_, of_one)) = parts.iter().find_map(|part| server_beside(&[*part], cpus, one))
        {
            return Err(of_one.into());
        }
        room = LeavesRoom::OnEachAlone;
    }
    Ok(room)
}

/// Whether the fair server never acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeavesRoom {
    /// It does not, whatever ordinary threads there are.
    Always,
    /// It does not as long as no CPU of several is kept from ordinary threads by several tasks, one after the other.
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
        // What a kernel stopped for 50 ms of a second: 980 ms of 1 s are asked for.
        let busy = [task("ctl", (4_900, 10_000)), task("vision", (9_700, 20_000))];
        let said = keeps_priorities(&one_cpu(), &leveled(&busy), &[], &[throttling()]);
        let said = said.unwrap_err().to_string();
        assert_eq!(
            said,
            "real-time threads may use 975 ms of 1 s on CPU 0, and the kernel stops them after 950 ms \
             (sched_rt_runtime_us): 25 ms too much"
        );
        // Just as much as they may have, and what ran without a miss on the same kernel.
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
        // At most 900 ms of any 950 ms: it has nothing to do.
        assert_eq!(keeps(&[task("one", (9_000, 10_000))]), Ok(()));
        let refused = keeps(&[task("one", (9_700, 10_000))]).unwrap_err();
        assert!(matches!(*refused, Shortfall::FairServer { .. }), "{refused}");
        assert!(refused.to_string().contains("get 50 ms of every 1 s"), "{refused}");
        // Long jobs have time for what it takes: 50 ms in each of three periods, and once more.
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
        // One that would never let anybody run is no endless search.
        assert!(keeps(&own, load(20_000, 0)).is_err());
        // A tenth of a second at once is too much, and the same of every 20 ms is not.
        own.guarantee = Guarantee::Deadlines;
        let long = Load { usage: usage(100_000, 1_000, 100_000), ..load(0, 0) };
        assert!(keeps(&own, long.clone()).is_err());
        let in_short = Some(usage(2_000, 20, 2_000));
        assert_eq!(keeps(&own, Load { in_short, ..long.clone() }), Ok(()));
        // Together they bound more than each alone: 104 ms of 1 s are within a limit of 105 ms with neither.
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

    /// Marsaglia's xorshift: good enough for a bound that must hold for all.
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % bound
        }
    }

    /// The most that a simulated CPU executes in any window, with jobs that come as the numbers of a generator say.
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
        // A bound that is never reached would say little.
        assert!(reached > 500, "{reached}");
    }
}
