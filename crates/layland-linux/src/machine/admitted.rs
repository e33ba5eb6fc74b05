//! What is admitted on this machine: the reservations of programs under `layland exec`, one file of the register each.
//!
//! | file | has | is locked |
//! |---|---|---|
//! | `admission` | nothing | exclusively, by whoever asks whether a newcomer fits, until it is entered |
//! | `reserved` | what those who admit remember, also of who has left; gone with the last member | no |
//! | `admitted-ID` | one line of JSON: a [`Member`] | exclusively, by its run as long as it lives |
//! | `threads-ID` | the threads that were given another class ([`threads`]) | as `admitted-ID` says |
//! | `leave-ID` | nothing: the run shall give its reservations back | no |
//!
//! A member whose file is not locked has died. Its guardian gives its threads back what they were and removes the
//! files; if that was killed as well, whoever looks next does so ([`Register::bury`]). When it died is then not known:
//! who admits the next one counts it as if it had left at that instant.

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
    /// What it is called, by which it can be asked to leave.
    pub name: String,
    /// The process that looks after it, in its own PID namespace.
    pub pid: u32,
    /// That namespace, as `/proc/self/ns/pid` names it.
    pub namespace: u64,
    /// What it runs, for people.
    pub what: String,
    /// The policy under which it was admitted.
    pub policy: String,
    /// The CPUs of the machine that the policy has.
    pub cpus: Vec<usize>,
    /// Whether these CPUs are a root domain of their own.
    pub is_partition: bool,
    /// What it has reserved.
    pub reserved: Vec<Reserved>,
    /// Why what was promised to it no longer holds: nothing if it does.
    #[serde(default)]
    pub withdrawn: Vec<String>,
}

/// A reservation that was admitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reserved {
    /// What it is called: a task of a set, or a thread.
    pub name: String,
    /// The thread that has it, if there is one yet, and it has a number here: see [`Member::is_elsewhere`].
    pub thread: Option<i32>,
    /// When that thread started: with its number, its name for ever.
    #[serde(default)]
    pub started: Option<u64>,
    /// Processor time in each period, in nanoseconds.
    pub runtime_ns: i64,
    /// Relative deadline, in nanoseconds.
    pub deadline_ns: i64,
    /// Period, in nanoseconds.
    pub period_ns: i64,
    /// Whether its deadlines are guaranteed; otherwise its tardiness is bounded.
    pub is_hard: bool,
}

impl Member {
    /// Whether it is of another PID namespace, as in a container: its threads have no numbers here that are known.
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

/// Who has a thread already: a thread has one holder, or what it was before could not be given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its entry in the register.
    pub(crate) id: String,
    /// What it is called, by which it can be asked to leave.
    pub member: String,
    /// What it is, for people.
    pub what: String,
    /// The process that looks after it, in its own PID namespace.
    pub pid: u32,
    /// What the reservation of the thread is called.
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

/// A thread as members name it: by its number where they are, and its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Named {
    /// The PID namespace that it is in.
    namespace: Option<u64>,
    /// Its number in there, and here.
    inner: i32,
    here: i32,
    started: u64,
}

impl Named {
    fn of(thread: i32, started: u64) -> Named {
        // The last of these is its number in its own namespace. Before Linux 4.1 there is no such line.
        let status = fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
        let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
        let inner = numbers.and_then(|all| all.split_ascii_whitespace().last()?.parse().ok());
        let namespace = register::namespace_of(thread);
        Named { namespace, inner: inner.unwrap_or(thread), here: thread, started }
    }

    /// Whether a member of this namespace means it by this reservation.
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

/// Who has a thread, among all who are admitted here: in the own register, in that of root, and in that of the user
/// whose thread it is, as far as they can be read. But for the entry `but`.
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

/// Nobody else admits anything until this is dropped.
#[derive(Debug)]
pub struct Admitting {
    register: Register,
    _hold: Hold,
}

impl Register {
    /// Waits until nobody else admits anything.
    ///
    /// # Errors
    /// If somebody does for longer than anybody should.
    pub fn admitting(&self) -> io::Result<Admitting> {
        let hold = undo::hold(&register::c_path(&self.folder().join("admission"))?)?;
        Ok(Admitting { register: self.clone(), _hold: hold })
    }

    /// Who is admitted and alive, with the id of each, in the order of their ids.
    pub fn members(&self) -> Vec<(String, Member)> {
        self.read_members(true)
    }

    /// Whoever died and was not buried.
    pub(crate) fn dead_members(&self) -> Vec<(String, Member)> {
        self.read_members(false)
    }

    fn state(&self) -> PathBuf {
        self.folder().join("reserved")
    }

