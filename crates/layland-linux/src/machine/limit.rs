//! The kernel's limit of real-time and deadline threads, which is read once for each process.
//!
//! Linux 6.18 recounts the reserved bandwidth after each read of `sched_rt_runtime_us` or
//! `sched_rt_period_us`, and not only after a write. The new sum lacks `SCHED_DEADLINE` threads that
//! sleep. Once they end, the kernel subtracts them nevertheless, so that the sum becomes negative
//! and every request is refused. A process that reads these files every second would do this to the
//! threads that it has reserved for. So a change of the limit during a run is not noticed.

use super::ended;
use super::register::Register;
use std::fs;
use std::sync::OnceLock;

/// Microseconds of both files; none for a file that cannot be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    pub(crate) runtime_us: Option<i64>,
    pub(crate) period_us: Option<i64>,
}

impl Limit {
    /// Returns the limit as this process read it first.
    pub(crate) fn get() -> Limit {
        static FIRST: OnceLock<Limit> = OnceLock::new();
        let read = |name: &str| {
            let text = fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?;
            text.trim().parse().ok()
        };
        *FIRST.get_or_init(|| {
            // The recount forgets threads that have just ended, too: see `ended`.
            if let Ok(lock) = Register::open().and_then(|register| register.lock()) {
                ended::wait(&lock);
            }
            Limit { runtime_us: read("sched_rt_runtime_us"), period_us: read("sched_rt_period_us") }
        })
    }
}
