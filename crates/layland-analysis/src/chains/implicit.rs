//! Bounds under implicit communication, from bounds `R` on the response times.
//!
//! - Davare et al. 2007: the sum of `T + R`.
//! - `T_1 + R_n`, and for each pair of tasks `(i, j)` `T_j`, and `R_i` unless `i` *hides* `j`. This
//!   follows Dürr et al. 2019. Their `max(R_i, ..)` in one case never decides if each job ends
//!   before the next one arrives.
//!
//! *A pair.* The job of `j` before the reader started before the write, so it arrived less than
//! `R_i` after the writer. If `i` hides `j`, it cannot have started while the writer was pending,
//! so it started, and arrived, before the writer. The reader arrived at most `T_j` later.
//!
//! `i` hides `j` if no job of `j` starts to execute while a job of `i` is pending, for example on
//! one CPU with fixed priorities and `i` before `j`. The caller provides this property of the
//! policy; this file adds the conditions on the task: its jobs are ready when they arrive (no
//! jitter, no predecessors) and until they end (they do not suspend themselves or wait for locks).
//! Both bounds are **sufficient**.

use super::{Unbounded, in_time, length, recurs};
use layland_model::{Chain, Duration, System, TaskId, TaskMap};

/// The response bounds of the tasks of the chain (assumption 3).
fn responses(
    system: &System,
    chain: &Chain,
    responses: &TaskMap<Option<Duration>>,
) -> Result<Vec<i128>, Unbounded> {
    recurs(system, chain)?;
    let response = |&id: &TaskId| {
        let task = &system.tasks[id];
        let found = responses.get(id).copied().flatten();
        let within = in_time(task, task.period);
        let found = found.filter(|&found| found <= within).ok_or(Unbounded::Late(id))?;
        Ok(i128::from(found.ns()))
    };
    chain.tasks.iter().map(response).collect()
}

/// A bound on the reaction time and the data age of a chain of a valid system, if the time from the
/// arrival of each job to its completion is at most the response bound of its task.
///
/// # Errors
/// Returns [`Unbounded`] if the set breaks an assumption of [`chains`](super), or a response bound
/// is missing or longer than the period.
pub fn davare(
    system: &System,
    chain: &Chain,
    response_bounds: &TaskMap<Option<Duration>>,
) -> Result<Duration, Unbounded> {
    let responses = responses(system, chain, response_bounds)?;
    let periods = chain.tasks.iter().map(|&id| i128::from(system.tasks[id].period.ns()));
    length(responses.iter().sum::<i128>() + periods.sum::<i128>())
}

/// A bound on the same latencies that never exceeds [`davare`]. `hides(writer, reader)` returns
/// true if the policy never starts a job of `reader` while a job of `writer` is ready.
///
/// ```
/// use layland_analysis::chains::{davare, implicit_bound};
/// use layland_model::{Chain, Communication, Duration, Service, System, Task, TaskId};
/// let task = |name, c, t| Task::implicit(name, Service::from_ms(c), Duration::from_ms(t));
/// let system = System::new(1, vec![task("camera", 2, 5), task("brake", 16, 40)]);
/// let responses = [2, 28].map(|ms| Some(Duration::from_ms(ms))).into_iter().collect();
/// let chain = Chain::new("stop", [0, 1].map(TaskId), Communication::Implicit);
/// assert_eq!(davare(&system, &chain, &responses), Ok(Duration::from_ms(75)));
/// let bound = implicit_bound(&system, &chain, &responses, |camera, brake| camera < brake);
/// assert_eq!(bound, Ok(Duration::from_ms(73)));
/// ```
///
/// # Errors
/// See [`davare`].
pub fn implicit_bound(
    system: &System,
    chain: &Chain,
    response_bounds: &TaskMap<Option<Duration>>,
    hides: impl Fn(TaskId, TaskId) -> bool,
) -> Result<Duration, Unbounded> {
    let responses = responses(system, chain, response_bounds)?;
    let (Some(&first), Some(last)) = (chain.tasks.first(), responses.last()) else {
        return Ok(Duration::ZERO);
    };
    let mut sum = i128::from(system.tasks[first].period.ns()) + last;
    for ((from, to), response) in chain.pairs().zip(&responses) {
        let writer = &system.tasks[from];
        let is_ready_until_it_ends =
            writer.jitter == Duration::ZERO && writer.follows.is_empty() && writer.steps.is_none();
        sum += i128::from(system.tasks[to].period.ns());
        if !(is_ready_until_it_ends && hides(from, to)) {
            sum += response;
        }
    }
    length(sum)
}
