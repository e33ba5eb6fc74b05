//! The guarantees for cause-effect chains, for the document.

use super::checked::Checked;
use layland_guarantee::ChainBound;
use layland_model::Chain;
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
    /// The analysis of the bounds.
    by: Option<&'static str>,
    /// The meaning of the bounds.
    #[schemars(extend("enum" = ["exact", "sufficient", null]))]
    kind: Option<&'static str>,
    /// The reason why there is no bound; null if there is one.
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
