//! Atomic file writes: a command writes a file beside its destination and then renames it, so that
//! the file is complete or absent.
//!
//! A full disk, a crash or an interrupt therefore leaves the old file intact. On Linux the new file
//! has no name until it is complete (`O_TMPFILE`), so that not even SIGKILL leaves a partial file;
//! on a file system without such files it gets a hidden name. Destinations other than plain files
//! (a pipe, a terminal, `/dev/full`) are written directly, and so is a file in a folder that does
//! not allow new ones.

use super::exit::Failure;
use super::terminal;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The largest trace that is read. It is held in memory several times over.
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

/// Output that a command writes gradually: a file that appears when it is complete, or standard
/// output.
pub(crate) enum Stream {
    File(NewFile, PathBuf),
    Out(terminal::Results),
}

impl Stream {
    /// Creates a file, or uses standard output for `-`.
    pub(crate) fn create(path: &Path) -> Result<Stream, Failure> {
        if path == Path::new("-") {
            Ok(Stream::Out(terminal::Results::default()))
        } else {
            Ok(Stream::File(NewFile::create(path)?, path.to_owned()))
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Stream::File(file, name) => file.write_all(bytes).map_err(|error| failed(name, &error)),
            Stream::Out(out) => out.write(bytes),
        }
    }

    /// Returns true if the output has no reader left, so that the rest need not be computed.
    pub(crate) fn is_unread(&self) -> bool {
        match self {
            Stream::File(..) => false,
            Stream::Out(out) => out.is_unread(),
        }
    }

    /// Abandons incomplete output: printed text stays printed, and the file is not created.
    pub(crate) fn give_up(self) -> Result<(), Failure> {
        match self {
            Stream::File(..) => Ok(()),
            Stream::Out(mut out) => out.flush(),
        }
    }

    /// Finishes complete output.
    pub(crate) fn keep(self) -> Result<(), Failure> {
        match self {
            Stream::File(file, _) => file.keep(),
            Stream::Out(mut out) => out.flush(),
        }
    }
}

/// A file that is being written. It is removed unless it is [kept](NewFile::keep).
pub(crate) struct NewFile {
    /// `None` once the file is closed.
    out: Option<BufWriter<File>>,
    /// The name in messages to the user.
    name: PathBuf,
    /// The destination; `None` if the file is written in place.
    beside: Option<Beside>,
}

/// A file that is not at its destination yet.
struct Beside {
    /// The temporary name. A nameless file gets it when it is complete.
    part: PathBuf,
    has_name: bool,
    place: PathBuf,
}

/// Reports why a file cannot be written.
pub(crate) fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::refused(format!("failed to write {}: {error}", path.display()))
}

impl NewFile {
    /// Creates a file. An existing one stays until the new one is complete.
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
        // A symbolic link is kept: the file that it names is replaced.
        let place = target(path)?;
        if old.as_ref().is_some_and(|old| old.permissions().readonly()) && !is_writable(&place) {
            return Err(ErrorKind::PermissionDenied.into());
        }
        let mut part = std::ffi::OsString::from(".");
        part.push(place.file_name().unwrap_or_default());
        part.push(format!(".{}.part", std::process::id()));
        let part = place.with_file_name(part);
        // A leftover of an earlier process with the same number is not in use.
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
            // The folder does not allow new files, but the file itself may be writable.
            Err(error) if error.kind() == ErrorKind::PermissionDenied && old.is_some() => {
                OpenOptions::new().write(true).truncate(true).open(path).map(in_place)
            }
            Err(error) => Err(error),
        }
    }

    /// Moves the complete file to its destination.
    pub(crate) fn keep(mut self) -> Result<(), Failure> {
        self.close().map_err(|error| failed(&self.name, &error))
    }

    fn close(&mut self) -> std::io::Result<()> {
        let Some(out) = self.out.take() else { return Ok(()) };
        let file = out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        let Some(beside) = &mut self.beside else { return Ok(()) };
        // Some file systems report a full disk only now.
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
            // If the file cannot be removed either, there is no other remedy.
            let _ = std::fs::remove_file(part);
        }
    }
}

/// Creates a nameless file in the folder of a destination, if the file system supports such files
/// and they can be named later.
#[cfg(target_os = "linux")]
fn nameless(place: &Path) -> Option<File> {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    let folder = place.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    // The file gets its name via /proc, which some containers lack.
    let can_be_named = Path::new("/proc/self/fd").is_dir();
    can_be_named
        .then(|| openat(CWD, folder, flags, Mode::from_raw_mode(0o666)).ok().map(File::from))?
}

#[cfg(not(target_os = "linux"))]
fn nameless(_: &Path) -> Option<File> {
    None
}

/// Gives a nameless file a name.
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

/// Resolves a path through symbolic links to the file that it finally names, whether or not that
/// exists.
fn target(path: &Path) -> std::io::Result<PathBuf> {
    let mut place = path.to_owned();
    // Linux follows the same number of links.
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

/// Gives the new file the permissions of the old one and, if allowed, its owner: a report that root
/// writes over the file of a user stays the user's.
fn keep_rights(file: &File, old: &std::fs::Metadata) {
    // Writing the file matters more than its owner, so errors are ignored.
    let _ = file.set_permissions(old.permissions());
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let _ = std::os::unix::fs::fchown(file, Some(old.uid()), Some(old.gid()));
        // A change of owner may clear permission bits.
        let _ = file.set_permissions(old.permissions());
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// Creates an empty folder for a test.
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
        // If the program is killed now, no partial file remains.
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
        // Writing through a link to a missing file creates that file.
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
