//! Signs that an admitted thread does not get what it was promised, from the kernel's account of
//! its execution and its waits.

use super::register::{Guarantee, Reservation};
use layland_model::Duration;

/// The account of a thread over some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// The number of times that it began to run.
    pub times: i64,
    /// The time for which it ran.
    pub ran: Duration,
    /// The time for which it waited for a CPU. A wait that has not ended is not included.
    pub waited: Duration,
    /// The length of the observation.
    pub within: Duration,
}

/// A problem of a thread with a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// The average wait of its jobs was so long that they were late.
    Late(Duration),
    /// The thread never slept, and left a part of its budget: under SCHED_DEADLINE, only
    /// `sched_yield` does that.
    Yields,
}

impl Account {
    /// Returns the problem that the waits of a thread with this reservation indicate, if any. A
    /// thread that uses up its budget has itself caused its waits.
    pub fn sign(&self, of: &Reservation) -> Option<Sign> {
        let Account { times, ran, waited, within } = *self;
        // A wait that has not ended is not counted yet, so that one job is not enough for a
        // decision.
        if times < 2 {
            return None;
        }
        // A part of the first and of the last period may be outside the interval.
        let whole = (i128::from(within.ns()) - 2 * i128::from(of.period.ns())).max(0);
        let reserved = i128::from(of.runtime.ns()) * whole;
        let used = i128::from(ran.ns()) * i128::from(of.period.ns());
        let most = match of.guarantee {
            Guarantee::Deadlines => of.deadline,
            Guarantee::Tardiness(most) => of.deadline + most,
        };
        let is_late = ran + waited > Duration::from_ns(most.ns().saturating_mul(times));
        if used < reserved && is_late {
            return Some(Sign::Late(Duration::from_ns(waited.ns() / times)));
        }
        // Enforcement by the tick may grant slightly less than the reserved time.
        let never_slept = i128::from((ran + waited).ns()) >= whole;
        (never_slept && 10 * used < 9 * reserved).then_some(Sign::Yields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::Service;

    #[test]
    fn waits_tell_late_jobs_from_budgets_that_are_used_up_or_given_away() {
        let ms = Duration::from_ms;
        let mut of = Reservation::implicit("a", Service::from_ms(5), ms(10));
        of.deadline = ms(6);
        let seen = |of: &Reservation, ran, waited, times| {
            Account { times, ran: ms(ran), waited: ms(waited), within: ms(1_000) }.sign(of)
        };
        // A hundred jobs of 4 ms, which are throttled for 3 ms each, or not at all.
        assert_eq!(seen(&of, 400, 300, 100), Some(Sign::Late(ms(3))));
        assert_eq!(seen(&of, 400, 100, 100), None);
        // The thread wants more than its reservation, or has slept all the time.
        assert_eq!(seen(&of, 500, 500, 100), None);
        assert_eq!(seen(&of, 0, 0, 0), None);
        assert_eq!(seen(&of, 1, 500, 1), None);
        // The thread gives away 4 of 5 ms in each period, which ends with its deadline.
        of.deadline = ms(10);
        assert_eq!(seen(&of, 100, 900, 100), Some(Sign::Yields));
        assert_eq!(seen(&of, 100, 500, 100), None);
        assert_eq!(seen(&of, 490, 500, 100), None);
    }
}
