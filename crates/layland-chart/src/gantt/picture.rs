//! Gantt charts as PDF: a picture of one page that looks like the chart for LaTeX (`tikz.rs`).
//!
//! Coordinates are points, in floating point, from the top left. Times are converted to coordinates
//! in integers, so that the bytes are the same on any machine.

use super::axis::Axis;
use super::scene::{CpuRow, RunSegment, Scene, TaskRow};
use super::view::{Rows, View};
use super::words::{Nanoseconds, counted_misses};
use crate::plot::{Anchor, Colour, Picture, text_width};
use layland_model::Time;

/// Options of a chart as PDF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PdfOptions {
    /// The width of the time axis in points; at least 60 are used.
    pub width: u32,
    /// The rows to draw.
    pub rows: Rows,
    /// A title above the chart.
    pub title: Option<String>,
    /// The maximum number of tasks with rows; if there are more, those with misses come first.
    pub max_rows: usize,
}

impl Default for PdfOptions {
    /// Returns a width of 400 points, both kinds of rows, no title, at most 40 tasks.
    fn default() -> Self {
        PdfOptions { width: 400, rows: Rows::Both, title: None, max_rows: 40 }
    }
}

/// The colours of Okabe and Ito, as light as in the chart for LaTeX.
const PALETTE: [Colour; 8] = [
    [102, 170, 209],
    [240, 197, 102],
    [102, 197, 171],
    [224, 175, 202],
    [154, 210, 242],
    [246, 239, 142],
    [230, 158, 102],
    [208, 208, 208],
];
const INK: Colour = [0, 0, 0];
const FAINT: Colour = [130, 130, 130];
const GRID: Colour = [190, 190, 190];
const RED: Colour = [192, 0, 0];
const PAPER: Colour = [255, 255, 255];

/// The distance between two rows, the height of a bar, and that of an arrow.
const LANE: f64 = 26.0;
const BAR: f64 = 12.0;
const ARROW: f64 = 20.0;
/// The distance of a row of criticality levels from the row above it, and its height.
const LEVEL_LANE: f64 = 12.0;
const LEVEL: f64 = 8.0;
const FONT: f64 = 8.0;
const SMALL: f64 = 6.0;
const TINY: f64 = 4.5;
/// The height of the bar of a lock.
const LOCK: f64 = 5.0;

struct PictureChart<'a> {
    scene: &'a Scene,
    left: f64,
    width: f64,
    picture: Picture,
}

impl View<'_> {
    /// Returns a PDF of one page of the size of the chart, with
    /// its font embedded; `about` is the title of the document.
    ///
    /// ```
    /// use layland_chart::gantt::{PdfOptions, View};
    /// use layland_trace::{Labels, Trace};
    /// let (trace, labels) = (Trace::default(), Labels::default());
    /// assert!(View::new(&trace, &labels).pdf(&PdfOptions::default(), "nothing").starts_with(b"%PDF"));
    /// ```
    pub fn pdf(&self, options: &PdfOptions, about: &str) -> Vec<u8> {
        draw(self, options).pdf(about)
    }
}

fn draw(view: &View, options: &PdfOptions) -> Picture {
    let scene = Scene::new(view.trace, view.labels, view.from, view.to, options.max_rows);
    let rows = options.rows;
    let of_tasks = scene.tasks.iter().map(|row| text_width(&row.name, FONT));
    let widest = of_tasks.fold(text_width("CPU 9999 level", SMALL), f64::max);
    let (left, width) = (widest.min(140.0) + 10.0, f64::from(options.width.clamp(60, 14_000)));
    let picture = Picture { width: left + width + 10.0, height: 0.0, shapes: Vec::new() };
    let mut chart = PictureChart { scene: &scene, left, width, picture };
    let mut y = 4.0;
    if let Some(title) = &options.title {
        y += 12.0;
        chart.picture.text((4.0, y), title, 10.0, Anchor::Start, INK);
    }
    y += 11.0;
    let (from, to) = (time_text(scene.from), time_text(scene.to));
    let about = format!("{from} to {to}, {}", counted_misses(scene.miss_count()));
    chart.picture.text((4.0, y), &about, FONT, Anchor::Start, FAINT);
    let mut places = Vec::new();
    if rows.has_cpus() {
        for row in &scene.cpus {
            y += LANE;
            places.push(y - BAR / 2.0);
            chart.cpu(row, y);
            if !scene.level_names.is_empty() {
                y += LEVEL_LANE;
                chart.levels(row, "level", y);
            }
        }
        chart.migrations(&places);
    } else if !scene.level_names.is_empty() {
        for row in &scene.cpus {
            y += LEVEL_LANE;
            chart.levels(row, &scene.level_label(row), y);
        }
    }
    if rows.has_tasks() {
        for row in &scene.tasks {
            y += LANE;
            chart.task(row, y);
        }
    }
    y += 6.0;
    chart.axis(y);
    y += 26.0;
    if rows.has_tasks() && !scene.hidden.is_empty() {
        y += 10.0;
        let hidden = format!("{} more tasks are not shown", scene.hidden.len());
        chart.picture.text((4.0, y), &hidden, FONT, Anchor::Start, FAINT);
    }
    chart.picture.height = y + 4.0;
    chart.picture
}

