//! Escapes untrusted strings for places where some characters have an effect, such as a terminal or
//! a spreadsheet.

use std::borrow::Cow;
use std::fmt::Write;

/// Escapes a foreign string for a terminal: replaces each character that
/// [has an effect](acts_on_a_terminal) by its escape sequence.
///
/// Otherwise a control sequence could change colours, move the cursor, set the title or write the
/// clipboard, and a bidi control could reverse a row of a table. Invisible characters become
/// visible, so that they cannot make two different names look alike. Backslashes are not escaped,
/// so that a path appears as it was given.
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

/// Appends a character, or its escape sequence if it [has an effect](acts_on_a_terminal).
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

/// Returns true if a terminal acts on the character or shows nothing for it: controls, line and
/// paragraph separators, bidi controls, and characters of zero width that can hide a name.
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
            | '\u{200b}'..='\u{200f}' // zero-width characters and direction marks
            | '\u{2028}'..='\u{202e}' // line and paragraph separators, embeddings, overrides
            | '\u{2060}'..='\u{206f}' // word joiner, invisible operators, isolates
            | '\u{feff}' // byte order mark
            | '\u{fff9}'..='\u{fffb}' // interlinear annotations
            | '\u{e0000}'..='\u{e007f}' // tags
        )
}

/// Formats a string as a CSV cell: in quotes where necessary, and with a leading apostrophe where a
/// spreadsheet would evaluate it.
///
/// A spreadsheet treats a cell as a formula if it begins with `=`, `+`, `-`, `@`, a tab or a
/// carriage return, even in quotes. It shows a cell that begins with an apostrophe as text.
/// [`csv_text`] removes the apostrophe again.
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

/// The original string of a cell that [`csv_cell`] wrote, without its quotes.
///
/// ```
/// use layland_model::csv_text;
///
/// assert_eq!(csv_text("'=1+1"), "=1+1");
/// assert_eq!(csv_text("'tis"), "'tis");
/// ```
pub fn csv_text(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        // `csv_cell` also adds an apostrophe to a name that has apostrophes before the start of a
        // formula.
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
