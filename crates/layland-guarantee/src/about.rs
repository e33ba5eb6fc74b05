//! The tests and analyses that are about an algorithm. Every policy asks for all of them, so their
//! properties are looked up once instead of test by test.

use layland_analysis::{Assumption, SchedulabilityTest, Subject, catalogue};
use layland_model::Algorithm;
use std::sync::LazyLock;

/// A set of indices into a list of the catalogue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Places([u64; WORDS]);

/// Enough for lists of 256 entries; `put` panics for a longer list.
const WORDS: usize = 4;

impl Places {
    pub(crate) fn has(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 == 1
    }

    fn put(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    pub(crate) fn union(self, other: Places) -> Places {
        Places(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    pub(crate) fn without(self, other: Places) -> Places {
        Places(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }

    /// Returns the indices in ascending order.
    pub(crate) fn iter(self) -> impl Iterator<Item = usize> {
        (0..WORDS).flat_map(move |word| {
            let mut left = self.0[word];
            std::iter::from_fn(move || {
                let at = (left != 0).then(|| 64 * word + left.trailing_zeros() as usize);
                left &= left.wrapping_sub(1);
                at
            })
        })
    }
}

/// Returns the tests with this property, which must not depend on the policy that asks.
fn of_tests(has: impl Fn(&SchedulabilityTest) -> bool) -> Places {
    let mut places = Places::default();
    let found = catalogue::TESTS.iter().enumerate().filter(|(_, test)| has(test));
    found.for_each(|(at, _)| places.put(at));
    places
}

/// The tests that decide whether tasks are admitted.
pub(crate) static ADMISSIONS: LazyLock<Places> =
    LazyLock::new(|| of_tests(|test| matches!(test.subject, Subject::Admission(_))));

/// The tests about every scheduler.
pub(crate) static ABOUT_SOME_SCHEDULER: LazyLock<Places> =
    LazyLock::new(|| of_tests(|test| test.subject == Subject::SomeScheduler));

/// The tests about cache-related preemption delays.
pub(crate) static OF_CACHES: LazyLock<Places> =
    LazyLock::new(|| of_tests(|test| is_of_caches(test.assumptions)));

/// Returns true if a test with these assumptions is about cache-related preemption delays.
pub(crate) fn is_of_caches(assumed: &[Assumption]) -> bool {
    assumed.contains(&Assumption::CacheDelay)
}

/// The entries of the catalogue that are about some algorithms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct About {
    /// Indices into [`catalogue::TESTS`].
    pub(crate) tests: Places,
    /// Indices into [`catalogue::RESPONSES`].
    pub(crate) responses: Places,
    /// Indices into [`catalogue::BOUNDS`].
    pub(crate) bounds: Places,
}

impl About {
    /// Returns the entries that are about at least one of these algorithms.
    pub(crate) fn of(algorithms: &[Algorithm]) -> About {
        let known = KNOWN.iter().filter(|(algorithm, _)| algorithms.contains(algorithm));
        known.fold(About::default(), |all, (_, about)| About {
            tests: all.tests.union(about.tests),
            responses: all.responses.union(about.responses),
            bounds: all.bounds.union(about.bounds),
        })
    }
}

/// Every algorithm that an entry of the catalogue is about.
static KNOWN: LazyLock<Vec<(Algorithm, About)>> = LazyLock::new(|| {
    let mut known: Vec<(Algorithm, About)> = Vec::new();
    let mut put = |algorithms: &[Algorithm], put: &dyn Fn(&mut About)| {
        for algorithm in algorithms {
            let at = known.iter().position(|(other, _)| other == algorithm).unwrap_or_else(|| {
                known.push((*algorithm, About::default()));
                known.len() - 1
            });
            put(&mut known[at].1);
        }
    };
    for (at, test) in catalogue::TESTS.iter().enumerate() {
        put(test.subject.algorithms(), &|about| about.tests.put(at));
    }
    for (at, analysis) in catalogue::RESPONSES.iter().enumerate() {
        put(analysis.algorithms, &|about| about.responses.put(at));
    }
    for (at, analysis) in catalogue::BOUNDS.iter().enumerate() {
        put(analysis.algorithms, &|about| about.bounds.put(at));
    }
    known
});

#[cfg(test)]
mod tests {
    use super::*;
    use layland_policy::Registry;

    /// Compares the lookup with what each entry says about itself.
    #[test]
    fn what_is_looked_up_is_what_the_catalogue_says() {
        let registry = Registry::standard();
        let of_policies = registry.iter().map(|info| info.algorithm(&Default::default()));
        let of_tests = catalogue::TESTS.iter().flat_map(|test| test.subject.algorithms());
        let algorithms: Vec<Algorithm> = of_policies.chain(of_tests.copied()).collect();
        for (at, &algorithm) in algorithms.iter().enumerate() {
            let asked = [algorithm, algorithms[at * 7 % algorithms.len()]];
            let is = |about: &[Algorithm]| about.iter().any(|about| asked.contains(about));
            let found = About::of(&asked);
            for (at, test) in catalogue::TESTS.iter().enumerate() {
                assert_eq!(found.tests.has(at), is(test.subject.algorithms()), "{}", test.name);
            }
            for (at, analysis) in catalogue::RESPONSES.iter().enumerate() {
                assert_eq!(found.responses.has(at), is(analysis.algorithms), "{}", analysis.name);
            }
            for (at, analysis) in catalogue::BOUNDS.iter().enumerate() {
                assert_eq!(found.bounds.has(at), is(analysis.algorithms), "{}", analysis.name);
            }
            let responses: Vec<usize> = found.responses.iter().collect();
            let all = 0..catalogue::RESPONSES.len();
            assert_eq!(responses, all.filter(|&at| found.responses.has(at)).collect::<Vec<_>>());
        }
    }
}
