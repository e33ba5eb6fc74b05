//! The measured latencies of cause-effect chains in a run, and their constraints.

use crate::limits::Held;
use layland_model::{Chain, Constrained, Duration, System};
use layland_trace::ChainFigures;
use schemars::JsonSchema;
use serde::Serialize;

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
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "measured_constraint")]
struct Constraint {
    /// The constraint.
    #[schemars(range(min = 1))]
    ns: i64,
    /// True if the run exceeded it.
    exceeded: bool,
}

/// The measurements of a chain. A latency is null if no job went through the whole chain.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub struct OfChain<'a> {
    /// Its name.
    chain: &'a str,
    /// When its jobs read and write.
    #[schemars(extend("enum" = ["implicit", "let"]))]
    communication: &'static str,
    /// The longest reaction time.
    reaction_ns: Option<i64>,
    /// The longest reduced reaction time.
    reduced_reaction_ns: Option<i64>,
    /// The largest data age.
    age_ns: Option<i64>,
    /// The largest reduced data age.
    reduced_age_ns: Option<i64>,
    /// Present if the reaction time of the chain has a constraint.
    #[schemars(with = "Constraint")]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_reaction: Option<Constraint>,
    /// Present if the data age of the chain has a constraint.
    #[schemars(with = "Constraint")]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_age: Option<Constraint>,
    /// Jobs that had not ended when they had to write.
    late_jobs: u64,
}

/// Returns the measurements of all chains.
pub fn measured_chains<'a>(system: &'a System, found: &[ChainFigures]) -> Vec<OfChain<'a>> {
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
