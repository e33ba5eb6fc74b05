//! Colours in tables. A terminal has them, and so only the program does.

use comfy_table::{Cell, Table};

/// A colour that means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tint {
    Good,
    Doubtful,
    Bad,
}

/// The cell in a colour.
#[cfg(feature = "command")]
pub(crate) fn tinted(cell: Cell, tint: Tint) -> Cell {
    use comfy_table::{Attribute, Color};
    match tint {
        Tint::Good => cell.fg(Color::Green),
        Tint::Doubtful => cell.fg(Color::Yellow),
        Tint::Bad => cell.fg(Color::Red).add_attribute(Attribute::Bold),
    }
}

/// The cell, without a colour.
#[cfg(not(feature = "command"))]
pub(crate) fn tinted(cell: Cell, _: Tint) -> Cell {
    cell
}

/// Whether colours are shown is not for the library to decide, which would look at standard output.
pub(crate) fn show(table: &mut Table, colours: bool) {
    #[cfg(feature = "command")]
    {
        table.force_no_tty();
        if colours {
            table.enforce_styling();
        }
    }
    #[cfg(not(feature = "command"))]
    let _ = (table, colours);
}
