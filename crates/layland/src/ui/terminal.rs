//! Output to the user: results on standard output, messages on standard error.
//!
//! A terminal interprets some characters, and names, paths, commands and lines of files come from
//! others. All terminal output therefore passes through [`harmless`], which lets only styles pass.
//! Strings from others also pass through [`visible`] before they are combined with styles, so that
//! nothing in them can pass for a style.

use super::exit::{Failure, Message};
use clap::builder::styling::{AnsiColor, Style};
use layland_model::shown::{self, with_micro, without_micro};
use layland_model::{acts_on_a_terminal, push_visible, visible};
use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// A writer that removes the progress line before its output.
struct Clear<W>(W);

impl<W: Write> Write for Clear<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        take_line_away();
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// Removes the progress line.
fn take_line_away() {
    super::working::end();
}

/// True if the user wants ASCII characters only, or the locale has no others.
static ASCII: AtomicBool = AtomicBool::new(false);

/// Notes whether the user asks for ASCII characters, with `--ascii` or by the locale.
pub(crate) fn keep(arguments: &[OsString]) {
    let own = arguments.iter().take_while(|argument| *argument != "--");
    let is_asked = own.into_iter().any(|argument| argument == "--ascii");
    ASCII.store(is_asked || !is_utf8(locale().as_deref()), Ordering::Relaxed);
}

/// Returns the locale of characters. Of these variables the first that is not empty decides.
fn locale() -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "the command line reads the environment")]
    let of = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
    ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(of)
}

fn is_utf8(locale: Option<&str>) -> bool {
    locale.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

/// Writes units as the user's terminal can show them.
fn units(text: &str) -> Cow<'_, str> {
    if ASCII.load(Ordering::Relaxed) { without_micro(text) } else { with_micro(text) }
}

/// Writes a text so that no line ends between a number and its unit when it is broken into lines.
/// [`in_lines`] writes blanks there again.
pub(crate) fn with_units_kept(text: &str) -> String {
    shown::with_units_kept(&units(text)).into_owned()
}

/// Writes a text that was broken into lines as it was without [`with_units_kept`].
pub(crate) fn in_lines(text: &str) -> String {
    text.replace('\u{a0}', " ")
}

/// Writes a result for people to standard output.
pub(crate) fn result(text: &str) -> Result<(), Failure> {
    data(&units(text))
}

/// Writes a result that other programs read to standard output. It is not an error if the reader has
/// closed the pipe (`| head`).
pub(crate) fn data(text: &str) -> Result<(), Failure> {
    take_line_away();
    // A file or a program gets the unchanged text: a converted task set keeps its names.
    let shown = std::io::stdout().is_terminal() || colours();
    let text = if shown { harmless(text) } else { Cow::Borrowed(text) };
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::refused(format!("failed to write to standard output: {error}")))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Writes a long result to standard output while it is made. It is not an error if the reader has
/// closed the pipe (`| head`).
///
/// The output must not contain styles, because it is written without processing.
pub(crate) fn write_result(
    make: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), Failure> {
    let stdout = std::io::stdout().lock();
    let shown = stdout.is_terminal();
    let out = Clear(Shown { out: stdout, shown, begun: Vec::new() });
    let mut out = std::io::BufWriter::with_capacity(1 << 16, out);
    match make(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::refused(format!("failed to write to standard output: {error}")))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Clears the terminal, if standard output is one, so that new output replaces the old.
#[cfg(target_os = "linux")]
pub(crate) fn clear() -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    if !out.is_terminal() {
        return Ok(());
    }
    out.write_all(b"\x1b[H\x1b[J")
        .map_err(|error| Failure::refused(format!("failed to write to standard output: {error}")))
}

/// Results that are written to standard output while they are computed.
#[derive(Default)]
pub(crate) struct Results {
    waiting: Vec<u8>,
    /// The first bytes of an incomplete character.
    begun: Vec<u8>,
    /// True if the reader has closed the pipe.
    gone: bool,
}

impl Results {
    /// The number of buffered bytes at which they are written.
    const ENOUGH: usize = 1 << 16;

