//! The guarantees for cause-effect chains, for the document.

use super::checked::Checked;
use layland_guarantee::ChainBound;
use layland_model::Chain;
use serde::Serialize;

/// The guarantee for a chain under a policy.
#[derive(Serialize)]
pub struct OfChain<'a> {
    chain: &'a str,
    communication: &'static str,
    reaction_ns: Option<i64>,
    age_ns: Option<i64>,
    by: Option<&'static str>,
    kind: Option<&'static str>,
    unbounded: Option<String>,
}

/// Returns the guarantees for all chains.
pub(super) fn of<'a>(checked: &'a Checked, spec: &str) -> Vec<OfChain<'a>> {
    let system = &checked.set.system;
    let bounds = checked.chains.get(spec).into_iter().flatten();
    let of = |(chain, bound): (&'a Chain, &ChainBound)| {
        let within = bound.within.ok().map(|within| within.ns());
        OfChain {
            chain: &chain.name,
            communication: chain.communication.name(),
            reaction_ns: within,
            age_ns: within,
            by: within.map(|_| bound.by),
            kind: within.map(|_| bound.kind.name()),
            unbounded: bound.within.err().map(|why| why.text(system)),
        }
    };
    system.chains.iter().zip(bounds).map(of).collect()
}
