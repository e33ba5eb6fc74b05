//! The tasks that come first whatever their deadlines: the classes of EDF-US, fpEDF, EDF^(k) and
//! RM-US.
//!
//! Global EDF and RM fail where a heavy task waits for light ones (Dhall's effect). These policies
//! give the tasks of large utilization the highest priority. They differ in the definition of this
//! class:
//!
//! | policy | the class | function |
//! |---|---|---|
//! | EDF-US\[`zeta`\], RM-US\[`zeta`\] | every task above `zeta` | [`above`] |
//! | fpEDF | of the `m - 1` largest tasks those above 1/2 | [`above_half`] |
//! | EDF^(k) | the `k - 1` largest tasks; `k` is the smallest that a test accepts | [`largest`], [`smallest_k`] |
//!
//! The utilization `u_i` is `C_i / T_i`, as in the papers; if a deadline is shorter than the
//! period, it is `C_i / D_i`, a case that the papers do not cover. Of equal utilizations, that of
//! the smaller rank counts as larger, then that of the task that comes first. Classes are in the
//! order of the tasks.

use layland_model::{Citation, Rate, System, Task, TaskId};
use std::cmp::Reverse;

/// Srinivasan and Baruah 2002: EDF-US.
pub const SRINIVASAN: Citation = Citation {
    key: "srinivasan2002deadline",
    text: "A. Srinivasan and S. Baruah. Deadline-based scheduling of periodic task systems on multiprocessors. \
           Information Processing Letters 84(2):93-98, 2002.",
    bibtex: "@article{srinivasan2002deadline,
  author  = {Anand Srinivasan and Sanjoy Baruah},
  title   = {Deadline-Based Scheduling of Periodic Task Systems on Multiprocessors},
  journal = {Information Processing Letters}, volume = {84}, number = {2}, pages = {93--98}, year = {2002}
}",
};

/// Baruah 2004: fpEDF.
pub const BARUAH: Citation = Citation {
    key: "baruah2004optimal",
    text: "S. K. Baruah. Optimal utilization bounds for the fixed-priority scheduling of periodic task systems on \
           identical multiprocessors. IEEE Transactions on Computers 53(6):781-784, 2004.",
    bibtex: "@article{baruah2004optimal,
  author  = {Sanjoy K. Baruah},
  title   = {Optimal Utilization Bounds for the Fixed-Priority Scheduling of Periodic Task Systems on Identical
             Multiprocessors},
  journal = {IEEE Transactions on Computers}, volume = {53}, number = {6}, pages = {781--784}, year = {2004},
  doi     = {10.1109/TC.2004.16}
}",
};

/// Goossens, Funk and Baruah 2003: EDF^(k), and the density test for global EDF.
pub const GOOSSENS: Citation = Citation {
    key: "goossens2003priority",
    text: "J. Goossens, S. Funk and S. Baruah. Priority-driven scheduling of periodic task systems on \
           multiprocessors. Real-Time Systems 25(2-3):187-205, 2003.",
    bibtex: "@article{goossens2003priority,
  author  = {Jo{\\\"e}l Goossens and Shelby Funk and Sanjoy Baruah},
  title   = {Priority-Driven Scheduling of Periodic Task Systems on Multiprocessors},
  journal = {Real-Time Systems}, volume = {25}, number = {2-3}, pages = {187--205}, year = {2003},
  doi     = {10.1023/A:1025120124771}
}",
};

/// Andersson, Baruah and Jonsson 2001: RM-US.
pub const ANDERSSON: Citation = Citation {
    key: "andersson2001static",
    text: "B. Andersson, S. Baruah and J. Jonsson. Static-priority scheduling on multiprocessors. RTSS 2001, pages \
           193-202.",
    bibtex: "@inproceedings{andersson2001static,
  author    = {Bj{\\\"o}rn Andersson and Sanjoy Baruah and Jan Jonsson},
  title     = {Static-Priority Scheduling on Multiprocessors},
  booktitle = {22nd IEEE Real-Time Systems Symposium (RTSS)}, pages = {193--202}, year = {2001},
  doi       = {10.1109/REAL.2001.990610}
}",
};

/// Returns the threshold of EDF-US on this number of CPUs: `m / (2 m - 1)`.
pub fn edf_us(cpus: usize) -> Rate {
    let m = cpus as i64;
    Rate::new(m, 2 * m - 1)
}

/// Returns the threshold of RM-US on this number of CPUs: `m / (3 m - 2)`.
pub fn rm_us(cpus: usize) -> Rate {
    let m = cpus as i64;
    Rate::new(m, 3 * m - 2)
}

/// Returns the tasks of utilization above `zeta`.
///
/// ```
/// use layland_model::{Duration, Service, System, Task, TaskId};
/// use layland_offline::top;
/// let tasks = [(1, 5), (1, 5), (6, 6)]
///     .map(|(c, t)| Task::implicit(format!("{c}/{t}"), Service::from_ms(c), Duration::from_ms(t)));
/// let system = System::new(2, tasks.to_vec());
/// assert_eq!(top::above(&system, &top::edf_us(2)), [TaskId(2)]);
/// assert_eq!(top::above_half(&system), [TaskId(2)]);
/// // EDF alone cannot let a task of utilization 1 wait.
/// assert_eq!(top::smallest_k(&system), Some(2));
/// ```
pub fn above(system: &System, zeta: &Rate) -> Vec<TaskId> {
    let tasks = system.tasks.iter();
    tasks.filter(|(_, task)| task.density() > *zeta).map(|(id, _)| id).collect()
}

/// Returns the class of fpEDF: of the `m - 1` largest tasks, those above 1/2.
pub fn above_half(system: &System) -> Vec<TaskId> {
    let mut class = largest(system, system.platform.cpu_count() - 1);
    class.retain(|&id| system.tasks[id].density() > Rate::new(1, 2));
    class
}

/// Returns the `count` tasks of the largest utilizations, or all tasks if there are not more.
pub fn largest(system: &System, count: usize) -> Vec<TaskId> {
    let mut class = by_utilization(system);
    class.truncate(count);
    class.sort_unstable();
    class
}

/// Returns the tasks from the largest utilization to the smallest.
pub fn by_utilization(system: &System) -> Vec<TaskId> {
    let mut order = system.by_rank();
    order.sort_by_cached_key(|&id| Reverse(system.tasks[id].density()));
    order
}

/// Returns the smallest `k` from 1 to `m` for which EDF^(k) is known to meet every deadline of
/// these tasks: `m >= k - 1 + ceil(U_{>k} / (1 - u_k))`, where `U_{>k}` is the utilization of the
/// tasks beyond the `k` largest. Returns `None` if there is no such `k`.
///
/// `k = 1` is the density test for global EDF (GFB).
pub fn smallest_k(system: &System) -> Option<usize> {
    let order = by_utilization(system);
    if order.is_empty() {
        return Some(1);
    }
    let m = system.platform.cpu_count();
    let mut beyond: Rate = system.tasks.values().map(Task::density).sum();
    (1..=m.min(order.len())).find(|&k| {
        let u_k = system.tasks[order[k - 1]].density();
        beyond = &beyond - &u_k;
        // Multiply both sides by 1 - u_k, which may be 0. The left side is whole, so the right side
        // needs no ceiling.
        let room = &Rate::whole((m - k + 1) as i64) * &(&Rate::ONE - &u_k);
        u_k <= Rate::ONE && beyond <= room
    })
}
