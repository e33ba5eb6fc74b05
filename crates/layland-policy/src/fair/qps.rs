//! **QPS**: quasi-partitioned scheduling (Massa, Lima, Regnier, Levin, Brandt 2014; as evaluated by
//! Compagnin, Mezzetti, Vardanega 2015).
//!
//! | paper | here |
//! |-------|------|
//! | execution set of a processor | `Set`, made before the start by [`quasi_partition`] |
//! | major set, excess `x` | `Set` with a `Major` part, `excess` |
//! | dedicated servers `S_A`, `S_B` | `Major::budgets` |
//! | master `S_M` | a client of the set of a CPU of a larger number |
//! | slave `S_S` | implied: it runs exactly when the master does |
//!
//! A client is *active* from its release to its deadline. A major set is in **QPS mode** while all its
//! clients are active, and in **EDF mode** otherwise: then its CPU alone runs them by EDF, and the master
//! is not active. So a system is scheduled globally only while it needs to be. Time in QPS mode is cut into
//! intervals that end with the earliest deadline of the clients. In each, of length `l`, the servers of
//! the two sides get `(R(A) - x) l` and `(R(B) - x) l` on the set's own CPU, and the master a job of
//! `x l`; while the master runs, on whatever CPU, it runs a client of one side, and the set's own CPU
//! one of the other side. Minor sets are plain EDF.
//!
//! At each event of a hierarchy:
//!
//! 1. Windows of tasks end, then others begin.
//! 2. Major sets, those with the lower CPU first: mode changes, new intervals, collapses.
//! 3. Dispatching, from the highest CPU down: what the set of the CPU selects, and where that is a
//!    master, what the master selects, down to a task.
//!
//! **Sides.** On entering QPS mode with all clients released now: the static bi-partition; otherwise A is
//! what is released now. **Collapse**: if a side has nothing pending while the master has budget left,
//! nothing will come before the end of the interval, and the set is run by EDF on its own CPU until
//! then. **Which side a master serves** is said by a [`MasterRule`]; the paper does not say
//! [`Stay`](MasterRule::Stay). A CPU whose master does not run stays on the side that it ran last, if
//! that has budget and a pending client.
//!
//! **Ties.** Among equal deadlines: the client picked last, a task before a master, the lower number (of
//! tasks: by rank). The set's own choice and that of its master remember separately; the own one forgets
//! when there was nothing to pick.
//!
//! **Budgets are whole nanoseconds**, without any rounding at run time: see
//! [`RateGrid`](layland_partition::RateGrid), which also says why no deadline is lost by rounding the
//! *rates* up, and how the windows of sporadic tasks are cut to multiples of its unit.
//!
//! A job that is late, because the machine has held it up, goes on in a further window of its task.

use super::parts::{NEVER, NONE, Part, Parts};
use super::{MASTER, Prepared, by_task, prepare, quasi_rule, refusal};
use crate::registry::Options;
use crate::{Action, Event, Policy, Refusal, State};
use layland_model::{CpuId, Index, JobId, ScheduleRule, System, Time};
use layland_partition::{Client as Item, Hierarchy as Sets, quasi_partition};

/// Which side of its set a master serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum MasterRule {
    /// The one that it served just before, while that has a pending client; else the one that the set's
    /// own CPU did not run last; else as `Edf`. A third to a half of the preemptions less.
    #[default]
    Stay,
    /// The one with the earliest deadline, at every event (Compagnin et al., Algorithm 1).
    Edf,
}

/// What happened so far, over all hierarchies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// How often a major set entered or left QPS mode.
    pub mode_changes: u64,
    /// How many QPS intervals began.
    pub intervals: u64,
    /// How many of them collapsed.
    pub collapses: u64,
}

/// The policy: see the file header.
#[derive(Clone, Debug)]
pub struct Qps(Parts<Hierarchy>);

/// The processor hierarchy of a system, with its tasks by rank.
///
/// # Errors
/// If QPS cannot schedule it, or the options name a packing that is no quasi-partition.
pub fn sets(system: &System, options: &Options) -> Result<(Prepared, Sets), Refusal> {
    let prepared = prepare("qps", system, true)?;
    let rule = quasi_rule(options)?;
    let sets = quasi_partition(&prepared.rates, system.platform.cpu_count(), &rule)
        .map_err(|error| refusal(system, &prepared.order, error))?;
    Ok((prepared, sets))
}

