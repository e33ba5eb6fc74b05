//! Threads whose CPUs act ahead: the work of `ext/threads.rs`, with the mechanism of [`Kernel`].
//!
//! Time passes before each step of a decision, so that CPUs act in between.

use super::kernel::{Defect, Follows, Kernel, NO_JOB, Order, Record, Takes, UNKNOWN};
use crate::manager::BUDGET_GRAIN;
use crate::manager::carrier::{Carrier, EndReport, Grant, NewJob, NextJob, Noticed, There};
use crate::manager::overheads::Measured;
use layland_engine::ahead::AnswerTable;
use layland_engine::programs::Visit;
use layland_gen::Random;
use layland_model::{CpuId, CpuMap, Index, Task, TaskId, TaskMap};
use layland_policy::{FixedOrder, Refusal};
use std::cell::RefCell;

/// The state of a thread.
#[derive(Clone, Debug, Default)]
struct Kept {
    gate: u32,
    has_job: bool,
    /// The wake-up in which it last aborted its job.
    gave_up: Option<u32>,
    base: i64,
    cpu: Option<CpuId>,
    raised_ns: Option<i64>,
    migrated: bool,
    came: Option<i64>,
}

struct State {
    kernel: Kernel,
    kept: TaskMap<Kept>,
    wanted: CpuMap<Option<TaskId>>,
    grants: CpuMap<Option<Grant>>,
    granted: CpuMap<Option<Grant>>,
    guessed: CpuMap<bool>,
    news: u32,
    /// The autonomous actions of CPUs since the last decision.
    guesses: Vec<(CpuId, TaskId)>,
    epoch: u32,
    is_offered: bool,
    defect: Option<Defect>,
    counts: Counts,
}

/// The autonomous actions of CPUs, and their outcomes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub right: u64,
    pub wrong: u64,
    /// The number of right actions whose budget differed from the decision.
    pub adjusted: u64,
    /// The number of all actions that were successors.
    pub followed: u64,
    /// The number of orders about jobs that had ended.
    pub stale: u64,
}

impl Counts {
    pub fn add(&mut self, other: Counts) {
        self.right += other.right;
        self.wrong += other.wrong;
        self.adjusted += other.adjusted;
        self.followed += other.followed;
        self.stale += other.stale;
    }
}

pub struct Threads {
    state: RefCell<State>,
    looks_ahead: bool,
}

impl Threads {
    pub fn new(
        (cpus, tasks): (usize, usize),
        seed: u64,
        looks_ahead: bool,
        defect: Option<Defect>,
    ) -> Threads {
        let kernel = Kernel::new(cpus, tasks, Random::of_task(seed, 3), defect);
        let state = RefCell::new(State {
            kernel,
            kept: TaskMap::filled(Kept::default(), tasks),
            wanted: CpuMap::filled(None, cpus),
            grants: CpuMap::filled(None, cpus),
            granted: CpuMap::filled(None, cpus),
            guessed: CpuMap::filled(false, cpus),
            news: 0,
            guesses: Vec::new(),
            epoch: 0,
            is_offered: false,
            defect,
            counts: Counts::default(),
        });
        Threads { state, looks_ahead }
    }

    pub fn counts(&self) -> Counts {
        let state = self.state.borrow();
        Counts { stale: state.kernel.stale, ..state.counts }
    }
}

impl State {
    fn now(&self) -> i64 {
        self.kernel.now
    }

    /// Lets a moment pass.
    fn lag(&mut self) {
        let most = if self.kernel.random.below(50) == 0 { 60_000 } else { 3_000 };
        let length = self.kernel.random.between(0, most);
        self.kernel.pass(length);
    }

    fn drain(&mut self) -> u32 {
        for record in std::mem::take(&mut self.kernel.records) {
            let guess = match record {
                Record::Runs { thread, cpu, at } => {
                    let kept = &mut self.kept[thread];
                    // The thread may have come and gone before it was raised.
                    if kept.cpu == Some(cpu) && kept.raised_ns.is_some_and(|raised| raised <= at) {
                        kept.came.get_or_insert(at);
                    }
                    continue;
                }
                Record::Woke { thread, takes } => takes.map(|cpu| (cpu, thread)),
                Record::Slept { on, next } => {
                    self.counts.followed += u64::from(next.is_some());
                    on.zip(next)
                }
                Record::UsedUp => None,
            };
            self.guesses.extend(guess);
            self.news += 1;
        }
        self.news
    }

