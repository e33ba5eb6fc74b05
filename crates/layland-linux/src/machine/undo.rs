//! What a run changes on the machine, and a guardian that takes it back however the run ends.
//!
//! Before anything is changed, how to take it back ([`Undo`]) is told to a [`Guardian`]: a process that
//! outlives the run, whatever happens to it.
//!
//! It is forked before any thread exists that has a priority, is the leader of a process group of its
//! own (so that a signal to the run's group does not reach it), and waits for one of:
//!
//! | what | then it |
//! |---|---|
//! | the run says that it is over | ends |
//! | the run died (its pidfd, or the end of its pipe) | kills what it was told to kill, restores files, removes what it was told to remove, last told first; ends |
//! | the time of the run is long over | kills the run, then as above |
//!
//! The child calls nothing that allocates or locks: another thread of the parent may have held a lock
//! when the child was made.

use crate::kernel::sys;
use layland_model::Duration;
use std::ffi::CString;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// How to take one change back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undo {
    /// Write this into the file.
    Write(PathBuf, String),
    /// Remove the file, the empty folder, the cpuset or the instance of tracefs.
    Remove(PathBuf),
    /// Kill the process.
    Kill(u32),
}

/// For how long something is tried again: the bandwidth of a `SCHED_DEADLINE` thread that has ended
/// counts until the end of its period, and a cpuset is in use until its threads are gone.
const PATIENCE_NS: i64 = 6_000_000_000;
const PAUSE_NS: i64 = 20_000_000;

/// Tries until it works or [`PATIENCE_NS`] are over. Calls nothing that allocates.
fn patiently<E>(mut act: impl FnMut() -> Result<(), E>) -> Result<(), E> {
    let until = sys::monotonic_ns() + PATIENCE_NS;
    loop {
        let answer = act();
        if answer.is_ok() || sys::monotonic_ns() >= until {
            return answer;
        }
        sys::sleep_until(sys::monotonic_ns() + PAUSE_NS);
    }
}

impl Undo {
    /// What writes back what the file says now.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn restore(path: &Path) -> io::Result<Undo> {
        Ok(Undo::Write(path.to_owned(), std::fs::read_to_string(path)?))
    }

    /// Does it.
    ///
    /// # Errors
    /// If the kernel refuses for some seconds.
    pub fn apply(&self) -> io::Result<()> {
        match self {
            Undo::Write(path, value) => patiently(|| std::fs::write(path, value)),
            Undo::Remove(path) => remove(path),
            &Undo::Kill(pid) => {
                let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
                let pid = pid.ok_or(io::ErrorKind::NotFound)?;
                Ok(rustix::process::kill_process(pid, rustix::process::Signal::KILL)?)
            }
        }
    }
}

/// Removes a file, an empty folder, a cpuset, whose threads go to its parent, or an instance of
/// tracefs. That it does not exist is no error.
///
/// # Errors
/// If the kernel refuses for some seconds.
pub fn remove(path: &Path) -> io::Result<()> {
    patiently(|| {
        if !path.exists() {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            for list in ["tasks", "cgroup.threads"] {
                let members = std::fs::read_to_string(path.join(list)).unwrap_or_default();
                for member in members.lines() {
                    // A thread that has just ended need not be moved.
                    let _ = std::fs::write(parent.join(list), member);
                }
            }
        }
        if path.is_dir() { std::fs::remove_dir(path) } else { std::fs::remove_file(path) }
    })
}

/// How much the guardian can remember, in bytes.
const MEMORY: usize = 64 << 10;
/// A message: its kind, the length of a path with its end, the length of a value.
const HEADER: usize = 5;
const WRITE: u8 = b'W';
const REMOVE: u8 = b'R';
const KILL: u8 = b'K';
const OVER: u8 = b'.';

/// The run's end of it.
#[derive(Debug)]
pub struct Guardian {
    pid: rustix::process::Pid,
    pipe: Option<std::fs::File>,
    /// How much of its memory is used.
    told: usize,
}

