//! The constant-bandwidth server (**CBS**): a thread with a reservation of `Q` units of processor
//! time every `T`, due within `D`.
//!
//! Abeni and Buttazzo 1998 for the server; Abeni, Lipari and Lelli 2014 for hard reservations and
//! Lelli et al. 2016 for the form in Linux; Tang, Anderson and Abeni 2021, Section 2.2, for the
//! states and their names.
//!
//! | paper | here | meaning |
//! |-------|------|---------|
//! | `Q`, `T`, `D` | `Q`, `T`, `D` | budget, period, relative deadline, `D <= T` |
//! | `q` | `q` | the remaining budget |
//! | `d` | `d` | the current absolute deadline |
//! | idle | [`ServerState::Blocked`] | the thread sleeps |
//!
//! The rules, where `t` is now and `r = d - D + T` the next replenishment (`r = d` if `D = T`):
//!
//! | event | condition | effect |
//! |---|---|---|
//! | the thread enters | | [`new_period`](Server::new_period) |
//! | it uses up `q`, or yields | `t < r` | throttled until `r` |
//! | | `t >= r` | the policy's choice: [`replenish`](Server::replenish) at once, or throttled until `t` |
//! | it wakes up | `t >= r`, or `t >= d` and `D = T` | `new_period` |
//! | | `d <= t < r` | `q := 0`, throttled until `r` |
//! | | `t < d`, `q = 0` | throttled until `r` |
//! | | `t < d`, `q / (d - t) <= Q / D` | `q` and `d` stay |
//! | | `t < d`, `q / (d - t) > Q / D`, `D = T` | `new_period` |
//! | | as above, but `D < T` | `d` stays, `q := Q (d - t) / D` |
//! | its parameters change | | `q` and `d` stay until the next `new_period` or `replenish` |
//!
//! A deadline at the current time has passed (`t = d` counts as `t > d`).
//!
//! Rounding: `q` is exact, and rational if the last rule of a wake-up makes it so. A CPU runs the
//! thread for the whole nanoseconds of `q`. A rest below one nanosecond counts as used up, but is
//! not lost: the next replenishment adds to it. On a CPU of a speed other than 1, a thread can be
//! preempted with such a rest; it then runs for one nanosecond, and the overrun is paid back.
//!
//! If a nanosecond costs less than one (a thread that reclaims, a CPU that is slowed down), that
//! rule would end a job with *C = Q* just before its end. In this case [`Rest::Counts`]: a budget
//! is used up at the first whole nanosecond at which `q <= 0`, and the next replenishment pays back
//! the overrun, which is less than the price of a nanosecond.
//!
//! The **zero-lag time** of a sleeping thread is `d - q T / Q`: until then it could wake up and use
//! its reservation.
//!
//! [`Arith::Kernel`] uses the kernel's integers: the wake-up rule compares in units of 1024 ns, and
//! the budget that it gives and the charges are whole nanoseconds.
#![expect(non_snake_case, reason = "Q, T and D are the symbols of the papers")]

use super::price::{Amount, Arith, Price, Rest, to_ratio};
use layland_model::{Duration, Rate, Service, Time};

/// The state of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// The thread has not entered.
    Inactive,
    /// The thread may run: it is in a run queue.
    Eligible,
    /// The budget is used up; a timer will replenish it.
    Throttled,
    /// The thread sleeps.
    Blocked,
    /// The thread has left.
    Dead,
}

/// The result of a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Woken {
    /// The thread may run.
    Eligible,
    /// It may run after a replenishment at this time.
    ThrottledUntil(Time),
}

/// A server: see the file header.
///
/// ```
/// use layland_model::{Duration, Service, Time};
/// use layland_policy::deadline::price::Price;
/// use layland_policy::deadline::server::{Server, Woken};
/// let mut server = Server::new(Service::from_ms(3), Duration::from_ms(10), Duration::from_ms(10));
/// server.new_period(Time::ZERO);
/// server.charge(Duration::from_ms(2), &Price::Unit);
/// // It sleeps until 5: 1 ms in the 5 ms before the deadline is less than 3 in 10, so it goes on.
/// assert_eq!(server.wake(Time::from_ms(5)), Woken::Eligible);
/// assert_eq!((server.budget(), server.deadline()), (Service::from_ms(1), Time::from_ms(10)));
/// ```
#[derive(Clone, Debug)]
pub struct Server {
    Q: Service,
    T: Duration,
    D: Duration,
    q: Amount,
    d: Time,
    rest: Rest,
    arith: Arith,
    /// The state, which the owner of the run queues sets.
    pub state: ServerState,
}

