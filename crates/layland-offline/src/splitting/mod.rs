//! Semi-partitioned EDF: tasks that fit no CPU are split into pieces, which run on several CPUs one
//! after the other.
//!
//! - **C=D** (Burns, Davis, Wang and Zhang 2012): every piece but the last has a budget as long as
//!   its window. It runs from the release of the job without interruption, and the last piece has
//!   the remaining work and deadline.
//! - **EDF-WM** (Kato, Yamasaki and Ishikawa 2009): the deadline is cut into windows of one length,
//!   one for each CPU, and each CPU contributes its remaining capacity in its window.
//!
//! To the CPU, a piece is a separate sporadic task with its budget, the length of its window, and
//! the period of its task. So the exact test for EDF on one CPU (`demand.rs`) decides what a CPU
//! can take, and no piece is ever late.
//!
//! The methods of placing tasks ([`Splitting`]):
//!
//! - `NextFirst`: CPU after CPU. First the rest of the task that was split on the CPU before; then
//!   every task that fits, in the order; then the first of the remaining tasks is split: as much as
//!   the CPU can take goes here, the rest to the next CPU.
//! - `NextBest`: as `NextFirst`, but the task of which the CPU can take the largest utilization is
//!   split.
//! - `FailFirst`: every task that fits is placed whole, by first fit. Then the tasks that fit no
//!   CPU are split, in the order: the CPU that can take the most gets the next piece, until the
//!   rest fits a CPU.
//! - `FailWorst`: as `FailFirst`, but after worst fit.
//! - `Windows`: EDF-WM. First fit; a task that fits no CPU gets 2, 3, .. windows, until the CPUs
//!   with the most room can take all of it.
//!
//! The abstract of Burns et al. has the test, the budget, and the limit of `m - 1` split tasks; the
//! order of steps in `Next` is Layland's interpretation. `Fail` follows the idea of Brandenburg and
//! Gul (2016), who show how effective splitting is as the last resort; their own sequence of
//! heuristics is longer.
//!
//! Ties go to the task that comes first by rank, and to the lowest CPU. Budgets are whole
//! nanoseconds, so the result depends slightly on the unit. A set that is rejected in one order may
//! be accepted in another.

mod demand;

use demand::{Cpu, SporadicLoad};
use layland_model::{
    CpuId, Duration, Index, Piece, Service, SplitOrder, Splitting, System, TaskId, TaskMap,
};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// A task that fits no CPU, and cannot be split either.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "failed to place `{name}`: no CPU takes all of it, and if it is split {rest:#} of its {wcet:#} are left over"
)]
pub struct NoSplit {
    /// The task.
    pub task: TaskId,
    /// Its name.
    pub name: String,
    /// Its WCET.
    pub wcet: Duration,
    /// The part that no CPU can take.
    pub rest: Duration,
}

/// Returns the pieces of every task of a valid system; a task that is not split has one piece. CPUs
/// must have unit speed, and every task may use each of them. If no deadline is longer than its
/// period, every piece is in time under EDF on each CPU, for periodic and sporadic tasks.
///
/// ```
/// use layland_model::{Duration, Service, SplitOrder, Splitting, System, Task, TaskId};
/// use layland_offline::split;
/// let task = |name| Task::implicit(name, Service::from_ms(6), Duration::from_ms(10));
/// let system = System::new(2, ["a", "b", "c"].map(task).to_vec());
/// let pieces = split(&system, Splitting::NextFirst, SplitOrder::Utilization).unwrap();
/// // CPU 0 takes `a`, and 4 ms of `b`; the rest of `b` has 6 ms on CPU 1.
/// let budgets: Vec<Service> = pieces[TaskId(1)].iter().map(|piece| piece.budget).collect();
/// assert_eq!(budgets, [Service::from_ms(4), Service::from_ms(2)]);
/// ```
///
/// # Errors
/// Returns the first task that cannot be placed.
pub fn split(
    system: &System,
    splitting: Splitting,
    order: SplitOrder,
) -> Result<TaskMap<Vec<Piece>>, NoSplit> {
    let cpus = system.platform.cpu_count();
    let plan = Placement {
        cpus: (0..cpus).map(|_| Cpu::default()).collect(),
        pieces: TaskMap::filled(Vec::new(), system.tasks.len()),
    };
    let waiting: Vec<Waiting> =
        in_order(system, order).into_iter().map(|task| Waiting::whole(system, task)).collect();
    let pieces = match splitting {
        Splitting::NextFirst => plan.next(waiting, Placement::first_part),
        Splitting::NextBest => plan.next(waiting, Placement::largest_part),
        Splitting::FailFirst => plan.fail(waiting, Placement::first_fit),
        Splitting::FailWorst => plan.fail(waiting, Placement::worst_fit),
        Splitting::Windows => plan.windows(waiting),
    };
    pieces.map_err(|Remainder { task, rest }| NoSplit {
        task,
        name: system.tasks[task].name.to_string(),
        wcet: system.tasks[task].own_wcet().at_unit_speed(),
        rest: Duration::from_ns(rest),
    })
}

