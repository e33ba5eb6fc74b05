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
            if thread.told != dates {
                thread.told = dates;
                let job = JobId { task: p, seq };
                let (release, deadline) = dates;
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
