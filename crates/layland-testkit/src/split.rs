//! The slow twins of semi-partitioned EDF: the capacity of a CPU, by checking every length up to
//! the hyperperiod; the pieces of tasks, by trying one budget after the other; and the schedule,
//! one nanosecond after the other.

use layland_gen::Random;
use layland_model::{
    Behaviour, CpuId, Duration, ExecutionModel, JobId, Piece, Service, SplitOrder, Splitting,
    System, Task, TaskId, TaskMap, Time,
};
use layland_trace::Trace;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// `(C, D, T)`.
pub type PlainLoad = (i64, i64, i64);

/// Returns true if EDF meets the deadlines of sporadic tasks on one CPU. For small periods.
pub fn fits(loads: &[PlainLoad]) -> bool {
    let hyperperiod = loads.iter().fold(1, |all, &(_, _, t)| num_integer::lcm(all, t));
    let work: i64 = loads.iter().map(|&(c, _, t)| c * (hyperperiod / t)).sum();
    let longest = loads.iter().map(|&(_, d, _)| d).max().unwrap_or(0);
    let demand = |length: i64| -> i64 {
        let jobs = |d: i64, t: i64| if length < d { 0 } else { (length - d) / t + 1 };
        loads.iter().map(|&(c, d, t)| jobs(d, t) * c).sum()
    };
    work <= hyperperiod && (1..=hyperperiod + longest).all(|length| demand(length) <= length)
}

fn with(loads: &[PlainLoad], more: PlainLoad) -> bool {
    let all: Vec<PlainLoad> = loads.iter().copied().chain([more]).collect();
    fits(&all)
}

/// Returns the largest budget up to `most` that fits with this window, or with a window of its own length.
fn budget(loads: &[PlainLoad], window: Option<i64>, period: i64, most: i64) -> i64 {
    let fits = |&c: &i64| with(loads, (c, window.unwrap_or(c), period));
    (1..=most).rev().find(fits).unwrap_or(0)
}

/// Returns the tasks in an order.
fn in_order(system: &System, order: SplitOrder) -> Vec<TaskId> {
    let mut tasks = system.by_rank();
    let ratio = |c: Service, by: Duration| layland_model::Rate::new(c.ns(), by.ns());
    tasks.sort_by(|&a, &b| {
        let [a, b] = [a, b].map(|id| &system.tasks[id]);
        let by =
            |of: fn(&Task) -> Duration| ratio(b.own_wcet(), of(b)).cmp(&ratio(a.own_wcet(), of(a)));
        match order {
            SplitOrder::Utilization => by(|task| task.period),
            SplitOrder::Density => by(|task| task.deadline),
            SplitOrder::Deadline => a.deadline.cmp(&b.deadline),
            SplitOrder::Period => a.period.cmp(&b.period),
        }
    });
    tasks
}

/// Returns the pieces of the tasks of a system, by the description of the algorithms; `None` if a
/// task has no place.
pub fn assign(
    system: &System,
    splitting: Splitting,
    order: SplitOrder,
) -> Option<TaskMap<Vec<Piece>>> {
    let placing = Placing {
        system,
        pieces: TaskMap::filled(Vec::new(), system.tasks.len()),
        on: vec![Vec::new(); system.platform.cpu_count()],
    };
    let left = in_order(system, order);
    match splitting {
        Splitting::NextFirst | Splitting::NextBest => placing.cpu_by_cpu(left, splitting),
        Splitting::FailFirst | Splitting::FailWorst => placing.whole_tasks_first(left, splitting),
        Splitting::Windows => placing.in_windows(left),
    }
}

/// The pieces during the placement, and the loads on each CPU.
struct Placing<'a> {
    system: &'a System,
    pieces: TaskMap<Vec<Piece>>,
    on: Vec<Vec<PlainLoad>>,
}

