//! **RUN**: reduction to uniprocessor (Regnier, Lima, Massa, Levin, Brandt 2011; as evaluated by
//! Compagnin, Mezzetti, Vardanega 2015).
//!
//! | paper | here |
//! |-------|------|
//! | reduction tree | [`Reduction`], made before the start by [`reduce`] |
//! | proper subsystem | `Subsystem` |
//! | server `S`, rate, budget | `Node`, `rate`, `budget` |
//! | dual `S*` | implicit: it has `(d - now) - budget` left, and runs when `S` does not |
//!
//! At each event of a subsystem (a window of a task ends, a budget is used up, a job ends):
//!
//! 1. Tasks whose window ends now get the next one, with `rate x (d - now)` to execute.
//! 2. Servers whose window ends now are updated bottom-up: `d` is the earliest deadline of their
//!    clients, the budget `rate x (d - now)`.
//! 3. Selection, top-down from the root, which always runs. A running server of a higher level
//!    picks the child whose dual has time left and the earliest deadline: that child does not run,
//!    the others do. If the server does not run, all its children do. A running server of level 0
//!    picks its pending task with the earliest deadline; if there is none, its CPU idles: this is
//!    the padding.
//! 4. The picked tasks are placed on the CPUs of the subsystem.
//!
//! The *update* of the tree ([`Policy::update`](crate::Policy::update)) is steps 1 and 2 and the
//! selection of servers in step 3; the schedule primitive is the rest, which is local to a CPU in
//! the paper (Section V-B: TUP and SCHED).
//!
//! Each server thus gets exactly its budget in each of its windows, and the number of running
//! servers of level 0 always equals the number of CPUs of the subsystem.
//!
//! **Ties.** Among equal deadlines the client that the server picked last goes first, then the
//! lower number: of tasks by rank, of servers in the order of their creation. A server keeps its
//! last pick while it does not run; at level 0 it forgets the pick when it runs with nothing
//! pending.
//!
//! **Placement** (RUN determines only the tasks that run). A picked task that runs stays. The
//! others come by number: first tasks whose job has already executed, which go to their last CPU if
//! that is free; then other tasks likewise; the rest go to the lowest free CPUs.
//!
//! **Budgets are whole nanoseconds**, without any rounding at run time: see
//! [`RateGrid`](layland_offline::RateGrid), which also explains why rounding the *rates* up does
//! not cause deadline misses, and how windows of tasks whose period is not a multiple of its unit
//! are cut. Between two such windows, before the first release and after the last job, a task has
//! windows with nothing to execute.
//!
//! **Cost.** An event costs O(log w) for the w tasks of a server, and O(s) for the s servers of its
//! subsystem, of which there are fewer than three for each CPU.
//!
//! A server that runs without a pending client is not a mistake but the price of optimality: RUN is
//! not work-conserving.

mod server;

use super::parts::{FairPart, Frame, NEVER, NONE, Parts, PlannedTime, policy_of_parts};
use super::preparation::{Prepared, Releases, by_task, prepare, reduction_rules, refusal};
use crate::info::{PolicyOptions, SystemRefusal};
use crate::{Count, State};
use layland_model::{CpuId, Index, JobId, System, Time};
use layland_offline::{Clients, Reduction, reduce};
use server::{FEW_TASKS, Node, PackedTask, TaskOrder};

/// The policy: see the file header.
#[derive(Clone, Debug)]
pub struct Run(Parts<Subsystem>);

/// Returns the reduction tree of a system, with its tasks by rank.
///
/// # Errors
/// If RUN cannot schedule the system, or the packing in the options is invalid.
pub fn tree(
    system: &System,
    options: &PolicyOptions,
) -> Result<(Prepared, Reduction), SystemRefusal> {
    let prepared = prepare("run", system, Releases::Known)?;
    let rules = reduction_rules(options)?;
    let tree = reduce(&prepared.rates, system.platform.cpu_count(), &rules)
        .map_err(|error| refusal(system, &prepared.order, error))?;
    Ok((prepared, tree))
}

