//! The rule that orders jobs of tasks with equal priorities, in files.

use layland_model::{InLevel, System, TaskId};

/// The words for the rule; `None` is by rank.
pub(crate) const WORDS: [(&str, Option<InLevel>); 3] =
    [("rank", None), ("fifo", Some(InLevel::Fifo)), ("any", Some(InLevel::Any))];

/// Returns the word for the rule.
pub(crate) fn word(in_level: Option<InLevel>) -> &'static str {
    in_level.map_or("rank", InLevel::name)
}

/// Returns true if two tasks share a priority; the rule has no effect otherwise.
pub(crate) fn are_shared(system: &System) -> bool {
    !system.shared_levels(system.tasks.ids()).is_empty()
}

/// Returns the rule for a file without one: ranks, if the file has one for every task of a shared
/// priority, and the order of arrival otherwise.
pub(crate) fn by_default(system: &System, has_rank: impl Fn(TaskId) -> bool) -> Option<InLevel> {
    let shared = system.shared_levels(system.tasks.ids());
    let is_shared = |priority: Option<i64>| {
        let at = priority.map(|priority| shared.binary_search_by_key(&priority, |&(of, _)| of));
        at.is_some_and(|at| at.is_ok())
    };
    let mut sharing = system.tasks.iter().filter(|(_, task)| is_shared(task.priority));
    if sharing.all(|(id, _)| has_rank(id)) { None } else { Some(InLevel::Fifo) }
}
