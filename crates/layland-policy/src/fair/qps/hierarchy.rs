//! The state of a hierarchy, and its updates by time and events.
//!
//! The cost of an event depends on the number of changes and on the sets that it visits, not on the
//! number of clients, of which a set can have hundreds. A heap ([`Dues`]) holds the begins and ends
//! of their windows. Each set has a heap of the clients that have something to execute
//! (`ClientSet::pending`): every change that makes a client pending puts it there, and it is removed once
//! it is first and no longer pending. A small hierarchy scans all clients instead, which takes less
//! time.

use super::super::parts::{FairPart, Frame, NEVER, NONE, PlannedTime};
use super::clients::{ClientKind, Dues, Pending, QpsClient, is_small};
use super::{Counts, MasterRule};
use crate::State;
use layland_model::{CpuId, Index, JobId, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Qps,
    Edf,
}

/// The state of a major set apart from its clients.
#[derive(Clone, Debug)]
pub(super) struct Major {
    pub excess: i64,
    /// The master: a client of another set, and the index of that set.
    pub client: u32,
    pub host: u32,
    /// The first client of side B of the static bi-partition.
    pub split: u32,
    pub mode: Mode,
    /// The end of the interval.
    pub end: i64,
    pub collapsed: bool,
    /// The time that `S_A` and `S_B` get per unit of time, and their remaining budgets.
    pub rates: [i64; 2],
    pub budgets: [i64; 2],
    /// The side that the set's own CPU ran last.
    pub last_side: Option<usize>,
    /// The side whose budget the set's own CPU uses.
    pub serving: Option<usize>,
    /// The side that the master serves, while it is selected.
    pub selected: Option<usize>,
    /// The client that was selected for the master last.
    pub pick: u32,
}

impl Major {
    /// Returns the state in EDF mode; its master is not known yet.
    pub(super) fn new(excess: i64, split: u32) -> Major {
        Major {
            excess,
            client: NONE,
            host: NONE,
            split,
            mode: Mode::Edf,
            end: 0,
            collapsed: false,
            rates: [0; 2],
            budgets: [0; 2],
            last_side: None,
            serving: None,
            selected: None,
            pick: NONE,
        }
    }
}

/// The clients that one CPU executes.
#[derive(Clone, Debug)]
pub(super) struct ClientSet {
    pub first: u32,
    pub end: u32,
    /// The client that the set itself selected last; [`NONE`] if there was none.
    pub pick: u32,
    /// The task that its CPU runs, as a client.
    pub on: u32,
    pub major: Option<Major>,
    /// Its pending clients, the earliest deadline first. It may also contain clients that are no
    /// longer pending, but none of these is the first during a selection.
    pending: BinaryHeap<Reverse<Pending>>,
    /// The job that its CPU runs, for counting.
    ran: Option<JobId>,
    /// True if its CPU is invoked in this update; and the time of its last invocation.
    pub invoked: bool,
    invoked_at: i64,
}

impl ClientSet {
    /// Returns the set of these clients.
    pub(super) fn new(first: u32, end: u32, major: Option<Major>) -> ClientSet {
        let (ran, invoked, invoked_at) = (None, false, -1);
        let pending = BinaryHeap::with_capacity(2 * (end - first) as usize);
        ClientSet { first, end, pick: NONE, on: NONE, major, pending, ran, invoked, invoked_at }
    }

    pub(super) fn clients(&self) -> std::ops::Range<usize> {
        self.first as usize..self.end as usize
    }
    /// Returns its major part, if the two sides run separately.
    pub(super) fn in_qps(&self) -> Option<&Major> {
        self.major.as_ref().filter(|major| major.mode == Mode::Qps && !major.collapsed)
    }
}

/// The sets that depend on each other, those with lower CPUs first.
#[derive(Clone, Debug)]
pub(in crate::fair) struct Hierarchy {
    pub(super) frame: Frame,
    pub(super) rule: MasterRule,
    pub(super) sets: Vec<ClientSet>,
    pub(super) clients: Vec<QpsClient>,
    pub(super) counts: Counts,
    pub(super) dues: Dues,
    /// True if clients have been charged since the last selection, and may be pending again.
    is_charged: bool,
    /// Scratch: the side that each master served until now.
    pub(super) before: Vec<Option<usize>>,
}

