//! The lines below a chart: the meaning of its characters, and the information that it omits.

use super::super::scene::TaskRow;
use super::super::words::{Nanoseconds, counted_misses};
use super::TextChart;
use layland_model::counted;
use std::fmt::Write;

impl TextChart<'_> {
    /// Prints the meaning of the characters that were drawn.
    pub(super) fn legend(&mut self) {
        let glyphs = self.glyphs;
        let [full, half, less] = glyphs.shades;
        let scene = self.scene;
        let mut parts = Vec::new();
        let mut names = Vec::new();
        if self.options.rows.has_tasks() {
            parts.push(format!("{} release", glyphs.release));
            parts.push(format!("{} deadline", glyphs.deadline));
            let rows = || scene.tasks.iter().flat_map(|row| &row.jobs);
            if scene.miss_count() > 0 {
                parts.push(format!("{} missed", glyphs.missed));
            }
            if rows().any(|job| job.tardy_at.is_some_and(|at| scene.shows(at))) {
                parts.push(format!("{} late end", glyphs.tardy));
            }
            parts.push(format!("{full} running"));
            parts.push(format!("{} waiting", glyphs.waiting));
            parts.extend(self.halts_legend());
        }
        if self.options.rows.has_cpus() {
            let has_row = |position: usize| {
                self.options.rows.has_tasks()
                    && scene.tasks.iter().any(|row| row.position == position)
            };
            let mut rows: Vec<&TaskRow> = scene.tasks.iter().chain(&scene.hidden).collect();
            rows.sort_by_key(|row| row.position);
            for row in rows {
                if let Some(key) = self.keys[row.position].filter(|_| !has_row(row.position)) {
                    names.push(format!("{key} {}", row.name));
                }
            }
            if self.used_other_task {
                names.push(format!("{} a task without a letter", glyphs.other_task));
            }
            if self.used_offline {
                parts.push(format!("{} offline", glyphs.offline));
            }
        }
        if !scene.level_names.is_empty() {
            let [lowest, higher] = glyphs.levels;
            let named = scene.level_names.iter().enumerate().skip(1);
            let named: Vec<String> = named.map(|(level, name)| format!("{level} {name}")).collect();
            parts.push(format!("{lowest} lowest criticality level"));
            parts.push(format!("{higher} raised: {}", named.join(", ")));
        }
        if self.used_shade {
            parts.push(format!("{half} at least half of the time"));
            parts.push(format!("{less} less"));
        }
        for parts in [names, parts] {
            self.wrapped(&parts);
        }
    }

    /// Prints parts with two spaces between them, in lines of at most the width of the chart.
    fn wrapped(&mut self, parts: &[String]) {
        let width = self.gutter + self.columns;
        let mut used = 0;
        for part in parts {
            let length = part.chars().count();
            if used > 0 && used + 2 + length > width.max(66) {
                self.out.push('\n');
                used = 0;
            }
            if used > 0 {
                self.out.push_str("  ");
                used += 2;
            }
            self.out.push_str(part);
            used += length;
        }
        if used > 0 {
            self.out.push('\n');
        }
    }

    /// Prints the information that the chart omits.
    pub(super) fn notes(&mut self) {
        let scene = self.scene;
        if self.crowd > 2 {
            let per_column = rounded((self.span() / self.columns as i128) as i64);
            let _ = writeln!(
                self.out,
                "a character is about {per_column} and stands for up to {} segments: shades are \
                 shares of time",
                self.crowd
            );
        }
        if self.options.rows.has_tasks() && !scene.hidden.is_empty() {
            let missing: usize = scene.hidden.iter().map(|row| row.misses).sum();
            let misses = counted_misses(missing);
            let _ = writeln!(
                self.out,
                "{} not shown, with {misses}",
                counted(scene.hidden.len(), "task")
            );
        }
    }
}

/// Rounds a length in nanoseconds to three significant digits.
fn rounded(ns: i64) -> Nanoseconds {
    let digits = ns.max(1).ilog10();
    let unit = 10i64.pow(digits.saturating_sub(2));
    Nanoseconds(ns / unit * unit)
}