fn time_text(time: impl Into<Nanoseconds>) -> String {
    time.into().to_string().replace("us", "µs")
}

impl PictureChart<'_> {
    /// Returns the coordinate of a time; times outside the window
    /// are at its ends. Hundredths of a point are exact enough.
    fn x(&self, at: Time) -> f64 {
        let (from, to) = (i128::from(self.scene.from.ns()), i128::from(self.scene.to.ns()));
        let offset = i128::from(at.ns()).clamp(from, to) - from;
        let hundredths = offset * (self.width * 100.0) as i128 / (to - from);
        self.left + hundredths as f64 / 100.0
    }

    /// Draws a name on the left, shortened to fit, and the base line of its bars.
    fn row(&mut self, name: &str, size: f64, middle: f64, y: f64) {
        let room = self.left - 8.0;
        let mut shown: String = name.to_owned();
        while text_width(&shown, size) > room && shown.pop().is_some() {}
        let at = (self.left - 4.0, middle + size * 0.35);
        self.picture.text(at, &shown, size, Anchor::End, INK);
        let ends = vec![(self.left, y), (self.left + self.width, y)];
        self.picture.line(ends, GRID, 0.4, &[]);
    }

    fn bar(&mut self, run: &RunSegment, y: f64, text: &str) {
        let (start, end) = (self.x(run.start), self.x(run.end));
        let corners = ((start, y - BAR), (end, y));
        self.picture.block(corners.0, corners.1, PALETTE[run.position % PALETTE.len()]);
        if run.overhead.ns() > 0 {
            // Overheads precede the execution of the job.
            let until = self.x(run.start.saturating_add(run.overhead).min(run.end));
            self.picture.block((start, y - BAR), (until, y), FAINT);
        }
        let scene = self.scene;
        for spin in scene.spins(run) {
            let (from, to) = (self.x(spin.from), self.x(spin.to));
            if from < to {
                self.spin(from, to, y);
            }
        }
        self.outline(start, end, y - BAR, y);
        if text_width(text, SMALL) + 2.0 <= end - start {
            let middle = ((start + end) / 2.0, y - BAR / 2.0 + SMALL * 0.35);
            self.picture.text(middle, text, SMALL, Anchor::Middle, INK);
        }
    }

    /// Draws a zigzag on white: the job holds its CPU, but makes no progress.
    fn spin(&mut self, left: f64, right: f64, y: f64) {
        let (top, step) = (y - BAR, 3.0);
        self.picture.block((left, top), (right, y), PAPER);
        // Above and below the text.
        for low in [top + 3.0, y - 1.0] {
            let mut waves = vec![(left, low)];
            for count in 1..=((right - left) / step) as usize {
                let height = if count % 2 == 1 { 2.0 } else { 0.0 };
                waves.push((left + step * count as f64, low - height));
            }
            self.picture.line(waves, INK, 0.4, &[]);
        }
        self.outline(left, right, top, y);
    }

    fn outline(&mut self, left: f64, right: f64, top: f64, bottom: f64) {
        let corners = vec![(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
        self.picture.line(corners, INK, 0.3, &[]);
    }

    fn cpu(&mut self, row: &CpuRow, y: f64) {
        self.row(&format!("CPU {}", row.id), FONT, y - BAR / 2.0, y);
        for &(start, end) in &row.offline {
            let (start, end) = (self.x(start), self.x(end));
            self.picture.block((start, y - BAR), (end, y), GRID);
        }
        let scene = self.scene;
        let rows = || scene.tasks.iter().chain(&scene.hidden);
        for run in &row.runs {
            let name = rows().find(|row| row.position == run.position);
            self.bar(run, y, name.map_or("", |row| row.name.as_str()));
        }
    }

    /// Draws lines from the end of a job on one CPU to its continuation on another.
    fn migrations(&mut self, places: &[f64]) {
        let scene = self.scene;
        let place = |cpu| {
            let row = scene.cpus.iter().position(|row| row.id == cpu)?;
            places.get(row).copied()
        };
        for migration in &scene.migrations {
            if let (Some(from), Some(to)) = (place(migration.from.1), place(migration.to.1)) {
                let ends = vec![(self.x(migration.from.0), from), (self.x(migration.to.0), to)];
                self.picture.line(ends, FAINT, 0.5, &[2.0, 1.5]);
            }
        }
    }

    /// Draws the criticality indicator of a CPU: bars with the height and the name of the level.
    fn levels(&mut self, row: &CpuRow, label: &str, y: f64) {
        let scene = self.scene;
        self.row(label, SMALL, y - LEVEL / 2.0, y);
        let steps = scene.level_names.len().max(2) as f64 - 1.0;
        for stretch in &row.levels {
            let (level, name) = (stretch.level.level(), &scene.level_names[stretch.level.level()]);
            let (start, end) = (self.x(stretch.from), self.x(stretch.to));
            let top = y - 1.0 - (LEVEL - 1.0) * level as f64 / steps;
            self.picture.block((start, top), (end, y), PALETTE[7]);
            self.outline(start, end, top, y);
            if text_width(name, SMALL) + 2.0 <= end - start {
                self.picture.text((start + 1.0, y - 1.5), name, SMALL, Anchor::Start, INK);
            }
        }
    }

    fn task(&mut self, row: &TaskRow, y: f64) {
        self.row(&row.name, FONT, y - BAR / 2.0, y);
        for &(start, end) in &row.waits {
            let middle = y - BAR / 2.0;
            let ends = vec![(self.x(start), middle), (self.x(end), middle)];
            self.picture.line(ends, FAINT, 0.6, &[0.8, 1.5]);
        }
        for &(start, end) in &row.suspensions {
            let middle = y - BAR / 2.0;
            let ends = vec![(self.x(start), middle), (self.x(end), middle)];
            self.picture.line(ends, FAINT, 0.3, &[]);
        }
        for run in &row.runs {
            let many = self.scene.cpus.len() > 1;
            let cpu = if many { run.cpu.to_string() } else { String::new() };
            self.bar(run, y, &cpu);
        }
        self.locks(row, y);
        for job in &row.jobs {
            if self.scene.shows(job.release) {
                self.arrow(job.release, (y, y - ARROW));
            }
            if self.scene.shows(job.deadline) {
                self.arrow(job.deadline, (y - ARROW, y));
            }
            if let Some(at) = job.missed_at.filter(|&at| self.scene.shows(at)) {
                let (x, middle) = (self.x(at), y - BAR - 4.0);
                for (low, high) in [(-2.6, 2.6), (2.6, -2.6)] {
                    let ends = vec![(x - 2.6, middle + low), (x + 2.6, middle + high)];
                    self.picture.line(ends, RED, 1.2, &[]);
                }
            }
        }
    }

    /// Draws the locks that jobs hold or wait for, along the
    /// line; with the name of the resource if it fits.
    fn locks(&mut self, row: &TaskRow, y: f64) {
        for lock in &row.locks {
            let (start, end, top) = (self.x(lock.from), self.x(lock.to), y - LOCK);
            let (ground, ink) = if lock.holds { (INK, PAPER) } else { (PAPER, INK) };
            self.picture.block((start, top), (end, y), ground);
            let corners = vec![(start, top), (end, top), (end, y), (start, y), (start, top)];
            let dashes: &'static [f64] = if lock.holds { &[] } else { &[1.5, 1.0] };
            self.picture.line(corners, INK, 0.3, dashes);
            let name = self.scene.resource(lock);
            if text_width(&name, TINY) + 2.0 <= end - start {
                let middle = ((start + end) / 2.0, y - LOCK / 2.0 + TINY * 0.35);
                self.picture.text(middle, &name, TINY, Anchor::Middle, ink);
            }
        }
    }

    /// Draws a vertical arrow from one height to another.
    fn arrow(&mut self, at: Time, (tail, tip): (f64, f64)) {
        let x = self.x(at);
        let back = if tip < tail { 4.0 } else { -4.0 };
        self.picture.line(vec![(x, tail), (x, tip + back)], INK, 0.6, &[]);
        let points = vec![(x, tip), (x - 1.5, tip + back), (x + 1.5, tip + back)];
        self.picture.shapes.push(crate::plot::Shape::Polygon { points, colour: INK });
    }

    fn axis(&mut self, y: f64) {
        let scene = self.scene;
        let columns = (self.width / 5.0) as usize;
        let axis = Axis::new(scene.from.ns(), scene.to.ns(), columns, 12);
        let ends = vec![(self.left, y), (self.left + self.width, y)];
        self.picture.line(ends, INK, 0.5, &[]);
        for (at, label) in &axis.ticks {
            let x = self.x(Time::from_ns(*at));
            self.picture.line(vec![(x, y), (x, y + 2.5)], INK, 0.5, &[]);
            self.picture.text((x, y + 10.0), label, FONT, Anchor::Middle, INK);
        }
        let unit = match axis.base {
            Some(base) => format!("time in {} from {}", axis.unit, time_text(Time::from_ns(base))),
            None => format!("time in {}", axis.unit),
        };
        let middle = (self.left + self.width / 2.0, y + 20.0);
        self.picture.text(middle, &unit.replace("us", "µs"), FONT, Anchor::Middle, INK);
    }
}
