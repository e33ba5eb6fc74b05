//! Splits a text into rows and cells with their spans.

use crate::problem::Span;
use layland_model::csv_text;
use std::borrow::Cow;

/// The maximum number of cells that are kept of a row: no header has as many columns.
const MAX_CELLS: usize = 1000;

/// A cell and its span.
pub(super) struct Cell<'t> {
    pub text: Cow<'t, str>,
    pub span: Span,
}

/// Returns the separator that is most frequent in the header.
pub(super) fn separator(header: &str) -> u8 {
    let count = |sign: &u8| header.bytes().filter(|byte| byte == sign).count();
    // Of equally frequent ones, `max_by_key` returns the last: comma before semicolon before tab.
    [b'\t', b';', b','].into_iter().max_by_key(count).unwrap_or(b',')
}

/// The rows of a table.
pub(super) struct Rows<'t> {
    pub text: &'t str,
    pub at: usize,
    pub separator: u8,
}

/// The cells of a row, or the span of a quote that is not closed.
pub(super) type RawRow<'t> = Result<Vec<Cell<'t>>, Span>;

impl<'t> Iterator for Rows<'t> {
    type Item = RawRow<'t>;
    fn next(&mut self) -> Option<RawRow<'t>> {
        let bytes = self.text.as_bytes();
        if self.at >= bytes.len() {
            return None;
        }
        let mut cells = Vec::new();
        loop {
            let start = self.at;
            let cell = if bytes.get(start) == Some(&b'"') {
                let mut end = start + 1;
                loop {
                    match self.text[end..].find('"') {
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
            let stop = rest.iter().position(|&byte| byte == self.separator || byte == b'\n');
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
            if bytes.get(end) != Some(&self.separator) {
                return Some(Ok(cells));
            }
        }
    }
}
