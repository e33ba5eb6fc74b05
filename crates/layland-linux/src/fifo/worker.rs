//! One thread per task: it waits for a job, spins on its own processor clock until the job has
//! received its demand, and reports. It never allocates, and blocks only on the words of its post.
//!
//! The manager and a worker share a [`Post`]: words that one side writes and the other reads. A
//! *generation*, which the manager increments, names a job. The report of a job is a wait-free
//! queue of one place with one producer and one consumer: a thread has one job at a time, and the
//! manager releases the next one only after it has taken the report.
//!
//! If threads release and end their jobs themselves, a worker sleeps until its next release by its own
//! timer, at the priority of its task, and works for the manager then and at the end of each job
//! (`manager/monitor.rs`).
//!
//! Suspension: a thread that is demoted to [`WAIT`](crate::kernel::sys::WAIT) still runs if its CPU
//! would idle. To prevent that, the manager sets `park` and sends [`park_signal`]; the handler
//! waits until the manager clears the word. It only waits on a futex, which a signal handler may
//! do.

use crate::fifo::threads::FifoThreads;
use crate::kernel::markers::Markers;
use crate::kernel::sys::{self, Tid};
use crate::kernel::timer::Timer;
use crate::manager::monitor::Monitor;
use layland_model::{Index, JobId, TaskId};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// The demand of a generation without a job.
pub(crate) const NO_JOB: i64 = -1;

/// The memory that the manager and one worker share, on cache lines of its own.
#[repr(align(128))]
#[derive(Debug, Default)]
pub(crate) struct Post {
    /// The kernel id of the thread; 0 until it runs.
    pub tid: AtomicI32,
    // Written by the manager.
    /// The generation; the thread waits here for the next one.
    pub gate: AtomicU32,
    /// The demand of the job of this generation, in nanoseconds of processor time.
    pub demand: AtomicI64,
    /// The number of the job, for markers.
    pub seq: AtomicU64,
    /// If threads release their jobs: the time of the next release. `i64::MAX` if there is none, or
    /// while a job waits for its CPU.
    pub rest_ns: AtomicI64,
    /// Nonzero while the signal handler waits here.
    pub park: AtomicU32,
    /// The number of dispatches, by which the thread notices that it runs again.
    pub turn: AtomicU32,
    // Written by the worker.
    /// The time of the first instruction of the job of `started_gate`, and the thread's clock then.
    pub started_gate: AtomicU32,
    pub started_ns: AtomicI64,
    pub started_cpu_ns: AtomicI64,
    /// The time of the first instruction after the dispatch that `seen_turn` counts.
    pub seen_turn: AtomicU32,
    pub seen_ns: AtomicI64,
    /// The report: the end and the execution time of the job of this generation.
    pub done_gate: AtomicU32,
    pub done_ns: AtomicI64,
    pub done_used_ns: AtomicI64,
}

impl Post {
    fn new() -> Post {
        Post { rest_ns: AtomicI64::new(i64::MAX), ..Post::default() }
    }
}

/// The state that all threads of a run share.
#[derive(Debug)]
pub(crate) struct SharedState {
    pub posts: Vec<Post>,
    /// The manager waits here; a thread with news increments it.
    pub bell: AtomicU32,
    /// If threads release their jobs, the manager sleeps on this timer.
    pub timer: OnceLock<Timer>,
    /// True when everything ends.
    pub quit: AtomicBool,
    /// True when the user wants the run to end now.
    pub stop: AtomicBool,
    /// True if the watchdog found the manager late and demoted every thread.
    pub tripped: AtomicBool,
    /// The latest time at which each manager plans to be awake (monotonic).
    awake_by_ns: Vec<AtomicI64>,
    pub manager: AtomicI32,
    /// If every CPU has a dispatcher: all of them.
    pub dispatchers: OnceLock<Vec<DispatcherPost>>,
}

/// The post of the dispatcher of a CPU (`manager/dispatchers.rs`).
#[derive(Debug)]
pub(crate) struct DispatcherPost {
    /// The CPU of the machine that it is on.
    pub host: usize,
    /// It sleeps on this timer.
    timer: Timer,
    /// True if there is news that it has not looked for yet.
    has_news: AtomicBool,
    /// The kernel id of its thread; 0 while there is none.
    pub tid: AtomicI32,
}

impl DispatcherPost {
    /// Returns a post on this CPU of the machine.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses the timer.
    pub fn new(host: usize) -> std::io::Result<DispatcherPost> {
        let (has_news, tid) = (AtomicBool::new(false), AtomicI32::new(0));
        Ok(DispatcherPost { host, timer: Timer::new()?, has_news, tid })
    }

