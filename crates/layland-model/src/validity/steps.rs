//! The rules for steps and resources.

use super::{Field, SystemPart};
use crate::{Index, Resource, ResourceId, Service, Step, System, TIME_LIMIT, Task, TaskId};
use std::collections::BTreeMap;

impl System {
    /// Checks the names and homes of resources.
    pub(super) fn validate_resources(&self, wrong: &mut impl FnMut(SystemPart, String, &str)) {
        let mut names = BTreeMap::new();
        for (index, resource) in self.resources.iter().enumerate() {
            let here = SystemPart::Resource(index);
            let name = &resource.name;
            if name.is_empty() || name.chars().any(|char| char.is_control() || char.is_whitespace())
            {
                let message = format!("a resource has the name {name:?}");
                wrong(here, message, "give it a name without blanks, as in name = \"bus\"");
            } else if let Some(first) = names.insert(name.as_str(), index) {
                let message = format!("the name `{name}` is taken by resource {}", first + 1);
                wrong(here, message, "give every resource a name of its own");
            }
            if let Some(cpu) = resource.home
                && cpu.index() >= self.platform.cpu_count()
            {
                let message = format!("the home of `{name}` is CPU {cpu}, which does not exist");
                wrong(here, message, &format!("the CPUs are {}", self.platform.all_cpus()));
            }
        }
    }

    /// Checks that the sections of a task are properly nested and not empty, and that its steps sum
    /// to its WCET.
    pub(super) fn validate_steps(
        &self,
        id: TaskId,
        task: &Task,
        wrong: &mut impl FnMut(SystemPart, String, &str),
    ) {
        let Some(steps) = &task.steps else { return };
        let task_name = &task.name;
        let known = |resource: ResourceId| self.resources.get(resource.index());
        // Open sections, each with the step that locks it and the execution before that step.
        let mut open: Vec<(ResourceId, usize, i128)> = Vec::new();
        let mut sum = 0i128;
        for (index, step) in steps.iter().enumerate() {
            let mut at = |index: usize, message: String, help: &str| {
                wrong(SystemPart::Step(id, index), message, help);
            };
            let mut here = |message: String, help: &str| at(index, message, help);
            match *step {
                Step::Run(length) => {
                    sum += i128::from(length.ns());
                    if length <= Service::ZERO {
                        here(format!("`{task_name}` runs for {length}"), "leave the step out");
                    }
                }
                Step::Suspend(length) => {
                    if !(0..=TIME_LIMIT).contains(&length.ns()) {
                        let message = format!("`{task_name}` suspends itself for {length}");
                        here(message, "it cannot be negative");
                    }
                }
                Step::Lock(resource) | Step::Unlock(resource) => {
                    let Some(Resource { name, .. }) = known(resource) else {
                        let message =
                            format!("`{task_name}` uses resource {resource}, which is not there");
                        here(message, "list it under [[resource]]");
                        return;
                    };
                    if matches!(step, Step::Lock(_)) {
                        if open.iter().any(|&(held, ..)| held == resource) {
                            let message =
                                format!("`{task_name}` locks `{name}`, which it holds already");
                            here(message, "unlock it before, or leave this step out");
                            return;
                        }
                        open.push((resource, index, sum));
                    } else if let Some((_, locked, before)) =
                        open.pop().filter(|&(last, ..)| last == resource)
                    {
                        // A job would have to be selected just to enter it, and no bound accounts
                        // for that time.
                        if sum <= before {
                            let message = format!(
                                "a section of `{task_name}` on `{name}` is empty: no `run` of at least one unit \
                                 between them"
                            );
                            at(
                                locked,
                                message,
                                "leave out the lock and its unlock, or run between them",
                            );
                        }
                    } else {
                        let message = format!(
                            "`{task_name}` unlocks `{name}`, which is not what it locked last"
                        );
                        here(message, "sections are nested: unlock in the reverse order");
                        return;
                    }
                }
            }
        }
        let mut whole =
            |message: String, help: &str| wrong(SystemPart::Task(id, Field::Steps), message, help);
        if let Some((last, ..)) = open.last() {
            let message = format!(
                "a job of `{task_name}` ends holding `{}`",
                self.resources[last.index()].name
            );
            whole(message, "end its steps with an unlock");
        }
        let c = task.own_wcet();
        if sum != i128::from(c.ns()) {
            let message = match i64::try_from(sum) {
                Ok(sum) => format!(
                    "the steps of `{task_name}` run for {}, and its wcet is {c}",
                    Service::from_ns(sum)
                ),
                Err(_) => format!("the steps of `{task_name}` are too long"),
            };
            whole(message, "the `run` steps of a job sum to its wcet, sections included");
        }
    }
}
