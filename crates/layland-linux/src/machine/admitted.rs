//! The reservations of programs under `layland exec`, each in one file of the register.
//!
//! | file | content | lock |
//! |---|---|---|
//! | `admission` | empty | exclusive, by a process that checks whether a newcomer fits, until it is entered |
//! | `reserved` | the notes of admitting processes, also about departed members; removed with the last member | none |
//! | `admitted-ID` | one line of JSON: a [`Member`] | exclusive, by its run as long as it lives |
//! | `threads-ID` | the threads that were given another class ([`threads`]) | see `admitted-ID` |
//! | `leave-ID` | empty; it asks the run to give up its reservations | none |
//!
//! A member whose file is not locked has died. Its guardian restores its threads and removes the
//! files. If the guardian was killed as well, the next reader does so ([`Register::bury`]). The
//! time of the death is then unknown, so the next admission counts the member as if it had left at
//! that instant.

use super::changes::{ChangeError, Changes};
use super::register::{self, Register};
use super::threads::{self, Changed};
use super::undo::{self, Hold, Undo};
use crate::kernel::files::{self, Lock};
use crate::kernel::sys::Tid;
use layland_model::visible;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const ADMITTED: &str = "admitted-";
const THREADS: &str = "threads-";
const LEAVE: &str = "leave-";

/// Programs with reservations, under one policy on some CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its name, by which it can be asked to leave.
    pub name: String,
    /// The process that manages it, in its own PID namespace.
    pub pid: u32,
    /// That namespace, as `/proc/self/ns/pid` names it.
    pub namespace: u64,
    /// A description of the program, for users.
    pub what: String,
    /// The policy under which it was admitted.
    pub policy: String,
    /// The CPUs of the machine that the policy has.
    pub cpus: Vec<usize>,
    /// True if these CPUs are a root domain of their own.
    pub is_partition: bool,
    /// Its reservations.
    pub reserved: Vec<Reserved>,
    /// The reasons why its guarantee no longer holds; empty if it does.
    #[serde(default)]
    pub withdrawn: Vec<String>,
}

/// A reservation that was admitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reserved {
    /// Its name: that of a task of a set, or of a thread.
    pub name: String,
    /// The thread that has it, if there is one and it has a number here: see
    /// [`Member::is_elsewhere`].
    pub thread: Option<i32>,
    /// The start time of that thread. Start time and number together identify the thread for ever.
    #[serde(default)]
    pub started: Option<u64>,
    /// Processor time in each period, in nanoseconds.
    pub runtime_ns: i64,
    /// Relative deadline, in nanoseconds.
    pub deadline_ns: i64,
    /// Period, in nanoseconds.
    pub period_ns: i64,
    /// True if its deadlines are guaranteed; otherwise its tardiness is bounded.
    pub is_hard: bool,
}

impl Member {
    /// Returns true if it is in another PID namespace, as in a container: the numbers of its
    /// threads here are unknown.
    pub fn is_elsewhere(&self) -> bool {
        self.namespace != register::own_namespace()
    }
}

impl std::fmt::Display for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Member { name, pid, what, policy, cpus, .. } = self;
        let (what, cpus) = (visible(what), register::named(&register::list(cpus)));
        write!(f, "`{name}` ({what}, pid {pid}) under {policy} on {cpus}")
    }
}

/// The present holder of a thread. A thread has only one holder, because two could not both restore
/// its former state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its entry in the register.
    pub(crate) id: String,
    /// The name of the member, by which it can be asked to leave.
    pub member: String,
    /// A description of the member, for users.
    pub what: String,
    /// The process that manages it, in its own PID namespace.
    pub pid: u32,
    /// The name of the thread's reservation.
    pub reserved: String,
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Holder { id: _, member, what, pid, reserved } = self;
        if reserved != member {
            write!(f, "`{reserved}` of ")?;
        }
        write!(f, "`{member}` ({}, pid {pid})", visible(what))
    }
}

/// A thread as members identify it: by its number in their namespace, and its start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Named {
    /// The PID namespace that it is in.
    namespace: Option<u64>,
    /// Its number in that namespace, and here.
    inner: i32,
    here: i32,
    started: u64,
}

impl Named {
    fn of(thread: i32, started: u64) -> Named {
        // The last number of this line is the one in its own namespace. Linux before 4.1 has no
        // such line.
        let status = fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
        let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
        let inner = numbers.and_then(|all| all.split_ascii_whitespace().last()?.parse().ok());
        let namespace = register::namespace_of(thread);
        Named { namespace, inner: inner.unwrap_or(thread), here: thread, started }
    }

    /// Returns true if a reservation of a member in this namespace refers to the thread.
    fn is_meant(&self, namespace: u64, reserved: &Reserved) -> bool {
        let number = if namespace == register::own_namespace() {
            self.here
        } else if self.namespace == Some(namespace) {
            self.inner
        } else {
            return false;
        };
        reserved.thread == Some(number) && reserved.started == Some(self.started)
    }
}

