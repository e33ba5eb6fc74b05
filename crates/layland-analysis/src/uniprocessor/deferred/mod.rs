//! One CPU, or several whose tasks are pinned to one each, with **non-preemptive regions**: jobs
//! that are never preempted, only between segments, or only after a delay ([`Preemption`]).
//!
//! | analysis | source | kind |
//! |---|---|---|
//! | [`edf`], demand and blocking | Jeffay, Stanat and Martel 1991; George, Rivierre and Spuri 1996; Baruah 2005 | exact |
//! | [`edf_response`], response times | George, Rivierre and Spuri 1996 | exact except for floating regions |
//! | [`fixed_priority`], response times | Davis, Burns, Bril and Lukkien 2007; Bril, Lukkien and Verhaegh 2009 | exact except for floating regions |
//!
//! Two values of a task count. Its [blocking](Task::blocking) is the time for which it keeps the
//! CPU from a job that comes before it: the longest region less the nanosecond in which it has
//! begun, because times are whole nanoseconds. (The papers have either this or, in continuous time,
//! the supremum.) A floating region blocks with all of its length, because it begins when the other
//! job arrives. Its [last region](Task::last_region) is the part at the end of a job that is not
//! preempted: a job that needs its WCET completes this long after the start of that region.
//!
//! *Exact* refers to sporadic tasks: the worst case requires a job that begins a nanosecond before
//! all others arrive. A job with a floating region of its own may end sooner than its response time
//! because of that region. The times are then only bounds, and a *no* becomes *unknown*, except for
//! the demand of EDF.

pub mod edf;
pub mod edf_response;
pub mod fixed_priority;

use crate::{Finding, Reason, Verdict};
use layland_model::{Preemption, Task};

/// Weakens a *no* to *unknown* for a task whose own floating region is not counted.
pub(super) fn unless_floating(mut finding: Finding, task: &Task) -> Finding {
    let is_floating = matches!(task.preemption, Preemption::Delayed(_));
    if is_floating && finding.verdict == Verdict::No {
        finding.verdict = Verdict::Unknown;
        finding.reasons.push(Reason::Holds("the gain from its own floating region is not counted"));
    }
    finding
}
