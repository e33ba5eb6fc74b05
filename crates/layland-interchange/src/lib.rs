//! Layland's traces in the formats of other tools, and theirs as traces.
//!
//! | module | format | for |
//! |---|---|---|
//! | [`perfetto`] | Perfetto trace, `.pftrace` | <https://ui.perfetto.dev>, its trace processor and SQL |
//! | [`tables`] | Parquet, one file per table | polars, DuckDB, pandas, Spark, R |
//! | [`st_trace`] | the scheduling traces of LITMUS^RT | its `st-draw`, `st-job-stats`, `st-dump`, and traces of its kernels |
//! | [`kernel`] | the text of Linux kernel traces | `trace-cmd`, `perf script`, tracefs, and runs of ours |
//!
//! [`columns`] is the writer of tables that experiments use too. Every writer gives the same bytes
//! for the same trace on any machine.

#[cfg(feature = "tables")]
pub mod columns;
pub mod kernel;
pub mod perfetto;
pub mod st_trace;
#[cfg(feature = "tables")]
pub mod tables;
