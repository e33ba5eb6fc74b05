//! Random exploration of other tie-breaks and of other orders of simultaneous events.

use layland_gen::Random;
use layland_model::{Algorithm, Form, Order, System};

/// Returns the system with the ranks, which break ties, in an order drawn from a seed.
///
/// Ranks break all ties: those of deadlines, but also those of fixed priorities and of tasks to be
/// packed, on which guarantees depend. [`explored`] randomizes only ties of deadlines.
pub fn with_random_ranks(system: &System, seed: u64) -> System {
    let mut system = system.clone();
    let mut random = Random::of_task(seed, u64::MAX - 1);
    let mut ranks: Vec<i64> = (0..system.tasks.len() as i64).collect();
    random.shuffle(&mut ranks);
    system.tasks.values_mut().zip(ranks).for_each(|(task, rank)| task.rank = rank);
    system
}

/// The systems of one exploration: the policy is built from one, and the other is simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explored {
    /// The policy is built from this system.
    pub built_from: System,
    /// It schedules this one, which differs in ranks alone.
    pub simulated: System,
}

/// Breaks ties between equal deadlines at random, from a seed, and leaves everything else that
/// depends on ranks: the assignment of tasks to CPUs, the order of equal fixed priorities, and all
/// decisions before the first release. A guarantee for a system holds for every exploration of it.
///
/// | algorithm | built from | simulated with |
/// |---|---|---|
/// | EDF, global or with affinities | drawn ranks | drawn ranks |
/// | SCHED_DEADLINE and adaptive partitioning | drawn ranks | drawn ranks |
/// | EDF in partitions or clusters, whose tasks are packed by rank | the system | the system |
/// | fixed priorities, RUN, QPS, mixed criticality, others | the system | the system |
///
/// Together with [`SimOptions::explore`](crate::SimOptions::explore), which draws the order of
/// simultaneous events, each seed determines one schedule, which can be repeated.
///
/// ```
/// use layland_model::{Algorithm, Duration, Form, Order, Service, System, Task};
/// use layland_sim::explored;
/// let task = |name: &str| Task::implicit(name, Service::from_ms(1), Duration::from_ms(5));
/// let system = System::new(1, ["a", "b", "c", "d"].map(task).into());
/// let of = |form, order| explored(&system, Algorithm::Ordered(form, order), 7).simulated;
/// assert_ne!(of(Form::Global, Order::Deadline), system);
/// assert_eq!(of(Form::Partitioned, Order::Deadline), system);
/// assert_eq!(of(Form::Global, Order::RateMonotonic), system);
/// ```
pub fn explored(system: &System, algorithm: Algorithm, seed: u64) -> Explored {
    let drawn = || with_random_ranks(system, seed);
    let is_dealt = matches!(
        algorithm,
        Algorithm::Ordered(
            Form::Global | Form::Weak | Form::Strong | Form::Hierarchical,
            Order::Deadline
        )
    );
    let (built_from, simulated) = if is_dealt || algorithm.schedules_threads() {
        (drawn(), drawn())
    } else {
        (system.clone(), system.clone())
    };
    Explored { built_from, simulated }
}
