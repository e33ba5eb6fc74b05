//! Supply: the least processor time that servers give to their group, as long as it has work.
//!
//! | symbol | here | meaning |
//! |---|---|---|
//! | `Q`, `P`, `D` | [`GroupServer`] | budget, period, and relative deadline of the budget |
//! | `sbf(t)` | [`Supply::within`] | the least supply in a window of length `t` in which the group has work throughout |
//! | `tbf(w)` | [`Supply::time_for`] | the least `t` with `sbf(t) >= w` |
//! | `alpha` | [`Supply::bandwidth`] | `Q / P` |
//! | `gap` | | the longest wait for the next period of the server: `P - Q`; `P` for a polling server |
//! | `delay` | [`Supply::delay`] | `gap + D - Q`, so that `sbf(t) >= alpha (t - delay)` |
//!
//! With `y = t - gap`, `k = floor(y / P)` and `r = y mod P`, a server supplies at least
//! `k Q + min(Q, max(0, r - (D - Q)))` (Shin and Lee 2003 for `D = P`, Easwaran, Anand and Lee 2007).
//! One pattern has the least supply for all `t` at once: no supply for `delay`, then `Q` at the end
//! of each deadline.
//!
//! Assumes: no server is late. Then the formula also holds for a CBS, for every window that begins
//! while the group has work. Let the budget be `q`, and the deadline `x` away. The server did not
//! pay for time in which it was not served, so `q >= Q - (D - x)`; the wake-up rules and a
//! replenishment keep this. So `q` is supplied by the deadline, the next period begins `P - D`
//! after it, and each later one supplies `Q` within `D`. The least is at `x = D - Q`.
//!
//! All values saturate at [`Duration::MAX`], which is beyond every deadline.

#![expect(non_snake_case, reason = "symbols of the papers")]

use layland_model::{Duration, GroupServer, Rate, ServerRule, Service};

/// The least supply of one server, or of another source that states its bandwidth and its delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supply(Form);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Periodic { Q: i64, P: i64, D: i64, gap: i64 },
    BoundedDelay { numerator: i64, denominator: i64, delay: i64 },
}
use Form::{BoundedDelay, Periodic};

impl Supply {
    /// A CPU without other work: `sbf(t) = t`.
    pub const DEDICATED: Supply = Supply(Periodic { Q: 1, P: 1, D: 1, gap: 0 });

    /// The least supply of a server that is never late.
    ///
    /// ```
    /// use layland_analysis::groups::Supply;
    /// use layland_model::{Duration, GroupServer, ServerRule, Service};
    /// let (ms, work) = (Duration::from_ms, Service::from_ms);
    /// let (period, deadline) = (ms(10), ms(10));
    /// let server = GroupServer { budget: work(3), period, deadline, rule: ServerRule::Cbs };
    /// let supply = Supply::of(&server);
    /// assert_eq!([14, 17, 25].map(|t| supply.within(ms(t))), [0, 3, 4].map(work));
    /// assert_eq!([1, 3, 4].map(|w| supply.time_for(work(w))), [15, 17, 25].map(ms));
    /// ```
    ///
    /// # Panics
    /// Panics unless `0 < Q <= D <= P`.
    pub fn of(server: &GroupServer) -> Supply {
        let [Q, P, D] = [server.budget.ns(), server.period.ns(), server.deadline.ns()];
        assert!(0 < Q && Q <= D && D <= P, "0 < {Q} <= {D} <= {P}");
        let gap = match server.rule {
            ServerRule::Cbs | ServerRule::Deferrable => P - Q,
            // Work that arrives just after the budget was lost waits for a whole period.
            ServerRule::Polling => P,
        };
        Supply(Periodic { Q, P, D, gap })
    }

    /// The least supply of a source that states a bandwidth and a delay:
    /// `sbf(t) = max(0, floor(alpha (t - delay)))`. `None` unless `0 < alpha <= 1`, with 63 bits.
    pub fn bounded_delay(alpha: &Rate, delay: Duration) -> Option<Supply> {
        let (numerator, denominator) = alpha.as_i64_pair()?;
        let is_one_cpu = 0 < numerator && numerator <= denominator;
        (is_one_cpu && delay >= Duration::ZERO)
            .then(|| Supply(BoundedDelay { numerator, denominator, delay: delay.ns() }))
    }

    /// `sbf(t)`: the least supply in a window of this length.
    pub fn within(&self, window: Duration) -> Service {
        Service::from_ns(self.sbf(window.ns()))
    }

    /// `tbf(w)`: the least length of a window with at least this supply.
    pub fn time_for(&self, work: Service) -> Duration {
        Duration::from_ns(self.tbf(work.ns()))
    }

