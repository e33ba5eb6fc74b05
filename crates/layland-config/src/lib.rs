//! Layland's file formats: converts text to a [`System`](layland_model::System), and back.
//!
//! [`Kind`] says what a file is. [`read`] converts the bytes of a file to a [`Loaded`] system, or
//! to a [`Report`] that points at every fault, all of them in one pass, and suggests fixes. It
//! never panics, never uses a default silently, and rejects input that would need unreasonable
//! memory. It depends only on its arguments: the caller handles files, the machine and the
//! terminal.
//!
//! ```text
//!   bytes --> format: values with their places --> System --> rules of a valid system --> Loaded
//!                        |                                          |
//!                        `------- problems, each with a span -------'--> Report
//! ```
//!
//! | format | in | out |
//! |---|---|---|
//! | task-set file (TOML) | [`read`] | [`to_toml`]: the output reads back as the same system |
//! | rt-app JSON | [`read`] | [`to_rt_app`], with a warning for every loss |
//! | tables by their titles: CSV, aligned columns, markdown, LaTeX | [`read`] | [`to_csv`], with a warning for every loss |
//! | lists of objects, JSON and YAML | [`read`] | |
//! | plain lines, `C T [D]`, and words, `T1: C=1, T=4` | [`read`] | |
//! | job sets of SAG, CSV | [`read`] | [`to_sag`], with a warning for every loss |
//! | graphs of Graphviz | [`read`] | |
//! | SimSo XML | [`read`] | [`to_simso`], with a warning for every loss |
//! | SchedCAT XML | [`read`] | [`to_schedcat`], with a warning for every loss |
//! | a line of JSON | [`read`] | [`to_line`] |
//! | `name=1ms/5ms` | [`parse_inline`] | |
//!
//! Other TOML files are read by their own crates, with [`document`] and [`Problems`].
//!
//! ```
//! use layland_config::{Format, Host, read, to_toml};
//! let text = r#"
//! layland = 1
//! [platform]
//! cpus = 2
//! [[task]]
//! name = "control"
//! period = "5ms"
//! wcet = "1.2ms"
//! "#;
//! let loaded = read("control.toml", text.as_bytes(), Format::Toml, &Host::default()).unwrap();
//! assert_eq!(loaded.system.tasks.len(), 1);
//! let again = to_toml(&loaded.system);
//! let again = read("again", again.as_bytes(), Format::Toml, &Host::default()).unwrap();
//! assert_eq!(again.system, loaded.system);
//! ```

#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

mod cpus;
mod csv;
mod demos;
pub mod document;
mod dot;
mod host;
mod inline;
mod json;
mod keys;
mod kind;
mod lettered;
mod levels;
mod lines;
mod once;
mod plain;
mod poet;
mod problem;
mod read;
mod rtapp;
mod sag;
mod schema;
mod steps;
mod taskset;
mod tolerance;
mod xml;
mod yaml;

pub use csv::to_csv;
pub use demos::{Demo, demo, demos};
pub use host::{Columns, Host, MAX_TASKS, Unit};
pub use inline::parse_inline;
pub use kind::{Foreign, Kind};
pub use lines::to_line;
pub use poet::to_poet;
pub use problem::{LISTED, Position, Problem, Problems, Report, Severity, Span};
pub use read::{Format, HowMade, Loaded, MAX_BYTES, read, read_with};
pub use rtapp::{RtAppPolicy, to_rt_app};
pub use sag::to_sag;
pub use schema::schema;
pub use taskset::{Comments, TaskComments, to_toml, to_toml_with};
pub use xml::{
    Agreement, SIMSO_SCHEDULERS, SimsoIdentifiers, SimsoScheduler, simso_identifiers, to_schedcat,
    to_simso,
};

/// The error of [`read`] for a text that cannot be used: a [`Report`] with at least one error.
pub type Failure = Report;
