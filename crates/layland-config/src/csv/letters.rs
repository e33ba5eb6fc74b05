//! Decides what the title `P` means, where only one of its two meanings is possible: a priority or
//! a period.

use super::rows::{Cell, Rows};
use super::titles::{self, Meaning, simple};
use std::borrow::Cow;

/// Returns the titles in which `P` is a period and, with `T` beside it, `T` is an offset. Returns
/// `None` if `P` may be a priority.
///
/// A table needs periods, so that `P` has them where no other column can: beside execution times
/// alone, or where `T` has a zero. A period is not zero.
pub(super) fn resolved<'t>(titles: &[Cell<'t>], rows: &Rows<'_>) -> Option<Vec<Cell<'t>>> {
    let find = |names: &[&str]| {
        titles.iter().position(|title| names.contains(&&*simple(title.text.trim())))
    };
    let p = find(&["p", "pi"])?;
    let means = |key: &str| {
        let is = |title: &Cell<'_>| titles::meaning(&title.text).is_some_and(|m| m.is_key(key));
        titles.iter().position(is)
    };
    let mut named = titles.to_vec();
    let mut rename = |at: usize, to: &'static str| named[at].text = Cow::Borrowed(to);
    match (means("period"), means("deadline")) {
        (None, None) => rename(p, "period"),
        (Some(t), _) if find(&["t", "ti"]) == Some(t) && means("offset").is_none() => {
            let is_zero = |text: &str| {
                let digits = text.trim_end_matches(|c: char| c.is_alphabetic() || c == ' ');
                !digits.is_empty() && digits.bytes().all(|byte| matches!(byte, b'0' | b'.'))
            };
            let has_zero = rows
                .copy()
                .filter_map(Result::ok)
                .any(|row| row.get(t).is_some_and(|cell| is_zero(cell.text.trim())));
            if !has_zero {
                return None;
            }
            rename(t, "offset");
            rename(p, "period");
        }
        (Some(_), _) | (None, Some(_)) => return None,
    }
    debug_assert!(!matches!(titles::meaning(&named[p].text), Some(Meaning::Unclear(_))));
    Some(named)
}
