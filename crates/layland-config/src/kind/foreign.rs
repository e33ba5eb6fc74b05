//! The files that people have and that are not task sets: their names, and what to do.

use std::fmt;

/// A file that is known, and that is not a task set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the display of a variant is its description")]
pub enum Foreign {
    Amalthea,
    Cheddar,
    PartSim,
    Mast,
    Tgff,
    Aadl,
    GraphMl,
    OtherXml,
    OtherJson,
    OtherYaml,
    ChromeTrace,
    PerfettoTrace,
    KernelTrace,
    LttngTrace,
    CountedTrace,
    PerfJson,
    SagOther,
    TraceCmd,
    PerfData,
    LitmusTrace,
    RtAppLog,
    LaylandTrace,
    RunLog,
    Answer,
    Experiment,
    Callbacks,
    Image,
    Pdf,
    Program,
    Script,
    CSource,
    PythonSource,
    RustSource,
    Html,
    Spreadsheet,
    Document,
    Archive,
    Parquet,
    Database,
    Utf16,
    Binary,
    Text,
}

const AS_A_TABLE: &str = "it is not read: write its tasks as a table, with a line of titles such as `Task, C, T, D` and a line for each task";
const TRACE: &str = "a trace is for `layland trace`: `layland trace infer FILE -o set.toml` makes a task set of it, and `layland trace stats FILE` counts";

impl Foreign {
    /// All of them.
    pub const ALL: [Foreign; 42] = [
        Foreign::Amalthea,
        Foreign::Cheddar,
        Foreign::PartSim,
        Foreign::Mast,
        Foreign::Tgff,
        Foreign::Aadl,
        Foreign::GraphMl,
        Foreign::OtherXml,
        Foreign::OtherJson,
        Foreign::OtherYaml,
        Foreign::ChromeTrace,
        Foreign::PerfettoTrace,
        Foreign::KernelTrace,
        Foreign::LttngTrace,
        Foreign::CountedTrace,
        Foreign::PerfJson,
        Foreign::SagOther,
        Foreign::TraceCmd,
        Foreign::PerfData,
        Foreign::LitmusTrace,
        Foreign::RtAppLog,
        Foreign::LaylandTrace,
        Foreign::RunLog,
        Foreign::Answer,
        Foreign::Experiment,
        Foreign::Callbacks,
        Foreign::Image,
        Foreign::Pdf,
        Foreign::Program,
        Foreign::Script,
        Foreign::CSource,
        Foreign::PythonSource,
        Foreign::RustSource,
        Foreign::Html,
        Foreign::Spreadsheet,
        Foreign::Document,
        Foreign::Archive,
        Foreign::Parquet,
        Foreign::Database,
        Foreign::Utf16,
        Foreign::Binary,
        Foreign::Text,
    ];

    /// Returns true for a trace of a form that is not read.
    pub fn is_unread_trace(self) -> bool {
        matches!(
            self,
            Foreign::ChromeTrace | Foreign::LttngTrace | Foreign::CountedTrace | Foreign::PerfJson
        )
    }