/// Returns the holder of a thread among all members of this machine, except the entry `but`.
/// Searches this register, that of root, and that of the thread's user, as far as they can be read.
pub(crate) fn holder_of(
    register: &Register,
    thread: Tid,
    started: u64,
    but: Option<&str>,
) -> Option<Holder> {
    let named = Named::of(thread.0, started);
    let others = register::others(thread.0).into_iter();
    let others = others.filter(|other| other.folder() != register.folder());
    std::iter::once(register.clone())
        .chain(others)
        .flat_map(|register| register.holders(&named))
        .find(|holder| but != Some(holder.id.as_str()))
}

/// The admission lock: no other process admits a member until this is dropped.
#[derive(Debug)]
pub struct Admitting {
    register: Register,
    _hold: Hold,
}

impl Register {
    /// Waits for the admission lock.
    ///
    /// # Errors
    /// Returns an error if another process holds the lock for too long.
    pub fn admitting(&self) -> io::Result<Admitting> {
        let hold = undo::hold(&register::c_path(&self.folder().join("admission"))?)?;
        Ok(Admitting { register: self.clone(), _hold: hold })
    }

    /// Returns the members that are alive, with their ids, in the order of the ids.
    pub fn members(&self) -> Vec<(String, Member)> {
        self.read_members(true)
    }

    /// Returns the members that have died and have not been buried.
    pub(crate) fn dead_members(&self) -> Vec<(String, Member)> {
        self.read_members(false)
    }

    fn state(&self) -> PathBuf {
        self.folder().join("reserved")
    }

    /// Returns the holders of this thread in this register.
    fn holders(&self, thread: &Named) -> Vec<Holder> {
        let of = |(id, member): (String, Member)| {
            let is_it = |of: &&Reserved| thread.is_meant(member.namespace, of);
            let reserved = member.reserved.iter().find(is_it)?.name.clone();
            let Member { name: member, what, pid, .. } = member;
            Some(Holder { id, member, what, pid, reserved })
        };
        self.entries_of_members(true).into_iter().filter_map(of).collect()
    }

    fn read_members(&self, alive: bool) -> Vec<(String, Member)> {
        let mut found = self.entries_of_members(alive);
        for (_, member) in found.iter_mut().filter(|(_, member)| member.is_elsewhere()) {
            // These numbers belong to other threads here.
            member.reserved.iter_mut().for_each(|reserved| reserved.thread = None);
        }
        found
    }

    /// Returns the members as in their files: the numbers of threads are those of their namespaces.
    fn entries_of_members(&self, alive: bool) -> Vec<(String, Member)> {
        let mut found = Vec::new();
        for name in self.names(ADMITTED) {
            let path = self.folder().join(&name);
            let Ok(file) = register::open(&path) else { continue };
            if files::is_held(&file, Lock::Shared).unwrap_or(true) != alive {
                continue;
            }
            let text = register::text_of(&file);
            let id = name[ADMITTED.len()..].to_owned();
            // After a shorter line was written, the end of the former line follows it for a moment.
            let line = text.lines().next().unwrap_or_default();
            let member: Member = serde_json::from_str(line).unwrap_or_else(|_| Member {
                name: id.clone(),
                pid: 0,
                namespace: register::own_namespace(),
                what: "a program that has not said what it reserves".to_owned(),
                policy: "an unknown policy".to_owned(),
                cpus: Vec::new(),
                is_partition: false,
                reserved: Vec::new(),
                withdrawn: Vec::new(),
            });
            found.push((id, member));
        }
        found
    }

    /// Asks a member to give up its reservations. Returns true if there is such a member.
    ///
    /// # Errors
    /// Returns an error if the request cannot be written.
    pub fn ask_to_leave(&self, name: &str) -> io::Result<bool> {
        let members = self.members();
        let mut asked = members.iter().filter(|(_, member)| member.name == name).peekable();
        let found = asked.peek().is_some();
        for (id, _) in asked {
            File::create(self.folder().join(format!("{LEAVE}{id}")))?;
        }
        Ok(found)
    }

    /// Restores the threads of a member that died together with its guardian, and removes its
    /// files.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses.
    pub(crate) fn bury(&self, id: &str) -> io::Result<()> {
        let path = |prefix: &str| self.folder().join(format!("{prefix}{id}"));
        let entry = path(ADMITTED);
        if let Ok(file) = register::open(&entry)
            && files::is_held(&file, Lock::Shared)?
        {
            return Ok(());
        }
        threads::restore_all(&register::c_path(&path(THREADS))?)?;
        for prefix in [LEAVE, ADMITTED] {
            files::remove(&register::c_path(&path(prefix))?)?;
        }
        Ok(())
    }

    /// Returns the files whose names refer to a member without an entry.
    pub(crate) fn orphans(&self) -> Vec<PathBuf> {
        let has_entry = |name: &str| self.folder().join(format!("{ADMITTED}{name}")).exists();
        let of = |prefix: &str| {
            let names = self.names(prefix).into_iter();
            let lone = names.filter(|name| !has_entry(&name[prefix.len()..]));
            lone.map(|name| self.folder().join(name)).collect::<Vec<_>>()
        };
        [of(THREADS), of(LEAVE)].concat()
    }

