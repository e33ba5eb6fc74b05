//! The slow twins of semi-partitioned EDF: the capacity of a CPU, by checking every length up to
//! the hyperperiod; the pieces of tasks, by trying one budget after the other; and the schedule,
//! one nanosecond after the other.

use layland_gen::Random;
use layland_model::{
    Behaviour, CpuId, Duration, ExecutionModel, JobId, Piece, Rate, Service, Speed, SplitOrder,
    Splitting, System, Task, TaskId, TaskMap, Time,
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
    let ratio = |c: Service, by: Duration| Rate::new(c.ns(), by.ns());
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
    let grains = |speed: &Speed| speed.denominator();
    let per_ns_of_work = system.platform.speeds.values().map(grains).fold(1, num_integer::lcm);
    let rate = |speed: &Speed| speed.numerator() * (per_ns_of_work / speed.denominator());
    let placing = Placing {
        system,
        per_ns_of_work,
        rates: system.platform.speeds.values().map(rate).collect(),
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

/// The rest of a task: the start of its window, its work in grains, the length of its window, the
/// period.
#[derive(Clone, Copy)]
struct Rest {
    id: TaskId,
    offset: i64,
    grains: i64,
    deadline: i64,
    period: i64,
}

/// The pieces during the placement, and the loads on each CPU.
struct Placing<'a> {
    system: &'a System,
    /// The largest unit of work of which each CPU does a whole number per nanosecond, and these
    /// numbers.
    per_ns_of_work: i64,
    rates: Vec<i64>,
    pieces: TaskMap<Vec<Piece>>,
    on: Vec<Vec<PlainLoad>>,
}

impl Placing<'_> {
    fn put(&mut self, id: TaskId, cpu: usize, offset: i64, load: PlainLoad) {
        self.on[cpu].push(load);
        self.pieces[id].push(Piece {
            cpu: CpuId(cpu as u32),
            offset: Duration::from_ns(offset),
            budget: Duration::from_ns(load.0),
            deadline: Duration::from_ns(load.1),
        });
    }

    fn whole(&self, id: TaskId) -> Rest {
        let task = &self.system.tasks[id];
        let grains = task.own_wcet().ns() * self.per_ns_of_work;
        let (deadline, period) = (task.deadline.ns(), task.period.ns());
        Rest { id, offset: 0, grains, deadline, period }
    }

    /// Returns the load of a rest on a CPU.
    fn load(&self, cpu: usize, rest: Rest) -> PlainLoad {
        let time = num_integer::Integer::div_ceil(&rest.grains, &self.rates[cpu]);
        (time, rest.deadline, rest.period)
    }

    fn fits(&self, cpu: usize, rest: Rest) -> bool {
        let load = self.load(cpu, rest);
        load.0 <= load.1 && with(&self.on[cpu], load)
    }

    fn put_rest(&mut self, cpu: usize, rest: Rest) {
        self.put(rest.id, cpu, rest.offset, self.load(cpu, rest));
    }

    /// Puts a piece without laxity on a CPU, and returns the new rest.
    fn cut(&mut self, cpu: usize, rest: Rest, c: i64) -> Rest {
        self.put(rest.id, cpu, rest.offset, (c, c, rest.period));
        self.after(cpu, rest, c)
    }

    fn after(&self, cpu: usize, rest: Rest, c: i64) -> Rest {
        let grains = rest.grains - c * self.rates[cpu];
        Rest { offset: rest.offset + c, grains, deadline: rest.deadline - c, ..rest }
    }

    /// Fills one CPU after the other. A task that does not fit is split for the rest of the CPU:
    /// the first task, or the one with the largest share.
    fn cpu_by_cpu(
        mut self,
        mut left: Vec<TaskId>,
        splitting: Splitting,
    ) -> Option<TaskMap<Vec<Piece>>> {
        let mut rest: Option<Rest> = None;
        for cpu in 0..self.on.len() {
            if let Some(rest) = rest.take() {
                assert!(self.fits(cpu, rest), "the rest fits on an empty CPU");
                self.put_rest(cpu, rest);
            }
            left.retain(|&id| {
                let fits = self.fits(cpu, self.whole(id));
                if fits {
                    self.put_rest(cpu, self.whole(id));
                }
                !fits
            });
            if cpu + 1 == self.on.len() {
                break;
            }
            // The longest piece that fits, and leaves a rest that the next CPU does in time.
            let part = |&id: &TaskId| {
                let (all, period) = (self.whole(id), self.whole(id).period);
                let is_possible = |&c: &i64| {
                    let (time, window, _) = self.load(cpu + 1, self.after(cpu, all, c));
                    with(&self.on[cpu], (c, c, period)) && time <= window
                };
                let most = self.load(cpu, all).0.min(all.deadline) - 1;
                (1..=most).rev().find(is_possible).unwrap_or(0)
            };
            let chosen = if splitting == Splitting::NextBest {
                let share = |id: &TaskId| Rate::new(part(id), self.whole(*id).period);
                let most = left.iter().map(share).max();
                left.iter().copied().find(|id| Some(share(id)) == most)
            } else {
                left.first().copied()
            };
            let Some(id) = chosen else { continue };
            let c = part(&id);
            if c > 0 {
                rest = Some(self.cut(cpu, self.whole(id), c));
                left.retain(|&other| other != id);
            }
        }
        left.is_empty().then_some(self.pieces)
    }

    /// Places whole tasks, on the first CPU or on the one that has the most work left, and then
    /// splits the others.
    fn whole_tasks_first(
        mut self,
        mut left: Vec<TaskId>,
        splitting: Splitting,
    ) -> Option<TaskMap<Vec<Piece>>> {
        let room = |placing: &Self, cpu: usize| -> Rate {
            let share: Rate = placing.on[cpu].iter().map(|&(c, _, t)| Rate::new(c, t)).sum();
            &(&Rate::ONE - &share) * &Rate::whole(placing.rates[cpu])
        };
        left.retain(|&id| {
            let rest = self.whole(id);
            let fitting: Vec<usize> =
                (0..self.on.len()).filter(|&cpu| self.fits(cpu, rest)).collect();
            let cpu = if splitting == Splitting::FailWorst {
                fitting.into_iter().min_by_key(|&cpu| (Reverse(room(&self, cpu)), cpu))
            } else {
                fitting.first().copied()
            };
            if let Some(cpu) = cpu {
                self.put_rest(cpu, rest);
            }
            cpu.is_none()
        });
        for id in left {
            let mut rest = self.whole(id);
            let mut unused: Vec<usize> = (0..self.on.len()).collect();
            loop {
                if let Some(&cpu) = unused.iter().find(|&&cpu| self.fits(cpu, rest)) {
                    self.put_rest(cpu, rest);
                    break;
                }
                let part = |cpu: usize| {
                    let most = self.load(cpu, rest).0.min(rest.deadline) - 1;
                    budget(&self.on[cpu], None, rest.period, most)
                };
                let done = |cpu: usize| part(cpu) * self.rates[cpu];
                let cpu = unused.iter().copied().max_by_key(|&cpu| (done(cpu), Reverse(cpu)))?;
                let first = part(cpu);
                if first == 0 {
                    return None;
                }
                rest = self.cut(cpu, rest, first);
                unused.retain(|&other| other != cpu);
            }
        }
        Some(self.pieces)
    }

    /// Places each task as a whole or in windows of equal length.
    fn in_windows(mut self, left: Vec<TaskId>) -> Option<TaskMap<Vec<Piece>>> {
        for id in left {
            let all = self.whole(id);
            let Rest { deadline, period, .. } = all;
            if let Some(cpu) = (0..self.on.len()).find(|&cpu| self.fits(cpu, all)) {
                self.put_rest(cpu, all);
                continue;
            }
            let taken = (2..=self.on.len()).find_map(|count| {
                let window = deadline / count as i64;
                let mut budgets: Vec<(Reverse<i64>, usize, i64)> = (0..self.on.len())
                    .map(|cpu| {
                        let most = self.load(cpu, all).0.min(window);
                        let time = budget(&self.on[cpu], Some(window), period, most);
                        (Reverse(time * self.rates[cpu]), cpu, time)
                    })
                    .collect();
                budgets.sort_unstable();
                budgets.truncate(count);
                let sum: i64 = budgets.iter().map(|(Reverse(done), ..)| done).sum();
                (sum >= all.grains).then_some((window, budgets))
            });
            let (window, budgets) = taken?;
            let mut rest = all;
            for (k, (_, cpu, time)) in budgets.into_iter().enumerate() {
                let own = time.min(self.load(cpu, rest).0);
                if own > 0 {
                    self.put(id, cpu, k as i64 * window, (own, window, period));
                    rest.grains = (rest.grains - own * self.rates[cpu]).max(0);
                }
            }
        }
        Some(self.pieces)
    }
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
    let speeds = &system.platform.speeds;
    let per_ns_of_work = speeds.values().map(|speed| speed.denominator()).fold(1, num_integer::lcm);
    let mut jobs: BTreeMap<JobId, SplitJob> = BTreeMap::new();
    for record in &trace.jobs {
        let grains = |_| record.executed.ns() * per_ns_of_work;
        let needs = record.completion().map_or(i64::MAX, grains);
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
        for &(_, cpu, id) in runs.iter().rev().take_while(|&&(at, ..)| at == now) {
            let state = jobs.get_mut(&id).expect("it runs");
            let speed = speeds[CpuId(cpu as u32)];
            state.needs -= speed.numerator() * (per_ns_of_work / speed.denominator());
            state.used += 1;
            let mut is_over = state.needs <= 0;
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