    /// `alpha`, the supply per time in the long run.
    pub fn bandwidth(&self) -> Rate {
        let (numerator, denominator) = self.alpha();
        Rate::new(numerator, denominator)
    }

    /// The least `delay` with `sbf(t) >= alpha (t - delay)` for all `t`, up to rounding.
    pub fn delay(&self) -> Duration {
        Duration::from_ns(match self.0 {
            Periodic { Q, D, gap, .. } => gap + (D - Q),
            BoundedDelay { delay, .. } => delay,
        })
    }

    #[inline]
    pub(super) fn sbf(&self, t: i64) -> i64 {
        match self.0 {
            Periodic { Q, P, D, gap } => {
                let y = t - gap;
                if y <= 0 {
                    return 0;
                }
                // The product is at most `t`.
                y / P * Q + (y % P - (D - Q)).clamp(0, Q)
            }
            BoundedDelay { numerator, denominator, delay } => {
                let after = i128::from(t) - i128::from(delay);
                let whole = i128::from(numerator) * after.max(0) / i128::from(denominator);
                // At most `t`, since the bandwidth is at most 1.
                whole as i64
            }
        }
    }

    #[inline]
    pub(super) fn tbf(&self, w: i64) -> i64 {
        if w <= 0 {
            return 0;
        }
        match self.0 {
            Periodic { Q, P, D, gap } => {
                let k = (w - 1) / Q;
                k.saturating_mul(P - Q).saturating_add(gap + (D - Q)).saturating_add(w)
            }
            BoundedDelay { numerator, denominator, delay } => {
                let product = i128::from(w) * i128::from(denominator);
                let wait = num_integer::Integer::div_ceil(&product, &i128::from(numerator));
                i64::try_from(wait).unwrap_or(i64::MAX).saturating_add(delay)
            }
        }
    }

    /// `alpha` as a fraction.
    pub(super) fn alpha(&self) -> (i64, i64) {
        match self.0 {
            Periodic { Q, P, .. } => (Q, P),
            BoundedDelay { numerator, denominator, .. } => (numerator, denominator),
        }
    }

    /// The length of a window from which on `sbf` grows by `alpha p` in each `p`, and this `p`.
    pub(super) fn repeats(&self) -> (i64, i64) {
        match self.0 {
            Periodic { P, gap, .. } => (gap, P),
            BoundedDelay { denominator, delay, .. } => (delay, denominator),
        }
    }

    /// The largest length below `t` at which `sbf` begins to grow or to rest, or 0.
    ///
    /// A bounded delay has no such lengths: its floor may jump at every one.
    pub(super) fn turn_before(&self, t: i64) -> i64 {
        match self.0 {
            Periodic { Q, P, D, gap } => {
                let before =
                    |first: i64| if t > first { first + (t - 1 - first) / P * P } else { 0 };
                before(gap + D - Q).max(before(gap + D))
            }
            BoundedDelay { .. } => (t - 1).max(0),
        }
    }
}

/// The least supplies of several servers, one on each CPU, whose phases are not related.
///
/// `Y_j(t)`, the least integral over a window of `min(j, the number of servers that are served)`, is
/// the sum of the `j` largest `sbf_i(t)`: for any `j` servers, the minimum is at least the number of
/// those among them that are served. Servers of one pattern reach it when they run together. `Y_m`
/// is the total of the multi supply function (Bini, Buttazzo and Bertogna 2009), and the `Y_j` are
/// the levels of the parallel supply function (Bini, Bertogna and Baruah 2009).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Supplies {
    each: Vec<Supply>,
    are_equal: bool,
}

impl Supplies {
    /// The supplies of these servers, at least one.
    ///
    /// # Panics
    /// Panics without servers.
    pub fn new(each: Vec<Supply>) -> Supplies {
        assert!(!each.is_empty(), "a group has a server");
        let are_equal = each.windows(2).all(|pair| pair[0] == pair[1]);
        Supplies { each, are_equal }
    }

    /// The supply of each server.
    pub fn each(&self) -> &[Supply] {
        &self.each
    }

    /// `m`, the number of servers.
    pub fn count(&self) -> usize {
        self.each.len()
    }

