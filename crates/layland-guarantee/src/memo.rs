//! What the analyses said of a system, so that none is asked twice.
//!
//! Many policies become the same system: global EDF, clustered EDF with one cluster and EDF with affinities that
//! leave every CPU to every task. A search for the margin meets the same scaled systems under each of them. Analyses
//! are functions of the system alone, so what one said under one policy is what it says under all.

use layland_analysis::{
    BoundTest, Finding, Refusal, ResponseBound, SchedulabilityTest, Tardiness, catalogue,
};
use layland_model::{System, Task, TaskMap};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// As many tasks are kept, of all systems together: beyond that analyses are asked anew.
const TASKS: usize = 200_000;

/// The systems that were asked about.
#[derive(Default)]
pub(crate) struct Memo {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// By the number of clusters and the sums of WCETs and of deadlines: equal systems are under one key.
    systems: BTreeMap<(usize, i128, i128), Vec<Arc<Known>>>,
    tasks: usize,
}

/// What is known of a system.
pub(crate) struct Known {
    system: System,
    tests: Answers<&'static str, Result<Finding, Refusal>>,
    responses: Answers<usize, Result<TaskMap<Option<ResponseBound>>, Refusal>>,
    tardiness: Answers<&'static str, Result<Tardiness, Refusal>>,
}

impl Memo {
    /// What is known of this system.
    pub(crate) fn of(&self, system: &System) -> Arc<Known> {
        let work = |task: &Task| -> i128 { task.wcet.iter().map(|c| i128::from(c.ns())).sum() };
        let key = (
            system.platform.clusters.len(),
            system.tasks.values().map(work).sum(),
            system.tasks.values().map(|task| i128::from(task.deadline.ns())).sum(),
        );
        let mut kept = lock(&self.kept);
        let alike = kept.systems.get(&key).into_iter().flatten();
        if let Some(known) = alike.clone().find(|known| known.system == *system) {
            return Arc::clone(known);
        }
        let known = Arc::new(Known::new(system.clone()));
        if kept.tasks + system.tasks.len() <= TASKS {
            kept.tasks += system.tasks.len();
            kept.systems.entry(key).or_default().push(Arc::clone(&known));
        }
        known
    }
}

impl Known {
    fn new(system: System) -> Known {
        Known {
            system,
            tests: Answers::default(),
            responses: Answers::default(),
            tardiness: Answers::default(),
        }
    }

    /// What a test says.
    pub(crate) fn test(&self, test: &SchedulabilityTest) -> Result<Finding, Refusal> {
        self.tests.get(test.name, || test.run(&self.system))
    }

    /// The response times that an analysis finds, the one in this place of the catalogue: their names are not unique.
    pub(crate) fn responses(&self, at: usize) -> Result<TaskMap<Option<ResponseBound>>, Refusal> {
        self.responses.get(at, || catalogue::RESPONSES[at].run(&self.system))
    }

    /// The tardiness that an analysis finds.
    pub(crate) fn tardiness(&self, analysis: &BoundTest) -> Result<Tardiness, Refusal> {
        self.tardiness.get(analysis.name, || analysis.run(&self.system))
    }
}

/// Answers by who gave them.
struct Answers<K, T>(Mutex<BTreeMap<K, Arc<OnceLock<T>>>>);

impl<K, T> Default for Answers<K, T> {
    fn default() -> Answers<K, T> {
        Answers(Mutex::default())
    }
}

impl<K: Ord, T: Clone> Answers<K, T> {
    /// The answer, which is computed once: who asks meanwhile waits for it.
    fn get(&self, who: K, compute: impl FnOnce() -> T) -> T {
        let answer = Arc::clone(lock(&self.0).entry(who).or_default());
        answer.get_or_init(compute).clone()
    }
}

/// What is behind the lock. A panic elsewhere leaves no half-made answer: they are put in whole.
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

    impl Memo {
        /// How many tests have run, on how many systems.
        fn runs(&self) -> (usize, usize) {
            let kept = lock(&self.kept);
            let systems = || kept.systems.values().flatten();
            (systems().map(|known| lock(&known.tests.0).len()).sum(), systems().count())
        }
    }

    #[test]
    fn an_answer_is_computed_once() {
        let (answers, asked) = (Answers::<u8, u8>::default(), Cell::new(0));
        let ask = |who| {
            answers.get(who, || {
                asked.set(asked.get() + 1);
                who + 1
            })
        };
        assert_eq!([ask(1), ask(2), ask(1)], [2, 3, 2]);
        assert_eq!(asked.get(), 2);
    }

    #[test]
    fn equal_systems_are_one_and_others_are_not() {
        let memo = Memo::default();
        let first = memo.of(&system(50));
        assert!(Arc::ptr_eq(&first, &memo.of(&system(50))));
        // The same sums, and not the same system.
        let mut other = system(50);
        other.tasks.values_mut().for_each(|task| task.period += Duration::from_ns(1));
        other.tasks.values_mut().for_each(|task| task.deadline = task.period);
        let mut same_sums = system(50);
        let ids: Vec<_> = same_sums.tasks.ids().collect();
        same_sums.tasks[ids[0]].wcet[0] = Service::from_us(49);
        same_sums.tasks[ids[1]].wcet[0] = Service::from_us(52);
        for different in [system(51), other, same_sums] {
            assert!(!Arc::ptr_eq(&first, &memo.of(&different)));
        }
    }

    #[test]
    fn policies_that_become_the_same_system_share_its_tests_and_those_of_the_margin() {
        let (registry, system) = (Registry::standard(), system(150));
        let options = AssessOptions { margin: true, ..AssessOptions::default() };
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
