//! A program from its first instruction to its end.

use crate::ui::exit::{Exit, Message, Outcome};
use crate::ui::terminal;
use layland_linux::exec::{Ended, Program, Signals};
use std::ffi::OsString;
use std::io::ErrorKind;

/// Most programs create their threads soon after the start, some later: the first checks are more
/// frequent.
pub(super) const SOON_MS: u32 = 5;
const OFTEN: u32 = 40;
pub(super) const LATER_MS: u32 = 100;

/// Starts a program that waits, watches it until it ends, and forwards signals to it. `name` is its
/// name in messages.
pub(super) fn watch(
    mut program: Program,
    command: &[OsString],
    name: &str,
    signals: &Signals,
    mut look: impl FnMut(),
) -> Outcome {
    if let Err(error) = program.start() {
        let file = command.first().map(|word| word.to_string_lossy()).unwrap_or_default();
        let message = format!("failed to execute {file}: {error}");
        terminal::complain(&Message::Plain(message, None));
        // The exit codes of a shell: 127 for a missing program, 126 for any other failure.
        let is_missing = error.kind() == ErrorKind::NotFound;
        return Ok(Exit::OfProgram(if is_missing { 127 } else { 126 }));
    }
    for round in 0.. {
        if let Some(ended) = program.ended() {
            if let Ended::Signal(number) = ended {
                terminal::talk(&format!("{name} was killed by signal {number}"));
            }
            return Ok(Exit::OfProgram(ended.code()));
        }
        look();
        let pause = if round < OFTEN { SOON_MS } else { LATER_MS };
        if let Some(signal) = signals.wait(pause) {
            program.pass_on(signal);
        }
    }
    unreachable!("the rounds never end")
}
