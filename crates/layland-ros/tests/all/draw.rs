//! Random executors with random activations, demands and supplies.

use layland_model::{Duration, Service, Time};
use layland_ros::{Arrivals, Callback, CallbackKind, Executor, ExecutorKind, Supply, Timers};
use proptest::prelude::*;

/// An executor with the inputs of one run.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// The executor; its supply is a server, or always.
    pub(crate) executor: Executor,
    /// The executor with one supply that the server may provide.
    pub(crate) placed: Executor,
    pub(crate) arrivals: Vec<Vec<Time>>,
    seed: u64,
}

impl Case {
    /// The work of a job: at most the WCET, and usually all of it.
    pub(crate) fn work(&self, callback: usize, number: u64) -> Service {
        let wcet = self.executor.callbacks[callback].wcet.ns();
        let mut draw = Draw(self.seed ^ (number << 8) ^ callback as u64);
        let less = draw.below(3) == 0;
        Service::from_ns(if less { draw.below(wcet + 1) } else { wcet })
    }
}

/// SplitMix64 (Steele et al., OOPSLA 2014).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: i64) -> i64 {
        i64::try_from(self.next() % u64::try_from(end.max(1)).unwrap()).unwrap()
    }
}

fn kind(threads: bool) -> impl Strategy<Value = ExecutorKind> {
    let timers = prop_oneof![Just(Timers::Live), Just(Timers::Snapshot)];
    let one = prop_oneof![
        4 => Just(ExecutorKind::Default(Timers::Live)),
        1 => Just(ExecutorKind::Default(Timers::Snapshot)),
        2 => Just(ExecutorKind::EventsFifo),
        1 => Just(ExecutorKind::EventsEdf),
        1 => Just(ExecutorKind::EventsFp),
    ];
    let several =
        (timers, 1_usize..4).prop_map(|(timers, threads)| ExecutorKind::Multi { timers, threads });
    if threads { prop_oneof![one, several].boxed() } else { one.boxed() }
}

/// Draws any executor, or one with a single thread. The work usually fits the supply.
pub(crate) fn case(threads: bool, chains: bool) -> impl Strategy<Value = Case> {
    (kind(threads), 1_usize..6, any::<u64>())
        .prop_map(move |(kind, count, seed)| make(kind, count, seed, chains))
}

fn make(kind: ExecutorKind, count: usize, seed: u64, chains: bool) -> Case {
    let mut draw = Draw(seed);
    let ns = Duration::from_ns;
    let is_source: Vec<bool> =
        (0..count).map(|at| !chains || at == 0 || draw.below(3) > 0).collect();
    // A callback has a larger index here than its activators, and any place in the order of the
    // executor.
    let mut places: Vec<usize> = (0..count).collect();
    (1..count)
        .rev()
        .for_each(|at| places.swap(at, usize::try_from(draw.below(at as i64 + 1)).unwrap()));
    let mut callbacks = vec![None; count];
    let mut arrivals = vec![Vec::new(); count];
    let mut next = vec![Vec::new(); count];
    for at in (1..count).filter(|&at| !is_source[at]) {
        let from = usize::try_from(draw.below(at as i64)).unwrap();
        next[from].push(places[at]);
        let also = usize::try_from(draw.below(at as i64)).unwrap();
        if also != from && draw.below(3) == 0 {
            next[also].push(places[at]);
        }
    }
    for at in 0..count {
        let place = places[at];
        let kind = CallbackKind::ALL
            [usize::try_from([0, 0, 1, 1, 1, 2, 3, 4][draw.next() as usize % 8]).unwrap()];
        let wcet = Service::from_ns(i64::from(draw.below(12) > 0) * (1 + draw.below(5)));
        let period = 12 + draw.below(14 * count as i64);
        let jitter = if draw.below(2) == 0 { draw.below(period + 4) } else { 0 };
        let offset = draw.below(4) * draw.below(8);
        let name = place.to_string();
        let mut callback = Callback {
            group: (draw.below(2) == 0).then(|| usize::try_from(draw.below(2)).unwrap()),
            reentrant: draw.below(4) == 0,
            deadline: Some(ns(draw.below(30))),
            priority: Some(draw.below(3)),
            ..Callback::new(name, kind, wcet).then(std::mem::take(&mut next[at]))
        };
        if is_source[at] {
            let [period, offset, jitter] = [period, offset, jitter].map(ns);
            callback = callback.arriving(Arrivals::Periodic { period, offset, jitter });
            // Close together: the first one delayed by all of its jitter, or each by a random part
            // of it.
            let together = draw.below(2) == 0;
            let mut times: Vec<Time> = (0..)
                .map(|k| Time::ZERO + offset + period * k)
                .take_while(|&at| at < Time::from_ns(160))
                .map(|at| {
                    if together {
                        at.max(Time::ZERO + offset + jitter)
                    } else {
                        at + ns(draw.below(jitter.ns() + 1))
                    }
                })
                .collect();
            times.sort_unstable();
            arrivals[place] = times;
        }
        callbacks[place] = Some(callback);
    }
    let callbacks = callbacks.into_iter().map(Option::unwrap).collect();
    let executor = Executor::new(kind, callbacks);
    if matches!(kind, ExecutorKind::Multi { .. }) || draw.below(3) == 0 {
        return Case { placed: executor.clone(), executor, arrivals, seed };
    }
    let period = 2 + draw.below(10);
    let budget = period - draw.below(period / 2 + 1);
    let late = draw.below(2) == 0;
    let mut intervals: Vec<(Time, Time)> = Vec::new();
    for k in 0..4000 / period {
        // The budget is in one piece or in two; early, late or anywhere.
        let slack = period - budget;
        let gap = if late { i64::from(k > 0) * slack } else { draw.below(slack + 1) };
        let first = if draw.below(3) == 0 { draw.below(budget + 1) } else { budget };
        let start = k * period + gap;
        let again = if late { start + first } else { start + first + draw.below(slack - gap + 1) };
        for (start, end) in [(start, start + first), (again, again + budget - first)] {
            let [start, end] = [start, end].map(Time::from_ns);
            match intervals.last_mut() {
                _ if start == end => {}
                Some(last) if last.1 == start => last.1 = end,
                _ => intervals.push((start, end)),
            }
        }
    }
    let placed = executor.clone().supplied(Supply::Intervals(intervals));
    let [period, budget] = [period, budget].map(ns);
    let executor = executor.supplied(Supply::Server { period, budget });
    Case { executor, placed, arrivals, seed }
}
