//! Response times of all tasks in one pass, for programs that compute them millions of times.

#![expect(non_snake_case, reason = "symbols of the papers")]

use crate::Sporadic;
use layland_model::Duration;

/// Computes the response times of tasks without jitter and with `D_i <= T_i`, in the order of
/// priorities, all at once. Clears and fills `responses`. Exact, without a division.
///
/// One sweep: `R_k` is at least `R_{k-1} + C_k`, and the jobs of higher priority that arrive before
/// `R_{k-1}` are already counted.
///
/// ```
/// use layland_analysis::{Sporadic, uniprocessor::fixed_priority::sweep};
/// use layland_model::{Duration, Service};
/// let tasks = [(1, 2), (1, 10), (20, 100)]
///     .map(|(c, t)| Sporadic::implicit(Service::from_ns(c), Duration::from_ns(t)));
/// let mut responses = Vec::new();
/// assert_eq!(sweep(&tasks, &mut responses), Ok(()));
/// assert_eq!(responses, [1, 2, 50].map(Duration::from_ns));
/// ```
///
/// # Errors
/// Returns the first task that misses its deadline; `responses` then has those of higher priority.
pub fn sweep(tasks: &[Sporadic], responses: &mut Vec<Duration>) -> Result<(), usize> {
    responses.clear();
    let n = tasks.len();
    // The next arrival of each task, its period and its WCET.
    let mut room = vec![0i64; 3 * n];
    let (next, rest) = room.split_at_mut(n);
    let (T, C) = rest.split_at_mut(n);
    let mut w = 0i64;
    for (k, tau_k) in tasks.iter().enumerate() {
        let [C_k, D_k, T_k] = tau_k.ns();
        w += C_k;
        loop {
            let mut more = 0i64;
            for ((next_j, &T_j), &C_j) in next[..k].iter_mut().zip(&T[..k]).zip(&C[..k]) {
                // All ones if tau_j has a job before w, so that no branch can be mispredicted.
                let comes = -i64::from(*next_j < w);
                more += C_j & comes;
                *next_j += T_j & comes;
            }
            w += more;
            if w > D_k {
                return Err(k);
            }
            if more == 0 {
                break;
            }
        }
        responses.push(Duration::from_ns(w));
        (next[k], T[k], C[k]) = (T_k, T_k, C_k);
    }
    Ok(())
}
