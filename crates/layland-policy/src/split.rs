//! Semi-partitioned EDF: most tasks stay on one CPU, and tasks that fit on no single CPU are split
//! into pieces on several. **C=D** (Burns, Davis, Wang and Zhang 2012) and **EDF-WM** (Kato,
//! Yamasaki and Ishikawa 2009).
//!
//! | paper | here |
//! |---|---|
//! | processor `k`, subtasks of a split task | [`Piece`]: a CPU, an offset, a budget, the length of a window |
//! | `C`, `D` of the first subtasks, `C = D` | `budget`, `deadline` of a piece |
//! | `R_i,k` of EDF-WM: the windows of a task | `offset`, the same `deadline` for all of them |
//!
//! The pieces are determined before the start ([`layland_offline::splitting`]); a task that is not
//! split has one piece. At run time:
//!
//! 1. A piece is ready when the previous one is used up, but not before its window has begun: at
//!    the arrival of the job plus the offset. The windows of a job count from its arrival, however
//!    early the previous piece was used up.
//! 2. Each CPU runs, among the pieces that are ready on it, the one whose window ends first.
//! 3. A job that has used up the budget of its piece goes to the CPU of the next one, in the same
//!    instant if the window has begun. A job that ends before never goes there.
//! 4. A job that has used up its last piece without completing has needed more than its WCET: it is
//!    aborted, so that it makes no other job late.
//!
//! The test for EDF on one CPU has accepted all pieces, for sporadic releases. So a piece whose
//! budget is as long as its window (`C = D`) runs without a pause from the release of the job on:
//! if any other job on its CPU had a deadline before the end of the piece, one of both would be
//! late for some releases. A task of `n` pieces migrates at most `n - 1` times in each job, and
//! with C=D pieces of `Next` at most once.
//!
//! Ties of the ends of windows go to the smaller rank, then to the task that comes first.
//!
//! Cases that the papers leave out:
//! - On CPUs of other speeds the budget of a piece is a time of its CPU.
//! - Work planned for an offline CPU waits.
//! - On a machine that measures, jobs are charged the time that they received
//!   ([`Progress::Measured`]). If the policy learns late that a piece is used up, the excess is
//!   subtracted from the next one.
//! - No task may join or change its parameters: the assignment of pieces is fixed before the start.

mod info;

pub(crate) use info::policies;
pub use info::{cd, edf_wm};

use crate::shell::{Alarm, Refusals, fixed_answer};
use crate::{Action, Count, Event, Needs, Policy, Progress, State, TimerId};
use layland_model::{
    CpuId, CpuMap, CpuSet, Duration, JobId, Piece, ScheduleRule, System, TaskId, TaskMap, Time,
};
use std::collections::BTreeSet;

/// A value that is not a valid member.
const NONE: u32 = u32::MAX;
/// The timer for windows that have yet to begin.
const WINDOWS: TimerId = TimerId(0);

/// A task, and its ready job. Times are in nanoseconds.
#[derive(Clone, Debug)]
struct SplitTask {
    job: JobId,
    ready: bool,
    /// The arrival of the job, and its relative deadline.
    arrival: i64,
    deadline: i64,
    /// Its piece, and the rest of the budget as of `since`.
    piece: usize,
    left: i64,
    /// The time since which it runs without having been charged.
    since: i64,
    /// The total time of the job that a measuring engine has reported, and the part of it that is
    /// charged.
    told: i64,
    charged: i64,
    pieces: Vec<Piece>,
}

impl SplitTask {
    fn piece(&self) -> &Piece {
        &self.pieces[self.piece]
    }

    /// Returns the begin and the end of the window of its piece.
    fn window(&self) -> (i64, i64) {
        let Piece { offset, .. } = *self.piece();
        (self.arrival + offset.ns(), self.arrival + self.piece().due().ns())
    }

