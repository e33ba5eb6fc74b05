//! The interface for changes of the machine. A run makes every change through [`Changes`], which
//! knows the other runs ([`register`](super::register)), informs the [`Guardian`] first, and
//! reverts everything in the end.

use super::ended;
use super::guardian::Guardian;
use super::register::{self, Register, Run, RunEntry};
use super::undo::{self, Hold, Released, Undo};
use crate::kernel::files::{self, Lock};
use layland_model::Duration;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The reason why no change is possible.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The register cannot be opened.
    #[error("failed to open the register of runs: {0}")]
    Register(io::Error),
    /// The guardian cannot be started.
    #[error("failed to start a guardian: {0}")]
    Guardian(io::Error),
    /// Other runs use the CPUs.
    #[error("{0}")]
    Occupied(String),
}

impl ChangeError {
    /// Returns advice for the user.
    pub fn help(&self) -> String {
        match self {
            ChangeError::Register(error) if error.kind() == io::ErrorKind::TimedOut => {
                "another layland process holds it, and is stopped: see `ps -eo pid,stat,cmd`".to_owned()
            }
            ChangeError::Register(_) => {
                "it is /run/layland for root, and /run/user/UID/layland or /tmp/layland-UID for others"
                    .to_owned()
            }
            ChangeError::Guardian(error) => no_process(error),
            ChangeError::Occupied(_) => {
                "wait until it has ended, or choose other CPUs with --on-cpus".to_owned()
            }
        }
    }
}

/// Returns advice for the case that the kernel refuses a process or a thread.
pub(crate) fn no_process(error: &io::Error) -> String {
    if error.raw_os_error() != Some(libc::EAGAIN) {
        return "see `layland doctor`".to_owned();
    }
    if crate::kernel::sys::is_deadline() {
        "a SCHED_DEADLINE thread may start neither processes nor threads: start layland as an ordinary \
         process, without chrt -d"
            .to_owned()
    } else {
        "there is a limit on processes and threads: see ulimit -u, and pids.max of the cgroup"
            .to_owned()
    }
}

/// A change that the kernel refused to revert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotTakenBack {
    /// The file or folder that was changed.
    pub path: PathBuf,
    /// The error that the kernel returned.
    pub error: String,
}

impl std::fmt::Display for NotTakenBack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} was changed, and the kernel refuses to take that back: {}",
            self.path.display(),
            self.error
        )
    }
}

/// A folder to remove, or a shared setting to release.
#[derive(Debug)]
enum Change {
    Folder(PathBuf),
    Setting { file: PathBuf, target: PathBuf, lock: File },
}

/// The changes of a run. Dropping the value reverts all of them.
#[derive(Debug)]
pub struct Changes {
    register: Register,
    guardian: Guardian,
    entry: RunEntry,
    made: Vec<Change>,
    is_over: bool,
}

impl Changes {
    /// Enters the run into the register of this machine, and starts a guardian that ends it after
    /// `most`.
    ///
    /// # Errors
    /// Returns an error if the register or the guardian is not available. Nothing has changed then.
    pub fn begin(what: &str, most: Duration) -> Result<Changes, ChangeError> {
        Changes::begin_in(Register::open().map_err(ChangeError::Register)?, what, most)
    }

    /// Like [`Changes::begin`], with another register.
    ///
    /// # Errors
    /// Returns the errors of [`Changes::begin`].
    pub fn begin_in(
        register: Register,
        what: &str,
        most: Duration,
    ) -> Result<Changes, ChangeError> {
        let mut guardian = Guardian::start(most).map_err(ChangeError::Guardian)?;
        let entered =
            register.enter(what, |path| guardian.remember(&Undo::Remove(path.to_owned())));
        let entry = entered.map_err(ChangeError::Register)?;
        Ok(Changes { register, guardian, entry, made: Vec::new(), is_over: false })
    }

    /// Returns the prefix for the names of this run's folders.
    pub fn prefix(&self) -> String {
        format!("{}{}-", register::PREFIX, self.entry.id)
    }

    /// Returns the id of this run in the register.
    pub(crate) fn id(&self) -> &str {
        &self.entry.id
    }

    /// Returns the register that has this run.
    pub(crate) fn register(&self) -> &Register {
        &self.register
    }

    /// Returns the process of the guardian.
    pub(crate) fn guardian(&self) -> i32 {
        self.guardian.pid()
    }

    /// Informs the guardian how to revert a change that is made outside of this value.
    ///
    /// # Errors
    /// Returns an error if the guardian does not answer. The change must not be made then.
    pub(super) fn remember(&mut self, undo: &Undo) -> io::Result<()> {
        self.guardian.remember(undo)
    }

