//! An executor: its rule, its supply and its callbacks.

use crate::Supply;
use layland_model::{Duration, Rate, Service, Time};
use std::collections::BTreeMap;

/// The kind of event to which a callback responds. Executors check the kinds in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallbackKind {
    /// The passing of time.
    Timer,
    /// A message of a topic.
    Subscription,
    /// A request of a client.
    Service,
    /// The response to a request.
    Client,
    /// Any other waitable.
    Waitable,
}

impl CallbackKind {
    /// All kinds, in the order in which an executor checks them.
    pub const ALL: [CallbackKind; 5] = [
        CallbackKind::Timer,
        CallbackKind::Subscription,
        CallbackKind::Service,
        CallbackKind::Client,
        CallbackKind::Waitable,
    ];

    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            CallbackKind::Timer => "timer",
            CallbackKind::Subscription => "subscription",
            CallbackKind::Service => "service",
            CallbackKind::Client => "client",
            CallbackKind::Waitable => "waitable",
        }
    }
}

/// The times at which executors with a ready set check timers. Versions of rclcpp differ in this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timers {
    /// At every decision, before the ready set.
    Live,
    /// At polling points only, like everything else.
    Snapshot,
}

/// The rule by which an executor selects the next callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExecutorKind {
    /// One thread, with a ready set that is filled at polling points.
    Default(Timers),
    /// One thread and one queue, in the order of activations.
    EventsFifo,
    /// One thread and one queue, the earliest deadline first.
    EventsEdf,
    /// One thread and one queue, the highest priority first.
    EventsFp,
    /// Several threads that share a ready set, each with its own CPU. Callback groups exclude each
    /// other.
    Multi {
        /// The times at which timers are checked.
        timers: Timers,
        /// The number of threads.
        threads: usize,
    },
}

impl ExecutorKind {
    /// The number of threads.
    pub const fn threads(self) -> usize {
        match self {
            ExecutorKind::Multi { threads, .. } => threads,
            ExecutorKind::Default(_)
            | ExecutorKind::EventsFifo
            | ExecutorKind::EventsEdf
            | ExecutorKind::EventsFp => 1,
        }
    }

    /// The times at which timers are checked, for the executors with a ready set.
    pub const fn timers(self) -> Option<Timers> {
        match self {
            ExecutorKind::Default(timers) | ExecutorKind::Multi { timers, .. } => Some(timers),
            ExecutorKind::EventsFifo | ExecutorKind::EventsEdf | ExecutorKind::EventsFp => None,
        }
    }

    /// The name in files and tables.
    pub const fn name(self) -> &'static str {
        match self {
            ExecutorKind::Default(_) => "default",
            ExecutorKind::EventsFifo => "events-fifo",
            ExecutorKind::EventsEdf => "events-edf",
            ExecutorKind::EventsFp => "events-fp",
            ExecutorKind::Multi { .. } => "multi",
        }
    }
}

/// The activations of a callback from outside the executor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// One per period, the first at the offset, each delayed by at most the jitter. Any half-open
    /// interval of length `d > 0` contains at most `ceil((d + jitter) / period)` of them.
    Periodic {
        /// The time from one activation to the next, without jitter.
        period: Duration,
        /// The time of the first activation, without jitter.
        offset: Duration,
        /// The maximum delay of each activation.
        jitter: Duration,
    },
    /// At these instants, in ascending order. Some may be equal.
    Listed(Vec<Time>),
}

impl Arrivals {
    /// One activation per period from the start, without jitter.
    pub const fn every(period: Duration) -> Arrivals {
        Arrivals::Periodic { period, offset: Duration::ZERO, jitter: Duration::ZERO }
    }
}

/// A callback of an executor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callback {
    /// Its name, for people.
    pub name: String,
    /// The kind of event to which it responds.
    pub kind: CallbackKind,
    /// Its maximum execution time.
    pub wcet: Service,
    /// Its activations from outside; `None` if only other callbacks activate it.
    pub arrivals: Option<Arrivals>,
    /// The callbacks that are activated when it ends, by index.
    pub next: Vec<usize>,
    /// Its group: only one callback of a group runs at a time. A callback without a group forms its
    /// own group.
    pub group: Option<usize>,
    /// True if it may run while others of its group run, and concurrently with itself.
    pub reentrant: bool,
    /// The relative deadline, by which `events-edf` orders.
    pub deadline: Option<Duration>,
    /// The priority, by which `events-fp` orders: the smallest number first.
    pub priority: Option<i64>,
}

impl Callback {
    /// A callback without activations.
    pub fn new(name: impl Into<String>, kind: CallbackKind, wcet: Service) -> Callback {
        Callback {
            name: name.into(),
            kind,
            wcet,
            arrivals: None,
            next: Vec::new(),
            group: None,
            reentrant: false,
            deadline: None,
            priority: None,
        }
    }

    /// Adds activations from outside.
    #[must_use]
    pub fn arriving(self, arrivals: Arrivals) -> Callback {
        Callback { arrivals: Some(arrivals), ..self }
    }

