//! Recording what the kernel's scheduler does, through tracefs and nothing else.
//!
//! A recording has an instance of its own, `layland-RUN-trace-N`, so that it disturbs nobody else's tracing.
//! Its events are enabled when it is made, which must be before real-time load starts: enabling a
//! tracepoint waits for every CPU. The instance goes when it is dropped, or by the guardian of its run's
//! [`Changes`]; `machine/left.rs` finds what neither has removed.

use crate::machine::changes::Changes;
use crate::machine::register::{self, Register};
use crate::machine::undo;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The events that are recorded, besides marks.
pub const EVENTS: [&str; 4] =
    ["sched_switch", "sched_waking", "sched_wakeup_new", "sched_migrate_task"];

/// The PID namespace that the kernel starts with: `PROC_PID_INIT_INO`.
const FIRST_NAMESPACE: u64 = 0xEFFF_FFFC;

/// Why nothing can be recorded.
#[derive(Debug, thiserror::Error)]
pub enum TracefsError {
    /// There is no tracefs.
    #[error("tracefs is not mounted")]
    NotMounted,
    /// This process is in a PID namespace, so that the threads that it knows have other numbers in a recording.
    #[error("tracefs numbers threads as outside, and this is a container with numbers of its own")]
    OtherNumbers,
    /// A file or folder of it could not be used.
    #[error("failed to {what} {}: {error}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
}

impl TracefsError {
    /// The command that would fix it.
    pub fn help(&self) -> String {
        match self {
            TracefsError::NotMounted => {
                "as root: mount -t tracefs tracefs /sys/kernel/tracing".to_owned()
            }
            TracefsError::OtherNumbers => {
                "record outside, or start the container with the PID namespace of the host, as `docker run --pid=host`"
                    .to_owned()
            }
            TracefsError::Io { error, .. } if error.kind() == ErrorKind::PermissionDenied => {
                "tracefs belongs to root: run it as root, e.g. with sudo".to_owned()
            }
            TracefsError::Io { .. } => "see `layland doctor`".to_owned(),
        }
    }
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> TracefsError {
    let path = path.to_owned();
    move |error| TracefsError::Io { what, path, error }
}

/// Where tracefs is mounted.
///
/// # Errors
/// If it is not.
pub fn root() -> Result<PathBuf, TracefsError> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mounted = mounts.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (path, kind) = (fields.next()?, fields.next()?);
        (kind == "tracefs").then(|| PathBuf::from(path))
    });
    // Below debugfs it is mounted when somebody looks.
    let below = || Some(PathBuf::from("/sys/kernel/debug/tracing")).filter(|path| path.exists());
    mounted.or_else(below).ok_or(TracefsError::NotMounted)
}

/// A recording.
#[derive(Debug)]
pub struct Instance {
    path: PathBuf,
    pipe: File,
}

impl Instance {
    /// Starts to record, into a buffer of this size per CPU. It is a change of the machine, which is taken back
    /// should this process die.
    ///
    /// # Errors
    /// If tracefs is not mounted, or not ours to use, or numbers threads otherwise than we do.
    pub fn start(buffer_kb: Option<u32>, changes: &mut Changes) -> Result<Instance, TracefsError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // 0 is unknown.
        if ![0, FIRST_NAMESPACE].contains(&register::own_namespace()) {
            return Err(TracefsError::OtherNumbers);
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}trace-{number}", changes.prefix());
        let path = root()?.join("instances").join(name);
        changes.make(&path).map_err(failed("make", &path))?;
        Instance::set_up(&path, buffer_kb).inspect_err(|_| {
            // What cannot be removed now is removed with all other changes.
            let _ = undo::remove(&path);
        })
    }

    fn set_up(path: &Path, buffer_kb: Option<u32>) -> Result<Instance, TracefsError> {
        let set = |name: &str, value: &str| {
            let file = path.join(name);
            fs::write(&file, value).map_err(failed("write", &file))
        };
        set("trace_clock", "mono")?;
        if let Some(kb) = buffer_kb {
            set("buffer_size_kb", &kb.to_string())?;
        }
        for event in EVENTS {
            set(&format!("events/sched/{event}/enable"), "1")?;
        }
        let pipe = path.join("trace_pipe");
        let pipe = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(&pipe)
            .map_err(failed("open", &pipe))?;
        Ok(Instance { path: path.to_owned(), pipe })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file into which marks are written, one with each call.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn markers(&self) -> Result<File, TracefsError> {
        let path = self.path.join("trace_marker");
        OpenOptions::new().write(true).open(&path).map_err(failed("open", &path))
    }

    /// From now on records only what happens to these threads, and what they do. A kernel that cannot, records all.
    pub fn keep_only(&mut self, threads: &[u32]) {
        let list: Vec<String> = threads.iter().map(u32::to_string).collect();
        let _ = fs::write(self.path.join("set_event_pid"), list.join(" "));
    }

    /// Takes what was recorded since the last call out of the buffer, as text.
    ///
    /// # Errors
    /// If reading or writing fails.
    pub fn drain(&mut self, out: &mut impl Write) -> io::Result<()> {
        let mut bytes = vec![0; 1 << 16];
        loop {
            match self.pipe.read(&mut bytes) {
                Ok(0) => return Ok(()),
                Ok(count) => out.write_all(&bytes[..count])?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Ends the recording: takes the rest, and adds comments that say what was lost on each CPU, as
    /// [`read`](layland_interchange::kernel::read) understands them. Returns how many events were lost.
    ///
    /// # Errors
    /// If reading or writing fails.
    pub fn finish(mut self, out: &mut impl Write) -> io::Result<u64> {
        fs::write(self.path.join("tracing_on"), "0")?;
        self.drain(out)?;
        let mut lost = 0;
        for entry in fs::read_dir(self.path.join("per_cpu"))?.filter_map(Result::ok) {
            let cpu = entry.file_name();
            let stats = fs::read_to_string(entry.path().join("stats"))?;
            for line in stats.lines() {
                let Some((key, number)) = line.split_once(": ") else { continue };
                let number = number.trim().parse::<u64>().unwrap_or(0);
                if matches!(key, "overrun" | "commit overrun" | "dropped events") && number > 0 {
                    writeln!(out, "# {} {key}: {number}", cpu.to_string_lossy())?;
                    lost += number;
                }
            }
        }
        Ok(lost)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // An open pipe keeps an instance alive.
        if let Ok(null) = File::open("/dev/null") {
            self.pipe = null;
        }
        // What cannot be removed now is removed with all other changes.
        let _ = undo::remove(&self.path);
    }
}

/// Instances of runs that are gone, and of those of which that is not known.
pub(crate) fn left(register: &Register) -> (Vec<PathBuf>, Vec<PathBuf>) {
    root().map(|root| left_in(&root.join("instances"), register)).unwrap_or_default()
}

/// Folders that are named after a run: of runs that are gone, and of those of which that is not known.
pub(crate) fn left_in(folder: &Path, register: &Register) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut gone, mut unknown) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with(register::PREFIX) || !entry.path().is_dir() {
            continue;
        }
        match register.is_owner_alive(&name) {
            Some(true) => {}
            Some(false) => gone.push(entry.path()),
            None => unknown.push(entry.path()),
        }
    }
    gone.sort();
    unknown.sort();
    (gone, unknown)
}
