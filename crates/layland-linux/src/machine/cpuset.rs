//! Root domains as cpusets. Some are created for a run and removed after it ([`Cpusets`]). Others
//! are shared by all members with reservations on these CPUs, and removed after the last of them
//! ([`Partition`]).
//!
//! Version 1: each domain is an exclusive cpuset, and the root stops load balancing. The CPUs that
//! are left form a cpuset without threads, so that they are still balanced. Runs share the root and
//! this rest, which has the CPUs that no domain of any run has. Version 2: each domain is a
//! threaded cgroup whose `cpuset.cpus.partition` is `root`.

use super::changes::Changes;
use super::register::{self, PREFIX, Register};
use super::undo::Hold;
use crate::kernel::sys::Tid;
use crate::kernel::tracefs::left_in;
use layland_model::{CpuSet, Index};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The reason why a root domain cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum CpusetError {
    /// The kernel has no cpusets, or they are not mounted.
    #[error("no cpuset hierarchy is mounted")]
    NotMounted,
    /// A file or folder could not be used.
    #[error("failed to {what} {}: {error}", path.display())]
    Io {
        /// The operation that failed.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operation.
        error: io::Error,
    },
    /// The kernel did not turn the cpuset into a partition.
    #[error("the kernel did not accept {} as a partition: {answer}", path.display())]
    NotAPartition {
        /// The cgroup.
        path: PathBuf,
        /// The state that the kernel reports.
        answer: String,
    },
}

impl CpusetError {
    /// Returns advice for the user.
    pub fn help(&self) -> String {
        match self {
            CpusetError::NotMounted => {
                "as root: mkdir -p /sys/fs/cgroup/cpuset && mount -t cgroup -o cpuset cpuset \
                 /sys/fs/cgroup/cpuset"
                    .to_owned()
            }
            CpusetError::Io { error, .. } if error.kind() == io::ErrorKind::PermissionDenied => {
                "cpusets belong to root: run it as root, e.g. with sudo".to_owned()
            }
            CpusetError::Io { .. } => {
                "is a CPU exclusive to another cpuset? `layland doctor --clean` removes what earlier \
                 runs left"
                    .to_owned()
            }
            CpusetError::NotAPartition { .. } => {
                "the CPUs must not belong to another partition".to_owned()
            }
        }
    }
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CpusetError {
    let path = path.to_owned();
    move |error| CpusetError::Io { what, path, error }
}

/// Returns the root of cpusets, and true if they are those of version 1.
fn root() -> Result<(PathBuf, bool), CpusetError> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mut unified = None;
    for line in mounts.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        match fields.as_slice() {
            [_, path, "cgroup", options, ..] if options.split(',').any(|o| o == "cpuset") => {
                return Ok((path.into(), true));
            }
            [_, path, "cgroup2", ..] => unified = Some(PathBuf::from(path)),
            _ => {}
        }
    }
    let has_cpusets = |path: &PathBuf| {
        let controllers = fs::read_to_string(path.join("cgroup.controllers")).unwrap_or_default();
        controllers.split_whitespace().any(|name| name == "cpuset")
    };
    unified.filter(has_cpusets).map(|path| (path, false)).ok_or(CpusetError::NotMounted)
}

/// Returns true if cpusets are those of version 1; `None` if there are none.
pub fn is_v1() -> Option<bool> {
    root().ok().map(|(_, is_v1)| is_v1)
}

/// Returns the cpusets of runs that have ended, and those of runs whose state is unknown.
pub(crate) fn left(register: &Register) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut gone, mut unknown) =
        root().map(|(root, _)| left_in(&root, register)).unwrap_or_default();
    for found in [&mut gone, &mut unknown] {
        found.retain(|path| !is_shared(path));
    }
    (gone, unknown)
}

/// The name of the cpuset with the CPUs that belong to no domain.
const REST: &str = "layland-rest";
/// The prefix of the names of partitions; their CPUs follow it.
const PARTITION: &str = "layland-cpus-";

/// Returns true if a cpuset is a shared setting, and not one of a single run.
fn is_shared(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name == REST || name.starts_with(PARTITION)
}

/// The root domains of a run.
#[derive(Debug)]
pub struct Cpusets {
    domains: Vec<PathBuf>,
    root: PathBuf,
    is_v1: bool,
}

impl Cpusets {
    /// Creates one root domain for each list of CPUs (of the machine).
    ///
    /// # Errors
    /// Returns an error if the kernel refuses; nothing is left behind then.
    pub(crate) fn make(
        domains: &[Vec<usize>],
        changes: &mut Changes,
    ) -> Result<Cpusets, CpusetError> {
        let (root, is_v1) = root()?;
        let mut made = Cpusets { domains: Vec::new(), root, is_v1 };
        let result =
            if is_v1 { made.make_v1(domains, changes) } else { made.make_v2(domains, changes) };
        match result {
            Ok(()) => Ok(made),
            Err(error) => {
                made.remove(changes);
                Err(error)
            }
        }
    }