    /// Who has this thread.
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
            // These numbers are other threads' here.
            member.reserved.iter_mut().for_each(|reserved| reserved.thread = None);
        }
        found
    }

    /// The members as their files have them: the numbers of threads are those of their namespaces.
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
            // A line that has become shorter has the end of the former one behind it for a moment.
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

    /// Asks a member to give its reservations back: whether there is such a one.
    ///
    /// # Errors
    /// If it cannot be asked.
    pub fn ask_to_leave(&self, name: &str) -> io::Result<bool> {
        let members = self.members();
        let mut asked = members.iter().filter(|(_, member)| member.name == name).peekable();
        let found = asked.peek().is_some();
        for (id, _) in asked {
            File::create(self.folder().join(format!("{LEAVE}{id}")))?;
        }
        Ok(found)
    }

    /// Removes what a member has left that died together with its guardian: its threads get back what they were.
    ///
    /// # Errors
    /// If the kernel refuses.
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

    /// The files of members of which no entry is left, as their names say.
    pub(crate) fn orphans(&self) -> Vec<PathBuf> {
        let has_entry = |name: &str| self.folder().join(format!("{ADMITTED}{name}")).exists();
        let of = |prefix: &str| {
            let names = self.names(prefix).into_iter();
            let lone = names.filter(|name| !has_entry(&name[prefix.len()..]));
            lone.map(|name| self.folder().join(name)).collect::<Vec<_>>()
        };
        [of(THREADS), of(LEAVE)].concat()
    }

    /// Removes such a file; threads that a list names get back what they were.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(crate) fn bury_orphan(&self, path: &Path) -> io::Result<()> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = register::c_path(path)?;
        if name.starts_with(THREADS) { threads::restore_all(&path) } else { files::remove(&path) }
    }

    /// How many threads of a dead member still have what it gave them.
    pub(crate) fn threads_of(&self, id: &str) -> usize {
        let path = register::c_path(&self.folder().join(format!("{THREADS}{id}")));
        path.map_or(0, |path| threads::alive_in(&path))
    }
}

impl Admitting {
    /// Who is admitted and alive. Whoever has died is buried first.
    ///
    /// # Errors
    /// If the kernel refuses to give the threads of a dead member back what they were.
    pub fn members(&self) -> io::Result<Vec<(String, Member)>> {
        for (id, _) in self.register.dead_members() {
            self.register.bury(&id)?;
        }
        Ok(self.register.members())
    }

    /// The runs that have CPUs for themselves.
    pub fn runs(&self) -> Vec<register::Run> {
        self.register.runs().into_iter().filter(|run| !run.cpus.is_empty()).collect()
    }

    /// What those who admit remember, as they have written it; `None` if there is nothing to remember.
    pub fn remembered(&self) -> Option<String> {
        register::open(&self.register.state()).ok().map(|file| register::text_of(&file))
    }

    /// Remembers something for whoever admits next. It is gone with the last member.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn remember(&self, text: &str) -> io::Result<()> {
        // A reader that dies in the middle must not leave half of it.
        let (path, new) = (self.register.state(), self.register.folder().join("reserved.new"));
        fs::write(&new, text)?;
        fs::rename(new, path)
    }
}

/// The own entry among what is admitted.
#[derive(Debug)]
pub struct Membership {
    folder: PathBuf,
    id: String,
    file: File,
    /// What it says.
    pub member: Member,
    pub(crate) changed: Changed,
}

impl Membership {
    /// Enters a member, for which everything was decided under the hold. If its run dies, its threads become what they
    /// were, and its entry is gone.
    ///
    /// # Errors
    /// If the files cannot be written, or the guardian does not answer.
    pub fn enter(
        admitting: &Admitting,
        changes: &mut Changes,
        member: Member,
    ) -> Result<Membership, ChangeError> {
        let folder = admitting.register.folder().to_owned();
        let id = changes.id().to_owned();
        let entered = move || -> io::Result<Membership> {
            let path = |prefix: &str| folder.join(format!("{prefix}{id}"));
            // A file that is not locked yet would be taken for that of a dead member, and a list alone for an orphan.
            let hold = changes.hold()?;
            // Taken back last first: the threads before the entry that says whose they are.
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

    /// Says what has changed.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&mut self) -> io::Result<()> {
        // In one call: others read it without a lock.
        let text = serde_json::to_string(&self.member).map_err(io::Error::other)? + "\n";
        io::Seek::rewind(&mut self.file)?;
        self.file.write_all(text.as_bytes())?;
        self.file.set_len(text.len() as u64)
    }

    /// Says which thread has the reservation at `index`, if one has.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn claim(&mut self, index: usize, thread: Option<(Tid, u64)>) -> io::Result<()> {
        if let Some(reserved) = self.member.reserved.get_mut(index) {
            reserved.thread = thread.map(|(tid, _)| tid.0);
            reserved.started = thread.map(|(_, started)| started);
        }
        self.write()
    }

    /// Tells the guardian of the threads once more, so that it restores them before whatever it was told since.
    pub(crate) fn tell_threads(&self, changes: &mut Changes) -> io::Result<()> {
        changes.remember(&Undo::Threads(self.path(THREADS)))
    }

    /// Whether somebody wants the reservations to be given back.
    pub fn shall_leave(&self) -> bool {
        self.path(LEAVE).exists()
    }

    /// Removes the entry: what was reserved is used no longer.
    pub(crate) fn remove(&self) {
        for prefix in [THREADS, LEAVE, ADMITTED] {
            let _ = fs::remove_file(self.path(prefix));
        }
    }
}
