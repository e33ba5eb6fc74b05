//! The slow twin of RUN: at each decision it goes through the whole tree, with recursion and exact
//! fractions. It has no separately updated subsystems, flat arrays or whole budgets.

use super::slow::{RunningJobs, TwinEvent, seat};
use layland_model::{JobId, Rate, ScheduleRule, System, Task, TaskId, Time};
use layland_offline::{Clients, RateGrid, Reduction};
use layland_policy::fair::run::tree;
use layland_policy::{Action, Count, Event, Needs, Policy, PolicyOptions, State, TimerId};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug)]
struct TaskState {
    task: Task,
    job: Option<JobId>,
    executed: bool,
    next_release: i64,
    deadline: i64,
    remaining: Rate,
    last_cpu: Option<usize>,
}

/// The slow twin of RUN.
#[derive(Clone, Debug)]
pub struct SlowRun {
    tree: Reduction,
    grid: RateGrid,
    order: Vec<TaskId>,
    rates: Vec<Rate>,
    tasks: Vec<TaskState>,
    deadlines: Vec<i64>,
    budgets: Vec<Rate>,
    picks: BTreeMap<usize, usize>,
    runs: BTreeSet<usize>,
    on: BTreeMap<usize, usize>,
    shown: RunningJobs,
    now: i64,
}

impl SlowRun {
    /// Creates the twin for a system that RUN accepts with these options.
    ///
    /// # Panics
    /// If RUN rejects the system.
    pub fn new(system: &System, options: &PolicyOptions) -> SlowRun {
        let (prepared, tree) = tree(system, options).expect("RUN accepts the system");
        let task = |&task: &TaskId| TaskState {
            task: system.tasks[task].clone(),
            job: None,
            executed: false,
            next_release: system.tasks[task].offset.ns(),
            deadline: 0,
            remaining: Rate::ZERO,
            last_cpu: None,
        };
        SlowRun {
            tasks: prepared.order.iter().map(task).collect(),
            deadlines: vec![0; tree.servers.len()],
            budgets: vec![Rate::ZERO; tree.servers.len()],
            tree,
            grid: prepared.grid,
            order: prepared.order,
            rates: prepared.rates,
            picks: BTreeMap::new(),
            runs: BTreeSet::new(),
            on: BTreeMap::new(),
            shown: RunningJobs::default(),
            now: 0,
        }
    }

    fn advance(&mut self, now: i64) {
        let past = Rate::whole(now - self.now);
        self.now = now;
        if past == Rate::ZERO {
            return;
        }
        for &server in &self.runs {
            self.budgets[server] = &self.budgets[server] - &past;
        }
        for (&cpu, &task) in &self.on {
            self.tasks[task].remaining = &self.tasks[task].remaining - &past;
            self.tasks[task].executed = true;
            self.tasks[task].last_cpu = Some(cpu);
        }
    }

    fn open_windows(&mut self) {
        for (task, rate) in self.tasks.iter_mut().zip(&self.rates) {
            if task.deadline > self.now {
                continue;
            }
            let release = self.grid.up(task.next_release);
            if release > self.now {
                (task.deadline, task.remaining) = (release, Rate::ZERO);
            } else {
                task.next_release += task.task.period.ns();
                task.deadline = self.grid.down(task.next_release);
                task.remaining = rate * &Rate::whole(task.deadline - self.now);
            }
        }
    }

    fn renew(&mut self, server: usize) {
        let deadlines: Vec<i64> = match &self.tree.servers[server].clients {
            Clients::Tasks(tasks) => tasks.iter().map(|&task| self.tasks[task].deadline).collect(),
            Clients::Duals(duals) => duals
                .clone()
                .into_iter()
                .map(|dual| {
                    self.renew(dual);
                    self.deadlines[dual]
                })
                .collect(),
        };
        if self.deadlines[server] <= self.now {
            assert_eq!(self.budgets[server], Rate::ZERO, "server {server} at {}", self.now);
            let deadline = deadlines.into_iter().min().expect("a server has clients");
            self.deadlines[server] = deadline;
            self.budgets[server] =
                &self.tree.servers[server].rate * &Rate::whole(deadline - self.now);
        }
    }

    fn dual_budget(&self, server: usize) -> Rate {
        &Rate::whole(self.deadlines[server] - self.now) - &self.budgets[server]
    }

