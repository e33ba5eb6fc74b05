//! The threads of a run, in a process of their own.
//!
//! The exiting threads of a dying process must still be scheduled, but a scheduler in the same
//! process would die with it. So the threads live apart from the manager, and the kernel kills them
//! when the manager is gone.
//!
//! A thread waits for its next job on the *gate*, a word that the manager increments with each job:
//! its *generation*. If the manager knows the release of the next job, the wait ends by itself at
//! that time, and the thread begins the generation after the one at the gate. The kernel can thus
//! give it a CPU before the manager wakes up. Until the manager has set the demand of that job, the
//! job has the demand that the manager expected, if it could.
//!
//! A job that is aborted keeps its place, and ends when its thread gets a CPU again.

use crate::kernel::markers::Markers;
use crate::kernel::sys::{self, Tid};
use layland_interchange::kernel::comm;
use layland_model::{Index, JobId, System, TaskId};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal, waitpid,
};
use rustix::time::Timespec;
use std::io;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering};

/// The demand of a generation without a job.
pub(super) const NO_JOB: i64 = -1;
/// The demand of a job whose demand is not known yet.
pub(super) const UNKNOWN: i64 = i64::MAX;
/// The release of a next job that the manager alone releases.
pub(super) const BY_GATE: i64 = i64::MAX;
const STACK: usize = 64 << 10;
/// The time that the threads may take to start.
const PATIENCE_NS: i64 = 10_000_000_000;

/// The memory that the manager and one thread share, on cache lines of its own.
#[repr(C, align(128))]
#[derive(Debug)]
pub(super) struct Post {
    /// The kernel id of the thread; 0 until it runs.
    pub tid: AtomicI32,
    // Written by the manager.
    /// The generation that the manager has released.
    pub gate: AtomicU32,
    /// The demand of its job, in nanoseconds of processor time, and its number.
    pub demand: AtomicI64,
    pub seq: AtomicU64,
    /// The time at which the next generation begins by itself, and its expected demand.
    pub next_ns: AtomicI64,
    pub next_demand: AtomicI64,
    // Written by the thread.
    /// The generation that ended last, and the end times of the last even and odd generations.
    pub done_gate: AtomicU32,
    pub done_ns: [AtomicI64; 2],
}

/// The memory that all threads share.
#[repr(C, align(128))]
#[derive(Debug)]
struct Common {
    /// Nonzero when everything ends.
    quit: AtomicU32,
}

/// The memory that both processes see: [`Common`], and a post for each thread.
#[derive(Debug)]
struct Board {
    memory: NonNull<Common>,
    posts: usize,
}

// Safety: every field of the memory is atomic.
unsafe impl Send for Board {}
// Safety: as above.
unsafe impl Sync for Board {}

impl Board {
    fn new(posts: usize) -> io::Result<Board> {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
        let length = size_of::<Common>() + posts * size_of::<Post>();
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // Safety: a new mapping at an address that the kernel chooses. It is zeroed, and zero is
        // valid for every field.
        let address =
            unsafe { mmap_anonymous(std::ptr::null_mut(), length, protection, MapFlags::SHARED) }?;
        let memory = NonNull::new(address.cast()).ok_or_else(|| io::Error::other("mapped at 0"))?;
        Ok(Board { memory, posts })
    }

    fn common(&self) -> &Common {
        // Safety: the mapping lives as long as the board.
        unsafe { self.memory.as_ref() }
    }

    fn posts(&self) -> &[Post] {
        // Safety: `self.posts` posts follow, and `Common` has the alignment of a post.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().add(1).cast(), self.posts) }
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        let length = size_of::<Common>() + self.posts * size_of::<Post>();
        // Safety: mapped by `new` with this length, and no reference is left.
        let _ = unsafe { rustix::mm::munmap(self.memory.as_ptr().cast(), length) };
    }
}

/// The process of the threads.
#[derive(Debug)]
pub(super) struct ThreadProcess {
    board: Arc<Board>,
    pid: Pid,
    process: OwnedFd,
}

