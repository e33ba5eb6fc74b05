//! Recurrence: once the whole state recurs at a multiple of the hyperperiod, the rest of the schedule is known.

use super::Simulator;
use super::state::NONE;
use crate::options::{Cycle, last_offset};
use layland_engine::Status;
use layland_engine::programs::Programs;
use layland_model::{CpuId, Duration, System, Time};
use layland_policy::{Policy, Schedules, State};
use layland_trace::Recorder;
use std::collections::BTreeMap;

/// The instants at which the state is examined, and the states seen there.
pub(super) struct Checkpoints {
    every: Duration,
    next: Time,
    seen: BTreeMap<State, Time>,
}

impl Checkpoints {
    /// Returns checkpoints at every hyperperiod, from the last offset on.
    pub(super) fn of(system: &System) -> Option<Checkpoints> {
        let every = system.hyperperiod()?;
        Some(Checkpoints { every, next: last_offset(system), seen: BTreeMap::new() })
    }

    /// Returns the earlier of the next instant and the next checkpoint, if the latter is still to
    /// come.
    pub(super) fn no_later(&self, next: Time, now: Time) -> Time {
        if self.next > now { next.min(self.next) } else { next }
    }

    /// Returns the cycle, if the state at the end of this instant was seen before.
    pub(super) fn recurs(&mut self, now: Time, save: impl FnOnce(&mut State)) -> Option<Cycle> {
        if self.next != now {
            return None;
        }
        let mut state = State::default();
        save(&mut state);
        if let Some(&from) = self.seen.get(&state) {
            return Some(Cycle { from, length: now - from });
        }
        self.seen.insert(state, now);
        self.next += self.every;
        None
    }
}

impl<P: Policy, R: Recorder, G: Programs> Simulator<'_, P, R, G> {
    /// Writes all state that the future depends on, at the end of an instant.
    pub(super) fn save(&self, state: &mut State) {
        let ledger = &self.ledger;
        let now = ledger.now;
        for (id, task) in ledger.tasks.iter() {
            state.number(task.status as i64);
            state.number(i64::from(task.blocked));
            state.time(task.next_release, now);
            state.time(task.next_arrival, now);
            state.number(ledger.streams[id].phase(task.next_seq().wrapping_sub(1)));
            if task.status == Status::Ready {
                let own = &task.own;
                let progress = match self.cpus.get(CpuId(own.cpu)) {
                    Some(cpu) => (now - cpu.progress_from).max(Duration::ZERO).ns() * cpu.per_ns,
                    None => 0,
                };
                state.number(i64::from(own.cpu));
                state.number(i64::from(own.last_cpu));
                // The policy saves the remaining budget of a hog.
                state.number(if task.endless { 0 } else { own.remaining - progress });
                state.number(own.after);
                state.time(task.job.deadline, now);
            }
            if ledger.schedules == Schedules::ArrivingJobs {
                state.number(task.waiting.len() as i64);
                for (job, demand) in &task.waiting {
                    state.time(job.deadline, now);
                    state.number(*demand);
                }
            }
        }
        for (id, cpu) in self.cpus.iter() {
            state.number(i64::from(ledger.online[id]));
            // The budget of a job that is no longer there has no meaning.
            state.time(if cpu.task == NONE { Time::NEVER } else { cpu.budget_end }, now);
            state.time(cpu.busy_until.max(now), now);
            state.number(cpu.loaded.map_or(-1, |job| {
                i64::from(job.task.0) << 1 | i64::from(ledger.tasks[job.task].is_ready(job))
            }));
        }
        self.save_caches(state);
        ledger.save_steps(state);
        ledger.save_graphs(state);
        for (timer, at) in ledger.timers() {
            state.number(timer as i64);
            state.time(at, now);
        }
        state.time(self.next_tick, now);
        state.number(ledger.requests_left() as i64);
        ledger.policy.save(now, state);
    }
}
