//! Budgets as Linux computes them for groups of real-time tasks: hierarchical CBS, version 6 of the
//! patches of 2026, which are not merged. The file of a group has a budget and a period in
//! microseconds; the servers of the group have less than that, because the kernel keeps bandwidths in
//! units of 2^-20 and rounds down twice.
//!
//! A group whose file says `max` has no servers: its tasks run in the nearest group above it that has
//! some. The servers of a group keep the bandwidth that its nearest groups with servers leave.
//!
//! Deviation: the posted code adds up the groups below as they were *before* a write. [`GroupTree`]
//! follows the rule that the patches state.

use std::collections::BTreeMap;

/// Bandwidths are in units of `2^-20`.
const SHIFT: u32 = 20;
/// The kernel rejects shorter budgets, in nanoseconds.
const SHORTEST: u64 = 1024;
/// The shortest and the longest period, in nanoseconds (the default of two settings).
const PERIODS: std::ops::RangeInclusive<u64> = 100_000..=(1 << 22) * 1000;

/// The bandwidth of a budget, in units of 2^-20, rounded down.
pub fn bandwidth(budget_ns: u64, period_ns: u64) -> u64 {
    ((u128::from(budget_ns) << SHIFT) / u128::from(period_ns.max(1))) as u64
}

/// The budget of servers with this bandwidth, rounded down.
pub fn budget_of(bandwidth: u64, period_ns: u64) -> u64 {
    ((u128::from(bandwidth) * u128::from(period_ns)) >> SHIFT) as u64
}

/// The least budget to write, in microseconds, such that the servers have this budget.
///
/// ```
/// use layland_analysis::groups::kernel::{bandwidth, budget_of, file_value};
/// // 10 ms of 100 ms as written are 58 ns less for the servers.
/// assert_eq!(budget_of(bandwidth(10_000_000, 100_000_000), 100_000_000), 9_999_942);
/// assert_eq!(file_value(10_000_000, 100_000_000), 10_001);
/// ```
pub fn file_value(budget_ns: u64, period_ns: u64) -> u64 {
    let needed = (u128::from(budget_ns) << SHIFT).div_ceil(u128::from(period_ns.max(1)));
    (needed * u128::from(period_ns)).div_ceil(1 << SHIFT).div_ceil(1000) as u64
}

/// The reason why the kernel rejects a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// `EINVAL`: the numbers are out of range, or do not fit beside those of other groups.
    Invalid,
    /// `EBUSY`: the CPUs have no bandwidth left, or tasks of the group would lose theirs.
    Busy,
}

/// The budget of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Setting {
    /// `None` for `max`.
    budget_ns: Option<u64>,
    period_ns: u64,
}

impl Setting {
    fn bandwidth(self) -> Option<u64> {
        self.budget_ns.map(|budget| bandwidth(budget, self.period_ns))
    }
}

#[derive(Clone, Debug)]
struct Node {
    parent: Option<usize>,
    setting: Setting,
    has_tasks: bool,
}

/// The groups of a kernel, with the root `/`.
#[derive(Clone, Debug)]
pub struct GroupTree {
    nodes: Vec<Node>,
    names: BTreeMap<String, usize>,
    /// The share of each CPU for real-time tasks, in units of 2^-20.
    limit: u64,
    /// The bandwidth of deadline threads per CPU, in units of 2^-20.
    deadline_threads: u64,
}

impl GroupTree {
    /// A tree with the root alone, whose budget is 0.
    pub fn new(limit_ns: u64, limit_period_ns: u64, deadline_threads: u64) -> GroupTree {
        let setting = Setting { budget_ns: Some(0), period_ns: 1_000_000_000 };
        let root = Node { parent: None, setting, has_tasks: false };
        GroupTree {
            nodes: vec![root],
            names: [("/".to_owned(), 0)].into(),
            limit: bandwidth(limit_ns, limit_period_ns),
            deadline_threads,
        }
    }

    /// Creates a group; its file says `max`. Returns false if the parent does not exist.
    pub fn create(&mut self, name: &str, parent: &str) -> bool {
        let Some(&parent) = self.names.get(parent) else { return false };
        let setting = Setting { budget_ns: None, period_ns: 100_000_000 };
        self.names.insert(name.to_owned(), self.nodes.len());
        self.nodes.push(Node { parent: Some(parent), setting, has_tasks: false });
        true
    }

