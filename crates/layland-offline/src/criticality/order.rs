//! The two fixed priority orders, highest first. The verdict of a test depends on how ties between
//! equal periods are broken, so the rule is part of the definition.

use crate::criticality::MixedSet;
use layland_model::TaskId;
use std::cmp::Reverse;

/// Rate monotonic: shorter period, then higher criticality, then lower rank.
pub fn rate_monotonic(set: &MixedSet) -> Vec<TaskId> {
    sorted(set, |i| (set.period[i], Reverse(set.level[i]), set.rank[i]))
}

/// Criticality monotonic: higher criticality, then shorter period, then lower rank.
pub fn criticality_monotonic(set: &MixedSet) -> Vec<TaskId> {
    sorted(set, |i| (Reverse(set.level[i]), set.period[i], set.rank[i]))
}

fn sorted<K: Ord>(set: &MixedSet, key: impl Fn(usize) -> K) -> Vec<TaskId> {
    let mut order: Vec<usize> = (0..set.len()).collect();
    order.sort_by_key(|&i| key(i));
    order.into_iter().map(|i| TaskId(i as u32)).collect()
}
