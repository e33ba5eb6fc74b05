//! The response times of the tasks of one CPU under fixed priorities, in a form that packing can ask
//! a thousand times: a straight line above them decides most, and iterations begin where earlier ones
//! have ended.

use super::one_cpu::{Arrivals, Load, SHIFT, STEPS};

/// Sums over the first loads in the order of priorities, by their number: what would otherwise be
/// added up for each task anew.
pub(super) struct Above {
    /// The execution of one job of each.
    work: Vec<i64>,
    /// The utilization in units of `2^-SHIFT`, rounded up.
    utilization: Vec<u128>,
    /// The execution in an interval without length: `C + C J / T` each, rounded up.
    at_once: Vec<u128>,
    /// The longest region of those that come after.
    regions_below: Vec<i64>,
}

impl Above {
    pub(super) fn of(loads: &[Load<'_>]) -> Above {
        let mut above = Above {
            work: vec![0],
            utilization: vec![0],
            at_once: vec![0],
            regions_below: vec![0; loads.len() + 1],
        };
        for (at, load) in loads.iter().enumerate() {
            let work = u128::from(load.work.unsigned_abs());
            let (utilization, at_once) = match load.arrivals {
                Arrivals::Apart(period) => {
                    let period = u128::from(period.unsigned_abs());
                    let noticed = u128::from(load.noticed.unsigned_abs());
                    let at_once = work + (work * noticed).div_ceil(period);
                    // No window is as long, and sums stay small.
                    ((work << SHIFT).div_ceil(period), at_once.min(1 << 64))
                }
                // A curve counts as a whole CPU, so that no straight line is above it.
                Arrivals::By(_) => (1 << SHIFT, work),
            };
            above.work.push(above.work[at].saturating_add(load.work));
            above.utilization.push(above.utilization[at] + utilization);
            above.at_once.push(above.at_once[at] + at_once);
        }
        for (at, load) in loads.iter().enumerate().rev() {
            above.regions_below[at] = above.regions_below[at + 1].max(load.region);
        }
        above
    }

    /// Returns false if the utilization is at most 1. A rounded sum that exceeds 1 proves nothing.
    pub(super) fn may_be_overloaded(&self) -> bool {
        self.utilization.last().is_some_and(|&utilization| utilization > 1 << SHIFT)
    }

    /// Returns true if the task at this position keeps its deadline even if the interference of each
    /// other one grows in a straight line above its steps, which is a **sufficient** condition.
    pub(super) fn leave_enough(&self, loads: &[Load<'_>], at: usize, delaying: usize) -> bool {
        let own = &loads[at];
        let Arrivals::Apart(period) = own.arrivals else { return false };
        // Otherwise a busy period may have a second job of the task.
        if own.deadline > period {
            return false;
        }
        let others = |sums: &[u128]| sums[delaying] - (sums[at + 1] - sums[at]);
        let blocking = own.blocking.max(self.regions_below[delaying]);
        let [own_work, blocking, window] =
            [own.work, blocking, own.window()].map(|time| u128::from(time.unsigned_abs()));
        let needed = own_work + blocking + others(&self.at_once);
        let left = (1u128 << SHIFT).saturating_sub(others(&self.utilization));
        // The left side overflows only where it is too large.
        needed.checked_mul(1 << SHIFT).is_some_and(|needed| needed <= left * window)
    }
}

/// Returns true if the task at this position, which the first `delaying` tasks delay by their
/// priority, keeps its deadline. The highest priority comes first.
pub(super) fn keeps_deadline(
    loads: &mut [Load<'_>],
    at: usize,
    delaying: usize,
    above: &Above,
) -> bool {
    let own = loads[at];
    let blocking = own.blocking.max(above.regions_below[delaying]);
    let interference = |length: i64| {
        let others = loads[..delaying].iter().enumerate().filter(|&(other, _)| other != at);
        others.map(|(_, load)| load.interference(length)).fold(0, i64::saturating_add)
    };
    // The first busy period has at least a job of each, and is as long as with fewer tasks.
    let one_of_each = above.work[delaying].saturating_add(blocking) - 1;
    let (mut jobs, mut end) = (1, one_of_each.max(own.least_end));
    let mut first_end = None;
    for _ in 0..STEPS {
        let own_work = own.work.saturating_mul(jobs).saturating_add(blocking);
        let arrived = own.arrivals.distance(jobs - 1) - own.jitter;
        let next = own_work.saturating_add(interference(end.max(own_work)));
        if next > own.deadline.saturating_add(arrived) {
            return false;
        }
        if next > end {
            end = next;
            continue;
        }
        let least_end = *first_end.get_or_insert(end);
        if own.arrivals.distance(jobs) - own.jitter >= end {
            // The next job arrives when this busy period is over.
            loads[at].least_end = least_end;
            return true;
        }
        jobs += 1;
    }
    false
}
