//! **Self-suspension** on one CPU under fixed priorities: five safe bounds on response times, and
//! an unsafe one.
//!
//! Assumes: (1) one CPU, preemptive, `D <= T`; (2) the dynamic model: a job suspends itself
//! whenever it is selected, any number of times, for at most `S_i` in total; (3) the end of a
//! suspension does not depend on other jobs; (4) all tasks above meet their deadlines; (5) jobs
//! lock nothing (for jobs that do, see [`ceiling_responses`](super::ceiling_responses)). Exact
//! search over all patterns of small sets found no response above a safe bound.
//!
//! Each bound is the least `t` up to `D_k`; sums are over the tasks `i` above `k`, and `R_i` is the
//! bound of the same method.
//!
//! | [`Method`] | `t` | source |
//! |---|---|---|
//! | `Oblivious` | `C_k + S_k + sum ceil(t / T_i) (C_i + S_i)` | suspensions as execution |
//! | `DeadlineJitter` | `C_k + S_k + sum ceil((t + D_i - C_i) / T_i) C_i` | Chen et al. 2019 |
//! | `ResponseJitter` | `C_k + S_k + sum ceil((t + R_i - C_i) / T_i) C_i` | Bletsas et al. 2018 |
//! | `Blocking` | `C_k + S_k + sum min(C_i, S_i) + sum ceil(t / T_i) C_i` | Liu 2000; proved by Chen, Nelissen and Huang 2016 |
//! | `Unified` | least over all `x` of `C_k + S_k + sum ceil((t + Q_i + (1 - x_i) (R_i - C_i)) / T_i) C_i` | Chen, Nelissen and Huang 2016 |
//! | `UnsafeJitter` | `C_k + S_k + sum ceil((t + S_i) / T_i) C_i` | Audsley and Bletsas 2004: **wrong** |
//!
//! `x_i` is 0 or 1, and `Q_i` the sum of `S_j x_j` from `j = i` to `k - 1`. A task that does not
//! suspend itself has `x_i = 1`, which is never worse. All vectors of up to [`SEARCHED`] suspending
//! tasks are tried; for more tasks, only a linear number of them, which is sufficient because each
//! vector alone is safe.
//!
//! `Unified` is at most `Blocking` and, given the same `R_i`, at most `ResponseJitter`, which is at
//! most `DeadlineJitter`; `Blocking` is at most `Oblivious`. The jitter bounds are comparable with
//! neither of the last two.
//!
//! Suspensions as jitter `S_i` are unsafe, because a job may execute late in its period, and the
//! next one at once. The errata are Bletsas et al. 2018; `SUSP-JITTER-S` is here to reproduce the
//! published values.

#![expect(non_snake_case, reason = "symbols of the specification")]

use super::response::{Response, Unbounded, response};
use super::tasks::{Locker, sum};
use crate::fixed_point::Diverged;

/// A bound on the response times of tasks that suspend themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Suspensions are execution for all tasks.
    Oblivious,
    /// Suspensions of tasks above are a jitter of `D_i - C_i`.
    DeadlineJitter,
    /// Suspensions of tasks above are a jitter of `R_i - C_i`.
    ResponseJitter,
    /// Suspensions of tasks above block, for `min(C_i, S_i)` each.
    Blocking,
    /// The best mixture of `ResponseJitter` and `Blocking`.
    Unified,
    /// A jitter of `S_i`. **Not a bound**: published, but wrong.
    UnsafeJitter,
}

/// The maximum number of suspending tasks above another one for which [`Method::Unified`] tries
/// every vector.
pub const SEARCHED: usize = 16;

