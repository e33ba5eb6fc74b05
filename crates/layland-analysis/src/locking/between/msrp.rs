//! **MSRP** (Gai, Lipari and Di Natale 2001). Jobs wait for a global resource in the order of their
//! requests and spin meanwhile; they are not preemptible from the request to the unlock. Spinning
//! is execution, so there is no jitter:
//! `R_i = C'_i + A_i + sum over h above i on its CPU of ceil(R_i / T_h) C'_h`,
//! `C'_i = C_i + spin_i`.
//!
//! | specification | here |
//! |---|---|
//! | `spin(i, q)` | one request waits for the longest section of each other CPU |
//! | `spin_i`, classic | `sum over q of N_{i,q} spin(i, q)` |
//! | `spin_i`, holistic | for each resource and CPU, the `N_{i,q}` longest of all sections of jobs that overlap the job (Brandenburg 2011); never more than the classic one, and a joint fixed point |
//! | `A_i` | an arriving job meets one request of a task of lower priority, spinning and holding, or one of its local sections |

#![expect(non_snake_case, reason = "symbols of the specification")]

use super::{Bounded, Rejected, Sections, Shared, longest, rise};
use crate::locking::tasks::{arriving, sum};
use layland_model::CpuId;

/// The spinning of a job, and its waiting time at its arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spins {
    /// The spinning in all requests of a job.
    pub spin: i64,
    /// `A_i`, the waiting time at the arrival.
    pub arrival: i64,
}

/// The method of counting spinning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// Each request separately.
    Classic,
    /// All requests of a job together.
    Holistic,
}

/// Returns the response times of tasks under MSRP.
///
/// # Errors
/// Returns a task that may be late, if there is one.
pub fn bounds(shared: &Shared, counting: Counting) -> Result<Bounded<Spins>, Rejected> {
    let tasks = &shared.tasks;
    let arrival: Vec<i64> = (0..tasks.len()).map(|i| arrival(shared, i)).collect();
    let classic: Vec<i64> = (0..tasks.len()).map(|i| classic(shared, i)).collect();
    let mut spin = vec![0; tasks.len()];
    let response = rise(tasks, |i, R| {
        spin[i] = match counting {
            Counting::Classic => classic[i],
            Counting::Holistic => holistic(shared, i, R),
        };
        let own = sum([tasks[i].C, spin[i], arrival[i]].into_iter());
        let preempted = shared
            .higher(i)
            .map(|h| arriving(R[i], tasks[h].T, tasks[h].C.saturating_add(spin[h])));
        own.saturating_add(sum(preempted))
    })?;
    let waits = spin.iter().zip(&arrival).map(|(&spin, &arrival)| Spins { spin, arrival });
    Ok(Bounded { response, waits: waits.collect() })
}

fn elsewhere(shared: &Shared, i: usize) -> impl Iterator<Item = CpuId> + '_ {
    shared.cpus.iter().copied().filter(move |cpu| *cpu != shared.tasks[i].cpu)
}

/// `spin(i, q)`.
pub(super) fn one_request(shared: &Shared, i: usize, q: usize) -> i64 {
    let longest = |cpu| shared.on(cpu).map(|u| shared.of(u, q).1).max().unwrap_or(0);
    sum(elsewhere(shared, i).map(longest))
}

fn classic(shared: &Shared, i: usize) -> i64 {
    sum(shared.uses[i].iter().map(|used| used.N.saturating_mul(one_request(shared, i, used.q))))
}

pub(super) fn holistic(shared: &Shared, i: usize, R: &[i64]) -> i64 {
    let on_cpu = |cpu: CpuId, q: usize, N_i: i64| {
        let of_user = |u: usize| {
            let (N, L) = shared.of(u, q);
            Sections { count: shared.jobs(u, R[i], R).saturating_mul(N), length: L }
        };
        longest(N_i, shared.on(cpu).map(of_user))
    };
    let of_resource = |q: usize, N_i: i64| sum(elsewhere(shared, i).map(|cpu| on_cpu(cpu, q, N_i)));
    sum(shared.uses[i].iter().map(|used| of_resource(used.q, used.N)))
}

/// `A_i`.
fn arrival(shared: &Shared, i: usize) -> i64 {
    let of_task = |j: usize| {
        let each = shared.uses[j].iter();
        each.map(move |used| one_request(shared, j, used.q).saturating_add(used.L))
            .max()
            .unwrap_or(0)
    };
    shared.lower(i).map(of_task).max().unwrap_or(0).max(shared.longest_local[i])
}
