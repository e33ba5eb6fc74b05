//! The maximum arrivals and the minimum supply in any interval of a length. All times are in
//! nanoseconds.

use layland_model::{Duration, Service};

/// A callback, or a part of a chain, as bounds use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// The maximum execution of each activation.
    pub wcet: Service,
    /// The period of the activations.
    pub period: Duration,
    /// The maximum delay of each activation.
    pub jitter: Duration,
    /// True if the executor notices activations at polling points only; false if at every decision,
    /// as for a live timer.
    pub polled: bool,
}

impl Load {
    /// `eta(d)`: the maximum number of activations in a half-open interval of length `d`.
    pub(super) fn eta(&self, d: i64) -> i64 {
        if d <= 0 { 0 } else { up(d.saturating_add(self.jitter.ns()), self.period.ns()) }
    }

    /// The work of the activations in a half-open interval of length `d`.
    pub(super) fn work(&self, d: i64) -> i64 {
        self.wcet.ns().saturating_mul(self.eta(d))
    }

    /// The offsets `A` with `eta(A + 1) > eta(A)`, ascending.
    pub(super) fn steps(&self) -> impl Iterator<Item = i64> + use<> {
        let (period, jitter) = (self.period.ns(), self.jitter.ns());
        let later = (jitter / period + 1..).map(move |k| k.saturating_mul(period) - jitter);
        std::iter::once(0).chain(later)
    }
}

fn up(a: i64, b: i64) -> i64 {
    a / b + i64::from(a % b > 0)
}

/// The minimum supply: a budget in each period, at any position in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupplyBound {
    period: i64,
    budget: i64,
}

impl SupplyBound {
    /// The bound of a CPU that is always available.
    pub const ALWAYS: SupplyBound = SupplyBound { period: 1, budget: 1 };

    /// The bound of a server. `None` unless `0 < budget <= period`.
    pub fn server(period: Duration, budget: Duration) -> Option<SupplyBound> {
        let valid = budget > Duration::ZERO && budget <= period;
        valid.then(|| SupplyBound { period: period.ns(), budget: budget.ns() })
    }

    /// `sbf(d)`: the least supply in an interval of length `d` (Shin and Lee, RTSS 2003).
    pub(super) fn at(&self, d: i64) -> i64 {
        let SupplyBound { period: p, budget: q } = *self;
        if d <= p - q {
            return 0;
        }
        let k = (d - (p - q)) / p;
        k * q + (d - 2 * (p - q) - k * p).max(0)
    }

    /// The least `d` with `sbf(d) >= x`.
    pub(super) fn time(&self, x: i64) -> i64 {
        let SupplyBound { period: p, budget: q } = *self;
        if x <= 0 {
            return 0;
        }
        // The budget of the last period comes at its end, in the worst case.
        let rest = if x % q > 0 { p - q + x % q } else { 0 };
        (p - q).saturating_add(p.saturating_mul(x / q)).saturating_add(rest)
    }

    /// The least `d >= from` with `sbf(d) >= f(d)`, for a non-decreasing `f`. `None` if it exceeds
    /// the limit.
    pub(super) fn least(&self, from: i64, limit: i64, f: impl Fn(i64) -> i64) -> Option<i64> {
        let mut d = from;
        loop {
            if d > limit {
                return None;
            }
            let wanted = self.time(f(d));
            if wanted <= d {
                return Some(d);
            }
            d = wanted;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn supply_and_its_inverse_agree() {
        for p in 1..9 {
            for q in 1..=p {
                let bound = SupplyBound { period: p, budget: q };
                for x in 0..40 {
                    let by_search = (0..).find(|&d| bound.at(d) >= x);
                    assert_eq!(Some(bound.time(x)), by_search, "{p} {q} {x}");
                }
            }
        }
    }

    #[test]
    fn steps_are_where_the_curve_rises() {
        for (period, jitter) in [(5, 0), (5, 3), (5, 5), (5, 12), (1, 0), (3, 7)] {
            let [period, jitter] = [period, jitter].map(Duration::from_ns);
            let load = Load { wcet: Service::from_ns(1), period, jitter, polled: true };
            let rises = (0..60).filter(|&a| load.eta(a + 1) > load.eta(a)).collect::<Vec<i64>>();
            assert_eq!(load.steps().take_while(|&a| a < 60).collect::<Vec<_>>(), rises);
        }
    }
}
