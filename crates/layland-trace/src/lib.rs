//! Layland's traces: what every engine reports while it runs ([`Recorder`]), and what is made of
//! it. A recorded run is a [`Trace`].

mod record;

pub use record::{
    Answer, Both, Job, JobEnd, JobRecord, Mark, MarkKind, NoRecord, Recorder, Segment, Trace,
};
