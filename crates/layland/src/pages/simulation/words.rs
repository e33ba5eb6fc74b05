//! The remarks on a simulation, for the terminal and for a page.

use super::View;
use layland_answers::simulate::{PolicyRun, Ran};
use layland_model::{Constrained, Duration, System, Time, counted};
use layland_sim::Horizon;
use layland_trace::{ChainFigures, Errno};

impl View<'_> {
    /// Describes how long was simulated, if that is the same for all policies.
    pub(crate) fn simulated_up_to(&self) -> String {
        let mut ends = self.simulated.ran().map(|ran| ran.outcome.end);
        match ends.next() {
            Some(end) if ends.all(|other| other == end) => format!(", simulated up to {end:#}"),
            Some(_) | None => String::new(),
        }
    }

    /// Describes the first miss of a policy, if a chart of this window does not show it.
    pub(crate) fn elsewhere(&self, ran: &Ran, (from, to): (Time, Time)) -> Option<String> {
        let miss = ran.first_miss.filter(|&miss| miss < from || miss > to)?;
        Some(format!("its first miss, due at {miss:#}, is outside this window"))
    }

    /// Returns remarks on what the table does not show.
    pub(crate) fn remarks(&self, policy: &PolicyRun) -> Vec<String> {
        let spec = &policy.spec;
        let ran = match &policy.result {
            Ok(ran) => ran,
            Err(reason) => return vec![format!("{spec} refused: {reason}")],
        };
        let system = &self.simulated.set.system;
        let mut remarks = chains(system, spec, &ran.chains);
        remarks.extend(ran.how_often.iter().map(|of| format!("{spec}: {}", of.in_words(system))));
        let end = ran.outcome.end;
        if ran.outcome.interrupted {
            remarks.push(format!("{spec}: INTERRUPTED at {end:#}: the figures are partial"));
        }
        for answer in &ran.refusals.first {
            let how = match answer.errno {
                Some(Errno::Busy) => "EBUSY",
                Some(Errno::NotPermitted) => "EPERM",
                Some(Errno::Invalid) | None => "EINVAL",
            };
            let (at, request) = (answer.at, &answer.request);
            let reason = answer.refused.as_deref().unwrap_or_default();
            remarks.push(format!("{spec}: at {at:#} refused ({how}): {request}: {reason}"));
        }
        let more = ran.refusals.count - ran.refusals.first.len() as u64;
        if more > 0 {
            remarks.push(format!("{spec}: refused requests that are not shown: {more}"));
        }
        match (self.simulated.horizon, ran.outcome.cycle) {
            (_, Some(cycle)) => remarks.push(format!(
                "{spec}: the state at {:#} recurs every {:#}: the schedule is known for ever",
                cycle.from, cycle.length
            )),
            (Horizon::Recurrence { .. }, None) => {
                remarks.push(format!("{spec}: the state did not recur up to {end:#}"));
            }
            (Horizon::At(_) | Horizon::Hyperperiods(_), None) => {}
        }
        match &ran.broken_rules {
            Some(found) if found.is_empty() => {
                remarks.push(format!("{spec}: checked, every rule holds"));
            }
            Some(found) => {
                remarks.push(format!("{spec}: BROKEN RULES, a bug of layland:"));
                remarks.extend(found.iter().cloned());
            }
            None if self.simulated.question.check => {
                remarks.push(format!("{spec}: INTERRUPTED: not checked"))
            }
            None => {}
        }
        remarks
    }
}

/// Returns a sentence for each chain under a policy.
fn chains(system: &System, spec: &str, found: &[ChainFigures]) -> Vec<String> {
    let mut remarks = Vec::new();
    for (chain, figures) in system.chains.iter().zip(found) {
        let name = &chain.name;
        let latency = figures.latency;
        let told = |what: Option<Duration>| what.map_or("-".to_owned(), |what| format!("{what:#}"));
        remarks.push(format!(
            "{spec}: chain {name} ({}): reaction time {} (reduced {}), data age {} (reduced {})",
            chain.communication.name(),
            told(latency.reaction),
            told(latency.reduced_reaction),
            told(latency.age),
            told(latency.reduced_age),
        ));
        if figures.late > 0 {
            remarks.push(format!(
                "{spec}: chain {name}: {} had not ended when it had to write",
                counted(usize::try_from(figures.late).unwrap_or(usize::MAX), "job"),
            ));
        }
        for constrained in latency.constrained_by(chain).into_iter().flatten() {
            if let Some(value) = constrained.exceeding() {
                let Constrained { latency, within, .. } = constrained;
                remarks.push(format!(
                    "{spec}: chain {name}: the {latency} is {value:#}, not within {within:#}"
                ));
            }
        }
    }
    remarks
}
