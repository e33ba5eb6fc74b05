//! Traces in the formats of other tools, by the ending of a file: for every command that writes a
//! trace.

use super::exit::Failure;
use layland_config::to_toml;
use layland_interchange::{perfetto, st_trace, tables};
use layland_model::System;
use layland_trace::{Labels, Trace};
use std::path::{Path, PathBuf};
use twox_hash::XxHash3_128;

/// Files to write: where, and what.
pub(crate) type Files = Vec<(PathBuf, Vec<u8>)>;

/// What made a trace.
pub(crate) struct Origin<'a> {
    /// What it is about.
    pub title: &'a str,
    /// What was run.
    pub provenance: String,
    pub seed: Option<u64>,
    pub system: Option<&'a System>,
}

impl Origin<'_> {
    /// All of it, so that a table that has left its folder still says how to make it again.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let command: Vec<String> = std::env::args().map(|argument| quoted(&argument)).collect();
        let set =
            |system: &System| format!("{:032x}", XxHash3_128::oneshot(to_toml(system).as_bytes()));
        let all = [
            ("version", Some(env!("CARGO_PKG_VERSION").to_owned())),
            ("provenance", Some(self.provenance.clone())),
            ("command", Some(command.join(" "))),
            ("seed", self.seed.map(|seed| seed.to_string())),
            ("set_xxh3_128", self.system.map(set)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// An argument as a shell reads it.
fn quoted(argument: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_./:=,+@%".contains(char);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', "'\\''"))
    }
}

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
    pub(crate) fn files(
        self,
        path: &Path,
        trace: &Trace,
        labels: &Labels,
        origin: &Origin<'_>,
    ) -> Result<Files, Failure> {
        let one = |bytes| Ok(vec![(path.to_owned(), bytes)]);
        match self {
            Export::Perfetto => one(perfetto::write(trace, labels, origin.title)),
            Export::StTrace => one(st_trace::write(trace, labels)
                .map_err(|error| Failure::refused(error.to_string()).help("write a .json"))?),
            Export::Parquet => {
                let files =
                    tables::of(trace, labels, &origin.facts()).into_iter().map(|(name, table)| {
                        let path = path.with_extension(format!("{name}.parquet"));
                        let failed =
                            |error| Failure::refused(format!("{}: {error}", path.display()));
                        let bytes = table.parquet().map_err(failed)?;
                        Ok((path, bytes))
                    });
                files.collect()
            }
        }
    }
}
