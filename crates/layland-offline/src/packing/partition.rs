//! Partitioning: assigns the tasks of a system to its CPUs.
//!
//! The size of a task is its density `C / min(D, T)`, the capacity of a CPU its speed, and a task
//! goes to a CPU that it may use. If the densities on a CPU sum to at most its speed, EDF meets
//! every deadline there; with implicit deadlines (`D = T`) this is also necessary.
//!
//! On a CPU of another speed `s` than 1, `C` counts as `s ceil(C / s)`: what the CPU does in the whole
//! nanoseconds that a job takes. Two tasks (1, 3) have the densities 1/3 each, and do not fit a CPU
//! of speed 2/3, which needs 2 of 3 ns for each. The order of decreasing densities is by `C`.

use super::loads::Loads;
use crate::{Heuristic, Spare, Unplaced, place};
use layland_model::shown::{self, DIGITS};
use layland_model::{CpuId, CpuMap, CpuSet, Index, Rate, Speed, System, Task, TaskId, TaskMap};
use std::collections::BTreeMap;
use std::fmt;

/// A task that fits no CPU it may use, and the loads of those CPUs.
#[derive(Debug, Clone, thiserror::Error)]
pub struct UnplacedTask {
    /// The task.
    pub task: TaskId,
    /// Its name.
    pub name: String,
    /// Its density.
    pub density: Rate,
    /// The CPUs that it may use.
    pub allowed: CpuSet,
    /// The CPU with the most room among these (bins are CPU numbers); `None` if it may use no CPU.
    pub emptiest: Option<Spare>,
    /// The CPU with the least room among these.
    pub fullest: Option<Spare>,
    /// The CPU of each task that was placed before this one.
    pub placed: TaskMap<Option<CpuId>>,
}

impl fmt::Display for UnplacedTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, allowed, .. } = self;
        let (density, left) = match &self.emptiest {
            None => (shown::number(&self.density, DIGITS), String::new()),
            Some(spare) => shown::numbers((&self.density, &spare.free()), DIGITS),
        };
        write!(f, "failed to place `{name}` of density {density}: ")?;
        match &self.emptiest {
            None => write!(f, "it may use no CPU"),
            Some(spare) if self.allowed.len() == 1 => {
                write!(f, "CPU {}, the only one it may use, has {left} left", spare.bin)
            }
            Some(spare) => write!(
                f,
                "of the CPUs it may use ({allowed}), CPU {} has the most left: {left}",
                spare.bin,
            ),
        }
    }
}

/// Partitions a valid system, and returns the CPU of each task. Sufficient for partitioned EDF: the
/// arithmetic is exact, but the method is a heuristic, so an error does not mean that there is no
/// partition.
///
/// Items come in the order of [`System::by_rank`].
///
/// ```
/// use layland_model::{CpuId, Duration, Service, System, Task};
/// use layland_offline::{Heuristic, partition};
/// let tasks = [(2, 3), (1, 2), (1, 2), (1, 3)]
///     .map(|(c, t)| Task::implicit(format!("{c}/{t}"), Service::from_ms(c), Duration::from_ms(t)));
/// let system = System::new(2, tasks.to_vec());
/// let cpu_of = partition(&system, Heuristic::Ff).unwrap();
/// assert_eq!(cpu_of.as_slice(), [0, 1, 1, 0].map(CpuId));
///
/// let error = partition(&system, Heuristic::Nf).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "failed to place `1/3` of density 0.333: of the CPUs it may use (0-1), CPU 0 has the \
///      most left: 0.333",
/// );
/// ```
pub fn partition(
    system: &System,
    heuristic: Heuristic,
) -> Result<TaskMap<CpuId>, Box<UnplacedTask>> {
    let sizes = Sizes::new(system);
    let cpus = system.platform.cpu_count();
    let allowed = |item: usize, bin| sizes.allowed(item).contains(CpuId::from_index(bin));
    let classes = sizes.classes().collect();
    let mut loads = Loads::of_classes(classes, &sizes.class_of, allowed, cpus, &sizes.fastest)
        .for_heuristic(heuristic);
    // A CPU that is slower than the fastest one starts with the difference as its load.
    for (cpu, lack) in sizes.lacks.iter().filter(|(_, lack)| **lack > Rate::ZERO) {
        loads.load(cpu.index(), lack);
    }
    match place(&mut loads, &heuristic.order(&sizes.densities), heuristic) {
        Ok(bins) => Ok(sizes.by_task(bins, CpuId::from_index)),
        Err(no_room) => {
            let speed = |bin| system.platform.speeds[CpuId::from_index(bin)].rate();
            let size = |item, bin| sizes.on(item, bin);
            let unplaced = Unplaced::new(no_room, &sizes.densities, size, &loads, speed);
            let task = sizes.tasks[unplaced.item];
            Err(Box::new(UnplacedTask {
                task,
                name: system.tasks[task].name.to_string(),
                density: unplaced.rate,
                allowed: sizes.allowed(unplaced.item).clone(),
                emptiest: unplaced.emptiest,
                fullest: unplaced.fullest,
                placed: sizes.by_task(unplaced.placed, |bin| bin.map(CpuId::from_index)),
            }))
        }
    }
}

