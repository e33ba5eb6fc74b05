//! The legend: the tasks of a chart without lanes of tasks, and the symbols that were drawn.

use super::super::counted_misses;
use super::super::scene::TaskLane;
use super::Chart;
use super::marks::{aborted, diamond, miss_mark};
use super::style::{FAINT, INK, RED, fill, px, text_width};
use std::fmt::Write;

impl Chart<'_> {
    /// The tasks with their colours, for a chart without lanes of tasks.
    pub(super) fn task_legend(&mut self, top: i64) -> i64 {
        let scene = self.scene;
        let mut lanes: Vec<&TaskLane> = scene.tasks.iter().chain(&scene.hidden).collect();
        lanes.retain(|lane| !lane.runs.is_empty() || lane.misses > 0);
        lanes.sort_by_key(|lane| lane.position);
        let (mut x, mut y) = (16, top);
        for lane in lanes {
            let (text, paint) = match lane.misses {
                0 => (lane.name.clone(), INK),
                misses => (format!("{} ({})", lane.name, counted_misses(misses)), RED),
            };
            let width = 30 + text_width(&text, 11);
            if x > 16 && x + width > self.right {
                (x, y) = (16, y + 18);
            }
            let edge = " stroke=\"#000\" stroke-width=\".6\"";
            self.rect(px(x), y - 9, px(12), 10, &fill(lane.position), edge);
            self.text(x + 17, y, 11, paint, "start", &text);
            x += width;
        }
        y + 22
    }

    /// The symbols that were drawn.
    pub(super) fn legend(&mut self, top: i64) -> i64 {
        let used = std::mem::take(&mut self.used);
        let (mut x, mut y) = (16, top);
        let entries: [(bool, Symbol, &str); 14] = [
            (used.release, Symbol::Release, "release"),
            (used.deadline, Symbol::Deadline, "deadline"),
            (used.missed, Symbol::Missed, "missed deadline"),
            (used.late, Symbol::Late, "execution after the deadline"),
            (used.tardy, Symbol::Tardy, "late completion"),
            (used.aborted, Symbol::Aborted, "aborted"),
            (used.waiting, Symbol::Waiting, "ready, not running"),
            (used.cpu_number, Symbol::CpuNumber, "CPU number"),
            (used.preempted, Symbol::Preempted, "preempted"),
            (used.migrated, Symbol::Migrated, "migration"),
            (used.overhead, Symbol::Overhead, "overhead"),
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

    /// A symbol in a box of 20 by 14 pixels.
    fn symbol(&mut self, symbol: Symbol, x: i64, y: i64) {
        let (top, bottom, middle) = (y - 12, y + 2, y - 4);
        let centre = px(x + 10);
        let grey = "#b0b0b0";
        match symbol {
            Symbol::Release => self.arrow(centre, bottom, top, ""),
            Symbol::Deadline => self.arrow(centre, top, bottom, ""),
            Symbol::Missed => miss_mark(&mut self.body, centre, top, bottom, ""),
            Symbol::Late => {
                self.rect(px(x), top + 1, px(20), 12, grey, "");
                self.rect(px(x), top + 1, px(20), 12, "url(#late)", "");
            }
            Symbol::Tardy => {
                self.path(
                    &format!("M{x} {middle}h10"),
                    &format!("stroke=\"{RED}\" stroke-width=\"3\""),
                );
                diamond(&mut self.body, centre, middle, "");
            }
            Symbol::Aborted => aborted(&mut self.body, centre, middle, ""),
            Symbol::Waiting => self.path(
                &format!("M{x} {middle}h20"),
                &format!("stroke=\"{FAINT}\" stroke-width=\"1.6\" stroke-dasharray=\"1.6 3\""),
            ),
            Symbol::CpuNumber => {
                self.rect(px(x), top + 1, px(20), 12, grey, "");
                self.text(x + 10, y - 1, 10, "#000000", "middle", "1");
            }
            Symbol::Preempted => {
                self.rect(px(x), top + 1, px(20), 12, grey, "");
                self.preempted(px(x + 20), top + 1, 12);
            }
            Symbol::Migrated => {
                self.path(
                    &format!("M{} {}L{} {}", x + 4, top, x + 14, bottom),
                    "fill=\"none\" stroke=\"#000\" stroke-width=\"1.2\" stroke-dasharray=\"3 2\"",
                );
                let _ = writeln!(
                    self.body,
                    "<circle cx=\"{}\" cy=\"{bottom}\" r=\"2.6\" fill=\"#fff\" stroke=\"#000\"/>",
                    x + 14
                );
            }
            Symbol::Overhead => {
                self.rect(px(x), top + 1, px(20), 12, grey, "");
                self.rect(px(x), top + 1, px(9), 12, "url(#overhead)", "");
            }
            Symbol::Offline => self.rect(px(x), top + 1, px(20), 12, "url(#offline)", ""),
            Symbol::Level => {
                self.step(px(x), px(x + 10), bottom, 0, "");
                self.step(px(x + 10), px(x + 20), bottom, 1, "");
            }
            Symbol::Merged => {
                for (offset, opacity) in [(0, ".3"), (4, ".7"), (8, ".4"), (12, ".9"), (16, ".5")] {
                    let rest = format!(" opacity=\"{opacity}\"");
                    self.rect(px(x + offset), top + 1, px(4), 12, "#555555", &rest);
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
    CpuNumber,
    Preempted,
    Migrated,
    Overhead,
    Offline,
    Level,
    Merged,
}
