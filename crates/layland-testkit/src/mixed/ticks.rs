//! The run-time mechanisms one time unit at a time, by the rules. At every instant, it handles
//! completions, budgets, deadlines, the idle check, timers and releases, makes one decision, and
//! then executes one unit.
//!
//! It shares no code with the policies and uses neither events nor engines. Flags are set and
//! cleared where the rules prescribe it, while the policies derive them from the time.

use super::Literal;
use super::anew::{Anew, Entries};
use layland_model::{Behaviour, ExecutionModel, System, TaskId};

/// A mechanism with its parameters. Tasks are given by index.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the parameters of what is in `layland_policy::criticality`")]
pub enum Rules {
    Fixed {
        order: Vec<usize>,
    },
    Adaptive {
        order: Vec<usize>,
        raise_own: bool,
    },
    ZeroSlack {
        order: Vec<usize>,
        zero_slack: Vec<Option<i64>>,
        suspend: bool,
    },
    Transformed {
        order: Vec<usize>,
        slices: Vec<(i64, i64, i64)>,
    },
    Lists {
        lists: Vec<Vec<i64>>,
        raise_own: bool,
    },
    Recomputed {
        lists: Vec<Vec<i64>>,
        anew: Anew,
        raise_own: bool,
    },
    /// Tasks up to `cut` are low, if there is a cut. The relative deadlines in the low mode are fractions.
    VirtualDeadlines {
        cut: Option<usize>,
        deadlines: Vec<(i64, i64)>,
    },
}

/// The end of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as they say, with when")]
pub enum Ended {
    Completed(i64),
    Aborted(i64),
    Pending,
}

#[derive(Clone, Debug)]
struct TickJob {
    task: usize,
    seq: usize,
    release: i64,
    demand: i64,
    executed: i64,
    critical: bool,
    late: bool,
    budget: i64,
    priority: i64,
}

struct TickMachine<'a> {
    system: &'a System,
    rules: Rules,
    lists: Vec<Literal>,
    entries: Option<Entries>,
    level: usize,
    pending: Vec<TickJob>,
    ended: Vec<Vec<Ended>>,
}