    fn make_v1(
        &mut self,
        domains: &[Vec<usize>],
        changes: &mut Changes,
    ) -> Result<(), CpusetError> {
        let root = self.root.clone();
        let hold = changes.hold().map_err(failed("hold the register for", &root))?;
        make_room_v1(&root, &domains.concat(), changes, &hold)?;
        for (index, cpus) in domains.iter().enumerate().filter(|(_, cpus)| !cpus.is_empty()) {
            let path = root.join(format!("{}{index}", changes.prefix()));
            changes.make(&path).map_err(failed("make", &path))?;
            fill_v1(&root, &path, cpus)?;
            self.domains.push(path);
        }
        Ok(())
    }

    fn make_v2(
        &mut self,
        domains: &[Vec<usize>],
        changes: &mut Changes,
    ) -> Result<(), CpusetError> {
        let hold = changes.hold().map_err(failed("hold the register for", &self.root))?;
        make_room_v2(&self.root, changes, &hold)?;
        for (index, cpus) in domains.iter().enumerate() {
            let path = self.root.join(format!("{}{index}", changes.prefix()));
            changes.make(&path).map_err(failed("make", &path))?;
            let file = path.join("cgroup.type");
            fs::write(&file, "threaded").map_err(failed("write", &file))?;
            fill_v2(&path, cpus)?;
            self.domains.push(path);
        }
        Ok(())
    }

    /// Removes the domains. If the kernel refuses, the removal is retried at the end of all
    /// changes, which reports the error.
    pub(crate) fn remove(&self, changes: &mut Changes) {
        for domain in &self.domains {
            let _ = changes.remove(domain);
        }
        if self.is_v1
            && let Ok(_hold) = changes.hold()
        {
            changes.wait_for_ended();
            // The CPUs of this run belong to the rest again, for as long as other runs need it.
            spread(&self.root, &[]);
        }
    }

    /// Moves a thread into a domain, by its position in the list.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses.
    pub fn attach(&self, domain: usize, thread: Tid) -> Result<(), CpusetError> {
        let Some(path) = self.domains.get(domain) else { return Err(CpusetError::NotMounted) };
        let file = path.join(if self.is_v1 { "tasks" } else { "cgroup.threads" });
        fs::write(&file, thread.0.to_string()).map_err(failed("write", &file))
    }
}

/// A root domain that all members with reservations on these CPUs share: a cpuset that is named
/// after the CPUs, created by the first and removed by the last. In version 2 it has whole
/// processes, in version 1 single threads.
#[derive(Debug)]
pub(crate) struct Partition {
    path: PathBuf,
    root: PathBuf,
    is_v1: bool,
}

impl Partition {
    /// Joins the partition of these CPUs (of the machine, ascending), and creates it if necessary.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses, for example because another cpuset has one of the
    /// CPUs for itself.
    pub fn join(cpus: &[usize], changes: &mut Changes) -> Result<Partition, CpusetError> {
        let (root, is_v1) = root()?;
        let name = register::list(cpus);
        let path = root.join(format!("{PARTITION}{name}"));
        let hold = changes.hold().map_err(failed("hold the register for", &path))?;
        if is_v1 {
            make_room_v1(&root, cpus, changes, &hold)?;
        } else {
            make_room_v2(&root, changes, &hold)?;
        }
        let made = changes.share_folder(&format!("cpuset-{name}"), &path, &hold);
        made.map_err(failed("make", &path))?;
        let filled = if is_v1 { fill_v1(&root, &path, cpus) } else { fill_v2(&path, cpus) };
        let partition = Partition { path, root, is_v1 };
        if let Err(error) = filled {
            drop(hold);
            partition.leave(changes);
            return Err(error);
        }
        Ok(partition)
    }

    /// Moves a thread (in version 1) or its process (in version 2) into the partition.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses.
    pub fn attach(&self, thread: Tid) -> Result<(), CpusetError> {
        let file = self.path.join(members(self.is_v1));
        fs::write(&file, thread.0.to_string()).map_err(failed("write", &file))
    }

    /// Leaves the partition before the end of all changes. If the kernel refuses, this is retried
    /// at the end, which reports the error.
    pub fn leave(&self, changes: &mut Changes) {
        changes.release(&self.path);
        if self.is_v1
            && let Ok(_hold) = changes.hold()
        {
            changes.wait_for_ended();
            spread(&self.root, &[]);
        }
    }
}

/// Returns the file of a cpuset that lists its members.
fn members(is_v1: bool) -> &'static str {
    if is_v1 { "tasks" } else { "cgroup.procs" }
}

/// Returns the file that lists the threads of a thread's cpuset.
///
/// # Errors
/// Returns an error if there are no cpusets, or the thread does not exist.
pub(crate) fn home_of(thread: Tid) -> Result<PathBuf, CpusetError> {
    let (root, is_v1) = root()?;
    let file = PathBuf::from(format!("/proc/{}/cgroup", thread.0));
    let text = read(&file)?;
    let own = text.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let is_it =
            if is_v1 { controllers.split(',').any(|name| name == "cpuset") } else { number == "0" };
        is_it.then(|| path.trim_start_matches('/').to_owned())
    });
    Ok(root.join(own.unwrap_or_default()).join(members(is_v1)))
}