impl Hierarchy {
    pub(super) fn new(unit: i64, rule: MasterRule, cpus: &[usize]) -> Self {
        Self {
            frame: Frame::new(unit, cpus.iter().map(|&cpu| CpuId::from_index(cpu)).collect()),
            rule,
            sets: Vec::with_capacity(cpus.len()),
            clients: Vec::new(),
            counts: Counts::default(),
            dues: Dues::default(),
            is_charged: false,
            before: Vec::with_capacity(cpus.len()),
        }
    }

    /// Reserves memory for all its clients, so that nothing allocates while it runs. Each client is
    /// listed as pending at most with a window that has ended and with the next one, and its window
    /// begins and ends at most twice until the first of these times is processed.
    pub(super) fn reserve(&mut self) {
        self.dues.reserve(4 * self.clients.len());
    }

    /// Returns true if selections scan all clients, without heaps.
    #[inline]
    pub(super) fn is_small(&self) -> bool {
        is_small(&self.clients)
    }

    /// Returns the excess of a set.
    pub(super) fn excess(&self, set: usize) -> i64 {
        self.sets[set].major.as_ref().map_or(0, |major| major.excess)
    }

    pub(super) fn side_of(&self, client: u32) -> Option<usize> {
        self.clients.get(client as usize).map(|client| client.side)
    }

    pub(super) fn is_side_pending(&self, set: usize, side: usize) -> bool {
        self.pending(set).any(|(_, client)| client.side == side)
    }

    /// Returns the pending clients of a set, in any order.
    #[inline]
    pub(super) fn pending(&self, set: usize) -> impl Iterator<Item = (u32, &QpsClient)> {
        let set = &self.sets[set];
        let looked_at = if self.is_small() { set.clients() } else { 0..0 };
        let few = looked_at.map(|at| (at as u32, &self.clients[at]));
        let kept = set.pending.iter().filter_map(|Reverse(pending)| {
            let client = &self.clients[pending.at as usize];
            (client.end == pending.end).then_some((pending.at, client))
        });
        few.chain(kept).filter(|(_, client)| client.is_pending())
    }

    /// Returns the first pending client of a set, if none was picked last and the hierarchy is not
    /// small.
    #[inline]
    pub(super) fn first_pending(&self, set: usize) -> Option<(u32, &QpsClient)> {
        let Reverse(first) = self.sets[set].pending.peek()?;
        Some((first.at, &self.clients[first.at as usize]))
    }

    /// Lists a client as pending, if it is.
    #[inline]
    pub(super) fn list(&mut self, at: u32) {
        let is_small = self.is_small();
        let client = &mut self.clients[at as usize];
        let set = &mut self.sets[client.set as usize];
        if !is_small && client.listed != client.end && client.is_pending() {
            client.listed = client.end;
            let QpsClient { end, number, .. } = *client;
            let is_master = matches!(client.kind, ClientKind::Master(_));
            set.pending.push(Reverse(Pending { end, is_master, number, at }));
        }
    }

    /// Removes outdated entries until the first entry of a set is a pending client.
    #[inline]
    fn unlist(&mut self, set: usize) {
        let Self { sets, clients, .. } = self;
        let all = &mut sets[set].pending;
        while let Some(Reverse(first)) = all.peek() {
            let client = &mut clients[first.at as usize];
            if first.holds(client) {
                break;
            }
            if client.listed == first.end {
                client.listed = NEVER;
            }
            all.pop();
        }
    }

    /// Returns the job that a CPU runs.
    fn running(&self, set: &ClientSet) -> Option<JobId> {
        match self.clients.get(set.on as usize)?.kind {
            ClientKind::Task { job, .. } => Some(job),
            ClientKind::Master(_) => None,
        }
    }

