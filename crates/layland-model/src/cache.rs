//! The sets of a cache that the jobs of a task use.

use std::fmt;
use std::str::FromStr;

/// A collection of cache sets, numbered from 0.
///
/// Written as ranges, both ends included: `0-39,64`.
///
/// ```
/// use layland_model::CacheSets;
/// let sets: CacheSets = "0-2,5".parse().unwrap();
/// assert_eq!((sets.len(), sets.to_string()), (4, "0-2,5".to_owned()));
/// assert_eq!(sets.common(&"2-9".parse().unwrap()), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheSets {
    /// One bit for each set. The last word is not zero.
    words: Vec<u64>,
}

/// The reason why a string is not a list of cache sets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseCacheSetsError {
    /// A part is neither a number nor a range.
    #[error("`{0}` is not a cache set or a range of cache sets")]
    NotARange(String),
    /// A range ends before it begins.
    #[error("the range {0}-{1} is backwards")]
    Backwards(usize, usize),
    /// A number is too large.
    #[error("there is no cache set {0}: a cache has at most 65536 sets, counted from 0")]
    TooLarge(usize),
}

const WORD: usize = u64::BITS as usize;

impl CacheSets {
    /// The maximum number of sets in a cache.
    pub const MAX: usize = 1 << 16;

    /// Returns an empty collection.
    pub fn new() -> CacheSets {
        CacheSets::default()
    }

    /// Adds the set with this number.
    ///
    /// # Panics
    /// Panics if the number is [`MAX`](Self::MAX) or more.
    pub fn insert(&mut self, set: usize) {
        assert!(set < CacheSets::MAX, "a cache has at most 65536 sets");
        if self.words.len() <= set / WORD {
            self.words.resize(set / WORD + 1, 0);
        }
        self.words[set / WORD] |= 1 << (set % WORD);
    }

    /// Returns true if the collection contains the set with this number.
    pub fn contains(&self, set: usize) -> bool {
        self.words.get(set / WORD).is_some_and(|word| word >> (set % WORD) & 1 == 1)
    }

    /// The numbers of the sets, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let of_word = |(at, &word): (usize, &u64)| {
            (0..WORD).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * WORD + bit)
        };
        self.words.iter().enumerate().flat_map(of_word)
    }

    /// The number of sets.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns true if there are no sets.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The number of sets that are in both.
    pub fn common(&self, other: &CacheSets) -> usize {
        let both = self.words.iter().zip(&other.words);
        both.map(|(a, b)| (a & b).count_ones() as usize).sum()
    }

    /// Adds the sets of `other`.
    pub fn extend(&mut self, other: &CacheSets) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a |= b);
    }

    /// The first set that `other` does not contain.
    pub fn first_outside(&self, other: &CacheSets) -> Option<usize> {
        self.iter().find(|&set| !other.contains(set))
    }

    /// One more than the largest number; 0 if there are no sets.
    pub fn bound(&self) -> usize {
        self.words.last().map_or(0, |last| self.words.len() * WORD - last.leading_zeros() as usize)
    }
}

impl FromIterator<usize> for CacheSets {
    /// # Panics
    /// Panics if a number is [`CacheSets::MAX`] or more.
    fn from_iter<I: IntoIterator<Item = usize>>(sets: I) -> CacheSets {
        let mut all = CacheSets::new();
        sets.into_iter().for_each(|set| all.insert(set));
        all
    }
}

impl FromStr for CacheSets {
    type Err = ParseCacheSetsError;

    fn from_str(text: &str) -> Result<CacheSets, ParseCacheSetsError> {
        let mut sets = CacheSets::new();
        if text.trim().is_empty() {
            return Ok(sets);
        }
        for part in text.split(',').map(str::trim) {
            let number = |text: &str| {
                let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
                let wrong = || ParseCacheSetsError::NotARange(part.to_owned());
                if !digits {
                    return Err(wrong());
                }
                let set = text.parse().map_err(|_| ParseCacheSetsError::TooLarge(usize::MAX))?;
                if set < CacheSets::MAX { Ok(set) } else { Err(ParseCacheSetsError::TooLarge(set)) }
            };
            let (first, last) = match part.split_once('-') {
                Some((first, last)) => (number(first.trim())?, number(last.trim())?),
                None => (number(part)?, number(part)?),
            };
            if last < first {
                return Err(ParseCacheSetsError::Backwards(first, last));
            }
            (first..=last).for_each(|set| sets.insert(set));
        }
        Ok(sets)
    }
}

impl fmt::Display for CacheSets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        let mut sets = self.iter().peekable();
        while let Some(first) = sets.next() {
            let mut last = first;
            while let Some(next) = sets.next_if_eq(&(last + 1)) {
                last = next;
            }
            if !text.is_empty() {
                text.push(',');
            }
            text += &if first == last { first.to_string() } else { format!("{first}-{last}") };
        }
        f.pad(&text)
    }
}

/// The sets of a direct-mapped cache that the jobs of a task use. Each CPU has a cache of its own.
///
/// ```
/// use layland_model::CacheUse;
/// let sets = |text: &str| text.parse().unwrap();
/// let filter = CacheUse { ucb: sets("0-3"), ecb: sets("0-9") };
/// let control = CacheUse { ucb: sets(""), ecb: sets("2-5") };
/// // After `control` has run a job of `filter` reloads the sets 2 and 3.
/// assert_eq!(filter.ucb.common(&control.ecb), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheUse {
    /// Sets with *useful* blocks (UCB): a job that is preempted may need their contents again. Each
    /// of them is also an evicting one.
    pub ucb: CacheSets,
    /// Sets with *evicting* blocks (ECB): all sets into which a job may load a block.
    pub ecb: CacheSets,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_sets_are_the_same() {
        for (text, written) in [
            ("", ""),
            ("7", "7"),
            ("3,1,2", "1-3"),
            (" 0 - 1 , 64-65 ", "0-1,64-65"),
            ("0,2,4", "0,2,4"),
            ("65535", "65535"),
            ("5-9,7-12", "5-12"),
        ] {
            let sets: CacheSets = text.parse().unwrap();
            assert_eq!(sets.to_string(), written, "{text}");
            assert_eq!(written.parse(), Ok(sets.clone()), "{text}");
            assert_eq!(sets.iter().count(), sets.len());
            assert_eq!(sets.bound(), sets.iter().last().map_or(0, |last| last + 1));
            assert_eq!(sets, sets.iter().collect());
        }
        for text in [",", "a", "1-", "-1", "3-1", "65536", "1;2", "0x1", "99999999999999999999999"]
        {
            assert!(text.parse::<CacheSets>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_common_and_what_is_outside() {
        let [a, b] = ["0-70", "60-200"].map(|text| text.parse::<CacheSets>().unwrap());
        assert_eq!((a.common(&b), b.common(&a)), (11, 11));
        assert_eq!((a.first_outside(&b), b.first_outside(&a)), (Some(0), Some(71)));
        let mut both = a.clone();
        both.extend(&b);
        assert_eq!(both.to_string(), "0-200");
        assert_eq!(a.first_outside(&both), None);
    }
}
