//! One instant of a policy with per-CPU run queues, with all events that the engine reports at
//! once:
//!
//! 1. Threads whose budget or job ends now are *due*. All of them are marked, then each is handled
//!    in the order of their CPUs. After each, the CPUs that need to reschedule do so, lowest first.
//!    A due thread is handled even if that preempted it; until then it cannot be pushed or pulled.
//! 2. Then come replenishments, wake-ups and entries by rank, then requests, each followed by
//!    rescheduling. A replenishment for now that another event of this instant caused comes before
//!    the remaining events.
//!
//! The decision is the difference between the jobs that the engine runs and `curr` after all that.
//!
//! Long because the order of events in one instant is the subject of this file.

use super::{Renewal, ReservedThread, Rules, RunQueues};
use crate::deadline::accounts::Accounts;
use crate::deadline::parameters::check_parameters;
use crate::deadline::server::{Server, ServerState, Woken};
use crate::{
    Action, AfterJob, Count, Event, Needs, Note, Policy, Refusal, RequestId, Schedules, Speeds,
    State, TimerId,
};
use layland_model::{CpuId, Duration, Index, JobId, ScheduleRule, Task, TaskId, Time};
use std::sync::Arc;

/// A policy with per-CPU run queues.
#[derive(Clone, Debug)]
pub struct Threads<R> {
    rq: RunQueues,
    rules: R,
    inbox: Vec<Event>,
}

#[expect(private_bounds, reason = "the policies are built by the functions of their files")]
impl<R: Rules> Threads<R> {
    pub(crate) fn new(rq: RunQueues, rules: R) -> Threads<R> {
        Threads { rq, rules, inbox: Vec::new() }
    }

    /// Returns the bandwidth accounts, if the options need them.
    pub fn accounts(&self) -> Option<&Accounts> {
        self.rq.accounts.as_ref()
    }

    /// Returns the server of a thread, charged until its last event.
    pub fn server(&self, task: TaskId) -> Option<&Server> {
        self.rq.threads.get(task).map(|thread| &thread.server)
    }

    fn drain(&mut self) {
        while let Some(c) = self.rq.need.lowest() {
            self.rq.need.remove(c);
            self.schedule(c);
        }
        if cfg!(debug_assertions) {
            self.rq.assert_invariants();
            self.rules.assert_invariants(&self.rq);
        }
    }

    fn schedule(&mut self, c: CpuId) {
        let Self { rq, rules, .. } = self;
        if !rq.online.contains(c) {
            rq.switch(c, None);
            return;
        }
        // The running thread has left the queue: pull others before the choice of the next one.
        if rq.curr[c].is_some() && rq.running(c).is_none() {
            rq.switch(c, None);
            rules.pull(rq, c);
        }
        let next = rq.leftmost(c);
        rq.switch(c, next);
        if next.is_some() {
            rules.push(rq, c);
        }
    }

    // --- Due threads --------------------------------------------------------------------------

    /// Marks a running thread that has used up its budget or ended its job.
    fn mark_due(&mut self, job: JobId, cpu: CpuId) {
        self.rq.charge(cpu);
        let thread = &mut self.rq.threads[job.task];
        thread.due = thread.queued;
    }

