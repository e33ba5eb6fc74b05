//! `layland completions`: a script for a shell.

use crate::ui::exit::{Exit, Outcome};
use crate::ui::terminal;

pub(crate) const EXAMPLES: &str = "\
Examples:
  layland completions bash > ~/.local/share/bash-completion/completions/layland
  layland completions zsh > ~/.zfunc/_layland
  layland completions fish > ~/.config/fish/completions/layland.fish";

/// Completions of a command line.
pub(crate) fn run(mut cli: clap::Command, shell: clap_complete::Shell) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut cli, "layland", &mut script);
    terminal::result(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Yes)
}
