//! The kernel's rules for reservations, and the rights of the caller: both are checked before
//! admission.

use crate::kernel::sys::{self, Reservation, Tid};
use layland_model::Duration;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, io};

/// The kernel's limits for each single reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The shortest period: `sched_deadline_period_min_us`.
    pub shortest_period: Duration,
    /// The longest period: `sched_deadline_period_max_us`.
    pub longest_period: Duration,
}

/// A rule that a reservation breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// The runtime is too short.
    #[error("a runtime of {} ns: the kernel reserves at least {} ns", .0.ns(), Rules::SHORTEST_RUNTIME.ns())]
    Runtime(Duration),
    /// The period is out of range.
    #[error("a period of {period:#}: the kernel takes periods of {:#} to {:#}", rules.shortest_period, rules.longest_period)]
    Period {
        /// The period.
        period: Duration,
        /// The limits of this kernel.
        rules: Rules,
    },
}

impl Broken {
    /// Returns advice for the user.
    pub fn help(&self) -> &'static str {
        match self {
            Broken::Runtime(_) => "reserve more",
            Broken::Period { .. } => {
                "choose another period, or change the limits as root: sysctl kernel.sched_deadline_period_min_us, \
                 kernel.sched_deadline_period_max_us"
            }
        }
    }
}

impl Rules {
    /// The shortest runtime, which no setting changes.
    pub const SHORTEST_RUNTIME: Duration = Duration::from_ns(1024);

    /// The limits of a kernel with default settings.
    pub const USUAL: Rules = Rules {
        shortest_period: Duration::from_us(100),
        longest_period: Duration::from_us(1 << 22),
    };

    /// Reads the limits of this machine. Linux before 5.4 has no such settings, and accepts nearly
    /// every period.
    pub fn read() -> Rules {
        let read = |name: &str| {
            let text =
                fs::read_to_string(format!("/proc/sys/kernel/sched_deadline_period_{name}_us"));
            text.ok()?.trim().parse().ok().map(Duration::from_us)
        };
        Rules {
            shortest_period: read("min").unwrap_or(Rules::USUAL.shortest_period),
            longest_period: read("max").unwrap_or(Rules::USUAL.longest_period),
        }
    }

    /// Checks that the kernel accepts these times.
    ///
    /// # Errors
    /// Returns the rule that they break.
    pub fn check(&self, runtime: Duration, period: Duration) -> Result<(), Broken> {
        if !(self.shortest_period..=self.longest_period).contains(&period) {
            return Err(Broken::Period { period, rules: *self });
        }
        if runtime < Rules::SHORTEST_RUNTIME {
            return Err(Broken::Runtime(runtime));
        }
        Ok(())
    }
}

/// The privilege that a caller lacks to give threads a class of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Its capabilities are those of a user namespace.
    Namespace,
    /// It is root without the capability, as in a container.
    OfRoot,
    /// It is another user.
    OfUser,
}

impl Missing {
    /// Returns the privilege that is missing for `SCHED_DEADLINE`, if any.
    pub fn for_deadline() -> Option<Missing> {
        if sys::is_in_user_namespace() {
            return Some(Missing::Namespace);
        }
        if sys::has_capability(sys::CAP_SYS_NICE) {
            return None;
        }
        let is_root = rustix::process::geteuid().is_root();
        Some(if is_root { Missing::OfRoot } else { Missing::OfUser })
    }

    /// Returns the privilege that is missing for `SCHED_FIFO` with this priority, if any.
    pub fn for_fifo(priority: i32) -> Option<Missing> {
        let is_allowed = u64::from(priority.unsigned_abs()) <= sys::priority_limit();
        Missing::for_deadline().filter(|_| !is_allowed)
    }

    /// Returns advice for the user.
    pub fn help(self) -> &'static str {
        match self {
            Missing::Namespace => {
                "needs CAP_SYS_NICE outside of the user namespace, which a container without root does not have"
            }
            Missing::OfRoot => {
                "root has no CAP_SYS_NICE here, as in a container: start that with --cap-add SYS_NICE, as in \
                 docker run --cap-add SYS_NICE --ulimit rtprio=99"
            }
            Missing::OfUser => {
                "needs CAP_SYS_NICE: run it as root, or as a service with AmbientCapabilities=CAP_SYS_NICE"
            }
        }
    }
}

