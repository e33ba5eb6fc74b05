//! A test or a bound as data: what it is called, what it assumes, what it is worth.

use crate::{
    Assumption, Certify, Citation, Finding, Refusal, ResponseBound, Tardiness, TestKind, Verdict,
};
use layland_model::{Algorithm, Order, System, TaskMap};

/// What a test's *yes* promises; a *no* denies just that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Every deadline is met under each of these algorithms.
    Algorithms(&'static [Algorithm]),
    /// Mixed criticality: every job that is *covered* meets its deadline under each of these algorithms. A run
    /// belongs to level `l` if no job of a task of level `l` or above executes for longer than `C(l)`; then
    /// the jobs of these tasks are covered. With one level that is every deadline.
    Covered(&'static [Algorithm]),
    /// What a paper claims of these algorithms, and what does not hold: why, in sentences. A *yes* promises nothing,
    /// and reproduces the paper's figures.
    Unsound(&'static [Algorithm], &'static str),
    /// Every deadline is met by some scheduler.
    SomeScheduler,
    /// Every deadline is met by EDF on each CPU of some partition.
    SomePartition,
    /// Every deadline is met by fixed priorities in this order on each CPU of some partition.
    SomePartitionUnder(Order),
    /// Every deadline is met by some fixed priorities.
    SomePriorities,
    /// The tasks are admitted under these algorithms. That says nothing about deadlines.
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

/// What a test assumes besides its list: whoever is not about non-preemptive regions takes no task that has some,
/// whoever is not about locks takes no task whose jobs lock something or suspend themselves, whoever is not about
/// graphs takes no task that follows another one, whoever is not about caches takes no task that reloads blocks, and
/// whoever is not about blocking times takes no task that has one.
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
        // Who is about jobs that lock nothing is about those that suspend themselves.
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
    /// Its short name, SchedCAT's where there is one.
    pub name: &'static str,
    /// What it tests, in a sentence.
    pub title: &'static str,
    /// What a *yes* promises.
    pub subject: Subject,
    /// What its answer is worth.
    pub kind: TestKind,
    /// What it assumes, in the order in which it numbers them.
    pub assumptions: &'static [Assumption],
    /// Whom to cite.
    pub citations: &'static [&'static Citation],
    /// What proves its answers.
    pub certify: Certify,
    pub(crate) shortcuts: Shortcuts,
    /// The test, for a system that keeps the assumptions.
    pub(crate) decide: fn(&System) -> Finding,
}

/// Response bounds, for each task that has one.
type Bounds = TaskMap<Option<ResponseBound>>;
type WithBounds = fn(&System) -> (Finding, Bounds);

/// What takes less than the whole finding, or gives more for the same, where there is such a way.
#[derive(Clone, Copy)]
pub(crate) struct Shortcuts {
    /// The verdict of the finding, for a system that keeps the assumptions, without reasons.
    pub(crate) verdict: Option<fn(&System) -> Verdict>,
    /// The finding with the bounds of the [`ResponseTest`] of the same name and assumptions, which rest on one search.
    pub(crate) with_bounds: Option<WithBounds>,
}

impl Shortcuts {
    pub(crate) const NONE: Shortcuts = Shortcuts { verdict: None, with_bounds: None };
}

impl SchedulabilityTest {
    /// What it assumes besides [the list](Self::assumptions): that there are no non-preemptive regions, unless it is
    /// about them, that jobs only execute, unless it is about locks, that no task follows another one, unless it is
    /// about graphs, that no job reloads what others evict, unless it is about caches, and that no task has a blocking
    /// time, unless it is about these. A necessary test needs no such thing, for all of these only take freedom away or
    /// make jobs longer. Each assumes that a set that was inferred explains its trace.
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
    /// If the system breaks an assumption: the first one, and what to do about it.
    pub fn run(&self, system: &System) -> Result<Finding, Refusal> {
        self.applies_to(system)?;
        Ok(self.run_unchecked(system))
    }

    /// The same on a valid system that keeps [the assumptions](Self::assumptions): for who runs many tests on it and
    /// checks what they have in common once.
    pub fn run_unchecked(&self, system: &System) -> Finding {
        (self.decide)(system)
    }

    /// The verdict of [`run_unchecked`](Self::run_unchecked) alone, which some tests have sooner than the reasons.
    pub fn verdict_unchecked(&self, system: &System) -> Verdict {
        match self.shortcuts.verdict {
            Some(verdict) => verdict(system),
            None => (self.decide)(system).verdict,
        }
    }

    /// What [`run_unchecked`](Self::run_unchecked) says, with the bounds of the [`ResponseTest`] of the same name, if
    /// both rest on one search.
    pub fn run_with_bounds_unchecked(
        &self,
        system: &System,
    ) -> Option<(Finding, TaskMap<Option<ResponseBound>>)> {
        Some((self.shortcuts.with_bounds?)(system))
    }