    /// Counts the CPUs that are invoked by this update.
    fn count_events(&mut self) {
        for index in 0..self.sets.len() {
            let runs = self.running(&self.sets[index]);
            let set = &mut self.sets[index];
            let changed = std::mem::replace(&mut set.ran, runs) != runs;
            if (changed | std::mem::take(&mut set.invoked)) && set.invoked_at != self.frame.now {
                set.invoked_at = self.frame.now;
                self.counts.events += 1;
            }
        }
    }

    /// Step 4: returns the time of the next event.
    #[inline]
    fn next_event(&mut self) -> i64 {
        let mut next = self.dues.next(&self.clients);
        for set in &self.sets {
            if let Some(client) = self.clients.get(set.on as usize)
                && client.remaining > 0
            {
                next = next.min(self.frame.now + client.remaining);
            }
            let Some(major) = &set.major else { continue };
            if let Some(side) = major.serving {
                next = next.min(self.frame.now + major.budgets[side]);
            }
            if major.selected.is_some() {
                next = next.min(self.frame.now + self.clients[major.client as usize].remaining);
            }
        }
        next
    }
}

impl FairPart for Hierarchy {
    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn frame_mut(&mut self) -> &mut Frame {
        &mut self.frame
    }

    fn release(&mut self, member: usize, job: JobId, deadline: i64) {
        let Frame { unit, now, .. } = self.frame;
        let client = &mut self.clients[member];
        if let ClientKind::Task { job: last, ready, .. } = &mut client.kind {
            *last = job;
            *ready = true;
        }
        // The rest of the window of the previous job is lost with the window.
        if client.end <= now {
            client.remaining = 0;
        }
        self.sets[client.set as usize].invoked = true;
        // The job after a late one inherits the rest of the window of the late one.
        if !client.active || client.end <= now {
            client.opens = num_integer::div_ceil(now, unit) * unit;
            client.due = deadline;
            self.dues.note(member as u32, &self.clients);
        }
        self.list(member as u32);
    }

    fn grant(&mut self, member: usize) {
        let unit = self.frame.unit;
        let client = &mut self.clients[member];
        if let ClientKind::Task { window, .. } = client.kind
            && client.active
        {
            client.remaining = client.remaining.max(client.rate * (window / unit));
            self.list(member as u32);
        }
    }

    fn end(&mut self, member: usize, ended: Option<JobId>) {
        let client = &mut self.clients[member];
        if let ClientKind::Task { job, ready, .. } = &mut client.kind
            && ended.is_none_or(|ended| ended == *job)
        {
            *ready = false;
            if client.opens != NEVER {
                client.opens = NEVER;
                self.dues.note(member as u32, &self.clients);
            }
        }
    }

    #[inline]
    fn advance(&mut self, past: i64) {
        let Self { sets, clients, .. } = self;
        for set in sets {
            if let Some(client) = clients.get_mut(set.on as usize) {
                client.remaining -= past;
                client.account.planned += past;
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

    fn accounts(&mut self) -> impl Iterator<Item = (&mut PlannedTime, &mut i64)> {
        self.is_charged = true;
        // Masters are servers, and keep to the plan.
        let tasks = self.clients.iter_mut();
        let tasks = tasks.filter(|client| matches!(client.kind, ClientKind::Task { .. }));
        tasks.map(|client| (&mut client.account, &mut client.remaining))
    }

    fn account(&mut self, member: usize) -> (&mut PlannedTime, Option<JobId>) {
        let client = &mut self.clients[member];
        let job = client.job();
        (&mut client.account, job)
    }

    fn refresh(&mut self) {
        self.renew();
        if std::mem::take(&mut self.is_charged) {
            (0..self.clients.len() as u32).for_each(|at| self.list(at));
        }
        for index in 0..self.sets.len() {
            self.update(index);
        }
        if !self.is_small() {
            (0..self.sets.len()).for_each(|index| self.unlist(index));
        }
    }

    fn select(&mut self) -> i64 {
        self.dispatch();
        self.count_events();
        self.next_event()
    }

    fn selected(&self, cpu: usize) -> Option<JobId> {
        self.running(&self.sets[cpu])
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
            let ready = matches!(client.kind, ClientKind::Task { ready: true, .. });
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
    }
}
