//! Colours in tables.

use comfy_table::{Attribute, Cell, Color, Table};

/// A colour with a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tint {
    Good,
    Doubtful,
    Bad,
}

/// Returns the cell in a colour.
pub(crate) fn tinted(cell: Cell, tint: Tint) -> Cell {
    match tint {
        Tint::Good => cell.fg(Color::Green),
        Tint::Doubtful => cell.fg(Color::Yellow),
        Tint::Bad => cell.fg(Color::Red).add_attribute(Attribute::Bold),
    }
}

/// Sets whether colours are shown. By default the library would inspect standard output.
pub(crate) fn show(table: &mut Table, colours: bool) {
    table.force_no_tty();
    if colours {
        table.enforce_styling();
    }
}
