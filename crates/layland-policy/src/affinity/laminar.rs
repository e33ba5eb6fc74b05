//! Tests that sets of CPUs are laminar: any two are nested or disjoint.

use layland_model::{CpuSet, Index};

/// Returns the smallest proper superset of each of some distinct sets; or, as the error, two sets
/// that overlap, if the sets are not laminar. O(sum of the sizes), up to sorting.
pub(crate) fn parents(
    masks: &[&CpuSet],
    cpus: usize,
) -> Result<Vec<Option<usize>>, (usize, usize)> {
    let mut by_size: Vec<usize> = (0..masks.len()).collect();
    by_size.sort_by_key(|&at| masks[at].len());
    let mut parents = vec![None; masks.len()];
    // The largest set so far that contains each CPU.
    let mut top: Vec<Option<usize>> = vec![None; cpus];
    for at in by_size {
        let mut children: Vec<usize> =
            masks[at].iter().filter_map(|cpu| top[cpu.index()]).collect();
        children.sort_unstable();
        children.dedup();
        for child in children {
            if !masks[child].is_subset(masks[at]) {
                return Err((child.min(at), child.max(at)));
            }
            parents[child] = Some(at);
        }
        masks[at].iter().for_each(|cpu| top[cpu.index()] = Some(at));
    }
    Ok(parents)
}

/// Returns true if two sets are neither nested nor disjoint.
pub(crate) fn overlap(a: &CpuSet, b: &CpuSet) -> bool {
    !a.is_disjoint(b) && !a.is_subset(b) && !b.is_subset(a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::CpuId;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn parents_are_the_smallest_supersets(masks in prop::collection::btree_set(1u8..64, 1..6)) {
            let set = |mask: u8| -> CpuSet {
                (0..6).filter(|cpu| mask >> cpu & 1 == 1).map(CpuId).collect()
            };
            let sets: Vec<CpuSet> = masks.iter().map(|&mask| set(mask)).collect();
            let laminar = sets.iter().all(|a| sets.iter().all(|b| !overlap(a, b)));
            let masks: Vec<&CpuSet> = sets.iter().collect::<BTreeSet<_>>().into_iter().collect();
            match parents(&masks, 6) {
                Err((a, b)) => prop_assert!(overlap(masks[a], masks[b])),
                Ok(parents) => {
                    prop_assert!(laminar);
                    for (at, &parent) in parents.iter().enumerate() {
                        let supersets = (0..masks.len())
                            .filter(|&other| other != at && masks[at].is_subset(masks[other]));
                        prop_assert_eq!(parent, supersets.min_by_key(|&other| masks[other].len()));
                    }
                }
            }
        }
    }
}
