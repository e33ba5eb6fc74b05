//! The answers of analyses about systems, so that each is computed once.
//!
//! Many policies lead to the same system: global EDF, clustered EDF with one cluster, and EDF with
//! affinities that leave every CPU to every task. A search for the margin meets the same scaled
//! systems under each of them. Analyses are functions of the system alone, so an answer under one
//! policy holds under all.

use crate::stated::Stated;
use layland_analysis::uniprocessor::fixed_priority::PriorityOrder;
use layland_analysis::{
    Assumption, OrderedTest, Refusal, ResponseBound, SchedulabilityTest, Tardiness, Verdict,
    catalogue,
};
use layland_model::{System, Task, TaskMap};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};

/// The limit on stored tasks of all systems together: beyond it, analyses are computed again.
const TASKS: usize = 200_000;

/// The systems with known answers.
#[derive(Default)]
pub(crate) struct Memo<'a> {
    kept: Mutex<Kept<'a>>,
}

#[derive(Default)]
struct Kept<'a> {
    /// Keyed by the number of clusters and the sums of WCETs and of deadlines: equal systems have
    /// the same key.
    systems: BTreeMap<(usize, i128, i128), Vec<Arc<Known<'a>>>>,
    tasks: usize,
}

/// The answers about a system. Tests and analyses are identified by their indices in the catalogue.
pub(crate) struct Known<'a> {
    system: Cow<'a, System>,
    /// True if deadlines are at the ends of periods, so that deadline-monotonic priorities are
    /// rate-monotonic.
    is_implicit: bool,
    assumptions: [OnceLock<Result<(), Refusal>>; Assumption::ALL.len()],
    tests: Answers<Arc<Stated>>,
    verdicts: Answers<Result<Verdict, Refusal>>,
    responses: Answers<Result<TaskMap<Option<ResponseBound>>, Refusal>>,
    responses_by_rank: Answers<Result<Option<TaskMap<Option<ResponseBound>>>, Refusal>>,
    tardiness: Answers<Result<Tardiness, Refusal>>,
}

impl<'a> Memo<'a> {
    /// Returns the entry of this system, and stores it unless the limit is reached.
    pub(crate) fn of(&self, system: Cow<'a, System>) -> Arc<Known<'a>> {
        let work = |task: &Task| -> i128 { task.wcet.iter().map(|c| i128::from(c.ns())).sum() };
        let key = (
            system.platform.clusters.len(),
            system.tasks.values().map(work).sum(),
            system.tasks.values().map(|task| i128::from(task.deadline.ns())).sum(),
        );
        let mut kept = lock(&self.kept);
        let alike = kept.systems.get(&key).into_iter().flatten();
        // The same object needs no comparison of its tasks.
        let is_it = |known: &&Arc<Known<'a>>| {
            std::ptr::eq(&*known.system, &*system) || is_same(&known.system, &system)
        };
        if let Some(known) = alike.clone().find(is_it) {
            return Arc::clone(known);
        }
        let tasks = system.tasks.len();
        let known = Arc::new(Known::new(system));
        if kept.tasks + tasks <= TASKS {
            kept.tasks += tasks;
            kept.systems.entry(key).or_default().push(Arc::clone(&known));
        }
        known
    }
}

/// Returns true if two systems are the same to analyses. Their origin does not matter.
fn is_same(a: &System, b: &System) -> bool {
    // `in_level` does not matter: each test that is run fixes the order within a level itself.
    let System {
        platform,
        levels,
        tasks,
        in_level: _,
        resources,
        groups,
        chains,
        requests,
        provenance: _,
        observed: _,
    } = a;
    (platform, levels, tasks, resources, groups, chains, requests)
        == (&b.platform, &b.levels, &b.tasks, &b.resources, &b.groups, &b.chains, &b.requests)
        && a.unexplained() == b.unexplained()
}

