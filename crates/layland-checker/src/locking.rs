//! The rule [`ScheduleRule::Locking`](layland_model::ScheduleRule::Locking): which job runs on each
//! CPU, and which job gets a lock.
//!
//! Marks record when jobs requested, got and released locks, and when they suspended themselves.
//! `steps_are_kept` checks them against the steps of the set. Then a sweep over the instants at
//! which something changes checks grants and CPUs against the protocol, and checks that the jobs
//! that act at an instant had been selected there (`rounds`). The locks that a job holds are known
//! from its marks alone. On a real machine or with overheads a trace does not show when a policy
//! was notified, so only the CPUs of the tasks are checked there.

mod rounds;
mod steps;
mod sweep;

use super::{Checker, Demand, Violation};
use layland_model::rule::Locking;
use layland_model::{
    CpuId, Duration, InLevel, Index, JobOrder, Placement, Protocol, ResourceId, ScheduleRule,
    Section, System, TaskId, Time,
};
use layland_trace::MarkKind;

/// The state of a job at an instant. Jobs are indices into `Trace::jobs`.
#[derive(Clone, Debug)]
struct Live {
    job: usize,
    task: TaskId,
    deadline: Time,
    /// The release, or the end of the last suspension.
    ready: Time,
    sleeps: bool,
    begun: bool,
    /// The resource that the job has requested and not got, with the index of the mark.
    asked: Option<(ResourceId, usize)>,
    /// The resources that the job holds, with the index of the mark of the grant (of the request
    /// under FMLP+).
    held: Vec<(ResourceId, usize)>,
}

/// Smaller comes first: boosted jobs, then a number, then the index of a mark or whether it holds
/// nothing, then the place.
type LockingKey = (bool, i64, usize, i64);

/// The facts that are known before the start.
struct LockingFacts<'a> {
    protocol: Protocol,
    by_deadline: bool,
    cpu: Vec<Option<CpuId>>,
    place: Vec<i64>,
    /// The level of each task, and the rule that decides between equal levels, if ranks do not.
    /// There are no locks then.
    levels: Option<(Vec<i64>, InLevel)>,
    users: Vec<Vec<TaskId>>,
    ceiling: Vec<i64>,
    system: &'a System,
}

