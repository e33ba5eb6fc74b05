//! One decision for one group of CPUs.
//!
//! The placement of jobs that start (the locality rule of Bonifaci et al. 2016, Algorithm 6, for
//! masks that are all the same):
//!
//! 1. A job that continues to run stays on its CPU.
//! 2. The jobs that start come in the order in which the scheduler starts them. Each is *preferred*
//!    by the CPU on which its task ran last, if that CPU is idle now; if several tasks ran last on
//!    one CPU, the one that ran most recently is preferred, among equals the first in the order.
//! 3. A preferred job takes its CPU; any other job takes the lowest idle CPU that prefers no job.
//!
//! Where CPUs of a group have different speeds and jobs go to the fastest of them ([`Placement`]), the
//! running jobs and those that start come in the order of their priorities, and the classes of CPUs of
//! one speed take as many of them as they have CPUs, the fastest class first. Within a class the rules
//! above hold: a job that runs on one of its CPUs stays, and the others start there. A job that moves
//! from another class ran last on its old CPU, until now.
//!
//! [`Placement`]: layland_model::Placement
//!
//! Long because the cache of the lowest job and the two placements share the CPUs of the group.

use super::priority::Priority;
use super::tasks::Tasks;
use crate::Action;
use layland_model::{CpuId, CpuMap, CpuSet, Index, Service, TaskId, Time};
use std::hint::select_unpredictable;

/// The CPUs of a group.
#[derive(Clone, Debug, Default)]
pub(super) struct GroupCpus {
    /// The online CPUs, as a set and as a list.
    online: CpuSet,
    online_list: Vec<CpuId>,
    /// The online CPUs that run nothing.
    idle: CpuSet,
    idle_count: usize,
    /// The CPU that runs the job of lowest priority, if that is known. The search happens only
    /// after that job has stopped.
    lowest: Option<CpuId>,
    /// The lowest job of each block of CPUs, if there is more than one block.
    blocks: Blocks,
}

/// The job of lowest priority of each [`BLOCK`](Blocks::BLOCK) CPUs of a large group. A search for
/// the lowest of all visits only the CPUs of blocks with changes, and then the blocks.
#[derive(Clone, Debug, Default)]
struct Blocks {
    /// The position in the list of online CPUs at which each block begins, and at last its end.
    /// Empty for a small group.
    starts: Vec<u32>,
    lowest: Vec<Lowest>,
    /// The blocks with changes, as bits.
    changed: u64,
}

/// The words of a priority, and the CPU that runs its job.
type Lowest = (u64, u64, u32);

impl Blocks {
    /// The number of CPUs in a block. With it, the largest possible machine has as many blocks as a
    /// word has bits.
    const BLOCK: usize = CpuSet::MAX_CPUS / u64::BITS as usize;

    /// Returns the blocks of these CPUs, which ascend.
    fn of(online: &[CpuId]) -> Blocks {
        if online.len() <= Blocks::BLOCK {
            return Blocks::default();
        }
        let count = online.last().map_or(0, |last| last.index() / Blocks::BLOCK + 1);
        let start = |block| online.partition_point(|cpu| cpu.index() < block * Blocks::BLOCK);
        Blocks {
            starts: (0..=count).map(|block| start(block) as u32).collect(),
            lowest: vec![(0, 0, NOBODY); count],
            changed: u64::MAX,
        }
    }

    #[inline]
    fn change(&mut self, cpu: CpuId) {
        self.changed |= 1 << (cpu.index() / Blocks::BLOCK % u64::BITS as usize);
    }

    fn look_for_lowest(&mut self, online: &[CpuId], running: &CpuMap<Priority>) -> Lowest {
        while self.changed != 0 {
            let block = self.changed.trailing_zeros() as usize;
            self.changed &= self.changed - 1;
            if block < self.lowest.len() {
                let (start, end) = (self.starts[block] as usize, self.starts[block + 1] as usize);
                self.lowest[block] = lowest_of(online[start..end].iter().map(|&cpu| {
                    let (high, low) = running[cpu].words();
                    (high, low, cpu.0)
                }));
            }
        }
        lowest_of(self.lowest.iter().copied())
    }
}

