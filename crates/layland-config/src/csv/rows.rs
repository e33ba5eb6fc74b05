//! Splits a text into rows and cells with their spans.

use super::layout::{Layout, by_runs, is_rule};
use crate::problem::Span;
use layland_model::csv_text;
use std::borrow::Cow;

/// The maximum number of cells that are kept of a row: no header has as many columns.
const MAX_CELLS: usize = 1000;

/// A cell and its span.
#[derive(Clone, Debug)]
pub(crate) struct Cell<'t> {
    pub text: Cow<'t, str>,
    pub span: Span,
}

/// The titles and the rows of a table in memory.
pub(crate) struct Titled<'t> {
    pub titles: Vec<Cell<'t>>,
    pub rows: Vec<Vec<Cell<'t>>>,
}

/// The rows of a table.
pub(super) enum Rows<'t> {
    /// Rows that are read from a text one by one.
    Text(TextRows<'t>),
    /// Rows that are in memory: those of JSON, YAML and lines of words.
    Titled { rows: &'t [Vec<Cell<'t>>], at: usize },
}

/// The rows of a text.
#[derive(Clone)]
pub(super) struct TextRows<'t> {
    pub text: &'t str,
    pub at: usize,
    /// The end of the table in the text.
    pub end: usize,
    pub layout: Layout,
    /// The number of columns, if it is known: words between blanks may belong to one cell.
    pub columns: Option<usize>,
}

/// The cells of a row, or the span of a quote that is not closed.
pub(super) type RawRow<'t> = Result<Vec<Cell<'t>>, Span>;

impl<'t> Iterator for Rows<'t> {
    type Item = RawRow<'t>;
    fn next(&mut self) -> Option<RawRow<'t>> {
        match self {
            Rows::Text(rows) => rows.next(),
            Rows::Titled { rows, at } => {
                *at += 1;
                rows.get(*at - 1).cloned().map(Ok)
            }
        }
    }
}

impl<'t> Rows<'t> {
    /// Returns the same rows, from the next one on.
    pub(super) fn copy(&self) -> Rows<'t> {
        match self {
            Rows::Text(rows) => Rows::Text(rows.clone()),
            Rows::Titled { rows, at } => Rows::Titled { rows, at: *at },
        }
    }

    /// Returns the row with this first cell again: the cells of all rows would need more memory
    /// than their tasks.
    pub(super) fn again(&self, first: &Span) -> Vec<Cell<'t>> {
        match self {
            Rows::Text(rows) => {
                let row = TextRows { at: first.start, ..rows.clone() }.next();
                row.and_then(Result::ok).unwrap_or_default()
            }
            Rows::Titled { rows, .. } => {
                let is_row =
                    |row: &&Vec<Cell<'_>>| row.first().is_some_and(|cell| cell.span == *first);
                rows.iter().find(is_row).cloned().unwrap_or_default()
            }
        }
    }
}

