//! The contents of a window of a trace, independent of the output format.

mod halts;

use self::halts::{Spin, halt, spins};
use super::words::Nanoseconds;
use layland_model::{
    CpuId, Criticality, Duration, Index, JobId, ResourceId, TaskId, Time, counted,
};
use layland_trace::{
    Halts, JobEnd, JobRecord, Labels, LevelStretch, LockMark, MarkKind, Trace, level_stretches,
    raised,
};
use std::collections::BTreeSet;

/// Everything that is visible between two times.
pub(super) struct Scene {
    pub from: Time,
    /// The end of the window, after `from`.
    pub to: Time,
    /// The tasks that are shown, in the order of their rows.
    pub tasks: Vec<TaskRow>,
    /// Tasks that are not shown, in the order of their ids.
    pub hidden: Vec<TaskRow>,
    pub cpus: Vec<CpuRow>,
    /// Migrations of jobs to other CPUs, in the order of time.
    pub migrations: Vec<Migration>,
    /// The times at which jobs spun for a lock, in the order of jobs and times.
    pub spins: Vec<Spin>,
    /// The number of segments in the window that are not empty.
    pub segment_count: usize,
    /// The names of the criticality levels, including all that occur; empty if no CPU has an
    /// indicator.
    pub level_names: Vec<String>,
    /// The labels of the resources.
    labels: Labels,
    pub over: Time,
}

/// A task and the behaviour of its jobs.
pub(super) struct TaskRow {
    pub name: String,
    /// Its position among all tasks, which determines its colour.
    pub position: usize,
    /// The jobs, in the order of their numbers.
    pub jobs: Vec<VisibleJob>,
    /// The segments, in the order of time.
    pub runs: Vec<RunSegment>,
    /// The times at which a job was ready and did not run.
    pub waits: Vec<(Time, Time)>,
    /// The times at which a job was suspended by itself, in the order of time.
    pub suspensions: Vec<(Time, Time)>,
    /// The times at which a job held a resource or waited for it, in the order in which they end.
    pub locks: Vec<Lock>,
    /// The number of deadlines that are missed in the window.
    pub misses: usize,
}

/// A time for which a job holds a resource or waits for it, on its CPU or off it.
#[derive(Clone, Copy)]
pub(super) struct Lock {
    pub job: JobId,
    pub resource: ResourceId,
    pub holds: bool,
    pub from: Time,
    pub to: Time,
}

/// A CPU and the segments on it.
pub(super) struct CpuRow {
    pub id: CpuId,
    /// The segments, in the order of time.
    pub runs: Vec<RunSegment>,
    pub offline: Vec<(Time, Time)>,
    /// The values of its criticality indicator in the window,
    /// in the order of time; empty if it has no indicator.
    pub levels: Vec<LevelStretch>,
}

/// A job that exists at some time in the window.
#[derive(Clone, Copy)]
pub(super) struct VisibleJob {
    pub id: JobId,
    pub release: Time,
    pub deadline: Time,
    /// The time at which the deadline was missed, or the job was aborted before it.
    pub missed_at: Option<Time>,
    /// The completion time, if it was late.
    pub tardy_at: Option<Time>,
    pub aborted_at: Option<Time>,
    /// The end of its lateness, if it was late: its end, or the end of the run.
    pub late_until: Option<Time>,
}

/// A segment.
#[derive(Clone, Copy)]
pub(super) struct RunSegment {
    pub job: JobId,
    /// The position of the task.
    pub position: usize,
    pub cpu: CpuId,
    pub start: Time,
    pub end: Time,
    /// The overhead, without the time that the job spins.
    pub overhead: Duration,
    /// True if the job could have continued, and runs again later.
    pub is_preempted: bool,
    /// The CPU on which it ran before, if that was another one.
    pub migrated_from: Option<CpuId>,
    /// The deadline of the job, if it is known.
    pub deadline: Option<Time>,
}

/// A job that stopped on a CPU and continued on another one.
#[derive(Clone, Copy)]
pub(super) struct Migration {
    pub from: (Time, CpuId),
    pub to: (Time, CpuId),
}

/// Returns the time at which a job missed its deadline, if it did.
pub(super) fn missed_at(record: &JobRecord, over: Time) -> Option<Time> {
    record.missed(over).then(|| match record.end {
        Some((at, JobEnd::Aborted)) => at.min(record.job.deadline),
        Some((_, JobEnd::Completed | JobEnd::Left)) | None => record.job.deadline,
    })
}

