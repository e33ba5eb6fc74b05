//! Gantt charts as SVG.
//!
//! Coordinates are integers in hundredths of a pixel, so the bytes are the
//! same on any machine. Segments narrower than a pixel are merged with their
//! neighbours into a bar whose opacity is the share of busy time; a missed
//! deadline is always drawn. No information is conveyed by colour alone.

mod cpus;
mod legend;
mod levels;
mod marks;
mod style;
mod tasks;

use self::style::{
    FAINT, INK, PALETTE, Px, RED, Sizes, overlay, pattern, px, text_width, time_text,
};
use super::axis::Axis;
use super::scene::{Scene, TaskRow, VisibleJob};
use super::view::{Rows, View};
use super::words::counted_misses;
use crate::svg::{Element, Svg};
use layland_model::shown::with_micro;
use layland_model::{Time, counted};
use std::collections::BTreeSet;
use std::fmt::{Display, Write};

/// Options of a chart as SVG.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SvgOptions {
    /// The width in pixels; at least 320 are used. The number of rows determines the height.
    pub width: u32,
    /// The rows to draw.
    pub rows: Rows,
    /// The title; by default the range that is shown.
    pub title: Option<String>,
    /// The maximum number of tasks with rows; if there are more, those with misses come first.
    pub max_rows: usize,
}

impl Default for SvgOptions {
    /// Returns a width of 1000 pixels, both kinds of rows, at most 200 tasks.
    fn default() -> Self {
        SvgOptions { width: 1000, rows: Rows::Both, title: None, max_rows: 200 }
    }
}

/// The symbols that were drawn, so that the legend explains only those.
#[derive(Default)]
struct UsedSymbols {
    release: bool,
    deadline: bool,
    missed: bool,
    tardy: bool,
    aborted: bool,
    late: bool,
    waiting: bool,
    suspended: bool,
    overhead: bool,
    spinning: bool,
    holds: bool,
    locked_out: bool,
    preempted: bool,
    migrated: bool,
    offline: bool,
    merged: bool,
    cpu_number: bool,
    level: bool,
}

struct SvgChart<'a> {
    scene: &'a Scene,
    sizes: Sizes,
    /// The left and the right end of the time axis.
    left: i64,
    right: i64,
    /// The names of the tasks, by position.
    names: Vec<&'a str>,
    body: Svg,
    used: UsedSymbols,
}

/// The maximum number of arrows between CPUs; more would hide the rows.
const MOST_MIGRATIONS: usize = 150;

impl View<'_> {
    /// Returns an SVG image: the same bytes for the same trace
    /// on any machine, without scripts and external fonts.
    ///
    /// ```
    /// use layland_chart::gantt::{SvgOptions, View};
    /// use layland_trace::{Labels, Trace};
    /// let (trace, labels) = (Trace::default(), Labels::default());
    /// let svg = View::new(&trace, &labels).svg(&SvgOptions::default());
    /// assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    /// ```
    pub fn svg(&self, options: &SvgOptions) -> String {
        draw(self, options)
    }
}