    /// Claims CPUs of the machine that no other run uses, until the end of this one. `choose`
    /// receives the usable CPUs and returns its choice. Also returns a remark if other runs
    /// prevented the preferred choice.
    ///
    /// # Errors
    /// Returns the error of `choose` if the CPUs do not suffice even without other runs; otherwise
    /// an error that names the runs in the way.
    pub fn claim<T, E: From<ChangeError>>(
        &mut self,
        usable: &[usize],
        choose: impl Fn(&[usize]) -> Result<(T, Vec<usize>), E>,
    ) -> Result<(T, Option<String>), E> {
        let hold = self.register.hold().map_err(ChangeError::Register)?;
        let wanted = choose(usable)?.1;
        let others: Vec<Run> =
            self.register.runs().into_iter().filter(|run| *run != self.entry.run).collect();
        let reserved = self.register.members();
        let is_free = |cpu: &usize| {
            !others.iter().any(|run| run.cpus.contains(cpu))
                && !reserved.iter().any(|(_, member)| member.cpus.contains(cpu))
        };
        let free: Vec<usize> = usable.iter().copied().filter(is_free).collect();
        let are_wanted = |cpus: &[usize]| cpus.iter().any(|cpu| wanted.contains(cpu));
        let runs = others.iter().filter(|run| are_wanted(&run.cpus)).map(ToString::to_string);
        let members = reserved.iter().filter(|(_, member)| are_wanted(&member.cpus));
        let members = members.map(|(_, member)| member.to_string());
        let in_the_way: Vec<String> = runs.chain(members).collect();
        let in_the_way = in_the_way.join(" and ");
        let Ok((chosen, cpus)) = choose(&free) else {
            return Err(E::from(ChangeError::Occupied(format!(
                "another run has CPUs that this one needs: {in_the_way}"
            ))));
        };
        let remark = (cpus != wanted).then(|| {
            let cpus = register::named(&register::list(&cpus));
            format!("it runs on {cpus} of the host, because another run has others: {in_the_way}")
        });
        self.entry.run.cpus = cpus;
        self.entry.write(&hold).map_err(ChangeError::Register)?;
        Ok((chosen, remark))
    }

    /// Holds the lock of the register, for several changes that belong together.
    ///
    /// # Errors
    /// Returns an error if another process holds it for too long.
    pub(crate) fn hold(&self) -> io::Result<Hold> {
        self.register.hold()
    }

    /// Announces threads with reservations of at most this period that end with the run, so that
    /// the guardian waits before it reverts the changes that were made so far.
    ///
    /// # Errors
    /// Returns an error if the guardian does not answer.
    pub(crate) fn pause_before(&mut self, period: Duration) -> io::Result<()> {
        self.guardian.remember(&Undo::Pause(period, self.register.lock_path()))
    }

    /// Notes that threads with reservations of this period have ended: see [`ended`].
    pub(crate) fn note_ended(&self, period: Duration) {
        if let Ok(lock) = self.register.lock() {
            ended::note(&lock, period.ns().unsigned_abs());
        }
    }

    /// Waits until the kernel counts no ended thread with a reservation. To be called before the
    /// limit or a cpuset is written.
    pub(crate) fn wait_for_ended(&self) {
        if let Ok(lock) = self.register.lock() {
            ended::wait(&lock);
        }
    }

    /// Creates a folder that belongs to this run alone.
    ///
    /// # Errors
    /// Returns an error if the guardian does not answer, or the kernel refuses.
    pub fn make(&mut self, path: &Path) -> io::Result<()> {
        self.guardian.remember(&Undo::Remove(path.to_owned()))?;
        self.made.push(Change::Folder(path.to_owned()));
        fs::create_dir(path)
    }

    /// Writes a value into a file of the kernel that other runs may change at the same time. The
    /// last of them restores the value from before the first. If the file already has the value,
    /// nothing changes.
    ///
    /// # Errors
    /// Returns an error if another process holds the register for too long, the guardian does not
    /// answer, or the kernel refuses.
    pub fn change(&mut self, name: &str, path: &Path, value: &str) -> io::Result<()> {
        let hold = self.hold()?;
        self.set(name, path, value, &hold, |now| {
            (now.trim() != value).then(|| now.trim().to_owned())
        })
    }

