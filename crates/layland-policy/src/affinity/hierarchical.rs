//! **HPA**: strong scheduling with hierarchical processor affinities (Bonifaci, Brandenburg, D'Angelo,
//! Marchetti-Spaccamela 2016, Section III-C and Algorithm 6). With deadlines as keys this is HPA-EDF.
//!
//! Masks are nested or disjoint, so they form a tree. `hierarchy.rs` keeps the set of tasks that
//! run, in O(m) per arrival and O(m + log n) per departure. Once per instant, these tasks are
//! mapped to CPUs:
//!
//! - `assign=plain`, Algorithm 4: from the smallest masks up, in order within each mask, every task
//!   takes the lowest free CPU of its mask. Tasks may migrate without necessity.
//! - `assign=local`, Algorithm 6, described below.
//!
//! | paper | here |
//! |---|---|
//! | `last_cpu`, `last_t` | the last CPU of a task and the time until which it ran there; for a running task, now |
//! | `pref`, `reserved`, `available` | the same |
//!
//! Deviations from the paper:
//!
//! - Tasks are processed by mask, children before parents, and in order within a mask, instead of
//!   sorted by level. Masks of one level are disjoint, so the mapping is the same.
//! - A last CPU outside the mask does not count as a preference.
//! - A CPU prefers the task that ran last on it; among equals a task that still runs, then the
//!   first.
//! - If all chosen tasks were already running, Algorithm 6 leaves them in place. If only one task
//!   starts, and its last CPU or else any CPU of its mask is idle, the task takes that CPU and all
//!   other tasks stay. If several tasks start, and each finds an idle CPU that prefers it or no
//!   task, all other tasks stay, too. Only in other cases is Algorithm 6 carried out in full, in
//!   O(m) operations on sets of CPUs.
//!
//! The tree is rebuilt, in O(n m), when a mask comes into use or a CPU goes online or offline,
//! since it contains only the online CPUs of each mask. A task without online CPUs waits.

use super::affine::Affine;
use super::backlog::PlaceInOrder;
use super::bits::Bits;
use super::hierarchy::{ArrivalEffect, Departure, MaskHierarchy};
use super::matcher::{LastRun, Matcher};
use crate::info::{PolicyOptions, SystemRefusal};
use crate::shell::groups::check_priorities;
use crate::{Policy, Refusal};
use layland_model::{
    CpuId, CpuSet, Form, Index, JobOrder, Order, ScheduleRule, System, TaskId, TaskMap, Time,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Returns the policy of strong scheduling for laminar masks.
///
/// # Errors
/// If two masks overlap and neither is within the other, or a priority is missing.
pub fn hierarchical(
    order: Order,
    system: &System,
    options: &PolicyOptions,
) -> Result<Box<dyn Policy>, SystemRefusal> {
    check_priorities(order, system)?;
    let cpus = system.platform.cpu_count();
    let assignment = match options.text("assign") {
        None | Some("local") => Assignment::Local,
        Some("plain") => Assignment::Plain,
        Some(other) => {
            let reason = format!("assign=`{other}` is neither local nor plain");
            return Err(Refusal::invalid(reason).into());
        }
    };
    Ok(if cpus <= u64::BITS as usize {
        Box::new(Affine::new(order, system, options, Hierarchical::<u64>::new(cpus, assignment))?)
    } else {
        Box::new(Affine::new(
            order,
            system,
            options,
            Hierarchical::<Box<[u64]>>::new(cpus, assignment),
        )?)
    })
}

/// The algorithm that maps the chosen tasks to CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Assignment {
    /// Algorithm 4.
    Plain,
    /// Algorithm 6.
    Local,
}

/// A ready job.
#[derive(Clone, Copy, Debug)]
struct ReadyJob {
    class: usize,
    place: PlaceInOrder,
    is_chosen: bool,
}

