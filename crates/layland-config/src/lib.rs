//! Layland's file formats: text in, a [`System`](layland_model::System) out, and back.
//!
//! [`read`] takes the bytes of a file and gives a [`Loaded`] system or a [`Report`] that points at
//! every place that is wrong, all of them in one pass, and says what to do. It never panics, never
//! defaults silently, and refuses what would need unreasonable memory. It looks at nothing but its
//! arguments: files, the machine and the terminal are the caller's business.
//!
//! ```text
//!   bytes --> format: values with their places --> System --> rules of a valid system --> Loaded
//!                        |                                          |
//!                        `------- problems, each with a span -------'--> Report
//! ```
//!
//! | format | in | out |
//! |---|---|---|
//! | task-set file (TOML) | [`read`] | [`to_toml`]: what it writes reads back as the same system |
//! | rt-app JSON | [`read`] | [`to_rt_app`], with a warning for everything that is lost |
//! | CSV | [`read`] | [`to_csv`], with a warning for everything that is lost |
//! | plain lines, `C T [D]` | [`read`] | |
//! | SimSo XML | [`read`] | [`to_simso`], with a warning for everything that is lost |
//! | SchedCAT XML | [`read`] | [`to_schedcat`], with a warning for everything that is lost |
//! | a line of JSON | [`read`] | [`to_line`] |
//! | `name=1ms/5ms` | [`parse_inline`] | |
//!
//! Other files in TOML are read by their own crates, with [`document`] and [`Problems`].
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
mod host;
mod inline;
mod json;
mod keys;
mod levels;
mod lines;
mod plain;
mod problem;
mod read;
mod rtapp;
mod schema;
mod steps;
mod taskset;
mod xml;

pub use csv::to_csv;
pub use demos::{Demo, demo, demos};
pub use host::{Host, MAX_TASKS, Unit};
pub use inline::parse_inline;
pub use lines::to_line;
pub use problem::{LISTED, Position, Problem, Problems, Report, Severity, Span};
pub use read::{Format, HowMade, Loaded, MAX_BYTES, read, read_with};
pub use rtapp::{RtAppPolicy, to_rt_app};
pub use schema::schema;
pub use taskset::{Comments, TaskComments, to_toml, to_toml_with};
pub use xml::{
    Agreement, SIMSO_SCHEDULERS, SimsoIdentifiers, SimsoScheduler, simso_identifiers, to_schedcat,
    to_simso,
};

/// What [`read`] gives for a text that it cannot use: a [`Report`] with at least one error.
pub type Failure = Report;