impl Guardian {
    /// Forks a guardian of this process that ends it after some time.
    ///
    /// # Errors
    /// If the kernel refuses a pipe, a pidfd or a process.
    pub fn start(most: Duration) -> io::Result<Guardian> {
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let own = rustix::process::getpid();
        let run = rustix::process::pidfd_open(own, rustix::process::PidfdFlags::empty())?;
        let until_ns = sys::monotonic_ns().saturating_add(most.ns());
        // Safety: the child calls only what is safe after a fork, and never returns.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                // Not dropped, because that would be too late to matter: the parent must be the only
                // one who can write.
                // Safety: the descriptor belongs to the child alone.
                unsafe { libc::close(writer.as_raw_fd()) };
                guard(&reader, &run, own, until_ns)
            }
            pid => {
                let pid = rustix::process::Pid::from_raw(pid);
                let pid = pid.ok_or_else(|| io::Error::other("a process without a number"))?;
                Ok(Guardian { pid, pipe: Some(writer.into()), told: 0 })
            }
        }
    }

    /// To be called before the change is made.
    ///
    /// # Errors
    /// If the guardian is gone. Then the change must not be made.
    pub fn remember(&mut self, undo: &Undo) -> io::Result<()> {
        match undo {
            Undo::Write(path, value) => self.send(WRITE, path, value.as_bytes()),
            Undo::Remove(path) => self.send(REMOVE, path, &[]),
            Undo::Kill(pid) => self.send(KILL, Path::new(""), &pid.to_ne_bytes()),
        }
    }

    fn send(&mut self, kind: u8, path: &Path, value: &[u8]) -> io::Result<()> {
        use std::os::unix::ffi::OsStrExt;
        let path = CString::new(path.as_os_str().as_bytes())?;
        let path = path.as_bytes_with_nul();
        let lengths = (u16::try_from(path.len()), u16::try_from(value.len()));
        let (Ok(path_length), Ok(value_length)) = lengths else {
            return Err(io::Error::other("too long to be remembered"));
        };
        self.told += HEADER + path.len() + value.len();
        if self.told > MEMORY {
            return Err(io::Error::other("more than can be remembered"));
        }
        let mut message = vec![kind];
        message.extend(path_length.to_ne_bytes());
        message.extend(value_length.to_ne_bytes());
        message.extend(path);
        message.extend(value);
        self.pipe
            .as_mut()
            .ok_or_else(|| io::Error::other("the guardian is gone"))?
            .write_all(&message)
    }

    /// The run is over, and has undone everything itself.
    pub fn dismiss(&mut self) {
        let Some(mut pipe) = self.pipe.take() else { return };
        let _ = pipe.write_all(&[OVER]);
        drop(pipe);
        let _ = rustix::process::waitpid(Some(self.pid), rustix::process::WaitOptions::empty());
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        // Without `dismiss`, the guardian sees the end of the pipe, and undoes what is to be undone.
        if self.pipe.take().is_some() {
            let _ = rustix::process::waitpid(Some(self.pid), rustix::process::WaitOptions::empty());
        }
    }
}

/// The life of the guardian.
fn guard(pipe: &OwnedFd, run: &OwnedFd, run_pid: rustix::process::Pid, until_ns: i64) -> ! {
    // Each of these may fail without harm.
    let _ = rustix::process::setsid();
    let _ = sys::set_fifo(sys::Tid::own(), sys::MANAGER - 1);
    sys::name_thread("layland-guard");
    close_others(pipe.as_fd(), run.as_fd());
    let mut memory = [0u8; MEMORY];
    let mut filled = 0;
    let mut is_over = false;
    loop {
        let left = until_ns - sys::monotonic_ns();
        if left <= 0 {
            let _ = rustix::process::kill_process(run_pid, rustix::process::Signal::KILL);
            break;
        }
        let timeout =
            rustix::time::Timespec { tv_sec: left / 1_000_000_000, tv_nsec: left % 1_000_000_000 };
        use rustix::event::{PollFd, PollFlags, poll};
        let mut fds = [PollFd::new(pipe, PollFlags::IN), PollFd::new(run, PollFlags::IN)];
        if poll(&mut fds, Some(&timeout)).is_err() {
            continue;
        }
        if !fds[0].revents().is_empty() {
            match rustix::io::read(pipe, &mut memory[filled..]) {
                Ok(0) => break,
                Ok(count) => {
                    filled += count;
                    is_over = says_over(&memory[..filled]);
                }
                Err(_) => {}
            }
        } else if !fds[1].revents().is_empty() {
            break;
        }
        if is_over {
            break;
        }
    }
    if !is_over {
        undo(&memory[..filled]);
    }
    // Safety: ends this process at once, without running anything of the parent's.
    unsafe { libc::_exit(0) }
}

