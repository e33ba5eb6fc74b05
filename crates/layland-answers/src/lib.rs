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
//! | question | answer |
//! |---|---|
//! | [`CheckQuestion`]: can it be guaranteed? | [`Checked`], with its [`Document`](check::Document) and its certificate |

pub mod check;
mod convert;
mod doubts;
mod exit;
pub mod limits;
mod names;
mod policies;
mod set;
pub mod simulate;
mod structure;
mod unanswered;
pub mod values;

pub use check::{CheckQuestion, Checked};
pub use convert::convert;
pub use exit::Exit;
pub use limits::Limit;
pub use names::{canonical_policy, distinct_policies, unknown_policy};
pub use policies::Policies;
pub use set::{CPUS_NOT_GIVEN, EMPTY, Set, assumed};
pub use simulate::{SimulateQuestion, Simulated, usual_end};
pub use structure::Structure;
pub use unanswered::Unanswered;