impl<'a> LockingFacts<'a> {
    fn new(rule: &Locking, system: &'a System) -> LockingFacts<'a> {
        let mut cpu = vec![None; system.tasks.len()];
        for group in &rule.groups {
            for task in &group.tasks {
                if let Some(of) = cpu.get_mut(task.index()) {
                    *of = group.cpus.lowest();
                }
            }
        }
        let number = |task: TaskId| match &rule.order {
            JobOrder::Fixed(numbers) | JobOrder::Levels { levels: numbers, .. } => {
                // A task without a number comes last.
                numbers.get(task).copied().unwrap_or(i64::MAX)
            }
            JobOrder::Deadline
            | JobOrder::DeadlineThenRunning
            | JobOrder::Points(_)
            | JobOrder::ZeroLaxity
            | JobOrder::Feasible
            | JobOrder::TopFirst { .. } => 0,
        };
        let mut order: Vec<TaskId> = system.tasks.ids().collect();
        order.sort_by_key(|&task| (number(task), system.tasks[task].rank, task));
        let mut place = vec![0; order.len()];
        for (at, task) in order.iter().enumerate() {
            place[task.index()] = at as i64;
        }
        let mut users = vec![Vec::new(); system.resources.len()];
        for (id, task) in system.tasks.iter() {
            for Section { resource, .. } in task.sections() {
                users[resource.index()].push(id);
            }
        }
        let is_stack = rule.protocol == Protocol::Stack;
        let base = |task: TaskId| {
            if is_stack { system.tasks[task].deadline.ns() } else { place[task.index()] }
        };
        let ceiling = |users: &Vec<TaskId>| users.iter().map(|&task| base(task)).min();
        let ceiling = users.iter().map(|users| ceiling(users).unwrap_or(i64::MAX)).collect();
        let by_deadline = rule.order == JobOrder::Deadline;
        let levels = match rule.order {
            JobOrder::Levels { in_level, .. } => {
                Some((system.tasks.ids().map(number).collect(), in_level))
            }
            JobOrder::Fixed(_)
            | JobOrder::Deadline
            | JobOrder::DeadlineThenRunning
            | JobOrder::Points(_)
            | JobOrder::ZeroLaxity
            | JobOrder::Feasible
            | JobOrder::TopFirst { .. } => None,
        };
        let protocol = rule.protocol;
        LockingFacts { protocol, by_deadline, cpu, place, levels, users, ceiling, system }
    }

    fn home(&self, resource: ResourceId) -> Option<CpuId> {
        let home = self.system.resources[resource.index()].home;
        home.filter(|_| self.protocol == Protocol::Dpcp)
    }

    /// Returns true if a resource is shared between CPUs.
    fn is_global(&self, resource: ResourceId) -> bool {
        let mut cpus = self.users[resource.index()].iter().map(|task| self.cpu[task.index()]);
        let home = self.home(resource);
        let Some(first) = cpus.next().filter(|_| self.protocol.is_between_cpus()) else {
            return false;
        };
        home.is_some() && home != first || cpus.any(|cpu| cpu != first)
    }

    fn remote_ceiling(&self, resource: ResourceId, task: TaskId) -> i64 {
        let own = self.cpu[task.index()];
        let remote =
            self.users[resource.index()].iter().filter(|user| self.cpu[user.index()] != own);
        remote.map(|user| self.place[user.index()]).min().unwrap_or(i64::MAX)
    }

    /// Returns the CPU for which a job competes.
    fn cpu_of(&self, live: &Live) -> Option<CpuId> {
        let away = live.held.iter().chain(&live.asked).map(|&(resource, _)| resource);
        let home = away.filter(|&resource| self.is_global(resource)).find_map(|it| self.home(it));
        home.or(self.cpu[live.task.index()])
    }

    /// Returns the highest ceiling of the resources that other jobs of the CPU hold, and the holder
    /// of that resource. The resource that was granted last comes first.
    fn others_hold(&self, live: &Live, all: &[Live]) -> Option<(i64, usize)> {
        let cpu = self.cpu[live.task.index()];
        let others = all.iter().filter(|other| other.job != live.job);
        let others = others.filter(|other| self.cpu[other.task.index()] == cpu);
        let held = others.flat_map(|other| {
            let ceiling = |held: &(ResourceId, usize)| self.ceiling[held.0.index()];
            other.held.iter().map(move |held| (ceiling(held), usize::MAX - held.1, other.job))
        });
        held.min().map(|(ceiling, _, job)| (ceiling, job))
    }

    /// Returns the job that blocks one whose requested resource it retries. The job itself is
    /// returned if it has to wait for its turn.
    fn blocker(&self, live: &Live, all: &[Live]) -> Option<usize> {
        let (resource, _) = live.asked?;
        let holder = all.iter().find(|other| other.held.iter().any(|held| held.0 == resource));
        match self.protocol {
            Protocol::Plain | Protocol::Inheritance => holder.map(|holder| holder.job),
            Protocol::Ceiling => holder.map(|holder| holder.job).or_else(|| {
                let (ceiling, holder) = self.others_hold(live, all)?;
                (self.key(live, all).1 >= ceiling).then_some(holder)
            }),
            Protocol::Mpcp | Protocol::FmlpPlus if self.is_global(resource) => Some(live.job),
            Protocol::Mpcp
            | Protocol::FmlpPlus
            | Protocol::ImmediateCeiling
            | Protocol::Stack
            | Protocol::Msrp
            | Protocol::Dpcp => None,
        }
    }

    fn key(&self, live: &Live, all: &[Live]) -> LockingKey {
        let own = self.own_key(live);
        let inherits = matches!(self.protocol, Protocol::Inheritance | Protocol::Ceiling);
        if !inherits || live.held.is_empty() {
            return own;
        }
        let mut least = own;
        let mut found = vec![live.job];
        let mut at = 0;
        while let Some(&holder) = found.get(at) {
            at += 1;
            for other in all.iter().filter(|other| other.asked.is_some()) {
                if found.contains(&other.job) {
                    continue;
                }
                // A holder that waits itself counts without the priority that it inherits;
                // otherwise the recursion would not end.
                let resource = other.asked.map(|asked| asked.0);
                let holds =
                    all.iter().find(|one| one.held.iter().any(|held| Some(held.0) == resource));
                let waits_for = match (holds, self.protocol) {
                    (Some(one), _) => Some(one.job),
                    (None, Protocol::Ceiling) => self
                        .others_hold(other, all)
                        .filter(|&(ceiling, _)| self.own_key(other).1 >= ceiling)
                        .map(|(_, job)| job),
                    (None, _) => None,
                };
                if waits_for == Some(holder) {
                    least = least.min(self.own_key(other));
                    found.push(other.job);
                }
            }
        }
        least
    }

    fn own_key(&self, live: &Live) -> LockingKey {
        let place = self.place[live.task.index()];
        let held = live.held.iter().copied().find(|held| self.is_global(held.0));
        let asked = live.asked.filter(|asked| self.is_global(asked.0));
        let boosted = |number, then| (false, number, then, place);
        match (self.protocol, held) {
            (Protocol::Mpcp, Some((resource, mark))) => {
                return boosted(self.remote_ceiling(resource, live.task), mark);
            }
            (Protocol::FmlpPlus, Some((_, mark))) => return boosted(0, mark),
            (Protocol::Dpcp, Some((resource, _))) => {
                return boosted(self.ceiling[resource.index()], 0);
            }
            (Protocol::Dpcp, None) if asked.is_some() => return boosted(place, 1),
            (Protocol::Msrp, _) if held.is_some() || asked.is_some() => return boosted(0, 0),
            (_, _) => {}
        }
        if let Some((levels, in_level)) = &self.levels {
            let ready = match in_level {
                InLevel::Fifo => live.ready.ns() as usize,
                InLevel::Any => 0,
            };
            return (true, levels[live.task.index()], ready, place);
        }
        if self.by_deadline {
            return (true, live.deadline.ns(), 0, place);
        }
        let raises = match self.protocol {
            Protocol::Plain | Protocol::Inheritance | Protocol::Ceiling | Protocol::Stack => false,
            Protocol::ImmediateCeiling
            | Protocol::Mpcp
            | Protocol::Dpcp
            | Protocol::FmlpPlus
            | Protocol::Msrp => true,
        };
        let ceilings = live.held.iter().map(|held| self.ceiling[held.0.index()]);
        match ceilings.min().filter(|_| raises) {
            Some(ceiling) => (true, place.min(ceiling), 0, place),
            None => (true, place, 1, place),
        }
    }

    /// Returns true if a job may run in place of the first one: another job of its level, if the
    /// jobs of a level come in any order.
    fn may_stand_for(&self, first: &Live, job: usize, all: &[Live]) -> bool {
        let Some((levels, InLevel::Any)) = &self.levels else { return first.job == job };
        all.iter().any(|live| {
            let is_equal = levels[live.task.index()] == levels[first.task.index()];
            live.job == job && !live.sleeps && is_equal
        })
    }

    /// Returns the job that a CPU has to run.
    fn expected<'b>(&self, cpu: CpuId, all: &'b [Live]) -> Option<&'b Live> {
        let here = all.iter().filter(|live| {
            !live.sleeps && self.cpu_of(live) == Some(cpu) && self.blocker(live, all).is_none()
        });
        let least = here.clone().min_by_key(|live| self.key(live, all))?;
        if self.protocol != Protocol::Stack || least.begun {
            return Some(least);
        }
        let on_it = all.iter().filter(|live| self.cpu_of(live) == Some(cpu));
        let held = on_it.flat_map(|live| live.held.iter().map(|held| self.ceiling[held.0.index()]));
        let deadline = self.system.tasks[least.task].deadline.ns();
        if held.min().is_none_or(|ceiling| deadline < ceiling) {
            return Some(least);
        }
        here.filter(|live| live.begun).min_by_key(|live| self.key(live, all))
    }
}

