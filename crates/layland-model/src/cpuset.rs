//! Sets of CPUs: affinities, clusters, the free CPUs of a scheduler.

use crate::{CpuId, Index};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

/// A set of CPUs, one bit each; up to 128 CPUs need no allocation.
///
/// Written as in Linux: `0-3,8`.
///
/// ```
/// use layland_model::{CpuId, CpuSet};
/// let set: CpuSet = "0-2,5".parse().unwrap();
/// assert_eq!(set.len(), 4);
/// assert!(set.contains(CpuId(5)) && !set.contains(CpuId(3)));
/// assert_eq!(set.to_string(), "0-2,5");
/// ```
#[derive(Clone, Default)]
pub struct CpuSet {
    /// The first words are inline: schedulers query their sets several times for each event, and
    /// most machines have few CPUs.
    own: [u64; OWN],
    /// The words after them. Trailing words may be zero and have no meaning.
    rest: Vec<u64>,
}

const WORD: usize = u64::BITS as usize;
const OWN: usize = 2;

/// The word that contains a CPU, and its bit in that word.
#[inline]
fn place(cpu: CpuId) -> (usize, u64) {
    (cpu.index() / WORD, 1 << (cpu.index() % WORD))
}

impl CpuSet {
    /// The maximum number of CPUs in a system.
    pub const MAX_CPUS: usize = 4096;

    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The set of the CPUs `0..count`.
    pub fn first(count: usize) -> Self {
        let mut set = Self::new();
        for word in 0..count.div_ceil(WORD) {
            *set.word_mut(word) = u64::MAX;
        }
        if !count.is_multiple_of(WORD) {
            *set.word_mut(count / WORD) = (1 << (count % WORD)) - 1;
        }
        set
    }

    /// The set of one CPU.
    pub fn single(cpu: CpuId) -> Self {
        let mut set = Self::new();
        set.insert(cpu);
        set
    }

    /// A mutable word, which is created if it does not exist yet.
    #[inline]
    fn word_mut(&mut self, word: usize) -> &mut u64 {
        if word < OWN {
            return &mut self.own[word];
        }
        let word = word - OWN;
        if word >= self.rest.len() {
            self.rest.resize(word + 1, 0);
        }
        &mut self.rest[word]
    }

