//! Groups of tasks that share a reservation: a budget in each period, on each CPU of the group.

use crate::{CpuSet, Duration, Rate, Service};
use std::fmt;

/// A group: its position in [`System::groups`](crate::System::groups).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GroupId(pub u32);

impl crate::Index for GroupId {
    fn from_index(index: usize) -> Self {
        Self(index as u32)
    }
    fn index(self) -> usize {
        self.0 as usize
    }
}
impl fmt::Debug for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "group{}", self.0)
    }
}
impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

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

/// A group of tasks with one server on each of its CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskGroup {
    /// The name, unique in the set.
    pub name: String,
    /// `Q`, per CPU of the group; `None` if it is to be designed: then only a check that designs it
    /// accepts the set.
    pub budget: Option<Service>,
    /// `P`.
    pub period: Duration,
    /// `D`, the deadline of the budget: the period by default.
    pub deadline: Duration,
    /// The CPUs with a server of the group.
    pub cpus: CpuSet,
    /// The order of jobs within the group.
    pub inner: InnerPolicy,
    /// The rule for the budget.
    pub rule: ServerRule,
    /// The priority of its servers, where a smaller number is more important; only for fixed
    /// priorities between servers.
    pub priority: Option<i64>,
    /// The group that this one lies in. Its servers stand beside those of its parent, which keep
    /// the bandwidth that is left.
    pub parent: Option<GroupId>,
}

impl TaskGroup {
    /// A group that is to be designed: constant-bandwidth servers with their deadline at the end of the
    /// period, EDF within the group.
    pub fn new(name: impl Into<String>, period: Duration, cpus: CpuSet) -> TaskGroup {
        TaskGroup {
            name: name.into(),
            budget: None,
            period,
            deadline: period,
            cpus,
            inner: InnerPolicy::Edf,
            rule: ServerRule::Cbs,
            priority: None,
            parent: None,
        }
    }

    /// The server on each CPU of the group as the set states it, without regard to groups within
    /// it; `None` if the budget is to be designed.
    pub fn stated_server(&self) -> Option<GroupServer> {
        let TaskGroup { period, deadline, rule, .. } = *self;
        self.budget.map(|budget| GroupServer { budget, period, deadline, rule })
    }
}
