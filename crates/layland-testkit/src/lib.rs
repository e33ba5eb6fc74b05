//! Layland's test kit: what the tests of every crate share, and nobody else uses.
//!
//! - [`twin`]: the obvious version of each clever algorithm, to run beside it on random inputs;
//! - [`admission`]: joins, leaves and changes behind admission;
//! - [`affinity`]: what scheduling with affinities means, read off the definitions;
//! - [`ahead`]: what policies were asked ahead of time, beside what they did;
//! - [`bounds`]: what is claimed of all schedules, held against many;
//! - [`differential`]: each policy beside an independent reference, on random systems;
//! - [`exhaustive`]: every state of small systems, whenever their jobs come;
//! - [`inversions`]: priority inversions in a recorded schedule;
//! - [`blocking`]: blocking times by their definition, tick by tick;
//! - [`caches`]: reloads of cache blocks one time unit at a time, and read off the definitions;
//! - [`cases`]: random systems aimed at where analyses decide, and runs of them;
//! - [`certificates`]: proofs of verdicts, and lies about them, before their verifier;
//! - [`criticality`]: mixed-criticality analyses, read off their definitions;
//! - [`deferred`]: non-preemptive regions one time unit at a time, and every schedule of few tasks with them;
//! - [`kernel_text`]: runs as a kernel would have traced them;
//! - `kills` (on Linux): runs that are killed and overlap, and what they leave behind;
//! - `messages` (on Linux): a daemon that is asked by many at once, honestly and not;
//! - [`least_laxity`]: LLF and MLLF one time unit at a time;
//! - [`logged`]: a policy that writes down what it does, to feed it to a copy;
//! - [`mixed`]: mixed criticality under adversarial runs, and its slow twins;
//! - [`observed`]: traces of a small kernel, and whether the sets that are inferred of them explain them;
//! - [`optimal`]: RUN and QPS at full load, and their slow twins;
//! - [`preempted`]: jobs that end while they are being preempted;
//! - [`programs`]: programs that come and go at random;
//! - `promises` (on Linux): what `layland exec` promises, on the kernel at hand;
//! - [`served`]: servers of fixed priority one time unit at a time;
//! - [`ticks`]: a simulator that moves one time unit at a time;
//! - [`traces`]: traces that lie, and whether the checker finds it;
//! - [`strategies`]: random task sets for property tests;
//! - [`vectors`]: the runner of test vectors in the documented schemas.

pub mod admission;
pub mod affinity;
pub mod ahead;
pub mod blocking;
pub mod bounds;
pub mod caches;
pub mod cases;
pub mod certificates;
pub mod criticality;
pub mod curves;
pub mod deferred;
pub mod differential;
pub mod exhaustive;
pub mod graph_schedules;
pub mod graphs;
pub mod inversions;
pub mod kernel_text;
#[cfg(target_os = "linux")]
pub mod kills;
pub mod least_laxity;
pub mod levels;
pub mod locks;
pub mod logged;
#[cfg(target_os = "linux")]
pub mod messages;
pub mod mixed;
pub mod observed;
pub mod optimal;
pub mod preempted;
pub mod programs;
#[cfg(target_os = "linux")]
pub mod promises;
pub mod served;
pub mod split;
pub mod strategies;
pub mod ticks;
pub mod traces;
pub mod twin;
pub mod vectors;
pub mod virtual_deadlines;

use layland_model::Algorithm;
use layland_policy::{PolicyInfo, PolicyOptions, Registry, Values};
use std::sync::LazyLock;

/// The policies of layland, made once: tests build thousands of them.
pub fn registry() -> &'static Registry {
    static STANDARD: LazyLock<Registry> = LazyLock::new(Registry::standard);
    &STANDARD
}

/// The policies that implement one of these algorithms, as `name`; and as `name:option=value` where an option
/// makes them do so.
pub fn specs_of(algorithms: &[Algorithm]) -> Vec<String> {
    let of = |info: &PolicyInfo| {
        let default = info.algorithm(&PolicyOptions::default());
        let mut specs = Vec::new();
        if algorithms.contains(&default) {
            specs.push(info.name.to_string());
        }
        for option in &info.options {
            let words = match &option.values {
                Values::OneOf(words) => words.clone(),
                Values::Switch => vec!["on".into()],
                Values::Number | Values::Rate | Values::Duration | Values::Cpus | Values::Bins => {
                    continue;
                }
            };
            for word in &words {
                // A policy that leaves an order open cannot be simulated.
                if option.name == "tie" && word == "any" {
                    continue;
                }
                let mut options = PolicyOptions::default();
                options.give(option.name.as_ref(), word.as_ref());
                let algorithm = info.algorithm(&options);
                if algorithm != default && algorithms.contains(&algorithm) {
                    specs.push(format!("{}:{}={word}", info.name, option.name));
                }
            }
        }
        specs
    };
    registry().iter().flat_map(of).collect()
}