/// **QPS** for a valid system.
///
/// # Errors
/// As [`sets`].
pub fn qps(system: &System, options: &Options) -> Result<Qps, Refusal> {
    let rules = [("stay", MasterRule::Stay), ("edf", MasterRule::Edf)];
    let rule = options.one_of(&MASTER, &rules)?.unwrap_or_default();
    let (Prepared { order, grid, .. }, sets) = sets(system, options)?;
    let mut places = vec![(0, 0); order.len()];
    let mut parts = Vec::new();
    for (index, cluster) in sets.clusters().into_iter().enumerate() {
        let mut part = Hierarchy::new(grid.unit.ns(), rule, &cluster);
        let local = |cpu: usize| cluster.binary_search(&cpu).expect("a hierarchy is closed");
        let mut master_of = vec![NONE; cluster.len()];
        for (at, &cpu) in cluster.iter().enumerate() {
            let set = &sets.sets[cpu];
            let first = part.clients.len() as u32;
            for client in &set.clients {
                let member = part.clients.len() as u32;
                let (rate, number, kind) = match *client {
                    Item::Task(seat) => {
                        places[seat] = (index as u32, member);
                        let task = order[seat];
                        let window = grid.tasks[task].window.ns();
                        let job = JobId { task, seq: 0 };
                        (grid.tasks[task].numerator, seat, Kind::Task { job, window, ready: false })
                    }
                    Item::Master(cpu) => {
                        let below = local(cpu);
                        master_of[below] = member;
                        (part.excess(below), cpu, Kind::Master(below as u32))
                    }
                };
                part.clients.push(Client {
                    kind,
                    number: number as u32,
                    rate,
                    start: 0,
                    end: 0,
                    active: false,
                    remaining: 0,
                    side: 0,
                    opens: NEVER,
                    due: NEVER,
                });
            }
            let major = set.master.as_ref().map(|master| Major {
                excess: grid.units(&master.excess),
                client: NONE,
                split: first + master.split as u32,
                mode: Mode::Edf,
                end: 0,
                collapsed: false,
                rates: [0; 2],
                budgets: [0; 2],
                last_side: None,
                serving: None,
                selected: None,
                pick: NONE,
            });
            part.sets.push(Set {
                first,
                end: part.clients.len() as u32,
                pick: NONE,
                on: NONE,
                major,
            });
            debug_assert_eq!(part.sets.len(), at + 1);
        }
        for (set, client) in part.sets.iter_mut().zip(master_of) {
            if let Some(major) = &mut set.major {
                major.client = client;
            }
        }
        parts.push(part);
    }
    let home = by_task(system, &order, &places);
    Ok(Qps(Parts::new("qps", parts, system.platform.cpu_count(), home)))
}

impl Qps {
    /// What happened so far.
    pub fn counts(&self) -> Counts {
        self.0.parts().iter().fold(Counts::default(), |sum, part| Counts {
            mode_changes: sum.mode_changes + part.counts.mode_changes,
            intervals: sum.intervals + part.counts.intervals,
            collapses: sum.collapses + part.counts.collapses,
        })
    }
}

impl Policy for Qps {
    fn on_event(&mut self, now: Time, event: Event) {
        self.0.on_event(now, event);
    }
    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.0.decide(now, actions);
    }
    fn save(&self, now: Time, state: &mut State) {
        self.0.save(now, state);
    }
    fn rule(&self) -> ScheduleRule {
        self.0.rule()
    }
}

/// What a client is.
#[derive(Clone, Debug)]
enum Kind {
    Task {
        /// Its ready job, or the last one.
        job: JobId,
        /// The shortest window of a job.
        window: i64,
        ready: bool,
    },
    /// The master of the set of this index.
    Master(u32),
}

/// A task, or a master. Times are in nanoseconds.
#[derive(Clone, Debug)]
struct Client {
    kind: Kind,
    /// Of the task, or of the CPU of the master's set.
    number: u32,
    rate: i64,
    /// Its window, and what it may still execute in it.
    start: i64,
    end: i64,
    active: bool,
    remaining: i64,
    /// The side of its set that it is on, in QPS mode.
    side: usize,
    /// When the window of a released job begins, and the deadline of that job.
    opens: i64,
    due: i64,
}