impl Placing<'_> {
    fn put(&mut self, id: TaskId, cpu: usize, offset: i64, load: PlainLoad) {
        self.on[cpu].push(load);
        self.pieces[id].push(Piece {
            cpu: CpuId(cpu as u32),
            offset: Duration::from_ns(offset),
            budget: Service::from_ns(load.0),
            deadline: Duration::from_ns(load.1),
        });
    }

    /// Fills one CPU after the other. A task that does not fit is split for the rest of the CPU:
    /// the first task, or the one with the largest share.
    fn cpu_by_cpu(
        mut self,
        mut left: Vec<TaskId>,
        splitting: Splitting,
    ) -> Option<TaskMap<Vec<Piece>>> {
        let mut rest: Option<(TaskId, i64, PlainLoad)> = None;
        for cpu in 0..self.on.len() {
            if let Some((id, offset, load)) = rest.take() {
                assert!(with(&self.on[cpu], load), "the rest fits on an empty CPU");
                self.put(id, cpu, offset, load);
            }
            left.retain(|&id| {
                let fits = with(&self.on[cpu], load(self.system, id));
                if fits {
                    self.put(id, cpu, 0, load(self.system, id));
                }
                !fits
            });
            if cpu + 1 == self.on.len() {
                break;
            }
            let part = |&id: &TaskId| {
                let (c, _, t) = load(self.system, id);
                budget(&self.on[cpu], None, t, c - 1)
            };
            let chosen = if splitting == Splitting::NextBest {
                let share =
                    |id: &TaskId| layland_model::Rate::new(part(id), load(self.system, *id).2);
                let most = left.iter().map(share).max();
                left.iter().copied().find(|id| Some(share(id)) == most)
            } else {
                left.first().copied()
            };
            let Some(id) = chosen else { continue };
            let c = part(&id);
            if c > 0 {
                let (all, deadline, period) = load(self.system, id);
                self.put(id, cpu, 0, (c, c, period));
                rest = Some((id, c, (all - c, deadline - c, period)));
                left.retain(|&other| other != id);
            }
        }
        left.is_empty().then_some(self.pieces)
    }

    /// Places whole tasks, on the first CPU or on the one with the smallest load, and then splits
    /// the others.
    fn whole_tasks_first(
        mut self,
        mut left: Vec<TaskId>,
        splitting: Splitting,
    ) -> Option<TaskMap<Vec<Piece>>> {
        let share = |loads: &[PlainLoad]| -> layland_model::Rate {
            loads.iter().map(|&(c, _, t)| layland_model::Rate::new(c, t)).sum()
        };
        left.retain(|&id| {
            let room: Vec<usize> = (0..self.on.len())
                .filter(|&cpu| with(&self.on[cpu], load(self.system, id)))
                .collect();
            let cpu = if splitting == Splitting::FailWorst {
                room.into_iter().min_by_key(|&cpu| (share(&self.on[cpu]), cpu))
            } else {
                room.first().copied()
            };
            if let Some(cpu) = cpu {
                self.put(id, cpu, 0, load(self.system, id));
            }
            cpu.is_none()
        });
        for id in left {
            let (mut c, mut d, t) = load(self.system, id);
            let mut unused: Vec<usize> = (0..self.on.len()).collect();
            let mut offset = 0;
            loop {
                if let Some(&cpu) = unused.iter().find(|&&cpu| with(&self.on[cpu], (c, d, t))) {
                    self.put(id, cpu, offset, (c, d, t));
                    break;
                }
                let part = |cpu: usize| budget(&self.on[cpu], None, t, c - 1);
                let cpu = unused.iter().copied().max_by_key(|&cpu| (part(cpu), Reverse(cpu)))?;
                let first = part(cpu);
                if first == 0 {
                    return None;
                }
                self.put(id, cpu, offset, (first, first, t));
                (c, d, offset) = (c - first, d - first, offset + first);
                unused.retain(|&other| other != cpu);
            }
        }
        Some(self.pieces)
    }

    /// Places each task as a whole or in windows of equal length.
    fn in_windows(mut self, left: Vec<TaskId>) -> Option<TaskMap<Vec<Piece>>> {
        for id in left {
            let (c, d, t) = load(self.system, id);
            if let Some(cpu) = (0..self.on.len()).find(|&cpu| with(&self.on[cpu], (c, d, t))) {
                self.put(id, cpu, 0, (c, d, t));
                continue;
            }
            let taken = (2..=self.on.len()).find_map(|count| {
                let window = d / count as i64;
                let mut budgets: Vec<(Reverse<i64>, usize)> = (0..self.on.len())
                    .map(|cpu| (Reverse(budget(&self.on[cpu], Some(window), t, c)), cpu))
                    .collect();
                budgets.sort_unstable();
                budgets.truncate(count);
                let sum: i64 = budgets.iter().map(|(Reverse(b), _)| b).sum();
                (sum >= c).then_some((window, budgets))
            });
            let (window, budgets) = taken?;
            let mut rest = c;
            for (k, (Reverse(b), cpu)) in budgets.into_iter().enumerate() {
                let own = b.min(rest);
                if own > 0 {
                    self.put(id, cpu, k as i64 * window, (own, window, t));
                    rest -= own;
                }
            }
        }
        Some(self.pieces)
    }
}

/// Returns the load of a whole task.
fn load(system: &System, id: TaskId) -> PlainLoad {
    let task = &system.tasks[id];
    (task.own_wcet().ns(), task.deadline.ns(), task.period.ns())
}