    /// The words, including trailing ones that are zero.
    #[inline]
    fn words(&self) -> impl Iterator<Item = u64> + Clone + '_ {
        self.own.iter().chain(&self.rest).copied()
    }

    /// Adds a CPU. Returns true if the set did not contain it before.
    #[inline]
    pub fn insert(&mut self, cpu: CpuId) -> bool {
        let (word, bit) = place(cpu);
        let slot = self.word_mut(word);
        let new = *slot & bit == 0;
        *slot |= bit;
        new
    }

    /// Removes a CPU. Returns true if the set contained it.
    #[inline]
    pub fn remove(&mut self, cpu: CpuId) -> bool {
        let (word, bit) = place(cpu);
        let slot = if word < OWN {
            &mut self.own[word]
        } else {
            let Some(slot) = self.rest.get_mut(word - OWN) else { return false };
            slot
        };
        let was_in = *slot & bit != 0;
        *slot &= !bit;
        was_in
    }

    /// Returns true if the set contains a CPU.
    #[inline]
    pub fn contains(&self, cpu: CpuId) -> bool {
        let (word, bit) = place(cpu);
        if word < OWN {
            return self.own[word] & bit != 0;
        }
        self.rest.get(word - OWN).is_some_and(|word| word & bit != 0)
    }

    /// The number of CPUs in the set.
    pub fn len(&self) -> usize {
        self.words().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns true if the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.own == [0; OWN] && self.rest.iter().all(|&word| word == 0)
    }

    /// The lowest CPU.
    #[inline]
    pub fn lowest(&self) -> Option<CpuId> {
        let [first, second] = self.own;
        if first != 0 {
            return Some(CpuId::from_index(first.trailing_zeros() as usize));
        }
        if second == 0 && self.rest.is_empty() {
            return None;
        }
        lowest_of(self.words())
    }

    /// The lowest CPU in both sets. Does not build the [`intersection`](Self::intersection).
    #[inline]
    pub fn lowest_common(&self, other: &CpuSet) -> Option<CpuId> {
        let first = self.own[0] & other.own[0];
        if first != 0 {
            return Some(CpuId::from_index(first.trailing_zeros() as usize));
        }
        lowest_of(self.words().zip(other.words()).map(|(a, b)| a & b))
    }

    /// The highest CPU.
    pub fn highest(&self) -> Option<CpuId> {
        let (index, word) = self.words().enumerate().filter(|&(_, word)| word != 0).last()?;
        Some(CpuId::from_index(index * WORD + word.ilog2() as usize))
    }

    /// The CPUs, ascending.
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + '_ {
        self.words().enumerate().flat_map(|(index, word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
                rest &= rest - 1;
                Some(CpuId::from_index(index * WORD + bit))
            })
        })
    }

    /// Returns true if `other` contains every CPU of this set.
    pub fn is_subset(&self, other: &CpuSet) -> bool {
        // Words that `other` does not have count as zero.
        self.words().zip(other.words().chain(std::iter::repeat(0))).all(|(a, b)| a & !b == 0)
    }

    /// Returns true if the sets have no CPU in common.
    pub fn is_disjoint(&self, other: &CpuSet) -> bool {
        self.words().zip(other.words()).all(|(a, b)| a & b == 0)
    }

    /// The CPUs in either.
    #[must_use]
    pub fn union(&self, other: &CpuSet) -> CpuSet {
        let mut set = self.clone();
        // Skip zero words, so that trailing ones do not make the set longer.
        for (index, word) in other.words().enumerate().filter(|&(_, word)| word != 0) {
            *set.word_mut(index) |= word;
        }
        set
    }

    /// The CPUs in both.
    #[must_use]
    pub fn intersection(&self, other: &CpuSet) -> CpuSet {
        let [a, b] = [0, 1].map(|word| self.own[word] & other.own[word]);
        let rest = self.rest.iter().zip(&other.rest).map(|(a, b)| a & b).collect();
        CpuSet { own: [a, b], rest }
    }

    /// The CPUs in this set that are not in `other`.
    #[must_use]
    pub fn difference(&self, other: &CpuSet) -> CpuSet {
        let mut set = self.clone();
        let own = set.own.iter_mut().chain(&mut set.rest);
        own.zip(other.words()).for_each(|(a, b)| *a &= !b);
        set
    }

    /// The words up to the last nonzero one. Sets are compared by these.
    fn significant(&self) -> impl Iterator<Item = u64> + '_ {
        let count = self.words().enumerate().filter(|&(_, word)| word != 0).last();
        self.words().take(count.map_or(0, |(last, _)| last + 1))
    }
}

/// The lowest CPU of some words.
#[inline(never)]
fn lowest_of(words: impl Iterator<Item = u64>) -> Option<CpuId> {
    let (index, word) = words.enumerate().find(|&(_, word)| word != 0)?;
    Some(CpuId::from_index(index * WORD + word.trailing_zeros() as usize))
}

impl PartialEq for CpuSet {
    fn eq(&self, other: &CpuSet) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for CpuSet {}
impl Ord for CpuSet {
    #[inline]
    fn cmp(&self, other: &CpuSet) -> Ordering {
        // Most sets have inline words only.
        self.own.cmp(&other.own).then_with(|| {
            if self.rest.is_empty() && other.rest.is_empty() {
                Ordering::Equal
            } else {
                self.significant().cmp(other.significant())
            }
        })
    }
}
impl PartialOrd for CpuSet {
    fn partial_cmp(&self, other: &CpuSet) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Hash for CpuSet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.significant().for_each(|word| state.write_u64(word));
        state.write_usize(self.significant().count());
    }
}

impl FromIterator<CpuId> for CpuSet {
    fn from_iter<I: IntoIterator<Item = CpuId>>(cpus: I) -> Self {
        let mut set = CpuSet::new();
        for cpu in cpus {
            set.insert(cpu);
        }
        set
    }
}

/// Writes `0-1,3`; the alternate form adds a noun: `CPUs 0-1,3`, or `CPU 3` for a single one.
impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        let mut cpus = self.iter().map(|cpu| cpu.0).peekable();
        while let Some(first) = cpus.next() {
            let mut last = first;
            while cpus.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            let comma = if text.is_empty() { "" } else { "," };
            text += &if first == last {
                format!("{comma}{first}")
            } else {
                format!("{comma}{first}-{last}")
            };
        }
        match (f.alternate(), self.len()) {
            (false, _) => f.pad(&text),
            (true, 1) => write!(f, "CPU {text}"),
            (true, _) => write!(f, "CPUs {text}"),
        }
    }
}
impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

