//! Tests and bounds as data: their names, their assumptions, and the strength of their answers.

use crate::ordered::OrderedTest;
use crate::uniprocessor::fixed_priority::PriorityOrder;
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
/// about caches, no task that reloads blocks; unless it is about blocking times, no task that has
/// one; and unless it is about groups, no task of a group.
const fn besides(algorithms: &[Algorithm], listed: &[Assumption]) -> &'static [Assumption] {
    use Assumption::{
        Explained, Independent, NoBlocking, NoCacheDelay, NoGroups, OnlyExecutes, Preemptible,
    };
    let (mut regions, mut steps, mut at) = (false, false, 0);
    while at < algorithms.len() {
        regions |= matches!(algorithms[at], Algorithm::Deferred(..));
        steps |= matches!(algorithms[at], Algorithm::Locking(..));
        at += 1;
    }
    let (mut graphs, mut caches, mut blocking, mut groups, mut at) =
        (false, false, false, false, 0);
    while at < listed.len() {
        graphs |= matches!(listed[at], Assumption::Graphs | Assumption::GraphsTogether);
        caches |= matches!(listed[at], Assumption::CacheDelay);
        blocking |= matches!(listed[at], Assumption::BlockingKept);
        groups |= matches!(listed[at], Assumption::GroupsByDeadline | Assumption::GroupsByPriority);
        // A test about jobs that lock nothing covers jobs that suspend themselves.
        steps |= matches!(listed[at], Assumption::NoSections);
        at += 1;
    }
    match (regions, steps) {
        (false, false) if groups => {
            &[Preemptible, OnlyExecutes, Independent, NoCacheDelay, NoBlocking, Explained]
        }
        (false, false) if blocking => {
            &[Preemptible, OnlyExecutes, Independent, NoCacheDelay, NoGroups, Explained]
        }
        (false, false) if graphs => {
            &[Preemptible, OnlyExecutes, NoCacheDelay, NoBlocking, NoGroups, Explained]
        }
        (false, false) if caches => {
            &[Preemptible, OnlyExecutes, Independent, NoBlocking, NoGroups, Explained]
        }
        (false, false) => {
            &[Preemptible, OnlyExecutes, Independent, NoCacheDelay, NoBlocking, NoGroups, Explained]
        }
        (true, false) => {
            &[OnlyExecutes, Independent, NoCacheDelay, NoBlocking, NoGroups, Explained]
        }
        (false, true) => &[Preemptible, Independent, NoCacheDelay, NoBlocking, NoGroups, Explained],
        (true, true) => &[Independent, NoCacheDelay, NoBlocking, NoGroups, Explained],
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
    pub(crate) decide: Decide,
}

/// Response bounds, for each task that has one.
pub(crate) type ResponseBounds = TaskMap<Option<ResponseBound>>;

/// A test's decision about a system that keeps its assumptions.
#[derive(Clone, Copy)]
pub(crate) struct Decide {
    how: How,
    /// Returns the verdict of the finding, sooner than the finding with its reasons.
    verdict: Option<fn(&System) -> Verdict>,
}

#[derive(Clone, Copy)]
enum How {
    Alone(fn(&System) -> Finding),
    WithBounds(fn(&System) -> (Finding, ResponseBounds)),
    Ordered(&'static OrderedTest, PriorityOrder),
}

impl Decide {
    /// Decides by a function that returns the finding.
    pub(crate) const fn by(finding: fn(&System) -> Finding) -> Decide {
        Decide { how: How::Alone(finding), verdict: None }
    }

    /// Decides by a function that returns the finding and, from the same search, the bounds of the
    /// [`ResponseTest`] with the same name and assumptions.
    pub(crate) const fn with_bounds(both: fn(&System) -> (Finding, ResponseBounds)) -> Decide {
        Decide { how: How::WithBounds(both), verdict: None }
    }

    /// Decides as this test does under this order.
    pub(crate) const fn under(test: &'static OrderedTest, order: PriorityOrder) -> Decide {
        Decide { how: How::Ordered(test, order), verdict: None }
    }

    /// Adds a faster way to the verdict alone.
    pub(crate) const fn or_sooner(self, verdict: fn(&System) -> Verdict) -> Decide {
        Decide { how: self.how, verdict: Some(verdict) }
    }

