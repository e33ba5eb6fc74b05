//! The measured latencies of cause-effect chains in a run, in words and in JSON.

use layland_model::{Duration, System, counted};
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
    }
    remarks
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
    late_jobs: u64,
}

/// Returns the measurements of all chains.
pub(super) fn of<'a>(system: &'a System, found: &[ChainFigures]) -> Vec<OfChain<'a>> {
    let ns = |length: Option<Duration>| length.map(Duration::ns);
    let of = |(chain, figures): (&'a layland_model::Chain, &ChainFigures)| OfChain {
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
