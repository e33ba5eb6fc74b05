//! The layout of a figure: the legend is above the axes, so that it covers no data; the axes are as
//! the experiment defines them, or as the data requires.
//!
//! A share of the drawn systems has a bar that shows its 95 % confidence interval. Series without
//! values in a figure are not in its legend.

use crate::curve::Curve;
use crate::experiment::{Bar, Experiment, Figure, FigureKind};
use crate::looks::{Look, MARKERS, looks};
use layland_chart::plot::{Anchor, Colour, Label, Picture, Scale, Shape, Tick, text_width};

const BLACK: Colour = [0, 0, 0];
const GRID: Colour = [222, 222, 222];
const GREY: Colour = [110, 110, 110];

/// The width of one column of a two-column paper: 3.5 inches.
const WIDTH: f64 = 252.0;
/// The height of the axes.
const HEIGHT: f64 = 140.0;
const RIGHT: f64 = 8.0;
const TICKS: f64 = 7.0;
const LABELS: f64 = 8.0;
const MARKER: f64 = 2.4;

/// The input of a drawing.
pub(crate) struct Chart<'a> {
    experiment: &'a Experiment,
    figure: &'a Figure,
    /// Those that have a value.
    curves: Vec<&'a Curve>,
    /// The labels of the others.
    left_out: Vec<&'a str>,
    /// The look of each series of the experiment.
    looks: Vec<Look>,
}

impl<'a> Chart<'a> {
    /// Combines a figure with its curves.
    pub(crate) fn new(
        experiment: &'a Experiment,
        figure: &'a Figure,
        curves: &'a [Curve],
    ) -> Chart<'a> {
        let has_values = |curve: &&Curve| curve.points.iter().any(|point| point.y.is_some());
        let (curves, others): (Vec<_>, Vec<_>) = curves.iter().partition(has_values);
        let left_out = others.iter().map(|curve| &*experiment.series[curve.series].label).collect();
        Chart { experiment, figure, curves, left_out, looks: looks(experiment) }
    }

    fn points(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let points = self.curves.iter().flat_map(|curve| &curve.points);
        points.filter_map(|point| Some((point.x, point.y?)))
    }

    /// Returns true if a point can be drawn: a logarithmic axis cannot show 0.
    fn drawn(&self, y: f64) -> bool {
        !self.figure.log_y || y > 0.0
    }

    fn x_bounds(&self) -> (f64, f64) {
        if let Some(bounds) = self.figure.x_bounds {
            return bounds;
        }
        if self.figure.kind == FigureKind::Bars {
            return (0.5, self.figure.bars.len() as f64 + 0.5);
        }
        let (low, high) = extent(self.points().map(|(x, _)| x)).unwrap_or((0.0, 1.0));
        if self.figure.kind == FigureKind::Distribution {
            return (0.0, if high > 0.0 { high * 1.05 } else { 1.0 });
        }
        let margin = if high > low { (high - low) * 0.05 } else { 0.5 };
        (low - margin, high + margin)
    }

    fn y_bounds(&self) -> (f64, f64) {
        if let Some(bounds) = self.figure.y_bounds {
            return bounds;
        }
        let drawn = self.points().map(|(_, y)| y).filter(|&y| self.drawn(y));
        let (low, high) = extent(drawn).unwrap_or((0.1, 1.0));
        if self.figure.log_y {
            let power = |exponent: f64| libm::pow(10.0, exponent);
            let low = power(libm::floor(libm::log10(low) + 1e-9));
            let high = power(libm::ceil(libm::log10(high) - 1e-9));
            return (low, if high > low { high } else { low * 10.0 });
        }
        if self.figure.kind == FigureKind::Distribution {
            // The relevant part of a distribution is the top.
            let step = if low > 0.9 { 0.02 } else { 0.1 };
            return ((libm::floor(low / step - 0.5) * step).max(0.0), 1.0);
        }
        (low.min(0.0), if high > 0.0 { high * 1.08 } else { 1.0 })
    }

    /// The ticks of the horizontal axis: at the points, if there is enough room.
    fn x_ticks(&self, scale: &Scale) -> Vec<Tick> {
        if self.figure.kind == FigureKind::Bars {
            let tick = |(number, bar): (u32, &Bar)| Tick {
                value: f64::from(number),
                label: Some(Label::Plain(bar.label.clone())),
            };
            return (1..).zip(&self.figure.bars).map(tick).collect();
        }
        let mut values: Vec<f64> = self.points().map(|(x, _)| x).collect();
        values.sort_by(f64::total_cmp);
        values.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
        values.retain(|&value| scale.shows(value));
        let decimals = |value: &f64| {
            crate::claim::short(*value).split_once('.').map_or(0, |(_, decimals)| decimals.len())
        };
        let decimals = values.iter().map(decimals).max().unwrap_or(0);
        let label = |value: f64| format!("{value:.decimals$}");
        if self.figure.kind == FigureKind::Distribution || values.len() < 2 {
            return scale.ticks(6);
        }
        let widest = values.iter().map(|&value| text_width(&label(value), TICKS));
        let room = widest.fold(0.0, f64::max) + 4.0;
        for every in 1..=3 {
            // Keep ticks from the right, where the load is highest.
            let kept: Vec<f64> = values.iter().rev().step_by(every).copied().rev().collect();
            let fits = kept
                .windows(2)
                .all(|pair| scale.position(pair[1]) - scale.position(pair[0]) > room);
            if fits {
                return values
                    .iter()
                    .map(|&value| {
                        let labelled = kept.iter().any(|other| other.total_cmp(&value).is_eq());
                        let label = labelled.then(|| Label::Plain(label(value)));
                        Tick { value, label }
                    })
                    .collect();
            }
        }
        scale.ticks(6)
    }
}

