//! Delimits the jobs of a thread: by its marks, or else by its sleeps.

use super::super::line::StateAfter;
use super::lives::{HeldCpu, KnownJob, Life, Pause, Woken};
use layland_model::{JobId, TaskId};
use layland_trace::JobEnd;
use std::collections::BTreeMap;

/// A job, and the time in which the execution of its thread belongs to it.
pub(super) struct Span {
    pub(super) id: JobId,
    pub(super) arrival: i64,
    pub(super) deadline: Option<i64>,
    pub(super) from: i64,
    pub(super) to: i64,
    pub(super) end: Option<(i64, JobEnd)>,
    /// True if no part of it can precede the trace.
    pub(super) is_begin_seen: bool,
    /// The wake-up that began it, if one did.
    pub(super) woken: Option<Woken>,
    /// The time from which pauses of its thread are within the job.
    begun: i64,
    /// True if marks delimit it, instead of sleeps.
    is_marked: bool,
}

impl Span {
    /// Returns the times at which its thread could not continue although the job was not over.
    pub(super) fn pauses(&self, life: &Life) -> Vec<Pause> {
        life.pauses(self.begun, self.to, self.is_marked)
    }
}

pub(super) fn marked_spans(
    task: TaskId,
    life: &Life,
    known: &BTreeMap<JobId, KnownJob>,
) -> Vec<Span> {
    let range = JobId { task, seq: 0 }..=JobId { task, seq: u64::MAX };
    let jobs: Vec<(JobId, KnownJob)> =
        known.range(range).map(|(&id, &known)| (id, known)).collect();
    let mut spans: Vec<Span> = Vec::with_capacity(jobs.len());
    let mut free_from = i64::MIN;
    for (index, &(id, known)) in jobs.iter().enumerate() {
        let next = jobs.get(index + 1).map(|&(_, next)| next);
        // A job without a mark of its end is over at the latest when the next one starts.
        let to = known
            .end
            .map(|(at, _)| at)
            .or_else(|| next.and_then(|next| next.start))
            .unwrap_or(i64::MAX);
        let ran = || life.runs.iter().map(|run| run.start).find(|&at| at >= free_from && at < to);
        let arrival = known.arrival.or_else(ran).or(known.start).unwrap_or(free_from.max(0));
        let from = arrival.max(free_from);
        let end = known.end.map(|(at, how)| (at.max(arrival), how));
        spans.push(Span {
            id,
            arrival,
            deadline: known.deadline,
            from,
            to,
            end,
            is_begin_seen: known.arrival.is_some(),
            woken: None,
            begun: known.start.or(known.told).map_or(from, |told| told.max(from)),
            is_marked: true,
        });
        free_from = free_from.max(to.min(known.end.map_or(to, |(at, _)| at)));
    }
    spans
}

pub(super) fn inferred_spans(task: TaskId, life: &Life) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut wakes = life.wakes.iter().peekable();
    let mut open: Option<Span> = None;
    let mut gaps = life.gaps.iter().peekable();
    let mut last: Option<&HeldCpu> = None;
    for run in &life.runs {
        let mut is_cut = spans.is_empty();
        while gaps.next_if(|&&(_, to)| to <= run.start).is_some() {
            is_cut = true;
            // The end of the job is not in the trace, so it has no deadline to miss.
            if let (Some(mut span), Some(last)) = (open.take(), last) {
                span.to = last.end;
                span.end = Some((last.end, JobEnd::Left));
                spans.push(span);
            }
        }
        last = Some(run);
        // If a run is missing, its wake-up must not be attributed to another run.
        let mut woken = None;
        while let Some(next) = wakes.next_if(|woken| woken.ran <= run.start) {
            woken = Some(*next);
        }
        let span = open.get_or_insert_with(|| Span {
            id: JobId { task, seq: spans.len() as u64 },
            arrival: woken.map_or(run.start, |woken| woken.at),
            deadline: None,
            from: run.start,
            to: i64::MAX,
            end: None,
            // After a job that ended there was a sleep, whether or not its end was traced.
            is_begin_seen: woken.is_some() || !is_cut,
            woken,
            begun: run.start,
            is_marked: false,
        });
        if matches!(run.left, Some(StateAfter::Sleeping | StateAfter::Dead)) {
            span.to = run.end;
            span.end = Some((run.end, JobEnd::Completed));
            spans.extend(open.take());
        }
    }
    spans.extend(open);
    spans
}
