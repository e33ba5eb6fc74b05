//! Layland's scheduling policies.
//!
//! A policy is a pure state machine. An engine reports events to it, and requests a decision once
//! per instant:
//!
//! ```text
//!   simulator, Linux engines                              a policy
//!   ------------------------                              --------
//!   a job is ready          on_event(now, Release)  --->  keeps it
//!   a job has completed     on_event(now, Completion) ->  forgets it
//!   the instant is over     decide(now, &mut actions) ->  says what changes:
//!                      <--- Run { cpu, job, .. }, Idle { cpu }, SetTimer { .. }
//! ```
//!
//! A policy never reads a clock, draws a random number, prints, spawns, locks or inspects the
//! engine that drives it. So the simulator and the Linux engines drive the very same values, and
//! the same events give the same actions, on any machine.
//!
//! Where to read:
//! - [`Policy`], [`Event`] and [`Action`]: the boundary and its contract;
//! - [`HighestFirst`]: global EDF and its relatives, in a page; [`edzl`] adds one rule to it,
//!   [`top_first`] a class of tasks, [`fair_lateness`] earlier deadlines, [`deferred`] regions
//!   without preemption; [`served`] has jobs that wait for budget, and [`least_laxity`] sorts jobs
//!   anew at every decision;
//! - [`shell`]: the part that policies share (tasks and CPUs that come and go, requests,
//!   placement);
//! - [`Registry`]: every policy by name; it accepts policies of other crates, which describe
//!   themselves with a [`PolicyInfo`];
//! - one module for each family of policies.
//!
//! ```
//! use layland_model::{CpuId, Duration, JobId, Service, System, Task, TaskId, Time};
//! use layland_policy::{Action, Event, Registry};
//!
//! let task = |name, wcet, period| {
//!     Task::implicit(name, Service::from_ms(wcet), Duration::from_ms(period))
//! };
//! let system = System::new(1, vec![task("slow", 5, 20), task("fast", 1, 5)]);
//! let [slow, fast] = [0, 1].map(|task| JobId { task: TaskId(task), seq: 0 });
//! let (cpu, at) = (CpuId(0), Time::from_ms);
//! let mut policy = Registry::standard().build("g-edf", &system)?;
//! let mut actions = Vec::new();
//!
//! policy.on_event(at(0), Event::CpuOnline { cpu });
//! policy.on_event(at(0), Event::Release { job: slow, release: at(0), deadline: at(20) });
//! policy.decide(at(0), &mut actions);
//! assert_eq!(actions, [Action::Run { cpu, job: slow, budget: None }]);
//!
//! // At 3 ms a job with an earlier deadline is ready: it preempts.
//! actions.clear();
//! policy.on_event(at(3), Event::Release { job: fast, release: at(3), deadline: at(8) });
//! policy.decide(at(3), &mut actions);
//! assert_eq!(actions, [Action::Run { cpu, job: fast, budget: None }]);
//! # Ok::<(), layland_policy::BuildError>(())
//! ```

// A new event, action or verdict breaks every match here, until its meaning has been decided.
#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

pub mod adaptive;
pub mod affinity;
pub mod criticality;
pub mod deadline;
pub mod deferred;
pub mod edzl;
pub mod efdf;
pub mod fair;
pub mod fair_lateness;
pub mod federated;
mod fixed_order;
mod highest_first;
mod info;
pub mod least_laxity;
mod levels;
pub mod locking;
mod options;
pub mod ordered;
mod policy;
mod queue;
mod refusal;
mod registry;
pub mod served;
pub mod shell;
pub mod split;
mod spoken;
mod state;
pub mod task_groups;
pub mod top_first;

pub use fixed_order::FixedOrder;
pub use highest_first::{HighestFirst, Ties};
pub use info::{OptionInfo, PolicyInfo, PolicyOptions, SystemRefusal, Text, Values};
pub use layland_model::Note;
pub use options::{Fit, cluster_size, never_preempts};
pub use policy::{
    Action, AfterJob, ClonePolicy, Count, Event, Needs, Policy, Progress, RequestId, Schedules,
    Speeds, StepEvent, TimerId,
};
pub use refusal::{Refusal, RefusalKind};
pub use registry::{BuildError, RegisterError, Registry};
pub use spoken::{FAMILIES, SYNONYMS};
pub use state::State;