/// Checks whether the kernel lets a thread like the calling one enter `SCHED_DEADLINE`, with its
/// rights and on the CPUs that it may use. It does not check whether enough bandwidth is left. The
/// thread for this test sleeps, and reserves so little that the kernel counts nothing for it.
///
/// # Errors
/// Returns the error of the kernel.
pub fn try_deadline() -> io::Result<()> {
    let (tid, is_over) = (AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        let asked = std::thread::Builder::new().name("asked".to_owned());
        asked.spawn_scoped(scope, || {
            tid.store(Tid::own().0.unsigned_abs(), Ordering::SeqCst);
            sys::wake(&tid);
            while is_over.load(Ordering::SeqCst) == 0 {
                sys::wait_while(&is_over, 0);
            }
        })?;
        while tid.load(Ordering::SeqCst) == 0 {
            sys::wait_while(&tid, 0);
        }
        let thread = Tid(tid.load(Ordering::SeqCst).cast_signed());
        let longest = Rules::read().longest_period;
        let period = sys::UNCOUNTED_PERIOD.min(longest);
        let least = Reservation { runtime: Rules::SHORTEST_RUNTIME, deadline: period, period };
        let answer = sys::set_deadline(thread, least, false);
        // With so small a reservation, the thread would have no time to end.
        let _ = sys::set_ordinary(thread);
        is_over.store(1, Ordering::SeqCst);
        sys::wake(&is_over);
        match answer {
            // The kernel checks rights before bandwidth. After the end of a thread that had used up
            // its budget, the sum of Linux 6.18 was seen to be too small for about a period. While
            // it is negative, the smallest request is refused, and a larger one may be granted.
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => Ok(()),
            answer => answer,
        }
    })
}

/// Enters `SCHED_DEADLINE`. The kernel counts the bandwidth of other threads until their zero-lag
/// times, and its sum may be wrong for a moment, so a refusal is retried for a period, at least for
/// a second.
///
/// # Errors
/// Returns the error of the kernel.
pub(crate) fn enter_deadline(thread: Tid, reservation: Reservation) -> io::Result<()> {
    let until = sys::monotonic_ns() + reservation.period.ns().max(1_000_000_000);
    loop {
        match sys::set_deadline(thread, reservation, false) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                if sys::monotonic_ns() >= until {
                    return Err(error);
                }
                sys::sleep_until(sys::monotonic_ns() + 1_000_000);
            }
            answer => return answer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_taken_as_the_kernel_takes_them() {
        let rules = Rules::USUAL;
        let (ns, us, ms) = (Duration::from_ns, Duration::from_us, Duration::from_ms);
        assert_eq!(rules.check(ns(1024), us(100)), Ok(()));
        assert_eq!(rules.check(ms(1), us(4_194_304)), Ok(()));
        assert_eq!(rules.check(ns(1023), ms(1)), Err(Broken::Runtime(ns(1023))));
        for period in [us(99), us(4_194_305)] {
            assert_eq!(rules.check(ms(1), period), Err(Broken::Period { period, rules }));
        }
        // Compares the rules with this kernel's answers for the same times.
        if Missing::for_deadline().is_some() {
            return;
        }
        let rules = Rules::read();
        let (first, last) = (rules.shortest_period, rules.longest_period);
        let runtimes = [ns(0), ns(1023), ns(1024), ns(2048)];
        for period in [first - ns(1), first, last, last + ns(1)] {
            for runtime in runtimes {
                let asked = Reservation { runtime, deadline: period, period };
                let entered = std::thread::spawn(move || {
                    let answer = sys::set_deadline(Tid::own(), asked, false);
                    let _ = sys::set_ordinary(Tid::own());
                    answer
                });
                let said = entered.join().unwrap();
                let is_invalid =
                    said.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::EINVAL));
                assert_eq!(
                    rules.check(runtime, period).is_err(),
                    is_invalid,
                    "{asked:?}: {said:?}"
                );
            }
        }
    }

    #[test]
    fn asking_reserves_nothing() {
        for _ in 0..20 {
            match try_deadline() {
                Ok(()) => assert_eq!(Missing::for_deadline(), None),
                Err(error) => assert_eq!(error.raw_os_error(), Some(libc::EPERM), "{error}"),
            }
        }
    }
}