    /// Begins another piece, of which `used` is used up already.
    fn begin(&mut self, piece: usize, used: i64) {
        self.piece = piece;
        self.left = self.piece().budget.ns() - used;
    }

    fn is_last(&self) -> bool {
        self.piece + 1 == self.pieces.len()
    }
}

/// A CPU.
#[derive(Clone, Debug)]
struct Local {
    online: bool,
    /// The ready pieces, by the ends of their windows and by rank: the waiting ones and the running
    /// one.
    ready: BTreeSet<(i64, u32)>,
    /// The member whose job the engine runs, or [`NONE`].
    shown: u32,
    touched: bool,
}

/// The policy: see the file header.
#[derive(Clone, Debug)]
pub struct Split {
    name: &'static str,
    /// The members, by rank.
    members: Vec<SplitTask>,
    member_of: TaskMap<u32>,
    /// Tasks that have left: a new task with one of these ids has no pieces.
    left: BTreeSet<TaskId>,
    cpus: CpuMap<Local>,
    touched: Vec<CpuId>,
    /// The pieces whose windows have yet to begin, with the times.
    windows: BTreeSet<(i64, u32)>,
    alarm: Alarm,
    /// The jobs that, since the last decision, were reported to have used up their grants, or were
    /// measured.
    exhausted: Vec<JobId>,
    measured: Vec<u32>,
    is_measured: bool,
    refusals: Refusals,
    /// The number of times that a job continued in its next piece.
    moves: u64,
}

impl Split {
    /// Returns a policy with these pieces.
    ///
    /// # Panics
    /// If a task has no piece.
    pub fn new(name: &'static str, system: &System, pieces: TaskMap<Vec<Piece>>) -> Split {
        let mut member_of = TaskMap::filled(NONE, system.tasks.len());
        let mut members = Vec::with_capacity(system.tasks.len());
        for task in system.by_rank() {
            assert!(!pieces[task].is_empty(), "every task has a piece");
            member_of[task] = members.len() as u32;
            members.push(SplitTask {
                job: JobId { task, seq: 0 },
                ready: false,
                arrival: 0,
                deadline: system.tasks[task].deadline.ns(),
                piece: 0,
                left: 0,
                since: 0,
                told: 0,
                charged: 0,
                pieces: pieces[task].clone(),
            });
        }
        let local = Local { online: false, ready: BTreeSet::new(), shown: NONE, touched: false };
        Split {
            name,
            members,
            member_of,
            left: BTreeSet::new(),
            cpus: CpuMap::filled(local, system.platform.cpu_count()),
            touched: Vec::new(),
            windows: BTreeSet::new(),
            alarm: Alarm::OFF,
            exhausted: Vec::new(),
            measured: Vec::new(),
            is_measured: false,
            refusals: Refusals::default(),
            moves: 0,
        }
    }

    /// Returns the member of a task that has not left.
    fn member(&self, task: TaskId) -> Option<u32> {
        let &member = self.member_of.get(task)?;
        (member != NONE && !self.left.contains(&task)).then_some(member)
    }

    fn touch(&mut self, cpu: CpuId) {
        if !std::mem::replace(&mut self.cpus[cpu].touched, true) {
            self.touched.push(cpu);
        }
    }

    /// Returns true if the CPU of its piece runs the job of a member.
    fn runs(&self, member: u32) -> bool {
        self.cpus[self.members[member as usize].piece().cpu].shown == member
    }

    /// Charges the job of a member up to now: a measured job for the reported time, other jobs for
    /// the time for which they have run.
    fn charge(&mut self, now: Time, member: u32) {
        let runs = self.runs(member);
        let state = &mut self.members[member as usize];
        let got = match (self.is_measured, runs) {
            (true, _) => state.told - state.charged,
            (false, true) => now.ns() - state.since,
            (false, false) => 0,
        };
        state.charged = state.told;
        state.since = now.ns();
        state.left -= got;
    }