/// Packs the tasks into clusters of CPUs, and returns the cluster of each task: their densities on a
/// cluster sum to at most the speeds of its CPUs. On CPUs of one speed `C` counts as in
/// [`partition`]; on CPUs of different speeds as it is, and on the fastest of them a job has to be in
/// time.
///
/// # Errors
/// If a task fits into no cluster of CPUs that it may use.
pub fn pack_clusters(
    system: &System,
    clusters: &[CpuSet],
    heuristic: Heuristic,
) -> Result<Vec<usize>, Box<Unplaced>> {
    let speeds = |cpus: &CpuSet| -> Vec<Speed> {
        cpus.iter().map(|cpu| system.platform.speeds[cpu]).collect()
    };
    let capacities: Vec<Rate> =
        clusters.iter().map(|cpus| speeds(cpus).into_iter().map(Speed::rate).sum()).collect();
    let capacity = capacities.iter().max().cloned().unwrap_or(Rate::ONE);
    let densities: Vec<Rate> = system.tasks.values().map(Task::density).collect();
    let sizes: Vec<Vec<Rate>> = clusters
        .iter()
        .map(|cpus| match system.speed_of(cpus) {
            Some(Speed::UNIT) | None => densities.clone(),
            Some(speed) => system.tasks.values().map(|task| size_at(task, speed)).collect(),
        })
        .collect();
    let is_alike = sizes.iter().all(|of_cluster| *of_cluster == densities)
        && capacities.iter().all(|of_cluster| *of_cluster == capacity);
    let classes: Vec<u32> =
        if is_alike { Vec::new() } else { (0..clusters.len() as u32).collect() };
    let in_time = |task: &Task, cpus: &CpuSet| {
        let fastest = speeds(cpus).into_iter().map(|speed| task.time_at(speed)).min();
        is_alike || fastest.is_some_and(|time| time <= task.deadline)
    };
    let allowed = |item: usize, bin: usize| {
        let task = TaskId(item as u32);
        clusters[bin].is_subset(&system.allowed_cpus(task))
            && in_time(&system.tasks[task], &clusters[bin])
    };
    let of_classes =
        if is_alike { vec![&densities[..]] } else { sizes.iter().map(Vec::as_slice).collect() };
    let lacks: Vec<Rate> = capacities.iter().map(|own| &capacity - own).collect();
    let mut loads = Loads::of_classes(of_classes, &classes, allowed, clusters.len(), &capacity)
        .for_heuristic(heuristic);
    for (bin, lack) in lacks.iter().enumerate().filter(|(_, lack)| **lack > Rate::ZERO) {
        loads.load(bin, lack);
    }
    place(&mut loads, &heuristic.order(&densities), heuristic).map_err(|no_room| {
        let size = |item: usize, bin: usize| &sizes[bin][item];
        Unplaced::new(no_room, &densities, size, &loads, |bin| capacities[bin].clone())
    })
}

/// Returns the density of a task on a CPU of this speed, in work.
fn size_at(task: &Task, speed: Speed) -> Rate {
    let time = Rate::new(task.time_at(speed).ns(), task.deadline.min(task.period).ns());
    &time * &speed.rate()
}

