//! The `layland` command: arguments in, results on standard output, talk on standard error, an exit
//! code that says what came out. It contains no algorithm.

mod args;
mod convert;
mod exit;
mod generate;
mod input;
mod interrupt;
mod reference;
mod simulate;
mod terminal;

use args::{Cli, Command};
use clap::Parser;
use exit::{Exit, Failure};

fn main() -> std::process::ExitCode {
    let cli = Cli::parse();
    std::panic::set_hook(Box::new(|panic| {
        terminal::talk(&format!(
            "layland has a bug: {panic}\n\
             Please report it with the command line, the task set and the seed."
        ));
    }));
    let run = || match &cli.command {
        Command::Sim(args) => simulate::run(args),
        Command::Gen(args) => generate::run(args),
        Command::Convert(args) => convert::run(args),
        Command::Policies(args) => reference::policies(args),
        Command::Demos => reference::demos(),
        Command::Schema => reference::schema(),
        Command::Completions { shell } => reference::completions(*shell),
        Command::Man { folder } => reference::man(folder.as_deref()),
    };
    let exit = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
        Ok(Ok(exit)) => exit,
        Ok(Err(Failure { exit, message })) => {
            if !message.is_empty() {
                terminal::talk(&message);
            }
            exit
        }
        Err(_) => Exit::Bug,
    };
    std::process::ExitCode::from(exit.code())
}
