//! A program that waits, before its first instruction, until it has what it asked for.

use super::signals::{Signal, Signals};
use crate::kernel::sys::{self, Tid};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitOptions, WaitStatus, wait, waitpid};
use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

/// What the child is told: to become the program, or to wait on.
const START: u8 = 1;
/// See [`START`].
const WAKE: u8 = 2;

/// What becomes of `CAP_SYS_NICE`, if it came to us as an ambient capability and so would go on to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ambient {
    /// It was for us alone: with it, a program could take any class and priority, beside all that is admitted.
    Dropped,
    /// The program gets it, too.
    Kept,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Code(u8),
    /// By a signal.
    Signal(i32),
}

impl Ended {
    /// What shells make of it.
    pub fn code(self) -> u8 {
        match self {
            Ended::Code(code) => code,
            Ended::Signal(number) => 128u8.saturating_add(u8::try_from(number).unwrap_or(0)),
        }
    }
}

/// A program, our child.
#[derive(Debug)]
pub struct Program {
    pid: Pid,
    name: String,
    /// Closed without a word, it ends the child that waits.
    gate: Option<OwnedFd>,
    /// Why it could not become the program.
    answer: OwnedFd,
    /// Signals that came before it was the program, which gets them when it is.
    early: Vec<Signal>,
    ended: Option<Ended>,
}

impl Program {
    /// Forks a child that becomes the program when it is told to. It ends with `SIGTERM` if this process dies.
    ///
    /// # Errors
    /// If the command is empty or has a zero in it, or the kernel refuses a pipe or a process.
    pub fn hold(
        command: &[impl AsRef<OsStr>],
        signals: &Signals,
        ambient: Ambient,
    ) -> io::Result<Program> {
        let words: Result<Vec<CString>, _> =
            command.iter().map(|word| CString::new(word.as_ref().as_bytes())).collect();
        let words = words?;
        let mut pointers: Vec<*const libc::c_char> =
            words.iter().map(|word| word.as_ptr()).collect();
        pointers.push(std::ptr::null());
        // What it is called until it is the program, so that whoever looks for its first thread by name finds it.
        let file = words.first().map_or(&[][..], |word| word.to_bytes());
        let file = file.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        let name = String::from_utf8_lossy(file).into_owned();
        let (waits, gate) = pipe_with(PipeFlags::CLOEXEC)?;
        let (answer, answers) = pipe_with(PipeFlags::CLOEXEC)?;
        let parent = std::process::id();
        // All who were started and lost their parent come to us, so that they can be found.
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        // Safety: the child calls only what is safe after a fork, and never returns.
        let pid = match unsafe { libc::fork() } {
            -1 => return Err(io::Error::last_os_error()),
            0 => {
                drop(gate);
                sys::name_thread(&name);
                become_program(&pointers, &waits, &answers, (signals, ambient), parent)
            }
            pid => pid,
        };
        let pid =
            Pid::from_raw(pid).ok_or_else(|| io::Error::other("a process without a number"))?;
        Ok(Program { pid, name, gate: Some(gate), answer, early: Vec::new(), ended: None })
    }

    /// What it is called, before it is the program and mostly then, too.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its process, and its first thread.
    pub fn tid(&self) -> Tid {
        Tid(self.pid.as_raw_nonzero().get())
    }

    /// Wakes it for a moment, so that the kernel sees it on CPUs that it was moved to.
    pub fn wake(&self) {
        if let Some(gate) = &self.gate {
            let _ = rustix::io::write(gate, &[WAKE]);
        }
    }

    /// Lets it become the program.
    ///
    /// # Errors
    /// If there is no such program, or it must not be executed.
    pub fn start(&mut self) -> io::Result<()> {
        let Some(gate) = self.gate.take() else { return Ok(()) };
        rustix::io::write(&gate, &[START])?;
        drop(gate);
        let mut errno = [0; 4];
        match rustix::io::retry_on_intr(|| rustix::io::read(&self.answer, &mut errno))? {
            0 => {
                let early = std::mem::take(&mut self.early);
                early.into_iter().for_each(|signal| self.pass_on(signal));
                Ok(())
            }
            _ => Err(io::Error::from_raw_os_error(i32::from_ne_bytes(errno))),
        }
    }

