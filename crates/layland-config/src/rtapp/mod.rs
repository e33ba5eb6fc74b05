//! Reads and writes the JSON of rt-app 1.0.

mod read;
mod write;

pub(crate) use read::read;
pub use write::{RtAppPolicy, to_rt_app};
