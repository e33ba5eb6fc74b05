//! Vectors of weakly hard constraints and of probabilities of misses.
//!
//! Times are whole units, which stand for nanoseconds. The slow twins of [`crate::how_often`] compute
//! the expectations again, where they have one.

mod probability;
mod tests;
mod words;

use super::verdict::Verdict;
use serde_json::Value;

/// Runs a vector of one of these types.
pub(super) fn run(vector: &Value) -> Verdict {
    let outcome = match vector["type"].as_str() {
        Some("mk_word") => words::word(vector),
        Some("mk_cycle") => words::cycle(vector),
        Some("mk_order") => words::order(vector),
        Some("mk_parse") => words::parse(vector),
        Some("mk_history") => words::history(vector),
        Some("prob_periodic") => probability::periodic(vector),
        Some("prob_given") => probability::given(vector),
        Some("prob_phase") => probability::phase(vector),
        Some("prob_bound") => probability::bound(vector),
        Some("interval") => probability::interval(vector),
        Some("mk_pattern_test") => tests::patterns(vector),
        Some("mk_search") => tests::search(vector),
        Some("twca") => probability::typical(vector),
        Some(_) | None => Err("no known type".to_owned()),
    };
    outcome.into()
}