/// The reason why a string is not a CPU set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseCpuSetError {
    /// Neither a number nor a range.
    #[error("`{0}` is not a CPU or a range of CPUs: write \"0-3\" or \"0,2,5\"")]
    NotACpu(String),
    /// The range runs backwards.
    #[error("the range `{0}` runs backwards")]
    Backwards(String),
    /// The number is not below [`CpuSet::MAX_CPUS`].
    #[error("CPU {0} is out of range: at most 4096 CPUs, numbered from 0")]
    OutOfRange(String),
}

impl FromStr for CpuSet {
    type Err = ParseCpuSetError;
    fn from_str(text: &str) -> Result<CpuSet, ParseCpuSetError> {
        let cpu = |text: &str| -> Result<u32, ParseCpuSetError> {
            let text = text.trim();
            if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
                return Err(ParseCpuSetError::NotACpu(text.to_owned()));
            }
            let in_range =
                text.parse::<u32>().ok().filter(|&cpu| (cpu as usize) < CpuSet::MAX_CPUS);
            in_range.ok_or_else(|| ParseCpuSetError::OutOfRange(text.to_owned()))
        };
        let mut set = CpuSet::new();
        for part in text.split(',') {
            let (first, last) = match part.split_once('-') {
                Some((first, last)) => (cpu(first)?, cpu(last)?),
                None => (cpu(part)?, cpu(part)?),
            };
            if first > last {
                return Err(ParseCpuSetError::Backwards(part.to_owned()));
            }
            (first..=last).for_each(|cpu| {
                set.insert(CpuId(cpu));
            });
        }
        Ok(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn set_of(cpus: &BTreeSet<u32>) -> CpuSet {
        cpus.iter().map(|&cpu| CpuId(cpu)).collect()
    }

    proptest! {
        #[test]
        fn behaves_like_a_set(
            a in prop::collection::btree_set(0u32..300, 0..40),
            b in prop::collection::btree_set(0u32..300, 0..40),
            x in 0u32..300,
        ) {
            let (s, t) = (set_of(&a), set_of(&b));
            prop_assert_eq!(s.iter().map(|cpu| cpu.0).collect::<BTreeSet<_>>(), a.clone());
            prop_assert_eq!(s.union(&t), set_of(&(&a | &b)));
            prop_assert_eq!(s.intersection(&t), set_of(&(&a & &b)));
            prop_assert_eq!(s.difference(&t), set_of(&(&a - &b)));
            prop_assert_eq!(s.is_subset(&t), a.is_subset(&b));
            prop_assert_eq!(s.is_disjoint(&t), a.is_disjoint(&b));
            prop_assert_eq!(s.len(), a.len());
            prop_assert_eq!(s.lowest().map(|cpu| cpu.0), a.first().copied());
            let common = s.intersection(&t).lowest();
            prop_assert_eq!(s.lowest_common(&t), common);
            prop_assert_eq!(s.is_empty(), a.is_empty());
            prop_assert_eq!(s == t, a == b);
            prop_assert_eq!(s.highest().map(|cpu| cpu.0), a.last().copied());
            let mut u = s.clone();
            prop_assert_eq!(u.remove(CpuId(x)), a.contains(&x));
            prop_assert!(!u.contains(CpuId(x)));
            for other in [&t, &u] {
                prop_assert_eq!(s.cmp(other), s.significant().cmp(other.significant()));
            }
            if !a.is_empty() {
                prop_assert_eq!(s.to_string().parse::<CpuSet>().unwrap(), s);
            }
        }
    }

    #[test]
    fn first_is_an_initial_range() {
        for count in [0, 1, 63, 64, 65, 128, 4096] {
            assert_eq!(CpuSet::first(count).len(), count);
            assert_eq!(CpuSet::first(count), (0..count as u32).map(CpuId).collect());
        }
    }

    #[test]
    fn wrong_text_is_an_error() {
        for text in ["", "a", "3-1", "1-", "-1", "4096", "99999999999"] {
            assert!(text.parse::<CpuSet>().is_err(), "{text}");
        }
    }
}
