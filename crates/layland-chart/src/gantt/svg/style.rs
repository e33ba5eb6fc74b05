//! Lengths, texts, colours and sizes.

use super::super::Nanoseconds;
use std::fmt::{self, Write};

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

/// Text in which what XML takes for markup is escaped and what it does not allow is left out.
pub(super) struct Escaped<'a>(pub(super) &'a str);

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
pub(super) fn time_text(time: impl Into<Nanoseconds>) -> String {
    time.into().to_string().replace("us", "µs")
}

/// The colours of Okabe and Ito, which are told apart with any kind of colour vision, with the
/// colour of text on them. With the patterns they make 48 fills; then they repeat.
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

/// What is laid over a colour when the colours are used up: the inside of an 8 by 8 tile.
pub(super) const PATTERNS: [&str; 5] = [
    "<path d=\"M-2 2l4-4M0 8l8-8M6 10l4-4\" stroke=\"#fff\" stroke-width=\"2\"/>",
    "<circle cx=\"2\" cy=\"2\" r=\"1.4\" fill=\"#fff\"/><circle cx=\"6\" cy=\"6\" r=\"1.4\" \
     fill=\"#fff\"/>",
    "<path d=\"M0 2h8M0 6h8\" stroke=\"#000\" stroke-width=\"1.2\" opacity=\".6\"/>",
    "<path d=\"M-2 6l4 4M0 0l8 8M6-2l4 4\" stroke=\"#000\" stroke-width=\"1.4\" opacity=\".6\"/>",
    "<path d=\"M0 4h8M4 0v8\" stroke=\"#fff\" stroke-width=\"1.6\"/>",
];

pub(super) const RED: &str = "#c00000";
pub(super) const INK: &str = "#222222";
pub(super) const FAINT: &str = "#666666";

pub(super) fn colour(position: usize) -> (&'static str, &'static str) {
    PALETTE[position % PALETTE.len()]
}

/// The pattern of a task, if it has one.
pub(super) fn pattern(position: usize) -> Option<usize> {
    let variant = position / PALETTE.len() % (PATTERNS.len() + 1);
    variant.checked_sub(1)
}

pub(super) fn fill(position: usize) -> String {
    match pattern(position) {
        None => colour(position).0.to_owned(),
        Some(variant) => format!("url(#t{}-{variant})", position % PALETTE.len()),
    }
}

/// The sizes of a chart, which follow from how many lanes there are.
pub(super) struct Sizes {
    pub(super) cpu_lane: i64,
    pub(super) task_lane: i64,
    /// The height of a bar in a task's lane.
    pub(super) bar: i64,
    pub(super) cpu_font: i64,
    pub(super) bar_font: i64,
    pub(super) label_font: i64,
}

impl Sizes {
    pub(super) fn new(cpus: usize, tasks: usize) -> Sizes {
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
pub(super) fn text_width(text: &str, font: i64) -> i64 {
    (text.chars().count() as i64 * font * 58).div_euclid(100)
}
