//! Policies with affinities that decide from scratch: the slow twins of weak, strong and hierarchical
//! scheduling.

use super::{Mapping, Ready, ReadyKey, algorithm_1, greedy};
use layland_model::{
    Change, CpuId, CpuSet, JobId, Order, ScheduleRule, System, Task, TaskId, Time,
};
use layland_policy::{Action, Count, Event, Needs, Policy, State};
use std::collections::BTreeMap;

/// The rule of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Push and pull, event by event.
    Weak,
    /// The greedy optimum with any mapping: it runs the same jobs as the policy, but on other CPUs.
    Strong,
    /// Algorithm 1, then Algorithm 4.
    HierarchicalPlain,
    /// Algorithm 1, then Algorithm 6.
    HierarchicalLocal,
}

/// A policy with affinities that decides from scratch.
#[derive(Clone, Debug)]
pub struct SlowAffinity {
    rule: Rule,
    order: Order,
    system: System,
    tasks: BTreeMap<TaskId, Task>,
    masks: BTreeMap<TaskId, CpuSet>,
    online: CpuSet,
    ready: BTreeMap<TaskId, (JobId, Time)>,
    /// The mapping that the engine runs.
    running: Mapping,
    /// The CPU on which each task ran last, and the end of that execution.
    last: BTreeMap<TaskId, (CpuId, Time)>,
    /// The matching that weak scheduling keeps.
    matching: Mapping,
}

impl SlowAffinity {
    /// Creates the twin for a system.
    pub fn new(system: &System, rule: Rule, order: Order) -> Self {
        Self {
            rule,
            order,
            system: system.clone(),
            tasks: system.tasks.iter().map(|(id, task)| (id, task.clone())).collect(),
            masks: system.tasks.ids().map(|task| (task, system.allowed_cpus(task))).collect(),
            online: CpuSet::new(),
            ready: BTreeMap::new(),
            running: Mapping::new(),
            last: BTreeMap::new(),
            matching: Mapping::new(),
        }
    }

    fn key(&self, task: TaskId) -> ReadyKey {
        let parameters = &self.tasks[&task];
        let key = match self.order {
            Order::Deadline => self.ready[&task].1.ns(),
            Order::RateMonotonic => parameters.period.ns(),
            Order::DeadlineMonotonic => parameters.deadline.ns(),
            Order::Given => parameters.priority.unwrap_or(i64::MAX),
        };
        (key, parameters.rank, task)
    }

    fn mask(&self, task: TaskId) -> CpuSet {
        self.masks[&task].intersection(&self.online)
    }

    /// Returns the CPU on which a task ran last, the end of that execution, and true if it still runs.
    fn ran(&self, now: Time, task: TaskId) -> Option<(CpuId, (Time, bool))> {
        let running = self.running.iter().find(|&(_, &running)| running == task);
        match running {
            Some((&cpu, _)) => Some((cpu, (now, true))),
            None => self.last.get(&task).map(|&(cpu, until)| (cpu, (until, false))),
        }
    }

    /// Records that the engine stops running a task.
    fn stop(&mut self, now: Time, task: TaskId) {
        if let Some((cpu, _)) = self.ran(now, task).filter(|(_, (_, runs))| *runs) {
            self.running.remove(&cpu);
            self.last.insert(task, (cpu, now));
        }
    }

    /// Pushes a task under the weak rule.
    fn push(&mut self, now: Time, task: TaskId) {
        let mask = self.mask(task);
        let own = self.ran(now, task).map(|(cpu, _)| cpu);
        let idle: CpuSet = mask.iter().filter(|cpu| !self.matching.contains_key(cpu)).collect();
        if let Some(cpu) = own.filter(|&cpu| idle.contains(cpu)).or_else(|| idle.lowest()) {
            self.matching.insert(cpu, task);
            return;
        }
        let Some(cpu) = mask.iter().max_by_key(|cpu| self.key(self.matching[cpu])) else { return };
        if self.key(self.matching[&cpu]) > self.key(task) {
            let victim = self.matching.insert(cpu, task).expect("it is busy");
            self.push(now, victim);
        }
    }

    /// Lets a CPU pull a task under the weak rule.
    fn pull(&mut self, cpu: CpuId) {
        let waiting = self.ready.keys().copied().filter(|&task| {
            self.masks[&task].contains(cpu) && !self.matching.values().any(|&other| other == task)
        });
        if let Some(task) = waiting.min_by_key(|&task| self.key(task)) {
            self.matching.insert(cpu, task);
        }
    }

    fn unmatch(&mut self, task: TaskId) {
        let found = self.matching.iter().find(|&(_, &other)| other == task);
        if let Some((&cpu, _)) = found {
            self.matching.remove(&cpu);
            self.pull(cpu);
        }
    }

    fn retire(&mut self, now: Time, task: TaskId) {
        self.stop(now, task);
        self.ready.remove(&task);
        self.unmatch(task);
    }