    /// Creates a folder that all runs share, if it does not exist.
    pub(crate) fn share_folder(&mut self, name: &str, path: &Path, hold: &Hold) -> io::Result<()> {
        self.share(name, path, hold, || Ok(Some(None)))?;
        match fs::create_dir(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Registers a file that all runs share while there are any. The last one removes it.
    pub(crate) fn share_file(&mut self, name: &str, path: &Path, hold: &Hold) -> io::Result<()> {
        self.share(name, path, hold, || Ok(Some(None))).map(|_| ())
    }

    /// Writes a value into a file of the kernel, as other runs may do at the same time. `back`
    /// receives the present value and returns the one that the last run is to restore. If it
    /// returns `None`, nothing changes.
    pub(crate) fn set(
        &mut self,
        name: &str,
        path: &Path,
        value: &str,
        hold: &Hold,
        back: impl FnOnce(&str) -> Option<String>,
    ) -> io::Result<()> {
        let found = || Ok(back(&fs::read_to_string(path)?).map(Some));
        if self.share(name, path, hold, found)? { fs::write(path, value) } else { Ok(()) }
    }

    /// Joins the users of a setting. Calls `found` if there are none; it returns how to restore the
    /// setting (with `None` by removing it), or `None` if nothing is to change. Returns true if the
    /// setting is to be changed.
    fn share(
        &mut self,
        name: &str,
        target: &Path,
        _hold: &Hold,
        found: impl FnOnce() -> io::Result<Option<Option<String>>>,
    ) -> io::Result<bool> {
        let file = self.register.setting(name);
        let says = |path: &Path| fs::metadata(path).is_ok_and(|found| found.len() > 0);
        let is_used = register::open(&file).is_ok_and(|file| {
            // If the state of the lock is unknown, assume that it is used, so that the file keeps
            // its content.
            files::is_held(&file, Lock::Exclusive).unwrap_or(true)
        });
        let mut text = None;
        if !is_used || !says(&file) {
            match found()? {
                Some(value) => text = Some(restoring(target, value.as_deref())),
                // A run that died left it like this: the value from before that run is still to be
                // restored.
                None if says(&file) => {}
                None => return Ok(false),
            }
        }
        self.guardian.remember(&Undo::Release(file.clone()))?;
        let lock = files::open(&register::c_path(&file)?, true)?;
        if !files::lock(&lock, Lock::Shared)? {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        if let Some(text) = text {
            lock.set_len(0)?;
            (&lock).write_all(&text)?;
        }
        self.made.push(Change::Setting { file, target: target.to_owned(), lock });
        Ok(true)
    }

    /// Releases a shared setting before the end; the last user restores it. If the kernel refuses,
    /// the release is retried at the end, which reports the error.
    pub(crate) fn release(&mut self, shared: &Path) {
        let is_it =
            |change: &Change| matches!(change, Change::Setting { target, .. } if target == shared);
        let Some(index) = self.made.iter().rposition(is_it) else { return };
        let Change::Setting { file, lock, .. } = &self.made[index] else { return };
        if release(file, lock).is_ok() {
            self.made.remove(index);
        }
    }

    /// Removes one folder before the end.
    pub(crate) fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.wait_for_ended();
        undo::remove(path)?;
        self.made.retain(|change| !matches!(change, Change::Folder(made) if made == path));
        Ok(())
    }

    /// Reverts all changes, the last one first. Returns those that the kernel refused to revert.
    /// They stay in the register, for `layland doctor --clean`.
    pub fn end(mut self) -> Vec<NotTakenBack> {
        self.take_back()
    }

    fn take_back(&mut self) -> Vec<NotTakenBack> {
        if self.is_over {
            return Vec::new();
        }
        self.is_over = true;
        let mut failed = Vec::new();
        if !self.made.is_empty() {
            self.wait_for_ended();
        }
        for change in self.made.drain(..).rev() {
            let (path, result) = match change {
                Change::Folder(path) => {
                    let result = undo::remove(&path);
                    (path, result)
                }
                Change::Setting { file, target, lock } => {
                    let result = release(&file, &lock);
                    (target, result)
                }
            };
            if let Err(error) = result {
                failed.push(NotTakenBack { path, error: error.to_string() });
            }
        }
        // If a change is left, keep the entry, which shows the run that it belongs to.
        if failed.is_empty() {
            // The entry stays locked as long as this process lives, so it does not look like that
            // of a dead run.
            let _ = fs::remove_file(&self.entry.path);
        }
        self.guardian.dismiss();
        failed
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        let _ = self.take_back();
    }
}

/// Returns the content of a setting's file: restore it by a value, or by removing its folder.
fn restoring(target: &Path, value: Option<&str>) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    let mut text = vec![if value.is_some() { undo::WRITE } else { undo::REMOVE }];
    text.extend(target.as_os_str().as_bytes());
    text.push(b'\n');
    text.extend(value.unwrap_or_default().as_bytes());
    text
}

fn release(file: &Path, lock: &File) -> io::Result<()> {
    let (path, register) = (register::c_path(file)?, register::c_path(&register::lock_of(file))?);
    ended::wait(&path);
    undo::patiently(|| {
        let hold = undo::hold(&register)?;
        match undo::release(&path, Some(lock), &hold)? {
            Released::Restored => Ok(()),
            // Unlock while the register is held: otherwise another process could mistake the lock
            // for that of another user.
            Released::StillUsed => files::unlock(lock),
        }
    })
}
