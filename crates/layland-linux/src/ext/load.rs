//! The threads of a run, in a process of their own.
//!
//! Threads of a process that dies have to be scheduled to die, and a scheduler that the same process holds would go
//! with it: so the threads live apart from the manager, and the kernel kills them when the manager is gone.
//!
//! A thread waits for its next job on the *gate*, a word that the manager counts up with each job: its *generation*.
//! Where the manager knows when the next job is released, the wait ends then by itself, and the thread begins the
//! generation after the one at the gate: the kernel can give it a CPU before the manager has been woken. Until the
//! manager has said what that job asks for, its demand is the one that the manager expected, if it could.
//!
//! A job that is given up stays where it is, and ends when its thread gets a CPU again.

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

/// There is no job in this generation.
pub(super) const NO_JOB: i64 = -1;
/// What a job asks for is not known yet.
pub(super) const UNKNOWN: i64 = i64::MAX;
/// The next job is not released by the clock.
pub(super) const BY_GATE: i64 = i64::MAX;
const STACK: usize = 64 << 10;
/// How long the threads may take to be there.
const PATIENCE_NS: i64 = 10_000_000_000;

/// What the manager and one thread share. On cache lines of its own.
#[repr(C, align(128))]
#[derive(Debug)]
pub(super) struct Post {
    /// The kernel id of the thread; 0 until it runs.
    pub tid: AtomicI32,
    // Written by the manager.
    /// The generation that was told.
    pub gate: AtomicU32,
    /// What its job asks for, in nanoseconds of processor time, and its number.
    pub demand: AtomicI64,
    pub seq: AtomicU64,
    /// When the generation after it begins by itself, and what it is expected to ask for.
    pub next_ns: AtomicI64,
    pub next_demand: AtomicI64,
    // Written by the thread.
    /// The generation that ended last, and when those of even and odd number did.
    pub done_gate: AtomicU32,
    pub done_ns: [AtomicI64; 2],
}

/// What all share.
#[repr(C, align(128))]
#[derive(Debug)]
struct Common {
    /// Not 0: everything ends.
    quit: AtomicU32,
}

/// The memory that both processes see: [`Common`], and a post for each thread.
#[derive(Debug)]
struct Board {
    memory: NonNull<Common>,
    posts: usize,
}

// Safety: all of it is atomic.
unsafe impl Send for Board {}
// Safety: as above.
unsafe impl Sync for Board {}

impl Board {
    fn new(posts: usize) -> io::Result<Board> {
        use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
        let length = size_of::<Common>() + posts * size_of::<Post>();
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // Safety: a new mapping at an address that the kernel chooses. It is full of zeros, which every field may be.
        let address =
            unsafe { mmap_anonymous(std::ptr::null_mut(), length, protection, MapFlags::SHARED) }?;
        let memory = NonNull::new(address.cast()).ok_or_else(|| io::Error::other("mapped at 0"))?;
        Ok(Board { memory, posts })
    }

    fn common(&self) -> &Common {
        // Safety: mapped as long as the board lives.
        unsafe { self.memory.as_ref() }
    }

    fn posts(&self) -> &[Post] {
        // Safety: as many posts follow, and `Common` keeps their alignment.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().add(1).cast(), self.posts) }
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        let length = size_of::<Common>() + self.posts * size_of::<Post>();
        // Safety: mapped by `new` with this length, and nobody has it any more.
        let _ = unsafe { rustix::mm::munmap(self.memory.as_ptr().cast(), length) };
    }
}

/// The process of the threads.
#[derive(Debug)]
pub(super) struct Load {
    board: Arc<Board>,
    pid: Pid,
    process: OwnedFd,
}

impl Load {
    /// Starts it, with a thread for each task; they wait for their first jobs when this returns. They are ordinary, and
    /// may use these CPUs.
    pub fn start(
        system: &System,
        hosts: &[usize],
        markers: Option<&Arc<Markers>>,
    ) -> io::Result<Load> {
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
        // Nobody but us can reap it, so that the number is still its own.
        let process = pidfd_open(pid, PidfdFlags::empty())?;
        let load = Load { board, pid, process };
        let until = sys::monotonic_ns() + PATIENCE_NS;
        while load.posts().iter().any(|post| post.tid.load(Ordering::Acquire) == 0) {
            if load.is_gone() || sys::monotonic_ns() > until {
                return Err(io::Error::other("the threads do not start"));
            }
            sys::sleep_until(sys::monotonic_ns() + 200_000);
        }
        Ok(load)
    }

