//! The pieces of semi-partitioned EDF on a trace.
//! [`ScheduleRule::Split`](layland_model::ScheduleRule::Split) defines them.
//!
//! First, the pieces themselves are checked against the set: their budgets and windows, and that no
//! CPU has two pieces without laxity. Then each job is followed through its pieces. On every
//! machine, a job never runs on the CPU of an earlier piece after that of a later one. On a machine
//! where only jobs take time, each piece becomes a separate job, which is released when it is ready
//! and is due at the end of its window. Each CPU is then checked for EDF of these jobs, as under
//! partitioned scheduling (`highest_first.rs`). If nothing changes during the run, none of them may
//! be late.

use super::{Checker, Violation};
use layland_model::{
    CpuId, CpuMap, CpuSet, Duration, Group, Index, JobId, JobOrder, OnMiss, Piece, Placement, Rate,
    Service, System, Task, TaskId, TaskMap, Time,
};
use layland_trace::{Job, JobEnd, JobRecord, Segment, Trace};
use std::collections::BTreeSet;

impl Checker<'_> {
    pub(super) fn check_split(&mut self, pieces: &TaskMap<Vec<Piece>>) {
        if self.find_wrong_pieces(pieces) {
            return;
        }
        let mut segments = vec![Vec::new(); self.trace.jobs.len()];
        for segment in std::mem::take(&mut self.sound) {
            segments[segment.job].push((segment.start, segment.end, segment.cpu));
        }
        segments.iter_mut().for_each(|of| of.sort_unstable());
        let is_exact = self.system.platform.overheads.is_zero()
            && !self.is_real
            && self.latency == Duration::ZERO;
        let mut apart = Apart::of(self.system, self.trace, pieces);
        for (index, segments) in segments.iter().enumerate() {
            let task = self.trace.jobs[index].job.id.task;
            let Some(pieces) = pieces.get(task) else { continue };
            if !self.keeps_order(index, pieces, segments) {
                apart.is_complete = false;
            } else if is_exact {
                self.follow(index, pieces, segments, &mut apart);
            }
        }
        // Skip this check if some job ran elsewhere or beyond its budget, because that execution
        // also occupied a CPU.
        if is_exact && apart.is_complete {
            self.hold_apart(apart);
        }
    }

    /// Returns true if the pieces do not belong to the set, and reports the wrong ones.
    fn find_wrong_pieces(&mut self, pieces: &TaskMap<Vec<Piece>>) -> bool {
        let mut wrong: Vec<(TaskId, &'static str)> = Vec::new();
        let mut without_laxity = CpuSet::new();
        for (id, task) in self.system.tasks.iter() {
            let own = pieces.get(id).map_or(&[][..], Vec::as_slice);
            let mut say = |is_wrong: bool, what| {
                if is_wrong {
                    wrong.push((id, what));
                }
            };
            let speeds = &self.system.platform.speeds;
            let done = |piece: &Piece| {
                let speed = speeds.get(piece.cpu).copied().unwrap_or_default();
                &Rate::whole(piece.budget.ns()) * &speed.rate()
            };
            let done: Rate = own.iter().map(done).sum();
            say(done < Rate::whole(task.own_wcet().ns()), "are less than its WCET together");
            let on: BTreeSet<CpuId> = own.iter().map(|piece| piece.cpu).collect();
            say(on.len() < own.len(), "are not all on other CPUs");
            let cpus = self.system.platform.cpu_count();
            say(on.iter().any(|cpu| cpu.index() >= cpus), "are on a CPU that is not there");
            say(
                own.windows(2).any(|pair| pair[1].offset < pair[0].due()),
                "have windows that begin before the one before ends",
            );
            say(
                own.last().is_some_and(|last| last.due() > task.deadline),
                "have a window that ends after its deadline",
            );
            say(
                own.iter().any(|piece| piece.budget > piece.deadline),
                "have a budget that is longer than its window",
            );
            // The single piece of a whole task counts, too, if it needs all of its deadline.
            let tight = own.iter().filter(|piece| piece.has_no_laxity());
            let again = tight.filter(|piece| !without_laxity.insert(piece.cpu)).count();
            say(again > 0, "are without laxity on a CPU that has such a piece already");
        }
        let any = !wrong.is_empty();
        for (task, what) in wrong {
            let task = self.system.tasks[task].name.clone();
            self.violated(|_| Violation::WrongPieces { task: task.to_string(), what });
        }
        any
    }

    /// Returns true if a job runs only on the CPUs of its pieces, and in their order. Reports the
    /// first deviation.
    fn keeps_order(
        &mut self,
        index: usize,
        pieces: &[Piece],
        segments: &[(Time, Time, CpuId)],
    ) -> bool {
        let mut at = 0;
        for &(start, _, cpu) in segments {
            match pieces[at..].iter().position(|piece| piece.cpu == cpu) {
                Some(later) => at += later,
                None => {
                    self.violated(|this| Violation::OutsidePieces {
                        job: this.name_at(index),
                        cpu,
                        at: start,
                    });
                    return false;
                }
            }
        }
        true
    }

    /// Follows a job through its pieces, exact to the nanosecond, and adds a job for each piece
    /// that it reaches.
    fn follow(
        &mut self,
        index: usize,
        pieces: &[Piece],
        segments: &[(Time, Time, CpuId)],
        apart: &mut Apart,
    ) {
        let record = self.trace.jobs[index];
        let Job { id, arrival, .. } = record.job;
        let end = record.end.map_or(Time::NEVER, |(at, _)| at);
        let mut ready = self.ready[index].0;
        let mut segments = segments;
        for (k, piece) in pieces.iter().enumerate() {
            ready = ready.max(arrival + piece.offset);
            let on_it = segments.iter().take_while(|&&(.., cpu)| cpu == piece.cpu).count();
            let (own, later) = segments.split_at(on_it);
            segments = later;
            if let Some(&(start, ..)) = own.first()
                && start < ready
            {
                self.violated(|this| Violation::BeforeWindow {
                    job: this.name_at(index),
                    cpu: piece.cpu,
                    at: start,
                    ready,
                });
                apart.is_complete = false;
                return;
            }
            let length = |&(start, end, _): &(Time, Time, CpuId)| (end - start).ns();
            let got = Duration::from_ns(own.iter().map(length).sum());
            let budget = piece.budget;
            if got > budget || got < budget && !later.is_empty() {
                self.violated(|this| Violation::OtherBudget {
                    job: this.name_at(index),
                    cpu: piece.cpu,
                    got,
                    budget,
                });
                apart.is_complete = false;
                return;
            }
            // A job that ends at the end of a piece never reaches the next one.
            if ready >= end && k > 0 {
                return;
            }
            let used_up = (got == budget).then(|| own.last().map(|&(_, until, _)| until)).flatten();
            let over = used_up.map_or(end, |used_up| used_up.min(end));
            apart.add(id, k, (ready, over, arrival + piece.due()), own);
            match used_up {
                Some(used_up) => ready = used_up,
                None => return self.find_given_up(index, false),
            }
        }
        self.find_given_up(index, true);
    }

    /// Reports a job that was aborted before it used up its pieces, although its task does not
    /// abort late jobs.
    fn find_given_up(&mut self, index: usize, used_up: bool) {
        let JobRecord { job, end, .. } = self.trace.jobs[index];
        let keeps = self.system.tasks[job.id.task].on_miss == OnMiss::Continue;
        if let Some((at, JobEnd::Aborted)) = end
            && keeps
            && !used_up
        {
            self.violated(|this| Violation::GivenUpWithin { job: this.name_at(index), at });
        }
    }

    /// Checks the pieces as jobs of separate tasks.
    fn hold_apart(&mut self, apart: Apart) {
        let Apart { system, mut trace, groups, .. } = apart;
        trace.segments.sort_by_key(|segment| (segment.end, segment.cpu));
        let mut checker = Checker::new(&trace, &system, self.report.limit);
        checker.check_jobs();
        checker.check_segments();
        checker.report = std::mem::take(&mut self.report);
        checker.check_highest_first(&groups, Some(&JobOrder::Deadline), Placement::Anywhere);
        if self.system.requests.is_empty() {
            for (index, record) in trace.jobs.iter().enumerate() {
                let (deadline, over) = (record.job.deadline, trace.over);
                let is_late = record.end.map_or(over >= deadline, |(at, _)| at > deadline);
                if is_late {
                    checker.violated(|this| Violation::Late { job: this.name_at(index), deadline });
                }
            }
        }
        self.report = checker.report;
    }
}

