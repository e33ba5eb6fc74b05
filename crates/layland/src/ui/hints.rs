//! Hints for slips on the command line: options and commands under the names that other tools or
//! other commands have for them, a policy or a program in the wrong place, a forgotten `--`.
//!
//! A hint names what the user can write. It never completes a value that only the user knows.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use layland_model::nearest;
use layland_policy::Registry;
use std::ffi::OsString;
use std::path::Path;

/// Options under other names, and what they may be called here. The first one that the command has
/// is meant.
const OPTIONS: &[(&str, &[&str])] = &[
    ("--duration", &["--until"]),
    ("--time", &["--until"]),
    ("--length", &["--until"]),
    ("--horizon", &["--until"]),
    ("--threads", &["--workers"]),
    ("--jobs", &["--workers"]),
    ("--parallel", &["--workers"]),
    ("--comm", &["--thread"]),
    ("--regex", &["--thread"]),
    ("--pid", &["--tid"]),
    ("--host-cpus", &["--on-cpus"]),
    ("--cpus", &["--on-cpus"]),
    ("--cpu", &["--on-cpus", "--cpus"]),
    ("--cores", &["--on-cpus", "--cpus"]),
    ("--processors", &["--on-cpus", "--cpus"]),
    ("--affinity", &["--on-cpus"]),
    ("--on-cpus", &["--cpus"]),
    ("--out", &["--output"]),
    ("--report", &["--output"]),
    ("--file", &["--output"]),
    ("--margin", &["--reserve", "--factor"]),
    ("--bounds", &["--task-bounds"]),
    ("--factor", &["--criticality-factor"]),
    ("--requests", &["--requests-by"]),
    ("--tasks", &["--per-task"]),
    ("--format", &["--to"]),
    ("--algorithm", &["--policy"]),
    ("--scheduler", &["--policy"]),
    ("--policies", &["--policy"]),
    ("-p", &["--periods"]),
];

/// Commands under other names.
const COMMANDS: &[(&str, &str)] = &[
    ("simulate", "sim"),
    ("simulation", "sim"),
    ("analyse", "check"),
    ("analyze", "check"),
    ("analysis", "check"),
    ("verify", "check"),
    ("test", "check"),
    ("execute", "exec"),
    ("generate", "gen"),
    ("experiment", "lab"),
    ("experiments", "lab"),
    ("playground", "play"),
    ("list", "demos"),
];

/// Replaces the suggestions of an error by a better one, if there is one.
pub(crate) fn improve(error: &mut Error, arguments: &[OsString], registry: &Registry) {
    let words: Vec<String> =
        arguments.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let command = called(&words);
    let hint = match error.kind() {
        ErrorKind::InvalidSubcommand => of_a_command(error),
        ErrorKind::UnknownArgument => of_an_argument(error, &command, &words, registry),
        ErrorKind::ArgumentConflict => of_a_program(&command, &words),
        _ => None,
    };
    if error.kind() == ErrorKind::UnknownArgument && !takes_a_program(&command) {
        // It would suggest to pass an option as a value.
        error.remove(ContextKind::Suggested);
    }
    let Some(hint) = hint else { return };
    for kind in [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg] {
        error.remove(kind);
    }
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(hint)]));
}

/// Returns the command that the first words name, or the program itself.
fn called(words: &[String]) -> Command {
    let mut command = crate::cli::command();
    for word in words.iter().filter(|word| !word.starts_with('-')) {
        match command.find_subcommand(word).cloned() {
            Some(found) => command = found,
            None => break,
        }
    }
    command
}

/// Returns true if the program of a user follows the options of a command, after `--`.
fn takes_a_program(command: &Command) -> bool {
    command.get_arguments().any(clap::Arg::is_last_set)
}

fn has_option(command: &Command, name: &str) -> bool {
    let long = name.trim_start_matches('-');
    let mut options = command.get_arguments();
    options.any(|option| option.get_long() == Some(long))
}

fn text(error: &Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text),
        _ => None,
    }
}

fn of_a_command(error: &Error) -> Option<String> {
    let word = text(error, ContextKind::InvalidSubcommand)?;
    if let Some((_, meant)) = COMMANDS.iter().find(|(slip, _)| *slip == word) {
        return Some(format!("the command is called `{meant}`"));
    }
    let commands = crate::cli::command();
    let names: Vec<&str> = commands.get_subcommands().map(Command::get_name).collect();
    if let Some(near) = nearest(word, names) {
        return Some(format!("did you mean `{near}`?"));
    }
    let is_a_set = word.starts_with("demo:") || Path::new(word).is_file();
    is_a_set.then(|| {
        format!(
            "a command comes first: `layland check {word}` or `layland sim {word}`, for example"
        )
    })
}

fn of_an_argument(
    error: &Error,
    command: &Command,
    words: &[String],
    registry: &Registry,
) -> Option<String> {
    let argument = text(error, ContextKind::InvalidArg)?;
    let name = argument.split(['=', ' ']).next().unwrap_or(argument);
    if let Some((_, meant)) = OPTIONS.iter().find(|(slip, _)| *slip == name) {
        let meant = meant.iter().find(|meant| has_option(command, meant))?;
        return Some(format!("the option is called `{meant}` here"));
    }
    if name.starts_with('-') {
        return None;
    }
    if registry.named(name.split(':').next().unwrap_or(name)).is_ok() {
        return Some(format!(
            "`{name}` is a policy, and this command takes one: give it by --policy"
        ));
    }
    of_a_program(command, words)
}

/// The hint for a program in the place of a task set, if the command takes a program after `--`.
fn of_a_program(command: &Command, words: &[String]) -> Option<String> {
    if !takes_a_program(command) || words.iter().any(|word| word == "--") {
        return None;
    }
    let is_a_path = |word: &&String| word.starts_with("./") || word.starts_with('/');
    let at = words.iter().position(|word| is_a_path(&word))?;
    let (before, program) = words.split_at(at);
    Some(format!(
        "`--` comes before a program: `layland {} -- {}`",
        before.join(" "),
        program.join(" ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A slip that has become a name of its own would hide the option.
    #[test]
    fn every_hint_names_an_option_that_some_command_has() {
        fn each(command: &Command, visit: &mut impl FnMut(&Command)) {
            visit(command);
            command.get_subcommands().for_each(|below| each(below, visit));
        }
        let all = crate::cli::command();
        for (slip, meant) in OPTIONS {
            for name in *meant {
                let mut helps = 0;
                each(&all, &mut |command| {
                    helps += usize::from(has_option(command, name) && !has_option(command, slip));
                });
                assert!(helps > 0, "{slip}: no command has {name} without having {slip}");
            }
        }
        for (slip, meant) in COMMANDS {
            assert!(all.find_subcommand(slip).is_none(), "{slip}");
            assert!(all.find_subcommand(meant).is_some(), "{meant}");
        }
    }
}