/// Returns the lowest of some jobs, ignoring idle CPUs.
#[inline(always)]
fn lowest_of(jobs: impl Iterator<Item = Lowest>) -> Lowest {
    // The comparison is unpredictable, so avoid a branch. The compiler would emit one for a select
    // on 128-bit values; hence two 64-bit words.
    let (mut high, mut low, mut lowest) = (0, 0, NOBODY);
    for (its_high, its_low, cpu) in jobs {
        let is_lower = (high < its_high) | ((high == its_high) & (low < its_low));
        high = select_unpredictable(is_lower, its_high, high);
        low = select_unpredictable(is_lower, its_low, low);
        lowest = select_unpredictable(is_lower, cpu, lowest);
    }
    (high, low, lowest)
}

impl GroupCpus {
    /// Returns true if a CPU is online.
    pub(super) fn contains(&self, cpu: CpuId) -> bool {
        self.online.contains(cpu)
    }

    /// Adds an idle CPU that comes online. Returns false if it already was online.
    pub(super) fn add(&mut self, cpu: CpuId) -> bool {
        let is_new = self.online.insert(cpu);
        if is_new {
            self.list_online();
            self.idle.insert(cpu);
            self.idle_count += 1;
        }
        is_new
    }

    /// Removes an idle CPU that goes offline.
    pub(super) fn remove(&mut self, cpu: CpuId) {
        self.online.remove(cpu);
        self.list_online();
        self.idle.remove(cpu);
        self.idle_count -= 1;
    }

    fn list_online(&mut self) {
        self.online_list = self.online.iter().collect();
        self.blocks = Blocks::of(&self.online_list);
    }

    /// Makes a CPU idle.
    #[inline]
    pub(super) fn vacate(&mut self, cpu: CpuId, running: &mut CpuMap<Priority>) {
        running[cpu] = Priority::IDLE;
        self.blocks.change(cpu);
        if self.lowest == Some(cpu) {
            self.lowest = None;
        }
        self.idle.insert(cpu);
        self.idle_count += 1;
    }

    /// Makes an idle CPU run a job.
    #[inline(always)]
    fn take(&mut self, cpu: CpuId, job: Priority, running: &mut CpuMap<Priority>) {
        running[cpu] = job;
        self.blocks.change(cpu);
        self.idle.remove(cpu);
        self.idle_count -= 1;
        if self.lowest.is_some_and(|lowest| running[lowest].is_higher_than(job)) {
            self.lowest = Some(cpu);
        }
    }

    /// Discards the cached lowest job, because the priorities of running jobs have changed.
    pub(super) fn forget_lowest(&mut self) {
        self.lowest = None;
        self.blocks.changed = u64::MAX;
    }

    #[inline]
    fn look_for_lowest(&mut self, running: &CpuMap<Priority>) {
        let (_, _, lowest) = if self.blocks.starts.is_empty() {
            lowest_of(self.online_list.iter().map(|&cpu| {
                let (high, low) = running[cpu].words();
                (high, low, cpu.0)
            }))
        } else {
            self.blocks.look_for_lowest(&self.online_list, running)
        };
        self.lowest = (lowest != NOBODY).then_some(CpuId(lowest));
    }

    /// Returns the CPU that runs the job of lowest priority.
    #[inline]
    fn lowest_running(&mut self, running: &CpuMap<Priority>) -> Option<CpuId> {
        if self.lowest.is_none() {
            self.look_for_lowest(running);
        }
        self.lowest
    }
}

