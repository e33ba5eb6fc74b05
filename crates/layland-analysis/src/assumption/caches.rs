//! Assumptions of tests about caches.

use super::Assumption::{self, CacheDelay, NoCacheDelay};
use super::Refusal;
use layland_model::{Field, System, SystemPart, Task};

impl Assumption {
    /// Checks that a valid system keeps an assumption about caches; every system keeps the other
    /// assumptions.
    pub(super) fn check_caches(self, system: &System) -> Result<(), Refusal> {
        if self == NoCacheDelay && system.has_reloads() {
            let is_useful =
                |task: &Task| task.cache.as_ref().is_some_and(|cache| !cache.ucb.is_empty());
            let Some((id, task)) = system.tasks.iter().find(|(_, task)| is_useful(task)) else {
                return Ok(());
            };
            let blocks = task.cache.as_ref().map_or(0, |cache| cache.ucb.len());
            let blocks = layland_model::counted(blocks, "useful cache block");
            let reload = system.platform.overheads.block_reload_time;
            return Err(Refusal {
                assumption: self,
                part: SystemPart::Task(id, Field::Cache),
                message: format!(
                    "task `{}` has {blocks}, and each takes {reload} to reload",
                    task.name
                ),
                help: "use a test for cache-related preemption delays (p-fp, p-rm, p-dm and p-edf have some), or set \
                       block_reload_time = \"0s\"",
            });
        }
        if self == CacheDelay && !system.has_reloads() {
            let message = "no job has to reload anything".to_owned();
            let help = "give the tasks `ucb` and `ecb`, and the platform a `block_reload_time`";
            return Err(Refusal { assumption: self, part: SystemPart::Set, message, help });
        }
        Ok(())
    }
}
