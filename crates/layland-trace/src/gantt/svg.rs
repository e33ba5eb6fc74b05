//! Gantt charts as SVG.
//!
//! Coordinates are integers in hundredths of a pixel, so the bytes are the same on any machine. What
//! would be narrower than a pixel is merged with its neighbours into a bar whose opacity is the
//! share of time; a missed deadline is always drawn. Nothing is told by colour alone.

mod levels;

use super::axis::Axis;
use super::scene::{CpuLane, Run, Scene, TaskLane, VisibleJob};
use super::{Lanes, Nanoseconds, View, counted, counted_misses};
use layland_model::{CpuId, Duration, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

/// How a chart is drawn as SVG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SvgOptions {
    /// The width in pixels; at least 320 are used. The height follows from the number of lanes.
    pub width: u32,
    /// Which lanes.
    pub lanes: Lanes,
    /// The title; what is shown, if there is none.
    pub title: Option<String>,
    /// The most tasks that get a lane; of more, those with misses come first.
    pub max_rows: usize,
}

impl Default for SvgOptions {
    /// 1000 pixels wide, both kinds of lanes, at most 200 tasks.
    fn default() -> Self {
        SvgOptions { width: 1000, lanes: Lanes::Both, title: None, max_rows: 200 }
    }
}

/// A length or a coordinate in hundredths of a pixel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Px(i64);

const fn px(pixels: i64) -> Px {
    Px(pixels * 100)
}

impl std::ops::Add for Px {
    type Output = Px;
    fn add(self, other: Px) -> Px {
        Px(self.0 + other.0)
    }
}
impl std::ops::Sub for Px {
    type Output = Px;
    fn sub(self, other: Px) -> Px {
        Px(self.0 - other.0)
    }
}
impl fmt::Display for Px {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, magnitude) = (if self.0 < 0 { "-" } else { "" }, self.0.unsigned_abs());
        write!(f, "{sign}{}", magnitude / 100)?;
        match magnitude % 100 {
            0 => Ok(()),
            part if part % 10 == 0 => write!(f, ".{}", part / 10),
            part => write!(f, ".{part:02}"),
        }
    }
}

/// Text in which what XML takes for markup is escaped and what it does not allow is left out.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => f.write_char(' ')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// A time or a length of time as text, with the sign for micro.
fn time_text(time: impl Into<Nanoseconds>) -> String {
    time.into().to_string().replace("us", "µs")
}

/// The colours of Okabe and Ito, which are told apart with any kind of colour vision, with the
/// colour of text on them. With the patterns they make 48 fills; then they repeat.
const PALETTE: [(&str, &str); 8] = [
    ("#0072b2", "#ffffff"),
    ("#e69f00", "#000000"),
    ("#009e73", "#000000"),
    ("#cc79a7", "#000000"),
    ("#56b4e9", "#000000"),
    ("#f0e442", "#000000"),
    ("#d55e00", "#000000"),
    ("#b0b0b0", "#000000"),
];

/// What is laid over a colour when the colours are used up: the inside of an 8 by 8 tile.
const PATTERNS: [&str; 5] = [
    "<path d=\"M-2 2l4-4M0 8l8-8M6 10l4-4\" stroke=\"#fff\" stroke-width=\"2\"/>",
    "<circle cx=\"2\" cy=\"2\" r=\"1.4\" fill=\"#fff\"/><circle cx=\"6\" cy=\"6\" r=\"1.4\" \
     fill=\"#fff\"/>",
    "<path d=\"M0 2h8M0 6h8\" stroke=\"#000\" stroke-width=\"1.2\" opacity=\".6\"/>",
    "<path d=\"M-2 6l4 4M0 0l8 8M6-2l4 4\" stroke=\"#000\" stroke-width=\"1.4\" opacity=\".6\"/>",
    "<path d=\"M0 4h8M4 0v8\" stroke=\"#fff\" stroke-width=\"1.6\"/>",
];

const RED: &str = "#c00000";
const INK: &str = "#222222";
const FAINT: &str = "#666666";