impl TickMachine<'_> {
    fn z(&self, task: usize) -> usize {
        self.system.tasks[TaskId(task as u32)].criticality.level()
    }
    fn c(&self, task: usize, level: usize) -> i64 {
        self.system.tasks[TaskId(task as u32)].wcet[level.min(self.z(task))].ns()
    }
    fn has_indicator(&self) -> bool {
        matches!(
            self.rules,
            Rules::Adaptive { .. }
                | Rules::Lists { .. }
                | Rules::Recomputed { .. }
                | Rules::VirtualDeadlines { .. }
        )
    }
    /// Returns the budget of a job in the present mode under virtual deadlines.
    fn in_mode(&self, task: usize, cut: Option<usize>) -> i64 {
        let level = cut.filter(|_| self.level == 0).unwrap_or(usize::MAX);
        self.c(task, level)
    }
    /// Returns true if a deadline is before that of another job, in the present mode.
    fn is_before(
        &self,
        a: &TickJob,
        b: &TickJob,
        cut: Option<usize>,
        deadlines: &[(i64, i64)],
    ) -> bool {
        let fraction = |job: &TickJob| match cut {
            Some(_) if self.level == 0 => {
                let (n, d) = deadlines[job.task];
                (i128::from(job.release) * i128::from(d) + i128::from(n), i128::from(d))
            }
            _ => {
                let deadline = self.system.tasks[TaskId(job.task as u32)].deadline.ns();
                (i128::from(job.release + deadline), 1)
            }
        };
        let ((p, q), (n, d)) = (fraction(a), fraction(b));
        (p * d, a.task) < (n * q, b.task)
    }
    fn deadline(&self, task: usize) -> i64 {
        self.system.tasks[TaskId(task as u32)].deadline.ns()
    }
    /// Zero-slack scheduling: marks jobs below the top level that are late.
    fn mark_late(&mut self, now: i64, top: usize) {
        for at in 0..self.pending.len() {
            let (task, release) = (self.pending[at].task, self.pending[at].release);
            if release + self.deadline(task) == now && self.z(task) < top {
                (self.pending[at].late, self.pending[at].critical) = (true, false);
            }
        }
    }
    /// Makes jobs critical at their zero-slack instants, and gives jobs the budget of a new slice.
    fn apply_timers(&mut self, now: i64) {
        for at in 0..self.pending.len() {
            let length = self.deadline(self.pending[at].task);
            let job = &mut self.pending[at];
            match &self.rules {
                Rules::ZeroSlack { zero_slack, .. } => {
                    let instant = zero_slack[job.task].filter(|&instant| instant < length);
                    if instant.is_some_and(|instant| job.release + instant == now) && !job.late {
                        job.critical = true;
                    }
                }
                Rules::Transformed { slices, .. } => {
                    let (count, slice, budget) = slices[job.task];
                    let since = now - job.release;
                    if since > 0 && since % slice == 0 && since / slice < count {
                        job.budget = budget;
                    }
                }
                _ => {}
            }
        }
    }
    fn abort_where(&mut self, now: i64, doomed: impl Fn(&Self, &TickJob) -> bool) {
        let (out, kept): (Vec<TickJob>, Vec<TickJob>) =
            self.pending.clone().into_iter().partition(|job| doomed(self, job));
        self.pending = kept;
        out.iter().for_each(|job| self.ended[job.task][job.seq] = Ended::Aborted(now));
    }
    fn abort(&mut self, now: i64, at: usize) {
        let job = self.pending.remove(at);
        self.ended[job.task][job.seq] = Ended::Aborted(now);
    }
    /// Handles a job that has executed for as long as its level, slice or bound allows without completing.
    fn overrun(&mut self, now: i64, at: usize) {
        let (task, executed) = (self.pending[at].task, self.pending[at].executed);
        let (z, levels) = (self.z(task), self.system.levels.count());
        match self.rules {
            Rules::Fixed { .. } | Rules::ZeroSlack { .. } => self.abort(now, at),
            Rules::Transformed { .. } if executed >= self.c(task, z) => self.abort(now, at),
            Rules::Transformed { .. } => {}
            Rules::VirtualDeadlines { cut: Some(cut), .. }
                if self.level == 0 && z > cut && self.c(task, z) > executed =>
            {
                self.level = cut + 1;
                self.abort_where(now, |this, job| this.z(job.task) <= cut);
            }
            Rules::VirtualDeadlines { .. } => self.abort(now, at),
            Rules::Adaptive { raise_own, .. }
            | Rules::Lists { raise_own, .. }
            | Rules::Recomputed { raise_own, .. } => {
                let next = (self.level + 1..=z).find(|&l| self.c(task, l) > executed);
                let next = next.or((raise_own && z + 1 < levels).then_some(z + 1));
                match next {
                    Some(level) => {
                        self.level = level;
                        self.abort_where(now, |this, job| this.z(job.task) < level);
                    }
                    None => self.abort(now, at),
                }
            }
        }
    }
    fn is_spent(&self, job: &TickJob) -> bool {
        match self.rules {
            Rules::Fixed { .. } | Rules::ZeroSlack { .. } => {
                job.executed >= self.c(job.task, self.z(job.task))
            }
            Rules::Transformed { .. } => {
                job.budget == 0 || job.executed >= self.c(job.task, self.z(job.task))
            }
            Rules::Adaptive { .. } | Rules::Lists { .. } | Rules::Recomputed { .. } => {
                job.executed >= self.c(job.task, self.level)
            }
            Rules::VirtualDeadlines { cut, .. } => job.executed >= self.in_mode(job.task, cut),
        }
    }
    /// Lets jobs that run next overrun before they execute if their bound at this level is zero.
    fn overrun_at_once(&mut self, now: i64) {
        while let Some(at) = self.choice()
            && self.has_indicator()
            && self.is_spent(&self.pending[at])
        {
            self.overrun(now, at);
            self.check_idle();
        }
    }
    fn check_idle(&mut self) {
        if self.pending.is_empty() {
            self.level = 0;
            self.lists.iter_mut().for_each(Literal::reset);
            self.entries.iter_mut().for_each(Entries::reset);
        }
    }
    /// Returns the job that runs, as an index into the pending jobs.
    fn choice(&self) -> Option<usize> {
        // The first job of each task.
        let firsts: Vec<usize> = (0..self.pending.len())
            .filter(|&at| {
                let job = &self.pending[at];
                self.pending.iter().all(|other| other.task != job.task || other.seq >= job.seq)
            })
            .collect();
        let best = |order: &[usize], from: &[usize]| {
            let place = |at: usize| order.iter().position(|&task| task == self.pending[at].task);
            from.iter().copied().min_by_key(|&at| place(at))
        };
        let z = |at: usize| self.z(self.pending[at].task);
        match &self.rules {
            Rules::Fixed { order } | Rules::Adaptive { order, .. } => best(order, &firsts),
            Rules::Transformed { order, .. } => {
                let with_budget: Vec<usize> =
                    firsts.into_iter().filter(|&at| self.pending[at].budget > 0).collect();
                best(order, &with_budget)
            }
            Rules::Lists { .. } | Rules::Recomputed { .. } => {
                firsts.into_iter().max_by_key(|&at| {
                    (self.pending[at].priority, std::cmp::Reverse(self.pending[at].task))
                })
            }
            Rules::VirtualDeadlines { cut, deadlines } => {
                let job = |at: usize| &self.pending[at];
                let is_first = |&at: &usize| {
                    let others = firsts.iter().filter(|&&other| other != at);
                    !others.clone().any(|&o| self.is_before(job(o), job(at), *cut, deadlines))
                };
                firsts.iter().copied().find(is_first)
            }
            Rules::ZeroSlack { order, suspend, .. } => {
                let critical = self.pending.iter().filter(|job| job.critical);
                let theta = critical.map(|job| self.z(job.task) as i64 - 1).max().unwrap_or(-1);
                let eligible: Vec<usize> =
                    firsts.into_iter().filter(|&at| z(at) as i64 > theta).collect();
                let late: Vec<usize> =
                    eligible.iter().copied().filter(|&at| self.pending[at].late).collect();
                let highest = late.iter().map(|&at| z(at)).max();
                let of_highest: Vec<usize> =
                    late.iter().copied().filter(|&at| Some(z(at)) == highest).collect();
                let chosen = best(order, &of_highest);
                let free: Vec<usize> = eligible
                    .into_iter()
                    .filter(|&at| {
                        let above = !*suspend || highest.is_none_or(|c| z(at) > c);
                        !self.pending[at].late && above
                    })
                    .collect();
                best(order, &free).or(chosen)
            }
        }
    }
}

