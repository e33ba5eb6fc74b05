//! Words of outcomes, window by window.

use layland_model::{HitOrMiss, Observance, WeaklyHard};
use std::collections::BTreeSet;

/// `B(k)` if undecided jobs count as `reading`: the most misses in any window of at most this length.
pub fn most_misses(word: &[HitOrMiss], window: usize, reading: HitOrMiss) -> u32 {
    let is_miss = |outcome: &HitOrMiss| match outcome {
        HitOrMiss::Undecided => reading == HitOrMiss::Miss,
        HitOrMiss::Hit | HitOrMiss::Miss => *outcome == HitOrMiss::Miss,
    };
    let in_window = |start: usize| {
        let end = word.len().min(start + window);
        word[start..end].iter().filter(|outcome| is_miss(outcome)).count() as u32
    };
    (0..word.len()).map(in_window).max().unwrap_or(0)
}

/// The answer of a word, by all decisions of its undecided jobs.
pub fn observance(word: &[HitOrMiss], constraint: WeaklyHard) -> Observance {
    let undecided: Vec<usize> =
        (0..word.len()).filter(|&job| word[job] == HitOrMiss::Undecided).collect();
    let mut answers = BTreeSet::new();
    for decision in 0..1u32 << undecided.len() {
        let mut decided = word.to_vec();
        for (bit, &job) in undecided.iter().enumerate() {
            let is_hit = decision >> bit & 1 == 0;
            decided[job] = if is_hit { HitOrMiss::Hit } else { HitOrMiss::Miss };
        }
        let most = most_misses(&decided, constraint.window() as usize, HitOrMiss::Hit);
        answers.insert(most <= constraint.misses());
    }
    match (answers.contains(&true), answers.contains(&false)) {
        (true, true) => Observance::Open,
        (is_kept, _) => [Observance::No, Observance::Yes][usize::from(is_kept)],
    }
}

/// The first and the last job of the first violation: the window of misses that ends first.
pub fn violation(word: &[HitOrMiss], constraint: WeaklyHard) -> Option<[u64; 2]> {
    let misses: Vec<u64> =
        (0..word.len() as u64).filter(|&job| word[job as usize] == HitOrMiss::Miss).collect();
    let ends = |of: &[u64]| [of[0], of[of.len() - 1]];
    let mut windows = misses.windows(constraint.misses() as usize + 1).map(ends);
    windows.find(|[first, last]| last - first < u64::from(constraint.window()))
}

/// Returns true if every word that satisfies `a` satisfies `b`, by all histories of outcomes.
pub fn implies(a: WeaklyHard, b: WeaklyHard) -> bool {
    let keeps = |history: u32, of: WeaklyHard| {
        let window = history & ((1u32 << of.window()) - 1);
        window.count_ones() <= of.misses()
    };
    let longest = (1u32 << a.window().max(b.window())) - 1;
    let (mut open, mut seen) = (vec![0u32], BTreeSet::from([0u32]));
    while let Some(history) = open.pop() {
        for missed in [0, 1] {
            let next = (history << 1 | missed) & longest;
            if !keeps(next, a) {
                continue;
            }
            if !keeps(next, b) {
                return false;
            }
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    true
}