fn colour(position: usize) -> (&'static str, &'static str) {
    PALETTE[position % PALETTE.len()]
}

/// The pattern of a task, if it has one.
fn pattern(position: usize) -> Option<usize> {
    let variant = position / PALETTE.len() % (PATTERNS.len() + 1);
    variant.checked_sub(1)
}

fn fill(position: usize) -> String {
    match pattern(position) {
        None => colour(position).0.to_owned(),
        Some(variant) => format!("url(#t{}-{variant})", position % PALETTE.len()),
    }
}

/// The sizes of a chart, which follow from how many lanes there are.
struct Sizes {
    cpu_lane: i64,
    task_lane: i64,
    /// The height of a bar in a task's lane.
    bar: i64,
    cpu_font: i64,
    bar_font: i64,
    label_font: i64,
}

impl Sizes {
    fn new(cpus: usize, tasks: usize) -> Sizes {
        let (cpu_lane, cpu_font) = match cpus {
            0..=8 => (30, 12),
            9..=24 => (22, 11),
            _ => (15, 9),
        };
        let (task_lane, bar, bar_font, label_font) = match tasks {
            0..=8 => (46, 20, 11, 12),
            9..=24 => (32, 15, 10, 11),
            _ => (21, 11, 9, 10),
        };
        Sizes { cpu_lane, task_lane, bar, cpu_font, bar_font, label_font }
    }
}

/// About how wide a text is, in pixels.
fn text_width(text: &str, font: i64) -> i64 {
    (text.chars().count() as i64 * font * 58).div_euclid(100)
}

/// What was drawn, so that the legend explains that and nothing else.
#[derive(Default)]
struct Used {
    release: bool,
    deadline: bool,
    missed: bool,
    tardy: bool,
    aborted: bool,
    late: bool,
    waiting: bool,
    overhead: bool,
    preempted: bool,
    migrated: bool,
    offline: bool,
    merged: bool,
    cpu_number: bool,
    level: bool,
}

struct Chart<'a> {
    scene: &'a Scene,
    sizes: Sizes,
    /// Left and right end of the time axis.
    left: i64,
    right: i64,
    /// The names of the tasks by position.
    names: Vec<&'a str>,
    body: String,
    used: Used,
}

/// More arrows between CPUs than this hide the lanes.
const MOST_MIGRATIONS: usize = 150;

