//! The capacities of CPUs in the kernel's integers, as `SCHED_DEADLINE` counts them.
//!
//! | kernel | here |
//! |---|---|
//! | `arch_scale_cpu_capacity`, 1024 for the fastest CPUs | a *capacity* |
//! | `cap_scale(v, s)` | [`cap_scale`] |
//! | `to_ratio(period, runtime)` | [`bandwidth`] |
//! | `dl_scaled_delta_exec` | [`charge`] |
//! | `dl_bw_capacity` | the sum of the capacities of the active CPUs of a root domain |
//! | `__dl_overflow` | [`admits`], and [`beside_fair`] where CPUs have fair servers |
//! | `dl_task_fits_capacity` | [`Fit`] |
//!
//! All divisions round down. So a thread that runs in short stretches on a slow CPU gets more than its
//! budget: on a CPU of 446 a stretch of 1 or 2 ns costs nothing.
//!
//! Admission adds capacities up, as if a thread could run on several CPUs at a time: two CPUs of 512
//! admit a thread of 9/10, with which neither keeps up.

use crate::{Rate, Speed};

/// The binary logarithm of the capacity of the fastest CPU at its highest frequency.
pub const CAPACITY_SHIFT: u32 = 10;

/// The binary logarithm of the unit of bandwidth: a whole CPU has 2^20.
pub const BANDWIDTH_SHIFT: u32 = 20;

/// Returns `value * scale / 1024`, rounded down.
pub fn cap_scale(value: u64, scale: u64) -> u64 {
    let scaled = (u128::from(value) * u128::from(scale)) >> CAPACITY_SHIFT;
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// Returns the capacity of a CPU of this speed, rounded down.
///
/// ```
/// use layland_model::{Rate, Speed, capacity};
/// let little = Speed::new(&Rate::new(223, 500)).unwrap();
/// assert_eq!(capacity::of_speed(little), 456);
/// ```
pub fn of_speed(speed: Speed) -> u64 {
    let scaled = (speed.numerator() << CAPACITY_SHIFT) / speed.denominator();
    scaled.unsigned_abs()
}

/// Returns `runtime / period` in units of 2^-20, rounded down.
pub fn bandwidth(runtime: u64, period: u64) -> u64 {
    let ratio = (u128::from(runtime) << BANDWIDTH_SHIFT) / u128::from(period.max(1));
    u64::try_from(ratio).unwrap_or(u64::MAX)
}

/// Returns a share of a CPU in units of 2^-20, rounded down, for example the limit of admission
/// control per CPU.
pub fn units(share: &Rate) -> u64 {
    let scaled = share * &Rate::whole(1 << BANDWIDTH_SHIFT);
    scaled.floor().map_or(0, |units| u64::try_from(units).unwrap_or(0))
}

/// Returns the part of a budget that a stretch of this many nanoseconds costs, at this frequency (of
/// 1024) on a CPU of this capacity.
///
/// ```
/// use layland_model::capacity::charge;
/// assert_eq!([1, 2, 3, 1000].map(|ns| charge(ns, 1024, 446)), [0, 0, 1, 435]);
/// ```
pub fn charge(ns: u64, frequency: u64, capacity: u64) -> u64 {
    cap_scale(cap_scale(ns, frequency), capacity)
}

/// Returns true if admission control lets a thread into a root domain: `total` is the bandwidth of the
/// threads there without it, `limit` that per CPU, and `capacity` the sum of the capacities of the
/// active CPUs (Linux since 5.9).
///
/// ```
/// use layland_model::capacity::{admits, bandwidth};
/// let limit = bandwidth(950_000, 1_000_000);
/// // Nine tenths on CPUs of 160, 498 and 1024.
/// let nine_tenths = bandwidth(9, 10);
/// assert!(admits(0, nine_tenths, limit, 1682));
/// assert!(!admits(bandwidth(7, 10), nine_tenths, limit, 1682));
/// ```
pub fn admits(total: u64, bandwidth: u64, limit: u64, capacity: u64) -> bool {
    total.saturating_add(bandwidth) <= cap_scale(limit, capacity)
}

/// Returns the bandwidth that threads may have in a root domain of this capacity, each of whose CPUs
/// has reserved this much for ordinary threads (Linux since 6.8). The reservations count like threads, in
/// full on slow CPUs, too.
///
/// ```
/// use layland_model::capacity::{bandwidth, beside_fair, cap_scale};
/// let [limit, fair] = [bandwidth(19, 20), bandwidth(1, 20)];
/// assert_eq!(beside_fair(limit, fair, 2, 2048), 2 * (limit - fair));
/// assert_eq!(beside_fair(limit, fair, 2, 1024 + 446), cap_scale(limit, 1470) - 2 * fair);
/// assert_eq!(beside_fair(limit, fair, 1, 50), 0);
/// ```
pub fn beside_fair(limit: u64, fair: u64, cpus: usize, capacity: u64) -> u64 {
    cap_scale(limit, capacity).saturating_sub(fair.saturating_mul(cpus as u64))
}

/// The rule by which a thread fits a CPU. It is a preference where threads are placed, and no
/// guarantee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Until Linux 6.0: the CPU does the budget by the relative deadline.
    ByTime,
    /// Since Linux 6.0: the capacity is at least the density in 1024ths, rounded down. A thread that
    /// needs up to 1/1024 more than the CPU has fits.
    ByDensity,
}

impl Fit {
    /// Returns true if a thread with this relative deadline and budget fits a CPU of this capacity.
    ///
    /// ```
    /// use layland_model::capacity::Fit;
    /// let fits = |fit: Fit| fit.fits(10_000_000, 4_364_000, 446);
    /// assert_eq!([Fit::ByTime, Fit::ByDensity].map(fits), [false, true]);
    /// ```
    pub fn fits(self, deadline: u64, budget: u64, capacity: u64) -> bool {
        match self {
            Fit::ByTime => cap_scale(deadline, capacity) >= budget,
            Fit::ByDensity => {
                capacity >= bandwidth(budget, deadline) >> (BANDWIDTH_SHIFT - CAPACITY_SHIFT)
            }
        }
    }
}