/// Each piece as a separate task, and each job's execution of it as a separate job.
struct Apart {
    system: System,
    trace: Trace,
    /// One group for each CPU.
    groups: Vec<Group>,
    /// The task that stands for the first piece of each task.
    first: TaskMap<TaskId>,
    is_complete: bool,
}

impl Apart {
    fn of(system: &System, trace: &Trace, pieces: &TaskMap<Vec<Piece>>) -> Apart {
        let cpus = system.platform.cpu_count();
        let (mut tasks, mut ranks) = (Vec::new(), Vec::new());
        let mut on: CpuMap<Vec<TaskId>> = CpuMap::filled(Vec::new(), cpus);
        let mut first = TaskMap::filled(TaskId(0), system.tasks.len());
        for (id, task) in system.tasks.iter() {
            first[id] = TaskId::from_index(tasks.len());
            for (k, piece) in pieces[id].iter().enumerate() {
                on[piece.cpu].push(TaskId::from_index(tasks.len()));
                let name = match pieces[id].len() {
                    1 => task.name.clone(),
                    count => format!("{} (piece {} of {count})", task.name, k + 1).into(),
                };
                // In the time of the CPU, as are the segments.
                let budget = Service::from_ns(piece.budget.ns());
                let mut made = Task::implicit(name, budget, task.period);
                made.deadline = piece.deadline;
                tasks.push(made);
                ranks.push(task.rank);
            }
        }
        let groups =
            on.iter().map(|(cpu, tasks)| Group { cpus: CpuSet::single(cpu), tasks: tasks.clone() });
        let groups = groups.collect();
        let apart = Trace { marks: trace.marks.clone(), over: trace.over, ..Trace::default() };
        let mut system = System::new(cpus, tasks);
        // A new system assigns ranks in the order of its tasks.
        system.tasks.values_mut().zip(ranks).for_each(|(task, rank)| task.rank = rank);
        Apart { system, trace: apart, groups, first, is_complete: true }
    }

    fn add(
        &mut self,
        job: JobId,
        piece: usize,
        (ready, end, due): (Time, Time, Time),
        segments: &[(Time, Time, CpuId)],
    ) {
        let id = JobId { task: TaskId(self.first[job.task].0 + piece as u32), seq: job.seq };
        let executed = segments.iter().map(|&(start, end, _)| (end - start).ns()).sum();
        self.trace.jobs.push(JobRecord {
            job: Job { id, arrival: ready, release: ready, deadline: due },
            end: (end <= self.trace.over).then_some((end, JobEnd::Completed)),
            executed: Service::from_ns(executed),
        });
        let overhead = Duration::ZERO;
        self.trace.segments.extend(segments.iter().map(|&(start, end, cpu)| Segment {
            job: id,
            cpu,
            start,
            end,
            overhead,
        }));
    }
}
