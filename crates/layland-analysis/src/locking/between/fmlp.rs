//! **FMLP+** for partitioned scheduling with suspension (Brandenburg 2011). Jobs wait for a global
//! resource in the order of their requests, suspended. Among the holders on a CPU, the one with the
//! earliest request runs, with precedence over all other jobs.
//!
//! | specification | here |
//! |---|---|
//! | `count_c` | the number of requests of tasks on `c` that come before one of `i` for the same resource: at most one of each task for each request of `i` |
//! | `issued_c` | the number of requests of `i` for resources that some task on `c` uses |
//! | `remote` | for each task on another CPU, its `min(count_c, issued_c)` longest sections on any resource, as an earlier request for another resource can delay a holder |
//! | `arrivals` | `min(n_i, sum of count_c) + m_i + 1`: only a job that waits resumes |
//! | `local` | for each task of lower priority on the CPU, the `arrivals` longest sections |

#![expect(non_snake_case, reason = "symbols of the specification")]

use super::{Bounded, Rejected, Sections, Shared, Waits, longest, suspended};
use crate::locking::tasks::sum;
use layland_model::CpuId;

/// Returns the response times of tasks under FMLP+.
///
/// # Errors
/// Returns a task that may be late, if there is one.
pub fn bounds(shared: &Shared) -> Result<Bounded<Waits>, Rejected> {
    suspended(shared, |i, R| waits(shared, i, R))
}

fn waits(shared: &Shared, i: usize, R: &[i64]) -> Waits {
    let task = &shared.tasks[i];
    let counts: Vec<(CpuId, i64)> =
        shared.cpus.iter().map(|&cpu| (cpu, count(shared, i, R, cpu))).collect();
    let mut remote = 0i64;
    for &(cpu, count) in counts.iter().filter(|(cpu, _)| *cpu != task.cpu) {
        let most = count.min(issued(shared, i, cpu));
        let of_task = |u: usize| longest(most, sections(shared, u, shared.jobs(u, R[i], R)));
        remote = remote.saturating_add(sum(shared.on(cpu).map(of_task)));
    }
    let waited = shared.n(i).min(sum(counts.iter().map(|&(_, count)| count)));
    let arrivals = sum([waited, task.m, 1].into_iter());
    let of_task = |j: usize| longest(arrivals, sections(shared, j, shared.jobs(j, R[i], R)));
    Waits {
        remote,
        local: sum(shared.lower(i).map(of_task)),
        ceiling: arrivals.saturating_mul(shared.longest_local[i]),
    }
}

/// `count_c`.
fn count(shared: &Shared, i: usize, R: &[i64], cpu: CpuId) -> i64 {
    let others = || shared.on(cpu).filter(|&u| u != i);
    let of_resource = |q: usize, N_i: i64| {
        sum(others().map(|u| shared.jobs(u, R[i], R).saturating_mul(shared.of(u, q).0).min(N_i)))
    };
    sum(shared.uses[i].iter().map(|used| of_resource(used.q, used.N)))
}

/// `issued_c`.
fn issued(shared: &Shared, i: usize, cpu: CpuId) -> i64 {
    let is_used = |q: usize| shared.on(cpu).any(|u| u != i && shared.of(u, q).0 > 0);
    sum(shared.uses[i].iter().filter(|used| is_used(used.q)).map(|used| used.N))
}

/// The sections of this number of jobs of a task.
fn sections(shared: &Shared, u: usize, jobs: i64) -> impl Iterator<Item = Sections> + '_ {
    let each = shared.uses[u].iter();
    each.map(move |used| Sections { count: jobs.saturating_mul(used.N), length: used.L })
}
