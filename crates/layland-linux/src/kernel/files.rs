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

/// Removes a file, an empty folder, a cpuset, whose threads go to its parent, or an instance of tracefs. That it does
/// not exist is no error.
pub fn remove(path: &CStr) -> io::Result<()> {
    // Safety: the path ends with a zero, in each call.
    let is_gone = || unsafe {
        libc::rmdir(path.as_ptr()) == 0 || libc::access(path.as_ptr(), libc::F_OK) != 0
    };
    // Safety: the path ends with a zero.
    if unsafe { libc::unlink(path.as_ptr()) } == 0 {
        return Ok(());
    }
    dissolve(path);
    if is_gone() {
        return Ok(());
    }
    // The kernel keeps a cpuset with threads (EBUSY), and a child may live longer than the program that started it.
    vacate(path);
    if is_gone() { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Ends the root domain of a cpuset, if it is one of its own. The kernel would do so some time after the removal of the
/// folder, and would then forget what threads have reserved that began meanwhile and have ended: their sum becomes
/// negative, and everybody is refused.
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

/// The files of a control group that list what can be moved: threads of version 1, processes, and threads of a
/// threaded group of version 2.
const LISTS: [&CStr; 3] = [c"tasks", c"cgroup.procs", c"cgroup.threads"];
/// The longest path, with its end.
const LONGEST_PATH: usize = 4096;

/// Moves what is in a cpuset to its parent. A member that has ended, or that the kernel does not move, stays: the
/// removal then says so.
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
                // To the kernel, zero is whoever writes it. Members of another PID namespace are listed as that.
                if member != b"0" {
                    let _ = set(to, member);
                }
            });
        }
    }
}

fn joined<'b>(folder: &[u8], name: &CStr, buffer: &'b mut [u8; LONGEST_PATH]) -> Option<&'b CStr> {
    let name = name.to_bytes_with_nul();
    let whole = buffer.get_mut(..folder.len() + 1 + name.len())?;
    let (start, rest) = whole.split_at_mut(folder.len());
    let (slash, last) = rest.split_at_mut(1);
    start.copy_from_slice(folder);
    slash.copy_from_slice(b"/");
    last.copy_from_slice(name);
    CStr::from_bytes_with_nul(whole).ok()
}

/// Calls this with each number of a file that has one a line, as digits.
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
            // A plain file keeps the last number that was written; the kernel's takes each.
            for (members, moved) in [("12\n4711\n", "4711"), ("7\n0\n", "7"), ("", "")] {
                std::fs::write(root.join(list), "").unwrap();
                std::fs::write(cpuset.join(list), members).unwrap();
                vacate(&path(&cpuset).unwrap());
                assert_eq!(std::fs::read_to_string(root.join(list)).unwrap(), moved, "{list}");
            }
            std::fs::remove_dir_all(&root).unwrap();
        }
        // Without lists there is nothing to be moved, and a folder that is gone is no error.
        std::fs::create_dir_all(root.join("empty")).unwrap();
        for _ in 0..2 {
            remove(&path(&root.join("empty")).unwrap()).unwrap();
        }
        std::fs::remove_dir_all(&root).unwrap();
    }
}
