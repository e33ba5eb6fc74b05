//! `auto`: the first partition that a test of the CPUs accepts.
//!
//! The order is fixed:
//!
//! 1. worst fit decreasing, which balances the loads: every CPU keeps some time for what a set does
//!    not state;
//! 2. the other heuristics, as [`ORDER`] lists them;
//! 3. an exhaustive search, for at most [`SEARCH_TASKS`] tasks and with at most [`SEARCH_TESTS`] tests
//!    of a CPU (loads that are compared exactly count as a test each). Tasks come by decreasing
//!    density, each onto the CPUs in ascending order; of empty CPUs that are alike, only the lowest
//!    is tried.
//!
//! If none is accepted, the tasks are [`balanced`]: by decreasing density onto the emptiest CPU that
//! each may use, even if that is too full. Tests of the policy then say what this means.
//!
//! Tasks that must [share a CPU](Together) come onto the CPU of the first of them that is placed.

use super::heuristic::{Bins, Heuristic, place};
use super::one_cpu::{OnCpu, OneCpu};
use super::partition::{Sizes, partition};
use super::{Existence, exists_partition};
use Heuristic::{Bf, Bfd, Ef, Efd, Ff, Ffd, Nf, Nfd, Wf, Wfd};
use layland_model::{CpuId, Index, Rate, RateSum, System, TaskId, TaskMap};
use std::cell::RefCell;
use std::cmp::Ordering;

/// The heuristics, in the order in which `auto` tries them.
pub const ORDER: [Heuristic; 10] = [Wfd, Ffd, Bfd, Efd, Nfd, Wf, Ff, Bf, Ef, Nf];

/// The maximum number of tasks of the exhaustive search.
pub const SEARCH_TASKS: usize = 100;

/// The maximum number of tests of a CPU in the exhaustive search.
pub const SEARCH_TESTS: u64 = 5_000;

/// The way in which a partition was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundBy {
    /// A heuristic places every task on a CPU that the test accepts.
    Heuristic(Heuristic),
    /// The exhaustive search.
    Search,
    /// The test accepts no partition that was tried; the loads are balanced.
    Nothing,
}

/// A CPU for each task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The CPU of each task.
    pub cpu_of: TaskMap<CpuId>,
    /// The way in which it was found.
    pub found_by: FoundBy,
}

/// Bins from which the item that came last can be taken again.
pub trait Unfill: Bins {
    /// Takes the item that the bin received last.
    fn take(&mut self, bin: usize, item: usize);
}

/// The items that must come into one bin: those with the same number.
pub type Together = [Option<usize>];

/// Returns the bin of each item in the first packing that the bins accept, and how it was found;
/// `None` if there is none, or the search gives up.
///
/// `empty` makes empty bins, `order` is the order of the items under a heuristic, `alike` the lowest
/// bin that may stand for another one while both are empty, and `tests` the maximum number of times
/// that the exhaustive search asks whether an item fits. A bin that refuses some items must refuse
/// them with more items, too.
pub fn first_accepted<B: Unfill>(
    empty: impl Fn() -> B,
    order: impl Fn(Heuristic) -> Vec<usize>,
    alike: impl Fn(usize) -> usize,
    tests: u64,
) -> Option<(Vec<usize>, FoundBy)> {
    let mut bins = empty();
    let count = bins.count();
    // There is only one packing of one bin.
    let heuristics = if count == 1 { &ORDER[..1] } else { &ORDER[..] };
    for &heuristic in heuristics {
        if let Ok(bins) = place(&mut empty(), &order(heuristic), heuristic) {
            return Some((bins, FoundBy::Heuristic(heuristic)));
        }
    }
    let order = order(Wfd);
    if count == 1 || order.len() > SEARCH_TASKS {
        return None;
    }
    let alike: Vec<usize> = (0..count).map(alike).collect();
    let mut search = Search { order, alike, held: vec![0; count], bin_of: Vec::new(), left: tests };
    let found = search.place(&mut bins).unwrap_or(false);
    let mut bin_of = vec![0; search.order.len()];
    for (&item, &bin) in search.order.iter().zip(&search.bin_of) {
        bin_of[item] = bin;
    }
    found.then_some((bin_of, FoundBy::Search))
}

struct Search {
    order: Vec<usize>,
    alike: Vec<usize>,
    /// The number of items in each bin.
    held: Vec<usize>,
    /// The bins of the first items of the order.
    bin_of: Vec<usize>,
    left: u64,
}

