//! Jobs of threads: they are released, become ready, get dates, and end with their threads.

use super::RunQueues;
use super::thread::ThreadKind;
use crate::Action;
use crate::deadline::server::ServerState;
use layland_model::{Duration, JobId, TaskId, Time};

impl RunQueues {
    /// The job that was released becomes the ready one, if there is none.
    pub(super) fn next_job(&mut self, p: TaskId) {
        let thread = &mut self.threads[p];
        if thread.job.is_none() && thread.next_job.is_some() {
            thread.job = thread.next_job.take();
            (thread.ran, thread.charged) = (false, Duration::ZERO);
            self.date(p);
        }
    }

    /// The ready part of a hog is over, and the next one is ready.
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

    /// The server of a queued thread starts anew. A hog that has not run by the deadline that it had first is late: if
    /// the next deadline took the place of that one, a thread that never runs would never be late.
    pub(super) fn give_up(&mut self, p: TaskId) {
        let thread = &self.threads[p];
        if !thread.ran && thread.promised <= self.now {
            self.end_part(p, false);
        }
    }

    /// The job of a thread may have other dates.
    #[inline]
    pub(super) fn date(&mut self, p: TaskId) {
        // Those of the engine's jobs are the engine's.
        if self.threads[p].kind != ThreadKind::Jobs {
            self.dated.push(p);
        }
    }

    /// Tells the engine which jobs have other dates.
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

    /// Notes a job that was released.
    pub(super) fn released(&mut self, job: JobId, release: Time, deadline: Time) {
        let thread = &mut self.threads[job.task];
        if thread.job.is_none_or(|seq| seq < job.seq) {
            thread.next_job = Some(job.seq);
            thread.released = release;
            thread.told = (release, deadline);
        }
    }

    /// A thread is no longer in the system.
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