pub(super) fn draw(view: &View, options: &SvgOptions) -> String {
    let scene = Scene::new(view.trace, view.labels, view.from, view.to, options.max_rows);
    let width = i64::from(options.width.clamp(320, 100_000));
    let (has_cpus, has_tasks) = (options.lanes.has_cpus(), options.lanes.has_tasks());
    let sizes = Sizes::new(scene.cpus.len(), scene.tasks.len());
    let names = scene.tasks.iter().filter(|_| has_tasks).map(|lane| lane.name.as_str());
    let widest = names.map(|name| text_width(name, sizes.label_font)).max().unwrap_or(0);
    let left = (widest + 40).clamp(76, (width / 4).max(76));
    let mut lanes: Vec<&TaskLane> = scene.tasks.iter().chain(&scene.hidden).collect();
    lanes.sort_by_key(|lane| lane.position);
    let mut chart = Chart {
        scene: &scene,
        sizes,
        left,
        right: width - 18,
        names: lanes.iter().map(|lane| lane.name.as_str()).collect(),
        body: String::new(),
        used: Used::default(),
    };

    let title = options.title.clone().unwrap_or_else(|| {
        let tasks = counted(scene.tasks.len() + scene.hidden.len(), "task");
        format!("{tasks} on {}", counted(scene.cpus.len(), "CPU"))
    });
    let misses = counted_misses(scene.miss_count());
    let (from, to) = (time_text(scene.from), time_text(scene.to));
    let subtitle = format!("{from} to {to}, {misses}");

    let top = 62;
    let mut y = top;
    if has_cpus {
        y = chart.cpu_lanes(y);
        if has_tasks {
            y += 14;
        } else if scene.miss_count() > 0 {
            y = chart.miss_lane(y);
        }
    }
    if has_tasks {
        if !has_cpus {
            y = chart.level_lanes(y);
        }
        y = chart.task_lanes(y);
    }
    let bottom = y;
    let mut lanes = std::mem::take(&mut chart.body);
    chart.axis(top, bottom, bottom - top > 500);
    let grid = std::mem::replace(&mut chart.body, std::mem::take(&mut lanes));
    y += 58;
    if options.lanes == Lanes::Cpus {
        y = chart.task_legend(y);
    }
    y = chart.legend(y);
    if has_cpus && scene.migrations.len() > MOST_MIGRATIONS {
        let text = format!("{} migrations are not drawn", scene.migrations.len());
        chart.text(16, y, 11, FAINT, "start", &text);
        y += 18;
    }
    if has_tasks && !scene.hidden.is_empty() {
        let missed = counted_misses(scene.hidden.iter().map(|lane| lane.misses).sum());
        let text = format!("{} not shown, with {missed}", counted(scene.hidden.len(), "task"));
        chart.text(16, y, 11, FAINT, "start", &text);
        y += 18;
    }
    let height = y + 4;

    let mut out = String::with_capacity(chart.body.len() + grid.len() + 4096);
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"title desc\" \
         font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif\">\n\
         <title id=\"title\">{}</title>\n<desc id=\"desc\">{}</desc>\n",
        Escaped(&title),
        Escaped(&description(&scene, &title, &subtitle)),
    );
    out.push_str(&definitions(&scene));
    let _ = writeln!(out, "<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>");
    let _ = writeln!(
        out,
        "<text x=\"16\" y=\"26\" font-size=\"16\" font-weight=\"bold\" fill=\"{INK}\">{}</text>",
        Escaped(&title)
    );
    let paint = if scene.miss_count() > 0 { RED } else { FAINT };
    let _ = writeln!(
        out,
        "<text x=\"16\" y=\"44\" font-size=\"12\" fill=\"{paint}\">{}</text>",
        Escaped(&subtitle)
    );
    out.push_str(&grid);
    out.push_str(&chart.body);
    out.push_str("</svg>\n");
    out
}

/// The text alternative: what a reader of the chart would be told about it.
fn description(scene: &Scene, title: &str, subtitle: &str) -> String {
    let mut text =
        format!("Gantt chart of {title}: {subtitle}, {}.", counted(scene.segment_count, "segment"));
    for lane in &scene.cpus {
        text.extend(scene.level_text(lane).map(|level| format!(" {level}.")));
    }
    let lanes = || scene.tasks.iter().chain(&scene.hidden);
    let missed = lanes().flat_map(|lane| lane.jobs.iter().map(move |job| (lane, job)));
    let mut missed: Vec<_> = missed.filter(|(_, job)| scene.misses(job)).collect();
    missed.sort_by_key(|(lane, job)| (job.missed_at, lane.position));
    for (lane, job) in missed.iter().take(10) {
        let _ = write!(text, " {}.", miss_text(lane, job, scene.over));
    }
    if missed.len() > 10 {
        let _ = write!(text, " And {} more.", missed.len() - 10);
    }
    text
}

fn miss_text(lane: &TaskLane, job: &VisibleJob, over: Time) -> String {
    let name = format!("{}#{}", lane.name, job.id.seq);
    let deadline = time_text(job.deadline);
    if let Some(at) = job.aborted_at {
        return format!("{name} was aborted at {} with its deadline at {deadline}", time_text(at));
    }
    match job.tardy_at {
        Some(at) => {
            let late = time_text(at - job.deadline);
            format!("{name} missed its deadline at {deadline} by {late}")
        }
        None => {
            let over = time_text(over);
            format!("{name} missed its deadline at {deadline} and was pending at {over}")
        }
    }
}