    /// Adds the tasks that are selected below a server.
    fn select(&mut self, server: usize, runs: bool, picked: &mut Vec<usize>) {
        if runs {
            self.runs.insert(server);
        }
        let last = self.picks.get(&server).copied();
        match self.tree.servers[server].clients.clone() {
            Clients::Tasks(tasks) if runs => {
                let pending = tasks.into_iter().filter(|&task| {
                    self.tasks[task].job.is_some() && self.tasks[task].remaining > Rate::ZERO
                });
                let pick = pending
                    .min_by_key(|&task| (self.tasks[task].deadline, Some(task) != last, task));
                match pick {
                    Some(task) => {
                        self.picks.insert(server, task);
                        picked.push(task);
                    }
                    None => {
                        self.picks.remove(&server);
                    }
                }
            }
            Clients::Tasks(_) => {}
            Clients::Duals(duals) => {
                let pick = duals
                    .iter()
                    .copied()
                    .filter(|&dual| runs && self.dual_budget(dual) > Rate::ZERO)
                    .min_by_key(|&dual| (self.deadlines[dual], Some(dual) != last, dual));
                if let Some(pick) = pick {
                    self.picks.insert(server, pick);
                }
                duals.into_iter().for_each(|dual| self.select(dual, Some(dual) != pick, picked));
            }
        }
    }

    /// Places the selected tasks of a subsystem on its CPUs.
    fn place(&mut self, cpus: &[usize], mut picked: Vec<usize>) {
        picked.sort_unstable();
        let mut on: BTreeMap<usize, usize> = BTreeMap::new();
        for &cpu in cpus {
            if let Some(&task) = self.on.get(&cpu)
                && picked.contains(&task)
            {
                on.insert(cpu, task);
            }
        }
        for executed in [true, false] {
            for &task in &picked {
                if let Some(cpu) = self.tasks[task].last_cpu
                    && self.tasks[task].executed == executed
                    && on.values().all(|&other| other != task)
                {
                    on.entry(cpu).or_insert(task);
                }
            }
        }
        for &task in &picked {
            if on.values().all(|&other| other != task) {
                let free = cpus.iter().find(|cpu| !on.contains_key(cpu));
                on.insert(*free.expect("there is a CPU for each task"), task);
            }
        }
        self.on.extend(on);
    }

    fn next_event(&self) -> i64 {
        let mut times: Vec<Rate> =
            self.tasks.iter().map(|task| Rate::whole(task.deadline)).collect();
        let mut after = |length: &Rate| {
            if *length > Rate::ZERO {
                times.push(&Rate::whole(self.now) + length);
            }
        };
        for (server, node) in self.tree.servers.iter().enumerate() {
            let runs = self.runs.contains(&server);
            match (&node.clients, self.picks.get(&server)) {
                (Clients::Tasks(_), _) if runs => after(&self.budgets[server]),
                (Clients::Duals(_), Some(&pick)) if runs => after(&self.dual_budget(pick)),
                _ => {}
            }
        }
        self.on.values().for_each(|&task| after(&self.tasks[task].remaining));
        times.into_iter().min().and_then(|at| at.ceil()).expect("windows end")
    }
}

impl Policy for SlowRun {
    fn on_event(&mut self, now: Time, event: Event) {
        self.advance(now.ns());
        match self.shown.told(&event) {
            TwinEvent::Released(job, _) => {
                let task = &mut self.tasks[seat(&self.order, job.task)];
                task.job = Some(job);
                task.executed = false;
            }
            TwinEvent::Completed(job) => self.tasks[seat(&self.order, job.task)].job = None,
            TwinEvent::Nothing => {}
        }
    }

    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.advance(now.ns());
        self.open_windows();
        self.runs.clear();
        let subsystems = self.tree.subsystems.clone();
        for subsystem in &subsystems {
            self.renew(subsystem.root);
            let mut picked = Vec::new();
            self.select(subsystem.root, true, &mut picked);
            let cpus: Vec<usize> = subsystem.processors.clone().collect();
            self.place(&cpus, picked.clone());
            self.on.retain(|cpu, task| !cpus.contains(cpu) || picked.contains(task));
        }
        let Self { shown, on, tasks, .. } = self;
        let cpus = subsystems.last().map_or(0, |last| last.processors.end);
        shown.show(cpus, |cpu| on.get(&cpu).and_then(|&task| tasks[task].job), actions);
        let at = Time::from_ns(self.next_event());
        actions.push(Action::SetTimer { id: TimerId(0), at });
    }

    fn save(&self, _now: Time, _state: &mut State) {}

    fn needs(&self) -> Needs {
        Needs::READY_JOBS
    }

    fn rule(&self) -> ScheduleRule {
        ScheduleRule::None
    }

    fn counts(&self) -> Vec<Count> {
        Vec::new()
    }
}
