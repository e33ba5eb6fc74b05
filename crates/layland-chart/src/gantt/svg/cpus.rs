//! Draws rows of CPUs, and the bars of segments in any row.

use super::super::scene::{CpuRow, RunSegment};
use super::style::{DASHED, EDGE, INK, Px, colour, fill, pattern, px, text_width, time_text};
use super::{MOST_MIGRATIONS, SvgChart};
use layland_model::{CpuId, Duration, counted};
use std::collections::BTreeMap;
use std::fmt::Write;

impl SvgChart<'_> {
    pub(super) fn cpu_rows(&mut self, top: i64) -> i64 {
        let scene = self.scene;
        let pitch = self.sizes.cpu_row;
        let font = self.sizes.cpu_font.min(12);
        let bar = pitch - 5;
        let mut rows: BTreeMap<CpuId, i64> = BTreeMap::new();
        let mut y = top;
        for row in &scene.cpus {
            rows.insert(row.id, y + 2 + bar / 2);
            self.band(y + 2, bar);
            let middle = y + 2 + bar / 2 + font * 35 / 100;
            let label = format!("CPU {}", row.id);
            self.text(self.left - 8, middle, font, INK, "end", &label);
            self.cpu_row(row, y + 2, bar);
            y = self.level_row(row, "level", y + pitch);
        }
        let count = scene.migrations.len();
        let faint: &[(&str, &str)] = if count > 24 { &[("opacity", ".6")] } else { &[] };
        if count <= MOST_MIGRATIONS {
            for migration in &scene.migrations {
                let row = |cpu| rows.get(&cpu).copied();
                if let (Some(from), Some(to)) = (row(migration.from.1), row(migration.to.1)) {
                    self.used.migrated = true;
                    let (x1, x2) = (self.x(migration.from.0), self.x(migration.to.0));
                    let line = self.path(format_args!("M{x1} {from}L{x2} {to}"));
                    line.attrs(&DASHED).attrs(faint).empty();
                    self.ring(x2, to);
                }
            }
        }
        y
    }

    /// Draws the end of a migration.
    pub(super) fn ring(&mut self, x: Px, y: i64) {
        let ring = self.body.element("circle").attr("cx", x).attr("cy", y).attr("r", 2.6);
        ring.attr("fill", "#fff").attr("stroke", "#000").empty();
    }

    pub(super) fn cpu_row(&mut self, row: &CpuRow, y: i64, height: i64) {
        for &(start, end) in &row.offline {
            let (x1, x2) = (self.x(start), self.x(end));
            if x1 < x2 {
                self.used.offline = true;
                self.rect(x1, y, x2 - x1, height, "url(#offline)").empty();
            }
        }
        self.bars(&row.runs, y, height, "#555555", |chart, run, x1, x2| {
            chart.bar(run, x1, x2, y, height);
            let name = chart.name(run);
            let font = chart.sizes.cpu_font.min(height);
            let x1 = chart.work_starts(run, x1, x2);
            let room = (x2 - x1).0 / 100 - if run.is_preempted { 9 } else { 5 };
            let with_number = format!("{name}#{}", run.job.number());
            let text =
                [with_number, name.to_owned()].into_iter().find(|t| text_width(t, font) <= room);
            if let Some(text) = text.filter(|_| height >= 9) {
                chart.bar_text(run, x1, x2, y, height, font, &text);
            }
            if run.is_preempted && (x2 - x1) >= px(6) && run.end <= chart.scene.to {
                chart.preempted(x2, y, height);
            }
        });
    }

    pub(super) fn name(&self, run: &RunSegment) -> &str {
        self.names[run.position]
    }

    /// Draws each segment that is at least a pixel wide with `draw`, and the narrower ones in steps
    /// of two pixels, with the busy share of the step as opacity.
    pub(super) fn bars(
        &mut self,
        runs: &[RunSegment],
        y: i64,
        height: i64,
        mixed: &str,
        mut draw: impl FnMut(&mut Self, &RunSegment, Px, Px),
    ) {
        /// The segments in a step: their number, their total
        /// width, and their task if they have only one.
        #[derive(Clone, Copy)]
        struct SegmentsInStep {
            count: usize,
            width: i64,
            task: Option<usize>,
        }
        const STEP: i64 = 200;
        let mut steps: BTreeMap<i64, SegmentsInStep> = BTreeMap::new();
        let span = i128::from(self.scene.to.ns()) - i128::from(self.scene.from.ns());
        for run in runs {
            let (x1, x2) = (self.x(run.start), self.x(run.end));
            if x2 - x1 >= px(1) {
                draw(self, run, x1, x2);
                continue;
            }
            // In 1 / 10,000 of a pixel, so that many tiny segments add up.
            let (start, end) = (run.start.max(self.scene.from), run.end.min(self.scene.to));
            let length = i128::from(end.ns()) - i128::from(start.ns());
            let width = (length * i128::from(self.right - self.left) * 10_000 / span) as i64;
            let step = SegmentsInStep { count: 0, width: 0, task: Some(run.position) };
            let step = steps.entry(x1.0 / STEP).or_insert(step);
            step.count += 1;
            step.width += width.max(1);
            step.task = step.task.filter(|&task| task == run.position);
        }
        for (at, step) in steps {
            self.used.merged = true;
            let percent = (step.width * 100 / (STEP * 100)).clamp(1, 100);
            // A lower opacity would be hardly visible.
            let opacity = percent.max(25);
            let paint = step.task.map_or(mixed.to_owned(), fill);
            let text = format!("{}, busy {percent} % of the time", counted(step.count, "segment"));
            let bar = self.rect(Px(at * STEP), y, px(2), height, &paint);
            bar.attr("opacity", Px(opacity)).tooltip(&text);
        }
    }

    /// Draws one segment, without its text.
    pub(super) fn bar(&mut self, run: &RunSegment, x1: Px, x2: Px, y: i64, height: i64) {
        let length = time_text(run.end - run.start);
        let (start, end) = (time_text(run.start), time_text(run.end));
        let mut tooltip = format!(
            "{}#{} on CPU {}: {start} to {end} ({length})",
            self.name(run),
            run.job.number(),
            run.cpu
        );
        if let Some(cpu) = run.migrated_from {
            let _ = write!(tooltip, ", from CPU {cpu}");
        }
        if run.is_preempted {
            tooltip.push_str(", then preempted");
        }
        if run.overhead > Duration::ZERO {
            let _ = write!(tooltip, ", {} overhead", time_text(run.overhead));
        }
        let scene = self.scene;
        for spin in scene.spins(run) {
            let (from, to) = (time_text(spin.from), time_text(spin.to));
            let _ = write!(tooltip, ", spinning from {from} to {to}");
        }
        let edge: &[(&str, &str)] = if x2 - x1 >= px(4) { &EDGE } else { &[] };
        self.rect(x1, y, x2 - x1, height, &fill(run.position)).attrs(edge).tooltip(&tooltip);
        let until = self.work_starts(run, x1, x2);
        if until > x1 {
            self.used.overhead = true;
            self.rect(x1, y, until - x1, height, "url(#overhead)").empty();
        }
        for spin in scene.spins(run) {
            let (from, to) = (self.x(spin.from), self.x(spin.to));
            if from < to {
                self.used.spinning = true;
                let bar = self.rect(from, y, to - from, height, "url(#spin)").attrs(edge);
                bar.tooltip(&tooltip);
            }
        }
        if let Some(deadline) = run.deadline.filter(|&deadline| deadline < run.end) {
            let late_from = self.x(deadline).max(x1);
            if late_from < x2 {
                self.used.late = true;
                self.rect(late_from, y, x2 - late_from, height, "url(#late)").empty();
            }
        }
    }

    /// Returns the end of the part of a segment that is drawn as overhead. A trace contains the
    /// length of the overhead but not its position; it is drawn at the start.
    pub(super) fn work_starts(&self, run: &RunSegment, x1: Px, x2: Px) -> Px {
        self.x(run.start.saturating_add(run.overhead.max(Duration::ZERO))).clamp(x1, x2)
    }

    #[expect(clippy::too_many_arguments, reason = "a rectangle, a font and a text")]
    pub(super) fn bar_text(
        &mut self,
        run: &RunSegment,
        x1: Px,
        x2: Px,
        y: i64,
        height: i64,
        font: i64,
        text: &str,
    ) {
        let (base, ink) = colour(run.position);
        let is_late = run.deadline.is_some_and(|deadline| deadline < run.end);
        let x = Px((x1.0 + x2.0) / 2);
        let baseline = Px((y * 200 + height * 100 + font * 70) / 2);
        let element = self.body.element("text").attr("x", x).attr("y", baseline);
        let mut element = element.attr("font-size", font).attr("fill", ink);
        // On a pattern, an outline in the colour of the task keeps the text readable.
        let spins = !self.scene.spins(run).is_empty();
        if pattern(run.position).is_some() || is_late || spins {
            element = element.attr("stroke", base).attr("stroke-width", 3);
            element = element.attr("paint-order", "stroke");
        }
        element.attr("text-anchor", "middle").attr("pointer-events", "none").text(text);
    }

    /// Draws a notch at the end of a segment: its job continues later.
    pub(super) fn preempted(&mut self, x: Px, y: i64, height: i64) {
        self.used.preempted = true;
        let middle = Px(y * 100 + height * 50);
        let bottom = y + height;
        let tip = x - px(5);
        let notch = self.path(format_args!("M{x} {y}L{tip} {middle}L{x} {bottom}Z"));
        notch.attr("fill", "#fff").attrs(&EDGE).empty();
    }
}