/// Patterns that are used.
fn definitions(scene: &Scene) -> String {
    let mut used = BTreeSet::new();
    for lane in scene.tasks.iter().chain(&scene.hidden) {
        if let Some(variant) = pattern(lane.position) {
            used.insert((lane.position % PALETTE.len(), variant));
        }
    }
    let mut out = String::from("<defs>\n");
    for (colour, variant) in used {
        let _ = writeln!(
            out,
            "<pattern id=\"t{colour}-{variant}\" width=\"8\" height=\"8\" \
             patternUnits=\"userSpaceOnUse\"><rect width=\"8\" height=\"8\" fill=\"{}\"/>{}\
             </pattern>",
            PALETTE[colour].0, PATTERNS[variant],
        );
    }
    let _ = writeln!(
        out,
        "<pattern id=\"late\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
         patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#fff\" \
         opacity=\".45\"/><path d=\"M1.5 0v6\" stroke=\"{RED}\" stroke-width=\"3\"/></pattern>\n\
         <pattern id=\"overhead\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\">\
         <rect width=\"4\" height=\"4\" fill=\"#333\" opacity=\".75\"/><path d=\"M0 2h4M2 0v4\" \
         stroke=\"#fff\" stroke-width=\".8\" opacity=\".8\"/></pattern>\n\
         <pattern id=\"offline\" width=\"10\" height=\"10\" patternUnits=\"userSpaceOnUse\" \
         patternTransform=\"rotate(-45)\"><rect width=\"10\" height=\"10\" fill=\"#eee\"/>\
         <path d=\"M2 0v10\" stroke=\"#bbb\" stroke-width=\"2\"/></pattern>\n</defs>",
    );
    out
}