/// Returns **RUN** for a valid system.
///
/// # Errors
/// As [`tree`].
pub fn run(system: &System, options: &PolicyOptions) -> Result<Run, SystemRefusal> {
    let (Prepared { order, grid, .. }, tree) = tree(system, options)?;
    let mut places = vec![(0, 0); order.len()];
    let mut parts = Vec::with_capacity(tree.subsystems.len());
    for (index, subsystem) in tree.subsystems.iter().enumerate() {
        let cpus = subsystem.processors.clone().map(CpuId::from_index).collect();
        let mut part = Subsystem::new(grid.unit.ns(), cpus);
        // Top-down, so that the clients of each server are adjacent, by number.
        let mut servers = vec![subsystem.root];
        let mut at = 0;
        while at < servers.len() {
            let server = &tree.servers[servers[at]];
            let (leaf, first) = match &server.clients {
                Clients::Tasks(tasks) => {
                    let mut tasks = tasks.clone();
                    tasks.sort_unstable();
                    let first = part.members.len();
                    for seat in tasks {
                        places[seat] = (index as u32, part.members.len() as u32);
                        let task = order[seat];
                        let parameters = &system.tasks[task];
                        part.members.push(PackedTask {
                            job: JobId { task, seq: 0 },
                            seat: seat as u32,
                            server: at as u32,
                            rate: grid.tasks[task].numerator,
                            period: parameters.period.ns(),
                            next_release: parameters.offset.ns(),
                            deadline: 0,
                            remaining: 0,
                            account: PlannedTime::default(),
                            ready: false,
                            executed: false,
                            picked: false,
                            cpu: NONE,
                            last_cpu: NONE,
                        });
                    }
                    (true, first..part.members.len())
                }
                Clients::Duals(duals) => {
                    let mut duals = duals.clone();
                    duals.sort_unstable();
                    let first = servers.len();
                    servers.extend(duals);
                    (false, first..servers.len())
                }
            };
            part.nodes.push(Node {
                rate: grid.units(&server.rate),
                deadline: 0,
                budget: 0,
                first: first.start as u32,
                end: first.end as u32,
                pick: NONE,
                leaf,
                runs: false,
                order: (leaf && first.len() > FEW_TASKS)
                    .then(|| Box::new(TaskOrder::new(first.len()))),
            });
            at += 1;
        }
        parts.push(part);
    }
    let home = by_task(system, &order, &places);
    Ok(Run(Parts::new("run", parts, system.platform.cpu_count(), home)))
}

impl Run {
    /// Returns the number of instants at which a subsystem was updated, summed over the subsystems.
    pub fn updates(&self) -> u64 {
        self.0.updates()
    }

    fn counted(&self) -> Vec<Count> {
        vec![
            Count { name: "updates", count: self.updates() },
            Count { name: "server_updates", count: self.0.server_updates() },
        ]
    }
}

policy_of_parts!(Run);

/// A proper subsystem.
#[derive(Clone, Debug)]
pub(super) struct Subsystem {
    frame: Frame,
    /// The servers, top-down: every one before its clients.
    nodes: Vec<Node>,
    members: Vec<PackedTask>,
    /// The member on each CPU, or [`NONE`].
    on: Vec<u32>,
    /// Scratch: the picked members that are on no CPU.
    starting: Vec<u32>,
}

impl Subsystem {
    fn new(unit: i64, cpus: Vec<CpuId>) -> Self {
        let (on, starting) = (vec![NONE; cpus.len()], Vec::with_capacity(cpus.len()));
        // The first windows begin at time zero.
        let mut frame = Frame::new(unit, cpus);
        frame.next = 0;
        Self { frame, nodes: Vec::new(), members: Vec::new(), on, starting }
    }

