//! The command line as a whole: its commands and the help text that introduces them. The arguments
//! of each command are defined next to the command.

#[cfg(feature = "lab")]
use crate::commands::lab;
#[cfg(target_os = "linux")]
use crate::commands::{calibrate, daemon, doctor, exec, run, top, trace};
use crate::commands::{
    check, completions, convert, demos, explain, generate, man, play, policies, ros2, schema,
    simulate,
};
use clap::builder::styling::{AnsiColor, Styles};
use clap::error::ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand};
use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const START: &str = "\
Start here:
  layland sim demo:dhall --policy g-edf,p-edf    two policies side by side
  layland check demo:dhall                       what can be guaranteed
  layland demos robot > mine.toml                a task-set file to change
  layland exec --dl 2ms/10ms -- ./program        time reserved for a program";

const EXIT_CODES: &str = "\
Exit codes:
  0    yes: done, and every deadline was met, or is guaranteed
  1    no: a deadline was missed or cannot be guaranteed, or a policy refused the set
  2    wrong usage
  3    invalid input
  4    unknown: no test decides
  5    refused by the system: a file cannot be written, a priority is not granted
  6    a measurement is not trustworthy, whatever was seen in it
  70   a bug of layland
  130  interrupted; partial results are marked";

/// Real-time scheduling on several CPUs: what will happen to these tasks, and what is guaranteed?
///
/// Results go to standard output, everything else to standard error.
#[derive(Parser)]
#[command(name = "layland", bin_name = "layland", version, styles = STYLES, after_help = START)]
#[command(after_long_help = format!("{START}\n\n{EXIT_CODES}"))]
#[command(arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Cli {
    /// Print colours: if the output is a terminal and NO_COLOR is not set, always, or never
    #[arg(long, value_name = "WHEN", global = true, value_enum, default_value_t = Colour::Auto)]
    #[arg(hide_possible_values = false, help_heading = "Everywhere", hide_short_help = true)]
    pub color: Colour,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Simulate a task set under one or more policies, and compare them
    #[command(after_long_help = simulate::EXAMPLES)]
    Sim(simulate::SimArgs),
    /// Check what each policy guarantees, by every test and bound that applies
    #[command(after_long_help = check::EXAMPLES)]
    Check(check::CheckArgs),
    /// Explain a test, bound, assumption, error code or exit code
    ///
    /// Without a code, lists them all. With --policy, draws the structure that a policy builds for a task set before
    /// the start: the reduction tree of RUN, the processor hierarchy of QPS.
    Explain(explain::ExplainArgs),
    /// Run a task set on real threads, which do synthetic work
    ///
    /// The policies are those that `sim` simulates. Each thread executes for the execution time that the set says;
    /// `layland exec` runs programs of your own.
    #[cfg(target_os = "linux")]
    #[command(after_long_help = run::EXAMPLES)]
    Run(Box<run::RunArgs>),
    /// Run a program of yours with processor time reserved for its threads
    #[cfg(target_os = "linux")]
    #[command(after_long_help = exec::EXAMPLES)]
    Exec(Box<exec::ExecArgs>),
    /// Serve `layland exec --engine ext`, and own its scheduler
    #[cfg(target_os = "linux")]
    #[command(after_long_help = daemon::EXAMPLES)]
    Daemon(daemon::DaemonArgs),
    /// Show the admitted programs and how they are doing
    #[cfg(target_os = "linux")]
    #[command(after_long_help = top::EXAMPLES)]
    Top(top::TopArgs),
    /// Measure what a context switch costs on this machine
    ///
    /// The result is a section for a task-set file, the overheads of its platform.
    #[cfg(target_os = "linux")]
    #[command(after_long_help = calibrate::EXAMPLES)]
    Calibrate(calibrate::CalibrateArgs),
    /// Record, read, check and compare traces
    #[cfg(target_os = "linux")]
    #[command(after_long_help = trace::EXAMPLES)]
    Trace(trace::TraceArgs),
    /// Test what works on this machine, and name a fix for what does not
    #[cfg(target_os = "linux")]
    #[command(after_long_help = doctor::EXAMPLES)]
    Doctor(doctor::DoctorArgs),
    /// Generate random task sets
    #[command(after_long_help = generate::EXAMPLES)]
    Gen(Box<generate::GenArgs>),
    /// Convert a task set to another format
    ///
    /// Anything that the format cannot express is reported on standard error. A task-set file
    /// loses nothing: it reads back as the same system.
    #[command(after_long_help = convert::EXAMPLES)]
    Convert(convert::ConvertArgs),
    /// List the policies, or explain one
    #[command(after_long_help = policies::EXAMPLES)]
    Policies(policies::PoliciesArgs),
    /// List the bundled task sets, or print one as a file to start from
    #[command(after_long_help = demos::EXAMPLES)]
    Demos(demos::DemosArgs),
    /// Open the playground in a browser, with a task set to change
    #[command(after_long_help = play::EXAMPLES)]
    Play(play::PlayArgs),
    /// Simulate an executor of ROS 2, and bound its response times
    #[command(after_long_help = ros2::EXAMPLES)]
    Ros2(ros2::Ros2Args),
    /// Run experiments: grids of random sets, figures and tested claims
    #[cfg(feature = "lab")]
    #[command(after_long_help = lab::EXAMPLES)]
    Lab(lab::LabArgs),
    /// Print the JSON Schema of task-set files or of an output
    ///
    /// An editor with a TOML language server checks and completes a task-set file that names its
    /// schema. A program that reads an output finds every member there, with its unit.
    #[command(after_long_help = schema::EXAMPLES)]
    Schema(schema::SchemaArgs),
    /// Print completions for a shell
    #[command(after_long_help = completions::EXAMPLES)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print a manual page, or write all of them into a folder
    #[command(after_long_help = man::EXAMPLES)]
    Man(man::ManArgs),
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    Auto,
    Always,
    Never,
}

