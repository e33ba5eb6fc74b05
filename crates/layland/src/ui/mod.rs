//! What the commands share: reading a task set, writing files, tables and charts, exit codes.

pub(crate) mod chart;
pub(crate) mod exit;
pub(crate) mod export;
pub(crate) mod formats;
pub(crate) mod input;
pub(crate) mod interrupt;
pub(crate) mod output;
#[cfg(target_os = "linux")]
pub(crate) mod recorded;
pub(crate) mod report;
pub(crate) mod table;
pub(crate) mod terminal;
pub(crate) mod threads;
pub(crate) mod values;
