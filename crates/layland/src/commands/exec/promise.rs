//! Checks each second whether the promise still holds. After the admission, threads of others come
//! and go, limits of the kernel change, and any user with the right to do so may change the class
//! of a thread. A broken promise is reported at once, and in the register.

use super::foreign::{Look, used_of};
use crate::ui::terminal;
use layland_guarantee::admission::{Account, Foreign, Reservation, Sign, Watched};
use layland_linux::exec::{Given, Rival, Thread, Waits, monotonic_ns, processor_time};
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
    known: Option<Foreign>,
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
    pub(super) fn counts(&mut self, foreign: Foreign) {
        self.known = Some(foreign);
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
    pub(super) fn has_more_foreign(&mut self, look: &Look<'_>) -> bool {
        let at = monotonic_ns();
        let mut used = BTreeMap::new();
        let watched = |rival| self.watched(rival, at, &mut used);
        let found = look.foreign(|rivals| rivals.into_iter().filter_map(watched).collect());
        self.used = used;
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
        Some(used_of(rival, total - before, within))
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
        let account = Account {
            times: now.times - before.times,
            ran: now.ran - before.ran,
            waited: now.waited - before.waited,
            within: Duration::from_ns(at - then),
        };
        account.sign(of)
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
            Some("it continues with the reservation that it has; layland exec --list shows all"),
        );
        self.broken.push(reason);
    }
}
