//! The records that the mechanism and the manager share: those of `mechanism/shared.h`, field by
//! field.
//!
//! Both sides write while the other reads, so every field is atomic. The sizes are compared with
//! those of the object when it is loaded.

use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU32, AtomicU64, Ordering};

/// The largest number of usable CPUs of a machine, and of threads of a run.
pub(super) const CPUS: usize = 64;
/// See [`CPUS`].
pub(super) const THREADS: usize = 512;
/// An unlimited budget.
pub(super) const NO_BUDGET: u64 = u64::MAX;

/// The thread that a CPU runs.
#[repr(C)]
pub(super) struct Slot {
    pub thread1: AtomicU32,
    pub wake: AtomicU32,
    pub budget: AtomicU64,
}

/// The thread that the manager wants a CPU to run from now on.
#[repr(C)]
pub(super) struct Order {
    pub is_set: AtomicU32,
    pub thread1: AtomicU32,
    pub wake: AtomicU32,
    pad: AtomicU32,
    pub budget: AtomicU64,
}

/// The thread that a CPU runs when its present one has fallen asleep, with its budget.
#[repr(C)]
pub(super) struct Successor {
    pub epoch: AtomicU32,
    pub after1: AtomicU32,
    pub after_wake: AtomicU32,
    pub thread1: AtomicU32,
    pub wake: AtomicU32,
    pad: AtomicU32,
    pub budget: AtomicU64,
}

/// The CPU that a thread takes when it wakes, the thread that it preempts, and its budget.
#[repr(C)]
pub(super) struct Wake {
    pub epoch: AtomicU32,
    pub wake: AtomicU32,
    pub cpu1: AtomicU32,
    pub over1: AtomicU32,
    pub budget: AtomicU64,
}

/// The mechanism's record of a thread.
#[repr(C)]
pub(super) struct KernelThread {
    pub deadline: AtomicU64,
    pub relative: AtomicU64,
    tid: AtomicU64,
    ran: AtomicU64,
    since: AtomicU64,
    changes: AtomicU32,
    pub on: AtomicI32,
    want: AtomicI32,
    pub is_managed: AtomicU32,
    pub is_awake: AtomicU32,
    pub wakes: AtomicU32,
    custody: AtomicU32,
    pad: AtomicU32,
    pub woke_at: AtomicU64,
    pub began_at: AtomicU64,
    pub slept_at: AtomicU64,
    pub slept_ran: AtomicU64,
}

/// The location of a thread: its processor time until `since`, and its CPU from then on, or -1.
#[derive(Clone, Copy, Debug)]
pub(super) struct ThreadLocation {
    pub on: i32,
    pub since: i64,
    pub ran: i64,
}

impl ThreadLocation {
    /// Returns the time that the thread has been on its CPU by `now_ns`.
    pub fn length(self, now_ns: i64) -> i64 {
        if self.on < 0 { 0 } else { (now_ns - self.since).max(0) }
    }
}

impl KernelThread {
    /// Returns the location of the thread.
    pub fn stretch(&self) -> ThreadLocation {
        let read = || ThreadLocation {
            on: self.on.load(Ordering::Acquire),
            since: self.since.load(Ordering::Acquire) as i64,
            ran: self.ran.load(Ordering::Acquire) as i64,
        };
        let mut stretch = read();
        // The thread may change CPUs meanwhile. If it does so in each attempt, the last reading
        // counts.
        for _ in 0..8 {
            let before = self.changes.load(Ordering::Acquire);
            stretch = read();
            if before.is_multiple_of(2) && self.changes.load(Ordering::Acquire) == before {
                break;
            }
        }
        stretch
    }

    /// Returns the processor time of the thread until `now_ns`.
    pub fn ran(&self, now_ns: i64) -> i64 {
        let stretch = self.stretch();
        stretch.ran + stretch.length(now_ns)
    }
}

/// A message from the mechanism.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MechanismRecord {
    pub at: u64,
    pub kind: u32,
    pub thread: u32,
    pub cpu: i32,
    pub taken1: u32,
}