    /// Calls the dispatcher.
    pub fn ring(&self) {
        self.has_news.store(true, Ordering::SeqCst);
        self.timer.set(0);
    }

    /// Sets the time at which the dispatcher wakes up by itself.
    pub fn set(&self, at_ns: i64) {
        self.timer.set(at_ns);
        // The setting may have replaced that of a call, which must not be lost. The one that calls
        // stores first and sets then, so that one of the two sees the other.
        if self.has_news.load(Ordering::SeqCst) {
            self.timer.set(0);
        }
    }

    /// Sleeps until the time has come, or there is news. The caller then reads the reports, among which
    /// the news is.
    pub fn wait(&self) {
        self.timer.wait();
        self.has_news.swap(false, Ordering::SeqCst);
    }
}

impl SharedState {
    /// Returns the state of a run with one manager.
    #[cfg(feature = "ext")]
    pub fn new(tasks: usize) -> SharedState {
        Self::with_domains(tasks, 1)
    }

    /// Returns the state of a run with this number of managers.
    pub fn with_domains(tasks: usize, domains: usize) -> SharedState {
        SharedState {
            posts: (0..tasks).map(|_| Post::new()).collect(),
            bell: AtomicU32::new(0),
            timer: OnceLock::new(),
            quit: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            tripped: AtomicBool::new(false),
            awake_by_ns: (0..domains).map(|_| AtomicI64::new(i64::MAX)).collect(),
            manager: AtomicI32::new(0),
            dispatchers: OnceLock::new(),
        }
    }

    /// Announces the latest time at which a manager plans to be awake.
    pub fn expect_awake_by(&self, domain: usize, at_ns: i64) {
        self.awake_by_ns[domain].store(at_ns, Ordering::Release);
    }

    /// Returns the earliest of these times.
    pub fn awake_by(&self) -> i64 {
        let all = self.awake_by_ns.iter().map(|at| at.load(Ordering::Relaxed));
        all.min().unwrap_or(i64::MAX)
    }

    pub fn post(&self, task: TaskId) -> &Post {
        &self.posts[task.index()]
    }

    /// Notifies the manager of news.
    pub fn ring(&self) {
        self.bell.fetch_add(1, Ordering::Release);
        sys::wake(&self.bell);
        if let Some(timer) = self.timer.get() {
            timer.set(0);
        }
        self.posts_of_dispatchers().iter().for_each(DispatcherPost::ring);
    }

    /// Notifies the manager, or the dispatcher of the CPU that the caller is on, of the end of a job.
    pub fn report(&self) {
        let posts = self.posts_of_dispatchers();
        let host = sys::cpu();
        match posts.iter().find(|post| post.host == host) {
            Some(post) => post.ring(),
            None => self.ring(),
        }
    }

    fn posts_of_dispatchers(&self) -> &[DispatcherPost] {
        self.dispatchers.get().map_or(&[], Vec::as_slice)
    }

    /// Makes every thread ordinary, the manager first.
    pub fn demote_all(&self) {
        let demote = |tid: &AtomicI32| {
            let tid = tid.load(Ordering::Relaxed);
            if tid != 0 {
                let _ = sys::set_ordinary(Tid(tid));
            }
        };
        demote(&self.manager);
        self.posts_of_dispatchers().iter().for_each(|post| demote(&post.tid));
        self.posts.iter().for_each(|post| demote(&post.tid));
    }

    /// Makes every worker end.
    pub fn release_all(&self) {
        self.quit.store(true, Ordering::Release);
        for post in &self.posts {
            post.demand.store(NO_JOB, Ordering::Relaxed);
            post.gate.fetch_add(1, Ordering::Release);
            sys::wake(&post.gate);
            post.park.store(0, Ordering::Release);
            sys::wake(&post.park);
        }
    }
}

thread_local! {
    /// The post of the calling worker. It has no destructor, so that a signal handler may read it.
    static POST: Cell<*const Post> = const { Cell::new(std::ptr::null()) };
}

/// Returns the signal that parks a thread, which neither the C library nor usual programs use.
pub(crate) fn park_signal() -> i32 {
    libc::SIGRTMIN() + 5
}

extern "C" fn park(_signal: i32) {
    let post = POST.get();
    if post.is_null() {
        return;
    }
    // Safety: a worker sets the pointer to a post that outlives it, and clears it before it ends.
    let post = unsafe { &*post };
    while post.park.load(Ordering::Acquire) != 0 {
        sys::wait_while(&post.park, 1);
    }
}

