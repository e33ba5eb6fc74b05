//! Draws the effects of steps: jobs suspend themselves,
//! wait for locks on or off their CPUs, and hold resources.

use super::super::scene::{Lock, TaskRow};
use super::line::Paint;
use super::{Share, TextChart};

/// The label of a row of locks under its task.
const LOCK_LABEL: &str = "  locks";

/// The symbols that were drawn.
#[derive(Default)]
pub(super) struct UsedSymbols {
    suspended: bool,
    locked_out: bool,
    spinning: bool,
    holds: bool,
    waits: bool,
}

impl TextChart<'_> {
    /// Draws the prevailing state of columns without
    /// execution, and marks columns with only spinning.
    pub(super) fn halts(
        &mut self,
        row: &TaskRow,
        running: &[Share],
        waiting: &[Share],
        line: &mut super::TextLine,
    ) {
        let shares =
            |stretches: &mut dyn Iterator<Item = (layland_model::Time, layland_model::Time)>| {
                let mut shares = vec![0; self.columns];
                for (start, end) in stretches {
                    self.cover(start, end, |column, share| shares[column] += share);
                }
                shares
            };
        let suspended = shares(&mut row.suspensions.iter().copied());
        let asks = row.locks.iter().filter(|lock| !lock.holds);
        let locked_out = shares(&mut asks.map(|lock| (lock.from, lock.to)));
        let spins = row.runs.iter().flat_map(|run| self.scene.spins(run));
        let spinning = shares(&mut spins.map(|spin| (spin.from, spin.to)));
        for column in 0..self.columns {
            let (sleeps, waits) = (suspended[column], locked_out[column]);
            let (glyph, used, paint) = if running[column] > 0 {
                if spinning[column] < running[column] {
                    continue;
                }
                (self.glyphs.spinning, &mut self.used_halts.spinning, Paint::Task(row.position))
            } else if sleeps > waits.max(waiting[column]) {
                (self.glyphs.suspended, &mut self.used_halts.suspended, Paint::Plain)
            } else if waits > waiting[column] {
                (self.glyphs.locked_out, &mut self.used_halts.locked_out, Paint::Plain)
            } else {
                continue;
            };
            *used = true;
            line.put(self.gutter + column, glyph, paint);
        }
    }

    /// Draws the locks that the jobs of a task hold or wait for, with the
    /// names of the resources if they fit. Of several locks at a time,
    /// the one granted last is shown. Tasks without locks have no such row.
    pub(super) fn lock_row(&mut self, row: &TaskRow) {
        if row.locks.is_empty() {
            return;
        }
        let mut line = self.line();
        line.write(0, LOCK_LABEL, Paint::Plain);
        let mut order: Vec<&Lock> = row.locks.iter().collect();
        order.sort_by_key(|lock| (lock.from, lock.holds));
        let mut shown: Vec<Option<usize>> = vec![None; self.columns];
        for (at, lock) in order.iter().enumerate() {
            self.cover(lock.from, lock.to, |column, _| shown[column] = Some(at));
        }
        let [holds, waits] = self.glyphs.locks;
        let mut column = self.gutter;
        for alike in shown.chunk_by(|a, b| a == b) {
            if let Some(lock) = alike[0].map(|at| order[at]) {
                let (fill, used) = if lock.holds {
                    (holds, &mut self.used_halts.holds)
                } else {
                    (waits, &mut self.used_halts.waits)
                };
                *used = true;
                for at in column..column + alike.len() {
                    line.put(at, fill, Paint::Plain);
                }
                let name = self.scene.resource(lock);
                if name.chars().count() < alike.len() {
                    line.write(column, &name, Paint::Plain);
                }
            }
            column += alike.len();
        }
        self.print(&line);
    }

    /// Returns the meanings of these symbols, if they were drawn.
    pub(super) fn halts_legend(&self) -> Vec<String> {
        let (glyphs, used) = (self.glyphs, &self.used_halts);
        let [holds, waits] = glyphs.locks;
        let entries = [
            (used.suspended, glyphs.suspended, "suspended"),
            (used.locked_out, glyphs.locked_out, "waiting for a lock"),
            (used.spinning, glyphs.spinning, "spinning"),
            (used.holds, holds, "holds a resource"),
            (used.waits, waits, "waits for one"),
        ];
        let drawn = entries.into_iter().filter(|&(is_used, ..)| is_used);
        drawn.map(|(_, glyph, text)| format!("{glyph} {text}")).collect()
    }
}
