//! The shared knowledge of the runs on one machine: the runs themselves, their CPUs, and the value
//! of each shared setting before the first run changed it.
//!
//! The register is a folder: `/run/layland` for root, and another one for each other user. Other
//! users can change no setting of the machine, but can read the register of root.
//!
//! | file | content | lock |
//! |---|---|---|
//! | `lock` | empty | exclusive, by a process that reads or changes the others (a [`Hold`]) |
//! | `ended` | the instant until which the kernel may count ended threads ([`ended`](super::ended)) | exclusive, while it is written |
//! | `run-ID` | one line of JSON: the process, its purpose, its CPUs | exclusive, by that run as long as it lives |
//! | `setting-NAME` | how to restore a shared setting | shared, by each run that uses it |
//!
//! The kernel releases the locks of a process that dies, for any reason and in any PID namespace,
//! so `/proc` is not needed to find the runs that are alive. A file without its lock is a leftover
//! of a run that was killed together with its guardian. The next user of the setting restores the
//! value in the file, or `layland doctor --clean` does.

use super::undo::{self, Hold};
use crate::kernel::files::{self, Lock};
use crate::kernel::sys;
use layland_model::visible;
use serde::{Deserialize, Serialize};
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The prefix of runs' folders in tracefs and among cpusets; the id of the run follows it.
pub(crate) const PREFIX: &str = "layland-";
const RUN: &str = "run-";
const SETTING: &str = "setting-";

/// The register of this machine, as far as this user may write to it.
#[derive(Clone, Debug)]
pub struct Register {
    folder: PathBuf,
}

/// A run that is alive, or that died without leaving the register.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Its process, in its own PID namespace.
    pub pid: u32,
    /// Its PID namespace, as `/proc/self/ns/pid` names it.
    pub namespace: u64,
    /// A description of the run, for users.
    pub what: String,
    /// The CPUs of the machine that it has for itself.
    pub cpus: Vec<usize>,
}

impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` (pid {}", visible(&self.what), self.pid)?;
        if self.namespace != own_namespace() {
            write!(f, " of another PID namespace")?;
        }
        match self.cpus.as_slice() {
            [] => write!(f, ")"),
            cpus => write!(f, ", {})", named(&list(cpus))),
        }
    }
}

/// Prefixes CPUs such as `0-1,3` with their noun; a single one is `CPU 1`.
pub fn named(cpus: &str) -> String {
    let noun = if cpus.contains([',', '-']) { "CPUs" } else { "CPU" };
    format!("{noun} {cpus}")
}

/// Prints CPUs in the form `0-1,3`.
pub(crate) fn list(cpus: &[usize]) -> String {
    let set: layland_model::CpuSet = cpus
        .iter()
        .map(|&cpu| <layland_model::CpuId as layland_model::Index>::from_index(cpu))
        .collect();
    set.to_string()
}

/// Returns the lock of the register that a file belongs to.
pub(super) fn lock_of(file: &Path) -> PathBuf {
    file.with_file_name("lock")
}

pub(super) fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

/// Returns the PID namespace of this process, as `/proc/self/ns/pid` names it.
pub fn own_namespace() -> u64 {
    namespace_at("self").unwrap_or(0)
}

/// Returns the PID namespace of a process, if it exists and is accessible.
pub(crate) fn namespace_of(process: i32) -> Option<u64> {
    namespace_at(&process.to_string())
}

fn namespace_at(process: &str) -> Option<u64> {
    let link = fs::read_link(format!("/proc/{process}/ns/pid")).ok()?;
    let text = link.to_string_lossy().into_owned();
    text.trim_start_matches("pid:[").trim_end_matches(']').parse().ok()
}

/// Opens a file of a register for reading. Rejects everything else at this path, such as a pipe
/// without a writer.
pub(super) fn open(path: &Path) -> io::Result<File> {
    files::open_to_read(&c_path(path)?)
}

/// Returns the content of a file of a register.
pub(super) fn text_of(file: &File) -> String {
    let mut text = String::new();
    // A file of another user may have any length.
    let _ = io::Read::read_to_string(&mut io::Read::take(file, LONGEST), &mut text);
    text
}

/// The largest number of bytes that are read from a file of a register.
const LONGEST: u64 = 16 << 20;

/// Returns the possible folders of a user's register, the best one first.
fn folders_of(user: u32) -> Vec<PathBuf> {
    match user {
        0 => ["/run/layland", "/dev/shm/layland-0", "/tmp/layland-0"].map(PathBuf::from).into(),
        user => {
            vec![format!("/run/user/{user}/layland").into(), format!("/tmp/layland-{user}").into()]
        }
    }
}

/// Returns the registers of root and of the thread's user, for reading.
pub(super) fn others(thread: i32) -> Vec<Register> {
    let owner = crate::exec::Rights::of(thread).map(|rights| rights.owner);
    let users = [Some(0), owner.map(|owner| owner.real), owner.map(|owner| owner.effective)];
    let folders = users
        .into_iter()
        .flatten()
        .flat_map(|user| folders_of(user).into_iter().map(move |folder| (user, folder)));
    // A folder that another user has created there proves nothing about this user's threads.
    let is_of = |user: u32, folder: &Path| {
        fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir() && found.uid() == user)
    };
    let found = folders.filter(|(user, folder)| is_of(*user, folder));
    found.map(|(_, folder)| Register { folder }).collect()
}

impl Register {
    /// Opens the register of this machine.
    ///
    /// # Errors
    /// Returns an error if there is no folder that only this user can write to. The error lists all
    /// folders, each with its problem.
    pub fn open() -> io::Result<Register> {
        let user = rustix::process::geteuid().as_raw();
        let mut reasons = Vec::new();
        let mut kind = ErrorKind::NotFound;
        for folder in &folders_of(user) {
            match Register::at(folder) {
                Ok(register) => return Ok(register),
                // It exists, but its lock is held: another folder would be a second register.
                Err(error) if error.kind() == ErrorKind::TimedOut => return Err(error),
                Err(error) => {
                    kind = error.kind();
                    reasons.push(format!("{}: {error}", folder.display()));
                }
            }
        }
        Err(io::Error::new(kind, reasons.join("; ")))
    }

    /// Opens the register in a folder, and creates the folder if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be created or written, or if another user can write to
    /// it: its content is written into files of the kernel.
    pub fn at(folder: &Path) -> io::Result<Register> {
        match fs::DirBuilder::new().mode(0o755).create(folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let found = fs::symlink_metadata(folder)?;
        let is_ours = found.is_dir()
            && found.uid() == rustix::process::geteuid().as_raw()
            && found.mode() & 0o022 == 0;
        if !is_ours {
            let uid = found.uid();
            let error = if !found.is_dir() {
                "it is no folder".to_owned()
            } else if uid == rustix::process::geteuid().as_raw() {
                "others may write it".to_owned()
            } else {
                format!("it belongs to user {uid}")
            };
            return Err(io::Error::new(ErrorKind::PermissionDenied, error));
        }
        let register = Register { folder: folder.to_owned() };
        register.hold()?;
        Ok(register)
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn hold(&self) -> io::Result<Hold> {
        undo::hold(&self.lock()?)
    }

    /// Returns the path of its lock.
    pub(super) fn lock(&self) -> io::Result<CString> {
        c_path(&self.lock_path())
    }

    /// Returns the path of its lock, as a path of the library.
    pub(super) fn lock_path(&self) -> PathBuf {
        self.folder.join("lock")
    }

    /// Returns the names of its files with this prefix, in order.
    pub(super) fn names(&self, prefix: &str) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| name.starts_with(prefix))
            .collect();
        names.sort();
        names
    }

    /// Returns the runs that are alive, and those of root if this is another user's register.
    pub fn runs(&self) -> Vec<Run> {
        let mut runs = self.entries(true);
        let of_root = Register { folder: "/run/layland".into() };
        if rustix::process::geteuid().as_raw() != 0 && of_root.folder != self.folder {
            runs.extend(of_root.entries(true));
        }
        runs.into_iter().map(|(_, run)| run).collect()
    }

    /// Returns the entries of runs that are alive, or of those that are not, with their ids.
    fn entries(&self, alive: bool) -> Vec<(String, Run)> {
        let mut found = Vec::new();
        for name in self.names(RUN) {
            let path = self.folder.join(&name);
            // Open it for reading only, because it may belong to another user.
            let Ok(file) = open(&path) else { continue };
            // A lock for reading conflicts only with the lock of the run itself.
            // If the state of the lock is unknown, the run counts as alive.
            if files::is_held(&file, Lock::Shared).unwrap_or(true) != alive {
                continue;
            }
            let text = text_of(&file);
            let run = serde_json::from_str(&text).unwrap_or_else(|_| Run {
                pid: 0,
                namespace: own_namespace(),
                what: "a run that has not said what it does".to_owned(),
                cpus: Vec::new(),
            });
            found.push((name[RUN.len()..].to_owned(), run));
        }
        found
    }

    /// Enters a run. `before` receives the path first, so that the guardian can remove the file.
    pub(super) fn enter(
        &self,
        what: &str,
        before: impl FnOnce(&Path) -> io::Result<()>,
    ) -> io::Result<RunEntry> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let (pid, namespace) = (std::process::id(), own_namespace());
        let started = sys::start_of(pid).unwrap_or(0);
        let id = format!("{pid}-{started}-{namespace}-{number}");
        let path = self.folder.join(format!("{RUN}{id}"));
        before(&path)?;
        let hold = self.hold()?;
        let file = files::open(&c_path(&path)?, true)?;
        if !files::lock(&file, Lock::Exclusive)? {
            return Err(ErrorKind::AddrInUse.into());
        }
        let run = Run { pid, namespace, what: what.to_owned(), cpus: Vec::new() };
        let mut entry = RunEntry { id, path, file, run };
        entry.write(&hold)?;
        // Make it readable after it is locked: others may now see the run.
        entry.file.set_permissions(fs::Permissions::from_mode(0o644))?;
        Ok(entry)
    }

    /// Returns the file of a shared setting.
    pub(super) fn setting(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{SETTING}{name}"))
    }

    /// Returns the value of a setting before runs changed it, dead or alive; `None` if none has.
    pub fn before(&self, name: &str) -> Option<String> {
        let text = text_of(&open(&self.setting(name)).ok()?);
        let (_, value) = text.split_once('\n')?;
        Some(value.to_owned())
    }

    /// Returns the files of the kernel that runs have changed and that runs that are alive use.
    pub(crate) fn used_settings(&self) -> Vec<PathBuf> {
        let used = |name: String| {
            let path = self.folder.join(&name);
            let file = files::open(&c_path(&path).ok()?, false).ok()?;
            let text = text_of(&file);
            let target = text.lines().next()?.get(1..)?.into();
            files::is_held(&file, Lock::Exclusive).ok()?.then_some(target)
        };
        self.names(SETTING).into_iter().filter_map(used).collect()
    }

    /// Returns the changes of dead runs that have not been reverted.
    pub(crate) fn left_settings(&self) -> Vec<OrphanedSetting> {
        let left = |name: String| {
            let path = self.folder.join(&name);
            let file = files::open(&c_path(&path).ok()?, false).ok()?;
            if files::is_held(&file, Lock::Exclusive).unwrap_or(true) {
                return None;
            }
            let text = text_of(&file);
            let (head, value) = text.split_once('\n').unwrap_or_default();
            let target = PathBuf::from(head.get(1..).unwrap_or_default());
            let is_value = head.as_bytes().first() == Some(&undo::WRITE);
            let before = is_value.then(|| value.trim().to_owned());
            Some(OrphanedSetting { file: path, target, before })
        };
        self.names(SETTING).into_iter().filter_map(left).collect()
    }

    /// Returns the entries of runs that have died.
    pub(crate) fn dead(&self) -> Vec<(PathBuf, Run)> {
        let path = |id: &str| self.folder.join(format!("{RUN}{id}"));
        self.entries(false).into_iter().map(|(id, run)| (path(&id), run)).collect()
    }

    /// Removes the entry of a run that has died; the caller must hold the register.
    pub(super) fn forget(&self, entry: &Path) -> io::Result<()> {
        if files::is_held(&open(entry)?, Lock::Shared)? {
            return Ok(());
        }
        fs::remove_file(entry)
    }

    /// Returns true if the run that created a folder of this name is alive; `None` if that is
    /// unknown.
    pub(crate) fn is_owner_alive(&self, folder: &str) -> Option<bool> {
        let fields: Vec<&str> = folder.strip_prefix(PREFIX)?.split('-').take(4).collect();
        let [pid, started, namespace, _] = fields.as_slice() else { return None };
        let file = self.folder.join(format!("{RUN}{}", fields.join("-")));
        if let Ok(file) = open(&file) {
            return files::is_held(&file, Lock::Shared).ok();
        }
        // The run has another register, or its entry is gone.
        let is_ours = namespace.parse() == Ok(own_namespace());
        let (pid, started): (u32, u64) = (pid.parse().ok()?, started.parse().ok()?);
        is_ours.then(|| sys::start_of(pid) == Some(started))
    }
}

/// A shared setting whose users have all died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OrphanedSetting {
    /// The file of the register.
    pub file: PathBuf,
    /// The file or folder that was changed.
    pub target: PathBuf,
    /// Its former value; `None` for a folder that is to be removed.
    pub before: Option<String>,
}

/// The entry of a run, which is valid as long as it is locked.
#[derive(Debug)]
pub(super) struct RunEntry {
    /// The id of this run.
    pub id: String,
    pub path: PathBuf,
    file: File,
    pub run: Run,
}

impl RunEntry {
    /// Writes the present content.
    pub fn write(&mut self, _hold: &Hold) -> io::Result<()> {
        let text = serde_json::to_string(&self.run).map_err(io::Error::other)? + "\n";
        self.file.set_len(0)?;
        io::Seek::rewind(&mut self.file)?;
        self.file.write_all(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_files_is_opened() {
        let folder = std::env::temp_dir().join(format!("layland-pipes-{}", std::process::id()));
        let register = Register::at(&folder).unwrap();
        for name in ["run-1-1-1-1", "admitted-1-1-1-1", "setting-x", "threads-2-2-2-2", "reserved"]
        {
            let made = std::process::Command::new("mkfifo").arg(folder.join(name)).status();
            assert!(made.unwrap().success());
        }
        // Waiting for the other end of a pipe would take for ever.
        assert_eq!(register.entries(true), []);
        assert_eq!(register.dead(), []);
        assert_eq!(register.members(), []);
        assert_eq!(register.left_settings(), []);
        assert_eq!(register.used_settings(), Vec::<PathBuf>::new());
        assert_eq!(register.before("x"), None);
        assert_eq!(register.admitting().unwrap().remembered(), None);
        for orphan in register.orphans() {
            assert!(register.bury_orphan(&orphan).is_err());
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn commands_are_shown_in_one_line() {
        assert_eq!(visible("python3 -c a\n\tb"), "python3 -c a\\n\\tb");
        assert_eq!(visible("\u{1b}]52;c;x\u{7}"), "\\u{1b}]52;c;x\\u{7}");
        assert_eq!(visible("für \"x\""), "für \"x\"");
    }

    #[test]
    fn one_cpu_is_one() {
        assert_eq!(["1", "0-1", "0,2"].map(named), ["CPU 1", "CPUs 0-1", "CPUs 0,2"]);
    }
}
