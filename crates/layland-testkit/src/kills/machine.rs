//! The possible leftovers of runs on a machine, and the processes of a run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder with root's register of runs.
const REGISTER: &str = "/run/layland";

/// The state of a machine: for each kind, the names of the things and their values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot(BTreeMap<(Kind, String), String>);

/// A kind of leftover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A setting `/proc/sys/kernel/sched_*`.
    Setting,
    /// The flags of load balancing of the root cpuset.
    Balance,
    /// A cpuset or a cgroup.
    Cpuset,
    /// An instance of tracefs.
    Instance,
    /// A process that holds `/dev/cpu_dma_latency`.
    Latency,
    /// A file of the register.
    Register,
    /// A process.
    Process,
    /// A thread of a program that a run has started, with a scheduling class that its caller did not give it.
    Class,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 8] = [
        Kind::Setting,
        Kind::Balance,
        Kind::Cpuset,
        Kind::Instance,
        Kind::Latency,
        Kind::Register,
        Kind::Process,
        Kind::Class,
    ];

    /// Returns its name, for a table.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Setting => "sched_*",
            Kind::Balance => "balancing",
            Kind::Cpuset => "cpuset",
            Kind::Instance => "tracefs",
            Kind::Latency => "latency",
            Kind::Register => "register",
            Kind::Process => "process",
            Kind::Class => "class",
        }
    }
}

/// Returns the names in a folder, or no names if it cannot be read.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn trimmed(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// Returns the folders at which file systems of this kind are mounted.
fn mounted(kind: &str) -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let path = |line: &str| {
        let mut fields = line.split(' ').skip(1);
        let (path, found) = (fields.next()?, fields.next()?);
        (found == kind).then(|| PathBuf::from(path))
    };
    mounts.lines().filter_map(path).collect()
}

impl Snapshot {
    /// Takes a snapshot of the machine. It includes only the folders and processes of the program
    /// under test that these processes have started, because others may run the program, too.
    pub fn take(program: &Path, started: &[u32]) -> Snapshot {
        let mut found = Snapshot::default();
        let kernel = Path::new("/proc/sys/kernel");
        for name in names(kernel).into_iter().filter(|name| name.starts_with("sched_")) {
            let value = trimmed(&kernel.join(&name));
            found.put(Kind::Setting, name, value);
        }
        for root in mounted("cgroup").into_iter().chain(mounted("cgroup2")) {
            let balance = root.join("cpuset.sched_load_balance");
            if balance.exists() {
                found.put(Kind::Balance, root.display().to_string(), trimmed(&balance));
            }
            for name in names(&root).into_iter().filter(|name| is_of(name, "layland-", started)) {
                found.put(Kind::Cpuset, root.join(name).display().to_string(), String::new());
            }
        }
        for root in mounted("tracefs") {
            for name in names(&root.join("instances")) {
                if is_of(&name, "layland-", started) {
                    found.put(Kind::Instance, name, String::new());
                }
            }
        }
        for name in names(Path::new(REGISTER)) {
            // The names of shared files have no process in them.
            let is_shared = name.starts_with("setting-") || name == "reserved";
            let of_one = ["run-", "admitted-", "threads-", "leave-"];
            if is_shared || of_one.iter().any(|prefix| is_of(&name, prefix, started)) {
                found.put(Kind::Register, name, String::new());
            }
        }
        for pid in processes() {
            let folder = PathBuf::from(format!("/proc/{pid}"));
            // A guardian is a fork, so it has the same executable.
            if fs::read_link(folder.join("exe")).is_ok_and(|exe| exe == program) {
                found.put(Kind::Process, pid.to_string(), trimmed(&folder.join("comm")));
                let files = names(&folder.join("fd")).into_iter();
                let mut open = files.map(|name| fs::read_link(folder.join("fd").join(name)));
                if open.any(|file| file.is_ok_and(|file| file == Path::new("/dev/cpu_dma_latency")))
                {
                    found.put(Kind::Latency, pid.to_string(), String::new());
                }
            } else if is_marked(&folder) {
                for thread in names(&folder.join("task")) {
                    if has_class(&folder.join("task").join(&thread)) {
                        found.put(Kind::Class, thread, trimmed(&folder.join("comm")));
                    }
                }
            }
        }
        found
    }

    fn put(&mut self, kind: Kind, name: String, value: String) {
        self.0.insert((kind, name), value);
    }

