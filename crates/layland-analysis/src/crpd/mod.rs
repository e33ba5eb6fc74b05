//! **Cache-related preemption delays** (CRPD) on one CPU, or several whose tasks are pinned to one each: **sufficient**
//! tests for preemptive fixed priorities, with response bounds, and for EDF.
//!
//! When a preempted job resumes, some of its blocks may have been evicted from the cache, and it
//! reloads them. This cost is bounded by the *useful* blocks of the preempted task (UCB) and the
//! *evicting* blocks of the preempting one (ECB).
//!
//! | test | cost of the preemptions by the jobs of `j` in an interval, in reloads | source |
//! |---|---|---|
//! | `CRPD-ECB-ONLY` | `ECB_j`, each time | Busquets-Mataix et al. 1996 |
//! | `CRPD-UCB-ONLY` | the maximum number of useful blocks of a task that `j` may preempt, each time | Lee et al. 1998 |
//! | `CRPD-UCB-UNION` | the useful blocks of all these tasks that `j` evicts, each time | Tan and Mooney 2007 |
//! | `CRPD-ECB-UNION` | the maximum number of useful blocks of one task that `j` or the tasks above `j` evict, each time | Altmeyer et al. 2012 |
//! | `CRPD-UCB-MULTI` | as UCB-Union, and each block at most as often as its task can be preempted by `j` | Altmeyer et al. 2012 |
//! | `CRPD-ECB-MULTI` | as ECB-Union, and each task at most as often as it can be preempted by `j` | Altmeyer et al. 2012 |
//! | `CRPD-COMBINED` | the smaller sum of the last two | Altmeyer et al. 2012 |
//!
//! Each test exists for given priorities, with the suffixes `-RM` and `-DM` for rate-monotonic and
//! deadline-monotonic ones, and with `-EDF` for EDF (Lunniss et al. 2013). All of them use the
//! counts in [`reloads`]; [`fixed_priority`] and [`edf`] bound the numbers of jobs.
//!
//! Assumes: (1) jobs reload blocks, (2) every task may use one CPU only, (3) jobs of a task at
//! least a period apart, (4) no release jitter, (5) WCETs are kept, (6) other overheads are part of
//! `C_i`, (7) unit speeds, (8) nothing changes while the system runs, (9) few pairs of tasks share
//! a CPU, and for fixed priorities (10) `D_i <= T_i`, (11) for given priorities: every task has
//! one. Jobs are preemptible and only execute. The cache is direct-mapped, each CPU has its own,
//! and `C_i` includes the loads of a job that runs without preemption. A set of an associative
//! cache counts once. This is correct for LRU if an eviction in a set is taken to evict all of its
//! blocks (Altmeyer et al. 2012, Section 2.3), and the user counts blocks accordingly.
//!
//! Deviations: the papers number blocks by memory; this module numbers them by sets of the cache,
//! as the papers' formulas finally do. The multiset approaches use response bounds of tasks above
//! that come from the same approach. Busy periods of EDF count all jobs that arrive in them, with
//! the reloads of the approach itself.

pub mod edf;
pub mod fixed_priority;
pub mod reloads;

mod approaches;
mod citations;

pub use approaches::*;
pub use citations::{ALTMEYER, BUSQUETS, LEE, LUNNISS, TAN};
pub use reloads::{Approach, Cached, Reloads};