    /// Handles a job of a member that has used up its piece: it continues in the next one, or is
    /// aborted.
    fn use_up(&mut self, now: Time, job: JobId, actions: &mut Vec<Action>) {
        let Some(member) = self.member(job.task) else { return };
        let state = &self.members[member as usize];
        if !state.ready || state.job != job {
            return;
        }
        self.charge(now, member);
        let cpu = self.members[member as usize].piece().cpu;
        // Remove the piece under its current window, before the next piece changes that.
        self.withdraw(member);
        let state = &mut self.members[member as usize];
        loop {
            if state.is_last() {
                state.ready = false;
                actions.push(Action::Abort { job });
                if self.cpus[cpu].shown == member {
                    self.cpus[cpu].shown = NONE;
                }
                return;
            }
            // The time beyond its budget that it received before the end was noticed.
            let used = (-state.left).max(0);
            state.begin(state.piece + 1, used);
            if state.left > 0 {
                break;
            }
        }
        self.moves += 1;
        self.wait(now, member);
    }

    /// Makes a CPU run the first of its ready pieces.
    fn select(&mut self, now: Time, cpu: CpuId, actions: &mut Vec<Action>) {
        let local = &mut self.cpus[cpu];
        local.touched = false;
        let shown = local.shown;
        let first = local.ready.first().filter(|_| local.online).map_or(NONE, |&(_, first)| first);
        if first == shown {
            return;
        }
        // A job that continues in its next piece elsewhere has been charged already.
        if shown != NONE && self.members[shown as usize].piece().cpu == cpu {
            self.charge(now, shown);
        }
        self.cpus[cpu].shown = first;
        if first == NONE {
            actions.push(Action::Idle { cpu });
            return;
        }
        let state = &mut self.members[first as usize];
        state.since = now.ns();
        let budget = Some(Duration::from_ns(state.left.max(0)));
        actions.push(Action::Run { cpu, job: state.job, budget });
    }

    /// Lets a piece wait for its window, or makes it ready.
    fn wait(&mut self, now: Time, member: u32) {
        let state = &self.members[member as usize];
        let (begin, end) = state.window();
        if begin > now.ns() {
            self.windows.insert((begin, member));
        } else {
            let cpu = state.piece().cpu;
            self.cpus[cpu].ready.insert((end, member));
            self.touch(cpu);
        }
    }

    /// Removes the piece of a member.
    fn withdraw(&mut self, member: u32) {
        let state = &self.members[member as usize];
        let (begin, end) = state.window();
        let cpu = state.piece().cpu;
        if self.cpus[cpu].ready.remove(&(end, member)) {
            self.touch(cpu);
        } else {
            self.windows.remove(&(begin, member));
        }
    }

    fn release(&mut self, now: Time, job: JobId, deadline: Time) {
        let Some(member) = self.member(job.task) else { return };
        let state = &mut self.members[member as usize];
        (state.job, state.ready) = (job, true);
        (state.told, state.charged) = (0, 0);
        // Windows count from the arrival; the release may be later.
        state.arrival = deadline.ns() - state.deadline;
        state.begin(0, 0);
        self.wait(now, member);
    }

    /// Removes the ready job of a task, if it is this one; its CPU becomes idle.
    fn end(&mut self, task: TaskId, job: Option<JobId>) {
        let Some(member) = self.member(task) else { return };
        let state = &self.members[member as usize];
        if !state.ready || job.is_some_and(|job| job != state.job) {
            return;
        }
        if self.runs(member) {
            let cpu = self.members[member as usize].piece().cpu;
            self.cpus[cpu].shown = NONE;
        }
        self.withdraw(member);
        self.members[member as usize].ready = false;
    }
}