    fn handle_due(&mut self, event: &Event) {
        let rq = &mut self.rq;
        match *event {
            Event::Completion { job, cpu: _, then } => {
                let p = job.task;
                let thread = &mut rq.threads[p];
                if !std::mem::take(&mut thread.due) {
                    return;
                }
                thread.job = None;
                if then != AfterJob::Blocks {
                    rq.next_job(p);
                }
                match then {
                    AfterJob::Blocks => {
                        rq.dequeue(p);
                        rq.threads[p].server.state = ServerState::Blocked;
                        rq.asleep(p);
                    }
                    AfterJob::Continues => {
                        rq.grant_again(p);
                        if rq.threads[p].server.is_exhausted() {
                            self.exhausted(p, false);
                        }
                    }
                    AfterJob::Yields => {
                        rq.threads[p].server.yield_budget();
                        self.exhausted(p, true);
                    }
                }
            }
            Event::BudgetExhausted { job, .. } => {
                let p = job.task;
                let thread = &mut rq.threads[p];
                if !std::mem::take(&mut thread.due) {
                    return;
                }
                thread.server.exhaust();
                rq.end_part(p, true);
                rq.grant_again(p);
                self.exhausted(p, false);
            }
            Event::Ended { job } => {
                let p = job.task;
                let thread = &mut rq.threads[p];
                if thread.next_job == Some(job.seq) {
                    thread.next_job = None;
                }
                if thread.job != Some(job.seq) {
                    return;
                }
                (thread.job, thread.due) = (None, false);
                // A throttled thread sleeps when its budget is replenished.
                if thread.queued {
                    rq.dequeue(p);
                    rq.threads[p].server.state = ServerState::Blocked;
                    rq.asleep(p);
                }
            }
            Event::Join { .. }
            | Event::Leave { .. }
            | Event::Reconfigure { .. }
            | Event::SetClusterCpus { .. }
            | Event::Release { .. }
            | Event::Timer { .. }
            | Event::CpuOnline { .. }
            | Event::Arrival { .. }
            | Event::Measured { .. }
            | Event::Step { .. }
            | Event::CpuOffline { .. } => {}
        }
    }

    /// Handles a queued thread that has no budget left, or that `yields` the rest.
    fn exhausted(&mut self, p: TaskId, yields: bool) {
        let Self { rq, rules, .. } = self;
        let replenishment = rq.threads[p].server.replenishment();
        let c = rq.threads[p].cpu;
        let needed = rq.needs(c);
        rq.dequeue(p);
        let is_late = rq.now >= replenishment;
        let goes_on = is_late && rules.bypasses(rq, p) || rq.postpones && !yields;
        if goes_on {
            rq.replenish(p);
            if rq.threads[p].job.is_none() {
                // The thread yielded, and its next job has not arrived yet.
                rq.threads[p].server.state = ServerState::Blocked;
                rq.asleep(p);
                return;
            }
            rq.grant_again(p);
            // The CPU must not reschedule until the next queue of the thread is known.
            if !needed {
                rq.need.remove(c);
            }
            rules.bypassed(rq, p);
            if rq.curr[c] == Some(p) && !rq.is_queued_on(p, c) {
                rq.need.insert(c);
            }
            return;
        }
        rq.threads[p].server.state = ServerState::Throttled;
        rq.out.push(Action::Note { note: Note::Throttled { task: p } });
        if is_late && rq.throttle_cost > Duration::ZERO {
            let returns = rq.now + rq.throttle_cost;
            rq.threads[p].returns = Some(returns);
            rq.set_timer(p, returns);
        } else if is_late {
            // The replenishment is due now, but only after the CPU has rescheduled.
            rq.due_timers.insert((rq.threads[p].seat, p));
        } else {
            rq.set_timer(p, replenishment);
        }
    }

    // --- Other events -------------------------------------------------------------------------

    fn timer(&mut self, p: TaskId) {
        let Self { rq, rules, .. } = self;
        if rq.threads[p].server.state != ServerState::Throttled {
            // Only a throttled thread uses its timer for a replenishment; a sleeping one uses it
            // for its zero-lag time.
            rq.zero_lag(p);
            return;
        }
        rq.threads[p].returns = None;
        rq.next_job(p);
        rq.replenish(p);
        if rq.threads[p].job.is_none() {
            // The thread yielded, and its next job has not arrived yet: it sleeps.
            rq.threads[p].server.state = ServerState::Blocked;
            rq.asleep(p);
            return;
        }
        // The thread may have lost its CPU while it was throttled.
        rq.settle(p);
        rules.replenished(rq, p);
    }

