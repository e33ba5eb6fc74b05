//! The slow twin of QPS: at each decision it goes through all sets of all CPUs, with names in place
//! of indices and exact fractions. It only stores the values that the rules mention.

use super::slow::{RunningJobs, TwinEvent, seat};
use layland_model::{JobId, Rate, ScheduleRule, System, TaskId, Time};
use layland_offline::{Client, Hierarchy, RateGrid};
use layland_policy::fair::qps::{MasterRule, sets};
use layland_policy::{Action, Count, Event, Needs, Policy, PolicyOptions, State, TimerId};
use std::collections::{BTreeMap, BTreeSet};

/// A window of a client, and its remaining budget in it.
#[derive(Clone, Debug)]
struct Window {
    start: i64,
    end: i64,
    remaining: Rate,
}

/// An interval of a major set.
#[derive(Clone, Debug)]
struct Interval {
    end: i64,
    a: BTreeSet<Client>,
    budgets: [Rate; 2],
    collapsed: bool,
}

impl Interval {
    fn side(&self, client: Client) -> usize {
        usize::from(!self.a.contains(&client))
    }
}

/// The slow twin of QPS.
#[derive(Clone, Debug)]
pub struct SlowQps {
    rule: MasterRule,
    sets: Hierarchy,
    grid: RateGrid,
    order: Vec<TaskId>,
    rates: Vec<Rate>,
    /// The ready job of each task.
    jobs: BTreeMap<usize, JobId>,
    /// Released jobs whose windows have not begun: the start of the window, and the deadline.
    coming: BTreeMap<usize, (i64, i64)>,
    windows: BTreeMap<Client, Window>,
    intervals: BTreeMap<usize, Interval>,
    last_side: BTreeMap<usize, usize>,
    own_pick: BTreeMap<usize, Client>,
    master_pick: BTreeMap<usize, Client>,
    /// The side that each selected master serves.
    serves: BTreeMap<usize, usize>,
    /// The side whose budget each CPU uses.
    uses: BTreeMap<usize, usize>,
    on: BTreeMap<usize, usize>,
    shown: RunningJobs,
    now: i64,
}

impl SlowQps {
    /// Creates the twin for a system that QPS accepts with these options.
    ///
    /// # Panics
    /// If QPS rejects the system.
    pub fn new(system: &System, options: &PolicyOptions) -> SlowQps {
        let (prepared, sets) = sets(system, options).expect("QPS accepts the system");
        SlowQps {
            rule: MasterRule::of(options).expect("QPS accepts the options"),
            sets,
            grid: prepared.grid,
            order: prepared.order,
            rates: prepared.rates,
            jobs: BTreeMap::new(),
            coming: BTreeMap::new(),
            windows: BTreeMap::new(),
            intervals: BTreeMap::new(),
            last_side: BTreeMap::new(),
            own_pick: BTreeMap::new(),
            master_pick: BTreeMap::new(),
            serves: BTreeMap::new(),
            uses: BTreeMap::new(),
            on: BTreeMap::new(),
            shown: RunningJobs::default(),
            now: 0,
        }
    }

    fn rate(&self, client: Client) -> Rate {
        match client {
            Client::Task(task) => self.rates[task].clone(),
            Client::Master(cpu) => &self.sets.sets[cpu].rate - &Rate::ONE,
        }
    }

    fn is_pending(&self, client: Client) -> bool {
        let has_job = match client {
            Client::Task(task) => self.jobs.contains_key(&task),
            Client::Master(_) => true,
        };
        has_job && self.windows.get(&client).is_some_and(|window| window.remaining > Rate::ZERO)
    }

    /// Returns the first pending client of a set, or of a side of it.
    fn first(&self, cpu: usize, side: Option<usize>, last: Option<&Client>) -> Option<Client> {
        let interval = self.intervals.get(&cpu);
        let is_in = |client: Client| {
            side.is_none_or(|side| interval.is_some_and(|interval| interval.side(client) == side))
        };
        let clients = self.sets.sets[cpu].clients.iter().copied();
        clients
            .filter(|&client| is_in(client) && self.is_pending(client))
            .min_by_key(|client| (self.windows[client].end, Some(client) != last, *client))
    }

