//! Shows the progress of an experiment.

use crate::ui::progress::Lines;
use crate::ui::terminal;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use layland_lab::Progress;
use std::io::IsTerminal;

/// The progress display: a bar on a terminal, otherwise a line every few seconds.
pub(super) struct Show {
    bar: ProgressBar,
    plain: bool,
    lines: Lines,
}

impl Show {
    pub(super) fn new(quiet: bool) -> Show {
        let plain = !quiet && !std::io::stderr().is_terminal();
        let bar = if quiet || plain {
            ProgressBar::hidden()
        } else {
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10))
        };
        let style = "{prefix} {wide_bar} {pos}/{len}  {eta} left";
        let style = ProgressStyle::with_template(style);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_prefix("measuring");
        Show { bar, plain, lines: Lines::new(quiet) }
    }

    /// Removes the bar.
    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }

    /// Shows the bar of a phase after the measurements.
    fn phase(&self, what: &'static str, done: usize, all: usize) {
        if self.bar.is_finished() {
            self.bar.reset();
        }
        self.bar.set_prefix(what);
        self.bar.set_length(all as u64);
        self.bar.set_position(done as u64);
        if done == all {
            self.bar.finish_and_clear();
        }
    }

    pub(super) fn timed(&self, done: usize, points: usize) {
        self.phase("times of decisions", done, points);
        if self.plain && (done == 1 || done == points) {
            terminal::talk(&format!("times of decisions: {done} of {points} points are measured"));
        }
    }

    pub(super) fn ran(&self, done: usize, runs: usize) {
        self.phase("real threads", done, runs);
        if self.plain {
            terminal::talk(&format!("real threads: {done} of {runs} runs are measured"));
        }
    }

    pub(super) fn tell(&self, Progress { done, units, resumed }: Progress) {
        self.bar.set_length(units as u64);
        self.bar.set_position(done as u64);
        if done == resumed {
            // Earlier measurements do not predict how long the rest takes.
            self.bar.reset_eta();
        }
        if !self.plain {
            return;
        }
        if done == resumed && resumed > 0 {
            terminal::talk(&format!("{resumed} of {units} units were measured before"));
        }
        let (fresh, all) = (done - resumed, units - resumed);
        if fresh == all && all > 0 {
            terminal::talk(&format!("{units} of {units} units are measured"));
        } else {
            self.lines.tell(fresh as u64, Some(all as u64), || {
                format!("{done} of {units} units are measured")
            });
        }
    }
}