/// Returns the running jobs of a trace for each nanosecond and CPU, up to the end of the run.
/// Incomplete jobs need more than all of their pieces.
pub fn schedule(
    system: &System,
    pieces: &TaskMap<Vec<Piece>>,
    trace: &Trace,
) -> Vec<(i64, usize, JobId)> {
    struct SplitJob {
        arrival: i64,
        needs: i64,
        piece: usize,
        used: i64,
    }
    let rank = |task: TaskId| (system.tasks[task].rank, task);
    let mut jobs: BTreeMap<JobId, SplitJob> = BTreeMap::new();
    for record in &trace.jobs {
        let needs = record.completion().map_or(i64::MAX, |_| record.executed.ns());
        let state = SplitJob { arrival: record.job.arrival.ns(), needs, piece: 0, used: 0 };
        jobs.insert(record.job.id, state);
    }
    let mut runs = Vec::new();
    for now in 0..trace.over.ns() {
        // A job without demand ends when it would first run, and takes no time.
        jobs.retain(|_, state| state.needs > 0 || state.arrival > now);
        for cpu in system.platform.cpus() {
            let first_of_task =
                |id: &JobId| jobs.keys().find(|other| other.task == id.task) == Some(id);
            let ready = jobs.iter().filter(|(id, state)| {
                let piece = pieces[id.task][state.piece];
                piece.cpu == cpu && state.arrival + piece.offset.ns() <= now && first_of_task(id)
            });
            let due = |id: &JobId, state: &SplitJob| {
                let piece = pieces[id.task][state.piece];
                (state.arrival + piece.due().ns(), rank(id.task))
            };
            let first = ready.min_by_key(|(id, state)| due(id, state)).map(|(&id, _)| id);
            if let Some(id) = first {
                runs.push((now, cpu.0 as usize, id));
            }
        }
        for &(_, _, id) in runs.iter().rev().take_while(|&&(at, ..)| at == now) {
            let state = jobs.get_mut(&id).expect("it runs");
            state.needs = state.needs.saturating_sub(1);
            state.used += 1;
            let mut is_over = state.needs == 0;
            if !is_over && state.used == pieces[id.task][state.piece].budget.ns() {
                (state.piece, state.used) = (state.piece + 1, 0);
                is_over = state.piece == pieces[id.task].len();
            }
            if is_over {
                jobs.remove(&id);
            }
        }
    }
    runs
}

/// Draws tasks of a few units each that use most of two to four CPUs.
pub fn draw(random: &mut Random, constrained: bool) -> System {
    const PERIODS: [i64; 7] = [4, 5, 6, 8, 10, 12, 15];
    let cpus = random.between(2, 4) as usize;
    let room = cpus as f64;
    let mut tasks = Vec::new();
    let mut load = 0.0;
    loop {
        let period = PERIODS[random.below(PERIODS.len() as u64) as usize];
        let wcet = random.between(1, period);
        load += wcet as f64 / period as f64;
        if load > room {
            break;
        }
        let mut task = Task::implicit(
            format!("t{}", tasks.len()),
            Service::from_ns(wcet),
            Duration::from_ns(period),
        );
        if constrained && random.below(2) == 0 {
            task.deadline = Duration::from_ns(random.between(wcet, period));
        }
        tasks.push(task);
    }
    let mut system = System::new(cpus, tasks);
    system.tasks.values_mut().for_each(|task| task.rank = random.between(0, 2));
    system
}

/// Gives tasks arrivals at least a period apart, and jobs that end early or, with `overruns`, need
/// more than their WCETs.
pub fn run(random: &mut Random, system: &System, until: i64, overruns: bool) -> System {
    let mut system = system.clone();
    for task in system.tasks.values_mut() {
        let period = task.period.ns();
        let mut at = if random.below(2) == 0 { 0 } else { random.between(0, period) };
        let dense = random.below(3) > 0;
        let mut releases = Vec::new();
        while at < until {
            releases.push(Time::from_ns(at));
            let late = !dense || random.below(4) == 0;
            at += period + if late { random.between(0, period) } else { 0 };
        }
        task.behaviour = Behaviour::Explicit(releases);
        let wcet = task.own_wcet().ns();
        let demand = |random: &mut Random| match random.below(4) {
            0 => random.between(0, wcet),
            1 if overruns => random.between(wcet, 2 * wcet),
            _ => wcet,
        };
        let demands = (0..1 + random.below(6)).map(|_| Service::from_ns(demand(random)));
        task.execution = ExecutionModel::List(demands.collect());
    }
    system
}
