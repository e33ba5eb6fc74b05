//! Trees of groups as servers that stand side by side.

use crate::{CpuId, GroupId, GroupServer, Index, Rate, Service, System};

impl System {
    /// The bandwidth that the groups within a group leave it on a CPU; `None` if a budget is to be
    /// designed.
    pub fn bandwidth_left(&self, id: GroupId, cpu: CpuId) -> Option<Rate> {
        let mut left = self.groups[id.index()].stated_server()?.bandwidth();
        for child in self.groups.iter().filter(|child| child.parent == Some(id)) {
            if child.cpus.contains(cpu) {
                left = &left - &child.stated_server()?.bandwidth();
            }
        }
        Some(left)
    }

    /// The servers of a group, one on each of its CPUs: trees are flattened, so that a group keeps the
    /// bandwidth which the groups within it leave, at its own period, in whole nanoseconds. `None` if a
    /// budget is to be designed; a CPU without a server if nothing is left there.
    ///
    /// ```
    /// use layland_model::*;
    /// let mut system = System::new(1, vec![Task::implicit("a", Service::from_ms(1), Duration::from_ms(9))]);
    /// let group = |name: &str, budget, period, parent| TaskGroup {
    ///     budget: Some(Service::from_ms(budget)),
    ///     parent,
    ///     ..TaskGroup::new(name, Duration::from_ms(period), CpuSet::first(1))
    /// };
    /// system.groups = vec![group("robot", 6, 10, None), group("arm", 1, 5, Some(GroupId(0)))];
    /// // 6/10 - 1/5 = 4/10.
    /// let servers = system.group_servers(GroupId(0)).unwrap();
    /// assert_eq!(servers.iter().map(|(_, server)| server.budget).collect::<Vec<_>>(), [Service::from_ms(4)]);
    /// ```
    pub fn group_servers(&self, id: GroupId) -> Option<Vec<(CpuId, GroupServer)>> {
        let group = &self.groups[id.index()];
        let stated = group.stated_server()?;
        let mut servers = Vec::with_capacity(group.cpus.len());
        for cpu in group.cpus.iter() {
            let left = &self.bandwidth_left(id, cpu)? * &Rate::whole(group.period.ns());
            let budget = Service::from_ns(left.floor().unwrap_or(0));
            if budget > Service::ZERO {
                servers.push((cpu, GroupServer { budget, ..stated }));
            }
        }
        Some(servers)
    }
}
