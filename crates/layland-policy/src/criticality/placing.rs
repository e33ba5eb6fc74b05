//! The placement of the tasks of the mechanisms on CPUs.
//!
//! On several CPUs a heuristic of `layland-offline` places the tasks one by one. A task fits on a
//! CPU if the analysis of the mechanism accepts it together with the tasks already there; loads are
//! densities. With `fit=auto`, the default, the first partition that is found this way counts, in
//! the order of `layland_offline::packing::ORDER`, then by an exhaustive search of at most
//! [`SEARCH_TESTS`] analyses. If none is found, the loads are balanced, and the analysis of each CPU
//! says what becomes of it. With `sort=criticality`, the default of EDF-VD, tasks come by falling criticality,
//! then (if the heuristic sorts) by falling density, so that the most critical tasks have the
//! largest choice. A task may use only the CPUs of its affinity. A task with only one CPU goes
//! there, and if this is true of all tasks, the analysis runs only if the mechanism itself needs
//! it.
//!
//! On a CPU of another speed than 1 the tasks count in the [time](layland_model::System::time_view) of
//! that CPU, at every level. The rest of a CPU is compared in work, as when other policies pack.
//!
//! An analysis remembers what it knows of the tasks of a CPU: the proof that they are accepted, to which
//! most tasks are added (`layland_offline::criticality::growing`), and the reason of its last refusal, which is
//! tested first: successive tasks are alike, and so are the reasons why they do not fit. Answers do not
//! depend on this memory.

use crate::Refusal;
use crate::info::{PolicyOptions, SystemRefusal};
use crate::shell::groups;
use layland_model::{CpuId, Criticality, Index, Rate, RateSum, Speed, System, TaskId, TaskMap};
use layland_offline::criticality::growing::Grows;
use layland_offline::criticality::{MixedSet, fjp};
use layland_offline::packing::{Unfill, balanced, first_accepted, stands_for};
use layland_offline::{Bins, Heuristic};
use std::borrow::Cow;
use std::cell::RefCell;
use std::cmp::{Ordering, Reverse};

/// The maximum number of analyses in the exhaustive search. They take much longer than the test of
/// an order.
const SEARCH_TESTS: u64 = 200;

/// The test whether the analysis of a mechanism accepts the tasks of a CPU, without its plan. The
/// heuristic runs it for every task and CPU. Its result equals [`MechanismPlan::accepted`].
pub(super) struct Fits<A> {
    /// True if it never accepts tasks that need more than a CPU at some level
    /// ([`MixedSet::share`]).
    by_level: bool,
    /// True if the highest criticality is placed first by default, without `sort`.
    criticality_first: bool,
    /// True if acceptance is a guarantee.
    sound: bool,
    accepts: A,
}

impl Fits<()> {
    pub(super) fn by_level(accepts: impl Fn(&MixedSet) -> bool) -> Fits<impl Accepts> {
        Fits::at_any_level(accepts).and_by_level(true)
    }

    pub(super) fn at_any_level(accepts: impl Fn(&MixedSet) -> bool) -> Fits<impl Accepts> {
        Fits::with_memory(move |set: &MixedSet, _: &mut Known| accepts(set))
    }

    /// With an analysis that adds tasks to those that it has accepted; this one is of no tasks.
    pub(super) fn growing<G: Grows + 'static>(none: impl Fn() -> G) -> Fits<impl Accepts> {
        Fits::with_memory(move |set: &MixedSet, known: &mut Known| {
            known.growing.get_or_insert_with(|| Box::new(none())).accepts(set)
        })
    }

    pub(super) fn with_memory<A: Accepts>(accepts: A) -> Fits<A> {
        Fits { by_level: false, criticality_first: false, sound: true, accepts }
    }
}

/// The analysis of the tasks of a CPU and a new one, the last, with what it knows of the CPU.
pub(super) trait Accepts: Fn(&MixedSet, &mut Known) -> bool {}

impl<A: Fn(&MixedSet, &mut Known) -> bool> Accepts for A {}

/// The knowledge of an analysis about a CPU.
#[derive(Default)]
pub(super) struct Known {
    /// The task that the analysis was asked for last.
    asked: Option<usize>,
    /// The proof for the tasks that are there.
    growing: Option<Box<dyn Grows>>,
    /// The jobs that would have had no priorities.
    pub(super) stuck: Option<fjp::Stuck>,
}

impl Known {
    /// Another task is there.
    fn put(&mut self, item: usize) {
        let asked = self.asked == Some(item);
        if let Some(growing) = &mut self.growing {
            // The only CPU of a task takes it without a question.
            if asked { growing.put() } else { growing.forget() }
        }
    }

    /// Other tasks are there.
    fn forget(&mut self) {
        self.growing.iter_mut().for_each(|growing| growing.forget());
    }
}

