//! Steps 1 and 2: windows of tasks, modes and intervals of major sets.

use super::super::parts::NEVER;
use super::clients::ClientKind;
use super::hierarchy::{Hierarchy, Mode};

impl Hierarchy {
    /// Step 1: updates the windows of tasks.
    #[inline]
    pub(super) fn renew(&mut self) {
        let now = self.frame.now;
        if self.is_small() {
            for at in 0..self.clients.len() {
                if self.clients[at].is_due(now) {
                    self.renew_client(at as u32);
                }
            }
            return;
        }
        while let Some(at) = self.dues.take(&self.clients, now) {
            self.renew_client(at);
        }
    }

    /// Begins or ends the window of a client.
    #[inline]
    fn renew_client(&mut self, at: u32) {
        let (unit, now) = (self.frame.unit, self.frame.now);
        let client = &mut self.clients[at as usize];
        // The end of a master is that of an interval.
        let ClientKind::Task { window, ready, .. } = client.kind else { return };
        let is_late = client.active && client.end <= now;
        if is_late {
            client.active = false;
            if ready && client.opens == NEVER {
                // A late job continues in its own window.
                (client.opens, client.due) = (now, now);
            }
        }
        if client.opens <= now && !client.active {
            // The remaining work of a late job; zero if the elapsed time counts, as no job is late
            // then.
            let late = if ready && is_late { client.remaining.max(0) } else { 0 };
            let end = num_integer::div_floor(client.due, unit) * unit;
            client.active = true;
            client.start = now;
            client.end = end.max(now + window);
            client.remaining = client.rate * ((client.end - now) / unit) + late;
            client.opens = NEVER;
        }
        debug_assert!(!client.is_due(now), "a window that begins ends later");
        self.dues.note(at, &self.clients);
        self.list(at);
    }

    /// Step 2: updates the mode and the interval of a major set.
    #[inline]
    pub(super) fn update(&mut self, index: usize) {
        let now = self.frame.now;
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
            self.sets[index].invoked |= (mode, major_mode) != (Mode::Edf, Mode::Edf);
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

    /// Lets a major set enter QPS mode, and divides its clients into two sides.
    fn enter(&mut self, index: usize) {
        let Self { frame, sets, clients, .. } = self;
        let (unit, now) = (frame.unit, frame.now);
        let set = &mut sets[index];
        let pick = clients.get(set.pick as usize);
        let ran = pick.is_some_and(|client| client.is_pending() && client.start != now);
        let range = set.clients();
        let Some(major) = &mut set.major else { return };
        let synchronous = clients[range.clone()].iter().all(|client| client.start == now);
        let mut rates = [-major.excess; 2];
        for (at, client) in range.clone().zip(&mut clients[range]) {
            let is_a = if synchronous { (at as u32) < major.split } else { client.start == now };
            client.side = usize::from(!is_a);
            rates[client.side] += client.rate;
        }
        // The two servers, and the slave, which runs while the master does, fill the CPU.
        debug_assert!(rates[0] + rates[1] + major.excess == unit, "the servers fill the CPU");
        major.rates = rates;
        major.mode = Mode::Qps;
        let side = clients.get(set.pick as usize).map(|client| client.side);
        major.last_side = side.filter(|_| ran);
    }

    fn open_interval(&mut self, index: usize) {
        let Self { frame, sets, clients, dues, .. } = self;
        let (unit, now) = (frame.unit, frame.now);
        self.counts.intervals += 1;
        // Its two dedicated servers, and its master with the slave.
        frame.server_updates += 3;
        let set = &mut sets[index];
        let end = clients[set.clients()].iter().map(|client| client.end).min().unwrap_or(NEVER);
        let Some(major) = &mut set.major else { return };
        let units = (end - now) / unit;
        major.end = end;
        major.collapsed = false;
        major.budgets = major.rates.map(|rate| rate * units);
        let master = &mut clients[major.client as usize];
        master.active = true;
        (master.start, master.end) = (now, end);
        master.remaining = major.excess * units;
        let (host, at) = (major.host as usize, major.client);
        dues.note(at, clients);
        sets[host].invoked = true;
        self.list(at);
    }
}