impl Scene {
    /// Returns the window from `from` to `to`, at least one nanosecond,
    /// with at most `max_rows` tasks. If all fit, they are in the order of
    /// their ids; otherwise those with misses come first, then active ones.
    pub(super) fn new(
        trace: &Trace,
        labels: &Labels,
        from: Time,
        to: Time,
        max_rows: usize,
    ) -> Scene {
        // The window has at least one nanosecond, even at the end of time.
        let from = from.min(Time::from_ns(i64::MAX - 1));
        let to = to.max(from.saturating_add(Duration::from_ns(1)));
        // Only existing ids get a row, so that an absurdly
        // large id in a trace does not allocate memory.
        let known = (0..labels.tasks.len()).map(TaskId::from_index);
        let ids: BTreeSet<TaskId> = known
            .chain(trace.jobs.iter().map(|record| record.job.id.task))
            .chain(trace.segments.iter().map(|segment| segment.job.task))
            .chain(trace.marks.iter().filter_map(|mark| match mark.kind {
                MarkKind::Lock(job, ..) => Some(job.task),
                MarkKind::BudgetExhausted(..)
                | MarkKind::CpuOnline(_)
                | MarkKind::CpuOffline(_)
                | MarkKind::Speed(..)
                | MarkKind::Suspended(_)
                | MarkKind::Resumed(_)
                | MarkKind::Note(_) => None,
            }))
            .collect();
        let ids: Vec<TaskId> = ids.into_iter().collect();
        let position = |task: TaskId| ids.binary_search(&task).expect("every id was collected");
        let mut tasks: Vec<TaskRow> = ids
            .iter()
            .enumerate()
            .map(|(position, &id)| TaskRow {
                name: labels.task(id),
                position,
                jobs: Vec::new(),
                runs: Vec::new(),
                waits: Vec::new(),
                suspensions: Vec::new(),
                locks: Vec::new(),
                misses: 0,
            })
            .collect();
        let cpus = cpu_rows(trace, labels, from, to);
        let mut scene = Scene {
            from,
            to,
            tasks: Vec::new(),
            hidden: Vec::new(),
            level_names: level_names(&cpus, labels),
            labels: Labels { resources: labels.resources.clone(), ..Labels::default() },
            cpus,
            migrations: Vec::new(),
            spins: Vec::new(),
            segment_count: 0,
            over: trace.over,
        };
        let halts = Halts::of(&trace.marks);
        scene.add_runs(trace, &mut tasks, position, &halts);
        scene.add_jobs(trace, &mut tasks, position, &halts);
        scene.add_locks(trace, &mut tasks, position);
        for row in &mut tasks {
            row.misses = row.jobs.iter().filter(|job| scene.misses(job)).count();
        }
        scene.choose(tasks, max_rows);
        scene
    }

    /// Returns true if a time is in the window, both ends included.
    pub(super) fn shows(&self, at: Time) -> bool {
        self.from <= at && at <= self.to
    }

    /// Returns true if a job misses its deadline in the window.
    pub(super) fn misses(&self, job: &VisibleJob) -> bool {
        job.missed_at.is_some_and(|at| self.shows(at))
    }

    /// Returns the times at which the job of a segment spins in it, in the order of time.
    pub(super) fn spins(&self, run: &RunSegment) -> &[Spin] {
        let before = |at| self.spins.partition_point(|spin| (spin.job, spin.from) < (run.job, at));
        &self.spins[before(run.start)..before(run.end)]
    }

    /// Returns the name of the resource that a job holds or waits for.
    pub(super) fn resource(&self, lock: &Lock) -> String {
        self.labels.resource(lock.resource)
    }

    /// Describes the criticality indicator of a CPU in words; returns `None` if it has none.
    pub(super) fn level_text(&self, row: &CpuRow) -> Option<String> {
        let of_cpu = format!("The criticality level of CPU {}", row.id);
        match raised(&row.levels, self.from, self.to) {
            _ if row.levels.is_empty() => None,
            (0, _) => Some(format!("{of_cpu} is not raised")),
            (times, length) => {
                let length = Nanoseconds::from(length);
                Some(format!("{of_cpu} is raised {}, for {length} in all", counted(times, "time")))
            }
        }
    }

    /// Returns the name of a row of levels that is not under its CPU.
    pub(super) fn level_label(&self, row: &CpuRow) -> String {
        match self.cpus.len() {
            1 => "level".to_owned(),
            _ => format!("CPU {} level", row.id),
        }
    }

    pub(super) fn miss_count(&self) -> usize {
        self.tasks.iter().chain(&self.hidden).map(|row| row.misses).sum()
    }

