//! How far a long command is, where nobody sees a bar: a line on standard error every few seconds.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a user waits in real time, and nothing depends on what is said"
)]

use super::terminal;
use layland_model::Duration;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The first line comes after so many seconds, and then one each.
const EVERY: u64 = 5;

/// Lines about how far it is; none on a terminal, which has a bar.
pub(crate) struct Lines {
    /// None if nothing is to be said.
    start: Option<Instant>,
    /// The seconds after which the next line is due.
    due: AtomicU64,
}

impl Lines {
    pub(crate) fn new(quiet: bool) -> Lines {
        let wanted = !quiet && !std::io::stderr().is_terminal();
        Lines { start: wanted.then(now), due: AtomicU64::new(EVERY) }
    }

    /// Says that so much of all is done, if a line is due; `what` names what was done.
    pub(crate) fn tell(&self, done: u64, all: Option<u64>, what: impl FnOnce() -> String) {
        let Some(start) = self.start else { return };
        let elapsed = now().duration_since(start);
        let seconds = elapsed.as_secs();
        let due = self.due.load(Ordering::Relaxed);
        if seconds < due
            || self
                .due
                .compare_exchange(due, seconds + EVERY, Ordering::Relaxed, Ordering::Relaxed)
                .is_err()
        {
            return;
        }
        let left = all.filter(|&all| done > 0 && all >= done).map_or(String::new(), |all| {
            // Only said, and so in floating point.
            let share = done as f64 / all as f64;
            let left = elapsed.as_secs_f64() * (1.0 - share) / share;
            let left = Duration::from_secs(left.min(1e9) as i64);
            format!(", {:.0} %, about {left:#} left", share * 100.0)
        });
        terminal::talk(&format!("{}{left}", what()));
    }
}

fn now() -> Instant {
    Instant::now()
}
