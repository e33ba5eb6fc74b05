//! Arrival curves: the maximum number of jobs of a task that can arrive within a given time.

use crate::{Duration, Separation, TIME_LIMIT};

/// An arrival curve, given by **minimum distances** (a *delta-min vector*): entry `k`, counted from
/// 0, is the least time from the first to the last of `k + 2` consecutive arrivals.
///
/// Distances that follow from shorter ones can be omitted: `j + k` steps from one arrival to the
/// next take at least as long as `j` steps and `k` steps together (*super-additivity*). This holds
/// within the vector. Beyond its end nothing else is known: the curve continues with the longest
/// sum of distances of the vector. So bursts repeat, and in the long run arrivals are `max d_k / k`
/// apart, where `d_k` is the distance of `k` steps.
///
/// Two vectors that describe the same arrivals are the same curve: distances that follow from
/// others are filled in, and omitted at the end.
///
/// ```
/// use layland_model::{ArrivalCurve, Duration};
/// let ms = Duration::from_ms;
/// // Bursts of three, 1 ms apart, every 20 ms.
/// let curve = ArrivalCurve::new(&[ms(1), ms(2), ms(20)]).unwrap();
/// assert_eq!([0, 1, 2, 3, 4, 5, 6].map(|steps| curve.distance(steps).ns() / 1_000_000), [0, 1, 2, 20, 21, 22, 40]);
/// assert_eq!([0, 1, 2, 20, 21].map(|length| curve.arrivals_within(ms(length))), [0, 1, 2, 3, 4]);
/// assert_eq!((curve.cycle(), curve.separation()), ((3, ms(20)), Duration::from_ns(6_666_666)));
/// // A single distance is that of a sporadic task.
/// assert!(ArrivalCurve::new(&[ms(5), ms(10)]).unwrap().is_sporadic());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrivalCurve {
    /// The length of the shortest vector that gives the same curve: every distance after it is a
    /// sum of shorter ones.
    given: usize,
    /// `d_1` and so on: the given distances, and more until they repeat.
    distances: Box<[Duration]>,
    /// From the last of the distances on, `d_(k + steps) = d_k + length`.
    steps: u64,
    length: Duration,
}

/// The reason why distances are not an arrival curve.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CurveError {
    /// The vector is empty.
    #[error("there is no distance")]
    Empty,
    /// There are too many distances.
    #[error("there are {0} distances, and at most {max} are read", max = ArrivalCurve::MAX)]
    TooMany(usize),
    /// A distance is negative or too long.
    #[error("the distance {0} is out of range")]
    OutOfRange(Duration),
    /// More arrivals would take less time.
    #[error("{arrivals} arrivals would take {longer}, and {more} only {shorter}", more = arrivals + 1)]
    Falls {
        /// The smaller number of arrivals.
        arrivals: usize,
        /// Their distance.
        longer: Duration,
        /// The distance of one more arrival.
        shorter: Duration,
    },
    /// In the long run, more than one job may arrive each nanosecond.
    #[error("more jobs may arrive than one each nanosecond in the long run")]
    Unbounded,
}

impl CurveError {
    /// Advice for the user.
    pub fn help(&self) -> &'static str {
        match self {
            CurveError::Empty => {
                "give the least time from one arrival to the next, to the one after, and so on"
            }
            CurveError::TooMany(_) => "leave out the longest: the curve goes on by itself",
            CurveError::OutOfRange(_) => "distances are 0s or longer, and at most about 36 years",
            CurveError::Falls { .. } => "distances do not fall: each is that of one arrival more",
            CurveError::Unbounded => {
                "give one more distance: the least time in which all but the first of a burst come"
            }
        }
    }
}

impl ArrivalCurve {
    /// The maximum number of distances that can be given.
    pub const MAX: usize = 512;

