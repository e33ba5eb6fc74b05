//! Files, for a process that has forked and may call nothing that allocates or takes a lock of the library:
//! paths end with a zero, and buffers are the caller's.
//!
//! Locks are those of an open file description (`F_OFD_SETLK`): two that the same process opened exclude each
//! other, closing another descriptor of the file does not release them, and the kernel releases them when their
//! process is gone, in whatever PID namespace it was. A lock to write needs a descriptor that may write, so that
//! whoever may only read the file cannot pretend to hold one.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd};

/// Opens a file to read and write, and makes it, for its owner alone, if that is asked for.
pub fn open(path: &CStr, create: bool) -> io::Result<File> {
    let flags = libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let flags = if create { flags | libc::O_CREAT } else { flags };
    regular(opened(path, flags)?)
}

/// Opens a file to read it.
pub fn open_to_read(path: &CStr) -> io::Result<File> {
    regular(opened(path, libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK)?)
}

/// A pipe of which nobody has the other end would be waited for, without `O_NONBLOCK`; nothing but a file is meant.
fn regular(file: File) -> io::Result<File> {
    // Safety: zero is a valid status, and it is valid for writing.
    let (result, found) = unsafe {
        let mut found: libc::stat = std::mem::zeroed();
        (libc::fstat(file.as_raw_fd(), &raw mut found), found)
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    match found.st_mode & libc::S_IFMT {
        libc::S_IFREG => Ok(file),
        _ => Err(io::Error::from_raw_os_error(libc::EINVAL)),
    }
}

fn opened(path: &CStr, flags: i32) -> io::Result<File> {
    // Safety: the path ends with a zero, and a third argument is there for `O_CREAT`.
    let descriptor = unsafe { libc::open(path.as_ptr(), flags, 0o600) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // Safety: the descriptor is new, and nobody else has it.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

/// Writes a value into a file of the kernel, with one call.
pub fn set(path: &CStr, value: &[u8]) -> io::Result<()> {
    use std::io::Write;
    let mut file = opened(path, libc::O_WRONLY | libc::O_TRUNC | libc::O_CLOEXEC)?;
    // The kernel takes a value whole or not at all.
    match file.write(value)? {
        written if written == value.len() => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// Removes a file, an empty folder, a cpuset without threads, or an instance of tracefs. That it does not
/// exist is no error.
pub fn remove(path: &CStr) -> io::Result<()> {
    // Safety: the path ends with a zero, in each call.
    let is_gone = unsafe {
        libc::unlink(path.as_ptr()) == 0
            || libc::rmdir(path.as_ptr()) == 0
            || libc::access(path.as_ptr(), libc::F_OK) != 0
    };
    if is_gone { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// What a lock of a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// Others may hold it like this, too.
    Shared,
    /// Nobody else may hold it.
    Exclusive,
}

fn request(lock: Lock) -> libc::flock {
    // Safety: zero is a valid flock: all of the file, and no process, as these locks demand.
    let mut request: libc::flock = unsafe { std::mem::zeroed() };
    request.l_type = match lock {
        Lock::Shared => libc::F_RDLCK as i16,
        Lock::Exclusive => libc::F_WRLCK as i16,
    };
    request.l_whence = libc::SEEK_SET as i16;
    request
}

/// Locks a file, unless others hold it: whether it did.
pub fn lock(file: &impl AsFd, lock: Lock) -> io::Result<bool> {
    let request = request(lock);
    let descriptor = file.as_fd().as_raw_fd();
    // Safety: the request is whole and outlives the call.
    if unsafe { libc::fcntl(descriptor, libc::F_OFD_SETLK, &raw const request) } == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EACCES) => Ok(false),
        Some(_) | None => Err(error),
    }
}

/// Whether others hold a file so that it could not be locked like this. Takes no lock.
pub fn is_held(file: &impl AsFd, lock: Lock) -> io::Result<bool> {
    let mut request = request(lock);
    let descriptor = file.as_fd().as_raw_fd();
    // Safety: the request is whole, valid for writing, and outlives the call.
    if unsafe { libc::fcntl(descriptor, libc::F_OFD_GETLK, &raw mut request) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(i32::from(request.l_type) != libc::F_UNLCK)
}

/// Releases a lock.
pub fn unlock(file: &impl AsFd) -> io::Result<()> {
    let mut request = request(Lock::Shared);
    request.l_type = libc::F_UNLCK as i16;
    // Safety: the request is whole and outlives the call.
    match unsafe { libc::fcntl(file.as_fd().as_raw_fd(), libc::F_OFD_SETLK, &raw const request) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
