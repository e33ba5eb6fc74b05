//! **Strong** scheduling with affinities, for any masks (Cerqueira, Gujarati, Brandenburg 2014; Bonifaci
//! et al. 2016, Definition II.2). With deadlines as keys this is SAPA-EDF.
//!
//! A CPU is *reachable* from a waiting task if it is in the mask of that task, or in the mask of a
//! task that runs on a reachable CPU. The strong invariant: for every ready task `b` that does not
//! run, every CPU reachable from it runs a task that comes before `b`.
//!
//! *Shifting* along alternating paths maintains the matching, one event after another:
//!
//! 1. *Arrival* of `p`: a breadth-first search from `p`. Each task on the frontier opens the
//!    unopened CPUs of its mask, in ascending order. The first idle CPU ends the search. If there
//!    is none, the search chooses the reached CPU whose job comes last: if that job is after `p`,
//!    it has to wait; otherwise `p` waits and nothing changes. Then every task on the path takes
//!    the CPU that it opened.
//! 2. *Departure* from a CPU, or a CPU that comes online: a breadth-first search backwards. For a
//!    CPU `c` on the frontier, the first waiting task among those that may use `c` is a candidate,
//!    and every busy CPU whose task may use `c` joins the frontier, in ascending order. The first
//!    of all candidates (at the CPU at which it was first found) takes its CPU, and every task
//!    between there and the free CPU moves on by one.
//!
//! A CPU that goes offline makes its task arrive anew: the other tasks keep the invariant without
//! it, since fewer CPUs are reachable. An arrival takes O(m^2), a departure O(m^2 + m d + log n)
//! for d distinct masks. Two cases, which are the most frequent on a large machine, need no search:
//! a task that may use every CPU arrives when none is idle (O(m / 64)), or the first of all waiting
//! tasks may use the CPU that became free (O(d + log n)).

use super::affine::Affine;
use super::backlog::PlaceInOrder;
use super::bits::Bits;
use super::ground::{Ground, Seat};
use super::matcher::{LastRun, Matcher};
use crate::Policy;
use crate::info::{PolicyOptions, SystemRefusal};
use crate::shell::groups::check_priorities;
use layland_model::{
    CpuId, CpuSet, Form, Index, JobOrder, Order, ScheduleRule, System, TaskId, TaskMap, Time,
};

/// Returns the policy of strong scheduling.
///
/// # Errors
/// If a priority is missing.
pub fn strong(
    order: Order,
    system: &System,
    options: &PolicyOptions,
) -> Result<Box<dyn Policy>, SystemRefusal> {
    check_priorities(order, system)?;
    let cpus = system.platform.cpu_count();
    Ok(if cpus <= u64::BITS as usize {
        Box::new(Affine::new(order, system, options, Strong::<u64>::new(cpus))?)
    } else {
        Box::new(Affine::new(order, system, options, Strong::<Box<[u64]>>::new(cpus))?)
    })
}

/// See the file header.
#[derive(Clone, Debug)]
pub(crate) struct Strong<B> {
    ground: Ground<B>,
    /// The CPUs that the search has not met.
    unseen: B,
    /// The CPUs that it has met, in that order.
    frontier: Vec<CpuId>,
    /// For each CPU that was met: the task that opened it, or the CPU to which its task would move.
    opened_by: Vec<TaskId>,
    next_hop: Vec<CpuId>,
}

impl<B: Bits> Strong<B> {
    fn new(cpus: usize) -> Self {
        Self {
            ground: Ground::new(cpus),
            unseen: B::none(cpus),
            frontier: Vec::with_capacity(cpus),
            opened_by: vec![TaskId(0); cpus],
            next_hop: vec![CpuId(0); cpus],
        }
    }