/// Version 1: stops load balancing of the root, and keeps it for the rest of the machine.
fn make_room_v1(
    root: &Path,
    cpus: &[usize],
    changes: &mut Changes,
    hold: &Hold,
) -> Result<(), CpusetError> {
    let mems = read(&root.join("cpuset.mems"))?;
    changes.wait_for_ended();
    // Informs the guardian of the rest first, so that it goes last, when the root balances again.
    let rest = root.join(REST);
    changes.share_folder("cpuset-rest", &rest, hold).map_err(failed("make", &rest))?;
    let file = rest.join("cpuset.mems");
    fs::write(&file, &mems).map_err(failed("write", &file))?;
    let balance = root.join("cpuset.sched_load_balance");
    changes
        .set("cpuset-load-balance", &balance, "0", hold, |now| {
            (now.trim() != "0").then(|| now.trim().to_owned())
        })
        .map_err(failed("write", &balance))?;
    // This comes before the domains are created, because exclusive cpusets must not overlap.
    spread(root, cpus);
    Ok(())
}

/// Gives a cpuset its CPUs. It is not an error if it has them already.
fn fill_v1(root: &Path, path: &Path, cpus: &[usize]) -> Result<(), CpusetError> {
    let mems = read(&root.join("cpuset.mems"))?;
    let values = [
        ("cpuset.mems", mems),
        ("cpuset.cpus", list(cpus)),
        ("cpuset.cpu_exclusive", "1".to_owned()),
    ];
    for (name, value) in values {
        let file = path.join(name);
        fs::write(&file, value).map_err(failed("write", &file))?;
    }
    Ok(())
}

/// Version 2: allows cpusets in groups below the root.
fn make_room_v2(root: &Path, changes: &mut Changes, hold: &Hold) -> Result<(), CpusetError> {
    let control = root.join("cgroup.subtree_control");
    changes.wait_for_ended();
    changes
        .set("cgroup-cpuset", &control, "+cpuset", hold, |now| {
            let is_on = now.split_whitespace().any(|name| name == "cpuset");
            (!is_on).then(|| "-cpuset".to_owned())
        })
        .map_err(failed("write", &control))
}

/// Gives a group its CPUs and turns it into a partition. It is not an error if it is one already.
fn fill_v2(path: &Path, cpus: &[usize]) -> Result<(), CpusetError> {
    let file = path.join("cpuset.cpus");
    fs::write(&file, list(cpus)).map_err(failed("write", &file))?;
    let partition = path.join("cpuset.cpus.partition");
    fs::write(&partition, "root").map_err(failed("write", &partition))?;
    let answer = fs::read_to_string(&partition).unwrap_or_default();
    match answer.trim() {
        "root" => Ok(()),
        answer => {
            let (path, answer) = (path.to_owned(), answer.to_owned());
            Err(CpusetError::NotAPartition { path, answer })
        }
    }
}

fn read(path: &Path) -> Result<String, CpusetError> {
    let text = fs::read_to_string(path).map_err(failed("read", path))?;
    Ok(text.trim().to_owned())
}

/// Gives the rest of the machine all CPUs that neither belong to a domain nor are in `taken`. Does
/// nothing if there is no rest. The CPUs of a killed run stay out of the rest until the next run
/// comes or goes.
fn spread(root: &Path, taken: &[usize]) {
    let cpus = |path: PathBuf| -> CpuSet {
        read(&path.join("cpuset.cpus")).ok().and_then(|text| text.parse().ok()).unwrap_or_default()
    };
    let mut taken: Vec<usize> = taken.to_vec();
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_string_lossy().starts_with(PREFIX) && name != REST && entry.path().is_dir() {
            taken.extend(cpus(entry.path()).iter().map(Index::index));
        }
    }
    let rest: Vec<usize> =
        cpus(root.to_owned()).iter().map(Index::index).filter(|cpu| !taken.contains(cpu)).collect();
    // Refused only if a foreign cpuset is exclusive; then the domains are refused, too, which is
    // reported.
    let _ = fs::write(root.join(REST).join("cpuset.cpus"), list(&rest) + "\n");
}

fn list(cpus: &[usize]) -> String {
    cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

/// Creates a cpuset and removes it again. Returns the version of the hierarchy.
///
/// # Errors
/// Returns an error if the kernel refuses.
pub(crate) fn try_cpuset(changes: &mut Changes) -> Result<u32, CpusetError> {
    let (root, is_v1) = root()?;
    let path = root.join(format!("{}trial", changes.prefix()));
    changes.wait_for_ended();
    changes.make(&path).map_err(failed("make", &path))?;
    changes.remove(&path).map_err(failed("remove", &path))?;
    Ok(if is_v1 { 1 } else { 2 })
}