    fn has_ended(&self, id: TaskId) -> bool {
        self.kernel.threads[id].post.done_gate.wrapping_sub(self.kept[id].gate) as i32 >= 0
    }

    fn done_ns(&self, id: TaskId) -> i64 {
        self.kernel.threads[id].post.done_ns[self.kept[id].gate as usize % 2]
    }

    /// Returns the wake-up that the job of a thread belongs to, unless it is over. A thread whose
    /// job has ended needs a CPU to fall asleep.
    fn wake_of(&self, id: TaskId) -> Option<u32> {
        let thread = &self.kernel.threads[id];
        let is_over = match self.defect {
            Some(Defect::LeavesWhoFallsAsleep) => self.has_ended(id),
            _ => self.has_ended(id) && (!thread.is_awake || thread.slept_at >= self.done_ns(id)),
        };
        (!is_over).then(|| thread.wakes + u32::from(!thread.is_awake))
    }

    fn is_done(&self, id: TaskId) -> bool {
        let asleep = self.kernel.threads[id].slept_at >= self.done_ns(id);
        self.kept[id].has_job && self.has_ended(id) && asleep
    }

    fn report(&self, id: TaskId) -> EndReport {
        let (thread, end_ns) = (&self.kernel.threads[id], self.done_ns(id));
        let (got, demand) = (thread.slept_ran - self.kept[id].base, thread.post.demand);
        assert!(got >= demand, "{id} got {got} of {demand}: {:?}", self.kept[id]);
        // The time to fall asleep is not part of the job. The thread may have been off its CPU
        // meanwhile.
        EndReport { end_ns, used: (got - (thread.slept_at - end_ns).max(0)).max(demand) }
    }

    fn used(&self, id: TaskId, known: i64) -> i64 {
        if self.is_done(id) {
            return self.report(id).used;
        }
        if !self.kept[id].has_job {
            return known;
        }
        (self.kernel.threads[id].ran(self.now()) - self.kept[id].base).max(known)
    }

    fn unwant(&mut self, id: TaskId) {
        let wanted = self.wanted.values_mut().filter(|wanted| **wanted == Some(id));
        wanted.for_each(|wanted| *wanted = None);
    }

    fn judge_guesses(&mut self) {
        self.guessed.values_mut().for_each(|guessed| *guessed = false);
        for (cpu, id) in std::mem::take(&mut self.guesses) {
            if self.wanted[cpu] == Some(id) {
                self.counts.right += 1;
                self.guessed[cpu] = true;
            } else {
                self.counts.wrong += 1;
            }
        }
    }

    /// Returns the new slot of a CPU, if it differs from the present one.
    fn order(&mut self, cpu: CpuId) -> Option<Order> {
        let slot = self.kernel.cpus[cpu].slot;
        let wanted = self.wanted[cpu].and_then(|id| Some((id, self.wake_of(id)?)));
        let Some((id, wake)) = wanted else {
            // A thread whose job has ended stays there to fall asleep.
            let has = slot.thread?;
            let goes = self.wanted[cpu] != Some(has) || !self.has_ended(has);
            return goes.then_some(Order { thread: None, budget: None, generation: 0 });
        };
        let is_there = slot.thread == Some(id) && slot.wake == wake;
        if is_there && self.granted[cpu] == self.grants[cpu] {
            return None;
        }
        self.granted[cpu] = self.grants[cpu];
        let left = |grant: Grant| grant.amount - (self.used(id, grant.from) - grant.from);
        let left = self.grants[cpu].map(left);
        let own = &self.kernel.threads[id];
        let so_far = if own.on == Some(cpu) { self.now() - own.since } else { 0 };
        let is_same = match (slot.budget, left) {
            (None, None) => true,
            (Some(budget), Some(left)) => {
                budget > so_far && (budget - so_far - left).abs() <= BUDGET_GRAIN
            }
            (None, Some(_)) | (Some(_), None) => false,
        };
        if is_there && is_same {
            return None;
        }
        self.counts.adjusted += u64::from(is_there && self.guessed[cpu]);
        let budget = left.map(|left| left.max(1));
        Some(Order { thread: Some((id, wake)), budget, generation: self.kept[id].gate })
    }

