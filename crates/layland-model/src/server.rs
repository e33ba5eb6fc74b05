//! Servers: what a stream of jobs may take of a CPU.

use crate::{Duration, Service, Task};

/// When a server of fixed priority gets its budget back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServerKind {
    /// What it has used comes back a period after it began to be used (Sprunt, Sha and Lehoczky 1989).
    Sporadic,
    /// The budget is full again at every multiple of the period, and is kept while there is no work (Strosnider,
    /// Lehoczky and Sha 1995).
    Deferrable,
    /// The same, but it is lost where there is no work.
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

    /// One word for it.
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
    /// That of a task that has a budget; the jobs of the others are as long as they are.
    pub fn of(task: &Task) -> Option<Server> {
        task.budget.map(|budget| Server { budget, period: task.period })
    }
}