fn extent(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |extent, value| {
        let (low, high) = extent.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    })
}

impl Chart<'_> {
    /// The figure as a picture.
    pub(crate) fn picture(&self) -> Picture {
        let figure = self.figure;
        let mut picture = Picture { width: WIDTH, height: 0.0, shapes: Vec::new() };
        let mut top = 6.0;
        if !figure.title.is_empty() {
            top += 8.0;
            picture.text((WIDTH / 2.0, top), &figure.title, 8.0, Anchor::Middle, BLACK);
            top += 4.0;
        }
        top = self.legend(&mut picture, top);
        let bottom = top + HEIGHT;
        let y = Scale::new(self.y_bounds(), figure.log_y, (bottom, top));
        let y_ticks = y.ticks(5);
        let widest = y_ticks.iter().filter_map(|tick| tick.label.as_ref()).map(label_width);
        let left = 16.0 + widest.fold(0.0, f64::max) + 4.0;
        let right = WIDTH - RIGHT;
        let x = Scale::new(self.x_bounds(), false, (left, right));

        let x_ticks = self.x_ticks(&x);
        for tick in y_ticks.iter().filter(|tick| tick.label.is_some()) {
            let at = y.position(tick.value);
            picture.line(vec![(left, at), (right, at)], GRID, 0.5, &[]);
        }
        let is_bars = figure.kind == FigureKind::Bars;
        for tick in x_ticks.iter().filter(|tick| tick.label.is_some() && !is_bars) {
            let at = x.position(tick.value);
            picture.line(vec![(at, top), (at, bottom)], GRID, 0.5, &[]);
        }
        let outline = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
        picture.line(outline.to_vec(), BLACK, 0.7, &[]);
        for tick in &y_ticks {
            let at = y.position(tick.value);
            let long = if tick.label.is_some() { 3.5 } else { 2.0 };
            picture.line(vec![(left, at), (left + long, at)], BLACK, 0.6, &[]);
            match &tick.label {
                Some(Label::Plain(text)) => {
                    picture.text((left - 3.0, at + 2.5), text, TICKS, Anchor::End, BLACK);
                }
                Some(Label::Power(exponent)) => {
                    let text = exponent.to_string();
                    let small = TICKS * 0.75;
                    let width = text_width(&text, small);
                    let ten = (left - 3.0 - width, at + 2.8);
                    picture.text(ten, "10", TICKS, Anchor::End, BLACK);
                    picture.text((left - 3.0, at - 0.2), &text, small, Anchor::End, BLACK);
                }
                None => {}
            }
        }
        for tick in &x_ticks {
            let at = x.position(tick.value);
            let long = if tick.label.is_some() { 3.5 } else { 2.0 };
            picture.line(vec![(at, bottom), (at, bottom - long)], BLACK, 0.6, &[]);
            if let Some(Label::Plain(text)) = &tick.label {
                picture.text((at, bottom + 9.0), text, TICKS, Anchor::Middle, BLACK);
            }
        }
        // Enlarge the clip rectangle so that markers on the outline are drawn in full. A distribution
        // has none, and goes on beyond the last tick.
        let around = MARKER + 1.0;
        let beside = if figure.kind == FigureKind::Distribution { 0.0 } else { around };
        let clip =
            [left - beside, top - around, right - left + 2.0 * beside, HEIGHT + 2.0 * around];
        picture.shapes.push(Shape::Clip { at: Some(clip) });
        let hidden = if is_bars {
            self.bars(&mut picture, &x, &y)
        } else {
            self.curves(&mut picture, &x, &y)
        };
        picture.shapes.push(Shape::Clip { at: None });
        let middle = (left + right) / 2.0;
        picture.text((middle, bottom + 20.0), &figure.labels.0, LABELS, Anchor::Middle, BLACK);
        picture.shapes.push(Shape::Text {
            at: (10.0, (top + bottom) / 2.0),
            text: figure.labels.1.clone(),
            size: LABELS,
            anchor: Anchor::Middle,
            upwards: true,
            colour: BLACK,
        });
        picture.height = bottom + 25.0;
        if hidden {
            let note = "Points that are not drawn are 0: the vertical axis is logarithmic.";
            picture.text((middle, bottom + 28.0), note, 5.5, Anchor::Middle, GREY);
            picture.height = bottom + 32.0;
        }
        if !self.left_out.is_empty() {
            let note = format!("Left out, without a value: {}.", self.left_out.join("; "));
            picture.text((middle, picture.height + 3.0), &note, 5.5, Anchor::Middle, GREY);
            picture.height += 7.0;
        }
        picture
    }

    /// Draws the legend from `top` on, in as many lines as needed. Returns its bottom.
    fn legend(&self, to: &mut Picture, top: f64) -> f64 {
        const SAMPLE: f64 = 20.0;
        const GAP: f64 = 10.0;
        let label = |curve: &Curve| self.experiment.series[curve.series].label.as_str();
        let width = |curve: &Curve| SAMPLE + 3.0 + text_width(label(curve), TICKS);
        let mut lines: Vec<(f64, Vec<&Curve>)> = Vec::new();
        for &curve in &self.curves {
            let more = width(curve) + GAP;
            match lines.last_mut() {
                Some((used, line)) if *used + more < WIDTH - 8.0 => {
                    *used += more;
                    line.push(curve);
                }
                _ => lines.push((more, vec![curve])),
            }
        }
        let mut y = top;
        for (used, line) in lines {
            y += 6.0;
            let mut x = (WIDTH - used + GAP) / 2.0;
            for curve in line {
                let look = self.looks[curve.series];
                let (colour, dash) = (look.colour(), look.dashes());
                if self.figure.kind == FigureKind::Bars {
                    to.block((x + 6.0, y - 3.0), (x + SAMPLE, y + 3.0), colour);
                } else {
                    to.line(vec![(x, y), (x + SAMPLE, y)], colour, 1.1, dash);
                }
                if self.figure.kind == FigureKind::Lines {
                    marker(to, look, (x + SAMPLE / 2.0, y));
                }
                to.text((x + SAMPLE + 3.0, y + 2.5), label(curve), TICKS, Anchor::Start, BLACK);
                x += width(curve) + GAP;
            }
            y += 5.0;
        }
        y + 3.0
    }

    /// Draws bars, side by side for each number. Returns true if a bar was omitted because it is 0
    /// on a logarithmic axis.
    fn bars(&self, to: &mut Picture, x: &Scale, y: &Scale) -> bool {
        let mut hidden = false;
        let width = 0.8 / self.curves.len().max(1) as f64;
        let bottom = y.position(self.y_bounds().0);
        for (at, curve) in self.curves.iter().enumerate() {
            let colour = self.looks[curve.series].colour();
            for point in &curve.points {
                let Some(value) = point.y else { continue };
                if !self.drawn(value) {
                    hidden = true;
                    continue;
                }
                let left = point.x - 0.4 + width * at as f64;
                let (left, right) = (x.position(left), x.position(left + width * 0.92));
                to.block((left, y.position(value)), (right, bottom), colour);
            }
        }
        hidden
    }

    /// Draws the data. Returns true if a point was omitted because it is 0 on a logarithmic axis.
    fn curves(&self, to: &mut Picture, x: &Scale, y: &Scale) -> bool {
        let mut hidden = false;
        for curve in &self.curves {
            let look = self.looks[curve.series];
            let (colour, dash) = (look.colour(), look.dashes());
            // Break the line where a point is missing.
            let mut parts: Vec<Vec<(f64, f64)>> = vec![Vec::new()];
            for point in &curve.points {
                match point.y {
                    Some(value) if self.drawn(value) => {
                        let part = parts.last_mut().expect("there is a part");
                        part.push((x.position(point.x), y.position(value)));
                    }
                    missing => {
                        hidden |= missing.is_some();
                        parts.push(Vec::new());
                    }
                }
            }
            parts.retain(|part| !part.is_empty());
            if self.figure.kind == FigureKind::Distribution {
                parts = parts.iter().map(|part| steps(part, x)).collect();
            }
            for part in &parts {
                if part.len() > 1 {
                    to.line(part.clone(), colour, 1.1, dash);
                }
            }
            if self.figure.kind == FigureKind::Lines {
                self.intervals(to, curve, x, y);
                for &at in parts.iter().flatten() {
                    marker(to, look, at);
                }
            }
        }
        hidden
    }
}