    /// Checks that every CPU has the thread that it is to run, if the manager has processed all
    /// events.
    fn check_settled(&self) {
        for (cpu, &wanted) in self.wanted.iter() {
            let slot = self.kernel.cpus[cpu].slot;
            if let Some(id) = wanted
                && let Some(wake) = self.wake_of(id)
            {
                let has = (slot.thread, slot.wake);
                assert_eq!(has, (Some(id), wake), "CPU {cpu} has not what it is to run");
            }
        }
    }
}

impl Carrier for Threads {
    fn clock_ns(&self) -> i64 {
        let mut state = self.state.borrow_mut();
        state.lag();
        state.now()
    }
    fn news(&self) -> u32 {
        self.state.borrow_mut().drain()
    }
    fn wait(&mut self, news: u32, until_ns: i64) {
        let state = self.state.get_mut();
        if state.drain() == news {
            state.check_settled();
        }
        while state.drain() == news {
            if !state.kernel.pass_to_next(until_ns) {
                break;
            }
        }
        let late = state.kernel.random.between(0, 40_000);
        state.kernel.pass(late);
    }
    fn expect_awake_by(&self, _at_ns: i64) {}
    fn is_stopped(&self) -> bool {
        false
    }
    fn is_tripped(&self) -> bool {
        false
    }
    fn is_done(&self, id: TaskId) -> bool {
        self.state.borrow().is_done(id)
    }
    fn report(&self, id: TaskId) -> EndReport {
        self.state.borrow().report(id)
    }
    fn used(&self, id: TaskId, known: i64) -> i64 {
        let mut state = self.state.borrow_mut();
        state.lag();
        state.used(id, known)
    }
    fn notice(&mut self, id: TaskId) -> Option<Noticed> {
        let state = self.state.get_mut();
        let started_ns = state.kernel.threads[id].began_at;
        let kept = &mut state.kept[id];
        let (raised, came) = (kept.raised_ns?, kept.came?);
        kept.raised_ns = None;
        let latency_ns = (came - raised).max(0);
        Some(Noticed { latency_ns, migrated: kept.migrated, started_ns })
    }
    fn is_unnoticed(&self, id: TaskId) -> bool {
        self.state.borrow().kept[id].raised_ns.is_some()
    }
    fn is_used_up(&self, cpu: CpuId) -> bool {
        let state = self.state.borrow();
        let slot = state.kernel.cpus[cpu].slot;
        slot.thread.is_some() && slot.thread == state.wanted[cpu] && slot.budget == Some(0)
    }
    fn visit(&mut self) -> Option<Visit> {
        None
    }
    fn entered(&mut self, _task: TaskId, _parameters: &Task, _refused: Option<&Refusal>) {}
    fn left(&mut self, _task: TaskId) {}
    fn expect(&mut self, id: TaskId, first: NextJob) {
        let kernel = &mut self.state.get_mut().kernel;
        kernel.expect(id, first.at_ns, first.demand.unwrap_or(UNKNOWN));
    }
    fn begin(&mut self, id: TaskId, job: NewJob) {
        let state = self.state.get_mut();
        state.lag();
        let (kept, thread) = (&mut state.kept[id], &mut state.kernel.threads[id]);
        kept.gate += 1;
        (kept.has_job, kept.raised_ns) = (true, None);
        // A thread that woke by itself may already have executed part of this job. After an abort
        // it may not have slept since.
        let is_still_awake = match state.defect {
            Some(Defect::CountsFromGivingUp) => kept.gave_up.is_some(),
            _ => thread.is_awake && kept.gave_up == Some(thread.wakes),
        };
        kept.gave_up = None;
        kept.base = if is_still_awake { thread.ran(state.kernel.now) } else { thread.slept_ran };
        thread.post.demand = job.demand;
        thread.post.next_demand = job.next.and_then(|next| next.demand).unwrap_or(UNKNOWN);
        thread.post.next_ns = job.next.map_or(super::kernel::BY_GATE, |next| next.at_ns);
        thread.post.gate = kept.gate;
        state.kernel.wake_by_gate(id);
    }
    fn lower(&mut self, id: TaskId, measured: &mut Measured) -> Option<i64> {
        let state = self.state.get_mut();
        state.lag();
        let cpu = state.kept[id].cpu?;
        if state.wanted[cpu] == Some(id) {
            state.wanted[cpu] = None;
            state.grants[cpu] = None;
        }
        measured.demotions += u64::from(!state.is_done(id));
        let thread = &state.kernel.threads[id];
        let came = state.kept[id].came;
        let is_there = thread.on == Some(cpu);
        (!is_there && came.is_some_and(|came| came <= thread.since)).then_some(thread.since)
    }
    fn raise(&mut self, id: TaskId, cpu: CpuId, measured: &mut Measured) -> Option<There> {
        let state = self.state.get_mut();
        state.lag();
        let now = state.now();
        let (kept, thread) = (&mut state.kept[id], &state.kernel.threads[id]);
        let there = There { since_ns: thread.since, used: thread.ran(thread.since) - kept.base };
        let there = (thread.on == Some(cpu)).then_some(there);
        (kept.raised_ns, kept.came) = (Some(now), there.map(|there| there.since_ns));
        kept.migrated = kept.cpu.is_some_and(|last| last != cpu);
        kept.cpu = Some(cpu);
        measured.dispatches += 1;
        measured.migrations += u64::from(kept.migrated);
        state.wanted[cpu] = Some(id);
        state.granted[cpu] = None;
        there
    }
    fn limit(&mut self, cpu: CpuId, grant: Option<Grant>) {
        self.state.get_mut().grants[cpu] = grant;
    }
    fn arrange(&mut self, _order: &FixedOrder) {}
    fn settle(&mut self, _measured: &mut Measured) {
        let state = self.state.get_mut();
        state.judge_guesses();
        let mut is_changed = false;
        for index in 0..state.wanted.len() {
            let cpu = CpuId::from_index(index);
            let order = state.order(cpu);
            is_changed |= order.is_some();
            state.kernel.cpus[cpu].order = order;
            state.lag();
        }
        if is_changed {
            // Sometimes the manager itself has to wait here.
            let most = if state.kernel.random.below(20) == 0 { 300_000 } else { 1_000 };
            let length = state.kernel.random.between(0, most);
            state.kernel.pass(length);
            state.kernel.commit();
        }
    }
    fn clear(&mut self, _cpu: CpuId, _measured: &mut Measured) -> bool {
        false
    }
    fn give_up(&mut self, id: TaskId) {
        let state = self.state.get_mut();
        state.unwant(id);
        let kept = &mut state.kept[id];
        if std::mem::take(&mut kept.has_job) {
            kept.gave_up = Some(state.kernel.threads[id].wakes);
            state.kernel.threads[id].post.demand = NO_JOB;
        }
        kept.raised_ns = None;
    }
    fn forget(&mut self, id: TaskId) {
        let state = self.state.get_mut();
        state.unwant(id);
        (state.kept[id].has_job, state.kept[id].raised_ns) = (false, None);
    }
    fn acts_ahead(&self) -> bool {
        self.looks_ahead
    }
    fn offer(&mut self, table: &AnswerTable) {
        let state = self.state.get_mut();
        state.lag();
        state.epoch += 1;
        let epoch = state.epoch;
        for index in 0..state.wanted.len() {
            let cpu = CpuId::from_index(index);
            let Some(entry) = table.successor(cpu) else { continue };
            let Some(next) = entry.next else { continue };
            let Some(wake) = state.wake_of(next.task) else { continue };
            let own = &mut state.kernel.cpus[cpu];
            let (after, next) = ((entry.after.task, own.slot.wake), (next.task, wake));
            let budget = entry.budget.map(|budget| budget.ns().max(1));
            own.successor = Some(Follows { epoch, after, next, budget });
        }
        for id in state.kept.ids() {
            let Some(entry) = table.wake(id) else { continue };
            let Some((cpu, over)) = entry.takes else { continue };
            let thread = &state.kernel.threads[id];
            if !thread.is_awake {
                let (wake, over) = (thread.wakes + 1, over.map(|job| job.task));
                let budget = entry.budget.map(|budget| budget.ns().max(1));
                state.kernel.takes[id] = Some(Takes { epoch, wake, cpu, over, budget });
            }
        }
        state.kernel.epoch = epoch;
        state.is_offered = true;
    }
    fn withdraw(&mut self) {
        let state = self.state.get_mut();
        state.lag();
        if std::mem::take(&mut state.is_offered) {
            state.kernel.epoch = 0;
        }
    }
}
