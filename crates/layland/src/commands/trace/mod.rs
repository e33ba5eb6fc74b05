//! `layland trace`: records, reads, checks and compares traces of layland and of the kernel, and
//! infers task sets from them.

mod args;
mod document;
mod infer;
mod inferred;
mod load;
mod loops;
mod numbers;
mod record;
mod reserved;
mod show;

use crate::ui::exit::Outcome;
use args::TraceCommand;
use layland_policy::Registry;

pub(crate) use args::{EXAMPLES, TraceArgs};
pub(crate) use document::{CheckDocument, DiffDocument, LogDocument, StatsDocument};
pub(crate) use inferred::InferDocument;

pub(crate) fn run(registry: &Registry, args: &TraceArgs) -> Outcome {
    match &args.command {
        TraceCommand::Record(args) => record::run(args),
        TraceCommand::View(args) => show::view(args),
        TraceCommand::Check(args) => show::check(registry, args),
        TraceCommand::Stats(args) => show::stats(args),
        TraceCommand::Convert(args) => show::convert(args),
        TraceCommand::Diff(args) => show::diff(args),
        TraceCommand::Infer(args) => infer::run(registry, args),
    }
}
