//! Execution times of two criticality levels in one cell: `{10, 29}`.

use super::rows::{Cell, Rows};
use super::titles::{self, Title};
use std::borrow::Cow;

/// The titles and the rows of a table in which such a column has become two.
pub(super) type Split<'t> = (Vec<Cell<'t>>, Vec<Vec<Cell<'t>>>);

/// Splits the column of execution times if the cell in the first row has two. Returns `None` for
/// every other table.
pub(super) fn split<'t>(titles: &[Cell<'_>], rows: &Rows<'t>) -> Option<Split<'t>> {
    let is_wcet = |title: &Cell<'_>| {
        titles::read(&title.text)
            .is_some_and(|title| title.meaning.is_key("wcet") && title.level.is_none())
    };
    let at = titles.iter().position(is_wcet)?;
    let first = rows.copy().find_map(Result::ok)?;
    pair(&first.get(at)?.text)?;
    let rows: Option<Vec<Vec<Cell<'t>>>> = rows.copy().map(Result::ok).collect();
    let split = |mut row: Vec<Cell<'t>>| {
        if let Some(cell) = row.get(at) {
            let span = cell.span.clone();
            let (low, high) = match pair(&cell.text) {
                Some((low, high)) => (low.to_owned(), high.to_owned()),
                None => (cell.text.to_string(), cell.text.to_string()),
            };
            let cells = [low, high].map(|text| Cell { text: Cow::Owned(text), span: span.clone() });
            row.splice(at..=at, cells);
        }
        row
    };
    let unit = titles::read(&titles[at].text).and_then(|Title { unit, .. }| unit);
    let unit = unit.map_or_else(String::new, |unit| format!("_{unit}"));
    let mut named: Vec<Cell<'t>> = titles
        .iter()
        .map(|title| Cell { text: Cow::Owned(title.text.to_string()), span: title.span.clone() })
        .collect();
    let span = named[at].span.clone();
    let of =
        |level: &str| Cell { text: Cow::Owned(format!("wcet.{level}{unit}")), span: span.clone() };
    named.splice(at..=at, [of("LO"), of("HI")]);
    Some((named, rows?.into_iter().map(split).collect()))
}

/// Returns the two parts of `{a, b}`, `(a, b)` or `[a, b]`.
fn pair(text: &str) -> Option<(&str, &str)> {
    let inner = text.trim().strip_prefix(['{', '(', '['])?.strip_suffix(['}', ')', ']'])?;
    let (low, high) = inner.split_once([',', ';'])?;
    let (low, high) = (low.trim(), high.trim());
    let is_one = |text: &str| !text.is_empty() && !text.contains([',', ';']);
    (is_one(low) && is_one(high)).then_some((low, high))
}
