//! The instant until which the kernel may count threads with reservations that have ended.
//!
//! The kernel counts the bandwidth of an ended `SCHED_DEADLINE` thread until its zero-lag time, at
//! most one period later. If a cpuset or the limit is written before, the kernel recounts without
//! the thread, and subtracts it all the same when that time comes. The sum may then be negative,
//! and every request is refused (EBUSY). It does not matter whose thread it was: a run that creates
//! a root domain must wait for the threads of the run before it. So every run writes this instant
//! into a file of the register when threads end, and waits for it before such a write. On Linux 6.18,
//! a read of the limit has the same effect.
//!
//! The guardian calls these functions after a fork, so they do not allocate. `beside` is any file
//! of the register.

use crate::kernel::files::{self, Lock};
use crate::kernel::sys;
use std::ffi::CStr;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The name of the file. It has one number: the instant on the monotonic clock, in nanoseconds.
const NAME: &CStr = c"ended";
/// Longer than any period that the kernel accepts by default.
pub(super) const LONGEST_PERIOD_NS: u64 = 5_000_000_000;
/// A writer takes microseconds. One that is stopped must not delay others.
const PATIENCE_NS: i64 = 100_000_000;

/// Notes that threads with this period have just ended, or have just lost their reservations.
pub(crate) fn note(beside: &CStr, period_ns: u64) {
    let Some(file) = open(beside) else { return };
    let until = sys::monotonic_ns() + PATIENCE_NS;
    while !files::lock(&file, Lock::Exclusive).unwrap_or(true) && sys::monotonic_ns() < until {
        sys::sleep_until(sys::monotonic_ns() + 100_000);
    }
    let period_ns = period_ns.min(LONGEST_PERIOD_NS);
    let instant = sys::monotonic_ns().saturating_add_unsigned(period_ns).max(noted(&file));
    // If this fails, the next run does not wait, as it would without this file.
    let _ = file.write_all_at(&instant.to_ne_bytes(), 0);
}

/// Waits until the kernel counts no ended thread of any run.
pub(crate) fn wait(beside: &CStr) {
    let Some(file) = open(beside) else { return };
    loop {
        // Threads may end meanwhile.
        let until = noted(&file);
        if sys::monotonic_ns() >= until {
            return;
        }
        sys::sleep_until(until);
    }
}

/// Returns the instant in the file, or 0 if it is later than any period allows.
fn noted(file: &File) -> i64 {
    let mut bytes = [0; size_of::<i64>()];
    if file.read_exact_at(&mut bytes, 0).is_err() {
        return 0;
    }
    let most = sys::monotonic_ns().saturating_add_unsigned(LONGEST_PERIOD_NS);
    Some(i64::from_ne_bytes(bytes)).filter(|&until| until <= most).unwrap_or(0)
}

fn open(beside: &CStr) -> Option<File> {
    let path = beside.to_bytes();
    let end = path.iter().rposition(|&byte| byte == b'/')?;
    let mut buffer = [0; files::LONGEST_PATH];
    files::open(files::joined(&path[..end], NAME, &mut buffer)?, true).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    fn beside(name: &str) -> CString {
        let folder = std::env::temp_dir().join(format!("layland-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        CString::new(folder.join("lock").to_str().unwrap()).unwrap()
    }

    #[test]
    fn the_latest_instant_counts() {
        let beside = beside("ended");
        let before = sys::monotonic_ns();
        wait(&beside);
        note(&beside, 60_000_000);
        note(&beside, 1_000_000);
        wait(&beside);
        assert!(sys::monotonic_ns() - before >= 60_000_000);
    }

    #[test]
    fn a_file_from_another_boot_delays_nobody() {
        let beside = beside("boot");
        let file = open(&beside).unwrap();
        for damaged in [&i64::MAX.to_ne_bytes()[..], &[1, 2, 3]] {
            file.set_len(0).unwrap();
            file.write_all_at(damaged, 0).unwrap();
            assert_eq!(noted(&file), 0);
        }
    }
}