/// The response times of tasks that lock nothing.
///
/// ```
/// use layland_analysis::locking::{lockers, suspension::{Method, responses}};
/// use layland_analysis::uniprocessor::fixed_priority::PriorityOrder;
/// use layland_model::{Duration, Service, Step, System, Task};
/// // The example of Chen, Nelissen and Huang 2016: `C`, `S`, `T`.
/// let tasks = [(4, 5, 10), (6, 1, 19), (4, 0, 50)].map(|(c, s, t)| {
///     let steps = [Step::Suspend(Duration::from_ns(s)), Step::Run(Service::from_ns(c))];
///     let task = Task::implicit(t.to_string(), Service::from_ns(c), Duration::from_ns(t));
///     Task { steps: Some(steps.into()), ..task }
/// });
/// let tasks = lockers(&System::new(1, tasks.to_vec()), PriorityOrder::RateMonotonic);
/// assert_eq!(responses(Method::ResponseJitter, &tasks), [Ok(9), Ok(15), Ok(42)]);
/// assert_eq!(responses(Method::Blocking, &tasks)[2], Ok(37));
/// assert_eq!(responses(Method::Unified, &tasks)[2], Ok(32));
/// ```
pub fn responses(method: Method, tasks: &[Locker]) -> Vec<Response> {
    let mut all: Vec<Response> = Vec::new();
    for (k, task) in tasks.iter().enumerate() {
        let own = task.C.saturating_add(task.S);
        let above = &tasks[..k];
        let with = |own: i64, C: fn(&Locker) -> i64, J: fn(&Locker) -> i64| {
            let terms: Vec<_> = above.iter().map(|i| (C(i), i.T, J(i))).collect();
            response(own, task.D, &terms)
        };
        // These methods require that the tasks above meet their deadlines.
        let R: Option<Vec<i64>> = all.iter().map(|R| R.ok()).collect();
        all.push(match (method, R) {
            (Method::Oblivious, _) => with(own, |i| i.C.saturating_add(i.S), |_| 0),
            (Method::UnsafeJitter, _) => with(own, |i| i.C, |i| i.S),
            (_, None) => Err(Unbounded::Above),
            (Method::DeadlineJitter, _) => with(own, |i| i.C, |i| i.D - i.C),
            (Method::ResponseJitter, Some(R)) => {
                let terms: Vec<_> = above.iter().zip(R).map(|(i, R)| (i.C, i.T, R - i.C)).collect();
                response(own, task.D, &terms)
            }
            (Method::Blocking, _) => {
                let blocking = sum(above.iter().map(|i| i.C.min(i.S)));
                with(own.saturating_add(blocking), |i| i.C, |_| 0)
            }
            (Method::Unified, Some(R)) => unified(own, task.D, above, &R),
        });
    }
    all
}

/// A task above in [`Method::DeadlineJitter`]: its `C`, its `T` and its jitter. This bounds its
/// work while it meets its deadlines, however the order of tasks is decided.
pub(crate) fn up_to_deadline(i: &Locker) -> (i64, i64, i64) {
    (i.C, i.T, i.D - i.C)
}

/// Returns the least of the bounds of all vectors that are tried.
fn unified(own: i64, D: i64, above: &[Locker], R: &[i64]) -> Response {
    let suspending: Vec<usize> = (0..above.len()).filter(|&i| above[i].S > 0).collect();
    let mut best: Response =
        Err(Unbounded::Search(Diverged::Beyond { limit: ns(D), reached: ns(own) }));
    let mut vector = vec![true; above.len()];
    let mut attempt = |vector: &[bool]| {
        // A search stops at the best bound so far.
        let limit = best.map_or(D, |best| best - 1);
        let found = with_vector(own, limit, above, R, vector);
        match (found, &best) {
            (Ok(_), _) => best = found,
            // A vector whose search gave up may have a bound, so the result is unknown.
            (_, Err(Unbounded::Search(Diverged::GaveUp(_)))) => {}
            (Err(Unbounded::Search(Diverged::Beyond { reached, .. })), Err(_)) => {
                best = Err(Unbounded::Search(Diverged::Beyond { limit: ns(D), reached }));
            }
            (Err(Unbounded::Search(Diverged::GaveUp(_))), Err(_)) => best = found,
            (Err(_), _) => {}
        }
    };
    if suspending.len() <= SEARCHED {
        for chosen in 0..1u32 << suspending.len() {
            for (bit, &i) in suspending.iter().enumerate() {
                vector[i] = chosen & (1 << bit) != 0;
            }
            attempt(&vector);
        }
    } else {
        // No task; then cumulatively each suspending task, the shortest suspension first; and the
        // tasks that are better as blocking.
        let mut by_length = suspending.clone();
        by_length.sort_by_key(|&i| above[i].S);
        suspending.iter().for_each(|&i| vector[i] = false);
        attempt(&vector);
        for &i in &by_length {
            vector[i] = true;
            attempt(&vector);
        }
        suspending.iter().for_each(|&i| vector[i] = above[i].S <= above[i].C);
        attempt(&vector);
    }
    best
}

fn ns(ns: i64) -> layland_model::Duration {
    layland_model::Duration::from_ns(ns)
}

/// Returns the bound of one vector.
fn with_vector(own: i64, limit: i64, above: &[Locker], R: &[i64], x: &[bool]) -> Response {
    let mut Q = 0i64;
    let mut terms = Vec::with_capacity(above.len());
    for i in (0..above.len()).rev() {
        let task = &above[i];
        if x[i] {
            Q = Q.saturating_add(task.S);
        }
        let jitter = if x[i] { 0 } else { R[i] - task.C };
        terms.push((task.C, task.T, Q.saturating_add(jitter)));
    }
    response(own, limit, &terms)
}