/// Closes what the child inherited and does not need: whoever reads the output of the run waits for
/// its end.
fn close_others(one: BorrowedFd<'_>, two: BorrowedFd<'_>) {
    let (a, b) = (one.as_raw_fd() as u32, two.as_raw_fd() as u32);
    let (low, high) = (a.min(b), a.max(b));
    let close = |from: u32, to: u32| {
        if from <= to {
            // Safety: nothing in this process uses these descriptors any more.
            unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) };
        }
    };
    close(0, low.saturating_sub(1));
    close(low + 1, high.saturating_sub(1));
    close(high + 1, u32::MAX);
}

/// What the guardian was told to undo.
struct Message<'a> {
    kind: u8,
    path: &'a [u8],
    value: &'a [u8],
    /// What follows.
    rest: &'a [u8],
}

fn message(bytes: &[u8]) -> Option<Message<'_>> {
    let (header, rest) = bytes.split_at_checked(HEADER)?;
    let length = |at: usize| usize::from(u16::from_ne_bytes([header[at], header[at + 1]]));
    let (path, rest) = rest.split_at_checked(length(1))?;
    let (value, rest) = rest.split_at_checked(length(3))?;
    Some(Message { kind: header[0], path, value, rest })
}

fn says_over(mut bytes: &[u8]) -> bool {
    loop {
        if bytes.first() == Some(&OVER) {
            return true;
        }
        match message(bytes) {
            Some(Message { rest, .. }) => bytes = rest,
            None => return false,
        }
    }
}

/// Undoes what the messages say, last first.
fn undo(bytes: &[u8]) {
    let Some(Message { kind, path, value, rest }) = message(bytes) else { return };
    undo(rest);
    let is_path = path.last() == Some(&0);
    match kind {
        WRITE if is_path => {
            let _ = patiently(|| {
                // Safety: the path ends with a zero, and the value is as long as is said.
                let written = unsafe {
                    let flags = libc::O_WRONLY | libc::O_TRUNC | libc::O_CLOEXEC;
                    let file = libc::open(path.as_ptr().cast(), flags);
                    let written = libc::write(file, value.as_ptr().cast(), value.len());
                    libc::close(file);
                    written
                };
                usize::try_from(written).map(|_| ())
            });
        }
        REMOVE if is_path => {
            let _ = patiently(|| {
                // Safety: the path ends with a zero.
                let is_gone = unsafe {
                    libc::unlink(path.as_ptr().cast()) == 0
                        || libc::rmdir(path.as_ptr().cast()) == 0
                        || libc::access(path.as_ptr().cast(), libc::F_OK) != 0
                };
                if is_gone { Ok(()) } else { Err(()) }
            });
        }
        KILL => {
            if let Ok(pid) = value.try_into().map(i32::from_ne_bytes)
                && let Some(pid) = rustix::process::Pid::from_raw(pid)
            {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_taken_back_in_reverse() {
        let folder = std::env::temp_dir().join(format!("layland-undo-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("inner")).unwrap();
        let file = folder.join("value");
        std::fs::write(&file, "now").unwrap();
        let undos = [
            Undo::Write(file.clone(), "first".to_owned()),
            Undo::Write(file.clone(), "second".to_owned()),
            Undo::Remove(folder.join("inner")),
            Undo::Remove(folder.join("never made")),
        ];
        let mut guardian = Guardian::start(Duration::from_secs(60)).unwrap();
        for undo in &undos {
            guardian.remember(undo).unwrap();
        }
        drop(guardian);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "first");
        assert!(!folder.join("inner").exists());
        // The same, without a guardian.
        std::fs::create_dir(folder.join("inner")).unwrap();
        std::fs::write(&file, "now").unwrap();
        undos.iter().rev().for_each(|undo| undo.apply().unwrap());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "first");
        assert!(!folder.join("inner").exists());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_guardian_does_not_take_more_than_it_can_remember() {
        let mut guardian = Guardian::start(Duration::from_secs(60)).unwrap();
        let undo = Undo::Write("/no/such/file".into(), "x".repeat(60_000));
        guardian.remember(&undo).unwrap();
        assert!(guardian.remember(&undo).is_err());
        guardian.dismiss();
    }
}
