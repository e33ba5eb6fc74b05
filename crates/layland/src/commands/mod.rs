//! The commands, each in a file or a folder with its arguments, its examples and its output.

#[cfg(all(feature = "command", target_os = "linux"))]
pub(crate) mod calibrate;
pub(crate) mod check;
#[cfg(feature = "command")]
pub(crate) mod completions;
pub(crate) mod convert;
#[cfg(all(feature = "command", target_os = "linux"))]
pub(crate) mod daemon;
pub(crate) mod demos;
#[cfg(all(feature = "command", target_os = "linux"))]
pub(crate) mod doctor;
#[cfg(all(feature = "command", target_os = "linux"))]
pub(crate) mod exec;
pub(crate) mod explain;
pub(crate) mod generate;
#[cfg(all(feature = "command", feature = "lab"))]
pub(crate) mod lab;
#[cfg(feature = "command")]
pub(crate) mod man;
#[cfg(feature = "command")]
pub(crate) mod play;
pub(crate) mod policies;
#[cfg(feature = "command")]
pub(crate) mod ros2;
#[cfg(all(feature = "command", target_os = "linux"))]
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod simulate;
#[cfg(all(feature = "command", target_os = "linux"))]
pub(crate) mod top;
#[cfg(all(feature = "command", target_os = "linux"))]
pub(crate) mod trace;
