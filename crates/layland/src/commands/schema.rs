//! `layland schema`: the JSON Schemas of task-set files, and of the JSON output of the program.
//!
//! A schema of an output is derived from the type that is printed. It is strict: a member that the
//! type does not have is an error.

#[cfg(feature = "lab")]
use crate::commands::lab;
#[cfg(target_os = "linux")]
use crate::commands::{calibrate, doctor, exec, run, top, trace};
use crate::commands::{demos, explain, ros2};
use crate::ui::exit::{Exit, Outcome};
use crate::ui::terminal;
use clap::builder::PossibleValuesParser;
use layland_answers::{check, schema, simulate};
use serde_json::Value;

pub(crate) const EXAMPLES: &str = "\
Examples:
  layland schema > layland.schema.json
      for editors; the first line of the task set is then `#:schema ./layland.schema.json`
  layland schema sim > sim.schema.json
      for programs that read what `layland sim --json` prints";

/// A subject with a schema that is derived from the type of a document.
type Subject = (&'static str, fn() -> Value);

/// The outputs of this build, by their subjects.
const SUBJECTS: &[Subject] = &[
    ("check", schema::of::<check::Document<'static>>),
    ("certificate", schema::of::<check::Certificate<'static>>),
    ("check-design", schema::of::<layland_answers::design::DesignDocument<'static>>),
    ("sim", schema::of::<simulate::Document<'static>>),
    #[cfg(target_os = "linux")]
    ("run", schema::of::<run::RunDocument<'static>>),
    ("trace", schema::of::<layland_trace::json::TraceDocument>),
    #[cfg(target_os = "linux")]
    ("trace-check", schema::of::<trace::CheckDocument<'static>>),
    #[cfg(target_os = "linux")]
    ("trace-stats", schema::of::<trace::StatsDocument<'static>>),
    #[cfg(target_os = "linux")]
    ("trace-log", schema::of::<trace::LogDocument<'static>>),
    #[cfg(target_os = "linux")]
    ("trace-diff", schema::of::<trace::DiffDocument<'static>>),
    #[cfg(target_os = "linux")]
    ("trace-infer", schema::of::<trace::InferDocument<'static>>),
    #[cfg(feature = "lab")]
    ("lab-list", schema::of::<lab::Experiments<'static>>),
    #[cfg(feature = "lab")]
    ("lab-units", schema::of::<lab::Units<'static>>),
    #[cfg(feature = "lab")]
    ("lab-part", schema::of::<lab::PartDocument<'static>>),
    #[cfg(feature = "lab")]
    ("lab-run", schema::of::<lab::RanDocument<'static>>),
    ("policies", schema::of::<layland_answers::Policies<'static>>),
    ("demos", schema::of::<demos::DemosDocument>),
    ("ros2", schema::of::<ros2::Ros2Document<'static>>),
    ("explain", schema::of::<explain::ExplainDocument<'static>>),
    #[cfg(target_os = "linux")]
    ("exec", schema::of::<exec::ExecDocument<'static>>),
    #[cfg(target_os = "linux")]
    ("top", schema::of::<top::TopDocument<'static>>),
    #[cfg(target_os = "linux")]
    ("doctor", schema::of::<doctor::DoctorDocument<'static>>),
    #[cfg(target_os = "linux")]
    ("calibrate", schema::of::<calibrate::CalibrateDocument<'static>>),
];

#[derive(Debug, clap::Args)]
pub(crate) struct SchemaArgs {
    /// The subject: `set` is a task-set file, `trace` a trace in a file, `certificate` the output of `check
    /// --certificate`, `check-design` that of `check --design`, `trace-log` that of `trace stats` for a log of rt-app,
    /// and each other one the output of the command of this name with --json
    #[arg(
        value_name = "WHAT",
        default_value = "set",
        hide_default_value = true,
        value_parser = PossibleValuesParser::new(std::iter::once("set").chain(SUBJECTS.iter().map(|&(name, _)| name))),
    )]
    what: String,
}

pub(crate) fn run(args: &SchemaArgs) -> Outcome {
    let output = SUBJECTS.iter().find(|(name, _)| *name == args.what);
    let schema = match output {
        None => layland_config::schema(),
        Some((name, of)) => {
            let mut schema = of();
            schema["title"] = format!("Layland {}, {name}", env!("CARGO_PKG_VERSION")).into();
            schema
        }
    };
    terminal::data(&format!("{schema:#}\n"))?;
    Ok(Exit::Yes)
}
