//! The slow twin of the highest-first policies. It keeps the ready jobs in a list. At each decision
//! it sorts all of them, takes the first `m` of each group, and places them by the locality rule
//! (Bonifaci et al. 2016, Algorithm 6) as in the paper: every CPU selects the task that it prefers,
//! then the tasks select CPUs in order.

use layland_model::{
    Change, CpuId, CpuSet, Duration, Group, InLevel, JobId, JobOrder, Order, Placement, Rate,
    ScheduleRule, System, Task, TaskId, TaskMap, Time,
};
use layland_policy::{Action, Count, Event, Needs, Policy, Refusal, RequestId, State};
use std::collections::BTreeMap;

/// The slow twin of a highest-first policy.
#[derive(Clone, Debug)]
pub struct SlowHighestFirst {
    order: Order,
    /// The tasks that come first, or `None` if the policy has no such class.
    top: Option<Vec<TaskId>>,
    /// True if a running job goes first among equal ones.
    running_first: bool,
    /// True if jobs of one priority come in the order in which they became ready.
    queues: bool,
    /// The length by which the key of a job is before its deadline, or `None` if the policy has no such points.
    earlier: Option<TaskMap<Duration>>,
    groups: Vec<(CpuSet, Vec<TaskId>)>,
    /// The speeds of all CPUs, if jobs go to the fastest ones.
    speeds: Option<Vec<Rate>>,
    tasks: BTreeMap<TaskId, Task>,
    online: CpuSet,
    /// Ready jobs with their deadlines and the instants at which they became ready.
    ready: BTreeMap<TaskId, (JobId, Time, Time)>,
    running: BTreeMap<CpuId, TaskId>,
    /// The CPU on which each task ran last, and the end of that execution.
    last: BTreeMap<TaskId, (CpuId, Time)>,
    refusals: Vec<(RequestId, Refusal)>,
}

impl SlowHighestFirst {
    /// Creates the twin of a policy with this rule.
    ///
    /// # Panics
    /// If the rule is not [`ScheduleRule::HighestFirst`].
    pub fn of(system: &System, rule: &ScheduleRule, order: Order) -> Self {
        let ScheduleRule::HighestFirst { groups, order: job_order, placement } = rule else {
            panic!("only highest-first policies have this twin")
        };
        Self {
            order,
            top: match job_order {
                JobOrder::TopFirst { top, .. } => Some(top.clone()),
                JobOrder::Deadline
                | JobOrder::DeadlineThenRunning
                | JobOrder::Points(_)
                | JobOrder::ZeroLaxity
                | JobOrder::Feasible
                | JobOrder::Fixed(_)
                | JobOrder::Levels { .. } => None,
            },
            earlier: match job_order {
                JobOrder::Points(earlier) => Some(earlier.clone()),
                _ => None,
            },
            running_first: *job_order == JobOrder::DeadlineThenRunning || queues(job_order),
            queues: queues(job_order),
            groups: groups.iter().map(|g| (g.cpus.clone(), g.tasks.clone())).collect(),
            speeds: (*placement == Placement::FastestFirst)
                .then(|| system.platform.speeds.values().map(|speed| speed.rate()).collect()),
            tasks: system.tasks.iter().map(|(id, task)| (id, task.clone())).collect(),
            online: CpuSet::new(),
            ready: BTreeMap::new(),
            running: BTreeMap::new(),
            last: BTreeMap::new(),
            refusals: Vec::new(),
        }
    }

    fn key(&self, task: TaskId) -> (i64, bool, Time, i64, TaskId) {
        let parameters = &self.tasks[&task];
        let key = match self.order {
            _ if self.top.as_ref().is_some_and(|top| top.contains(&task)) => i64::MIN,
            Order::Deadline => {
                let earlier = self.earlier.as_ref().map_or(Duration::ZERO, |earlier| earlier[task]);
                (self.ready[&task].1 - earlier).ns()
            }
            Order::RateMonotonic => parameters.period.ns(),
            Order::DeadlineMonotonic => parameters.deadline.ns(),
            Order::Given => parameters.priority.unwrap_or(i64::MAX),
        };
        let runs = || self.running.values().any(|&running| running == task);
        let ready = if self.queues { self.ready[&task].2 } else { Time::ZERO };
        (key, self.running_first && !runs(), ready, parameters.rank, task)
    }

    /// Removes a task from its CPU.
    fn stop(&mut self, now: Time, task: TaskId) {
        if let Some((&cpu, _)) = self.running.iter().find(|&(_, &running)| running == task) {
            self.running.remove(&cpu);
            self.last.insert(task, (cpu, now));
        }
    }
}

