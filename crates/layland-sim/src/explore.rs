//! Random exploration: other tie-breaks, other orders of simultaneous events.

use layland_gen::Random;
use layland_model::System;

/// The same system with the ranks, which break ties, in an order drawn from a seed.
///
/// Together with [`SimOptions::explore`](crate::SimOptions::explore) this looks for schedules that the
/// default tie-breaks do not show; each seed is one schedule, and repeats it.
pub fn with_random_ranks(system: &System, seed: u64) -> System {
    let mut system = system.clone();
    let mut random = Random::of_task(seed, u64::MAX - 1);
    let mut ranks: Vec<i64> = (0..system.tasks.len() as i64).collect();
    random.shuffle(&mut ranks);
    system.tasks.values_mut().zip(ranks).for_each(|(task, rank)| task.rank = rank);
    system
}
