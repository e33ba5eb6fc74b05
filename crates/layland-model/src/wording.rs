//! Helpers for messages: nouns with their numbers, and the candidate nearest to a misspelt name.

use std::fmt::Display;

/// Formats a number with its noun, which is given in the singular: `1 job`, `2 jobs`, `1 miss`,
/// `2 misses`, `3 entries`.
///
/// ```
/// use layland_model::counted;
///
/// assert_eq!(counted(1, "job"), "1 job");
/// assert_eq!(counted(0, "CPU"), "0 CPUs");
/// assert_eq!(counted(2, "deadline miss"), "2 deadline misses");
/// assert_eq!(counted(2, "entry"), "2 entries");
/// ```
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    if count == N::from(1) {
        return format!("{count} {noun}");
    }
    if noun.ends_with('s') {
        return format!("{count} {noun}es");
    }
    // "day" stays "days": only a `y` after a consonant changes.
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{count} {stem}ies"),
        Some(_) | None => format!("{count} {noun}s"),
    }
}

/// The candidate nearest to `word`, if it is near: at most a third of the characters differ.
///
/// The distance counts insertions, removals, replacements and swaps of neighbours. It ignores case
/// and treats `-` and `_` as equal. The first of several candidates at the same distance wins.
///
/// ```
/// use layland_model::nearest;
///
/// assert_eq!(nearest("peroid", ["period", "deadline"]), Some("period"));
/// assert_eq!(nearest("colour", ["period", "deadline"]), None);
/// ```
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // The distance takes time and memory in proportion to the product of the lengths, and a file
    // can contain a megabyte in place of a name.
    let length = word.chars().count();
    if length > 64 {
        return None;
    }
    let folded = |text: &str| text.to_lowercase().replace('-', "_");
    let (word, limit) = (folded(word), (length / 3).max(1));
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= 128)
        .map(|candidate| (strsim::osa_distance(&word, &folded(candidate)), candidate))
        .filter(|&(distance, _)| distance <= limit)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let keys = ["period", "deadline", "wcet", "jobs", "g-edf", "p-edf"];
        for (word, near) in [
            ("peroid", Some("period")),
            ("Deadline", Some("deadline")),
            ("wect", Some("wcet")),
            ("job", Some("jobs")),
            ("gedf", Some("g-edf")),
            ("G_EDF", Some("g-edf")),
            // Both are one character away: the first in the list wins.
            ("-edf", Some("g-edf")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, keys), near, "{word}");
        }
    }

    #[test]
    fn nouns_follow_their_number() {
        for (count, noun, text) in [
            (0_u64, "task", "0 tasks"),
            (1, "task", "1 task"),
            (1, "policy", "1 policy"),
            (2, "policy", "2 policies"),
            (2, "day", "2 days"),
            (1, "deadline miss", "1 deadline miss"),
            (2, "deadline miss", "2 deadline misses"),
        ] {
            assert_eq!(counted(count, noun), text);
        }
    }
}