/// Installs the handler that parks threads, once per process.
pub(crate) fn install_park_handler() -> std::io::Result<()> {
    static INSTALLED: OnceLock<Result<(), i32>> = OnceLock::new();
    INSTALLED
        .get_or_init(|| {
            sys::handle(park_signal(), park).map_err(|error| error.raw_os_error().unwrap_or(0))
        })
        .map_err(std::io::Error::from_raw_os_error)
}

/// Runs a worker.
pub(crate) fn work(shared: &SharedState, task: TaskId, markers: Option<&Arc<Markers>>) {
    let post = shared.post(task);
    sys::precise_timers();
    POST.set(post);
    post.tid.store(Tid::own().0, Ordering::Release);
    let mut gate = 0;
    while !shared.quit.load(Ordering::Acquire) {
        let next = post.gate.load(Ordering::Acquire);
        if next == gate {
            sys::wait_while(&post.gate, gate);
            continue;
        }
        gate = next;
        let demand = post.demand.load(Ordering::Relaxed);
        if demand != NO_JOB && execute(post, gate, demand, task, markers) {
            shared.report();
        }
    }
    POST.set(std::ptr::null());
    // Clear the number: another thread that gets it soon must not be demoted.
    post.tid.store(0, Ordering::Release);
}

/// Runs a worker that releases and ends its jobs itself, once there is a monitor.
pub(crate) fn work_by_itself<'a>(
    shared: &SharedState,
    task: TaskId,
    markers: Option<&Arc<Markers>>,
    monitor: &OnceLock<Monitor<'a, FifoThreads<'a>>>,
) {
    let post = shared.post(task);
    let own = Tid::own();
    sys::precise_timers();
    POST.set(post);
    post.tid.store(own.0, Ordering::Release);
    let _ends = EndsRun(shared);
    let mut gate = 0;
    let mut is_over = false;
    // The run is over when a step says so. Then this thread only waits to be released.
    let step = || !monitor.get().is_some_and(|monitor| monitor.step(own, task));
    while !shared.quit.load(Ordering::Acquire) {
        let next = post.gate.load(Ordering::Acquire);
        if next != gate {
            gate = next;
            let demand = post.demand.load(Ordering::Relaxed);
            if demand != NO_JOB && execute(post, gate, demand, task, markers) {
                is_over |= step();
            }
            continue;
        }
        let rest_ns = if is_over { i64::MAX } else { post.rest_ns.load(Ordering::Acquire) };
        if rest_ns == i64::MAX {
            sys::wait_while(&post.gate, gate);
        } else if sys::monotonic_ns() < rest_ns {
            sys::wait_while_until(&post.gate, gate, rest_ns);
        } else {
            is_over |= step();
        }
    }
    POST.set(std::ptr::null());
    post.tid.store(0, Ordering::Release);
}

/// Ends the run if its thread panics: the policy has panicked in the middle of a step.
pub(crate) struct EndsRun<'a>(pub &'a SharedState);

impl Drop for EndsRun<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop.store(true, Ordering::Release);
            self.0.ring();
        }
    }
}

/// Executes the job of a generation. Returns true if it has ended and is reported, and false if the
/// manager has aborted it.
fn execute(
    post: &Post,
    gate: u32,
    demand: i64,
    task: TaskId,
    markers: Option<&Arc<Markers>>,
) -> bool {
    let (start, start_cpu) = (sys::monotonic_ns(), sys::own_cpu_ns());
    post.started_ns.store(start, Ordering::Relaxed);
    post.started_cpu_ns.store(start_cpu, Ordering::Relaxed);
    post.started_gate.store(gate, Ordering::Release);
    let mut turn = post.turn.load(Ordering::Acquire);
    post.seen_ns.store(start, Ordering::Relaxed);
    post.seen_turn.store(turn, Ordering::Release);
    if let Some(markers) = markers {
        let seq = post.seq.load(Ordering::Relaxed);
        markers.start(JobId { task, seq });
    }
    loop {
        let used = sys::own_cpu_ns() - start_cpu;
        if used >= demand {
            post.done_ns.store(sys::monotonic_ns(), Ordering::Relaxed);
            if let Some(markers) = markers {
                let seq = post.seq.load(Ordering::Relaxed);
                markers.complete(JobId { task, seq });
            }
            post.done_used_ns.store(used, Ordering::Relaxed);
            // Last, because this store publishes the report in the words before it.
            post.done_gate.store(gate, Ordering::Release);
            return true;
        }
        if post.gate.load(Ordering::Relaxed) != gate {
            return false;
        }
        let now = post.turn.load(Ordering::Acquire);
        if now != turn {
            turn = now;
            post.seen_ns.store(sys::monotonic_ns(), Ordering::Relaxed);
            post.seen_turn.store(turn, Ordering::Release);
        }
    }
}
