//! The names of keys: the nearest to one that does not exist, and those of a field of the model.

use layland_model::Field;

/// The keys or columns that a field of a task comes from, the most telling one first.
pub(crate) fn keys_of(field: Field) -> &'static [&'static str] {
    match field {
        Field::Name => &["name"],
        Field::Period => &["period"],
        Field::Deadline => &["deadline", "period"],
        Field::Wcet => &["wcet"],
        Field::Criticality => &["criticality"],
        Field::Budget => &["budget"],
        Field::Offset => &["offset"],
        Field::Jitter => &["jitter"],
        Field::Affinity => &["affinity"],
        Field::Cluster => &["cluster"],
        Field::Behaviour => &["release"],
        Field::Priority => &["priority"],
        Field::Execution => &["exec"],
    }
}

/// The candidate nearest to `word`, if one is near: at most a third of its characters differ.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.chars().count() > 64 {
        return None;
    }
    let folded = word.to_lowercase().replace('-', "_");
    let limit = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= 128)
        .map(|candidate| (distance(&folded, &candidate.to_lowercase()), candidate))
        .filter(|&(distance, _)| distance <= limit)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// How many insertions, removals, replacements and swaps of neighbours lead from `a` to `b`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=b.len()).collect();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = least;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let keys = ["period", "deadline", "wcet", "jobs"];
        for (word, near) in [
            ("peroid", Some("period")),
            ("Deadline", Some("deadline")),
            ("wect", Some("wcet")),
            ("job", Some("jobs")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, keys), near, "{word}");
        }
    }
}