fn draw(view: &View, options: &SvgOptions) -> String {
    let scene = Scene::new(view.trace, view.labels, view.from, view.to, options.max_rows);
    let width = i64::from(options.width.clamp(320, 100_000));
    let (has_cpus, has_tasks) = (options.rows.has_cpus(), options.rows.has_tasks());
    let sizes = Sizes::new(scene.cpus.len(), scene.tasks.len());
    let names = scene.tasks.iter().filter(|_| has_tasks).map(|row| row.name.as_str());
    let widest = names.map(|name| text_width(name, sizes.label_font)).max().unwrap_or(0);
    let left = (widest + 40).clamp(76, (width / 4).max(76));
    let mut rows: Vec<&TaskRow> = scene.tasks.iter().chain(&scene.hidden).collect();
    rows.sort_by_key(|row| row.position);
    let mut chart = SvgChart {
        scene: &scene,
        sizes,
        left,
        right: width - 18,
        names: rows.iter().map(|row| row.name.as_str()).collect(),
        body: Svg::default(),
        used: UsedSymbols::default(),
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
        y = chart.cpu_rows(y);
        if has_tasks {
            y += 14;
        } else if scene.miss_count() > 0 {
            y = chart.miss_row(y);
        }
    }
    if has_tasks {
        if !has_cpus {
            y = chart.level_rows(y);
        }
        y = chart.task_rows(y);
    }
    let bottom = y;
    // The grid needs the height of the rows, but must be drawn before them to lie behind them.
    let mut rows = std::mem::take(&mut chart.body);
    chart.axis(top, bottom, bottom - top > 500);
    let grid = std::mem::replace(&mut chart.body, std::mem::take(&mut rows));
    y += 58;
    if options.rows == Rows::Cpus {
        y = chart.task_legend(y);
    }
    y = chart.legend(y);
    if has_cpus && scene.migrations.len() > MOST_MIGRATIONS {
        let text = format!("{} migrations are not drawn", scene.migrations.len());
        chart.text(16, y, 11, FAINT, "start", &text);
        y += 18;
    }
    if has_tasks && !scene.hidden.is_empty() {
        let missed = counted_misses(scene.hidden.iter().map(|row| row.misses).sum());
        let text = format!("{} not shown, with {missed}", counted(scene.hidden.len(), "task"));
        chart.text(16, y, 11, FAINT, "start", &text);
        y += 18;
    }
    let height = y + 4;

    let mut out = Svg::default();
    out.element("svg")
        .attr("xmlns", "http://www.w3.org/2000/svg")
        .attr("width", width)
        .attr("height", height)
        .attr("viewBox", format_args!("0 0 {width} {height}"))
        .attr("role", "img")
        .attr("aria-labelledby", "title desc")
        .attr("font-family", "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif")
        .open();
    out.element("title").attr("id", "title").text(&title);
    out.element("desc")
        .attr("id", "desc")
        .text(&with_micro(&description(&scene, &title, &subtitle)));
    definitions(&mut out, &scene);
    let background = out.element("rect").attr("width", width).attr("height", height);
    background.attr("fill", "#ffffff").empty();
    let heading = out.element("text").attr("x", 16).attr("y", 26).attr("font-size", 16);
    heading.attr("font-weight", "bold").attr("fill", INK).text(&title);
    let paint = if scene.miss_count() > 0 { RED } else { FAINT };
    let below = out.element("text").attr("x", 16).attr("y", 44).attr("font-size", 12);
    below.attr("fill", paint).text(&subtitle);
    out.append(&grid);
    out.append(&chart.body);
    out.close("svg");
    out.finish()
}

/// Returns the text alternative: a description for readers who cannot see the chart.
fn description(scene: &Scene, title: &str, subtitle: &str) -> String {
    let mut text =
        format!("Gantt chart of {title}: {subtitle}, {}.", counted(scene.segment_count, "segment"));
    for row in &scene.cpus {
        text.extend(scene.level_text(row).map(|level| format!(" {level}.")));
    }
    let rows = || scene.tasks.iter().chain(&scene.hidden);
    let missed = rows().flat_map(|row| row.jobs.iter().map(move |job| (row, job)));
    let mut missed: Vec<_> = missed.filter(|(_, job)| scene.misses(job)).collect();
    missed.sort_by_key(|(row, job)| (job.missed_at, row.position));
    for (row, job) in missed.iter().take(10) {
        let _ = write!(text, " {}.", miss_text(row, job, scene.over));
    }
    if missed.len() > 10 {
        let _ = write!(text, " And {} more.", missed.len() - 10);
    }
    text
}

