//! A socket for requests of programs. The kernel identifies the peer, so that no program can pose
//! as another one.

use super::processes::Process;
use crate::kernel::sys::Tid;
use crate::machine::{register, threads};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// The descriptor of the first socket that a service manager passes to a service.
const FIRST_INHERITED: i32 = 3;

/// A socket on which programs connect.
#[derive(Debug)]
pub struct Door {
    listener: UnixListener,
    /// The path to remove at the end, if this process created the socket.
    made: Option<PathBuf>,
}

impl Door {
    /// Returns the socket that this process inherited from a service manager, if there is one. The
    /// caller has read `listen_pid` and `listen_fds` from `LISTEN_PID` and `LISTEN_FDS`.
    ///
    /// # Errors
    /// Returns an error if the descriptor is not a listening socket.
    pub fn inherited(listen_pid: &str, listen_fds: &str) -> io::Result<Option<Door>> {
        if listen_pid.parse() != Ok(std::process::id()) || listen_fds.parse() != Ok(1u32) {
            return Ok(None);
        }
        // Safety: `LISTEN_PID` and `LISTEN_FDS` say that this descriptor is ours; nothing else uses
        // it.
        let listener = unsafe { UnixListener::from_raw_fd(FIRST_INHERITED) };
        // Fails if the descriptor is not a socket with a name.
        listener.local_addr()?;
        listener.set_nonblocking(true)?;
        rustix::io::fcntl_setfd(&listener, rustix::io::FdFlags::CLOEXEC)?;
        Ok(Some(Door { listener, made: None }))
    }

    /// Creates a socket at a path, on which every user may ask.
    ///
    /// # Errors
    /// Returns an error if another process listens there already, the path is not a socket, or the
    /// socket cannot be created.
    pub fn open(path: &Path) -> io::Result<Door> {
        if UnixStream::connect(path).is_ok() {
            return Err(ErrorKind::AddrInUse.into());
        }
        // A socket without a listener is left over from a daemon that was killed. Nothing else is
        // removed.
        match fs::symlink_metadata(path) {
            Ok(found) if found.file_type().is_socket() => fs::remove_file(path)?,
            Ok(_) => return Err(ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let listener = UnixListener::bind(path)?;
        let door = Door { listener, made: Some(path.to_owned()) };
        fs::set_permissions(path, fs::Permissions::from_mode(0o666))?;
        door.listener.set_nonblocking(true)?;
        Ok(door)
    }

    /// Accepts the next connection, if there is one.
    pub fn next(&self) -> Option<Peer> {
        let (stream, _) = self.listener.accept().ok()?;
        Peer::of(stream).ok()
    }
}

impl AsFd for Door {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        if let Some(path) = &self.made {
            let _ = fs::remove_file(path);
        }
    }
}

/// A program that sends requests, in lines.
#[derive(Debug)]
pub struct Peer {
    stream: UnixStream,
    /// Its process when it connected.
    pub process: Process,
    /// When that process started. It is 0 if the process has ended since, because another process
    /// may have its number.
    pub started: u64,
    /// Its user.
    pub uid: u32,
    said: Vec<u8>,
    /// True if no more bytes will arrive.
    is_over: bool,
}

/// The next input of a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// A line.
    Line(String),
    /// No complete line yet.
    Nothing,
    /// The peer has disconnected, or sent something that is not a line.
    Gone,
}

impl Peer {
    fn of(stream: UnixStream) -> io::Result<Peer> {
        let mut found = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
        option_of(&stream, libc::SO_PEERCRED, &mut found)?;
        stream.set_nonblocking(true)?;
        let process = Process(found.pid);
        let started = started(&stream, process).unwrap_or(0);
        Ok(Peer { stream, process, started, uid: found.uid, said: Vec::new(), is_over: false })
    }

    /// Returns true if the peer is in another PID namespace, as in a container: its threads have
    /// other numbers here. A peer that has ended counts as such.
    pub fn is_elsewhere(&self) -> bool {
        self.started == 0
            || threads::start_of(Tid(self.process.0)) != Some(self.started)
            || register::namespace_of(self.process.0) != Some(register::own_namespace())
    }

