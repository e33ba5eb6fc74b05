//! Files, for a process that has forked and may call no function that allocates or takes a lock of
//! the library: paths are zero-terminated, and buffers belong to the caller.
//!
//! Locks belong to an open file description (`F_OFD_SETLK`): two descriptions of the same process
//! exclude each other, and closing another descriptor of the file does not release them. The kernel
//! releases them when their process ends, in any PID namespace. A write lock requires a writable
//! descriptor, so that a process that may only read the file cannot pose as its holder.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd};

/// Opens a file for reading and writing. With `create`, creates it if missing, accessible to its
/// owner alone.
pub fn open(path: &CStr, create: bool) -> io::Result<File> {
    let flags = libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let flags = if create { flags | libc::O_CREAT } else { flags };
    regular(opened(path, flags)?)
}

/// Opens a file for reading.
pub fn open_to_read(path: &CStr) -> io::Result<File> {
    regular(opened(path, libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK)?)
}

/// Rejects everything except a regular file. `O_NONBLOCK` prevents waiting for the other end of a
/// pipe.
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
    // Safety: the path is zero-terminated, and the third argument is present for `O_CREAT`.
    let descriptor = unsafe { libc::open(path.as_ptr(), flags, 0o600) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // Safety: the descriptor is new and has no other owner.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

/// Writes a value into a file of the kernel, with one call.
pub fn set(path: &CStr, value: &[u8]) -> io::Result<()> {
    use std::io::Write;
    let mut file = opened(path, libc::O_WRONLY | libc::O_TRUNC | libc::O_CLOEXEC)?;
    // The kernel takes a value entirely or not at all.
    match file.write(value)? {
        written if written == value.len() => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// Removes a file, an empty folder, an instance of tracefs, or a cpuset, whose threads move to its
/// parent. It is not an error if the path does not exist.
pub fn remove(path: &CStr) -> io::Result<()> {
    // Safety: the path is zero-terminated, in each call.
    let is_gone = || unsafe {
        libc::rmdir(path.as_ptr()) == 0 || libc::access(path.as_ptr(), libc::F_OK) != 0
    };
    // Safety: the path is zero-terminated.
    if unsafe { libc::unlink(path.as_ptr()) } == 0 {
        return Ok(());
    }
    dissolve(path);
    if is_gone() {
        return Ok(());
    }
    // The kernel keeps a cpuset with threads (EBUSY). A child may outlive the program that started
    // it.
    vacate(path);
    if is_gone() { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Ends the root domain of a cpuset, if it has one of its own. Otherwise the kernel would do so
/// some time after the removal of the folder. It would then forget the bandwidth of threads that
/// had begun meanwhile. When these end, the sum becomes negative, and every request is refused.
fn dissolve(path: &CStr) {
    let mut own = [0; LONGEST_PATH];
    let ends: [(&CStr, &[u8]); 2] =
        [(c"cpuset.sched_load_balance", b"0"), (c"cpuset.cpus.partition", b"member")];
    for (file, value) in ends {
        if let Some(file) = joined(path.to_bytes(), file, &mut own) {
            let _ = set(file, value);
        }
    }
}

/// The files of a control group that list its members: threads of version 1, processes, and threads
/// of a threaded group of version 2.
const LISTS: [&CStr; 3] = [c"tasks", c"cgroup.procs", c"cgroup.threads"];
/// The length of the longest path, including its final zero.
pub(crate) const LONGEST_PATH: usize = 4096;

/// Moves the members of a cpuset to its parent. A member that has ended, or that the kernel does
/// not move, stays; the removal then reports the error.
fn vacate(path: &CStr) {
    let folder = path.to_bytes();
    let Some(end) = folder.iter().rposition(|&byte| byte == b'/') else { return };
    let (mut own, mut above) = ([0; LONGEST_PATH], [0; LONGEST_PATH]);
    for list in LISTS {
        let from = joined(folder, list, &mut own);
        let to = joined(&folder[..end], list, &mut above);
        if let (Some(from), Some(to)) = (from, to)
            && let Ok(members) = open_to_read(from)
        {
            each_number(members, |member| {
                // To the kernel, zero is the writing process itself. Members of another PID
                // namespace are listed as 0.
                if member != b"0" {
                    let _ = set(to, member);
                }
            });
        }
    }
}

pub(crate) fn joined<'b>(
    folder: &[u8],
    name: &CStr,
    buffer: &'b mut [u8; LONGEST_PATH],
) -> Option<&'b CStr> {
    let name = name.to_bytes_with_nul();
    let whole = buffer.get_mut(..folder.len() + 1 + name.len())?;
    let (start, rest) = whole.split_at_mut(folder.len());
    let (slash, last) = rest.split_at_mut(1);
    start.copy_from_slice(folder);
    slash.copy_from_slice(b"/");
    last.copy_from_slice(name);
    CStr::from_bytes_with_nul(whole).ok()
}

/// Calls `act` with the digits of each number in a file with one number per line.
fn each_number(mut file: impl io::Read, mut act: impl FnMut(&[u8])) {
    let (mut piece, mut number, mut length) = ([0; 1024], [0; 20], 0);
    loop {
        let read = match file.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => break,
            Ok(read) => read,
        };
        for &byte in &piece[..read] {
            if byte.is_ascii_digit() && length < number.len() {
                number[length] = byte;
                length += 1;
            } else if length > 0 {
                act(&number[..length]);
                length = 0;
            }
        }
    }
    if length > 0 {
        act(&number[..length]);
    }
}

/// The mode of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// Several holders may share it.
    Shared,
    /// It has a single holder.
    Exclusive,
}

fn request(lock: Lock) -> libc::flock {
    // Safety: zero is a valid flock: the whole file and no process, as these locks require.
    let mut request: libc::flock = unsafe { std::mem::zeroed() };
    request.l_type = match lock {
        Lock::Shared => libc::F_RDLCK as i16,
        Lock::Exclusive => libc::F_WRLCK as i16,
    };
    request.l_whence = libc::SEEK_SET as i16;
    request
}

/// Locks a file unless there is a conflicting lock. Returns true if it was locked.
pub fn lock(file: &impl AsFd, lock: Lock) -> io::Result<bool> {
    let request = request(lock);
    let descriptor = file.as_fd().as_raw_fd();
    // Safety: the request is initialized and outlives the call.
    if unsafe { libc::fcntl(descriptor, libc::F_OFD_SETLK, &raw const request) } == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EACCES) => Ok(false),
        Some(_) | None => Err(error),
    }
}

