//! Bounds under implicit communication, from bounds `R` on the response times.
//!
//! - Davare et al. 2007: the sum of `T + R`.
//! - `T_1 + R_n`, and for each pair of tasks `(i, j)` `T_j`, and `R_i` unless `i` *hides* `j`. As Dürr et al. 2019,
//!   who have `max(R_i, ..)` in one case that never decides where each job ends before the next one comes.
//!
//! *A pair.* The job of `j` before the one that reads started before the write. So it arrived less than `R_i` after
//! the writer. If `i` hides `j`, it cannot have started while the writer was pending, so that it started, and arrived,
//! before the writer did. The one that reads arrived at most `T_j` later.
//!
//! `i` hides `j` where no job of `j` starts to execute while a job of `i` is pending: on one CPU with fixed
//! priorities, `i` before `j`. The caller knows the policy; this file adds what it has to know of the task: its jobs
//! are ready when they arrive (no jitter, nothing to follow) and until they end (they do not suspend themselves or
//! wait for locks). **Sufficient**, both.

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

/// No reaction time and no data age of a chain of a valid system is longer, if no job of a task takes longer from its
/// arrival to its end than the response bound of its task.
///
/// # Errors
/// If the set breaks an assumption of [`chains`](super), or a response bound is missing or longer than the period.
pub fn davare(
    system: &System,
    chain: &Chain,
    response_bounds: &TaskMap<Option<Duration>>,
) -> Result<Duration, Unbounded> {
    let responses = responses(system, chain, response_bounds)?;
    let periods = chain.tasks.iter().map(|&id| i128::from(system.tasks[id].period.ns()));
    length(responses.iter().sum::<i128>() + periods.sum::<i128>())
}

/// The same, and never longer than [`davare`]. `hides` says of a task and the one that reads what it writes whether
/// the policy starts no job of the second while one of the first is ready.
///
/// ```
/// use layland_analysis::chains::{davare, implicit_bound};
/// use layland_model::{Chain, Communication, Duration, Service, System, Task, TaskId};
/// let task = |name, c, t| Task::implicit(name, Service::from_ms(c), Duration::from_ms(t));
/// let system = System::new(1, vec![task("camera", 2, 5), task("brake", 16, 40)]);
/// let responses = [2, 28].map(|ms| Some(Duration::from_ms(ms))).into_iter().collect();
/// let tasks = [0, 1].map(TaskId).into();
/// let chain = Chain { name: "stop".to_owned(), tasks, communication: Communication::Implicit };
/// assert_eq!(davare(&system, &chain, &responses), Ok(Duration::from_ms(75)));
/// let bound = implicit_bound(&system, &chain, &responses, |camera, brake| camera < brake);
/// assert_eq!(bound, Ok(Duration::from_ms(73)));
/// ```
///
/// # Errors
/// As [`davare`].
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