    /// Rule 1.
    fn place(&mut self, p: TaskId) {
        // The search would end at once, at the lowest idle CPU of its mask.
        if let Some(cpu) = self.ground.mask(p).lowest_in(&self.ground.idle) {
            return self.ground.put(p, cpu);
        }
        // No CPU is idle, and the task may use all of them: the search would reach only the CPUs
        // that the task itself opens.
        if self.ground.idle.is_empty() && self.ground.mask(p).covers(&self.ground.online) {
            let Seat { class, place: own, .. } = self.ground.seat(p);
            match self.ground.last_within(class) {
                Some((victim, cpu)) if victim > own => {
                    self.ground.wait(victim.task);
                    self.ground.put(p, cpu);
                }
                Some(_) | None => self.ground.wait(p),
            }
            return;
        }
        let Self { ground, unseen, frontier, opened_by, .. } = self;
        unseen.clone_from(&ground.online);
        frontier.clear();
        let (mut opener, mut next, mut free) = (p, 0, None);
        let mut last: Option<(PlaceInOrder, CpuId)> = None;
        'search: loop {
            while let Some(cpu) = ground.mask(opener).lowest_in(unseen) {
                unseen.remove(cpu);
                opened_by[cpu.index()] = opener;
                match ground.occupant[cpu.index()] {
                    None => {
                        free = Some(cpu);
                        break 'search;
                    }
                    Some(place) => {
                        frontier.push(cpu);
                        last = last.max(Some((place, cpu)));
                    }
                }
            }
            let Some(&cpu) = frontier.get(next) else { break };
            opener = ground.occupant[cpu.index()].expect("the frontier is busy").task;
            next += 1;
        }
        let own = ground.seat(p).place;
        let target = match (free, last) {
            (Some(cpu), _) => cpu,
            (None, Some((victim, cpu))) if victim > own => {
                ground.wait(victim.task);
                cpu
            }
            (None, _) => return ground.wait(p),
        };
        // Back along the path: every task takes the CPU that it opened.
        let mut cpu = target;
        loop {
            let task = opened_by[cpu.index()];
            let left = ground.seat(task).cpu;
            ground.put(task, cpu);
            match left {
                Some(left) => cpu = left,
                None => break,
            }
        }
    }

    /// Rule 2.
    fn fill(&mut self, c0: CpuId) {
        // No waiting task could take it.
        if self.ground.waiting == 0 {
            return;
        }
        // This is the first of all waiting tasks, so no other task need move to let one in.
        let first_here = self.ground.first_waiting(c0);
        if let Some(first) = first_here.filter(|_| first_here == self.ground.first_of_all()) {
            self.ground.call(first);
            return self.ground.put(first.task, c0);
        }
        let Self { ground, unseen, frontier, next_hop, .. } = self;
        unseen.clone_from(&ground.online);
        unseen.remove(c0);
        frontier.clear();
        frontier.push(c0);
        let mut best: Option<(PlaceInOrder, CpuId)> = None;
        let mut next = 0;
        // True if a busy CPU may still be unseen: with wide masks, the first iteration sees all.
        let mut some_unseen = true;
        while let Some(&cpu) = frontier.get(next) {
            next += 1;
            if let Some(first) = ground.first_waiting(cpu)
                && best.is_none_or(|(best, _)| first < best)
            {
                best = Some((first, cpu));
            }
            if !std::mem::take(&mut some_unseen) {
                continue;
            }
            for (at, place) in ground.occupant.iter().enumerate() {
                let (Some(place), x) = (place, CpuId::from_index(at)) else { continue };
                if !unseen.contains(x) {
                    continue;
                }
                if ground.mask(place.task).contains(cpu) {
                    unseen.remove(x);
                    next_hop[at] = cpu;
                    frontier.push(x);
                } else {
                    some_unseen = true;
                }
            }
        }
        let Some((first, mut cpu)) = best else { return };
        ground.call(first);
        let mut task = first.task;
        loop {
            let former = ground.occupant[cpu.index()];
            ground.put(task, cpu);
            let Some(former) = former else { break };
            (task, cpu) = (former.task, next_hop[cpu.index()]);
        }
    }
}

impl<B: Bits> Matcher for Strong<B> {
    const FORM: Form = Form::Strong;
    const LAMINAR: bool = false;

    fn rule(order: JobOrder) -> ScheduleRule {
        ScheduleRule::Strong { order }
    }
    fn add_class(&mut self, cpus: &CpuSet) {
        self.ground.add_class(cpus);
    }
    fn resize(&mut self, tasks: usize) {
        self.ground.seats.resize(tasks, None);
    }
    fn arrive(&mut self, class: usize, place: PlaceInOrder, _ran: &TaskMap<LastRun>) {
        self.ground.seats[place.task] = Some(Seat { class, place, cpu: None });
        self.place(place.task);
    }
    fn depart(&mut self, task: TaskId) {
        if let Some(cpu) = self.ground.remove(task) {
            self.fill(cpu);
        }
    }
    fn online(&mut self, cpu: CpuId) {
        self.ground.online.insert(cpu);
        self.ground.vacate(cpu);
        self.fill(cpu);
    }
    fn offline(&mut self, cpu: CpuId, _ran: &TaskMap<LastRun>) {
        self.ground.online.remove(cpu);
        self.ground.idle.remove(cpu);
        if let Some(place) = self.ground.occupant[cpu.index()] {
            self.ground.vacate(cpu);
            self.ground.seats[place.task].as_mut().expect("it was running").cpu = None;
            self.place(place.task);
        }
    }
    fn settle(&mut self, _now: Time, _ran: &TaskMap<LastRun>) {}
    fn on(&self, cpu: CpuId) -> Option<TaskId> {
        self.ground.occupant[cpu.index()].map(|place| place.task)
    }
    fn take_touched(&mut self, touched: &mut Vec<CpuId>) {
        touched.append(&mut self.ground.touched);
    }
}
