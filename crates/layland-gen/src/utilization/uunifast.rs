//! UUniFast (Bini, Buttazzo 2005) and UUniFast-Discard (Davis, Burns 2009).
//!
//! UUniFast draws uniformly from `{u_1 + .. + u_n = U, u_i >= 0}`. The sum of the last `k` of them,
//! given that of the last `k + 1`, is that sum times `r^(1/k)` for a uniform `r`.
//!
//! Above `U = 1` some `u_i` may exceed 1. Discarding the vectors with such a `u_i` leaves the
//! uniform distribution on the remaining ones, but the share of vectors that survive,
//!
//! ```text
//! sum over k of (-1)^k binomial(n, k) max(0, 1 - k/U)^(n-1)
//! ```
//!
//! decreases quickly: with 16 tasks it is 1/39 for a total of 7.6, and 6e-8 for 12.
//! [`RandFixedSum`](crate::RandFixedSum) has no such limit.

use crate::{GenError, Random};

/// UUniFast: draws uniformly from the vectors of a given sum, without upper bounds.
#[derive(Clone, Debug)]
pub struct UUniFast {
    tasks: usize,
    total: f64,
}

impl UUniFast {
    /// Returns a sampler of `tasks` utilizations that sum to `total`.
    pub fn new(tasks: usize, total: f64) -> UUniFast {
        UUniFast { tasks, total }
    }

    /// Draws one vector. The sum is accurate to a relative error of about `2^-50`.
    ///
    /// ```
    /// use layland_gen::{Aspect, Random, UUniFast};
    /// let mut random = Random::new(7, 0, Aspect::Utilizations);
    /// let utilizations = UUniFast::new(5, 0.8).sample(&mut random);
    /// assert!((utilizations.iter().sum::<f64>() - 0.8).abs() < 1e-12);
    /// ```
    pub fn sample(&self, random: &mut Random) -> Vec<f64> {
        let mut left = self.total;
        let mut utilizations = Vec::with_capacity(self.tasks);
        for after in (1..self.tasks).rev() {
            let next = left * libm::pow(random.open_unit(), 1.0 / after as f64);
            utilizations.push(left - next);
            left = next;
        }
        if self.tasks > 0 {
            utilizations.push(left);
        }
        utilizations
    }
}

/// UUniFast, repeated until no utilization exceeds a bound.
#[derive(Clone, Debug)]
pub struct UUniFastDiscard {
    plain: UUniFast,
    max: f64,
    tries: u32,
}

impl UUniFastDiscard {
    /// Returns a sampler of `tasks` utilizations of at
    /// most `max` that sum to `total`, in at most `tries`.
    pub fn new(tasks: usize, total: f64, max: f64, tries: u32) -> UUniFastDiscard {
        UUniFastDiscard { plain: UUniFast::new(tasks, total), max, tries }
    }

    /// Draws one vector, or returns [`GenError::Exhausted`].
    ///
    /// ```
    /// use layland_gen::{Aspect, Random, UUniFastDiscard};
    /// let mut random = Random::new(7, 0, Aspect::Utilizations);
    /// let utilizations = UUniFastDiscard::new(8, 2.0, 1.0, 1000).sample(&mut random).unwrap();
    /// assert!(utilizations.iter().all(|&u| u <= 1.0));
    /// assert!(UUniFastDiscard::new(16, 12.0, 1.0, 1000).sample(&mut random).is_err());
    /// ```
    pub fn sample(&self, random: &mut Random) -> Result<Vec<f64>, GenError> {
        for _ in 0..self.tries {
            let utilizations = self.plain.sample(random);
            if utilizations.iter().all(|&u| u <= self.max) {
                return Ok(utilizations);
            }
        }
        Err(GenError::Exhausted {
            tries: self.tries,
            wanted: "kept every utilization below its bound",
            help: "use RandFixedSum, which draws from the same distribution without discarding",
        })
    }
}