impl ThreadProcess {
    /// Starts the process with a thread for each task. On return, the threads wait for their first
    /// jobs. They are in the ordinary class, and may use these CPUs.
    pub fn start(
        system: &System,
        hosts: &[usize],
        markers: Option<&Arc<Markers>>,
    ) -> io::Result<ThreadProcess> {
        let board = Arc::new(Board::new(system.tasks.len())?);
        for post in board.posts() {
            post.next_ns.store(BY_GATE, Ordering::Relaxed);
        }
        // Safety: the child allocates, which the C library allows after a fork, and never returns.
        let pid = match unsafe { libc::fork() } {
            -1 => return Err(io::Error::last_os_error()),
            0 => live(system, hosts, &board, markers),
            pid => {
                Pid::from_raw(pid).ok_or_else(|| io::Error::other("a process without a number"))?
            }
        };
        // Only this process can reap the child, so the number cannot be reused yet.
        let process = pidfd_open(pid, PidfdFlags::empty())?;
        let load = ThreadProcess { board, pid, process };
        let until = sys::monotonic_ns() + PATIENCE_NS;
        while load.posts().iter().any(|post| post.tid.load(Ordering::Acquire) == 0) {
            if load.is_gone() || sys::monotonic_ns() > until {
                return Err(io::Error::other("the threads do not start"));
            }
            sys::sleep_until(sys::monotonic_ns() + 200_000);
        }
        Ok(load)
    }

    /// Returns the memory that is shared with each thread, by task.
    pub fn posts(&self) -> &[Post] {
        self.board.posts()
    }

