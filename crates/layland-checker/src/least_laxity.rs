//! The rule [`ScheduleRule::LeastLaxity`](layland_model::ScheduleRule::LeastLaxity): which jobs run
//! after each evaluation of laxities.
//!
//! The check sweeps over the instants at which something changes and those at which the rule
//! evaluates laxities again. At each evaluation the laxities follow from the set and from the
//! execution in the trace. The jobs that come first then have to run until the next evaluation. If
//! several things happen at one instant, the policy may evaluate more than once. Among equal
//! laxities the running jobs come first, which may then include jobs that began a moment ago. Jobs
//! that begin at such an instant are therefore not checked.
//!
//! On a machine with overheads or latencies a trace does not show when the policy evaluated, or
//! what it knew. The same limit applies to jobs with jitter and to jobs that arrive neither
//! periodically nor sporadically. There, as everywhere, `highest_first.rs` checks that no CPU is
//! idle while a job waits.

use super::{Checker, Violation};
use layland_model::{
    Behaviour, CpuId, CpuSet, Duration, Group, Index, LaxityRule, OnMiss, TaskId, TaskMap, Time,
};
use layland_trace::JobEnd;
use std::collections::{BTreeMap, BTreeSet};

/// A change at an instant. Jobs are indices into `Trace::jobs`.
#[derive(Clone, Copy)]
enum LaxityEdge {
    Ready(usize),
    Done(usize),
    /// The job arrives, ready or not, or it comes and ends at this instant.
    Passes,
    Start(usize, CpuId),
    Stop(usize),
    Online(CpuId),
    Offline(CpuId),
}

/// The position of a job at an evaluation: smaller comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct LaxityPosition {
    laxity: Duration,
    /// The deadline under MLLF, 0 under LLF.
    deadline: Time,
    /// True if the job waits, where running jobs come first among equal laxities.
    waits: bool,
    rank: i64,
    task: TaskId,
    job: usize,
}

/// The state between two instants.
struct Sweep {
    ready: BTreeSet<usize>,
    /// The execution of each ready job.
    executed: BTreeMap<usize, Duration>,
    running: BTreeMap<usize, CpuId>,
    online: CpuSet,
    /// The jobs that came first at the last evaluation, and the jobs behind them.
    first: Vec<LaxityPosition>,
    rest: Vec<LaxityPosition>,
}

