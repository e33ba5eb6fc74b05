//! The simulator as an engine: how it carries out decisions, and what it records.

use super::Simulator;
use super::state::{NONE, TaskState};
use layland_engine::programs::{Programs, Visit};
use layland_engine::steps::{self, Reached};
use layland_engine::{Asked, ENDLESS, Engine, Ledger, jobs, record, rounds};
use layland_model::{CpuId, Duration, Index, JobId, Service, Speed, TaskId, Time};
use layland_policy::{Action, Event, Policy, Refusal, StepEvent, TimerId};
use layland_trace::{Job, JobEnd, LockMark, Mark, MarkKind, Recorder};

impl<P: Policy, R: Recorder, G: Programs> Engine for Simulator<'_, P, R, G> {
    type Policy = P;
    type Task = TaskState;

    #[inline]
    fn ledger(&self) -> &Ledger<P, TaskState> {
        &self.ledger
    }
    #[inline]
    fn ledger_mut(&mut self) -> &mut Ledger<P, TaskState> {
        &mut self.ledger
    }

    #[inline]
    fn amount(&self, work: Service) -> i64 {
        self.grains.from(work)
    }

    #[inline]
    fn tell_ends(&mut self) {
        let now = self.ledger.now;
        if self.next_tick == now {
            self.tick();
        }
        while self.ends.next() == now {
            if let Some(cpu) = self.ends.first() {
                self.end_on(CpuId::from_index(cpu));
            }
        }
        if !self.due.is_empty() {
            // Jobs that have reached a step take it in the next round of this instant.
            self.due.drain(..).for_each(|cpu| self.ends.set(cpu.index(), now));
        }
    }

    #[inline]
    fn visit(&mut self) -> Option<Visit> {
        let now = self.ledger.now;
        if self.programs.next() > now { None } else { self.programs.visit(now) }
    }

    /// Does nothing: budgets and clock of the simulator are exact.
    #[inline]
    fn tell_measured(&mut self) {}

    #[inline]
    fn hear(&mut self, event: Event) {
        self.ledger.policy.on_event(self.ledger.now, event);
    }

    #[inline]
    fn consult(&mut self, actions: &mut Vec<Action>) {
        self.ledger.policy.decide(self.ledger.now, actions);
    }

    #[inline]
    fn run(&mut self, cpu: CpuId, job: JobId, budget: Option<Duration>) {
        self.run_job(cpu, job, budget);
    }

    #[inline]
    fn idle(&mut self, cpu: CpuId) {
        self.detach(cpu);
    }

    /// Does nothing: each action was carried out when it was passed on.
    #[inline]
    fn enact(&mut self) {}

    fn vacate(&mut self, cpu: CpuId) {
        self.detach(cpu);
    }

    fn withdraw(&mut self, task: TaskId) {
        let cpu = self.ledger.tasks[task].own.cpu;
        if cpu != NONE {
            self.detach(CpuId(cpu));
        }
    }

    fn stretch(&mut self, id: TaskId, work: i64, after: i64) {
        let own = &mut self.ledger.tasks[id].own;
        // A stretch ends with a whole nanosecond: the rest of the work of a CPU in that nanosecond
        // is lost.
        (own.remaining, own.after, own.has_steps) = (work, after, true);
        let cpu = CpuId(own.cpu);
        if cpu.0 != NONE {
            let run = &mut self.cpus[cpu];
            run.progress_from = self.ledger.now.max(run.busy_until);
            self.schedule_end(cpu);
        }
    }

    #[cold]
    fn set_speed(&mut self, cpu: CpuId, speed: Speed) {
        self.charge(cpu);
        let factor = self.grains.refine(speed);
        if factor > 1 {
            // Charge every CPU at its old rate before the work is rescaled.
            self.system.platform.cpus().for_each(|other| self.charge(other));
            self.rescale(factor);
        }
        self.cpus[cpu].per_ns = self.grains.per_ns(speed);
        if self.cpus[cpu].task != NONE {
            self.schedule_end(cpu);
        }
    }

    #[inline]
    fn told(&mut self, event: &Event) {
        let kind = match *event {
            Event::BudgetExhausted { job, cpu } => MarkKind::BudgetExhausted(job, cpu),
            Event::Step { job, step } => match step {
                StepEvent::Requests { resource, .. } => {
                    MarkKind::Lock(job, resource, LockMark::Requested)
                }
                StepEvent::Unlocks { resource, .. } => {
                    MarkKind::Lock(job, resource, LockMark::Unlocked)
                }
                StepEvent::Suspends { .. } => MarkKind::Suspended(job),
                StepEvent::Resumes => MarkKind::Resumed(job),
            },
            // CPUs that are online before the first decision belong to the platform.
            Event::CpuOnline { cpu } if self.ledger.decisions > 0 => MarkKind::CpuOnline(cpu),
            Event::CpuOffline { cpu } => MarkKind::CpuOffline(cpu),
            Event::CpuOnline { .. }
            | Event::Join { .. }
            | Event::Leave { .. }
            | Event::Reconfigure { .. }
            | Event::SetClusterCpus { .. }
            | Event::Arrival { .. }
            | Event::Measured { .. }
            | Event::Release { .. }
            | Event::Completion { .. }
            | Event::Ended { .. }
            | Event::Timer { .. } => return,
        };
        self.recorder.marked(&Mark { at: self.ledger.now, kind });
    }

    #[inline]
    fn decided(&mut self, action: &Action) {
        let kind = match *action {
            Action::SetSpeed { cpu, speed } => MarkKind::Speed(cpu, speed),
            Action::Note { note } => MarkKind::Note(note),
            Action::Grant { job, resource } => MarkKind::Lock(job, resource, LockMark::Granted),
            Action::Run { .. }
            | Action::Idle { .. }
            | Action::SetTimer { .. }
            | Action::ClearTimer { .. }
            | Action::Abort { .. }
            | Action::EndJob { .. }
            | Action::SetDates { .. }
            | Action::Refuse { .. } => return,
        };
        self.recorder.marked(&Mark { at: self.ledger.now, kind });
    }

    #[inline]
    fn fired(&mut self, _timer: TimerId, _due: Time) {}

    #[inline]
    fn released(&mut self, id: TaskId) {
        let task = &mut self.ledger.tasks[id];
        task.own.last_cpu = NONE;
        task.own.remaining = task.demand;
        (task.own.has_filled, task.own.to_reload) = (false, Duration::ZERO);
        self.recorder.released(&task.job);
        if self.costs.is_some() {
            self.pay_release(id);
        }
    }

    fn dated(&mut self, task: TaskId) {
        self.recorder.released(&self.ledger.tasks[task].job);
    }

    fn cut(&mut self, id: TaskId, end: JobEnd) {
        let cpu = CpuId(self.ledger.tasks[id].own.cpu);
        if cpu.0 != NONE {
            self.charge(cpu);
            self.dirty.mark(cpu);
        }
        let task = &mut self.ledger.tasks[id];
        let executed = self.grains.to_service(task.demand - task.own.remaining);
        self.recorder.ended(&task.job, self.ledger.now, end, executed);
        task.own.remaining = ENDLESS;
        task.own.last_cpu = NONE;
    }

    #[inline]
    fn ended(&mut self, id: TaskId, end: JobEnd) {
        let task = &mut self.ledger.tasks[id];
        task.own.cpu = NONE;
        // A completed job has received its whole demand.
        let executed = match end {
            JobEnd::Completed => task.demand,
            JobEnd::Aborted | JobEnd::Left => task.own.executed(task.demand),
        };
        let executed = self.grains.to_service(executed);
        self.recorder.ended(&task.job, self.ledger.now, end, executed);
    }

    fn skipped(&mut self, job: &Job) {
        self.recorder.released(job);
        self.recorder.ended(job, self.ledger.now, JobEnd::Aborted, Service::ZERO);
    }

    fn answered(&mut self, asked: Asked, refused: Option<Refusal>) {
        let mut entering = None;
        let request = match asked {
            Asked::Join(task) => {
                // A task of the set that enters is reported only if it is refused.
                if refused.is_none() {
                    return;
                }
                entering = Some(task);
                format!("task `{}` enters", self.system.tasks[task].name)
            }
            Asked::Request(index) => self.system.describe(&self.system.requests[index].kind),
            Asked::Enter(task) => {
                self.programs.entered(self.ledger.now, task, refused.as_ref());
                format!("program `{}` enters as task {task}", self.ledger.streams[task].task().name)
            }
            Asked::Exit(task) => {
                format!("program `{}`, task {task}, leaves", self.ledger.streams[task].task().name)
            }
        };
        self.recorder.answered(&record::answer(self.ledger.now, request, entering, refused));
    }
}

