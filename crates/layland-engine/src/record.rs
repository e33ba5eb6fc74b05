//! How what an engine sees is recorded in a trace.

use layland_model::Time;
use layland_policy::{Note, Refusal, RefusalKind};
use layland_trace::{Answer, Errno, MarkKind};

/// What the note of a policy shows in a trace.
pub fn mark(note: Note) -> MarkKind {
    match note {
        Note::Moved { task, from, to, why } => MarkKind::Moved { task, from, to, why },
        Note::Throttled { task } => MarkKind::Throttled(task),
        Note::Replenished { task, deadline } => MarkKind::Replenished { task, deadline },
        Note::Indicator { cpu, level } => MarkKind::Indicator(cpu, level),
        Note::Unlisted { task } => MarkKind::Unlisted(task),
    }
}

/// What became of a request, given in words.
pub fn answer(at: Time, request: String, refused: Option<Refusal>) -> Answer {
    let errno = refused.as_ref().map(|refusal| match refusal.kind {
        RefusalKind::Busy => Errno::Busy,
        RefusalKind::NotPermitted => Errno::NotPermitted,
        RefusalKind::Invalid => Errno::Invalid,
    });
    Answer { at, request, refused: refused.map(|refusal| refusal.reason), errno }
}
