//! Files that are whole or not there: what a command writes is written beside its place and then renamed.
//!
//! So a full disk, a crash or an interrupt leaves what was there. On Linux the new file has no name before it is whole
//! (`O_TMPFILE`), so that not even SIGKILL leaves a part of one; a file system without such files gets a hidden one.
//! What is no plain file (a pipe, a terminal, `/dev/full`) is written as it comes, and so is a file in a folder that
//! takes no new ones.

use super::exit::Failure;
use super::terminal;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A trace that is read is not larger: it is held in memory, several times over.
pub(crate) const LARGEST_TRACE: u64 = 1 << 30;

/// Writes a file, or standard output for `-`.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    if path == Path::new("-") {
        return terminal::write_result(|out| out.write_all(bytes));
    }
    let mut file = NewFile::create(path)?;
    file.write_all(bytes).map_err(|error| failed(path, &error))?;
    file.keep()
}

/// What a command writes as it goes: a file that is whole in the end, or standard output.
pub(crate) enum Stream {
    File(NewFile, PathBuf),
    Out(terminal::Results),
}

impl Stream {
    /// Begins a file, or standard output for `-`.
    pub(crate) fn create(path: &Path) -> Result<Stream, Failure> {
        match path == Path::new("-") {
            true => Ok(Stream::Out(terminal::Results::default())),
            false => Ok(Stream::File(NewFile::create(path)?, path.to_owned())),
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Stream::File(file, name) => file.write_all(bytes).map_err(|error| failed(name, &error)),
            Stream::Out(out) => out.write(bytes),
        }
    }

    /// Whether nobody reads what is written, so that the rest need not be made.
    pub(crate) fn is_unread(&self) -> bool {
        match self {
            Stream::File(..) => false,
            Stream::Out(out) => out.is_unread(),
        }
    }

    /// No more comes, and more was to come: what is printed stays printed, and a file is not made.
    pub(crate) fn give_up(self) -> Result<(), Failure> {
        match self {
            Stream::File(..) => Ok(()),
            Stream::Out(mut out) => out.flush(),
        }
    }

    /// All of it is written.
    pub(crate) fn keep(self) -> Result<(), Failure> {
        match self {
            Stream::File(file, _) => file.keep(),
            Stream::Out(mut out) => out.flush(),
        }
    }
}

/// A file that is being written. Unless it is [kept](NewFile::keep) it leaves nothing behind.
pub(crate) struct NewFile {
    /// None once it is closed.
    out: Option<BufWriter<File>>,
    /// What the user calls it.
    name: PathBuf,
    /// Where it belongs; none if it is written in its place.
    beside: Option<Beside>,
}

/// A file that is not yet where it belongs.
struct Beside {
    /// Its name until then. A file without a name gets it when it is whole.
    part: PathBuf,
    has_name: bool,
    place: PathBuf,
}

/// Why a file is not written.
pub(crate) fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::refused(format!("failed to write {}: {error}", path.display()))
}

impl NewFile {
    /// Begins a file. What is there stays until the new one is whole.
    pub(crate) fn create(path: &Path) -> Result<NewFile, Failure> {
        NewFile::begin(path).map_err(|error| failed(path, &error))
    }

    fn begin(path: &Path) -> std::io::Result<NewFile> {
        let old = std::fs::metadata(path).ok();
        let in_place = |file: File| NewFile {
            out: Some(BufWriter::new(file)),
            name: path.to_owned(),
            beside: None,
        };
        if old.as_ref().is_some_and(|old| !old.is_file()) {
            return OpenOptions::new().write(true).open(path).map(in_place);
        }
        // A link stays a link: the file that it names is replaced.
        let place = target(path)?;
        if old.as_ref().is_some_and(|old| old.permissions().readonly()) && !is_writable(&place) {
            return Err(ErrorKind::PermissionDenied.into());
        }
        let mut part = std::ffi::OsString::from(".");
        part.push(place.file_name().unwrap_or_default());
        part.push(format!(".{}.part", std::process::id()));
        let part = place.with_file_name(part);
        // What a process of the same number has left behind belongs to nobody.
        let _ = std::fs::remove_file(&part);
        let new = match nameless(&place) {
            Some(file) => Ok((file, false)),
            None => {
                let new = OpenOptions::new().write(true).create_new(true).open(&part);
                new.map(|file| (file, true))
            }
        };
        match new {
            Ok((file, has_name)) => {
                if let Some(old) = &old {
                    keep_rights(&file, old);
                }
                let out = Some(BufWriter::new(file));
                let beside = Some(Beside { part, has_name, place });
                Ok(NewFile { out, name: path.to_owned(), beside })
            }
            // The folder takes no new file; the file itself may be writable.
            Err(error) if error.kind() == ErrorKind::PermissionDenied && old.is_some() => {
                OpenOptions::new().write(true).truncate(true).open(path).map(in_place)
            }
            Err(error) => Err(error),
        }
    }