    /// Writes a result to the buffer, which is flushed when it is full or with
    /// [`flush`](Self::flush).
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= Self::ENOUGH { self.flush() } else { Ok(()) }
    }

    /// Writes the buffer.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        take_line_away();
        let out = std::io::stdout().lock();
        let shown = out.is_terminal();
        let mut out = Shown { out, shown, begun: std::mem::take(&mut self.begun) };
        let written = out.write_all(&self.waiting).and_then(|()| out.flush());
        self.begun = out.begun;
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

    /// Returns true if the reader has closed the pipe (`| head`). This is not an error, and the
    /// rest need not be computed.
    pub(crate) fn is_unread(&self) -> bool {
        self.gone
    }
}

/// Prints a message to standard error.
pub(crate) fn talk(text: &str) {
    quote(&units(text));
}

/// Prints a message that quotes lines of a file.
pub(crate) fn quote(text: &str) {
    take_line_away();
    let mut out = anstream::stderr().lock();
    // If standard error is closed, the failure cannot be reported.
    let _ = writeln!(out, "{}", harmless(text.trim_end()));
}

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HELP: Style = AnsiColor::Cyan.on_default();

/// Prints the reason why a command could not do its work.
pub(crate) fn complain(message: &Message) {
    match message {
        Message::Plain(message, help) => say(ERROR, "error", message, help.as_deref()),
        Message::Drawn(text) => quote(text),
    }
}

/// Prints a warning.
pub(crate) fn warn(message: &str, help: Option<&str>) {
    say(WARNING, "warning", message, help);
}

/// Prints a remark about what the user has asked for, which needs no action.
pub(crate) fn note(message: &str) {
    say(HELP, "note", message, None);
}

fn say(style: Style, kind: &str, message: &str, help: Option<&str>) {
    let help =
        help.map_or(String::new(), |help| format!("\n  {HELP}help{HELP:#}: {}", lines(help)));
    talk(&format!("{style}{kind}{style:#}: {}{help}", lines(message)));
}

/// Makes a string without styles printable, and keeps its line ends.
fn lines(text: &str) -> String {
    text.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}

/// Prepares a string with our own styles for a terminal. Of all control characters, only line ends,
/// tabs and colours pass.
///
/// This is the last filter, after [`visible`]: a foreign string that was not filtered before can at
/// most be coloured.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let passes = |char| matches!(char, '\n' | '\t');
    if !text.contains(|char| acts_on_a_terminal(char) && !passes(char)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        if let Some(length) = style_length(rest) {
            out.push_str(&rest[..length]);
            rest = &rest[length..];
            continue;
        }
        if passes(char) {
            out.push(char)
        } else {
            push_visible(&mut out, char)
        }
        rest = &rest[char.len_utf8()..];
    }
    Cow::Owned(out)
}

/// Returns the length of the style at the beginning of a string: `ESC [`, numbers, `m`.
fn style_length(text: &str) -> Option<usize> {
    let numbers = text.strip_prefix("\u{1b}[")?;
    let length = numbers.find(|char: char| !matches!(char, '0'..='9' | ';' | ':'))?;
    numbers[length..].starts_with('m').then_some(length + 3)
}

/// Standard output for long results. They are written unchanged to files and programs, and through
/// [`harmless`] to a terminal.
struct Shown<W> {
    out: W,
    /// True for a terminal.
    shown: bool,
    /// The first bytes of an incomplete character.
    begun: Vec<u8>,
}

impl<W: Write> Write for Shown<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if !self.shown {
            return self.out.write(bytes);
        }
        self.begun.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.begun) {
            Ok(_) => self.begun.len(),
            // Without an error length, the last character is incomplete, and the next bytes
            // complete it.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => self.begun.len(),
        };
        let rest = self.begun.split_off(whole);
        let text = String::from_utf8_lossy(&self.begun).into_owned();
        self.begun = rest;
        self.out.write_all(harmless(&text).as_bytes())?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