    /// Steps 1 and 2: opens new windows for tasks and servers whose windows have ended.
    #[inline]
    fn renew(&mut self) {
        let Self { frame, nodes, members, .. } = self;
        let (unit, now) = (frame.unit, frame.now);
        for index in (0..nodes.len()).rev() {
            let node = &nodes[index];
            if node.deadline > now {
                continue;
            }
            debug_assert!(node.budget == 0, "a server has budget left at the end of its window");
            let clients = node.first as usize..node.end as usize;
            let deadline = if node.order.is_some() {
                let node = &mut nodes[index];
                let next = |node: &Node| node.order.as_ref()?.windows.first_below(0, now + 1);
                while let Some(place) = next(node) {
                    let at = clients.start + place;
                    members[at].open(now, unit);
                    node.reorder(at, &members[at]);
                }
                node.order.as_ref().map(|order| order.windows.least())
            } else if node.leaf {
                for member in &mut members[clients.clone()] {
                    if member.deadline <= now {
                        member.open(now, unit);
                    }
                }
                members[clients].iter().map(|member| member.deadline).min()
            } else {
                nodes[clients].iter().map(|node| node.deadline).min()
            };
            let node = &mut nodes[index];
            node.deadline = deadline.expect("a server has clients");
            node.budget = node.rate * ((node.deadline - now) / unit);
            frame.server_updates += 1;
        }
    }

    /// Step 3, servers of level 0: selects their tasks.
    #[inline]
    fn pick_tasks(&mut self) {
        let Self { frame, nodes, members, .. } = self;
        for node in nodes.iter_mut().filter(|node| node.leaf && node.runs) {
            let clients = node.first as usize..node.end as usize;
            let mut best = NONE;
            let mut best_key = (NEVER, true);
            if let (Some(order), false) = (&node.order, frame.is_measured) {
                if let Some(place) = order.first_pending() {
                    best = (clients.start + place) as u32;
                    let before = members.get(node.pick as usize);
                    let earliest = members[best as usize].deadline;
                    if before.is_some_and(|task| task.is_pending() && task.deadline == earliest) {
                        best = node.pick;
                    }
                }
                node.pick = best;
                continue;
            }
            for (at, member) in clients.clone().zip(&members[clients.clone()]) {
                let key = (member.deadline, at as u32 != node.pick);
                if member.is_pending() && key < best_key {
                    (best, best_key) = (at as u32, key);
                }
            }
            // Only a real machine can have delayed a job beyond its window.
            if best == NONE && frame.is_measured {
                let late =
                    clients.clone().zip(&members[clients]).filter(|(_, member)| member.ready);
                let first = late.min_by_key(|&(at, member)| (member.deadline, at));
                best = first.map_or(NONE, |(at, _)| at as u32);
            }
            node.pick = best;
        }
    }

    /// Step 3, from the root down: selects the servers that run.
    #[inline]
    fn pick_servers(&mut self) {
        let Self { frame, nodes, .. } = self;
        nodes[0].runs = true;
        for index in 0..nodes.len() {
            let (before, below) = nodes.split_at_mut(index + 1);
            let node = &mut before[index];
            if node.leaf {
                continue;
            }
            let clients = node.first as usize..node.end as usize;
            let mut best = NONE;
            let mut best_key = (NEVER, true);
            let children = &mut below[clients.start - index - 1..clients.end - index - 1];
            if !node.runs {
                children.iter_mut().for_each(|child| child.runs = true);
                continue;
            }
            for (at, child) in clients.clone().zip(children.iter_mut()) {
                child.runs = true;
                let key = (child.deadline, at as u32 != node.pick);
                if child.deadline - frame.now > child.budget && key < best_key {
                    (best, best_key) = (at as u32, key);
                }
            }
            debug_assert!(best != NONE, "a server that runs has a dual with time left");
            frame.server_updates += u64::from(node.pick != best);
            node.pick = best;
            if best != NONE {
                children[best as usize - clients.start].runs = false;
            }
        }
    }

    /// Step 4: places the picked members on the CPUs.
    #[inline]
    fn place(&mut self) {
        let Self { nodes, members, on, starting, .. } = self;
        starting.clear();
        for node in nodes.iter().filter(|node| node.leaf && node.runs && node.pick != NONE) {
            let member = &mut members[node.pick as usize];
            member.picked = true;
            if member.cpu == NONE {
                starting.push(node.pick);
            }
        }
        for cpu in on.iter_mut().filter(|cpu| **cpu != NONE) {
            let member = &mut members[*cpu as usize];
            if !member.picked {
                member.cpu = NONE;
                *cpu = NONE;
            }
            member.picked = false;
        }
        if starting.is_empty() {
            return;
        }
        starting.sort_unstable_by_key(|&member| members[member as usize].seat);
        for executed in [true, false] {
            starting.retain(|&index| {
                let member = &mut members[index as usize];
                let home = member.last_cpu as usize;
                let goes = member.executed == executed && on.get(home) == Some(&NONE);
                if goes {
                    member.cpu = member.last_cpu;
                    on[home] = index;
                }
                !goes
            });
        }
        let mut free = 0;
        for &index in starting.iter() {
            while on[free] != NONE {
                free += 1;
            }
            members[index as usize].cpu = free as u32;
            on[free] = index;
        }
        for &member in on.iter().filter(|&&member| member != NONE) {
            members[member as usize].picked = false;
        }
    }