/// See the file header.
#[derive(Clone, Debug)]
pub(crate) struct Hierarchical<B: Bits> {
    assignment: Assignment,
    classes: Vec<CpuSet>,
    is_in_use: Vec<bool>,
    /// The node of each class in the tree.
    node_of: Vec<u32>,
    tree: MaskHierarchy<B>,
    /// True if the tree is outdated: masks or CPUs have changed.
    is_stale: bool,
    seats: TaskMap<Option<ReadyJob>>,
    online: CpuSet,
    online_bits: B,
    /// The mapping that was settled last, without the tasks that have departed since.
    occupant: Vec<Option<TaskId>>,
    cpu_of: TaskMap<Option<CpuId>>,
    /// The CPUs that are online and have no task.
    idle: B,
    /// The changes since the mapping was settled: tasks that were chosen and had no CPU, and tasks
    /// that had a CPU and are no longer chosen. Later events may have undone them.
    entered: Vec<TaskId>,
    evicted: Vec<TaskId>,
    must_map_all: bool,
    touched: Vec<CpuId>,
    /// Scratch memory of Algorithm 6, and its mapping.
    pref: Vec<Option<((Time, bool), TaskId)>>,
    reserved: B,
    available: B,
    mapping: Vec<Option<TaskId>>,
    starting: Vec<(TaskId, CpuId)>,
}

impl<B: Bits> Hierarchical<B> {
    fn new(cpus: usize, assignment: Assignment) -> Self {
        let (tree, _) = MaskHierarchy::new(&[], &CpuSet::new(), cpus);
        Self {
            assignment,
            classes: Vec::new(),
            is_in_use: Vec::new(),
            node_of: Vec::new(),
            tree,
            is_stale: false,
            seats: TaskMap::default(),
            online: CpuSet::new(),
            online_bits: B::none(cpus),
            occupant: vec![None; cpus],
            cpu_of: TaskMap::default(),
            idle: B::none(cpus),
            entered: Vec::new(),
            evicted: Vec::new(),
            must_map_all: false,
            touched: Vec::new(),
            pref: vec![None; cpus],
            reserved: B::none(cpus),
            available: B::none(cpus),
            mapping: vec![None; cpus],
            starting: Vec::new(),
        }
    }

    /// Rebuilds the tree and lets every ready task arrive in it.
    #[cold]
    fn rebuild(&mut self) {
        self.is_stale = false;
        self.must_map_all = true;
        let mut masks: BTreeMap<CpuSet, Vec<usize>> = BTreeMap::new();
        for (class, cpus) in self.classes.iter().enumerate() {
            if self.is_in_use[class] {
                masks.entry(cpus.intersection(&self.online)).or_default().push(class);
            }
        }
        let distinct: Vec<&CpuSet> = masks.keys().collect();
        let (tree, nodes) = MaskHierarchy::new(&distinct, &self.online, self.occupant.len());
        self.tree = tree;
        self.node_of = vec![u32::MAX; self.classes.len()];
        for (classes, node) in masks.values().zip(nodes) {
            classes.iter().for_each(|&class| self.node_of[class] = node);
        }
        let mut ready: Vec<PlaceInOrder> =
            self.seats.values().flatten().map(|seat| seat.place).collect();
        ready.sort_unstable();
        ready.into_iter().for_each(|place| self.admit(place));
    }

    #[inline]
    fn refresh(&mut self) {
        if self.is_stale {
            self.rebuild();
        }
    }

    #[inline]
    fn seat(&mut self, task: TaskId) -> &mut ReadyJob {
        self.seats[task].as_mut().expect("it is ready")
    }

    /// Lets a ready task arrive in the tree.
    #[inline]
    fn admit(&mut self, place: PlaceInOrder) {
        let class = self.seat(place.task).class;
        let arrival = self.tree.arrive(self.node_of[class], place);
        let is_chosen = arrival != ArrivalEffect::Waits;
        self.seat(place.task).is_chosen = is_chosen;
        if is_chosen {
            self.entered.push(place.task);
        }
        if let ArrivalEffect::Replaces(other) = arrival {
            self.seat(other.task).is_chosen = false;
            self.evicted.push(other.task);
        }
    }

    /// Removes a task from the mapping.
    #[inline]
    fn unmap(&mut self, task: TaskId) {
        if let Some(cpu) = self.cpu_of[task].take() {
            self.occupant[cpu.index()] = None;
            self.touched.push(cpu);
            if self.online.contains(cpu) {
                self.idle.insert(cpu);
            }
        }
    }

    #[inline]
    fn is_chosen(&self, task: TaskId) -> bool {
        self.seats[task].is_some_and(|seat| seat.is_chosen)
    }

    /// Returns the idle CPU that Algorithm 6 assigns to the only task that starts, if there is one.
    #[inline]
    fn idle_for(&self, task: TaskId, ran: LastRun) -> Option<CpuId> {
        let seat = self.seats[task].as_ref()?;
        let mask = self.tree.cpus(self.node_of[seat.class]);
        let own = ran.cpu.filter(|&cpu| mask.contains(cpu) && self.idle.contains(cpu));
        own.or_else(|| mask.lowest_in(&self.idle))
    }

