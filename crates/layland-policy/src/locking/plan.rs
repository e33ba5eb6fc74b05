//! The facts that are known before the start: the CPUs of tasks, the resources that are shared
//! between CPUs, and ceilings. Also refuses systems that no protocol has rules for.

use crate::Refusal;
use crate::info::{PolicyOptions, SystemRefusal};
use crate::levels;
use crate::shell::groups;
use layland_model::{
    CpuId, CpuMap, Group, IdVec, JobOrder, OnMiss, Order, Protocol, ResourceId, Section, Step,
    System, Task, TaskId, TaskMap, rule,
};

/// Returns the protocols that are available for an order.
pub(super) fn protocols(order: Order) -> impl Iterator<Item = Protocol> {
    Protocol::ALL.into_iter().filter(move |protocol| match protocol {
        Protocol::Plain | Protocol::FmlpPlus | Protocol::Msrp => true,
        Protocol::Stack => order == Order::Deadline,
        Protocol::Inheritance
        | Protocol::Ceiling
        | Protocol::ImmediateCeiling
        | Protocol::Mpcp
        | Protocol::Dpcp => order != Order::Deadline,
    })
}

/// The time at which a request is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    /// At once.
    Always,
    /// When no job blocks it; after an unlock, waiting jobs try again once they are selected.
    Retried,
    /// When the resource is free; it is handed over to a waiting job.
    HandedOver,
    /// When the job is selected on the home CPU.
    AtHome,
}

/// See the file header.
#[derive(Debug)]
pub(super) struct LockingPlan {
    pub(super) protocol: Protocol,
    pub(super) by_deadline: bool,
    order: JobOrder,
    groups: Vec<Group>,
    /// The CPU of each task.
    pub(super) cpu: TaskMap<CpuId>,
    /// The tasks whose jobs a CPU may run.
    pub(super) on: CpuMap<Vec<TaskId>>,
    /// The place of each task in the order in which ties are broken.
    pub(super) place: TaskMap<i64>,
    /// The priority of each task, where smaller is higher: distinct, or under SRP the relative
    /// deadline.
    pub(super) base: TaskMap<i64>,
    /// The level of each task, if the jobs of one level queue by the time at which they became
    /// ready. There are no locks then.
    pub(super) levels: Option<TaskMap<i64>>,
    schemes: IdVec<ResourceId, Scheme>,
    users: IdVec<ResourceId, Vec<TaskId>>,
    /// The highest priority of the users of a resource.
    pub(super) ceiling: IdVec<ResourceId, i64>,
    /// The CPU that executes the sections on a resource, under DPCP.
    pub(super) home: IdVec<ResourceId, CpuId>,
}

impl LockingPlan {
    pub(super) fn new(
        name: &str,
        order: Order,
        protocol: Protocol,
        system: &System,
        options: &PolicyOptions,
    ) -> Result<LockingPlan, SystemRefusal> {
        let who = format!("{name}:locks={}", protocol.abbreviation());
        refuse_what_ends_sections(&who, system)?;
        groups::check_priorities(order, system)?;
        let placed = groups::partitioned(name, order, system, options)?;
        let mut cpu = TaskMap::filled(CpuId(0), system.tasks.len());
        for (cpus, tasks) in &placed {
            if let Some(on) = cpus.lowest() {
                tasks.iter().for_each(|&task| cpu[task] = on);
            }
        }
        let mut users = IdVec::filled(Vec::new(), system.resources.len());
        for (id, task) in system.tasks.iter() {
            for Section { resource, .. } in task.sections() {
                if users[resource].last() != Some(&id) {
                    users[resource].push(id);
                }
            }
        }
        let (place, base) = priorities(order, protocol, system);
        let in_level = levels::of(order, system, options)?;
        let groups = || placed.iter().map(|(_, tasks)| tasks.as_slice());
        levels::refuse_unknown(name, in_level, system, groups(), options)?;
        if users.values().any(|users| !users.is_empty()) {
            levels::refuse_shared(name, "locks", in_level, system, groups())?;
        }
        let in_level = in_level.filter(|_| levels::are_shared(system, groups()));
        let numbers =
            || system.tasks.values().map(|task| order.fixed_key(task).unwrap_or_default());
        let levels = in_level.map(|_| numbers().collect());
        let highest = |users: &Vec<TaskId>| users.iter().map(|&task| base[task]).min();
        let ceiling = users.values().map(|users| highest(users).unwrap_or(i64::MAX)).collect();
        let mut plan = LockingPlan {
            protocol,
            by_deadline: order == Order::Deadline,
            order: match in_level {
                Some(in_level) => JobOrder::Levels { levels: numbers().collect(), in_level },
                None => job_order(order, system),
            },
            levels,
            groups: placed.into_iter().map(|(cpus, tasks)| Group { cpus, tasks }).collect(),
            on: CpuMap::filled(Vec::new(), system.platform.cpu_count()),
            cpu,
            place,
            base,
            schemes: IdVec::default(),
            ceiling,
            home: IdVec::filled(CpuId(0), system.resources.len()),
            users,
        };
        plan.find_homes(&who, system)?;
        for resource in plan.users.ids() {
            let scheme = plan.find_scheme(&who, resource, system)?;
            plan.schemes.push(scheme);
        }
        plan.refuse_sections(&who, system)?;
        for (id, &cpu) in plan.cpu.iter() {
            plan.on[cpu].push(id);
        }
        if protocol == Protocol::Dpcp {
            for (resource, users) in plan.users.iter() {
                let at_home = &mut plan.on[plan.home[resource]];
                at_home.extend(users);
                at_home.sort_unstable();
                at_home.dedup();
            }
        }
        Ok(plan)
    }

