//! The questions that Layland answers about a task set, and the answers, as types.
//!
//! The command line, the Python package, the playground and programs in Rust build a question, ask
//! it here, and show the answer. Because the answer is computed in one place, it is the same at
//! every door. This crate knows no command line, no terminal and no file.
//!
//! ```
//! use layland_answers::{CheckQuestion, Set};
//! use layland_model::{Duration, Service, System, Task};
//! use layland_policy::Registry;
//!
//! let task = Task::implicit("control", Service::from_ms(1), Duration::from_ms(5));
//! let set = Set::in_memory("mine", System::new(1, vec![task]));
//! let question = CheckQuestion { policies: vec!["p-edf".to_owned()], ..CheckQuestion::default() };
//! let answer = question.ask(&Registry::standard(), set)?;
//!
//! // For a program in Rust: the verdict, and the assessment of each policy.
//! assert_eq!(answer.exit.name(), "yes");
//! assert_eq!(answer.policies[0].decided_by, Some("QPA"));
//! // For everything else: the document that `layland check --json` prints.
//! assert!(answer.json().contains("\"decided_by\": \"QPA\""));
//! # Ok::<(), layland_answers::Unanswered>(())
//! ```
//!
//! A simulation is asked for in the same way. A front end that shows progress, or that can be interrupted, supplies a
//! [`Watch`](simulate::Watch).
//!
//! ```
//! use layland_answers::simulate::Watch;
//! use layland_answers::{Set, SimulateQuestion};
//! use layland_model::{Duration, Service, System, Task};
//! use layland_policy::Registry;
//!
//! let task = |name, wcet, period| {
//!     Task::implicit(name, Service::from_ms(wcet), Duration::from_ms(period))
//! };
//! let set = Set::in_memory("mine", System::new(1, vec![task("a", 3, 5), task("b", 3, 6)]));
//! let policies = ["run", "g-edf"].map(str::to_owned).to_vec();
//! let mut question = SimulateQuestion::about(policies);
//! question.limits = vec!["a:misses>0".parse().expect("it is a limit")];
//! let answer = question.ask(&Registry::standard(), set, &Watch::default())?;
//!
//! // The first policy refuses the set, and under the second `a` misses a deadline.
//! assert!(answer.policies[0].result.is_err());
//! let ran = answer.policies[1].result.as_ref().expect("global policies take every set");
//! assert!(ran.summary.total.missed > 0 && ran.first_miss.is_some());
//! assert_eq!(answer.exit.name(), "no");
//! # Ok::<(), layland_answers::Unanswered>(())
//! ```
//!
//! | question | answer |
//! |---|---|
//! | [`CheckQuestion`]: can it be guaranteed? | [`Checked`], with its [`Document`](check::Document) and its certificate |
//! | [`SimulateQuestion`]: what will happen? | [`Simulated`], with its [`Document`](simulate::Document); it records again what charts and files show |
//! | [`DesignQuestion`]: which budget is the least for a group? | [`DesignDocument`](design::DesignDocument), with its proof |
//! | [`Limit`]: is a figure of a run within its limit? | [`Held`](limits::Held) |
//! | [`Structure::of`]: what does a policy make of the set before the start? | [`Structure`], which draws itself |
//! | [`Policies::of`], [`convert`]: which policies are there; what is the set in another format? | documents |

mod assigned;
pub mod check;
mod convert;
pub mod design;
mod doubts;
mod exit;
pub mod limits;
mod names;
mod policies;
pub mod schema;
mod set;
pub mod simulate;
mod structure;
mod unanswered;
mod usual;
pub mod values;

pub use check::{CheckQuestion, Checked};
pub use convert::convert;
pub use design::DesignQuestion;
pub use exit::Exit;
pub use limits::Limit;
pub use names::{canonical_policy, distinct_policies, unknown_policy};
pub use policies::Policies;
pub use set::{CPUS_NOT_GIVEN, EMPTY, Set, assumed};
pub use simulate::{SimulateQuestion, Simulated, usual_end};
pub use structure::Structure;
pub use unanswered::Unanswered;
pub use usual::UsualPolicy;
