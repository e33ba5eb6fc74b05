//! The check that a trace is the schedule of its set, in another way than the checker's: the
//! schedule is computed from the set, and compared.
//!
//! It supports periodic tasks on identical CPUs, all of which compete for all CPUs, without
//! overheads. The executing jobs at each time are then fixed, and only their CPUs are free.

use layland_model::{Index, JobId, Order, System, TaskId};
use layland_trace::{JobEnd, MarkKind, Trace};
use std::collections::BTreeMap;

/// The true values of one job, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Truth {
    arrival: i64,
    deadline: i64,
    /// The intervals in which it executes, on any CPU.
    runs: Vec<(i64, i64)>,
    end: Option<i64>,
    executed: i64,
}

/// Returns the schedule up to `over`: every job that arrives until then.
fn schedule(system: &System, order: Order, over: i64) -> BTreeMap<JobId, Truth> {
    let mut jobs: BTreeMap<JobId, Truth> = BTreeMap::new();
    for (task, parameters) in system.tasks.iter() {
        let mut arrival = parameters.offset.ns();
        let mut seq = 0;
        while arrival <= over {
            let deadline = arrival + parameters.deadline.ns();
            let truth = Truth { arrival, deadline, runs: Vec::new(), end: None, executed: 0 };
            jobs.insert(JobId { task, seq }, truth);
            arrival += parameters.period.ns();
            seq += 1;
        }
    }
    let mut now = 0;
    while now < over {
        // The oldest pending job of each task, the most urgent first.
        let mut ready: Vec<(i64, i64, TaskId, JobId)> = Vec::new();
        for (task, parameters) in system.tasks.iter() {
            let mut own = jobs.range(JobId { task, seq: 0 }..=JobId { task, seq: u64::MAX });
            let Some((&id, truth)) = own.find(|(_, truth)| truth.end.is_none()) else { continue };
            if truth.arrival <= now {
                let key = match order {
                    Order::Deadline => truth.deadline,
                    Order::RateMonotonic => parameters.period.ns(),
                    Order::DeadlineMonotonic => parameters.deadline.ns(),
                    Order::Given => parameters.priority.unwrap_or(i64::MAX),
                };
                ready.push((key, parameters.rank, task, id));
            }
        }
        ready.sort_unstable();
        ready.truncate(system.platform.cpu_count());
        // Nothing changes before the next arrival or the next completion.
        let arrivals = jobs.values().map(|truth| truth.arrival).filter(|&arrival| arrival > now);
        let need = |id: &JobId| system.tasks[id.task].own_wcet().ns();
        let ends = ready.iter().map(|(.., id)| now + need(id) - jobs[id].executed);
        let until = arrivals.chain(ends).fold(over, i64::min);
        for (.., id) in ready {
            let truth = jobs.get_mut(&id).expect("it is ready");
            match truth.runs.last_mut() {
                Some(run) if run.1 == now => run.1 = until,
                Some(_) | None => truth.runs.push((now, until)),
            }
            truth.executed += until - now;
            if truth.executed == need(&id) {
                truth.end = Some(until);
            }
        }
        now = until;
    }
    jobs
}

/// Returns true if the trace is the schedule of its set under global scheduling by this order.
///
/// Jobs that arrive when the run ends may be missing. With `hides_waiting`, jobs that wait for
/// their predecessors until then may be missing, too.
pub fn is_true(trace: &Trace, system: &System, order: Order, hides_waiting: bool) -> bool {
    let over = trace.over.ns();
    // A trace of such a claimed length is not a mutation of a short one.
    if over > LONGEST {
        return false;
    }
    let mut truth = schedule(system, order, over);
    let changes_platform = |mark: &layland_trace::Mark| match mark.kind {
        MarkKind::CpuOnline(_) | MarkKind::CpuOffline(_) | MarkKind::Speed(..) => true,
        MarkKind::BudgetExhausted(..)
        | MarkKind::Lock(..)
        | MarkKind::Suspended(_)
        | MarkKind::Resumed(_)
        | MarkKind::Note(_) => false,
    };
    if trace.marks.iter().any(changes_platform) {
        return false;
    }
    let mut on_cpu: Vec<(u32, i64, i64)> = Vec::new();
    let mut runs: BTreeMap<JobId, Vec<(i64, i64)>> = BTreeMap::new();
    for segment in &trace.segments {
        let (start, end) = (segment.start.ns(), segment.end.ns());
        if start >= end
            || segment.overhead.ns() != 0
            || segment.cpu.index() >= system.platform.cpu_count()
        {
            return false;
        }
        on_cpu.push((segment.cpu.0, start, end));
        runs.entry(segment.job).or_default().push((start, end));
    }
    on_cpu.sort_unstable();
    if on_cpu.windows(2).any(|pair| pair[0].0 == pair[1].0 && pair[0].2 > pair[1].1) {
        return false;
    }
    for record in &trace.jobs {
        let Some(expected) = truth.remove(&record.job.id) else { return false };
        let mut own = runs.remove(&record.job.id).unwrap_or_default();
        own.sort_unstable();
        let mut joined: Vec<(i64, i64)> = Vec::new();
        for (start, end) in own {
            match joined.last_mut() {
                Some(last) if last.1 == start => last.1 = end,
                Some(_) | None => joined.push((start, end)),
            }
        }
        let end = match record.end {
            Some((at, JobEnd::Completed)) => Some(at.ns()),
            Some((_, JobEnd::Aborted | JobEnd::Left)) => return false,
            None => None,
        };
        let said = Truth {
            arrival: record.job.arrival.ns(),
            deadline: record.job.deadline.ns(),
            runs: joined,
            end,
            executed: record.executed.ns(),
        };
        if said != expected || record.job.release != record.job.arrival {
            return false;
        }
    }
    // No other job ran, and no other job had to arrive.
    let full = schedule(system, order, over);
    let waits =
        |id: &JobId| id.seq > 0 && full[&JobId { task: id.task, seq: id.seq - 1 }].end.is_none();
    let may_lack =
        |(id, truth): (&JobId, &Truth)| truth.arrival == over || hides_waiting && waits(id);
    runs.is_empty() && truth.iter().all(may_lack)
}

/// The maximum length in nanoseconds, far beyond the traces that are mutated.
const LONGEST: i64 = 5_000;
