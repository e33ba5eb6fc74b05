//! Priority points: the times by which a scheduler that is like global EDF (**GEL**) orders jobs.
//!
//! Under such a scheduler the jobs with the earliest priority points run. The point of a job is its
//! arrival plus the *relative priority point* `Y_i` of its task. Global EDF has `Y_i = D_i`. Global
//! fair lateness, **G-FL** (Erickson and Anderson 2012), has `Y_i = D_i - (m - 1) / m C_i`: with
//! these points, the bounds of compliant-vector analysis on the lateness of all tasks are equal,
//! which minimizes the largest one.
//!
//! Deviation: a point is a whole number of nanoseconds. `(m - 1) / m C_i` is rounded down.

use layland_model::{Citation, Duration, Task};

/// Erickson and Anderson 2012: G-FL.
pub const ERICKSON_ANDERSON: Citation = Citation {
    key: "erickson2012fair",
    text: "J. P. Erickson and J. H. Anderson. Fair lateness scheduling: reducing maximum lateness in \
           G-EDF-like scheduling. ECRTS 2012, pages 3-12.",
    bibtex: "@inproceedings{erickson2012fair,
  author    = {Jeremy P. Erickson and James H. Anderson},
  title     = {Fair Lateness Scheduling: Reducing Maximum Lateness in {G-EDF}-like Scheduling},
  booktitle = {24th Euromicro Conference on Real-Time Systems (ECRTS)}, pages = {3--12}, year = {2012}
}",
};

/// Erickson, Anderson and Ward 2014: G-FL with proofs, and for clusters.
pub const ERICKSON_ANDERSON_WARD: Citation = Citation {
    key: "erickson2014fair",
    text: "J. P. Erickson, J. H. Anderson and B. C. Ward. Fair lateness scheduling: reducing maximum lateness in \
           G-EDF-like scheduling. Real-Time Systems 50(1):5-47, 2014.",
    bibtex: "@article{erickson2014fair,
  author  = {Jeremy P. Erickson and James H. Anderson and Bryan C. Ward},
  title   = {Fair Lateness Scheduling: Reducing Maximum Lateness in {G-EDF}-like Scheduling},
  journal = {Real-Time Systems}, volume = {50}, number = {1}, pages = {5--47}, year = {2014},
  doi     = {10.1007/s11241-013-9190-4}
}",
};

/// Returns the time by which the priority point of a job precedes its deadline under G-FL, on this
/// number of CPUs of unit speed: `(m - 1) / m C_i`, rounded down to nanoseconds. `C_i` is the WCET
/// at the task's own level.
///
/// ```
/// use layland_model::{Duration, Service, Task};
/// use layland_offline::points::fair_lateness;
/// let task = Task::implicit("a", Service::from_ns(11), Duration::from_ns(20));
/// assert_eq!(fair_lateness(&task, 1), Duration::ZERO);
/// assert_eq!(fair_lateness(&task, 2), Duration::from_ns(5));
/// assert_eq!(fair_lateness(&task, 4), Duration::from_ns(8));
/// ```
///
/// # Panics
/// Panics if there is no CPU.
pub fn fair_lateness(task: &Task, cpus: usize) -> Duration {
    assert!(cpus > 0, "a task has a CPU");
    let (wcet, m) = (i128::from(task.own_wcet().ns()), cpus as i128);
    let earlier = wcet * (m - 1) / m;
    Duration::from_ns(i64::try_from(earlier).expect("no longer than the WCET"))
}
