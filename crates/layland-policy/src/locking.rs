//! Locks and self-suspension on each CPU, under partitioned EDF and fixed priorities: plain locks,
//! priority inheritance (**PIP**), priority ceilings (**PCP**) and immediate ones (**IPCP**), the
//! stack resource policy (**SRP**); and between CPUs **MPCP**, **DPCP**, **FMLP+** and **MSRP**.
//!
//! Every CPU runs the job with the least *key* among those that can run. A key is that of the
//! order, unless a lock changes it:
//!
//! | protocol | a lock is granted | key |
//! |---|---|---|
//! | plain (`none`) | if it is free | that of the order |
//! | PIP, Sha, Rajkumar and Lehoczky 1990 | if it is free | the least of its own key and those of all jobs that wait for a lock that the job holds |
//! | PCP, by the same authors | if it is free and the priority of the job is higher than the ceilings of all locks that others hold | as under PIP; a denied job waits for the holder of the highest ceiling |
//! | IPCP | always | the highest ceiling of the held locks |
//! | SRP, Baker 1991 | always | that of the order; a job begins only if its deadline is before the ceilings of all held locks |
//! | MPCP, Rajkumar 1990 | if it is free; then by priority | boosted: the remote ceiling |
//! | DPCP, Rajkumar, Sha and Lehoczky 1988 | when the job has the CPU that is the home of the resource | boosted there: the ceiling |
//! | FMLP+, Brandenburg 2011 | if it is free; then first in, first out | boosted: the order of requests |
//! | MSRP, Gai, Lipari and Di Natale 2001 | if it is free; then first in, first out | no job preempts from the request on; a waiting job spins |
//!
//! *Boosted* keys come before all others. The ceiling of a resource is the highest priority of its
//! users, the remote ceiling that of its users on other CPUs; under SRP it is the shortest relative
//! deadline. Under the last four protocols, resources that are used on one CPU alone are locked by
//! immediate ceilings.
//!
//! A job requests a lock only when it is selected. On one CPU nothing is handed over either:
//! waiting jobs try again when they are selected after an unlock. With shortcuts a lower job would
//! get a lock while a higher one is about to run, and the bounds of the papers would not hold.
//! Between CPUs, locks are handed over in the instant of the unlock.
//!
//! Ties: as the order breaks them; of two keys with equal numbers, that of a holder is smaller.
//! Simultaneous events: requests of one round count in the order of CPUs.
//!
//! Cases that the papers leave out:
//! - under SRP a job that has suspended itself must be admitted anew, as if it had not begun:
//!   otherwise it could meet a lock that a later job has taken in the meantime;
//! - under EDF, MSRP and FMLP+ have no local resources, and no protocol defines nested global
//!   sections: such systems are refused;
//! - the home CPUs of DPCP use immediate ceilings;
//! - a deadlock of plain locks or PIP is permanent: those jobs never end.
//!
//! A decision costs O(n) for the `n` tasks of a CPU.

mod job;
mod keys;
mod plan;

use self::job::{Doing, LockedResource, LockingJob};
use self::keys::LockingKey;
use self::plan::{LockingPlan, Scheme};
use crate::info::{OptionInfo, PolicyOptions, SystemRefusal, Values};
use crate::options::never_preempts;
use crate::shell::{Refusals, fixed_answer};
use crate::{Action, Count, Event, Needs, Policy, Refusal, State, StepEvent};
use layland_model::{
    CpuId, CpuMap, CpuSet, IdVec, JobId, Order, Protocol, ResourceId, ScheduleRule, System, TaskId,
    TaskMap, Time,
};
use std::sync::Arc;

/// Returns the option for the locking protocol.
pub(crate) fn option(order: Order) -> OptionInfo {
    let (help, words) = match order {
        Order::Deadline => (
            "the protocol by which jobs with `steps` share resources: none (plain locks, the default), srp, fmlp+ or \
             msrp",
            plan::protocols(order),
        ),
        Order::RateMonotonic | Order::DeadlineMonotonic | Order::Given => (
            "the protocol by which jobs with `steps` share resources: none (plain locks, the default), pip, pcp or \
             ipcp on each CPU; mpcp, dpcp, fmlp+ or msrp between CPUs",
            plan::protocols(order),
        ),
    };
    OptionInfo::new("locks", help, Values::one_of(words.map(Protocol::abbreviation)))
}

/// Returns the protocol that the options select.
///
/// # Errors
/// If there is no such protocol for the order.
pub(crate) fn protocol(order: Order, options: &PolicyOptions) -> Result<Protocol, Refusal> {
    let named: Vec<_> = plan::protocols(order).map(|one| (one.abbreviation(), one)).collect();
    Ok(options.one_of("locks", &named)?.unwrap_or(Protocol::Plain))
}