/// Checks that EDF on each CPU keeps pieces like those of [`split`] in time, with any budgets and
/// windows. Sufficient: a search that gives up counts as a late piece.
///
/// # Errors
/// Returns the task and the CPU of the first piece that does not fit together with those before it.
pub fn keeps(system: &System, pieces: &TaskMap<Vec<Piece>>) -> Result<(), (TaskId, CpuId)> {
    let mut cpus = vec![Cpu::default(); system.platform.cpu_count()];
    for (task, pieces) in pieces.iter() {
        for piece in pieces.iter().filter(|piece| piece.budget > Service::ZERO) {
            let load = SporadicLoad {
                wcet: piece.budget.ns(),
                deadline: piece.deadline.ns(),
                period: system.tasks[task].period.ns(),
            };
            let cpu = &mut cpus[piece.cpu.index()];
            if load.deadline <= 0 || !cpu.fits(load) {
                return Err((task, piece.cpu));
            }
            cpu.put(load);
        }
    }
    Ok(())
}

/// Returns the tasks in an order.
fn in_order(system: &System, order: SplitOrder) -> Vec<TaskId> {
    let mut tasks = system.by_rank();
    // Compares `C / other` exactly, the larger one first.
    let falling = |other: fn(&SporadicLoad) -> i64| {
        move |a: &SporadicLoad, b: &SporadicLoad| {
            let product =
                |of: &SporadicLoad, by: &SporadicLoad| i128::from(of.wcet) * i128::from(other(by));
            product(b, a).cmp(&product(a, b))
        }
    };
    let load = |task: TaskId| SporadicLoad::of(&system.tasks[task]);
    tasks.sort_by(|&a, &b| {
        let (a, b) = (load(a), load(b));
        match order {
            SplitOrder::Utilization => falling(|load| load.period)(&a, &b),
            SplitOrder::Density => falling(|load| load.deadline)(&a, &b),
            SplitOrder::Deadline => a.deadline.cmp(&b.deadline),
            SplitOrder::Period => a.period.cmp(&b.period),
        }
    });
    tasks
}

/// A task, or the rest of it, that is not yet placed.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    task: TaskId,
    /// The time from the arrival of a job to the start of the window of the rest.
    offset: i64,
    load: SporadicLoad,
}

impl Waiting {
    fn whole(system: &System, task: TaskId) -> Waiting {
        Waiting { task, offset: 0, load: SporadicLoad::of(&system.tasks[task]) }
    }

    /// Returns the rest after a first piece with this budget as its window.
    fn after(self, budget: i64) -> Waiting {
        let SporadicLoad { wcet, deadline, period } = self.load;
        let load = SporadicLoad { wcet: wcet - budget, deadline: deadline - budget, period };
        Waiting { offset: self.offset + budget, load, ..self }
    }
}

/// The part of a task that cannot be placed.
struct Remainder {
    task: TaskId,
    rest: i64,
}

impl From<Waiting> for Remainder {
    fn from(waiting: Waiting) -> Remainder {
        Remainder { task: waiting.task, rest: waiting.load.wcet }
    }
}

type Placed = Result<TaskMap<Vec<Piece>>, Remainder>;

/// Chooses the waiting task to split on a CPU, and the budget of its first piece.
type Choose = fn(&Placement, usize, &[Waiting]) -> Option<(usize, i64)>;

/// The placement so far.
struct Placement {
    cpus: Vec<Cpu>,
    pieces: TaskMap<Vec<Piece>>,
}

impl Placement {
    /// Places the rest of a task on a CPU.
    fn put(&mut self, cpu: usize, waiting: Waiting) {
        let Waiting { task, offset, load } = waiting;
        self.cpus[cpu].put(load);
        self.pieces[task].push(Piece {
            cpu: CpuId::from_index(cpu),
            offset: Duration::from_ns(offset),
            budget: Service::from_ns(load.wcet),
            deadline: Duration::from_ns(load.deadline),
        });
    }

    /// Places a piece without laxity, the first one of the rest, on a CPU, and returns the new
    /// rest.
    fn cut(&mut self, cpu: usize, waiting: Waiting, budget: i64) -> Waiting {
        let load = SporadicLoad { wcet: budget, deadline: budget, ..waiting.load };
        self.put(cpu, Waiting { load, ..waiting });
        waiting.after(budget)
    }

    /// Returns the longest first piece without laxity that a CPU can take, less than the whole
    /// rest; 0 if none.
    fn part(&self, cpu: usize, waiting: &Waiting) -> i64 {
        self.cpus[cpu].zero_laxity(waiting.load.period, waiting.load.wcet - 1)
    }

    // --- CPU after CPU ------------------------------------------------------------------------