impl Chart<'_> {
    /// Draws the confidence intervals of a curve.
    fn intervals(&self, to: &mut Picture, curve: &Curve, x: &Scale, y: &Scale) {
        const WIDTH: f64 = 0.4;
        const CAP: f64 = 1.4;
        let colour = self.looks[curve.series].colour();
        for point in &curve.points {
            let Some((low, high)) = point.interval else { continue };
            if !self.drawn(low) || !x.shows(point.x) {
                continue;
            }
            let (at, from, until) = (x.position(point.x), y.position(low), y.position(high));
            to.line(vec![(at, from), (at, until)], colour, WIDTH, &[]);
            for end in [from, until] {
                to.line(vec![(at - CAP, end), (at + CAP, end)], colour, WIDTH, &[]);
            }
        }
    }
}

/// The corners of the markers that follow the circle, in radii.
const CORNERS: [&[(f64, f64)]; MARKERS - 1] = [
    &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    &[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)],
    &[(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)],
    &[(0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)],
];
/// The number of corners of a circle that is drawn as an outline.
const ROUND: u32 = 16;

/// Draws the marker of a series.
fn marker(to: &mut Picture, look: Look, (x, y): (f64, f64)) {
    let (r, colour) = (MARKER, look.colour());
    let corners: Vec<(f64, f64)> = match look.marker() {
        0 if !look.is_hollow() => {
            to.shapes.push(Shape::Circle { at: (x, y), radius: r, colour });
            return;
        }
        0 => {
            let turn =
                |corner: u32| f64::from(corner) * 2.0 * std::f64::consts::PI / f64::from(ROUND);
            (0..ROUND).map(|corner| (libm::cos(turn(corner)), libm::sin(turn(corner)))).collect()
        }
        other => CORNERS[other - 1].to_vec(),
    };
    let mut points: Vec<(f64, f64)> =
        corners.into_iter().map(|(dx, dy)| (x + dx * r, y + dy * r)).collect();
    if look.is_hollow() {
        points.push(points[0]);
        to.line(points, colour, 0.8, &[]);
    } else {
        to.shapes.push(Shape::Polygon { points, colour });
    }
}

fn label_width(label: &Label) -> f64 {
    match label {
        Label::Plain(text) => text_width(text, TICKS),
        Label::Power(exponent) => {
            text_width("10", TICKS) + text_width(&exponent.to_string(), TICKS * 0.75)
        }
    }
}

/// Turns a cumulative curve into a staircase that extends to the right end of the axis.
fn steps(points: &[(f64, f64)], x: &Scale) -> Vec<(f64, f64)> {
    let mut out: Vec<(f64, f64)> = Vec::new();
    for &(px, py) in points {
        if let Some(&(_, before)) = out.last() {
            out.push((px, before));
        }
        out.push((px, py));
    }
    if let Some(&(last_x, last_y)) = out.last() {
        out.push((last_x.max(x.end()), last_y));
    }
    out
}
