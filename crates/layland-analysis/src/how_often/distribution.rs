//! Distributions of amounts of work on a grid, with masses that are rounded one way only.

use super::numbers::product;
use super::{Mass, Rounding};
use layland_model::Rate;

/// The masses of whole amounts of work, and the mass of amounts beyond a limit, which never return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Distribution {
    /// The amount of the first mass.
    from: i64,
    masses: Vec<u128>,
    /// The mass beyond every amount.
    beyond: u128,
    rounding: Rounding,
}

impl Distribution {
    /// One amount for certain.
    pub(super) fn point(amount: i64, rounding: Rounding) -> Distribution {
        Distribution { from: amount, masses: vec![Mass::ONE.0], beyond: 0, rounding }
    }

    /// Amounts with probabilities, in ascending order.
    pub(super) fn of(amounts: &[(i64, Rate)], rounding: Rounding) -> Distribution {
        let from = amounts.first().map_or(0, |(amount, _)| *amount);
        let last = amounts.last().map_or(0, |(amount, _)| *amount);
        let mut masses = vec![0; (last - from) as usize + 1];
        for (amount, rate) in amounts {
            masses[(amount - from) as usize] += Mass::of(rate, rounding).0;
        }
        Distribution { from, masses, beyond: 0, rounding }
    }

    /// The amounts from `from` on with these masses, and the mass beyond them.
    pub(super) fn from_masses(
        from: i64,
        masses: Vec<u128>,
        beyond: u128,
        rounding: Rounding,
    ) -> Self {
        Distribution { from, masses, beyond, rounding }
    }

    /// The largest amount.
    fn last(&self) -> i64 {
        self.from + self.masses.len() as i64 - 1
    }

    /// `P(> amount)`.
    pub(super) fn above(&self, amount: i64) -> Mass {
        let first = (amount + 1 - self.from).clamp(0, self.masses.len() as i64) as usize;
        Mass(self.masses[first..].iter().fold(self.beyond, |sum, mass| sum.saturating_add(*mass)))
    }

    /// The backlog after this time without arrivals: `max(0, V - time)`.
    pub(super) fn drain(&mut self, time: i64) {
        self.from -= time;
        self.raise_to(0);
    }

    /// `max(least, V)`.
    pub(super) fn raise_to(&mut self, least: i64) {
        if self.from >= least {
            return;
        }
        let below = ((least - self.from) as usize).min(self.masses.len());
        let lumped = self.masses[..below].iter().fold(0u128, |sum, mass| sum.saturating_add(*mass));
        if below == self.masses.len() {
            self.masses = vec![lumped];
        } else {
            self.masses.drain(..below);
            self.masses[0] = self.masses[0].saturating_add(lumped);
        }
        self.from = least;
    }

    /// Takes out the amounts up to this one.
    pub(super) fn take_out(&mut self, amount: i64) {
        let below = (amount + 1 - self.from).clamp(0, self.masses.len() as i64) as usize;
        self.masses.drain(..below);
        self.from += below as i64;
    }

    /// Forgets the mass beyond every amount, for lower bounds.
    pub(super) fn forget_beyond(&mut self) {
        self.beyond = 0;
    }

    /// Adds an independent amount. Sums above the limit are beyond every amount.
    pub(super) fn add(&mut self, other: &Distribution, largest: i64) {
        let (few, many) =
            if other.masses.len() <= self.masses.len() { (other, &*self) } else { (&*self, other) };
        let from = self.from + other.from;
        let last = (self.last() + other.last()).min(largest);
        let mut sums = vec![0u128; (last + 1 - from).max(0) as usize];
        let mut beyond = 0u128;
        for (at, &mass) in few.masses.iter().enumerate() {
            if mass == 0 {
                continue;
            }
            let inside = sums.len().saturating_sub(at).min(many.masses.len());
            for (sum, &other) in
                sums[at.min(last_index(at, inside))..].iter_mut().zip(&many.masses[..inside])
            {
                *sum = sum.saturating_add(product(mass, other, self.rounding));
            }
            let outside = many.masses[inside..]
                .iter()
                .fold(many.beyond, |sum, mass| sum.saturating_add(*mass));
            beyond = beyond.saturating_add(product(mass, outside, self.rounding));
        }
        if few.beyond > 0 {
            let all = many.masses.iter().fold(many.beyond, |sum, mass| sum.saturating_add(*mass));
            beyond = beyond.saturating_add(product(few.beyond, all, self.rounding));
        }
        *self = Distribution { from, masses: sums, beyond, rounding: self.rounding };
    }

    /// Adds this many independent copies of an amount, by squaring where that takes less work.
    pub(super) fn add_copies(&mut self, one: &Distribution, mut copies: i64, largest: i64) {
        // Few copies of few amounts: one after the other is cheaper, and rounds less.
        let amounts = one.masses.iter().filter(|mass| **mass > 0).count() as i64;
        if copies * amounts <= self.masses.len() as i64 || copies <= 2 {
            for _ in 0..copies {
                self.add(one, largest);
            }
            return;
        }
        let mut square = one.clone();
        while copies > 0 {
            if copies & 1 == 1 {
                self.add(&square, largest);
            }
            copies >>= 1;
            if copies > 0 {
                let factor = square.clone();
                square.add(&factor, largest);
            }
        }
    }

    /// Merges amounts upwards into a grid that is coarser by this factor.
    pub(super) fn coarsened(&self, factor: i64) -> Distribution {
        let up = |amount: i64| num_integer::Integer::div_ceil(&amount, &factor);
        let from = up(self.from);
        let mut masses = vec![0u128; (up(self.last()) - from).max(0) as usize + 1];
        for (at, mass) in self.masses.iter().enumerate() {
            let cell = &mut masses[(up(self.from + at as i64) - from) as usize];
            *cell = cell.saturating_add(*mass);
        }
        Distribution { from, masses, beyond: self.beyond, rounding: self.rounding }
    }

    /// The sum of the differences of the masses of two distributions.
    pub(super) fn distance(&self, other: &Distribution) -> Mass {
        let [first, last] = [self.from.min(other.from), self.last().max(other.last())];
        let at = |of: &Distribution, amount: i64| -> u128 {
            let index = usize::try_from(amount - of.from).ok();
            index.and_then(|index| of.masses.get(index)).copied().unwrap_or(0)
        };
        let between = |amount| at(self, amount).abs_diff(at(other, amount));
        let sum = (first..=last).map(between).fold(0u128, u128::saturating_add);
        Mass(sum.saturating_add(self.beyond.abs_diff(other.beyond)))
    }
}

/// The first cell of a row of sums, or 0 if the row is empty.
fn last_index(at: usize, inside: usize) -> usize {
    if inside == 0 { 0 } else { at }
}
