//! The rules for cause-effect chains.

use super::{Field, SystemPart};
use crate::{Duration, System, Task, TaskId};
use std::collections::BTreeMap;

impl System {
    /// Checks that chains have unique names, and tasks that pass data to others.
    pub(super) fn validate_chains(&self, wrong: &mut impl FnMut(SystemPart, String, &str)) {
        let mut names = BTreeMap::new();
        for (index, chain) in self.chains.iter().enumerate() {
            let mut here = |message: String, help: &str| {
                wrong(SystemPart::Chain(index), message, help);
            };
            let name = &chain.name;
            if name.is_empty() {
                here("a chain has no name".to_owned(), "name it");
            } else if let Some(first) = names.insert(name.as_str(), index) {
                let message = format!("the name `{name}` is taken by chain {}", first + 1);
                here(message, "give every chain a name of its own");
            }
            if chain.tasks.is_empty() {
                here(format!("the chain `{name}` has no task"), "name its tasks in order");
            }
            if chain.tasks.iter().any(|&task| self.tasks.get(task).is_none()) {
                let message = format!("the chain `{name}` has a task that does not exist");
                here(message, "name tasks of the set");
            }
            if let Some((twice, _)) = chain.pairs().find(|(from, to)| from == to) {
                let task = self.tasks.get(twice).map_or("", |task| task.name.as_str());
                let message = format!("the chain `{name}` has `{task}` twice in a row");
                here(message, "name it once: data that a job reads from its own task is its state");
            }
            for within in chain.constraints().filter(|&within| within <= Duration::ZERO) {
                let message = format!("the chain `{name}` allows a latency of {within}");
                here(message, "allow more than 0s, or leave the constraint out");
            }
        }
    }

    /// Checks that each job of a task writes before the next one, which keeps the order of writes.
    pub(super) fn validate_let_interval(
        &self,
        id: TaskId,
        task: &Task,
        wrong: &mut impl FnMut(SystemPart, String, &str),
    ) {
        let Some(interval) = task.let_interval else { return };
        if interval <= Duration::ZERO || interval > task.period {
            let message = format!("`{}` writes {interval} after its release", task.name);
            let help = "under logical execution time a job writes after more than 0s, and within the period";
            wrong(SystemPart::Task(id, Field::LetInterval), message, help);
        }
    }
}
