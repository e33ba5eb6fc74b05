//! Mixed-criticality scheduling (Huang, Gill, Lu 2014): the run-time mechanisms, each on one CPU at a
//! time.
//!
//! | file | mechanism | protection of the higher criticality |
//! |---|---|---|
//! | `smc.rs` | fixed priorities with a cut-off (SMC, RM, CM) | a job is aborted at its own bound |
//! | `amc.rs` | adaptive mixed criticality | an indicator: jobs below it are dropped |
//! | `zss.rs` | zero slack | lower tasks are suspended at a job's zero-slack instant |
//! | `pt.rs` | period transformation | slices make priorities follow criticality |
//! | `plrs.rs` | priority list reuse | fixed job priorities, and an indicator |
//! | `ocbp.rs` | job priorities recomputed at run time | fixed job priorities, and an indicator |
//! | `edf_vd.rs` | EDF with virtual deadlines (Baruah et al. 2012) | deadlines that leave slack, and a high mode: low jobs are dropped |
//!
//! A mechanism is a [`Mechanism`] for the jobs of one CPU; [`PerCpu`] is the policy around one
//! instance per CPU. On several CPUs the tasks are assigned before the start and never migrate.
//! These policies follow arrivals: the effects of an arrival (dropping the job, aborting its
//! predecessor, assigning a priority) cannot wait until the predecessor has ended.
//!
//! Bounds are execution times, which take `ceil(C(l) / s)` of a CPU of speed `s`. Mechanisms count in
//! that time.
//!
//! Deviations that all mechanisms share: no task can enter, or change its parameters or CPUs, after
//! the start; a task can leave. While a CPU is offline, its jobs wait.

pub mod amc;
pub mod edf_vd;
pub mod indicator;
mod info;
pub mod mechanism;
pub mod ocbp;
pub mod offline;
pub mod order;
mod placing;
pub mod plrs;
pub mod pt;
pub mod smc;
pub mod zss;

use crate::shell::{Refusals, fixed_answer};
use crate::{Action, Count, Event, FixedOrder, Needs, Policy, Refusal, Schedules, State, TimerId};
pub(crate) use info::policies;
use layland_model::{
    CpuId, CpuMap, CpuSet, Duration, Group, Index, JobId, ScheduleRule, System, TaskId, TaskMap,
    Time,
};
use mechanism::{Mechanism, Member, Pending, Processor};
use std::collections::BTreeSet;

/// One instance of a mechanism per CPU.
#[derive(Clone, Debug)]
pub struct PerCpu<M> {
    name: &'static str,
    processors: CpuMap<Processor<M>>,
    /// The CPU of each task, and its index there.
    home: TaskMap<(CpuId, usize)>,
    /// The tasks that have left. A new task that joins with one of these ids is refused, since it
    /// was not analysed.
    left: BTreeSet<TaskId>,
    rule: ScheduleRule,
    /// The priorities of the tasks, if the mechanism has fixed ones.
    fixed: Option<FixedOrder>,
    refusals: Refusals,
}

impl<M: Mechanism> PerCpu<M> {
    /// Returns a policy with a mechanism for the tasks of each CPU, which has unit speed: `make`
    /// receives the tasks CPU by CPU, in the order of their ranks. Nothing is guaranteed.
    ///
    /// # Errors
    /// The refusals of `make`.
    pub fn new(
        name: &'static str,
        system: &System,
        cpu_of: &TaskMap<CpuId>,
        make: impl FnMut(&[TaskId]) -> Result<M, Refusal>,
    ) -> Result<PerCpu<M>, Refusal> {
        let member = |_, task| Member::of(system, task);
        PerCpu::with_members(name, system, cpu_of, member, make)
    }

    /// As [`new`](Self::new), with the parameters that a task has on its CPU.
    fn with_members(
        name: &'static str,
        system: &System,
        cpu_of: &TaskMap<CpuId>,
        member: impl Fn(CpuId, TaskId) -> Member,
        mut make: impl FnMut(&[TaskId]) -> Result<M, Refusal>,
    ) -> Result<PerCpu<M>, Refusal> {
        let mut home = TaskMap::filled((CpuId(0), 0), system.tasks.len());
        let mut groups = Vec::new();
        let mut processors = Vec::with_capacity(system.platform.cpu_count());
        let order = system.by_rank();
        for cpu in system.platform.cpus() {
            let tasks: Vec<TaskId> =
                order.iter().copied().filter(|&task| cpu_of[task] == cpu).collect();
            tasks.iter().enumerate().for_each(|(member, &task)| home[task] = (cpu, member));
            let members: Vec<Member> = tasks.iter().map(|&task| member(cpu, task)).collect();
            let mechanism = make(&tasks)?;
            processors.push(Processor::new(cpu, members, mechanism));
            groups.push(Group { cpus: CpuSet::single(cpu), tasks });
        }
        let rule = ScheduleRule::MixedCriticality { groups, guaranteed: CpuSet::new() };
        let mut policy = PerCpu {
            name,
            processors: processors.into(),
            home,
            left: BTreeSet::new(),
            rule,
            fixed: None,
            refusals: Refusals::default(),
        };
        policy.fixed = policy.order();
        Ok(policy)
    }

