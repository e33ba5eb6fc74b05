//! ROS 2 executors: when each callback runs, and how late it can end.
//!
//! An executor is a loop in a process that runs callbacks one after the other, each to its end. The
//! operating system schedules its threads, and the executor schedules the callbacks. Its rules
//! differ from the policies of the other crates: the default executor checks for new activations
//! only when it has processed everything that it saw the last time.
//!
//! ```text
//! Executor
//!   kind        default, events (fifo, edf, fp), multi-threaded
//!   supply      when the thread of the executor gets its CPU
//!   callbacks   kind, WCET, what activates it, what it activates, group
//!
//!   simulate(executor, ..) --> Record --> check(..)   is the record what the rules demand?
//!   bounds::all(executor)  --> a bound for each callback, with the analysis that gives it
//! ```
//!
//! ```
//! use layland_model::{Duration, Service};
//! use layland_ros::{Arrivals, Callback, CallbackKind, Executor, ExecutorKind, Timers, bounds, run};
//!
//! let every = |ms| Arrivals::every(Duration::from_ms(ms));
//! let callbacks = vec![
//!     Callback::new("lidar", CallbackKind::Subscription, Service::from_ms(4)).arriving(every(20)),
//!     Callback::new("tick", CallbackKind::Timer, Service::from_ms(1)).arriving(every(10)),
//! ];
//! let executor = Executor::new(ExecutorKind::Default(Timers::Live), callbacks);
//! assert_eq!(executor.validate(), []);
//!
//! // The timer waits for at most one callback that has begun.
//! let bounds = bounds::all(&executor, Duration::from_ms(1000));
//! assert_eq!(bounds[1].best().map(|best| best.response), Some(Duration::from_ms(5)));
//! let record = run(&executor, Duration::from_ms(200)).unwrap();
//! assert!(record.longest_response(1) <= Some(Duration::from_ms(5)));
//! ```

pub mod bounds;
mod check;
mod executor;
mod record;
mod simulate;
mod supply;
mod validity;

pub use check::{Violation, check};
pub use executor::{Arrivals, Callback, CallbackKind, Executor, ExecutorKind, Overload, Timers};
pub use record::{Job, Record};
pub use simulate::{MAX_ACTIVATIONS, run, simulate};
pub use supply::Supply;
pub use validity::{ExecutorFault, Part};
