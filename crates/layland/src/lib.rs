//! The `layland` command as a library: arguments in, results on standard output, talk on standard error, an exit
//! code that says what came out. It contains no algorithm.
//!
//! A program with policies of its own hands [`main_with`] a registry that has them, and has every command:
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     layland::main_with(&layland_policy::Registry::standard())
//! }
//! ```

mod cli;
mod commands;
mod ui;

use clap::{CommandFactory, Parser};
use cli::{Cli, Colour, Command};
#[cfg(feature = "lab")]
use commands::lab;
#[cfg(target_os = "linux")]
use commands::{calibrate, doctor, run, trace};
use commands::{
    check, completions, convert, demos, explain, generate, man, policies, schema, simulate,
};
use layland_policy::Registry;
use ui::exit::{Exit, Failure, Outcome};
use ui::terminal;

/// Answers the command line of this process with the policies of a registry.
pub fn main_with(registry: &Registry) -> std::process::ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        terminal::talk(&format!(
            "layland {} has a bug: {panic}\n\
             Please report it with the command line, the task set and the seed.",
            env!("CARGO_PKG_VERSION")
        ));
    }));
    std::process::ExitCode::from(guarded(|| answer(registry)).code())
}

/// What the command line asks for.
fn answer(registry: &Registry) -> Outcome {
    let mut cli = Cli::parse();
    match cli.color {
        Colour::Auto => {}
        Colour::Always => anstream::ColorChoice::Always.write_global(),
        Colour::Never => anstream::ColorChoice::Never.write_global(),
    }
    match &mut cli.command {
        Command::Sim(args) => simulate::run(registry, args),
        Command::Check(args) => check::run(registry, args),
        Command::Explain(args) => explain::run(registry, args),
        #[cfg(target_os = "linux")]
        Command::Run(args) => run::run(registry, args),
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
        #[cfg(feature = "lab")]
        Command::Lab(args) => lab::run(registry, args),
        Command::Schema(args) => schema::run(args),
        Command::Completions { shell } => completions::run(registry, Cli::command(), *shell),
        Command::Man(args) => man::run(Cli::command(), args),
    }
}

/// What to end with. A failure is told here; of a panic, the hook has told.
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
        Cli::command().debug_assert();
    }
}
