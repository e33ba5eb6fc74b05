//! Gantt charts as text.
//!
//! A character stands for a stretch of time. It shows a task, a CPU or a solid block only where that
//! is true of the whole stretch or at least of half of it, and a shade of the share of time where
//! not. A missed deadline is always visible: it takes precedence over every other mark, and the
//! number of misses is next to the task.
//!
//! Long because what a cell of the chart shows depends on all that competes for it, and is decided in one place.

use super::axis::Axis;
use super::scene::{CpuLane, Run, Scene, TaskLane};
use super::{Lanes, Nanoseconds, View, counted_misses};
use layland_model::{Time, counted};
use std::fmt::Write;

/// How a chart is drawn as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// The characters in a lane; at least 24 are used.
    pub width: usize,
    /// Which lanes.
    pub lanes: Lanes,
    /// Which characters.
    pub charset: Charset,
    /// Whether to colour.
    pub colours: Colours,
    /// The most tasks that get a lane; of more, those with misses come first.
    pub max_rows: usize,
}

impl Default for TextOptions {
    /// 100 characters wide, both kinds of lanes, Unicode, no colour, at most 24 tasks.
    fn default() -> Self {
        TextOptions {
            width: 100,
            lanes: Lanes::Both,
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

/// The characters by meaning.
struct Glyphs {
    release: char,
    deadline: char,
    release_and_deadline: char,
    missed: char,
    tardy: char,
    /// Busy all the time; at least half of it; less.
    shades: [char; 3],
    waiting: char,
    offline: char,
    other_task: char,
    /// The lowest criticality level; a higher one.
    levels: [char; 2],
    axis: char,
    tick: char,
    first_tick: char,
    ellipsis: char,
}

const UNICODE: Glyphs = Glyphs {
    release: '↑',
    deadline: '↓',
    release_and_deadline: '↕',
    missed: '✗',
    tardy: '!',
    shades: ['█', '▓', '░'],
    waiting: '·',
    offline: '╳',
    other_task: '?',
    levels: ['╌', '━'],
    axis: '─',
    tick: '┬',
    first_tick: '├',
    ellipsis: '…',
};
const ASCII: Glyphs = Glyphs {
    release: '^',
    deadline: 'v',
    release_and_deadline: 'I',
    missed: 'X',
    tardy: '!',
    shades: ['#', '+', '-'],
    waiting: '.',
    offline: '/',
    other_task: '?',
    levels: ['-', '='],
    axis: '-',
    tick: '+',
    first_tick: '+',
    ellipsis: '~',
};

const KEYS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// 256-colour codes near the Okabe-Ito palette.
const ANSI_COLOURS: [u8; 8] = [32, 214, 36, 117, 175, 227, 166, 246];

/// How a character is coloured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Paint {
    Plain,
    Task(usize),
    Miss,
}

/// A line of characters that can be painted over.
struct Line(Vec<(char, Paint)>);

impl Line {
    fn blank(width: usize) -> Line {
        Line(vec![(' ', Paint::Plain); width])
    }
    fn put(&mut self, at: usize, glyph: char, paint: Paint) {
        if let Some(cell) = self.0.get_mut(at) {
            *cell = (glyph, paint);
        }
    }
    fn write(&mut self, at: usize, text: &str, paint: Paint) {
        text.chars().enumerate().for_each(|(offset, glyph)| self.put(at + offset, glyph, paint));
    }
    fn print(&self, out: &mut String, colours: Colours) {
        let length = self.0.iter().rposition(|&(glyph, _)| glyph != ' ').map_or(0, |at| at + 1);
        let mut current = Paint::Plain;
        for &(glyph, paint) in &self.0[..length] {
            if colours == Colours::Ansi && paint != current {
                out.push_str("\x1b[0m");
                match paint {
                    Paint::Plain => {}
                    Paint::Task(position) => {
                        let code = ANSI_COLOURS[position % ANSI_COLOURS.len()];
                        let _ = write!(out, "\x1b[38;5;{code}m");
                    }
                    Paint::Miss => out.push_str("\x1b[1;31m"),
                }
                current = paint;
            }
            out.push(glyph);
        }
        if current != Paint::Plain {
            out.push_str("\x1b[0m");
        }
        out.push('\n');
    }
}

/// What a lane of levels is called under its CPU.
const LEVEL_LABEL: &str = "  level";

/// The part of a character's time, in units of 1 / `Chart::columns` nanoseconds.
type Share = i128;

struct Chart<'a> {
    scene: &'a Scene,
    options: &'a TextOptions,
    glyphs: &'a Glyphs,
    gutter: usize,
    columns: usize,
    /// The key of each task that has one, by position.
    keys: Vec<Option<char>>,
    out: String,
    /// The most segments that a character stands for.
    crowd: usize,
    used_other_task: bool,
    used_offline: bool,
    used_shade: bool,
}

pub(super) fn draw(view: &View, options: &TextOptions) -> String {
    let scene = Scene::new(view.trace, view.labels, view.from, view.to, options.max_rows);
    let glyphs = match options.charset {
        Charset::Unicode => &UNICODE,
        Charset::Ascii => &ASCII,
    };
    let width = options.width.max(24);
    let keys = keys(&scene);
    let suffix = |lane: &TaskLane| {
        if lane.misses == 0 { String::new() } else { format!(" {}{}", glyphs.missed, lane.misses) }
    };
    let shows_tasks = options.lanes.has_tasks();
    let task_labels =
        scene.tasks.iter().map(|lane| 2 + lane.name.chars().count() + suffix(lane).chars().count());
    let cpu_labels = scene.cpus.iter().map(|lane| 4 + lane.id.to_string().len());
    let has_levels = !scene.level_names.is_empty();
    let level_labels = scene.cpus.iter().filter(|_| has_levels).map(|lane| {
        let under_cpu = LEVEL_LABEL.to_owned();
        let label = if options.lanes.has_cpus() { under_cpu } else { scene.level_label(lane) };
        label.chars().count()
    });
    let cpu_labels = cpu_labels.chain(level_labels);
    let longest =
        if shows_tasks { cpu_labels.chain(task_labels).max() } else { cpu_labels.chain([6]).max() };
    let gutter = (longest.unwrap_or(0) + 2).min(width / 3);
    let mut chart = Chart {
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
    };
    chart.header();
    if options.lanes.has_cpus() {
        chart.cpu_lanes();
    } else {
        scene.cpus.iter().for_each(|lane| chart.level_lane(lane, &scene.level_label(lane)));
    }
    if options.lanes == Lanes::Both {
        chart.axis();
    }
    if shows_tasks {
        for lane in &scene.tasks {
            chart.task_lane(lane, &suffix(lane));
        }
    }
    chart.axis();
    chart.legend();
    chart.notes();
    chart.out
}

/// A letter or digit for each of the first 62 tasks that run or have a lane.
fn keys(scene: &Scene) -> Vec<Option<char>> {
    let count = scene.tasks.len() + scene.hidden.len();
    let mut wants_key = vec![false; count];
    for lane in &scene.tasks {
        wants_key[lane.position] = true;
    }
    for run in scene.cpus.iter().flat_map(|lane| &lane.runs) {
        wants_key[run.position] = true;
    }
    let mut free = KEYS.iter().map(|&byte| char::from(byte));
    wants_key.into_iter().map(|wants| wants.then(|| free.next()).flatten()).collect()
}

impl Chart<'_> {
    fn span(&self) -> i128 {
        i128::from(self.scene.to.ns()) - i128::from(self.scene.from.ns())
    }

