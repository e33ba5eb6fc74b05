//! Signals that the program waits for; no handler interrupts it.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// The signals that are waited for. Those from the terminal or a service manager are passed on to
/// the program.
const AWAITED: [i32; 7] = [
    libc::SIGCHLD,
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
];

/// A signal that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Its number.
    pub number: i32,
    /// True if the kernel sent it, as it does for Ctrl-C to the foreground process group.
    pub is_of_terminal: bool,
}

impl Signal {
    /// Returns true if it reports a change of a child's state.
    pub fn is_of_child(self) -> bool {
        self.number == libc::SIGCHLD
    }

    /// Returns true if it requests termination.
    pub fn asks_to_end(self) -> bool {
        matches!(self.number, libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT)
    }
}

/// The signals whose disposition a started program inherits as this process found it.
const KEPT: [i32; 2] = [libc::SIGPIPE, libc::SIGCHLD];

/// True for each signal of [`KEPT`] that was ignored before `main`. The runtime of Rust ignores
/// `SIGPIPE` before `main` runs, so this must be recorded earlier.
static IGNORED_AT_START: [AtomicBool; KEPT.len()] = [const { AtomicBool::new(false) }; KEPT.len()];

/// The loader calls it before the runtime of Rust starts.
#[used]
// Safety: the section is a list of functions that take the arguments of `main`, or none.
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = note_ignored;

extern "C" fn note_ignored() {
    for (number, ignored) in KEPT.into_iter().zip(&IGNORED_AT_START) {
        // Safety: zero is a valid action, and `now` is valid for writing.
        let handler = unsafe {
            let mut now: libc::sigaction = std::mem::zeroed();
            libc::sigaction(number, std::ptr::null(), &raw mut now);
            now.sa_sigaction
        };
        ignored.store(handler == libc::SIG_IGN, Ordering::Relaxed);
    }
}

/// Blocks the signals of this process while it lives, so that they stay pending until they are
/// read.
#[derive(Debug)]
pub struct Signals {
    awaited: libc::sigset_t,
    /// The former signal mask, which the program inherits.
    before: libc::sigset_t,
}

impl Signals {
    /// Blocks the signals from now on.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses.
    pub fn block() -> io::Result<Signals> {
        // Safety: both are valid for writing; every other bit pattern is a set as well.
        let (awaited, before) = unsafe {
            let mut awaited: libc::sigset_t = std::mem::zeroed();
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut awaited);
            for number in AWAITED {
                libc::sigaddset(&raw mut awaited, number);
            }
            // If a process ignores `SIGCHLD`, the kernel reaps its children and does not report how
            // they ended.
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            match libc::pthread_sigmask(libc::SIG_BLOCK, &raw const awaited, &raw mut before) {
                0 => (awaited, before),
                error => return Err(io::Error::from_raw_os_error(error)),
            }
        };
        Ok(Signals { awaited, before })
    }

    /// Returns the next signal, if one arrives within this time.
    #[must_use = "a signal that is dropped is lost: it comes once"]
    pub fn wait(&self, milliseconds: u32) -> Option<Signal> {
        let time = libc::timespec {
            tv_sec: i64::from(milliseconds / 1000),
            tv_nsec: i64::from(milliseconds % 1000) * 1_000_000,
        };
        // Safety: zero is a valid `siginfo`, and all three values outlive the call.
        let (number, code) = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let number =
                libc::sigtimedwait(&raw const self.awaited, &raw mut info, &raw const time);
            (number, info.si_code)
        };
        (number > 0).then_some(Signal { number, is_of_terminal: code == libc::SI_KERNEL })
    }

    /// Returns a descriptor that becomes readable when a signal is pending, which
    /// [`wait`](Self::wait) then returns.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses.
    pub fn bell(&self) -> io::Result<OwnedFd> {
        // Safety: the set is initialized, and the returned descriptor is new.
        unsafe {
            match libc::signalfd(-1, &raw const self.awaited, libc::SFD_CLOEXEC) {
                -1 => Err(io::Error::last_os_error()),
                fd => Ok(OwnedFd::from_raw_fd(fd)),
            }
        }
    }

    /// Restores the signals in a child to what they were before `block`, before it becomes a
    /// program. Allocates nothing.
    pub(super) fn restore_in_child(&self) {
        // Safety: the set is initialized, and these actions run no code of this process.
        unsafe {
            for (number, ignored) in KEPT.into_iter().zip(&IGNORED_AT_START) {
                let is_ignored = ignored.load(Ordering::Relaxed);
                libc::signal(number, if is_ignored { libc::SIG_IGN } else { libc::SIG_DFL });
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut());
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // Ctrl-C may end the program before it arrives here. It must not end this process, too, once it
        // is no longer blocked: the exit code is that of the program.
        while self.wait(0).is_some() {}
        // Safety: the set is initialized.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_comes_last_ends_nothing() {
        let signals = Signals::block().expect("the kernel allows it");
        for number in [libc::SIGUSR1, libc::SIGINT] {
            // Safety: the signal is blocked in this thread, and goes to this thread.
            assert_eq!(unsafe { libc::raise(number) }, 0);
        }
        drop(signals);
    }
}