    /// Step 5: returns the time of the next event.
    #[inline]
    fn next_event(&self) -> i64 {
        let mut next = self.nodes[0].deadline;
        for node in self.nodes.iter().filter(|node| node.runs) {
            if node.leaf {
                if node.budget > 0 {
                    next = next.min(self.frame.now + node.budget);
                }
                if let Some(member) = self.members.get(node.pick as usize)
                    && member.remaining > 0
                {
                    next = next.min(self.frame.now + member.remaining);
                }
            } else if let Some(child) = self.nodes.get(node.pick as usize) {
                next = next.min(child.deadline - child.budget);
            }
        }
        next
    }
}

impl FairPart for Subsystem {
    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn frame_mut(&mut self) -> &mut Frame {
        &mut self.frame
    }

    fn release(&mut self, member: usize, job: JobId, _deadline: i64) {
        let now = self.frame.now;
        let task = &mut self.members[member];
        task.job = job;
        task.ready = true;
        task.executed = false;
        // The rest of the window of the previous job is lost with the window.
        if task.deadline <= now {
            task.remaining = 0;
        }
        self.nodes[task.server as usize].reorder(member, task);
    }

    fn grant(&mut self, member: usize) {
        let unit = self.frame.unit;
        let task = &mut self.members[member];
        task.remaining = task.remaining.max(task.rate * (task.period / unit));
        self.nodes[task.server as usize].reorder(member, task);
    }

    fn end(&mut self, member: usize, job: Option<JobId>) {
        let task = &mut self.members[member];
        task.ready &= job.is_some_and(|job| job != task.job);
        self.nodes[task.server as usize].reorder(member, task);
    }

    #[inline]
    fn advance(&mut self, past: i64) {
        for node in self.nodes.iter_mut().filter(|node| node.runs) {
            node.budget -= past;
            debug_assert!(node.budget >= 0, "a server runs longer than its budget");
        }
        for (cpu, &index) in self.on.iter().enumerate() {
            if let Some(member) = self.members.get_mut(index as usize) {
                member.remaining -= past;
                member.account.planned += past;
                member.executed = true;
                member.last_cpu = cpu as u32;
                if !member.is_pending() {
                    self.nodes[member.server as usize].reorder(index as usize, member);
                }
            }
        }
    }

    fn accounts(&mut self) -> impl Iterator<Item = (&mut PlannedTime, &mut i64)> {
        self.members.iter_mut().map(|member| (&mut member.account, &mut member.remaining))
    }

    fn account(&mut self, member: usize) -> (&mut PlannedTime, Option<JobId>) {
        let member = &mut self.members[member];
        (&mut member.account, member.ready.then_some(member.job))
    }

    fn refresh(&mut self) {
        if self.nodes[0].deadline <= self.frame.now {
            self.renew();
        }
        self.pick_servers();
    }

    fn select(&mut self) -> i64 {
        self.pick_tasks();
        self.place();
        self.next_event()
    }

    fn selected(&self, cpu: usize) -> Option<JobId> {
        self.members.get(self.on[cpu] as usize).map(|member| member.job)
    }

    fn save(&self, now: Time, state: &mut State) {
        let now = now.ns();
        for node in &self.nodes {
            state.number(node.deadline - now);
            state.number(node.budget);
            state.number(i64::from(node.pick));
            state.number(i64::from(node.runs));
        }
        for member in &self.members {
            state.number(member.next_release - now);
            state.number(member.deadline - now);
            state.number(member.remaining);
            state.number(i64::from(member.ready) << 1 | i64::from(member.executed));
            state.number(i64::from(member.cpu));
            state.number(i64::from(member.last_cpu));
        }
    }
}
