//! Random exploration: other tie-breaks, other orders of simultaneous events.

use layland_gen::Random;
use layland_model::{Algorithm, Form, Order, System};

/// The same system with the ranks, which break ties, in an order drawn from a seed.
///
/// Ranks break all ties: those of deadlines, and also those of fixed priorities and of tasks to be packed, on which
/// guarantees rest. [`explored`] draws the first alone.
pub fn with_random_ranks(system: &System, seed: u64) -> System {
    let mut system = system.clone();
    let mut random = Random::of_task(seed, u64::MAX - 1);
    let mut ranks: Vec<i64> = (0..system.tasks.len() as i64).collect();
    random.shuffle(&mut ranks);
    system.tasks.values_mut().zip(ranks).for_each(|(task, rank)| task.rank = rank);
    system
}

/// What a policy is built from and what is simulated, for one exploration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explored {
    /// The policy is built from this system.
    pub built_from: System,
    /// It schedules this one, which differs in ranks alone.
    pub simulated: System,
}

/// Breaks ties between equal deadlines at random, from a seed, and leaves everything else that depends on ranks:
/// who is on which CPU, the order of equal fixed priorities, and what is decided before the first release. What is
/// guaranteed for a system is guaranteed for every exploration of it.
///
/// | algorithm | built from | simulated with |
/// |---|---|---|
/// | EDF, global or with affinities | drawn ranks | drawn ranks |
/// | SCHED_DEADLINE and adaptive partitioning | drawn ranks | drawn ranks |
/// | EDF in partitions or clusters, whose tasks are packed by rank | the system | the system |
/// | fixed priorities, RUN, QPS, mixed criticality, others | the system | the system |
///
/// Together with [`SimOptions::explore`](crate::SimOptions::explore), which draws the order of simultaneous
/// events, each seed is one schedule, and repeats it.
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
