//! How what an engine sees is recorded in a trace.

use layland_model::Time;
use layland_policy::{Refusal, RefusalKind};
use layland_trace::{Answer, Errno};

/// What became of a request, given in words.
pub fn answer(at: Time, request: String, refused: Option<Refusal>) -> Answer {
    let errno = refused.as_ref().map(|refusal| match refusal.kind {
        RefusalKind::Busy => Errno::Busy,
        RefusalKind::NotPermitted => Errno::NotPermitted,
        RefusalKind::Invalid => Errno::Invalid,
    });
    Answer { at, request, refused: refused.map(|refusal| refusal.reason), errno }
}
