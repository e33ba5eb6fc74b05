//! A process that outlives a run, and reverts the changes of the run however the run ends.
//!
//! It is forked before any thread has a real-time priority, becomes the leader of its own session,
//! and reports that it is ready; only then may the run change anything. So a signal to the process
//! group of the run either comes before the first change or does not reach the guardian. Before
//! each change, the run sends it the way to revert the change ([`Undo`]). The guardian waits for
//! one of these events:
//!
//! | event | action |
//! |---|---|
//! | the run reports its end | exit |
//! | the run died (its pidfd, or the end of its pipe) | revert all changes, the last one first; exit |
//! | the time of the run is long over | kill the run, then as above |
//!
//! The child calls no function that allocates or locks, because another thread of the parent may
//! have held a lock at the fork.

use super::undo::{self, Undo};
use crate::kernel::sys;
use layland_model::Duration;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
};
use std::ffi::{CStr, CString};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// The size of the guardian's memory, in bytes.
const MEMORY: usize = 64 << 10;
/// The length of a message's header: its kind, and the lengths of two strings with their final
/// zeros.
const HEADER: usize = 5;
/// Final bytes instead of a message: the run has reverted everything itself; or it lives, and the
/// guardian must revert everything now.
const OVER: u8 = b'.';
/// See [`OVER`].
const NOW: u8 = b'!';
/// The time after which a process counts as stopped, for actions that take microseconds.
const PATIENCE_NS: i64 = 5_000_000_000;
/// The time that reverting everything may take, if the kernel refuses for a while.
const TAKING_BACK_NS: i64 = 60_000_000_000;

/// The run's handle of its guardian.
#[derive(Debug)]
pub struct Guardian {
    pid: Pid,
    process: OwnedFd,
    pipe: Option<std::fs::File>,
    /// The number of bytes of its memory in use.
    told: usize,
}

impl Guardian {
    /// Forks a guardian of this process that ends the process after `most`. It is ready on return.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses a pipe, a pidfd or a process, or the process does not
    /// run.
    pub fn start(most: Duration) -> io::Result<Guardian> {
        use rustix::pipe::{PipeFlags, pipe_with};
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
        let (said, says) = pipe_with(PipeFlags::CLOEXEC)?;
        let own = pidfd_open(rustix::process::getpid(), PidfdFlags::empty())?;
        let until_ns = sys::monotonic_ns().saturating_add(most.ns());
        // Safety: the child calls only functions that are safe after a fork, and never returns.
        let pid = match unsafe { libc::fork() } {
            -1 => return Err(io::Error::last_os_error()),
            0 => guard(&reader, says, &own, until_ns),
            pid => pid,
        };
        let pid =
            Pid::from_raw(pid).ok_or_else(|| io::Error::other("a process without a number"))?;
        // The child has not been reaped yet, so its number cannot have been reused.
        let process = pidfd_open(pid, PidfdFlags::empty())?;
        drop(says);
        // A stopped guardian reads nothing, and must not block the run.
        rustix::io::ioctl_fionbio(&writer, true)?;
        let mut guardian = Guardian { pid, process, pipe: Some(writer.into()), told: 0 };
        let mut ready = [0];
        let is_ready = is_ready(said.as_fd(), PollFlags::IN, PATIENCE_NS);
        if !is_ready || rustix::io::read(&said, &mut ready)? == 0 {
            guardian.pipe = None;
            guardian.reap(0);
            return Err(io::Error::new(io::ErrorKind::TimedOut, "it does not answer"));
        }
        Ok(guardian)
    }

    /// Returns its process.
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Sends the guardian the way to revert a change. To be called before the change is made.
    ///
    /// # Errors
    /// Returns an error if the guardian is gone or does not read. The change must not be made then.
    pub fn remember(&mut self, undo: &Undo) -> io::Result<()> {
        match undo {
            Undo::Remove(path) => self.send(undo::REMOVE_MESSAGE, path, Path::new("")),
            Undo::Release(path) => {
                self.send(undo::RELEASE_MESSAGE, path, &super::register::lock_of(path))
            }
            Undo::Threads(path) => self.send(undo::THREADS_MESSAGE, path, Path::new("")),
            Undo::Pause(time, lock) => {
                let ns = time.ns().max(0).to_string();
                self.send(undo::PAUSE_MESSAGE, Path::new(&ns), lock)
            }
        }
    }

    fn send(&mut self, kind: u8, path: &Path, lock: &Path) -> io::Result<()> {
        use std::os::unix::ffi::OsStrExt;
        let texts = [path, lock].map(|path| CString::new(path.as_os_str().as_bytes()));
        let [path, lock] = texts;
        let (path, lock) = (path?, lock?);
        let texts = [path.as_bytes_with_nul(), lock.as_bytes_with_nul()];
        let mut message = vec![kind];
        for text in texts {
            let length = u16::try_from(text.len());
            let length = length.map_err(|_| io::Error::other("too long to be remembered"))?;
            message.extend(length.to_ne_bytes());
        }
        texts.iter().for_each(|text| message.extend(*text));
        if self.told + message.len() > MEMORY {
            return Err(io::Error::other("more than can be remembered"));
        }
        self.told += message.len();
        self.write(&message)
    }