    /// What is shared with each thread, by task.
    pub fn posts(&self) -> &[Post] {
        self.board.posts()
    }

    /// Whether the process has ended.
    pub fn is_gone(&self) -> bool {
        let mut ended = [PollFd::new(&self.process, PollFlags::IN)];
        !matches!(poll(&mut ended, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(0))
    }

    /// Lets every thread end, and makes it ordinary: one that nobody schedules could not.
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

impl Drop for Load {
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

/// The life of the process.
fn live(system: &System, hosts: &[usize], board: &Arc<Board>, markers: Option<&Arc<Markers>>) -> ! {
    // No signal to the group of the run reaches it, and it does not outlive the thread that made it.
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
            // The parent sees that a thread is missing.
            // Safety: ends this process at once, without running anything of the parent's.
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

/// The life of a thread.
fn work(board: &Board, task: TaskId, markers: Option<&Arc<Markers>>) {
    let post = &board.posts()[task.index()];
    let quit = &board.common().quit;
    sys::precise_timers();
    post.tid.store(Tid::own().0, Ordering::Release);
    let mut done = 0;
    // When the wait for the next generation has ended by itself, if it has.
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
            // From here on this generation is behind us: when the manager tells it, it has begun.
            done = told.wrapping_add(1);
            execute(post, done, false, task, markers);
            // One that the manager tells meanwhile must not be taken for a new one, nor a later one be missed.
            wait_to_be_told(post, quit, done);
            continue;
        }
        if next == BY_GATE || sys::monotonic_ns() >= next {
            // A job that is late begins when the manager has told it: others may come first.
            sys::wait_while_shared(&post.gate, told, None);
            continue;
        }
        sys::wait_while_shared(&post.gate, told, Some(next));
        begins = (sys::monotonic_ns() >= next).then_some(next);
    }
    post.tid.store(0, Ordering::Release);
}

/// Waits until the gate has reached a generation that has begun by itself.
fn wait_to_be_told(post: &Post, quit: &AtomicU32, generation: u32) {
    loop {
        let told = post.gate.load(Ordering::Acquire);
        if told.wrapping_sub(generation) as i32 >= 0 || quit.load(Ordering::Acquire) != 0 {
            return;
        }
        sys::wait_while_shared(&post.gate, told, None);
    }
}

/// Executes the job of a generation, unless the manager gives it up.
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

    /// Tells a job as the manager does.
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
        let load = Load::start(&System::new(1, vec![task]), &hosts, None).unwrap();
        let post = &load.posts()[0];
        let done = || post.done_gate.load(Ordering::Acquire);
        let done_ns = |generation: usize| post.done_ns[generation % 2].load(Ordering::Relaxed);

        let begun = sys::monotonic_ns();
        // Far away: a busy machine took more than 50 ms for a job of two, and where that is over when the job ends, the
        // next one does not begin by itself.
        let next = begun + 500 * MS;
        tell(post, 1, 2 * MS, Some((next, MS)));
        wait_for("the job that was told", || done() == 1);
        assert!(done_ns(1) >= begun + 2 * MS);
        wait_for("the job that begins by itself", || done() == 2);
        assert!(done_ns(2) >= next + MS, "not before its release, and with what was expected");

        // It is told afterwards, and is not executed twice; the one after that waits for the gate.
        let ended = done_ns(2);
        tell(post, 2, MS, None);
        sys::sleep_until(sys::monotonic_ns() + 20 * MS);
        assert_eq!((done(), done_ns(2)), (2, ended));

        // One that is given up ends nowhere; the next one is not missed.
        tell(post, 3, UNKNOWN, None);
        sys::sleep_until(sys::monotonic_ns() + 5 * MS);
        tell(post, 3, NO_JOB, None);
        tell(post, 4, MS, None);
        wait_for("the job after one that was given up", || done() == 4);

        // One whose release is over when its predecessor ends waits until it is told.
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
        let load = Load::start(&System::new(1, vec![task]), &hosts, None).unwrap();
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
        let load = Load::start(&System::new(1, vec![task]), &hosts, None).unwrap();
        let tid = load.posts()[0].tid.load(Ordering::Acquire);
        tell(&load.posts()[0], 1, UNKNOWN, None);
        assert!(!load.is_gone());
        drop(load);
        assert!(!std::path::Path::new(&format!("/proc/{tid}")).exists());
    }
}
