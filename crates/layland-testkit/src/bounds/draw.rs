//! Random difficult systems: loads at the limit, few heavy tasks, equal deadlines, heavy tasks tied
//! to a CPU, one long job among short ones.
//!
//! Times are small whole numbers of nanoseconds, and all periods divide [`HYPERPERIOD`], so that
//! ties, simultaneous events and exactly full loads are common.

use super::Case;
use layland_gen::Random;
use layland_model::{
    Behaviour, CpuId, CpuSet, Duration, ExecutionModel, Index, Rate, Separation, Service, System,
    Task, Time,
};

/// A common multiple of all periods that are drawn.
pub const HYPERPERIOD: i64 = 240;
const PERIODS: [i64; 16] = [2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 24, 30, 40, 60, 120, 240];
/// The approximate number of simulated jobs.
const JOBS: i64 = 3000;

/// The systems to which a claim applies.
#[derive(Clone, Debug)]
pub struct Shape {
    /// True if some deadlines are shorter than the period.
    pub constrained: bool,
    /// True if some tasks are tied to one CPU.
    pub pinned: bool,
    /// True if some tasks have arbitrary affinities.
    pub masks: bool,
    /// True if there may be several clusters.
    pub clusters: bool,
    /// True if some tasks are threads that never block, or that yield.
    pub threads: bool,
    /// True if some tasks are sporadic or end early.
    pub varies: bool,
    /// The maximum load, in percent of the CPUs.
    pub load: i64,
}

fn one_of<T: Copy>(random: &mut Random, list: &[T]) -> T {
    list[random.below(list.len() as u64) as usize]
}

fn chance(random: &mut Random, percent: u64) -> bool {
    random.below(100) < percent
}

/// Draws (wcet, period) of tasks whose total utilization is at most `total`.
fn reservations(random: &mut Random, cpus: i64, total: &Rate) -> Vec<(i64, i64)> {
    let common = one_of(random, &PERIODS);
    let style = random.below(5);
    let few = (cpus + random.between(1, 2)) as usize;
    let most = match style {
        0 | 3 => few,
        _ => few + random.below(3 * cpus as u64 + 1) as usize,
    };
    let mut tasks: Vec<(i64, i64)> = Vec::new();
    let mut sum = Rate::ZERO;
    while tasks.len() < most {
        let period = match style {
            // Equal deadlines.
            1 | 3 => common,
            // One long job among short ones.
            2 if tasks.is_empty() => HYPERPERIOD,
            2 => one_of(random, &PERIODS[..6]),
            _ => one_of(random, &PERIODS),
        };
        let (low, high) = match style {
            // Few heavy tasks, just below the utilization at which one more does not fit.
            0 | 3 => {
                let heavy = period * cpus / (cpus + 1);
                (heavy - 1, heavy + 1)
            }
            2 if tasks.is_empty() => (period / 2, period),
            2 => (1, 1 + period / 3),
            _ => (1, period),
        };
        let wcet = random.between(low.max(1), high.max(1)).min(period);
        let with = &sum + &Rate::new(wcet, period);
        if with > *total {
            break;
        }
        sum = with;
        tasks.push((wcet, period));
    }
    // Fill up to the limit itself.
    if chance(random, 60) {
        loop {
            let left = &(total - &sum) * &Rate::whole(HYPERPERIOD);
            let wcet = left.floor().unwrap_or(0).min(HYPERPERIOD);
            if wcet < 1 {
                break;
            }
            let (mut wcet, mut period) = (wcet, HYPERPERIOD);
            while wcet % 2 == 0 && period % 2 == 0 && chance(random, 70) {
                (wcet, period) = (wcet / 2, period / 2);
            }
            sum = &sum + &Rate::new(wcet, period);
            tasks.push((wcet, period));
        }
    }
    if tasks.is_empty() {
        tasks.push((1, 3));
    }
    tasks
}

