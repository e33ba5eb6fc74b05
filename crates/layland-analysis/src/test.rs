//! Tests and bounds as data: their names, their assumptions, and the strength of their answers.

use crate::{
    Assumption, Certify, Citation, Finding, Refusal, ResponseBound, Tardiness, TestKind, Verdict,
};
use layland_model::{Algorithm, Order, System, TaskMap};

/// The promise of a test's *yes*; a *no* denies exactly this promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Every deadline is met under each of these algorithms.
    Algorithms(&'static [Algorithm]),
    /// Mixed criticality: every job that is *covered* meets its deadline under each of these
    /// algorithms. A run belongs to level `l` if no job of a task of level `l` or above executes
    /// for longer than `C(l)`; then the jobs of these tasks are covered. With one level, the
    /// covered jobs are all jobs.
    Covered(&'static [Algorithm]),
    /// A claim of a paper about these algorithms that does not hold, with the reason in sentences.
    /// A *yes* promises nothing; it only reproduces the paper's figures.
    Unsound(&'static [Algorithm], &'static str),
    /// Every deadline is met by some scheduler.
    SomeScheduler,
    /// Every deadline is met by EDF on each CPU of some partition.
    SomePartition,
    /// Every deadline is met by fixed priorities in this order on each CPU of some partition.
    SomePartitionUnder(Order),
    /// Every deadline is met by some fixed priorities.
    SomePriorities,
    /// The tasks are admitted under these algorithms. Admission says nothing about deadlines.
    Admission(&'static [Algorithm]),
}

impl Subject {
    /// The algorithms that the verdict is about.
    pub const fn algorithms(self) -> &'static [Algorithm] {
        match self {
            Subject::Algorithms(algorithms)
            | Subject::Covered(algorithms)
            | Subject::Unsound(algorithms, _)
            | Subject::Admission(algorithms) => algorithms,
            Subject::SomeScheduler
            | Subject::SomePartition
            | Subject::SomePartitionUnder(_)
            | Subject::SomePriorities => &[],
        }
    }
}

/// The assumptions of a test besides its list. Unless a test is about non-preemptive regions, it
/// takes no task that has some; unless it is about locks, no task whose jobs lock something or
/// suspend themselves; unless it is about graphs, no task that follows another one; unless it is
/// about caches, no task that reloads blocks; and unless it is about blocking times, no task that
/// has one.
const fn besides(algorithms: &[Algorithm], listed: &[Assumption]) -> &'static [Assumption] {
    use Assumption::{Explained, Independent, NoBlocking, NoCacheDelay, OnlyExecutes, Preemptible};
    let (mut regions, mut steps, mut at) = (false, false, 0);
    while at < algorithms.len() {
        regions |= matches!(algorithms[at], Algorithm::Deferred(..));
        steps |= matches!(algorithms[at], Algorithm::Locking(..));
        at += 1;
    }
    let (mut graphs, mut caches, mut blocking, mut at) = (false, false, false, 0);
    while at < listed.len() {
        graphs |= matches!(listed[at], Assumption::Graphs | Assumption::GraphsTogether);
        caches |= matches!(listed[at], Assumption::CacheDelay);
        blocking |= matches!(listed[at], Assumption::BlockingKept);
        // A test about jobs that lock nothing covers jobs that suspend themselves.
        steps |= matches!(listed[at], Assumption::NoSections);
        at += 1;
    }
    match (regions, steps) {
        (false, false) if blocking => {
            &[Preemptible, OnlyExecutes, Independent, NoCacheDelay, Explained]
        }
        (false, false) if graphs => {
            &[Preemptible, OnlyExecutes, NoCacheDelay, NoBlocking, Explained]
        }
        (false, false) if caches => {
            &[Preemptible, OnlyExecutes, Independent, NoBlocking, Explained]
        }
        (false, false) => {
            &[Preemptible, OnlyExecutes, Independent, NoCacheDelay, NoBlocking, Explained]
        }
        (true, false) => &[OnlyExecutes, Independent, NoCacheDelay, NoBlocking, Explained],
        (false, true) => &[Preemptible, Independent, NoCacheDelay, NoBlocking, Explained],
        (true, true) => &[Independent, NoCacheDelay, NoBlocking, Explained],
    }
}

/// A schedulability test.
#[derive(Clone, Copy)]
pub struct SchedulabilityTest {
    /// The short name, SchedCAT's where there is one.
    pub name: &'static str,
    /// The tested property, in a sentence.
    pub title: &'static str,
    /// The promise of a *yes*.
    pub subject: Subject,
    /// The strength of the answer: exact, sufficient or necessary.
    pub kind: TestKind,
    /// The assumptions, in the order in which the test numbers them.
    pub assumptions: &'static [Assumption],
    /// The publications to cite.
    pub citations: &'static [&'static Citation],
    /// The source of proofs for its answers.
    pub certify: Certify,
    pub(crate) shortcuts: Shortcuts,
    /// Runs the test on a system that keeps the assumptions.
    pub(crate) decide: fn(&System) -> Finding,
}

