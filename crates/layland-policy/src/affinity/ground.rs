//! The common state of weak and strong scheduling: the job on each CPU, and the waiting jobs by
//! class.

use super::backlog::{Backlog, PlaceInOrder};
use super::bits::Bits;
use layland_model::{CpuId, CpuSet, Index, TaskId, TaskMap};

/// Tasks that may use the same CPUs.
#[derive(Clone, Debug)]
pub(crate) struct AffinityClass<B> {
    pub cpus: B,
    pub waiting: Backlog,
}

/// The state of a ready job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    pub class: usize,
    pub place: PlaceInOrder,
    /// Its CPU, if it does not wait.
    pub cpu: Option<CpuId>,
}

const WORD: usize = u64::BITS as usize;

/// The last job in the order among the jobs on the CPUs of each word, with its CPU. Recomputed only
/// for words with changes.
#[derive(Clone, Debug)]
struct Lasts {
    of_word: Vec<Option<(PlaceInOrder, CpuId)>>,
    changed: Vec<bool>,
}

#[derive(Clone, Debug)]
pub(crate) struct Ground<B> {
    pub online: B,
    /// The CPUs that are online and have no job.
    pub idle: B,
    pub classes: Vec<AffinityClass<B>>,
    /// The number of waiting jobs of all classes.
    pub waiting: usize,
    /// The classes that may use each CPU.
    pub classes_of: Vec<Vec<usize>>,
    pub seats: TaskMap<Option<Seat>>,
    /// The job on each CPU.
    pub occupant: Vec<Option<PlaceInOrder>>,
    /// The CPUs that have a job.
    busy: B,
    lasts: Lasts,
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
            busy: B::none(cpus),
            lasts: Lasts {
                of_word: vec![None; cpus.div_ceil(WORD)],
                changed: vec![true; cpus.div_ceil(WORD)],
            },
            touched: Vec::new(),
        }
    }

    pub(crate) fn add_class(&mut self, cpus: &CpuSet) {
        let class = self.classes.len();
        let count = self.occupant.len();
        cpus.iter().filter(|cpu| cpu.index() < count).for_each(|cpu| {
            self.classes_of[cpu.index()].push(class);
        });
        self.classes.push(AffinityClass { cpus: B::of(cpus, count), waiting: Backlog::default() });
    }

    /// Returns the state of the ready job of a task.
    pub(crate) fn seat(&self, task: TaskId) -> Seat {
        self.seats[task].expect("it is ready")
    }

    /// Returns the CPUs that a ready task may use.
    pub(crate) fn mask(&self, task: TaskId) -> &B {
        &self.classes[self.seat(task).class].cpus
    }

    pub(crate) fn wait(&mut self, task: TaskId) {
        let seat = self.seats[task].as_mut().expect("it is ready");
        seat.cpu = None;
        self.classes[seat.class].waiting.insert(seat.place);
        self.waiting += 1;
    }

    /// Puts a job on a CPU. The caller handles the job that was there.
    pub(crate) fn put(&mut self, task: TaskId, cpu: CpuId) {
        let seat = self.seats[task].as_mut().expect("it is ready");
        seat.cpu = Some(cpu);
        self.occupant[cpu.index()] = Some(seat.place);
        self.busy.insert(cpu);
        self.lasts.changed[cpu.index() / WORD] = true;
        self.idle.remove(cpu);
        self.touched.push(cpu);
    }

    /// Clears a CPU.
    pub(crate) fn vacate(&mut self, cpu: CpuId) {
        self.occupant[cpu.index()] = None;
        self.busy.remove(cpu);
        self.lasts.changed[cpu.index() / WORD] = true;
        self.touched.push(cpu);
        if self.online.contains(cpu) {
            self.idle.insert(cpu);
        }
    }

    /// Returns the last job in the order among the jobs on the CPUs of a class, and its CPU. Takes
    /// O(m / 64) if the class contains all busy CPUs of most words, O(m) otherwise.
    pub(crate) fn last_within(&mut self, class: usize) -> Option<(PlaceInOrder, CpuId)> {
        let Self { classes, occupant, busy, lasts, .. } = self;
        let mut last = None;
        for (at, (mask, busy)) in classes[class].cpus.words().iter().zip(busy.words()).enumerate() {
            let common = mask & busy;
            if common == 0 {
                continue;
            }
            let of = |word: u64| last_of(occupant, at, word);
            last = last.max(if common != *busy {
                of(common)
            } else {
                if std::mem::replace(&mut lasts.changed[at], false) {
                    lasts.of_word[at] = of(*busy);
                }
                lasts.of_word[at]
            });
        }
        last
    }

    /// Returns the first waiting job of all classes, if any job waits.
    pub(crate) fn first_of_all(&self) -> Option<PlaceInOrder> {
        self.classes.iter().filter_map(|class| class.waiting.first()).min()
    }

    /// Returns the first waiting job among those that may use a CPU.
    pub(crate) fn first_waiting(&self, cpu: CpuId) -> Option<PlaceInOrder> {
        let classes = self.classes_of[cpu.index()].iter();
        classes.filter_map(|&class| self.classes[class].waiting.first()).min()
    }

    /// Removes a job from the waiting ones.
    pub(crate) fn call(&mut self, place: PlaceInOrder) {
        let class = self.seat(place.task).class;
        self.classes[class].waiting.remove(place);
        self.waiting -= 1;
    }

    /// Removes a job that is no longer ready. Returns the CPU that it leaves, if it had one.
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

/// Returns the last job in the order among those on the CPUs of one word.
fn last_of(
    occupant: &[Option<PlaceInOrder>],
    at: usize,
    mut word: u64,
) -> Option<(PlaceInOrder, CpuId)> {
    let mut last = None;
    while word != 0 {
        let cpu = at * WORD + word.trailing_zeros() as usize;
        word &= word - 1;
        last = last.max(occupant[cpu].map(|place| (place, CpuId::from_index(cpu))));
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with a search through all CPUs.
        #[test]
        fn the_last_job_of_a_mask_is_found(
            masks in prop::collection::vec((0u32..200, 1u32..200), 1..4),
            steps in prop::collection::vec((0u32..200, 0i64..50, any::<bool>()), 1..200),
        ) {
            let cpus = 200;
            let mut ground = Ground::<Box<[u64]>>::new(cpus);
            ground.add_class(&CpuSet::first(cpus));
            let mut sets = vec![CpuSet::first(cpus)];
            for (from, length) in masks {
                let set: CpuSet = (from..(from + length).min(200)).map(CpuId).collect();
                ground.add_class(&set);
                sets.push(set);
            }
            ground.seats.resize(cpus, None);
            for (cpu, key, comes) in steps {
                let task = TaskId(cpu);
                if comes {
                    let place = PlaceInOrder { key, ready: 0, rank: 0, task };
                    ground.seats[task] = Some(Seat { class: 0, place, cpu: None });
                    ground.put(task, CpuId(cpu));
                } else {
                    ground.seats[task] = None;
                    ground.vacate(CpuId(cpu));
                }
                for (class, set) in sets.iter().enumerate() {
                    let on = |cpu: CpuId| Some((ground.occupant[cpu.index()]?, cpu));
                    let slow = set.iter().filter_map(on).max();
                    prop_assert_eq!(ground.last_within(class), slow);
                }
            }
        }
    }
}