    /// Removes such a file; if it is a list of threads, restores them first.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses.
    pub(crate) fn bury_orphan(&self, path: &Path) -> io::Result<()> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = register::c_path(path)?;
        if name.starts_with(THREADS) { threads::restore_all(&path) } else { files::remove(&path) }
    }

    /// Returns the number of threads of a dead member that still have the class that it gave them.
    pub(crate) fn threads_of(&self, id: &str) -> usize {
        let path = register::c_path(&self.folder().join(format!("{THREADS}{id}")));
        path.map_or(0, |path| threads::alive_in(&path))
    }
}

impl Admitting {
    /// Returns the members that are alive. Members that have died are buried first.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses to restore the threads of a dead member.
    pub fn members(&self) -> io::Result<Vec<(String, Member)>> {
        for (id, _) in self.register.dead_members() {
            self.register.bury(&id)?;
        }
        Ok(self.register.members())
    }

    /// Returns the runs that have CPUs for themselves.
    pub fn runs(&self) -> Vec<register::Run> {
        self.register.runs().into_iter().filter(|run| !run.cpus.is_empty()).collect()
    }

    /// Returns the notes of earlier admissions, as they were written; `None` if there are none.
    pub fn remembered(&self) -> Option<String> {
        register::open(&self.register.state()).ok().map(|file| register::text_of(&file))
    }

    /// Writes notes for the next admission. They are removed with the last member.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn remember(&self, text: &str) -> io::Result<()> {
        // Write and rename, because a process that dies in between must not leave half of the
        // notes.
        let (path, new) = (self.register.state(), self.register.folder().join("reserved.new"));
        fs::write(&new, text)?;
        fs::rename(new, path)
    }
}

/// The entry of this process in the register.
#[derive(Debug)]
pub struct Membership {
    folder: PathBuf,
    id: String,
    file: File,
    /// The content of the entry.
    pub member: Member,
    pub(crate) changed: Changed,
}

impl Membership {
    /// Enters a member, which was admitted under the lock `admitting`. If its run dies, its threads
    /// are restored and its entry is removed.
    ///
    /// # Errors
    /// Returns an error if the files cannot be written, or the guardian does not answer.
    pub fn enter(
        admitting: &Admitting,
        changes: &mut Changes,
        member: Member,
    ) -> Result<Membership, ChangeError> {
        let folder = admitting.register.folder().to_owned();
        let id = changes.id().to_owned();
        let entered = move || -> io::Result<Membership> {
            let path = |prefix: &str| folder.join(format!("{prefix}{id}"));
            // Hold the register: a file without its lock looks like that of a dead member, and a
            // list without an entry looks like an orphan.
            let hold = changes.hold()?;
            // The guardian reverts the last change first: it restores the threads before it removes
            // their entry.
            changes.share_file("admission", &admitting.register.state(), &hold)?;
            changes.remember(&Undo::Remove(path(ADMITTED)))?;
            changes.remember(&Undo::Remove(path(LEAVE)))?;
            changes.remember(&Undo::Threads(path(THREADS)))?;
            let file = files::open(&register::c_path(&path(ADMITTED))?, true)?;
            if !files::lock(&file, Lock::Exclusive)? {
                return Err(ErrorKind::AddrInUse.into());
            }
            let changed = Changed::make(&register::c_path(&path(THREADS))?)?;
            let (folder, id) = (folder.clone(), id.clone());
            let mut entry = Membership { folder, id, file, member, changed };
            entry.write()?;
            entry.file.set_permissions(fs::Permissions::from_mode(0o644))?;
            Ok(entry)
        };
        entered().map_err(ChangeError::Register)
    }

    fn path(&self, prefix: &str) -> PathBuf {
        self.folder.join(format!("{prefix}{}", self.id))
    }

    /// Writes the present content.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn write(&mut self) -> io::Result<()> {
        // Write it with one call, because others read it without a lock.
        let text = serde_json::to_string(&self.member).map_err(io::Error::other)? + "\n";
        io::Seek::rewind(&mut self.file)?;
        self.file.write_all(text.as_bytes())?;
        self.file.set_len(text.len() as u64)
    }

    /// Records the thread that has the reservation at `index`, or that none has it.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub(crate) fn claim(&mut self, index: usize, thread: Option<(Tid, u64)>) -> io::Result<()> {
        if let Some(reserved) = self.member.reserved.get_mut(index) {
            reserved.thread = thread.map(|(tid, _)| tid.0);
            reserved.started = thread.map(|(_, started)| started);
        }
        self.write()
    }

    /// Sends the list of threads to the guardian again, so that it restores them before later
    /// changes are reverted.
    pub(crate) fn tell_threads(&self, changes: &mut Changes) -> io::Result<()> {
        changes.remember(&Undo::Threads(self.path(THREADS)))
    }

    /// Returns true if the register asks this process to give up its reservations.
    pub fn shall_leave(&self) -> bool {
        self.path(LEAVE).exists()
    }

    /// Removes the entry. Its reservations must no longer be in use.
    pub(crate) fn remove(&self) {
        for prefix in [THREADS, LEAVE, ADMITTED] {
            let _ = fs::remove_file(self.path(prefix));
        }
    }
}