impl Chart<'_> {
    /// The place of a time on the axis; times outside the window at its ends.
    fn x(&self, at: Time) -> Px {
        let (from, to) = (i128::from(self.scene.from.ns()), i128::from(self.scene.to.ns()));
        let offset = (i128::from(at.ns()).clamp(from, to) - from) * 100;
        let x = offset * i128::from(self.right - self.left) / (to - from);
        Px(x as i64) + px(self.left)
    }

    fn text(&mut self, x: i64, y: i64, size: i64, fill: &str, anchor: &str, text: &str) {
        let anchor = match anchor {
            "start" => String::new(),
            other => format!(" text-anchor=\"{other}\""),
        };
        let _ = writeln!(
            self.body,
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{fill}\"{anchor}>{}</text>",
            Escaped(text)
        );
    }

    fn rect(&mut self, x: Px, y: i64, width: Px, height: i64, fill: &str, rest: &str) {
        let _ = writeln!(
            self.body,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
             fill=\"{fill}\"{rest}/>"
        );
    }

    fn path(&mut self, d: &str, rest: &str) {
        let _ = writeln!(self.body, "<path d=\"{d}\" {rest}/>");
    }

    /// Grid lines with their times below, and above if that is far away.
    fn axis(&mut self, top: i64, bottom: i64, above: bool) {
        let scene = self.scene;
        let columns = usize::try_from((self.right - self.left) / 8).unwrap_or(0);
        let axis = Axis::new(scene.from.ns(), scene.to.ns(), columns, 12);
        let (left, right) = (self.left, self.right);
        for (at, label) in &axis.ticks {
            let x = self.x(Time::from_ns(*at));
            let reach = bottom + 5;
            self.path(&format!("M{x} {top}V{reach}"), "stroke=\"#d5d5d5\" stroke-width=\"1\"");
            for y in [Some(bottom + 18), above.then_some(top - 5)].into_iter().flatten() {
                let _ = writeln!(
                    self.body,
                    "<text x=\"{x}\" y=\"{y}\" font-size=\"11\" fill=\"{INK}\" \
                     text-anchor=\"middle\">{label}</text>"
                );
            }
        }
        self.path(&format!("M{left} {bottom}H{right}"), &format!("stroke=\"{INK}\""));
        let unit = if axis.unit == "us" { "µs" } else { axis.unit };
        let since = axis.base.map(|base| format!(", from {}", time_text(Time::from_ns(base))));
        let text = format!("time ({unit}){}", since.unwrap_or_default());
        self.text((left + right) / 2, bottom + 34, 11, INK, "middle", &text);
    }

    fn band(&mut self, y: i64, height: i64) {
        let width = px(self.right - self.left);
        self.rect(px(self.left), y, width, height, "#f5f5f5", "");
    }

    fn cpu_lanes(&mut self, top: i64) -> i64 {
        let scene = self.scene;
        let pitch = self.sizes.cpu_lane;
        let font = self.sizes.cpu_font.min(12);
        let bar = pitch - 5;
        let mut rows: BTreeMap<CpuId, i64> = BTreeMap::new();
        let mut y = top;
        for lane in &scene.cpus {
            rows.insert(lane.id, y + 2 + bar / 2);
            self.band(y + 2, bar);
            let middle = y + 2 + bar / 2 + font * 35 / 100;
            let label = format!("CPU {}", lane.id);
            self.text(self.left - 8, middle, font, INK, "end", &label);
            self.cpu_lane(lane, y + 2, bar);
            y = self.level_lane(lane, "level", y + pitch);
        }
        let count = scene.migrations.len();
        let opacity = if count > 24 { " opacity=\".6\"" } else { "" };
        if count <= MOST_MIGRATIONS {
            for migration in &scene.migrations {
                let row = |cpu| rows.get(&cpu).copied();
                if let (Some(from), Some(to)) = (row(migration.from.1), row(migration.to.1)) {
                    self.used.migrated = true;
                    let (x1, x2) = (self.x(migration.from.0), self.x(migration.to.0));
                    self.path(
                        &format!("M{x1} {from}L{x2} {to}"),
                        &format!(
                            "fill=\"none\" stroke=\"#000\" stroke-width=\"1.2\" \
                             stroke-dasharray=\"3 2\"{opacity}"
                        ),
                    );
                    let _ = writeln!(
                        self.body,
                        "<circle cx=\"{x2}\" cy=\"{to}\" r=\"2.6\" fill=\"#fff\" stroke=\"#000\"/>"
                    );
                }
            }
        }
        y
    }

    fn cpu_lane(&mut self, lane: &CpuLane, y: i64, height: i64) {
        for &(start, end) in &lane.offline {
            let (x1, x2) = (self.x(start), self.x(end));
            if x1 < x2 {
                self.used.offline = true;
                self.rect(x1, y, x2 - x1, height, "url(#offline)", "");
            }
        }
        self.bars(&lane.runs, y, height, "#555555", |chart, run, x1, x2| {
            chart.bar(run, x1, x2, y, height);
            let name = chart.name(run);
            let font = chart.sizes.cpu_font.min(height);
            let x1 = chart.work_starts(run, x1, x2);
            let room = (x2 - x1).0 / 100 - if run.is_preempted { 9 } else { 5 };
            let with_number = format!("{name}#{}", run.job.seq);
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

    fn name(&self, run: &Run) -> &str {
        self.names[run.position]
    }

    /// Each segment that is at least a pixel wide by `draw`; those that are narrower in steps of
    /// two pixels, as opaque as the step is busy.
    fn bars(
        &mut self,
        runs: &[Run],
        y: i64,
        height: i64,
        mixed: &str,
        mut draw: impl FnMut(&mut Self, &Run, Px, Px),
    ) {
        /// Segments in a step: their count, their total width, the task if it is one.
        #[derive(Clone, Copy)]
        struct Step {
            count: usize,
            width: i64,
            task: Option<usize>,
        }
        const STEP: i64 = 200;
        let mut steps: BTreeMap<i64, Step> = BTreeMap::new();
        let span = i128::from(self.scene.to.ns()) - i128::from(self.scene.from.ns());
        for run in runs {
            let (x1, x2) = (self.x(run.start), self.x(run.end));
            if x2 - x1 >= px(1) {
                draw(self, run, x1, x2);
                continue;
            }
            // In 1 / 10,000 pixels, so that many tiny segments add up.
            let (start, end) = (run.start.max(self.scene.from), run.end.min(self.scene.to));
            let length = i128::from(end.ns()) - i128::from(start.ns());
            let width = (length * i128::from(self.right - self.left) * 10_000 / span) as i64;
            let step = Step { count: 0, width: 0, task: Some(run.position) };
            let step = steps.entry(x1.0 / STEP).or_insert(step);
            step.count += 1;
            step.width += width.max(1);
            step.task = step.task.filter(|&task| task == run.position);
        }
        for (at, step) in steps {
            self.used.merged = true;
            let percent = (step.width * 100 / (STEP * 100)).clamp(1, 100);
            let opacity = percent.max(25);
            let paint = step.task.map_or(mixed.to_owned(), fill);
            let _ = writeln!(
                self.body,
                "<rect x=\"{}\" y=\"{y}\" width=\"2\" height=\"{height}\" fill=\"{paint}\" \
                 opacity=\"{}\"><title>{}, busy {percent} % of the time</title></rect>",
                Px(at * STEP),
                Hundredths(opacity),
                counted(step.count, "segment"),
            );
        }
    }

    /// One segment, without its text.
    fn bar(&mut self, run: &Run, x1: Px, x2: Px, y: i64, height: i64) {
        let length = time_text(run.end - run.start);
        let (start, end) = (time_text(run.start), time_text(run.end));
        let mut tooltip = format!(
            "{}#{} on CPU {}: {start} to {end} ({length})",
            self.name(run),
            run.job.seq,
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
        let edge = if x2 - x1 >= px(4) { " stroke=\"#000\" stroke-width=\".6\"" } else { "" };
        let _ = writeln!(
            self.body,
            "<rect x=\"{x1}\" y=\"{y}\" width=\"{}\" height=\"{height}\" fill=\"{}\"{edge}>\
             <title>{}</title></rect>",
            x2 - x1,
            fill(run.position),
            Escaped(&tooltip),
        );
        let until = self.work_starts(run, x1, x2);
        if until > x1 {
            self.used.overhead = true;
            self.rect(x1, y, until - x1, height, "url(#overhead)", "");
        }
        if let Some(deadline) = run.deadline.filter(|&deadline| deadline < run.end) {
            let late_from = self.x(deadline).max(x1);
            if late_from < x2 {
                self.used.late = true;
                self.rect(late_from, y, x2 - late_from, height, "url(#late)", "");
            }
        }
    }

    /// Where the part of a segment ends that is drawn as overhead. A trace tells how much of it
    /// was overhead and not when; it is drawn at the start.
    fn work_starts(&self, run: &Run, x1: Px, x2: Px) -> Px {
        self.x(run.start.saturating_add(run.overhead.max(Duration::ZERO))).clamp(x1, x2)
    }

    #[expect(clippy::too_many_arguments, reason = "a rectangle, a font and a text")]
    fn bar_text(&mut self, run: &Run, x1: Px, x2: Px, y: i64, height: i64, font: i64, text: &str) {
        let (base, ink) = colour(run.position);
        let is_late = run.deadline.is_some_and(|deadline| deadline < run.end);
        // On a pattern, a rim in the colour of the task keeps the text readable.
        let rim = if pattern(run.position).is_some() || is_late {
            format!(" stroke=\"{base}\" stroke-width=\"3\" paint-order=\"stroke\"")
        } else {
            String::new()
        };
        let x = Px((x1.0 + x2.0) / 2);
        let baseline = Px((y * 200 + height * 100 + font * 70) / 2);
        let _ = writeln!(
            self.body,
            "<text x=\"{x}\" y=\"{baseline}\" font-size=\"{font}\" fill=\"{ink}\"{rim} \
             text-anchor=\"middle\" pointer-events=\"none\">{}</text>",
            Escaped(text)
        );
    }

    /// A notch at the end of a segment: its job goes on later.
    fn preempted(&mut self, x: Px, y: i64, height: i64) {
        self.used.preempted = true;
        let middle = Px(y * 100 + height * 50);
        let bottom = y + height;
        let tip = x - px(5);
        self.path(
            &format!("M{x} {y}L{tip} {middle}L{x} {bottom}Z"),
            "fill=\"#fff\" stroke=\"#000\" stroke-width=\".6\"",
        );
    }

    /// The misses of all tasks in one lane, for a chart without lanes of tasks.
    fn miss_lane(&mut self, top: i64) -> i64 {
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

    fn task_lanes(&mut self, top: i64) -> i64 {
        let scene = self.scene;
        let pitch = self.sizes.task_lane;
        for (index, lane) in scene.tasks.iter().enumerate() {
            let y = top + index as i64 * pitch;
            self.task_lane(lane, y, pitch);
        }
        top + scene.tasks.len() as i64 * pitch
    }

    fn task_lane(&mut self, lane: &TaskLane, y: i64, pitch: i64) {
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
    fn marks(&mut self, lane: &TaskLane, y: i64, baseline: i64, bar_top: i64) {
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

    fn arrow(&mut self, x: Px, from: i64, to: i64, tooltip: &str) {
        let _ = writeln!(self.body, "{}", Arrow { x, from, to, tooltip });
    }

    fn miss(&mut self, x: Px, top: i64, baseline: i64, tooltip: &str) {
        self.used.missed = true;
        miss_mark(&mut self.body, x, top, baseline, tooltip);
    }

    /// The tasks with their colours, for a chart without lanes of tasks.
    fn task_legend(&mut self, top: i64) -> i64 {
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
    fn legend(&mut self, top: i64) -> i64 {
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

/// A number of hundredths as a decimal.
struct Hundredths(i64);

impl fmt::Display for Hundredths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Px(self.0).fmt(f)
    }
}

/// An arrow from one height to another.
struct Arrow<'a> {
    x: Px,
    from: i64,
    to: i64,
    tooltip: &'a str,
}

impl fmt::Display for Arrow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Arrow { x, from, to, tooltip } = *self;
        let back = if to < from { 5 } else { -5 };
        write!(
            f,
            "<path d=\"M{x} {from}V{to}m-3 {back}l3 {}l3 {back}\" fill=\"none\" stroke=\"{INK}\" \
             stroke-width=\"1.3\">{}</path>",
            -back,
            Tooltip(tooltip),
        )
    }
}

struct Tooltip<'a>(&'a str);

impl fmt::Display for Tooltip<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        write!(f, "<title>{}</title>", Escaped(self.0))
    }
}

/// A missed deadline: a thick arrow down with a cross in a disc at its top.
fn miss_mark(out: &mut String, x: Px, top: i64, baseline: i64, tooltip: &str) {
    let _ = writeln!(
        out,
        "<g stroke=\"{RED}\" stroke-width=\"2\" fill=\"none\"><path d=\"M{x} {top}V{baseline}m-4 \
         -6l4 6l4 -6\"/><circle cx=\"{x}\" cy=\"{}\" r=\"5\" fill=\"#fff\" stroke-width=\"1.2\"/>\
         <path d=\"M{x} {}m-2.6 -2.6l5.2 5.2m0 -5.2l-5.2 5.2\"/>{}</g>",
        top + 2,
        top + 2,
        Tooltip(tooltip),
    );
}

/// A late completion.
fn diamond(out: &mut String, x: Px, y: i64, tooltip: &str) {
    let _ = writeln!(
        out,
        "<path d=\"M{x} {y}m-5 0l5 -5l5 5l-5 5z\" fill=\"{RED}\" stroke=\"#fff\" \
         stroke-width=\".8\">{}</path>",
        Tooltip(tooltip),
    );
}

/// A job that was given up.
fn aborted(out: &mut String, x: Px, y: i64, tooltip: &str) {
    let _ = writeln!(
        out,
        "<g stroke=\"{RED}\" stroke-width=\"2\"><circle cx=\"{x}\" cy=\"{y}\" r=\"5\" \
         fill=\"#fff\"/><path d=\"M{x} {y}m-3.5 3.5l7 -7\"/>{}</g>",
        Tooltip(tooltip),
    );
}
