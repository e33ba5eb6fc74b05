//! The ways to revert changes of the machine, for each process that may have to: the run itself,
//! its [`Guardian`](super::guardian::Guardian), or `layland doctor --clean`.
//!
//! A setting that other runs may use at the same time is *shared*. A file of the register
//! ([`super::register`]) has the value from before the first change. Each run that uses the setting
//! holds a shared lock of that file, and a run that leaves without finding another lock restores
//! the setting. The kernel keeps the locks, so a dead run never counts.
//!
//! Except for [`remove`], no function here allocates: the guardian is a process that was forked
//! while another thread may have held a lock of the allocator.

use super::{ended, threads};
use crate::kernel::files::{self, Lock};
use crate::kernel::sys;
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The way to revert one change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undo {
    /// Remove the file, the empty folder, the cpuset or the instance of tracefs.
    Remove(PathBuf),
    /// Restore the shared setting that this file of a register is about, if no other run uses it.
    Release(PathBuf),
    /// Restore the threads of this list ([`threads`]), and remove the list.
    Threads(PathBuf),
    /// Wait until the kernel counts no ended thread before earlier changes are reverted. Those of
    /// the run have this period. The path is that of the register's lock.
    Pause(layland_model::Duration, PathBuf),
}

/// The time for which an action is retried: the bandwidth of a `SCHED_DEADLINE` thread that has
/// ended counts until the end of its period, and a cpuset is in use until its threads are gone.
const PATIENCE_NS: i64 = 6_000_000_000;
const PAUSE_NS: i64 = 20_000_000;
/// The time that the child of a dead run may take to end. It is an ordinary process, which waits for
/// a CPU like others.
const ORPHAN_NS: i64 = 3_000_000_000;
/// The time for which another process may hold a register: every use of it takes milliseconds.
const REGISTER_PATIENCE_NS: i64 = 10_000_000_000;

/// Retries an action until it succeeds or [`PATIENCE_NS`] have passed.
pub(crate) fn patiently<T>(mut act: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let until = sys::monotonic_ns() + PATIENCE_NS;
    loop {
        let answer = act();
        if answer.is_ok() || sys::monotonic_ns() >= until {
            return answer;
        }
        sys::sleep_until(sys::monotonic_ns() + PAUSE_NS);
    }
}

/// Removes a file, an empty folder, an instance of tracefs, or a cpuset, whose threads move to its
/// parent. It is not an error if the path does not exist.
///
/// # Errors
/// Returns an error if the kernel refuses for some seconds.
pub fn remove(path: &Path) -> io::Result<()> {
    let path = super::register::c_path(path)?;
    patiently(|| files::remove(&path))
}

/// The lock of the register: no other process reads or changes it until this is dropped.
#[derive(Debug)]
pub(crate) struct Hold(#[expect(dead_code, reason = "its lock is the point")] File);

/// Waits for the lock of a register, which is this file.
///
/// # Errors
/// Returns an error if another process, which may be stopped, holds it for too long.
pub(crate) fn hold(lock: &CStr) -> io::Result<Hold> {
    let file = files::open(lock, true)?;
    let until = sys::monotonic_ns() + REGISTER_PATIENCE_NS;
    while !files::lock(&file, Lock::Exclusive)? {
        if sys::monotonic_ns() >= until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        sys::sleep_until(sys::monotonic_ns() + 1_000_000);
    }
    Ok(Hold(file))
}

/// The largest length of a shared setting's file.
const LONGEST: usize = 8 << 10;
/// The ways to restore a shared setting: write the value after the path, or remove the path.
pub(crate) const WRITE: u8 = b'W';
/// See [`WRITE`].
pub(crate) const REMOVE: u8 = b'R';

/// The result of releasing a shared setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Released {
    /// Other runs use it, and the last of them will restore it.
    StillUsed,
    /// It has its former value.
    Restored,
}

/// Releases a shared setting. `file` is that of the register, and `own` the descriptor through
/// which this process holds it, if any. The caller must hold the register.
///
/// # Errors
/// Returns an error if the kernel refuses; the file then keeps the former value.
pub(crate) fn release(file: &CStr, own: Option<&File>, _hold: &Hold) -> io::Result<Released> {
    use std::os::unix::fs::FileExt;
    let opened = match own {
        Some(_) => None,
        None => match files::open(file, false) {
            Ok(opened) => Some(opened),
            // Another process has restored it.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {
                return Ok(Released::Restored);
            }
            Err(error) => return Err(error),
        },
    };
    let Some(open) = own.or(opened.as_ref()) else { return Ok(Released::Restored) };
    // A lock of this open file description itself does not count, only those of other users.
    if files::is_held(open, Lock::Exclusive)? {
        return Ok(Released::StillUsed);
    }
    let mut text = [0u8; LONGEST];
    let length = open.read_at(&mut text, 0)?;
    if let Some((kind, path, value)) = saved(&mut text[..length]) {
        if kind == WRITE { files::set(path, value)? } else { files::remove(path)? }
    }
    files::remove(file)?;
    Ok(Released::Restored)
}

/// Splits the content of a shared setting's file: the way to restore it, its path, its value.
fn saved(text: &mut [u8]) -> Option<(u8, &CStr, &[u8])> {
    let end = text.iter().position(|&byte| byte == b'\n')?;
    text[end] = 0;
    let (head, value) = text.split_at(end + 1);
    let (&kind, path) = head.split_first()?;
    Some((kind, CStr::from_bytes_with_nul(path).ok()?, value))
}

/// Reverts one change, which an [`Undo`] message describes: the kind, a path, and the lock of the
/// register for a shared setting. For the guardian.
pub(super) fn take_back(kind: u8, path: &CStr, lock: &CStr) -> io::Result<()> {
    patiently(|| match kind {
        REMOVE_MESSAGE => files::remove(path),
        RELEASE_MESSAGE => {
            ended::wait(path);
            release_of_the_dead(path, lock)
        }
        THREADS_MESSAGE => threads::restore_all(path),
        PAUSE_MESSAGE => {
            let digits = path.to_bytes().iter().map(|digit| i64::from(digit.wrapping_sub(b'0')));
            let ns = digits.fold(0_i64, |ns, digit| ns.saturating_mul(10).saturating_add(digit));
            ended::note(lock, ns.unsigned_abs());
            ended::wait(lock);
            Ok(())
        }
        _ => Ok(()),
    })
}

/// Releases a shared setting of a run that has died. A forked child that is not a program yet has
/// copies of the run's descriptors, and so of its locks, until it notices that the run is gone.
/// Such a child ends within milliseconds on a machine that is not busy, and would not restore the
/// setting, so wait for it.
fn release_of_the_dead(file: &CStr, lock: &CStr) -> io::Result<()> {
    let until = sys::monotonic_ns() + ORPHAN_NS;
    loop {
        let hold = hold(lock)?;
        let released = release(file, None, &hold)?;
        drop(hold);
        if released == Released::Restored || sys::monotonic_ns() >= until {
            return Ok(());
        }
        sys::sleep_until(sys::monotonic_ns() + PAUSE_NS);
    }
}

/// The kinds of [`take_back`]: this one removes a path.
pub(super) const REMOVE_MESSAGE: u8 = b'r';
/// See [`REMOVE_MESSAGE`].
pub(super) const RELEASE_MESSAGE: u8 = b's';
/// See [`REMOVE_MESSAGE`].
pub(super) const THREADS_MESSAGE: u8 = b't';
/// See [`REMOVE_MESSAGE`]. Its path is a number of nanoseconds.
pub(super) const PAUSE_MESSAGE: u8 = b'p';