    /// Reads input until there is more than a line of `most` bytes. Any further input waits in the
    /// kernel, at the expense of the peer.
    pub fn listen(&mut self, most: usize) {
        let mut part = [0; 1024];
        while self.said.len() <= most && !self.is_over {
            match self.stream.read(&mut part) {
                Ok(0) => self.is_over = true,
                Ok(length) => self.said.extend_from_slice(&part[..length]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => self.is_over = true,
            }
        }
    }

    /// Returns true if [`line`](Self::line) has a result other than [`Said::Nothing`].
    pub fn has_spoken(&self, most: usize) -> bool {
        self.is_over || self.said.len() > most || self.said.contains(&b'\n')
    }

    /// Returns the next line of the input that [`listen`](Self::listen) read.
    pub fn line(&mut self, most: usize) -> Said {
        match self.said.iter().position(|&byte| byte == b'\n') {
            Some(end) if end <= most => {
                let line: Vec<u8> = self.said.drain(..=end).take(end).collect();
                String::from_utf8(line).map_or(Said::Gone, Said::Line)
            }
            Some(_) => Said::Gone,
            None if self.is_over || self.said.len() > most => Said::Gone,
            None => Said::Nothing,
        }
    }

    /// Reads input and returns the next line, of at most `most` bytes.
    pub fn hear(&mut self, most: usize) -> Said {
        self.listen(most);
        self.line(most)
    }

    /// Sends a line without waiting for a slow peer. Returns true if the whole line was sent.
    pub fn say(&mut self, line: &str) -> bool {
        let text = format!("{line}\n");
        // A whole line fits, unless the peer has left many unread.
        matches!(self.stream.write(text.as_bytes()), Ok(length) if length == text.len())
    }
}

/// Reads a socket option from the kernel.
fn option_of<T>(stream: &UnixStream, option: i32, found: &mut T) -> io::Result<()> {
    let mut length = size_of::<T>() as libc::socklen_t;
    // Safety: both have the stated sizes and live as long as the call.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            std::ptr::from_mut(found).cast(),
            &raw mut length,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Returns when the process at the other end started, if it still exists. From Linux 6.5 on the
/// kernel keeps a descriptor of that process, which shows whether its number still refers to it.
fn started(stream: &UnixStream, process: Process) -> Option<u64> {
    const SO_PEERPIDFD: i32 = 77;
    let mut number = -1;
    let kept = option_of(stream, SO_PEERPIDFD, &mut number);
    let started = threads::start_of(Tid(process.0))?;
    match kept {
        Ok(()) => {
            // Safety: the descriptor is new and has no other owner.
            let kept = unsafe { OwnedFd::from_raw_fd(number) };
            // The descriptor becomes readable when its process has ended.
            (!is_ready(&[kept.as_fd()], Some(0))[0]).then_some(started)
        }
        Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => Some(started),
        Err(_) => None,
    }
}

impl AsFd for Peer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// The client of a [`Door`].
#[derive(Debug)]
pub struct Asker {
    stream: UnixStream,
    said: Vec<u8>,
}

impl Asker {
    /// Connects to a socket.
    ///
    /// # Errors
    /// Returns an error if no process listens there, or this user may not connect.
    pub fn knock(path: &Path) -> io::Result<Asker> {
        Ok(Asker { stream: UnixStream::connect(path)?, said: Vec::new() })
    }

    /// Sends a line.
    ///
    /// # Errors
    /// Returns an error if the other side has gone.
    pub fn say(&mut self, line: &str) -> io::Result<()> {
        self.stream.set_nonblocking(false)?;
        self.stream.write_all(format!("{line}\n").as_bytes())
    }

    /// Returns the next line, if one arrives within this time.
    ///
    /// # Errors
    /// Returns an error if the other side has gone.
    pub fn hear(&mut self, milliseconds: u32) -> io::Result<Option<String>> {
        self.stream.set_nonblocking(true)?;
        let mut part = [0; 4096];
        let mut has_waited = false;
        loop {
            if let Some(end) = self.said.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.said.drain(..=end).take(end).collect();
                return String::from_utf8(line).map(Some).map_err(io::Error::other);
            }
            match self.stream.read(&mut part) {
                Ok(0) => return Err(ErrorKind::ConnectionReset.into()),
                Ok(length) => self.said.extend_from_slice(&part[..length]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock && !has_waited => {
                    has_waited = milliseconds == 0
                        || !is_ready(&[self.stream.as_fd()], Some(milliseconds))[0];
                    if has_waited {
                        return Ok(None);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
}

/// Waits until one of these is readable, or for this time. Returns true for each that is readable.
pub fn is_ready(of: &[BorrowedFd<'_>], milliseconds: Option<u32>) -> Vec<bool> {
    let mut fds: Vec<PollFd<'_>> =
        of.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    let time = milliseconds.map(|milliseconds| Timespec {
        tv_sec: i64::from(milliseconds / 1000),
        tv_nsec: i64::from(milliseconds % 1000) * 1_000_000,
    });
    let _ = poll(&mut fds, time.as_ref());
    fds.iter().map(|fd| !fd.revents().is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door() -> (Door, PathBuf) {
        let name = format!("layland-door-{}-{:?}", std::process::id(), std::thread::current().id());
        let path = std::env::temp_dir().join(name.replace(['(', ')'], ""));
        (Door::open(&path).expect("a socket can be made"), path)
    }

    fn next(door: &Door) -> Peer {
        assert!(is_ready(&[door.as_fd()], Some(5_000))[0]);
        door.next().expect("somebody knocks")
    }

    #[test]
    fn who_asks_is_known_and_heard_line_by_line() {
        let (door, path) = door();
        let mut asker = Asker::knock(&path).expect("somebody listens");
        asker.say("one\ntwo").expect("it is heard");
        let mut peer = next(&door);
        assert_eq!(peer.process.0 as u32, std::process::id());
        assert_eq!(peer.uid, rustix::process::geteuid().as_raw());
        assert!(!peer.is_elsewhere());
        assert_eq!(peer.hear(64), Said::Line("one".to_owned()));
        assert_eq!(peer.hear(64), Said::Line("two".to_owned()));
        assert_eq!(peer.hear(64), Said::Nothing);
        assert!(peer.say("yes"));
        assert_eq!(asker.hear(5_000).expect("it lives"), Some("yes".to_owned()));
        assert_eq!(asker.hear(1).expect("it lives"), None);
        drop(peer);
        assert!(asker.hear(5_000).is_err());
        // A second socket cannot be opened at the same path.
        assert_eq!(Door::open(&path).map(|_| ()).map_err(|e| e.kind()), Err(ErrorKind::AddrInUse));
        drop(door);
        assert!(!path.exists());
    }

    #[test]
    fn who_goes_or_says_too_much_is_gone() {
        let (door, path) = door();
        let mut asker = Asker::knock(&path).expect("somebody listens");
        asker.say(&"x".repeat(100)).expect("it is heard");
        let mut peer = next(&door);
        assert_eq!(peer.hear(64), Said::Gone);
        let asker = Asker::knock(&path).expect("somebody listens");
        let mut peer = next(&door);
        assert_eq!(peer.hear(64), Said::Nothing);
        drop(asker);
        // A process that another test is starting may still hold the forked descriptor for a
        // moment.
        assert!(is_ready(&[peer.as_fd()], Some(5_000))[0]);
        assert_eq!(peer.hear(64), Said::Gone);
    }

    #[test]
    fn what_was_taken_in_is_not_lost() {
        let (door, path) = door();
        let mut asker = Asker::knock(&path).expect("somebody listens");
        let mut peer = next(&door);
        for count in [1, 16, 17, 40, 100] {
            asker.say(&vec!["x"; count].join("\n")).expect("it is heard");
            for _ in 0..count {
                peer.listen(64);
                assert!(peer.has_spoken(64));
                assert_eq!(peer.line(64), Said::Line("x".to_owned()));
            }
            assert!(!peer.has_spoken(64));
        }
        // At most one buffer beyond the limit is read.
        asker.say(&vec!["y"; 5_000].join("\n")).expect("it is heard");
        peer.listen(64);
        assert!(peer.said.len() <= 64 + 1024);
    }

    #[test]
    fn nothing_but_a_socket_is_removed() {
        let folder = std::env::temp_dir().join(format!("layland-door-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder can be made");
        let [file, link, socket] = ["mine.toml", "link", "socket"].map(|name| folder.join(name));
        fs::write(&file, "precious").expect("it can be written");
        std::os::unix::fs::symlink(&file, &link).expect("it can be made");
        for path in [&file, &link, &folder] {
            let opened = Door::open(path).map(drop).map_err(|error| error.kind());
            assert_eq!(opened, Err(ErrorKind::AlreadyExists), "{}", path.display());
            assert!(path.symlink_metadata().is_ok());
        }
        assert_eq!(fs::read_to_string(&file).ok().as_deref(), Some("precious"));
        // A socket left over from a daemon that was killed.
        drop(UnixListener::bind(&socket).expect("it can be made"));
        assert!(socket.exists() && Door::open(&socket).is_ok());
        fs::remove_dir_all(&folder).expect("it is ours");
    }

    #[test]
    fn what_others_are_started_with_is_not_taken() {
        assert!(Door::inherited("1", "1").expect("it is not ours").is_none());
        assert!(Door::inherited("", "").expect("it is not ours").is_none());
    }
}
