//! The manager as an engine: it notes the actions of the policy for `enact.rs`, and logs
//! everything.

use super::carrier::Carrier;
use super::{Manager, ThreadRun};
use crate::log::Entry;
use layland_engine::programs::Visit;
use layland_engine::{Asked, Engine, Ledger};
use layland_model::{CpuId, Duration, JobId, Service, Speed, TaskId, Time};
use layland_policy::{Action, Event, Policy, Progress, Refusal, Schedules, TimerId};
use layland_trace::{Job, JobEnd};
use std::mem;

impl<C: Carrier> Engine for Manager<'_, C> {
    type Policy = Box<dyn Policy>;
    type Task = ThreadRun;

    fn ledger(&self) -> &Ledger<Box<dyn Policy>, ThreadRun> {
        &self.ledger
    }
    fn ledger_mut(&mut self) -> &mut Ledger<Box<dyn Policy>, ThreadRun> {
        &mut self.ledger
    }

    fn amount(&self, work: Service) -> i64 {
        work.ns()
    }

    fn tell_ends(&mut self) {
        for cpu in self.system.platform.cpus() {
            let Some(task) = self.cpus[cpu].task else { continue };
            let is_used_up = self.cpus[cpu].budget.is_some() && self.carrier.is_used_up(cpu);
            if self.cpus[cpu].ended {
                self.complete(cpu, task);
            } else if is_used_up || self.cpus[cpu].budget_end <= self.ledger.now {
                self.check_budget(cpu, task, is_used_up);
            }
        }
        self.tell_over();
    }

    /// CPUs of the machine come and go, as do threads of other programs, which may wake at any
    /// time.
    fn visit(&mut self) -> Option<Visit> {
        let visit = self.carrier.visit()?;
        if let Visit::Wakes { task, at } = visit {
            // The carrier's clock differs from that of the run.
            let at = self.time_of(at.ns()).clamp(Time::ZERO, self.ledger.now);
            return Some(Visit::Wakes { task, at });
        }
        Some(visit)
    }

    fn tell_measured(&mut self) {
        self.tell_lost();
        if self.ledger.progress == Progress::Measured {
            for cpu in self.system.platform.cpus() {
                self.tell_progress(cpu);
            }
        }
    }

    fn hear(&mut self, event: Event) {
        self.carrier.withdraw();
        self.releases |= matches!(event, Event::Release { .. });
        let began = self.carrier.clock_ns();
        self.ledger.policy.on_event(self.ledger.now, event);
        self.heard_ns += self.carrier.clock_ns() - began;
    }

    fn consult(&mut self, actions: &mut Vec<Action>) {
        let began = self.carrier.clock_ns();
        self.ledger.policy.update(self.ledger.now);
        let updated = self.carrier.clock_ns();
        self.ledger.policy.decide(self.ledger.now, actions);
        let selection = self.carrier.clock_ns() - updated;
        let update = mem::take(&mut self.heard_ns) + updated - began;
        let cost = update + selection;
        let measured = &mut self.measured;
        measured.decision.record(cost);
        measured.selection.record(selection);
        if mem::take(&mut self.releases) {
            measured.release_decision.record(cost);
            measured.release_update.record(update);
        } else {
            measured.other_decision.record(cost);
            measured.other_update.record(update);
        }
        let (count, cost_ns) = (actions.len() as u32, cost.clamp(0, i64::from(u32::MAX)) as u32);
        self.note(Entry::Decide { actions: count, cost_ns });
    }

    fn run(&mut self, cpu: CpuId, job: JobId, budget: Option<Duration>) {
        let id = job.task;
        match self.thread(id).want {
            Some(from) if from == cpu => {}
            from => {
                if let Some(from) = from {
                    self.cpus[from].want = None;
                }
                if let Some(other) = self.cpus[cpu].want.replace(id) {
                    self.thread_mut(other).want = None;
                }
                self.thread_mut(id).want = Some(cpu);
            }
        }
        self.thread_mut(id).has_run = true;
        let stays = self.cpus[cpu].task == Some(id);
        let from = (stays && budget.is_some()).then(|| self.used_now(id));
        let run = &mut self.cpus[cpu];
        run.budget = budget;
        run.budget_from = from;
        run.budget_end =
            budget.map_or(Time::NEVER, |budget| self.ledger.now.saturating_add(budget));
    }

    fn idle(&mut self, cpu: CpuId) {
        let run = &mut self.cpus[cpu];
        run.budget = None;
        run.budget_end = Time::NEVER;
        if let Some(id) = run.want.take() {
            self.thread_mut(id).want = None;
        }
    }

    fn enact(&mut self) {
        self.bring_to_cpus();
        for id in self.ledger.tasks.ids() {
            self.ledger.tasks[id].own.fresh &= self.carrier.is_unnoticed(id);
        }
    }

    fn vacate(&mut self, cpu: CpuId) {
        self.idle(cpu);
        self.take_off(cpu);
    }

    fn withdraw(&mut self, id: TaskId) {
        let on = self.cpu_of(id);
        if let Some(cpu) = self.thread_mut(id).want.take() {
            self.cpus[cpu].want = None;
        }
        self.give_up(id, on);
    }

    fn set_speed(&mut self, cpu: CpuId, _speed: Speed) {
        self.unsupported.get_or_insert_with(|| {
            format!("the policy sets the speed of CPU {cpu}, which real CPUs do not offer")
        });
    }

    fn stretch(&mut self, _task: TaskId, _work: i64, _after: i64) {
        unreachable!("sets whose jobs have steps are refused before the start");
    }

    fn told(&mut self, event: &Event) {
        let entry = match *event {
            Event::Join { task, request, ref parameters } => match self.ledger.asked(request) {
                Some(Asked::Enter(_)) => {
                    Entry::Enter { task, request, program: self.log.program(parameters) }
                }
                Some(Asked::Join(_) | Asked::Request(_) | Asked::Exit(_)) | None => {
                    Entry::Join { task, request }
                }
            },
            Event::Leave { task } => Entry::Leave { task },
            Event::Reconfigure { request, .. } | Event::SetClusterCpus { request, .. } => {
                match self.ledger.asked(request) {
                    Some(Asked::Request(index)) => Entry::Asks { index: index as u32, request },
                    Some(Asked::Join(_) | Asked::Enter(_) | Asked::Exit(_)) | None => return,
                }
            }
            Event::Arrival { job, release, deadline } => {
                if self.is_prompt(job.task, release) {
                    self.measured.release.record((self.ledger.now - release).ns());
                }
                Entry::Arrival { job, release, deadline }
            }
            Event::Measured { job, executed } => Entry::Measured { job, executed },
            Event::Release { job, release, deadline } => Entry::Release { job, release, deadline },
            Event::Completion { job, cpu, then } => Entry::Completion { job, cpu, then },
            Event::Ended { job } => Entry::Ended { job },
            Event::BudgetExhausted { job, cpu } => Entry::Budget { job, cpu },
            // Such events do not occur: see `stretch`.
            Event::Step { .. } => return,
            Event::Timer { id } => Entry::Timer { id },
            Event::CpuOnline { cpu } => Entry::Online { cpu },
            Event::CpuOffline { cpu } => Entry::Offline { cpu },
        };
        self.note(entry);
    }

    fn decided(&mut self, action: &Action) {
        let entry = match *action {
            Action::Run { cpu, job, budget } => Entry::Run { cpu, job, budget },
            Action::Idle { cpu } => Entry::Idle { cpu },
            Action::SetTimer { id, at } => Entry::SetTimer { id, at },
            Action::ClearTimer { id } => Entry::ClearTimer { id },
            Action::Abort { job } => Entry::Abort { job },
            Action::EndJob { job, used_up } => Entry::EndJob { job, used_up },
            Action::SetDates { job, release, deadline } => {
                if let Some(markers) = self.markers {
                    markers.release(job, release, deadline);
                }
                Entry::SetDates { job, release, deadline }
            }
            Action::SetSpeed { cpu, speed } => Entry::SetSpeed { cpu, speed },
            Action::Note { note } => Entry::Note(note),
            Action::Grant { .. } => return,
            Action::Refuse { request, ref reason } => {
                Entry::Refuse { request, reason: self.log.refusal(reason) }
            }
        };
        self.note(entry);
    }

    fn fired(&mut self, _timer: TimerId, due: Time) {
        self.measured.timer.record((self.ledger.now - due).ns());
    }

    fn released(&mut self, id: TaskId) {
        let job = self.new_job(id);
        self.carrier.begin(id, job);
        let is_prompt = self.is_prompt(id, self.ledger.tasks[id].job.release);
        let task = &mut self.ledger.tasks[id];
        (task.own.used, task.own.used_on) = (0, 0);
        // If a job waited for its predecessor, or for jobs of higher priority, the manager is not the
        // reason for its latency.
        task.own.fresh = !task.blocked && is_prompt;
        task.own.has_run = false;
        let Job { id: job, arrival, release, deadline } = task.job;
        // The job of a thread of another program lasts until the thread sleeps.
        let is_open = task.endless || self.ledger.streams[id].task().jobs == Some(0);
        let demand = (!is_open).then(|| Service::from_ns(task.demand));
        if !task.blocked && is_prompt && self.ledger.schedules != Schedules::ArrivingJobs {
            self.measured.release.record((self.ledger.now - release).ns());
        }
        self.note(Entry::Asked { job, arrival, demand });
        if let (Some(markers), Some(_)) = (self.markers, demand) {
            markers.release(job, arrival, deadline);
        }
    }

    /// Nothing to do: `decided` has already written it.
    fn dated(&mut self, _task: TaskId) {}

    fn cut(&mut self, id: TaskId, end: JobEnd) {
        let now = self.ledger.now;
        let (job, used) = (self.job(id), self.used_now(id));
        if let Some(cpu) = self.cpu_of(id) {
            let part = Service::from_ns(used - self.thread(id).used_on);
            self.note(Entry::Off { cpu, job, used: part, until: now });
            self.thread_mut(id).used_on = used;
            // The next job begins here, unless it has to leave by the same decision.
            self.cpus[cpu].began = Some(now);
        }
        match end {
            JobEnd::Completed => self.note(Entry::Done { job, end: now, used: Service::ZERO }),
            JobEnd::Aborted => self.note(Entry::Dropped { job, aborted: true }),
            JobEnd::Left => self.note(Entry::Dropped { job, aborted: false }),
        }
        let Some(markers) = self.markers else { return };
        match end {
            JobEnd::Completed => markers.complete(job),
            JobEnd::Aborted | JobEnd::Left => markers.abort(job),
        }
    }

    fn ended(&mut self, id: TaskId, end: JobEnd) {
        let job = self.job(id);
        self.carrier.forget(id);
        let aborted = match end {
            // Its thread has reported, and `complete` writes the report.
            JobEnd::Completed => return,
            JobEnd::Aborted => true,
            JobEnd::Left => false,
        };
        self.note(Entry::Dropped { job, aborted });
        if let Some(markers) = self.markers {
            markers.abort(job);
        }
    }

    fn skipped(&mut self, job: &Job) {
        let Job { id: job, arrival, release, deadline } = *job;
        self.note(Entry::Skipped { job, arrival, release, deadline });
        if let Some(markers) = self.markers {
            markers.release(job, arrival, deadline);
            markers.abort(job);
        }
    }

    fn answered(&mut self, asked: Asked, refused: Option<Refusal>) {
        match asked {
            Asked::Enter(task) => {
                if self.by_rank.len() < self.ledger.tasks.len() {
                    self.by_rank.push(task);
                }
                let parameters = self.ledger.streams[task].parameters();
                self.carrier.entered(task, &parameters, refused.as_ref());
            }
            Asked::Exit(task) => self.carrier.left(task),
            Asked::Join(_) | Asked::Request(_) => {}
        }
        let reason = refused.map(|refusal| self.log.refusal(&refusal));
        match (asked, reason) {
            (Asked::Join(_) | Asked::Enter(_) | Asked::Exit(_), None) => {}
            (Asked::Join(task) | Asked::Enter(task) | Asked::Exit(task), Some(reason)) => {
                self.note(Entry::TurnedAway { task, reason })
            }
            (Asked::Request(index), None) => self.note(Entry::Granted { index: index as u32 }),
            (Asked::Request(index), Some(reason)) => {
                self.note(Entry::Refused { index: index as u32, reason });
            }
        }
    }
}