/// Response bounds, for each task that has one.
type Bounds = TaskMap<Option<ResponseBound>>;
type WithBounds = fn(&System) -> (Finding, Bounds);

/// Optional faster or richer forms of a test: a verdict without reasons, or a finding together with
/// response bounds.
#[derive(Clone, Copy)]
pub(crate) struct Shortcuts {
    /// Returns only the verdict of the finding, for a system that keeps the assumptions.
    pub(crate) verdict: Option<fn(&System) -> Verdict>,
    /// Returns the finding and the bounds of the [`ResponseTest`] with the same name and
    /// assumptions. Both rest on one search.
    pub(crate) with_bounds: Option<WithBounds>,
}

impl Shortcuts {
    pub(crate) const NONE: Shortcuts = Shortcuts { verdict: None, with_bounds: None };
}

impl SchedulabilityTest {
    /// The assumptions besides [the list](Self::assumptions): no non-preemptive regions, unless the
    /// test is about them; jobs only execute, unless it is about locks; no task follows another
    /// one, unless it is about graphs; no job reloads what others evict, unless it is about caches;
    /// and no task has a blocking time, unless it is about these. A necessary test needs none of
    /// them, because each of these features only takes freedom away or makes jobs longer. Every
    /// test assumes that an inferred set explains its trace.
    pub fn also_assumes(&self) -> &'static [Assumption] {
        match self.kind {
            TestKind::Necessary => &[Assumption::Explained],
            TestKind::Exact | TestKind::Sufficient => {
                besides(self.subject.algorithms(), self.assumptions)
            }
        }
    }

    /// Runs the test on a valid system.
    ///
    /// # Errors
    /// Returns the first assumption that the system breaks, and how to fix the system.
    pub fn run(&self, system: &System) -> Result<Finding, Refusal> {
        self.applies_to(system)?;
        Ok(self.run_unchecked(system))
    }

    /// [`run`](Self::run) without checking the assumptions: for a valid system that keeps them, and
    /// for callers that run many tests on it and check their common assumptions once.
    pub fn run_unchecked(&self, system: &System) -> Finding {
        (self.decide)(system)
    }

    /// Returns only the verdict of [`run_unchecked`](Self::run_unchecked). Some tests find it
    /// sooner than the reasons.
    pub fn verdict_unchecked(&self, system: &System) -> Verdict {
        match self.shortcuts.verdict {
            Some(verdict) => verdict(system),
            None => (self.decide)(system).verdict,
        }
    }

    /// Returns the finding of [`run_unchecked`](Self::run_unchecked) with the bounds of the
    /// [`ResponseTest`] of the same name, or `None` unless both rest on one search.
    pub fn run_with_bounds_unchecked(
        &self,
        system: &System,
    ) -> Option<(Finding, TaskMap<Option<ResponseBound>>)> {
        Some((self.shortcuts.with_bounds?)(system))
    }

    /// Checks that the test applies to a valid system.
    ///
    /// # Errors
    /// See [`run`](Self::run).
    pub fn applies_to(&self, system: &System) -> Result<(), Refusal> {
        Assumption::check_all(self.assumptions, system)?;
        Assumption::check_all(self.also_assumes(), system)
    }
}

/// An analysis that bounds the tardiness of every task.
#[derive(Clone, Copy)]
pub struct BoundTest {
    /// The short name.
    pub name: &'static str,
    /// The bounded quantity, in a sentence.
    pub title: &'static str,
    /// The algorithms that the bounds are about.
    pub algorithms: &'static [Algorithm],
    /// The assumptions, in the order in which the analysis numbers them.
    pub assumptions: &'static [Assumption],
    /// The publications to cite.
    pub citations: &'static [&'static Citation],
    /// Runs the analysis on a system that keeps the assumptions.
    pub(crate) bound: fn(&System) -> Tardiness,
}

impl BoundTest {
    /// The assumptions besides [the list](Self::assumptions), as
    /// [of a test](SchedulabilityTest::also_assumes).
    pub fn also_assumes(&self) -> &'static [Assumption] {
        besides(self.algorithms, self.assumptions)
    }

    /// Runs the analysis on a valid system.
    ///
    /// # Errors
    /// Returns the first assumption that the system breaks, and how to fix the system.
    pub fn run(&self, system: &System) -> Result<Tardiness, Refusal> {
        self.applies_to(system)?;
        Ok(self.run_unchecked(system))
    }

    /// [`run`](Self::run) without checking the assumptions: for a valid system that keeps them.
    pub fn run_unchecked(&self, system: &System) -> Tardiness {
        (self.bound)(system)
    }

    /// Checks that the analysis applies to a valid system.
    ///
    /// # Errors
    /// See [`run`](Self::run).
    pub fn applies_to(&self, system: &System) -> Result<(), Refusal> {
        Assumption::check_all(self.assumptions, system)?;
        Assumption::check_all(self.also_assumes(), system)
    }
}

