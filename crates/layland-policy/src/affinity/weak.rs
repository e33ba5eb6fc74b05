//! **Weak** scheduling with affinities (Gujarati et al. 2013; Bonifaci et al. 2016, Definition
//! II.1): the goal of the push and pull operations of Linux's real-time scheduling classes.
//!
//! The weak invariant: for every ready task `b` that does not run, and every CPU of its mask, that
//! CPU runs a task that comes before `b`.
//!
//! A running task moves only when it is preempted, so the *set* of running tasks depends on the
//! order of events. The rules here, one event after another:
//!
//! 1. *Arrival* (push): if a CPU of the mask is idle, the task takes its last CPU if that is idle,
//!    or else the lowest idle one. Otherwise consider the CPU of the mask whose job comes last: if
//!    that job is after the new one, the new one takes its CPU and the victim is handled as an
//!    arrival. Otherwise the new job waits.
//! 2. *Departure* from a CPU, or a CPU that comes online (pull): the first waiting task among those
//!    that may use the CPU takes it.
//!
//! A CPU that goes offline makes its task arrive anew. An arrival takes O(m) for each task that is
//! pushed on, at most m of them, and O(m / 64) if the mask contains nearly all CPUs or nearly none;
//! a departure takes O(d + log n) for d distinct masks.

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

/// Returns the policy of weak scheduling.
///
/// # Errors
/// If a priority is missing.
pub fn weak(
    order: Order,
    system: &System,
    options: &PolicyOptions,
) -> Result<Box<dyn Policy>, SystemRefusal> {
    check_priorities(order, system)?;
    let cpus = system.platform.cpu_count();
    Ok(if cpus <= u64::BITS as usize {
        Box::new(Affine::new(order, system, options, Weak::<u64>(Ground::new(cpus)))?)
    } else {
        Box::new(Affine::new(order, system, options, Weak::<Box<[u64]>>(Ground::new(cpus)))?)
    })
}

/// See the file header.
#[derive(Clone, Debug)]
pub(crate) struct Weak<B>(Ground<B>);

impl<B: Bits> Weak<B> {
    /// Rule 1.
    fn push(&mut self, mut task: TaskId, ran: &TaskMap<LastRun>) {
        let ground = &mut self.0;
        loop {
            let mask = ground.mask(task);
            let own = ran[task].cpu.filter(|&cpu| mask.contains(cpu) && ground.idle.contains(cpu));
            if let Some(cpu) = own.or_else(|| mask.lowest_in(&ground.idle)) {
                return ground.put(task, cpu);
            }
            match ground.last_within(ground.seat(task).class) {
                Some((last, cpu)) if last > ground.seat(task).place => {
                    ground.put(task, cpu);
                    task = last.task;
                    ground.seats[task].as_mut().expect("it was running").cpu = None;
                }
                Some(_) | None => return ground.wait(task),
            }
        }
    }

    /// Rule 2.
    fn pull(&mut self, cpu: CpuId) {
        if let Some(first) = self.0.first_waiting(cpu) {
            self.0.call(first);
            self.0.put(first.task, cpu);
        }
    }
}

impl<B: Bits> Matcher for Weak<B> {
    const FORM: Form = Form::Weak;
    const LAMINAR: bool = false;

    fn rule(order: JobOrder) -> ScheduleRule {
        ScheduleRule::Weak { order }
    }
    fn add_class(&mut self, cpus: &CpuSet) {
        self.0.add_class(cpus);
    }
    fn resize(&mut self, tasks: usize) {
        self.0.seats.resize(tasks, None);
    }
    fn arrive(&mut self, class: usize, place: PlaceInOrder, ran: &TaskMap<LastRun>) {
        self.0.seats[place.task] = Some(Seat { class, place, cpu: None });
        self.push(place.task, ran);
    }
    fn depart(&mut self, task: TaskId) {
        if let Some(cpu) = self.0.remove(task) {
            self.pull(cpu);
        }
    }
    fn online(&mut self, cpu: CpuId) {
        self.0.online.insert(cpu);
        self.0.vacate(cpu);
        self.pull(cpu);
    }
    fn offline(&mut self, cpu: CpuId, ran: &TaskMap<LastRun>) {
        self.0.online.remove(cpu);
        self.0.idle.remove(cpu);
        if let Some(place) = self.0.occupant[cpu.index()] {
            self.0.vacate(cpu);
            self.push(place.task, ran);
        }
    }
    fn settle(&mut self, _now: Time, _ran: &TaskMap<LastRun>) {}
    fn on(&self, cpu: CpuId) -> Option<TaskId> {
        self.0.occupant[cpu.index()].map(|place| place.task)
    }
    fn take_touched(&mut self, touched: &mut Vec<CpuId>) {
        touched.append(&mut self.0.touched);
    }
}
