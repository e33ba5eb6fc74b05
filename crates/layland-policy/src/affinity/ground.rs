//! What weak and strong scheduling both keep: who is where, and who waits, by class.

use super::backlog::{Backlog, PlaceInOrder};
use super::bits::Bits;
use layland_model::{CpuId, CpuSet, Index, TaskId, TaskMap};

/// Tasks that may use the same CPUs.
#[derive(Clone, Debug)]
pub(crate) struct Class<B> {
    pub cpus: B,
    pub waiting: Backlog,
}

/// A ready job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    pub class: usize,
    pub place: PlaceInOrder,
    /// Where it is, if it does not wait.
    pub cpu: Option<CpuId>,
}

#[derive(Clone, Debug)]
pub(crate) struct Ground<B> {
    pub online: B,
    /// The CPUs that are online and have no job.
    pub idle: B,
    pub classes: Vec<Class<B>>,
    /// How many jobs wait, of all classes.
    pub waiting: usize,
    /// By CPU: the classes that may use it.
    pub classes_of: Vec<Vec<usize>>,
    pub seats: TaskMap<Option<Seat>>,
    /// By CPU: the job that is there.
    pub occupant: Vec<Option<PlaceInOrder>>,
    pub touched: Vec<CpuId>,
}

impl<B: Bits> Ground<B> {
    pub(crate) fn new(cpus: usize) -> Self {
        Self {
            online: B::none(cpus),
            idle: B::none(cpus),
            classes: Vec::new(),
            waiting: 0,
            classes_of: vec![Vec::new(); cpus],
            seats: TaskMap::default(),
            occupant: vec![None; cpus],
            touched: Vec::new(),
        }
    }

    pub(crate) fn add_class(&mut self, cpus: &CpuSet) {
        let class = self.classes.len();
        let count = self.occupant.len();
        cpus.iter().filter(|cpu| cpu.index() < count).for_each(|cpu| {
            self.classes_of[cpu.index()].push(class);
        });
        self.classes.push(Class { cpus: B::of(cpus, count), waiting: Backlog::default() });
    }

    /// The seat of a task that is ready.
    pub(crate) fn seat(&self, task: TaskId) -> Seat {
        self.seats[task].expect("it is ready")
    }

    /// The CPUs that a ready task may use.
    pub(crate) fn mask(&self, task: TaskId) -> &B {
        &self.classes[self.seat(task).class].cpus
    }

    pub(crate) fn wait(&mut self, task: TaskId) {
        let seat = self.seats[task].as_mut().expect("it is ready");
        seat.cpu = None;
        self.classes[seat.class].waiting.insert(seat.place);
        self.waiting += 1;
    }

    /// A job takes a CPU; whoever was there is somebody else's business.
    pub(crate) fn put(&mut self, task: TaskId, cpu: CpuId) {
        let seat = self.seats[task].as_mut().expect("it is ready");
        seat.cpu = Some(cpu);
        self.occupant[cpu.index()] = Some(seat.place);
        self.idle.remove(cpu);
        self.touched.push(cpu);
    }

    /// Nobody is on a CPU any longer.
    pub(crate) fn vacate(&mut self, cpu: CpuId) {
        self.occupant[cpu.index()] = None;
        self.touched.push(cpu);
        if self.online.contains(cpu) {
            self.idle.insert(cpu);
        }
    }

    /// The waiting job that comes first among those that may use a CPU.
    pub(crate) fn first_waiting(&self, cpu: CpuId) -> Option<PlaceInOrder> {
        let classes = self.classes_of[cpu.index()].iter();
        classes.filter_map(|&class| self.classes[class].waiting.first()).min()
    }

    /// A waiting job no longer waits.
    pub(crate) fn call(&mut self, place: PlaceInOrder) {
        let class = self.seat(place.task).class;
        self.classes[class].waiting.remove(place);
        self.waiting -= 1;
    }

    /// A job is no longer ready; the CPU that it leaves behind, if it had one.
    pub(crate) fn remove(&mut self, task: TaskId) -> Option<CpuId> {
        let seat = self.seats[task].take()?;
        match seat.cpu {
            Some(cpu) => self.vacate(cpu),
            None => {
                self.classes[seat.class].waiting.remove(seat.place);
                self.waiting -= 1;
            }
        }
        seat.cpu
    }
}
