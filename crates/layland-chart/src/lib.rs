//! Layland's charts: [Gantt charts](gantt) of recorded runs.

pub mod gantt;
