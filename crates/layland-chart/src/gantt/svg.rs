//! Gantt charts as SVG.
//!
//! Coordinates are integers in hundredths of a pixel, so the bytes are the same on any machine. What
//! would be narrower than a pixel is merged with its neighbours into a bar whose opacity is the
//! share of time; a missed deadline is always drawn. Nothing is told by colour alone.

mod cpus;
mod legend;
mod levels;
mod marks;
mod style;
mod tasks;

use self::style::{
    Escaped, FAINT, INK, PALETTE, PATTERNS, Px, RED, Sizes, pattern, px, text_width, time_text,
};
use super::axis::Axis;
use super::scene::{Scene, TaskLane, VisibleJob};
use super::{Lanes, View, counted_misses};
use layland_model::{Time, counted};
use std::collections::BTreeSet;
use std::fmt::Write;

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
}
