//! Lengths, text formats, colours and sizes.

use super::super::words::Nanoseconds;
use crate::svg::{Element, Svg};
use std::fmt;

/// A length or a coordinate in hundredths of a pixel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Px(pub(super) i64);

pub(super) const fn px(pixels: i64) -> Px {
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

/// Formats a time or a duration, with the micro sign.
pub(super) fn time_text(time: impl Into<Nanoseconds>) -> String {
    time.into().to_string().replace("us", "µs")
}

/// The colours of Okabe and Ito, which people with any kind of colour vision can distinguish, each
/// with the colour of text on it. With the patterns they make 48 fills; then they repeat.
pub(super) const PALETTE: [(&str, &str); 8] = [
    ("#0072b2", "#ffffff"),
    ("#e69f00", "#000000"),
    ("#009e73", "#000000"),
    ("#cc79a7", "#000000"),
    ("#56b4e9", "#000000"),
    ("#f0e442", "#000000"),
    ("#d55e00", "#000000"),
    ("#b0b0b0", "#000000"),
];

/// The number of patterns.
const PATTERNS: usize = 5;

/// Draws the pattern over a colour, for tasks beyond
/// the number of colours: the inside of an 8 by 8 tile.
pub(super) fn overlay(to: &mut Svg, variant: usize) {
    match variant {
        0 => stroke(to, "M-2 2l4-4M0 8l8-8M6 10l4-4", "#fff", "2").empty(),
        1 => {
            for at in [2, 6] {
                let dot = to.element("circle").attr("cx", at).attr("cy", at).attr("r", 1.4);
                dot.attr("fill", "#fff").empty();
            }
        }
        2 => stroke(to, "M0 2h8M0 6h8", "#000", "1.2").attr("opacity", ".6").empty(),
        3 => stroke(to, "M-2 6l4 4M0 0l8 8M6-2l4 4", "#000", "1.4").attr("opacity", ".6").empty(),
        _ => stroke(to, "M0 4h8M4 0v8", "#fff", "1.6").empty(),
    }
}

/// The edge of a bar.
pub(super) const EDGE: [(&str, &str); 2] = [("stroke", "#000"), ("stroke-width", ".6")];
/// The line of a job that is ready and waits.
pub(super) const DOTTED: [(&str, &str); 3] =
    [("stroke", FAINT), ("stroke-width", "1.6"), ("stroke-dasharray", "1.6 3")];
/// The line of a job that suspends itself.
pub(super) const SUSPENDED: [(&str, &str); 2] = [("stroke", FAINT), ("stroke-width", ".8")];
/// The line of a migration.
pub(super) const DASHED: [(&str, &str); 4] =
    [("fill", "none"), ("stroke", "#000"), ("stroke-width", "1.2"), ("stroke-dasharray", "3 2")];

pub(super) const RED: &str = "#c00000";
pub(super) const INK: &str = "#222222";
pub(super) const FAINT: &str = "#666666";

fn stroke<'a>(to: &'a mut Svg, d: &str, stroke: &str, width: &str) -> Element<'a> {
    to.element("path").attr("d", d).attr("stroke", stroke).attr("stroke-width", width)
}

pub(super) fn colour(position: usize) -> (&'static str, &'static str) {
    PALETTE[position % PALETTE.len()]
}

/// Returns the pattern of a task, if it has one.
pub(super) fn pattern(position: usize) -> Option<usize> {
    let variant = position / PALETTE.len() % (PATTERNS + 1);
    variant.checked_sub(1)
}

pub(super) fn fill(position: usize) -> String {
    match pattern(position) {
        None => colour(position).0.to_owned(),
        Some(variant) => format!("url(#t{}-{variant})", position % PALETTE.len()),
    }
}

/// The sizes in a chart, which depend on the number of rows.
pub(super) struct Sizes {
    pub(super) cpu_row: i64,
    pub(super) task_row: i64,
    /// The height of a bar in a task's row.
    pub(super) bar: i64,
    pub(super) cpu_font: i64,
    pub(super) bar_font: i64,
    pub(super) label_font: i64,
}

impl Sizes {
    pub(super) fn new(cpus: usize, tasks: usize) -> Sizes {
        let (cpu_row, cpu_font) = match cpus {
            0..=8 => (30, 12),
            9..=24 => (22, 11),
            _ => (15, 9),
        };
        let (task_row, bar, bar_font, label_font) = match tasks {
            0..=8 => (46, 20, 11, 12),
            9..=24 => (32, 15, 10, 11),
            _ => (21, 11, 9, 10),
        };
        Sizes { cpu_row, task_row, bar, cpu_font, bar_font, label_font }
    }
}

/// Returns the approximate width of a text, in pixels.
pub(super) fn text_width(text: &str, font: i64) -> i64 {
    (text.chars().count() as i64 * font * 58).div_euclid(100)
}
