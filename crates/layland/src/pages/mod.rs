//! Answers as pages and charts, for every door: the command writes them into files, Python returns
//! them, and the playground shows them. Nothing here needs a terminal.

pub(crate) mod assigned;
pub(crate) mod figures;
pub(crate) mod playground;
pub(crate) mod report;
pub(crate) mod simulation;
pub(crate) mod window;

pub use simulation::ChartSpan;
