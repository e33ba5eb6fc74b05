//! Layland's experiments. The input is a grid of parameters and a list of policies and analyses;
//! the output is tables of results, figures, and judgements of claims.
//!
//! An [`Experiment`] is read from a TOML file ([`read()`]) or comes with the crate ([`packaged`]).
//! [`Runner`] measures it on all cores, shard by shard, and resumes an interrupted run. [`Results`]
//! hold the measurements in the order of the experiment, with the same bytes for any number of
//! threads.
//!
//! ```text
//!   experiment.toml --> grid of points x systems per point --> shards, one file each
//!                              x series (policy, test, ..)        |
//!                                                                 v
//!   figures (SVG, PDF), tables (CSV, Parquet), claims <-- Results: one row per system and series
//! ```
//!
//! | file | content |
//! |---|---|
//! | `experiment.rs`, `read/` | the description of an experiment, and its TOML |
//! | `parameters.rs` | the parameters from which a system is drawn, by the names of the options of `layland gen` |
//! | `selection.rs` | selects points of an experiment, and adds policies beside its series |
//! | `systems.rs` | the systems of a point |
//! | `measure.rs`, `observe.rs`, `structure.rs` | one system under one policy or analysis: a row |
//! | `metric.rs` | the columns of a row, and the statistics over rows |
//! | `shard.rs`, `run.rs` | the units of work, and their results on disk |
//! | `part.rs` | a part of the units for one of several processes |
//! | `results.rs` | all rows, as a table that `layland-interchange` writes |
//! | `curve.rs`, `claim.rs`, `claim/resample.rs`, `table.rs` | the contents of figures, claims with their intervals, and tables |
//! | `timing.rs` | the cost of decisions: measured times, kept apart from the results |
//! | `threads/` | the cost of policies on real threads, which the command measures: also kept apart |
//! | `engines/` | the same systems in the simulator and on every engine, which the command runs: side by side |
//! | `draw.rs` | the layout of a figure |
//! | `paper/` | a report for the authors of a paper |
//!
//! Integers and exact rationals determine the behaviour of a system and the answer of a test;
//! metrics and statistics are floating point, computed in one fixed order.

mod claim;
mod curve;
mod draw;
mod engines;
mod experiment;
mod looks;
mod measure;
mod metric;
mod observe;
mod output;
pub mod packaged;
mod paper;
mod parameters;
mod part;
mod read;
mod real;
mod recurring;
mod reserve;
mod results;
mod run;
mod selection;
mod series;
mod shard;
mod structure;
mod systems;
mod table;
mod threads;
mod timers;
mod timing;

pub use claim::{Judged, JudgedPoint, Judgement, Method, Sampled, judge, judge_of};
pub use curve::{Curve, Point, curves};
pub use engines::{Ahead, Did, Engine, EngineRun, EngineRuns, write_engines};
pub use experiment::{
    Bar, Bounds, Cell, Claim, Comparison, Engines, Erratum, Experiment, Figure, FigureKind, Grid,
    Operand, Other, Range, Reported, Said, Statistic, TARDINESS, Table, Threads, Timing,
    TimingClaim,
};
pub use layland_sim::Horizon;
pub use looks::{Look, looks};
pub use measure::Row;
pub use metric::{MEASURED, METRICS, Metric, Origin, THREADED, metric};
pub use output::{Written, figure_pdf, figure_svg, sets_in, write, write_timings};
pub use paper::write_paper;
pub use parameters::{PARAMETERS, Parameters};
pub use part::{Listed, Part, Share};
pub use read::{VERSION, parse_horizon, read};
pub use results::{CellRows, GridRows, Results, SCHEMA};
pub use run::{LabError, Plan, Progress, Runner};
pub use series::{Measured, Series, SeriesBound};
pub use shard::BUILD;
pub use systems::Systems;
pub use table::{claims_text, figure_text, table_text};
pub use threads::{Costs, Move, ThreadRun, ThreadRuns, Times, write_threads};
pub use timers::ManagerTimers;
pub use timing::{JudgedStatistic, JudgedTimes, TimedPoint, Timings, time};
