//! **Cache-related preemption delays** (CRPD) on one CPU, or several whose tasks are pinned to one each: **sufficient**
//! tests for preemptive fixed priorities, with response bounds, and for EDF.
//!
//! A job that is preempted finds some of its blocks evicted from the cache when it resumes, and loads them anew. What
//! that costs is bounded by the *useful* blocks of the preempted task (UCB) and the *evicting* blocks of the
//! preempting one (ECB).
//!
//! | test | cost of the preemptions by the jobs of `j` in an interval, in reloads | source |
//! |---|---|---|
//! | `CRPD-ECB-ONLY` | `ECB_j`, each time | Busquets-Mataix et al. 1996 |
//! | `CRPD-UCB-ONLY` | the most useful blocks of a task that `j` may preempt, each time | Lee et al. 1998 |
//! | `CRPD-UCB-UNION` | the useful blocks of all of these, as far as `j` evicts them, each time | Tan and Mooney 2007 |
//! | `CRPD-ECB-UNION` | the most useful blocks of one that `j` or what is above `j` evicts, each time | Altmeyer et al. 2012 |
//! | `CRPD-UCB-MULTI` | as UCB-Union, and no block more often than its task can be preempted by `j` | the same |
//! | `CRPD-ECB-MULTI` | as ECB-Union, and no task more often than it can be preempted by `j` | the same |
//! | `CRPD-COMBINED` | of the last two that with the smaller sum | the same |
//!
//! Each is there for given priorities, with `-RM` and `-DM` at the end of its name for rate-monotonic and
//! deadline-monotonic ones, and with `-EDF` for EDF (Lunniss et al. 2013). What is in [`reloads`] counts for all of
//! them; [`fixed_priority`] and [`edf`] say how often jobs come.
//!
//! Assumes: (1) jobs reload something, (2) every task may use one CPU alone, (3) jobs of a task at least a period
//! apart, (4) no release jitter, (5) WCETs are kept, (6) other overheads are part of `C_i`, (7) unit speeds, (8)
//! nothing changes while the system runs, (9) few pairs of tasks share a CPU, and for fixed priorities (10) `D_i <=
//! T_i`, (11) for given ones: there are some. Jobs are preemptible and only execute. The cache is direct-mapped, each
//! CPU has its own, and `C_i` has what the first run of a job loads. A set of a cache with associativity counts once,
//! which is right for LRU if one block of a set that is evicted evicts all (Altmeyer et al. 2012, Section 2.3), and
//! the user counts blocks so.
//!
//! Deviations: the papers number blocks by memory, and this file by sets of the cache, as their formulas do in the end.
//! The response bounds that the multiset approaches need of tasks above are those of the same approach. Busy periods of
//! EDF count all jobs that arrive in them with the reloads of the approach itself.

pub mod edf;
pub mod fixed_priority;
pub mod reloads;

mod approaches;
mod citations;

pub use approaches::*;
pub use citations::{ALTMEYER, BUSQUETS, LEE, LUNNISS, TAN};
pub use reloads::{Approach, Cached, Reloads};
