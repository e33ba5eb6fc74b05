//! A bound under logical execution time that needs no hyperperiod.
//!
//! `T_1 + I_n` and, for each pair of tasks `(i, j)`, `I_i + T_j - g + ((O_j - O_i - I_i) mod g)`
//! with `g = gcd(T_i, T_j)`: the time that a write waits for a read is congruent to
//! `O_j - O_i - I_i` modulo `g` and below `T_j`, and every such value occurs. The wait of each pair
//! is exact, so the bound is exact for one and two tasks; with more tasks the longest waits need
//! not occur together. **Sufficient.**

use super::{Unbounded, length, reads_at_arrival, recurs};
use layland_model::{Chain, Duration, System};
use num_integer::Integer;

/// A bound on the reaction time and the data age of a chain of a valid system under logical
/// execution time.
///
/// ```
/// use layland_analysis::chains::let_bound;
/// use layland_model::{Chain, Communication, Duration, Service, System, Task, TaskId};
/// let task = |name, t| Task::implicit(name, Service::from_ms(1), Duration::from_ms(t));
/// let system = System::new(1, vec![task("camera", 10), task("brake", 15)]);
/// let chain = Chain::new("stop", [0, 1].map(TaskId), Communication::Let);
/// // 10 + 15, and 10 + 15 - 5 + 0 for the pair.
/// assert_eq!(let_bound(&system, &chain), Ok(Duration::from_ms(45)));
/// ```
///
/// # Errors
/// Returns [`Unbounded`] if the set breaks an assumption of [`chains`](super).
pub fn let_bound(system: &System, chain: &Chain) -> Result<Duration, Unbounded> {
    recurs(system, chain)?;
    reads_at_arrival(system, chain)?;
    let (Some(&first), Some(&last)) = (chain.tasks.first(), chain.tasks.last()) else {
        return Ok(Duration::ZERO);
    };
    let of = |time: Duration| i128::from(time.ns());
    let mut sum = of(system.tasks[first].period) + of(system.tasks[last].write_after());
    for (from, to) in chain.pairs() {
        let (writer, reader) = (&system.tasks[from], &system.tasks[to]);
        let interval = of(writer.write_after());
        let common = of(writer.period).gcd(&of(reader.period));
        let phase = (of(reader.offset) - of(writer.offset) - interval).rem_euclid(common);
        sum += interval + of(reader.period) - common + phase;
    }
    length(sum)
}
