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
//!
//! On CPUs of other speeds a budget is a *time* of its CPU: a piece of `b` ns on a CPU of speed `s`
//! does `b s` of work, and a rest `r` of work takes `ceil(r / s)`, so that no work is lost between
//! pieces. A CPU can take the most if it does the most work. `Next` splits a task only if the next
//! CPU, which is empty, does the rest in time; the longest such piece is the first.

mod demand;

use demand::{Cpu, SporadicLoad, largest};
use layland_model::{
    CpuId, Duration, Index, Piece, Rate, Speed, SplitOrder, Splitting, System, TaskId, TaskMap,
};
use std::cmp::{Ordering, Reverse};
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
    /// The part that no CPU can take, at unit speed.
    pub rest: Duration,
}

/// Returns the pieces of every task of a valid system; a task that is not split has one piece. Every
/// task may use each CPU. If no deadline is longer than its period, every piece is in time under EDF
/// on each CPU, for periodic and sporadic tasks.
///
/// ```
/// use layland_model::{Duration, Service, SplitOrder, Splitting, System, Task, TaskId};
/// use layland_offline::split;
/// let task = |name| Task::implicit(name, Service::from_ms(6), Duration::from_ms(10));
/// let system = System::new(2, ["a", "b", "c"].map(task).to_vec());
/// let pieces = split(&system, Splitting::NextFirst, SplitOrder::Utilization).unwrap();
/// // CPU 0 takes `a`, and 4 ms of `b`; the rest of `b` has 6 ms on CPU 1.
/// let budgets: Vec<Duration> = pieces[TaskId(1)].iter().map(|piece| piece.budget).collect();
/// assert_eq!(budgets, [Duration::from_ms(4), Duration::from_ms(2)]);
/// ```
///
/// # Errors
/// Returns the first task that cannot be placed.
pub fn split(
    system: &System,
    splitting: Splitting,
    order: SplitOrder,
) -> Result<TaskMap<Vec<Piece>>, NoSplit> {
    let speeds: Vec<Speed> = system.platform.speeds.values().copied().collect();
    let plan = Placement {
        cpus: speeds.iter().map(|_| Cpu::default()).collect(),
        speeds,
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
        rest: Duration::from_ns(rest.ceil().unwrap_or(i64::MAX)),
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
        for piece in pieces.iter().filter(|piece| piece.budget > Duration::ZERO) {
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

/// The work that a CPU of this speed does in a time.
fn work(time: i64, speed: Speed) -> Rate {
    if speed == Speed::UNIT { Rate::whole(time) } else { &Rate::whole(time) * &speed.rate() }
}

/// A task, or the rest of it, that is not yet placed.
#[derive(Clone, Debug)]
struct Waiting {
    task: TaskId,
    /// The time from the arrival of a job to the start of the window of the rest.
    offset: i64,
    /// The work of the rest.
    rest: Rate,
    /// The length of the window.
    deadline: i64,
    period: i64,
}

impl Waiting {
    fn whole(system: &System, task: TaskId) -> Waiting {
        let SporadicLoad { wcet, deadline, period } = SporadicLoad::of(&system.tasks[task]);
        Waiting { task, offset: 0, rest: Rate::whole(wcet), deadline, period }
    }

    /// Returns the load of the rest on a CPU of this speed.
    fn load_at(&self, speed: Speed) -> SporadicLoad {
        let time = match speed {
            Speed::UNIT => self.rest.ceil(),
            speed => (&self.rest / &speed.rate()).ceil(),
        };
        let wcet = time.unwrap_or(i64::MAX);
        SporadicLoad { wcet, deadline: self.deadline, period: self.period }
    }

    /// Returns the rest after a first piece on a CPU of this speed with this budget as its window.
    fn after(&self, budget: i64, speed: Speed) -> Waiting {
        Waiting {
            task: self.task,
            offset: self.offset + budget,
            rest: &self.rest - &work(budget, speed),
            deadline: self.deadline - budget,
            period: self.period,
        }
    }
}

/// The part of a task that cannot be placed.
struct Remainder {
    task: TaskId,
    rest: Rate,
}

impl From<Waiting> for Remainder {
    fn from(Waiting { task, rest, .. }: Waiting) -> Remainder {
        Remainder { task, rest }
    }
}

type Placed = Result<TaskMap<Vec<Piece>>, Remainder>;

/// Chooses the waiting task to split on a CPU, and the budget of its first piece.
type Choose = fn(&Placement, usize, &[Waiting]) -> Option<(usize, i64)>;

/// The placement so far.
struct Placement {
    cpus: Vec<Cpu>,
    speeds: Vec<Speed>,
    pieces: TaskMap<Vec<Piece>>,
}

impl Placement {
    /// Returns the load of a rest on a CPU.
    fn load(&self, cpu: usize, waiting: &Waiting) -> SporadicLoad {
        waiting.load_at(self.speeds[cpu])
    }

    fn fits(&self, cpu: usize, waiting: &Waiting) -> bool {
        self.cpus[cpu].fits(self.load(cpu, waiting))
    }

    /// Places the rest of a task on a CPU.
    fn put(&mut self, cpu: usize, waiting: &Waiting) {
        self.put_piece(cpu, waiting, self.load(cpu, waiting));
    }

    /// Places a piece on a CPU, the first one of the rest of a task.
    fn put_piece(&mut self, cpu: usize, waiting: &Waiting, load: SporadicLoad) {
        self.cpus[cpu].put(load);
        self.pieces[waiting.task].push(Piece {
            cpu: CpuId::from_index(cpu),
            offset: Duration::from_ns(waiting.offset),
            budget: Duration::from_ns(load.wcet),
            deadline: Duration::from_ns(load.deadline),
        });
    }

    /// Places a piece without laxity, the first one of the rest, on a CPU, and returns the new
    /// rest.
    fn cut(&mut self, cpu: usize, waiting: &Waiting, budget: i64) -> Waiting {
        let load = SporadicLoad { wcet: budget, deadline: budget, period: waiting.period };
        self.put_piece(cpu, waiting, load);
        waiting.after(budget, self.speeds[cpu])
    }

    /// Returns the longest first piece without laxity that a CPU can take, less than the whole rest
    /// and than its window; 0 if none.
    fn part(&self, cpu: usize, waiting: &Waiting) -> i64 {
        let most = self.load(cpu, waiting).wcet.min(waiting.deadline) - 1;
        self.cpus[cpu].zero_laxity(waiting.period, most)
    }

    // --- CPU after CPU ------------------------------------------------------------------------

    fn next(mut self, mut waiting: Vec<Waiting>, choose: Choose) -> Placed {
        let last = self.cpus.len() - 1;
        let mut rest = None;
        for cpu in 0..=last {
            // The CPU is empty, and does the rest of a task in its window, so it fits.
            if let Some(rest) = rest.take() {
                self.put(cpu, &rest);
            }
            let mut others = Vec::new();
            for one in waiting {
                if self.fits(cpu, &one) { self.put(cpu, &one) } else { others.push(one) }
            }
            waiting = others;
            // A task is split only if there is a CPU for its rest.
            if cpu < last
                && let Some((at, budget)) = choose(&self, cpu, &waiting)
            {
                let one = waiting.remove(at);
                rest = Some(self.cut(cpu, &one, budget));
            }
        }
        match waiting.into_iter().next() {
            None => Ok(self.pieces),
            Some(one) => Err(one.into()),
        }
    }

    /// Returns the longest first piece without laxity that a CPU can take if the next one does the
    /// rest in time; 0 if none.
    fn part_before_next(&self, cpu: usize, waiting: &Waiting) -> i64 {
        let (most, [own, next]) = (self.part(cpu, waiting), [cpu, cpu + 1].map(|c| self.speeds[c]));
        let leaves_enough = |&budget: &i64| {
            let rest = waiting.after(budget, own).load_at(next);
            rest.wcet <= rest.deadline
        };
        if most == 0 || leaves_enough(&most) {
            return most;
        }
        // Each nanosecond here takes as much from the window, and from the time that the rest needs
        // no less if the next CPU is slower, and no more if it is faster.
        if next.rate() <= own.rate() { 0 } else { largest(most, |budget| leaves_enough(&budget)) }
    }

    fn first_part(&self, cpu: usize, waiting: &[Waiting]) -> Option<(usize, i64)> {
        let budget = self.part_before_next(cpu, waiting.first()?);
        (budget > 0).then_some((0, budget))
    }

    fn largest_part(&self, cpu: usize, waiting: &[Waiting]) -> Option<(usize, i64)> {
        let parts = waiting.iter().map(|one| self.part_before_next(cpu, one)).enumerate();
        // `c / T`, the larger one first; ties: the first task.
        let larger = |&(a, c): &(usize, i64), &(b, d): &(usize, i64)| {
            let [over, under] = [a, b].map(|at| i128::from(waiting[at].period));
            let sizes = (i128::from(c) * under).cmp(&(i128::from(d) * over));
            sizes.then(b.cmp(&a))
        };
        parts.filter(|&(_, budget)| budget > 0).max_by(larger)
    }

    // --- Splitting what fits nowhere ------------------------------------------------------------

    fn fail(
        mut self,
        waiting: Vec<Waiting>,
        fit: fn(&Placement, &Waiting) -> Option<usize>,
    ) -> Placed {
        let mut failed = Vec::new();
        for one in waiting {
            match fit(&self, &one) {
                Some(cpu) => self.put(cpu, &one),
                None => failed.push(one),
            }
        }
        for mut one in failed {
            let mut unused: BTreeSet<usize> = (0..self.cpus.len()).collect();
            loop {
                if let Some(cpu) = unused.iter().copied().find(|&cpu| self.fits(cpu, &one)) {
                    self.put(cpu, &one);
                    break;
                }
                let parts = unused.iter().map(|&cpu| {
                    let budget = self.part(cpu, &one);
                    (work(budget, self.speeds[cpu]), Reverse(cpu), budget)
                });
                match parts.max() {
                    Some((_, Reverse(cpu), budget)) if budget > 0 => {
                        one = self.cut(cpu, &one, budget);
                        unused.remove(&cpu);
                    }
                    Some(_) | None => return Err(one.into()),
                }
            }
        }
        Ok(self.pieces)
    }

    fn first_fit(&self, one: &Waiting) -> Option<usize> {
        (0..self.cpus.len()).find(|&cpu| self.fits(cpu, one))
    }

    fn worst_fit(&self, one: &Waiting) -> Option<usize> {
        let fits = (0..self.cpus.len()).filter(|&cpu| self.fits(cpu, one));
        // Ties go to the lowest CPU.
        fits.min_by(|&a, &b| self.compare_load(a, b))
    }

    /// Compares the loads of two CPUs by the work that they leave, exactly.
    fn compare_load(&self, a: usize, b: usize) -> Ordering {
        if self.speeds[a] == self.speeds[b] {
            return self.cpus[a].compare_load(&self.cpus[b]);
        }
        let left = |cpu: usize| &self.cpus[cpu].left() * &self.speeds[cpu].rate();
        left(b).cmp(&left(a))
    }

    // --- EDF-WM -----------------------------------------------------------------------------------

    fn windows(mut self, waiting: Vec<Waiting>) -> Placed {
        for one in waiting {
            match self.first_fit(&one) {
                Some(cpu) => self.put(cpu, &one),
                None => self.cut_into_windows(one)?,
            }
        }
        Ok(self.pieces)
    }

    fn cut_into_windows(&mut self, one: Waiting) -> Result<(), Remainder> {
        let Waiting { task, deadline, period, .. } = one;
        let all = 0..self.cpus.len();
        // For any windows, no CPU contributes more than its remaining capacity.
        let room = |cpu: usize| work(self.cpus[cpu].room(period), self.speeds[cpu]);
        let room: Rate = all.clone().map(room).sum();
        if room < one.rest {
            return Err(Remainder { task, rest: &one.rest - &room });
        }
        let mut least = one.rest.clone();
        for count in 2..=self.cpus.len() {
            // Rounded down, so that the last window ends at the deadline or before it.
            let window = deadline / count as i64;
            let budget = |cpu: usize| {
                let most = self.load(cpu, &one).wcet;
                let budget = self.cpus[cpu].budget(window, period, most);
                (cpu, budget, work(budget, self.speeds[cpu]))
            };
            let mut budgets: Vec<(usize, i64, Rate)> = all.clone().map(budget).collect();
            // The sort is stable: of CPUs that do as much, the lowest comes first.
            budgets.sort_by(|(.., a), (.., b)| b.cmp(a));
            budgets.truncate(count);
            let sum: Rate = budgets.iter().map(|(.., done)| done.clone()).sum();
            if sum < one.rest {
                least = least.min(&one.rest - &sum);
                continue;
            }
            let mut rest = one;
            for (k, (cpu, budget, _)) in budgets.into_iter().enumerate() {
                let wcet = budget.min(self.load(cpu, &rest).wcet);
                if wcet > 0 {
                    let piece = Waiting { offset: k as i64 * window, ..rest.clone() };
                    self.put_piece(cpu, &piece, SporadicLoad { wcet, deadline: window, period });
                    let done = work(wcet, self.speeds[cpu]);
                    rest.rest = (&rest.rest - &done).max(Rate::ZERO);
                }
            }
            return Ok(());
        }
        Err(Remainder { task, rest: least })
    }
}

#[cfg(test)]
mod tests;
