//! Shows the progress of a long command: a bar on a terminal, otherwise a line on standard error
//! every few seconds.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a user waits in real time, and nothing depends on what is said"
)]

use super::terminal;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use layland_model::{Duration, Time};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The seconds before the first line, and between two lines.
const EVERY: u64 = 5;

/// A bar on standard error for the simulated time, if that is a terminal.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// Creates a bar up to the end of the simulation, if that is known.
    pub(crate) fn simulating(end: Option<Time>, quiet: bool, ascii: bool) -> Bar {
        if quiet {
            return Bar(ProgressBar::hidden());
        }
        let length = end.map(|end| end.ns() as u64);
        let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr_with_hz(10));
        let style = ProgressStyle::with_template("simulating {wide_bar} {percent} %  {eta} left");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(if ascii { style.progress_chars("#>-") } else { style });
        Bar(bar)
    }
    /// Sets the simulated time so far.
    pub(crate) fn set_position(&self, ns: u64) {
        self.0.set_position(ns);
    }
    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

/// Lines about the progress. None are printed on a terminal, which has a bar.
pub(crate) struct Lines {
    /// The time of the start; `None` if no lines are printed.
    start: Option<Instant>,
    /// The seconds after which the next line is due.
    due: AtomicU64,
}

impl Lines {
    pub(crate) fn new(quiet: bool) -> Lines {
        let wanted = !quiet && !std::io::stderr().is_terminal();
        Lines { start: wanted.then(now), due: AtomicU64::new(EVERY) }
    }

    /// Prints the progress, if a line is due; `what` describes the work done.
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
            // The share is only printed, so that floating point suffices.
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
