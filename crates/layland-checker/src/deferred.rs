//! The rule [`ScheduleRule::Deferred`](layland_model::ScheduleRule::Deferred): which jobs may run
//! while a job that comes before them waits, and where a job may lose its CPU.
//!
//! The check sweeps over the instants at which something changes. The execution of a job is the
//! time for which it has held CPUs. Between two instants the sets of waiting and running jobs are
//! constant. A job that runs while an earlier job waits has to be in a region all the time. Regions
//! that have begun end at the ends of segments, or a fixed length after the job first ran behind
//! another one. As everywhere, `highest_first.rs` checks that no CPU is idle while a job waits.
//!
//! If decisions come late ([`Evidence::decisions`](crate::Evidence::decisions)), a region lasts
//! until the first decision after its end.
//!
//! On a machine with latencies, a trace does not show how much was executed when the policy
//! decided. There, a job may run on behind another one for the length of its longest region plus
//! the latency.

use super::{Checker, Key, Violation};
use layland_model::{CpuId, Duration, Group, JobOrder, Preemption, Service, TaskId, TaskMap, Time};
use std::collections::{BTreeMap, BTreeSet};

/// A change at an instant. Jobs are indices into `Trace::jobs`.
#[derive(Clone, Copy)]
enum DeferredEdge {
    Stop(usize, CpuId),
    Ready(usize),
    Done(usize),
    Start(usize, CpuId),
    Offline(CpuId),
}

/// A running job.
#[derive(Clone, Copy)]
struct Runs {
    cpu: CpuId,
    started: Time,
    /// The earliest and the latest time since which the job has been behind waiting jobs. The two
    /// differ if, at one instant, jobs began to run and others began to wait: a trace does not show
    /// which came first.
    behind: Option<(Time, Time)>,
    /// True if the job has been reported. It is not reported again before it stops.
    is_reported: bool,
}

#[derive(Default)]
struct Sweep {
    waiting: BTreeSet<Key>,
    /// The time since which each job waits.
    waits_since: BTreeMap<usize, Time>,
    running: BTreeMap<usize, Runs>,
    ready: BTreeSet<usize>,
    executed: BTreeMap<usize, Duration>,
}

