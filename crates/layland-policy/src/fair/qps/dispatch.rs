//! Step 3: the choice of the task that each CPU runs.

use super::super::parts::{NEVER, NONE};
use super::MasterRule;
use super::clients::{ClientKind, QpsClient};
use super::hierarchy::Hierarchy;

impl Hierarchy {
    /// Returns the pending client of a set, or of a side of it, with the earliest deadline.
    #[inline]
    fn earliest(&self, set: usize, side: Option<usize>, incumbent: u32) -> u32 {
        if side.is_none() && !self.is_small() {
            let Some((first, QpsClient { end, .. })) = self.first_pending(set) else { return NONE };
            let goes_on = self.clients.get(incumbent as usize);
            let goes_on = goes_on.is_some_and(|client| client.end == *end && client.is_pending());
            return if goes_on { incumbent } else { first };
        }
        let mut best = NONE;
        let mut best_key = (NEVER, true, true, NONE);
        for (at, client) in self.pending(set) {
            let is_master = matches!(client.kind, ClientKind::Master(_));
            let key = (client.end, at != incumbent, is_master, client.number);
            if key < best_key && side.is_none_or(|side| side == client.side) {
                (best, best_key) = (at, key);
            }
        }
        best
    }

    /// Returns the ready task of a set with the earliest deadline that has used up its window.
    fn held_up(&self, set: usize) -> u32 {
        let clients = self.sets[set].clients();
        let ready = clients.clone().zip(&self.clients[clients]);
        let first = ready
            .filter(|(_, client)| client.job().is_some())
            .min_by_key(|(_, client)| (client.end, client.number));
        first.map_or(NONE, |(at, _)| at as u32)
    }

    /// Step 3: chooses the task that each CPU runs.
    #[inline]
    pub(super) fn dispatch(&mut self) {
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
            while let Some(QpsClient { kind: ClientKind::Master(below), .. }) =
                self.clients.get(at as usize)
            {
                let below = *below as usize;
                self.counts.chain_steps += 1;
                at = self.master_choice(below, before[below]);
            }
            self.sets[index].on = at;
        }
        for (set, before) in self.sets.iter_mut().zip(&before) {
            let turns = set.major.as_ref().is_some_and(|major| major.selected != *before);
            set.invoked |= turns;
            self.frame.server_updates += u64::from(turns);
        }
        self.before = before;
    }

    /// Returns the client that a set selects for its own CPU.
    #[inline]
    fn own_choice(&mut self, index: usize) -> u32 {
        let incumbent = self.sets[index].pick;
        let Some(major) = self.sets[index].in_qps() else {
            let pick = self.earliest(index, None, incumbent);
            // Only a real machine can have delayed a job beyond its window.
            return if pick == NONE && self.frame.is_measured { self.held_up(index) } else { pick };
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

    /// Returns the client that the master of a set selects, given the side `before` that it served
    /// until now.
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
}