/// The kinds of records.
pub(super) mod kind {
    pub(in super::super) const WOKE: u32 = 1;
    pub(in super::super) const SLEPT: u32 = 2;
    pub(in super::super) const RUNS: u32 = 3;
    pub(in super::super) const STOPS: u32 = 4;
    pub(in super::super) const USED_UP: u32 = 5;
    pub(in super::super) const ONLINE: u32 = 6;
    pub(in super::super) const OFFLINE: u32 = 7;
    pub(in super::super) const LEFT: u32 = 8;
    pub(in super::super) const GONE: u32 = 9;
}

/// The counters of the mechanism.
#[repr(C)]
pub(super) struct Counts {
    pub lost: AtomicU64,
    pub stale: AtomicU64,
    pub bounced: AtomicU64,
    pub cared: AtomicU64,
    pub followed: AtomicU64,
    pub woken: AtomicU64,
}

/// All records that both sides write.
#[repr(C)]
pub(super) struct SharedRecords {
    pub slots: [Slot; CPUS],
    pub orders: [Order; CPUS],
    pub successors: [Successor; CPUS],
    pub wakes: [Wake; THREADS],
    pub threads: [KernelThread; THREADS],
    pub counts: Counts,
    pub asked_at: AtomicU64,
    pub epoch: AtomicU32,
    pub exit_kind: AtomicU32,
    pub exit_reason: [AtomicU8; 128],
    pub exit_message: [AtomicU8; 256],
}

/// The settings of the mechanism, which are fixed before it is loaded.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub cpus_used: u64,
    pub late_ns: u64,
    pub dead_ns: u64,
    pub has_timers: u32,
    pub wakes_manager: u32,
}

impl Settings {
    /// Returns the bytes in the layout that the mechanism reads.
    pub fn bytes(&self) -> [u8; size_of::<Settings>()] {
        let mut bytes = [0; size_of::<Settings>()];
        let parts = [
            &self.cpus_used.to_ne_bytes()[..],
            &self.late_ns.to_ne_bytes(),
            &self.dead_ns.to_ne_bytes(),
            &self.has_timers.to_ne_bytes(),
            &self.wakes_manager.to_ne_bytes(),
        ];
        bytes.copy_from_slice(&parts.concat());
        bytes
    }
}

/// Converts a zero-terminated string.
pub(super) fn text(bytes: &[AtomicU8]) -> String {
    let bytes: Vec<u8> = bytes.iter().map(|byte| byte.load(Ordering::Relaxed)).collect();
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_the_bytes_of_their_record() {
        let settings = Settings {
            cpus_used: 0x0102_0304_0506_0708,
            late_ns: 11,
            dead_ns: 12,
            has_timers: 13,
            wakes_manager: 14,
        };
        // Safety: the size shows that there is no padding.
        let record: [u8; 32] = unsafe { std::mem::transmute(settings) };
        assert_eq!(settings.bytes(), record);
    }

    #[test]
    fn a_thread_has_got_what_it_ran_and_what_it_runs() {
        // Safety: every field may be zero.
        let thread: KernelThread = unsafe { std::mem::zeroed() };
        thread.ran.store(500, Ordering::Relaxed);
        thread.since.store(1_000, Ordering::Relaxed);
        thread.on.store(-1, Ordering::Relaxed);
        assert_eq!(thread.ran(1_700), 500);
        thread.on.store(3, Ordering::Relaxed);
        assert_eq!(thread.ran(1_700), 1_200);
        // The clock was read before the thread came to the CPU.
        assert_eq!(thread.ran(900), 500);
    }

    #[test]
    fn a_text_ends_with_a_zero() {
        let bytes = |text: &[u8]| text.iter().map(|&byte| AtomicU8::new(byte)).collect::<Vec<_>>();
        assert_eq!(text(&bytes(b"stall\0x")), "stall");
        assert_eq!(text(&bytes(b"")), "");
    }
}
