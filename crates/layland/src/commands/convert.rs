//! `layland convert`: converts a task set to another format.

use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::input::{self, SetArgs};
use crate::ui::{files, formats, terminal};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use layland_config::{Format, RtAppPolicy};
use layland_model::{Order, counted};
use std::path::{Path, PathBuf};

pub(crate) const EXAMPLES: &str = "\
Examples:
  layland convert rtapp.json -o robot.toml
      the format follows from the extension, or from --to
  layland convert robot.toml --to csv
      a table, one line per task
  layland convert robot.toml --to rt-app --policy dl
      every thread under SCHED_DEADLINE
  layland convert -t control=1ms/5ms -t log=8ms/20ms --cpus 2
      a task-set file from the command line";

#[derive(Args)]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    pub set: SetArgs,
    /// The format to write. By default the one that the extension of the file names, or else toml
    #[arg(long, value_name = "FORMAT", value_parser = formats::written())]
    pub to: Option<Format>,
    /// The policy. For rt-app, that of the kernel for all threads: dl is SCHED_DEADLINE; g-rm, g-dm and g-fp are
    /// SCHED_FIFO with such priorities. By default each task's budget or priority decides
    #[arg(short, long, value_name = "POLICY", value_parser = policies())]
    pub policy: Option<RtAppPolicy>,
    /// Write to this file. Without it, to standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Parses a policy of the kernel by the name of our corresponding policy.
fn policies() -> impl TypedValueParser<Value = RtAppPolicy> {
    const KNOWN: [(&str, RtAppPolicy); 4] = [
        ("dl", RtAppPolicy::Deadline),
        ("g-rm", RtAppPolicy::Fifo(Order::RateMonotonic)),
        ("g-dm", RtAppPolicy::Fifo(Order::DeadlineMonotonic)),
        ("g-fp", RtAppPolicy::Fifo(Order::Given)),
    ];
    PossibleValuesParser::new(KNOWN.map(|(name, _)| name)).try_map(|name| {
        let found = KNOWN.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, policy)| policy).ok_or("not a policy of the kernel")
    })
}

pub(crate) fn run(args: &ConvertArgs) -> Outcome {
    let set = input::load(&args.set)?;
    let format = formats::chosen(args.to, args.output.as_deref());
    // Three formats of sets are JSON, and the extension says which by convention alone.
    if let (None, Format::RtApp, Some(output)) = (args.to, format, &args.output) {
        terminal::talk(&format!(
            "{} is JSON of rt-app; --to jsonl writes JSON with every key of a set",
            output.display()
        ));
    }
    if args.policy.is_some() && format != Format::RtApp {
        return Err(Failure::usage(format!("{format} has no policies of the kernel"))
            .help("--policy is for rt-app: say --to rt-app, too"));
    }
    let policy = args.policy.unwrap_or(RtAppPolicy::OfTasks);
    let text = formats::write(&set.system, format, policy)?;
    if let (Some(from), Some(to)) = (&args.set.set, &args.output) {
        tell_what_is_lost(Path::new(from), to);
    }
    files::write(args.output.as_deref().unwrap_or(Path::new("-")), text.as_bytes())?;
    Ok(Exit::Yes)
}

/// Warns of the loss if a file is converted onto itself, because no format keeps everything.
fn tell_what_is_lost(from: &Path, to: &Path) {
    let same = |a: &Path, b: &Path| match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    };
    let old = if same(from, to) { std::fs::read_to_string(from).ok() } else { None };
    let comments = old.map_or(0, |text| text.lines().filter(|line| has_comment(line)).count());
    if comments > 0 {
        terminal::warn(
            &format!("{} loses {}", to.display(), counted(comments, "comment")),
            Some(
                "the order of keys and the blank lines are not kept either; -o another file keeps this one",
            ),
        );
    }
}

/// Returns true if a line of TOML has a comment: a `#` outside of quotation marks.
fn has_comment(line: &str) -> bool {
    let mut quote = None;
    let mut escaped = false;
    for char in line.chars() {
        match (quote, char) {
            (None, '#') => return true,
            (None, '"' | '\'') => quote = Some(char),
            (Some('"'), '\\') if !escaped => {
                escaped = true;
                continue;
            }
            (Some(open), char) if open == char && !escaped => quote = None,
            _ => {}
        }
        escaped = false;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::has_comment;

    #[test]
    fn a_hash_in_quotes_is_no_comment() {
        for (line, has) in [
            ("# all", true),
            ("wcet = \"1ms\" # measured", true),
            ("name = \"a#1\"", false),
            ("name = 'a#1' # b", true),
            ("name = \"a\\\"#\"", false),
            ("name = \"a\\\\\" # b", true),
            ("wcet = \"1ms\"", false),
        ] {
            assert_eq!(has_comment(line), has, "{line}");
        }
    }
}
