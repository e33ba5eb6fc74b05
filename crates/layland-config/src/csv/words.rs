//! Tasks as people write them in a line: `T1: C=1, T=4`, `pump (C=3, T=9)`, `(1, 4)`, `T2 = (2, 6,
//! 5)`.
//!
//! The words before `=` are titles of columns, so that such lines are a table. Two or three numbers
//! in brackets are the WCET, the period and the deadline, as in lines of times.

use super::rows::{Cell, Titled};
use super::titles;
use crate::host::MAX_TASKS;
use crate::problem::{Problem, Problems, Span};
use layland_model::{Duration, ParseTimeError};
use std::borrow::Cow;

/// The content of a line.
struct Words<'t> {
    name: &'t str,
    /// The titles with their values.
    values: Vec<(&'t str, &'t str)>,
}

/// The titles of numbers in brackets, by position.
const POSITIONS: [&str; 3] = ["C", "T", "D"];

/// Returns true if a line is a task in words: two values with known titles, or two or three numbers
/// in brackets.
pub(crate) fn is_task(line: &str) -> bool {
    words(line).is_some_and(|words| {
        words.values.len() > 1
            && words.values.iter().all(|(title, _)| titles::meaning(title).is_some())
    })
}

/// Converts lines in words to the rows of a table, or reports those that are none.
pub(super) fn rows<'t>(text: &'t str, problems: &mut Problems) -> Titled<'t> {
    let span = |part: &str| -> Span {
        let at = part.as_ptr() as usize - text.as_ptr() as usize;
        at..at + part.len()
    };
    let cell = |part: &'t str| Cell { text: Cow::Borrowed(part), span: span(part) };
    let mut titles: Vec<Cell<'t>> = Vec::new();
    let mut rows: Vec<Vec<Cell<'t>>> = Vec::new();
    let mut found: Vec<(Span, Words<'t>)> = Vec::new();
    for line in text.trim_start_matches('\u{feff}').lines() {
        let content = line.split('#').next().unwrap_or_default().trim();
        if content.is_empty() {
            continue;
        }
        if found.len() == MAX_TASKS {
            let message = format!("the text has more than {MAX_TASKS} lines");
            let problem =
                Problem::error("layland::plain::too_many", message).at(span(content), "here");
            problems.push(problem.help("split it"));
            break;
        }
        match words(content) {
            Some(words) => found.push((span(content), words)),
            None => {
                let problem = Problem::error("layland::plain::line", "the line is not a task");
                let help = "write it as the others, as in T1: C=1ms, T=4ms";
                problems.push(problem.at(span(content), "this line").help(help));
            }
        }
    }
    let is_named = found.iter().any(|(_, words)| !words.name.is_empty());
    if is_named {
        titles.push(Cell { text: Cow::Borrowed("name"), span: 0..0 });
    }
    for (_, words) in &found {
        for &(title, _) in &words.values {
            if !titles.iter().any(|known| known.text == title) {
                let is_in_text = !POSITIONS.iter().any(|position| std::ptr::eq(*position, title));
                let span = if is_in_text { span(title) } else { 0..0 };
                titles.push(Cell { text: Cow::Borrowed(title), span });
            }
        }
    }
    for (whole, words) in found {
        let value = |title: &Cell<'t>| {
            let value =
                words.values.iter().find(|(of, _)| *of == title.text).map(|&(_, value)| value);
            value.map_or(Cell { text: Cow::Borrowed(""), span: whole.clone() }, cell)
        };
        let mut row: Vec<Cell<'t>> = titles.iter().map(value).collect();
        if is_named {
            row[0] = Cell { text: Cow::Borrowed(words.name), span: whole.clone() };
        }
        rows.push(row);
    }
    Titled { titles, rows }
}

/// Splits a line into its name and values.
fn words(line: &str) -> Option<Words<'_>> {
    let line = line.trim().trim_end_matches(['.', ',', ';']).trim_end();
    let is_end = |c: char| c.is_whitespace() || ":=,".contains(c);
    let (name, inner) = match line.find(['(', '{', '<']) {
        // A bracket before the first `=` has the values in it; a later one belongs to a title.
        Some(open)
            if line.ends_with([')', '}', '>'])
                && !line[..open].trim_end_matches(is_end).contains('=') =>
        {
            (line[..open].trim_end_matches(is_end), &line[open + 1..line.len() - 1])
        }
        Some(_) | None => match line.split_once(':') {
            Some((name, inner)) => (name, inner),
            None => ("", line),
        },
    };
    if !inner.contains('=') {
        let numbers: Vec<&str> = inner.split([',', ';']).map(str::trim).collect();
        let is_time = |text: &&str| match text.parse::<Duration>() {
            Ok(_) | Err(ParseTimeError::MissingUnit { .. }) => true,
            Err(_) => false,
        };
        let is_tuple = inner.len() < line.len() && matches!(numbers.len(), 2 | 3);
        let values = POSITIONS.into_iter().zip(numbers.iter().copied()).collect();
        return (is_tuple && numbers.iter().all(is_time))
            .then_some(Words { name: name.trim(), values });
    }
    // Between two signs `=` are the value of the title before and, as its last word, the next
    // title.
    let parts: Vec<&str> = inner.split('=').collect();
    let mut values = Vec::new();
    let last_word = |part: &str| {
        let part = part.trim_end();
        part.rfind([' ', ',', ';', '\t', '(', '{']).map_or(0, |at| at + 1)
    };
    let first = parts[0].trim_end();
    let mut title = &first[last_word(first)..];
    let before = first[..last_word(first)].trim_matches([' ', ',', ':']);
    for (at, part) in parts.iter().enumerate().skip(1) {
        let is_last = at + 1 == parts.len();
        let end = if is_last { part.len() } else { last_word(part) };
        let value = part[..end].trim_matches([' ', ',', ';', '\t', ')', '}']);
        if title.is_empty() || value.is_empty() {
            return None;
        }
        values.push((title, value));
        title = part[end..].trim();
    }
    let name = if name.is_empty() { before } else { name };
    Some(Words { name: name.trim(), values })
}