/// Memory for the placement of several jobs, kept from turn to turn so that no turn allocates.
#[derive(Clone, Debug)]
pub(super) struct Scratch {
    starting: Vec<Starting>,
    /// With classes of CPUs: all jobs that run from now on, the CPUs of those that ran before, and the
    /// class that each gets.
    chosen: Vec<(Priority, Option<CpuId>, u32)>,
    /// The classes of the online CPUs of the group, ascending.
    places: Vec<u32>,
    /// The CPUs that lost their jobs to other classes.
    left: Vec<CpuId>,
    /// The job that each CPU prefers, as a position in `starting`; [`NOBODY`] between turns.
    preferred: CpuMap<u32>,
}

/// A job that starts in this turn.
#[derive(Clone, Copy, Debug)]
struct Starting {
    job: Priority,
    /// The last CPU of its task, if that CPU is idle, and the time until which it ran there.
    last: Option<(CpuId, Time)>,
    placed: bool,
}

const NOBODY: u32 = u32::MAX;

impl Scratch {
    pub(super) fn new(cpus: usize) -> Self {
        let preferred = CpuMap::filled(NOBODY, cpus);
        let (starting, chosen) = (Vec::with_capacity(cpus), Vec::new());
        Self { starting, chosen, places: Vec::new(), left: Vec::new(), preferred }
    }
}

/// The turn of a group to decide: the interface of its [`Scheduler`](super::Scheduler) to the
/// group.
#[derive(Debug)]
pub struct Turn<'a> {
    pub(super) now: Time,
    pub(super) cpus: &'a mut GroupCpus,
    pub(super) tasks: &'a mut Tasks,
    pub(super) running: &'a mut CpuMap<Priority>,
    pub(super) scratch: &'a mut Scratch,
    pub(super) actions: &'a mut Vec<Action>,
    /// The class of each CPU, the fastest first, if jobs go to the fastest CPUs.
    pub(super) classes: Option<&'a CpuMap<u32>>,
    pub(super) wake_at: Time,
}

