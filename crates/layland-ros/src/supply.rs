//! When the thread of an executor gets a CPU.

use layland_model::{Duration, Service, Time};

/// When the thread of an executor gets a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Supply {
    /// At all times.
    Always,
    /// A budget in each period, at any time within it, as a reservation of the kernel gives it. Bounds hold wherever it
    /// comes. A simulation puts it where it hurts: at the start of the first period and at the end of all others, so
    /// that nothing comes for `2 (period - budget)` in between.
    Server {
        /// The period.
        period: Duration,
        /// What each period gives.
        budget: Duration,
    },
    /// In these intervals, which ascend and do not touch; each begins at its first and ends before its second instant.
    Intervals(Vec<(Time, Time)>),
}

impl Supply {
    /// The first instant from `from` on that is supplied.
    pub(crate) fn first_from(&self, from: Time) -> Option<Time> {
        match *self {
            Supply::Always => Some(from),
            Supply::Server { period, budget } => {
                let at = from.since_start();
                if at < budget {
                    return Some(from);
                }
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

    /// When an amount of work that begins at a supplied instant has been done. An end at the end of an interval counts
    /// as that instant, not as the begin of the next interval.
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
                // All budgets that follow come at the ends of their periods. The last one is used in part.
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