    fn add_runs(
        &mut self,
        trace: &Trace,
        tasks: &mut [TaskRow],
        position: impl Fn(TaskId) -> usize,
        halts: &Halts,
    ) {
        /// The last execution of a task.
        #[derive(Clone, Copy)]
        struct Last {
            job: JobId,
            cpu: CpuId,
            end: Time,
        }
        let mut last: Vec<Option<Last>> = vec![None; tasks.len()];
        for segment in &trace.segments {
            let row = position(segment.job.task);
            let before = last[row].filter(|last| last.job == segment.job);
            let now = Last { job: segment.job, cpu: segment.cpu, end: segment.end };
            last[row] = Some(now);
            let moved = before.filter(|before| before.cpu != segment.cpu);
            if let Some(before) = before
                && let Some(run) = tasks[row].runs.last_mut()
                && run.job == segment.job
                && run.end == before.end
            {
                run.is_preempted = halts.is_preempted(segment.job, before.end, moved.is_some());
            }
            if let Some(moved) = moved
                && self.shows(segment.start)
            {
                self.migrations.push(Migration {
                    from: (moved.end, moved.cpu),
                    to: (segment.start, segment.cpu),
                });
            }
            if segment.end <= segment.start || segment.start >= self.to || segment.end <= self.from
            {
                continue;
            }
            self.segment_count += 1;
            // A spinning job makes no progress, and the trace counts the time as overhead.
            let mut overhead = segment.overhead;
            for spin in spins(segment, halts) {
                overhead = (overhead - (spin.to - spin.from)).max(Duration::ZERO);
                self.spins.push(spin);
            }
            make_room(&mut tasks[row].runs);
            tasks[row].runs.push(RunSegment {
                job: segment.job,
                position: row,
                cpu: segment.cpu,
                start: segment.start,
                end: segment.end,
                overhead,
                is_preempted: false,
                migrated_from: moved.map(|moved| moved.cpu),
                deadline: None,
            });
        }
        // In a valid trace they already have this order.
        self.spins.sort_by_key(|spin| (spin.job, spin.from));
        tasks.iter_mut().for_each(|row| row.runs.sort_by_key(|run| (run.job, run.start)));
    }

    fn add_jobs(
        &mut self,
        trace: &Trace,
        tasks: &mut [TaskRow],
        position: impl Fn(TaskId) -> usize,
        halts: &Halts,
    ) {
        // By id, because a job is ready only after its predecessor is over.
        let mut by_id: Vec<&JobRecord> = trace.jobs.iter().collect();
        by_id.sort_by_key(|record| record.job.id);
        let mut predecessor: Option<(TaskId, Time)> = None;
        for record in by_id {
            let job = record.job;
            let end = record.end.map_or(trace.over, |(at, _)| at);
            let ready = match predecessor {
                Some((task, end)) if task == job.id.task => end.max(job.release),
                Some(_) | None => job.release,
            };
            predecessor = Some((job.id.task, end));
            let last = end.max(job.deadline);
            if job.arrival > self.to || last < self.from {
                continue;
            }
            let missed_at = missed_at(record, trace.over);
            let row = &mut tasks[position(job.id.task)];
            make_room(&mut row.jobs);
            row.jobs.push(VisibleJob {
                id: job.id,
                release: job.release,
                deadline: job.deadline,
                missed_at,
                tardy_at: record.completion().filter(|&at| at > job.deadline),
                aborted_at: match record.end {
                    Some((at, JobEnd::Aborted)) => Some(at),
                    Some((_, JobEnd::Completed | JobEnd::Left)) | None => None,
                },
                late_until: missed_at.map(|_| end).filter(|&end| end > job.deadline),
            });
            let first = row.runs.partition_point(|run| run.job < job.id);
            let already = row.waits.len();
            let mut waits_from = ready;
            for run in row.runs[first..].iter_mut().take_while(|run| run.job == job.id) {
                run.deadline = Some(job.deadline);
                if waits_from < run.start {
                    make_room(&mut row.waits);
                    row.waits.push((waits_from, run.start));
                }
                waits_from = waits_from.max(run.end);
            }
            // Segments outside the window are not among the runs, but the gaps between them do not
            // matter, either: the waits are clipped to the window below.
            if waits_from < end {
                make_room(&mut row.waits);
                row.waits.push((waits_from, end));
            }
            halt(row, already, job.id, end, halts);
        }
        let (from, to) = (self.from, self.to);
        for row in tasks {
            row.waits.retain_mut(|wait| {
                *wait = (wait.0.max(from), wait.1.min(to));
                wait.0 < wait.1
            });
            row.suspensions.retain_mut(|suspension| {
                *suspension = (suspension.0.max(from), suspension.1.min(to));
                suspension.0 < suspension.1
            });
            for run in &row.runs {
                if let Some(cpu) = self.cpus.iter_mut().find(|cpu| cpu.id == run.cpu) {
                    cpu.runs.push(*run);
                }
            }
        }
        for cpu in &mut self.cpus {
            cpu.runs.sort_by_key(|run| (run.start, run.end, run.job));
        }
    }