fn vary(task: &mut Task, shape: &Shape, random: &mut Random) {
    let (period, wcet) = (task.period.ns(), task.own_wcet().ns());
    task.deadline = Duration::from_ns(if shape.constrained && chance(random, 50) {
        random.between(wcet, period)
    } else {
        period
    });
    task.behaviour = match random.below(10) {
        0..5 if shape.threads => Behaviour::Hog,
        5 if shape.threads => Behaviour::Yield,
        6 if shape.varies => {
            let max = Duration::from_ns(random.between(1, period));
            Behaviour::Sporadic(Separation::Uniform { max })
        }
        _ => Behaviour::Periodic,
    };
    task.execution = match random.below(10) {
        0 if shape.varies => {
            let min = Service::from_ns(random.between(0, wcet));
            ExecutionModel::Uniform { min, max: task.own_wcet() }
        }
        1 if shape.varies => {
            let less = Service::from_ns(random.between(0, wcet));
            ExecutionModel::List(vec![less, task.own_wcet(), task.own_wcet()])
        }
        _ => ExecutionModel::Wcet,
    };
}

fn name_and_rank(system: &mut System, random: &mut Random) {
    let mut ranks: Vec<i64> = (0..system.tasks.len() as i64).collect();
    random.shuffle(&mut ranks);
    for (index, task) in system.tasks.values_mut().enumerate() {
        task.name = format!("t{index}").into();
        task.rank = ranks[index];
    }
}

/// Ties tasks to CPUs, the heavy tasks first, with a utilization of at most `limit` on each.
fn pin(system: &mut System, random: &mut Random) {
    let cpus = system.platform.cpu_count();
    let share = one_of(random, &[30, 60, 90]);
    let mut loads = vec![Rate::ZERO; cpus];
    let mut ids: Vec<_> = system.tasks.ids().collect();
    ids.sort_by_key(|&id| std::cmp::Reverse(system.tasks[id].utilization()));
    for id in ids {
        let u = system.tasks[id].utilization();
        let first = random.below(cpus as u64) as usize;
        let fits = (0..cpus).map(|k| (first + k) % cpus).find(|&c| &loads[c] + &u <= Rate::ONE);
        if let Some(cpu) = fits.filter(|_| chance(random, share)) {
            loads[cpu] = &loads[cpu] + &u;
            system.tasks[id].affinity = Some(CpuSet::single(CpuId::from_index(cpu)));
        }
    }
}

/// Gives tasks arbitrary affinities, nested or not.
fn mask(system: &mut System, random: &mut Random) {
    let cpus = system.platform.cpu_count() as u32;
    let share = one_of(random, &[30, 60, 90]);
    for task in system.tasks.values_mut() {
        if chance(random, share) {
            let some: CpuSet = (0..cpus).map(CpuId).filter(|_| chance(random, 50)).collect();
            task.affinity = (!some.is_empty()).then_some(some);
        }
    }
}

/// Splits the CPUs into two clusters. A task that does not fit into one goes into the other or is dropped.
fn split(system: &mut System, random: &mut Random) {
    let cpus = system.platform.cpu_count();
    let first = 1 + random.below(cpus as u64 - 1) as usize;
    let all = CpuSet::first(cpus);
    let clusters = [CpuSet::first(first), all.difference(&CpuSet::first(first))];
    let mut loads = [Rate::ZERO, Rate::ZERO];
    let mut kept: Vec<Task> = Vec::new();
    for task in system.tasks.values() {
        let pinned = task.affinity.as_ref().and_then(CpuSet::lowest);
        let u = task.utilization();
        let fits = |&cluster: &usize| {
            let inside = pinned.is_none_or(|cpu| clusters[cluster].contains(cpu));
            inside && &loads[cluster] + &u <= Rate::whole(clusters[cluster].len() as i64)
        };
        if let Some(cluster) = (0..2).find(fits) {
            loads[cluster] = &loads[cluster] + &u;
            kept.push(Task { cluster, ..task.clone() });
        }
    }
    if !kept.is_empty() {
        system.tasks = kept.into();
        system.platform.clusters = clusters.to_vec();
    }
}

