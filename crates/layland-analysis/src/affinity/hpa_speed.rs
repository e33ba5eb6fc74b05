//! How fast CPUs must be for EDF with hierarchical affinities (Bonifaci, Brandenburg, D'Angelo,
//! Marchetti-Spaccamela 2016, Section IV). A **sufficient** speed: whatever job collection some
//! scheduler can do at speed 1, HPA-EDF does at this speed.
//!
//! Assumes: (1) affinities are all CPUs or disjoint sets of CPUs, (2) the jobs of a task run in
//! order, one at a time.
//!
//! | paper | meaning |
//! |---|---|
//! | `m` | number of CPUs |
//! | `m_max` | number of CPUs of the largest affinity other than all CPUs |
//! | `s'` | `2 - 1 / m_max` |
//! | `s` | `(s' + 1) / 2 - s' / m + sqrt((2 s' - m (s' + 1))^2 + 4 s' m^2) / (2 m)` |
//!
//! The root is irrational: the speed is given as two rationals that enclose it.

use crate::Assumption::{self, TwoLevels};
use crate::{Citation, Enclosure, Refusal};
use layland_model::{Rate, System};
use num_integer::Roots;

/// Bonifaci, Brandenburg, D'Angelo and Marchetti-Spaccamela 2016.
pub const BONIFACI: Citation = Citation {
    key: "bonifaci2016multiprocessor",
    text: "V. Bonifaci, B. Brandenburg, G. D'Angelo and A. Marchetti-Spaccamela. Multiprocessor \
           real-time scheduling with hierarchical processor affinities. ECRTS 2016.",
    bibtex: "@inproceedings{bonifaci2016multiprocessor,
  author    = {Vincenzo Bonifaci and Bj{\\\"o}rn Brandenburg and Gianlorenzo D'Angelo and Alberto Marchetti-Spaccamela},
  title     = {Multiprocessor Real-Time Scheduling with Hierarchical Processor Affinities},
  booktitle = {28th Euromicro Conference on Real-Time Systems (ECRTS)}, year = {2016}
}",
};

/// The speed for `m` CPUs whose largest affinity other than all CPUs has `m_max`. The enclosure is
/// narrower than 10^-10.
///
/// ```
/// use layland_analysis::affinity::hpa_speed::sufficient_speed;
/// // Single CPUs and all of 24: below 1 + sqrt 2.
/// assert_eq!(sufficient_speed(24, 1).decimals(9).as_deref(), Some("2.343397512"));
/// assert_eq!(sufficient_speed(24, 12).decimals(9).as_deref(), Some("3.332148842"));
/// ```
///
/// # Panics
/// If `m` or `m_max` is zero, or above [`CpuSet::MAX_CPUS`](layland_model::CpuSet::MAX_CPUS).
pub fn sufficient_speed(m: usize, m_max: usize) -> Enclosure {
    let sizes = 1..=layland_model::CpuSet::MAX_CPUS;
    assert!(sizes.contains(&m) && sizes.contains(&m_max), "a set of CPUs has 1 to 4096");
    // With s' = p / m_max the root is sqrt(n) / m_max, n an integer below 2^56.
    let (m, m_max) = (m as i128, m_max as i128);
    let p = 2 * m_max - 1;
    let n = (2 * p - m * (p + m_max)).pow(2) + 4 * p * m_max * m * m;
    // sqrt(n) between two multiples of 10^-DIGITS.
    const DIGITS: u32 = 10;
    let scale = 10i128.pow(DIGITS);
    let below = (n * scale * scale).sqrt();
    let above = if below * below == n * scale * scale { below } else { below + 1 };
    let whole = |number: i128| Rate::whole(i64::try_from(number).expect("roots of 2^56 are small"));
    let (m, m_max, p, scale) = (whole(m), whole(m_max), whole(p), whole(scale));
    let two = Rate::whole(2);
    let s_1 = &p / &m_max;
    let rational = &(&(&s_1 + &Rate::ONE) / &two) - &(&s_1 / &m);
    let with_root = |root: i128| {
        let root = &(&whole(root) / &scale) / &m_max;
        &rational + &(&root / &(&two * &m))
    };
    Enclosure { low: with_root(below), high: with_root(above) }
}

/// The speed for the affinities of a system: of its largest affinity other than all CPUs, or of one
/// CPU if there is none.
///
/// # Errors
/// If the affinities are not on two levels.
pub fn for_system(system: &System) -> Result<Enclosure, Refusal> {
    Assumption::check_all(&[TwoLevels], system)?;
    let all = system.platform.all_cpus();
    let masks = system.tasks.ids().map(|task| system.allowed_cpus(task));
    let largest = masks.filter(|mask| *mask != all).map(|mask| mask.len()).max().unwrap_or(1);
    Ok(sufficient_speed(system.platform.cpu_count(), largest))
}
