//! The server of one thread under SCHED_DEADLINE, rebuilt from the record of the kernel. No event
//! carries the budget or the deadline, but the kernel's rules determine both as soon as one period
//! is certain.
//!
//! | what is seen | what the kernel did (`t` is now, `r = d - D + T`) |
//! |---|---|
//! | a wake-up at `t >= d` (`D < T`: at `t >= r`) | a new period: `q = Q`, `d = t + D` |
//! | one at `t < d` with `q / (d - t) <= Q / D` | nothing |
//! | one at `t < d` with more than that | a new period; with `D < T`: `q = Q (d - t) / D` |
//! | one with `q <= 0`, or with `D < T` at `d <= t < r` | throttled until `r` |
//! | the CPU goes to a lower class | throttled until `r`; then `d += T`, `q += Q` until `q > 0` |
//!
//! The rules are from Abeni, Lipari and Lelli 2014, in the form of `kernel/sched/deadline.c`.
//! Budgets and deadlines are intervals, because the scheduler's clock is not that of the trace, and
//! a thread is not charged for interrupts. If two rules with different results could have applied,
//! nothing is known until the next certain period.

use layland_model::{Duration, Time};

/// The maximum difference between an instant of the kernel and that of its event.
const NOISE: Duration = Duration::from_us(100);
/// The maximum difference between the charge of a run and its recorded length.
const CHARGED: Duration = Duration::from_us(20);
/// A used-up budget is noticed at the next tick, and no kernel ticks less often than this.
const TICK: Duration = Duration::from_ms(10);
/// At most one in `UNCHARGED` parts of a run is not charged, because interrupts used it.
const UNCHARGED: i64 = 50;

/// The reservation of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserved {
    /// The processor time that the thread gets in each period.
    pub runtime: Duration,
    /// The relative deadline, counted from the beginning of a period.
    pub deadline: Duration,
    /// The period of the server.
    pub period: Duration,
}

impl Reserved {
    /// Returns the bandwidth's share of a length: `Q length / D`.
    fn share(&self, length: Duration) -> Duration {
        // The product of two durations may exceed 64 bits.
        let product = i128::from(length.ns().max(0)) * i128::from(self.runtime.ns());
        Duration::from_ns((product / i128::from(self.deadline.ns().max(1))) as i64)
    }

    fn is_implicit(&self) -> bool {
        self.deadline == self.period
    }

    /// Returns the number of replenishments after which a budget that is now `left` exceeds zero.
    fn periods_for(&self, left: Duration) -> i64 {
        -left.ns().min(0) / self.runtime.ns().max(1) + 1
    }

    /// Returns the length from a deadline to the next replenishment.
    fn rest(&self) -> Duration {
        self.period - self.deadline
    }
}

/// The bounds of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Between<T> {
    pub(super) least: T,
    pub(super) most: T,
}

/// A period of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Period {
    /// The latest time at which it may have begun.
    pub(super) begin: Time,
    pub(super) deadline: Between<Time>,
    /// The initial budget.
    pub(super) granted: Between<Duration>,
    /// The remaining budget.
    pub(super) left: Between<Duration>,
}

/// The knowledge about a server.
#[derive(Clone, Copy, Debug)]
enum Belief {
    /// Its deadline is no later than this.
    Unknown {
        latest: Time,
    },
    /// If the thread gets more than `limit` before it is throttled, a period began with its last
    /// wake-up, at `woken`.
    Tentative {
        latest: Time,
        woken: Time,
        got_cpu: Option<Time>,
        limit: Duration,
        executed: Duration,
    },
    Known(Period),
}

/// The server of one thread.
#[derive(Clone, Debug)]
pub(super) struct ThreadServer {
    of: Reserved,
    belief: Belief,
    /// True if the server has no budget and waits for its replenishment.
    pub(super) is_throttled: bool,
}

impl ThreadServer {
    /// Creates a server before the first event of its thread.
    pub(super) fn new(of: Reserved, at: Time) -> ThreadServer {
        ThreadServer {
            of,
            belief: Belief::Unknown { latest: at + of.deadline },
            is_throttled: false,
        }
    }

    /// Returns the period, if it is certain.
    pub(super) fn period(&self) -> Option<Period> {
        match self.belief {
            Belief::Known(period) => Some(period),
            Belief::Unknown { .. } | Belief::Tentative { .. } => None,
        }
    }

