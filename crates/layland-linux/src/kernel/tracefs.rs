//! Recording of the kernel's scheduling events, with tracefs alone.
//!
//! A recording has an instance of its own, `layland-RUN-trace-N`, so that it does not disturb other
//! tracing. Its events are enabled when it is created, which must be before real-time load starts,
//! because enabling a tracepoint waits for every CPU. The instance is removed when it is dropped,
//! or by the guardian of its run's [`Changes`]; `machine/left.rs` finds instances that neither has
//! removed.

use crate::machine::changes::Changes;
use crate::machine::register::{self, Register};
use crate::machine::undo;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The events that are recorded in addition to marks.
pub const EVENTS: [&str; 4] =
    ["sched_switch", "sched_waking", "sched_wakeup_new", "sched_migrate_task"];

/// The initial PID namespace of the kernel: `PROC_PID_INIT_INO`.
const FIRST_NAMESPACE: u64 = 0xEFFF_FFFC;

/// The reason why a recording is not possible.
#[derive(Debug, thiserror::Error)]
pub enum TracefsError {
    /// There is no tracefs.
    #[error("tracefs is not mounted")]
    NotMounted,
    /// This process is in a PID namespace, so a recording has other numbers for its threads.
    #[error("tracefs numbers threads as outside, and this is a container with numbers of its own")]
    OtherNumbers,
    /// A file or folder of tracefs could not be used.
    #[error("failed to {what} {}: {error}", path.display())]
    Io {
        /// The operation that failed.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operation.
        error: io::Error,
    },
}

impl TracefsError {
    /// Returns a command or advice that fixes the problem.
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

/// Returns the mount point of tracefs.
///
/// # Errors
/// Returns an error if tracefs is not mounted.
pub fn root() -> Result<PathBuf, TracefsError> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mounted = mounts.lines().find_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (path, kind) = (fields.next()?, fields.next()?);
        (kind == "tracefs").then(|| PathBuf::from(path))
    });
    // Below debugfs, the kernel mounts it on first access.
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
    /// Starts to record, into a buffer of this size per CPU. The instance is a change of the
    /// machine, which the guardian reverts if this process dies.
    ///
    /// # Errors
    /// Returns an error if tracefs is not mounted, not accessible, or numbers threads differently
    /// from this process.
    pub fn start(buffer_kb: Option<u32>, changes: &mut Changes) -> Result<Instance, TracefsError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // Namespace 0 stands for unknown.
        if ![0, FIRST_NAMESPACE].contains(&register::own_namespace()) {
            return Err(TracefsError::OtherNumbers);
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}trace-{number}", changes.prefix());
        let path = root()?.join("instances").join(name);
        changes.make(&path).map_err(failed("make", &path))?;
        Instance::set_up(&path, buffer_kb).inspect_err(|_| {
            // If this fails, the instance is removed with all other changes.
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

    /// Returns the folder of the instance.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file for marks, which takes one mark per call.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened.
    pub fn markers(&self) -> Result<File, TracefsError> {
        let path = self.path.join("trace_marker");
        OpenOptions::new().write(true).open(&path).map_err(failed("open", &path))
    }

    /// Restricts the recording to these threads from now on. A kernel without this filter records
    /// all.
    pub fn keep_only(&mut self, threads: &[u32]) {
        let list: Vec<String> = threads.iter().map(u32::to_string).collect();
        let _ = fs::write(self.path.join("set_event_pid"), list.join(" "));
    }

    /// Moves the records since the last call from the buffer to `out`, as text.
    ///
    /// # Errors
    /// Returns an error if reading or writing fails.
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

    /// Ends the recording: drains the rest and appends comments with the losses of each CPU, in the
    /// format of [`read`](layland_interchange::kernel::read). Returns the number of lost events.
    ///
    /// # Errors
    /// Returns an error if reading or writing fails.
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
        // An open pipe would keep the instance alive.
        if let Ok(null) = File::open("/dev/null") {
            self.pipe = null;
        }
        // If this fails, the instance is removed with all other changes.
        let _ = undo::remove(&self.path);
    }
}

/// Returns the instances of runs that have ended, and those of runs whose state is unknown.
pub(crate) fn left(register: &Register) -> (Vec<PathBuf>, Vec<PathBuf>) {
    root().map(|root| left_in(&root.join("instances"), register)).unwrap_or_default()
}

/// Returns the folders that are named after runs that have ended, and after runs whose state is
/// unknown.
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
