//! Global scheduling in which heavy tasks come first: **EDF-US\[zeta\]** (Srinivasan and Baruah 2002), **fpEDF**
//! (Baruah 2004), **EDF^(k)** (Goossens, Funk and Baruah 2003) and **RM-US\[zeta\]** (Andersson, Baruah and Jonsson
//! 2001).
//!
//! Under global EDF and RM a task of utilization 1 may wait for light ones until it is late (Dhall
//! and Liu 1978), so that no total above 1 is guaranteed on any number of CPUs. These policies
//! choose, before the start, a class of tasks that come before all others, and have bounds of `m /
//! 2` or, for RM, `m / 3`.
//!
//! | paper | the class (`crates/layland-offline/src/top.rs`) | the others |
//! |---|---|---|
//! | EDF-US\[`zeta`\] | every task above `zeta`; `m / (2 m - 1)` by default | EDF |
//! | fpEDF | those of the `m - 1` largest tasks that are above 1/2 | EDF |
//! | EDF^(k) | the `k - 1` largest tasks; `k` is the smallest that their test accepts | EDF |
//! | RM-US\[`zeta`\] | every task above `zeta`; `m / (3 m - 2)` by default | RM |
//!
//! The schedule is that of [`HighestFirst`], which also defines placement. Ties: jobs of the class
//! are equal to each other, and go by rank, then by the id of the task; so do equal deadlines or
//! periods among the others.
//!
//! Cases that the papers leave out:
//! - a class of `m` tasks or more, which keeps all CPUs from the others: EDF-US\[1/2\] is printed
//!   with the bound `(m + 1) / 2`, which does not hold then (`docs/policies/top-first.md`);
//! - tasks whose deadlines are shorter than their periods: `C / D` replaces `C / T`;
//! - tasks that join or change later: they are refused, since the classes of all others might
//!   change.

use crate::info::{OptionInfo, PolicyInfo, PolicyOptions, SystemRefusal, Values};
use crate::shell::groups::{self, ONE_CLUSTER};
use crate::shell::{Grouped, Scope};
use crate::{HighestFirst, Refusal};
use layland_model::{Algorithm, Order, System, TaskId, TopClass};
use layland_offline::top::{self, ANDERSSON, BARUAH, GOOSSENS, SRINIVASAN};
use std::borrow::Cow;

/// Returns the descriptions of all policies of this family.
pub(crate) fn policies() -> Vec<PolicyInfo> {
    let zeta = |default| {
        OptionInfo::new(
            "zeta",
            format!("tasks of a larger utilization come first, by default than {default}"),
            Values::Rate,
        )
    };
    let by = |given: &'static str, class: TopClass, then: Order| {
        move |options: &PolicyOptions| {
            Algorithm::TopFirst(match options.text(given) {
                None => class,
                Some(_) => TopClass::Chosen(then),
            })
        }
    };
    vec![
        PolicyInfo::new(
            "edf-us",
            "global EDF below tasks above a threshold (EDF-US)",
            "as g-edf, but tasks of large utilization come before all others",
            |system, options| Ok(Box::new(edf_us(system, options)?)),
        )
        .implementing_by(by("zeta", TopClass::EdfUs, Order::Deadline))
        .with_options([zeta("m/(2m-1)"), groups::place()])
        .citing([SRINIVASAN]),
        PolicyInfo::new(
            "fpedf",
            "EDF, with up to m - 1 large tasks given top priority (fpEDF)",
            "as g-edf, but of the m - 1 largest tasks those above 1/2 come before all others",
            |system, options| Ok(Box::new(fpedf(system, options)?)),
        )
        .implementing(Algorithm::TopFirst(TopClass::FpEdf))
        .with_options([groups::place()])
        .citing([BARUAH]),
        PolicyInfo::new(
            "edf-k",
            "global EDF below the k - 1 largest tasks (EDF^(k))",
            "as g-edf, but as many of the largest tasks as the test needs come before all others",
            |system, options| Ok(Box::new(edf_k(system, options)?)),
        )
        .implementing_by(by("k", TopClass::EdfK, Order::Deadline))
        .with_options([OptionInfo::new(
            "k",
            "the k - 1 largest tasks come first, by default for the smallest k that the test accepts",
            Values::Number,
        ), groups::place()])
        .citing([GOOSSENS]),
        PolicyInfo::new(
            "rm-us",
            "global rate-monotonic below tasks above a threshold (RM-US)",
            "as g-rm, but tasks of large utilization come before all others",
            |system, options| Ok(Box::new(rm_us(system, options)?)),
        )
        .implementing_by(by("zeta", TopClass::RmUs, Order::RateMonotonic))
        .with_options([zeta("m/(3m-2)"), groups::place()])
        .citing([ANDERSSON]),
    ]
    .into_iter()
    .map(|info| {
        let equal = if info.name == "rm-us" { "periods" } else { "deadlines" };
        let refuses = match info.name.as_ref() {
            "edf-k" => vec![ONE_CLUSTER, NO_K],
            _ => vec![ONE_CLUSTER],
        };
        info.refusing(refuses).breaking_ties(format!(
            "among the tasks that come first, and where the others have equal {equal}, the smaller rank comes first, \
             then the task that comes first"
        ))
    })
    .collect()
}