    /// Returns the priorities of the tasks, if every CPU has fixed ones.
    fn order(&self) -> Option<FixedOrder> {
        let tasks = self.home.len();
        let mut order = FixedOrder {
            cpu_of: self.home.values().map(|&(cpu, _)| cpu).collect(),
            place: TaskMap::filled(0, tasks),
            patience: TaskMap::filled(None, tasks),
            instants: TaskMap::filled(Vec::new(), tasks),
            replaces: false,
            yields: CpuMap::filled(false, self.processors.len()),
        };
        for (task, &(cpu, member)) in self.home.iter() {
            let Processor { jobs, mechanism, .. } = &self.processors[cpu];
            let own = mechanism.order()?;
            // A policy that was built for its rule alone has no order.
            order.place[task] = *own.place.get(member)?;
            order.patience[task] = mechanism.patience(jobs, member).map(Duration::from_ns);
            let instants = mechanism.instants(jobs, member);
            order.instants[task] = instants.into_iter().map(Duration::from_ns).collect();
            order.replaces |= own.replaces;
        }
        Some(order)
    }

    /// States in the rule that an analysis has accepted the tasks of these CPUs.
    pub fn guarantee(&mut self, cpus: CpuSet) {
        if let ScheduleRule::MixedCriticality { guaranteed, .. } = &mut self.rule {
            *guaranteed = cpus;
        }
    }

    /// Returns a policy for one CPU, with parameters from elsewhere and no guarantees. Tasks are
    /// numbered by rank.
    ///
    /// # Panics
    /// If the system has more than one CPU.
    pub fn on_one_cpu(name: &'static str, system: &System, mechanism: M) -> PerCpu<M> {
        assert_eq!(system.platform.cpu_count(), 1, "{name} with given parameters is for one CPU");
        let cpu_of = TaskMap::filled(CpuId(0), system.tasks.len());
        let made = PerCpu::new(name, system, &cpu_of, |_| Ok(mechanism.clone()));
        made.expect("nothing was refused")
    }

    /// Returns the jobs that are not over.
    pub fn jobs(&self) -> impl Iterator<Item = Pending> + '_ {
        let all = self.processors.values().flat_map(|processor| processor.jobs.all());
        all.map(|(_, job)| *job)
    }

    fn at(&mut self, task: TaskId) -> Option<(&mut Processor<M>, usize)> {
        let &(cpu, member) = self.home.get(task)?;
        let processor = &mut self.processors[cpu];
        processor.touched = true;
        Some((processor, member))
    }

    fn of(&mut self, job: JobId) -> Option<(&mut Processor<M>, usize)> {
        self.at(job.task)
    }
}

impl<M: Mechanism> Policy for PerCpu<M> {
    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::Arrival { job: id, release, deadline } => {
                if let Some((processor, member)) = self.of(id) {
                    let (executed, priority, slice, granted) = (0, -1, 0, 0);
                    processor.arrived(
                        member,
                        Pending {
                            id,
                            heard: now,
                            release,
                            deadline,
                            ready: false,
                            executed,
                            priority,
                            slice,
                            granted,
                        },
                    );
                }
            }
            Event::Release { job, .. } => {
                if let Some((processor, member)) = self.of(job) {
                    processor.released(member, job);
                }
            }
            // To a mechanism, an aborted job is one that needed less than its bound.
            Event::Completion { job, .. } | Event::Ended { job } => {
                if let Some((processor, member)) = self.of(job) {
                    processor.completed(member, job);
                }
            }
            Event::BudgetExhausted { job, .. } => {
                if let Some((processor, _)) = self.of(job) {
                    processor.exhausted(job);
                }
            }
            // This policy accepts no tasks with steps.
            Event::Step { .. } => {}
            Event::Measured { job, executed } => {
                if let Some((processor, member)) = self.of(job) {
                    processor.measured(member, job, executed);
                }
            }
            Event::Timer { id } => {
                if let Some(processor) = self.processors.get_mut(CpuId(id.0)) {
                    processor.timer();
                    processor.touched = true;
                }
            }
            Event::Join { .. } | Event::Reconfigure { .. } | Event::SetClusterCpus { .. } => {
                let reason =
                    || format!("{} places and analyses its tasks before the start", self.name);
                let may_use = |task| {
                    let known = self.home.get(task).filter(|_| !self.left.contains(&task));
                    known.map(|&(cpu, _)| CpuSet::single(cpu))
                };
                if let Some((request, refusal)) = fixed_answer(&event, reason, may_use) {
                    self.refusals.push(request, refusal);
                }
            }
            Event::Leave { task } => {
                self.left.insert(task);
                if let Some((processor, member)) = self.at(task) {
                    processor.left(member);
                }
            }
            Event::CpuOnline { cpu } => {
                let processor = &mut self.processors[cpu];
                processor.set_online(now, true);
                processor.touched = true;
            }
            Event::CpuOffline { cpu } => {
                let processor = &mut self.processors[cpu];
                processor.set_online(now, false);
                processor.touched = true;
            }
        }
    }

    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        for (index, processor) in self.processors.values_mut().enumerate() {
            if processor.touched {
                processor.decide(now, TimerId(index as u32), actions);
                if let (Some(fixed), Some(own)) = (&mut self.fixed, processor.mechanism.order()) {
                    fixed.yields[CpuId::from_index(index)] = own.yields;
                }
            }
        }
        self.refusals.emit(actions);
    }

    fn save(&self, now: Time, state: &mut State) {
        self.processors.values().for_each(|processor| processor.save(now, state));
        state.number(self.left.len() as i64);
        self.left.iter().for_each(|task| state.number(i64::from(task.0)));
    }

    fn needs(&self) -> Needs {
        Needs { schedules: Schedules::ArrivingJobs, ..Needs::READY_JOBS }
    }

    fn rule(&self) -> ScheduleRule {
        self.rule.clone()
    }

    fn counts(&self) -> Vec<Count> {
        Vec::new()
    }

    fn fixed_order(&self) -> Option<&FixedOrder> {
        self.fixed.as_ref()
    }
}
