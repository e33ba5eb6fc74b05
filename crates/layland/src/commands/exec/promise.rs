//! Whether what was promised still holds. Threads of others come and go after the admission, limits of the kernel
//! change, and a thread may be given another class by anybody with the right to. Each second all of that is looked at;
//! what breaks a promise is said at once, and in the register.

use super::strangers::{Strangers, Watched, lowest};
use crate::ui::terminal;
use layland_guarantee::admission::{Guarantee, Kept, Reservation};
use layland_linux::Member;
use layland_linux::exec::{
    Given, Rival, Thread, Tid, Waits, foreign_deadline, monotonic_ns, processor_time, rivals,
};
use layland_model::Duration;
use std::collections::{BTreeMap, BTreeSet};

/// How often.
const INTERVAL_NS: i64 = 1_000_000_000;

/// What was promised, and whether it holds.
pub(super) struct Promise {
    looked_ns: i64,
    /// So often it was looked at.
    looks: u32,
    /// What the last answer counts; `None` until there is one.
    known: Option<Strangers>,
    /// What each thread of others had used when it was looked at last.
    used: BTreeMap<(i32, u64), (Duration, i64)>,
    /// How each thread that has something had got the processor when it was looked at last.
    waits: BTreeMap<i32, (Waits, i64)>,
    /// Threads that were seen to yield.
    yields: BTreeSet<i32>,
    /// How often the reservation of each thread was set anew.
    anew: BTreeMap<i32, u32>,
    /// What each thread was given.
    given: BTreeMap<i32, Given>,
    /// Why it does not hold, each reason once.
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

    /// What was counted when it was given.
    pub(super) fn counts(&mut self, strangers: Strangers) {
        self.known = Some(strangers);
    }

    /// A thread has what was promised to it.
    pub(super) fn is_given(&mut self, thread: &Thread, given: &Given) {
        self.given.insert(thread.tid.0, given.clone());
    }

    /// Why it does not hold any more.
    pub(super) fn broken(&self) -> &[String] {
        &self.broken
    }

    /// Whether a second is over since the last look.
    pub(super) fn is_due(&mut self) -> bool {
        let now = monotonic_ns();
        let is_due = now - self.looked_ns >= INTERVAL_NS;
        if is_due {
            self.looked_ns = now;
            self.looks += 1;
        }
        is_due
    }

    /// Whether a program should have its threads by now: asked once.
    pub(super) fn is_late_to_begin(&self) -> bool {
        const LATE: u32 = 5;
        self.looks == LATE
    }

    /// Whether there is something now that the last answer does not count.
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

    /// What a thread has used since it was seen last; nothing is known of one that is new.
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

    /// Threads whose class, reservation or CPUs somebody has changed. A priority may change with who comes.
    pub(super) fn changed(&self, held: &[(Thread, usize, Option<Given>)]) -> Vec<String> {
        let of = |(thread, _, now): &(Thread, usize, Option<Given>)| {
            let (was, now) = (self.given.get(&thread.tid.0)?, now.as_ref()?);
            let priority = if was.class == now.class { now.priority } else { was.priority };
            let is_same = *now == Given { priority, ..was.clone() };
            (!is_same && thread.is_alive()).then(|| {
                format!(
                    "thread `{}` ({}) was {}, and somebody has made it {}",
                    thread.name,
                    thread.tid.0,
                    super::list::said(was),
                    super::list::said(now)
                )
            })
        };
        held.iter().filter_map(of).collect()
    }

    /// What the waits of a thread since the last look are a sign of, if of anything.
    pub(super) fn sign(&mut self, thread: &Thread, of: &Reservation) -> Option<Sign> {
        let at = monotonic_ns();
        let now = Waits::of(thread.tid)?;
        let (before, then) = self.waits.insert(thread.tid.0, (now, at))?;
        sign(before, now, Duration::from_ns(at - then), of)
    }

    /// Whether it is the first time that a thread is seen to yield.
    pub(super) fn is_first_yield(&mut self, thread: &Thread) -> bool {
        self.yields.insert(thread.tid.0)
    }

    /// Whether the reservation of a thread may be set anew once more.
    pub(super) fn may_begin_anew(&mut self, thread: &Thread) -> bool {
        /// A program whose own period is another one drifts, whatever is set.
        const TRIES: u32 = 3;
        let tries = self.anew.entry(thread.tid.0).or_default();
        *tries += 1;
        *tries <= TRIES
    }

    /// Withdraws the promise aloud, once for each reason.
    pub(super) fn withdraw(&mut self, name: &str, reason: String) {
        if self.broken.contains(&reason) {
            return;
        }
        terminal::warn(
            &format!("what was promised to {name} no longer holds: {reason}"),
            Some("it goes on with what it has; layland exec --list shows all"),
        );
        self.broken.push(reason);
    }
}

/// How a thread with a reservation waits where it should not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// Its jobs waited for so long on average that they were late.
    Late(Duration),
    /// It never slept, and left a part of its budget: under SCHED_DEADLINE, `sched_yield` is what does that.
    Yields,
}

/// See [`Promise::sign`]. A thread that uses up its budget waits by its own fault.
fn sign(before: Waits, now: Waits, within: Duration, of: &Reservation) -> Option<Sign> {
    let times = now.times - before.times;
    let (ran, waited) = (now.ran - before.ran, now.waited - before.waited);
    // A wait that is not over is not counted yet: of one job nothing is said.
    if times < 2 {
        return None;
    }
    // Of the first and of the last period, a part may be outside.
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
    // What is enforced by the tick may be a little less than what is reserved.
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
        // A hundred jobs of 4 ms that are throttled for 3 ms each, and that are not.
        assert_eq!(seen(start, waits(1_400, 370, 400)), Some(Sign::Late(ms(3))));
        assert_eq!(seen(start, waits(1_400, 170, 400)), None);
        // It wants more than it has reserved, or has slept all the time.
        assert_eq!(seen(start, waits(1_500, 570, 400)), None);
        assert_eq!(seen(start, start), None);
        assert_eq!(seen(start, waits(1_001, 570, 301)), None);
        // It gives 4 of 5 ms away in each period, which ends with its deadline.
        of.deadline = ms(10);
        let seen = |before, now| sign(before, now, ms(1_000), &of);
        assert_eq!(seen(start, waits(1_100, 970, 400)), Some(Sign::Yields));
        assert_eq!(seen(start, waits(1_100, 570, 400)), None);
        assert_eq!(seen(start, waits(1_490, 570, 400)), None);
    }
}
