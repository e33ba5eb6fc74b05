//! Draws rows of tasks: releases, deadlines, execution, waiting, and the ends of the jobs.

use super::super::scene::{TaskRow, VisibleJob};
use super::super::words::counted_misses;
use super::marks::{aborted, arrow, diamond, lock_bar, miss_mark};
use super::style::{
    DOTTED, EDGE, INK, Px, RED, SUSPENDED, colour, fill, px, text_width, time_text,
};
use super::{SvgChart, miss_text};
use std::collections::BTreeMap;
use std::fmt::Write;

impl SvgChart<'_> {
    /// Draws the misses of all tasks in one row, for a chart without rows of tasks.
    pub(super) fn miss_row(&mut self, top: i64) -> i64 {
        let scene = self.scene;
        let bottom = top + 30;
        self.text(self.left - 8, top + 20, self.sizes.cpu_font, RED, "end", "missed");
        let mut missed: BTreeMap<i64, Vec<(&TaskRow, &VisibleJob)>> = BTreeMap::new();
        for row in scene.tasks.iter().chain(&scene.hidden) {
            for job in row.jobs.iter().filter(|job| scene.misses(job)) {
                let x = self.x(job.missed_at.unwrap_or(job.deadline));
                missed.entry(x.0 / 300).or_default().push((row, job));
            }
        }
        for jobs in missed.values() {
            let texts = jobs.iter().take(5).map(|(row, job)| miss_text(row, job, scene.over));
            let mut tooltip = texts.collect::<Vec<_>>().join("; ");
            if jobs.len() > 5 {
                let _ = write!(tooltip, "; and {} more", jobs.len() - 5);
            }
            if let Some((_, job)) = jobs.first() {
                let x = self.x(job.missed_at.unwrap_or(job.deadline));
                self.miss(x, top + 8, bottom - 2, &tooltip);
            }
        }
        bottom
    }

    pub(super) fn task_rows(&mut self, top: i64) -> i64 {
        let scene = self.scene;
        let pitch = self.sizes.task_row;
        for (index, row) in scene.tasks.iter().enumerate() {
            let y = top + index as i64 * pitch;
            self.task_row(row, y, pitch);
        }
        top + scene.tasks.len() as i64 * pitch
    }

    pub(super) fn task_row(&mut self, row: &TaskRow, y: i64, pitch: i64) {
        let bar = self.sizes.bar;
        let baseline = y + pitch - 3;
        let bar_top = baseline - bar;
        let font = self.sizes.label_font;
        // The label: a swatch, as a key to the CPU rows, and the name.
        let swatch_y = baseline - bar / 2 - 5;
        let swatch = self.rect(px(12), swatch_y, px(12), 10, &fill(row.position));
        swatch.attrs(&EDGE).empty();
        let room = ((self.left - 38) * 100 / (font * 58)).max(1) as usize;
        let name = if row.name.chars().count() <= room {
            row.name.clone()
        } else {
            row.name.chars().take(room.saturating_sub(1)).chain(['…']).collect()
        };
        let style: &[(&str, &str)] = if row.misses > 0 {
            &[("fill", RED), ("font-weight", "bold")]
        } else {
            &[("fill", INK)]
        };
        let missed = match row.misses {
            0 => String::new(),
            _ => format!(": {}", counted_misses(row.misses)),
        };
        let y_name = swatch_y + 5 + font * 35 / 100;
        let element = self.body.element("text").attr("x", 30).attr("y", y_name);
        element.attr("font-size", font).attrs(style).children(|inside| {
            inside.tooltip(&format!("{}{missed}", row.name));
            inside.words(&name);
        });
        let (left, right) = (self.left, self.right);
        let line = self.path(format_args!("M{left} {baseline}H{right}"));
        line.attr("stroke", "#999").attr("stroke-width", ".8").empty();
        let middle = baseline - bar / 2;
        for &(start, end) in &row.waits {
            let (x1, x2) = (self.x(start), self.x(end));
            if x2 - x1 >= px(2) {
                self.used.waiting = true;
                self.path(format_args!("M{x1} {middle}H{x2}")).attrs(&DOTTED).empty();
            }
        }
        for &(start, end) in &row.suspensions {
            let (x1, x2) = (self.x(start), self.x(end));
            if x2 - x1 >= px(2) {
                self.used.suspended = true;
                self.path(format_args!("M{x1} {middle}H{x2}")).attrs(&SUSPENDED).empty();
            }
        }
        self.bars(&row.runs, bar_top, bar, colour(row.position).0, |chart, run, x1, x2| {
            chart.bar(run, x1, x2, bar_top, bar);
            let font = chart.sizes.bar_font;
            let number = run.cpu.to_string();
            let x1 = chart.work_starts(run, x1, x2);
            let room = (x2 - x1).0 / 100 - 3;
            if chart.scene.cpus.len() > 1 && text_width(&number, font) <= room {
                chart.used.cpu_number = true;
                chart.bar_text(run, x1, x2, bar_top, bar, font, &number);
            }
        });
        self.locks(row, baseline);
        self.marks(row, y, baseline, bar_top);
    }

    /// Draws the locks that jobs hold or wait for, along the
    /// baseline; with the name of the resource if it fits.
    fn locks(&mut self, row: &TaskRow, baseline: i64) {
        let font = 8;
        for lock in &row.locks {
            let (x1, x2) = (self.x(lock.from), self.x(lock.to));
            let (from, to) = (time_text(lock.from), time_text(lock.to));
            let does = if lock.holds { "holds" } else { "waits for" };
            let (job, resource) = (lock.job.number(), self.scene.resource(lock));
            let text = format!("{}#{job} {does} resource {resource} from {from} to {to}", row.name);
            let ink = if lock.holds { "#ffffff" } else { INK };
            self.used.holds |= lock.holds;
            self.used.locked_out |= !lock.holds;
            let y = baseline - 8;
            lock_bar(&mut self.body, x1, y, x2 - x1, lock.holds, &text);
            if text_width(&resource, font) <= (x2 - x1).0 / 100 - 3 {
                let middle = (x1.0 + x2.0) / 200;
                self.text(middle, baseline - 1, font, ink, "middle", &resource);
            }
        }
    }

    /// Draws arrows and the ends of the jobs; marks closer than three pixels are merged.
    pub(super) fn marks(&mut self, row: &TaskRow, y: i64, baseline: i64, bar_top: i64) {
        let scene = self.scene;
        let top = y + 4;
        // The position of the last arrow of each kind.
        let (mut last_release, mut last_deadline) = (px(-10), px(-10));
        for job in &row.jobs {
            if scene.shows(job.release) {
                let x = self.x(job.release);
                if x - last_release >= px(3) {
                    last_release = x;
                    self.used.release = true;
                    arrow(
                        &mut self.body,
                        x,
                        baseline,
                        top,
                        &format!(
                            "{}#{} released at {}",
                            row.name,
                            job.id.number(),
                            time_text(job.release)
                        ),
                    );
                }
            }
            if scene.shows(job.deadline) && job.missed_at.is_none() {
                let x = self.x(job.deadline);
                if x - last_deadline >= px(3) {
                    last_deadline = x;
                    self.used.deadline = true;
                    arrow(
                        &mut self.body,
                        x,
                        top,
                        baseline,
                        &format!(
                            "deadline of {}#{} at {}",
                            row.name,
                            job.id.number(),
                            time_text(job.deadline)
                        ),
                    );
                }
            }
        }
        let mut missed: BTreeMap<i64, Vec<&VisibleJob>> = BTreeMap::new();
        for job in &row.jobs {
            self.lateness(job, baseline);
            if let Some(at) = job.missed_at.filter(|&at| scene.shows(at)) {
                missed.entry(self.x(at).0 / 300).or_default().push(job);
            }
        }
        for jobs in missed.values() {
            let Some(first) = jobs.first() else { continue };
            let mut tooltip = miss_text(row, first, scene.over);
            if jobs.len() > 1 {
                let _ = write!(tooltip, ", and {} more here", jobs.len() - 1);
            }
            let at = first.missed_at.unwrap_or(first.deadline);
            self.miss(self.x(at), top, baseline, &tooltip);
        }
        for job in &row.jobs {
            if let Some(at) = job.tardy_at.filter(|&at| scene.shows(at)) {
                self.used.tardy = true;
                let x = self.x(at);
                diamond(
                    &mut self.body,
                    x,
                    baseline,
                    &format!(
                        "{}#{} completed at {}, {} late",
                        row.name,
                        job.id.number(),
                        time_text(at),
                        time_text(at - job.deadline)
                    ),
                );
            }
            if let Some(at) = job.aborted_at.filter(|&at| scene.shows(at)) {
                self.used.aborted = true;
                let text = format!("{}#{} aborted at {}", row.name, job.id.number(), time_text(at));
                let x = self.x(at);
                aborted(&mut self.body, x, (bar_top + baseline) / 2, &text);
            }
        }
    }

    /// Draws a line along the baseline for the time that a job is late.
    fn lateness(&mut self, job: &VisibleJob, baseline: i64) {
        if let Some(until) = job.late_until {
            let (x1, x2) = (self.x(job.deadline), self.x(until));
            if x1 < x2 {
                let line = self.path(format_args!("M{x1} {baseline}H{x2}"));
                line.attr("stroke", RED).attr("stroke-width", 3).empty();
            }
        }
    }

    fn miss(&mut self, x: Px, top: i64, baseline: i64, tooltip: &str) {
        self.used.missed = true;
        miss_mark(&mut self.body, x, top, baseline, tooltip);
    }
}