    /// Returns what to do with such a file.
    pub fn help(self) -> &'static str {
        match self {
            Foreign::Amalthea
            | Foreign::Cheddar
            | Foreign::PartSim
            | Foreign::Mast
            | Foreign::Tgff
            | Foreign::Aadl
            | Foreign::GraphMl => AS_A_TABLE,
            Foreign::OtherXml => {
                "the XML of SimSo begins with <simulation>, that of SchedCAT with <taskset>; write other tasks as a table, \
                 with a line of titles such as `Task, C, T, D`"
            }
            Foreign::OtherJson => {
                "write [{\"name\": \"a\", \"wcet\": \"1ms\", \"period\": \"5ms\"}, ..], or {\"tasks\": [..]}; rt-app has {\"tasks\": {..}}"
            }
            Foreign::OtherYaml => {
                "write a list of tasks, each with `name`, `wcet` and `period`, by itself or under the key `tasks`"
            }
            Foreign::ChromeTrace | Foreign::PerfettoTrace => {
                "it is not read: record the scheduler as text (`layland trace record`, trace-cmd or perf), from \
                 which `layland trace infer` makes a task set"
            }
            Foreign::KernelTrace
            | Foreign::TraceCmd
            | Foreign::PerfData
            | Foreign::LitmusTrace
            | Foreign::LaylandTrace => TRACE,
            Foreign::LttngTrace => {
                "it is not read: record the scheduler with `layland trace record`, trace-cmd or perf, from which \
                 `layland trace infer` makes a task set"
            }
            Foreign::CountedTrace => {
                "it is not read, because its times are not seconds: record it again by `echo local > trace_clock` in the \
                 folder of tracefs, or with `layland trace record`"
            }
            Foreign::PerfJson => {
                "it is not read: `perf script -F comm,tid,cpu,time,event,trace` writes the text of the record, from which \
                 `layland trace infer` makes a task set"
            }
            Foreign::SagOther => {
                "its jobs are read as CSV, one in each line: `Task ID, Job ID, Arrival min, ..`; precedence constraints, abort \
                 actions, exclusion and platforms are not read"
            }
            Foreign::RtAppLog => {
                "`layland trace stats FILE` reads it; the task set is the JSON that rt-app was started with"
            }
            Foreign::RunLog => {
                "`layland run --replay FILE` repeats the run; the task set is in the log as `set`"
            }
            Foreign::Answer => "name the task set that it is about",
            Foreign::Experiment => "`layland lab run FILE` runs an experiment",
            Foreign::Callbacks => "`layland ros2 FILE` checks and simulates callbacks",
            Foreign::Image => {
                "type the numbers of the picture into a table, with a line of titles such as `Task, C, T, D`"
            }
            Foreign::Pdf => {
                "copy its table into a text file: columns of titles and numbers are read"
            }
            Foreign::Program => {
                "`layland exec -- PROGRAM` runs a program; for a guarantee, name its threads as tasks: -t control=1ms/5ms"
            }
            Foreign::Script | Foreign::CSource | Foreign::PythonSource | Foreign::RustSource => {
                "a guarantee is about numbers: name the threads of the program as tasks, as in -t control=1ms/5ms, or measure \
                 them with `layland trace record`"
            }
            Foreign::Html => "save the file itself, and not the page that shows it",
            Foreign::Spreadsheet => "save the sheet as CSV",
            Foreign::Document => {
                "copy its table into a text file: columns of titles and numbers are read"
            }
            Foreign::Archive => "unpack it, and name a file in it",
            Foreign::Parquet | Foreign::Database => "export the table of tasks as CSV",
            Foreign::Utf16 => "save the file as UTF-8",
            Foreign::Binary => "a task set is text: `layland demos robot` prints one",
            Foreign::Text => {
                "a task set is TOML (`layland demos robot` prints one), a table with a line of titles \
                 (CSV, aligned columns, markdown, LaTeX), lines such as `1ms 5ms` or `a: C=1ms, T=5ms`, \
                 a list of objects (JSON, YAML), rt-app JSON, or XML of SimSo or SchedCAT"
            }
        }
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Foreign::Amalthea => "an AMALTHEA model",
            Foreign::Cheddar => "a Cheddar project",
            Foreign::PartSim => "a PARTSim file",
            Foreign::Mast => "a MAST model",
            Foreign::Tgff => "a graph of TGFF",
            Foreign::Aadl => "an AADL model",
            Foreign::GraphMl => "a GraphML graph",
            Foreign::OtherXml => "XML of an unknown kind",
            Foreign::OtherJson => "JSON without a list of tasks",
            Foreign::OtherYaml => "YAML without a list of tasks",
            Foreign::ChromeTrace => "a Chrome trace",
            Foreign::PerfettoTrace => "a Perfetto trace",
            Foreign::KernelTrace => "a kernel trace",
            Foreign::LttngTrace => "an LTTng trace",
            Foreign::CountedTrace => "a kernel trace whose clock counts events or cycles",
            Foreign::PerfJson => "a perf record as JSON",
            Foreign::SagOther => "a file of SAG that is not a table of jobs",
            Foreign::TraceCmd => "a trace-cmd record",
            Foreign::PerfData => "a perf record",
            Foreign::LitmusTrace => "a LITMUS^RT trace",
            Foreign::RtAppLog => "a log of rt-app",
            Foreign::LaylandTrace => "a trace",
            Foreign::RunLog => "the log of a run",
            Foreign::Answer => "an answer of layland",
            Foreign::Experiment => "an experiment",
            Foreign::Callbacks => "a set of ROS 2 callbacks",
            Foreign::Image => "an image",
            Foreign::Pdf => "a PDF",
            Foreign::Program => "a program",
            Foreign::Script => "a script",
            Foreign::CSource => "C source",
            Foreign::PythonSource => "Python source",
            Foreign::RustSource => "Rust source",
            Foreign::Html => "a web page",
            Foreign::Spreadsheet => "a spreadsheet",
            Foreign::Document => "a document of a word processor",
            Foreign::Archive => "an archive",
            Foreign::Parquet => "a Parquet table",
            Foreign::Database => "a database",
            Foreign::Utf16 => "text in UTF-16",
            Foreign::Binary => "a binary file",
            Foreign::Text => "text of an unknown kind",
        })
    }
}
