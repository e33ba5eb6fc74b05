//! Talking to the user: results on standard output, talk on standard error.

use super::exit::{Failure, Message};
use clap::builder::styling::{AnsiColor, Style};
use std::io::{ErrorKind, Write};

/// Writes a result to standard output. A reader that has gone away (`| head`) is no error.
pub(crate) fn result(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::refused(format!("failed to write to standard output: {error}")))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Writes a long result to standard output as it is made. A reader that has gone away (`| head`) is no error.
///
/// It goes out as it is: there must be no styles in it.
pub(crate) fn write_result(
    make: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), Failure> {
    let mut out = std::io::BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    match make(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::refused(format!("failed to write to standard output: {error}")))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Results that are written to standard output as they come.
#[derive(Default)]
pub(crate) struct Results {
    waiting: Vec<u8>,
    /// Whether the reader has gone away.
    gone: bool,
}

impl Results {
    /// What waits is written when there is so much of it.
    const ENOUGH: usize = 1 << 16;

    /// Writes a result: soon, or with [`flush`](Self::flush).
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= Self::ENOUGH { self.flush() } else { Ok(()) }
    }

    /// Writes what waits.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        let written = out.write_all(&self.waiting).and_then(|()| out.flush());
        self.waiting.clear();
        match written {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => self.gone = true,
            Err(error) => {
                let message = format!("failed to write to standard output: {error}");
                return Err(Failure::refused(message));
            }
            Ok(()) => {}
        }
        Ok(())
    }

    /// Whether nobody reads any more (`| head`): that is no error, and the rest need not be computed.
    pub(crate) fn is_unread(&self) -> bool {
        self.gone
    }
}

/// Says something on standard error.
pub(crate) fn talk(text: &str) {
    let mut out = anstream::stderr().lock();
    // There is nobody left to tell if standard error is closed.
    let _ = writeln!(out, "{}", text.trim_end());
}

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HELP: Style = AnsiColor::Cyan.on_default();

/// Says why a command could not do its work.
pub(crate) fn complain(message: &Message) {
    match message {
        Message::Plain(message, help) => say(ERROR, "error", message, help.as_deref()),
        Message::Drawn(text) => talk(text),
    }
}

/// Says what is lost or doubtful.
pub(crate) fn warn(message: &str, help: Option<&str>) {
    say(WARNING, "warning", message, help);
}

fn say(style: Style, kind: &str, message: &str, help: Option<&str>) {
    let help = help.map_or(String::new(), |help| format!("\n  {HELP}help{HELP:#}: {help}"));
    talk(&format!("{style}{kind}{style:#}: {message}{help}"));
}

/// Breaks a text into lines of the terminal's width: the first starts with the indent, the others
/// with two spaces more.
pub(crate) fn wrap(text: &str, indent: &str) -> String {
    let width = width();
    let further = format!("{indent}  ");
    let (mut out, mut column) = (indent.to_owned(), indent.len());
    for (index, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        if index > 0 && column + 1 + length > width {
            out += "\n";
            out += &further;
            column = further.len();
        } else if index > 0 {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += length;
    }
    out
}

/// How wide charts, tables and messages are: as COLUMNS says, as the terminal, or else 100 columns.
pub(crate) fn width() -> usize {
    #[expect(clippy::disallowed_methods, reason = "the command line reads the environment")]
    let asked = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    asked.or_else(terminal).filter(|&width| width > 0).unwrap_or(100).clamp(60, 200)
}

/// Whether standard output shows colours.
pub(crate) fn colours() -> bool {
    !matches!(anstream::stdout().current_choice(), anstream::ColorChoice::Never)
}

/// Whether standard error shows colours.
pub(crate) fn talk_colours() -> bool {
    !matches!(anstream::stderr().current_choice(), anstream::ColorChoice::Never)
}