impl Server {
    /// Returns an inactive server.
    pub fn new(Q: Service, T: Duration, D: Duration) -> Server {
        Server {
            Q,
            T,
            D,
            q: Amount::Whole(0),
            d: Time::NEVER,
            rest: Rest::IsKept,
            arith: Arith::Exact,
            state: ServerState::Inactive,
        }
    }

    /// Sets the arithmetic of its budget.
    pub fn count_in(&mut self, rest: Rest, arith: Arith) {
        (self.rest, self.arith) = (rest, arith);
    }

    /// Returns the current deadline `d`; [`Time::NEVER`] before the first period.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.d
    }
    /// Returns the whole nanoseconds of `q`, at least zero.
    #[inline]
    pub fn budget(&self) -> Service {
        Service::from_ns(self.q.floor().max(0))
    }
    /// Returns the exact `q`.
    pub fn exact_budget(&self) -> &Amount {
        &self.q
    }
    /// Returns true if the budget is used up: the rest, if any, cannot be used.
    #[inline]
    pub fn is_exhausted(&self) -> bool {
        match (&self.q, self.rest) {
            (Amount::Whole(q), _) => *q <= 0,
            (Amount::Exact(q), Rest::IsKept) => q.floor().is_none_or(|whole| whole <= 0),
            (Amount::Exact(q), Rest::Counts) => **q <= Rate::ZERO,
        }
    }
    /// Returns the time for which a CPU must run the thread at this price; at least 1 ns.
    #[inline]
    pub fn grant(&self, price: &Price) -> Duration {
        let time = match self.rest {
            Rest::IsKept => self.budget().ns(),
            Rest::Counts => price.lasts(&self.q),
        };
        // An engine that reports late may find less than a nanosecond: grant one.
        Duration::from_ns(time.max(1))
    }
    /// Returns the first whole nanosecond that is not before `d - q T / Q`.
    pub fn zero_lag(&self) -> Time {
        if self.d == Time::NEVER {
            return Time::ZERO;
        }
        let time = &(&self.q.rate() * &Rate::whole(self.T.ns())) / &Rate::whole(self.Q.ns().max(1));
        let before = match self.arith {
            Arith::Exact => time.floor(),
            // The kernel's division truncates towards zero.
            Arith::Kernel if time < Rate::ZERO => time.ceil(),
            Arith::Kernel => time.floor(),
        };
        self.d - Duration::from_ns(before.unwrap_or(0))
    }
    /// Returns `Q`, `T` and `D`.
    pub fn parameters(&self) -> (Service, Duration, Duration) {
        (self.Q, self.T, self.D)
    }
    /// Returns `T`.
    pub fn period(&self) -> Duration {
        self.T
    }
    /// Returns `Q / T`.
    pub fn bandwidth(&self) -> Rate {
        Rate::new(self.Q.ns(), self.T.ns())
    }
    /// Returns `d - D + T`, the time at which a throttled server is replenished.
    #[inline]
    pub fn replenishment(&self) -> Time {
        self.d - self.D + self.T
    }

    /// Sets other parameters, used from the next `new_period` or `replenish` on.
    pub fn set_parameters(&mut self, Q: Service, T: Duration, D: Duration) {
        (self.Q, self.T, self.D) = (Q, T, D);
    }

    /// `q := Q; d := t + D`.
    pub fn new_period(&mut self, t: Time) {
        self.q = Amount::Whole(self.Q.ns());
        self.d = t + self.D;
    }

    /// `d := d + T; q := q + Q`, repeated until `q > 0`.
    pub fn replenish(&mut self) {
        loop {
            self.d += self.T;
            self.q = self.q.plus(self.Q.ns());
            if !self.is_exhausted() {
                return;
            }
        }
    }

    /// Starts a server anew whose deadline is still in the past. Linux does this after `replenish`.
    pub fn reset_lag(&mut self, t: Time) {
        if self.d < t {
            self.new_period(t);
        }
    }

    /// Charges the thread for running for this long at this price.
    #[inline]
    pub fn charge(&mut self, length: Duration, price: &Price) {
        if let (Amount::Whole(q), Price::Unit) = (&mut self.q, price) {
            *q -= length.ns();
        } else {
            self.q = self.q.minus(&price.cost(length));
        }
    }

    /// Corrects a charge: the thread ran for `executed`, but was charged for `charged`. Afterwards
    /// `q` is at most `Q`.
    pub fn correct(&mut self, charged: Duration, executed: Duration, price: &Price) {
        if executed == charged {
            return;
        }
        self.charge(executed - charged, price);
        if self.q.floor() >= self.Q.ns() {
            self.q = Amount::Whole(self.Q.ns());
        }
    }

    /// Uses up the budget, because the engine reports so or the thread yields. A rest below one
    /// nanosecond stays, and so does an overrun.
    pub fn exhaust(&mut self) {
        if self.is_exhausted() {
            return;
        }
        self.q = match self.rest {
            Rest::IsKept => self.q.plus(-self.q.floor()),
            Rest::Counts => Amount::Whole(0),
        };
    }

    /// `q := 0`, as a yield does.
    pub fn yield_budget(&mut self) {
        self.q = Amount::Whole(0);
    }

    /// Applies the wake-up rule. The caller sets the state.
    pub fn wake(&mut self, t: Time) -> Woken {
        let Self { Q, T, D, d, .. } = *self;
        let implicit = D == T;
        if t >= self.replenishment() || (implicit && t >= d) {
            self.new_period(t);
        } else if t >= d {
            self.q = Amount::Whole(0);
            return Woken::ThrottledUntil(self.replenishment());
        } else if self.is_exhausted() {
            return Woken::ThrottledUntil(self.replenishment());
        } else if self.exceeds_bandwidth(d - t) {
            if implicit {
                self.new_period(t);
            } else {
                // The revised rule: the deadline stays, and the budget is cut to the bandwidth.
                self.q = match self.arith {
                    Arith::Exact => {
                        let share = &Rate::new((d - t).ns(), D.ns()) * &Rate::whole(Q.ns());
                        Amount::of(share)
                    }
                    Arith::Kernel => {
                        let density = i128::from(to_ratio(D.ns(), Q.ns()));
                        Amount::Whole(((density * i128::from((d - t).ns())) >> 20) as i64)
                    }
                };
                if self.is_exhausted() {
                    return Woken::ThrottledUntil(self.replenishment());
                }
            }
        }
        Woken::Eligible
    }

    /// Returns true if `q * D > left * Q`.
    fn exceeds_bandwidth(&self, left: Duration) -> bool {
        if self.arith == Arith::Kernel {
            let coarse = |ns: i64| i128::from(ns >> 10);
            let [q, Q] = [self.q.floor(), self.Q.ns()].map(coarse);
            return coarse(self.D.ns()) * q > coarse(left.ns()) * Q;
        }
        match &self.q {
            Amount::Whole(q) => {
                let (budget, length) = (i128::from(*q), i128::from(self.D.ns()));
                budget * length > i128::from(left.ns()) * i128::from(self.Q.ns())
            }
            Amount::Exact(q) => {
                &**q * &Rate::whole(self.D.ns())
                    > &Rate::whole(left.ns()) * &Rate::whole(self.Q.ns())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: i64) -> Time {
        Time::from_ns(ns)
    }

    /// Returns a server with `q` left and its deadline at `d`.
    fn server([Q, T, D]: [i64; 3], q: i64, d: i64) -> Server {
        let mut server =
            Server::new(Service::from_ns(Q), Duration::from_ns(T), Duration::from_ns(D));
        server.new_period(at(d) - Duration::from_ns(D));
        server.charge(Duration::from_ns(Q - q), &Price::Unit);
        server
    }

    fn state(server: &Server) -> (Rate, i64) {
        (server.q.rate(), server.d.ns())
    }

    #[test]
    fn a_period_has_the_whole_budget() {
        let mut server = server([3, 10, 8], 1, 20);
        assert_eq!(server.replenishment(), at(22));
        server.new_period(at(30));
        assert_eq!(state(&server), (Rate::whole(3), 38));
    }

    #[test]
    fn replenishments_pay_overruns_back() {
        let mut implicit = server([3, 10, 10], 0, 20);
        implicit.replenish();
        assert_eq!(state(&implicit), (Rate::whole(3), 30));
        let mut overrun = server([3, 10, 10], -7, 20);
        overrun.replenish();
        assert_eq!(state(&overrun), (Rate::whole(2), 50));
        let mut exact = server([3, 10, 10], -3, 20);
        exact.replenish();
        assert_eq!(state(&exact), (Rate::whole(3), 40));
    }

    #[test]
    fn a_lagging_server_starts_anew_only_where_linux_does() {
        let mut late = server([3, 10, 10], 0, 20);
        late.replenish();
        let mut reset = late.clone();
        reset.reset_lag(at(30));
        assert_eq!(state(&reset), (Rate::whole(3), 30));
        reset.reset_lag(at(31));
        assert_eq!(state(&reset), (Rate::whole(3), 41));
        assert_eq!(state(&late), (Rate::whole(3), 30));
    }

    #[test]
    fn each_row_of_the_wake_up_rule() {
        let until = |at_ns| Woken::ThrottledUntil(at(at_ns));
        // ([Q, T, D], q, d, t) -> (verdict, q, d)
        for (parameters, q, d, t, verdict, after) in [
            // t >= d, implicit; the boundary counts.
            ([3, 10, 10], 2, 20, 25, Woken::Eligible, (Rate::whole(3), 35)),
            ([3, 10, 10], 0, 20, 20, Woken::Eligible, (Rate::whole(3), 30)),
            // t >= d - D + T, constrained.
            ([3, 10, 6], 1, 20, 24, Woken::Eligible, (Rate::whole(3), 30)),
            // d <= t < d - D + T.
            ([3, 10, 6], 1, 20, 20, until(24), (Rate::ZERO, 20)),
            ([3, 10, 6], 1, 20, 23, until(24), (Rate::ZERO, 20)),
            // t < d, q = 0.
            ([3, 10, 10], 0, 20, 15, until(20), (Rate::ZERO, 20)),
            ([3, 10, 6], 0, 20, 15, until(24), (Rate::ZERO, 20)),
            // t < d, q D <= (d - t) Q; equality keeps.
            ([3, 10, 10], 1, 20, 16, Woken::Eligible, (Rate::ONE, 20)),
            ([4, 10, 10], 2, 20, 15, Woken::Eligible, (Rate::whole(2), 20)),
            // t < d, q D > (d - t) Q, implicit.
            ([4, 10, 10], 2, 20, 16, Woken::Eligible, (Rate::whole(4), 26)),
            // The revised rule: 4 * 2 / 6 and 4 * 3 / 6.
            ([4, 10, 6], 3, 20, 18, Woken::Eligible, (Rate::new(4, 3), 20)),
            ([4, 10, 6], 3, 20, 17, Woken::Eligible, (Rate::whole(2), 20)),
            // The rule leaves less than a nanosecond, which cannot be used.
            ([4, 10, 6], 3, 20, 19, until(24), (Rate::new(2, 3), 20)),
        ] {
            let mut server = server(parameters, q, d);
            let found = (server.wake(at(t)), state(&server));
            assert_eq!(found, (verdict, after), "{parameters:?} q={q} d={d} t={t}");
        }
    }

    #[test]
    fn fractions_are_kept_and_granted_whole() {
        let mut server = server([4, 10, 6], 3, 20);
        let _ = server.wake(at(18));
        assert_eq!(server.budget(), Service::from_ns(1));
        server.charge(Duration::from_ns(1), &Price::Unit);
        assert!(server.is_exhausted());
        server.replenish();
        assert_eq!(state(&server), (Rate::new(13, 3), 30));
        server.exhaust();
        assert_eq!(state(&server), (Rate::new(1, 3), 30));
        server.yield_budget();
        assert_eq!(state(&server), (Rate::ZERO, 30));
    }

    #[test]
    fn parameters_count_from_the_next_period_on() {
        let mut server = server([4, 10, 10], 1, 20);
        server.set_parameters(Service::from_ns(6), Duration::from_ns(15), Duration::from_ns(15));
        assert_eq!(state(&server), (Rate::ONE, 20));
        server.charge(Duration::from_ns(1), &Price::Unit);
        server.replenish();
        assert_eq!(state(&server), (Rate::whole(6), 35));
        assert_eq!(server.bandwidth(), Rate::new(2, 5));
    }

    #[test]
    fn what_a_thread_did_not_get_comes_back() {
        let length = Duration::from_ns;
        let mut paused = server([10, 20, 20], 4, 20);
        paused.charge(length(4), &Price::Unit);
        paused.correct(length(4), length(1), &Price::Unit);
        assert_eq!(state(&paused), (Rate::whole(3), 20));
        // It received more than it was charged for.
        paused.correct(length(1), length(6), &Price::Unit);
        assert_eq!(state(&paused), (Rate::whole(-2), 20));
        // A new period has begun in the meantime: the budget never exceeds a whole one.
        paused.new_period(at(20));
        paused.correct(length(6), length(2), &Price::Unit);
        assert_eq!(state(&paused), (Rate::whole(10), 40));
        let mut slow = server([10, 20, 20], 4, 20);
        slow.correct(length(2), length(1), &Price::exact(Rate::new(1, 2)));
        assert_eq!(state(&slow), (Rate::new(9, 2), 20));
    }

    #[test]
    fn slow_cpus_use_less() {
        let mut server = server([4, 10, 10], 4, 20);
        server.charge(Duration::from_ns(1), &Price::exact(Rate::new(1, 2)));
        assert_eq!(state(&server), (Rate::new(7, 2), 20));
        server.charge(Duration::from_ns(1), &Price::exact(Rate::new(1, 2)));
        assert_eq!(server.q, Amount::Whole(3));
    }
}
