//! One CPU, or several whose tasks are pinned to one each, with **non-preemptive regions**: jobs that are preempted
//! nowhere, between segments alone, or after a delay ([`Preemption`]).
//!
//! | what | source | kind |
//! |---|---|---|
//! | [`edf`], demand and blocking | Jeffay, Stanat and Martel 1991; George, Rivierre and Spuri 1996; Baruah 2005 | exact |
//! | [`edf_response`], response times | George, Rivierre and Spuri 1996 | exact but for floating regions |
//! | [`fixed_priority`], response times | Davis, Burns, Bril and Lukkien 2007; Bril, Lukkien and Verhaegh 2009 | exact but for floating regions |
//!
//! Two numbers of a task count. Its [blocking](Task::blocking) is how long it keeps the CPU from a job that comes
//! before it: the longest region less the nanosecond in which it has begun, because times are whole nanoseconds. (The
//! papers have either that or, in continuous time, the supremum.) A floating region blocks with all of its length, for
//! it begins when the other job comes. Its [last region](Task::last_region) is what nobody interrupts at the end of a
//! job: a job that needs its WCET is done that long after it has begun that region.
//!
//! *Exact* is about sporadic tasks: the worst case needs a job that has begun a nanosecond before all others come. A
//! job that has a floating region of its own may end sooner than its response time, because of that region: the times
//! are bounds then, and a *no* is *unknown*, but for the demand of EDF.

pub mod edf;
pub mod edf_response;
pub mod fixed_priority;

use crate::{Finding, Reason, Verdict};
use layland_model::{Preemption, Task};

/// Takes back a *no* about a task whose own floating region is not counted.
pub(super) fn unless_floating(mut finding: Finding, task: &Task) -> Finding {
    let is_floating = matches!(task.preemption, Preemption::Delayed(_));
    if is_floating && finding.verdict == Verdict::No {
        finding.verdict = Verdict::Unknown;
        finding
            .reasons
            .push(Reason::Holds("what its own floating region spares it is not counted"));
    }
    finding
}