/// Draws a system of this shape.
pub fn case(shape: &Shape, random: &mut Random) -> Case {
    let cpus = one_of(random, &[1, 2, 2, 2, 3, 3, 4, 6]);
    let load = match random.below(3) {
        0 => random.between(shape.load * 7 / 10, shape.load),
        _ => shape.load,
    };
    let total = Rate::new(cpus * load, 100);
    let synchronous = chance(random, 50);
    let tasks = reservations(random, cpus, &total).into_iter().map(|(wcet, period)| {
        let mut task = Task::implicit("", Service::from_ns(wcet), Duration::from_ns(period));
        if !synchronous {
            task.offset = Duration::from_ns(random.between(0, 2 * period));
        }
        vary(&mut task, shape, random);
        task
    });
    let mut system = System::new(cpus as usize, tasks.collect());
    if shape.pinned {
        pin(&mut system, random);
    }
    if shape.masks && chance(random, 60) {
        mask(&mut system, random);
    } else if shape.clusters && cpus > 1 && chance(random, 20) {
        split(&mut system, random);
    }
    name_and_rank(&mut system, random);
    Case { system, seed: random.below(1 << 30) }
}

/// Returns a case with one or two changes.
pub fn changed(case: &Case, shape: &Shape, random: &mut Random) -> Case {
    let mut case = case.clone();
    for _ in 0..random.between(1, 2) {
        let ids: Vec<_> = case.system.tasks.ids().collect();
        let id = one_of(random, &ids);
        let cpus = case.system.platform.cpu_count() as u64;
        let one_cluster = case.system.platform.clusters.len() == 1;
        let task = &mut case.system.tasks[id];
        match random.below(7) {
            0 => {
                let wcet = (task.own_wcet().ns() + one_of(random, &[-2, -1, 1, 2]))
                    .clamp(1, task.deadline.ns());
                task.wcet = vec![Service::from_ns(wcet)].into();
                task.execution = ExecutionModel::Wcet;
            }
            1 => {
                let offset = task.offset.ns() + random.between(-2, 2);
                task.offset = Duration::from_ns(offset.max(0));
            }
            2 => {
                let period = one_of(random, &PERIODS).max(task.own_wcet().ns());
                task.period = Duration::from_ns(period);
                task.deadline = task.period;
                vary(task, shape, random);
            }
            3 => vary(task, shape, random),
            4 if shape.pinned && one_cluster => {
                let cpu = CpuId(random.below(cpus) as u32);
                let other = CpuId(random.below(cpus) as u32);
                let mut some = CpuSet::single(cpu);
                if shape.masks {
                    some.insert(other);
                }
                task.affinity = task.affinity.is_none().then_some(some);
            }
            4 | 5 if ids.len() > 1 => {
                let mut kept: Vec<Task> = case.system.tasks.values().cloned().collect();
                if chance(random, 50) {
                    kept.remove(id.index());
                } else {
                    kept.push(Task { offset: Duration::ZERO, ..kept[id.index()].clone() });
                }
                case.system.tasks = kept.into();
                name_and_rank(&mut case.system, random);
            }
            _ => {
                name_and_rank(&mut case.system, random);
                case.seed = random.below(1 << 30);
            }
        }
    }
    case
}

/// Returns the end of the simulation of a system: after some hyperperiods, or after enough jobs.
pub fn horizon(system: &System) -> Time {
    let rate: Rate = system.tasks.values().map(|task| Rate::new(1, task.period.ns())).sum();
    let enough = (&Rate::whole(JOBS) / &rate).floor().unwrap_or(0);
    let latest = system.tasks.values().map(|task| task.offset.ns()).max().unwrap_or(0);
    Time::from_ns(latest + enough.clamp(3 * HYPERPERIOD, 20 * HYPERPERIOD))
}
