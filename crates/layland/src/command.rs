//! The `layland` command as a library. It takes arguments, prints results to standard output and
//! messages to standard error, and returns an exit code that reports the outcome. It contains no
//! algorithm.

use crate::cli::{self, Colour, Command};
#[cfg(feature = "lab")]
use crate::commands::lab;
#[cfg(target_os = "linux")]
use crate::commands::{calibrate, daemon, doctor, exec, run, top, trace};
use crate::commands::{
    check, completions, convert, demos, explain, generate, man, play, policies, ros2, schema,
    simulate,
};
use crate::ui::exit::{Exit, Failure, Outcome};
use crate::ui::{command_line, hints, names, terminal, working};
use layland_model::acts_on_a_terminal;
use layland_policy::Registry;
use std::ffi::OsString;

/// Executes the command line of this process with the policies of a registry, so that a program
/// with policies of its own has every command.
///
/// ```no_run
/// use layland::prelude::*;
///
/// fn main() -> std::process::ExitCode {
///     layland::main_with(&Registry::standard())
/// }
/// ```
pub fn main_with(registry: &Registry) -> std::process::ExitCode {
    std::process::ExitCode::from(main_of(registry, std::env::args_os().collect()))
}

/// Executes a command line, which starts with the name of the program. Processes whose own
/// arguments are others use this function. Returns the exit code. Wrong arguments end the process.
pub fn main_of(registry: &Registry, arguments: Vec<OsString>) -> u8 {
    std::panic::set_hook(Box::new(|panic| {
        terminal::talk(&format!(
            "layland {} has a bug: {panic}\n\
             Please report it with the command line, the task set and the seed.",
            env!("CARGO_PKG_VERSION")
        ));
    }));
    guarded(|| answer(registry, arguments)).code()
}

/// Executes what the command line asks for.
fn answer(registry: &Registry, arguments: Vec<OsString>) -> Outcome {
    let mut cli = match cli::parse(&arguments) {
        Ok(cli) => cli,
        Err(mut error) => {
            hints::improve(&mut error, &arguments, registry);
            return Ok(not_parsed(&error, &arguments));
        }
    };
    command_line::keep(&arguments);
    terminal::keep(&arguments);
    names::keep(registry);
    match cli.color {
        Colour::Auto => {}
        Colour::Always => anstream::ColorChoice::Always.write_global(),
        Colour::Never => anstream::ColorChoice::Never.write_global(),
    }
    // A progress line would garble a set that the user is typing.
    if !arguments.iter().any(|argument| argument == "-") {
        says_that_it_works(&cli.command);
    }
    let outcome = carried_out(registry, &mut cli.command);
    working::end();
    outcome
}

/// Starts the progress line of a command that may take long and has no progress bar of its own.
fn says_that_it_works(command: &Command) {
    let what = match command {
        Command::Check(_) => "checking",
        Command::Gen(_) => "drawing task sets",
        Command::Convert(_) => "converting",
        Command::Ros2(_) => "analysing",
        #[cfg(target_os = "linux")]
        Command::Trace(args) => match args.what_takes_long() {
            Some(what) => what,
            None => return,
        },
        #[cfg(target_os = "linux")]
        Command::Run(_)
        | Command::Exec(_)
        | Command::Daemon(_)
        | Command::Top(_)
        | Command::Calibrate(_)
        | Command::Doctor(_) => return,
        #[cfg(feature = "lab")]
        Command::Lab(_) => return,
        Command::Sim(_)
        | Command::Explain(_)
        | Command::Policies(_)
        | Command::Demos(_)
        | Command::Play(_)
        | Command::Schema(_)
        | Command::Completions { .. }
        | Command::Man(_) => return,
    };
    working::begin(what);
}

fn carried_out(registry: &Registry, command: &mut Command) -> Outcome {
    match command {
        Command::Sim(args) => simulate::run(registry, args),
        Command::Check(args) => check::run(registry, args),
        Command::Explain(args) => explain::run(registry, args),
        #[cfg(target_os = "linux")]
        Command::Run(args) => run::run(registry, args),
        #[cfg(target_os = "linux")]
        Command::Exec(args) => exec::run(registry, args),
        #[cfg(target_os = "linux")]
        Command::Daemon(args) => daemon::run(registry, args),
        #[cfg(target_os = "linux")]
        Command::Top(args) => top::run(args),
        #[cfg(target_os = "linux")]
        Command::Calibrate(args) => calibrate::run(args),
        #[cfg(target_os = "linux")]
        Command::Trace(args) => trace::run(registry, args),
        #[cfg(target_os = "linux")]
        Command::Doctor(args) => doctor::run(args),
        Command::Gen(args) => generate::run(args),
        Command::Convert(args) => convert::run(args),
        Command::Policies(args) => policies::run(registry, args),
        Command::Demos(args) => demos::run(args),
        Command::Play(args) => play::run(registry, args),
        Command::Ros2(args) => ros2::run(args),
        #[cfg(feature = "lab")]
        Command::Lab(args) => lab::run(registry, args),
        Command::Schema(args) => schema::run(args),
        Command::Completions { shell } => completions::run(registry, cli::command(), *shell),
        Command::Man(args) => man::run(cli::command(), args),
    }
}

/// Prints why a command line was not understood, or the help or version that it asks for.
fn not_parsed(error: &clap::Error, arguments: &[OsString]) -> Exit {
    let foreign = arguments.iter().any(|text| text.to_string_lossy().contains(acts_on_a_terminal));
    if !error.use_stderr() {
        // The output contains no part of the command line. If it cannot be written, no reader is
        // left.
        let _ = error.print();
        return Exit::Yes;
    }
    // The message quotes arguments, and an escape sequence in them would pass for one of our
    // styles.
    if foreign {
        terminal::talk(&error.to_string().replace('\u{1b}', "\\u{1b}"));
    } else {
        terminal::talk(&error.render().ansi().to_string());
    }
    Exit::Usage
}

/// Returns the exit code. A failure is printed here; a panic has been reported by the hook.
fn guarded(run: impl FnOnce() -> Outcome) -> Exit {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
        Ok(Ok(exit)) => exit,
        Ok(Err(Failure { exit, message })) => {
            terminal::complain(&message);
            exit
        }
        Err(_) => Exit::Bug,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_has_its_code() {
        assert_eq!(guarded(|| Ok(Exit::No)).code(), 1);
        assert_eq!(guarded(|| Err(Failure::usage("a test of a failure"))).code(), 2);
        assert_eq!(guarded(|| panic!("a test of a panic")).code(), 70);
    }

    #[test]
    fn the_arguments_are_consistent() {
        cli::command().debug_assert();
    }
}