/// Returns the policy for a system whose jobs have steps; `None` if they have none.
///
/// # Errors
/// - The tasks cannot be packed, or a priority is missing.
/// - A resource is shared between CPUs although the protocol is for one CPU, or has no home
///   although the protocol needs one.
/// - A section is nested and global, or is local although the protocol has no rule for that, or a
///   job suspends itself in one.
/// - Tasks have regions, late jobs are aborted, or there are requests: no protocol defines the
///   state of locks then.
pub(crate) fn locking(
    name: &str,
    order: Order,
    system: &System,
    options: &PolicyOptions,
) -> Result<Option<Locking>, SystemRefusal> {
    let protocol = protocol(order, options)?;
    if system.tasks.values().all(|task| task.steps.is_none()) {
        return Ok(None);
    }
    if never_preempts(options)? {
        let reason =
            format!("{name}:nonpreemptive knows no `steps`: leave out the option, or the steps");
        return Err(Refusal::not_permitted(reason).into());
    }
    let plan = LockingPlan::new(name, order, protocol, system, options)?;
    let (cpus, tasks, resources) =
        (system.platform.cpu_count(), system.tasks.len(), system.resources.len());
    Ok(Some(Locking {
        name: name.to_owned(),
        jobs: TaskMap::filled(None, tasks),
        holders: IdVec::filled(None, resources),
        queues: IdVec::filled(Vec::new(), resources),
        waiting: CpuMap::filled(Vec::new(), cpus),
        asked: 0,
        granted: Vec::new(),
        running: CpuMap::filled(None, cpus),
        online: CpuMap::filled(false, cpus),
        touched: CpuSet::new(),
        refusals: Refusals::default(),
        plan: Arc::new(plan),
    }))
}

/// See the file header.
#[derive(Clone, Debug)]
pub struct Locking {
    name: String,
    plan: Arc<LockingPlan>,
    /// The job of each task, if it is not over.
    jobs: TaskMap<Option<LockingJob>>,
    holders: IdVec<ResourceId, Option<TaskId>>,
    /// The jobs that wait for each global resource that is handed over, in the order of requests.
    queues: IdVec<ResourceId, Vec<TaskId>>,
    /// The tasks on each CPU that wait for an unlock to try again.
    waiting: CpuMap<Vec<TaskId>>,
    /// Counts requests and grants: earlier ones have smaller numbers.
    asked: u64,
    /// The grants that the next decision reports to the engine.
    granted: Vec<(JobId, ResourceId)>,
    running: CpuMap<Option<JobId>>,
    online: CpuMap<bool>,
    touched: CpuSet,
    refusals: Refusals,
}

impl Locking {
    fn job(&self, task: TaskId) -> Option<&LockingJob> {
        self.jobs.get(task)?.as_ref()
    }

    fn touch(&mut self, task: TaskId) {
        self.touched.insert(self.cpu_of(task));
    }

    /// Returns the CPU for which a job competes: under DPCP the home of the global resource that it
    /// has requested or holds.
    fn cpu_of(&self, task: TaskId) -> CpuId {
        let plan = &self.plan;
        let away = self.job(task).filter(|_| plan.protocol == Protocol::Dpcp).and_then(|job| {
            let all = job.asked.iter().chain(&job.held).map(|one| one.resource);
            all.into_iter().find(|&resource| plan.scheme(resource) == Scheme::AtHome)
        });
        away.map_or(plan.cpu[task], |resource| plan.home[resource])
    }

    /// Handles the request of a job for a resource.
    fn request(&mut self, task: TaskId, resource: ResourceId) {
        self.touch(task);
        self.asked += 1;
        let at = self.asked;
        let Some(job) = &mut self.jobs[task] else { return };
        job.asked = Some(LockedResource { resource, at });
        match self.plan.scheme(resource) {
            Scheme::Always => self.grant(task),
            Scheme::Retried => {
                self.attempt(task);
            }
            Scheme::HandedOver if self.holders[resource].is_none() => self.grant(task),
            Scheme::HandedOver => {
                // Under MSRP the job spins, so it stays ready.
                if self.plan.protocol != Protocol::Msrp {
                    job.doing = Doing::Waits(None);
                }
                self.queues[resource].push(task);
            }
            // It is granted once the job has the home CPU.
            Scheme::AtHome => self.touch(task),
        }
    }

    /// Grants a job the resource that it has requested.
    fn grant(&mut self, task: TaskId) {
        self.touch(task);
        self.asked += 1;
        let at = self.asked;
        let fifo = self.plan.protocol == Protocol::FmlpPlus;
        let Some(job) = &mut self.jobs[task] else { return };
        let Some(asked) = job.asked.take() else { return };
        self.holders[asked.resource] = Some(task);
        job.held.push(if fifo { asked } else { LockedResource { at, ..asked } });
        job.doing = Doing::Ready;
        self.granted.push((job.id, asked.resource));
    }

