//! The times at which the thread of an executor gets a CPU.

use layland_model::{Duration, Service, Time};

/// The times at which the thread of an executor gets a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Supply {
    /// At all times.
    Always,
    /// A budget in each period, at any time within it, like a reservation of the kernel. Bounds
    /// hold for any position. A simulation uses the worst one: the start of the first period and
    /// the end of all others, so that there is no supply for `2 (period - budget)` in between.
    Server {
        /// The period.
        period: Duration,
        /// The budget of each period.
        budget: Duration,
    },
    /// In these half-open intervals, which ascend and do not touch.
    Intervals(Vec<(Time, Time)>),
}

impl Supply {
    /// The first supplied instant from `from` on.
    pub(crate) fn first_from(&self, from: Time) -> Option<Time> {
        match *self {
            Supply::Always => Some(from),
            Supply::Server { period, budget } => {
                let at = from.since_start();
                if at < budget {
                    return Some(from);
                }
                // After the first period, every budget comes at the end of its period.
                let number = at.div_floor(period).max(1);
                let end = period.checked_mul(number + 1)?;
                Some(from.max(Time::ZERO + (end - budget)))
            }
            Supply::Intervals(ref all) => {
                let at = all.partition_point(|&(_, end)| end <= from);
                all.get(at).map(|&(start, _)| start.max(from))
            }
        }
    }

    /// The time at which an amount of work ends that begins at a supplied instant. If the work ends
    /// at the end of an interval, this is that instant, not the start of the next interval.
    pub(crate) fn end_of(&self, start: Time, work: Service) -> Option<Time> {
        let left = work.at_unit_speed();
        if left == Duration::ZERO {
            return Some(start);
        }
        match *self {
            Supply::Always => Some(start.saturating_add(left)),
            Supply::Server { period, budget } => {
                let at = start.since_start();
                let number = at.div_floor(period);
                let first = at < budget;
                let end = if first { budget } else { period.checked_mul(number + 1)? };
                if left <= end - at {
                    return Some(start + left);
                }
                // All later budgets come at the ends of their periods. The last one is used in
                // part.
                let left = left - (end - at);
                let periods = left.div_ceil(budget);
                let before = if first { period } else { end };
                let last = before.checked_add(period.checked_mul(periods)?)?;
                let unused = budget.checked_mul(periods)? - left;
                Some(Time::ZERO + (last - unused))
            }
            Supply::Intervals(ref all) => {
                let mut left = left;
                for &(begin, end) in &all[all.partition_point(|&(_, end)| end <= start)..] {
                    let begin = begin.max(start);
                    if left <= end - begin {
                        return Some(begin + left);
                    }
                    left -= end - begin;
                }
                None
            }
        }
    }
}
