//! A program that waits, before its first instruction, until it has its reservation.

use super::signals::{Signal, Signals};
use crate::kernel::sys::{self, Tid};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitOptions, WaitStatus, wait, waitpid};
use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

/// A byte that the child receives: become the program, or keep waiting.
const START: u8 = 1;
/// The byte to keep waiting; see [`START`].
const WAKE: u8 = 2;

/// The fate of `CAP_SYS_NICE`, if this process has it as an ambient capability, which programs
/// inherit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ambient {
    /// The program does not inherit it. With it, the program could take any class and priority,
    /// despite admission control.
    Dropped,
    /// The program inherits it.
    Kept,
}

/// The way in which a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Code(u8),
    /// By a signal.
    Signal(i32),
}

impl Ended {
    /// Returns the exit code by the convention of shells.
    pub fn code(self) -> u8 {
        match self {
            Ended::Code(code) => code,
            Ended::Signal(number) => 128u8.saturating_add(u8::try_from(number).unwrap_or(0)),
        }
    }
}

/// A program that is a child of this process.
#[derive(Debug)]
pub struct Program {
    pid: Pid,
    name: String,
    /// If it is closed without a byte, the waiting child exits.
    gate: Option<OwnedFd>,
    /// Carries the error if the child fails to become the program.
    answer: OwnedFd,
    /// Signals that arrived before the child became the program. They are delivered afterwards.
    early: Vec<Signal>,
    ended: Option<Ended>,
}

impl Program {
    /// Forks a child that becomes the program on [`start`](Self::start). The child receives
    /// `SIGTERM` if this process dies.
    ///
    /// # Errors
    /// Returns an error if the command is empty or contains a zero byte, or the kernel refuses a
    /// pipe or a process.
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
        // The name of the child until it is the program, so that a search for its first thread by
        // name succeeds.
        let file = words.first().map_or(&[][..], |word| word.to_bytes());
        let file = file.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        let name = String::from_utf8_lossy(file).into_owned();
        let (waits, gate) = pipe_with(PipeFlags::CLOEXEC)?;
        let (answer, answers) = pipe_with(PipeFlags::CLOEXEC)?;
        let parent = std::process::id();
        // Orphans among the descendants become children of this process, so that they can be found.
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        // Safety: the child calls only what is safe after a fork, and never returns.
        let pid = match unsafe { libc::fork() } {
            -1 => return Err(io::Error::last_os_error()),
            0 => {
                // The child must not keep its copy: the read end would never see that the gate is
                // closed.
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

    /// Returns the name of the child before it is the program, and usually afterwards.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the id of its process and first thread.
    pub fn tid(&self) -> Tid {
        Tid(self.pid.as_raw_nonzero().get())
    }

    /// Wakes the child for a moment, so that the kernel notices it on the CPUs that it was moved
    /// to.
    pub fn wake(&self) {
        if let Some(gate) = &self.gate {
            let _ = rustix::io::write(gate, &[WAKE]);
        }
    }

    /// Lets the child become the program.
    ///
    /// # Errors
    /// Returns an error if there is no such program, or it must not be executed.
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

    /// Passes a signal on, unless the kernel has sent it to the program as well. Before the child
    /// is the program, the signal is kept for later.
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
            // The kernel sends `SIGCONT` along with a hangup, too, so that a stopped process can
            // end.
            let _ = rustix::process::kill_process(self.pid, rustix::process::Signal::CONT);
        }
    }

    /// Returns true if the program has received a signal directly. The terminal sends Ctrl-C to the
    /// foreground process group, which `timeout`, `setsid` and shells with job control leave. When
    /// it hangs up, it sends `SIGHUP` only to the leader of the session.
    fn has_heard(&self, signal: Signal) -> bool {
        // Plain numbers instead of `Pid`: a process started into a PID namespace, as by `docker
        // exec`, has a group and a session from outside. The kernel reports them as 0, which a
        // `Pid` cannot represent. A program cannot enter another outside group, so two zeros mean
        // the same group.
        // Safety: these calls look up numbers and touch no memory.
        let (own_group, its_group, session) =
            unsafe { (libc::getpgrp(), libc::getpgid(self.pid.as_raw_pid()), libc::getsid(0)) };
        let is_leader = session == rustix::process::getpid().as_raw_pid();
        let is_hangup = signal.number == libc::SIGHUP;
        let is_in_group = its_group == own_group;
        signal.is_of_terminal && is_in_group && !(is_hangup && is_leader)
    }

    /// Reaps every child that has ended. Returns how the program ended, if it has.
    pub fn ended(&mut self) -> Option<Ended> {
        // Wait for any child: `waitpid(None, ..)` only covers the own process group, which a
        // program may leave.
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

/// Runs in the child: waits, then becomes the program or exits.
fn become_program(
    words: &[*const libc::c_char],
    waits: &OwnedFd,
    answers: &OwnedFd,
    (signals, ambient): (&Signals, Ambient),
    parent: u32,
) -> ! {
    // Safety: `words` ends with a null pointer, each string ends with a zero, and all of them live
    // as long as the child.
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
            // Linux before 4.3 refuses this, but it has no ambient capabilities either.
            libc::prctl(libc::PR_CAP_AMBIENT, LOWER, libc::c_ulong::from(sys::CAP_SYS_NICE), 0, 0);
        }
        libc::execvp(words[0], words.as_ptr());
        let errno = *libc::__errno_location();
        let _ = rustix::io::write(answers, &errno.to_ne_bytes());
        libc::_exit(127)
    }
}
