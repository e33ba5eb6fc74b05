//! Bounds on response times and on latencies of chains, for executors with one thread.
//!
//! [`all`] runs every analysis that applies to an executor and keeps each result. Each result is
//! valid by itself, so the least one is the answer. The analyses are also available as functions.
//! There is no bound for executors with several threads.

mod casini;
mod curves;
mod named;
mod starvation;

pub use casini::{casini_chain, casini_polled, casini_timer, fifo};
pub use curves::{Load, SupplyBound};
pub use named::{BEDARKAR, BLASS, CASINI};
pub use starvation::{Theorem, busy_window, iterate, round_robin};

use crate::{Arrivals, CallbackKind, Executor, ExecutorKind, Supply, Timers};
use layland_model::{Duration, Service};

/// The analysis that provides a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Analysis {
    /// [`casini_timer`].
    CasiniTimer,
    /// [`casini_polled`].
    CasiniPolled,
    /// [`casini_chain`].
    CasiniChain,
    /// [`round_robin`], iterated.
    RoundRobin,
    /// [`busy_window`], iterated.
    BusyWindow,
    /// [`fifo`].
    Fifo,
}

impl Analysis {
    /// A short name, for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Analysis::CasiniTimer => "casini-timer",
            Analysis::CasiniPolled => "casini-polled",
            Analysis::CasiniChain => "casini-chain",
            Analysis::RoundRobin => "rr",
            Analysis::BusyWindow => "bw",
            Analysis::Fifo => "fifo",
        }
    }
}

/// A bound, with its analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The analysis.
    pub analysis: Analysis,
    /// The maximum time from the activation of a job to its end.
    pub response: Duration,
}

/// The reason why there is no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoBound {
    /// No analysis here covers executors with several threads.
    SeveralThreads,
    /// The supply is a list of intervals, and its continuation is unknown.
    ListedSupply,
    /// The activations of this callback are a list, and their continuation is unknown.
    ListedActivations(usize),
    /// Every analysis that applies exceeds the limit: there may be too much work for the supply.
    AboveLimit,
}

/// All bounds of one callback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The results of the analyses that apply and stay within the limit.
    pub found: Vec<Bound>,
    /// The reason why there are none.
    pub none: Option<NoBound>,
}

impl Bounds {
    /// The least bound; among equal ones the first.
    pub fn best(&self) -> Option<Bound> {
        self.found.iter().copied().min_by_key(|bound| bound.response)
    }
}

/// The load of an executor, by source: callback `end` runs for each activation of `source` once for
/// each path that leads to it.
struct Flow {
    source: usize,
    end: usize,
    load: Load,
}

/// The bounds of all callbacks of a valid executor.
///
/// The response time counts from the activation. For a callback that others activate it is at most
/// the latency of its longest chain, which is used as its bound.
pub fn all(executor: &Executor, limit: Duration) -> Vec<Bounds> {
    let count = executor.callbacks.len();
    let (supply, flows) = match prepare(executor) {
        Ok(prepared) => prepared,
        Err(none) => return vec![Bounds { found: Vec::new(), none: Some(none) }; count],
    };
    let timers = ExecutorKind::Default(Timers::Live);
    let alone = executor.callbacks.iter().all(|one| one.next.is_empty());
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|&at| executor.order(at));
    let load = |at: usize| {
        flows.iter().find(|flow| flow.source == at && flow.end == at).map(|flow| flow.load)
    };
    let in_order: Option<Vec<Load>> = order.iter().map(|&at| load(at)).collect();
    let in_order = in_order.filter(|_| alone);
    let iterated = |theorem| match &in_order {
        Some(all) if executor.kind == timers => iterate(all, theorem, supply, limit),
        _ => None,
    };
    let (rr, bw) = (iterated(round_robin), iterated(busy_window));
    let queue = in_order.as_ref().filter(|_| executor.kind == ExecutorKind::EventsFifo);
    let queue = queue.and_then(|all| fifo(all, supply, limit));
    (0..count)
        .map(|at| {
            let place = order.iter().position(|&other| other == at).unwrap_or(at);
            let in_place = |all: &Option<Vec<Duration>>| all.as_ref().map(|all| all[place]);
            let whole = || {
                let to = flows.iter().filter(|flow| flow.end == at);
                to.map(|flow| latency_of(flow, &flows, supply, limit))
                    // A flow without a bound leaves the callback without one.
                    .max_by_key(|one| one.unwrap_or(Duration::MAX))?
            };
            let is_source = !executor.callbacks.iter().any(|one| one.next.contains(&at));
            let of_all = if is_source { Analysis::CasiniPolled } else { Analysis::CasiniChain };
            let candidates = [
                (Analysis::CasiniTimer, timer(executor, at, &order, &flows, supply, limit)),
                (of_all, whole()),
                (Analysis::RoundRobin, in_place(&rr)),
                (Analysis::BusyWindow, in_place(&bw)),
                (Analysis::Fifo, queue),
            ];
            let found: Vec<Bound> = candidates
                .into_iter()
                .filter_map(|(analysis, response)| Some(Bound { analysis, response: response? }))
                .collect();
            let none = found.is_empty().then_some(NoBound::AboveLimit);
            Bounds { found, none }
        })
        .collect()
}