impl<'t> TextRows<'t> {
    pub(super) fn next(&mut self) -> Option<RawRow<'t>> {
        match self.layout {
            Layout::Separated(separator) => self.separated(separator),
            Layout::Blanks => self.blanks().map(Ok),
            Layout::Pipes => self.pipes().map(Ok),
            Layout::Latex => self.latex().map(Ok),
        }
    }

    /// Returns the next line, and moves behind it.
    fn line(&mut self) -> Option<&'t str> {
        let rest = &self.text[self.at..self.end];
        let line = rest.split_inclusive('\n').next()?;
        self.at += line.len();
        Some(line)
    }

    fn cell(&self, part: &'t str) -> Cell<'t> {
        let trimmed = part.trim();
        // The part may be empty: its position counts then.
        let start = part.as_ptr() as usize - self.text.as_ptr() as usize;
        let start = start + (part.len() - part.trim_start().len()).min(part.len() - trimmed.len());
        Cell { text: Cow::Borrowed(trimmed), span: start..start + trimmed.len() }
    }

    /// Columns with blanks between. A cell with a blank in it stands between runs of blanks.
    fn blanks(&mut self) -> Option<Vec<Cell<'t>>> {
        loop {
            let line = self.line()?;
            let content = line.trim();
            if content.is_empty() || content.starts_with('#') || is_rule(content) {
                continue;
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            let runs = by_runs(line.trim_end());
            let parts = match self.columns {
                Some(columns) if words.len() != columns && runs.len() == columns => runs,
                Some(_) | None => words,
            };
            return Some(parts.into_iter().take(MAX_CELLS).map(|part| self.cell(part)).collect());
        }
    }

    /// Columns with pipes between. The table ends with the first line without one.
    fn pipes(&mut self) -> Option<Vec<Cell<'t>>> {
        const PIPES: [char; 5] = ['|', '│', '┆', '┃', '║'];
        loop {
            let content = self.line()?.trim();
            if is_rule(content) {
                continue;
            }
            if !content.contains(PIPES) {
                self.at = self.end;
                return None;
            }
            let inner = content.strip_prefix(PIPES).unwrap_or(content);
            let inner = inner.strip_suffix(PIPES).unwrap_or(inner);
            let cell = |part| {
                let Cell { text, span } = self.cell(part);
                let bare = text.trim_matches(['*', '`']).to_owned();
                Cell { text: Cow::Owned(bare), span }
            };
            return Some(inner.split(PIPES).take(MAX_CELLS).map(cell).collect());
        }
    }

    /// Columns with `&` between, and rows that end with `\\`.
    fn latex(&mut self) -> Option<Vec<Cell<'t>>> {
        loop {
            let rest = self.text.get(self.at..self.end).filter(|rest| !rest.trim().is_empty())?;
            let length = rest.find(r"\\").unwrap_or(rest.len());
            let (row, after) = rest.split_at(length);
            let mut next = after.len().min(2);
            // A distance may follow: `\\[2pt]`.
            if after[next..].starts_with('[') {
                next += after[next..].find(']').map_or(0, |end| end + 1);
            }
            self.at += length + next;
            let row = without_rules(row);
            if !row.trim().is_empty() {
                let cell = |part| {
                    let Cell { text, span } = self.cell(part);
                    Cell { text: Cow::Owned(of_latex(&text)), span }
                };
                return Some(row.split('&').take(MAX_CELLS).map(cell).collect());
            }
        }
    }

    fn separated(&mut self, separator: u8) -> Option<RawRow<'t>> {
        let bytes = &self.text.as_bytes()[..self.end];
        if self.at >= bytes.len() {
            return None;
        }
        let mut cells = Vec::new();
        loop {
            let start = self.at;
            let cell = if bytes.get(start) == Some(&b'"') {
                let mut end = start + 1;
                loop {
                    match self.text.get(end..self.end).and_then(|rest| rest.find('"')) {
                        None => {
                            // The rest of the text is inside the
                            // quote, so there are no further rows.
                            self.at = bytes.len();
                            return Some(Err(start..start + 1));
                        }
                        // Two consecutive quotes stand for one, and do not end the cell.
                        Some(found) if bytes.get(end + found + 1) == Some(&b'"') => {
                            end += found + 2
                        }
                        Some(found) => {
                            end += found;
                            break;
                        }
                    }
                }
                let text = self.text[start + 1..end].replace("\"\"", "\"");
                self.at = end + 1;
                Cell { text: Cow::Owned(text), span: start..end + 1 }
            } else {
                Cell { text: Cow::Borrowed(""), span: start..start }
            };
            let rest = &bytes[self.at..];
            let stop = rest.iter().position(|&byte| byte == separator || byte == b'\n');
            let end = self.at + stop.unwrap_or(rest.len());
            let tail = self.text[self.at..end].trim_end_matches('\r');
            let span_end = self.at + tail.len();
            let cell = match cell.text {
                // Text after a closed quote belongs to the cell.
                Cow::Owned(text) => {
                    let text = text + tail;
                    Cell { text: Cow::Owned(csv_text(&text).to_owned()), span: start..span_end }
                }
                Cow::Borrowed(_) => {
                    Cell { text: Cow::Borrowed(csv_text(tail)), span: start..span_end }
                }
            };
            if cells.len() < MAX_CELLS {
                cells.push(cell);
            }
            self.at = end + 1;
            if bytes.get(end) != Some(&separator) {
                return Some(Ok(cells));
            }
        }
    }
}

/// Returns a row of LaTeX without the lines that are drawn above it, and without comments before
/// it.
fn without_rules(row: &str) -> &str {
    const RULES: [&str; 7] =
        [r"\hline", r"\toprule", r"\midrule", r"\bottomrule", r"\cline", r"\cmidrule", r"\endhead"];
    let mut row = row.trim_start();
    loop {
        let after = if row.starts_with('%') {
            row.find('\n').map_or("", |end| &row[end..])
        } else if let Some(rule) = RULES.iter().find(|rule| row.starts_with(**rule)) {
            let rest = &row[rule.len()..];
            if rest.starts_with(['{', '(', '[']) {
                rest.find('}').map_or(rest, |end| &rest[end + 1..])
            } else {
                rest
            }
        } else {
            return row;
        };
        row = after.trim_start();
    }
}

/// Returns the text of a cell of LaTeX, without the commands for its look.
fn of_latex(cell: &str) -> String {
    let mut out = String::new();
    let mut rest = cell;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\\' => {
                let length = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
                let (command, after) = rest.split_at(length);
                rest = after;
                match command {
                    // `\_`, `\%`, `\#` are the signs, and `\,` a narrow blank.
                    "" => {
                        let sign = rest.chars().next().unwrap_or(' ');
                        rest = rest.get(sign.len_utf8()..).unwrap_or_default();
                        if !",;: ".contains(sign) {
                            out.push(sign);
                        }
                    }
                    "mu" | "micro" => out.push('u'),
                    _ if after.starts_with('{') => {}
                    _ => out += command,
                }
            }
            '$' | '{' | '}' => {}
            '~' => out.push(' '),
            c => out.push(c),
        }
    }
    out.trim().to_owned()
}
