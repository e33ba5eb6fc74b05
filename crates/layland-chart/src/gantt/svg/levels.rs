//! Draws rows of criticality levels: steps with the height of the level, and its name if it fits.

use super::super::scene::CpuRow;
use super::SvgChart;
use super::style::{FAINT, INK, Px, px, text_width, time_text};

/// The distance between two rows.
pub(super) const PITCH: i64 = 18;
/// The heights of the highest and of the lowest step.
const HIGHEST: i64 = 14;
const LOWEST: i64 = 2;
const FONT: i64 = 10;

impl SvgChart<'_> {
    /// Draws the indicators of all CPUs, for a chart without rows of CPUs.
    pub(super) fn level_rows(&mut self, top: i64) -> i64 {
        let scene = self.scene;
        let rows = scene.cpus.iter().filter(|row| !row.levels.is_empty());
        rows.fold(top, |y, row| self.level_row(row, &scene.level_label(row), y))
    }

    /// Draws the indicator of a CPU, if it has one. Returns the top of the next row.
    pub(super) fn level_row(&mut self, row: &CpuRow, label: &str, top: i64) -> i64 {
        if row.levels.is_empty() {
            return top;
        }
        self.used.level = true;
        let bottom = top + HIGHEST;
        self.text(self.left - 8, bottom - 3, FONT, FAINT, "end", label);
        // Stretches narrower than a pixel are drawn a
        // pixel wide, unless a higher level covers them.
        let mut last: Option<(Px, usize)> = None;
        for stretch in &row.levels {
            let level = stretch.level.level();
            let (start, end) = (self.x(stretch.from), self.x(stretch.to));
            let end = end.max(start + px(1));
            if last.is_some_and(|(until, higher)| end <= until && level <= higher) {
                continue;
            }
            last = Some((end, level));
            let (from, to) = (time_text(stretch.from), time_text(stretch.to));
            let name = &self.scene.level_names[level];
            let tooltip = format!("criticality level {name} on CPU {}: {from} to {to}", row.id);
            self.step(start, end, bottom, level, &tooltip);
            if text_width(name, FONT) + 4 <= (end - start).0 / 100 {
                self.text(start.0 / 100 + 3, bottom - 3, FONT, INK, "start", name);
            }
        }
        top + PITCH
    }

    /// Draws a step of a level on a base line.
    pub(super) fn step(&mut self, start: Px, end: Px, bottom: i64, level: usize, tooltip: &str) {
        let highest = self.scene.level_names.len().max(2) as i64 - 1;
        let height = LOWEST + (HIGHEST - LOWEST) * level as i64 / highest;
        let step = self.rect(start, bottom - height, end - start, height, "#d0d0d0");
        step.attr("stroke", INK).attr("stroke-width", ".6").tooltip(tooltip);
    }
}