/// The time from an activation of the first callback of a chain to the end of the last one.
///
/// # Errors
/// Returns the reason why there is no bound.
pub fn latency(executor: &Executor, chain: &[usize], limit: Duration) -> Result<Duration, NoBound> {
    let (supply, flows) = prepare(executor)?;
    let flow = chain.first().zip(chain.last()).and_then(|(&source, &end)| {
        flows.iter().find(|flow| flow.source == source && flow.end == end)
    });
    flow.and_then(|flow| latency_of(flow, &flows, supply, limit)).ok_or(NoBound::AboveLimit)
}

fn latency_of(
    flow: &Flow,
    flows: &[Flow],
    supply: SupplyBound,
    limit: Duration,
) -> Option<Duration> {
    casini_chain(flow.load, &[], &others(flow, flows), supply, limit)
}

/// The load of the executor besides one job of a flow. If paths from a source meet again, they run
/// a callback several times.
fn others(flow: &Flow, flows: &[Flow]) -> Vec<Load> {
    flows.iter().filter(|other| !std::ptr::eq(*other, flow)).map(|other| other.load).collect()
}

fn timer(
    executor: &Executor,
    at: usize,
    order: &[usize],
    flows: &[Flow],
    supply: SupplyBound,
    limit: Duration,
) -> Option<Duration> {
    let is_timer = executor.callbacks[at].kind == CallbackKind::Timer;
    if executor.kind != ExecutorKind::Default(Timers::Live) || !is_timer {
        return None;
    }
    let place = order.iter().position(|&other| other == at)?;
    let (before, after) = (&order[..place], &order[place + 1..]);
    // Only timers that are activated by time alone: a timer that another callback activates does
    // not follow the arrivals of its source.
    let load = |one: usize| -> Option<Load> {
        let mut to = flows.iter().filter(|flow| flow.end == one);
        to.next().filter(|flow| flow.source == one && to.next().is_none()).map(|flow| flow.load)
    };
    let own = load(at)?;
    let before: Vec<Load> = before.iter().map(|&one| load(one)).collect::<Option<_>>()?;
    let longest = after.iter().map(|&one| executor.callbacks[one].wcet).max();
    casini_timer(own, &before, longest.unwrap_or(Service::ZERO), supply, limit)
}

/// The supply and the flows of an executor, or the reason why it has no bounds. If several paths
/// lead from one source to a callback, the callback has a flow for one job, and a second one for
/// the others.
fn prepare(executor: &Executor) -> Result<(SupplyBound, Vec<Flow>), NoBound> {
    if matches!(executor.kind, ExecutorKind::Multi { .. }) {
        return Err(NoBound::SeveralThreads);
    }
    let supply = match executor.supply {
        Supply::Always => Some(SupplyBound::ALWAYS),
        Supply::Server { period, budget } => SupplyBound::server(period, budget),
        Supply::Intervals(_) => None,
    };
    let supply = supply.ok_or(NoBound::ListedSupply)?;
    let mut flows = Vec::new();
    for (source, callback) in executor.callbacks.iter().enumerate() {
        let (period, jitter) = match callback.arrivals {
            None => continue,
            Some(Arrivals::Periodic { period, jitter, .. }) => (period, jitter),
            Some(Arrivals::Listed(_)) => return Err(NoBound::ListedActivations(source)),
        };
        for (end, paths) in
            paths_from(executor, source).into_iter().enumerate().filter(|one| one.1 > 0)
        {
            let one = &executor.callbacks[end];
            let polled = one.kind != CallbackKind::Timer;
            // A job without work needs an instant of supply to begin, which no bound counts: one
            // nanosecond stands for it.
            let wcet = one.wcet.max(Service::from_ns(1));
            let load = Load { wcet, period, jitter, polled };
            flows.push(Flow { source, end, load });
            if paths > 1 {
                let more = wcet.ns().saturating_mul(paths - 1);
                let load = Load { wcet: Service::from_ns(more), ..load };
                flows.push(Flow { source, end: usize::MAX, load });
            }
        }
    }
    Ok((supply, flows))
}

/// The number of paths from a callback to each callback. The graph is acyclic.
fn paths_from(executor: &Executor, source: usize) -> Vec<i64> {
    let mut order = Vec::new();
    let mut seen = vec![false; executor.callbacks.len()];
    let mut open = vec![(source, false)];
    // Post-order: each callback comes after all callbacks that it activates; reversed, it comes
    // before them.
    while let Some((at, done)) = open.pop() {
        if done {
            order.push(at);
        } else if !std::mem::replace(&mut seen[at], true) {
            open.push((at, true));
            open.extend(executor.callbacks[at].next.iter().map(|&next| (next, false)));
        }
    }
    let mut paths = vec![0_i64; seen.len()];
    paths[source] = 1;
    for &at in order.iter().rev() {
        for &next in &executor.callbacks[at].next {
            paths[next] = paths[next].saturating_add(paths[at]);
        }
    }
    paths
}