    /// The file is whole: puts it in its place.
    pub(crate) fn keep(mut self) -> Result<(), Failure> {
        self.close().map_err(|error| failed(&self.name, &error))
    }

    fn close(&mut self) -> std::io::Result<()> {
        let Some(out) = self.out.take() else { return Ok(()) };
        let file = out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        let Some(beside) = &mut self.beside else { return Ok(()) };
        // Some file systems find out only now that the disk is full.
        file.sync_all()?;
        if !beside.has_name {
            name(&file, &beside.part)?;
            beside.has_name = true;
        }
        drop(file);
        std::fs::rename(&beside.part, &beside.place)?;
        self.beside = None;
        Ok(())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.out {
            Some(out) => out.write(bytes),
            None => Err(ErrorKind::BrokenPipe.into()),
        }
    }
    fn flush(&mut self) -> std::io::Result<()> {
        self.out.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(Beside { part, has_name: true, .. }) = &self.beside {
            // Nothing more can be done about a file that cannot be removed either.
            let _ = std::fs::remove_file(part);
        }
    }
}

/// A file without a name in the folder of a place, if the file system has such files and they can be named later.
#[cfg(target_os = "linux")]
fn nameless(place: &Path) -> Option<File> {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    let folder = place.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    // A name comes by way of /proc, which not every container has.
    let can_be_named = Path::new("/proc/self/fd").is_dir();
    can_be_named
        .then(|| openat(CWD, folder, flags, Mode::from_raw_mode(0o666)).ok().map(File::from))?
}

#[cfg(not(target_os = "linux"))]
fn nameless(_: &Path) -> Option<File> {
    None
}

/// Gives a file without a name one.
#[cfg(target_os = "linux")]
fn name(file: &File, path: &Path) -> std::io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    use std::os::fd::AsRawFd;
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, link, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
fn name(_: &File, _: &Path) -> std::io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// The file that a path names in the end, through links, whether or not it exists.
fn target(path: &Path) -> std::io::Result<PathBuf> {
    let mut place = path.to_owned();
    // As many links as Linux follows.
    for _ in 0..40 {
        match std::fs::read_link(&place) {
            Ok(next) => {
                place = place.parent().map_or(next.clone(), |folder| folder.join(next));
            }
            Err(_) => return Ok(place),
        }
    }
    Err(std::io::Error::other("there are too many links"))
}

fn is_writable(path: &Path) -> bool {
    OpenOptions::new().write(true).open(path).is_ok()
}

/// The new file may be read by whom the old one could be, and belongs to the same user where that is allowed: a
/// report that root writes over the file of a user stays the user's.
fn keep_rights(file: &File, old: &std::fs::Metadata) {
    // That the file is written matters more than who owns it.
    let _ = file.set_permissions(old.permissions());
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let _ = std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid()));
        // A change of owner may take rights away.
        let _ = file.set_permissions(old.permissions());
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// A folder of its own, empty.
    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("layland-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_that_is_not_finished_leaves_the_old_one() {
        let folder = folder("unfinished");
        let path = folder.join("keep.json");
        std::fs::write(&path, "precious").unwrap();
        let mut file = NewFile::create(&path).unwrap();
        file.write_all(b"{ half").unwrap();
        file.flush().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
        // Whatever kills the program now leaves no part of a file.
        if nameless(&path).is_some() {
            assert_eq!(names(&folder), ["keep.json"]);
        }
        drop(file);
        assert_eq!(names(&folder), ["keep.json"]);
        write(&path, b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(names(&folder), ["keep.json"]);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn links_and_rights_stay() {
        let folder = folder("links");
        let (real, link, lost) = (folder.join("real"), folder.join("link"), folder.join("lost"));
        std::fs::write(&real, "old").unwrap();
        std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
        symlink("real", &link).unwrap();
        symlink("made", &lost).unwrap();
        write(&link, b"new").unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read(&real).unwrap(), b"new");
        assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        // A link to a file that does not exist yet makes it.
        write(&lost, b"made").unwrap();
        assert_eq!(std::fs::read(folder.join("made")).unwrap(), b"made");
        let (a, b) = (folder.join("a"), folder.join("b"));
        symlink("a", &b).unwrap();
        symlink("b", &a).unwrap();
        assert!(write(&a, b"").is_err(), "a circle of links");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_is_no_file_is_written_as_it_comes() {
        write(Path::new("/dev/null"), b"x").unwrap();
        assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
        let full = write(Path::new("/dev/full"), b"x").unwrap_err();
        assert!(format!("{full:?}").contains("No space left"), "{full:?}");
        assert!(write(Path::new("/proc/no/such/folder"), b"x").is_err());
    }
}
