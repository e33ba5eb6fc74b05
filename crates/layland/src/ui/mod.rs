//! Code that the commands share: reading a task set, writing files, tables and charts, exit codes.

pub(crate) mod batch;
pub(crate) mod chart;
pub(crate) mod command_line;
pub(crate) mod document;
pub(crate) mod exit;
#[cfg_attr(not(feature = "tables"), expect(dead_code, reason = "tables alone say what made them"))]
pub(crate) mod export;
pub(crate) mod files;
pub(crate) mod formats;
pub(crate) mod gate;
pub(crate) mod hints;
pub(crate) mod input;
pub(crate) mod interrupt;
pub(crate) mod names;
pub(crate) mod numbers;
pub(crate) mod output;
pub(crate) mod progress;
#[cfg(target_os = "linux")]
pub(crate) mod recorded;
pub(crate) mod report;
pub(crate) mod rows;
pub(crate) mod table;
pub(crate) mod terminal;
pub(crate) mod threads;
pub(crate) mod tint;
pub(crate) mod working;