    fn wake(&mut self, p: TaskId) {
        let Self { rq, rules, .. } = self;
        match rq.threads[p].server.state {
            ServerState::Inactive => {
                rq.awake(p);
                rq.next_job(p);
                rq.threads[p].previous = rq.now;
                rq.new_period(p);
            }
            ServerState::Blocked => {
                rq.awake(p);
                rq.next_job(p);
                rq.date(p);
                if let Woken::ThrottledUntil(at) = rq.threads[p].server.wake(rq.now) {
                    rq.throttle_until(p, at);
                    return;
                }
            }
            ServerState::Eligible | ServerState::Throttled => {
                // The server did not sleep, so only the job is new.
                if rq.threads[p].job.is_none() {
                    rq.next_job(p);
                    rq.grant_again(p);
                }
                return;
            }
            ServerState::Dead => return,
        }
        // The thread may have lost its CPU while it slept.
        rq.settle(p);
        rules.woken(rq, p);
    }

    fn handle(&mut self, event: &Event) {
        let Self { rq, rules, .. } = self;
        match event {
            Event::Arrival { .. } | Event::Measured { .. } | Event::Step { .. } => {}
            Event::Completion { .. } | Event::BudgetExhausted { .. } | Event::Ended { .. } => {
                self.handle_due(event);
            }
            Event::Timer { id } => {
                if let Some(&p) = rq.seats.get(id.0 as usize) {
                    self.timer(p);
                }
            }
            Event::Join { task, parameters, request } => self.join(*task, parameters, *request),
            Event::Release { job, release, deadline } => {
                rq.released(*job, *release, *deadline);
                self.wake(job.task);
            }
            Event::Leave { task } => {
                let p = *task;
                rq.out.push(Action::ClearTimer { id: TimerId(rq.threads[p].seat) });
                // It may set the timer again, for its zero-lag time.
                rq.leave(p);
                if std::mem::take(&mut rq.threads[p].admitted) {
                    rules.release(rq, p);
                }
            }
            Event::Reconfigure { task, change, request } => {
                // The task may have been refused in this very instant.
                let verdict = if rq.threads[*task].admitted {
                    rules.reconfigure(rq, *task, change)
                } else {
                    Err(Refusal::busy("the task is not in the system"))
                };
                if let Err(reason) = verdict {
                    rq.out.push(Action::Refuse { request: *request, reason });
                }
            }
            Event::SetClusterCpus { cluster, cpus, request } => {
                if let Err(reason) = rules.set_cluster_cpus(rq, *cluster, cpus) {
                    rq.out.push(Action::Refuse { request: *request, reason });
                }
            }
            Event::CpuOnline { cpu } => {
                rq.online.insert(*cpu);
                rq.update_usable();
                // Threads may have waited for a CPU that they can use.
                for at in 0..rq.seats.len() {
                    let p = rq.seats[at];
                    if rq.threads[p].is_in() {
                        rq.evict(p, Renewal::Keep);
                    }
                }
                rules.pull(rq, *cpu);
                rq.need.insert(*cpu);
            }
            Event::CpuOffline { cpu } => {
                rq.online.remove(*cpu);
                rq.update_usable();
                for at in 0..rq.seats.len() {
                    let p = rq.seats[at];
                    if rq.threads[p].cpu == *cpu && rq.threads[p].is_in() {
                        rq.evict(p, Renewal::Keep);
                    }
                }
                rq.need.insert(*cpu);
            }
        }
    }

