//! Fits a line through arrivals: a period, a phase, and the number of the period of each arrival.
//!
//! The arrivals of a periodic task are `phase + k * period + jitter`. Some may be missing, because
//! a late thread does not sleep. A guess of the period is fitted to the first arrivals, and then to
//! a quarter more of them each time. A guess that is good for a few periods thereby becomes one
//! that is good for all of them. The period is a median of slopes over half of the arrivals, which
//! a few late wake-ups do not affect.

use std::cmp::Ordering;

/// The number of first arrivals that are numbered by the guess alone.
const BY_GUESS: usize = 8;
/// The maximum number of steps in which a line is fitted.
const MOST_STEPS: usize = 100;

/// The denominator, in parts of a nanosecond, of slopes that are not fractions of two arrivals.
const FINE: i128 = 1 << 10;

/// A line through arrivals. Times are nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArrivalLine {
    /// The period, as a fraction so that it stays exact over thousands of periods.
    period: (i128, i128),
    phase: i128,
    /// For each arrival the number of its period.
    pub(super) index: Vec<i64>,
    /// For each arrival its lateness relative to the line.
    pub(super) residuals: Vec<i64>,
}

impl ArrivalLine {
    /// Fits a guess to at least three arrivals in ascending order.
    pub(super) fn follow(arrivals: &[i64], guess: i64) -> Option<ArrivalLine> {
        if arrivals.len() < 3 || guess <= 0 {
            return None;
        }
        let mut count = arrivals.len().min(BY_GUESS);
        let mut index = vec![0];
        for pair in arrivals[..count].windows(2) {
            let steps = nearest((pair[1] - pair[0]).into(), (guess.into(), 1)).max(1);
            index.push(index[index.len() - 1] + steps);
        }
        for _ in 0..MOST_STEPS {
            let seen = &arrivals[..count];
            let period = slope(seen, &index)?;
            let phase = phase(seen, &index, period);
            let is_whole = count == arrivals.len();
            count = arrivals.len().min(count + count / 4);
            let numbers =
                arrivals[..count].iter().map(|&at| nearest(i128::from(at) - phase, period));
            let numbers: Vec<i64> = numbers.collect();
            if is_whole && numbers == index {
                // Least squares are more accurate without
                // late wake-ups, and the median is with them.
                let robust = ArrivalLine::through(arrivals, period, phase, index.clone());
                let squares = least_squares(arrivals, &index).map(|period| {
                    ArrivalLine::through(
                        arrivals,
                        period,
                        self::phase(arrivals, &index, period),
                        index,
                    )
                });
                let narrower = squares.filter(|line| line.spread(25) < robust.spread(25));
                return Some(narrower.unwrap_or(robust));
            }
            index = numbers;
        }
        None
    }

    fn through(
        arrivals: &[i64],
        period: (i128, i128),
        phase: i128,
        index: Vec<i64>,
    ) -> ArrivalLine {
        let residual = |(&at, &k): (&i64, &i64)| {
            let on_line = phase + (i128::from(k) * period.0).div_euclid(period.1);
            (i128::from(at) - on_line) as i64
        };
        let residuals = arrivals.iter().zip(&index).map(residual).collect();
        ArrivalLine { period, phase, index, residuals }
    }

    /// The period in whole nanoseconds.
    pub(super) fn period(&self) -> i64 {
        ((2 * self.period.0 + self.period.1) / (2 * self.period.1)) as i64
    }

    /// The time at which the line begins period `k`.
    pub(super) fn at(&self, k: i64) -> i64 {
        (self.phase + (i128::from(k) * self.period.0).div_euclid(self.period.1)) as i64
    }

    /// The number of arrivals that share their period with the arrival before.
    pub(super) fn doubles(&self) -> usize {
        self.index.windows(2).filter(|pair| pair[0] == pair[1]).count()
    }

    /// The number of periods from the first arrival to the last.
    pub(super) fn periods(&self) -> i64 {
        match (self.index.first(), self.index.last()) {
            (Some(first), Some(last)) => last - first + 1,
            _ => 0,
        }
    }