    /// Returns the latest time of the next replenishment, and the deadline from then on, if the
    /// server is throttled and both are known.
    pub(super) fn next(&self) -> Option<(Time, Between<Time>)> {
        let Period { deadline, left, .. } = self.period().filter(|_| self.is_throttled)?;
        let of = self.of;
        let [fewest, most] = [left.most, left.least].map(|left| of.periods_for(left));
        let next = Between {
            least: deadline.least + of.period * fewest,
            most: deadline.most + of.period * most,
        };
        Some((deadline.most + of.rest() + NOISE, next))
    }

    /// Returns true if the known period may have no budget left.
    pub(super) fn may_be_used_up(&self) -> bool {
        self.period().is_some_and(|period| period.left.least <= Duration::ZERO)
    }

    /// Discards all knowledge about the server.
    pub(super) fn forget(&mut self, at: Time) {
        *self = ThreadServer::new(self.of, at);
    }

    fn begin(&mut self, from: Time, to: Time) {
        let whole = Between { least: self.of.runtime, most: self.of.runtime };
        self.begin_with(from, to, whole);
    }

    fn begin_with(&mut self, from: Time, to: Time, granted: Between<Duration>) {
        let deadline = Between { least: from + self.of.deadline, most: to + self.of.deadline };
        self.belief = Belief::Known(Period { begin: to, deadline, granted, left: granted });
    }

    /// Handles a wake-up of the thread.
    pub(super) fn wake(&mut self, t: Time) {
        self.is_throttled = false;
        let of = self.of;
        match self.belief {
            Belief::Unknown { latest } | Belief::Tentative { latest, .. } => {
                // A thread that has slept past its latest possible replenishment begins a new period.
                if t >= latest + of.rest() {
                    self.begin(t, t + NOISE);
                    return;
                }
                let (limit, executed) = (of.share(latest - t), Duration::ZERO);
                self.belief =
                    Belief::Tentative { latest, woken: t, got_cpu: None, limit, executed };
            }
            Belief::Known(period) => self.wake_known(t, period),
        }
    }

    fn wake_known(&mut self, t: Time, period: Period) {
        let (of, Period { deadline: d, left: q, .. }) = (self.of, period);
        let replenished = Between { least: d.least + of.rest(), most: d.most + of.rest() };
        let latest = d.most;
        // The results of the rules that can have applied.
        let has_passed = t + NOISE >= replenished.least;
        let is_before = t < d.most;
        let exceeds = |q: Duration, d: Time| q > of.share(d - t);
        let can_keep =
            is_before && q.most > Duration::ZERO && !exceeds(q.least.max(Duration::ZERO), d.most);
        let can_exceed = is_before && exceeds(q.most, d.least);
        let can_be_throttled = is_before && q.least <= Duration::ZERO
            || !of.is_implicit() && t + NOISE >= d.least && t < replenished.most;
        let is_new = has_passed || can_exceed && of.is_implicit();
        let is_cut = can_exceed && !of.is_implicit();
        match (is_new, can_keep, can_be_throttled, is_cut) {
            (true, false, false, false) => self.begin(t, t + NOISE),
            (false, true, false, false) => {}
            (false, false, true, false) => {
                self.is_throttled = true;
                let left = if t < d.least {
                    Between { least: q.least, most: q.most.min(Duration::ZERO) }
                } else {
                    Between { least: Duration::ZERO, most: Duration::ZERO }
                };
                let left = Between { least: left.least.min(Duration::ZERO), ..left };
                self.belief = Belief::Known(Period { left, ..period });
            }
            (false, false, false, true) => {
                let cut = |d: Time| of.share(d - t);
                let left = Between { least: cut(d.least), most: cut(d.most) };
                let granted = left;
                self.belief = Belief::Known(Period { begin: t + NOISE, granted, left, ..period });
            }
            // Either a new period begins now, or the server is replenished about now. Both lead to
            // about the same period.
            (true, false, true, false) if replenished.most <= t + NOISE + NOISE => {
                let least = (of.runtime + q.least.min(Duration::ZERO)).max(Duration::ZERO);
                let granted = Between { least, most: of.runtime };
                self.begin_with(t, replenished.most.max(t + NOISE), granted);
            }
            (..) => {
                self.belief = Belief::Unknown { latest };
                self.wake(t);
            }
        }
    }

