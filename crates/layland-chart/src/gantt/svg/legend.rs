//! Draws the legend: the tasks of a chart without rows of tasks, and the symbols that were drawn.

use super::super::scene::TaskRow;
use super::super::words::counted_misses;
use super::SvgChart;
use super::marks::{aborted, arrow, diamond, lock_bar, miss_mark};
use super::style::{DASHED, DOTTED, EDGE, INK, RED, SUSPENDED, fill, px, text_width};

impl SvgChart<'_> {
    /// Draws the tasks with their colours, for a chart without rows of tasks.
    pub(super) fn task_legend(&mut self, top: i64) -> i64 {
        let scene = self.scene;
        let mut rows: Vec<&TaskRow> = scene.tasks.iter().chain(&scene.hidden).collect();
        rows.retain(|row| !row.runs.is_empty() || row.misses > 0);
        rows.sort_by_key(|row| row.position);
        let (mut x, mut y) = (16, top);
        for row in rows {
            let (text, paint) = match row.misses {
                0 => (row.name.clone(), INK),
                misses => (format!("{} ({})", row.name, counted_misses(misses)), RED),
            };
            let width = 30 + text_width(&text, 11);
            if x > 16 && x + width > self.right {
                (x, y) = (16, y + 18);
            }
            let swatch = self.rect(px(x), y - 9, px(12), 10, &fill(row.position));
            swatch.attrs(&EDGE).empty();
            self.text(x + 17, y, 11, paint, "start", &text);
            x += width;
        }
        y + 22
    }

    /// Draws the symbols that occur in the chart.
    pub(super) fn legend(&mut self, top: i64) -> i64 {
        let used = std::mem::take(&mut self.used);
        let (mut x, mut y) = (16, top);
        let entries: [(bool, Symbol, &str); 18] = [
            (used.release, Symbol::Release, "release"),
            (used.deadline, Symbol::Deadline, "deadline"),
            (used.missed, Symbol::Missed, "missed deadline"),
            (used.late, Symbol::Late, "execution after the deadline"),
            (used.tardy, Symbol::Tardy, "late completion"),
            (used.aborted, Symbol::Aborted, "aborted"),
            (used.waiting, Symbol::Waiting, "ready, not running"),
            (used.suspended, Symbol::Suspended, "suspended"),
            (used.cpu_number, Symbol::CpuNumber, "CPU number"),
            (used.preempted, Symbol::Preempted, "preempted"),
            (used.migrated, Symbol::Migrated, "migration"),
            (used.overhead, Symbol::Overhead, "overhead"),
            (used.spinning, Symbol::Spinning, "spinning"),
            (used.holds, Symbol::Holds, "holds a resource"),
            (used.locked_out, Symbol::LockedOut, "waits for one"),
            (used.offline, Symbol::Offline, "offline"),
            (used.level, Symbol::Level, "criticality level"),
            (used.merged, Symbol::Merged, "many short segments"),
        ];
        for (_, symbol, text) in entries.into_iter().filter(|(is_used, ..)| *is_used) {
            let width = 42 + text_width(text, 11);
            if x > 16 && x + width > self.right {
                (x, y) = (16, y + 22);
            }
            self.symbol(symbol, x, y);
            self.text(x + 24, y, 11, INK, "start", text);
            x += width;
        }
        y + 18
    }

    /// Draws a symbol in a box of 20 by 14 pixels.
    fn symbol(&mut self, symbol: Symbol, x: i64, y: i64) {
        let (top, bottom, middle) = (y - 12, y + 2, y - 4);
        let centre = px(x + 10);
        let grey = "#b0b0b0";
        match symbol {
            Symbol::Release => arrow(&mut self.body, centre, bottom, top, ""),
            Symbol::Deadline => arrow(&mut self.body, centre, top, bottom, ""),
            Symbol::Missed => miss_mark(&mut self.body, centre, top, bottom, ""),
            Symbol::Late => {
                self.rect(px(x), top + 1, px(20), 12, grey).empty();
                self.rect(px(x), top + 1, px(20), 12, "url(#late)").empty();
            }
            Symbol::Tardy => {
                let line = self.path(format_args!("M{x} {middle}h10"));
                line.attr("stroke", RED).attr("stroke-width", 3).empty();
                diamond(&mut self.body, centre, middle, "");
            }
            Symbol::Aborted => aborted(&mut self.body, centre, middle, ""),
            Symbol::Waiting => {
                self.path(format_args!("M{x} {middle}h20")).attrs(&DOTTED).empty();
            }
            Symbol::Suspended => {
                self.path(format_args!("M{x} {middle}h20")).attrs(&SUSPENDED).empty();
            }
            Symbol::CpuNumber => {
                self.rect(px(x), top + 1, px(20), 12, grey).empty();
                self.text(x + 10, y - 1, 10, "#000000", "middle", "1");
            }
            Symbol::Preempted => {
                self.rect(px(x), top + 1, px(20), 12, grey).empty();
                self.preempted(px(x + 20), top + 1, 12);
            }
            Symbol::Migrated => {
                let end = px(x + 14);
                let line = self.path(format_args!("M{} {top}L{end} {bottom}", x + 4));
                line.attrs(&DASHED).empty();
                self.ring(end, bottom);
            }
            Symbol::Overhead => {
                self.rect(px(x), top + 1, px(20), 12, grey).empty();
                self.rect(px(x), top + 1, px(9), 12, "url(#overhead)").empty();
            }
            Symbol::Spinning => {
                self.rect(px(x), top + 1, px(20), 12, grey).empty();
                let bar = self.rect(px(x), top + 1, px(20), 12, "url(#spin)");
                bar.attrs(&EDGE).empty();
            }
            Symbol::Holds | Symbol::LockedOut => {
                let holds = matches!(symbol, Symbol::Holds);
                lock_bar(&mut self.body, px(x), top + 4, px(20), holds, "");
            }
            Symbol::Offline => self.rect(px(x), top + 1, px(20), 12, "url(#offline)").empty(),
            Symbol::Level => {
                self.step(px(x), px(x + 10), bottom, 0, "");
                self.step(px(x + 10), px(x + 20), bottom, 1, "");
            }
            Symbol::Merged => {
                for (offset, opacity) in [(0, ".3"), (4, ".7"), (8, ".4"), (12, ".9"), (16, ".5")] {
                    let bar = self.rect(px(x + offset), top + 1, px(4), 12, "#555555");
                    bar.attr("opacity", opacity).empty();
                }
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Symbol {
    Release,
    Deadline,
    Missed,
    Late,
    Tardy,
    Aborted,
    Waiting,
    Suspended,
    CpuNumber,
    Preempted,
    Migrated,
    Overhead,
    Spinning,
    Holds,
    LockedOut,
    Offline,
    Level,
    Merged,
}
