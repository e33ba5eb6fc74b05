//! Colours in tables. Only the program has them, because only it has a terminal.

use comfy_table::{Cell, Table};

/// A colour with a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tint {
    Good,
    Doubtful,
    Bad,
}

/// Returns the cell in a colour.
#[cfg(feature = "command")]
pub(crate) fn tinted(cell: Cell, tint: Tint) -> Cell {
    use comfy_table::{Attribute, Color};
    match tint {
        Tint::Good => cell.fg(Color::Green),
        Tint::Doubtful => cell.fg(Color::Yellow),
        Tint::Bad => cell.fg(Color::Red).add_attribute(Attribute::Bold),
    }
}

/// Returns the cell without a colour.
#[cfg(not(feature = "command"))]
pub(crate) fn tinted(cell: Cell, _: Tint) -> Cell {
    cell
}

/// Sets whether colours are shown. By default the library would inspect standard output.
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
