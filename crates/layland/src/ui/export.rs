//! Traces in the formats of other tools, chosen by the extension of a file, for every command that
//! writes a trace. The files are written while a run is reported, by an engine or from a trace.

use super::command_line;
use super::exit::Failure;
use super::files::{self, NewFile};
use layland_config::to_toml;
#[cfg(feature = "tables")]
use layland_interchange::columns::ColumnsError;
use layland_interchange::perfetto::PerfettoWriter;
use layland_interchange::st_trace::{StTraceError, StTraceWriter};
#[cfg(feature = "tables")]
use layland_interchange::tables::{self, TablesWriter};
use layland_model::{Service, System, Time};
use layland_trace::{Answer, Job, JobEnd, Labels, Mark, Recorder, Scratch, Segment};
use std::path::{Path, PathBuf};
use twox_hash::XxHash3_128;

/// The origin of a trace.
pub(crate) struct Origin<'a> {
    /// The title of the run.
    pub title: &'a str,
    /// The command that was run.
    pub provenance: String,
    pub seed: Option<u64>,
    pub system: Option<&'a System>,
}

impl Origin<'_> {
    /// Returns the complete provenance, so that a table without its folder still contains the
    /// command that made it.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let arguments = command_line::arguments().iter();
        let command: Vec<String> = arguments.map(|argument| quoted(argument)).collect();
        let set =
            |system: &System| format!("{:032x}", XxHash3_128::oneshot(to_toml(system).as_bytes()));
        let all = [
            ("version", Some(env!("CARGO_PKG_VERSION").to_owned())),
            ("provenance", Some(self.provenance.clone())),
            ("command", Some(command.join(" "))),
            ("seed", self.seed.map(|seed| seed.to_string())),
            ("set_xxh3_128", self.system.map(set)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// Quotes an argument for a shell.
fn quoted(argument: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_./:=,+@%".contains(char);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', "'\\''"))
    }
}

/// A format for a whole trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Export {
    /// A trace for Perfetto.
    Perfetto,
    /// A Parquet file for each table.
    Parquet,
    /// The records of LITMUS^RT.
    StTrace,
}

impl Export {
    /// Returns the extensions of its files.
    pub(crate) fn endings(self) -> &'static [&'static str] {
        match self {
            Export::Perfetto => &["pftrace", "perfetto-trace"],
            Export::Parquet => &["parquet"],
            Export::StTrace => &["bin"],
        }
    }

    /// Describes the format of the extension.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Export::Perfetto => ".pftrace for Perfetto",
            Export::Parquet => ".parquet for tables",
            Export::StTrace => ".bin for a trace of LITMUS^RT",
        }
    }

    /// Creates the files of a run: the file of the path, or `dir/name.TABLE.parquet` for each
    /// table. `over` contains the end of the run, and whether that is before its horizon.
    pub(crate) fn begin<'a>(
        self,
        path: &Path,
        labels: &'a Labels,
        over: (Time, bool),
        origin: &Origin<'_>,
    ) -> Result<Exported<'a>, Failure> {
        let scratch = scratch(path);
        let (paths, writer) = match self {
            Export::Perfetto => {
                let file = NewFile::create(path)?;
                let writer = PerfettoWriter::new(file, labels, origin.title, &scratch);
                (vec![path.to_owned()], Writer::Perfetto(writer))
            }
            Export::StTrace => {
                let file = NewFile::create(path)?;
                let writer = StTraceWriter::new(file, labels, &scratch).map_err(no_st_trace)?;
                (vec![path.to_owned()], Writer::StTrace(writer))
            }
            #[cfg(not(feature = "tables"))]
            Export::Parquet => {
                let _ = over;
                let failure = Failure::refused("this program was built without tables");
                return Err(
                    failure.help("build it with the feature `tables`, which is a default one")
                );
            }
            #[cfg(feature = "tables")]
            Export::Parquet => {
                let paths =
                    tables::NAMES.map(|name| path.with_extension(format!("{name}.parquet")));
                let [jobs, segments, marks] = &paths;
                let files =
                    [NewFile::create(jobs)?, NewFile::create(segments)?, NewFile::create(marks)?];
                let writer = TablesWriter::new(files, labels, over, &origin.facts())
                    .map_err(|error| no_tables(path, &error))?;
                (paths.to_vec(), Writer::Tables(Box::new(writer)))
            }
        };
        Ok(Exported { path: path.to_owned(), paths, writer })
    }
}

/// Returns temporary storage for data that cannot be written to its place in the file yet.
pub(crate) fn scratch(path: &Path) -> Scratch {
    // Short runs fit in memory and need no temporary file.
    const ROOM: usize = 16 << 20;
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    Scratch::in_folder(folder.unwrap_or(Path::new(".")), ROOM)
}

fn no_st_trace(error: StTraceError) -> Failure {
    let failure = Failure::refused(error.to_string());
    match error {
        StTraceError::TooMany { .. } => failure.help("write a .json"),
        StTraceError::Write { .. }
        | StTraceError::CutOff { .. }
        | StTraceError::Kind { .. }
        | StTraceError::Time { .. } => failure,
    }
}

#[cfg(feature = "tables")]
fn no_tables(path: &Path, error: &ColumnsError) -> Failure {
    Failure::refused(format!("{}: {error}", path.display()))
}

/// Files that are written while a run is reported. They are removed unless they are
/// [kept](Exported::keep).
pub(crate) struct Exported<'a> {
    path: PathBuf,
    paths: Vec<PathBuf>,
    writer: Writer<'a>,
}

enum Writer<'a> {
    Perfetto(PerfettoWriter<'a, NewFile>),
    StTrace(StTraceWriter<NewFile>),
    #[cfg(feature = "tables")]
    Tables(Box<TablesWriter<'a, NewFile>>),
}

impl Exported<'_> {
    /// Finishes the files after the run, moves them to their places, and returns their names.
    pub(crate) fn keep(self) -> Result<Vec<PathBuf>, Failure> {
        let path = &self.path;
        match self.writer {
            Writer::Perfetto(writer) => {
                writer.finish().map_err(|error| files::failed(path, &error))?.keep()?;
            }
            Writer::StTrace(writer) => writer.finish().map_err(no_st_trace)?.keep()?,
            #[cfg(feature = "tables")]
            Writer::Tables(writer) => {
                let files = writer.finish().map_err(|error| no_tables(path, &error))?;
                files.into_iter().try_for_each(NewFile::keep)?;
            }
        }
        Ok(self.paths)
    }

    fn recorder(&mut self) -> &mut dyn Recorder {
        match &mut self.writer {
            Writer::Perfetto(writer) => writer,
            Writer::StTrace(writer) => writer,
            #[cfg(feature = "tables")]
            Writer::Tables(writer) => &mut **writer,
        }
    }
}

impl Recorder for Exported<'_> {
    fn released(&mut self, job: &Job) {
        self.recorder().released(job);
    }
    fn executed(&mut self, segment: &Segment) {
        self.recorder().executed(segment);
    }
    fn ended(&mut self, job: &Job, at: Time, end: JobEnd, executed: Service) {
        self.recorder().ended(job, at, end, executed);
    }
    fn pending(&mut self, job: &Job, at: Time, executed: Service) {
        self.recorder().pending(job, at, executed);
    }
    fn marked(&mut self, mark: &Mark) {
        self.recorder().marked(mark);
    }
    fn answered(&mut self, answer: &Answer) {
        self.recorder().answered(answer);
    }
    fn over(&mut self, at: Time, interrupted: bool) {
        self.recorder().over(at, interrupted);
    }
}
