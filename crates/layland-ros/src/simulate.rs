//! Simulates an executor.
//!
//! **`default`** keeps a ready set. When the set is empty, the executor polls: the ready set
//! becomes every callback that has an activation, and at most one job of each runs until the next
//! polling point. Live timers are not part of the ready set; they come before it at every decision
//! (Casini et al., ECRTS 2019, Section 3). Snapshot timers are part of it like the others.
//! **`events-*`** has one queue and no ready set. **`multi`** has several threads that share a
//! ready set; a callback whose group is busy is skipped, and a new poll drops it.
//!
//! At one instant, in this order:
//! 1. ends, by thread;
//! 2. activations, by callback; among those of one callback, first those from outside, then by the
//!    order of their causes;
//! 3. decisions of idle threads, by thread, if the instant is supplied;
//! 4. steps 1 to 3 again if a job without work has begun.
//!
//! Decisions take no time. A decision that falls into a gap of the supply is made when the supply
//! returns, with all activations up to then. Activations wait in a queue of their callback: none is
//! lost, and none is merged with another. In reality, a timer skips periods that it missed, and a
//! subscription has a bounded depth. Both can only remove work.

use crate::{
    Arrivals, CallbackKind, Executor, ExecutorFault, ExecutorKind, Job, Part, Record, Timers,
};
use layland_model::{Duration, Service, Time};
use std::collections::{BTreeSet, VecDeque};

/// The maximum number of activations from outside that [`run`] simulates.
pub const MAX_ACTIVATIONS: usize = 5_000_000;

/// Simulates an executor until all activations from outside before `until` have been processed.
///
/// Every job executes its WCET. Periodic activations are as close together as their jitter allows:
/// the first one of a callback is delayed by all of its jitter, the others are on time or, if the
/// jitter spans periods, coincide with it. The budget of a server comes at the times that
/// [`Supply::Server`](crate::Supply::Server) describes. This is only one of many runs: its
/// latencies are lower bounds of the worst case.
///
/// # Errors
/// Returns an error if the executor is not valid, or if there are more than [`MAX_ACTIVATIONS`].
pub fn run(executor: &Executor, until: Duration) -> Result<Record, Vec<ExecutorFault>> {
    let mut faults = executor.validate();
    let until = Time::ZERO + until;
    if faults.is_empty() {
        let mut left = MAX_ACTIVATIONS;
        for (at, callback) in executor.callbacks.iter().enumerate() {
            if let Some(Arrivals::Periodic { period, .. }) = callback.arrivals {
                let count =
                    usize::try_from(until.since_start().div_ceil(period)).unwrap_or(usize::MAX);
                left = left.saturating_sub(count);
                if left == 0 {
                    faults.push(ExecutorFault {
                        part: Part::Callback(at, "period"),
                        message: format!("more than {MAX_ACTIVATIONS} activations until {until}"),
                        help: "simulate a shorter time".to_owned(),
                    });
                    break;
                }
            }
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let arrivals: Vec<Vec<Time>> =
        executor.callbacks.iter().map(|one| activations(one.arrivals.as_ref(), until)).collect();
    Ok(simulate(executor, &arrivals, |callback, _| executor.callbacks[callback].wcet))
}

/// The activations from outside before `until`.
fn activations(arrivals: Option<&Arrivals>, until: Time) -> Vec<Time> {
    match arrivals {
        None => Vec::new(),
        Some(Arrivals::Listed(all)) => all.iter().copied().filter(|&at| at < until).collect(),
        Some(&Arrivals::Periodic { period, offset, jitter }) => {
            let first = Time::ZERO + offset + jitter;
            let mut all = Vec::new();
            let mut at = Time::ZERO + offset;
            while at.max(first) < until {
                all.push(at.max(first));
                at += period;
            }
            all
        }
    }
}

/// An activation that waits for its job to begin.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    number: u64,
    activation: Time,
    origin: Time,
    source: usize,
    /// The number of earlier activations, of all callbacks.
    came: u64,
}

/// The job that runs on a thread.
#[derive(Clone, Copy, Debug)]
struct Running {
    callback: usize,
    origin: Time,
    source: usize,
    finish: Time,
}

struct Simulation<'e> {
    executor: &'e Executor,
    waiting: Vec<VecDeque<Waiting>>,
    numbers: Vec<u64>,
    came: u64,
    /// In the order of the executor.
    ready: BTreeSet<(CallbackKind, usize)>,
    threads: Vec<Option<Running>>,
    record: Record,
}