    /// Puts a real-time task into a group. Returns false if the group does not exist.
    pub fn add_task(&mut self, name: &str) -> bool {
        let Some(&at) = self.names.get(name) else { return false };
        self.nodes[at].has_tasks = true;
        true
    }

    /// Writes a budget (`None` for `max`) and a period, in microseconds.
    ///
    /// # Errors
    /// Returns the error of the kernel. Then nothing has changed.
    pub fn write(
        &mut self,
        name: &str,
        budget_us: Option<u64>,
        period_us: u64,
    ) -> Result<(), Rejected> {
        let at = *self.names.get(name).ok_or(Rejected::Invalid)?;
        let [budget_ns, period_ns] =
            [budget_us, Some(period_us)].map(|us| us.map(|us| us.saturating_mul(1000)));
        let setting = Setting { budget_ns, period_ns: period_ns.unwrap_or(0) };
        let is_root = at == 0;
        match budget_ns {
            None if is_root => return Err(Rejected::Invalid),
            None => {}
            Some(budget) => {
                let is_valid = PERIODS.contains(&setting.period_ns)
                    && budget <= setting.period_ns
                    && (budget == 0 || budget >= SHORTEST);
                if !is_valid || bandwidth(budget, setting.period_ns) > self.limit {
                    return Err(Rejected::Invalid);
                }
            }
        }
        let before = self.nodes[at].setting;
        if self.runs_tasks(at) && !is_root {
            if before.budget_ns.is_some() != budget_ns.is_some() {
                return Err(Rejected::Invalid);
            }
            if budget_ns == Some(0) && before.budget_ns != Some(0) {
                return Err(Rejected::Busy);
            }
        }
        let mut after = self.clone();
        after.nodes[at].setting = setting;
        if (0..after.nodes.len()).any(|group| after.left(group).is_none()) {
            return Err(Rejected::Invalid);
        }
        let root = after.nodes[0].setting.bandwidth().unwrap_or(0);
        if is_root && self.deadline_threads + root > self.limit {
            return Err(Rejected::Busy);
        }
        *self = after;
        Ok(())
    }

    /// The budget and the period of the servers of a group, in nanoseconds; `None` if it has none.
    pub fn servers(&self, name: &str) -> Option<(u64, u64)> {
        let at = *self.names.get(name)?;
        let Setting { budget_ns, period_ns } = self.nodes[at].setting;
        budget_ns?;
        Some((budget_of(self.left(at)?, period_ns), period_ns))
    }

    /// The group whose servers run the tasks of this one.
    pub fn context(&self, name: &str) -> Option<&str> {
        let at = self.with_servers(*self.names.get(name)?);
        self.names.iter().find(|&(_, &group)| group == at).map(|(name, _)| name.as_str())
    }

    /// Returns true if the servers of this group run tasks, or would if it had any: its own, or those
    /// of groups below without a budget in between.
    fn runs_tasks(&self, at: usize) -> bool {
        let is_passed_up = |mut group: usize| loop {
            if group == at {
                return true;
            }
            match (self.nodes[group].setting.budget_ns, self.nodes[group].parent) {
                (None, Some(parent)) => group = parent,
                (Some(_), _) | (_, None) => return false,
            }
        };
        (0..self.nodes.len()).any(|group| self.nodes[group].has_tasks && is_passed_up(group))
    }

    /// The nearest group from this one on with a budget.
    fn with_servers(&self, mut at: usize) -> usize {
        while let (None, Some(parent)) = (self.nodes[at].setting.budget_ns, self.nodes[at].parent) {
            at = parent;
        }
        at
    }

    /// The bandwidth of a group, less that of the nearest groups below it with a budget; `None` if
    /// they have more. Groups without a budget have none.
    fn left(&self, at: usize) -> Option<u64> {
        let Some(own) = self.nodes[at].setting.bandwidth() else { return Some(0) };
        let below = self
            .nodes
            .iter()
            .filter(|node| node.parent.is_some_and(|parent| self.with_servers(parent) == at));
        own.checked_sub(below.filter_map(|node| node.setting.bandwidth()).sum())
    }
}