    fn join(&mut self, p: TaskId, task: &Arc<Task>, request: RequestId) {
        let Self { rq, rules, .. } = self;
        let left = |thread: &ReservedThread| thread.server.state == ServerState::Dead;
        if rq.threads.get(p).is_none_or(left) {
            // The thread was unknown when the policy was built, or has the id of one that has left.
            let Some(cluster) = rq.clusters.get(task.cluster) else {
                let reason = Refusal::invalid(format!("cluster {} does not exist", task.cluster));
                rq.out.push(Action::Refuse { request, reason });
                return;
            };
            let thread = ReservedThread::new(task, cluster, 0);
            let mut gone = thread.clone();
            gone.server.state = ServerState::Dead;
            // Smaller ids may belong to tasks that have not joined: fill them with dead threads.
            while rq.threads.len() <= p.index() {
                let seat = rq.seats.len() as u32;
                let id = rq.threads.push(ReservedThread { seat, ..gone.clone() });
                rq.seats.push(id);
            }
            let seat = rq.threads[p].seat;
            if let Some(load) = &mut rq.load {
                load.add(thread.cpu, &thread.u);
            }
            // A release of this instant may have been recorded already, and must not be lost.
            rq.threads[p] = ReservedThread { seat, next_job: rq.threads[p].next_job, ..thread };
            rq.count_anew(p);
        }
        match check_parameters(task).and_then(|()| rules.admit(rq, p)) {
            Ok(()) => {
                rq.threads[p].admitted = true;
                rq.enter_accounts(p);
            }
            Err(reason) => {
                rq.leave(p);
                rq.out.push(Action::Refuse { request, reason });
            }
        }
    }

    // --- Deciding -----------------------------------------------------------------------------

    /// Reports the changes to the engine.
    fn emit(&mut self) {
        let rq = &mut self.rq;
        if let Some(grid) = rq.speed_grid {
            rq.update_speeds(grid);
        }
        if !rq.dated.is_empty() {
            rq.tell_dates();
        }
        while let Some(c) = rq.touched.lowest() {
            rq.touched.remove(c);
            let p = rq.curr[c].filter(|&p| rq.threads[p].job.is_some());
            let job = p.and_then(|task| Some(JobId { task, seq: rq.threads[task].job? }));
            let again = rq.regrant.remove(c);
            let before = std::mem::replace(&mut rq.running[c], job);
            match job {
                Some(job) if again || before != Some(job) => {
                    let budget = rq.threads[job.task].server.grant(&rq.prices[c]);
                    rq.out.push(Action::Run { cpu: c, job, budget: Some(budget) });
                }
                None if before.is_some() => rq.out.push(Action::Idle { cpu: c }),
                Some(_) | None => {}
            }
        }
    }
}