/// Simulates an executor with these activations from outside, per callback and in order, until
/// nothing is left to do or the supply ends. `work` returns the work of a job, by callback and
/// number.
///
/// # Panics
/// Panics if the executor is not valid.
pub fn simulate(
    executor: &Executor,
    arrivals: &[Vec<Time>],
    mut work: impl FnMut(usize, u64) -> Service,
) -> Record {
    let mut arriving: Vec<(Time, usize)> = Vec::new();
    for (callback, times) in arrivals.iter().enumerate() {
        arriving.extend(times.iter().map(|&at| (at, callback)));
    }
    arriving.sort_unstable();
    let mut arriving = arriving.into_iter().peekable();
    let count = executor.callbacks.len();
    let mut run = Simulation {
        executor,
        waiting: vec![VecDeque::new(); count],
        numbers: vec![0; count],
        came: 0,
        ready: BTreeSet::new(),
        threads: vec![None; executor.kind.threads()],
        record: Record::default(),
    };
    let mut now = Time::ZERO;
    loop {
        // Activations of the instant: the callback, whether another callback caused it, its order,
        // and its origin and source.
        let mut activated: Vec<(usize, bool, usize, Time, usize)> = Vec::new();
        for thread in 0..run.threads.len() {
            if let Some(ended) = run.threads[thread].take_if(|running| running.finish == now) {
                for &next in &executor.callbacks[ended.callback].next {
                    activated.push((next, true, activated.len(), ended.origin, ended.source));
                }
            }
        }
        while let Some((at, callback)) = arriving.next_if(|&(at, _)| at <= now) {
            activated.push((callback, false, activated.len(), at, callback));
        }
        // Sort by callback; activations from outside come first, then the others by cause.
        activated.sort_unstable();
        for (callback, _, _, origin, source) in activated {
            run.activate(callback, now, origin, source);
        }
        let supplied = executor.supply.first_from(now) == Some(now);
        if supplied {
            for thread in 0..run.threads.len() {
                if run.threads[thread].is_none() {
                    run.decide(now, thread, &mut work);
                }
            }
        }
        // A thread that could not decide for lack of supply decides when the supply returns.
        let unheard = !supplied && run.is_waiting() && run.threads.iter().any(Option::is_none);
        let again = if unheard { executor.supply.first_from(now) } else { None };
        let ends = run.threads.iter().flatten().map(|running| running.finish);
        let next = ends.chain(arriving.peek().map(|&(at, _)| at)).chain(again).min();
        match next {
            Some(next) if next != Time::NEVER => now = next,
            _ => break,
        }
    }
    run.record.waiting = run.waiting.iter().map(VecDeque::len).sum();
    run.record
}

impl Simulation<'_> {
    fn activate(&mut self, callback: usize, activation: Time, origin: Time, source: usize) {
        let number = self.numbers[callback];
        self.numbers[callback] += 1;
        self.waiting[callback].push_back(Waiting {
            number,
            activation,
            origin,
            source,
            came: self.came,
        });
        self.came += 1;
    }

    fn is_waiting(&self) -> bool {
        self.waiting.iter().any(|queue| !queue.is_empty())
    }

    /// Starts the next job on an idle thread, if there is one.
    fn decide(&mut self, now: Time, thread: usize, work: &mut impl FnMut(usize, u64) -> Service) {
        let chosen = match self.executor.kind.timers() {
            Some(timers) => self.next_of_ready_set(now, timers),
            None => self.first_of_queue(),
        };
        let Some(callback) = chosen else { return };
        let waiting =
            self.waiting[callback].pop_front().expect("only what has an activation is chosen");
        let work = work(callback, waiting.number);
        let finish = self.executor.supply.end_of(now, work).unwrap_or(Time::NEVER);
        self.threads[thread] =
            Some(Running { callback, origin: waiting.origin, source: waiting.source, finish });
        let Waiting { number, activation, origin, source, .. } = waiting;
        let job =
            Job { callback, number, activation, origin, source, start: now, finish, work, thread };
        self.record.jobs.push(job);
    }

    /// `events-*`: the first of the queue. The first activation of a callback is the least one of
    /// that callback.
    fn first_of_queue(&self) -> Option<usize> {
        let heads =
            self.waiting.iter().enumerate().filter_map(|(at, queue)| Some((at, *queue.front()?)));
        let key = |&(at, head): &(usize, Waiting)| -> (i64, Time, usize) {
            let callback = &self.executor.callbacks[at];
            match self.executor.kind {
                ExecutorKind::EventsEdf => {
                    let deadline = callback.deadline.unwrap_or(Duration::MAX);
                    (head.activation.saturating_add(deadline).ns(), head.activation, at)
                }
                ExecutorKind::EventsFp => {
                    (callback.priority.unwrap_or(i64::MAX), head.activation, at)
                }
                ExecutorKind::EventsFifo
                | ExecutorKind::Default(_)
                | ExecutorKind::Multi { .. } => {
                    (i64::try_from(head.came).unwrap_or(i64::MAX), head.activation, at)
                }
            }
        };
        heads.min_by_key(key).map(|(at, _)| at)
    }

    /// The decision of `default` and `multi`.
    fn next_of_ready_set(&mut self, now: Time, timers: Timers) -> Option<usize> {
        let order = |at: usize| self.executor.order(at);
        let can_run = |at: usize| !self.waiting[at].is_empty() && self.is_free(at);
        let is_live = |at: usize| timers == Timers::Live && order(at).0 == CallbackKind::Timer;
        let all = || 0..self.waiting.len();
        // (1) The first timer that is due.
        if let Some(timer) = all().find(|&at| is_live(at) && can_run(at)) {
            return Some(timer);
        }
        // (2) The first of the ready set, or (3) of a new one. The rest of the old set is dropped:
        // it is only nonempty if its groups are busy, and its callbacks return at a later polling
        // point.
        let first = self.ready.iter().copied().find(|&(_, at)| self.is_free(at));
        let first = match first {
            Some(first) => first,
            None => {
                let polled: BTreeSet<_> =
                    all().filter(|&at| !is_live(at) && can_run(at)).map(order).collect();
                let first = *polled.first()?;
                self.ready = polled;
                self.record.polls.push(now);
                first
            }
        };
        self.ready.remove(&first);
        Some(first.1)
    }

    /// Returns true if no callback of its group runs. Reentrant callbacks neither wait nor make
    /// others wait.
    fn is_free(&self, at: usize) -> bool {
        let group = |at: usize| {
            let callback = &self.executor.callbacks[at];
            // A callback without a group forms its own group.
            (!callback.reentrant).then(|| callback.group.ok_or(at))
        };
        let Some(wanted) = group(at) else { return true };
        self.threads.iter().flatten().all(|running| group(running.callback) != Some(wanted))
    }
}