    /// Grants a job its requested resource, or lets it wait for the job that blocks it. Returns
    /// true if it was granted.
    fn attempt(&mut self, task: TaskId) -> bool {
        let Some(LockedResource { resource, .. }) = self.job(task).and_then(|job| job.asked) else {
            return true;
        };
        let blocker = self.holders[resource].or_else(|| self.ceiling_holder(task));
        if blocker.is_none() {
            self.grant(task);
            return true;
        }
        let inherits = self.plan.protocol != Protocol::Plain;
        if let Some(job) = &mut self.jobs[task] {
            job.doing = Doing::Waits(blocker.filter(|_| inherits));
        }
        self.waiting[self.plan.cpu[task]].push(task);
        false
    }

    /// Under PCP, returns the blocking job: among other jobs of the CPU, the holder of the resource
    /// with the highest ceiling, if that is not lower than the priority of the requesting job;
    /// among several the one that was granted last.
    fn ceiling_holder(&self, task: TaskId) -> Option<TaskId> {
        if self.plan.protocol != Protocol::Ceiling {
            return None;
        }
        let mut highest = None;
        for &other in &self.plan.on[self.plan.cpu[task]] {
            let Some(job) = self.job(other).filter(|_| other != task) else { continue };
            for held in &job.held {
                let rank = (self.plan.ceiling[held.resource], std::cmp::Reverse(held.at));
                if highest.is_none_or(|(highest, _)| rank < highest) {
                    highest = Some((rank, other));
                }
            }
        }
        let ((ceiling, _), holder) = highest?;
        (self.key(task).number() >= ceiling).then_some(holder)
    }

    /// Handles a job that releases a resource.
    fn unlock(&mut self, task: TaskId, resource: ResourceId) {
        self.touch(task);
        self.holders[resource] = None;
        if let Some(job) = &mut self.jobs[task] {
            job.held.retain(|held| held.resource != resource);
        }
        self.touch(task);
        match self.plan.scheme(resource) {
            Scheme::Always | Scheme::AtHome => {}
            Scheme::Retried => {
                let any = self.plan.protocol == Protocol::Ceiling;
                let jobs = &mut self.jobs;
                self.waiting[self.plan.cpu[task]].retain(|&waits| {
                    let Some(job) = &mut jobs[waits] else { return false };
                    let asked = job.asked.is_some_and(|asked| asked.resource == resource);
                    if any || asked {
                        job.doing = Doing::Ready;
                    }
                    !any && !asked
                });
            }
            Scheme::HandedOver => {
                let queue = &self.queues[resource];
                let by_priority = self.plan.protocol == Protocol::Mpcp;
                let next = if by_priority {
                    queue.iter().copied().min_by_key(|&task| self.plan.base[task])
                } else {
                    queue.first().copied()
                };
                if let Some(next) = next {
                    self.queues[resource].retain(|&waits| waits != next);
                    self.grant(next);
                }
            }
        }
    }

    /// Removes the job of a task, which is over.
    fn retire(&mut self, task: TaskId) {
        let Some(job) = self.job(task) else { return };
        let (id, held): (JobId, Vec<LockedResource>) = (job.id, job.held.clone());
        // Only a task that leaves still holds something here.
        held.iter().rev().for_each(|held| self.unlock(task, held.resource));
        self.touch(task);
        self.jobs[task] = None;
        self.waiting[self.plan.cpu[task]].retain(|&waits| waits != task);
        self.queues.values_mut().for_each(|queue| queue.retain(|&waits| waits != task));
        self.vacate(id);
    }

    /// Records that a job is no longer on a CPU.
    fn vacate(&mut self, job: JobId) {
        for running in self.running.values_mut() {
            *running = running.filter(|&on| on != job);
        }
    }

    /// Returns the job that a CPU must run. Selected jobs get their requested resources, or wait.
    fn select(&mut self, cpu: CpuId) -> Option<TaskId> {
        loop {
            let task = self.least(cpu)?;
            let job = self.job(task)?;
            let Some(asked) = job.asked else { return Some(task) };
            match self.plan.scheme(asked.resource) {
                Scheme::Retried => {
                    if self.attempt(task) {
                        return Some(task);
                    }
                }
                Scheme::AtHome => {
                    self.grant(task);
                    return Some(task);
                }
                // The job spins until the resource is granted.
                Scheme::HandedOver | Scheme::Always => return Some(task),
            }
        }
    }

