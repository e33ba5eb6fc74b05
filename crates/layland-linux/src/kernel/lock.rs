//! A lock for threads of different real-time priorities.
//!
//! A thread that waits lends its priority to the one that holds the lock (`FUTEX_LOCK_PI`), so that no
//! thread between the two can keep both from running. Without competition it costs no system call.

use super::sys::{self, Tid};
use rustix::thread::futex;
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The time between two attempts, if the kernel refuses to queue a thread.
const RETRY_NS: i64 = 100_000;

/// A value behind a lock.
pub struct PriorityLock<T> {
    /// The kernel id of the thread that holds it; zero if it is free. The kernel adds a bit while
    /// others wait.
    word: AtomicU32,
    is_poisoned: AtomicBool,
    value: UnsafeCell<T>,
}

// Safety: only the thread that holds the lock has a reference to the value, which may move from thread
// to thread.
unsafe impl<T: Send> Sync for PriorityLock<T> {}

impl<T> PriorityLock<T> {
    /// Returns a lock that is free.
    pub fn new(value: T) -> PriorityLock<T> {
        PriorityLock {
            word: AtomicU32::new(0),
            is_poisoned: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// Waits for the lock. `own` is the calling thread, which does not hold it.
    pub fn lock(&self, own: Tid) -> PriorityGuard<'_, T> {
        let number = own.0.unsigned_abs();
        let taken = self.word.compare_exchange(0, number, Ordering::Acquire, Ordering::Relaxed);
        if taken.is_err() {
            while futex::lock_pi(&self.word, futex::Flags::PRIVATE, None).is_err() {
                sys::sleep_until(sys::monotonic_ns() + RETRY_NS);
            }
            // The kernel has written the word; its store is not part of this program's order.
            std::sync::atomic::fence(Ordering::Acquire);
        }
        PriorityGuard { lock: self, number }
    }

    /// Returns true if a thread has panicked while it held the lock.
    pub fn is_poisoned(&self) -> bool {
        self.is_poisoned.load(Ordering::Acquire)
    }
}

/// Returns true if the kernel has such locks.
pub fn has_priority_locks() -> bool {
    // The calling thread does not hold this lock, which a kernel without them does not notice.
    let word = AtomicU32::new(0);
    futex::unlock_pi(&word, futex::Flags::PRIVATE) != Err(rustix::io::Errno::NOSYS)
}

/// The right to use the value. Frees the lock when it is dropped.
pub struct PriorityGuard<'a, T> {
    lock: &'a PriorityLock<T>,
    number: u32,
}

impl<T> Deref for PriorityGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // Safety: the guard exists only while its thread holds the lock.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for PriorityGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // Safety: as above, and the guard is borrowed mutably.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for PriorityGuard<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.lock.is_poisoned.store(true, Ordering::Release);
        }
        let word = &self.lock.word;
        let freed = word.compare_exchange(self.number, 0, Ordering::Release, Ordering::Relaxed);
        if freed.is_err() {
            std::sync::atomic::fence(Ordering::Release);
            // This fails only for a thread that does not hold the lock.
            let _ = futex::unlock_pi(word, futex::Flags::PRIVATE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_at_a_time_has_the_value() {
        if !has_priority_locks() {
            let line = "skipped: needs a kernel with locks that lend priorities\n";
            std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes()).ok();
            return;
        }
        let lock = PriorityLock::new((0u64, 0u64));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        let mut value = lock.lock(Tid::own());
                        value.0 += 1;
                        value.1 += 1;
                        assert_eq!(value.0, value.1);
                    }
                });
            }
        });
        assert_eq!(*lock.lock(Tid::own()), (80_000, 80_000));
        assert!(!lock.is_poisoned());
    }

    #[test]
    fn a_panic_frees_the_lock_and_leaves_a_mark() {
        let lock = PriorityLock::new(1);
        let result = std::thread::scope(|scope| {
            let panics = scope.spawn(|| {
                let _held = lock.lock(Tid::own());
                std::panic::resume_unwind(Box::new("on purpose"));
            });
            panics.join()
        });
        assert!(result.is_err());
        assert_eq!(*lock.lock(Tid::own()), 1);
        assert!(lock.is_poisoned());
    }
}
