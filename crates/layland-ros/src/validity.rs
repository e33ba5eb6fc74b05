//! The rules that make an executor valid, and the messages for violations.

use crate::{Arrivals, Executor, ExecutorKind, Supply};
use layland_model::{Duration, Service, TIME_LIMIT, Time};

/// The part that a fault concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The executor: its kind and its number of threads.
    Executor,
    /// The supply.
    Supply,
    /// The list of callbacks.
    Callbacks,
    /// A key of one callback.
    Callback(usize, &'static str),
}

/// A fault of an executor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}: {help}")]
pub struct ExecutorFault {
    /// The part that it concerns.
    pub part: Part,
    /// A description of the error.
    pub message: String,
    /// Advice for the user.
    pub help: String,
}

struct Faults(Vec<ExecutorFault>);

impl Faults {
    fn add(&mut self, part: Part, message: impl Into<String>, help: impl Into<String>) {
        self.0.push(ExecutorFault { part, message: message.into(), help: help.into() });
    }
}

impl Executor {
    /// All faults of the executor, in the order of the file.
    pub fn validate(&self) -> Vec<ExecutorFault> {
        let mut faults = Faults(Vec::new());
        let threads = self.kind.threads();
        if threads == 0 || threads > 1024 {
            let help = "give it 1 to 1024 threads";
            faults.add(Part::Executor, format!("an executor with {threads} threads"), help);
        }
        self.supply_faults(&mut faults);
        if self.callbacks.is_empty() {
            faults.add(Part::Callbacks, "the executor has no callback", "add a [[callback]]");
        }
        for at in 0..self.callbacks.len() {
            self.callback_faults(at, &mut faults);
        }
        if faults.0.is_empty()
            && let Some(at) = self.in_a_circle()
        {
            let name = &self.callbacks[at].name;
            faults.add(
                Part::Callback(at, "next"),
                format!("`{name}` activates itself by way of `next`"),
                "remove an edge of the circle: once activated, it would never come to rest",
            );
        }
        faults.0
    }

    fn supply_faults(&self, faults: &mut Faults) {
        if matches!(self.kind, ExecutorKind::Multi { .. }) && self.supply != Supply::Always {
            faults.add(
                Part::Supply,
                "the threads of a multi-threaded executor have CPUs of their own",
                "remove the supply, or take the executor `default`",
            );
        }
        match &self.supply {
            Supply::Always => {}
            Supply::Server { period, budget } => {
                if *budget <= Duration::ZERO || budget > period || period.ns() > TIME_LIMIT {
                    let message = format!("a budget of {budget} in a period of {period}");
                    let help = "the budget is above 0 and at most the period";
                    faults.add(Part::Supply, message, help);
                }
            }
            Supply::Intervals(all) => {
                let ordered = all.windows(2).all(|pair| pair[0].1 < pair[1].0);
                let inside = all.first().is_none_or(|first| first.0 >= Time::ZERO);
                if !ordered || !inside || all.iter().any(|&(start, end)| start >= end) {
                    let help = "write [start, end) from time 0 on, in order; join those that touch";
                    faults.add(Part::Supply, "the intervals of the supply are not in order", help);
                }
            }
        }
    }

    fn callback_faults(&self, at: usize, faults: &mut Faults) {
        let callback = &self.callbacks[at];
        let name = &callback.name;
        if self.callbacks[..at].iter().any(|other| other.name == *name) {
            let message = format!("two callbacks are called `{name}`");
            faults.add(Part::Callback(at, "name"), message, "give one of them another name");
        }
        if callback.wcet < Service::ZERO || callback.wcet.ns() > TIME_LIMIT {
            let message = format!("`{name}` executes {}", callback.wcet);
            faults.add(Part::Callback(at, "wcet"), message, "a WCET is at least 0");
        }
        for (index, &next) in callback.next.iter().enumerate() {
            if next >= self.callbacks.len() {
                let message = format!("`{name}` activates callback {next}, which does not exist");
                faults.add(Part::Callback(at, "next"), message, "name a callback of the executor");
            } else if callback.next[..index].contains(&next) {
                let message = format!("`{name}` activates `{}` twice", self.callbacks[next].name);
                faults.add(Part::Callback(at, "next"), message, "name it once");
            }
        }
        match &callback.arrivals {
            Some(Arrivals::Periodic { period, offset, jitter }) => {
                let small = |value: &Duration| value.ns() >= 0 && value.ns() <= TIME_LIMIT;
                if *period <= Duration::ZERO || !small(period) {
                    let message = format!("`{name}` has a period of {period}");
                    faults.add(Part::Callback(at, "period"), message, "a period is above 0");
                }
                for (key, value) in [("offset", offset), ("jitter", jitter)] {
                    if !small(value) {
                        let message = format!("`{name}` has a {key} of {value}");
                        faults.add(Part::Callback(at, key), message, "it is at least 0");
                    }
                }
            }
            Some(Arrivals::Listed(all)) => {
                let ordered = all.windows(2).all(|pair| pair[0] <= pair[1]);
                if !ordered || all.first().is_some_and(|&first| first < Time::ZERO) {
                    let message = format!("the activations of `{name}` are not in order");
                    let help = "write them from the first to the last, from 0 on";
                    faults.add(Part::Callback(at, "activations"), message, help);
                }
            }
            None if !self.callbacks.iter().any(|other| other.next.contains(&at)) => {
                let help = "give it a `period` or `activations`, or name it in a `next`";
                let message = format!("nothing activates `{name}`");
                faults.add(Part::Callback(at, "name"), message, help);
            }
            None => {}
        }
        if self.kind == ExecutorKind::EventsEdf
            && callback.deadline.is_none_or(|deadline| deadline < Duration::ZERO)
        {
            let message = format!("`{name}` has no deadline, and `events-edf` orders by it");
            faults.add(Part::Callback(at, "deadline"), message, "add deadline = \"10ms\"");
        }
        if self.kind == ExecutorKind::EventsFp && callback.priority.is_none() {
            let message = format!("`{name}` has no priority, and `events-fp` orders by it");
            faults.add(Part::Callback(at, "priority"), message, "add priority = 1");
        }
    }

    /// Returns a callback on a cycle of `next`, if there is one: callbacks that no remaining one
    /// activates are removed repeatedly, and the search starts at one that is left.
    fn in_a_circle(&self) -> Option<usize> {
        let mut activators = vec![0_usize; self.callbacks.len()];
        self.callbacks.iter().flat_map(|one| &one.next).for_each(|&next| activators[next] += 1);
        let mut free: Vec<usize> =
            (0..activators.len()).filter(|&at| activators[at] == 0).collect();
        let mut removed = 0;
        while let Some(at) = free.pop() {
            removed += 1;
            for &next in &self.callbacks[at].next {
                activators[next] -= 1;
                if activators[next] == 0 {
                    free.push(next);
                }
            }
        }
        // Callbacks after a cycle are also left. Follow activators backwards, which are all left,
        // to reach the cycle.
        let mut at =
            (removed < activators.len()).then(|| activators.iter().position(|&n| n > 0))??;
        for _ in 0..activators.len() {
            let back = (0..activators.len())
                .find(|&one| activators[one] > 0 && self.callbacks[one].next.contains(&at));
            at = back.unwrap_or(at);
        }
        Some(at)
    }
}
