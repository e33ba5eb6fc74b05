//! The servers of groups of tasks that share a budget, and the policies within groups.

use crate::{Duration, Rate, Service};

/// The rule by which a server of a group keeps and renews its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum ServerRule {
    /// A constant-bandwidth server, scheduled by deadlines (Abeni and Buttazzo 1998); the revised
    /// wake-up rule if its deadline is shorter than its period.
    #[default]
    Cbs,
    /// A deferrable server, scheduled by priority: its budget is full at every multiple of the
    /// period, and kept while the group has no work.
    Deferrable,
    /// A polling server, scheduled by priority: like a deferrable one, but the budget is lost while
    /// the group has no work.
    Polling,
}

impl ServerRule {
    /// Every rule.
    pub const ALL: [ServerRule; 3] = [ServerRule::Cbs, ServerRule::Deferrable, ServerRule::Polling];

    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            ServerRule::Cbs => "cbs",
            ServerRule::Deferrable => "deferrable",
            ServerRule::Polling => "polling",
        }
    }

    /// The rule with this name.
    ///
    /// ```
    /// use layland_model::ServerRule;
    /// assert_eq!(ServerRule::find("polling"), Some(ServerRule::Polling));
    /// ```
    pub fn find(name: &str) -> Option<ServerRule> {
        ServerRule::ALL.into_iter().find(|rule| rule.name() == name)
    }
}

/// One server: a budget in each period, which is served by its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupServer {
    /// `Q`: at least 1 ns, at most the deadline.
    pub budget: Service,
    /// `P`.
    pub period: Duration,
    /// `D`, the relative deadline of the budget: at most the period.
    pub deadline: Duration,
    /// The rule for its budget.
    pub rule: ServerRule,
}

impl GroupServer {
    /// The bandwidth, `Q / P`.
    pub fn bandwidth(&self) -> Rate {
        Rate::new(self.budget.ns(), self.period.ns())
    }
}

/// The policy that orders the jobs within a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InnerPolicy {
    /// Fixed priorities: the smaller `priority` first, in the order of arrival among equal ones.
    Fp,
    /// Earliest deadline first.
    Edf,
    /// First come, first served.
    Fifo,
    /// Fixed priorities, in turns of this length among equal ones.
    RoundRobin(Duration),
    /// Fixed priorities; a job that has begun is not preempted by others of its group.
    NonpreemptiveFp,
    /// Earliest deadline first; a job that has begun is not preempted by others of its group.
    NonpreemptiveEdf,
}

impl InnerPolicy {
    /// The names of all policies in files.
    pub const NAMES: [&str; 6] = ["fp", "edf", "fifo", "rr", "np-fp", "np-edf"];

    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            InnerPolicy::Fp => "fp",
            InnerPolicy::Edf => "edf",
            InnerPolicy::Fifo => "fifo",
            InnerPolicy::RoundRobin(_) => "rr",
            InnerPolicy::NonpreemptiveFp => "np-fp",
            InnerPolicy::NonpreemptiveEdf => "np-edf",
        }
    }

    /// Returns true if it uses the priorities of the tasks.
    pub const fn uses_priorities(self) -> bool {
        match self {
            InnerPolicy::Fp | InnerPolicy::RoundRobin(_) | InnerPolicy::NonpreemptiveFp => true,
            InnerPolicy::Edf | InnerPolicy::Fifo | InnerPolicy::NonpreemptiveEdf => false,
        }
    }

    /// Returns true if a job may be preempted by other jobs of its group.
    pub const fn is_preemptive(self) -> bool {
        match self {
            InnerPolicy::Fp | InnerPolicy::Edf | InnerPolicy::Fifo | InnerPolicy::RoundRobin(_) => {
                true
            }
            InnerPolicy::NonpreemptiveFp | InnerPolicy::NonpreemptiveEdf => false,
        }
    }
}
