//! Tables of the figures of policies or tasks, as wide as the terminal.

use super::terminal;
use super::tint::{self, Tint, tinted};
use crate::pages::figures::{IN_FULL, nearest};
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use layland_model::shown::{DIGITS, Unit};
use layland_model::visible;

/// The headings of [figures](crate::pages::figures::figures), in two lines.
const HEADINGS: [&str; 9] = [
    "\njobs",
    "\nmissed",
    "tardiness\nmax",
    "\nmean",
    "response\np50",
    "\np99",
    "\nmax",
    "preempt\n/job",
    "migrate\n/job",
];

/// The figures that a narrow terminal omits, the least important first.
const DISPENSABLE: [usize; 6] = [3, 4, 5, 8, 7, 6];

/// The style of a table.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    /// True for ASCII characters only.
    pub ascii: bool,
    /// True for colours.
    pub colours: bool,
}

/// A name with its figures; `None` if the policy rejected the set.
pub(crate) type Row = (String, Option<[String; 9]>);

/// Returns a table with one line per policy, or with one column per policy if the first is too wide
/// and the second is not.
pub(crate) fn policies(rows: &[Row], style: Style) -> String {
    let across = lines("policy", rows, &[0, 1, 2, 3, 4, 5, 6, 7, 8], style);
    if across.width() <= terminal::width() {
        return across.text;
    }
    let down = columns(rows, style);
    if down.width() < across.width() { down.text } else { across.text }
}

/// Returns a table with one line per distribution of times: the number of values and the quantiles
/// in nanoseconds.
pub(crate) fn distributions(rows: &[(String, u64, [f64; 5])], style: Style) -> String {
    let mut table = Table::new();
    table.set_header(["overhead", "count", "p50", "p99", "p99.9", "max", "mean"]);
    let unit = |at: usize| Unit::of(rows.iter().map(|(_, _, times)| nearest(times[at])));
    let units: [Unit; 5] = std::array::from_fn(unit);
    for (name, count, times) in rows {
        let times = units.iter().zip(times).map(|(unit, &ns)| unit.show(nearest(ns), DIGITS));
        table.add_row([name.clone(), count.to_string()].into_iter().chain(times));
    }
    Drawn::of(table, style).text
}

/// Returns a table of strings below their headings.
pub(crate) fn plain<const N: usize>(
    headings: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
    style: Style,
) -> String {
    let mut table = Table::new();
    table.set_header(headings);
    for row in rows {
        // Escape them here: an escaped character is wider than the original.
        table.add_row(row.map(|cell| visible(&cell).into_owned()));
    }
    Drawn::of(table, style).text
}

/// Returns a table of strings with any number of columns. All but the first are flush right.
pub(crate) fn texts(headings: Vec<String>, rows: Vec<Vec<String>>, style: Style) -> String {
    let mut table = Table::new();
    table.set_header(headings);
    for row in rows {
        table.add_row(row.iter().enumerate().map(|(at, text)| {
            let cell = Cell::new(visible(text));
            if at == 0 { cell } else { cell.set_alignment(CellAlignment::Right) }
        }));
    }
    Drawn::of(table, style).text
}

/// Returns a table with one line per task. Figures that do not fit are left out, and the table
/// notes that.
pub(crate) fn tasks(rows: &[Row], style: Style) -> String {
    for dropped in 0..=DISPENSABLE.len() {
        let shown: Vec<usize> =
            (0..9).filter(|figure| !DISPENSABLE[..dropped].contains(figure)).collect();
        let drawn = lines("task", rows, &shown, style);
        if drawn.width() <= terminal::width() || dropped == DISPENSABLE.len() {
            let note = match dropped {
                0 => "",
                _ => "\n(narrow: a wider terminal or --json shows every figure)",
            };
            return drawn.text + note;
        }
    }
    unreachable!("the last round returns")
}

/// A formatted table.
struct Drawn {
    plain: Vec<usize>,
    text: String,
}

impl Drawn {
    fn of(mut table: Table, style: Style) -> Drawn {
        table.set_content_arrangement(ContentArrangement::Disabled);
        table.load_style(if style.ascii {
            presets::ASCII_BORDERS_ONLY_CONDENSED
        } else {
            presets::UTF8_BORDERS_ONLY
        });
        let last = table.column_count().saturating_sub(1);
        for (index, column) in table.column_iter_mut().enumerate() {
            column.set_padding((1, u16::from(index == last)));
            if index > 0 {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        tint::show(&mut table, false);
        let plain = table.lines().map(|line| line.chars().count()).collect();
        tint::show(&mut table, style.colours);
        Drawn { plain, text: table.to_string() }
    }

    fn width(&self) -> usize {
        self.plain.iter().copied().max().unwrap_or(0)
    }
}

fn lines(name: &str, rows: &[Row], shown: &[usize], style: Style) -> Drawn {
    let mut table = Table::new();
    let header = shown.iter().map(|&figure| heading(figure, shown));
    table.set_header(std::iter::once(format!("\n{name}")).chain(header));
    for (name, figures) in rows {
        let cells = shown.iter().map(|&figure| cell(figures.as_ref(), figure));
        table.add_row(std::iter::once(Cell::new(visible(name))).chain(cells));
    }
    Drawn::of(table, style)
}

/// Returns the heading of a figure. It is written in full if the heading that it continues is left
/// out.
fn heading(figure: usize, shown: &[usize]) -> String {
    let continued = HEADINGS[figure].starts_with('\n') && IN_FULL[figure].contains(' ');
    if continued && !shown.contains(&(figure - 1)) {
        IN_FULL[figure].replace(' ', "\n")
    } else {
        HEADINGS[figure].to_owned()
    }
}

fn columns(rows: &[Row], style: Style) -> Drawn {
    let mut table = Table::new();
    table.set_header(std::iter::once("policy").chain(rows.iter().map(|(name, _)| name.as_str())));
    for (figure, name) in IN_FULL.iter().enumerate() {
        let cells = rows.iter().map(|(_, figures)| cell(figures.as_ref(), figure));
        table.add_row(std::iter::once(Cell::new(name)).chain(cells));
    }
    Drawn::of(table, style)
}

fn cell(figures: Option<&[String; 9]>, figure: usize) -> Cell {
    match (figures, figure) {
        (None, 0) => tinted(Cell::new("refused"), Tint::Doubtful),
        (None, _) => Cell::new("-"),
        (Some(figures), 1) if figures[1] != "0" => tinted(Cell::new(&figures[1]), Tint::Bad),
        (Some(figures), figure) => Cell::new(&figures[figure]),
    }
}