impl Policy for SlowHighestFirst {
    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::Join { .. } => {}
            Event::Leave { task } => {
                self.stop(now, task);
                self.ready.remove(&task);
            }
            Event::Release { job, release, deadline } => {
                self.ready.insert(job.task, (job, deadline, release));
            }
            Event::Completion { job, .. } | Event::Ended { job } => {
                self.stop(now, job.task);
                self.ready.remove(&job.task);
            }
            Event::CpuOnline { cpu } => {
                self.online.insert(cpu);
            }
            Event::CpuOffline { cpu } => {
                self.online.remove(cpu);
                if let Some(&task) = self.running.get(&cpu) {
                    self.stop(now, task);
                }
            }
            Event::Reconfigure { task, change, request } => match change {
                Change::Parameters { .. } if self.top.is_some() || self.earlier.is_some() => {
                    let reason = "who comes first is decided before the start";
                    self.refusals.push((request, Refusal::not_permitted(reason)));
                }
                Change::Parameters { period, deadline, wcet: _ } => {
                    let parameters = self.tasks.get_mut(&task).expect("known");
                    (parameters.period, parameters.deadline) = (period, deadline);
                }
                Change::Affinity(_) | Change::Cluster(_) => {
                    unimplemented_request("an affinity or a cluster")
                }
            },
            Event::SetClusterCpus { .. } => unimplemented_request("a cluster's CPUs"),
            Event::BudgetExhausted { .. }
            | Event::Timer { .. }
            | Event::Arrival { .. }
            | Event::Measured { .. }
            | Event::Step { .. } => {}
        }
    }

    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        for (request, reason) in self.refusals.drain(..) {
            actions.push(Action::Refuse { request, reason });
        }
        for (cpus, members) in self.groups.clone() {
            let cpus = cpus.intersection(&self.online);
            let mut ready: Vec<TaskId> =
                members.into_iter().filter(|task| self.ready.contains_key(task)).collect();
            ready.sort_by_key(|&task| self.key(task));
            ready.truncate(cpus.len());
            let stopped: Vec<TaskId> = self
                .running
                .iter()
                .filter(|&(&cpu, task)| cpus.contains(cpu) && !ready.contains(task))
                .map(|(_, &task)| task)
                .collect();
            stopped.into_iter().for_each(|task| self.stop(now, task));
            // The last execution of a running task ends now.
            let last = |task: TaskId| {
                let running = self.running.iter().find(|&(_, &running)| running == task);
                running
                    .map(|(&cpu, _)| (cpu, now, true))
                    .or_else(|| self.last.get(&task).map(|&(cpu, until)| (cpu, until, false)))
            };
            // With speeds, each class of CPUs takes the next jobs in the order, the fastest first.
            let mut classes: Vec<(CpuSet, Vec<TaskId>)> = Vec::new();
            match &self.speeds {
                None => classes.push((cpus.clone(), ready.clone())),
                Some(speeds) => {
                    let speed = |cpu: CpuId| &speeds[cpu.0 as usize];
                    let mut all: Vec<&Rate> = cpus.iter().map(speed).collect();
                    all.sort();
                    all.dedup();
                    let mut left = ready.clone();
                    for &own in all.iter().rev() {
                        let class: CpuSet = cpus.iter().filter(|&cpu| speed(cpu) == own).collect();
                        let rest = left.split_off(class.len().min(left.len()));
                        classes.push((class, std::mem::replace(&mut left, rest)));
                    }
                }
            }
            let mut chosen = Vec::new();
            for (class, ready) in &classes {
                let prefers = |cpu: CpuId| {
                    let mut best: Option<(TaskId, (Time, bool))> = None;
                    for &task in ready {
                        if let Some((last_cpu, until, runs)) = last(task)
                            && last_cpu == cpu
                            && best.is_none_or(|(_, most_recent)| (until, runs) > most_recent)
                        {
                            best = Some((task, (until, runs)));
                        }
                    }
                    best.map(|(task, _)| task)
                };
                let reserved: CpuSet = class.iter().filter(|&cpu| prefers(cpu).is_some()).collect();
                let mut available = class.clone();
                for &task in ready {
                    let own = last(task).map(|(cpu, ..)| cpu);
                    let cpu = own
                        .filter(|&cpu| available.contains(cpu) && prefers(cpu) == Some(task))
                        .or_else(|| available.difference(&reserved).lowest())
                        .or_else(|| available.lowest())
                        .expect("no more tasks than CPUs");
                    available.remove(cpu);
                    chosen.push((task, cpu));
                }
            }
            // A job that moves leaves its CPU, which is idle unless another one starts there.
            for &(task, cpu) in &chosen {
                let old = self.running.iter().find(|&(_, &running)| running == task);
                let Some(old) = old.map(|(&old, _)| old).filter(|&old| old != cpu) else {
                    continue;
                };
                self.stop(now, task);
                if chosen.iter().all(|&(_, cpu)| cpu != old) {
                    actions.push(Action::Idle { cpu: old });
                }
            }
            for (task, cpu) in chosen {
                if self.running.insert(cpu, task) != Some(task) {
                    actions.push(Action::Run { cpu, job: self.ready[&task].0, budget: None });
                }
            }
        }
    }

    fn save(&self, _now: Time, _state: &mut State) {}

    fn rule(&self) -> ScheduleRule {
        let groups = self
            .groups
            .iter()
            .map(|(cpus, tasks)| Group { cpus: cpus.clone(), tasks: tasks.clone() });
        ScheduleRule::highest_first(groups.collect(), JobOrder::Deadline)
    }

    fn needs(&self) -> Needs {
        Needs::READY_JOBS
    }

    fn counts(&self) -> Vec<Count> {
        Vec::new()
    }
}

/// Returns true if jobs with equal numbers queue.
fn queues(order: &JobOrder) -> bool {
    matches!(order, JobOrder::Levels { in_level: InLevel::Fifo, .. })
}

fn unimplemented_request(what: &str) -> ! {
    panic!("the slow twin does not know requests to change {what}")
}
