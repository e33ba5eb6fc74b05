//! The keys that a format lacks, and the warnings about their loss.

use super::TASK_KEYS;
use super::kind::{Of, TaskKey};
use layland_model::{Overheads, System};

/// The keys that a format has. The loss of any other key is a warning.
pub(crate) struct Coverage {
    /// Returns true if the format has the key, or if its writer has warnings of its own.
    pub has: fn(&TaskKey) -> bool,
    /// The advice about the loss of a key.
    pub help: fn(&TaskKey) -> &'static str,
}

impl Coverage {
    /// Returns a warning and its advice for each key of a task that the format lacks.
    pub(crate) fn lost(&self, of: Of<'_>) -> impl Iterator<Item = (String, &'static str)> {
        let is_lost =
            move |key: &&TaskKey| !key.lost.is_empty() && !(self.has)(key) && (key.is_given)(of);
        let lost = TASK_KEYS.iter().filter(is_lost);
        lost.map(move |key| (key.lost.replace("{}", &of.task.name), (self.help)(key)))
    }
}

/// Reports the parts of a set, beside its tasks, that a format with tasks alone has no place for.
pub(crate) fn lost_of_set(
    system: &System,
    no_place: &'static str,
    lose: &mut impl FnMut(bool, String, &str),
) {
    let platform = &system.platform;
    lose(!platform.is_unit_speed(), "the speeds of the CPUs are lost".to_owned(), no_place);
    let clustered = platform.clusters != [platform.all_cpus()];
    lose(clustered, "the clusters are lost".to_owned(), no_place);
    lose(platform.overheads != Overheads::default(), "the overheads are lost".to_owned(), no_place);
    let own = "the execution time at each task's own level is written";
    lose(system.levels.is_mixed(), "the criticality levels are lost".to_owned(), own);
    let requests = system.requests.len();
    lose(requests > 0, format!("{requests} requests are lost"), no_place);
    let groups = system.groups.len();
    lose(groups > 0, format!("{groups} groups with budgets are lost"), no_place);
    let chains = system.chains.len();
    lose(chains > 0, format!("{chains} cause-effect chains are lost"), no_place);
    lose(system.provenance.is_some(), "the provenance is lost".to_owned(), no_place);
    lose(
        system.observed.is_some(),
        "the trace that the set was inferred from is lost".to_owned(),
        no_place,
    );
}
