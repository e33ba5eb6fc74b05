//! Figures for a paper: one column wide, the legend above the axes, the same picture as SVG and PDF.

mod chart;
mod helvetica;
mod pdf;
mod scale;
mod svg;

pub use chart::Chart;

/// A picture: shapes in points (1/72 inch), from the top left.
pub struct Scene {
    width: f64,
    height: f64,
    shapes: Vec<Shape>,
}

/// Red, green, blue.
type Colour = [u8; 3];

enum Shape {
    /// A line through points.
    Line { points: Vec<(f64, f64)>, colour: Colour, width: f64, dash: &'static [f64] },
    /// A closed polygon, filled.
    Polygon { points: Vec<(f64, f64)>, colour: Colour },
    /// A filled circle.
    Circle { at: (f64, f64), radius: f64, colour: Colour },
    /// Words in Helvetica; `at` is on the base line.
    Text { at: (f64, f64), text: String, size: f64, anchor: Anchor, upwards: bool, colour: Colour },
    /// What follows is cut to a rectangle, until the next of these.
    Clip { at: Option<[f64; 4]> },
}

/// Which point of a text is at its place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Anchor {
    Start,
    Middle,
    End,
}