impl<'a> Known<'a> {
    fn new(system: Cow<'a, System>) -> Known<'a> {
        Known {
            is_implicit: system.tasks.values().all(|task| task.deadline == task.period),
            system,
            assumptions: [const { OnceLock::new() }; Assumption::ALL.len()],
            tests: Answers::new(catalogue::TESTS.len()),
            verdicts: Answers::new(catalogue::TESTS.len()),
            responses: Answers::new(catalogue::RESPONSES.len()),
            responses_by_rank: Answers::new(catalogue::RESPONSES.len()),
            tardiness: Answers::new(catalogue::BOUNDS.len()),
        }
    }

    pub(crate) fn system(&self) -> &System {
        &self.system
    }

    /// Checks the assumptions of a test. Each is checked once, because many tests share most of
    /// them.
    fn keeps(&self, listed: &[Assumption], also: &[Assumption]) -> Result<(), Refusal> {
        listed.iter().chain(also).try_for_each(|assumption| {
            let known = &self.assumptions[*assumption as usize];
            known.get_or_init(|| assumption.check(&self.system)).clone()
        })
    }

    /// Returns the finding of a test.
    pub(crate) fn test(&self, at: usize) -> Arc<Stated> {
        let at = if self.is_implicit { TWINS.tests[at] } else { at };
        let test = &catalogue::TESTS[at];
        let run = || {
            self.keeps(test.assumptions, test.also_assumes())?;
            let Some((finding, bounds)) = test.run_with_bounds_unchecked(&self.system) else {
                return Ok(test.run_unchecked(&self.system));
            };
            if let Some(at) = responses_of(test) {
                self.responses.put(at, Ok(bounds));
            }
            Ok(finding)
        };
        Arc::clone(self.tests.get(at, || Arc::new(Stated::new(run()))))
    }

    /// Returns the verdict of a test, without its reasons.
    pub(crate) fn verdict(&self, at: usize) -> Result<Verdict, Refusal> {
        let at = if self.is_implicit { TWINS.tests[at] } else { at };
        if let Some(finding) = self.tests.known(at) {
            return (***finding).as_ref().map(|finding| finding.verdict).map_err(Clone::clone);
        }
        let test = &catalogue::TESTS[at];
        let verdict = self.verdicts.get(at, || {
            self.keeps(test.assumptions, test.also_assumes())?;
            Ok(test.verdict_unchecked(&self.system))
        });
        verdict.clone()
    }

    /// Returns the response times that an analysis finds.
    pub(crate) fn responses(&self, at: usize) -> &Result<TaskMap<Option<ResponseBound>>, Refusal> {
        let at = if self.is_implicit { TWINS.responses[at] } else { at };
        let analysis = &catalogue::RESPONSES[at];
        self.responses.get(at, || {
            self.keeps(analysis.assumptions, analysis.also_assumes())?;
            Ok(analysis.run_unchecked(&self.system))
        })
    }

    /// Returns the response times that an analysis finds if ties go by rank; none if that changes
    /// nothing.
    pub(crate) fn responses_by_rank(
        &self,
        at: usize,
    ) -> &Result<Option<TaskMap<Option<ResponseBound>>>, Refusal> {
        let analysis = &catalogue::RESPONSES[at];
        self.responses_by_rank.get(at, || {
            self.keeps(analysis.assumptions, analysis.also_assumes())?;
            Ok(analysis.run_by_rank_unchecked(&self.system))
        })
    }

    /// Returns the tardiness that an analysis finds.
    pub(crate) fn tardiness(&self, at: usize) -> &Result<Tardiness, Refusal> {
        let analysis = &catalogue::BOUNDS[at];
        self.tardiness.get(at, || {
            self.keeps(analysis.assumptions, analysis.also_assumes())?;
            Ok(analysis.run_unchecked(&self.system))
        })
    }
}

/// The entries with the same answer if deadlines are at the ends of periods: for each test and
/// analysis of deadline-monotonic priorities its rate-monotonic twin, for all others the entry
/// itself.
struct Twins {
    tests: Vec<usize>,
    responses: Vec<usize>,
}

static TWINS: LazyLock<Twins> = LazyLock::new(|| Twins {
    tests: of_twins(catalogue::TESTS.iter().map(|test| (test.name, test.ordered()))),
    responses: of_twins(catalogue::RESPONSES.iter().map(|test| (test.name, test.ordered()))),
});

/// Returns the indices of twins in a list with these names, each with its test and order if it is
/// one test of several orders.
fn of_twins<'a>(
    entries: impl Iterator<Item = (&'a str, Option<(&'a OrderedTest, PriorityOrder)>)> + Clone,
) -> Vec<usize> {
    let twin = |ordered: Option<(&OrderedTest, PriorityOrder)>| {
        let (test, order) = ordered?;
        let twin = test.name(PriorityOrder::RateMonotonic);
        let is_twin = |(name, _): (&str, _)| name == twin;
        match order {
            PriorityOrder::DeadlineMonotonic => entries.clone().position(is_twin),
            PriorityOrder::RateMonotonic | PriorityOrder::Given => None,
        }
    };
    let twins = entries.clone().enumerate();
    twins.map(|(at, (_, ordered))| twin(ordered).unwrap_or(at)).collect()
}

