//! Checks each second whether the promise still holds. After the admission, threads of others come
//! and go, limits of the kernel change, and any user with the right to do so may change the class
//! of a thread. A broken promise is reported at once, and in the register.

use super::strangers::{Strangers, Watched, lowest};
use crate::ui::terminal;
use layland_guarantee::admission::{Guarantee, Kept, Reservation};
use layland_linux::Member;
use layland_linux::exec::{
    Given, Rival, Thread, Tid, Waits, foreign_deadline, monotonic_ns, processor_time, rivals,
};
use layland_model::Duration;
use std::collections::{BTreeMap, BTreeSet};

/// The interval of the checks.
const INTERVAL_NS: i64 = 1_000_000_000;

/// The promise, and its current state.
pub(super) struct Promise {
    looked_ns: i64,
    /// The number of checks so far.
    looks: u32,
    /// The foreign load that the last answer accounts for; `None` until there is an answer.
    known: Option<Strangers>,
    /// The processor time that each foreign thread had used at the last check.
    used: BTreeMap<(i32, u64), (Duration, i64)>,
    /// The wait statistics of each thread with a reservation at the last check.
    waits: BTreeMap<i32, (Waits, i64)>,
    /// Threads that were seen to yield.
    yields: BTreeSet<i32>,
    /// The number of times that the reservation of each thread was set again.
    anew: BTreeMap<i32, u32>,
    /// The reservation that each thread got.
    given: BTreeMap<i32, Given>,
    /// The reasons why the promise is broken, each once.
    broken: Vec<String>,
}

impl Promise {
    pub(super) fn new() -> Promise {
        Promise {
            looked_ns: monotonic_ns(),
            looks: 0,
            known: None,
            used: BTreeMap::new(),
            waits: BTreeMap::new(),
            yields: BTreeSet::new(),
            anew: BTreeMap::new(),
            given: BTreeMap::new(),
            broken: Vec::new(),
        }
    }

    /// Records the foreign load that the last answer accounts for.
    pub(super) fn counts(&mut self, strangers: Strangers) {
        self.known = Some(strangers);
    }

    /// Records that a thread got its reservation.
    pub(super) fn is_given(&mut self, thread: &Thread, given: &Given) {
        self.given.insert(thread.tid.0, given.clone());
    }

    /// Returns the reasons why the promise is broken.
    pub(super) fn broken(&self) -> &[String] {
        &self.broken
    }

    /// Returns true if a second has passed since the last check.
    pub(super) fn is_due(&mut self) -> bool {
        let now = monotonic_ns();
        let is_due = now - self.looked_ns >= INTERVAL_NS;
        if is_due {
            self.looked_ns = now;
            self.looks += 1;
        }
        is_due
    }

    /// Returns true, once, when a program should have its threads.
    pub(super) fn is_late_to_begin(&self) -> bool {
        const LATE: u32 = 5;
        self.looks == LATE
    }

    /// Returns true if there is foreign load that the last answer does not account for.
    pub(super) fn has_strangers(
        &mut self,
        has_budgets: bool,
        members: &[Member],
        kept: &[Kept],
        count: usize,
        meant: &[Tid],
    ) -> bool {
        let mut deadline = foreign_deadline(members);
        deadline.retain(|(thread, ..)| !meant.contains(&thread.tid));
        let mut found = if has_budgets { Vec::new() } else { rivals(members, lowest(count)) };
        found.retain(|rival| !meant.contains(&rival.thread.tid));
        let at = monotonic_ns();
        let mut used = BTreeMap::new();
        let watched = found.into_iter().filter_map(|rival| self.watched(rival, at, &mut used));
        let rivals: Vec<Watched> = watched.collect();
        self.used = used;
        let found = Strangers { deadline, rivals, kept: kept.to_vec() };
        self.known.as_ref().is_some_and(|known| found.has_more_than(known))
    }

    /// Returns the use of a thread since it was last seen. Nothing is known about a new thread.
    fn watched(
        &self,
        rival: Rival,
        at: i64,
        used: &mut BTreeMap<(i32, u64), (Duration, i64)>,
    ) -> Option<Watched> {
        let key = (rival.thread.tid.0, rival.thread.started);
        let total = processor_time(key.0)?;
        used.insert(key, (total, at));
        let &(before, then) = self.used.get(&key)?;
        let within = Duration::from_ns(at - then);
        Some(Watched { rival, used: total - before, within, in_short: None })
    }