    /// Whether the test applies to a valid system.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn applies_to(&self, system: &System) -> Result<(), Refusal> {
        Assumption::check_all(self.assumptions, system)?;
        Assumption::check_all(self.also_assumes(), system)
    }
}

/// An analysis that bounds the tardiness of every task.
#[derive(Clone, Copy)]
pub struct BoundTest {
    /// Its short name.
    pub name: &'static str,
    /// What it bounds, in a sentence.
    pub title: &'static str,
    /// The algorithms that the bounds are about.
    pub algorithms: &'static [Algorithm],
    /// What it assumes, in the order in which it numbers them.
    pub assumptions: &'static [Assumption],
    /// Whom to cite.
    pub citations: &'static [&'static Citation],
    /// The analysis, for a system that keeps the assumptions.
    pub(crate) bound: fn(&System) -> Tardiness,
}

impl BoundTest {
    /// What it assumes besides [the list](Self::assumptions): as [of a test](SchedulabilityTest::also_assumes).
    pub fn also_assumes(&self) -> &'static [Assumption] {
        besides(self.algorithms, self.assumptions)
    }

    /// Runs the analysis on a valid system.
    ///
    /// # Errors
    /// If the system breaks an assumption: the first one, and what to do about it.
    pub fn run(&self, system: &System) -> Result<Tardiness, Refusal> {
        self.applies_to(system)?;
        Ok(self.run_unchecked(system))
    }

    /// The same on a valid system that keeps [the assumptions](Self::assumptions).
    pub fn run_unchecked(&self, system: &System) -> Tardiness {
        (self.bound)(system)
    }

    /// Whether the analysis applies to a valid system.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn applies_to(&self, system: &System) -> Result<(), Refusal> {
        Assumption::check_all(self.assumptions, system)?;
        Assumption::check_all(self.also_assumes(), system)
    }
}

/// An analysis that bounds the response times of tasks.
#[derive(Clone, Copy)]
pub struct ResponseTest {
    /// Its short name: that of the schedulability test that it belongs to.
    pub name: &'static str,
    /// What it bounds, in a sentence.
    pub title: &'static str,
    /// The algorithms that the bounds are about.
    pub algorithms: &'static [Algorithm],
    /// [`TestKind::Exact`]: the bounds are reached if the releases coincide that the parameters allow; those of
    /// [`run_by_rank_unchecked`](Self::run_by_rank_unchecked), where that has some.
    pub kind: TestKind,
    /// What it assumes, in the order in which it numbers them.
    pub assumptions: &'static [Assumption],
    /// Whom to cite.
    pub citations: &'static [&'static Citation],
    /// The analysis, for a system that keeps the assumptions.
    pub(crate) bound: fn(&System) -> TaskMap<Option<ResponseBound>>,
    /// What is reached where jobs that the algorithm has as equals go by rank, if ties change something: the bounds are
    /// of any rule of ties then.
    pub(crate) by_rank: Option<fn(&System) -> Bounds>,
}

impl ResponseTest {
    /// What it assumes besides [the list](Self::assumptions): as [of a test](SchedulabilityTest::also_assumes).
    pub fn also_assumes(&self) -> &'static [Assumption] {
        besides(self.algorithms, self.assumptions)
    }

    /// Runs the analysis on a valid system: a bound for each task for which it finds one.
    ///
    /// # Errors
    /// If the system breaks an assumption: the first one, and what to do about it.
    pub fn run(&self, system: &System) -> Result<TaskMap<Option<ResponseBound>>, Refusal> {
        self.applies_to(system)?;
        Ok(self.run_unchecked(system))
    }

    /// Whether the analysis applies to a valid system.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn applies_to(&self, system: &System) -> Result<(), Refusal> {
        Assumption::check_all(self.assumptions, system)?;
        Assumption::check_all(self.also_assumes(), system)
    }

    /// The same on a valid system that keeps [the assumptions](Self::assumptions).
    pub fn run_unchecked(&self, system: &System) -> TaskMap<Option<ResponseBound>> {
        (self.bound)(system)
    }

    /// Whether it matters who comes first of jobs that the algorithm has as equals.
    pub fn depends_on_ties(&self) -> bool {
        self.by_rank.is_some()
    }

    /// The longest response times where jobs that the algorithm has as equals go by rank, then by id, as the policies
    /// have it. A bound of [`run`](Self::run) that is no larger is reached. None if ties change nothing.
    pub fn run_by_rank_unchecked(&self, system: &System) -> Option<TaskMap<Option<ResponseBound>>> {
        self.by_rank.map(|bound| bound(system))
    }
}

/// A sufficient test for some algorithms together with the response bounds that it decides by: the names of the
/// two constants, what they share, and the functions that give the finding, the bounds, and both.
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
