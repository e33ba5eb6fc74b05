//! Gantt charts as text.
//!
//! A character represents a stretch of time. It shows a task, a CPU or a solid
//! block only if that applies to at least half of the stretch; otherwise it shows
//! a shade for the share of time. A missed deadline is always visible: it takes
//! precedence over every other mark, and the number of misses is next to the task.
//!
//! Long because one place decides what a cell of the
//! chart shows, among everything that competes for it.

mod legend;
mod line;
mod locks;

use self::line::{ASCII, Glyphs, KEYS, Paint, TextLine, UNICODE};
use super::axis::Axis;
use super::scene::{CpuRow, RunSegment, Scene, TaskRow};
use super::view::{Rows, View};
use super::words::{Nanoseconds, counted_misses};
use layland_model::shown::with_micro;
use layland_model::{Time, counted};
use std::fmt::Write;

/// Options of a chart as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// The number of characters in a row; at least 24 are used.
    pub width: usize,
    /// The rows to draw.
    pub rows: Rows,
    /// The characters to use.
    pub charset: Charset,
    /// The colours to use.
    pub colours: Colours,
    /// The maximum number of tasks with rows; if there are more, those with misses come first.
    pub max_rows: usize,
}

impl Default for TextOptions {
    /// Returns a width of 100 characters, both kinds of rows, Unicode, no colour, at most 24 tasks.
    fn default() -> Self {
        TextOptions {
            width: 100,
            rows: Rows::Both,
            charset: Charset::Unicode,
            colours: Colours::Never,
            max_rows: 24,
        }
    }
}

/// The characters of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Charset {
    /// Arrows, blocks and box drawing.
    #[default]
    Unicode,
    /// ASCII only.
    Ascii,
}

/// Colours in a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Colours {
    /// Plain text.
    #[default]
    Never,
    /// One of eight colours per task, and red for misses, by ANSI escape codes.
    Ansi,
}

/// The label of a row of levels under its CPU.
const LEVEL_LABEL: &str = "  level";

/// A part of a character's time, in units of 1 / `TextChart::columns` nanoseconds.
type Share = i128;

struct TextChart<'a> {
    scene: &'a Scene,
    options: &'a TextOptions,
    glyphs: &'a Glyphs,
    gutter: usize,
    columns: usize,
    /// The key of each task that has one, by position.
    keys: Vec<Option<char>>,
    out: String,
    /// The maximum number of segments in one character.
    crowd: usize,
    used_other_task: bool,
    used_offline: bool,
    used_shade: bool,
    used_halts: locks::UsedSymbols,
}

impl View<'_> {
    /// Returns the chart as text for a terminal.
    pub fn text(&self, options: &TextOptions) -> String {
        draw(self, options)
    }
}

fn draw(view: &View, options: &TextOptions) -> String {
    let scene = Scene::new(view.trace, view.labels, view.from, view.to, options.max_rows);
    let glyphs = match options.charset {
        Charset::Unicode => &UNICODE,
        Charset::Ascii => &ASCII,
    };
    let width = options.width.max(24);
    let keys = keys(&scene);
    let suffix = |row: &TaskRow| {
        if row.misses == 0 { String::new() } else { format!(" {}{}", glyphs.missed, row.misses) }
    };
    let shows_tasks = options.rows.has_tasks();
    let task_labels =
        scene.tasks.iter().map(|row| 2 + row.name.chars().count() + suffix(row).chars().count());
    let cpu_labels = scene.cpus.iter().map(|row| 4 + row.id.to_string().len());
    let has_levels = !scene.level_names.is_empty();
    let level_labels = scene.cpus.iter().filter(|_| has_levels).map(|row| {
        let under_cpu = LEVEL_LABEL.to_owned();
        let label = if options.rows.has_cpus() { under_cpu } else { scene.level_label(row) };
        label.chars().count()
    });
    let cpu_labels = cpu_labels.chain(level_labels);
    let longest =
        if shows_tasks { cpu_labels.chain(task_labels).max() } else { cpu_labels.chain([6]).max() };
    let gutter = (longest.unwrap_or(0) + 2).min(width / 3);
    let mut chart = TextChart {
        scene: &scene,
        options,
        glyphs,
        gutter,
        columns: width - gutter,
        keys,
        out: String::new(),
        crowd: 0,
        used_other_task: false,
        used_offline: false,
        used_shade: false,
        used_halts: locks::UsedSymbols::default(),
    };
    chart.header();
    if options.rows.has_cpus() {
        chart.cpu_rows();
    } else {
        scene.cpus.iter().for_each(|row| chart.level_row(row, &scene.level_label(row)));
    }
    if options.rows == Rows::Both {
        chart.axis();
    }
    if shows_tasks {
        for row in &scene.tasks {
            chart.task_row(row, &suffix(row));
        }
    }
    chart.axis();
    chart.legend();
    chart.notes();
    match options.charset {
        Charset::Unicode => with_micro(&chart.out).into_owned(),
        Charset::Ascii => chart.out,
    }
}