/// Returns the index of the analysis whose bounds a test finds together with its verdict.
fn responses_of(test: &SchedulabilityTest) -> Option<usize> {
    catalogue::RESPONSES.iter().position(|analysis| analysis.name == test.name)
}

/// Answers by the index of the test or analysis. Allocated on first use: for most systems, some
/// kinds of answers are never requested.
struct Answers<T> {
    count: usize,
    given: OnceLock<Box<[OnceLock<T>]>>,
}

impl<T> Answers<T> {
    fn new(count: usize) -> Answers<T> {
        Answers { count, given: OnceLock::new() }
    }

    fn of(&self, who: usize) -> &OnceLock<T> {
        let room = || (0..self.count).map(|_| OnceLock::new()).collect();
        &self.given.get_or_init(room)[who]
    }

    /// Returns the answer, which is computed once: concurrent callers wait for it.
    fn get(&self, who: usize, compute: impl FnOnce() -> T) -> &T {
        self.of(who).get_or_init(compute)
    }

    /// Returns the answer, if it is known.
    fn known(&self, who: usize) -> Option<&T> {
        self.given.get()?[who].get()
    }

    /// Stores an answer that was computed together with another one. An existing answer is the
    /// same.
    fn put(&self, who: usize, answer: T) {
        let _ = self.of(who).set(answer);
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        let given = self.given.get().into_iter().flatten();
        given.filter(|answer| answer.get().is_some()).count()
    }
}

