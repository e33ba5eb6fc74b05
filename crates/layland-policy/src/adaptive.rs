//! Adaptive partitioning: EDF on each CPU, with threads that move to another CPU only while theirs
//! is overloaded.
//!
//! [`apedf`] places threads at the arrivals of their jobs; under [`a2pedf`], a CPU that runs out of
//! work also pulls a waiting thread.
//!
//! The algorithms are printed in the paper, and the authors have published the kernel that they
//! measured (github.com/thymbahutymba/linux, branch v5.7-apedf). The two differ, and the options
//! `limit`, `place` and `fit` say which is meant. The facts are from that kernel; the code is not.
//!
//! | | as printed | that kernel |
//! |---|---|---|
//! | a CPU is overloaded | above 1 | above 0.95 (`limit`) |
//! | a thread that wakes up on an overloaded CPU moves | always | if it cannot run at once |
//! | waiting threads are pushed from an overloaded CPU | never | see [`apedf`] |
//! | a thread that is late and goes on | is placed again | stays |
//! | a preempted thread | can be pulled | waits where it is (`place=pulling`: can be pulled) |
//! | a pull | takes one thread | takes an earlier one from each further CPU |

pub mod a2pedf;
pub mod apedf;
pub(crate) mod placement;

use crate::deadline::ABENI_BUTTAZZO;
use crate::deadline::options::{QUEUE_TIES, lag_reset, start, tie};
use crate::deadline::parameters::CONSTRAINED;
use crate::info::{OptionInfo, PolicyInfo, Values};
use crate::shell::groups::UNIT_SPEED;
use layland_model::{Algorithm, Citation};

/// Stevanato et al. 2021.
pub const STEVANATO: Citation = Citation {
    key: "stevanato2021adaptive",
    text: "A. Stevanato, T. Cucinotta, L. Abeni and D. Bristot de Oliveira. An evaluation of adaptive \
           partitioning of real-time workloads on Linux. ISORC 2021, pages 53-61.",
    bibtex: "@inproceedings{stevanato2021adaptive,
  author    = {Andrea Stevanato and Tommaso Cucinotta and Luca Abeni and Daniel {Bristot de Oliveira}},
  title     = {An Evaluation of Adaptive Partitioning of Real-Time Workloads on {Linux}},
  booktitle = {24th IEEE International Symposium on Real-Time Distributed Computing (ISORC)},
  pages     = {53--61}, year = {2021},
  doi       = {10.1109/ISORC52013.2021.00018}
}",
};

pub(crate) fn fallback() -> OptionInfo {
    OptionInfo::new(
        "fallback",
        "on (default): a job that fits on no CPU preempts the latest deadline; off: it stays where it is",
        Values::Switch,
    )
}

fn limit() -> OptionInfo {
    OptionInfo::new(
        "limit",
        "the bandwidth above which a CPU is overloaded, at most 1 (default 1, as printed; the kernel of the authors \
           has 19/20)",
        Values::Rate,
    )
}

fn place() -> OptionInfo {
    OptionInfo::new(
        "place",
        "the jobs that are placed again on an overloaded CPU: printed (default: each, as in Algorithm 1), waiting \
           (those that cannot run at once), kernel (as waiting, with the pushes and pulls of the kernel of the \
           authors), or pulling (as kernel, but preempted threads can be pulled)",
        Values::one_of(["printed", "waiting", "kernel", "pulling"]),
    )
}

fn fit() -> OptionInfo {
    OptionInfo::new(
        "fit",
        "the CPU that is taken of those that a thread fits on: first (default), or worst (the emptiest)",
        Values::one_of(["first", "worst"]),
    )
}

/// Returns both policies, in the order in which lists show them.
pub(crate) fn policies() -> Vec<PolicyInfo> {
    let apedf = PolicyInfo::new(
        "apedf",
        "adaptively partitioned EDF",
        "EDF on each CPU; a thread is placed again when a job arrives on an overloaded CPU",
        |system, options| Ok(Box::new(apedf::apedf(system, options)?)),
    );
    let a2pedf = PolicyInfo::new(
        "a2pedf",
        "adaptively partitioned EDF with pulling",
        "as apedf; a CPU that runs out of work takes a waiting thread of an overloaded one",
        |system, options| Ok(Box::new(a2pedf::a2pedf(system, options)?)),
    );
    let complete = |info: PolicyInfo| {
        info.implementing(Algorithm::AdaptivePartitioning)
            .refusing([CONSTRAINED, UNIT_SPEED])
            .breaking_ties(format!(
                "{QUEUE_TIES}; of CPUs that suit a thread alike, the lowest is taken"
            ))
            .with_options([fallback(), limit(), place(), fit(), tie(), lag_reset(), start()])
            .citing([STEVANATO, Citation::ABENI_CUCINOTTA, ABENI_BUTTAZZO])
    };
    vec![complete(apedf), complete(a2pedf)]
}
