//! What an executor is: its rule, its supply and its callbacks.

use crate::Supply;
use layland_model::{Duration, Service, Time};

/// What a callback answers to. The order is that in which an executor looks at them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallbackKind {
    /// The passing of time.
    Timer,
    /// A message of a topic.
    Subscription,
    /// A request.
    Service,
    /// The answer to a request.
    Client,
    /// Anything else that can be waited for.
    Waitable,
}

impl CallbackKind {
    /// All kinds, in the order in which an executor looks at them.
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

/// When the executors with a ready set look at timers. Versions of rclcpp differ in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timers {
    /// At every decision, before the ready set.
    Live,
    /// At polling points alone, like everything else.
    Snapshot,
}

/// The rule by which an executor chooses what to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExecutorKind {
    /// One thread, with a ready set that is filled at polling points.
    Default(Timers),
    /// One thread and one queue, in the order in which activations come in.
    EventsFifo,
    /// One thread and one queue, the earliest deadline first.
    EventsEdf,
    /// One thread and one queue, the highest priority first.
    EventsFp,
    /// Several threads that share a ready set, each with a CPU of its own. Callback groups exclude each other.
    Multi {
        /// When timers are looked at.
        timers: Timers,
        /// How many threads there are.
        threads: usize,
    },
}

impl ExecutorKind {
    /// How many threads there are.
    pub const fn threads(self) -> usize {
        match self {
            ExecutorKind::Multi { threads, .. } => threads,
            ExecutorKind::Default(_)
            | ExecutorKind::EventsFifo
            | ExecutorKind::EventsEdf
            | ExecutorKind::EventsFp => 1,
        }
    }

    /// When timers are looked at, for the executors with a ready set.
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

/// What activates a callback from outside of the executor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// Every period, first at the offset, each up to the jitter late. In any interval of a length `d > 0`, half open,
    /// are at most `ceil((d + jitter) / period)` of them.
    Periodic {
        /// The time from one to the next, without jitter.
        period: Duration,
        /// When the first comes, without jitter.
        offset: Duration,
        /// How late each may be.
        jitter: Duration,
    },
    /// At these instants, which ascend. Some may be equal.
    Listed(Vec<Time>),
}

impl Arrivals {
    /// Every period from the start, without jitter.
    pub const fn every(period: Duration) -> Arrivals {
        Arrivals::Periodic { period, offset: Duration::ZERO, jitter: Duration::ZERO }
    }
}

/// A callback of an executor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callback {
    /// Its name, for people.
    pub name: String,
    /// What it answers to.
    pub kind: CallbackKind,
    /// What it executes at most.
    pub wcet: Service,
    /// What activates it from outside; `None` if other callbacks alone do.
    pub arrivals: Option<Arrivals>,
    /// The callbacks that are activated when it ends, by index.
    pub next: Vec<usize>,
    /// Its group: of the callbacks of one group, one runs at a time. Without one it is a group of its own.
    pub group: Option<usize>,
    /// Whether it may run while others of its group do, and while it runs itself.
    pub reentrant: bool,
    /// The relative deadline, by which `events-edf` orders.
    pub deadline: Option<Duration>,
    /// The priority, by which `events-fp` orders: the smallest number first.
    pub priority: Option<i64>,
}

impl Callback {
    /// A callback that nothing activates yet.
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

    /// The same, activated from outside.
    #[must_use]
    pub fn arriving(self, arrivals: Arrivals) -> Callback {
        Callback { arrivals: Some(arrivals), ..self }
    }

    /// The same, activating others when it ends.
    #[must_use]
    pub fn then(self, next: impl IntoIterator<Item = usize>) -> Callback {
        Callback { next: next.into_iter().collect(), ..self }
    }
}

/// An executor with its callbacks, in the order of their registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executor {
    /// By which rule it chooses.
    pub kind: ExecutorKind,
    /// When its thread gets a CPU.
    pub supply: Supply,
    /// Its callbacks.
    pub callbacks: Vec<Callback>,
}

impl Executor {
    /// An executor with a CPU of its own for each thread.
    pub const fn new(kind: ExecutorKind, callbacks: Vec<Callback>) -> Executor {
        Executor { kind, supply: Supply::Always, callbacks }
    }

    /// The same with another supply.
    #[must_use]
    pub fn supplied(self, supply: Supply) -> Executor {
        Executor { supply, ..self }
    }

    /// Which callbacks come first: by kind, then by registration.
    pub(crate) fn order(&self, callback: usize) -> (CallbackKind, usize) {
        (self.callbacks[callback].kind, callback)
    }

    /// The chains: every path along `next` from a callback with activations of its own to one that activates nobody.
    /// At most `limit` of them, because their number can be exponential.
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
}