    /// Runs Algorithm 4 or 6 for the tasks of Algorithm 1.
    fn hierarchical(&self, now: Time) -> Mapping {
        let ready = self.all_ready();
        let chosen = algorithm_1(&ready, &self.online);
        // The level of a mask is one more than the highest level of the masks within it.
        let mut masks: Vec<CpuSet> = self.masks.keys().map(|&task| self.mask(task)).collect();
        masks.sort_by_key(|mask| (mask.len(), mask.clone()));
        masks.dedup();
        let mut levels: Vec<(CpuSet, usize)> = Vec::new();
        for mask in masks {
            let within = levels.iter().filter(|(other, _)| other.is_subset(&mask));
            let level = 1 + within.map(|&(_, level)| level).max().unwrap_or(0);
            levels.push((mask, level));
        }
        let level =
            |mask: &CpuSet| levels.iter().find(|(other, _)| other == mask).map(|&(_, level)| level);
        let mut order: Vec<&Ready> =
            ready.iter().filter(|ready| chosen.contains(&ready.key.2)).collect();
        order.sort_by_key(|ready| (level(&ready.mask), ready.key));
        let ran = |ready: &Ready| {
            let ran = self.ran(now, ready.key.2);
            ran.filter(|(cpu, _)| self.rule == Rule::HierarchicalLocal && ready.mask.contains(*cpu))
        };
        let mut pref: BTreeMap<CpuId, (TaskId, (Time, bool))> = BTreeMap::new();
        for ready in &order {
            if let Some((cpu, recency)) = ran(ready)
                && pref.get(&cpu).is_none_or(|&(_, other)| other < recency)
            {
                pref.insert(cpu, (ready.key.2, recency));
            }
        }
        let reserved: CpuSet = pref.keys().copied().collect();
        let mut available = self.online.clone();
        let mut mapping = Mapping::new();
        for ready in order {
            let valid = ready.mask.intersection(&available);
            let own = ran(ready).map(|(cpu, _)| cpu).filter(|cpu| {
                valid.contains(*cpu) && pref.get(cpu).is_some_and(|&(task, _)| task == ready.key.2)
            });
            let cpu = own
                .or_else(|| valid.difference(&reserved).lowest())
                .or_else(|| valid.lowest())
                .expect("Algorithm 1 admits what can be matched");
            available.remove(cpu);
            mapping.insert(cpu, ready.key.2);
        }
        mapping
    }

    fn all_ready(&self) -> Vec<Ready> {
        let tasks = self.ready.keys();
        tasks.map(|&task| Ready { key: self.key(task), mask: self.mask(task) }).collect()
    }
}

impl Policy for SlowAffinity {
    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::Join { .. }
            | Event::Arrival { .. }
            | Event::Measured { .. }
            | Event::Step { .. }
            | Event::BudgetExhausted { .. }
            | Event::Timer { .. } => {}
            Event::Leave { task } => self.retire(now, task),
            Event::Completion { job, .. } | Event::Ended { job } => self.retire(now, job.task),
            Event::Release { job, deadline, .. } => {
                self.ready.insert(job.task, (job, deadline));
                self.push(now, job.task);
            }
            Event::CpuOnline { cpu } => {
                self.online.insert(cpu);
                self.pull(cpu);
            }
            Event::CpuOffline { cpu } => {
                self.online.remove(cpu);
                if let Some(&task) = self.running.get(&cpu) {
                    self.stop(now, task);
                }
                if let Some(task) = self.matching.remove(&cpu) {
                    self.push(now, task);
                }
            }
            Event::Reconfigure { task, change, request: _ } => {
                let mask = match change {
                    Change::Parameters { period, deadline, wcet: _ } => {
                        let parameters = self.tasks.get_mut(&task).expect("known");
                        (parameters.period, parameters.deadline) = (period, deadline);
                        return;
                    }
                    Change::Affinity(cpus) => cpus,
                    Change::Cluster(cluster) => self.system.platform.clusters[cluster].clone(),
                };
                let ready = self.ready.remove(&task);
                self.unmatch(task);
                self.masks.insert(task, mask);
                if let Some(ready) = ready {
                    self.ready.insert(task, ready);
                    self.push(now, task);
                }
            }
            Event::SetClusterCpus { .. } => panic!("the slow twin knows no changing clusters"),
        }
    }

    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        let mapping = match self.rule {
            Rule::Weak => self.matching.clone(),
            Rule::Strong => greedy(&self.all_ready()),
            Rule::HierarchicalPlain | Rule::HierarchicalLocal => self.hierarchical(now),
        };
        let before = self.running.clone();
        for (&cpu, &task) in &before {
            if mapping.get(&cpu) != Some(&task) {
                self.stop(now, task);
                if !mapping.contains_key(&cpu) {
                    actions.push(Action::Idle { cpu });
                }
            }
        }
        for (cpu, task) in mapping {
            if self.running.insert(cpu, task) != Some(task) {
                actions.push(Action::Run { cpu, job: self.ready[&task].0, budget: None });
            }
        }
    }

    fn save(&self, _now: Time, _state: &mut State) {}

    fn needs(&self) -> Needs {
        Needs::READY_JOBS
    }

    fn rule(&self) -> ScheduleRule {
        ScheduleRule::None
    }

    fn counts(&self) -> Vec<Count> {
        Vec::new()
    }
}
