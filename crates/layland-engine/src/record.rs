//! The record of events of an engine in a trace.

use layland_model::{TaskId, Time};
use layland_policy::{Refusal, RefusalKind};
use layland_trace::{Answer, Errno};

/// Returns the outcome of a request, which is described by a string and, if a task asks to enter,
/// by that task.
pub fn answer(
    at: Time,
    request: String,
    entering: Option<TaskId>,
    refused: Option<Refusal>,
) -> Answer {
    let errno = refused.as_ref().map(|refusal| match refusal.kind {
        RefusalKind::Busy => Errno::Busy,
        RefusalKind::NotPermitted => Errno::NotPermitted,
        RefusalKind::Invalid => Errno::Invalid,
    });
    Answer { at, request, entering, refused: refused.map(|refusal| refusal.reason), errno }
}
