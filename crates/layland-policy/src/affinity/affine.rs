//! The policy around a [`Matcher`]: it keeps the tasks, turns events into arrivals and departures,
//! and reports changes to the engine.
//!
//! Events take effect in the order in which they arrive, which is the order within an instant:
//! completions by CPU, releases by rank, then requests in their order. The mapping is settled once,
//! after the last event. A task whose affinity changes departs and arrives anew.
//!
//! A task may use the CPUs of its affinity, or of its cluster if it has none. When its cluster gets
//! other CPUs, it may use the intersection of affinity and cluster, or the whole cluster if the
//! intersection is empty.
//!
//! Long because it handles every event and every request in the life of a task.

use super::backlog::PlaceInOrder;
use super::laminar::{overlap, parents};
use super::matcher::{LastRun, Matcher};
use crate::info::{PolicyOptions, SystemRefusal};
use crate::levels;
use crate::shell::Refusals;
use crate::{Action, Count, Event, Needs, Policy, Refusal, RequestId, State};
use layland_model::{
    Algorithm, Change, CpuId, CpuMap, CpuSet, Form, InLevel, Index, JobId, JobOrder, Order,
    ScheduleRule, System, Task, TaskId, TaskMap, Time,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The state of a task that decisions need.
#[derive(Clone, Copy, Debug)]
struct AffineTask {
    class: usize,
    rank: i64,
    /// The key of its jobs, if it is fixed.
    fixed_key: Option<i64>,
    /// Its ready job, if it has one.
    ready: Option<(u64, PlaceInOrder)>,
    /// True if the task has neither left nor been refused.
    is_in: bool,
}

/// The state of a task that requests need.
#[derive(Clone, Debug)]
struct Profile {
    name: Arc<str>,
    affinity: Option<CpuSet>,
    cluster: usize,
}

/// See the file header.
#[derive(Clone, Debug)]
pub(crate) struct Affine<M> {
    order: Order,
    /// The order of jobs with the same priority, if ranks do not decide it.
    in_level: Option<InLevel>,
    matcher: M,
    tasks: TaskMap<AffineTask>,
    profiles: TaskMap<Profile>,
    clusters: Vec<CpuSet>,
    /// The masks by class; `members` counts the tasks of each.
    classes: Vec<CpuSet>,
    class_of: BTreeMap<CpuSet, usize>,
    members: Vec<usize>,
    online: CpuSet,
    ran: TaskMap<LastRun>,
    /// The jobs that the engine runs.
    running: CpuMap<Option<JobId>>,
    touched: Vec<CpuId>,
    refusals: Refusals,
}

impl<M: Matcher> Affine<M> {
    /// Returns the policy for a system.
    ///
    /// # Errors
    /// If the matcher needs laminar masks and two overlap.
    pub(crate) fn new(
        order: Order,
        system: &System,
        options: &PolicyOptions,
        matcher: M,
    ) -> Result<Self, SystemRefusal> {
        let in_level = levels::of(order, system, options)?;
        let all: Vec<TaskId> = system.tasks.ids().collect();
        let who = Algorithm::Ordered(M::FORM, order).to_string();
        levels::refuse_unknown(&who, in_level, system, [all.as_slice()], options)?;
        let cpus = system.platform.cpu_count();
        let mut policy = Self {
            order,
            in_level,
            matcher,
            tasks: TaskMap::default(),
            profiles: TaskMap::default(),
            clusters: system.platform.clusters.clone(),
            classes: Vec::new(),
            class_of: BTreeMap::new(),
            members: Vec::new(),
            online: CpuSet::new(),
            ran: TaskMap::default(),
            running: CpuMap::filled(None, cpus),
            touched: Vec::with_capacity(cpus),
            refusals: Refusals::default(),
        };
        for task in system.tasks.values() {
            policy.profiles.push(Profile {
                name: task.name.as_str().into(),
                affinity: task.affinity.clone(),
                cluster: task.cluster,
            });
        }
        // Many tasks share the same CPUs. A separate set of thousands of CPUs for each task would
        // be too large.
        let mut kinds: BTreeMap<(usize, Option<&CpuSet>), usize> = BTreeMap::new();
        let mut masks: Vec<(TaskId, CpuSet)> = Vec::new();
        let mut kind_of: TaskMap<usize> = TaskMap::default();
        for (id, task) in system.tasks.iter() {
            let kind = *kinds.entry((task.cluster, task.affinity.as_ref())).or_insert_with(|| {
                masks.push((id, policy.mask(id)));
                masks.len() - 1
            });
            kind_of.push(kind);
        }
        policy.refuse_overlaps(masks.iter().map(|(task, mask)| (*task, mask)))?;
        let classes: Vec<usize> = masks.iter().map(|(_, mask)| policy.class(mask)).collect();
        for (id, task) in system.tasks.iter() {
            let class = classes[kind_of[id]];
            policy.members[class] += 1;
            policy.add(task, class);
        }
        policy.use_classes();
        Ok(policy)
    }

    fn add(&mut self, task: &Task, class: usize) {
        self.tasks.push(AffineTask {
            class,
            rank: task.rank,
            fixed_key: self.order.fixed_key(task),
            ready: None,
            is_in: true,
        });
        self.ran.push(LastRun::NEVER);
        self.matcher.resize(self.tasks.len());
    }

    /// Returns the CPUs that a task may use.
    fn mask(&self, task: TaskId) -> CpuSet {
        let Profile { affinity, cluster, .. } = &self.profiles[task];
        let cluster = &self.clusters[*cluster];
        let common = affinity.as_ref().map(|own| own.intersection(cluster));
        common.filter(|cpus| !cpus.is_empty()).unwrap_or_else(|| cluster.clone())
    }

    /// Returns the class of the tasks that may use these CPUs.
    fn class(&mut self, mask: &CpuSet) -> usize {
        if let Some(&class) = self.class_of.get(mask) {
            return class;
        }
        self.classes.push(mask.clone());
        self.members.push(0);
        self.class_of.insert(mask.clone(), self.classes.len() - 1);
        self.matcher.add_class(mask);
        self.classes.len() - 1
    }

    fn use_classes(&mut self) {
        let in_use: Vec<bool> = self.members.iter().map(|&count| count > 0).collect();
        self.matcher.use_classes(&in_use);
    }

    /// Refuses overlapping masks if the matcher does not support them.
    fn refuse_overlaps<'a>(
        &self,
        masks: impl Iterator<Item = (TaskId, &'a CpuSet)>,
    ) -> Result<(), SystemRefusal> {
        if !M::LAMINAR {
            return Ok(());
        }
        let mut first_with: BTreeMap<&CpuSet, TaskId> = BTreeMap::new();
        for (task, mask) in masks {
            first_with.entry(mask).or_insert(task);
        }
        let distinct: Vec<&CpuSet> = first_with.keys().copied().collect();
        match parents(&distinct, self.running.len()) {
            Ok(_) => Ok(()),
            Err((a, b)) => {
                let (a, b) = (distinct[a], distinct[b]);
                let (first, second) = (first_with[a], first_with[b]);
                Err(if first < second {
                    self.overlapping((first, a), (second, b))
                } else {
                    self.overlapping((second, b), (first, a))
                })
            }
        }
    }

    fn overlapping(
        &self,
        (a, mask_a): (TaskId, &CpuSet),
        (b, mask_b): (TaskId, &CpuSet),
    ) -> SystemRefusal {
        let (name_a, name_b) = (&self.profiles[a].name, &self.profiles[b].name);
        let reason = |this: &str, strong: &str| {
            format!(
                "task `{name_a}` may run on {mask_a:#} and task `{name_b}` on {mask_b:#}: {this} needs \
                 affinities that are nested or disjoint; use {strong}, which takes any",
            )
        };
        let this = Algorithm::Ordered(Form::Hierarchical, self.order).to_string();
        let strong = Algorithm::Ordered(Form::Strong, self.order).to_string();
        Refusal::not_permitted(reason(&this, &strong))
            .about(a)
            .in_general(reason("it", &format!("{}-*", Form::Strong.abbreviation())))
    }

    fn release(&mut self, job: JobId, release: Time, deadline: Time) {
        let state = &mut self.tasks[job.task];
        debug_assert!(state.ready.is_none(), "a task has at most one ready job");
        let key = state.fixed_key.unwrap_or(deadline.ns());
        let ready = self.in_level.map_or(0, |_| release.ns());
        let place = PlaceInOrder { key, ready, rank: state.rank, task: job.task };
        state.ready = Some((job.seq, place));
        self.matcher.arrive(state.class, place, &self.ran);
    }

    /// Handles a task whose job is no longer ready; its CPU, if it has one, becomes idle.
    fn retire(&mut self, now: Time, task: TaskId) {
        if self.tasks[task].ready.take().is_some() {
            if let Some(cpu) = self.ran[task].cpu.filter(|_| self.ran[task].is_running) {
                self.stop(now, cpu);
            }
            self.matcher.depart(task);
        }
    }

    /// Records that a CPU no longer runs its job.
    fn stop(&mut self, now: Time, cpu: CpuId) {
        if let Some(job) = self.running[cpu].take()
            && self.ran[job.task].cpu == Some(cpu)
        {
            self.ran[job.task] = LastRun { cpu: Some(cpu), is_running: false, until: now };
        }
    }

    fn leave(&mut self, now: Time, task: TaskId) {
        self.retire(now, task);
        if std::mem::replace(&mut self.tasks[task].is_in, false) {
            self.members[self.tasks[task].class] -= 1;
        }
    }

    fn join(&mut self, task: TaskId, parameters: &Task, request: RequestId) {
        if let Some(state) = self.tasks.get_mut(task)
            && state.is_in
        {
            state.fixed_key = self.order.fixed_key(parameters);
            return;
        }
        if parameters.cluster >= self.clusters.len() {
            let reason = format!("cluster {} does not exist", parameters.cluster);
            return self.refusals.push(request, Refusal::not_permitted(reason));
        }
        // The task was unknown when the policy was built, or has come back.
        while self.tasks.len() <= task.index() {
            let (name, affinity, cluster) = ("".into(), None, 0);
            self.profiles.push(Profile { name, affinity, cluster });
            self.add(parameters, 0);
            self.tasks.values_mut().next_back().expect("it was added").is_in = false;
        }
        self.profiles[task] = Profile {
            name: parameters.name.as_str().into(),
            affinity: parameters.affinity.clone(),
            cluster: parameters.cluster,
        };
        let mask = self.mask(task);
        if let Err(refusal) = self.refuse_overlap_of(task, &mask) {
            return self.refusals.push(request, refusal.answer);
        }
        let class = self.class(&mask);
        self.tasks[task] = AffineTask {
            class,
            rank: parameters.rank,
            fixed_key: self.order.fixed_key(parameters),
            ready: None,
            is_in: true,
        };
        self.members[class] += 1;
        if self.members[class] == 1 {
            self.use_classes();
        }
    }

    /// Refuses a new mask of a task that overlaps the mask of another task.
    fn refuse_overlap_of(&self, task: TaskId, mask: &CpuSet) -> Result<(), SystemRefusal> {
        let overlaps = |other: &(TaskId, &AffineTask)| {
            let &(id, state) = other;
            id != task && state.is_in && overlap(&self.classes[state.class], mask)
        };
        match self.tasks.iter().filter(|_| M::LAMINAR).find(overlaps) {
            None => Ok(()),
            Some((other, state)) => {
                Err(self.overlapping((task, mask), (other, &self.classes[state.class])))
            }
        }
    }

    /// Changes the CPUs that some tasks may use, for all of them at once.
    fn change_masks(&mut self, changes: &[(TaskId, CpuSet)]) {
        let ready: Vec<Option<PlaceInOrder>> = changes
            .iter()
            .map(|(task, _)| self.tasks[*task].ready.map(|(_, place)| place))
            .collect();
        // All depart before the first arrives anew, so that no old mask influences the matching.
        ready.iter().flatten().for_each(|place| self.matcher.depart(place.task));
        for (task, mask) in changes {
            let class = self.class(mask);
            let old = std::mem::replace(&mut self.tasks[*task].class, class);
            if self.tasks[*task].is_in {
                self.members[old] -= 1;
                self.members[class] += 1;
            }
        }
        self.use_classes();
        for place in ready.into_iter().flatten() {
            self.matcher.arrive(self.tasks[place.task].class, place, &self.ran);
        }
    }

    fn reconfigure(&mut self, task: TaskId, change: Change, request: RequestId) {
        let before = self.profiles[task].clone();
        match change {
            Change::Parameters { period, deadline, .. } => {
                let state = &mut self.tasks[task];
                state.fixed_key = match self.order {
                    Order::Deadline => None,
                    Order::RateMonotonic => Some(period.ns()),
                    Order::DeadlineMonotonic => Some(deadline.ns()),
                    Order::Given => state.fixed_key,
                };
                return;
            }
            Change::Affinity(cpus) => self.profiles[task].affinity = Some(cpus),
            Change::Cluster(cluster) => {
                self.profiles[task].cluster = cluster;
                self.profiles[task].affinity = None;
            }
        }
        let mask = self.mask(task);
        match self.refuse_overlap_of(task, &mask) {
            Ok(()) => self.change_masks(&[(task, mask)]),
            Err(refusal) => {
                // A refused request has no effect.
                self.profiles[task] = before;
                self.refusals.push(request, refusal.answer);
            }
        }
    }

    fn set_cluster_cpus(&mut self, cluster: usize, cpus: CpuSet, request: RequestId) {
        let mut others = self.clusters.iter().enumerate().filter(|&(other, _)| other != cluster);
        if others.any(|(_, other)| !other.is_disjoint(&cpus)) {
            let refusal = Refusal::busy("a CPU is in another cluster");
            return self.refusals.push(request, refusal);
        }
        let before = std::mem::replace(&mut self.clusters[cluster], cpus);
        let masks: Vec<(TaskId, CpuSet)> = self
            .tasks
            .iter()
            .filter(|(_, state)| state.is_in)
            .map(|(task, _)| (task, self.mask(task)))
            .collect();
        if let Err(refusal) = self.refuse_overlaps(masks.iter().map(|(task, mask)| (*task, mask))) {
            // A refused request has no effect.
            self.clusters[cluster] = before;
            return self.refusals.push(request, refusal.answer);
        }
        let mut changes: Vec<(TaskId, CpuSet)> = masks
            .into_iter()
            .filter(|(task, mask)| self.classes[self.tasks[*task].class] != *mask)
            .collect();
        // Tasks arrive anew by rank, since weak scheduling depends on the order of arrivals.
        changes.sort_by_key(|(task, _)| (self.tasks[*task].rank, *task));
        self.change_masks(&changes);
    }
}

impl<M: Matcher> Policy for Affine<M> {
    #[inline]
    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::Release { job, release, deadline } => self.release(job, release, deadline),
            Event::Completion { job, cpu: _, then: _ } | Event::Ended { job } => {
                self.retire(now, job.task);
            }
            Event::Join { task, parameters, request } => self.join(task, &parameters, request),
            Event::Leave { task } => self.leave(now, task),
            Event::Reconfigure { task, change, request } => self.reconfigure(task, change, request),
            Event::SetClusterCpus { cluster, cpus, request } => {
                self.set_cluster_cpus(cluster, cpus, request);
            }
            Event::CpuOnline { cpu } => {
                if self.online.insert(cpu) {
                    self.matcher.online(cpu);
                }
            }
            Event::CpuOffline { cpu } => {
                if self.online.remove(cpu) {
                    self.stop(now, cpu);
                    self.matcher.offline(cpu, &self.ran);
                }
            }
            // This policy never grants a budget or sets a timer.
            Event::BudgetExhausted { .. }
            | Event::Timer { .. }
            | Event::Arrival { .. }
            | Event::Measured { .. }
            | Event::Step { .. } => {}
        }
    }

    #[inline]
    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.refusals.emit(actions);
        self.matcher.settle(now, &self.ran);
        let mut touched = std::mem::take(&mut self.touched);
        self.matcher.take_touched(&mut touched);
        if touched.len() > 1 {
            touched.sort_unstable();
            touched.dedup();
        }
        for cpu in touched.drain(..) {
            let next = self.matcher.on(cpu).map(|task| {
                let (seq, _) = self.tasks[task].ready.expect("only ready tasks are matched");
                JobId { task, seq }
            });
            if next == self.running[cpu] {
                continue;
            }
            // A job that has already moved is still running, on another CPU.
            self.stop(now, cpu);
            match next {
                Some(job) => {
                    self.ran[job.task] = LastRun { cpu: Some(cpu), is_running: true, until: now };
                    actions.push(Action::Run { cpu, job, budget: None });
                }
                None if self.online.contains(cpu) => actions.push(Action::Idle { cpu }),
                None => {}
            }
            self.running[cpu] = next;
        }
        self.touched = touched;
    }

    fn save(&self, now: Time, state: &mut State) {
        for (id, task) in self.tasks.iter() {
            // Classes keep their numbers when masks appear and disappear.
            state.number(if task.is_in { task.class as i64 } else { -1 });
            state.number(self.profiles[id].cluster as i64);
            // An affinity that contains more than the class matters when its cluster gets other
            // CPUs.
            let own = self.profiles[id].affinity.as_ref();
            match own.filter(|own| self.classes[task.class] != **own) {
                Some(own) => state.text(&own.to_string()),
                None => state.number(-1 - i64::from(own.is_some())),
            }
            let ran = self.ran[id];
            let cpu = ran.cpu.map_or(-1, |cpu| i64::from(cpu.0));
            state.number(match task.ready {
                Some(_) if ran.is_running => 1,
                Some(_) => 0,
                None => -1,
            });
            match (task.fixed_key, task.ready) {
                (Some(key), ready) => {
                    state.number(key);
                    if let (Some(_), Some((_, place))) = (self.in_level, ready) {
                        state.time(Time::from_ns(place.ready), now);
                    }
                }
                (None, Some((_, place))) => state.time(Time::from_ns(place.key), now),
                (None, None) => {}
            }
            // Save its recency only relative to tasks that ran last on the same CPU: others do not
            // compete.
            state.number(cpu);
            let more_recent = self
                .ran
                .values()
                .filter(|other| other.cpu == ran.cpu && other.recency(now) > ran.recency(now));
            state.number(more_recent.count() as i64);
        }
        for cpus in &self.clusters {
            state.text(&cpus.to_string());
        }
        self.running.ids().for_each(|cpu| state.number(i64::from(self.online.contains(cpu))));
    }

    fn needs(&self) -> Needs {
        Needs::READY_JOBS
    }

    fn rule(&self) -> ScheduleRule {
        M::rule(match self.order {
            Order::Deadline => JobOrder::Deadline,
            Order::RateMonotonic | Order::DeadlineMonotonic | Order::Given => {
                let numbers: TaskMap<i64> =
                    self.tasks.values().map(|task| task.fixed_key.unwrap_or(i64::MAX)).collect();
                let mut sorted: Vec<i64> = numbers.values().copied().collect();
                sorted.sort_unstable();
                let are_shared = sorted.windows(2).any(|pair| pair[0] == pair[1]);
                match self.in_level.filter(|_| are_shared) {
                    Some(in_level) => JobOrder::Levels { levels: numbers, in_level },
                    None => JobOrder::Fixed(numbers),
                }
            }
        })
    }

    fn counts(&self) -> Vec<Count> {
        Vec::new()
    }
}
