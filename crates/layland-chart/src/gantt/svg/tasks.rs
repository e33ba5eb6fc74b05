//! Lanes of tasks: releases, deadlines, execution, waiting, and what became of the jobs.

use super::super::counted_misses;
use super::super::scene::{TaskLane, VisibleJob};
use super::marks::{Arrow, aborted, diamond, miss_mark};
use super::style::{Escaped, FAINT, INK, Px, RED, colour, fill, px, text_width, time_text};
use super::{Chart, miss_text};
use std::collections::BTreeMap;
use std::fmt::Write;

impl Chart<'_> {
    /// The misses of all tasks in one lane, for a chart without lanes of tasks.
    pub(super) fn miss_lane(&mut self, top: i64) -> i64 {
        let scene = self.scene;
        let bottom = top + 30;
        self.text(self.left - 8, top + 20, self.sizes.cpu_font, RED, "end", "missed");
        let mut missed: BTreeMap<i64, Vec<(&TaskLane, &VisibleJob)>> = BTreeMap::new();
        for lane in scene.tasks.iter().chain(&scene.hidden) {
            for job in lane.jobs.iter().filter(|job| scene.misses(job)) {
                let x = self.x(job.missed_at.unwrap_or(job.deadline));
                missed.entry(x.0 / 300).or_default().push((lane, job));
            }
        }
        for jobs in missed.values() {
            let texts = jobs.iter().take(5).map(|(lane, job)| miss_text(lane, job, scene.over));
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

    pub(super) fn task_lanes(&mut self, top: i64) -> i64 {
        let scene = self.scene;
        let pitch = self.sizes.task_lane;
        for (index, lane) in scene.tasks.iter().enumerate() {
            let y = top + index as i64 * pitch;
            self.task_lane(lane, y, pitch);
        }
        top + scene.tasks.len() as i64 * pitch
    }

    pub(super) fn task_lane(&mut self, lane: &TaskLane, y: i64, pitch: i64) {
        let bar = self.sizes.bar;
        let baseline = y + pitch - 3;
        let bar_top = baseline - bar;
        let font = self.sizes.label_font;
        // The label: a swatch, so that CPU lanes can be read, and the name.
        let swatch_y = baseline - bar / 2 - 5;
        self.rect(
            px(12),
            swatch_y,
            px(12),
            10,
            &fill(lane.position),
            " stroke=\"#000\" stroke-width=\".6\"",
        );
        let room = ((self.left - 38) * 100 / (font * 58)).max(1) as usize;
        let name = if lane.name.chars().count() <= room {
            lane.name.clone()
        } else {
            lane.name.chars().take(room.saturating_sub(1)).chain(['…']).collect()
        };
        let weight = if lane.misses > 0 { " font-weight=\"bold\"" } else { "" };
        let paint = if lane.misses > 0 { RED } else { INK };
        let missed = match lane.misses {
            0 => String::new(),
            _ => format!(": {}", counted_misses(lane.misses)),
        };
        let _ = writeln!(
            self.body,
            "<text x=\"30\" y=\"{}\" font-size=\"{font}\" fill=\"{paint}\"{weight}>\
             <title>{}{missed}</title>{}</text>",
            swatch_y + 5 + font * 35 / 100,
            Escaped(&lane.name),
            Escaped(&name),
        );
        let (left, right) = (self.left, self.right);
        self.path(&format!("M{left} {baseline}H{right}"), "stroke=\"#999\" stroke-width=\".8\"");
        let middle = baseline - bar / 2;
        for &(start, end) in &lane.waits {
            let (x1, x2) = (self.x(start), self.x(end));
            if x2 - x1 >= px(2) {
                self.used.waiting = true;
                self.path(
                    &format!("M{x1} {middle}H{x2}"),
                    &format!("stroke=\"{FAINT}\" stroke-width=\"1.6\" stroke-dasharray=\"1.6 3\""),
                );
            }
        }
        self.bars(&lane.runs, bar_top, bar, colour(lane.position).0, |chart, run, x1, x2| {
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
        self.marks(lane, y, baseline, bar_top);
    }

    /// Arrows and what became of the jobs; those closer than three pixels share a mark.
    pub(super) fn marks(&mut self, lane: &TaskLane, y: i64, baseline: i64, bar_top: i64) {
        let scene = self.scene;
        let top = y + 4;
        // On the last place that an arrow of each kind was drawn at.
        let (mut last_release, mut last_deadline) = (px(-10), px(-10));
        for job in &lane.jobs {
            if scene.shows(job.release) {
                let x = self.x(job.release);
                if x - last_release >= px(3) {
                    last_release = x;
                    self.used.release = true;
                    self.arrow(
                        x,
                        baseline,
                        top,
                        &format!(
                            "{}#{} released at {}",
                            lane.name,
                            job.id.seq,
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
                    self.arrow(
                        x,
                        top,
                        baseline,
                        &format!(
                            "deadline of {}#{} at {}",
                            lane.name,
                            job.id.seq,
                            time_text(job.deadline)
                        ),
                    );
                }
            }
        }
        let mut missed: BTreeMap<i64, Vec<&VisibleJob>> = BTreeMap::new();
        for job in &lane.jobs {
            self.lateness(job, baseline);
            if let Some(at) = job.missed_at.filter(|&at| scene.shows(at)) {
                missed.entry(self.x(at).0 / 300).or_default().push(job);
            }
        }
        for jobs in missed.values() {
            let Some(first) = jobs.first() else { continue };
            let mut tooltip = miss_text(lane, first, scene.over);
            if jobs.len() > 1 {
                let _ = write!(tooltip, ", and {} more here", jobs.len() - 1);
            }
            let at = first.missed_at.unwrap_or(first.deadline);
            self.miss(self.x(at), top, baseline, &tooltip);
        }
        for job in &lane.jobs {
            if let Some(at) = job.tardy_at.filter(|&at| scene.shows(at)) {
                self.used.tardy = true;
                let x = self.x(at);
                diamond(
                    &mut self.body,
                    x,
                    baseline,
                    &format!(
                        "{}#{} completed at {}, {} late",
                        lane.name,
                        job.id.seq,
                        time_text(at),
                        time_text(at - job.deadline)
                    ),
                );
            }
            if let Some(at) = job.aborted_at.filter(|&at| scene.shows(at)) {
                self.used.aborted = true;
                let text = format!("{}#{} aborted at {}", lane.name, job.id.seq, time_text(at));
                let x = self.x(at);
                aborted(&mut self.body, x, (bar_top + baseline) / 2, &text);
            }
        }
    }

    /// A line along the baseline for as long as a job is late.
    fn lateness(&mut self, job: &VisibleJob, baseline: i64) {
        if let Some(until) = job.late_until {
            let (x1, x2) = (self.x(job.deadline), self.x(until));
            if x1 < x2 {
                self.path(
                    &format!("M{x1} {baseline}H{x2}"),
                    &format!("stroke=\"{RED}\" stroke-width=\"3\""),
                );
            }
        }
    }

    pub(super) fn arrow(&mut self, x: Px, from: i64, to: i64, tooltip: &str) {
        let _ = writeln!(self.body, "{}", Arrow { x, from, to, tooltip });
    }

    fn miss(&mut self, x: Px, top: i64, baseline: i64, tooltip: &str) {
        self.used.missed = true;
        miss_mark(&mut self.body, x, top, baseline, tooltip);
    }
}