impl Turn<'_> {
    /// Returns the time of this decision.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns true if there is an idle CPU for another job in addition to those that already
    /// start.
    #[inline]
    pub fn has_idle_cpu(&self) -> bool {
        self.scratch.starting.len() < self.cpus.idle_count
    }

    /// Returns the number of online CPUs of the group.
    pub fn cpu_count(&self) -> usize {
        self.cpus.online_list.len()
    }

    /// Returns the running jobs, in the order of their CPUs.
    pub fn running(&self) -> impl Iterator<Item = Priority> + '_ {
        let all = self.cpus.online_list.iter().map(|&cpu| self.running[cpu]);
        all.filter(|&job| job != Priority::IDLE)
    }

    /// Returns the running job of lowest priority. Jobs that start in this turn do not count.
    #[inline]
    pub fn lowest_running(&mut self) -> Option<Priority> {
        let cpu = self.cpus.lowest_running(self.running)?;
        Some(self.running[cpu])
    }

    /// Stops the running job of lowest priority: its CPU becomes idle. There is no call of
    /// [`wait`](super::Scheduler::wait), so the scheduler itself must let the job wait.
    #[inline(always)]
    pub fn preempt_lowest(&mut self) {
        if let Some(cpu) = self.cpus.lowest_running(self.running) {
            let victim = self.tasks.task(self.running[cpu]);
            self.tasks.stop(victim, self.now);
            self.cpus.vacate(cpu, self.running);
        }
    }

    /// Stops a running job, as [`preempt_lowest`](Self::preempt_lowest) does.
    pub fn preempt(&mut self, job: Priority) {
        let task = self.tasks.task(job);
        if let Some(cpu) = self.tasks.of(task).cpu() {
            self.tasks.stop(task, self.now);
            self.cpus.vacate(cpu, self.running);
        }
    }

    /// Stops a running job and keeps its CPU idle: no job must start there in this turn.
    pub fn stop(&mut self, job: Priority) {
        let cpu = self.tasks.of(self.tasks.task(job)).cpu();
        self.preempt(job);
        self.actions.extend(cpu.map(|cpu| Action::Idle { cpu }));
    }

    /// Aborts a job that does not start in this turn. The scheduler itself must forget a waiting job.
    pub fn abort(&mut self, job: Priority) {
        let (_, id) = self.tasks.job(job);
        self.preempt(job);
        self.tasks.of(id.task).ready = false;
        self.actions.push(Action::Abort { job: id });
    }

    /// Starts a waiting job on an idle CPU. The locality rule chooses the CPU at the end of the
    /// turn. Jobs must be started in the order of their priorities.
    #[inline]
    pub fn start(&mut self, job: Priority) {
        debug_assert!(self.has_idle_cpu(), "there is an idle CPU for each job that starts");
        self.scratch.starting.push(Starting { job, last: None, placed: false });
    }

    /// Returns true if a running job has this priority.
    pub fn is_running(&self, job: Priority) -> bool {
        let (state, _) = self.tasks.job(job);
        state.ready && state.priority == job && state.cpu().is_some()
    }

    /// Returns true if a ready job that neither runs nor starts has this priority.
    pub fn is_waiting(&self, job: Priority) -> bool {
        let (state, _) = self.tasks.job(job);
        let waits = state.ready && state.priority == job && state.cpu().is_none();
        waits && !self.is_starting(job)
    }

    /// Returns true if a job with this priority starts in this turn.
    pub fn is_starting(&self, job: Priority) -> bool {
        self.scratch.starting.iter().any(|starting| starting.job == job)
    }

    /// Returns the task of a ready job.
    pub fn task(&self, job: Priority) -> TaskId {
        self.tasks.task(job)
    }

    /// Returns the WCET of a ready job, as of its release. Panics like [`executed`](Self::executed).
    pub fn wcet(&self, job: Priority) -> Service {
        let wcet = self.tasks.wcet(self.tasks.task(job));
        wcet.expect("the scheduler has progress tracked")
    }

    /// Returns the time for which a ready job has held CPUs.
    ///
    /// # Panics
    /// If the scheduler does not ask for [`Progress::Tracked`](super::Progress::Tracked).
    pub fn executed(&self, job: Priority) -> Service {
        let executed = self.tasks.executed(self.tasks.task(job), self.now);
        executed.expect("the scheduler has progress tracked")
    }

    /// Returns the deadline of a ready job.
    ///
    /// # Panics
    /// If the scheduler does not ask for [`Progress::Tracked`](super::Progress::Tracked).
    pub fn deadline(&self, job: Priority) -> Time {
        let deadline = self.tasks.deadline(self.tasks.task(job));
        deadline.expect("the scheduler has progress tracked")
    }

    /// Returns the latest time at which a ready job must run to meet its deadline, if it needs all
    /// of its WCET: then its laxity is zero. A job that has exceeded its WCET needs no more time.
    ///
    /// # Panics
    /// If the scheduler does not ask for [`Progress::Tracked`](super::Progress::Tracked).
    pub fn zero_laxity_at(&self, job: Priority) -> Time {
        let left = self.tasks.left(self.tasks.task(job), self.now);
        let left = left.expect("the scheduler has progress tracked");
        self.deadline(job) - left.max(Service::ZERO).at_unit_speed()
    }

    /// Makes a job [urgent](Priority::urgent), until it ends. Returns its new priority.
    pub fn make_urgent(&mut self, job: Priority) -> Priority {
        self.reprioritise(job, job.urgent())
    }

    /// Gives a job another key, until it ends or gets yet another key. Returns its new priority.
    pub fn give_key(&mut self, job: Priority, key: i64) -> Priority {
        self.reprioritise(job, job.with_key(key))
    }

    fn reprioritise(&mut self, job: Priority, now: Priority) -> Priority {
        let task = self.tasks.task(job);
        let state = self.tasks.of(task);
        state.priority = now;
        if let Some(cpu) = state.cpu() {
            self.running[cpu] = now;
            // Another job may be the lowest now.
            self.cpus.lowest = None;
            self.cpus.blocks.change(cpu);
        }
        now
    }

    /// Requests another turn at this time, if no event comes before; no turn if it is
    /// [`Time::NEVER`]. Applies to one turn only.
    pub fn wake_at(&mut self, at: Time) {
        self.wake_at = at;
    }

    /// Places the jobs that start.
    #[inline(always)]
    pub(super) fn finish(&mut self) {
        if let Some(classes) = self.classes {
            let Turn { now, wake_at, .. } = *self;
            let Turn { cpus, tasks, running, scratch, actions, classes: all, .. } = self;
            let classes_of_cpus = *all;
            Turn { now, cpus, tasks, running, scratch, actions, classes: classes_of_cpus, wake_at }
                .place_by_class(classes);
            return;
        }
        match *self.scratch.starting.as_slice() {
            [] => return,
            [Starting { job, .. }] => {
                let cpu = self.own_idle(job).map_or_else(|| self.lowest_idle(), |(cpu, _)| cpu);
                self.run(job, cpu);
            }
            _ => {
                // Out of line, with its own `Turn`, so that the fields of this one stay in
                // registers.
                let Turn { now, wake_at, .. } = *self;
                let Turn { cpus, tasks, running, scratch, actions, classes, .. } = self;
                let classes = *classes;
                Turn { now, cpus, tasks, running, scratch, actions, classes, wake_at }.place();
            }
        }
        self.scratch.starting.clear();
    }

    /// Returns the last CPU of the task of a job, if that CPU is idle, and the time until which it
    /// ran there.
    #[inline]
    fn own_idle(&self, job: Priority) -> Option<(CpuId, Time)> {
        self.tasks.job(job).0.last().filter(|&(cpu, _)| self.cpus.idle.contains(cpu))
    }

    #[inline]
    fn lowest_idle(&self) -> CpuId {
        self.cpus.idle.lowest().expect("there is an idle CPU for each job that starts")
    }

    /// Gives each job that runs from now on a class of CPUs, and moves and places the jobs, by the rule
    /// of the file header.
    #[inline(never)]
    fn place_by_class(&mut self, classes: &CpuMap<u32>) {
        let Scratch { starting, chosen, places, left, .. } = &mut *self.scratch;
        let start = starting.drain(..).map(|starting| (starting.job, None, 0));
        chosen.clear();
        chosen.extend(start);
        for &cpu in &self.cpus.online_list {
            if self.running[cpu] != Priority::IDLE {
                chosen.push((self.running[cpu], Some(cpu), 0));
            }
        }
        chosen.sort_unstable_by_key(|&(job, ..)| job);
        places.clear();
        places.extend(self.cpus.online_list.iter().map(|&cpu| classes[cpu]));
        places.sort_unstable();
        left.clear();
        for ((_, _, class), &place) in chosen.iter_mut().zip(&*places) {
            *class = place;
        }
        // All that move leave their CPUs before anything starts there.
        for at in 0..self.scratch.chosen.len() {
            let (job, cpu, class) = self.scratch.chosen[at];
            if let Some(cpu) = cpu.filter(|&cpu| classes[cpu] != class) {
                self.preempt(job);
                self.scratch.chosen[at].1 = None;
                self.scratch.left.push(cpu);
            }
        }
        let mut at = 0;
        while at < self.scratch.chosen.len() {
            let class = self.scratch.chosen[at].2;
            while let Some(&(job, cpu, of)) = self.scratch.chosen.get(at)
                && of == class
            {
                if cpu.is_none() {
                    self.scratch.starting.push(Starting { job, last: None, placed: false });
                }
                at += 1;
            }
            let is_meant = |cpu: CpuId| classes[cpu] == class;
            self.place_among(is_meant, |idle| idle.iter().find(|&cpu| is_meant(cpu)));
            self.scratch.starting.clear();
        }
        while let Some(cpu) = self.scratch.left.pop() {
            if self.running[cpu] == Priority::IDLE {
                self.actions.push(Action::Idle { cpu });
            }
        }
    }

    /// Places several jobs, by the rule of the file header.
    #[inline(never)]
    fn place(&mut self) {
        self.place_among(|_| true, CpuSet::lowest);
    }

    /// Places the jobs that start on some of the idle CPUs, with the lowest of those in a set.
    #[inline(always)]
    fn place_among(
        &mut self,
        is_meant: impl Fn(CpuId) -> bool,
        lowest: impl Fn(&CpuSet) -> Option<CpuId>,
    ) {
        for at in 0..self.scratch.starting.len() {
            let last = self.own_idle(self.scratch.starting[at].job);
            let last = last.filter(|&(cpu, _)| is_meant(cpu));
            self.scratch.starting[at].last = last;
            let Some((cpu, until)) = last else { continue };
            let Scratch { starting, preferred, .. } = &mut *self.scratch;
            let most_recent = starting.get(preferred[cpu] as usize).and_then(|other| other.last);
            if most_recent.is_none_or(|(_, recent)| until > recent) {
                preferred[cpu] = at as u32;
            }
        }
        // Each job is preferred by at most one CPU, so the preferred jobs can start first.
        for at in 0..self.scratch.starting.len() {
            let Starting { job, last, .. } = self.scratch.starting[at];
            let Some((cpu, _)) = last else { continue };
            if self.scratch.preferred[cpu] == at as u32 {
                // Reset the scratch memory for the next turn.
                self.scratch.preferred[cpu] = NOBODY;
                self.scratch.starting[at].placed = true;
                self.run(job, cpu);
            }
        }
        for at in 0..self.scratch.starting.len() {
            let Starting { job, placed, .. } = self.scratch.starting[at];
            if !placed {
                let idle = lowest(&self.cpus.idle);
                self.run(job, idle.expect("there is an idle CPU for each job that starts"));
            }
        }
    }

    #[inline(always)]
    fn run(&mut self, priority: Priority, cpu: CpuId) {
        let job = self.tasks.start(priority, self.now, cpu);
        self.cpus.take(cpu, priority, self.running);
        self.actions.push(Action::Run { cpu, job, budget: None });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with a search through all CPUs.
        #[test]
        fn the_lowest_job_of_a_large_group_is_found(
            offline in prop::collection::btree_set(0u32..400, 0..300),
            steps in prop::collection::vec((0u32..400, 0i64..1000, 0..4), 1..400),
        ) {
            let cpus = 400;
            let mut group = GroupCpus::default();
            let mut running = CpuMap::filled(Priority::IDLE, cpus);
            (0..cpus as u32).map(CpuId).for_each(|cpu| { group.add(cpu); });
            offline.iter().for_each(|&cpu| group.remove(CpuId(cpu)));
            for (seat, (cpu, key, what)) in steps.into_iter().enumerate() {
                let cpu = CpuId(cpu);
                if offline.contains(&cpu.0) {
                    // Another group may run a job there.
                    running[cpu] = Priority::new(key + 1000, seat as u32);
                    continue;
                }
                if running[cpu] != Priority::IDLE {
                    group.vacate(cpu, &mut running);
                }
                if what > 0 {
                    let job = Priority::new(key, seat as u32);
                    group.take(cpu, job, &mut running);
                }
                if what != 1 {
                    let own = group.online_list.iter().copied();
                    let slow = own.filter(|&cpu| running[cpu] != Priority::IDLE);
                    let slow = slow.max_by_key(|&cpu| running[cpu]);
                    prop_assert_eq!(group.lowest_running(&running), slow);
                }
            }
        }
    }
}
