//! A timer on which one thread sleeps, and that any thread can set.

use rustix::fd::OwnedFd;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::io;

/// A timer of the monotonic clock.
#[derive(Debug)]
pub struct Timer(OwnedFd);

impl Timer {
    /// Returns a timer that is not set.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses.
    pub fn new() -> io::Result<Timer> {
        Ok(Timer(timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?))
    }

    /// Sets the timer to this time, which may be past, and replaces an earlier setting.
    pub fn set(&self, at_ns: i64) {
        // Zero would clear it.
        let at_ns = at_ns.max(1);
        let at = Timespec { tv_sec: at_ns / 1_000_000_000, tv_nsec: at_ns % 1_000_000_000 };
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        let setting = Itimerspec { it_interval: none, it_value: at };
        // The descriptor is a timer and the time is valid, so this cannot fail.
        let _ = timerfd_settime(&self.0, TimerfdTimerFlags::ABSTIME, &setting);
    }

    /// Sleeps until the timer expires.
    pub fn wait(&self) {
        let mut count = [0; 8];
        // After an interruption the caller looks at the clock, as after an expiry.
        let _ = rustix::io::read(&self.0, &mut count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::sys::monotonic_ns;

    #[test]
    fn any_thread_sets_the_timer_and_the_last_setting_counts() {
        let timer = Timer::new().unwrap();
        let began = monotonic_ns();
        timer.set(began + 3_600_000_000_000);
        std::thread::scope(|scope| {
            scope.spawn(|| timer.set(began + 5_000_000));
            timer.wait();
        });
        let slept = monotonic_ns() - began;
        assert!((5_000_000..3_600_000_000_000).contains(&slept), "{slept}");
        // A time that is past expires at once.
        timer.set(0);
        timer.wait();
    }
}