impl<A> Fits<A> {
    pub(super) fn and_by_level(self, by_level: bool) -> Fits<A> {
        Fits { by_level, ..self }
    }

    pub(super) fn and_sound(self, sound: bool) -> Fits<A> {
        Fits { sound, ..self }
    }

    pub(super) fn is_sound(&self) -> bool {
        self.sound
    }

    pub(super) fn criticality_first(self) -> Fits<A> {
        Fits { criticality_first: true, ..self }
    }
}

/// The tasks in the time of each CPU.
pub(super) struct Timed<'a> {
    /// The speeds of the CPUs, each with the tasks in its time, and with these as a set if they are
    /// one.
    classes: Vec<(Speed, Cow<'a, System>, Option<MixedSet>)>,
    class_of: Vec<usize>,
}

impl<'a> Timed<'a> {
    /// Returns the tasks of a system in the time of its CPUs; `set_of` makes them a set.
    pub(super) fn of(
        name: &str,
        system: &'a System,
        set_of: impl Fn(&System) -> Result<Option<MixedSet>, SystemRefusal>,
    ) -> Result<Timed<'a>, SystemRefusal> {
        let mut timed = Timed { classes: Vec::new(), class_of: Vec::new() };
        for &speed in system.platform.speeds.values() {
            let known = timed.classes.iter().position(|&(other, ..)| other == speed);
            let class = match known {
                Some(class) => class,
                None => {
                    let tasks = at_speed(name, system, speed)?;
                    let set = set_of(&tasks)?;
                    timed.classes.push((speed, tasks, set));
                    timed.classes.len() - 1
                }
            };
            timed.class_of.push(class);
        }
        Ok(timed)
    }

    /// Returns the tasks in the time of a CPU.
    pub(super) fn on(&self, cpu: CpuId) -> &System {
        &self.classes[self.class_of[cpu.index()]].1
    }

    fn set(&self, bin: usize) -> &MixedSet {
        let (.., set) = &self.classes[self.class_of[bin]];
        set.as_ref().expect("there are tasks")
    }

    /// Returns the density of a task on a CPU, in work.
    fn density(&self, bin: usize, task: TaskId) -> Rate {
        let (speed, tasks, _) = &self.classes[self.class_of[bin]];
        let density = tasks.tasks[task].density();
        if *speed == Speed::UNIT { density } else { &density * &speed.rate() }
    }
}

/// Returns a system with its tasks in the time of a CPU of this speed.
fn at_speed<'a>(
    name: &str,
    system: &'a System,
    speed: Speed,
) -> Result<Cow<'a, System>, SystemRefusal> {
    if speed == Speed::UNIT {
        return Ok(Cow::Borrowed(system));
    }
    let mut timed = system.clone();
    for (id, task) in system.tasks.iter() {
        timed.tasks[id] = task.at_speed(speed).ok_or_else(|| {
            let task = &task.name;
            let why = format!("{name}: the times of task `{task}` at speed {speed} are too long");
            Refusal::invalid(why).about(id)
        })?;
    }
    Ok(Cow::Owned(timed))
}

/// The CPUs and their tasks during the placement.
struct Processors<'a, A> {
    system: &'a System,
    /// All tasks.
    all: &'a Timed<'a>,
    fits: &'a Fits<A>,
    tasks: Vec<Vec<TaskId>>,
    /// The knowledge of the analysis about each CPU.
    known: Vec<RefCell<Known>>,
    loads: Vec<RateSum>,
    /// The minimum needs of the tasks of each CPU at each level, in units of [`MixedSet::ONE`].
    shares: Vec<Vec<u128>>,
    /// The tasks of a CPU together with the new one: memory for reuse.
    together: RefCell<(Vec<TaskId>, MixedSet)>,
}

impl<A> Processors<'_, A> {
    /// Returns the minimum needs of a task at each level, on a CPU.
    fn shares_of(&self, bin: usize, task: TaskId) -> impl Iterator<Item = u128> + '_ {
        let all = self.all.set(bin);
        let levels = 0..all.levels() as u8;
        levels.map(move |level| all.share(task, Criticality(level)))
    }
}

