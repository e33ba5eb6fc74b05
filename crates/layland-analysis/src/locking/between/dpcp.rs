//! **DPCP**, the distributed priority ceiling protocol (Rajkumar, Sha and Lehoczky 1988). Every
//! global section is executed on the home CPU of its resource, with precedence over all other jobs;
//! ceilings are immediate there. Meanwhile the job is suspended on its own CPU.
//!
//! | specification | here |
//! |---|---|
//! | `remote` | for each other CPU to which `i` sends `k` requests: all sections on it of tasks above, and the `k` longest sections of tasks below with a ceiling at least as high |
//! | `local` | all sections of all other tasks whose home is the CPU of `i` |
//! | `arrivals` | `n_i + m_i + 1`, for local resources |

#![expect(non_snake_case, reason = "symbols of the specification")]

use super::{Bounded, Rejected, Sections, Shared, Use, Waits, longest, suspended};
use crate::locking::tasks::{Locker, resource_count, sum};
use layland_model::CpuId;

/// Returns the shared resources of tasks under DPCP with these homes: a resource is local if its
/// home is the CPU of all its users.
pub fn shared(tasks: Vec<Locker>, home: &[CpuId]) -> Shared {
    let mut is_global = vec![false; resource_count(&tasks)];
    for task in &tasks {
        for section in &task.sections {
            is_global[section.q] |= home[section.q] != task.cpu;
        }
    }
    // Homes may be CPUs without tasks.
    let homes = (0..is_global.len()).filter(|&q| is_global[q]).map(|q| home[q]);
    Shared::with_global(tasks, &is_global, homes.collect::<Vec<CpuId>>())
}

/// Returns the response times of tasks under DPCP.
///
/// # Errors
/// Returns a task that may be late, if there is one.
pub fn bounds(shared: &Shared, home: &[CpuId]) -> Result<Bounded<Waits>, Rejected> {
    suspended(shared, |i, R| waits(shared, home, i, R))
}

fn waits(shared: &Shared, home: &[CpuId], i: usize, R: &[i64]) -> Waits {
    let task = &shared.tasks[i];
    let remote = |&cpu: &CpuId| {
        let sent = sum(shared.uses[i].iter().filter(|used| home[used.q] == cpu).map(|used| used.N));
        if sent == 0 {
            return 0;
        }
        let higher =
            sum((0..i).map(|u| sum(all(shared, home, cpu, u, i, R).map(|(_, s)| work(s)))));
        let lower = (i + 1..shared.tasks.len()).flat_map(|u| all(shared, home, cpu, u, i, R));
        let as_high = lower.filter(|(q, _)| shared.ceiling[*q] <= i).map(|(_, sections)| sections);
        higher.saturating_add(longest(sent, as_high))
    };
    let others = (0..shared.tasks.len()).filter(|&u| u != i);
    let here = |u: usize| sum(all(shared, home, task.cpu, u, i, R).map(|(_, s)| work(s)));
    let arrivals = sum([shared.n(i), task.m, 1].into_iter());
    Waits {
        remote: sum(shared.cpus.iter().filter(|cpu| **cpu != task.cpu).map(remote)),
        local: sum(others.map(here)),
        ceiling: arrivals.saturating_mul(shared.longest_local[i]),
    }
}

/// The sections of `u` with their home on `cpu` that can interfere with a job of `i`, by resource.
fn all<'s>(
    shared: &'s Shared,
    home: &'s [CpuId],
    cpu: CpuId,
    u: usize,
    i: usize,
    R: &[i64],
) -> impl Iterator<Item = (usize, Sections)> + use<'s> {
    let jobs = shared.jobs(u, R[i], R);
    let here = shared.uses[u].iter().filter(move |used| home[used.q] == cpu);
    here.map(move |&Use { q, N, L }| (q, Sections { count: jobs.saturating_mul(N), length: L }))
}

fn work(sections: Sections) -> i64 {
    sections.count.saturating_mul(sections.length)
}
