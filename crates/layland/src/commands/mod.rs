//! The commands: a file or a folder each, with its arguments, its examples and its answer.

#[cfg(target_os = "linux")]
pub mod calibrate;
pub mod check;
pub mod completions;
pub mod convert;
pub mod demos;
#[cfg(target_os = "linux")]
pub mod doctor;
pub mod explain;
pub mod generate;
#[cfg(feature = "lab")]
pub mod lab;
pub mod man;
pub mod policies;
#[cfg(target_os = "linux")]
pub mod run;
pub mod schema;
pub mod simulate;
#[cfg(target_os = "linux")]
pub mod trace;