    /// Builds the curve of these distances.
    ///
    /// # Errors
    /// Returns an error if there are no distances or too many, if they decrease or are out of
    /// range, or if they let too many jobs arrive in the long run.
    pub fn new(delta_min: &[Duration]) -> Result<ArrivalCurve, CurveError> {
        if delta_min.is_empty() {
            return Err(CurveError::Empty);
        }
        if delta_min.len() > ArrivalCurve::MAX {
            return Err(CurveError::TooMany(delta_min.len()));
        }
        for (at, pair) in delta_min.windows(2).enumerate() {
            if pair[1] < pair[0] {
                let [longer, shorter] = [pair[0], pair[1]];
                return Err(CurveError::Falls { arrivals: at + 2, longer, shorter });
            }
        }
        let out_of_range = |length: &&Duration| !(0..=TIME_LIMIT).contains(&length.ns());
        if let Some(&length) = delta_min.iter().find(out_of_range) {
            return Err(CurveError::OutOfRange(length));
        }
        let mut growing = Growing::default();
        for &own in delta_min {
            growing.push(own.ns());
        }
        let Growing { parts, mut d } = growing;
        let given = parts.last().map_or(1, |&(steps, _)| steps);
        d.truncate(given);
        // The longest mean distance; among equal ones, the one of fewer steps.
        let (mut steps, mut length) = parts[0];
        for &(k, part) in &parts {
            if i128::from(part) * steps as i128 > i128::from(length) * k as i128 {
                (steps, length) = (k, part);
            }
        }
        if length < steps as i64 {
            return Err(CurveError::Unbounded);
        }
        let mut growing = Growing { parts, d };
        // Distances repeat for good once `given` of them in a row do: each one is a sum of the last
        // `given`.
        let mut repeated = 0;
        while repeated < given && growing.d.last().is_none_or(|&last| last <= TIME_LIMIT) {
            growing.push(0);
            let (k, last) = (growing.d.len(), growing.d[growing.d.len() - 1]);
            let before = if k > steps { growing.d[k - steps - 1] } else { 0 };
            repeated = if last == before + length { repeated + 1 } else { 0 };
        }
        let distances = growing.d.into_iter().map(Duration::from_ns).collect();
        Ok(ArrivalCurve {
            given,
            distances,
            steps: steps as u64,
            length: Duration::from_ns(length),
        })
    }

    /// The shortest vector that describes the curve, with all distances that follow from others up
    /// to the last. [`new`](Self::new) builds the same curve from it.
    pub fn delta_min(&self) -> &[Duration] {
        &self.distances[..self.given]
    }

    /// `d_k`, the least time of `steps` steps from one arrival to the next. Saturates.
    pub fn distance(&self, steps: u64) -> Duration {
        let Some(at) = steps.checked_sub(1) else { return Duration::ZERO };
        if let Some(&distance) = usize::try_from(at).ok().and_then(|at| self.distances.get(at)) {
            return distance;
        }
        let count = self.distances.len() as u64;
        let cycles = (steps - count).div_ceil(self.steps);
        let base = self.distances[(steps - cycles * self.steps) as usize - 1].ns();
        let more = i64::try_from(cycles).unwrap_or(i64::MAX).saturating_mul(self.length.ns());
        // Beyond the limit of times the distances may not repeat yet: stay monotonic.
        Duration::from_ns(base.saturating_add(more)).max(self.distances[self.distances.len() - 1])
    }

    /// The maximum number of jobs that arrive in a half-open interval of this length; 0 if the
    /// length is not positive.
    pub fn arrivals_within(&self, length: Duration) -> i64 {
        if length <= Duration::ZERO {
            return 0;
        }
        let last = self.distances[self.distances.len() - 1];
        // Distances beyond the limit of times may not repeat, but no caller needs them.
        let repeat = length > last && last.ns() <= TIME_LIMIT;
        let cycles = if repeat { (length - last).div_ceil(self.length) } else { 0 };
        let rest = Duration::from_ns(length.ns() - cycles * self.length.ns());
        let steps = self.distances.partition_point(|&distance| distance < rest) as i64;
        1 + steps + cycles * self.steps as i64
    }

    /// The number of steps of a cycle, and its length: in the long run, this number of jobs arrives
    /// within this length.
    pub fn cycle(&self) -> (u64, Duration) {
        (self.steps, self.length)
    }

    /// The number of steps from which on cycles repeat exactly, and their distance.
    pub fn repeats_from(&self) -> (u64, Duration) {
        (self.distances.len() as u64, self.distances[self.distances.len() - 1])
    }

    /// The mean distance of arrivals in the long run, rounded down; at least a nanosecond.
    pub fn separation(&self) -> Duration {
        Duration::from_ns(self.length.ns() / self.steps as i64)
    }

    /// Returns true if the curve only states the minimum distance of two consecutive arrivals.
    pub fn is_sporadic(&self) -> bool {
        self.given == 1
    }
}

/// Distances that are extended by the longest sum.
#[derive(Default)]
struct Growing {
    /// The distances that are longer than any sum of shorter ones, with their numbers of steps.
    parts: Vec<(usize, i64)>,
    d: Vec<i64>,
}