    /// The range of the residuals, without `trim` of a thousand on each side.
    pub(super) fn spread(&self, trim: usize) -> i64 {
        let mut sorted = self.residuals.clone();
        sorted.sort_unstable();
        let out = sorted.len() * trim / 1_000;
        match (sorted.get(out), sorted.get(sorted.len().saturating_sub(1 + out))) {
            (Some(low), Some(high)) => high - low,
            _ => 0,
        }
    }

    /// For each pair of consecutive arrivals the difference of their distance from whole periods.
    pub(super) fn steps(&self) -> impl Iterator<Item = i64> {
        self.residuals.windows(2).map(|pair| pair[1] - pair[0])
    }

    /// Returns true if arrivals drift: each is timed from the one before,
    /// instead of from a line. If each is late independently, neighbours
    /// differ as much as any two; if arrivals drift, much less.
    pub(super) fn drifts(&self) -> bool {
        let count = self.residuals.len() as i128;
        if count < 16 {
            return false;
        }
        let mean = self.residuals.iter().map(|&r| i128::from(r)).sum::<i128>() / count;
        let of_line: i128 = self.residuals.iter().map(|&r| (i128::from(r) - mean).pow(2)).sum();
        let of_steps: i128 = self.steps().map(|step| i128::from(step).pow(2)).sum();
        // Independent residuals have half the variance
        // of the steps; three times that is not chance.
        2 * of_line > 3 * of_steps
    }
}

/// Returns the number of periods in a length, rounded to the nearest.
fn nearest(length: i128, (numerator, denominator): (i128, i128)) -> i64 {
    let number = (2 * length * denominator + numerator).div_euclid(2 * numerator);
    number.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// Returns the median of the slopes between arrivals that are half of all arrivals apart.
fn slope(arrivals: &[i64], index: &[i64]) -> Option<(i128, i128)> {
    let half = (arrivals.len() / 2).max(1);
    let pairs = arrivals.iter().zip(index).zip(arrivals[half..].iter().zip(&index[half..]));
    let apart = pairs.filter(|&((a, k), (b, l))| l > k && b > a);
    let slopes = apart
        .map(|((&a, &k), (&b, &l))| (i128::from(b) - i128::from(a), i128::from(l) - i128::from(k)));
    let mut slopes: Vec<(i128, i128)> = slopes.collect();
    slopes.sort_unstable_by(by_value);
    slopes.get(slopes.len() / 2).copied()
}

/// Returns the slope of least squares, in parts of
/// [`FINE`] of a nanosecond; `None` if numbers overflow.
fn least_squares(arrivals: &[i64], index: &[i64]) -> Option<(i128, i128)> {
    let origin = *arrivals.first()?;
    let (mut k, mut a, mut kk, mut ka) = (0i128, 0i128, 0i128, 0i128);
    for (&at, &number) in arrivals.iter().zip(index) {
        let (at, number) = (i128::from(at) - i128::from(origin), i128::from(number));
        k += number;
        a += at;
        kk = kk.checked_add(number.checked_mul(number)?)?;
        ka = ka.checked_add(number.checked_mul(at)?)?;
    }
    let count = arrivals.len() as i128;
    let above = count.checked_mul(ka)?.checked_sub(k.checked_mul(a)?)?;
    let below = count.checked_mul(kk)?.checked_sub(k.checked_mul(k)?)?;
    if below <= 0 {
        return None;
    }
    let slope = above.checked_mul(FINE)?.div_euclid(below);
    (slope > 0).then_some((slope, FINE))
}

fn by_value(a: &(i128, i128), b: &(i128, i128)) -> Ordering {
    (a.0 * b.1).cmp(&(b.0 * a.1))
}

/// Returns the median of the distances of arrivals from multiples of the period.
fn phase(arrivals: &[i64], index: &[i64], (numerator, denominator): (i128, i128)) -> i128 {
    let later = arrivals
        .iter()
        .zip(index)
        .map(|(&at, &k)| i128::from(at) - (i128::from(k) * numerator).div_euclid(denominator));
    let mut later: Vec<i128> = later.collect();
    later.sort_unstable();
    later[later.len() / 2]
}
