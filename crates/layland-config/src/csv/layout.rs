//! Finds out what separates the columns of a table: signs (CSV), blanks, pipes (markdown), or `&`
//! (LaTeX).

use super::titles;
use layland_model::{Duration, ParseTimeError};
use std::ops::Range;

/// The separation of the columns of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// A comma, a semicolon or a tab.
    Separated(u8),
    /// Runs of blanks.
    Blanks,
    /// Pipes, as in markdown and in tables that programs draw.
    Pipes,
    /// `&` between columns and `\\` between rows, as in LaTeX.
    Latex,
}

/// The number of lines before the titles: prose in a document, comments.
const BEFORE: usize = 200;

/// Returns the layout of a table with titles, if the text is one.
pub(crate) fn layout(text: &str) -> Option<Layout> {
    if is_latex(text) {
        return Some(Layout::Latex);
    }
    if pipes(text).is_some() {
        return Some(Layout::Pipes);
    }
    let (first, next) = first_lines(text)?;
    if first.contains('=') {
        return None;
    }
    if is_header(&first.split([',', ';', '\t']).collect::<Vec<_>>()) {
        return Some(Layout::Separated(separator(first)));
    }
    // Lines of words and YAML have colons.
    let is_row =
        !first.contains(':') && next.is_none_or(|next| next.contains(|c: char| c.is_ascii_digit()));
    let by_blanks = [by_runs(first), first.split_whitespace().collect()];
    (is_row && by_blanks.iter().any(|titles| is_header(titles))).then_some(Layout::Blanks)
}

/// Returns the layout of a table that is known to be CSV.
pub(crate) fn separated(text: &str) -> Layout {
    let text = text.trim_start_matches('\u{feff}');
    let is_content = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    Layout::Separated(separator(text.lines().find(is_content).unwrap_or_default()))
}

/// Returns the layout of a table whose first line is a row.
pub(crate) fn layout_of_rows(text: &str) -> Layout {
    if is_latex(text) {
        return Layout::Latex;
    }
    let first = first_lines(text).map_or("", |(first, _)| first);
    if first.contains(['|', '│']) {
        Layout::Pipes
    } else if first.contains([',', ';', '\t']) {
        Layout::Separated(separator(first))
    } else {
        Layout::Blanks
    }
}

/// Returns the layout of a line that is a row of a table: all of its cells are numbers or times,
/// but perhaps the first.
pub(crate) fn without_titles(line: &str) -> Option<Layout> {
    let is_number = |cell: &&str| match cell.trim().replace(',', ".").parse::<Duration>() {
        Ok(_) | Err(ParseTimeError::MissingUnit { .. }) => true,
        Err(_) => false,
    };
    let is_row = |cells: &[&str]| {
        cells.len() > 2 && cells[1..].iter().filter(|cell| !cell.trim().is_empty()).all(is_number)
    };
    if line.contains([',', ';', '\t']) {
        let separator = separator(line);
        let cells: Vec<&str> = line.split(char::from(separator)).collect();
        return is_row(&cells).then_some(Layout::Separated(separator));
    }
    is_row(&line.split_whitespace().collect::<Vec<_>>()).then_some(Layout::Blanks)
}

/// Returns the separator that is most frequent in a line.
pub(super) fn separator(line: &str) -> u8 {
    let count = |sign: &u8| line.bytes().filter(|byte| byte == sign).count();
    // Of equally frequent ones, `max_by_key` returns the last: comma before semicolon before tab.
    let found = [b'\t', b';', b','].into_iter().max_by_key(count).unwrap_or(b',');
    // A comma may also be the decimal sign, of which a line has as many as it has numbers.
    if found == b',' && (line.contains(';') || line.contains('\t')) {
        return if line.contains(';') { b';' } else { b'\t' };
    }
    found
}