impl Search {
    /// Places the items that have no bin; `None` if the search gives up.
    fn place(&mut self, bins: &mut impl Unfill) -> Option<bool> {
        let Some(&item) = self.order.get(self.bin_of.len()) else { return Some(true) };
        let mut tried = vec![false; self.alike.len()];
        for bin in 0..bins.count() {
            if self.held[bin] == 0 && std::mem::replace(&mut tried[self.alike[bin]], true) {
                continue;
            }
            self.left = self.left.checked_sub(1)?;
            if !bins.fits(bin, item) {
                continue;
            }
            bins.put(bin, item);
            self.held[bin] += 1;
            self.bin_of.push(bin);
            if self.place(bins)? {
                return Some(true);
            }
            self.bin_of.pop();
            self.held[bin] -= 1;
            bins.take(bin, item);
        }
        Some(false)
    }
}

/// The test by which a CPU takes a task.
#[derive(Clone, Copy, Debug)]
pub enum CpuTest<'t, 'a> {
    /// The densities of its tasks sum to at most its speed.
    Load,
    /// Its tasks keep their deadlines in the order of the policy.
    Deadlines(&'t OneCpu<'a>),
}

/// Returns the first partition that the test accepts, or a balanced one. Exact loads decide where
/// they are equivalent to the test, because they are faster.
///
/// ```
/// use layland_model::{CpuId, Duration, Order, Service, System, Task};
/// use layland_offline::packing::{CpuRules, CpuTest, FoundBy, OneCpu, assign};
/// // Two tasks of 2/10 together, and 9/12 on a CPU of its own.
/// let tasks = [(2, 10), (2, 10), (9, 12)]
///     .map(|(c, t)| Task::implicit(format!("{c}/{t}"), Service::from_ms(c), Duration::from_ms(t)));
/// let system = System::new(2, tasks.to_vec());
/// let test = OneCpu::new(&system, CpuRules::of(Order::RateMonotonic));
/// let found = assign(&system, CpuTest::Deadlines(&test), &[]);
/// assert_eq!(found.cpu_of.as_slice(), [1, 1, 0].map(CpuId));
/// assert!(matches!(found.found_by, FoundBy::Heuristic(_)));
/// ```
pub fn assign(system: &System, test: CpuTest<'_, '_>, together: &Together) -> Assignment {
    let is_free = together.iter().all(Option::is_none);
    if is_free && let Some(found) = by_load(system, test) {
        return found;
    }
    let sizes = Sizes::new(system);
    let by_task = |(bins, found_by): (Vec<usize>, FoundBy)| Assignment {
        cpu_of: sizes.by_task(bins, CpuId::from_index),
        found_by,
    };
    let is_overloaded = !system.utilization().fits(&Rate::ZERO, &capacity(system));
    let accepted = (!is_overloaded).then(|| {
        first_accepted(
            || Cpus::new(system, &sizes, test, together),
            |heuristic| heuristic.order(&sizes.densities),
            |bin| stands_for(system, bin),
            SEARCH_TESTS,
        )
    });
    accepted.flatten().map_or_else(|| balanced(system, together), by_task)
}

/// Returns the partition of one heuristic with this test; `None` if some task fits nowhere.
pub fn place_by(
    system: &System,
    test: CpuTest<'_, '_>,
    heuristic: Heuristic,
) -> Option<TaskMap<CpuId>> {
    let sizes = Sizes::new(system);
    let mut cpus = Cpus::new(system, &sizes, test, &[]);
    let bins = place(&mut cpus, &heuristic.order(&sizes.densities), heuristic).ok()?;
    Some(sizes.by_task(bins, CpuId::from_index))
}

fn capacity(system: &System) -> Rate {
    system.platform.speeds.values().map(|speed| speed.rate()).sum()
}

/// Returns the partition if exact loads find it, or exclude that the test accepts one.
fn by_load(system: &System, test: CpuTest<'_, '_>) -> Option<Assignment> {
    let is_equivalent = match test {
        CpuTest::Load => true,
        CpuTest::Deadlines(test) => {
            // A density of at most 1 suffices. Worst fit then finds what it finds with the test: if
            // the emptiest CPU takes a task by its density, the test takes it there, too.
            if !test.is_plain_edf() {
                return None;
            }
            let is_equivalent = system.tasks.values().all(|task| task.deadline >= task.period);
            // On CPUs of different speeds another CPU than the emptiest may be the one that takes a
            // task by its density.
            let has_classes = system.speed_of(&system.platform.all_cpus()).is_none();
            if has_classes && !is_equivalent {
                return None;
            }
            is_equivalent
        }
    };
    let accepted = |cpu_of, found_by| Some(Assignment { cpu_of, found_by });
    for heuristic in ORDER {
        if let Ok(cpu_of) = partition(system, heuristic) {
            return accepted(cpu_of, FoundBy::Heuristic(heuristic));
        }
        if !is_equivalent {
            return None;
        }
    }
    if system.tasks.len() <= SEARCH_TASKS
        && let Existence::Partition(cpu_of) = exists_partition(system, SEARCH_TESTS)
    {
        return accepted(cpu_of, FoundBy::Search);
    }
    Some(balanced(system, &[]))
}