/// A system in the form of items and bins.
pub(crate) struct Sizes {
    /// The task of each item.
    pub(crate) tasks: Vec<TaskId>,
    /// The densities, which order the items.
    pub(crate) densities: Vec<Rate>,
    /// The class of each CPU: those of one speed. Empty if there is only one class.
    pub(crate) class_of: Vec<u32>,
    /// The sizes of the items on the CPUs of each class; `None` if they are the densities.
    by_class: Vec<Option<Vec<Rate>>>,
    /// The distinct sets of CPUs that tasks may use, and the index of the set of each item. With a
    /// set per item, a million tasks on thousands of CPUs would need hundreds of bytes each.
    masks: Vec<CpuSet>,
    mask_of: Vec<u32>,
    fastest: Rate,
    /// The difference of each CPU's speed to that of the fastest one.
    lacks: CpuMap<Rate>,
}

impl Sizes {
    pub(crate) fn new(system: &System) -> Sizes {
        let tasks = system.by_rank();
        let speeds = || system.platform.speeds.values().map(|speed| speed.rate());
        let fastest = speeds().max().unwrap_or(Rate::ONE);
        let all = system.platform.all_cpus();
        let mut kinds: BTreeMap<(usize, Option<&CpuSet>), u32> = BTreeMap::new();
        let mut masks = Vec::new();
        let mut mask_of = Vec::with_capacity(tasks.len());
        let mut last = None;
        for &id in &tasks {
            let task = &system.tasks[id];
            let kind = (task.cluster, task.affinity.as_ref());
            // Most tasks may use the same CPUs as the previous task.
            let mask = match last {
                Some((before, mask)) if before == kind => mask,
                Some(_) | None => *kinds.entry(kind).or_insert_with(|| {
                    masks.push(system.allowed_cpus(id).intersection(&all));
                    masks.len() as u32 - 1
                }),
            };
            last = Some((kind, mask));
            mask_of.push(mask);
        }
        let mut classes: Vec<Speed> = Vec::new();
        let class = |&speed: &Speed| match classes.iter().position(|&other| other == speed) {
            Some(class) => class as u32,
            None => {
                classes.push(speed);
                classes.len() as u32 - 1
            }
        };
        let mut class_of: Vec<u32> = system.platform.speeds.values().map(class).collect();
        if classes.len() <= 1 {
            class_of.clear();
        }
        let of_class = |&speed: &Speed| {
            let size = |&task: &TaskId| size_at(&system.tasks[task], speed);
            (speed != Speed::UNIT).then(|| tasks.iter().map(size).collect())
        };
        Sizes {
            densities: tasks.iter().map(|&task| system.tasks[task].density()).collect(),
            by_class: classes.iter().map(of_class).collect(),
            class_of,
            masks,
            mask_of,
            lacks: speeds().map(|speed| &fastest - &speed).collect(),
            tasks,
            fastest,
        }
    }

    /// Returns the sizes of the items on the CPUs of each class.
    pub(crate) fn classes(&self) -> impl Iterator<Item = &[Rate]> {
        self.by_class.iter().map(|sizes| sizes.as_deref().unwrap_or(&self.densities))
    }

    /// Returns the size of an item on a CPU.
    pub(crate) fn on(&self, item: usize, bin: usize) -> &Rate {
        let class = self.class_of.get(bin).map_or(0, |&class| class as usize);
        let own = self.by_class.get(class).and_then(Option::as_ref);
        &own.unwrap_or(&self.densities)[item]
    }

    /// Returns the CPUs that an item may use.
    pub(crate) fn allowed(&self, item: usize) -> &CpuSet {
        &self.masks[self.mask_of[item] as usize]
    }

    /// Reorders one value per item into the order of the tasks.
    pub(crate) fn by_task<A, B: Clone>(
        &self,
        values: Vec<A>,
        convert: impl Fn(A) -> B,
    ) -> TaskMap<B> {
        let mut by_task: Vec<(TaskId, B)> =
            self.tasks.iter().copied().zip(values.into_iter().map(convert)).collect();
        by_task.sort_by_key(|&(task, _)| task);
        by_task.into_iter().map(|(_, value)| value).collect()
    }
}