/// Returns true if another lock would prevent this one. Takes no lock.
pub fn is_held(file: &impl AsFd, lock: Lock) -> io::Result<bool> {
    let mut request = request(lock);
    let descriptor = file.as_fd().as_raw_fd();
    // Safety: the request is initialized, valid for writing, and outlives the call.
    if unsafe { libc::fcntl(descriptor, libc::F_OFD_GETLK, &raw mut request) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(i32::from(request.l_type) != libc::F_UNLCK)
}

/// Releases a lock.
pub fn unlock(file: &impl AsFd) -> io::Result<()> {
    let mut request = request(Lock::Shared);
    request.l_type = libc::F_UNLCK as i16;
    // Safety: the request is initialized and outlives the call.
    match unsafe { libc::fcntl(file.as_fd().as_raw_fd(), libc::F_OFD_SETLK, &raw const request) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_whole_across_pieces() {
        let long: String = (1..2_000).map(|number| format!("{number}\n")).collect();
        for text in ["", "\n", "7", "12\n0\n4711\n", long.as_str()] {
            let mut found = Vec::new();
            each_number(text.as_bytes(), |number| {
                found.push(String::from_utf8_lossy(number).into_owned());
            });
            assert_eq!(found, text.split_whitespace().collect::<Vec<_>>());
        }
    }

    #[test]
    fn members_of_a_cpuset_go_to_its_parent() {
        let root = std::env::temp_dir().join(format!("layland-vacate-{}", std::process::id()));
        let path =
            |path: &std::path::Path| std::ffi::CString::new(path.as_os_str().as_encoded_bytes());
        for list in ["tasks", "cgroup.procs", "cgroup.threads"] {
            let cpuset = root.join("layland-cpus-1");
            std::fs::create_dir_all(&cpuset).unwrap();
            // A regular file keeps only the last number written to it; the kernel's file accepts
            // each one.
            for (members, moved) in [("12\n4711\n", "4711"), ("7\n0\n", "7"), ("", "")] {
                std::fs::write(root.join(list), "").unwrap();
                std::fs::write(cpuset.join(list), members).unwrap();
                vacate(&path(&cpuset).unwrap());
                assert_eq!(std::fs::read_to_string(root.join(list)).unwrap(), moved, "{list}");
            }
            std::fs::remove_dir_all(&root).unwrap();
        }
        // Without lists, no member is moved; and it is not an error if the folder does not exist.
        std::fs::create_dir_all(root.join("empty")).unwrap();
        for _ in 0..2 {
            remove(&path(&root.join("empty")).unwrap()).unwrap();
        }
        std::fs::remove_dir_all(&root).unwrap();
    }
}