    pub(super) fn scheme(&self, resource: ResourceId) -> Scheme {
        self.schemes[resource]
    }

    /// Returns the highest priority of the users of a resource on other CPUs than this one.
    pub(super) fn remote_ceiling(&self, resource: ResourceId, cpu: CpuId) -> i64 {
        let remote = self.users[resource].iter().filter(|&&task| self.cpu[task] != cpu);
        remote.map(|&task| self.base[task]).min().unwrap_or(i64::MAX)
    }

    pub(super) fn rule(&self) -> rule::Locking {
        let (groups, order, protocol) = (self.groups.clone(), self.order.clone(), self.protocol);
        rule::Locking { groups, order, protocol }
    }

    fn find_homes(&mut self, who: &str, system: &System) -> Result<(), SystemRefusal> {
        if self.protocol != Protocol::Dpcp {
            return Ok(());
        }
        for (resource, users) in self.users.iter() {
            let (Some(&user), described) = (users.first(), &system.resources[to_index(resource)])
            else {
                continue;
            };
            let Some(home) = described.home else {
                let reason = format!(
                    "{who} needs to know on which CPU sections on `{}` are executed: give it a `home`",
                    described.name
                );
                return Err(Refusal::invalid(reason).about(user));
            };
            self.home[resource] = home;
        }
        Ok(())
    }

    /// Returns the scheme of a resource, which depends on whether the resource is local.
    fn find_scheme(
        &self,
        who: &str,
        resource: ResourceId,
        system: &System,
    ) -> Result<Scheme, SystemRefusal> {
        let users = &self.users[resource];
        let name = &system.resources[to_index(resource)].name;
        let Some(&first) = users.first() else { return Ok(Scheme::Always) };
        let on = self.cpu[first];
        let elsewhere = users.iter().copied().find(|&task| self.cpu[task] != on);
        let away = self.protocol == Protocol::Dpcp && self.home[resource] != on;
        let task_name = |task: TaskId| &system.tasks[task].name;
        Ok(match self.protocol {
            Protocol::Plain
            | Protocol::Inheritance
            | Protocol::Ceiling
            | Protocol::ImmediateCeiling
            | Protocol::Stack => {
                if let Some(other) = elsewhere {
                    let known = if self.by_deadline {
                        "fmlp+ or msrp"
                    } else {
                        "mpcp, dpcp, fmlp+ or msrp"
                    };
                    let reason = format!(
                        "tasks `{}` on CPU {on} and `{}` on CPU {} lock `{name}`, and {who} is for what is shared on \
                         one CPU: use locks={known}, or put them on one CPU",
                        task_name(first),
                        task_name(other),
                        self.cpu[other],
                    );
                    return Err(Refusal::not_permitted(reason).about(other));
                }
                let always = matches!(self.protocol, Protocol::ImmediateCeiling | Protocol::Stack);
                if always { Scheme::Always } else { Scheme::Retried }
            }
            Protocol::Dpcp if elsewhere.is_some() || away => Scheme::AtHome,
            Protocol::Mpcp | Protocol::FmlpPlus | Protocol::Msrp if elsewhere.is_some() => {
                Scheme::HandedOver
            }
            Protocol::Mpcp | Protocol::FmlpPlus | Protocol::Msrp | Protocol::Dpcp => {
                if self.by_deadline {
                    let reason = format!(
                        "`{name}` is shared on CPU {on} alone, and {who} is for what is shared between CPUs: use \
                         locks=srp on one CPU"
                    );
                    return Err(Refusal::not_permitted(reason).about(first));
                }
                Scheme::Always
            }
        })
    }

