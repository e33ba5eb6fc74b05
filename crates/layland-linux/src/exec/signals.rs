//! Signals, waited for: nothing runs at any point of the program.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// What is waited for. Those of the terminal and of whoever stops a service are passed on to the program.
const AWAITED: [i32; 7] = [
    libc::SIGCHLD,
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
];

/// A signal that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Its number.
    pub number: i32,
    /// Whether the kernel sent it itself, as it does for Ctrl-C to the process group in the foreground.
    pub is_of_terminal: bool,
}

impl Signal {
    /// Whether a child changed its state.
    pub fn is_of_child(self) -> bool {
        self.number == libc::SIGCHLD
    }

    /// Whether it asks to end.
    pub fn asks_to_end(self) -> bool {
        matches!(self.number, libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT)
    }
}

/// What a program that is started is to find as we have found it: what becomes of these signals.
const KEPT: [i32; 2] = [libc::SIGPIPE, libc::SIGCHLD];

/// What [`KEPT`] were before `main`: the runtime of Rust ignores `SIGPIPE` before anything of ours runs.
static IGNORED_AT_START: [AtomicBool; KEPT.len()] = [const { AtomicBool::new(false) }; KEPT.len()];

/// The loader calls it before the runtime of Rust starts.
#[used]
// Safety: the section is a list of functions that take what `main` takes, or nothing.
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = note_ignored;

extern "C" fn note_ignored() {
    for (number, ignored) in KEPT.into_iter().zip(&IGNORED_AT_START) {
        // Safety: zero is a valid action, and it is valid for writing.
        let handler = unsafe {
            let mut now: libc::sigaction = std::mem::zeroed();
            libc::sigaction(number, std::ptr::null(), &raw mut now);
            now.sa_sigaction
        };
        ignored.store(handler == libc::SIG_IGN, Ordering::Relaxed);
    }
}

/// The signals of this process wait until they are asked for, as long as this lives.
#[derive(Debug)]
pub struct Signals {
    awaited: libc::sigset_t,
    /// The mask that was there, which the program gets.
    before: libc::sigset_t,
}

impl Signals {
    /// From now on.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn block() -> io::Result<Signals> {
        // Safety: both are valid for writing; every other bit pattern is a set as well.
        let (awaited, before) = unsafe {
            let mut awaited: libc::sigset_t = std::mem::zeroed();
            let mut before: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut awaited);
            for number in AWAITED {
                libc::sigaddset(&raw mut awaited, number);
            }
            // The kernel buries the children of whoever ignores it, and says nothing of how they have ended.
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            match libc::pthread_sigmask(libc::SIG_BLOCK, &raw const awaited, &raw mut before) {
                0 => (awaited, before),
                error => return Err(io::Error::from_raw_os_error(error)),
            }
        };
        Ok(Signals { awaited, before })
    }

    /// The next signal, if one comes within this time.
    #[must_use = "a signal that is dropped is lost: it comes once"]
    pub fn wait(&self, milliseconds: u32) -> Option<Signal> {
        let time = libc::timespec {
            tv_sec: i64::from(milliseconds / 1000),
            tv_nsec: i64::from(milliseconds % 1000) * 1_000_000,
        };
        // Safety: zero is a valid siginfo, and all three outlive the call.
        let (number, code) = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let number =
                libc::sigtimedwait(&raw const self.awaited, &raw mut info, &raw const time);
            (number, info.si_code)
        };
        (number > 0).then_some(Signal { number, is_of_terminal: code == libc::SI_KERNEL })
    }

    /// A descriptor that becomes readable when one has come, which is then [asked for](Self::wait).
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn bell(&self) -> io::Result<OwnedFd> {
        // Safety: the set is whole, and the descriptor that comes is new.
        unsafe {
            match libc::signalfd(-1, &raw const self.awaited, libc::SFD_CLOEXEC) {
                -1 => Err(io::Error::last_os_error()),
                fd => Ok(OwnedFd::from_raw_fd(fd)),
            }
        }
    }

    /// In a child, before it becomes a program: signals are as they were before this was made. Allocates nothing.
    pub(super) fn restore_in_child(&self) {
        // Safety: the set is whole, and these actions run nothing of ours.
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
        // Safety: the set is whole.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut());
        }
    }
}