impl<P: Policy, R: Recorder, G: Programs> Simulator<'_, P, R, G> {
    /// Handles a job on a CPU that has received all its work or used up its budget.
    #[inline]
    fn end_on(&mut self, cpu: CpuId) {
        self.charge(cpu);
        let id = TaskId(self.cpus[cpu].task);
        self.cpus[cpu].entered_at = self.ledger.now;
        let task = &self.ledger.tasks[id];
        let job = task.job.id;
        if task.own.remaining > 0 {
            self.cpus[cpu].budget_end = Time::NEVER;
            self.schedule_end(cpu);
            rounds::tell(self, Event::BudgetExhausted { job, cpu });
            return;
        }
        if task.own.has_steps {
            self.step_on(cpu, id);
        } else {
            self.complete_on(cpu, id);
        }
    }

    /// Completes a job on a CPU that has received all its work.
    // Inlined where nearly every job ends, and once more behind the steps.
    #[inline(always)]
    fn complete_on(&mut self, cpu: CpuId, id: TaskId) {
        let job = self.ledger.tasks[id].job.id;
        self.cpus[cpu].task = NONE;
        self.ends.clear(cpu.index());
        self.dirty.mark(cpu);
        let then = jobs::complete(self, id);
        rounds::tell(self, Event::Completion { job, cpu, then });
    }

    /// Handles a job on a CPU that has reached a step, or has completed its last one.
    #[cold]
    #[inline(never)]
    fn step_on(&mut self, cpu: CpuId, id: TaskId) {
        match steps::reach(self, cpu, id) {
            Reached::Next | Reached::Suspended => {}
            Reached::Due => {
                self.ends.clear(cpu.index());
                self.due.push(cpu);
            }
            Reached::Waits => {
                self.cpus[cpu].progress_from = Time::NEVER;
                self.ends.clear(cpu.index());
            }
            Reached::Ends => self.complete_on(cpu, id),
        }
    }

    /// Splits every grain into `factor` grains.
    fn rescale(&mut self, factor: i64) {
        for cpu in self.cpus.values_mut() {
            cpu.per_ns *= factor;
        }
        for task in self.ledger.tasks.values_mut() {
            // The demand of a hog stays `ENDLESS`; only the executed part scales.
            if task.endless {
                task.own.remaining = task.demand - (task.demand - task.own.remaining) * factor;
                continue;
            }
            let scale = |grains: i64| {
                grains.checked_mul(factor).expect("execution times fit the speeds of the policy")
            };
            task.own.remaining = scale(task.own.remaining);
            task.own.after = scale(task.own.after);
            task.demand = scale(task.demand);
            task.waiting.iter_mut().for_each(|(_, demand)| *demand = scale(*demand));
            task.regular = task.regular.map(|(period, demand)| (period, scale(demand)));
        }
    }
}
