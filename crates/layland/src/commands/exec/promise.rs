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
use std::collections::BTreeMap;

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
        Some(Watched { rival, used: total - before, within })
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

    /// How long the jobs of a thread waited on average since the last look, if that is so long that they were late. One
    /// that uses up its budget waits by its own fault.
    pub(super) fn waits_too_long(&mut self, thread: &Thread, of: &Reservation) -> Option<Duration> {
        let at = monotonic_ns();
        let now = Waits::of(thread.tid)?;
        let (before, then) = self.waits.insert(thread.tid.0, (now, at))?;
        let most = match of.guarantee {
            Guarantee::Deadlines => of.deadline,
            Guarantee::Tardiness(most) => of.deadline + most,
        };
        too_long(before, now, Duration::from_ns(at - then), most, of)
    }

    /// Whether the reservation of a thread may be set anew once more.
    pub(super) fn may_begin_anew(&mut self, thread: &Thread) -> bool {
        /// A program whose own period is another one drifts, whatever is set.
        const TRIES: u32 = 3;
        let tries = self.anew.entry(thread.tid.0).or_default();
        *tries += 1;
        *tries <= TRIES
    }

    /// Withdraws the promise aloud: whether this reason is a new one.
    pub(super) fn withdraw(&mut self, name: &str, reason: String) -> bool {
        if self.broken.contains(&reason) {
            return false;
        }
        terminal::warn(
            &format!("what was promised to {name} no longer holds: {reason}"),
            Some("it goes on with what it has; layland exec --list shows all"),
        );
        self.broken.push(reason);
        true
    }
}

/// See [`Promise::waits_too_long`].
fn too_long(
    before: Waits,
    now: Waits,
    within: Duration,
    most: Duration,
    of: &Reservation,
) -> Option<Duration> {
    let times = now.times - before.times;
    let (ran, waited) = (now.ran - before.ran, now.waited - before.waited);
    // A wait that is not over is not counted yet: of one job nothing is said.
    if times < 2 || ran + waited <= Duration::from_ns(most.ns().saturating_mul(times)) {
        return None;
    }
    // Of the first and of the last period, a part may be outside.
    let whole = (i128::from(within.ns()) - 2 * i128::from(of.period.ns())).max(0);
    let reserved = i128::from(of.runtime.ns()) * whole;
    let used = i128::from(ran.ns()) * i128::from(of.period.ns());
    (used < reserved).then(|| Duration::from_ns(waited.ns() / times))
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::Service;

    #[test]
    fn jobs_that_wait_too_long_are_told_from_budgets_that_are_used_up() {
        let ms = Duration::from_ms;
        let waits = |ran, waited, times| Waits { ran: ms(ran), waited: ms(waited), times };
        let mut of = Reservation::implicit("a", Service::from_ms(5), ms(10));
        of.deadline = ms(6);
        let late = |before, now| too_long(before, now, ms(1_000), of.deadline, &of);
        let start = waits(1_000, 70, 300);
        // A hundred jobs of 4 ms that are throttled for 3 ms each, and that are not.
        assert_eq!(late(start, waits(1_400, 370, 400)), Some(ms(3)));
        assert_eq!(late(start, waits(1_400, 170, 400)), None);
        // It wants more than it has reserved, or has slept all the time.
        assert_eq!(late(start, waits(1_500, 570, 400)), None);
        assert_eq!(late(start, start), None);
        assert_eq!(late(start, waits(1_001, 570, 301)), None);
    }
}