    /// Refuses sections that the protocol has no rules for.
    fn refuse_sections(&self, who: &str, system: &System) -> Result<(), SystemRefusal> {
        let name = |resource: ResourceId| &system.resources[to_index(resource)].name;
        let is_global =
            |resource| matches!(self.scheme(resource), Scheme::HandedOver | Scheme::AtHome);
        for (id, task) in system.tasks.iter() {
            let mut open: Vec<ResourceId> = Vec::new();
            for step in task.steps() {
                match *step {
                    Step::Run(_) => {}
                    Step::Lock(resource) => {
                        if let Some(&outer) = open.last()
                            && (is_global(resource) || open.iter().any(|&outer| is_global(outer)))
                        {
                            let reason = format!(
                                "task `{}` locks `{}` while it holds `{}`, and {who} has no rule for nested sections \
                                 on what is shared between CPUs: unlock one before the other",
                                task.name,
                                name(resource),
                                name(outer)
                            );
                            return Err(Refusal::not_permitted(reason).about(id));
                        }
                        open.push(resource);
                    }
                    Step::Unlock(_) => {
                        open.pop();
                    }
                    Step::Suspend(_) => {
                        if let Some(&held) = open.last()
                            && self.protocol != Protocol::Plain
                        {
                            let reason = format!(
                                "task `{}` suspends itself while it holds `{}`, and {who} has no rule for that: unlock \
                                 it before, or use locks=none",
                                task.name,
                                name(held)
                            );
                            return Err(Refusal::not_permitted(reason).about(id));
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

fn to_index(resource: ResourceId) -> usize {
    resource.0 as usize
}

/// Refuses everything that would end a section before its unlock.
fn refuse_what_ends_sections(who: &str, system: &System) -> Result<(), SystemRefusal> {
    if !system.requests.is_empty() {
        let reason = format!(
            "{who} takes no requests where jobs have `steps`: it is not known what becomes of the locks of a task that \
             leaves or changes"
        );
        return Err(Refusal::not_permitted(reason).into());
    }
    for (id, task) in system.tasks.iter() {
        let Task { name, on_miss, preemption, steps, .. } = task;
        if steps.is_some() && *on_miss == OnMiss::Abort {
            let reason = format!(
                "task `{name}` has `steps` and aborts late jobs, and {who} has no rule for what they hold: use \
                 on_miss = \"continue\" or \"skip\""
            );
            return Err(Refusal::not_permitted(reason).about(id));
        }
        if !preemption.is_anywhere() {
            let reason = format!(
                "task `{name}` has non-preemptive regions, and {who} knows none where jobs have `steps`: leave out \
                 `nonpreemptive` and `segments`"
            );
            return Err(Refusal::not_permitted(reason).about(id));
        }
    }
    Ok(())
}

/// Returns the place of each task among all, and its priority.
fn priorities(order: Order, protocol: Protocol, system: &System) -> (TaskMap<i64>, TaskMap<i64>) {
    let mut sorted: Vec<TaskId> = system.by_rank();
    // The sort is stable, so equal tasks stay in the order of ranks.
    sorted.sort_by_key(|&task| order.fixed_key(&system.tasks[task]));
    let mut place = TaskMap::filled(0, sorted.len());
    for (at, &task) in sorted.iter().enumerate() {
        place[task] = at as i64;
    }
    let base = if protocol == Protocol::Stack {
        system.tasks.values().map(|task| task.deadline.ns()).collect()
    } else {
        place.clone()
    };
    (place, base)
}

fn job_order(order: Order, system: &System) -> JobOrder {
    match order {
        Order::Deadline => JobOrder::Deadline,
        Order::RateMonotonic | Order::DeadlineMonotonic | Order::Given => {
            let number = |task| order.fixed_key(task).unwrap_or_default();
            JobOrder::Fixed(system.tasks.values().map(number).collect())
        }
    }
}
