//! The guarantees for cause-effect chains, for the document.

use super::checked::Checked;
use layland_guarantee::ChainBound;
use layland_model::{Chain, Duration};
use serde::Serialize;

/// The guarantee for a chain under a policy.
#[derive(Serialize)]
pub struct OfChain<'a> {
    chain: &'a str,
    communication: &'static str,
    reaction_ns: Option<i64>,
    age_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_reaction: Option<Constraint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_age: Option<Constraint>,
    by: Option<&'static str>,
    kind: Option<&'static str>,
    unbounded: Option<String>,
}

/// A constraint on a chain.
#[derive(Serialize)]
struct Constraint {
    ns: i64,
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
