//! The measured latencies of cause-effect chains in a run, in words and in JSON.

use crate::ui::gate::Held;
use layland_model::{Chain, Constrained, Duration, System, counted};
use layland_trace::ChainFigures;
use serde::Serialize;

/// Returns a sentence for each chain under a policy.
pub(super) fn remarks(system: &System, spec: &str, found: &[ChainFigures]) -> Vec<String> {
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

/// Returns the constraints on the chains, in the form of limits.
pub(super) fn constraints(system: &System, found: &[ChainFigures]) -> Vec<Held> {
    let held = |(chain, figures): (&Chain, &ChainFigures)| {
        let limit =
            |of: &Constrained| format!("chain {}: {} > {:#}", chain.name, of.latency, of.within);
        let constraints = figures.latency.constrained_by(chain);
        constraints.map(|of| {
            of.map(|of| Held {
                limit: limit(&of),
                found: of.exceeding().map(|value| format!("{value:#}")),
            })
        })
    };
    system.chains.iter().zip(found).flat_map(held).flatten().collect()
}

/// A constraint on a chain.
#[derive(Serialize)]
struct Constraint {
    ns: i64,
    exceeded: bool,
}

/// The measurements of a chain.
#[derive(Serialize)]
pub(super) struct OfChain<'a> {
    chain: &'a str,
    communication: &'static str,
    reaction_ns: Option<i64>,
    reduced_reaction_ns: Option<i64>,
    age_ns: Option<i64>,
    reduced_age_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_reaction: Option<Constraint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_age: Option<Constraint>,
    late_jobs: u64,
}

/// Returns the measurements of all chains.
pub(super) fn of<'a>(system: &'a System, found: &[ChainFigures]) -> Vec<OfChain<'a>> {
    let ns = |length: Option<Duration>| length.map(Duration::ns);
    let of = |(chain, figures): (&'a Chain, &ChainFigures)| {
        let [max_reaction, max_age] = figures.latency.constrained_by(chain).map(|of| {
            of.map(|of| Constraint { ns: of.within.ns(), exceeded: of.exceeding().is_some() })
        });
        OfChain {
            chain: &chain.name,
            communication: chain.communication.name(),
            reaction_ns: ns(figures.latency.reaction),
            reduced_reaction_ns: ns(figures.latency.reduced_reaction),
            age_ns: ns(figures.latency.age),
            reduced_age_ns: ns(figures.latency.reduced_age),
            max_reaction,
            max_age,
            late_jobs: figures.late,
        }
    };
    system.chains.iter().zip(found).map(of).collect()
}