/// Returns the balanced partition: by decreasing density, each task comes onto the emptiest CPU that
/// it may use, or to those that must share its CPU.
///
/// ```
/// use layland_model::{CpuId, Duration, Service, System, Task};
/// use layland_offline::packing::balanced;
/// let tasks = ["a", "b", "c"].map(|name| Task::implicit(name, Service::from_ms(2), Duration::from_ms(3)));
/// let found = balanced(&System::new(2, tasks.to_vec()), &[]);
/// assert_eq!(found.cpu_of.as_slice(), [0, 1, 0].map(CpuId));
/// ```
pub fn balanced(system: &System, together: &Together) -> Assignment {
    let sizes = Sizes::new(system);
    let mut cpus = Cpus::new(system, &sizes, CpuTest::Load, together);
    let mut bins = vec![0; sizes.tasks.len()];
    for item in Wfd.order(&sizes.densities) {
        let allowed = sizes.allowed(item);
        let may_use = |&bin: &usize| allowed.contains(CpuId::from_index(bin));
        let emptiest = (0..cpus.count()).filter(may_use).reduce(|best, bin| {
            if cpus.compare_load(bin, best) == Ordering::Less { bin } else { best }
        });
        let bin = cpus.home_of(item).filter(|bin| may_use(bin)).or(emptiest).unwrap_or(0);
        cpus.put(bin, item);
        bins[item] = bin;
    }
    Assignment { cpu_of: sizes.by_task(bins, CpuId::from_index), found_by: FoundBy::Nothing }
}

/// Returns the lowest CPU with the speed of this one that the same tasks may use.
pub fn stands_for(system: &System, cpu: usize) -> usize {
    let (speeds, own) = (&system.platform.speeds, CpuId::from_index(cpu));
    let is_alike = |lower: CpuId| {
        let may_use_both = |id: TaskId| {
            let allowed = system.allowed_cpus(id);
            allowed.contains(lower) == allowed.contains(own)
        };
        speeds[lower] == speeds[own] && system.tasks.ids().all(may_use_both)
    };
    (0..cpu).find(|&lower| is_alike(CpuId::from_index(lower))).unwrap_or(cpu)
}

/// The CPUs as bins.
struct Cpus<'s, 't, 'a> {
    sizes: &'s Sizes,
    test: CpuTest<'t, 'a>,
    together: &'s Together,
    fastest: Rate,
    loads: Vec<RateSum>,
    /// The tasks of each CPU, as the test of deadlines has them.
    on: Vec<OnCpu<'a>>,
    /// The bin and the item that the test accepted last, and the CPU with it.
    accepted: RefCell<Option<(usize, usize, OnCpu<'a>)>>,
    /// The bin of each group of tasks that share a CPU, and how many of them it holds.
    homes: Vec<Option<(usize, usize)>>,
}

impl<'s, 't, 'a> Cpus<'s, 't, 'a> {
    fn new(
        system: &System,
        sizes: &'s Sizes,
        test: CpuTest<'t, 'a>,
        together: &'s Together,
    ) -> Cpus<'s, 't, 'a> {
        let fastest = system.platform.fastest().rate();
        let mut loads = vec![RateSum::default(); system.platform.cpu_count()];
        // A CPU that is slower than the fastest one starts with the difference as its load.
        for (load, speed) in loads.iter_mut().zip(system.platform.speeds.values()) {
            let lack = &fastest - &speed.rate();
            if lack > Rate::ZERO {
                load.add(&lack);
            }
        }
        let groups = together.iter().flatten().max().map_or(0, |last| last + 1);
        let on = vec![OnCpu::default(); loads.len()];
        let (accepted, homes) = (RefCell::default(), vec![None; groups]);
        Cpus { sizes, test, together, fastest, loads, on, accepted, homes }
    }

    fn group_of(&self, item: usize) -> Option<usize> {
        self.together.get(self.sizes.tasks[item].index()).copied().flatten()
    }

    /// Returns the CPU of the tasks that must share the CPU of this one, if one of them is placed.
    fn home_of(&self, item: usize) -> Option<usize> {
        self.homes[self.group_of(item)?].map(|(bin, _)| bin)
    }
}