    /// Returns the job with the least key on a CPU, among those that can run.
    fn least(&self, cpu: CpuId) -> Option<TaskId> {
        let all = self.plan.on[cpu].iter().copied().filter_map(|task| {
            let job = self.job(task)?;
            let is_here = job.doing == Doing::Ready && self.cpu_of(task) == cpu;
            is_here.then(|| (self.key(task), task, job.begun))
        });
        if self.plan.protocol != Protocol::Stack {
            return all.min_by_key(|&(key, ..)| key).map(|(_, task, _)| task);
        }
        let all: Vec<(LockingKey, TaskId, bool)> = all.collect();
        let &(_, task, has_begun) = all.iter().min_by_key(|&(key, ..)| key)?;
        let held = self.plan.on[cpu].iter().filter_map(|&task| self.job(task));
        let held =
            held.flat_map(|job| job.held.iter().map(|held| self.plan.ceiling[held.resource]));
        if has_begun || held.min().is_none_or(|ceiling| self.plan.base[task] < ceiling) {
            return Some(task);
        }
        let begun = all.iter().filter(|&&(_, _, has_begun)| has_begun);
        begun.min_by_key(|&(key, ..)| key).map(|&(_, task, _)| task)
    }
}

impl Policy for Locking {
    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::Release { job: id, release: ready, deadline } => {
                let (held, asked) = (Vec::new(), None);
                let (doing, begun) = (Doing::Ready, false);
                let job = LockingJob { id, deadline, ready, doing, begun, held, asked };
                self.jobs[id.task] = Some(job);
                self.touch(id.task);
            }
            Event::Completion { job, .. } | Event::Ended { job } => self.retire(job.task),
            Event::Step { job, step } => match step {
                StepEvent::Requests { resource, .. } => self.request(job.task, resource),
                StepEvent::Unlocks { resource, .. } => self.unlock(job.task, resource),
                StepEvent::Suspends { .. } => {
                    self.touch(job.task);
                    self.vacate(job);
                    if let Some(job) = &mut self.jobs[job.task] {
                        job.doing = Doing::Suspends;
                    }
                }
                StepEvent::Resumes => {
                    if let Some(job) = &mut self.jobs[job.task] {
                        (job.doing, job.begun, job.ready) = (Doing::Ready, false, now);
                    }
                    self.touch(job.task);
                }
            },
            Event::Join { .. } | Event::Reconfigure { .. } | Event::SetClusterCpus { .. } => {
                let reason = || format!("{} places its tasks before the start", self.name);
                let may_use = |task| self.plan.cpu.get(task).map(|&cpu| CpuSet::single(cpu));
                if let Some((request, refusal)) = fixed_answer(&event, reason, may_use) {
                    self.refusals.push(request, refusal);
                }
            }
            Event::Leave { task } => self.retire(task),
            Event::CpuOnline { cpu } => {
                self.online[cpu] = true;
                self.touched.insert(cpu);
            }
            Event::CpuOffline { cpu } => {
                (self.online[cpu], self.running[cpu]) = (false, None);
                self.touched.insert(cpu);
            }
            // This policy only needs ready jobs, and never grants budgets.
            Event::Arrival { .. }
            | Event::Measured { .. }
            | Event::BudgetExhausted { .. }
            | Event::Timer { .. } => {}
        }
    }

    fn decide(&mut self, _now: Time, actions: &mut Vec<Action>) {
        self.refusals.emit(actions);
        let mut decided: Vec<(CpuId, Option<JobId>)> = Vec::new();
        while let Some(cpu) = self.touched.lowest() {
            self.touched.remove(cpu);
            if !self.online[cpu] {
                continue;
            }
            let selected = self.select(cpu);
            // A job that was granted a resource, or waits now, was on this CPU, so this selection
            // takes it into account.
            self.touched.remove(cpu);
            let job = selected.and_then(|task| {
                let job = self.jobs[task].as_mut()?;
                job.begun = true;
                Some(job.id)
            });
            decided.push((cpu, job));
        }
        for (job, resource) in self.granted.drain(..) {
            actions.push(Action::Grant { job, resource });
        }
        for &(cpu, job) in &decided {
            if self.running[cpu] != job
                && let Some(job) = job
            {
                actions.push(Action::Run { cpu, job, budget: None });
            }
        }
        for &(cpu, job) in &decided {
            if self.running[cpu] != job && job.is_none() {
                actions.push(Action::Idle { cpu });
            }
        }
        for (cpu, job) in decided {
            self.running[cpu] = job;
        }
    }

    fn save(&self, now: Time, state: &mut State) {
        job::save(&self.jobs, self.plan.levels.is_some(), now, state);
        for online in self.online.values() {
            state.number(i64::from(*online));
        }
    }

    fn needs(&self) -> Needs {
        Needs::READY_JOBS
    }

    fn rule(&self) -> ScheduleRule {
        ScheduleRule::Locking(self.plan.rule())
    }

    fn counts(&self) -> Vec<Count> {
        Vec::new()
    }
}