    /// Returns a description of each difference from an earlier snapshot.
    pub fn since(&self, before: &Snapshot) -> Vec<(Kind, String)> {
        let now = |key: &(Kind, String)| self.0.get(key);
        let mut differ: Vec<(Kind, String)> = (self.0.iter())
            .filter(|&(key, value)| before.0.get(key) != Some(value))
            .map(|((kind, name), value)| (*kind, format!("{name} {value}").trim().to_owned()))
            .collect();
        // A missing setting is an error. Other missing things are repaired leftovers, or processes of others.
        let gone = before.0.keys().filter(|key| now(key).is_none());
        let gone = gone.filter(|(kind, _)| matches!(kind, Kind::Setting | Kind::Balance));
        differ.extend(gone.map(|(kind, name)| (*kind, format!("{name} is gone"))));
        differ
    }
}

/// Returns true if a name belongs to one of these processes, or to no process.
fn is_of(name: &str, prefix: &str, started: &[u32]) -> bool {
    let Some(rest) = name.strip_prefix(prefix) else { return false };
    let pid = rest.split('-').next().and_then(|pid| pid.parse::<u32>().ok());
    pid.is_none_or(|pid| started.contains(&pid))
}

/// The environment variable of all programs that a run of this campaign has started.
pub(super) const MARK: &str = "LAYLAND_KILLS";

fn is_marked(process: &Path) -> bool {
    let environment = fs::read(process.join("environ")).unwrap_or_default();
    let own = format!("{MARK}={}", std::process::id());
    environment.split(|&byte| byte == 0).any(|variable| variable == own.as_bytes())
}

/// Returns true if a thread has another scheduling class than an ordinary one.
fn has_class(thread: &Path) -> bool {
    let stat = fs::read_to_string(thread.join("stat")).unwrap_or_default();
    let Some((_, rest)) = stat.rsplit_once(')') else { return false };
    let mut fields = rest.split_whitespace();
    let is_there = !matches!(fields.next(), Some("Z" | "X") | None);
    // The policy is field 41, and `fields` has already yielded the state, which is field 3.
    let policy = fields.nth(37);
    is_there && policy.is_some_and(|policy| policy != "0")
}

/// Returns the numbers of all processes.
fn processes() -> Vec<u32> {
    names(Path::new("/proc")).iter().filter_map(|name| name.parse().ok()).collect()
}

/// Returns the guardians of a process: its living children of that name.
pub fn guardians(pid: u32) -> Vec<u32> {
    let is_guardian = |own: &u32| {
        let stat = fs::read_to_string(format!("/proc/{own}/stat")).unwrap_or_default();
        let Some((head, rest)) = stat.rsplit_once(')') else { return false };
        let mut fields = rest.split_whitespace();
        let (state, parent) = (fields.next(), fields.next());
        head.ends_with("(layland-guard") && state != Some("Z") && parent == Some(&pid.to_string())
    };
    processes().into_iter().filter(is_guardian).collect()
}

/// The capabilities of runs on this machine.
#[derive(Clone, Copy, Debug)]
pub struct Able {
    /// Real-time priorities.
    pub fifo: bool,
    /// `SCHED_DEADLINE`, its root domains, and its switch for admission control.
    pub deadline: bool,
    /// Recording with tracefs.
    pub tracefs: bool,
}

impl Able {
    /// Finds the capabilities with `layland doctor`.
    ///
    /// # Errors
    /// If the program cannot be started.
    pub fn find(program: &Path) -> std::io::Result<Able> {
        let output =
            Command::new(program).args(["doctor", "--json", "--latency-for", "0s"]).output()?;
        let document: serde_json::Value =
            serde_json::from_slice(&output.stdout).unwrap_or_default();
        let is_ok = |name: &str| {
            let mut findings = document["findings"].as_array().into_iter().flatten();
            findings.any(|finding| finding["name"] == name && finding["state"] == "ok")
        };
        let is_root =
            fs::OpenOptions::new().write(true).open("/proc/sys/kernel/sched_rt_runtime_us").is_ok();
        Ok(Able {
            fifo: is_ok("SCHED_FIFO"),
            deadline: is_root && is_ok("SCHED_DEADLINE") && is_ok("cpusets"),
            tracefs: is_ok("tracefs"),
        })
    }
}
