//! The rules for the cache sets of tasks.

use super::{Field, SystemPart};
use crate::{System, Task, TaskId};

impl System {
    /// Checks that useful blocks are also evicting ones, and that tasks with steps have no cache blocks.
    pub(super) fn validate_cache(
        &self,
        id: TaskId,
        task: &Task,
        wrong: &mut impl FnMut(SystemPart, String, &str),
    ) {
        let Some(cache) = &task.cache else { return };
        let name = &task.name;
        let mut here = |message: String, help: &str| {
            wrong(SystemPart::Task(id, Field::Cache), message, help);
        };
        if let Some(set) = cache.ucb.first_outside(&cache.ecb) {
            let message =
                format!("`{name}` has a useful block in cache set {set}, and evicts nothing there");
            here(message, "each set of `ucb` is in `ecb`, too: a useful block was loaded before");
        }
        if task.steps.is_some() {
            let message = format!("`{name}` has cache blocks, and jobs with steps");
            here(
                message,
                "leave out `ucb` and `ecb`, or `steps`: nothing here counts reloads between steps",
            );
        }
    }

    /// Returns true if jobs may have to reload cache blocks when they resume: some task has useful
    /// blocks, and a reload takes time.
    pub fn has_reloads(&self) -> bool {
        let is_useful =
            |task: &Task| task.cache.as_ref().is_some_and(|cache| !cache.ucb.is_empty());
        self.platform.overheads.block_reload_time > crate::Duration::ZERO
            && self.tasks.values().any(is_useful)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CacheUse, Duration, Service, Step};

    fn system(ucb: &str, ecb: &str) -> System {
        let mut task = Task::implicit("a", Service::from_ms(1), Duration::from_ms(4));
        let sets = |text: &str| text.parse().unwrap();
        task.cache = Some(std::sync::Arc::new(CacheUse { ucb: sets(ucb), ecb: sets(ecb) }));
        System::new(1, vec![task])
    }

    #[test]
    fn useful_blocks_are_among_the_evicting_ones() {
        assert_eq!(system("0-3", "0-9").validate(), []);
        assert_eq!(system("", "0-9").validate(), []);
        let found = system("0-3,12", "0-9").validate();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].part, SystemPart::Task(TaskId(0), Field::Cache));
        assert!(found[0].message.contains("cache set 12"), "{}", found[0].message);
        let mut stepping = system("0-3", "0-9");
        stepping.tasks.values_mut().for_each(|task| {
            task.steps = Some([Step::Run(task.own_wcet())].into());
        });
        assert_eq!(stepping.validate().len(), 1);
    }

    #[test]
    fn reloads_take_a_useful_block_and_a_time() {
        let mut system = system("0", "0-9");
        assert!(!system.has_reloads());
        system.platform.overheads.block_reload_time = Duration::from_us(1);
        assert!(system.has_reloads());
        system.tasks.values_mut().for_each(|task| task.cache = None);
        assert!(!system.has_reloads());
    }
}