    /// `Y_j(t)`.
    ///
    /// ```
    /// use layland_analysis::groups::{Supplies, Supply};
    /// use layland_model::{Duration, GroupServer, ServerRule, Service};
    /// let ns = Duration::from_ns;
    /// let server = |budget| {
    ///     let (period, deadline) = (ns(20), ns(20));
    ///     let budget = Service::from_ns(budget);
    ///     Supply::of(&GroupServer { budget, period, deadline, rule: ServerRule::Cbs })
    /// };
    /// let supplies = Supplies::new(vec![server(6), server(17)]);
    /// assert_eq!([1, 2].map(|j| supplies.within(j, ns(47)).ns()), [35, 41]);
    /// ```
    ///
    /// # Panics
    /// Panics unless `1 <= j <= m`.
    pub fn within(&self, j: usize, window: Duration) -> Service {
        assert!((1..=self.each.len()).contains(&j), "{j} of {} servers", self.each.len());
        Service::from_ns(self.Y(j, window.ns()))
    }

    /// The least length of a window with `Y_j(t) >= w`.
    ///
    /// # Panics
    /// Panics unless `1 <= j <= m`.
    pub fn time_for(&self, j: usize, work: Service) -> Duration {
        assert!((1..=self.each.len()).contains(&j), "{j} of {} servers", self.each.len());
        Duration::from_ns(self.inverse(j, work.ns()))
    }

    /// The levels `j` that can decide a test of a job `C`: with equal servers, `m` alone, since
    /// `A + j (C - 1) < j sbf(t)` for some `j` and `A >= 0` implies it for every larger one.
    pub(super) fn levels(&self) -> std::ops::RangeInclusive<usize> {
        let m = self.each.len();
        if self.are_equal { m..=m } else { 1..=m }
    }

    pub(super) fn Y(&self, j: usize, t: i64) -> i64 {
        if self.are_equal {
            return self.each[0].sbf(t).saturating_mul(j as i64);
        }
        let mut all: Vec<i64> = self.each.iter().map(|supply| supply.sbf(t)).collect();
        if j < all.len() {
            all.sort_unstable_by(|a, b| b.cmp(a));
        }
        all.iter().take(j).fold(0, |sum, supply| sum.saturating_add(*supply))
    }

    /// The least `t` with `Y_j(t) >= w`.
    pub(super) fn inverse(&self, j: usize, w: i64) -> i64 {
        if w <= 0 {
            return 0;
        }
        if self.are_equal {
            return self.each[0].tbf(num_integer::Integer::div_ceil(&w, &(j as i64)));
        }
        // One server alone supplies `w` by then.
        let enough = self.each.iter().map(|supply| supply.tbf(w)).min().unwrap_or(i64::MAX);
        let (mut less, mut enough) = (0, enough);
        if enough == i64::MAX {
            return i64::MAX;
        }
        while less + 1 < enough {
            let middle = less + (enough - less) / 2;
            if self.Y(j, middle) >= w { enough = middle } else { less = middle }
        }
        enough
    }
}

/// The multiprocessor periodic resource model (Shin, Easwaran and Lee 2008): `Theta` of processor
/// time in each period, on at most `m` CPUs at once, with periods that begin together. For interfaces
/// of others; equal servers on each CPU are [`Supplies`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MultiprocessorResource {
    /// `Theta`, at most `m` periods.
    pub budget: Service,
    /// `P`.
    pub period: Duration,
    /// `m`.
    pub concurrency: u32,
}

impl MultiprocessorResource {
    /// The least supply in a window of this length: exact.
    ///
    /// A window consists of the end of a period, whole periods and the beginning of one. The least
    /// supply of the first or last `x` of a period, `max(0, Theta - m (P - x))`, is convex in `x`, so
    /// for a given sum the even split is least. The published form is lower where it rounds
    /// `Theta / m` down.
    ///
    /// ```
    /// use layland_analysis::groups::MultiprocessorResource;
    /// use layland_model::{Duration, Service};
    /// let (budget, period) = (Service::from_ns(6), Duration::from_ns(5));
    /// let resource = MultiprocessorResource { budget, period, concurrency: 2 };
    /// let supplied = [4, 5, 7, 10].map(|t| resource.within(Duration::from_ns(t)).ns());
    /// assert_eq!(supplied, [0, 2, 6, 8]);
    /// ```
    pub fn within(&self, window: Duration) -> Service {
        let [Theta, P, m] = [self.budget.ns(), self.period.ns(), self.concurrency.into()];
        let edge = |x: i64| Theta.saturating_sub((P - x).saturating_mul(m)).max(0);
        let even = |both: i64| edge(both / 2) + edge(both - both / 2);
        let (k, r) = (window.div_floor(self.period), (window % self.period).ns());
        let whole = k.saturating_mul(Theta).saturating_add(even(r));
        let with_one_less = (k - 1).saturating_mul(Theta).saturating_add(even(P + r));
        Service::from_ns(if k >= 1 { whole.min(with_one_less) } else { whole })
    }
}
