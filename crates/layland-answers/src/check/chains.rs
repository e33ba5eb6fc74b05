//! The guarantees for cause-effect chains, for the document.

use super::checked::Checked;
use crate::schema;
use layland_guarantee::ChainBound;
use layland_model::{Chain, Duration};
use schemars::JsonSchema;
use serde::Serialize;

/// The guarantee for a chain under a policy.
#[derive(JsonSchema, Serialize)]
#[schemars(inline)]
pub struct OfChain<'a> {
    /// The chain.
    chain: &'a str,
    /// When its jobs read and write.
    #[schemars(extend("enum" = ["implicit", "let"]))]
    communication: &'static str,
    /// A bound on its maximum reaction time; null if there is none.
    #[schemars(range(min = 0))]
    reaction_ns: Option<i64>,
    /// A bound on its maximum data age; null if there is none.
    #[schemars(range(min = 0))]
    age_ns: Option<i64>,
    /// Present if the reaction time of the chain has a constraint.
    #[schemars(with = "Constraint")]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_reaction: Option<Constraint>,
    /// Present if the data age of the chain has a constraint.
    #[schemars(with = "Constraint")]
    #[serde(skip_serializing_if = "Option::is_none")]
    max_age: Option<Constraint>,
    /// The analysis of the bounds.
    by: Option<&'static str>,
    /// The meaning of the bounds.
    #[schemars(extend("enum" = ["exact", "sufficient", null]))]
    kind: Option<&'static str>,
    /// The reason why there is no bound; null if there is one.
    unbounded: Option<String>,
}

/// A constraint on a chain.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "constraint")]
struct Constraint {
    /// The constraint.
    #[schemars(range(min = 1))]
    ns: i64,
    /// Yes, if the bound is within it; no, if the bound exceeds it and is exact.
    #[schemars(schema_with = "schema::verdict")]
    verdict: &'static str,
}

/// Returns the guarantees for all chains.
pub(super) fn of<'a>(checked: &'a Checked, spec: &str) -> Vec<OfChain<'a>> {
    let system = &checked.set.system;
    let of = |(chain, bound): (&'a Chain, &ChainBound)| {
        let within = bound.within.ok().map(|within| within.ns());
        let judged = |constraint: Duration| {
            let verdict = bound.keeps(constraint).name();
            Constraint { ns: constraint.ns(), verdict }
        };
        OfChain {
            chain: &chain.name,
            communication: chain.communication.name(),
            reaction_ns: within,
            age_ns: within,
            max_reaction: chain.max_reaction.map(judged),
            max_age: chain.max_age.map(judged),
            by: within.map(|_| bound.by),
            kind: within.map(|_| bound.kind.name()),
            unbounded: bound.within.err().map(|why| why.text(system)),
        }
    };
    checked.bounded_chains(spec).map(of).collect()
}