/// Breaks a string into lines of the terminal's width. The first line starts with the indent, the
/// others with two more spaces.
pub(crate) fn wrap(text: &str, indent: &str) -> String {
    let width = width();
    let further = format!("{indent}  ");
    let (mut out, mut column) = (indent.to_owned(), indent.len());
    for (index, word) in with_units_kept(text).split(' ').enumerate() {
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
    in_lines(&out)
}

/// Formats an entry of a list: its name, and a text beside it. Lines that follow begin below the
/// text. A file or a program gets one line for each entry, unless COLUMNS asks for a width.
pub(crate) fn entry(name: &str, text: &str) -> String {
    let width =
        if columns().is_some() || std::io::stdout().is_terminal() { width() } else { usize::MAX };
    entry_of_width(name, text, width)
}

fn entry_of_width(name: &str, text: &str, width: usize) -> String {
    let begin = name.chars().count();
    // A name may take so much that little is left beside it.
    let indent = if begin * 2 > width { 6 } else { begin };
    let (mut out, mut column) = (name.to_owned(), begin);
    for (index, word) in with_units_kept(text).split(' ').enumerate() {
        let length = word.chars().count();
        let gap = usize::from(index > 0);
        if (index > 0 || indent < begin) && column + gap + length > width {
            out = out.trim_end().to_owned() + "\n" + &" ".repeat(indent);
            column = indent;
        } else if index > 0 {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += length;
    }
    in_lines(&out) + "\n"
}

/// Returns the width that COLUMNS asks for.
fn columns() -> Option<usize> {
    #[expect(clippy::disallowed_methods, reason = "the command line reads the environment")]
    std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok())
}

/// Returns the width of charts, tables and messages: that of COLUMNS, or that of the terminal, or
/// 100 columns.
pub(crate) fn width() -> usize {
    let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    columns().or_else(terminal).filter(|&width| width > 0).unwrap_or(100).clamp(60, 200)
}

/// Returns true if standard output shows colours.
pub(crate) fn colours() -> bool {
    !matches!(anstream::stdout().current_choice(), anstream::ColorChoice::Never)
}

/// Returns true if standard error shows colours.
pub(crate) fn talk_colours() -> bool {
    !matches!(anstream::stderr().current_choice(), anstream::ColorChoice::Never)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locale_of_other_characters_gets_ascii() {
        for locale in ["C.UTF-8", "de_DE.utf8", "en_US.UTF-8"] {
            assert!(is_utf8(Some(locale)), "{locale}");
        }
        for locale in [None, Some("C"), Some("POSIX"), Some("de_DE.ISO-8859-1")] {
            assert!(!is_utf8(locale), "{locale:?}");
        }
    }

    #[test]
    fn styles_pass_and_nothing_else_does() {
        let styled = format!("{ERROR}error{ERROR:#}: {HELP}a\tb{HELP:#}\n");
        assert_eq!(harmless(&styled), styled);
        for (text, shown) in [
            ("\u{1b}]52;c;aGk=\u{7}", r"\u{1b}]52;c;aGk=\u{7}"),
            ("\u{1b}[2J\u{1b}[31", r"\u{1b}[2J\u{1b}[31"),
            ("a\u{202e}b\u{200b}\r", r"a\u{202e}b\u{200b}\r"),
            ("\u{9b}31m", r"\u{9b}31m"),
        ] {
            assert_eq!(harmless(text), shown);
        }
    }

    #[test]
    fn an_entry_fits_the_width_and_loses_no_word() {
        let text = "earliest deadline first on each CPU: every task on one CPU, and EDF there";
        for (name, width) in [("p-edf  ", 40), ("a-long-name-of-a-test  ", 30), ("", 60)] {
            let entry = entry_of_width(name, text, width);
            assert!(entry.lines().all(|line| line.chars().count() <= width), "{entry}");
            assert!(entry.lines().count() > 1, "{entry}");
            let words: Vec<&str> = entry.split_whitespace().collect();
            assert_eq!(
                words.join(" "),
                format!("{name} {text}").split_whitespace().collect::<Vec<_>>().join(" ")
            );
        }
        assert_eq!(entry_of_width("a  ", text, usize::MAX), format!("a  {text}\n"));
    }

    #[test]
    fn messages_have_no_styles_of_others() {
        assert_eq!(lines("a\u{1b}[31m\nb"), "a\\u{1b}[31m\nb");
    }

    #[test]
    fn a_terminal_gets_whole_characters() {
        let mut shown = Shown { out: Vec::new(), shown: true, begun: Vec::new() };
        for byte in "é\u{1b}]\u{202e}\n".bytes() {
            shown.write_all(&[byte]).unwrap();
        }
        assert_eq!(String::from_utf8(shown.out).unwrap(), "é\\u{1b}]\\u{202e}\n");
    }
}
