//! Traces in the formats of other tools, by the ending of a file: for every command that writes a
//! trace.

use super::exit::Failure;
use layland_interchange::{perfetto, st_trace, tables};
use layland_trace::{Labels, Trace};
use std::path::{Path, PathBuf};

/// Files to write: where, and what.
pub(crate) type Files = Vec<(PathBuf, Vec<u8>)>;

/// A format that takes a whole trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Export {
    /// For Perfetto.
    Perfetto,
    /// A Parquet file for each table.
    Parquet,
    /// The records of LITMUS^RT.
    StTrace,
}

impl Export {
    /// The endings of its files.
    pub(crate) fn endings(self) -> &'static [&'static str] {
        match self {
            Export::Perfetto => &["pftrace", "perfetto-trace"],
            Export::Parquet => &["parquet"],
            Export::StTrace => &["bin"],
        }
    }

    /// What the ending means.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Export::Perfetto => ".pftrace for Perfetto",
            Export::Parquet => ".parquet for tables",
            Export::StTrace => ".bin for a trace of LITMUS^RT",
        }
    }

    /// The files to write for a trace: that of the path, or `dir/name.TABLE.parquet` for each table.
    /// `title` says what was run.
    pub(crate) fn files(
        self,
        path: &Path,
        trace: &Trace,
        labels: &Labels,
        title: &str,
    ) -> Result<Files, Failure> {
        let one = |bytes| Ok(vec![(path.to_owned(), bytes)]);
        match self {
            Export::Perfetto => one(perfetto::write(trace, labels, title)),
            Export::StTrace => one(st_trace::write(trace, labels)
                .map_err(|error| Failure::refused(error.to_string()).help("write a .json"))?),
            Export::Parquet => {
                let files = tables::of(trace, labels, title).into_iter().map(|(name, table)| {
                    let path = path.with_extension(format!("{name}.parquet"));
                    let failed = |error| Failure::refused(format!("{}: {error}", path.display()));
                    let bytes = table.parquet().map_err(failed)?;
                    Ok((path, bytes))
                });
                files.collect()
            }
        }
    }
}