/// Returns the end of every job, by task and number, of tasks with explicit releases and demands on
/// one CPU. Demands are positive.
pub fn simulate(system: &System, rules: &Rules, until: i64) -> Vec<Vec<Ended>> {
    simulate_and_count(system, rules, until).0
}

/// Does the same, and also returns how often priorities were computed, and how often without a
/// result; see [`Entries::scans`].
pub fn simulate_and_count(
    system: &System,
    rules: &Rules,
    until: i64,
) -> (Vec<Vec<Ended>>, (u64, u64)) {
    let lists = match rules {
        Rules::Lists { lists, .. } => lists.iter().cloned().map(Literal::new).collect(),
        _ => Vec::new(),
    };
    let entries = match rules {
        Rules::Recomputed { lists, anew, .. } => Some(Entries::new(system, lists.clone(), *anew)),
        _ => None,
    };
    let releases: Vec<Vec<i64>> = (system.tasks.values())
        .map(|task| match &task.behaviour {
            Behaviour::Explicit(releases) => releases.iter().map(|at| at.ns()).collect(),
            _ => panic!("releases are explicit"),
        })
        .collect();
    let demand = |task: usize, seq: usize| match &system.tasks[TaskId(task as u32)].execution {
        ExecutionModel::List(demands) => demands[seq % demands.len()].ns(),
        _ => panic!("demands are a list"),
    };
    let mut machine = TickMachine {
        system,
        rules: rules.clone(),
        lists,
        entries,
        level: 0,
        pending: Vec::new(),
        ended: releases.iter().map(|times| vec![Ended::Pending; times.len()]).collect(),
    };
    let top = (0..system.tasks.len()).map(|task| machine.z(task)).max().unwrap_or(0);
    let mut running: Option<(usize, usize)> = None;
    for now in 0..=until {
        let running_at = |machine: &TickMachine<'_>| {
            machine.pending.iter().position(|job| Some((job.task, job.seq)) == running)
        };
        // 1. Completion, 2. budgets.
        if let Some(at) = running_at(&machine) {
            let job = machine.pending[at].clone();
            if job.executed >= job.demand {
                machine.pending.remove(at);
                machine.ended[job.task][job.seq] = Ended::Completed(now);
            } else if machine.is_spent(&job) {
                machine.overrun(now, at);
            }
        }
        // 3. Deadlines.
        if let Rules::ZeroSlack { .. } = rules {
            machine.mark_late(now, top);
        }
        // 4. The idle check.
        machine.check_idle();
        // 5. and 7. Timers.
        machine.apply_timers(now);
        // 6. Releases, after the jobs with a bound of zero.
        machine.overrun_at_once(now);
        let arriving: Vec<(usize, usize)> = releases
            .iter()
            .enumerate()
            .flat_map(|(task, times)| {
                let now_due = times.iter().enumerate().filter(|&(_, &at)| at == now);
                now_due.map(move |(seq, _)| (task, seq)).collect::<Vec<_>>()
            })
            .collect();
        if !arriving.is_empty() {
            let before = machine.pending.iter().map(|job| job.priority).max().unwrap_or(-1);
            machine.lists.iter_mut().for_each(|list| list.reuse(before));
        }
        let admitted: Vec<usize> =
            arriving.iter().map(|job| job.0).filter(|&i| machine.z(i) >= machine.level).collect();
        let y = machine.pending.iter().map(|job| job.priority).max();
        let level = machine.level;
        let mut given = match &mut machine.entries {
            Some(entries) => entries.arrive(now, &admitted, y, level),
            None => Vec::new(),
        }
        .into_iter();
        for (task, seq) in arriving {
            if machine.has_indicator() && machine.z(task) < machine.level {
                machine.ended[task][seq] = Ended::Aborted(now);
                continue;
            }
            let mut budget = i64::MAX;
            if let Rules::Transformed { slices, .. } = rules {
                machine.abort_where(now, |_, job| job.task == task);
                budget = slices[task].2;
            }
            let listed = machine.lists.get_mut(task).and_then(Literal::take);
            let priority = given.next().or(listed).unwrap_or(-1);
            machine.pending.push(TickJob {
                task,
                seq,
                release: now,
                demand: demand(task, seq),
                executed: 0,
                critical: false,
                late: false,
                budget,
                priority,
            });
        }
        if let Rules::ZeroSlack { .. } = rules {
            machine.apply_timers(now);
        }
        // 8. The decision.
        machine.overrun_at_once(now);
        let chosen = machine.choice();
        running = chosen.map(|at| (machine.pending[at].task, machine.pending[at].seq));
        if let Some(at) = chosen.filter(|_| now < until) {
            let job = &mut machine.pending[at];
            job.executed += 1;
            job.budget -= 1;
        }
    }
    let scans = machine.entries.map_or((0, 0), |entries| entries.scans);
    (machine.ended, scans)
}