    /// Passes a signal on, unless the kernel has sent it to the program as well. What waits to become the program gets
    /// it when it has.
    pub fn pass_on(&mut self, signal: Signal) {
        if self.gate.is_some() {
            self.early.push(signal);
            return;
        }
        if self.ended.is_some() || signal.is_of_child() || self.has_heard(signal) {
            return;
        }
        let Some(number) = rustix::process::Signal::from_named_raw(signal.number) else { return };
        let _ = rustix::process::kill_process(self.pid, number);
        if signal.is_of_terminal && number == rustix::process::Signal::HUP {
            // The kernel lets whoever it hangs up go on as well, so that one that is stopped can end.
            let _ = rustix::process::kill_process(self.pid, rustix::process::Signal::CONT);
        }
    }

    /// Whether a signal has come to the program without us. The terminal sends Ctrl-C to the process group in the
    /// foreground, which `timeout`, `setsid` and shells with job control leave; and when it hangs up, `SIGHUP` to the
    /// leader of the session alone.
    fn has_heard(&self, signal: Signal) -> bool {
        // Plain numbers: what was started into a PID namespace, as by `docker exec`, has a group and a session from
        // outside. The kernel calls them 0, which no `Pid` can be. No program can enter another group from outside,
        // so that two zeros are one group.
        // Safety: these look up numbers, and touch no memory.
        let (own_group, its_group, session) =
            unsafe { (libc::getpgrp(), libc::getpgid(self.pid.as_raw_pid()), libc::getsid(0)) };
        let is_leader = session == rustix::process::getpid().as_raw_pid();
        let is_hangup = signal.number == libc::SIGHUP;
        let is_in_group = its_group == own_group;
        signal.is_of_terminal && is_in_group && !(is_hangup && is_leader)
    }

    /// Buries every child that has ended, and says how the program did, if it has.
    pub fn ended(&mut self) -> Option<Ended> {
        // Any child: `waitpid(None, ..)` is about those of our own process group, which a program may leave.
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if pid == self.pid {
                self.ended = Some(ended(status));
            }
        }
        self.ended
    }
}

fn ended(status: WaitStatus) -> Ended {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Ended::Code(u8::try_from(code).unwrap_or(u8::MAX)),
        (None, signal) => Ended::Signal(signal.unwrap_or(libc::SIGKILL)),
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if self.gate.take().is_some() {
            let _ = waitpid(Some(self.pid), WaitOptions::empty());
        }
    }
}

/// The life of the child.
fn become_program(
    words: &[*const libc::c_char],
    waits: &OwnedFd,
    answers: &OwnedFd,
    (signals, ambient): (&Signals, Ambient),
    parent: u32,
) -> ! {
    // Safety: `words` ends with a null, as its texts end with zeros, and all of them live as long as the child.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
        let is_orphan = libc::getppid() != parent as i32;
        let mut word = [WAKE];
        while word == [WAKE] {
            let told = rustix::io::retry_on_intr(|| rustix::io::read(waits, &mut word));
            if is_orphan || told != Ok(1) {
                libc::_exit(0);
            }
        }
        signals.restore_in_child();
        if ambient == Ambient::Dropped {
            const LOWER: libc::c_int = libc::PR_CAP_AMBIENT_LOWER;
            // Refused before Linux 4.3, which has no such capabilities.
            libc::prctl(libc::PR_CAP_AMBIENT, LOWER, libc::c_ulong::from(sys::CAP_SYS_NICE), 0, 0);
        }
        libc::execvp(words[0], words.as_ptr());
        let errno = *libc::__errno_location();
        let _ = rustix::io::write(answers, &errno.to_ne_bytes());
        libc::_exit(127)
    }
}