/// Returns the commands with both of their helps: `-h` has the first sentence of each option and
/// leaves out what a first use does not need, and `--help` has everything.
pub(crate) fn command() -> clap::Command {
    with_two_helps(Cli::command())
}

/// Parses a command line, which starts with the name of the program.
pub(crate) fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    let mut plain = Cli::command();
    let mut matches = plain.try_get_matches_from_mut(arguments).or_else(|error| {
        // To write the helps takes four times as long as all else that a command does before it
        // works, so only who asks for help waits for it.
        if matches!(error.kind(), DisplayHelp | DisplayHelpOnMissingArgumentOrSubcommand) {
            command().try_get_matches_from(arguments)
        } else {
            Err(error)
        }
    })?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut plain))
}

fn with_two_helps(command: clap::Command) -> clap::Command {
    command.mut_args(with_a_short_help).mut_subcommands(with_two_helps)
}

fn with_a_short_help(arg: Arg) -> Arg {
    let Some(help) = arg.get_help().map(ToString::to_string) else { return arg };
    let short = first_sentence(&help).to_owned();
    if arg.get_long_help().is_some() || short == help {
        return arg;
    }
    arg.help(short).long_help(help)
}

/// Returns a text up to the first full stop that a space follows.
fn first_sentence(text: &str) -> &str {
    let mut stops = text.match_indices(". ");
    let end = stops.find(|(at, _)| !text[..*at].ends_with('.')).map(|(at, _)| at);
    &text[..end.unwrap_or(text.len())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// Visits a command and all those below it, with the words that call them.
    fn each(command: &clap::Command, words: &str, visit: &mut impl FnMut(&clap::Command, &str)) {
        visit(command, words);
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            each(below, &format!("{words} {}", below.get_name()), visit);
        }
    }

    fn at_width(width: usize) -> clap::Command {
        let mut all = command().term_width(width).max_term_width(width);
        all.build();
        all
    }

    /// Options whose values differ in kind: the value, and the reason why one name is right.
    const OTHER_KINDS: [(&str, &str); 2] = [
        // A command that writes many files writes them into a folder.
        ("output", "FOLDER"),
        // A command that compares policies takes several.
        ("policy", "P,.."),
    ];

    /// One long option has one meaning: its first sentence is the same in all commands.
    #[test]
    fn an_option_means_the_same_in_every_command() {
        type Uses = BTreeMap<String, Vec<String>>;
        let mut options: BTreeMap<(String, &str), Uses> = BTreeMap::new();
        let mut shared = 0;
        each(&at_width(80), "layland", &mut |command, words| {
            for option in command.get_arguments() {
                let (Some(long), Some(help)) = (option.get_long(), option.get_help()) else {
                    continue;
                };
                let value = option.get_value_names().and_then(|names| names.first());
                let kind = OTHER_KINDS.iter().find(|(name, other)| {
                    *name == long && value.is_some_and(|value| value.as_str() == *other)
                });
                let key = (long.to_owned(), kind.map_or("", |(_, other)| *other));
                let help = first_sentence(&help.to_string()).trim_end_matches('.').to_owned();
                options.entry(key).or_default().entry(help).or_default().push(words.to_owned());
            }
        });
        let mut wrong = String::new();
        for ((name, _), uses) in &options {
            shared += usize::from(uses.values().map(Vec::len).sum::<usize>() > 1);
            if uses.len() > 1 {
                wrong += &format!("--{name}: {uses:#?}\n");
            }
        }
        assert!(wrong.is_empty(), "{wrong}");
        assert!(shared >= 20, "only {shared} options are in several commands");
        for (name, other) in OTHER_KINDS {
            assert!(options.contains_key(&(name.to_owned(), other)), "no --{name} {other} is left");
        }
    }

    /// `-h` of every command fits a screen, and both helps fit 80 columns.
    #[test]
    fn the_first_help_fits_a_screen() {
        let mut long = 0;
        let mut wrong = String::new();
        each(&at_width(80), "layland", &mut |command, words| {
            let mut command = command.clone();
            let short = command.render_help().to_string();
            let whole = command.render_long_help().to_string();
            long += usize::from(whole.lines().count() > 40);
            if short.lines().count() > 40 {
                wrong += &format!("{words} -h: {} lines\n{short}\n", short.lines().count());
            }
            for line in short.lines().chain(whole.lines()) {
                if line.chars().count() > 80 && line.trim().contains(' ') {
                    wrong += &format!("{words}: {line}\n");
                }
            }
        });
        assert!(wrong.is_empty(), "{wrong}");
        assert!(long > 10, "only {long} commands have more to say");
    }

    /// A paragraph is one line to the program, which breaks it at the width of the terminal. One that
    /// was broken by hand would be broken twice.
    #[test]
    fn no_paragraph_is_broken_by_hand() {
        let indent = |line: &str| line.len() - line.trim_start().len();
        let mut paragraphs = BTreeSet::new();
        each(&at_width(100_000), "layland", &mut |command, words| {
            let texts = [command.get_long_about(), command.get_after_long_help()];
            for text in texts.into_iter().flatten().map(ToString::to_string) {
                let lines: Vec<&str> = text.lines().collect();
                for pair in lines.windows(2) {
                    let is_heading = pair[0].ends_with(':');
                    let of_prose = |line: &str| !line.is_empty() && matches!(indent(line), 0 | 6);
                    let broken = of_prose(pair[0])
                        && of_prose(pair[1])
                        && indent(pair[0]) == indent(pair[1])
                        && !is_heading;
                    assert!(!broken, "{words}: {:?}", pair);
                }
                paragraphs
                    .extend(lines.into_iter().filter(|line| line.len() > 100).map(str::to_owned));
            }
        });
        assert!(paragraphs.len() > 10, "only {} paragraphs are long", paragraphs.len());
    }

    /// The error of a wrong value says what to write in words, and not in the notation of Rust.
    #[test]
    fn errors_of_values_are_in_words() {
        let mut tried = 0;
        let mut wrong = String::new();
        each(&at_width(100), "layland", &mut |command, words| {
            for option in command.get_arguments() {
                let Some(long) = option.get_long() else { continue };
                if !option.get_action().takes_values() {
                    continue;
                }
                let line = format!("{words} --{long}=x%");
                let line: Vec<OsString> = line.split(' ').map(OsString::from).collect();
                let Err(error) = parse(&line) else { continue };
                let said = error.to_string();
                tried += usize::from(said.contains("x%"));
                for notation in ["invalid digit", "..=", "invalid float", "empty string", "FromStr"]
                {
                    if said.contains(notation) {
                        wrong += &said;
                    }
                }
            }
        });
        assert!(wrong.is_empty(), "{wrong}");
        assert!(tried > 80, "only {tried} values are checked");
    }
}
