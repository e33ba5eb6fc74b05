//! The threads that release and end the jobs of a run.

use crate::RunError;
use crate::fifo::threads::FifoThreads;
use crate::fifo::worker::SharedState;
use crate::kernel::lock::has_priority_locks;
use crate::kernel::timer::Timer;
use layland_policy::{FixedOrder, Policy};

/// The threads that release and end the jobs of a run, and notify the policy of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Releases {
    /// The threads of the tasks, if the policy has a [fixed order](layland_policy::FixedOrder) for
    /// which the kernel has enough priorities; otherwise the manager.
    #[default]
    ByThreads,
    /// The manager.
    ByManager,
}

/// Returns the order of the policy by which threads release and end their jobs themselves, and makes
/// the timer of their manager; `None` if the manager releases and ends the jobs.
///
/// # Errors
/// Returns an error if the kernel refuses the timer.
pub(super) fn order_of(
    policy: &dyn Policy,
    releases: Releases,
    shared: &SharedState,
    remarks: &mut Vec<String>,
) -> Result<Option<FixedOrder>, RunError> {
    let order = match releases {
        Releases::ByManager => None,
        Releases::ByThreads => policy.fixed_order(),
    };
    let Some(order) = order else { return Ok(None) };
    let lacks = if !FifoThreads::has_priorities_for(order) {
        "there are more tasks on a CPU than priorities"
    } else if !has_priority_locks() {
        "the kernel has no locks that lend priorities"
    } else {
        let timer = Timer::new()
            .map_err(|error| RunError::refused("failed to make a timer", &error, String::new()))?;
        shared.timer.set(timer).expect("a run has one timer");
        return Ok(Some(order.clone()));
    };
    remarks.push(format!("the manager releases and ends jobs for the threads: {lacks}"));
    Ok(None)
}
