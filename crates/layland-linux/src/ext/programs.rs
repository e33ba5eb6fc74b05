//! Threads of other programs: a job lasts from a wake-up to the next sleep, and threads come and go.
//!
//! The admitting side ([`Desk`]) exchanges messages with the manager by two queues, each under a
//! lock. The manager only tries to take these locks: it has the highest priority, and must not wait
//! for an ordinary thread.
//!
//! The state of a thread is read from the records that the mechanism shares, not from its single
//! messages, so that a lost message has no effect beyond one round. Several wake-ups before the
//! manager looks are one job.

use super::shared::{self, THREADS};
use super::threads::CarriedThread;
use super::work::Work;
use crate::kernel::sys::Tid;
use crate::manager::carrier::{EndReport, NewJob, NextJob};
use layland_engine::programs::Visit;
use layland_model::{Index, Task, TaskId, TaskMap, Time};
use layland_policy::Refusal;
use rustix::event::{EventfdFlags, eventfd};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// A request to the manager.
#[derive(Debug)]
pub(super) enum ProgramRequest {
    /// Asks whether a thread may enter, with its nice value.
    Enter(Arc<Task>, Tid, i32),
    /// Withdraws a thread that was admitted but did not come.
    Leave(TaskId),
}

/// A message from the manager.
#[derive(Debug)]
pub(super) enum ProgramMessage {
    /// The answer to the oldest request to enter.
    Entered(Result<TaskId, Refusal>),
    /// A thread has left.
    Left(TaskId),
}

/// The queues between the manager and the threads that admit others.
#[derive(Debug)]
pub(super) struct Desk {
    inbox: Mutex<VecDeque<ProgramRequest>>,
    rung: AtomicU32,
    bell: OwnedFd,
    outbox: Mutex<VecDeque<ProgramMessage>>,
    answers: OwnedFd,
}

fn ring(bell: &OwnedFd) {
    // The counter of an eventfd: a failed write means that it is readable already.
    let _ = rustix::io::write(bell, &1u64.to_ne_bytes());
}

fn silence(bell: &OwnedFd) {
    let _ = rustix::io::read(bell, &mut [0; 8]);
}

impl Desk {
    pub fn new() -> io::Result<Desk> {
        let bell = || eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        Ok(Desk {
            inbox: Mutex::default(),
            rung: AtomicU32::new(0),
            bell: bell()?,
            outbox: Mutex::default(),
            answers: bell()?,
        })
    }

    /// Sends a request to the manager.
    pub fn ask(&self, what: ProgramRequest) {
        self.inbox.lock().unwrap_or_else(|broken| broken.into_inner()).push_back(what);
        self.wake();
    }

    /// Wakes the manager.
    pub fn wake(&self) {
        self.rung.fetch_add(1, Ordering::Release);
        ring(&self.bell);
    }

    /// Returns the messages of the manager in order.
    pub fn hear(&self) -> VecDeque<ProgramMessage> {
        silence(&self.answers);
        std::mem::take(&mut *self.outbox.lock().unwrap_or_else(|broken| broken.into_inner()))
    }

    /// Returns a descriptor that becomes readable when there is a message.
    pub fn answers(&self) -> BorrowedFd<'_> {
        self.answers.as_fd()
    }

    /// Makes the descriptor of [`answers`](Self::answers) readable without a message.
    pub fn nudge(&self) {
        ring(&self.answers);
    }
}

/// See the file header.
pub(super) struct Programs {
    desk: Arc<Desk>,
    asked: VecDeque<ProgramRequest>,
    /// The threads that have asked to enter and wait for the policy.
    waiting: VecDeque<(Tid, i32)>,
    members: Vec<TaskId>,
    /// The messages that are still to be sent.
    told: VecDeque<ProgramMessage>,
    /// The wake-ups that are about to become jobs, with the processor time of their threads at that
    /// point.
    woken: TaskMap<(u32, i64)>,
}

impl Programs {
    pub fn new(desk: Arc<Desk>) -> Programs {
        Programs {
            desk,
            asked: VecDeque::with_capacity(THREADS),
            waiting: VecDeque::with_capacity(THREADS),
            members: Vec::with_capacity(THREADS),
            told: VecDeque::with_capacity(2 * THREADS),
            woken: TaskMap::filled((0, 0), THREADS),
        }
    }

    /// Sends the pending messages, or keeps them for the next opportunity if the lock is taken.
    fn tell(&mut self) {
        if !self.told.is_empty()
            && let Ok(mut outbox) = self.desk.outbox.try_lock()
        {
            outbox.append(&mut self.told);
            drop(outbox);
            self.desk.nudge();
        }
    }
}

/// Returns the wake-up since which a thread is awake, and its processor time until then; [`None`]
/// if it is asleep.
fn awake(kernel: &shared::KernelThread) -> Option<(u32, i64)> {
    let is_awake = || kernel.is_awake.load(Ordering::Acquire) != 0;
    let wakes = kernel.wakes.load(Ordering::Acquire);
    if !is_awake() {
        return None;
    }
    let had_got = kernel.slept_ran.load(Ordering::Acquire) as i64;
    (is_awake() && kernel.wakes.load(Ordering::Acquire) == wakes).then_some((wakes, had_got))
}