impl<R: Rules> Policy for Threads<R> {
    fn on_event(&mut self, now: Time, event: Event) {
        let rq = &mut self.rq;
        rq.now = now;
        rq.end_stretches();
        match &event {
            Event::Completion { job, cpu, .. } => {
                self.mark_due(*job, *cpu);
                self.rq.running[*cpu] = None;
                self.rq.touched.insert(*cpu);
            }
            Event::BudgetExhausted { job, cpu } => self.mark_due(*job, *cpu),
            Event::Ended { job } => {
                for c in rq.running.ids() {
                    if rq.running[c] == Some(*job) {
                        rq.charge(c);
                        rq.running[c] = None;
                        rq.touched.insert(c);
                    }
                }
            }
            Event::Measured { job, executed } => {
                rq.correct(*job, *executed);
                // This changes a remaining budget, but nothing that a decision depends on.
                return;
            }
            Event::Release { job, release, deadline } => {
                if rq.threads.get(job.task).is_some() {
                    rq.released(*job, *release, *deadline);
                }
            }
            Event::Leave { task } => {
                for c in rq.running.ids() {
                    if rq.running[c].is_some_and(|job| job.task == *task) {
                        rq.running[c] = None;
                    }
                }
            }
            Event::CpuOffline { cpu } => rq.running[*cpu] = None,
            Event::Join { .. }
            | Event::Reconfigure { .. }
            | Event::SetClusterCpus { .. }
            | Event::Timer { .. }
            | Event::Step { .. }
            | Event::Arrival { .. }
            | Event::CpuOnline { .. } => {}
        }
        self.inbox.push(event);
    }

    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.rq.now = now;
        self.rq.release_departed();
        let inbox = std::mem::take(&mut self.inbox);
        let is_due = |event: &&Event| {
            matches!(
                event,
                Event::Completion { .. } | Event::BudgetExhausted { .. } | Event::Ended { .. }
            )
        };
        for event in inbox.iter().filter(is_due) {
            self.handle_due(event);
            self.drain();
        }
        for event in inbox.iter().filter(|event| !is_due(event)) {
            let seat = match event {
                Event::Timer { id } => id.0,
                Event::Join { .. }
                | Event::Leave { .. }
                | Event::Reconfigure { .. }
                | Event::SetClusterCpus { .. }
                | Event::Release { .. }
                | Event::Completion { .. }
                | Event::Ended { .. }
                | Event::BudgetExhausted { .. }
                | Event::CpuOnline { .. }
                | Event::Arrival { .. }
                | Event::Measured { .. }
                | Event::Step { .. }
                | Event::CpuOffline { .. } => u32::MAX,
            };
            self.due_timers_before(seat);
            self.handle(event);
            self.drain();
        }
        self.due_timers_before(u32::MAX);
        self.emit();
        actions.append(&mut self.rq.out);
        self.inbox = inbox;
        self.inbox.clear();
    }

    fn needs(&self) -> Needs {
        let speeds = match self.rq.speed_grid {
            Some(_) => Speeds::SetByPolicy,
            None => Speeds::Fixed,
        };
        Needs { schedules: Schedules::Threads, speeds, ..Needs::READY_JOBS }
    }

    fn save(&self, now: Time, state: &mut State) {
        let rq = &self.rq;
        for (p, thread) in rq.threads.iter() {
            state.number(thread.server.state as i64);
            let (Q, T, D) = thread.server.parameters();
            [Q.ns(), T.ns(), D.ns()].into_iter().for_each(|number| state.number(number));
            // Save the remaining budget of a running thread as of now.
            let mut server = thread.server.clone();
            if let Some(c) = rq.curr.ids().find(|&c| rq.curr[c] == Some(p)) {
                server.charge(now - rq.since[c], &rq.prices[c]);
            }
            state.text(&server.exact_budget().rate().to_string());
            state.time(if thread.is_in() { server.deadline() } else { Time::NEVER }, now);
            state.number(i64::from(thread.cpu.0));
            state.number(thread.cluster as i64);
            state.text(&thread.mask.to_string());
            let started = rq.remembers_starts && thread.queued && thread.started;
            let flags = [thread.queued, thread.placed, started].map(i64::from);
            state.number(flags[0] | flags[1] << 1 | flags[2] << 2);
            state.number(i64::from(thread.job.is_some()));
            if rq.throttle_cost > Duration::ZERO {
                state.time(thread.returns.unwrap_or(Time::NEVER), now);
            }
            thread.save_dates(now, state);
        }
        for queue in rq.queues.values() {
            queue.order.iter().for_each(|&(_, _, p)| state.number(i64::from(p.0)));
            state.number(-1);
        }
        for curr in rq.curr.values() {
            state.number(curr.map_or(-1, |p| i64::from(p.0)));
        }
        state.text(&rq.online.to_string());
        for speed in rq.speeds.values() {
            state.text(&speed.to_string());
        }
        rq.clusters.iter().for_each(|cluster| state.text(&cluster.to_string()));
        rq.save_activity(now, state);
    }

    fn rule(&self) -> ScheduleRule {
        ScheduleRule::None
    }

    fn counts(&self) -> Vec<Count> {
        Vec::new()
    }
}

#[expect(private_bounds, reason = "the policies are built by the functions of their files")]
impl<R: Rules> Threads<R> {
    /// Handles the replenishments due now whose rank comes before this seat.
    #[inline]
    fn due_timers_before(&mut self, seat: u32) {
        while let Some(&(own, p)) = self.rq.due_timers.first()
            && own < seat
        {
            self.rq.due_timers.remove(&(own, p));
            self.timer(p);
            self.drain();
        }
    }
}