    /// Algorithm 4.
    fn assign_plain(&mut self) {
        let Self { tree, available, online_bits, mapping, .. } = self;
        available.clone_from(online_bits);
        mapping.fill(None);
        for (mask, place) in tree.chosen() {
            let cpu = mask.lowest_in(available).expect("no mask has more tasks than CPUs");
            available.remove(cpu);
            mapping[cpu.index()] = Some(place.task);
        }
    }

    /// Algorithm 6.
    fn assign_local(&mut self, now: Time, ran: &TaskMap<LastRun>) {
        let Self { tree, available, reserved, pref, online_bits, mapping, .. } = self;
        // Lines 1-3.
        available.clone_from(online_bits);
        reserved.clear();
        pref.fill(None);
        mapping.fill(None);
        // Lines 6-10.
        for (mask, place) in tree.chosen() {
            let Some(last_cpu) = ran[place.task].cpu.filter(|&cpu| mask.contains(cpu)) else {
                continue;
            };
            let recency = ran[place.task].recency(now);
            let preferred = &mut pref[last_cpu.index()];
            if preferred.is_none_or(|(other, _)| other < recency) {
                *preferred = Some((recency, place.task));
                reserved.insert(last_cpu);
            }
        }
        // Lines 11-19.
        for (mask, place) in tree.chosen() {
            let own = ran[place.task].cpu.filter(|&cpu| {
                mask.contains(cpu)
                    && available.contains(cpu)
                    && pref[cpu.index()].is_some_and(|(_, task)| task == place.task)
            });
            let cpu = own
                .or_else(|| mask.lowest_in_except(available, reserved))
                .or_else(|| mask.lowest_in(available))
                .expect("no mask has more tasks than CPUs");
            available.remove(cpu);
            mapping[cpu.index()] = Some(place.task);
        }
    }

    /// Maps the starting tasks if Algorithm 6 would move no other task, and returns true if it did
    /// so. Running the full algorithm, O(m), each time would be too slow if some tasks start in
    /// every microsecond.
    ///
    /// A mapped task runs, so its CPU prefers it. Only a task that finds no CPU without such a
    /// preference can take that CPU away. If every starting task finds one, all mapped tasks stay
    /// in place.
    fn start_beside(
        &mut self,
        now: Time,
        ran: &TaskMap<LastRun>,
        entered: &mut Vec<TaskId>,
    ) -> bool {
        let Self { tree, node_of, seats, idle, available, reserved, pref, starting, .. } = self;
        let node = |task: TaskId| {
            let seat = seats[task].as_ref().expect("a task that starts is ready");
            (node_of[seat.class], seat.place)
        };
        // In the order of `chosen`.
        entered.sort_unstable_by_key(|&task| {
            let (node, place) = node(task);
            (Reverse(node), place)
        });
        // A task that was evicted and came back within this instant has entered twice.
        entered.dedup();
        available.clone_from(idle);
        reserved.clear();
        // Lines 6-10, for idle CPUs.
        for &task in &*entered {
            let mask = tree.cpus(node(task).0);
            let last = ran[task].cpu.filter(|&cpu| mask.contains(cpu) && idle.contains(cpu));
            let Some(last_cpu) = last else { continue };
            let recency = ran[task].recency(now);
            let preferred = &mut pref[last_cpu.index()];
            let is_first = !reserved.contains(last_cpu);
            if is_first || preferred.is_none_or(|(other, _)| other < recency) {
                *preferred = Some((recency, task));
                reserved.insert(last_cpu);
            }
        }
        // Lines 11-19.
        starting.clear();
        for &task in &*entered {
            let mask = tree.cpus(node(task).0);
            let own = ran[task].cpu.filter(|&cpu| {
                reserved.contains(cpu) && pref[cpu.index()].is_some_and(|(_, of)| of == task)
            });
            let Some(cpu) = own.or_else(|| mask.lowest_in_except(available, reserved)) else {
                return false;
            };
            available.remove(cpu);
            starting.push((task, cpu));
        }
        for (task, cpu) in self.starting.drain(..) {
            self.occupant[cpu.index()] = Some(task);
            self.cpu_of[task] = Some(cpu);
            self.idle.remove(cpu);
            self.touched.push(cpu);
        }
        true
    }

