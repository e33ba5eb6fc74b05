//! **MPCP**, the multiprocessor priority ceiling protocol (Rajkumar 1990; the bound of Lakshmanan,
//! de Niz and Rajkumar 2009 without its jitter, which is unsafe). Jobs wait for a global resource
//! by base priority, suspended. A job that holds a resource has its *remote* ceiling: the highest
//! base priority of its users on other CPUs. Equal ceilings do not preempt.
//!
//! | specification | here |
//! |---|---|
//! | `W_{u,q}` | `held`: from the grant to the unlock, `L_{u,q}` and one section of each task on the same CPU whose remote ceiling is at least as high |
//! | `w_q` | `request`: the waiting time of one request, the least `w >= 1` of `max over lower users of W_{u,q} + sum over higher users of (ceil(w / T_u) + 1) N_{u,q} W_{u,q}` |
//! | `remote` | `sum over q of N_{i,q} w_q` |
//! | `local` | `arrivals` times, for each task of lower priority on the CPU, the longest global section |

#![expect(non_snake_case, reason = "symbols of the specification")]

use super::{Bounded, Rejected, Shared, Use, Waits, suspended};
use crate::fixed_point::least;
use crate::locking::response::Unbounded;
use crate::locking::tasks::{sum, times};
use layland_model::{CpuId, Duration};

/// Returns the response times of tasks under MPCP.
///
/// # Errors
/// Returns a task that may be late, if there is one.
pub fn bounds(shared: &Shared) -> Result<Bounded<Waits>, Rejected> {
    let held = held(shared);
    let waits: Vec<Waits> =
        (0..shared.tasks.len()).map(|i| waits(shared, &held, i)).collect::<Result<_, _>>()?;
    // The waiting times do not depend on response times, so they are computed once.
    suspended(shared, |i, _| waits[i])
}

fn waits(shared: &Shared, held: &[Vec<i64>], i: usize) -> Result<Waits, Rejected> {
    let task = &shared.tasks[i];
    let mut remote = 0i64;
    for used in &shared.uses[i] {
        let w = request(shared, held, i, used.q).map_err(|why| Rejected { task: i, why })?;
        remote = remote.saturating_add(used.N.saturating_mul(w));
    }
    let arrivals = sum([shared.n(i), task.m, 1].into_iter());
    let longest = |j: usize| shared.uses[j].iter().map(|used| used.L).max().unwrap_or(0);
    Ok(Waits {
        remote,
        local: arrivals.saturating_mul(sum(shared.lower(i).map(longest))),
        ceiling: arrivals.saturating_mul(shared.longest_local[i]),
    })
}

/// The highest base priority of the users of a global resource on CPUs other than this one.
fn remote_ceiling(shared: &Shared, q: usize, cpu: CpuId) -> usize {
    let elsewhere = |&u: &usize| shared.tasks[u].cpu != cpu && shared.of(u, q).0 > 0;
    (0..shared.tasks.len()).find(elsewhere).unwrap_or(shared.tasks.len())
}

/// `W_{u,q}` for each task and each of its [uses](Shared::uses).
fn held(shared: &Shared) -> Vec<Vec<i64>> {
    let ceilings = |u: usize| {
        let each = shared.uses[u].iter();
        each.map(|used| remote_ceiling(shared, used.q, shared.tasks[u].cpu)).collect()
    };
    let ceiling: Vec<Vec<usize>> = (0..shared.tasks.len()).map(ceilings).collect();
    let longest = |v: usize, as_high_as: usize| {
        let sections = shared.uses[v].iter().zip(&ceiling[v]);
        let reaching = sections.filter(|(_, ceiling)| **ceiling <= as_high_as);
        reaching.map(|(used, _)| used.L).max().unwrap_or(0)
    };
    let of_use = |u: usize, used: &Use, ceiling: usize| {
        let others = shared.on(shared.tasks[u].cpu).filter(|&v| v != u);
        used.L.saturating_add(sum(others.map(|v| longest(v, ceiling))))
    };
    let of_task = |u: usize| {
        let uses = shared.uses[u].iter().zip(&ceiling[u]);
        uses.map(|(used, &ceiling)| of_use(u, used, ceiling)).collect()
    };
    (0..shared.tasks.len()).map(of_task).collect()
}

/// `w_q` of one request of `i`; 0 if no other task uses the resource.
fn request(shared: &Shared, held: &[Vec<i64>], i: usize, q: usize) -> Result<i64, Unbounded> {
    // For each other user, the sections of a job on the resource and `W_{u,q}`.
    let user = |u: usize| {
        let at = shared.uses[u].binary_search_by_key(&q, |used| used.q).ok()?;
        Some((u, shared.uses[u][at].N, held[u][at]))
    };
    let users = (0..shared.tasks.len()).filter(|&u| u != i).filter_map(user);
    let (higher, lower): (Vec<_>, Vec<_>) = users.partition(|&(u, _, _)| u < i);
    if higher.is_empty() && lower.is_empty() {
        return Ok(0);
    }
    let lower = lower.into_iter().map(|(_, _, W)| W).max().unwrap_or(0);
    let f = |w: Duration| {
        let of_user = |&(u, N, W): &(usize, i64, i64)| {
            (times(w.ns(), shared.tasks[u].T) + 1).saturating_mul(N).saturating_mul(W)
        };
        Duration::from_ns(lower.saturating_add(sum(higher.iter().map(of_user))))
    };
    let limit = shared.tasks[i].T.max(shared.tasks[i].D);
    // Sections may have length 0; then the wait counts as a nanosecond.
    let one = Duration::from_ns(1);
    let found = least(f(one).max(one), Duration::from_ns(limit), |w| f(w).max(one));
    // A wait beyond the limit makes the response time exceed the limit, too: the reason is the
    // same.
    found.map(Duration::ns).map_err(Unbounded::Search)
}