    fn finding(self, system: &System) -> Finding {
        match self.how {
            How::Alone(finding) => finding(system),
            How::WithBounds(both) => both(system).0,
            How::Ordered(test, order) => test.analysis.finding(system, order),
        }
    }

    fn verdict(self, system: &System) -> Verdict {
        match (self.verdict, self.how) {
            (Some(verdict), _) => verdict(system),
            (None, How::Ordered(test, order)) => test.analysis.verdict(system, order),
            (None, How::Alone(_) | How::WithBounds(_)) => self.finding(system).verdict,
        }
    }

    fn finding_and_bounds(self, system: &System) -> Option<(Finding, ResponseBounds)> {
        match self.how {
            How::Alone(_) => None,
            How::WithBounds(both) => Some(both(system)),
            How::Ordered(test, order) => test.analysis.finding_and_bounds(system, order),
        }
    }
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
        self.decide.finding(system)
    }

    /// Returns only the verdict of [`run_unchecked`](Self::run_unchecked). Some tests find it
    /// sooner than the reasons.
    pub fn verdict_unchecked(&self, system: &System) -> Verdict {
        self.decide.verdict(system)
    }

    /// Returns the finding of [`run_unchecked`](Self::run_unchecked) with the bounds of the
    /// [`ResponseTest`] of the same name, or `None` unless both rest on one search.
    pub fn run_with_bounds_unchecked(
        &self,
        system: &System,
    ) -> Option<(Finding, TaskMap<Option<ResponseBound>>)> {
        self.decide.finding_and_bounds(system)
    }

    /// Returns the test that this one is under some order of fixed priorities, and that order.
    pub fn ordered(&self) -> Option<(&'static OrderedTest, PriorityOrder)> {
        match self.decide.how {
            How::Alone(_) | How::WithBounds(_) => None,
            How::Ordered(test, order) => Some((test, order)),
        }
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
    pub(crate) bound: Respond,
    /// Returns the response times that are reached where ties go by rank. Present only if the order
    /// of ties matters; then `bound` covers every order.
    pub(crate) by_rank: Option<fn(&System) -> ResponseBounds>,
}

/// The way to response bounds.
#[derive(Clone, Copy)]
pub(crate) enum Respond {
    Alone(fn(&System) -> ResponseBounds),
    /// The bounds come with the finding of the schedulability test.
    WithFinding(fn(&System) -> (Finding, ResponseBounds)),
    Ordered(&'static OrderedTest, PriorityOrder),
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
        match self.bound {
            Respond::Alone(bounds) => bounds(system),
            Respond::WithFinding(both) => both(system).1,
            Respond::Ordered(test, order) => test.analysis.bounds(system, order),
        }
    }

    /// Returns the test whose bounds these are under some order of fixed priorities, and that
    /// order.
    pub fn ordered(&self) -> Option<(&'static OrderedTest, PriorityOrder)> {
        match self.bound {
            Respond::Alone(_) | Respond::WithFinding(_) => None,
            Respond::Ordered(test, order) => Some((test, order)),
        }
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

/// A sufficient test for some algorithms, with the response bounds that it decides by.
pub(crate) struct BoundedTest {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) algorithms: &'static [Algorithm],
    pub(crate) assumptions: &'static [Assumption],
    pub(crate) citations: &'static [&'static Citation],
    pub(crate) certify: Certify,
    /// Finds the answer and the bounds by one search.
    pub(crate) both: fn(&System) -> (Finding, ResponseBounds),
}

impl BoundedTest {
    pub(crate) const fn test(&self) -> SchedulabilityTest {
        SchedulabilityTest {
            name: self.name,
            title: self.title,
            subject: Subject::Algorithms(self.algorithms),
            kind: TestKind::Sufficient,
            assumptions: self.assumptions,
            citations: self.citations,
            certify: self.certify,
            decide: Decide::with_bounds(self.both),
        }
    }

    pub(crate) const fn responses(&self) -> ResponseTest {
        ResponseTest {
            name: self.name,
            title: self.title,
            algorithms: self.algorithms,
            kind: TestKind::Sufficient,
            assumptions: self.assumptions,
            citations: self.citations,
            bound: Respond::WithFinding(self.both),
            by_rank: None,
        }
    }
}