/// An analysis that bounds the response times of tasks.
#[derive(Clone, Copy)]
pub struct ResponseTest {
    /// The short name, that of the schedulability test to which the analysis belongs.
    pub name: &'static str,
    /// The bounded quantity, in a sentence.
    pub title: &'static str,
    /// The algorithms that the bounds are about.
    pub algorithms: &'static [Algorithm],
    /// [`TestKind::Exact`]: the bounds are reached if all releases coincide that the parameters
    /// allow to coincide. If [`run_by_rank_unchecked`](Self::run_by_rank_unchecked) returns bounds,
    /// those are the ones that are reached.
    pub kind: TestKind,
    /// The assumptions, in the order in which the analysis numbers them.
    pub assumptions: &'static [Assumption],
    /// The publications to cite.
    pub citations: &'static [&'static Citation],
    /// Runs the analysis on a system that keeps the assumptions.
    pub(crate) bound: fn(&System) -> TaskMap<Option<ResponseBound>>,
    /// Returns the response times that are reached where ties go by rank. Present only if the order
    /// of ties matters; then `bound` covers every order.
    pub(crate) by_rank: Option<fn(&System) -> Bounds>,
}

impl ResponseTest {
    /// The assumptions besides [the list](Self::assumptions), as
    /// [of a test](SchedulabilityTest::also_assumes).
    pub fn also_assumes(&self) -> &'static [Assumption] {
        besides(self.algorithms, self.assumptions)
    }

    /// Runs the analysis on a valid system. Returns a bound for each task for which there is one.
    ///
    /// # Errors
    /// Returns the first assumption that the system breaks, and how to fix the system.
    pub fn run(&self, system: &System) -> Result<TaskMap<Option<ResponseBound>>, Refusal> {
        self.applies_to(system)?;
        Ok(self.run_unchecked(system))
    }

    /// Checks that the analysis applies to a valid system.
    ///
    /// # Errors
    /// See [`run`](Self::run).
    pub fn applies_to(&self, system: &System) -> Result<(), Refusal> {
        Assumption::check_all(self.assumptions, system)?;
        Assumption::check_all(self.also_assumes(), system)
    }

    /// [`run`](Self::run) without checking the assumptions: for a valid system that keeps them.
    pub fn run_unchecked(&self, system: &System) -> TaskMap<Option<ResponseBound>> {
        (self.bound)(system)
    }

    /// Returns true if the bounds depend on how the algorithm breaks ties.
    pub fn depends_on_ties(&self) -> bool {
        self.by_rank.is_some()
    }

    /// Returns the longest response times where ties go by rank, then by id, as in the policies. A
    /// bound of [`run`](Self::run) that is not larger is reached. Returns `None` if ties change
    /// nothing.
    pub fn run_by_rank_unchecked(&self, system: &System) -> Option<TaskMap<Option<ResponseBound>>> {
        self.by_rank.map(|bound| bound(system))
    }
}

/// Defines a sufficient test for some algorithms together with the response bounds that it decides
/// by. Takes the names of the two constants, their common fields, and the functions that return the
/// finding, the bounds, and both.
macro_rules! test_and_responses {
    ($test:ident, $responses:ident, $name:literal, $title:literal, $algorithms:expr, $assumptions:expr,
        $citations:expr, $certify:expr, $decide:expr, $bound:expr, $both:expr) => {
        #[doc = concat!("`", $name, "`: ", $title, ".")]
        pub const $test: SchedulabilityTest = SchedulabilityTest {
            name: $name,
            title: $title,
            subject: Subject::Algorithms($algorithms),
            kind: TestKind::Sufficient,
            assumptions: $assumptions,
            citations: $citations,
            certify: $certify,
            shortcuts: $crate::Shortcuts { with_bounds: Some($both), ..$crate::Shortcuts::NONE },
            decide: $decide,
        };
        #[doc = concat!("The response bounds of `", $name, "`.")]
        pub const $responses: ResponseTest = ResponseTest {
            name: $name,
            title: $title,
            algorithms: $algorithms,
            kind: TestKind::Sufficient,
            assumptions: $assumptions,
            citations: $citations,
            bound: $bound,
            by_rank: None,
        };
    };
}
pub(crate) use test_and_responses;
