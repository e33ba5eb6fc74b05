//! Keys, which determine the job that a CPU runs. The least key comes first.

use super::Locking;
use super::job::{Doing, LockedResource, LockingJob};
use super::plan::Scheme;
use layland_model::{Protocol, TaskId};

/// The key of a job, compared from the first field on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LockingKey {
    class: KeyClass,
    number: i64,
    /// The number of a request or a grant; or whether the job holds nothing; or, within a level,
    /// the time at which the job became ready.
    then: u64,
    /// The place of the task in the order, which breaks ties.
    place: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum KeyClass {
    Boosted,
    Plain,
}

impl LockingKey {
    /// Returns the priority.
    pub(super) fn number(self) -> i64 {
        self.number
    }
}

impl Locking {
    /// Returns the current key of a job.
    pub(super) fn key(&self, task: TaskId) -> LockingKey {
        let own = self.own_key(task);
        let inherits = matches!(self.plan.protocol, Protocol::Inheritance | Protocol::Ceiling);
        if !inherits || self.job(task).is_none_or(|job| job.held.is_empty()) {
            return own;
        }
        // Collect all jobs that wait for this job, directly or indirectly. In a deadlock they may
        // wait for each other.
        let mut least = own;
        let mut found = vec![task];
        let mut next = 0;
        while let Some(&holder) = found.get(next) {
            next += 1;
            for &waits in &self.waiting[self.plan.cpu[task]] {
                let for_it =
                    self.job(waits).is_some_and(|job| job.doing == Doing::Waits(Some(holder)));
                if for_it && !found.contains(&waits) {
                    least = least.min(self.own_key(waits));
                    found.push(waits);
                }
            }
        }
        least
    }

    /// Returns the current key of a job without inheritance.
    fn own_key(&self, task: TaskId) -> LockingKey {
        let plan = &self.plan;
        let place = plan.place[task];
        let job = self.job(task);
        if let Some((number, then)) = job.and_then(|job| self.boost(task, job)) {
            return LockingKey { class: KeyClass::Boosted, number, then, place };
        }
        let Some(job) = job else {
            return LockingKey { class: KeyClass::Plain, number: i64::MAX, then: 0, place };
        };
        if let Some(levels) = &plan.levels {
            // The cast keeps the order, since no instant is before 0.
            let (number, then) = (levels[task], job.ready.ns() as u64);
            return LockingKey { class: KeyClass::Plain, number, then, place };
        }
        if plan.by_deadline {
            return LockingKey {
                class: KeyClass::Plain,
                number: job.deadline.ns(),
                then: 0,
                place,
            };
        }
        let ceilings = job.held.iter().filter(|held| plan.scheme(held.resource) == Scheme::Always);
        let ceiling = ceilings.map(|held| plan.ceiling[held.resource]).min();
        let number = ceiling.map_or(plan.base[task], |ceiling| plan.base[task].min(ceiling));
        LockingKey { class: KeyClass::Plain, number, then: u64::from(ceiling.is_none()), place }
    }

    /// Returns the number and tie-break of a boosted job; `None` if it is not boosted.
    fn boost(&self, task: TaskId, job: &LockingJob) -> Option<(i64, u64)> {
        let plan = &self.plan;
        let is_global = |held: &&LockedResource| {
            matches!(plan.scheme(held.resource), Scheme::HandedOver | Scheme::AtHome)
        };
        let held = job.held.iter().find(is_global);
        let asked = job.asked.as_ref().filter(is_global);
        match plan.protocol {
            Protocol::Mpcp => {
                held.map(|held| (plan.remote_ceiling(held.resource, plan.cpu[task]), held.at))
            }
            Protocol::FmlpPlus => held.map(|held| (0, held.at)),
            Protocol::Msrp => held.or(asked).map(|_| (0, 0)),
            // The holder comes first on a tie.
            Protocol::Dpcp => match held {
                Some(held) => Some((plan.ceiling[held.resource], 0)),
                None => asked.map(|_| (plan.base[task], 1)),
            },
            Protocol::Plain
            | Protocol::Inheritance
            | Protocol::Ceiling
            | Protocol::ImmediateCeiling
            | Protocol::Stack => None,
        }
    }
}
