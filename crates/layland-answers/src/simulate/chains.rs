//! The measured latencies of cause-effect chains in a run, for the document.

use layland_model::{Chain, Duration, System};
use layland_trace::ChainFigures;
use serde::Serialize;

/// The measurements of a chain.
#[derive(Serialize)]
pub struct OfChain<'a> {
    chain: &'a str,
    communication: &'static str,
    reaction_ns: Option<i64>,
    reduced_reaction_ns: Option<i64>,
    age_ns: Option<i64>,
    reduced_age_ns: Option<i64>,
    late_jobs: u64,
}

/// Returns the measurements of all chains.
pub(super) fn of<'a>(system: &'a System, found: &[ChainFigures]) -> Vec<OfChain<'a>> {
    let ns = |length: Option<Duration>| length.map(Duration::ns);
    let of = |(chain, figures): (&'a Chain, &ChainFigures)| OfChain {
        chain: &chain.name,
        communication: chain.communication.name(),
        reaction_ns: ns(figures.latency.reaction),
        reduced_reaction_ns: ns(figures.latency.reduced_reaction),
        age_ns: ns(figures.latency.age),
        reduced_age_ns: ns(figures.latency.reduced_age),
        late_jobs: figures.late,
    };
    system.chains.iter().zip(found).map(of).collect()
}
