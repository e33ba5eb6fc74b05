//! Real-time scheduling on several CPUs: can it be guaranteed, what will happen, make it happen.
//!
//! ```
//! use layland::prelude::*;
//!
//! let tasks = vec![
//!     Task::implicit("control", Service::from_us(1_200), Duration::from_ms(5)),
//!     Task::implicit("lidar", Service::from_ms(30), Duration::from_ms(100)),
//!     Task::implicit("planner", Service::from_ms(60), Duration::from_ms(100)),
//! ];
//! let system = System::new(2, tasks);
//! let registry = Registry::standard();
//!
//! // Can it be guaranteed? By every test that is known for the policy; where none decides, by a run that misses, or a
//! // search of all states: what `layland check` says.
//! let answer = assess(&registry, "g-edf", &system, &AssessOptions::default())?;
//! assert_eq!((answer.verdict, answer.decided_by), (Verdict::Yes, Some("GFB")));
//!
//! // What will happen? Event by event, and exactly.
//! let policy = registry.build("g-edf", &system)?;
//! let mut counters = Counters::new(system.tasks.len(), system.platform.cpu_count());
//! simulate(&system, policy, &mut counters, &SimOptions::until(Time::from_ms(10_000)))?;
//! let total = counters.total();
//! assert_eq!((total.completed, total.missed), (2200, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | to | look at |
//! |---|---|
//! | describe tasks and CPUs | [`model`]: [`System`](model::System), [`Task`](model::Task), and the types of time |
//! | read and write task-set files | [`config`] |
//! | draw random sets | [`gen`](mod@gen) |
//! | choose a policy, or write one | [`policy`]: [`Registry`](policy::Registry), [`Policy`](policy::Policy) |
//! | ask what is guaranteed | [`guarantee`]: [`assess`](guarantee::assess); [`analysis`] has each test by itself |
//! | simulate | [`sim`]: [`simulate`](sim::simulate) |
//! | record a run, and draw it | [`trace`], [`chart`]; [`interchange`] for other tools; [`checker`] judges a trace |
//! | run on real threads | `linux`, on Linux |
//! | repeat an experiment | [`lab`], with the feature `lab` |
//! | have every command in a program with policies of its own | [`main_with`], with the feature `command` |
//!
//! A policy is a pure state machine. The simulator and the engines for Linux drive the same values,
//! and a policy of another crate is treated like the built-in ones.
//!
//! The examples of this crate are starting points for your own programs: `simulate_and_check`,
//! `own_policy`, `own_analysis` and `run_on_threads`.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `command` (default) | the program `layland` as a library: [`main_with`], and the feature `answers` |
//! | `answers` | the questions of the program and their answers, with pages and charts, without the program: [`answers`]; also for a browser |
//! | `lab` (default) | experiments: [`lab`] |
//! | `ext` | threads under sched_ext; needs Linux 7.2, libelf and zlib |

pub use layland_analysis as analysis;
pub use layland_chart as chart;
pub use layland_checker as checker;
pub use layland_config as config;
pub use layland_engine as engine;
pub use layland_gen as r#gen;
pub use layland_guarantee as guarantee;
pub use layland_interchange as interchange;
#[cfg(feature = "lab")]
pub use layland_lab as lab;
#[cfg(target_os = "linux")]
pub use layland_linux as linux;
pub use layland_model as model;
pub use layland_offline as offline;
pub use layland_policy as policy;
#[cfg(feature = "command")]
pub use layland_ros as ros;
pub use layland_sim as sim;
pub use layland_trace as trace;

pub mod prelude;

#[cfg(feature = "answers")]
pub mod answers;
#[cfg(feature = "command")]
mod cli;
#[cfg(feature = "command")]
mod command;
#[cfg(feature = "command")]
mod commands;
#[cfg(feature = "answers")]
#[cfg_attr(
    not(feature = "command"),
    expect(dead_code, reason = "the program alone writes files and draws for a terminal")
)]
mod pages;
#[cfg(feature = "command")]
mod ui;

#[cfg(feature = "command")]
pub use command::{main_of, main_with};
