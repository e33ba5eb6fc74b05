//! The admission control of the kernel.

use layland_analysis::deadline::admission::{self as bandwidth, Limit, Terms};
use layland_analysis::{Finding, Refusal, Verdict};
use layland_model::{Algorithm, Rate, System};
use layland_policy::deadline::KernelOptions;
use layland_policy::deadline::price::Arith;

/// Checks admission control with the limit of the policy, or with the default one. If the policy
/// turns it off, the kernel does not check, and a *no* becomes *unknown*.
pub(super) fn admission(
    algorithm: Algorithm,
    system: &System,
    options: &KernelOptions,
) -> Result<Finding, Refusal> {
    let semi_partitioned = algorithm == Algorithm::SemiPartitionedDeadline;
    let share = options.stated_limit.clone();
    let limit = if options.fair == Rate::ZERO {
        Limit::Share(share)
    } else {
        Limit::Beside { share, fair: options.fair.clone() }
    };
    let mut finding = if semi_partitioned {
        let (throttle_cost, needs_slack) = (options.throttle_cost, options.needs_slack);
        bandwidth::semi_partitioned_on(system, &Terms { limit, throttle_cost, needs_slack })
    } else if options.adds_up_capacities && options.arith == Arith::Kernel && differ(system) {
        bandwidth::kernel_by_capacity(system, &limit)
    } else if options.adds_up_capacities {
        bandwidth::global_by_capacity(system, &limit)
    } else {
        bandwidth::global(system, &limit)
    }?;
    if options.limit.is_none() && finding.verdict == Verdict::No {
        finding.verdict = Verdict::Unknown;
    }
    Ok(finding)
}

/// Returns true if the speeds of the CPUs differ, so that the kernel counts their capacities.
fn differ(system: &System) -> bool {
    system.speed_of(&system.platform.all_cpus()).is_none()
}
