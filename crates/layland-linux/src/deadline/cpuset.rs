//! Root domains as cpusets, made for a run and removed after it.
//!
//! Version 1: each domain is an exclusive cpuset, the root gives up load balancing, and what is left of
//! the machine is a cpuset of its own, so that it goes on being balanced. Version 2: each domain is a
//! threaded cgroup whose `cpuset.cpus.partition` is `root`.

use crate::kernel::sys::Tid;
use crate::kernel::tracefs::left_in;
use crate::machine::undo::{self, Guardian, Undo};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Why a root domain cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum CpusetError {
    /// No cpusets in this kernel, or not mounted.
    #[error("no cpuset hierarchy is mounted")]
    NotMounted,
    /// A file or folder could not be used.
    #[error("failed to {what} {}: {error}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The kernel did not make it a partition.
    #[error("the kernel did not accept {} as a partition: {answer}", path.display())]
    NotAPartition {
        /// The cgroup.
        path: PathBuf,
        /// What the kernel says.
        answer: String,
    },
}

impl CpusetError {
    /// What to do about it.
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

/// Where cpusets are, and whether that is version 1.
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

/// Whether cpusets are those of version 1; `None` if there are none.
pub fn is_v1() -> Option<bool> {
    root().ok().map(|(_, is_v1)| is_v1)
}

/// Cpusets of processes that are gone.
pub fn stale() -> Vec<PathBuf> {
    root().map(|(root, _)| left_in(&root)).unwrap_or_default()
}

/// Root domains. Dropping them removes them.
#[derive(Debug)]
pub struct Cpusets {
    domains: Vec<PathBuf>,
    undos: Vec<Undo>,
    is_v1: bool,
}

impl Cpusets {
    /// Makes one root domain for each list of CPUs (of the machine). The guardian takes everything back
    /// should this process die.
    ///
    /// # Errors
    /// If the kernel refuses; nothing is left behind then.
    pub fn make(
        domains: &[Vec<usize>],
        all: &[usize],
        guardian: &mut Guardian,
    ) -> Result<Cpusets, CpusetError> {
        let (root, is_v1) = root()?;
        let mut made = Cpusets { domains: Vec::new(), undos: Vec::new(), is_v1 };
        if is_v1 {
            made.make_v1(&root, domains, all, guardian)?;
        } else {
            made.make_v2(&root, domains, guardian)?;
        }
        Ok(made)
    }

    fn change(
        &mut self,
        undo: Undo,
        guardian: &mut Guardian,
        what: &'static str,
        path: &Path,
        act: impl FnOnce() -> io::Result<()>,
    ) -> Result<(), CpusetError> {
        guardian.remember(&undo).map_err(failed("guard", path))?;
        self.undos.push(undo);
        act().map_err(failed(what, path))
    }

    fn make_v1(
        &mut self,
        root: &Path,
        domains: &[Vec<usize>],
        all: &[usize],
        guardian: &mut Guardian,
    ) -> Result<(), CpusetError> {
        let read = |name: &str| {
            let path = root.join(name);
            fs::read_to_string(&path)
                .map(|text| text.trim().to_owned())
                .map_err(failed("read", &path))
        };
        let mems = read("cpuset.mems")?;
        let balance = root.join("cpuset.sched_load_balance");
        let before = read("cpuset.sched_load_balance")?;
        let rest: Vec<usize> = all
            .iter()
            .copied()
            .filter(|cpu| !domains.iter().flatten().any(|own| own == cpu))
            .collect();
        let kinds = [("", domains), ("rest-", std::slice::from_ref(&rest))];
        for (kind, lists) in kinds {
            for (index, cpus) in lists.iter().enumerate().filter(|(_, cpus)| !cpus.is_empty()) {
                let path = root.join(format!("layland-{}-{kind}{index}", std::process::id()));
                let undo = Undo::Remove(path.clone());
                self.change(undo, guardian, "make", &path, || fs::create_dir(&path))?;
                let values = [
                    ("cpuset.mems", mems.clone()),
                    ("cpuset.cpus", list(cpus)),
                    ("cpuset.cpu_exclusive", "1".to_owned()),
                ];
                for (name, value) in values {
                    let file = path.join(name);
                    fs::write(&file, value).map_err(failed("write", &file))?;
                }
                if kind.is_empty() {
                    self.domains.push(path);
                }
            }
        }
        let undo = Undo::Write(balance.clone(), before);
        self.change(undo, guardian, "write", &balance, || fs::write(&balance, "0"))
    }

    fn make_v2(
        &mut self,
        root: &Path,
        domains: &[Vec<usize>],
        guardian: &mut Guardian,
    ) -> Result<(), CpusetError> {
        let control = root.join("cgroup.subtree_control");
        let before = fs::read_to_string(&control).map_err(failed("read", &control))?;
        if !before.split_whitespace().any(|name| name == "cpuset") {
            let undo = Undo::Write(control.clone(), "-cpuset".to_owned());
            self.change(undo, guardian, "write", &control, || fs::write(&control, "+cpuset"))?;
        }
        for (index, cpus) in domains.iter().enumerate() {
            let path = root.join(format!("layland-{}-{index}", std::process::id()));
            let undo = Undo::Remove(path.clone());
            self.change(undo, guardian, "make", &path, || fs::create_dir(&path))?;
            let partition = path.join("cpuset.cpus.partition");
            for (name, value) in
                [("cgroup.type", "threaded".to_owned()), ("cpuset.cpus", list(cpus))]
            {
                let file = path.join(name);
                fs::write(&file, value).map_err(failed("write", &file))?;
            }
            fs::write(&partition, "root").map_err(failed("write", &partition))?;
            let answer = fs::read_to_string(&partition).unwrap_or_default();
            if answer.trim() != "root" {
                let answer = answer.trim().to_owned();
                return Err(CpusetError::NotAPartition { path, answer });
            }
            self.domains.push(path);
        }
        Ok(())
    }

    /// Moves a thread into a domain, by its position in the list.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn attach(&self, domain: usize, thread: Tid) -> Result<(), CpusetError> {
        let Some(path) = self.domains.get(domain) else { return Err(CpusetError::NotMounted) };
        let file = path.join(if self.is_v1 { "tasks" } else { "cgroup.threads" });
        fs::write(&file, thread.0.to_string()).map_err(failed("write", &file))
    }
}

impl Drop for Cpusets {
    fn drop(&mut self) {
        for undo in self.undos.iter().rev() {
            // The guardian tries once more, and says what it could not do.
            let _ = undo.apply();
        }
    }
}

/// Removes what earlier runs left, and lets the root balance again. Returns what it removed.
///
/// # Errors
/// If the kernel refuses.
pub fn clean() -> io::Result<Vec<PathBuf>> {
    let left = stale();
    for path in &left {
        undo::remove(path)?;
    }
    if let (false, Ok((root, true))) = (left.is_empty(), root()) {
        fs::write(root.join("cpuset.sched_load_balance"), "1")?;
    }
    Ok(left)
}

fn list(cpus: &[usize]) -> String {
    cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
}

/// Makes a cpuset and removes it again. Returns the version of the hierarchy.
///
/// # Errors
/// If the kernel refuses.
pub fn try_cpuset() -> Result<u32, CpusetError> {
    let (root, is_v1) = root()?;
    let path = root.join(format!("layland-{}-trial", std::process::id()));
    fs::create_dir(&path).map_err(failed("make", &path))?;
    undo::remove(&path).map_err(failed("remove", &path))?;
    Ok(if is_v1 { 1 } else { 2 })
}
