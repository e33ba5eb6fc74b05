//! The jobs of a trace: their numbers, their times, and the processor time that they got (items 4
//! and 7).

use super::{Checker, Demand, Milestone, Violation};
use layland_model::{
    Behaviour, Change, Duration, ExecutionModel, OnMiss, Rate, RequestKind, Service, Speed, Task,
    Time,
};
use layland_trace::{JobEnd, JobRecord, MarkKind};

impl Checker<'_> {
    /// Checks items 4 and 7, and computes the time from which each job can run.
    pub(super) fn check_jobs(&mut self) {
        let trace = self.trace;
        let by_id = std::mem::take(&mut self.by_id);
        // The previous job, and the last one that was not skipped, which is the job that its
        // successor waits for.
        let mut previous: Option<&JobRecord> = None;
        let mut pending: Option<&JobRecord> = None;
        for &index in &by_id {
            let record = &trace.jobs[index];
            let job = &record.job;
            let of_task = |other: &&JobRecord| other.job.id.task == job.id.task;
            let before = previous.filter(of_task);
            let predecessor = pending.filter(of_task);
            previous = Some(record);
            let end_of = |record: &JobRecord| record.end.map_or(trace.over, |(at, _)| at);
            let is_skipped = predecessor.is_some_and(|predecessor| {
                self.is_given_up_by(record, OnMiss::Skip) && end_of(record) <= end_of(predecessor)
            });
            let predecessor = predecessor.filter(|_| !is_skipped);
            if !is_skipped {
                pending = Some(record);
            }
            // A trace may claim any job number, up to `u64::MAX`.
            let expected = before.map_or(0, |previous| previous.job.id.seq.saturating_add(1));
            let is_first_of_a_part = before.is_none() && self.latency > Duration::ZERO;
            if job.id.seq != expected && !is_first_of_a_part {
                self.violated(|this| Violation::SequenceNumber {
                    job: this.name(job.id),
                    expected,
                });
            }
            let predecessor_end = predecessor.map(end_of);
            // A job that is skipped is never ready.
            self.ready[index] = match predecessor_end {
                None if is_skipped => (end_of(record), None),
                None => (job.release, None),
                Some(end) => (end.max(job.release), Some(end)),
            };
            let followed = self.followed.get(index).copied().flatten();
            if let Some(followed) = followed {
                // A job that waits until the end of the run is never ready.
                let ready = &mut self.ready[index].0;
                *ready = (*ready).max(followed).min(trace.over.max(job.release));
            }
            let end = end_of(record);
            use Milestone::{
                Arrival, End, FollowedEnd, Over, PredecessorArrival, PredecessorEnd, Release, Start,
            };
            let order = [
                Some((Start, Time::ZERO, Arrival, job.arrival)),
                before.map(|previous| {
                    (PredecessorArrival, previous.job.arrival, Arrival, job.arrival)
                }),
                Some((Arrival, job.arrival, Release, job.release)),
                Some((Release, job.release, End, end)),
                predecessor_end.map(|predecessor_end| (PredecessorEnd, predecessor_end, End, end)),
                followed.filter(|_| record.end.is_some()).map(|at| (FollowedEnd, at, End, end)),
                Some((End, end, Over, trace.over)),
            ];
            for (earlier, earlier_at, later, later_at) in order.into_iter().flatten() {
                if earlier_at > later_at {
                    self.violated(|this| Violation::JobTimes {
                        job: this.name(job.id),
                        earlier,
                        earlier_at,
                        later,
                        later_at,
                    });
                }
            }
            match self.system.tasks.get(job.id.task) {
                None => {
                    self.violated(|this| Violation::UnknownTask { job: this.name(job.id) });
                }
                Some(task) => self.check_demand(task, record),
            }
        }
        self.by_id = by_id;
    }

    /// Returns true if a job was aborted without execution, and its task treats late jobs in this
    /// way.
    pub(super) fn is_given_up_by(&self, record: &JobRecord, way: OnMiss) -> bool {
        let task = self.system.tasks.get(record.job.id.task);
        task.is_some_and(|task| task.on_miss == way)
            && matches!(record.end, Some((_, JobEnd::Aborted)))
            && record.executed == Service::ZERO
    }

    fn check_demand(&mut self, task: &Task, record: &JobRecord) {
        let id = record.job.id;
        match task.behaviour {
            Behaviour::Hog => return,
            Behaviour::Periodic
            | Behaviour::Sporadic(_)
            | Behaviour::Explicit(_)
            | Behaviour::Curve(_)
            | Behaviour::Yield
            | Behaviour::SelfSuspending { .. } => {}
        }
        let own = std::iter::once(task.own_wcet());
        let requested = self.system.requests.iter().filter_map(|request| match &request.kind {
            RequestKind::Reconfigure(of, Change::Parameters { wcet, .. }) => {
                (*of == id.task).then_some(*wcet)
            }
            RequestKind::Reconfigure(_, Change::Affinity(_) | Change::Cluster(_))
            | RequestKind::Leave(_)
            | RequestKind::SetClusterCpus { .. }
            | RequestKind::CpuOnline(_)
            | RequestKind::CpuOffline(_) => None,
        });
        let wcets: Vec<Service> = own.chain(requested).collect();
        let largest = wcets.iter().copied().max().unwrap_or(Service::ZERO);
        let slack = self.slack_of(id);
        let near = |value: &Service| (record.executed - *value).ns().abs() <= slack;
        let one_of = |values: Vec<Service>| {
            let text = values.iter().map(Service::to_string).collect::<Vec<_>>().join(" or ");
            let most = values.iter().copied().max().unwrap_or(Service::ZERO);
            (values.iter().any(near), most, text)
        };
        let (is_right, most, demand) = match &task.execution {
            ExecutionModel::Wcet => one_of(wcets),
            ExecutionModel::Level(level) => {
                let of_level = task.wcet.get(level.level()).copied();
                one_of(of_level.into_iter().chain(wcets.into_iter().skip(1)).collect())
            }
            ExecutionModel::Fraction(fraction) => {
                let scaled = wcets.iter().filter_map(|wcet| {
                    let exact = &Rate::whole(wcet.ns()) * fraction;
                    exact.ceil().map(|ns| Service::from_ns(ns.max(1)))
                });
                one_of(scaled.collect())
            }
            ExecutionModel::Uniform { min, max } => {
                let executed = record.executed.ns();
                let is_within = min.ns() - slack <= executed && executed <= max.ns() + slack;
                (is_within, *max, format!("{min} to {max}"))
            }
            ExecutionModel::Discrete(values) => {
                one_of(values.iter().map(|&(value, _)| value).collect())
            }
            ExecutionModel::List(values) => {
                let position = usize::try_from(id.seq % values.len().max(1) as u64);
                one_of(position.ok().and_then(|at| values.get(at)).copied().into_iter().collect())
            }
        };
        let executed = record.executed;
        match self.demand {
            Demand::Drawn => {}
            Demand::Bounded => {
                // A model that draws more than the WCET itself declares that jobs exceed it.
                let bound = match &task.execution {
                    ExecutionModel::Discrete(values) => {
                        values.iter().map(|&(value, _)| value).max().unwrap_or(most)
                    }
                    // The numbers of jobs may begin anywhere, so the position in the list is
                    // unknown.
                    ExecutionModel::List(values) => values.iter().copied().max().unwrap_or(most),
                    ExecutionModel::Wcet
                    | ExecutionModel::Level(_)
                    | ExecutionModel::Fraction(_)
                    | ExecutionModel::Uniform { .. } => most,
                };
                let bound = bound.max(largest);
                if (executed - bound).ns() > slack {
                    self.violated(|this| {
                        let job = this.name(id);
                        Violation::Exceeded { job, executed, bound }
                    });
                }
                return;
            }
        }
        match record.end {
            Some((at, JobEnd::Completed)) if !is_right => {
                self.violated(|this| Violation::Demand {
                    job: this.name(id),
                    at,
                    executed,
                    demand,
                });
            }
            Some((_, JobEnd::Completed)) => {}
            // On a CPU whose speed is not 1, the last nanosecond may be charged without supplying
            // work.
            Some((_, JobEnd::Aborted | JobEnd::Left)) | None => {
                let surplus = (executed - most).ns();
                let has_all = record.end.is_none()
                    && surplus == 0
                    && most > Service::ZERO
                    && self.is_exact()
                    && self.ends_by_executing(record);
                if surplus > slack || has_all {
                    self.violated(|this| Violation::Unfinished {
                        job: this.name(id),
                        executed,
                        demand,
                    });
                }
            }
        }
    }

    /// Returns true if a nanosecond of a CPU is a nanosecond of work, and a job ends as soon as it
    /// has all its work.
    fn is_exact(&self) -> bool {
        let has_speeds =
            self.trace.marks.iter().any(|mark| matches!(mark.kind, MarkKind::Speed(..)));
        let platform = &self.system.platform;
        self.latency == Duration::ZERO
            && !has_speeds
            && platform.overheads.is_zero()
            && platform.speeds.values().all(|&speed| speed == Speed::UNIT)
    }
}