impl Growing {
    /// Appends this distance, or the longest sum of shorter ones if that is longer.
    fn push(&mut self, own: i64) {
        let k = self.d.len() + 1;
        let before = |steps: usize| if k == steps { 0 } else { self.d[k - steps - 1] };
        let sums = self.parts.iter().map(|&(steps, part)| part.saturating_add(before(steps)));
        let longest = sums.max();
        if k == 1 || longest.is_none_or(|longest| own > longest) {
            self.parts.push((k, own));
        }
        self.d.push(longest.unwrap_or(0).max(own));
    }
}

/// Arrivals by a curve: each job arrives as soon as the curve permits, or later by a drawn amount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurveArrivals {
    /// The curve.
    pub curve: ArrivalCurve,
    /// An amount that is added to the least distance from earlier arrivals; zero if omitted.
    pub extra: Option<Separation>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ns(lengths: &[i64]) -> Vec<Duration> {
        lengths.iter().copied().map(Duration::from_ns).collect()
    }

    /// The longest sum of distances, over every way to reach this number of steps by shorter ones.
    fn slow(delta_min: &[i64], steps: usize) -> Vec<i64> {
        let mut d = vec![0];
        for k in 1..=steps {
            let own = delta_min.iter().enumerate().filter(|&(at, _)| at < k);
            d.push(own.map(|(at, part)| part + d[k - at - 1]).max().unwrap());
        }
        d
    }

    #[test]
    fn faults_are_told() {
        for (delta_min, fault) in [
            (vec![], CurveError::Empty),
            (ns(&[0, 0]), CurveError::Unbounded),
            (ns(&[0, 0, 2]), CurveError::Unbounded),
            (ns(&[-1, 5]), CurveError::OutOfRange(Duration::from_ns(-1))),
            (ns(&[1; 513]), CurveError::TooMany(513)),
            (
                ns(&[1, 5, 4]),
                CurveError::Falls {
                    arrivals: 3,
                    longer: Duration::from_ns(5),
                    shorter: Duration::from_ns(4),
                },
            ),
        ] {
            assert_eq!(ArrivalCurve::new(&delta_min), Err(fault.clone()), "{delta_min:?}");
            assert!(!fault.help().is_empty());
        }
    }

    #[test]
    fn distances_up_to_the_limit_do_not_overflow() {
        let curve = ArrivalCurve::new(&ns(&[0, TIME_LIMIT - 1, TIME_LIMIT])).unwrap();
        assert_eq!(curve.arrivals_within(Duration::from_ns(TIME_LIMIT)), 3);
        assert!(curve.distance(u64::MAX) >= Duration::from_ns(TIME_LIMIT));
        assert!(curve.arrivals_within(Duration::MAX) >= 3);
    }

    proptest! {
        /// Distances, numbers of arrivals and long-run rates equal those of the longest sums,
        /// however far away.
        #[test]
        fn all_is_as_every_sum_says(
            first in 0i64..9,
            more in prop::collection::vec(0i64..12, 0..7),
            asked in 1i64..2000,
        ) {
            let mut given = vec![first];
            more.iter().for_each(|step| given.push(given[given.len() - 1] + step));
            let Ok(curve) = ArrivalCurve::new(&ns(&given)) else {
                let last = given.iter().enumerate().all(|(at, &d)| d <= at as i64);
                prop_assert!(last, "{given:?}");
                return Ok(());
            };
            let d = slow(&given, 2000);
            for (steps, &distance) in d.iter().enumerate() {
                prop_assert_eq!(curve.distance(steps as u64).ns(), distance, "{} of {:?}", steps, given);
            }
            let within = d.iter().take_while(|&&distance| distance < asked).count() as i64;
            prop_assert!(within <= 2000);
            prop_assert_eq!(curve.arrivals_within(Duration::from_ns(asked)), within);
            prop_assert_eq!(curve.arrivals_within(Duration::ZERO), 0);
            // The curve that was written is read back unchanged; a vector with the same meaning
            // gives an equal curve.
            prop_assert_eq!(ArrivalCurve::new(curve.delta_min()), Ok(curve.clone()));
            prop_assert_eq!(ArrivalCurve::new(&ns(&d[1..40])), Ok(curve.clone()));
            let (jobs, length) = curve.cycle();
            let rate = |k: usize| length.ns() * k as i64 >= given[k - 1] * jobs as i64;
            prop_assert!((1..=given.len()).all(rate));
            prop_assert_eq!(d[1000 + jobs as usize] - d[1000], length.ns());
            prop_assert_eq!(curve.is_sporadic(), (1..40).all(|k| d[k] == d[1] * k as i64));
        }
    }
}