impl Work for Programs {
    fn leaving_ends(&self) -> bool {
        false
    }

    fn is_gone(&self) -> bool {
        false
    }

    fn end(&self) {}

    fn rung(&self) -> u32 {
        self.desk.rung.load(Ordering::Acquire)
    }

    fn bell(&self) -> Option<BorrowedFd<'_>> {
        Some(self.desk.bell.as_fd())
    }

    fn heard(&self) {
        silence(&self.desk.bell);
    }

    /// The thread sleeps without reporting the end of a job.
    fn has_ended(&self, _id: TaskId, _thread: &CarriedThread) -> bool {
        false
    }

    fn is_done(&self, _id: TaskId, thread: &CarriedThread, kernel: &shared::KernelThread) -> bool {
        let wakes = kernel.wakes.load(Ordering::Acquire);
        kernel.is_awake.load(Ordering::Acquire) == 0 || wakes != thread.gate
    }

    fn wake_of(
        &self,
        id: TaskId,
        thread: &CarriedThread,
        kernel: &shared::KernelThread,
    ) -> Option<u32> {
        (thread.has_job && !self.is_done(id, thread, kernel)).then_some(thread.gate)
    }

    fn report(
        &self,
        _id: TaskId,
        thread: &CarriedThread,
        kernel: &shared::KernelThread,
    ) -> EndReport {
        let used = kernel.slept_ran.load(Ordering::Acquire) as i64 - thread.base;
        EndReport { end_ns: kernel.slept_at.load(Ordering::Acquire) as i64, used: used.max(0) }
    }

    fn expect(&self, _id: TaskId, _first: &NextJob, _kernel: &shared::KernelThread) {}

    fn begin(
        &mut self,
        id: TaskId,
        _job: &NewJob,
        thread: &mut CarriedThread,
        _kernel: &shared::KernelThread,
    ) {
        (thread.gate, thread.base) = self.woken[id];
    }

    /// The thread continues, as it is about to leave or has left our class.
    fn give_up(
        &mut self,
        _id: TaskId,
        _thread: &mut CarriedThread,
        _kernel: &shared::KernelThread,
    ) {
    }

    fn visit(
        &mut self,
        left: &mut Vec<usize>,
        threads: &mut TaskMap<CarriedThread>,
        kernel: &[shared::KernelThread],
    ) -> Option<Visit> {
        self.tell();
        if let Ok(mut inbox) = self.desk.inbox.try_lock() {
            self.asked.append(&mut inbox);
        }
        let mut leaves = left.pop().map(TaskId::from_index);
        while leaves.is_none()
            && let Some(asked) = self.asked.pop_front()
        {
            match asked {
                ProgramRequest::Enter(task, tid, nice) => {
                    self.waiting.push_back((tid, nice));
                    return Some(Visit::Enters(task));
                }
                ProgramRequest::Leave(id) => leaves = Some(id),
            }
        }
        if let Some(id) = leaves {
            let found = self.members.iter().position(|&member| member == id);
            return match found {
                Some(place) => {
                    self.members.remove(place);
                    Some(Visit::Leaves(id))
                }
                None => self.visit(left, threads, kernel),
            };
        }
        self.members.iter().find_map(|&id| {
            let woken = awake(&kernel[id.index()]).filter(|_| !threads[id].has_job)?;
            self.woken[id] = woken;
            let at = kernel[id.index()].woke_at.load(Ordering::Acquire);
            Some(Visit::Wakes { task: id, at: Time::from_ns(at as i64) })
        })
    }

    fn entered(
        &mut self,
        id: TaskId,
        parameters: &Task,
        refused: Option<&Refusal>,
        thread: &mut CarriedThread,
        kernel: &shared::KernelThread,
    ) {
        let who = self.waiting.pop_front();
        let answer = match (refused, who) {
            (Some(refusal), _) => Err(refusal.clone()),
            (None, who) => {
                let (tid, nice) = who.unwrap_or_default();
                *thread = CarriedThread::of(tid, nice);
                kernel.relative.store(parameters.deadline.ns().max(0) as u64, Ordering::Relaxed);
                self.members.push(id);
                Ok(id)
            }
        };
        self.told.push_back(ProgramMessage::Entered(answer));
        self.tell();
    }

    fn left(&mut self, id: TaskId) {
        self.told.push_back(ProgramMessage::Left(id));
        self.tell();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Program;
    use layland_model::{Duration, JobId, Service};

    fn program() -> Program {
        let (runtime, period) = (Service::from_ms(2), Duration::from_ms(10));
        Program { name: "a".to_owned(), runtime, deadline: period, period, cpus: None }
    }

    /// Returns a desk, its programs, and the mechanism's records of two threads.
    fn bench() -> (Arc<Desk>, Programs, TaskMap<CarriedThread>, [shared::KernelThread; 2]) {
        let desk = Arc::new(Desk::new().unwrap());
        let programs = Programs::new(Arc::clone(&desk));
        let threads = (0..2).map(|_| CarriedThread::default()).collect();
        // Safety: every field may be zero.
        let kernel = unsafe { std::mem::zeroed() };
        (desk, programs, threads, kernel)
    }

    fn wakes(kernel: &shared::KernelThread, at: u64) {
        kernel.wakes.fetch_add(1, Ordering::SeqCst);
        kernel.woke_at.store(at, Ordering::SeqCst);
        kernel.is_awake.store(1, Ordering::SeqCst);
    }

    fn sleeps(kernel: &shared::KernelThread, at: u64, ran: u64) {
        kernel.slept_ran.store(ran, Ordering::SeqCst);
        kernel.slept_at.store(at, Ordering::SeqCst);
        kernel.is_awake.store(0, Ordering::SeqCst);
    }

    const JOB: NewJob =
        NewJob { id: JobId { task: TaskId(0), seq: 0 }, demand: 0, deadline_ns: 0, next: None };

    #[test]
    fn a_thread_enters_wakes_sleeps_and_leaves() {
        let (desk, mut programs, mut threads, kernel) = bench();
        let (id, mut left) = (TaskId(0), Vec::new());
        let task = Arc::new(program().task().unwrap());
        // The thread is awake already, but has not been admitted.
        wakes(&kernel[0], 5);
        desk.ask(ProgramRequest::Enter(Arc::clone(&task), Tid(7), 3));
        let visit = programs.visit(&mut left, &mut threads, &kernel);
        assert_eq!(visit, Some(Visit::Enters(Arc::clone(&task))));
        assert_eq!(programs.visit(&mut left, &mut threads, &kernel), None);
        programs.entered(id, &task, None, &mut threads[id], &kernel[0]);
        assert!(matches!(desk.hear().pop_front(), Some(ProgramMessage::Entered(Ok(TaskId(0))))));
        assert_eq!((threads[id].tid, threads[id].nice), (Tid(7), 3));
        let visit = programs.visit(&mut left, &mut threads, &kernel);
        assert_eq!(visit, Some(Visit::Wakes { task: id, at: Time::from_ns(5) }));
        threads[id].has_job = true;
        programs.begin(id, &JOB, &mut threads[id], &kernel[0]);
        assert_eq!(programs.visit(&mut left, &mut threads, &kernel), None);
        assert!(!programs.is_done(id, &threads[id], &kernel[0]));
        assert_eq!(programs.wake_of(id, &threads[id], &kernel[0]), Some(1));
        // The thread sleeps and wakes again before the manager looks.
        sleeps(&kernel[0], 9, 4);
        wakes(&kernel[0], 12);
        assert!(programs.is_done(id, &threads[id], &kernel[0]));
        assert_eq!(programs.wake_of(id, &threads[id], &kernel[0]), None);
        assert_eq!(programs.report(id, &threads[id], &kernel[0]), EndReport { end_ns: 9, used: 4 });
        threads[id].has_job = false;
        let visit = programs.visit(&mut left, &mut threads, &kernel);
        assert_eq!(visit, Some(Visit::Wakes { task: id, at: Time::from_ns(12) }));
        programs.begin(id, &JOB, &mut threads[id], &kernel[0]);
        sleeps(&kernel[0], 20, 9);
        assert_eq!(
            programs.report(id, &threads[id], &kernel[0]),
            EndReport { end_ns: 20, used: 5 }
        );
        // A thread leaves once, even if both sides report it.
        left.push(0);
        desk.ask(ProgramRequest::Leave(id));
        assert_eq!(programs.visit(&mut left, &mut threads, &kernel), Some(Visit::Leaves(id)));
        assert_eq!(programs.visit(&mut left, &mut threads, &kernel), None);
        programs.left(id);
        assert!(matches!(desk.hear().pop_front(), Some(ProgramMessage::Left(TaskId(0)))));
    }

    #[test]
    fn who_is_refused_is_told_and_is_no_member() {
        let (desk, mut programs, mut threads, kernel) = bench();
        let (id, mut left) = (TaskId(0), vec![1]);
        let task = Arc::new(program().task().unwrap());
        desk.ask(ProgramRequest::Enter(Arc::clone(&task), Tid(7), 0));
        // The withdrawn task of the other message is unknown.
        let visit = programs.visit(&mut left, &mut threads, &kernel);
        assert_eq!(visit, Some(Visit::Enters(Arc::clone(&task))));
        let refusal = Refusal::busy("full");
        programs.entered(id, &task, Some(&refusal), &mut threads[id], &kernel[0]);
        assert!(matches!(desk.hear().pop_front(), Some(ProgramMessage::Entered(Err(_)))));
        wakes(&kernel[0], 5);
        assert_eq!(programs.visit(&mut left, &mut threads, &kernel), None);
    }

    #[test]
    fn what_the_manager_cannot_say_now_it_says_later() {
        let (desk, mut programs, mut threads, kernel) = bench();
        let held = desk.outbox.lock().unwrap();
        programs.left(TaskId(1));
        drop(held);
        assert!(desk.hear().is_empty());
        programs.visit(&mut Vec::new(), &mut threads, &kernel);
        assert!(matches!(desk.hear().pop_front(), Some(ProgramMessage::Left(TaskId(1)))));
    }
}