    /// Handles that the thread gets a CPU. Returns true if its budget was replenished for that and is known.
    pub(super) fn resume(&mut self, t: Time, was_free: bool) -> bool {
        if let Belief::Tentative { got_cpu, .. } = &mut self.belief {
            if got_cpu.is_some() {
                // The server may have been throttled and replenished since another thread of the
                // class took the CPU.
                self.forget(t);
                return false;
            }
            *got_cpu = Some(t);
        }
        let was_throttled = match self.belief {
            Belief::Known(Period { left, deadline, .. }) => {
                let comes = deadline.least + self.of.rest();
                self.is_throttled
                    || left.most <= Duration::ZERO
                    || left.least <= Duration::ZERO && t + NOISE >= comes
            }
            Belief::Unknown { .. } | Belief::Tentative { .. } => self.is_throttled,
        };
        if !was_throttled {
            return false;
        }
        let certainly = std::mem::take(&mut self.is_throttled);
        match self.belief {
            // The thread ran as soon as it could, which was at the replenishment.
            Belief::Unknown { .. } | Belief::Tentative { .. } if was_free => {
                let granted = Between { least: Duration::ZERO, most: self.of.runtime };
                self.begin_with(t - NOISE, t, granted);
                true
            }
            Belief::Unknown { .. } | Belief::Tentative { .. } => {
                self.forget(t);
                false
            }
            Belief::Known(period) => {
                let may_have_budget = !certainly && period.left.most > Duration::ZERO;
                if may_have_budget || t + NOISE < period.deadline.least + self.of.rest() {
                    self.forget(t);
                    return false;
                }
                self.replenish(period, t, was_free);
                self.period().is_some()
            }
        }
    }

    /// Applies `d += T; q += Q` until `q > 0`, at the replenishment.
    fn replenish(&mut self, period: Period, t: Time, was_free: bool) {
        let of = self.of;
        let Between { least: mut early, most: mut late } = period.deadline;
        // The thread ran as soon as it could.
        let seen = Between { least: t - NOISE - of.rest(), most: t - of.rest() };
        if was_free && seen.least <= late && early <= seen.most {
            (early, late) = (early.max(seen.least), late.min(seen.most));
        }
        let came = Between { least: early + of.rest(), most: (late + of.rest()).min(t) };
        let [fewest, most] = [period.left.most, period.left.least].map(|left| of.periods_for(left));
        if fewest != most && was_free {
            let granted = Between { least: Duration::ZERO, most: of.runtime };
            self.begin_with(t - NOISE, t, granted);
            return;
        }
        if fewest != most {
            self.forget(t);
            return;
        }
        let (later, more) = (of.period * fewest, of.runtime * fewest);
        let deadline = Between { least: early + later, most: late + later };
        if deadline.most < came.least {
            // The kernel does not let a server lag behind.
            self.begin(came.least, t);
            return;
        }
        let granted = Between {
            least: (period.left.least + more).min(of.runtime),
            most: (period.left.most + more).min(of.runtime),
        };
        let begin = came.most.max(came.least);
        self.belief = Belief::Known(Period { begin, deadline, granted, left: granted });
    }

    /// Charges the server for a run of this length that ended at `to`.
    pub(super) fn charge(&mut self, length: Duration, to: Time) {
        let of = self.of;
        match &mut self.belief {
            Belief::Unknown { latest } => *latest = (*latest).max(to + of.deadline),
            Belief::Tentative { woken, got_cpu, limit, executed, .. } => {
                *executed += length;
                if *executed > *limit + NOISE {
                    let (from, to) = (*woken, got_cpu.unwrap_or(to).max(*woken));
                    let granted = Between { least: Duration::ZERO, most: of.runtime };
                    let ran = *executed;
                    self.begin_with(from, to, granted);
                    self.charge(ran, to);
                }
            }
            Belief::Known(period) => {
                let uncharged = Duration::from_ns(length.ns() / UNCHARGED) + CHARGED;
                period.left.least -= length + CHARGED;
                period.left.most -= length - uncharged.min(length);
                let comes = Between {
                    least: period.deadline.least + of.rest(),
                    most: period.deadline.most + of.rest(),
                };
                // The replenishment of a late server is not delayed: it comes as soon as the budget is used up.
                if period.left.most <= Duration::ZERO && comes.most <= to {
                    let period = *period;
                    self.replenish(period, to, false);
                } else if period.left.least <= Duration::ZERO && comes.least <= to {
                    self.forget(to);
                }
            }
        }
    }

    /// Handles that the thread loses its CPU to a lower class: its budget is used up, or it has yielded.
    pub(super) fn throttle(&mut self, t: Time) {
        match &mut self.belief {
            Belief::Unknown { .. } | Belief::Tentative { .. } => self.forget(t),
            Belief::Known(Period { left, .. }) => {
                left.most = left.most.min(Duration::ZERO);
                left.least = left.least.min(Duration::ZERO).max(-TICK);
                left.most = left.most.max(left.least);
            }
        }
        self.is_throttled = true;
    }
}
