//! [`Trace::replay`]: reports a recorded run to another recorder.

use crate::{JobEnd, JobRecord, Recorder, Trace};
use layland_model::Time;

impl Trace {
    /// Reports this run to a recorder as an engine would.
    ///
    /// Calls come in the order of time. At one instant the order is: segments that end, jobs that
    /// end, jobs that are released, marks, answers. A job is always released before it ends, and
    /// after its predecessor ended. Replaying a [`Trace`] into an empty one gives an equal one.
    ///
    /// ```
    /// use layland_model::{CpuId, Duration, JobId, TaskId, Time};
    /// use layland_trace::{Counters, Recorder, Segment, Trace};
    /// let mut trace = Trace::default();
    /// trace.executed(&Segment {
    ///     job: JobId { task: TaskId(0), seq: 0 },
    ///     cpu: CpuId(0),
    ///     start: Time::ZERO,
    ///     end: Time::from_ns(5),
    ///     overhead: Duration::ZERO,
    /// });
    /// trace.over(Time::from_ns(9), false);
    /// let mut counters = Counters::default();
    /// trace.replay(&mut counters);
    /// assert_eq!(counters.busy_ns(CpuId(0)), 5);
    /// ```
    pub fn replay(&self, recorder: &mut impl Recorder) {
        let releases = self.releases();
        let mut is_released = vec![false; self.jobs.len()];
        let mut releases = releases.iter().peekable();
        let mut segments = self.segments.iter().peekable();
        let mut ends = self.jobs.iter().enumerate().filter_map(ended).peekable();
        let mut marks = self.marks.iter().peekable();
        let mut answers = self.answers.iter().peekable();
        loop {
            // Among equal times the first one in this list wins, so the order of the list defines
            // the order of ties.
            let heads = [
                segments.peek().map(|segment| segment.end),
                ends.peek().map(|&(_, _, at, _)| at),
                releases.peek().map(|&&(at, _)| at),
                marks.peek().map(|mark| mark.at),
                answers.peek().map(|answer| answer.at),
            ];
            let earliest =
                (0..heads.len()).filter(|&i| heads[i].is_some()).min_by_key(|&i| heads[i]);
            let Some(source) = earliest else { break };
            match source {
                0 => segments.next().into_iter().for_each(|segment| recorder.executed(segment)),
                1 => {
                    if let Some((index, record, at, how)) = ends.next() {
                        // A job without demand ends at the instant of its release.
                        if !std::mem::replace(&mut is_released[index], true) {
                            recorder.released(&record.job);
                        }
                        recorder.ended(&record.job, at, how, record.executed);
                    }
                }
                2 => {
                    if let Some(&(_, index)) = releases.next()
                        && !std::mem::replace(&mut is_released[index], true)
                    {
                        recorder.released(&self.jobs[index].job);
                    }
                }
                3 => marks.next().into_iter().for_each(|mark| recorder.marked(mark)),
                _ => answers.next().into_iter().for_each(|answer| recorder.answered(answer)),
            }
        }
        for record in self.jobs.iter().filter(|record| record.end.is_none()) {
            recorder.pending(&record.job, self.over, record.executed);
        }
        recorder.over(self.over, self.interrupted);
    }

    /// The time at which each job is reported as released, ascending: its release or the end of its
    /// predecessor, whichever is later. With its index in `jobs`.
    fn releases(&self) -> Vec<(Time, usize)> {
        let mut order: Vec<usize> = (0..self.jobs.len()).collect();
        order.sort_by_key(|&index| (self.jobs[index].job.id, index));
        let mut releases = Vec::with_capacity(order.len());
        let mut previous: Option<&JobRecord> = None;
        for index in order {
            let record = &self.jobs[index];
            let predecessor_end = previous
                .filter(|previous| previous.job.id.task == record.job.id.task)
                .map(|previous| previous.end.map_or(self.over, |(at, _)| at));
            let release = record.job.release;
            releases.push((predecessor_end.map_or(release, |end| end.max(release)), index));
            previous = Some(record);
        }
        // The sort is stable: releases at one instant stay in the order of their identifiers.
        releases.sort_by_key(|&(at, _)| at);
        releases
    }
}

fn ended((index, record): (usize, &JobRecord)) -> Option<(usize, &JobRecord, Time, JobEnd)> {
    record.end.map(|(at, how)| (index, record, at, how))
}