/// Locks the mutex. Ignoring poison is safe: a panic leaves no partial answer, since answers are
/// stored whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AssessOptions, Assessor};
    use layland_model::{Duration, Service};
    use layland_policy::Registry;
    use std::cell::Cell;

    fn system(wcet: i64) -> System {
        let task = |at: i64| {
            let period = Duration::from_us(1_000 + 37 * at);
            Task::implicit(at.to_string(), Service::from_us(wcet + at), period)
        };
        System::new(4, (0..12).map(task).collect())
    }

    impl Memo<'_> {
        /// Returns the number of tests that have run, and of the systems.
        fn runs(&self) -> (usize, usize) {
            let kept = lock(&self.kept);
            let systems = || kept.systems.values().flatten();
            let runs = |known: &Arc<Known<'_>>| known.tests.len() + known.verdicts.len();
            (systems().map(runs).sum(), systems().count())
        }
    }

    #[test]
    fn an_answer_is_computed_once() {
        let (answers, asked) = (Answers::<usize>::new(3), Cell::new(0));
        let ask = |who| {
            *answers.get(who, || {
                asked.set(asked.get() + 1);
                who + 1
            })
        };
        assert_eq!([ask(1), ask(2), ask(1)], [2, 3, 2]);
        assert_eq!(asked.get(), 2);
    }

    #[test]
    fn twins_are_the_rate_monotonic_tests_of_deadline_monotonic_ones() {
        let tests: Vec<&str> = catalogue::TESTS.iter().map(|test| test.name).collect();
        let responses: Vec<&str> = catalogue::RESPONSES.iter().map(|test| test.name).collect();
        let mut checked = 0;
        for (names, twins) in [(tests, &TWINS.tests), (responses, &TWINS.responses)] {
            for (at, &twin) in twins.iter().enumerate().filter(|&(at, &twin)| at != twin) {
                assert_eq!(names[at].replace("-DM", "-RM"), names[twin]);
                checked += 1;
            }
        }
        assert_eq!(checked, 32 + 31);
    }

    #[test]
    fn the_places_of_assumptions_are_those_of_the_list() {
        for (at, &assumption) in Assumption::ALL.iter().enumerate() {
            assert_eq!(assumption as usize, at, "{assumption}");
        }
    }

    #[test]
    fn what_is_kept_of_assumptions_is_what_a_test_says_alone() {
        let mut odd = system(50);
        let ids: Vec<_> = odd.tasks.ids().collect();
        odd.tasks[ids[3]].deadline = odd.tasks[ids[3]].period + Duration::from_us(1);
        odd.tasks[ids[5]].jitter = Duration::from_us(1);
        odd.tasks[ids[7]].affinity = "0-1".parse().ok();
        // From a set that all tests accept to one that none accepts.
        let systems = [50, 150, 250, 300, 350, 400, 500].map(system);
        for system in systems.into_iter().chain([odd]) {
            let known = Known::new(Cow::Borrowed(&system));
            for (at, test) in catalogue::TESTS.iter().enumerate() {
                assert_eq!(**known.test(at), test.run(&system), "{}", test.name);
            }
            let apart = Known::new(Cow::Borrowed(&system));
            for (at, test) in catalogue::TESTS.iter().enumerate() {
                let verdict = test.run(&system).map(|finding| finding.verdict);
                assert_eq!(apart.verdict(at), verdict, "{}", test.name);
            }
            // `known` after all tests, some of which have found their bounds; `apart` before any of
            // them.
            for (at, analysis) in catalogue::RESPONSES.iter().enumerate() {
                assert_eq!(*known.responses(at), analysis.run(&system), "{}", analysis.name);
                assert_eq!(*apart.responses(at), analysis.run(&system), "{}", analysis.name);
            }
            for (at, analysis) in catalogue::BOUNDS.iter().enumerate() {
                assert_eq!(*known.tardiness(at), analysis.run(&system), "{}", analysis.name);
            }
        }
    }

    #[test]
    fn equal_systems_are_one_and_others_are_not() {
        let memo = Memo::default();
        let of = |system| memo.of(Cow::Owned(system));
        let first = of(system(50));
        assert!(Arc::ptr_eq(&first, &of(system(50))));
        // A system with the same sums that is not the same system.
        let mut other = system(50);
        other.tasks.values_mut().for_each(|task| task.period += Duration::from_ns(1));
        other.tasks.values_mut().for_each(|task| task.deadline = task.period);
        let mut same_sums = system(50);
        let ids: Vec<_> = same_sums.tasks.ids().collect();
        same_sums.tasks[ids[0]].wcet[0] = Service::from_us(49);
        same_sums.tasks[ids[1]].wcet[0] = Service::from_us(52);
        for different in [system(51), other, same_sums] {
            assert!(!Arc::ptr_eq(&first, &of(different)));
        }
    }

    #[test]
    fn policies_that_become_the_same_system_share_its_tests_and_those_of_the_margin() {
        let (registry, system) = (Registry::standard(), system(150));
        let options = AssessOptions::with_margin();
        let assessor = Assessor::new(&registry, &system, &options);
        let first = assessor.assess("g-edf").unwrap();
        let before = assessor.memo.runs();
        assert!(before.0 > 20 && first.margin.is_some());
        let second = assessor.assess("c-edf").unwrap();
        assert_eq!(assessor.memo.runs(), before, "c-edf with one cluster is g-edf");
        assert_eq!((second.verdict, second.margin), (first.verdict, first.margin));
        let _ = assessor.assess("p-edf").unwrap();
        assert!(assessor.memo.runs().0 > before.0, "p-edf is another system");
    }
}
