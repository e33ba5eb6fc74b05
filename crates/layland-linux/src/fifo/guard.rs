//! Guards that keep a broken run from harming the machine.
//!
//! 1. A *watchdog* thread of class `SCHED_DEADLINE`, 0.5 ms every 10 ms, above every `SCHED_FIFO`
//!    thread. If the manager is not awake [`GRACE_NS`] after its planned time, or the run lasts too
//!    long, the watchdog makes every thread of the run ordinary and ends the run. If the kernel has
//!    no bandwidth left, it is a `SCHED_FIFO` thread of the highest priority instead. If every CPU
//!    but the manager's is promised to others, it has that priority on the manager's CPU, and the
//!    manager a lower one.
//! 2. A *guardian* process (see `guardian.rs`).
//! 3. `RLIMIT_RTTIME`: the kernel ends the process if one of its real-time threads runs without
//!    blocking for longer than the longest possible run.
//!
//! The machine's setting for the throttling of real-time threads stays unchanged.

use crate::fifo::worker::SharedState;
use crate::kernel::sys;
use layland_model::Duration;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread::JoinHandle;

/// The delay after which the manager counts as late.
pub const GRACE_NS: i64 = 200_000_000;
const PERIOD: Duration = Duration::from_ms(10);
const RESERVATION: sys::Reservation =
    sys::Reservation { runtime: Duration::from_us(500), deadline: PERIOD, period: PERIOD };

/// The class that the watchdog has received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchdogClass {
    /// `SCHED_DEADLINE`: no thread of this process can starve it.
    Deadline,
    /// `SCHED_FIFO` 99: a thread of the same priority can starve it.
    Fifo,
    /// Not a real-time class.
    Ordinary,
}

/// The CPUs on which a watchdog runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Post {
    /// On every CPU, with a reservation.
    Anywhere,
    /// On the CPU of its manager, at a higher priority: a reservation cannot be tied to one CPU.
    #[cfg(feature = "ext")]
    Beside(usize),
}

#[derive(Debug)]
pub(crate) struct Watchdog {
    thread: Option<JoinHandle<()>>,
    leave: Arc<AtomicBool>,
    class: Arc<AtomicU8>,
}

impl Watchdog {
    /// Starts to watch a run that may last until this time (monotonic).
    pub fn start(
        shared: &Arc<SharedState>,
        until_ns: i64,
        post: Post,
    ) -> std::io::Result<Watchdog> {
        let leave = Arc::new(AtomicBool::new(false));
        let class = Arc::new(AtomicU8::new(0));
        let (own_leave, own_class, shared) =
            (Arc::clone(&leave), Arc::clone(&class), Arc::clone(shared));
        let thread = std::thread::Builder::new().stack_size(64 << 10).spawn(move || {
            watch(&shared, &own_leave, &own_class, until_ns, post);
        })?;
        while class.load(Ordering::Acquire) == 0 {
            sys::sleep_until(sys::monotonic_ns() + 100_000);
        }
        Ok(Watchdog { thread: Some(thread), leave, class })
    }

    pub fn class(&self) -> WatchdogClass {
        match self.class.load(Ordering::Acquire) {
            1 => WatchdogClass::Deadline,
            2 => WatchdogClass::Fifo,
            _ => WatchdogClass::Ordinary,
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.leave.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn watch(shared: &SharedState, leave: &AtomicBool, class: &AtomicU8, until_ns: i64, post: Post) {
    sys::name_thread("layland-dog");
    let own = sys::Tid::own();
    let is_deadline = match post {
        Post::Anywhere => sys::set_deadline(own, RESERVATION, false).is_ok(),
        #[cfg(feature = "ext")]
        Post::Beside(cpu) => {
            // If this fails, the watchdog runs on the CPUs of its creator.
            let _ = sys::pin(own, cpu);
            false
        }
    };
    let got = if is_deadline {
        1
    } else if sys::set_fifo(own, sys::MANAGER).is_ok() {
        2
    } else {
        3
    };
    class.store(got, Ordering::Release);
    let mut next = sys::monotonic_ns();
    while !leave.load(Ordering::Acquire) {
        next += PERIOD.ns();
        sys::sleep_until(next);
        let now = sys::monotonic_ns();
        let awake_by = shared.awake_by();
        if now > awake_by.saturating_add(GRACE_NS) || now > until_ns {
            // After a pause of the whole machine, the manager is about to run: check once more.
            sys::sleep_until(now + PERIOD.ns());
            next = sys::monotonic_ns();
            if shared.awake_by() != awake_by && next <= until_ns {
                continue;
            }
            shared.demote_all();
            shared.tripped.store(true, Ordering::Release);
            shared.release_all();
            shared.ring();
            return;
        }
    }
}