    fn add_locks(&self, trace: &Trace, tasks: &mut [TaskRow], position: impl Fn(TaskId) -> usize) {
        // The locks that are held or waited for at this point of the trace.
        let mut open: Vec<Lock> = Vec::new();
        let mut close = |open: &mut Vec<Lock>, job: JobId, resource: ResourceId, at: Time| {
            let is_it = |lock: &mut Lock| lock.job == job && lock.resource == resource;
            for lock in open.extract_if(.., is_it) {
                let lock = Lock { from: lock.from.max(self.from), to: at.min(self.to), ..lock };
                if lock.from < lock.to
                    && let Some(row) = tasks.get_mut(position(job.task))
                {
                    row.locks.push(lock);
                }
            }
        };
        for mark in &trace.marks {
            let MarkKind::Lock(job, resource, what) = mark.kind else { continue };
            close(&mut open, job, resource, mark.at);
            let (from, to) = (mark.at, mark.at);
            match what {
                LockMark::Requested => open.push(Lock { job, resource, holds: false, from, to }),
                LockMark::Granted => open.push(Lock { job, resource, holds: true, from, to }),
                LockMark::Unlocked => {}
            }
        }
        for Lock { job, resource, .. } in open.clone() {
            close(&mut open, job, resource, trace.over);
        }
    }

    fn choose(&mut self, tasks: Vec<TaskRow>, max_rows: usize) {
        if tasks.len() <= max_rows {
            self.tasks = tasks;
            return;
        }
        let mut order = tasks;
        // Positions are distinct, and a stable sort would need a buffer as large as the rows.
        order.sort_unstable_by_key(|row| {
            let is_active = !row.runs.is_empty() || !row.waits.is_empty();
            (row.misses == 0, !is_active, row.position)
        });
        self.tasks = order.drain(..max_rows).collect();
        self.hidden = order;
        // Positions are in the order of ids.
        self.hidden.sort_unstable_by_key(|row| row.position);
    }
}

/// Reserves memory for one element, where a vector would start
/// with four: a window of a million tasks shows one job of each.
fn make_room<T>(of: &mut Vec<T>) {
    if of.is_empty() {
        of.reserve_exact(1);
    }
}

/// Returns the name of each level up to the highest one that is visible or has a name.
fn level_names(cpus: &[CpuRow], labels: &Labels) -> Vec<String> {
    let levels = cpus.iter().flat_map(|row| &row.levels).map(|stretch| stretch.level.level());
    let Some(highest) = levels.max() else { return Vec::new() };
    let count = labels.levels.len().max(highest + 1);
    let level = |index: usize| Criticality(u8::try_from(index).unwrap_or(u8::MAX));
    (0..count).map(|index| labels.level(level(index))).collect()
}

fn cpu_rows(trace: &Trace, labels: &Labels, from: Time, to: Time) -> Vec<CpuRow> {
    let known = (0..labels.cpus).map(CpuId::from_index);
    let used = trace.segments.iter().map(|segment| segment.cpu);
    let ids: BTreeSet<CpuId> = known.chain(used).collect();
    let row = |id| {
        let mut offline: Vec<(Time, Time)> = Vec::new();
        let mut since = None;
        for mark in &trace.marks {
            if mark.kind == MarkKind::CpuOffline(id) {
                since.get_or_insert(mark.at);
            } else if mark.kind == MarkKind::CpuOnline(id) {
                offline.extend(since.take().map(|since| (since, mark.at)));
            }
        }
        offline.extend(since.map(|since| (since, trace.over)));
        let mut levels = level_stretches(trace, id);
        levels.retain_mut(|stretch| {
            (stretch.from, stretch.to) = (stretch.from.max(from), stretch.to.min(to));
            stretch.from < stretch.to
        });
        CpuRow { id, runs: Vec::new(), offline, levels }
    };
    ids.into_iter().map(row).collect()
}