/// Assigns a letter or digit to each of the first 62 tasks that run or have a row.
fn keys(scene: &Scene) -> Vec<Option<char>> {
    let count = scene.tasks.len() + scene.hidden.len();
    let mut wants_key = vec![false; count];
    for row in &scene.tasks {
        wants_key[row.position] = true;
    }
    for run in scene.cpus.iter().flat_map(|row| &row.runs) {
        wants_key[run.position] = true;
    }
    let mut free = KEYS.iter().map(|&byte| char::from(byte));
    wants_key.into_iter().map(|wants| wants.then(|| free.next()).flatten()).collect()
}

impl TextChart<'_> {
    fn span(&self) -> i128 {
        i128::from(self.scene.to.ns()) - i128::from(self.scene.from.ns())
    }

    /// Returns the column of a time in the window; the
    /// end of the window belongs to the last column.
    fn column(&self, at: Time) -> usize {
        let offset = i128::from(at.ns()) - i128::from(self.scene.from.ns());
        let column = offset * self.columns as i128 / self.span();
        usize::try_from(column).unwrap_or(0).min(self.columns - 1)
    }

    /// Calls `each` for every column that an interval overlaps, with the share that it covers; a
    /// whole column is `self.span()`.
    fn cover(&self, start: Time, end: Time, mut each: impl FnMut(usize, Share)) {
        let (from, span) = (i128::from(self.scene.from.ns()), self.span());
        // Multiply by the number of columns instead of dividing the span, so that shares are exact.
        let scaled = |at: Time| (i128::from(at.ns()) - from).clamp(0, span) * self.columns as i128;
        let (start, end) = (scaled(start), scaled(end));
        let mut at = start;
        while at < end {
            let column = at / span;
            let next = ((column + 1) * span).min(end);
            each(column as usize, next - at);
            at = next;
        }
    }

    fn shade(&mut self, share: Share) -> char {
        let [full, half, less] = self.glyphs.shades;
        self.used_shade |= 0 < share && share < self.span();
        match share {
            share if share <= 0 => ' ',
            share if share >= self.span() => full,
            share if share * 2 >= self.span() => half,
            _ => less,
        }
    }

    fn line(&self) -> TextLine {
        TextLine::blank(self.gutter + self.columns)
    }

    fn print(&mut self, line: &TextLine) {
        line.print(&mut self.out, self.options.colours);
    }

    fn header(&mut self) {
        let scene = self.scene;
        let task_count = scene.tasks.len() + scene.hidden.len();
        let misses = counted_misses(scene.miss_count());
        let text = format!(
            "{} to {}, {}, {}, {misses}",
            Nanoseconds::from(scene.from),
            Nanoseconds::from(scene.to),
            counted(task_count, "task"),
            counted(scene.cpus.len(), "CPU"),
        );
        let _ = writeln!(self.out, "{text}");
    }

    fn cpu_rows(&mut self) {
        let scene = self.scene;
        for row in &scene.cpus {
            let mut line = self.line();
            line.write(0, &format!("CPU {}", row.id), Paint::Plain);
            // For each column the share of each task, and the number of segments.
            let mut tasks: Vec<Vec<(usize, Share)>> = vec![Vec::new(); self.columns];
            let mut crowd = vec![0usize; self.columns];
            for run in &row.runs {
                self.cover(run.start, run.end, |column, share| {
                    crowd[column] += 1;
                    match tasks[column].iter_mut().find(|(task, _)| *task == run.position) {
                        Some((_, sum)) => *sum += share,
                        None => tasks[column].push((run.position, share)),
                    }
                });
            }
            self.crowd = self.crowd.max(crowd.into_iter().max().unwrap_or(0));
            let mut offline = vec![0; self.columns];
            for &(start, end) in &row.offline {
                self.cover(start, end, |column, share| offline[column] += share);
            }
            for (column, tasks) in tasks.into_iter().enumerate() {
                let busy: Share = tasks.iter().map(|&(_, share)| share).sum();
                // The first of the largest shares.
                let most = tasks.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a });
                let (glyph, paint) = match most {
                    Some((task, share)) if share * 2 >= self.span() => {
                        let key = self.keys[task];
                        self.used_other_task |= key.is_none();
                        (key.unwrap_or(self.glyphs.other_task), Paint::Task(task))
                    }
                    Some(_) => (self.shade(busy), Paint::Plain),
                    None if offline[column] * 2 >= self.span() => {
                        self.used_offline = true;
                        (self.glyphs.offline, Paint::Plain)
                    }
                    None => continue,
                };
                line.put(self.gutter + column, glyph, paint);
            }
            self.print(&line);
            self.level_row(row, LEVEL_LABEL);
        }
        if self.options.rows == Rows::Cpus && scene.miss_count() > 0 {
            let mut line = self.line();
            line.write(0, "missed", Paint::Plain);
            let rows = scene.tasks.iter().chain(&scene.hidden);
            for job in rows.flat_map(|row| &row.jobs).filter(|job| scene.misses(job)) {
                let at = job.missed_at.unwrap_or(job.deadline);
                line.put(self.gutter + self.column(at), self.glyphs.missed, Paint::Miss);
            }
            self.print(&line);
        }
    }

    /// Draws the criticality indicator of a CPU, if it has one: in each character the highest level
    /// in its time, by its name if that fits, or else by its number.
    fn level_row(&mut self, row: &CpuRow, label: &str) {
        if row.levels.is_empty() {
            return;
        }
        let mut line = self.line();
        line.write(0, &shortened(label, self.gutter, self.glyphs.ellipsis), Paint::Plain);
        let mut highest: Vec<Option<usize>> = vec![None; self.columns];
        for stretch in &row.levels {
            let level = stretch.level.level();
            self.cover(stretch.from, stretch.to, |column, _| {
                highest[column] = highest[column].max(Some(level));
            });
        }
        let [lowest, higher] = self.glyphs.levels;
        let mut column = self.gutter;
        for alike in highest.chunk_by(|a, b| a == b) {
            let Some(level) = alike[0] else {
                column += alike.len();
                continue;
            };
            let name = &self.scene.level_names[level];
            let number = char::from_digit(level as u32, 10).unwrap_or(higher);
            let has_name = name.chars().count() < alike.len();
            for at in column..column + alike.len() {
                let fill = if has_name { higher } else { number };
                line.put(at, if level == 0 { lowest } else { fill }, Paint::Plain);
            }
            if has_name {
                line.write(
                    column,
                    &shortened(name, alike.len(), self.glyphs.ellipsis),
                    Paint::Plain,
                );
            }
            column += alike.len();
        }
        self.print(&line);
    }

    fn task_row(&mut self, row: &TaskRow, suffix: &str) {
        let (mut marks, mut line) = (self.line(), self.line());
        let key = self.keys[row.position].unwrap_or(self.glyphs.other_task);
        let paint = Paint::Task(row.position);
        line.put(0, key, paint);
        let room = self.gutter.saturating_sub(4 + suffix.chars().count());
        let name = shortened(&row.name, room, self.glyphs.ellipsis);
        line.write(2, &name, Paint::Plain);
        line.write(2 + name.chars().count(), suffix, Paint::Miss);
        self.markers(row, &mut marks);

        let mut waiting = vec![0; self.columns];
        for &(start, end) in &row.waits {
            self.cover(start, end, |column, share| waiting[column] += share);
        }
        let mut running = vec![0; self.columns];
        let mut crowd = vec![0usize; self.columns];
        for run in &row.runs {
            self.cover(run.start, run.end, |column, share| {
                running[column] += share;
                crowd[column] += 1;
            });
        }
        self.crowd = self.crowd.max(crowd.into_iter().max().unwrap_or(0));
        for column in 0..self.columns {
            if running[column] > 0 {
                let glyph = self.shade(running[column]);
                line.put(self.gutter + column, glyph, paint);
            } else if waiting[column] > 0 {
                line.put(self.gutter + column, self.glyphs.waiting, Paint::Plain);
            }
        }
        self.halts(row, &running, &waiting, &mut line);
        if self.scene.cpus.len() > 1 {
            row.runs.iter().for_each(|run| self.cpu_number(run, &mut line, paint));
        }
        self.print(&marks);
        self.print(&line);
        self.lock_row(row);
    }

    /// Draws the number of the CPU in the middle of a segment, if it fits.
    fn cpu_number(&self, run: &RunSegment, line: &mut TextLine, paint: Paint) {
        let mut full = Vec::new();
        self.cover(run.start, run.end, |column, share| {
            if share == self.span() {
                full.push(column);
            }
        });
        let number = run.cpu.to_string();
        if let Some(&first) = full.first()
            && full.len() >= number.len() + 2
        {
            let offset = (full.len() - number.len()) / 2;
            line.write(self.gutter + first + offset, &number, paint);
        }
    }

    fn markers(&self, row: &TaskRow, marks: &mut TextLine) {
        #[derive(Clone, Copy, Default)]
        struct Marks {
            release: bool,
            deadline: bool,
            missed: bool,
            tardy: bool,
        }
        let mut columns = vec![Marks::default(); self.columns];
        let shown = |at: Time| self.scene.shows(at).then(|| self.column(at));
        for job in &row.jobs {
            if let Some(column) = shown(job.release) {
                columns[column].release = true;
            }
            if let Some(column) = job.missed_at.and_then(shown) {
                columns[column].missed = true;
            } else if let Some(column) = shown(job.deadline) {
                columns[column].deadline = true;
            }
            if let Some(column) = job.tardy_at.and_then(shown) {
                columns[column].tardy = true;
            }
        }
        let glyphs = self.glyphs;
        for (column, here) in columns.into_iter().enumerate() {
            let (glyph, paint) = match here {
                Marks { missed: true, .. } => (glyphs.missed, Paint::Miss),
                Marks { tardy: true, .. } => (glyphs.tardy, Paint::Miss),
                Marks { release: true, deadline: true, .. } => {
                    (glyphs.release_and_deadline, Paint::Plain)
                }
                Marks { release: true, .. } => (glyphs.release, Paint::Plain),
                Marks { deadline: true, .. } => (glyphs.deadline, Paint::Plain),
                Marks { .. } => continue,
            };
            marks.put(self.gutter + column, glyph, paint);
        }
    }

    fn axis(&mut self) {
        let (from, to) = (self.scene.from, self.scene.to);
        let (mut rule, mut labels) = (self.line(), self.line());
        for column in 0..self.columns {
            rule.put(self.gutter + column, self.glyphs.axis, Paint::Plain);
        }
        rule.put(self.gutter, self.glyphs.first_tick, Paint::Plain);
        // The unit is at the end, and labels do not overlap it.
        let room = self.columns.saturating_sub(3);
        let axis = Axis::new(from.ns(), to.ns(), room, 16);
        let mut free_from = 0;
        for (at, label) in &axis.ticks {
            let column = self.column(Time::from_ns(*at));
            if column > 0 {
                rule.put(self.gutter + column, self.glyphs.tick, Paint::Plain);
            }
            let start = column.saturating_sub(label.len() / 2);
            if start >= free_from && start + label.len() <= room {
                labels.write(self.gutter + start, label, Paint::Plain);
                free_from = start + label.len() + 1;
            }
        }
        let name = match (axis.unit, self.options.charset) {
            ("us", Charset::Unicode) => "µs",
            (unit, _) => unit,
        };
        let unit = self.columns.saturating_sub(axis.unit.len());
        labels.write(self.gutter + unit, name, Paint::Plain);
        self.print(&rule);
        self.print(&labels);
        if let Some(base) = axis.base {
            let _ = writeln!(self.out, "times count from {}", Nanoseconds(base));
        }
    }
}

/// Returns at most `room` characters of a name.
fn shortened(name: &str, room: usize, ellipsis: char) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    if name.chars().count() <= room {
        return name.chars().map(clean).collect();
    }
    let kept = room.saturating_sub(1);
    name.chars().map(clean).take(kept).chain((room > 0).then_some(ellipsis)).collect()
}
