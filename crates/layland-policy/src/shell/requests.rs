//! The answers of [`Grouped`] to requests: admission of tasks, and changes.

use super::grouped::GroupState;
use super::{Grouped, Scheduler, Scope};
use crate::{Refusal, RequestId, SystemRefusal};
use layland_model::{Change, CpuSet, Task, TaskId, Time};

impl<S: Scheduler> Grouped<S> {
    pub(super) fn join(&mut self, task: TaskId, parameters: &Task, request: RequestId) {
        if self.tasks.get(task).is_some_and(|state| state.is_in) {
            // The policy was built with this task.
            self.tasks.of(task).key = self.tasks.key(task, parameters);
            return;
        }
        if let Some(refusal) = self.is_fixed() {
            self.refusals.push(request, refusal);
            return;
        }
        // Every group has a copy of the same scheduler.
        let keeps = |state: &GroupState<S>| state.scheduler.keeps_regions(task, parameters);
        if !self.groups.first().is_none_or(keeps) {
            let refusal = SystemRefusal::of_regions(&self.name, task, parameters).answer;
            self.refusals.push(request, refusal);
            return;
        }
        let group = match self.scope {
            Scope::Global => Ok(0),
            Scope::Clustered if parameters.cluster < self.groups.len() => Ok(parameters.cluster),
            Scope::Clustered => Err(format!("cluster {} does not exist", parameters.cluster)),
            // Federated scheduling admits no task: `is_fixed` has refused it above.
            Scope::Federated | Scope::Partitioned => self.only_group(parameters.affinity.as_ref()).ok_or_else(|| {
                format!(
                    "{} assigns tasks before the start: a later one needs an affinity to one CPU",
                    self.name
                )
            }),
        };
        match group {
            Ok(group) => {
                if let Some(before) = self.tasks.get(task).map(|state| state.group as usize) {
                    self.groups[before].tasks.retain(|&other| other != task);
                }
                self.groups[group].tasks.push(task);
                let reseated = self.tasks.add(task, group, parameters);
                self.reseat(reseated);
            }
            Err(reason) => self.refusals.push(request, Refusal::not_permitted(reason)),
        }
    }

    pub(super) fn leave(&mut self, now: Time, task: TaskId) {
        self.retire(now, task);
        self.tasks.of(task).is_in = false;
    }

    /// Returns the refusal of all new tasks and changes, if the policy is fixed before the start.
    fn is_fixed(&self) -> Option<Refusal> {
        let what = match (self.scope, self.tasks.top(), self.tasks.earlier()) {
            (_, Some(_), _) => "which tasks come first",
            (_, None, Some(_)) => "when jobs count as due",
            (Scope::Federated, None, None) => "which tasks get which CPUs",
            (Scope::Global | Scope::Clustered | Scope::Partitioned, None, None) => return None,
        };
        Some(Refusal::not_permitted(format!("{} decides before the start {what}", self.name)))
    }

    /// Returns the group of the only CPU in an affinity.
    fn only_group(&self, affinity: Option<&CpuSet>) -> Option<usize> {
        let cpu = affinity.filter(|cpus| cpus.len() == 1)?.lowest()?;
        *self.group_of.get(cpu)?
    }

    /// Moves a task to another group; if its job runs, the job waits there.
    fn move_to(&mut self, now: Time, task: TaskId, group: usize) {
        let state = self.tasks.of(task);
        let (before, cpu) = (state.group as usize, state.cpu());
        if before == group {
            return;
        }
        if let Some(cpu) = cpu {
            self.suspend(now, task, cpu);
            self.vacated.push(cpu);
        }
        let state = self.tasks.of(task);
        state.group = group as u32;
        if state.ready {
            let priority = state.priority;
            self.groups[before].scheduler.forget(priority);
            self.groups[group].scheduler.wait(priority);
        }
        self.groups[before].tasks.retain(|&other| other != task);
        self.groups[group].tasks.push(task);
        self.touch(before);
        self.touch(group);
    }

    pub(super) fn reconfigure(
        &mut self,
        now: Time,
        task: TaskId,
        change: Change,
        request: RequestId,
    ) {
        let refusal = match change {
            // The parameters count from the next job on.
            Change::Parameters { wcet, period, deadline } => 'given: {
                if let Some(refusal) = self.is_fixed() {
                    break 'given refusal;
                }
                self.tasks.set_wcet(task, wcet);
                self.tasks.set_key(task, period, deadline);
                return;
            }
            Change::Affinity(cpus) => {
                let group = self.tasks.of(task).group as usize;
                let covers =
                    self.group_of.iter().all(|(cpu, &of)| of != Some(group) || cpus.contains(cpu));
                if covers {
                    return;
                }
                match (self.scope, self.only_group(Some(&cpus))) {
                    (Scope::Partitioned, Some(group)) => return self.move_to(now, task, group),
                    (Scope::Partitioned, None) => Refusal::not_permitted(format!(
                        "{} needs an affinity to one CPU, or one that has the CPU of the task",
                        self.name
                    )),
                    (Scope::Federated, _) => Refusal::not_permitted(format!(
                        "{} runs a task on the CPUs that it was given before the start",
                        self.name
                    )),
                    (Scope::Global | Scope::Clustered, _) => Refusal::not_permitted(format!(
                        "{} lets a task migrate over all CPUs of its cluster",
                        self.name
                    )),
                }
            }
            Change::Cluster(cluster) => match self.scope {
                Scope::Clustered => return self.move_to(now, task, cluster),
                Scope::Global | Scope::Partitioned | Scope::Federated => {
                    Refusal::not_permitted(format!("{} has no clusters to move between", self.name))
                }
            },
        };
        self.refusals.push(request, refusal);
    }

    pub(super) fn set_cluster_cpus(
        &mut self,
        now: Time,
        cluster: usize,
        cpus: &CpuSet,
        request: RequestId,
    ) {
        let taken = cpus.iter().any(|cpu| self.group_of[cpu].is_some_and(|group| group != cluster));
        let refusal = match self.scope {
            Scope::Partitioned | Scope::Federated => Refusal::not_permitted(format!(
                "{} assigned every task to a CPU before the start",
                self.name
            )),
            Scope::Global | Scope::Clustered if taken => {
                Refusal::busy("a CPU is in another cluster")
            }
            Scope::Global | Scope::Clustered => {
                for cpu in self.group_of.ids() {
                    let is_in = self.group_of[cpu] == Some(cluster);
                    if is_in && !cpus.contains(cpu) {
                        if self.running_on(cpu).is_some() {
                            self.vacated.push(cpu);
                        }
                        self.withdraw(now, cpu);
                        self.group_of[cpu] = None;
                    } else if !is_in && cpus.contains(cpu) {
                        self.group_of[cpu] = Some(cluster);
                        if self.online.contains(cpu) {
                            self.cpu_online(cpu);
                        }
                    }
                }
                self.touch(cluster);
                return;
            }
        };
        self.refusals.push(request, refusal);
    }
}
