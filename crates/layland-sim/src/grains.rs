//! [`Grains`]: the unit in which the simulator counts work.

use layland_model::{CpuMap, Service, Speed};

/// Work in *grains*: the largest unit in which every CPU does a whole amount per nanosecond.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grains {
    per_ns_of_work: i64,
}

impl Grains {
    pub(crate) fn new(speeds: &CpuMap<Speed>) -> Self {
        let lcm = |a: i64, b: i64| a / gcd(a, b) * b;
        Self { per_ns_of_work: speeds.values().map(|speed| speed.denominator()).fold(1, lcm) }
    }
    #[inline]
    pub(crate) fn from(self, work: Service) -> i64 {
        work.ns() * self.per_ns_of_work
    }
    /// Converts grains to work, rounded down to a whole nanosecond.
    #[inline]
    pub(crate) fn to_service(self, grains: i64) -> Service {
        // A division costs as much as the rest of the end of a job, and most platforms do not need
        // it.
        let whole = self.per_ns_of_work == 1;
        Service::from_ns(if whole { grains } else { grains / self.per_ns_of_work })
    }
    /// Makes the grains small enough that a CPU of this speed does a whole number of them per
    /// nanosecond. Returns the number of new grains in an old one.
    pub(crate) fn refine(&mut self, speed: Speed) -> i64 {
        let own = self.per_ns_of_work;
        let factor = speed.denominator() / gcd(own, speed.denominator());
        self.per_ns_of_work = own * factor;
        factor
    }
    /// Returns the number of grains that a CPU of this speed does per nanosecond.
    pub(crate) fn per_ns(self, speed: Speed) -> i64 {
        speed.numerator() * (self.per_ns_of_work / speed.denominator())
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
