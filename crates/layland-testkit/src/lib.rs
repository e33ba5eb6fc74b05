//! Layland's test kit: code that the tests of all crates share, and that only tests use.
//!
//! - [`twin`]: the obvious version of each clever algorithm, to run beside it on random inputs;
//! - [`admission`]: joins, leaves and changes behind admission;
//! - [`affinity`]: scheduling with affinities by the definitions;
//! - [`ahead`]: comparison of a policy's predicted answers with its later decisions;
//! - [`bounds`]: claims about all schedules, compared with many of them;
//! - [`differential`]: each policy beside an independent reference, on random systems;
//! - [`exhaustive`]: every state of small systems, for all arrivals of jobs;
//! - [`inversions`]: priority inversions in a recorded schedule;
//! - [`blocking`]: blocking times by their definition, tick by tick;
//! - [`caches`]: reloads of cache blocks by the definitions, one time unit at a time;
//! - [`cases`]: random systems near the limits of the analyses, and runs of them;
//! - [`certificates`]: proofs of verdicts, and lies about them, for their verifier;
//! - [`criticality`]: mixed-criticality analyses by their definitions;
//! - [`deferred`]: non-preemptive regions one time unit at a time, and every schedule of few tasks with them;
//! - [`groups`]: groups with reservations by the definitions, one length and one budget at a time;
//! - [`how_often`]: weakly hard constraints and probabilities of misses by the definitions;
//! - [`groups_run`]: runs of groups with budgets, one time unit at a time;
//! - [`kernel_text`]: runs in the form of kernel traces;
//! - `kills` (on Linux): runs that are killed or overlap, and their leftovers;
//! - `messages` (on Linux): a daemon with many honest and dishonest users at once;
//! - [`least_laxity`]: LLF and MLLF one time unit at a time;
//! - [`logged`]: a policy that records its actions, to feed them to a copy;
//! - [`mixed`]: mixed criticality under adversarial runs, and its slow twins;
//! - [`observed`]: traces of a small kernel, and the check that sets inferred from them explain them;
//! - [`optimal`]: RUN and QPS at full load, and their slow twins;
//! - [`preempted`]: jobs that end while they are being preempted;
//! - [`programs`]: programs that come and go at random;
//! - `promises` (on Linux): the promises of `layland exec`, on the running kernel;
//! - [`served`]: servers of fixed priority one time unit at a time;
//! - [`ticks`]: a simulator that moves one time unit at a time;
//! - [`traces`]: traces that lie, and the check that the checker finds the lies;
//! - [`strategies`]: random task sets for property tests;
//! - [`verdicts`]: judgements of the claims of papers under several seeds;
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
pub mod groups;
pub mod groups_run;
pub mod how_often;
pub mod inversions;
pub mod kernel_text;
#[cfg(target_os = "linux")]
pub mod kills;
pub mod least_laxity;
pub mod levels;
pub mod locks;
pub mod logged;
pub mod loops;
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
pub mod verdicts;
pub mod virtual_deadlines;

use layland_model::Algorithm;
use layland_policy::{PolicyInfo, PolicyOptions, Registry, Values};
use std::sync::LazyLock;

/// Returns the policies of layland. They are created once, because tests build thousands of them.
pub fn registry() -> &'static Registry {
    static STANDARD: LazyLock<Registry> = LazyLock::new(Registry::standard);
    &STANDARD
}

/// Returns the policies that implement one of these algorithms: as `name`, and as
/// `name:option=value` for options that select such an algorithm.
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