    fn next(mut self, mut waiting: Vec<Waiting>, choose: Choose) -> Placed {
        let last = self.cpus.len() - 1;
        let mut rest = None;
        for cpu in 0..=last {
            // The CPU is empty, and the rest of a task is at most its window, so it fits.
            if let Some(rest) = rest.take() {
                self.put(cpu, rest);
            }
            let mut others = Vec::new();
            for one in waiting {
                if self.cpus[cpu].fits(one.load) { self.put(cpu, one) } else { others.push(one) }
            }
            waiting = others;
            // A task is split only if there is a CPU for its rest.
            if cpu < last
                && let Some((at, budget)) = choose(&self, cpu, &waiting)
            {
                let one = waiting.remove(at);
                rest = Some(self.cut(cpu, one, budget));
            }
        }
        match waiting.first() {
            None => Ok(self.pieces),
            Some(&one) => Err(one.into()),
        }
    }

    fn first_part(&self, cpu: usize, waiting: &[Waiting]) -> Option<(usize, i64)> {
        let budget = self.part(cpu, waiting.first()?);
        (budget > 0).then_some((0, budget))
    }

    fn largest_part(&self, cpu: usize, waiting: &[Waiting]) -> Option<(usize, i64)> {
        let parts = waiting.iter().map(|one| self.part(cpu, one)).enumerate();
        // `c / T`, the larger one first; ties: the first task.
        let larger = |&(a, c): &(usize, i64), &(b, d): &(usize, i64)| {
            let [over, under] = [a, b].map(|at| i128::from(waiting[at].load.period));
            let sizes = (i128::from(c) * under).cmp(&(i128::from(d) * over));
            sizes.then(b.cmp(&a))
        };
        parts.filter(|&(_, budget)| budget > 0).max_by(larger)
    }

    // --- Splitting what fits nowhere ------------------------------------------------------------

    fn fail(
        mut self,
        waiting: Vec<Waiting>,
        fit: fn(&Placement, &SporadicLoad) -> Option<usize>,
    ) -> Placed {
        let mut failed = Vec::new();
        for one in waiting {
            match fit(&self, &one.load) {
                Some(cpu) => self.put(cpu, one),
                None => failed.push(one),
            }
        }
        for mut one in failed {
            let mut unused: BTreeSet<usize> = (0..self.cpus.len()).collect();
            loop {
                let found = unused.iter().copied().find(|&cpu| self.cpus[cpu].fits(one.load));
                if let Some(cpu) = found {
                    self.put(cpu, one);
                    break;
                }
                let parts = unused.iter().map(|&cpu| (self.part(cpu, &one), Reverse(cpu)));
                match parts.max() {
                    Some((budget, Reverse(cpu))) if budget > 0 => {
                        one = self.cut(cpu, one, budget);
                        unused.remove(&cpu);
                    }
                    Some(_) | None => return Err(one.into()),
                }
            }
        }
        Ok(self.pieces)
    }

    fn first_fit(&self, load: &SporadicLoad) -> Option<usize> {
        self.cpus.iter().position(|cpu| cpu.fits(*load))
    }

    fn worst_fit(&self, load: &SporadicLoad) -> Option<usize> {
        let fits = (0..self.cpus.len()).filter(|&cpu| self.cpus[cpu].fits(*load));
        // Ties go to the lowest CPU.
        fits.min_by(|&a, &b| self.cpus[a].compare_load(&self.cpus[b]))
    }

    // --- EDF-WM -----------------------------------------------------------------------------------

    fn windows(mut self, waiting: Vec<Waiting>) -> Placed {
        for one in waiting {
            match self.first_fit(&one.load) {
                Some(cpu) => self.put(cpu, one),
                None => self.cut_into_windows(one)?,
            }
        }
        Ok(self.pieces)
    }

    fn cut_into_windows(&mut self, one: Waiting) -> Result<(), Remainder> {
        let SporadicLoad { wcet, deadline, period } = one.load;
        // For any windows, no CPU contributes more than its remaining capacity.
        let room = self.cpus.iter().map(|cpu| cpu.room(period)).fold(0, i64::saturating_add);
        if room < wcet {
            return Err(Remainder { task: one.task, rest: wcet - room });
        }
        let mut least = wcet;
        for count in 2..=self.cpus.len() {
            // Rounded down, so that the last window ends at the deadline or before it.
            let window = deadline / count as i64;
            let budget = |cpu: &Cpu| cpu.budget(window, period, wcet);
            let mut budgets: Vec<(usize, i64)> = self.cpus.iter().map(budget).enumerate().collect();
            // The sort is stable: of equal budgets, the lowest CPU comes first.
            budgets.sort_by_key(|&(_, budget)| Reverse(budget));
            budgets.truncate(count);
            let sum = budgets.iter().map(|&(_, budget)| budget).fold(0, i64::saturating_add);
            if sum < wcet {
                least = least.min(wcet - sum);
                continue;
            }
            let mut rest = wcet;
            for (k, (cpu, budget)) in budgets.into_iter().enumerate() {
                let load = SporadicLoad { wcet: budget.min(rest), deadline: window, period };
                if load.wcet > 0 {
                    self.put(cpu, Waiting { offset: k as i64 * window, load, ..one });
                    rest -= load.wcet;
                }
            }
            return Ok(());
        }
        Err(Remainder { task: one.task, rest: least })
    }
}

#[cfg(test)]
mod tests;