    fn advance(&mut self, now: i64) {
        let past = Rate::whole(now - self.now);
        self.now = now;
        if past == Rate::ZERO {
            return;
        }
        let tasks = self.on.values().map(|&task| Client::Task(task));
        let masters = self.serves.keys().map(|&cpu| Client::Master(cpu));
        for client in tasks.chain(masters) {
            if let Some(window) = self.windows.get_mut(&client) {
                window.remaining = &window.remaining - &past;
            }
        }
        for (cpu, &side) in &self.uses {
            if let Some(interval) = self.intervals.get_mut(cpu) {
                interval.budgets[side] = &interval.budgets[side] - &past;
            }
        }
    }

    /// Step 1.
    fn renew_windows(&mut self) {
        let now = self.now;
        self.windows
            .retain(|client, window| matches!(client, Client::Master(_)) || window.end > now);
        for (task, (at, deadline)) in self.coming.clone() {
            if at <= now {
                let end = self.grid.down(deadline);
                let remaining = &self.rates[task] * &Rate::whole(end - now);
                self.windows.insert(Client::Task(task), Window { start: now, end, remaining });
                self.coming.remove(&task);
            }
        }
    }

    /// Step 2 for a major set.
    fn update(&mut self, cpu: usize) {
        let Some(master) = self.sets.sets[cpu].master.clone() else { return };
        let clients = self.sets.sets[cpu].clients.clone();
        let me = Client::Master(cpu);
        let old = self.intervals.get(&cpu).cloned();
        if old.as_ref().is_none_or(|interval| interval.end <= self.now) {
            self.intervals.remove(&cpu);
            self.windows.remove(&me);
            if clients.iter().all(|client| self.windows.contains_key(client)) {
                let is_new = |client: &&Client| self.windows[*client].start == self.now;
                let a: BTreeSet<Client> = match &old {
                    Some(interval) => interval.a.clone(),
                    None if clients.iter().all(|client| is_new(&client)) => {
                        clients[..master.split].iter().copied().collect()
                    }
                    None => clients.iter().filter(is_new).copied().collect(),
                };
                let end = clients.iter().map(|client| self.windows[client].end).min();
                let end = end.expect("a set has clients");
                let length = Rate::whole(end - self.now);
                let budget = |is_a: bool| {
                    let side = clients.iter().filter(|client| a.contains(client) == is_a);
                    let rate: Rate = side.map(|&client| self.rate(client)).sum();
                    &(&rate - &master.excess) * &length
                };
                let budgets = [budget(true), budget(false)];
                let interval = Interval { end, a, budgets, collapsed: false };
                if old.is_none() {
                    let ran = self.own_pick.get(&cpu).copied().filter(|&client| {
                        self.is_pending(client) && self.windows[&client].start != self.now
                    });
                    match ran {
                        Some(client) => self.last_side.insert(cpu, interval.side(client)),
                        None => self.last_side.remove(&cpu),
                    };
                }
                let remaining = &master.excess * &length;
                self.windows.insert(me, Window { start: self.now, end, remaining });
                self.intervals.insert(cpu, interval);
            }
        }
        let sides = [self.first(cpu, Some(0), None), self.first(cpu, Some(1), None)];
        if let Some(interval) = self.intervals.get_mut(&cpu)
            && let Some(window) = self.windows.get_mut(&me)
            && window.remaining > Rate::ZERO
            && sides.contains(&None)
        {
            interval.collapsed = true;
            window.remaining = Rate::ZERO;
        }
    }

    /// Step 3.
    fn dispatch(&mut self) {
        let before = std::mem::take(&mut self.serves);
        self.uses.clear();
        self.on.clear();
        for cpu in (0..self.sets.sets.len()).rev() {
            let mut client = self.own_choice(cpu);
            match client {
                Some(client) => self.own_pick.insert(cpu, client),
                None => self.own_pick.remove(&cpu),
            };
            while let Some(Client::Master(below)) = client {
                client = self.master_choice(below, before.get(&below).copied());
            }
            if let Some(Client::Task(task)) = client {
                assert!(self.on.values().all(|&other| other != task), "a task is on two CPUs");
                self.on.insert(cpu, task);
            }
        }
    }

