//! Decides what a file is, by its content: a format of task sets, or something else with a name.
//!
//! The ending of the name decides only where the content does not: for an empty file, or for a line
//! that several formats could begin with. Everything that is not a task set is named once, with
//! what to do, in place of an error for each line of it.

mod bytes;
mod foreign;
mod json;
mod text;

pub use foreign::Foreign;

use crate::host::Host;
use crate::problem::{Problem, Problems, Report};
use crate::read::Format;

/// The number of bytes at the start of a file that are looked at.
const SEEN: usize = 1 << 16;

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A task set in this format.
    Set(Format),
    /// Something that is known, and that is not a task set.
    Foreign(Foreign),
}

impl Kind {
    /// Recognizes a file by its content, and by the ending of its name where the content does not
    /// decide.
    ///
    /// ```
    /// use layland_config::{Foreign, Format, Host, Kind};
    /// let of = |name: &str, text: &str| Kind::of(name, text.as_bytes(), &Host::default());
    /// assert_eq!(of("a.txt", "# mine\nlayland = 1\n"), Kind::Set(Format::Toml));
    /// assert_eq!(of("a.json", "{\"layland\":1,\"task\":[]}"), Kind::Set(Format::Lines));
    /// assert_eq!(of("a.txt", "/* two tasks */ {\"tasks\":{\"a\":{\"run\":5}}}"), Kind::Set(Format::RtApp));
    /// assert_eq!(of("a.json", "[{\"name\":\"pump\",\"wcet\":3}]"), Kind::Set(Format::Objects));
    /// assert_eq!(of("<stdin>", "name,period,wcet\n"), Kind::Set(Format::Csv));
    /// assert_eq!(of("set.md", "| Task | C | T |\n|---|---|---|\n"), Kind::Set(Format::Table));
    /// assert_eq!(of("set.txt", "# C T\n1000 5000\n"), Kind::Set(Format::Plain));
    /// assert_eq!(of("a.xml", "<?xml version='1.0'?><simulation etm='wcet'/>"), Kind::Set(Format::Simso));
    /// assert_eq!(of("<stdin>", "<taskset/>"), Kind::Set(Format::Schedcat));
    /// assert_eq!(of("a.xml", "<cheddar/>"), Kind::Foreign(Foreign::Cheddar));
    /// ```
    pub fn of(name: &str, bytes: &[u8], host: &Host) -> Kind {
        if let Some(foreign) = bytes::foreign(bytes) {
            return Kind::Foreign(foreign);
        }
        let start = &bytes[..bytes.len().min(SEEN)];
        let text = String::from_utf8_lossy(start);
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        text::kind(&text, ending.as_deref(), host.columns.is_some())
    }
}

impl Format {
    /// Returns the format of a task set, by [`Kind::of`].
    ///
    /// # Errors
    /// A report that names the file, if it is not a task set.
    pub fn detect(name: &str, bytes: &[u8], host: &Host) -> Result<Format, Report> {
        let foreign = match Kind::of(name, bytes, host) {
            Kind::Set(format) => return Ok(format),
            Kind::Foreign(foreign) => foreign,
        };
        let mut problems = Problems::default();
        let message = format!("this is {foreign}, and not a task set");
        let problem = Problem::error("layland::text::not_a_set", message).help(foreign.help());
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SEEN)]);
        // Where nothing is recognized, the user sees the line that was looked at, or the numbers.
        let first = text.lines().map(str::trim).find(|line| !line.is_empty());
        let numbers = text::numbers(&text);
        problems.push(match (first, numbers) {
            (_, Some(line)) if foreign == Foreign::Text => {
                let at = line.as_ptr() as usize - text.as_ptr() as usize;
                let problem = problem.at(at..at + line.len(), "columns of numbers begin here");
                problem.help(
                    "put these lines into a file of their own, below a line of titles such as `Task C T D`",
                )
            }
            (Some(line), None) if foreign == Foreign::Text => {
                let at = line.as_ptr() as usize - text.as_ptr() as usize;
                problem.at(at..at + line.len(), "it begins here")
            }
            (_, _) => problem,
        });
        Err(Report::new(name, &text, problems))
    }
}