    /// Returns true if the process has ended.
    pub fn is_gone(&self) -> bool {
        let mut ended = [PollFd::new(&self.process, PollFlags::IN)];
        !matches!(poll(&mut ended, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(0))
    }

    /// Ends every thread, and makes it ordinary: a thread that no scheduler runs could not end.
    pub fn end(&self) {
        self.board.common().quit.store(1, Ordering::Release);
        for post in self.posts() {
            post.demand.store(NO_JOB, Ordering::Relaxed);
            post.gate.fetch_add(1, Ordering::Release);
            let tid = post.tid.load(Ordering::Acquire);
            if tid != 0 {
                let _ = sys::set_ordinary(Tid(tid));
            }
            sys::wake_shared(&post.gate);
        }
    }
}

impl Drop for ThreadProcess {
    fn drop(&mut self) {
        self.end();
        let until = sys::monotonic_ns() + PATIENCE_NS;
        while !self.is_gone() && sys::monotonic_ns() < until {
            sys::sleep_until(sys::monotonic_ns() + 1_000_000);
        }
        if !self.is_gone() {
            let _ = pidfd_send_signal(&self.process, Signal::KILL);
        }
        let _ = waitpid(Some(self.pid), WaitOptions::empty());
    }
}

/// Runs the process of the threads.
fn live(system: &System, hosts: &[usize], board: &Arc<Board>, markers: Option<&Arc<Markers>>) -> ! {
    // The process leaves the process group, so that its signals miss it, and dies with the thread
    // that forked it.
    let _ = rustix::process::setsid();
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    sys::name_thread("layland-load");
    let mut threads = Vec::with_capacity(system.tasks.len());
    for task in system.tasks.ids() {
        let (board, markers, hosts) = (Arc::clone(board), markers.cloned(), hosts.to_vec());
        let name = comm(&system.tasks[task].name).replace('\0', " ");
        let thread = std::thread::Builder::new().name(name).stack_size(STACK).spawn(move || {
            let _ = sys::set_affinity(Tid::own(), hosts);
            work(&board, task, markers.as_ref());
        });
        match thread {
            Ok(thread) => threads.push(thread),
            // The parent notices that a thread is missing.
            // Safety: ends this process at once, without running any code of the parent.
            Err(_) => unsafe { libc::_exit(1) },
        }
    }
    let _ = sys::lock_memory();
    for thread in threads {
        let _ = thread.join();
    }
    // Safety: as above.
    unsafe { libc::_exit(0) }
}

/// Runs a thread.
fn work(board: &Board, task: TaskId, markers: Option<&Arc<Markers>>) {
    let post = &board.posts()[task.index()];
    let quit = &board.common().quit;
    sys::precise_timers();
    post.tid.store(Tid::own().0, Ordering::Release);
    let mut done = 0;
    // The release at which the wait for the next generation ended by itself, if it did.
    let mut begins = None;
    while quit.load(Ordering::Acquire) == 0 {
        let told = post.gate.load(Ordering::Acquire);
        if told != done {
            begins = None;
            done = told;
            if post.demand.load(Ordering::Relaxed) != NO_JOB {
                execute(post, told, true, task, markers);
            }
            continue;
        }
        let next = post.next_ns.load(Ordering::Acquire);
        if next != BY_GATE && begins == Some(next) {
            begins = None;
            // This generation counts as handled from here on: when the manager releases it, it has
            // begun already.
            done = told.wrapping_add(1);
            execute(post, done, false, task, markers);
            // If the manager releases it meanwhile, it must not count as a new one; and a later one
            // must not be missed.
            wait_to_be_told(post, quit, done);
            continue;
        }
        if next == BY_GATE || sys::monotonic_ns() >= next {
            // A late job begins only when the manager releases it, because other jobs may have
            // precedence.
            sys::wait_while_shared(&post.gate, told, None);
            continue;
        }
        sys::wait_while_shared(&post.gate, told, Some(next));
        begins = (sys::monotonic_ns() >= next).then_some(next);
    }
    post.tid.store(0, Ordering::Release);
}

/// Waits until the gate has reached a generation that began by itself.
fn wait_to_be_told(post: &Post, quit: &AtomicU32, generation: u32) {
    loop {
        let told = post.gate.load(Ordering::Acquire);
        if told.wrapping_sub(generation) as i32 >= 0 || quit.load(Ordering::Acquire) != 0 {
            return;
        }
        sys::wait_while_shared(&post.gate, told, None);
    }
}

/// Executes the job of a generation, unless the manager aborts it.
fn execute(
    post: &Post,
    generation: u32,
    mut is_told: bool,
    task: TaskId,
    markers: Option<&Arc<Markers>>,
) {
    let begun = sys::own_cpu_ns();
    let mut demand = if is_told { &post.demand } else { &post.next_demand }.load(Ordering::Relaxed);
    let mark = |mark: fn(&Markers, JobId)| {
        if let Some(markers) = markers {
            mark(markers, JobId { task, seq: post.seq.load(Ordering::Relaxed) });
        }
    };
    if is_told {
        mark(Markers::start);
    }
    loop {
        let told = post.gate.load(Ordering::Acquire);
        if told == generation {
            if !is_told {
                mark(Markers::start);
            }
            is_told = true;
            demand = post.demand.load(Ordering::Relaxed);
        } else if is_told || told.wrapping_sub(generation) as i32 > 0 {
            return;
        }
        if demand == NO_JOB {
            return;
        }
        if sys::own_cpu_ns() - begun >= demand {
            break;
        }
    }
    post.done_ns[generation as usize % 2].store(sys::monotonic_ns(), Ordering::Relaxed);
    if is_told {
        mark(Markers::complete);
    }
    // Last, because this store publishes the end of the job.
    post.done_gate.store(generation, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_model::{Duration, Service, Task};

    const MS: i64 = 1_000_000;

    fn wait_for(what: &str, is_so: impl Fn() -> bool) {
        let until = sys::monotonic_ns() + 20_000 * MS;
        while !is_so() {
            assert!(sys::monotonic_ns() < until, "waited in vain: {what}");
            sys::sleep_until(sys::monotonic_ns() + MS / 10);
        }
    }

    /// Releases a job as the manager does.
    fn tell(post: &Post, generation: u32, demand: i64, next: Option<(i64, i64)>) {
        let (next_ns, next_demand) = next.unwrap_or((BY_GATE, UNKNOWN));
        post.demand.store(demand, Ordering::Relaxed);
        post.next_demand.store(next_demand, Ordering::Relaxed);
        post.next_ns.store(next_ns, Ordering::Relaxed);
        post.gate.store(generation, Ordering::Release);
        sys::wake_shared(&post.gate);
    }

    #[test]
    fn jobs_begin_when_they_are_told_or_by_themselves() {
        let task = Task::implicit("a", Service::from_ms(1), Duration::from_ms(20));
        let hosts = sys::allowed_cpus().unwrap();
        let load = ThreadProcess::start(&System::new(1, vec![task]), &hosts, None).unwrap();
        let post = &load.posts()[0];
        let done = || post.done_gate.load(Ordering::Acquire);
        let done_ns = |generation: usize| post.done_ns[generation % 2].load(Ordering::Relaxed);

        let begun = sys::monotonic_ns();
        // The next release is far away. A busy machine took more than 50 ms for a job of 2 ms, and
        // a job whose release has passed when its predecessor ends does not begin by itself.
        let next = begun + 500 * MS;
        tell(post, 1, 2 * MS, Some((next, MS)));
        wait_for("the job that was told", || done() == 1);
        assert!(done_ns(1) >= begun + 2 * MS);
        wait_for("the job that begins by itself", || done() == 2);
        assert!(done_ns(2) >= next + MS, "not before its release, and with what was expected");

        // The manager releases it afterwards, and it does not execute twice; the next one waits for
        // the gate.
        let ended = done_ns(2);
        tell(post, 2, MS, None);
        sys::sleep_until(sys::monotonic_ns() + 20 * MS);
        assert_eq!((done(), done_ns(2)), (2, ended));

        // An aborted job has no end, and the next one is not missed.
        tell(post, 3, UNKNOWN, None);
        sys::sleep_until(sys::monotonic_ns() + 5 * MS);
        tell(post, 3, NO_JOB, None);
        tell(post, 4, MS, None);
        wait_for("the job after one that was given up", || done() == 4);

        // A job whose release has passed when its predecessor ends waits until the manager releases
        // it.
        tell(post, 5, 10 * MS, Some((sys::monotonic_ns() + 2 * MS, MS)));
        wait_for("a long job", || done() == 5);
        sys::sleep_until(sys::monotonic_ns() + 20 * MS);
        assert_eq!(done(), 5);
        tell(post, 6, MS, None);
        wait_for("the late job", || done() == 6);
    }

    #[test]
    fn one_that_begins_by_itself_learns_what_it_asks_for() {
        let task = Task::implicit("a", Service::from_ms(1), Duration::from_ms(20));
        let hosts = sys::allowed_cpus().unwrap();
        let load = ThreadProcess::start(&System::new(1, vec![task]), &hosts, None).unwrap();
        let post = &load.posts()[0];
        let next = sys::monotonic_ns() + 200 * MS;
        tell(post, 1, MS, Some((next, UNKNOWN)));
        sys::sleep_until(next + 20 * MS);
        assert_eq!(post.done_gate.load(Ordering::Acquire), 1, "it cannot end yet");
        tell(post, 2, MS, None);
        wait_for("its end", || post.done_gate.load(Ordering::Acquire) == 2);
    }

    #[test]
    fn a_load_ends_with_its_owner() {
        let task = Task::implicit("a", Service::from_ms(1), Duration::from_ms(20));
        let hosts = sys::allowed_cpus().unwrap();
        let load = ThreadProcess::start(&System::new(1, vec![task]), &hosts, None).unwrap();
        let tid = load.posts()[0].tid.load(Ordering::Acquire);
        tell(&load.posts()[0], 1, UNKNOWN, None);
        assert!(!load.is_gone());
        drop(load);
        assert!(!std::path::Path::new(&format!("/proc/{tid}")).exists());
    }
}