    fn own_choice(&mut self, cpu: usize) -> Option<Client> {
        let last = self.own_pick.get(&cpu).copied();
        let Some(interval) = self.intervals.get(&cpu).filter(|interval| !interval.collapsed) else {
            return self.first(cpu, None, last.as_ref());
        };
        let side = if let Some(&side) = self.serves.get(&cpu) {
            1 - side
        } else {
            let eligible: Vec<usize> = (0..2)
                .filter(|&side| interval.budgets[side] > Rate::ZERO)
                .filter(|&side| self.first(cpu, Some(side), None).is_some())
                .collect();
            let ran = self.last_side.get(&cpu).filter(|side| eligible.contains(side));
            let side = match (ran, eligible.as_slice()) {
                (Some(&side), _) => side,
                (None, []) => return None,
                (None, [side]) => *side,
                (None, _) => interval.side(self.first(cpu, None, last.as_ref())?),
            };
            self.uses.insert(cpu, side);
            side
        };
        let pick = self.first(cpu, Some(side), last.as_ref())?;
        self.last_side.insert(cpu, side);
        Some(pick)
    }

    fn master_choice(&mut self, cpu: usize, before: Option<usize>) -> Option<Client> {
        let last = self.master_pick.get(&cpu).copied();
        let has_pending = |&side: &usize| self.first(cpu, Some(side), None).is_some();
        let stays = match self.rule {
            MasterRule::Edf => None,
            MasterRule::Stay => before
                .filter(has_pending)
                .or_else(|| self.last_side.get(&cpu).map(|side| 1 - side).filter(has_pending)),
        };
        let earliest = self.first(cpu, None, last.as_ref())?;
        let side = stays.unwrap_or_else(|| self.intervals[&cpu].side(earliest));
        self.serves.insert(cpu, side);
        let pick = self.first(cpu, Some(side), last.as_ref())?;
        self.master_pick.insert(cpu, pick);
        Some(pick)
    }

    fn next_event(&self) -> Option<i64> {
        let mut times: Vec<Rate> = Vec::new();
        times.extend(self.windows.values().map(|window| Rate::whole(window.end)));
        times.extend(self.coming.values().map(|&(at, _)| Rate::whole(at)));
        let now = Rate::whole(self.now);
        let tasks = self.on.values().map(|&task| Client::Task(task));
        let masters = self.serves.keys().map(|&cpu| Client::Master(cpu));
        times.extend(tasks.chain(masters).map(|client| &now + &self.windows[&client].remaining));
        times
            .extend(self.uses.iter().map(|(cpu, &side)| &now + &self.intervals[cpu].budgets[side]));
        times.into_iter().min().and_then(|at| at.ceil())
    }
}

impl Policy for SlowQps {
    fn on_event(&mut self, now: Time, event: Event) {
        self.advance(now.ns());
        match self.shown.told(&event) {
            TwinEvent::Released(job, deadline) => {
                let seat = seat(&self.order, job.task);
                self.jobs.insert(seat, job);
                self.coming.insert(seat, (self.grid.up(now.ns()), deadline));
            }
            TwinEvent::Completed(job) => {
                self.jobs.remove(&seat(&self.order, job.task));
            }
            TwinEvent::Nothing => {}
        }
    }

    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.advance(now.ns());
        self.renew_windows();
        (0..self.sets.sets.len()).for_each(|cpu| self.update(cpu));
        self.dispatch();
        let Self { shown, on, jobs, .. } = self;
        let job_on = |cpu| on.get(&cpu).and_then(|task| jobs.get(task)).copied();
        shown.show(self.sets.sets.len(), job_on, actions);
        let id = TimerId(0);
        actions.push(match self.next_event() {
            Some(at) => Action::SetTimer { id, at: Time::from_ns(at) },
            None => Action::ClearTimer { id },
        });
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
