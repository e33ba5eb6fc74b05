//! The invariants after every rescheduling.

use super::{ReservedThread, RunQueues};
use crate::deadline::server::ServerState;
use layland_model::{Rate, Speed};

impl RunQueues {
    /// Panics if an invariant is violated after a drain.
    pub(super) fn assert_invariants(&self) {
        let mut queued = 0;
        let is_unit_speed =
            self.speed_grid.is_none() && self.speeds.values().all(|&speed| speed == Speed::UNIT);
        for (c, queue) in self.queues.iter() {
            for &(d, tie, p) in queue.order.iter() {
                let thread = &self.threads[p];
                assert!(thread.queued && thread.cpu == c, "{p:?} is on two queues");
                assert!((thread.server.deadline(), thread.tie) == (d, tie));
                let has_budget = thread.due || !thread.server.is_exhausted();
                assert!(
                    has_budget || !is_unit_speed || self.measured,
                    "a queued server has a budget"
                );
                let mask = &thread.mask;
                assert!(mask.contains(c), "{p:?} is on {c:?}, and may use {mask:?}");
                let entry = (d, thread.seat, p);
                assert_eq!(queue.movable.contains(&entry), thread.migrates);
            }
            // There must be no other entries: a second entry of a thread would outlive its place in
            // the queue.
            let movable = queue.order.iter().filter(|&&(_, _, p)| self.threads[p].migrates);
            assert_eq!(queue.movable.len(), movable.count(), "{c:?} has just what can leave it");
            queued += queue.order.len();
            if self.online.contains(c) {
                assert_eq!(self.curr[c], self.leftmost(c), "{c:?} runs what comes first");
            } else {
                assert_eq!(self.curr[c], None, "{c:?} is offline");
            }
        }
        let eligible = self.threads.values().filter(|thread| thread.queued);
        assert_eq!(queued, eligible.clone().count(), "a thread is on exactly one queue");
        eligible.for_each(|thread| assert_eq!(thread.server.state, ServerState::Eligible));
        for (usable, cpudl) in self.usable.iter().zip(&self.cpudl) {
            assert!(
                cpudl.agrees(usable, |c| self.earliest(c)),
                "cpudl differs from its definition"
            );
        }
        self.assert_accounts();
        self.assert_sources();
        if let Some(load) = &self.load {
            for (c, own) in load.sums().iter() {
                let here = |thread: &&ReservedThread| {
                    thread.cpu == c && thread.server.state != ServerState::Dead
                };
                let sum: Rate =
                    self.threads.values().filter(here).map(|thread| thread.u.clone()).sum();
                assert_eq!(own.exact(), sum, "U of {c:?} is the sum over its threads");
            }
        }
    }
}
