//! The kernel's trace of a run: its recording, and the destination of marks.

use crate::ui::exit::Failure;
use crate::ui::files::NewFile;
use crate::ui::output::{FileKind, Output};
use crate::ui::terminal;
use layland_linux::tracefs::{Instance, TracefsError};
use layland_linux::{Changes, Markers, Recorder};
use layland_model::System;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The size of the kernel's buffer per CPU, in KiB. It is emptied during the run.
const BUFFER_KB: u32 = 16_384;
/// The environment variable with the file for marks, if another process records.
pub(crate) const VARIABLE: &str = "LAYLAND_TRACE_MARKER";

/// The recorder and the files for marks.
pub(super) struct Recording {
    recorder: Option<(Recorder<NewFile>, PathBuf)>,
    pub markers: Option<Arc<Markers>>,
}

fn refused(error: &TracefsError) -> Failure {
    Failure::refused(error.to_string()).help(error.help())
}

impl Recording {
    /// Starts to record if an output needs it. Marks go to the recording, or else to the file that
    /// the environment names, or else, if they are wanted, to the kernel's main trace.
    pub(super) fn start(
        outputs: &[Output],
        wants_marks: bool,
        system: &System,
        changes: &mut Changes,
    ) -> Result<Recording, Failure> {
        let wanted: Vec<&Output> =
            outputs.iter().filter(|output| output.kind == FileKind::Kernel).collect();
        if wanted.len() > 1 {
            return Err(Failure::usage("the kernel's trace is written to one file"));
        }
        let Some(output) = wanted.first() else {
            let file = foreign_markers(wants_marks)?;
            return Ok(Recording { recorder: None, markers: file.map(|file| marks(file, system)) });
        };
        let path = output.path.clone();
        let instance =
            Instance::start(Some(BUFFER_KB), changes).map_err(|error| refused(&error))?;
        let file = instance.markers().map_err(|error| refused(&error))?;
        let recorder = Recorder::start(instance, NewFile::create(&path)?);
        let recorder = recorder.map_err(|error| Failure::refused(error.to_string()))?;
        Ok(Recording { recorder: Some((recorder, path)), markers: Some(marks(file, system)) })
    }

    /// Ends the recording. Returns the number of lost events.
    pub(super) fn finish(self, quiet: bool) -> Result<u64, Failure> {
        // An instance with an open file cannot be removed.
        drop(self.markers);
        let Some((recorder, path)) = self.recorder else { return Ok(0) };
        let failed = |error: std::io::Error| {
            Failure::refused(format!("failed to write {}: {error}", path.display()))
        };
        let (out, lost) = recorder.finish().map_err(failed)?;
        out.keep()?;
        if !quiet {
            terminal::talk(&format!("wrote {}", path.display()));
        }
        Ok(lost)
    }
}

fn marks(file: File, system: &System) -> Arc<Markers> {
    let names = system.tasks.values().map(|task| task.name.to_string()).collect();
    Arc::new(Markers::new(file, names))
}

/// Returns the file for marks in a recording by another process.
fn foreign_markers(wants_marks: bool) -> Result<Option<File>, Failure> {
    let open = |path: &Path| {
        OpenOptions::new().write(true).open(path).map_err(|error| {
            Failure::refused(format!("failed to open {}: {error}", path.display()))
                .help("as root: mount -t tracefs tracefs /sys/kernel/tracing")
        })
    };
    if let Some(path) = std::env::var_os(VARIABLE) {
        return open(Path::new(&path)).map(Some);
    }
    if !wants_marks {
        return Ok(None);
    }
    let root = layland_linux::tracefs::root().map_err(|error| refused(&error))?;
    open(&root.join("trace_marker")).map(Some)
}
