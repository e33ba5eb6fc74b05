//! Requests that would fit in place of a refused one. Each was checked and answered with *yes*.

use super::rules::Case;
use super::{
    Admission, AdmitOptions, Admitted, Ask, Desk, Reservation, Suggest, Suggestion, admit,
};
use layland_model::Service;

/// Searches the largest runtime below `limit`, in whole microseconds, that is granted, by bisection.
pub(super) fn largest(limit: Service, is_granted: impl Fn(Service) -> bool) -> Option<Service> {
    let (mut low, mut high) = (0, (limit.ns() + 999) / 1000);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if is_granted(Service::from_us(middle)) { low = middle } else { high = middle }
    }
    (low > 0).then(|| Service::from_us(low))
}

impl Desk<'_> {
    /// Returns the requests that would be granted instead.
    pub(super) fn suggestions(&self, ask: &Ask<'_>, options: &AdmitOptions) -> Vec<Suggestion> {
        let task = match ask {
            Ask::Enter(task) | Ask::Change(task) => *task,
            Ask::Lose(_) => return self.later(ask).into_iter().collect(),
        };
        let mut found = Vec::new();
        found.extend(self.largest_runtime(ask, task).map(Suggestion::Runtime));
        if task.cpus.is_some() {
            let anywhere = Reservation { cpus: None, ..task.clone() };
            if let Ok(Ok(grant)) = self.answer(&ask.about(&anywhere)) {
                found.extend(grant.holding.map(|holding| Suggestion::Cpus(holding.cpus)));
            }
        }
        found.extend(self.later(ask));
        let fits = |policy: &&String| self.fits_under(policy, task);
        found.extend(options.policies.iter().filter(fits).cloned().map(Suggestion::Policy));
        found
    }

    fn largest_runtime(&self, ask: &Ask<'_>, task: &Reservation) -> Option<Service> {
        largest(task.runtime, |runtime| {
            let smaller = Reservation { runtime, ..task.clone() };
            self.answer(&ask.about(&smaller)).is_ok_and(|answer| answer.is_ok())
        })
    }

    /// Searches the first time at which departed tasks cease to count and the request is granted.
    fn later(&self, ask: &Ask<'_>) -> Option<Suggestion> {
        /// The number of departures that are tried.
        const TRIES: usize = 16;
        let mut times = self.before.releases(self.case.now);
        times.truncate(TRIES);
        times.into_iter().find_map(|now| {
            let mut before = self.before.clone();
            before.settle(self.case.theory, now);
            let Case { registry, theory, now: _, effort } = self.case;
            let desk = Desk { case: Case { registry, theory, now, effort }, before };
            desk.answer(ask).is_ok_and(|answer| answer.is_ok()).then_some(Suggestion::Later(now))
        })
    }

    /// Returns true if all tasks could enter one after the other under another policy.
    fn fits_under(&self, policy: &str, newcomer: &Reservation) -> bool {
        let Case { registry, theory: _, now, effort } = self.case;
        let mut admitted = Admitted::new(self.before.platform.clone(), policy);
        let others = self.before.tasks().map(|holding| &holding.task);
        let others = others.filter(|task| task.name != newcomer.name);
        let options = AdmitOptions { effort, suggest: Suggest::Nothing, policies: Vec::new() };
        for task in others.chain([newcomer]) {
            match admit(registry, &admitted, now, &Ask::Enter(task), &options) {
                Ok(Admission::Granted(grant)) => admitted = grant.after,
                Ok(Admission::Refused(_)) | Err(_) => return false,
            }
        }
        true
    }
}

impl<'a> Ask<'a> {
    /// Returns the request for another task.
    fn about<'b>(&self, task: &'b Reservation) -> Ask<'b>
    where
        'a: 'b,
    {
        match *self {
            Ask::Enter(_) => Ask::Enter(task),
            Ask::Change(_) => Ask::Change(task),
            Ask::Lose(cpus) => Ask::Lose(cpus),
        }
    }
}
