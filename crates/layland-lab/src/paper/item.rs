//! The parts of a report.

use layland_chart::plot::Picture;

/// A part of the report.
pub(super) enum Item {
    /// A heading of this level, from 1.
    Heading(u8, String),
    /// A paragraph.
    Text(String),
    /// A command.
    Command(String),
    /// A line below a claim.
    Detail(String),
    /// A claim, and its judgement.
    Claim { text: String, here: String },
    /// A figure, its picture, and its description.
    Figure { name: String, picture: Box<Picture>, about: String },
}
