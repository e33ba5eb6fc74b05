//! How many jobs a run has.

use layland_model::{System, Task, Time};

/// How many jobs arrive up to a time, if they arrive as often as they may.
pub(crate) fn arrivals(system: &System, end: Time) -> i128 {
    let of = |task: &Task| {
        let length = i128::from((end - (Time::ZERO + task.offset)).ns().max(0));
        length / i128::from(task.period.ns().max(1)) + 1
    };
    system.tasks.values().map(of).sum()
}
