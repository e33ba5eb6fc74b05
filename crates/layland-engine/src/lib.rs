//! The parts that all engines share.
//!
//! An engine turns what happens in its world into the events of a policy, and carries out the
//! decisions of the policy. Most of this work is the same in every world, be it a simulation or
//! threads of Linux. This crate implements it:
//!
//! ```text
//!                  rounds, jobs, requests                      Policy
//!                 +-----------------------+      events
//!    Engine  ---->|  Ledger: jobs, what   |----------------->  on_event
//!   (its CPUs,    |  was asked, what is   |      actions
//!   its record) <-|  due next             |<-----------------  decide
//!                 +-----------------------+
//!                             ^
//!                          streams: when jobs arrive, and what they need
//! ```
//!
//! An engine owns a [`Ledger`], implements [`Engine`] (its CPUs and its record), and has a loop of
//! its own: it waits for the next event, sets [`Ledger::now`], and calls [`rounds::round`].
//!
//! The simulator is an engine in about 1,000 lines, most of them about CPUs, segments and overheads
//! that other engines do not have. An engine need not provide the arrivals, waiting and ends of
//! jobs, the bookkeeping of requests, the order of a round, or the ids of programs ([`programs`]).
//!
//! [`streams`] draw the arrivals and demands of tasks. Every engine draws from the same streams in
//! the same order, so that the jobs of a run on real threads are those of the simulation with the
//! same seed.
//!
//! [`steps`] take jobs through their locks and suspensions.
//!
//! A run on a real machine reserves more for its jobs than the set states ([`reserves`]).
//!
//! An engine whose CPUs can act before their manager has woken up queries clones of the policy
//! beforehand ([`ahead`]).
//!
//! A complete engine: one CPU in virtual time, without budgets.
//!
//! ```
//! use layland_engine::programs::Visit;
//! use layland_engine::{Asked, Engine, Ledger, jobs, rounds};
//! use layland_model::{CpuId, Duration, JobId, Service, Speed, System, Task, TaskId, Time};
//! use layland_policy::{Action, Event, Policy, Refusal, Registry, TimerId};
//! use layland_trace::{Job, JobEnd};
//!
//! struct OneCpu {
//!     /// With the work that is left of each task's job, in nanoseconds.
//!     ledger: Ledger<Box<dyn Policy>, i64>,
//!     running: Option<TaskId>,
//!     completed: Vec<(Time, TaskId)>,
//! }
//!
//! impl OneCpu {
//!     fn run_until(&mut self, end: Time) {
//!         rounds::begin(self);
//!         while self.ledger.now < end {
//!             let left = self.running.map(|task| Duration::from_ns(self.ledger.tasks[task].own));
//!             let job_end = left.map_or(Time::NEVER, |left| self.ledger.now + left);
//!             let next = self.ledger.next_time().min(job_end).min(end);
//!             if let Some(task) = self.running {
//!                 self.ledger.tasks[task].own -= (next - self.ledger.now).ns();
//!             }
//!             self.ledger.now = next;
//!             rounds::round(self);
//!         }
//!     }
//! }
//!
//! impl Engine for OneCpu {
//!     type Policy = Box<dyn Policy>;
//!     type Task = i64;
//!     fn ledger(&self) -> &Ledger<Box<dyn Policy>, i64> {
//!         &self.ledger
//!     }
//!     fn ledger_mut(&mut self) -> &mut Ledger<Box<dyn Policy>, i64> {
//!         &mut self.ledger
//!     }
//!     fn amount(&self, work: Service) -> i64 {
//!         work.ns()
//!     }
//!     fn tell_ends(&mut self) {
//!         if let Some(task) = self.running.take_if(|&mut task| self.ledger.tasks[task].own == 0) {
//!             let job = self.ledger.tasks[task].job.id;
//!             let then = jobs::complete(self, task);
//!             rounds::tell(self, Event::Completion { job, cpu: CpuId(0), then });
//!         }
//!     }
//!     fn hear(&mut self, event: Event) {
//!         self.ledger.policy.on_event(self.ledger.now, event);
//!     }
//!     fn consult(&mut self, actions: &mut Vec<Action>) {
//!         self.ledger.policy.decide(self.ledger.now, actions);
//!     }
//!     fn run(&mut self, _cpu: CpuId, job: JobId, _budget: Option<Duration>) {
//!         self.running = Some(job.task);
//!     }
//!     fn idle(&mut self, _cpu: CpuId) {
//!         self.running = None;
//!     }
//!     fn vacate(&mut self, _cpu: CpuId) {
//!         self.running = None;
//!     }
//!     fn withdraw(&mut self, task: TaskId) {
//!         self.running.take_if(|&mut running| running == task);
//!     }
//!     fn released(&mut self, task: TaskId) {
//!         self.ledger.tasks[task].own = self.ledger.tasks[task].demand;
//!     }
//!     fn ended(&mut self, task: TaskId, _end: JobEnd) {
//!         self.completed.push((self.ledger.now, task));
//!     }
//!     fn stretch(&mut self, _task: TaskId, _work: i64, _after: i64) {
//!         unreachable!("its tasks have no steps");
//!     }
//!     // What one CPU in virtual time does not have, or does not write down.
//!     fn visit(&mut self) -> Option<Visit> {
//!         None
//!     }
//!     fn tell_measured(&mut self) {}
//!     fn enact(&mut self) {}
//!     fn set_speed(&mut self, _cpu: CpuId, _speed: Speed) {}
//!     fn told(&mut self, _event: &Event) {}
//!     fn decided(&mut self, _action: &Action) {}
//!     fn fired(&mut self, _timer: TimerId, _due: Time) {}
//!     fn dated(&mut self, _task: TaskId) {}
//!     fn cut(&mut self, _task: TaskId, _end: JobEnd) {}
//!     fn skipped(&mut self, _job: &Job) {}
//!     fn answered(&mut self, _asked: Asked, _refused: Option<Refusal>) {}
//! }
//!
//! let task = |wcet, period| {
//!     Task::implicit("a", Service::from_ms(wcet), Duration::from_ms(period))
//! };
//! let system = System::new(1, vec![task(2, 5), task(4, 10)]);
//! let policy = Registry::standard().build("p-edf", &system).unwrap();
//! let ledger = Ledger::new(&system, policy, 0, |work| work.ns());
//! let mut engine = OneCpu { ledger, running: None, completed: vec![] };
//! engine.run_until(Time::from_ms(10));
//! // At 5 ms both jobs have the deadline 10 ms, and a tie goes to the task that comes first.
//! let completed = [(2, 0), (7, 0), (8, 1)].map(|(ms, task)| (Time::from_ms(ms), TaskId(task)));
//! assert_eq!(engine.completed, completed);
//! ```

// A new event, action or verdict breaks every match here, until its meaning has been decided.
#![cfg_attr(not(test), warn(clippy::wildcard_enum_match_arm))]

mod agenda;
pub mod ahead;
mod engine;
mod graphs;
mod instances;
pub mod jobs;
mod ledger;
mod places;
mod positions;
pub mod programs;
pub mod record;
mod requests;
pub mod reserves;
pub mod rounds;
pub mod steps;
pub mod streams;
mod tell;

pub use agenda::Agenda;
pub use engine::Engine;
pub use ledger::{Asked, ENDLESS, Ledger, Status, TaskRun, is_regular, reconfigured};