impl Checker<'_> {
    /// Checks the rule for each group.
    pub(super) fn check_least_laxity(&mut self, groups: &[Group], rule: LaxityRule) {
        let is_ideal = self.system.platform.overheads.is_zero();
        if !is_ideal || self.is_real || self.latency > Duration::ZERO {
            return;
        }
        for group in groups {
            let is_other = |&task: &TaskId| {
                self.is_changing.get(task) == Some(&true) || self.gets_another_wcet(task)
            };
            let are_plain = group.tasks.iter().all(|&task| self.arrives_plainly(task));
            if are_plain && !group.tasks.iter().any(is_other) {
                let edges = self.edges_of(group);
                self.sweep_looks(group, &edges, rule);
            }
        }
    }

    /// Returns true if the set determines when the policy is notified of the jobs of a task.
    fn arrives_plainly(&self, task: TaskId) -> bool {
        self.system.tasks.get(task).is_some_and(|task| {
            let behaviour = matches!(task.behaviour, Behaviour::Periodic | Behaviour::Sporadic(_));
            behaviour && task.jitter == Duration::ZERO
        })
    }

    fn edges_of(&self, group: &Group) -> Vec<(Time, LaxityEdge)> {
        let mut is_in: TaskMap<bool> = TaskMap::filled(false, self.system.tasks.len());
        for &task in &group.tasks {
            is_in.get_mut(task).into_iter().for_each(|is_in| *is_in = true);
        }
        let is_of_group = |job: usize| is_in.get(self.trace.jobs[job].job.id.task) == Some(&true);
        let mut edges = Vec::new();
        for (index, record) in
            self.trace.jobs.iter().enumerate().filter(|&(job, _)| is_of_group(job))
        {
            let end = record.end.map_or(self.trace.over, |(at, _)| at);
            let (from, _) = self.ready[index];
            let task = self.system.tasks.get(record.job.id.task);
            let may_skip = task.is_some_and(|task| task.on_miss == OnMiss::Skip);
            if may_skip && matches!(record.end, Some((_, JobEnd::Aborted))) {
                // The policy is not notified of a job that is skipped.
                continue;
            }
            edges.push((record.job.release, LaxityEdge::Passes));
            if from < end {
                edges.extend([(from, LaxityEdge::Ready(index)), (end, LaxityEdge::Done(index))]);
            } else if from == end {
                edges.extend([(end, LaxityEdge::Passes), (end, LaxityEdge::Passes)]);
            }
        }
        for segment in self.sound.iter().filter(|segment| is_of_group(segment.job)) {
            edges.push((segment.end, LaxityEdge::Stop(segment.job)));
            edges.push((segment.start, LaxityEdge::Start(segment.job, segment.cpu)));
        }
        let marks = self.cpu_marks().filter(|(_, cpu, _)| group.cpus.contains(*cpu));
        edges.extend(marks.map(|(at, cpu, online)| {
            (at, if online { LaxityEdge::Online(cpu) } else { LaxityEdge::Offline(cpu) })
        }));
        // A job that stops and starts at one instant has changed its CPU.
        edges.sort_by_key(|&(at, edge)| (at, matches!(edge, LaxityEdge::Start(..))));
        edges
    }

    fn sweep_looks(&mut self, group: &Group, edges: &[(Time, LaxityEdge)], rule: LaxityRule) {
        let cpu_count = self.system.platform.cpu_count();
        let mut state = Sweep {
            ready: BTreeSet::new(),
            executed: BTreeMap::new(),
            running: BTreeMap::new(),
            online: group.cpus.iter().filter(|cpu| cpu.index() < cpu_count).collect(),
            first: Vec::new(),
            rest: Vec::new(),
        };
        let mut edges = edges.iter().peekable();
        let (mut before, mut next_look) = (Time::ZERO, Time::NEVER);
        while let Some(&&(at, _)) = edges.peek() {
            let now = at.min(next_look);
            if now >= self.trace.over {
                break;
            }
            for job in state.running.keys() {
                *state.executed.entry(*job).or_default() += now - before;
            }
            before = now;
            let mut ran = state.running.clone();
            // A job that is ready when it arrives counts as one event.
            let mut things = i32::from(now == next_look);
            let mut looks = now == next_look;
            let mut gone = CpuSet::new();
            while let Some(&(_, edge)) = edges.next_if(|&&(at, _)| at == now) {
                looks |= !matches!(edge, LaxityEdge::Start(..) | LaxityEdge::Stop(_));
                things += i32::from(match edge {
                    LaxityEdge::Start(..) | LaxityEdge::Stop(_) => false,
                    // The policy may be notified of the end of a job before the next job of its
                    // task is ready.
                    LaxityEdge::Ready(job) => self.trace.jobs[job].job.release < now,
                    LaxityEdge::Done(_)
                    | LaxityEdge::Passes
                    | LaxityEdge::Online(_)
                    | LaxityEdge::Offline(_) => true,
                });
                if let LaxityEdge::Offline(cpu) = edge {
                    gone.insert(cpu);
                }
                state.apply(edge);
            }
            ran.retain(|_, cpu| !gone.contains(*cpu));
            if looks {
                let mut places: Vec<LaxityPosition> = state
                    .ready
                    .iter()
                    .map(|&job| self.place(job, now, &state, &ran, rule))
                    .collect();
                places.sort_unstable();
                state.rest = places.split_off(state.online.len().min(places.len()));
                state.first = places;
                next_look = self.next_look(now, &state, rule);
            }
            let has_running_first = matches!(rule, LaxityRule::Quantum { running_first: true, .. });
            let began = |job: &usize| !ran.contains_key(job);
            let by_chance =
                |place: &LaxityPosition| things > 1 && has_running_first && began(&place.job);
            self.compare(now, &state, by_chance);
            // Accept the current state, so that one error is not reported again before the next
            // evaluation.
            let is_running = |place: &LaxityPosition| state.running.contains_key(&place.job);
            let all: Vec<LaxityPosition> =
                state.first.drain(..).chain(state.rest.drain(..)).collect();
            (state.first, state.rest) = all.into_iter().partition(is_running);
        }
    }

    fn place(
        &self,
        job: usize,
        now: Time,
        state: &Sweep,
        ran: &BTreeMap<usize, CpuId>,
        rule: LaxityRule,
    ) -> LaxityPosition {
        let record = &self.trace.jobs[job].job;
        let parameters = self.system.tasks.get(record.id.task);
        let wcet = parameters.map_or(Duration::ZERO, |task| task.own_wcet().at_unit_speed());
        let executed = state.executed.get(&job).copied().unwrap_or_default();
        let left = (wcet - executed).max(Duration::ZERO);
        let (deadline, waits) = match rule {
            LaxityRule::Modified => (record.deadline, false),
            LaxityRule::Quantum { running_first, .. } => {
                (Time::ZERO, running_first && !ran.contains_key(&job))
            }
        };
        let rank = parameters.map_or(i64::MAX, |task| task.rank);
        let laxity = (record.deadline - now) - left;
        LaxityPosition { laxity, deadline, waits, rank, task: record.id.task, job }
    }

    /// Returns the time of the next evaluation, if nothing happens before.
    fn next_look(&self, now: Time, state: &Sweep, rule: LaxityRule) -> Time {
        let (Some(last), Some(waits)) = (state.first.last(), state.rest.first()) else {
            return Time::NEVER;
        };
        match rule {
            LaxityRule::Quantum { quantum, .. } => {
                let quanta = now.ns().div_euclid(quantum.ns()) + 1;
                Time::from_ns(quanta.saturating_mul(quantum.ns()))
            }
            LaxityRule::Modified => {
                let inversion_ends = self.trace.jobs[waits.job].job.deadline - last.laxity;
                let without_laxity = state.rest.iter().map(|place| now + place.laxity);
                let looks = without_laxity.chain([inversion_ends]).filter(|&at| at > now);
                looks.min().unwrap_or(Time::NEVER)
            }
        }
    }

    /// Reports a job that waits but should run, while a job runs that should wait.
    fn compare(&mut self, now: Time, state: &Sweep, by_chance: impl Fn(&LaxityPosition) -> bool) {
        let waiting = state.first.iter().find(|place| !state.running.contains_key(&place.job));
        let running = state.rest.iter().rev().find(|place| state.running.contains_key(&place.job));
        if let (Some(waiting), Some(running)) = (waiting, running)
            && !(waiting.laxity == running.laxity && by_chance(running))
        {
            let cpu = state.running[&running.job];
            self.violated(|this| Violation::Overtaken {
                waiting: this.name_at(waiting.job),
                running: this.name_at(running.job),
                cpu,
                at: now,
            });
        }
    }
}

impl Sweep {
    fn apply(&mut self, edge: LaxityEdge) {
        match edge {
            LaxityEdge::Ready(job) => {
                self.ready.insert(job);
            }
            LaxityEdge::Done(job) => {
                self.ready.remove(&job);
                self.executed.remove(&job);
            }
            LaxityEdge::Passes => {}
            LaxityEdge::Start(job, cpu) => {
                self.running.insert(job, cpu);
            }
            LaxityEdge::Stop(job) => {
                self.running.remove(&job);
            }
            LaxityEdge::Online(cpu) => {
                self.online.insert(cpu);
            }
            LaxityEdge::Offline(cpu) => {
                self.online.remove(cpu);
            }
        }
    }
}
