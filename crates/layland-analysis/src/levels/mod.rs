//! Several tasks of one given priority, which form a *level*, where ranks do not break ties:
//! `p-fp`, `c-fp` and `g-fp` with `tie=fifo` and `tie=any`.
//!
//! | test | policies | kind |
//! |---|---|---|
//! | [`FIFO`] | `tie=fifo` on each CPU | exact |
//! | [`ONE_CPU`] | `tie=fifo` and `tie=any` on each CPU | sufficient, for every order within a level |
//! | [`SUSPENDING`] | `tie=fifo` and `tie=any` on each CPU, with self-suspension | sufficient, for every order within a level |
//! | [`BCL`], [`BERTOGNA`], [`GUAN`] | `tie=fifo` and `tie=any` on the CPUs of a cluster | sufficient, for every order within a level |
//!
//! `hp` are the tasks of higher levels, `ep` those of the level of `tau_i`, including itself. Lower
//! levels do not matter.
//!
//! **Every order.** While a job waits, only `hp` and `ep` execute, in whatever order `ep` run. So a
//! result on fixed priorities that uses only the work of higher tasks also holds with `hp` and `ep`
//! without `tau_i` as the higher tasks. A result that uses responses of higher tasks may use those
//! of `hp`, which do not depend on the level. For `ep` it uses the deadlines: the tasks of a level
//! are tested together, and until the first miss none of them is late. A *no* would require that
//! every order misses, which none of these tests shows.
//!
//! Assumes: (1) every task may use one CPU only (on several CPUs: its whole cluster), (2) jobs of a
//! task at least a period apart, (3) no release jitter, except for `RTA-LEVEL`, (4) WCETs are kept,
//! (5) overheads are part of `C_i`, (6) unit speeds, (7) nothing changes while the system runs,
//! (8) few pairs of tasks share a CPU, (9) every task has a priority; on several CPUs and with
//! self-suspension: `C_i <= D_i <= T_i`. Times are integers.

#![expect(non_snake_case, reason = "symbols of the papers")]

mod fifo;
mod global;
mod one_cpu;

pub use fifo::{FIFO, FIFO_RESPONSES, FIFO_UNREACHED, responses};
pub use global::{
    BCL, BCL_RESPONSES, BERTOGNA, BERTOGNA_RESPONSES, GUAN, GUAN_RESPONSES, by_deadlines,
};
pub use one_cpu::{ONE_CPU, ONE_CPU_RESPONSES, SUSPENDING, SUSPENDING_RESPONSES, response_time};

use crate::Assumption::{self, *};
use crate::assumption::and;
use crate::group::Group;
use crate::uniprocessor::fixed_priority::PriorityOrder;
use layland_model::{Algorithm, Form, InLevel, Task};
use std::ops::Range;

const ONE_BY_ONE: &[Assumption] = &[
    OneCpuEach,
    SporadicReleases,
    NoJitter,
    WcetKept,
    NoOverheads,
    UnitSpeeds,
    NoRequests,
    FewPairs,
    Priorities,
];
const ARRIVING: &[Assumption] = &[
    OneCpuEach,
    BoundedArrivals,
    WcetKept,
    NoOverheads,
    UnitSpeeds,
    NoRequests,
    FewPairs,
    Priorities,
];
const ALONE: &[Assumption] = &and::<11>(&and::<10>(ONE_BY_ONE, ConstrainedDeadlines), NoSections);
const SHARED: &[Assumption] = &and::<11>(crate::global_edf::PAIRED, Priorities);

const QUEUED: &[Algorithm] = &[Algorithm::Levels(Form::Partitioned, InLevel::Fifo)];
const ON_ONE_CPU: &[Algorithm] = &[
    Algorithm::Levels(Form::Partitioned, InLevel::Fifo),
    Algorithm::Levels(Form::Partitioned, InLevel::Any),
];
const ON_SEVERAL: &[Algorithm] = &[
    Algorithm::Levels(Form::Global, InLevel::Fifo),
    Algorithm::Levels(Form::Global, InLevel::Any),
    Algorithm::Levels(Form::Clustered, InLevel::Fifo),
    Algorithm::Levels(Form::Clustered, InLevel::Any),
];
const NO_PROOF: &str = "the verifier does not know levels";

/// Sorts the tasks of a group, the highest level first, and returns their levels.
fn sorted(group: &mut Group<'_>) -> Vec<i64> {
    group.tasks = PriorityOrder::Given.sort(group);
    group.tasks().map(level).collect()
}

fn level(task: &Task) -> i64 {
    task.priority.unwrap_or(i64::MAX)
}

/// The range of each level in a list of ascending levels.
fn ranges(levels: &[i64]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    levels.chunk_by(|a, b| a == b).map(move |equal| {
        let from = at;
        at += equal.len();
        from..at
    })
}