/// Returns the parts of a line between runs of at least two blanks.
pub(super) fn by_runs(line: &str) -> Vec<&str> {
    line.split("  ").map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// Returns the first line that is not a comment, and the one after it.
fn first_lines(text: &str) -> Option<(&str, Option<&str>)> {
    let is_content = |line: &&str| !line.is_empty() && !line.starts_with('#') && !is_rule(line);
    let mut lines = text.trim_start_matches('\u{feff}').lines().map(str::trim).filter(is_content);
    Some((lines.next()?, lines.next()))
}

/// Returns true for a line that only draws: `----  ----`, `+---+---+`, `|:--|--:|`.
pub(super) fn is_rule(line: &str) -> bool {
    let is_sign = |c: char| "-=+|:_ \t".contains(c) || ('\u{2500}'..='\u{257f}').contains(&c);
    line.chars().filter(|c| !c.is_whitespace()).count() > 1 && line.chars().all(is_sign)
}

/// Returns true for titles of which at least two are known, and as many as are not.
fn is_header(titles: &[&str]) -> bool {
    let is_known = |title: &&&str| {
        let title = title.trim().trim_matches('"');
        title.contains(char::is_alphanumeric) && titles::meaning(title).is_some()
    };
    let known = titles.iter().filter(is_known).count();
    known > 1 && 2 * known >= titles.iter().filter(|title| !title.trim().is_empty()).count()
}

/// Returns the position of the line of titles of a table with pipes.
pub(super) fn pipes(text: &str) -> Option<usize> {
    let lines = text.lines().take(BEFORE);
    let titles = |line: &str| {
        let cells: Vec<&str> = line
            .trim()
            .trim_matches(['|', '│', '┃', '║'])
            .split(['|', '│', '┆', '┃', '║'])
            .collect();
        cells.len() > 1 && is_header(&cells)
    };
    let found = lines.into_iter().find(|line| titles(line))?;
    Some(found.as_ptr() as usize - text.as_ptr() as usize)
}

/// Finds a table within prose: a line of titles and rows of as many cells below it. The titles may
/// stand in a comment.
pub(crate) fn within(text: &str) -> Option<(Layout, Range<usize>)> {
    let lines: Vec<&str> = text.split_inclusive('\n').take(BEFORE).collect();
    let (at, layout, titles) = lines.iter().enumerate().find_map(|(at, line)| {
        let titles = line.trim_start_matches(['#', ';', '%', '*', ' ', '\t']).trim_end();
        let (layout, count) = titles_of(titles)?;
        // A sentence may look like titles, and has no numbers below it.
        let below = lines[at + 1..].iter().map(|line| line.trim()).find(|line| !is_rule(line))?;
        let row = cells(below, layout);
        let numbers = row.iter().filter(|cell| cell.starts_with(|c: char| c.is_ascii_digit()));
        (row.len() == count && numbers.count() > 1).then_some((at, layout, titles))
    })?;
    let count = cells(titles, layout).len();
    let start = titles.as_ptr() as usize - text.as_ptr() as usize;
    let is_inside =
        |line: &&&str| is_rule(line.trim()) || cells(line.trim(), layout).len() == count;
    let rows = lines[at + 1..].iter().take_while(is_inside).map(|line| line.len());
    let end = start + lines[at].len() - (titles.as_ptr() as usize - lines[at].as_ptr() as usize);
    Some((layout, start..end + rows.sum::<usize>()))
}

/// Returns the layout of a line of titles, and their number.
fn titles_of(line: &str) -> Option<(Layout, usize)> {
    let separated = Layout::Separated(separator(line));
    [separated, Layout::Blanks].into_iter().find_map(|layout| {
        let titles = cells(line, layout);
        is_header(&titles).then_some((layout, titles.len()))
    })
}

/// Returns the cells of a line.
fn cells(line: &str, layout: Layout) -> Vec<&str> {
    match layout {
        Layout::Separated(separator) => line.split(char::from(separator)).map(str::trim).collect(),
        Layout::Blanks | Layout::Pipes | Layout::Latex => line.split_whitespace().collect(),
    }
}

/// Returns the position of another table in a document, behind the one with rows from `at` on.
pub(super) fn another(text: &str, layout: Layout, at: usize) -> Option<usize> {
    match layout {
        Layout::Pipes => {
            let is_inside =
                |line: &&str| line.contains(['|', '│', '┃', '║']) || is_rule(line.trim());
            let lines = text[at..].split_inclusive('\n').take_while(is_inside);
            let end = at + lines.map(str::len).sum::<usize>();
            pipes(&text[end..]).map(|found| end + found)
        }
        Layout::Latex => {
            let begin = |name: &str| text[at..].find(&format!(r"\begin{{{name}"));
            ENVIRONMENTS.iter().filter_map(|name| begin(name)).min().map(|found| at + found)
        }
        Layout::Separated(_) | Layout::Blanks => None,
    }
}

/// The environments of tables in LaTeX.
const ENVIRONMENTS: [&str; 6] = ["tabular", "array", "longtable", "tabularx", "tabulary", "tblr"];

/// Returns true if a text is a table of LaTeX, or has one.
fn is_latex(text: &str) -> bool {
    let is_row = |line: &str| line.contains('&') && line.contains(r"\\");
    let begins = |name: &str| text.contains(&format!(r"\begin{{{name}"));
    ENVIRONMENTS.iter().any(|name| begins(name))
        || first_lines(text).is_some_and(|(first, _)| is_row(first))
}

/// Returns the range of the rows of a table of LaTeX.
pub(super) fn latex(text: &str) -> std::ops::Range<usize> {
    let begin = ENVIRONMENTS.iter().filter_map(|name| text.find(&format!(r"\begin{{{name}"))).min();
    let Some(begin) = begin else { return 0..text.len() };
    // The rows begin after the name, options and the columns: `\begin{tabular}[t]{lrr}`.
    let mut at = begin;
    loop {
        let rest = &text[at..];
        let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let rest = &rest[blank..];
        let close = match rest.bytes().next() {
            Some(b'{') => closing(rest),
            Some(b'[') => rest.find(']'),
            Some(b'\\') if at == begin => rest.find('{').map(|open| open - 1),
            Some(_) | None => None,
        };
        match close {
            Some(close) => at += blank + close + 1,
            None => break,
        }
    }
    let end = text[at..].find(r"\end{").map_or(text.len(), |end| at + end);
    at..end
}

/// Returns the position of the bracket that closes the one at the start.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    text.char_indices().find_map(|(at, c)| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            '\n' => return None,
            _ => {}
        }
        (depth == 0).then_some(at)
    })
}
