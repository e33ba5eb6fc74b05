//! What decides between the jobs of tasks of one priority, in files.

use layland_model::{InLevel, System, TaskId};

/// The words for it: none is by rank.
pub(crate) const WORDS: [(&str, Option<InLevel>); 3] =
    [("rank", None), ("fifo", Some(InLevel::Fifo)), ("any", Some(InLevel::Any))];

/// The word for it.
pub(crate) fn word(in_level: Option<InLevel>) -> &'static str {
    in_level.map_or("rank", InLevel::name)
}

/// Whether two tasks share a priority: what is said of that means nothing otherwise.
pub(crate) fn are_shared(system: &System) -> bool {
    !system.shared_levels(system.tasks.ids()).is_empty()
}

/// What decides in a file that does not say it: ranks, if every task of a shared priority has one in the file.
pub(crate) fn by_default(system: &System, has_rank: impl Fn(TaskId) -> bool) -> Option<InLevel> {
    let shared = system.shared_levels(system.tasks.ids());
    let is_shared = |priority: Option<i64>| {
        let at = priority.map(|priority| shared.binary_search_by_key(&priority, |&(of, _)| of));
        at.is_some_and(|at| at.is_ok())
    };
    let mut sharing = system.tasks.iter().filter(|(_, task)| is_shared(task.priority));
    match sharing.all(|(id, _)| has_rank(id)) {
        true => None,
        false => Some(InLevel::Fifo),
    }
}
