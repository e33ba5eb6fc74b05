//! Converts the events of a phase to steps. Events without an equivalent are kept for a warning.

use super::{Importer, NOT_MODELLED, OLD, Phase, Step, Thread};
use crate::json::{Json, Member, Value};
use layland_model::{Index, ResourceId};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const PHASE: &[&str] =
    &["loop", "cpus", "taskgroup", "util_min", "util_max", "nodes_membind"];
/// Events; an event precedes all of its own prefixes.
const EVENTS: &[&str] = &[
    "runtime",
    "run",
    "sleep",
    "timer",
    "yield",
    "suspend",
    "resume",
    "lock",
    "unlock",
    "wait",
    "signal",
    "sig_and_wait",
    "broad",
    "sync",
    "barrier",
    "mem",
    "iorun",
    "fork",
];
/// Events that wait for another thread.
const WAITING: &[&str] = &["suspend", "wait", "sig_and_wait", "sync", "barrier"];

/// The mutexes that have been named.
#[derive(Default)]
pub(super) struct Mutexes {
    pub(super) names: Vec<String>,
    ids: BTreeMap<String, ResourceId>,
}

impl Importer<'_> {
    /// Reads the events of a phase, or of a thread without phases.
    pub(super) fn phase(
        &mut self,
        thread: &mut Thread,
        name: &str,
        members: &[Member],
        known: &[&str],
    ) -> Phase {
        let mut phase =
            Phase { name: name.to_owned(), times: Some(1), steps: Vec::new(), cpus: None };
        let of = thread.name.clone();
        let mut timers: BTreeSet<String> = BTreeSet::new();
        let mut old_timer = None;
        for Member { key, key_span, value } in members {
            if known.contains(&key.as_str()) {
                match key.as_str() {
                    "loop" => phase.times = self.times(value).unwrap_or(Some(1)),
                    "cpus" => phase.cpus = self.cpus(value),
                    // Those of the thread have been reported.
                    key if known == PHASE && NOT_MODELLED.contains(&key) => {
                        self.not_modelled(&of, key, key_span);
                    }
                    _ => {}
                }
                continue;
            }
            let step = match event(key) {
                Some("run" | "runtime") => self.micros(key, value).map(Step::Run),
                // The old format has `"sleep" : false`.
                Some("sleep") if matches!(value.value, Value::Bool(_)) => None,
                Some("sleep") => self.micros(key, value).map(Step::Sleep),
                Some("yield") => Some(Step::Yield),
                Some("timer") => self.timer(&of, value).map(|(period, reference)| {
                    timers.insert(reference);
                    Step::Timer(period)
                }),
                Some(kind @ ("lock" | "unlock")) => {
                    thread.locks.push(key_span.clone());
                    self.mutex(kind, value).map(|resource| match kind {
                        "lock" => Step::Lock(resource),
                        _ => Step::Unlock(resource),
                    })
                }
                Some(other) => {
                    thread.lost.push((other.to_owned(), key_span.clone()));
                    let only_barriers =
                        thread.waits.as_ref().is_none_or(|(event, _)| event == "barrier");
                    if WAITING.contains(&other) && only_barriers {
                        thread.waits = Some((other.to_owned(), key_span.clone()));
                    }
                    None
                }
                None if OLD.contains(&key.as_str()) => match key.as_str() {
                    "exec" => self.micros(key, value).map(Step::Run),
                    "period" => {
                        old_timer = self.micros(key, value).map(Step::Timer);
                        None
                    }
                    "deadline" => {
                        thread.deadline = self.micros(key, value);
                        None
                    }
                    other => {
                        thread.lost.push((other.to_owned(), key_span.clone()));
                        None
                    }
                },
                None => {
                    let all: Vec<&str> = known.iter().chain(EVENTS).copied().collect();
                    self.unknown(key, &format!("`{of}`"), &all, key_span);
                    None
                }
            };
            phase.steps.extend(step);
        }
        phase.steps.extend(old_timer);
        if timers.len() > 1 {
            let message = format!("`{of}` waits for several timers in one phase");
            let help = "they are taken as one timer";
            self.warn("layland::rtapp::not_modelled", &thread.span, message, help);
        }
        phase
    }

    /// Returns the mutex that an event names.
    fn mutex(&mut self, key: &str, json: &Json) -> Option<ResourceId> {
        let name = self.text(key, json)?;
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
            let message = format!("`{key}` names the mutex {name:?}");
            let help = "give it a name without blanks, as in \"bus\"";
            self.error("layland::rtapp::form", &json.span, message, help);
            return None;
        }
        let Mutexes { names, ids } = &mut self.mutexes;
        if let Some(&id) = ids.get(name) {
            return Some(id);
        }
        let id = ResourceId::from_index(names.len());
        names.push(name.to_owned());
        ids.insert(name.to_owned(), id);
        Some(id)
    }

    /// Returns the period and the reference of a timer.
    pub(super) fn timer(&mut self, of: &str, json: &Json) -> Option<(i64, String)> {
        let (mut period, mut absolute, mut reference) = (None, false, "unique".to_owned());
        for Member { key, key_span, value } in self.object("timer", json)? {
            match key.as_str() {
                "period" => period = self.micros(key, value),
                "ref" => reference = self.text(key, value)?.to_owned(),
                "mode" => match self.text(key, value)? {
                    "absolute" => absolute = true,
                    "relative" => {}
                    other => {
                        let message = format!("`{other}` is not a mode of a timer");
                        let help = "write \"absolute\" or \"relative\"";
                        self.error("layland::rtapp::form", &value.span, message, help);
                        return None;
                    }
                },
                _ => self.unknown(key, "a timer", &["ref", "period", "mode"], key_span),
            }
        }
        let Some(period) = period else {
            let message = format!("a timer of `{of}` has no period");
            let help = "write { \"ref\" : \"unique\", \"period\" : 5000 }";
            self.error("layland::rtapp::form", &json.span, message, help);
            return None;
        };
        if !absolute {
            self.relative.push((of.to_owned(), json.span.clone()));
        }
        Some((period, reference))
    }
}

/// Returns the event that a key names: `run0` and `run_a` are both `run`.
fn event(key: &str) -> Option<&'static str> {
    // `lock_order` is not a lock.
    let key = Some(key).filter(|key| !OLD.contains(key))?;
    EVENTS.iter().copied().find(|event| {
        let rest = key.strip_prefix(event);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphabetic()))
    })
}
