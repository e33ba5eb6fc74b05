//! Servers: limits on the processor time that a stream of jobs may use.

use crate::{Duration, Service, Task};

/// The replenishment rule of a fixed-priority server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServerKind {
    /// The used budget is replenished one period after its use began (Sprunt, Sha and Lehoczky
    /// 1989).
    Sporadic,
    /// The budget is replenished in full at every multiple of the period, and kept while there is
    /// no work (Strosnider, Lehoczky and Sha 1995).
    Deferrable,
    /// Like a deferrable server, but the budget is lost while there is no work.
    Polling,
}

impl ServerKind {
    /// Every kind.
    pub const ALL: [ServerKind; 3] =
        [ServerKind::Sporadic, ServerKind::Deferrable, ServerKind::Polling];

    /// The usual abbreviation, and the name of the policy.
    pub const fn abbreviation(self) -> &'static str {
        match self {
            ServerKind::Sporadic => "ss",
            ServerKind::Deferrable => "ds",
            ServerKind::Polling => "ps",
        }
    }

    /// The name of the kind.
    pub const fn name(self) -> &'static str {
        match self {
            ServerKind::Sporadic => "sporadic",
            ServerKind::Deferrable => "deferrable",
            ServerKind::Polling => "polling",
        }
    }
}

/// The server of a task: a budget `Q` in each period `T`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Server {
    /// `Q`.
    pub budget: Service,
    /// `T`.
    pub period: Duration,
}

impl Server {
    /// The server of a task that has a budget. The execution of other tasks is not limited.
    pub fn of(task: &Task) -> Option<Server> {
        task.budget.map(|budget| Server { budget, period: task.period })
    }
}
