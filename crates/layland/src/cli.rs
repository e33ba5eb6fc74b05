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
use clap::{Parser, Subcommand, ValueEnum};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const START: &str = "\
Start here:
  layland demos                                  what is bundled
  layland sim demo:dhall --policy g-edf,p-edf    two policies side by side
  layland check demo:dhall                       what can be guaranteed
  layland demos robot > mine.toml                a task-set file to change

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
#[command(arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Cli {
    /// Colours: if the output is a terminal and NO_COLOR is not set, always, or never
    #[arg(long, value_name = "WHEN", global = true, value_enum, default_value_t = Colour::Auto)]
    #[arg(hide_possible_values = false, help_heading = "Everywhere")]
    pub color: Colour,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Simulate a task set under one or more policies, and compare them
    #[command(after_long_help = simulate::EXAMPLES)]
    Sim(simulate::SimArgs),
    /// Can it be guaranteed? Every schedulability test and bound that applies, for each policy
    #[command(after_long_help = check::EXAMPLES)]
    Check(check::CheckArgs),
    /// Explain a test, a bound, an assumption, an error code or an exit code; without one, list them
    ///
    /// With --policy, draw the structure that a policy builds for a task set before the start:
    /// the reduction tree of RUN, the processor hierarchy of QPS.
    Explain(explain::ExplainArgs),
    /// Run a task set on real threads, under the policies that `sim` simulates
    #[cfg(target_os = "linux")]
    #[command(after_long_help = run::EXAMPLES)]
    Run(Box<run::RunArgs>),
    /// Run existing programs, with processor time reserved for their threads
    #[cfg(target_os = "linux")]
    #[command(after_long_help = exec::EXAMPLES)]
    Exec(Box<exec::ExecArgs>),
    /// Serve `layland exec --engine ext`: own the scheduler, and admit threads of programs
    #[cfg(target_os = "linux")]
    #[command(after_long_help = daemon::EXAMPLES)]
    Daemon(daemon::DaemonArgs),
    /// Show the admitted programs of this machine, and how they perform
    #[cfg(target_os = "linux")]
    #[command(after_long_help = top::EXAMPLES)]
    Top(top::TopArgs),
    /// Measure what a context switch costs on this machine, as the overheads of a platform
    #[cfg(target_os = "linux")]
    #[command(after_long_help = calibrate::EXAMPLES)]
    Calibrate(calibrate::CalibrateArgs),
    /// Record, read, check and compare traces
    #[cfg(target_os = "linux")]
    #[command(after_long_help = trace::EXAMPLES)]
    Trace(trace::TraceArgs),
    /// Test what works on this machine, and suggest a fix for what does not
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
    /// Simulate an executor of ROS 2, and bound the response times of its callbacks
    #[command(after_long_help = ros2::EXAMPLES)]
    Ros2(ros2::Ros2Args),
    /// Run experiments: grids of random task sets, figures, and claims that are tested
    #[cfg(feature = "lab")]
    #[command(after_long_help = lab::EXAMPLES)]
    Lab(lab::LabArgs),
    /// Print the JSON Schema of task-set files, for editors, or of an output, for programs
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