impl Client {
    #[inline]
    fn is_pending(&self) -> bool {
        let ready = match self.kind {
            Kind::Task { ready, .. } => ready,
            Kind::Master(_) => true,
        };
        self.active && ready && self.remaining > 0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Qps,
    Edf,
}

/// What a major set has besides its clients.
#[derive(Clone, Debug)]
struct Major {
    excess: i64,
    /// The master: a client of another set.
    client: u32,
    /// The first client of side B of the static bi-partition.
    split: u32,
    mode: Mode,
    /// The end of the interval.
    end: i64,
    collapsed: bool,
    /// What `S_A` and `S_B` get per unit of time, and what they have left.
    rates: [i64; 2],
    budgets: [i64; 2],
    /// The side that the set's own CPU ran last.
    last_side: Option<usize>,
    /// The side whose budget the set's own CPU uses.
    serving: Option<usize>,
    /// The side that the master serves, while it is selected.
    selected: Option<usize>,
    /// The client that was selected for the master last.
    pick: u32,
}

/// What one CPU executes.
#[derive(Clone, Debug)]
struct Set {
    first: u32,
    end: u32,
    /// The client that the set itself selected last; [`NONE`] if there was none.
    pick: u32,
    /// The task that its CPU runs, as a client.
    on: u32,
    major: Option<Major>,
}

impl Set {
    fn clients(&self) -> std::ops::Range<usize> {
        self.first as usize..self.end as usize
    }
    /// Its major part, if the two sides are run apart.
    fn in_qps(&self) -> Option<&Major> {
        self.major.as_ref().filter(|major| major.mode == Mode::Qps && !major.collapsed)
    }
}

/// The sets that depend on each other, those with lower CPUs first.
#[derive(Clone, Debug)]
pub(super) struct Hierarchy {
    /// The unit of the grid: windows begin and end at multiples of it, and rates count in its inverse.
    unit: i64,
    rule: MasterRule,
    cpus: Vec<CpuId>,
    sets: Vec<Set>,
    clients: Vec<Client>,
    now: i64,
    next: i64,
    counts: Counts,
    /// Scratch: the side that each master served until now.
    before: Vec<Option<usize>>,
}

impl Hierarchy {
    fn new(unit: i64, rule: MasterRule, cpus: &[usize]) -> Self {
        Self {
            unit,
            rule,
            cpus: cpus.iter().map(|&cpu| CpuId::from_index(cpu)).collect(),
            sets: Vec::with_capacity(cpus.len()),
            clients: Vec::new(),
            now: 0,
            next: NEVER,
            counts: Counts::default(),
            before: Vec::with_capacity(cpus.len()),
        }
    }

    /// The excess of a set.
    fn excess(&self, set: usize) -> i64 {
        self.sets[set].major.as_ref().map_or(0, |major| major.excess)
    }

    /// The pending client of a set, or of a side of it, with the earliest deadline.
    #[inline]
    fn earliest(&self, set: usize, side: Option<usize>, incumbent: u32) -> u32 {
        let clients = self.sets[set].clients();
        let mut best = NONE;
        let mut best_key = (NEVER, true, true, NONE);
        for (at, client) in clients.clone().zip(&self.clients[clients]) {
            let is_master = matches!(client.kind, Kind::Master(_));
            let key = (client.end, at as u32 != incumbent, is_master, client.number);
            let is_in = side.is_none_or(|side| side == client.side);
            if key < best_key && is_in && client.is_pending() {
                (best, best_key) = (at as u32, key);
            }
        }
        best
    }

    fn side_of(&self, client: u32) -> Option<usize> {
        self.clients.get(client as usize).map(|client| client.side)
    }

    fn is_side_pending(&self, set: usize, side: usize) -> bool {
        self.clients[self.sets[set].clients()]
            .iter()
            .any(|client| client.side == side && client.is_pending())
    }

    /// Accounts for what runs until `to`.
    #[inline]
    fn advance(&mut self, to: i64) {
        let past = to - self.now;
        if past == 0 {
            return;
        }
        self.now = to;
        let Self { sets, clients, .. } = self;
        for set in sets {
            if let Some(client) = clients.get_mut(set.on as usize) {
                client.remaining -= past;
            }
            let Some(major) = &mut set.major else { continue };
            if let Some(side) = major.serving {
                major.budgets[side] -= past;
            }
            if major.selected.is_some() {
                clients[major.client as usize].remaining -= past;
            }
        }
    }

    /// Step 1: windows of tasks.
    #[inline]
    fn renew(&mut self) {
        let Self { unit, clients, now, .. } = self;
        let now = *now;
        for client in clients {
            let Kind::Task { window, ready, .. } = client.kind else { continue };
            if client.active && client.end <= now {
                client.active = false;
                if ready && client.opens == NEVER {
                    // A late job goes on in a window of its own.
                    (client.opens, client.due) = (now, now);
                }
            }
            if client.opens <= now && !client.active {
                let end = num_integer::div_floor(client.due, *unit) * *unit;
                client.active = true;
                client.start = now;
                client.end = end.max(now + window);
                client.remaining = client.rate * ((client.end - now) / *unit);
                client.opens = NEVER;
            }
        }
    }