    /// Replaces the whole mapping.
    fn map_all(&mut self) {
        for at in 0..self.occupant.len() {
            let (old, new) = (self.occupant[at], self.mapping[at]);
            if old == new {
                continue;
            }
            let cpu = CpuId::from_index(at);
            if let Some(task) = old
                && self.cpu_of[task] == Some(cpu)
            {
                self.cpu_of[task] = None;
            }
            match new {
                Some(task) => {
                    self.cpu_of[task] = Some(cpu);
                    self.idle.remove(cpu);
                }
                None if self.online.contains(cpu) => self.idle.insert(cpu),
                None => {}
            }
            self.occupant[at] = new;
            self.touched.push(cpu);
        }
    }
}

impl<B: Bits> Matcher for Hierarchical<B> {
    const FORM: Form = Form::Hierarchical;
    const LAMINAR: bool = true;

    fn rule(order: JobOrder) -> ScheduleRule {
        ScheduleRule::Strong { order }
    }
    fn add_class(&mut self, cpus: &CpuSet) {
        self.classes.push(cpus.clone());
        self.is_in_use.push(false);
    }
    fn use_classes(&mut self, in_use: &[bool]) {
        if self.is_in_use != in_use {
            self.is_in_use = in_use.to_vec();
            self.is_stale = true;
        }
    }
    fn resize(&mut self, tasks: usize) {
        self.seats.resize(tasks, None);
        self.cpu_of.resize(tasks, None);
    }
    #[inline]
    fn arrive(&mut self, class: usize, place: PlaceInOrder, _ran: &TaskMap<LastRun>) {
        self.refresh();
        self.seats[place.task] = Some(ReadyJob { class, place, is_chosen: false });
        self.admit(place);
    }
    #[inline]
    fn depart(&mut self, task: TaskId) {
        self.refresh();
        let Some(seat) = self.seats[task].take() else { return };
        self.unmap(task);
        match self.tree.depart(self.node_of[seat.class], seat.place, seat.is_chosen) {
            Departure::Left(Some(next)) => {
                self.seat(next.task).is_chosen = true;
                self.entered.push(next.task);
            }
            Departure::Left(None) => self.must_map_all |= self.assignment == Assignment::Plain,
            Departure::Waited => {}
        }
    }
    fn online(&mut self, cpu: CpuId) {
        self.online.insert(cpu);
        self.online_bits.insert(cpu);
        self.idle.insert(cpu);
        self.is_stale = true;
    }
    fn offline(&mut self, cpu: CpuId, _ran: &TaskMap<LastRun>) {
        self.online.remove(cpu);
        self.online_bits.remove(cpu);
        if let Some(task) = self.occupant[cpu.index()] {
            self.unmap(task);
        }
        self.idle.remove(cpu);
        self.is_stale = true;
    }
    #[inline]
    fn settle(&mut self, now: Time, ran: &TaskMap<LastRun>) {
        self.refresh();
        if self.entered.is_empty() && self.evicted.is_empty() && !self.must_map_all {
            return;
        }
        while let Some(task) = self.evicted.pop() {
            if !self.is_chosen(task) {
                self.unmap(task);
            }
        }
        let mut entered = std::mem::take(&mut self.entered);
        entered.retain(|&task| self.cpu_of[task].is_none() && self.is_chosen(task));
        let only = if let [task] = entered[..] { Some(task) } else { None };
        let is_all = self.must_map_all || self.assignment == Assignment::Plain;
        let idle = only.filter(|_| !is_all).and_then(|task| self.idle_for(task, ran[task]));
        if let (Some(task), Some(cpu)) = (only, idle) {
            self.occupant[cpu.index()] = Some(task);
            self.cpu_of[task] = Some(cpu);
            self.idle.remove(cpu);
            self.touched.push(cpu);
        } else if is_all || (!entered.is_empty() && !self.start_beside(now, ran, &mut entered)) {
            match self.assignment {
                Assignment::Plain => self.assign_plain(),
                Assignment::Local => self.assign_local(now, ran),
            }
            self.map_all();
        }
        self.must_map_all = false;
        entered.clear();
        self.entered = entered;
    }
    #[inline]
    fn on(&self, cpu: CpuId) -> Option<TaskId> {
        self.occupant[cpu.index()]
    }
    #[inline]
    fn take_touched(&mut self, touched: &mut Vec<CpuId>) {
        touched.append(&mut self.touched);
    }
}
