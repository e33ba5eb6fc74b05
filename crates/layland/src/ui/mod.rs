//! What the commands share: reading a task set, writing files, tables and charts, exit codes.

pub mod chart;
pub mod exit;
pub mod export;
pub mod formats;
pub mod input;
pub mod interrupt;
pub mod output;
#[cfg(target_os = "linux")]
pub mod recorded;
pub mod report;
pub mod table;
pub mod terminal;
pub mod values;