    /// Step 2: the mode and the interval of a major set.
    #[inline]
    fn update(&mut self, index: usize) {
        let now = self.now;
        let clients = self.sets[index].clients();
        let Some(major) = &mut self.sets[index].major else { return };
        let (mode, was) = (major.mode, major.client as usize);
        let over = mode == Mode::Edf || major.end <= now;
        if over {
            self.clients[was].active = false;
            let all_active = self.clients[clients.clone()].iter().all(|client| client.active);
            let major_mode = if all_active { Mode::Qps } else { Mode::Edf };
            if mode != major_mode {
                self.counts.mode_changes += 1;
            }
            if major_mode == Mode::Qps {
                if mode == Mode::Edf {
                    self.enter(index);
                }
                self.open_interval(index);
            } else if let Some(major) = &mut self.sets[index].major {
                major.mode = Mode::Edf;
            }
        }
        if self.sets[index].in_qps().is_some()
            && self.clients[was].is_pending()
            && (0..2).any(|side| !self.is_side_pending(index, side))
        {
            self.counts.collapses += 1;
            self.clients[was].remaining = 0;
            if let Some(major) = &mut self.sets[index].major {
                major.collapsed = true;
            }
        }
    }

    /// A major set enters QPS mode: its clients are parted.
    fn enter(&mut self, index: usize) {
        let Self { sets, clients, now, unit, .. } = self;
        let set = &mut sets[index];
        let pick = clients.get(set.pick as usize);
        let ran = pick.is_some_and(|client| client.is_pending() && client.start != *now);
        let range = set.clients();
        let Some(major) = &mut set.major else { return };
        let synchronous = clients[range.clone()].iter().all(|client| client.start == *now);
        let mut rates = [-major.excess; 2];
        for (at, client) in range.clone().zip(&mut clients[range]) {
            let is_a = if synchronous { (at as u32) < major.split } else { client.start == *now };
            client.side = usize::from(!is_a);
            rates[client.side] += client.rate;
        }
        debug_assert!(rates[0] + rates[1] + major.excess == *unit, "the servers fill the CPU");
        major.rates = rates;
        major.mode = Mode::Qps;
        let side = clients.get(set.pick as usize).map(|client| client.side);
        major.last_side = side.filter(|_| ran);
    }

    fn open_interval(&mut self, index: usize) {
        let Self { sets, clients, now, unit, .. } = self;
        self.counts.intervals += 1;
        let set = &mut sets[index];
        let end = clients[set.clients()].iter().map(|client| client.end).min().unwrap_or(NEVER);
        let Some(major) = &mut set.major else { return };
        let units = (end - *now) / *unit;
        major.end = end;
        major.collapsed = false;
        major.budgets = major.rates.map(|rate| rate * units);
        let master = &mut clients[major.client as usize];
        master.active = true;
        (master.start, master.end) = (*now, end);
        master.remaining = major.excess * units;
    }

    /// Step 3: what each CPU runs.
    #[inline]
    fn dispatch(&mut self) {
        let mut before = std::mem::take(&mut self.before);
        before.clear();
        before.extend(self.sets.iter_mut().map(|set| {
            let major = set.major.as_mut()?;
            major.serving = None;
            major.selected.take()
        }));
        for index in (0..self.sets.len()).rev() {
            let pick = self.own_choice(index);
            self.sets[index].pick = pick;
            let mut at = pick;
            while let Some(Client { kind: Kind::Master(below), .. }) = self.clients.get(at as usize)
            {
                let below = *below as usize;
                at = self.master_choice(below, before[below]);
            }
            self.sets[index].on = at;
        }
        self.before = before;
    }

    /// What a set selects for its own CPU.
    #[inline]
    fn own_choice(&mut self, index: usize) -> u32 {
        let incumbent = self.sets[index].pick;
        let Some(major) = self.sets[index].in_qps() else {
            return self.earliest(index, None, incumbent);
        };
        let slave = major.selected.map(|side| 1 - side);
        let side = slave.or_else(|| {
            let eligible =
                |side: usize| major.budgets[side] > 0 && self.is_side_pending(index, side);
            match (major.last_side.filter(|&side| eligible(side)), eligible(0), eligible(1)) {
                (Some(side), _, _) => Some(side),
                (None, true, true) => self.side_of(self.earliest(index, None, incumbent)),
                (None, true, false) => Some(0),
                (None, false, true) => Some(1),
                (None, false, false) => None,
            }
        });
        let Some(side) = side else { return NONE };
        let pick = self.earliest(index, Some(side), incumbent);
        if let (true, Some(major)) = (pick != NONE, &mut self.sets[index].major) {
            major.last_side = Some(side);
            if slave.is_none() {
                major.serving = Some(side);
            }
        }
        pick
    }