    fn write(&mut self, mut message: &[u8]) -> io::Result<()> {
        let pipe = self.pipe.as_mut().ok_or_else(|| io::Error::other("the guardian is gone"))?;
        while !message.is_empty() {
            match pipe.write(message) {
                Ok(count) => message = &message[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !is_ready(pipe.as_fd(), PollFlags::OUT, PATIENCE_NS) {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Ends the guardian after the run has reverted everything itself. A guardian that does not
    /// exit within some seconds, because it is stopped, is killed.
    pub fn dismiss(&mut self) {
        if self.pipe.is_none() {
            return;
        }
        let _ = self.write(&[OVER]);
        self.pipe = None;
        self.reap(PATIENCE_NS);
    }

    /// Waits until it has exited, and kills it if it does not.
    fn reap(&self, patience_ns: i64) {
        if !is_ready(self.process.as_fd(), PollFlags::IN, patience_ns) {
            let _ = pidfd_send_signal(&self.process, Signal::KILL);
        }
        // Use its descriptor: if another part of the program reaps every child, the number may be
        // reused.
        let _ = waitid(WaitId::PidFd(self.process.as_fd()), WaitIdOptions::EXITED);
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        // The changes have not been reverted, so the guardian must do so.
        if self.pipe.is_some() {
            let _ = self.write(&[NOW]);
            self.pipe = None;
            self.reap(TAKING_BACK_NS);
        }
    }
}

/// Returns true if a descriptor becomes ready within this time.
fn is_ready(descriptor: BorrowedFd<'_>, what: PollFlags, patience_ns: i64) -> bool {
    let until = sys::monotonic_ns() + patience_ns;
    loop {
        let left = (until - sys::monotonic_ns()).max(0);
        match poll(&mut [PollFd::from_borrowed_fd(descriptor, what)], Some(&timeout(left))) {
            Ok(0) => return false,
            Ok(_) => return true,
            // After a signal, check the clock again.
            Err(_) if left > 0 => {}
            Err(_) => return false,
        }
    }
}

fn timeout(ns: i64) -> rustix::time::Timespec {
    rustix::time::Timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 }
}

/// Runs the guardian.
fn guard(pipe: &OwnedFd, says: OwnedFd, run: &OwnedFd, until_ns: i64) -> ! {
    // Each of these may fail without harm. The priority comes first: a new session is a new group of
    // the kernel's fair class (autogroup), in which an ordinary thread may wait for long beside a
    // busy group.
    let _ = sys::set_fifo(sys::Tid::own(), sys::MANAGER - 1);
    let _ = rustix::process::setsid();
    sys::name_thread("layland-guard");
    // The guardian must not keep the folder of the run from being unmounted.
    // Safety: the path is zero-terminated.
    let _ = unsafe { libc::chdir(c"/".as_ptr()) };
    // This also closes the child's copy of the pipe's other end: only the run must be able to
    // write.
    close_others([pipe.as_fd(), says.as_fd(), run.as_fd()]);
    let _ = rustix::io::write(&says, &[1]);
    drop(says);
    // One byte more than all messages, so that the final byte always fits.
    let mut memory = [0u8; MEMORY + 1];
    let mut filled = 0;
    let mut last = None;
    while last.is_none() {
        let left = until_ns - sys::monotonic_ns();
        if left <= 0 {
            let _ = pidfd_send_signal(run, Signal::KILL);
            // Wait until the run is gone, because its locks are released only then.
            let _ = is_ready(run.as_fd(), PollFlags::IN, PATIENCE_NS);
            break;
        }
        let mut fds = [PollFd::new(pipe, PollFlags::IN), PollFd::new(run, PollFlags::IN)];
        if poll(&mut fds, Some(&timeout(left))).is_err() {
            continue;
        }
        if !fds[0].revents().is_empty() {
            match rustix::io::read(pipe, &mut memory[filled..]) {
                Ok(0) => {
                    // A dying process closes one descriptor after the other. Its locks are released
                    // only once it is gone; until then they would look like those of another run.
                    let _ = is_ready(run.as_fd(), PollFlags::IN, PATIENCE_NS);
                    break;
                }
                Ok(count) => {
                    filled += count;
                    last = last_word(&memory[..filled]);
                }
                Err(_) => {}
            }
        } else if !fds[1].revents().is_empty() {
            break;
        }
    }
    if last != Some(OVER) {
        take_back(&memory[..filled]);
    }
    // Safety: ends this process at once, without running any code of the parent.
    unsafe { libc::_exit(0) }
}

/// Closes inherited descriptors that the child does not need: a process that reads the output of
/// the run waits until all copies are closed.
fn close_others(kept: [BorrowedFd<'_>; 3]) {
    let mut kept = kept.map(|descriptor| descriptor.as_raw_fd() as u32);
    kept.sort_unstable();
    let mut from = 0;
    for next in kept.into_iter().chain([u32::MAX]) {
        if from < next {
            close(from, next - 1);
        }
        from = next.saturating_add(1);
    }
}

/// Closes all descriptors of a range.
fn close(from: u32, to: u32) {
    // Safety: nothing in this process uses these descriptors any more.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) };
    if closed != 0 {
        // Before Linux 5.9, close them one by one, up to the limit of the process, which is usually
        // 1024.
        let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let most = u32::try_from(most.unwrap_or(1024)).unwrap_or(1024).min(1 << 16);
        for descriptor in from..=to.min(most) {
            // Safety: as above.
            unsafe { libc::close(descriptor as i32) };
        }
    }
}

/// A change that the guardian is to revert.
struct Message<'a> {
    kind: u8,
    path: &'a CStr,
    lock: &'a CStr,
    /// The bytes after this message.
    rest: &'a [u8],
}

fn message(bytes: &[u8]) -> Option<Message<'_>> {
    let (header, rest) = bytes.split_at_checked(HEADER)?;
    let length = |at: usize| usize::from(u16::from_ne_bytes([header[at], header[at + 1]]));
    let (path, rest) = rest.split_at_checked(length(1))?;
    let (lock, rest) = rest.split_at_checked(length(3))?;
    let path = CStr::from_bytes_with_nul(path).ok()?;
    let lock = CStr::from_bytes_with_nul(lock).ok()?;
    Some(Message { kind: header[0], path, lock, rest })
}

/// Returns the final byte of the run, if it has arrived.
fn last_word(mut bytes: &[u8]) -> Option<u8> {
    loop {
        match bytes.first() {
            Some(&word @ (OVER | NOW)) => return Some(word),
            Some(_) | None => bytes = message(bytes)?.rest,
        }
    }
}

/// Reverts the changes of the messages, the last one first.
fn take_back(bytes: &[u8]) {
    let Some(Message { kind, path, lock, rest }) = message(bytes) else { return };
    take_back(rest);
    // If this fails for some seconds, the change stays in the register, for `layland doctor`.
    let _ = undo::take_back(kind, path, lock);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guardian_takes_back_last_told_first() {
        let folder = std::env::temp_dir().join(format!("layland-guardian-{}", std::process::id()));
        let inner = folder.join("outer/inner");
        std::fs::create_dir_all(&inner).unwrap();
        let mut guardian = Guardian::start(Duration::from_secs(60)).unwrap();
        for path in [&folder, &folder.join("outer"), &inner, &folder.join("never made")] {
            guardian.remember(&Undo::Remove(path.clone())).unwrap();
        }
        drop(guardian);
        assert!(!folder.exists(), "only in this order are the folders empty");
    }

    #[test]
    fn a_guardian_is_ready_when_it_has_started() {
        for _ in 0..100 {
            let mut guardian = Guardian::start(Duration::from_secs(60)).unwrap();
            let group = rustix::process::getpgid(Some(guardian.pid)).unwrap();
            let place = format!("/proc/{}", guardian.pid.as_raw_nonzero());
            let cwd = std::fs::read_link(format!("{place}/cwd")).unwrap();
            let open = std::fs::read_dir(format!("{place}/fd")).unwrap().count();
            guardian.dismiss();
            assert_eq!(group, guardian.pid, "no signal to our group reaches it");
            assert_eq!(cwd, Path::new("/"));
            // These are its pipe, our pidfd, and for a moment the descriptor by which it reports
            // that it is ready.
            assert!(open <= 3, "{open} descriptors");
        }
    }

    #[test]
    fn a_guardian_that_is_dismissed_takes_nothing_back() {
        let folder = std::env::temp_dir().join(format!("layland-dismissed-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut guardian = Guardian::start(Duration::from_secs(60)).unwrap();
        guardian.remember(&Undo::Remove(folder.clone())).unwrap();
        // The messages fill the memory, but the final byte still fits.
        let mut name = folder.clone();
        while guardian.told < MEMORY {
            let left = MEMORY - guardian.told - (HEADER + 2);
            let length = left.min(4_000);
            // Any rest must have room for another message.
            let length =
                if (1..=HEADER + 2).contains(&(left - length)) { length - 16 } else { length };
            name.set_file_name("x".repeat(length - folder.parent().unwrap().as_os_str().len() - 1));
            guardian.remember(&Undo::Remove(name.clone())).unwrap();
        }
        assert_eq!(guardian.told, MEMORY);
        assert!(guardian.remember(&Undo::Remove(folder.clone())).is_err());
        let asked = sys::monotonic_ns();
        guardian.dismiss();
        let took = sys::monotonic_ns() - asked;
        assert!(took < PATIENCE_NS / 2, "the last word was not heard: it took {took} ns");
        assert!(folder.exists());
        std::fs::remove_dir(folder).unwrap();
    }
}
