//! The admission control of the kernel.

use layland_analysis::deadline::admission::{self as bandwidth, Limit};
use layland_analysis::{Finding, Refusal, Verdict};
use layland_model::{Algorithm, System};
use layland_policy::PolicyOptions;

/// Whether a thread has to be admitted.
pub(super) fn asks_for_admission(algorithm: Algorithm, options: &PolicyOptions) -> bool {
    let usually = algorithm == Algorithm::SemiPartitionedDeadline;
    let has_control = usually || algorithm == Algorithm::SchedDeadline;
    has_control && options.switch("ac", usually).unwrap_or(true)
}

/// Whether admission control adds up the speeds of CPUs: Linux since 5.9.
fn adds_up_capacities(options: &PolicyOptions) -> bool {
    let by_version = options.text("kernel").is_some_and(|version| version != "5.4");
    options.switch("capacity", by_version).unwrap_or(by_version)
}

/// Admission control with the limit of the policy, or with the default one. Where the policy has it off, the kernel
/// would not ask: then a *no* is *unknown*.
pub(super) fn admission(
    algorithm: Algorithm,
    system: &System,
    options: &PolicyOptions,
) -> Result<Finding, Refusal> {
    let semi_partitioned = algorithm == Algorithm::SemiPartitionedDeadline;
    let limit = options.text("limit").and_then(|text| text.parse().ok());
    let limit = limit.map_or_else(Limit::default, Limit::Share);
    let mut finding = if semi_partitioned {
        bandwidth::semi_partitioned(system, &limit)
    } else if adds_up_capacities(options) {
        bandwidth::global_by_capacity(system, &limit)
    } else {
        bandwidth::global(system, &limit)
    }?;
    if !asks_for_admission(algorithm, options) && finding.verdict == Verdict::No {
        finding.verdict = Verdict::Unknown;
    }
    Ok(finding)
}