impl<A: Accepts> Bins for Processors<'_, A> {
    fn count(&self) -> usize {
        self.tasks.len()
    }
    fn fits(&self, bin: usize, item: usize) -> bool {
        let task = TaskId::from_index(item);
        if !self.system.allowed_cpus(task).contains(CpuId::from_index(bin)) {
            return false;
        }
        let full = |(taken, more): (&u128, u128)| taken + more > MixedSet::ONE;
        if self.fits.by_level && self.shares[bin].iter().zip(self.shares_of(bin, task)).any(full) {
            return false;
        }
        let (together, part) = &mut *self.together.borrow_mut();
        together.clone_from(&self.tasks[bin]);
        together.push(task);
        part.become_part(self.all.set(bin), together);
        let known = &mut self.known[bin].borrow_mut();
        known.asked = Some(item);
        (self.fits.accepts)(part, known)
    }
    fn compare_load(&self, a: usize, b: usize) -> Ordering {
        self.loads[a].cmp_sum(&self.loads[b])
    }
    fn put(&mut self, bin: usize, item: usize) {
        let task = TaskId::from_index(item);
        let shares: Vec<u128> = self.shares_of(bin, task).collect();
        self.shares[bin].iter_mut().zip(shares).for_each(|(taken, more)| *taken += more);
        self.tasks[bin].push(task);
        self.known[bin].get_mut().put(item);
        self.loads[bin].add(&self.all.density(bin, task));
    }
}

impl<A: Accepts> Unfill for Processors<'_, A> {
    fn take(&mut self, bin: usize, item: usize) {
        let task = TaskId::from_index(item);
        let shares: Vec<u128> = self.shares_of(bin, task).collect();
        self.shares[bin].iter_mut().zip(shares).for_each(|(taken, more)| *taken -= more);
        self.tasks[bin].pop();
        self.known[bin].get_mut().forget();
        self.loads[bin].take(&self.all.density(bin, task));
    }
}

/// The result of the placement.
pub(super) struct Placed {
    pub(super) cpu_of: TaskMap<CpuId>,
    /// True if the analysis has run, and accepts the tasks of every CPU.
    pub(super) accepted: bool,
}

/// Places the tasks.
pub(super) fn place(
    name: &str,
    system: &System,
    options: &PolicyOptions,
    all: &Timed<'_>,
    fits: &Fits<impl Accepts>,
) -> Result<Placed, SystemRefusal> {
    if let Some(groups) = groups::given(name, system, options)? {
        let mut cpu_of = TaskMap::filled(CpuId(0), system.tasks.len());
        for (cpus, tasks) in groups {
            let cpu = cpus.lowest().expect("a group has a CPU");
            tasks.into_iter().for_each(|task| cpu_of[task] = cpu);
        }
        return Ok(Placed { cpu_of, accepted: false });
    }
    let heuristic = groups::heuristic(options)?;
    if system.tasks.is_empty() {
        return Ok(Placed { cpu_of: TaskMap::default(), accepted: true });
    }
    let densities: Vec<Rate> = system.tasks.values().map(|task| task.density()).collect();
    let by_criticality = match options.text("sort") {
        Some(sort) => sort == "criticality",
        None => fits.criticality_first,
    };
    let order = |heuristic: Heuristic| {
        let mut order = heuristic.order(&densities);
        if by_criticality {
            let criticality = |item: usize| system.tasks[TaskId::from_index(item)].criticality.0;
            order.sort_by_key(|&item| Reverse(criticality(item)));
        }
        order
    };
    let cpus = system.platform.cpu_count();
    let fastest = system.platform.fastest().rate();
    // A CPU that is slower than the fastest one starts with the difference as its load.
    let mut lacks = vec![RateSum::default(); cpus];
    for (load, speed) in lacks.iter_mut().zip(system.platform.speeds.values()) {
        let lack = &fastest - &speed.rate();
        if lack > Rate::ZERO {
            load.add(&lack);
        }
    }
    let levels = system.levels.count();
    let empty = || Processors {
        system,
        all,
        fits,
        tasks: vec![Vec::new(); cpus],
        known: (0..cpus).map(|_| RefCell::default()).collect(),
        loads: lacks.clone(),
        shares: vec![vec![0; levels]; cpus],
        together: RefCell::new((Vec::new(), all.set(0).clone())),
    };
    let by_task =
        |bins: Vec<usize>| bins.into_iter().map(CpuId::from_index).collect::<Vec<_>>().into();
    let Some(heuristic) = heuristic else {
        let stands_for = |cpu| stands_for(system, cpu);
        return Ok(match first_accepted(empty, order, stands_for, SEARCH_TESTS) {
            Some((bins, _)) => Placed { cpu_of: by_task(bins), accepted: true },
            None => Placed { cpu_of: balanced(system, &[]).cpu_of, accepted: false },
        });
    };
    let placed = layland_offline::place(&mut empty(), &order(heuristic), heuristic);
    let placed = placed.map_err(|no_room| {
        let task = TaskId::from_index(no_room.item);
        Refusal::busy(format!(
            "{name}: {heuristic} finds no CPU for task `{}` (it may use {}) on which the analysis accepts it \
             together with the tasks placed before; try fit=auto or sort=criticality",
            system.tasks[task].name,
            system.allowed_cpus(task),
        ))
        .about(task)
    })?;
    Ok(Placed { cpu_of: by_task(placed), accepted: true })
}