    /// Adds callbacks that it activates when it ends.
    #[must_use]
    pub fn then(self, next: impl IntoIterator<Item = usize>) -> Callback {
        Callback { next: next.into_iter().collect(), ..self }
    }
}

/// An executor with its callbacks, in the order of their registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executor {
    /// The rule by which it selects callbacks.
    pub kind: ExecutorKind,
    /// The times at which its thread gets a CPU.
    pub supply: Supply,
    /// Its callbacks.
    pub callbacks: Vec<Callback>,
}

impl Executor {
    /// An executor with a dedicated CPU for each thread.
    pub const fn new(kind: ExecutorKind, callbacks: Vec<Callback>) -> Executor {
        Executor { kind, supply: Supply::Always, callbacks }
    }

    /// Replaces the supply.
    #[must_use]
    pub fn supplied(self, supply: Supply) -> Executor {
        Executor { supply, ..self }
    }

    /// The key by which callbacks are ordered: by kind, then by registration.
    pub(crate) fn order(&self, callback: usize) -> (CallbackKind, usize) {
        (self.callbacks[callback].kind, callback)
    }

    /// The chains: every path along `next` from a callback with activations from outside to one
    /// that activates no other. Returns at most `limit` of them, because their number can be
    /// exponential.
    pub fn chains(&self, limit: usize) -> Vec<Vec<usize>> {
        let mut found = Vec::new();
        for source in (0..self.callbacks.len()).filter(|&at| self.callbacks[at].arrivals.is_some())
        {
            let mut open = vec![vec![source]];
            while let Some(path) = open.pop() {
                if found.len() >= limit {
                    return found;
                }
                let next = path.last().map_or(&[][..], |&last| &self.callbacks[last].next);
                if next.is_empty() && path.len() > 1 {
                    found.push(path);
                    continue;
                }
                for &follower in next.iter().rev() {
                    open.push(path.iter().copied().chain([follower]).collect());
                }
            }
        }
        found
    }

    /// Returns the callbacks that need more processor time than they can get, so that response times
    /// grow without bound: all of them, or those of a group, of which one thread at a time executes
    /// one. `None` if there are none, or if activations or the supply are listed. Necessary: without an
    /// overload response times may still have no bound.
    pub fn overload(&self) -> Option<Overload> {
        let needs = self.needs()?;
        let thread = match self.supply {
            Supply::Always => Rate::ONE,
            Supply::Server { period, budget } => Rate::new(budget.ns(), period.ns()),
            Supply::Intervals(_) => return None,
        };
        let gets = &Rate::whole(self.kind.threads() as i64) * &thread;
        let all = Overload {
            callbacks: (0..needs.len()).collect(),
            needs: needs.iter().cloned().sum(),
            gets,
            is_group: false,
        };
        if all.needs > all.gets {
            return Some(all);
        }
        let mut groups: BTreeMap<Result<usize, usize>, Vec<usize>> = BTreeMap::new();
        for (at, callback) in self.callbacks.iter().enumerate().filter(|(_, one)| !one.reentrant) {
            // A callback without a group is a group of its own.
            groups.entry(callback.group.ok_or(at)).or_default().push(at);
        }
        let of_group = |callbacks: Vec<usize>| {
            let needs = callbacks.iter().map(|&at| needs[at].clone()).sum();
            Overload { callbacks, needs, gets: thread.clone(), is_group: true }
        };
        groups.into_values().map(of_group).find(|group| group.needs > group.gets)
    }

    /// Returns the processor time that each callback needs per unit of time in the long run; `None` if activations are
    /// listed.
    fn needs(&self) -> Option<Vec<Rate>> {
        let own = |callback: &Callback| match &callback.arrivals {
            None => Some(Rate::ZERO),
            Some(Arrivals::Periodic { period, .. }) => Some(Rate::new(1, period.ns())),
            Some(Arrivals::Listed(_)) => None,
        };
        let own: Vec<Rate> = self.callbacks.iter().map(own).collect::<Option<_>>()?;
        // Activations per ns. A path has no callback twice, so as many rounds as callbacks suffice.
        let mut rates = own.clone();
        for _ in &self.callbacks {
            let mut next = own.clone();
            for (callback, rate) in self.callbacks.iter().zip(&rates) {
                callback.next.iter().for_each(|&follower| next[follower] = &next[follower] + rate);
            }
            if next == rates {
                break;
            }
            rates = next;
        }
        let needs = self.callbacks.iter().zip(&rates);
        Some(needs.map(|(callback, rate)| rate * &Rate::whole(callback.wcet.ns())).collect())
    }
}

/// Callbacks that need more processor time than they can get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overload {
    /// The callbacks, in ascending order.
    pub callbacks: Vec<usize>,
    /// The processor time that they need per unit of time.
    pub needs: Rate,
    /// The processor time that there is for them per unit of time.
    pub gets: Rate,
    /// True if they are a group, of which one executes at a time; otherwise they are all callbacks.
    pub is_group: bool,
}
