//! How what an engine sees is recorded in a trace.

use layland_model::{TaskId, Time};
use layland_policy::{Refusal, RefusalKind};
use layland_trace::{Answer, Errno};

/// What became of a request, given in words, and with the task that asks to enter if that is the request.
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