    /// Describes the threads whose class, reservation or CPUs were changed from outside. A changed
    /// priority does not count, because it depends on the admitted threads.
    pub(super) fn changed(&self, held: &[(Thread, usize, Option<Given>)]) -> Vec<String> {
        let of = |(thread, _, now): &(Thread, usize, Option<Given>)| {
            let (was, now) = (self.given.get(&thread.tid.0)?, now.as_ref()?);
            let priority = if was.class == now.class { now.priority } else { was.priority };
            let is_same = *now == Given { priority, ..was.clone() };
            (!is_same && thread.is_alive()).then(|| {
                format!(
                    "thread `{}` ({}) was {}, and has been made {}",
                    thread.name,
                    thread.tid.0,
                    super::list::said(was),
                    super::list::said(now)
                )
            })
        };
        held.iter().filter_map(of).collect()
    }

    /// Returns the problem, if any, that the waits of a thread since the last check indicate.
    pub(super) fn sign(&mut self, thread: &Thread, of: &Reservation) -> Option<Sign> {
        let at = monotonic_ns();
        let now = Waits::of(thread.tid)?;
        let (before, then) = self.waits.insert(thread.tid.0, (now, at))?;
        sign(before, now, Duration::from_ns(at - then), of)
    }

    /// Returns true the first time that a thread is seen to yield.
    pub(super) fn is_first_yield(&mut self, thread: &Thread) -> bool {
        self.yields.insert(thread.tid.0)
    }

    /// Returns true if the reservation of a thread may be set again once more.
    pub(super) fn may_begin_anew(&mut self, thread: &Thread) -> bool {
        /// A program with another period drifts in spite of any number of attempts.
        const TRIES: u32 = 3;
        let tries = self.anew.entry(thread.tid.0).or_default();
        *tries += 1;
        *tries <= TRIES
    }

    /// Withdraws the promise with a warning, once for each reason.
    pub(super) fn withdraw(&mut self, name: &str, reason: String) {
        if self.broken.contains(&reason) {
            return;
        }
        terminal::warn(
            &format!("the promise to {name} no longer holds: {reason}"),
            Some("it goes on with what it has; layland exec --list shows all"),
        );
        self.broken.push(reason);
    }
}

/// A problem of a thread with a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// The average wait of its jobs was so long that they were late.
    Late(Duration),
    /// The thread never slept, and left a part of its budget: under SCHED_DEADLINE, only
    /// `sched_yield` does that.
    Yields,
}

/// Implements [`Promise::sign`]. A thread that uses up its budget has itself caused its waits.
fn sign(before: Waits, now: Waits, within: Duration, of: &Reservation) -> Option<Sign> {
    let times = now.times - before.times;
    let (ran, waited) = (now.ran - before.ran, now.waited - before.waited);
    // A wait that has not ended is not counted yet, so that one job is not enough for a decision.
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

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::Service;

    #[test]
    fn waits_tell_late_jobs_from_budgets_that_are_used_up_or_given_away() {
        let ms = Duration::from_ms;
        let waits = |ran, waited, times| Waits { ran: ms(ran), waited: ms(waited), times };
        let mut of = Reservation::implicit("a", Service::from_ms(5), ms(10));
        of.deadline = ms(6);
        let seen = |before, now| sign(before, now, ms(1_000), &of);
        let start = waits(1_000, 70, 300);
        // A hundred jobs of 4 ms, which are throttled for 3 ms each, or not at all.
        assert_eq!(seen(start, waits(1_400, 370, 400)), Some(Sign::Late(ms(3))));
        assert_eq!(seen(start, waits(1_400, 170, 400)), None);
        // The thread wants more than its reservation, or has slept all the time.
        assert_eq!(seen(start, waits(1_500, 570, 400)), None);
        assert_eq!(seen(start, start), None);
        assert_eq!(seen(start, waits(1_001, 570, 301)), None);
        // The thread gives away 4 of 5 ms in each period, which ends with its deadline.
        of.deadline = ms(10);
        let seen = |before, now| sign(before, now, ms(1_000), &of);
        assert_eq!(seen(start, waits(1_100, 970, 400)), Some(Sign::Yields));
        assert_eq!(seen(start, waits(1_100, 570, 400)), None);
        assert_eq!(seen(start, waits(1_490, 570, 400)), None);
    }
}
