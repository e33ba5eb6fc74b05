//! The life of jobs of threads: they are released, become ready, get dates, and end with their
//! threads.

use super::RunQueues;
use super::thread::ThreadKind;
use crate::Action;
use crate::deadline::server::ServerState;
use layland_model::{Duration, JobId, TaskId, Time};

impl RunQueues {
    /// Makes the released job the ready one, if no job is ready.
    pub(super) fn next_job(&mut self, p: TaskId) {
        let thread = &mut self.threads[p];
        if thread.job.is_none() && thread.next_job.is_some() {
            thread.job = thread.next_job.take();
            (thread.ran, thread.charged) = (false, Duration::ZERO);
            self.date(p);
        }
    }

    /// Ends the ready part of a hog, and makes the next one ready.
    pub(super) fn end_part(&mut self, p: TaskId, used_up: bool) {
        let thread = &mut self.threads[p];
        if thread.kind == ThreadKind::Hog
            && let Some(seq) = &mut thread.job
        {
            let job = JobId { task: p, seq: *seq };
            *seq += 1;
            thread.ran = false;
            thread.previous = thread.told.0;
            (thread.told, thread.promised) = ((Time::NEVER, Time::NEVER), Time::NEVER);
            self.out.push(Action::EndJob { job, used_up });
        }
    }

    /// Handles the jobs of a queued thread whose server starts anew. A hog that has not run by its
    /// first deadline is late: if the next deadline simply replaced that one, a thread that never
    /// runs would never be late.
    pub(super) fn give_up(&mut self, p: TaskId) {
        let thread = &self.threads[p];
        if !thread.ran && thread.promised <= self.now {
            self.end_part(p, false);
        }
    }

    /// Marks the dates of the job of a thread as possibly changed.
    #[inline]
    pub(super) fn date(&mut self, p: TaskId) {
        // The engine determines the dates of its own jobs.
        if self.threads[p].kind != ThreadKind::Jobs {
            self.dated.push(p);
        }
    }

    /// Reports changed dates of jobs to the engine.
    pub(super) fn tell_dates(&mut self) {
        let mut dated = std::mem::take(&mut self.dated);
        dated.sort_unstable();
        dated.dedup();
        for p in dated.drain(..) {
            let thread = &mut self.threads[p];
            let Some(seq) =
                thread.job.filter(|_| thread.kind != ThreadKind::Jobs && thread.is_in())
            else {
                continue;
            };
            let dates = thread.dates();
            let (release, deadline) = dates;
            thread.promised = thread.promised.min(deadline);
            if thread.told != dates {
                thread.told = dates;
                let job = JobId { task: p, seq };
                self.out.push(Action::SetDates { job, release, deadline });
            }
        }
        self.dated = dated;
    }

    /// Records a job that was released.
    pub(super) fn released(&mut self, job: JobId, release: Time, deadline: Time) {
        let thread = &mut self.threads[job.task];
        if thread.job.is_none_or(|seq| seq < job.seq) {
            thread.next_job = Some(job.seq);
            thread.released = release;
            thread.told = (release, deadline);
        }
    }

    /// Removes a thread from the system.
    pub(super) fn leave(&mut self, p: TaskId) {
        if self.threads[p].queued {
            self.dequeue(p);
        }
        let thread = &mut self.threads[p];
        if thread.server.state == ServerState::Dead {
            return;
        }
        thread.server.state = ServerState::Dead;
        self.leave_accounts(p);
        let thread = &mut self.threads[p];
        (thread.job, thread.next_job, thread.due) = (None, None, false);
        if let Some(load) = &mut self.load {
            load.remove(thread.cpu, &thread.u);
        }
        self.due_timers.remove(&(thread.seat, p));
    }
}
