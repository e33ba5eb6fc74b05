//! The events of a run, as recorded in a trace.

use super::RunRecord;
use layland_model::Time;
use layland_trace::{LockMark, MarkKind, Trace};

/// Returns the events of a trace of the simulator.
pub fn of_trace(trace: &Trace, cpus: usize) -> RunRecord {
    let until = trace.over.ns() as usize;
    let mut ran = RunRecord { ticks: vec![vec![None; cpus]; until], ..RunRecord::default() };
    for segment in &trace.segments {
        for tick in segment.start.ns()..segment.end.ns() {
            ran.ticks[tick as usize][segment.cpu.0 as usize] =
                Some((segment.job.task, segment.job.seq, false));
        }
    }
    let mut since = std::collections::BTreeMap::new();
    for mark in &trace.marks {
        let MarkKind::Lock(job, resource, what) = mark.kind else { continue };
        let name = match what {
            LockMark::Requested => "asks",
            LockMark::Granted => "holds",
            LockMark::Unlocked => "gives back",
        };
        ran.locks.push((mark.at.ns(), job.task, job.seq, resource, name));
        match what {
            LockMark::Requested => drop(since.insert(job, mark.at)),
            LockMark::Granted => {
                if let Some(since) = since.remove(&job) {
                    spin(&mut ran, job, since, mark.at);
                }
            }
            LockMark::Unlocked => {}
        }
    }
    for (job, since) in since {
        spin(&mut ran, job, since, trace.over);
    }
    for record in &trace.jobs {
        if let Some(end) = record.completion() {
            ran.ends.push((end.ns(), record.job.id.task, record.job.id.seq));
        }
    }
    ran.ends.sort_unstable();
    ran.locks.sort_unstable();
    ran
}

fn spin(ran: &mut RunRecord, job: layland_model::JobId, since: Time, until: Time) {
    for tick in since.ns()..until.ns() {
        for doing in ran.ticks[tick as usize].iter_mut().flatten() {
            doing.2 |= (doing.0, doing.1) == (job.task, job.seq);
        }
    }
}
