//! Text that others wrote, for places where some of its characters would do something: a terminal, a spreadsheet.

use std::borrow::Cow;
use std::fmt::Write;

/// A text of others for a terminal: every character that [acts](acts_on_a_terminal) is written as its escape.
///
/// An escape sequence would colour or move what the terminal shows, change its title or write the clipboard; a bidi
/// control would turn a row of a table round. Two texts that look alike are alike: backslashes stay as they are, so
/// that a path reads as it was given.
///
/// ```
/// use layland_model::visible;
///
/// assert_eq!(visible("control"), "control");
/// assert_eq!(visible("\u{1b}[31mred"), r"\u{1b}[31mred");
/// assert_eq!(visible("one\ntwo \u{202e}owt"), r"one\ntwo \u{202e}owt");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(acts_on_a_terminal) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        push_visible(&mut out, char);
    }
    Cow::Owned(out)
}

/// Appends a character, or its escape where it [acts](acts_on_a_terminal).
pub fn push_visible(out: &mut String, char: char) {
    match char {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        acting if acts_on_a_terminal(acting) => {
            // Writing to a string never fails.
            let _ = write!(out, "{}", acting.escape_unicode());
        }
        other => out.push(other),
    }
}

/// Whether a terminal acts on the character, or shows nothing of it: controls, line and paragraph separators, bidi
/// controls, and characters of no width that a name can hide behind.
///
/// ```
/// use layland_model::acts_on_a_terminal;
///
/// assert!(acts_on_a_terminal('\u{1b}') && acts_on_a_terminal('\u{200b}') && acts_on_a_terminal('\u{2066}'));
/// assert!(!acts_on_a_terminal('é') && !acts_on_a_terminal('\u{1f697}'));
/// ```
pub fn acts_on_a_terminal(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{ad}' // soft hyphen
            | '\u{61c}' // Arabic letter mark
            | '\u{180e}' // Mongolian vowel separator
            | '\u{200b}'..='\u{200f}' // zero width, and marks of direction
            | '\u{2028}'..='\u{202e}' // separators of lines and paragraphs, embeddings, overrides
            | '\u{2060}'..='\u{206f}' // word joiner, invisible operators, isolates
            | '\u{feff}' // byte order mark
            | '\u{fff9}'..='\u{fffb}' // interlinear annotations
            | '\u{e0000}'..='\u{e007f}' // tags
        )
}

/// A text as a cell of CSV: in quotes where it needs them, and behind an apostrophe where a spreadsheet would run it.
///
/// A spreadsheet takes a cell for a formula that begins with `=`, `+`, `-`, `@`, a tab or a carriage return, in quotes,
/// too. It shows a cell that begins with an apostrophe as text. [`csv_text`] takes the apostrophe off again.
///
/// ```
/// use layland_model::csv_cell;
///
/// assert_eq!(csv_cell("control"), "control");
/// assert_eq!(csv_cell("left, right"), "\"left, right\"");
/// assert_eq!(csv_cell("=1+1"), "'=1+1");
/// ```
pub fn csv_cell(text: &str) -> Cow<'_, str> {
    let defused = if begins_a_formula(text.trim_start_matches('\'')) {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    };
    let plain =
        !defused.contains([',', '"', '\n', '\r', ';', '\t', '#']) && defused.trim() == defused;
    if plain { defused } else { Cow::Owned(format!("\"{}\"", defused.replace('"', "\"\""))) }
}

/// The text of a cell that [`csv_cell`] wrote, without its quotes.
///
/// ```
/// use layland_model::csv_text;
///
/// assert_eq!(csv_text("'=1+1"), "=1+1");
/// assert_eq!(csv_text("'tis"), "'tis");
/// ```
pub fn csv_text(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        // A name that begins with apostrophes and then like a formula got one more.
        Some(text) if begins_a_formula(text.trim_start_matches('\'')) => text,
        Some(_) | None => cell,
    }
}

fn begins_a_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_that_acts_is_left(text in any::<String>()) {
            prop_assert!(!visible(&text).contains(acts_on_a_terminal));
        }

        #[test]
        fn cells_are_read_as_they_were_written(text in "['=+@a,\"; \t-]{0,6}") {
            let cell = csv_cell(&text).into_owned();
            let inside = match cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')) {
                Some(quoted) => quoted.replace("\"\"", "\""),
                None => cell.clone(),
            };
            prop_assert_eq!(csv_text(&inside), &text);
            prop_assert!(!begins_a_formula(&inside), "{}", cell);
        }
    }
}
