//! Pictures for a paper: shapes in points, with equal output as SVG and as PDF.
//!
//! ```
//! use layland_chart::plot::{Anchor, Picture};
//! let mut picture = Picture { width: 40.0, height: 12.0, shapes: Vec::new() };
//! picture.block((0.0, 0.0), (4.0, 12.0), [0, 114, 178]);
//! picture.text((8.0, 9.0), "done", 8.0, Anchor::Start, [0, 0, 0]);
//! assert!(picture.svg("a bar").contains(">done</text>"));
//! assert!(picture.pdf("a bar").starts_with(b"%PDF"));
//! ```

mod font;
mod helvetica;
mod pdf;
mod scale;
mod svg;

#[cfg(feature = "png")]
pub(crate) use font::DATA as FONT;
pub use helvetica::width as text_width;
pub use pdf::pdf;
pub use scale::{Label, Scale, Tick};

/// A picture: shapes in points (1/72 inch), from the top left.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The width.
    pub width: f64,
    /// The height.
    pub height: f64,
    /// The shapes, from back to front.
    pub shapes: Vec<Shape>,
}

/// A colour: red, green, blue.
pub type Colour = [u8; 3];

/// An element of a [`Picture`].
#[derive(Clone, Debug)]
pub enum Shape {
    /// A line through points.
    Line {
        /// The points.
        points: Vec<(f64, f64)>,
        /// Its colour.
        colour: Colour,
        /// Its width.
        width: f64,
        /// The lengths of dashes and gaps in turn; empty for a solid line.
        dash: &'static [f64],
    },
    /// A closed polygon, filled.
    Polygon {
        /// The corners.
        points: Vec<(f64, f64)>,
        /// Its colour.
        colour: Colour,
    },
    /// A filled circle.
    Circle {
        /// The centre.
        at: (f64, f64),
        /// The radius.
        radius: f64,
        /// Its colour.
        colour: Colour,
    },
    /// A text in Helvetica, or in a font with the same widths.
    Text {
        /// The position of the anchor on the base line.
        at: (f64, f64),
        /// The text.
        text: String,
        /// The size of the font.
        size: f64,
        /// The point of the text that is at that position.
        anchor: Anchor,
        /// True if the text is rotated to the left by a right angle.
        upwards: bool,
        /// Its colour.
        colour: Colour,
    },
    /// Clips the following shapes to a rectangle, until the next clip.
    Clip {
        /// Left, top, width and height; `None` ends the clipping.
        at: Option<[f64; 4]>,
    },
}

/// The point of a text that is at a given position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The start.
    Start,
    /// The middle.
    Middle,
    /// The end.
    End,
}

impl Picture {
    /// Adds a line through points.
    pub fn line(
        &mut self,
        points: Vec<(f64, f64)>,
        colour: Colour,
        width: f64,
        dash: &'static [f64],
    ) {
        self.shapes.push(Shape::Line { points, colour, width, dash });
    }

    /// Adds a horizontal text.
    pub fn text(&mut self, at: (f64, f64), text: &str, size: f64, anchor: Anchor, colour: Colour) {
        let text = text.to_owned();
        self.shapes.push(Shape::Text { at, text, size, anchor, upwards: false, colour });
    }

    /// Adds the shapes of another picture, with its top left corner at a place.
    pub fn place(&mut self, other: &Picture, (left, top): (f64, f64)) {
        let moved = |&(x, y): &(f64, f64)| (x + left, y + top);
        self.shapes.extend(other.shapes.iter().cloned().map(|mut shape| {
            match &mut shape {
                Shape::Line { points, .. } | Shape::Polygon { points, .. } => {
                    *points = points.iter().map(moved).collect();
                }
                Shape::Circle { at, .. } | Shape::Text { at, .. } => *at = moved(at),
                Shape::Clip { at: Some([x, y, ..]) } => (*x, *y) = moved(&(*x, *y)),
                Shape::Clip { at: None } => {}
            }
            shape
        }));
    }

    /// Adds a filled rectangle.
    pub fn block(&mut self, (left, top): (f64, f64), (right, bottom): (f64, f64), colour: Colour) {
        let points = vec![(left, top), (right, top), (right, bottom), (left, bottom)];
        self.shapes.push(Shape::Polygon { points, colour });
    }
}