impl Checker<'_> {
    /// Lets a job under DPCP execute its sections on their home CPUs, in addition to the CPUs of
    /// its task.
    pub(super) fn allow_homes(&mut self, rule: &ScheduleRule) {
        if !matches!(rule, ScheduleRule::Locking(rule) if rule.protocol == Protocol::Dpcp) {
            return;
        }
        for (id, task) in self.system.tasks.iter() {
            for section in task.sections() {
                if let Some(home) = self.system.resources[section.resource.index()].home {
                    self.allowed[id].insert(home);
                }
            }
        }
    }

    pub(super) fn check_locking(&mut self, rule: &Locking) {
        let system = self.system;
        if !self.knows_all() {
            return;
        }
        let shared = LockingFacts::new(rule, system);
        let segments = std::mem::take(&mut self.sound);
        for segment in &segments {
            let task = self.trace.jobs[segment.job].job.id.task;
            let homes = system.tasks[task].sections().into_iter().filter_map(|section| {
                let resource = Some(section.resource).filter(|&it| shared.is_global(it))?;
                shared.home(resource)
            });
            let own = shared.cpu[task.index()];
            if own.into_iter().chain(homes).all(|cpu| cpu != segment.cpu) {
                self.violated(|this| Violation::OutsideGroup {
                    job: this.name_at(segment.job),
                    cpu: segment.cpu,
                    at: segment.start,
                });
            }
        }
        let has_locks = system.tasks.values().any(|task| !task.sections().is_empty());
        if self.demand == Demand::Bounded && !has_locks {
            // In a world without locks, the first job runs unless it is suspended.
            self.sound = segments;
            self.check_highest_first(&rule.groups, Some(&rule.order), Placement::Anywhere);
            return;
        }
        let is_told = !self.is_real
            && self.demand == Demand::Drawn
            && self.latency == Duration::ZERO
            && system.platform.overheads.is_zero()
            && system.requests.is_empty();
        if is_told && self.steps_are_kept(&segments) {
            self.sweep_locks(&shared, &segments);
        }
    }

    /// Returns true if the set has all tasks and resources that the trace names. Reports unknown
    /// resources.
    fn knows_all(&mut self) -> bool {
        let trace = self.trace;
        for mark in &trace.marks {
            if let MarkKind::Lock(id, resource, _) = mark.kind
                && resource.index() >= self.system.resources.len()
            {
                self.violated(|this| Violation::Steps { job: this.name(id), at: mark.at });
                return false;
            }
        }
        // Jobs of unknown tasks have already been reported.
        trace.jobs.iter().all(|record| self.system.tasks.get(record.job.id.task).is_some())
    }
}