fn miss_text(row: &TaskRow, job: &VisibleJob, over: Time) -> String {
    let name = format!("{}#{}", row.name, job.id.number());
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

/// Writes the patterns that are used.
fn definitions(out: &mut Svg, scene: &Scene) {
    let mut used = BTreeSet::new();
    for row in scene.tasks.iter().chain(&scene.hidden) {
        if let Some(variant) = pattern(row.position) {
            used.insert((row.position % PALETTE.len(), variant));
        }
    }
    out.element("defs").open();
    for (colour, variant) in used {
        tile(out, format_args!("t{colour}-{variant}"), 8).children(|inside| {
            square(inside, 8, PALETTE[colour].0).empty();
            overlay(inside, variant);
        });
    }
    let late = tile(out, "late", 6).attr("patternTransform", "rotate(45)");
    late.children(|inside| {
        square(inside, 6, "#fff").attr("opacity", ".45").empty();
        let stripe = inside.element("path").attr("d", "M1.5 0v6").attr("stroke", RED);
        stripe.attr("stroke-width", 3).empty();
    });
    tile(out, "overhead", 4).children(|inside| {
        square(inside, 4, "#333").attr("opacity", ".75").empty();
        let cross = inside.element("path").attr("d", "M0 2h4M2 0v4").attr("stroke", "#fff");
        cross.attr("stroke-width", ".8").attr("opacity", ".8").empty();
    });
    if !scene.spins.is_empty() {
        tile(out, "spin", 8).children(|inside| {
            square(inside, 8, "#fff").attr("opacity", ".65").empty();
            let waves = "M0 2q2 -3 4 0t4 0M0 6q2 -3 4 0t4 0";
            let waves = inside.element("path").attr("d", waves).attr("fill", "none");
            waves.attr("stroke", "#000").attr("stroke-width", 1).empty();
        });
    }
    let offline = tile(out, "offline", 10).attr("patternTransform", "rotate(-45)");
    offline.children(|inside| {
        square(inside, 10, "#eee").empty();
        let stripe = inside.element("path").attr("d", "M2 0v10").attr("stroke", "#bbb");
        stripe.attr("stroke-width", 2).empty();
    });
    out.close("defs");
}

fn tile(out: &mut Svg, id: impl Display, side: i64) -> Element<'_> {
    let tile = out.element("pattern").attr("id", id).attr("width", side).attr("height", side);
    tile.attr("patternUnits", "userSpaceOnUse")
}

fn square<'a>(inside: &'a mut Svg, side: i64, fill: &str) -> Element<'a> {
    inside.element("rect").attr("width", side).attr("height", side).attr("fill", fill)
}

impl SvgChart<'_> {
    /// Returns the coordinate of a time on the axis; times outside the window are at its ends.
    fn x(&self, at: Time) -> Px {
        let (from, to) = (i128::from(self.scene.from.ns()), i128::from(self.scene.to.ns()));
        let offset = (i128::from(at.ns()).clamp(from, to) - from) * 100;
        let x = offset * i128::from(self.right - self.left) / (to - from);
        Px(x as i64) + px(self.left)
    }

    fn text(&mut self, x: i64, y: i64, size: i64, fill: &str, anchor: &str, text: &str) {
        let element = self.body.element("text").attr("x", x).attr("y", y);
        let element = element.attr("font-size", size).attr("fill", fill);
        match anchor {
            "start" => element.text(text),
            other => element.attr("text-anchor", other).text(text),
        }
    }

    fn rect(&mut self, x: Px, y: i64, width: Px, height: i64, fill: &str) -> Element<'_> {
        let rect = self.body.element("rect").attr("x", x).attr("y", y);
        rect.attr("width", width).attr("height", height).attr("fill", fill)
    }

    fn path(&mut self, d: impl Display) -> Element<'_> {
        self.body.element("path").attr("d", d)
    }

    /// Draws grid lines with their times below, and also above if that is far away.
    fn axis(&mut self, top: i64, bottom: i64, above: bool) {
        let scene = self.scene;
        let columns = usize::try_from((self.right - self.left) / 8).unwrap_or(0);
        let axis = Axis::new(scene.from.ns(), scene.to.ns(), columns, 12);
        let (left, right) = (self.left, self.right);
        for (at, label) in &axis.ticks {
            let x = self.x(Time::from_ns(*at));
            let reach = bottom + 5;
            let line = self.path(format_args!("M{x} {top}V{reach}"));
            line.attr("stroke", "#d5d5d5").attr("stroke-width", 1).empty();
            for y in [Some(bottom + 18), above.then_some(top - 5)].into_iter().flatten() {
                let tick = self.body.element("text").attr("x", x).attr("y", y);
                let tick = tick.attr("font-size", 11).attr("fill", INK);
                tick.attr("text-anchor", "middle").text(label);
            }
        }
        self.path(format_args!("M{left} {bottom}H{right}")).attr("stroke", INK).empty();
        let unit = if axis.unit == "us" { "µs" } else { axis.unit };
        let since = axis.base.map(|base| format!(", from {}", time_text(Time::from_ns(base))));
        let text = format!("time ({unit}){}", since.unwrap_or_default());
        self.text((left + right) / 2, bottom + 34, 11, INK, "middle", &text);
    }

    fn band(&mut self, y: i64, height: i64) {
        let width = px(self.right - self.left);
        self.rect(px(self.left), y, width, height, "#f5f5f5").empty();
    }
}
