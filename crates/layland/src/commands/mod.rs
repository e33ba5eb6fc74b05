//! The commands: a file or a folder each, with its arguments, its examples and its answer.

#[cfg(target_os = "linux")]
pub(crate) mod calibrate;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod convert;
#[cfg(target_os = "linux")]
pub(crate) mod daemon;
pub(crate) mod demos;
#[cfg(target_os = "linux")]
pub(crate) mod doctor;
#[cfg(target_os = "linux")]
pub(crate) mod exec;
pub(crate) mod explain;
pub(crate) mod generate;
#[cfg(feature = "lab")]
pub(crate) mod lab;
pub(crate) mod man;
pub(crate) mod policies;
#[cfg(target_os = "linux")]
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod simulate;
#[cfg(target_os = "linux")]
pub(crate) mod top;
#[cfg(target_os = "linux")]
pub(crate) mod trace;