const NO_K: &str = "sets for which no k passes its test, unless a k is given";

/// Returns **EDF-US\[zeta\]**: tasks above `zeta` first, then the earliest deadlines.
///
/// # Errors
/// If the system has several clusters, a task may not use every CPU, or `zeta` is not a positive
/// number.
pub fn edf_us(
    system: &System,
    options: &PolicyOptions,
) -> Result<Grouped<HighestFirst>, SystemRefusal> {
    let zeta = options.rate("zeta")?.unwrap_or_else(|| top::edf_us(system.platform.cpu_count()));
    below("edf-us", top::above(&in_time(system), &zeta), Order::Deadline, system, options)
}

/// Returns **fpEDF**: those of the `m - 1` largest tasks that are above 1/2 first, then the
/// earliest deadlines.
///
/// # Errors
/// If the system has several clusters, or a task may not use every CPU.
pub fn fpedf(
    system: &System,
    options: &PolicyOptions,
) -> Result<Grouped<HighestFirst>, SystemRefusal> {
    below("fpedf", top::above_half(&in_time(system)), Order::Deadline, system, options)
}

/// Returns **EDF^(k)**: the `k - 1` largest tasks first, then the earliest deadlines.
///
/// # Errors
/// If the system has several clusters, a task may not use every CPU, or no `k` is given and none passes the test.
pub fn edf_k(
    system: &System,
    options: &PolicyOptions,
) -> Result<Grouped<HighestFirst>, SystemRefusal> {
    let k = match options.number("k")? {
        Some(0) => return Err(Refusal::invalid("k=`0` is not a number from 1 on").into()),
        Some(k) => k,
        None => top::smallest_k(&in_time(system)).ok_or_else(|| {
            Refusal::invalid(
                "edf-k has no k that passes its test for these tasks: give one, as in edf-k:k=2",
            )
        })?,
    };
    below("edf-k", top::largest(&in_time(system), k - 1), Order::Deadline, system, options)
}

/// Returns **RM-US\[zeta\]**: tasks above `zeta` first, then the shortest periods.
///
/// # Errors
/// If the system has several clusters, a task may not use every CPU, or `zeta` is not a positive
/// number.
pub fn rm_us(
    system: &System,
    options: &PolicyOptions,
) -> Result<Grouped<HighestFirst>, SystemRefusal> {
    let zeta = options.rate("zeta")?.unwrap_or_else(|| top::rm_us(system.platform.cpu_count()));
    below("rm-us", top::above(&in_time(system), &zeta), Order::RateMonotonic, system, options)
}

/// Returns the system by whose utilizations the class is chosen: on CPUs of one speed, in
/// [time](System::time_view).
fn in_time(system: &System) -> Cow<'_, System> {
    system.time_view(None).map_or(Cow::Borrowed(system), Cow::Owned)
}

/// Returns the policy that runs the class first, and below it the others in this order.
fn below(
    name: &str,
    class: Vec<TaskId>,
    then: Order,
    system: &System,
    options: &PolicyOptions,
) -> Result<Grouped<HighestFirst>, SystemRefusal> {
    let jobs = HighestFirst::default();
    let grouped = Grouped::new(name, Scope::Global, then, system, options, jobs)?;
    let grouped = grouped.placing(groups::placement(options)?, system);
    Ok(grouped.putting_first(class))
}