impl Bins for Cpus<'_, '_, '_> {
    fn count(&self) -> usize {
        self.loads.len()
    }
    fn fits(&self, bin: usize, item: usize) -> bool {
        if self.home_of(item).is_some_and(|home| home != bin)
            || !self.sizes.allowed(item).contains(CpuId::from_index(bin))
        {
            return false;
        }
        match self.test {
            CpuTest::Load => self.loads[bin].fits(self.sizes.on(item, bin), &self.fastest),
            CpuTest::Deadlines(test) => {
                let (cpu, another) = (CpuId::from_index(bin), self.sizes.tasks[item]);
                let Some(on) = test.with_another(cpu, &self.on[bin], another) else { return false };
                self.accepted.replace(Some((bin, item, on)));
                true
            }
        }
    }
    fn compare_load(&self, a: usize, b: usize) -> Ordering {
        self.loads[a].cmp_sum(&self.loads[b])
    }
    fn emptiest_fit(&self, item: usize) -> Option<usize> {
        // A test takes longer than all comparisons, and the emptiest bin usually accepts.
        let mut left: Vec<usize> = (0..self.count()).collect();
        loop {
            let emptier = |&a: &usize, &b: &usize| self.compare_load(a, b).then(a.cmp(&b));
            let at = (0..left.len()).min_by(|&a, &b| emptier(&left[a], &left[b]))?;
            let bin = left.swap_remove(at);
            if self.fits(bin, item) {
                return Some(bin);
            }
        }
    }
    fn put(&mut self, bin: usize, item: usize) {
        // An item is put where it was last accepted: after the bin that a heuristic takes, it asks
        // none that would accept it, too.
        if let Some((at, accepted, on)) = self.accepted.take() {
            debug_assert_eq!((at, accepted), (bin, item), "put where it was accepted");
            self.on[bin] = on;
        }
        self.loads[bin].add(self.sizes.on(item, bin));
        if let Some(group) = self.group_of(item) {
            let held = self.homes[group].map_or(0, |(_, held)| held);
            self.homes[group] = Some((bin, held + 1));
        }
    }
}

impl Unfill for Cpus<'_, '_, '_> {
    fn take(&mut self, bin: usize, item: usize) {
        self.on[bin].remove(self.sizes.tasks[item]);
        self.loads[bin].take(self.sizes.on(item, bin));
        if let Some(group) = self.group_of(item) {
            self.homes[group] =
                self.homes[group].and_then(|(bin, held)| (held > 1).then(|| (bin, held - 1)));
        }
    }
}

/// Returns a number for the tasks that share resources, directly or through others: the tasks with
/// the same number must share a CPU under a protocol for one CPU. Tasks that share nothing have none.
///
/// ```
/// use layland_model::{Duration, ResourceId, Service, Step, System, Task};
/// use layland_offline::packing::sharing;
/// let mut tasks = ["a", "b", "c"].map(|name| Task::implicit(name, Service::from_ms(1), Duration::from_ms(5)));
/// for task in &mut tasks[..2] {
///     let bus = ResourceId(0);
///     task.steps = Some([Step::Lock(bus), Step::Run(Service::from_ms(1)), Step::Unlock(bus)].into());
/// }
/// assert_eq!(sharing(&System::new(2, tasks.to_vec())), [Some(0), Some(0), None]);
/// ```
pub fn sharing(system: &System) -> Vec<Option<usize>> {
    let mut groups: Vec<(Vec<TaskId>, Vec<usize>)> = Vec::new();
    for (id, task) in system.tasks.iter() {
        let used: Vec<usize> =
            task.sections().iter().map(|section| section.resource.0 as usize).collect();
        if used.is_empty() {
            continue;
        }
        let (mut tasks, mut resources) = (vec![id], used);
        groups.retain_mut(|(others, theirs)| {
            let meets = theirs.iter().any(|resource| resources.contains(resource));
            if meets {
                tasks.append(others);
                resources.append(theirs);
            }
            !meets
        });
        groups.push((tasks, resources));
    }
    groups.retain(|(tasks, _)| tasks.len() > 1);
    groups.sort_by_key(|(tasks, _)| tasks.iter().min().copied());
    let mut together = vec![None; system.tasks.len()];
    for (number, (tasks, _)) in groups.iter().enumerate() {
        tasks.iter().for_each(|task| together[task.index()] = Some(number));
    }
    together
}
