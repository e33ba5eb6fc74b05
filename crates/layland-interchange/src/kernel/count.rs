//! The jobs of threads, counted as a trace grows: [`JobCounter`].
//!
//! [`read`](super::read) defines the jobs of traces without marks: a job lasts from a wake-up to
//! the next interruptible sleep, and may have suspensions in state `D`. The counter forgets each
//! job at its end, so that a trace may last for weeks. The tests compare the counter with `read`.

use super::line::{EventKind, StateAfter, lines};
use super::rebuild::{RACE_NS, is_throttled};
use layland_model::Duration;
use std::collections::BTreeMap;

/// The events of one CPU may follow later events of another one by less than this.
const HELD_BACK_NS: i64 = 10_000_000;

/// Counts the jobs of some threads in a trace that arrives in pieces.
///
/// ```
/// use layland_interchange::kernel::{Counted, JobCounter};
/// let mut counter = JobCounter::default();
/// counter.follow(7);
/// let piece = "\
/// <idle>-0   [000] d.h3. 5.000100: sched_waking: comm=control pid=7 prio=39 target_cpu=000
/// <idle>-0   [000] d..2. 5.000102: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=control next_pid=7 next_prio=39
/// control-7  [000] d..2. 5.001102: sched_switch: prev_comm=control prev_pid=7 prev_prio=39 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
/// ";
/// let mut jobs = counter.read(piece);
/// jobs.extend(counter.finish());
/// let [Counted::Job { thread: 7, response }] = jobs[..] else { panic!("{jobs:?}") };
/// assert_eq!(response.ns(), 1_002_000);
/// ```
#[derive(Debug, Default)]
pub struct JobCounter {
    threads: BTreeMap<u32, ThreadState>,
    /// The events that an earlier one may still follow in the text.
    held_back: Vec<Event>,
    last: i64,
    /// The beginning of an incomplete line.
    rest: String,
}

/// A result of [`JobCounter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// The end of a job, or of the trace in the middle of one.
    Job {
        /// The thread of the job.
        thread: u32,
        /// The time from its wake-up.
        response: Duration,
    },
    /// A budget of `SCHED_DEADLINE` was used up, or its rest yielded.
    BudgetUsedUp {
        /// The thread.
        thread: u32,
    },
}

#[derive(Clone, Copy, Debug)]
struct Event {
    at: i64,
    cpu: u32,
    thread: u32,
    step: ThreadStep,
}

#[derive(Clone, Copy, Debug)]
enum ThreadStep {
    /// The thread was woken, by an event on this CPU.
    Woken,
    Runs,
    Leaves {
        left: StateAfter,
        is_throttled: bool,
    },
}

#[derive(Clone, Copy, Debug, Default)]
struct ThreadState {
    /// The start of its job; `None` while it sleeps, and until its first wake-up in the trace.
    since: Option<i64>,
    /// The first time at which it was seen in a job that began before the trace.
    within: Option<i64>,
    /// True if it was seen to sleep.
    has_slept: bool,
    on: Option<u32>,
    /// The time of a wake-up by another CPU while the thread was still on its own.
    early: Option<i64>,
}

impl JobCounter {
    /// Also counts the jobs of this thread, from its next wake-up on.
    pub fn follow(&mut self, thread: u32) {
        self.threads.entry(thread).or_default();
    }

    /// Processes the next piece of the trace.
    pub fn read(&mut self, piece: &str) -> Vec<Counted> {
        self.rest.push_str(piece);
        let whole = self.rest.rfind('\n').map_or(0, |end| end + 1);
        let begun = self.rest.split_off(whole);
        let text = std::mem::replace(&mut self.rest, begun);
        self.take(&text);
        self.count(self.last - HELD_BACK_NS)
    }

    /// Ends the trace. A job that has begun counts with the length that it has reached. So does one that
    /// began before the trace and has not ended: a thread that is always behind never sleeps.
    pub fn finish(&mut self) -> Vec<Counted> {
        let rest = std::mem::take(&mut self.rest);
        self.take(&rest);
        let mut counted = self.count(i64::MAX);
        let over = self.last;
        counted.extend(self.threads.iter_mut().filter_map(|(&thread, state)| {
            let since = state.since.take().or(state.within.take())?;
            Some(Counted::Job { thread, response: Duration::from_ns(over - since) })
        }));
        counted
    }

    fn take(&mut self, text: &str) {
        // A piece without events is not an error.
        let Ok(lines) = lines(text) else { return };
        for event in &lines.events {
            let (at, cpu) = (event.at, event.cpu);
            self.last = self.last.max(at);
            let mut adds = |thread: u32, step: ThreadStep| {
                if self.threads.contains_key(&thread) {
                    self.held_back.push(Event { at, cpu, thread, step });
                }
            };
            match &event.kind {
                EventKind::Switch { prev, left, next } => {
                    let is_throttled = is_throttled(*prev, *left, *next);
                    adds(prev.pid, ThreadStep::Leaves { left: *left, is_throttled });
                    adds(next.pid, ThreadStep::Runs);
                }
                EventKind::Wake { thread, .. } => adds(thread.pid, ThreadStep::Woken),
                EventKind::Migrate { .. } | EventKind::Mark(_) | EventKind::Other => {}
            }
        }
    }

    /// Counts the events up to a time.
    fn count(&mut self, until: i64) -> Vec<Counted> {
        self.held_back.sort_by_key(|event| event.at);
        let sure = self.held_back.partition_point(|event| event.at <= until);
        let mut counted = Vec::new();
        for Event { at, cpu, thread, step } in self.held_back.drain(..sure) {
            let Some(state) = self.threads.get_mut(&thread) else { continue };
            match step {
                ThreadStep::Woken => match state.on {
                    None => {
                        state.within = None;
                        state.since.get_or_insert(at);
                    }
                    // A wake-up on its own CPU finds the thread running, so it continues.
                    Some(on) if on == cpu => {}
                    Some(_) => state.early = Some(at),
                },
                ThreadStep::Runs => {
                    state.on = Some(cpu);
                    if state.since.is_none() && !state.has_slept {
                        state.within.get_or_insert(at);
                    }
                }
                ThreadStep::Leaves { left, is_throttled } => {
                    state.on = None;
                    let early = state.early.take();
                    if is_throttled {
                        counted.push(Counted::BudgetUsedUp { thread });
                    }
                    if matches!(left, StateAfter::Sleeping | StateAfter::Dead) {
                        (state.within, state.has_slept) = (None, true);
                        let response =
                            state.since.take().map(|since| Duration::from_ns(at - since));
                        counted.extend(response.map(|response| Counted::Job { thread, response }));
                        state.since = early.filter(|&early| at - early <= RACE_NS);
                    }
                }
            }
        }
        counted
    }
}