    /// What the master of a set selects, which served the side `before` until now.
    #[inline]
    fn master_choice(&mut self, index: usize, before: Option<usize>) -> u32 {
        let Some(major) = &self.sets[index].major else { return NONE };
        let incumbent = major.pick;
        let stays = match self.rule {
            MasterRule::Edf => None,
            MasterRule::Stay => {
                before.filter(|&side| self.is_side_pending(index, side)).or_else(|| {
                    let other = major.last_side.map(|side| 1 - side);
                    other.filter(|&side| self.is_side_pending(index, side))
                })
            }
        };
        let side = stays.or_else(|| self.side_of(self.earliest(index, None, incumbent)));
        let pick = side.map_or(NONE, |side| self.earliest(index, Some(side), incumbent));
        debug_assert!(pick != NONE, "a master that is selected reaches a task");
        if let Some(major) = &mut self.sets[index].major {
            major.selected = side;
            major.pick = pick;
        }
        pick
    }

    /// Step 4: when something is due again.
    #[inline]
    fn next_event(&self) -> i64 {
        let mut next = NEVER;
        for client in &self.clients {
            next = next.min(client.opens);
            if client.active {
                next = next.min(client.end);
            }
        }
        for set in &self.sets {
            if let Some(client) = self.clients.get(set.on as usize) {
                next = next.min(self.now + client.remaining);
            }
            let Some(major) = &set.major else { continue };
            if let Some(side) = major.serving {
                next = next.min(self.now + major.budgets[side]);
            }
            if major.selected.is_some() {
                next = next.min(self.now + self.clients[major.client as usize].remaining);
            }
        }
        next
    }
}

impl Part for Hierarchy {
    fn cpus(&self) -> &[CpuId] {
        &self.cpus
    }

    fn release(&mut self, member: usize, job: JobId, deadline: i64, now: i64) {
        let unit = self.unit;
        let client = &mut self.clients[member];
        if let Kind::Task { job: last, ready, .. } = &mut client.kind {
            *last = job;
            *ready = true;
        }
        // The job after one that was late has what is left of the window of that one.
        if !client.active || client.end <= now {
            client.opens = num_integer::div_ceil(now, unit) * unit;
            client.due = deadline;
        }
    }

    fn end(&mut self, member: usize) {
        let client = &mut self.clients[member];
        client.opens = NEVER;
        if let Kind::Task { ready, .. } = &mut client.kind {
            *ready = false;
        }
    }

    fn catch_up(&mut self, now: i64) {
        while self.next < now {
            self.step(self.next);
        }
        self.advance(now);
    }

    fn step(&mut self, now: i64) {
        self.advance(now);
        self.renew();
        for index in 0..self.sets.len() {
            self.update(index);
        }
        self.dispatch();
        self.next = self.next_event();
    }

    fn next(&self) -> i64 {
        self.next
    }

    fn selected(&self, cpu: usize) -> Option<JobId> {
        match self.clients.get(self.sets[cpu].on as usize)?.kind {
            Kind::Task { job, .. } => Some(job),
            Kind::Master(_) => None,
        }
    }

    fn save(&self, now: Time, state: &mut State) {
        let now = now.ns();
        let mut time = |at: i64| state.number(if at == NEVER { NEVER } else { at - now });
        for client in &self.clients {
            [client.opens, if client.opens == NEVER { NEVER } else { client.due }]
                .into_iter()
                .for_each(&mut time);
            if client.active {
                time(client.start);
                time(client.end);
            }
        }
        for client in &self.clients {
            let ready = matches!(client.kind, Kind::Task { ready: true, .. });
            state.number(i64::from(client.active) << 1 | i64::from(ready));
            state.number(if client.active { client.remaining } else { 0 });
            state.number(client.side as i64);
        }
        let side = |side: Option<usize>| side.map_or(-1, |side| side as i64);
        for set in &self.sets {
            state.number(i64::from(set.pick));
            state.number(i64::from(set.on));
            let Some(major) = &set.major else { continue };
            state.number(i64::from(major.pick));
            state.number(side(major.last_side));
            state.number(side(major.serving));
            state.number(side(major.selected));
            state.number(i64::from(major.collapsed));
            if major.mode == Mode::Qps {
                state.number(major.end - now);
                state.number(major.budgets[0]);
                state.number(major.budgets[1]);
            }
        }
        state.number(if self.next == NEVER { NEVER } else { self.next - now });
    }
}