    /// The column of a time that is in the window; its end belongs to the last column.
    fn column(&self, at: Time) -> usize {
        let offset = i128::from(at.ns()) - i128::from(self.scene.from.ns());
        let column = offset * self.columns as i128 / self.span();
        usize::try_from(column).unwrap_or(0).min(self.columns - 1)
    }

    /// Calls with each column that an interval covers in part, and how much it covers of it; a
    /// whole column is `self.span()`.
    fn cover(&self, start: Time, end: Time, mut each: impl FnMut(usize, Share)) {
        let (from, span) = (i128::from(self.scene.from.ns()), self.span());
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

    fn line(&self) -> Line {
        Line::blank(self.gutter + self.columns)
    }

    fn print(&mut self, line: &Line) {
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

    fn cpu_lanes(&mut self) {
        let scene = self.scene;
        for lane in &scene.cpus {
            let mut line = self.line();
            line.write(0, &format!("CPU {}", lane.id), Paint::Plain);
            // Per column: how much of it each task has, how many segments there are.
            let mut tasks: Vec<Vec<(usize, Share)>> = vec![Vec::new(); self.columns];
            let mut crowd = vec![0usize; self.columns];
            for run in &lane.runs {
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
            for &(start, end) in &lane.offline {
                self.cover(start, end, |column, share| offline[column] += share);
            }
            for (column, tasks) in tasks.into_iter().enumerate() {
                let busy: Share = tasks.iter().map(|&(_, share)| share).sum();
                // The first of the largest.
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
            self.level_lane(lane, LEVEL_LABEL);
        }
        if self.options.lanes == Lanes::Cpus && scene.miss_count() > 0 {
            let mut line = self.line();
            line.write(0, "missed", Paint::Plain);
            let lanes = scene.tasks.iter().chain(&scene.hidden);
            for job in lanes.flat_map(|lane| &lane.jobs).filter(|job| scene.misses(job)) {
                let at = job.missed_at.unwrap_or(job.deadline);
                line.put(self.gutter + self.column(at), self.glyphs.missed, Paint::Miss);
            }
            self.print(&line);
        }
    }

    /// The criticality indicator of a CPU, if it has one: in each character the highest level of its time,
    /// by its name where there is room for that, or else by its number.
    fn level_lane(&mut self, lane: &CpuLane, label: &str) {
        if lane.levels.is_empty() {
            return;
        }
        let mut line = self.line();
        line.write(0, &shortened(label, self.gutter, self.glyphs.ellipsis), Paint::Plain);
        let mut highest: Vec<Option<usize>> = vec![None; self.columns];
        for stretch in &lane.levels {
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

    fn task_lane(&mut self, lane: &TaskLane, suffix: &str) {
        let (mut marks, mut line) = (self.line(), self.line());
        let key = self.keys[lane.position].unwrap_or(self.glyphs.other_task);
        let paint = Paint::Task(lane.position);
        line.put(0, key, paint);
        let room = self.gutter.saturating_sub(4 + suffix.chars().count());
        let name = shortened(&lane.name, room, self.glyphs.ellipsis);
        line.write(2, &name, Paint::Plain);
        line.write(2 + name.chars().count(), suffix, Paint::Miss);
        self.markers(lane, &mut marks);

        let mut waiting = vec![0; self.columns];
        for &(start, end) in &lane.waits {
            self.cover(start, end, |column, share| waiting[column] += share);
        }
        let mut running = vec![0; self.columns];
        let mut crowd = vec![0usize; self.columns];
        for run in &lane.runs {
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
        if self.scene.cpus.len() > 1 {
            lane.runs.iter().for_each(|run| self.cpu_number(run, &mut line, paint));
        }
        self.print(&marks);
        self.print(&line);
    }

    /// The number of the CPU, in the middle of a segment where it leaves room for it.
    fn cpu_number(&self, run: &Run, line: &mut Line, paint: Paint) {
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

    fn markers(&self, lane: &TaskLane, marks: &mut Line) {
        #[derive(Clone, Copy, Default)]
        struct Marks {
            release: bool,
            deadline: bool,
            missed: bool,
            tardy: bool,
        }
        let mut columns = vec![Marks::default(); self.columns];
        let shown = |at: Time| self.scene.shows(at).then(|| self.column(at));
        for job in &lane.jobs {
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
        // The unit stands at the end, and labels keep off it.
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
        let unit = self.columns.saturating_sub(axis.unit.len());
        labels.write(self.gutter + unit, axis.unit, Paint::Plain);
        self.print(&rule);
        self.print(&labels);
        if let Some(base) = axis.base {
            let _ = writeln!(self.out, "times count from {}", Nanoseconds(base));
        }
    }

    fn legend(&mut self) {
        let glyphs = self.glyphs;
        let [full, half, less] = glyphs.shades;
        let scene = self.scene;
        let mut parts = Vec::new();
        let mut names = Vec::new();
        if self.options.lanes.has_tasks() {
            parts.push(format!("{} release", glyphs.release));
            parts.push(format!("{} deadline", glyphs.deadline));
            let lanes = || scene.tasks.iter().flat_map(|lane| &lane.jobs);
            if scene.miss_count() > 0 {
                parts.push(format!("{} missed", glyphs.missed));
            }
            if lanes().any(|job| job.tardy_at.is_some_and(|at| scene.shows(at))) {
                parts.push(format!("{} late end", glyphs.tardy));
            }
            parts.push(format!("{full} running"));
            parts.push(format!("{} waiting", glyphs.waiting));
        }
        if self.options.lanes.has_cpus() {
            let has_lane = |position: usize| {
                self.options.lanes.has_tasks()
                    && scene.tasks.iter().any(|lane| lane.position == position)
            };
            let mut lanes: Vec<&TaskLane> = scene.tasks.iter().chain(&scene.hidden).collect();
            lanes.sort_by_key(|lane| lane.position);
            for lane in lanes {
                if let Some(key) = self.keys[lane.position].filter(|_| !has_lane(lane.position)) {
                    names.push(format!("{key} {}", lane.name));
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

    /// Parts with two spaces between them, in lines of at most the width.
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

    fn notes(&mut self) {
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
        if self.options.lanes.has_tasks() && !scene.hidden.is_empty() {
            let missing: usize = scene.hidden.iter().map(|lane| lane.misses).sum();
            let misses = counted_misses(missing);
            let _ = writeln!(
                self.out,
                "{} not shown, with {misses}",
                counted(scene.hidden.len(), "task")
            );
        }
    }
}

/// Three significant digits of a length in nanoseconds.
fn rounded(ns: i64) -> Nanoseconds {
    let digits = ns.max(1).ilog10();
    let unit = 10i64.pow(digits.saturating_sub(2));
    Nanoseconds(ns / unit * unit)
}

/// At most `room` characters of a name.
fn shortened(name: &str, room: usize, ellipsis: char) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    if name.chars().count() <= room {
        return name.chars().map(clean).collect();
    }
    let kept = room.saturating_sub(1);
    name.chars().map(clean).take(kept).chain((room > 0).then_some(ellipsis)).collect()
}