impl Checker<'_> {
    /// Checks the rule for each group.
    pub(super) fn check_deferred(
        &mut self,
        groups: &[Group],
        order: &JobOrder,
        regions: &TaskMap<Preemption>,
    ) {
        let keys = self.keys(order);
        // Among equal keys a running job comes first, unless ranks decide.
        let ignores_ranks = *order == JobOrder::DeadlineThenRunning;
        for group in groups {
            let is_changing = |task: &TaskId| self.is_changing.get(*task) == Some(&true);
            if group.tasks.iter().any(is_changing) {
                continue;
            }
            let edges = self.edges_in(group);
            self.sweep_regions(&edges, &keys, ignores_ranks, regions);
        }
    }

    fn edges_in(&self, group: &Group) -> Vec<(Time, DeferredEdge)> {
        let mut is_in: TaskMap<bool> = TaskMap::filled(false, self.system.tasks.len());
        for &task in &group.tasks {
            is_in.get_mut(task).into_iter().for_each(|is_in| *is_in = true);
        }
        let is_of_group = |job: usize| is_in.get(self.trace.jobs[job].job.id.task) == Some(&true);
        let mut edges = Vec::new();
        for (index, record) in self.trace.jobs.iter().enumerate().filter(|&(at, _)| is_of_group(at))
        {
            let end = record.end.map_or(self.trace.over, |(at, _)| at);
            let (from, _) = self.ready[index];
            for (from, to) in self.ready_within(index, from, end) {
                edges.extend([(from, DeferredEdge::Ready(index)), (to, DeferredEdge::Done(index))]);
            }
        }
        for segment in self.sound.iter().filter(|segment| is_of_group(segment.job)) {
            edges.push((segment.end, DeferredEdge::Stop(segment.job, segment.cpu)));
            edges.push((segment.start, DeferredEdge::Start(segment.job, segment.cpu)));
        }
        let marks = self.cpu_marks().filter(|(_, cpu, _)| group.cpus.contains(*cpu));
        edges.extend(
            marks
                .filter(|(.., online)| !online)
                .map(|(at, cpu, _)| (at, DeferredEdge::Offline(cpu))),
        );
        // A job that stops and starts at one instant changes its CPU. Jobs stop before the state is
        // examined.
        let rank = |edge: &DeferredEdge| match edge {
            DeferredEdge::Offline(_) => 0,
            DeferredEdge::Done(_) => 1,
            DeferredEdge::Stop(..) => 2,
            DeferredEdge::Ready(_) => 3,
            DeferredEdge::Start(..) => 4,
        };
        edges.sort_by_key(|(at, edge)| (*at, rank(edge)));
        edges
    }

    fn sweep_regions(
        &mut self,
        edges: &[(Time, DeferredEdge)],
        keys: &[Key],
        ignores_ranks: bool,
        regions: &TaskMap<Preemption>,
    ) {
        let mut state = Sweep::default();
        let mut edges = edges.iter().peekable();
        let mut before = Time::ZERO;
        while let Some(&&(now, _)) = edges.peek() {
            if now >= self.trace.over {
                break;
            }
            for job in state.running.keys() {
                *state.executed.entry(*job).or_default() += now - before;
            }
            before = now;
            let mut offline = BTreeSet::new();
            while let Some(&(_, edge)) = edges.next_if(|&&(at, _)| at == now) {
                match edge {
                    DeferredEdge::Offline(cpu) => {
                        offline.insert(cpu);
                    }
                    DeferredEdge::Ready(job) => {
                        state.ready.insert(job);
                        state.wait(keys[job], now);
                    }
                    DeferredEdge::Done(job) => {
                        state.ready.remove(&job);
                        state.waiting.remove(&keys[job]);
                    }
                    DeferredEdge::Start(job, cpu) => {
                        let runs = Runs { cpu, started: now, behind: None, is_reported: false };
                        state.running.insert(job, runs);
                        state.waiting.remove(&keys[job]);
                    }
                    DeferredEdge::Stop(job, cpu) => {
                        let stopped = state.running.remove(&job);
                        if !state.ready.contains(&job) {
                            continue;
                        }
                        state.wait(keys[job], now);
                        let executed = state.executed.get(&job).copied().unwrap_or_default();
                        let behind = stopped.and_then(|runs| runs.behind);
                        let may_stop = match self.region(job, regions) {
                            Preemption::Anywhere => true,
                            Preemption::Never => executed == Duration::ZERO,
                            Preemption::Delayed(length) => {
                                behind.is_some_and(|(earliest, _)| now - earliest >= *length)
                            }
                            Preemption::Between(segments) => {
                                let ended = now - since_end(segments, executed);
                                self.decision_from(ended) >= now
                            }
                        };
                        let is_exact = self.latency == Duration::ZERO;
                        if is_exact && !may_stop && !offline.contains(&cpu) {
                            self.violated(|this| Violation::WithinRegion {
                                job: this.name_at(job),
                                cpu,
                                at: now,
                            });
                        }
                    }
                }
            }
            let until = edges.peek().map_or(self.trace.over, |&&(at, _)| at.min(self.trace.over));
            self.look_behind(&mut state, (now, until), keys, ignores_ranks, regions);
        }
    }

    /// Reports jobs that, between two instants, run on behind a waiting job without being in a
    /// region.
    fn look_behind(
        &mut self,
        state: &mut Sweep,
        (now, until): (Time, Time),
        keys: &[Key],
        ignores_ranks: bool,
        regions: &TaskMap<Preemption>,
    ) {
        let first = state.waiting.first().copied();
        let Sweep { running, executed, waiting, waits_since, .. } = state;
        for (&job, runs) in running.iter_mut() {
            let comes_before = |waits: &Key| {
                if ignores_ranks { waits.first < keys[job].first } else { *waits < keys[job] }
            };
            let Some(waits) = first.filter(comes_before) else {
                runs.behind = None;
                continue;
            };
            let is_new = runs.behind.is_none();
            let (earliest, latest) = runs.behind.unwrap_or((now, now));
            let mut before_it = waiting.iter().take_while(|&waits| comes_before(waits));
            let is_same = before_it.any(|waits| waits_since.get(&waits.job) < Some(&now));
            let since = if is_same { latest } else { now };
            runs.behind = Some((earliest, since));
            let executed = executed.get(&job).copied().unwrap_or_default();
            let region = self.region(job, regions);
            // The time from which the job has no right to its CPU.
            let ends = if self.latency > Duration::ZERO {
                let longest = match region {
                    Preemption::Anywhere => Duration::ZERO,
                    Preemption::Never => continue,
                    Preemption::Delayed(length) => *length,
                    Preemption::Between(segments) => segments
                        .iter()
                        .max()
                        .map_or(Duration::ZERO, |longest| longest.at_unit_speed()),
                };
                Some(since + longest + self.latency)
            } else {
                match region {
                    Preemption::Anywhere => Some(now),
                    Preemption::Never => (executed == Duration::ZERO).then_some(now),
                    // The job began to run behind the other one, or the other one has just come.
                    Preemption::Delayed(_) if is_new && runs.started == now => Some(now),
                    Preemption::Delayed(length) => Some(self.decision_from(since + *length)),
                    Preemption::Between(segments) => {
                        // The job was behind already when its last segment ended, and no decision
                        // has been made since.
                        let ended = now - since_end(segments, executed);
                        let late = self.decision_from(ended);
                        let next = || {
                            let end = ends_at(segments, executed)?;
                            Some(self.decision_from(now + (end - executed)))
                        };
                        if since <= ended && late >= now { Some(late) } else { next() }
                    }
                }
            };
            if let Some(at) = ends.filter(|&ends| ends < until)
                && !runs.is_reported
            {
                runs.is_reported = true;
                let cpu = runs.cpu;
                self.violated(|this| Violation::Deferred {
                    waiting: this.name_at(waits.job),
                    running: this.name_at(job),
                    cpu,
                    at,
                });
            }
        }
    }

    /// Returns the time of the first decision at or after this time.
    fn decision_from(&self, at: Time) -> Time {
        let next = self.decisions.partition_point(|&decision| decision < at);
        match self.decisions.get(next) {
            Some(&decision) => decision,
            None if self.decisions.is_empty() => at,
            None => Time::NEVER,
        }
    }

    fn region<'r>(&self, job: usize, regions: &'r TaskMap<Preemption>) -> &'r Preemption {
        regions.get(self.trace.jobs[job].job.id.task).unwrap_or(&Preemption::Anywhere)
    }
}

impl Sweep {
    fn wait(&mut self, job: Key, now: Time) {
        self.waiting.insert(job);
        self.waits_since.insert(job.job, now);
    }
}

/// Returns the execution since the end of the last segment. The last segment of all ends with the
/// job.
fn since_end(segments: &[Service], executed: Duration) -> Duration {
    let mut since = executed;
    for segment in &segments[..segments.len().saturating_sub(1)] {
        let length = segment.at_unit_speed();
        if since < length {
            break;
        }
        since -= length;
    }
    since
}

/// Returns the end of the first segment that ends at or after this execution, or `None` for the
/// last segment, which ends with the job.
fn ends_at(segments: &[Service], executed: Duration) -> Option<Duration> {
    let mut begins = Duration::ZERO;
    for segment in segments {
        if executed <= begins {
            return Some(begins);
        }
        begins += segment.at_unit_speed();
    }
    None
}