impl Policy for Split {
    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::Release { job, release: _, deadline } => self.release(now, job, deadline),
            Event::Completion { job, .. } | Event::Ended { job } => self.end(job.task, Some(job)),
            Event::BudgetExhausted { job, cpu: _ } => self.exhausted.push(job),
            Event::Measured { job, executed } => {
                self.is_measured = true;
                if let Some(member) = self.member(job.task) {
                    let state = &mut self.members[member as usize];
                    if state.ready && state.job == job {
                        state.told = executed.ns();
                        self.measured.push(member);
                    }
                }
            }
            Event::Timer { id: WINDOWS } => self.alarm.rang(),
            Event::Join { .. } | Event::Reconfigure { .. } | Event::SetClusterCpus { .. } => {
                let reason =
                    || format!("{} places and splits its tasks before the start", self.name);
                let may_use = |task| -> Option<CpuSet> {
                    let pieces = &self.members[self.member(task)? as usize].pieces;
                    Some(pieces.iter().map(|piece| piece.cpu).collect())
                };
                if let Some((request, refusal)) = fixed_answer(&event, reason, may_use) {
                    self.refusals.push(request, refusal);
                }
            }
            Event::Leave { task } => {
                self.end(task, None);
                self.left.insert(task);
            }
            Event::CpuOnline { cpu } => {
                self.cpus[cpu].online = true;
                self.touch(cpu);
            }
            Event::CpuOffline { cpu } => {
                let shown = self.cpus[cpu].shown;
                if shown != NONE {
                    self.charge(now, shown);
                }
                (self.cpus[cpu].shown, self.cpus[cpu].online) = (NONE, false);
                self.touch(cpu);
            }
            // This policy does not ask for arrivals, and has only one timer.
            Event::Arrival { .. } | Event::Timer { .. } | Event::Step { .. } => {}
        }
    }

    fn decide(&mut self, now: Time, actions: &mut Vec<Action>) {
        self.refusals.emit(actions);
        while let Some(member) = self.measured.pop() {
            if !self.members[member as usize].ready {
                continue;
            }
            self.charge(now, member);
            // The engine measures after it has reported used-up budgets, and a job that has lost
            // its CPU may have used up its piece since. The last piece ends only when the engine
            // reports it.
            let state = &self.members[member as usize];
            if state.left <= 0 && !state.is_last() && !self.exhausted.contains(&state.job) {
                self.exhausted.push(state.job);
            }
        }
        while let Some(job) = self.exhausted.pop() {
            self.use_up(now, job, actions);
        }
        while let Some(&(begin, member)) = self.windows.first()
            && begin <= now.ns()
        {
            self.windows.pop_first();
            self.wait(now, member);
        }
        while let Some(cpu) = self.touched.pop() {
            self.select(now, cpu, actions);
        }
        let next = self.windows.first().map_or(Time::NEVER, |&(begin, _)| Time::from_ns(begin));
        self.alarm.set(next, WINDOWS, actions);
    }

    fn save(&self, now: Time, state: &mut State) {
        for (member, of) in self.members.iter().enumerate() {
            state.number(i64::from(of.ready));
            if of.ready {
                let runs = !self.is_measured && self.runs(member as u32);
                let got = if runs { now.ns() - of.since } else { 0 };
                state.number(of.piece as i64);
                state.number(of.left - got);
                state.number(of.arrival - now.ns());
            }
        }
        for local in self.cpus.values() {
            state.number(i64::from(local.online));
            state.number(i64::from(local.shown));
        }
        state.number(self.left.len() as i64);
        self.left.iter().for_each(|task| state.number(i64::from(task.0)));
    }

    fn needs(&self) -> Needs {
        Needs { progress: Progress::Measured, ..Needs::READY_JOBS }
    }

    fn rule(&self) -> ScheduleRule {
        let of = |&member: &u32| self.members[member as usize].pieces.clone();
        ScheduleRule::Split { pieces: self.member_of.values().map(of).collect() }
    }

    fn counts(&self) -> Vec<Count> {
        vec![Count { name: "moves", count: self.moves }]
    }
}
