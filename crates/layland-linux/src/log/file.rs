//! The file format of logs: `run log 2`, lines of JSON.
//!
//! The first line describes the run. Each other line is a record: its time, its kind, and its
//! members.
//!
//! ```json
//! {"layland":"run log 2","policy":"g-edf","seed":0,"set":"layland = 1\n","refusals":[{"kind":"busy","reason":"full"}]}
//! {"at":0,"what":"online","cpu":0}
//! {"at":20171,"what":"release","job":{"task":1,"seq":0},"release":0,"deadline":5000000}
//! {"at":20171,"what":"decide","actions":3,"cost_ns":850}
//! {"at":20171,"what":"run","cpu":0,"job":{"task":1,"seq":0}}
//! {"at":20171,"what":"note","kind":"moved","task":1,"from":1,"cpu":0,"why":"pulled"}
//! {"at":20171,"what":"refuse","request":4,"reason":0}
//! {"at":20171,"what":"on","cpu":0,"job":{"task":1,"seq":0},"since":21534}
//! ```
//!
//! | part | what | members |
//! |---|---|---|
//! | told | `online`, `offline` | `cpu` |
//! | told | `join` | `task`, `request` |
//! | told | `enter` | `task`, `request`, `program` |
//! | told | `leave` | `task` |
//! | told | `asks` | `index`, `request` |
//! | told | `arrival`, `release` | `job`, `release`, `deadline` |
//! | told | `completion` | `job`, `cpu`, `then` |
//! | told | `budget` | `job`, `cpu` |
//! | told | `ended` | `job` |
//! | told | `timer` | `id` |
//! | told | `measured` | `job`, `executed` |
//! | told | `decide` | `actions`, `cost_ns` |
//! | decided | `run` | `cpu`, `job`, `budget` |
//! | decided | `idle` | `cpu` |
//! | decided | `set_timer` | `id`, `due` |
//! | decided | `clear_timer` | `id` |
//! | decided | `abort` | `job` |
//! | decided | `end_job` | `job`, `used_up` |
//! | decided | `set_dates` | `job`, `release`, `deadline` |
//! | decided | `set_speed` | `cpu`, `speed` |
//! | decided | `note` | `kind` |
//! | decided | `refuse` | `request`, `reason` |
//! | measured | `asked` | `job`, `arrival`, `demand` |
//! | measured | `on` | `cpu`, `job`, `since` |
//! | measured | `off` | `cpu`, `job`, `used`, `until` |
//! | measured | `leaked` | `job`, `got` |
//! | measured | `done` | `job`, `end`, `used` |
//! | measured | `dropped` | `job`, `aborted` |
//! | measured | `granted` | `index` |
//! | measured | `refused` | `index`, `reason` |
//! | measured | `turned_away` | `task`, `reason` |
//! | measured | `skipped`, `never_ready` | `job`, `arrival`, `release`, `deadline` |
//! | measured | `over` | `interrupted` |
//!
//! [`Entry`](crate::Entry) describes each kind. Times are nanoseconds since the start of the run,
//! and work is nanoseconds of processor time. An unlimited `budget` or `demand` is left out.
//! `actions` is the number of records of decided actions that follow, and `then` is `blocks`,
//! `continues` or `yields`. Three members are positions, all from 0: `index` of a request in the
//! task set, `reason` of a refusal in the first line, and `program` of the program whose thread
//! enters. The `kind` of a refusal is `busy`, `not_permitted` or `invalid`. A `speed` is a
//! fraction, as in `"1/2"`. A note has the details by which its kind describes itself
//! ([`layland_model::note`]).
//!
//! A replay does not need the measured records. Unknown members and kinds are errors.

use crate::log::{Entry, Log, Program, Record};
use layland_policy::Refusal;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::io::{self, Write};

/// The version that is written.
const VERSION: &str = "run log 2";

/// A log with everything that a replay requires.
#[derive(Clone, Debug, PartialEq)]
pub struct LogFile {
    /// The policy with its options.
    pub policy: String,
    /// The seed for the random choices of the tasks.
    pub seed: u64,
    /// The task set, in the writer's format.
    pub set: String,
    /// The log of the run.
    pub log: Log,
}

/// An error in a log file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct LogError {
    /// The line, from 1.
    pub line: usize,
    /// The message about the line.
    pub message: String,
}

/// The first line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header<'a> {
    layland: Cow<'a, str>,
    policy: Cow<'a, str>,
    seed: u64,
    set: Cow<'a, str>,
    refusals: Cow<'a, [Refusal]>,
    #[serde(default, skip_serializing_if = "<[Program]>::is_empty")]
    programs: Cow<'a, [Program]>,
}

/// The member that the first line has in every version.
#[derive(Deserialize)]
struct Version {
    layland: String,
}

impl LogFile {
    /// Writes a log. The writer should be buffered.
    ///
    /// # Errors
    /// Returns an error if writing fails.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let header = Header {
            layland: VERSION.into(),
            policy: self.policy.as_str().into(),
            seed: self.seed,
            set: self.set.as_str().into(),
            refusals: self.log.refusals.as_slice().into(),
            programs: self.log.programs.as_slice().into(),
        };
        write_line(out, &header)?;
        self.log.records.iter().try_for_each(|record| write_line(out, record))
    }

    /// Returns the line, from 1, of a record in the string that this log was read from.
    pub fn line_of(record: usize) -> usize {
        2 + record
    }

    /// Reads a log.
    ///
    /// # Errors
    /// Returns an error with a line if the string is not a log.
    pub fn read(text: &str) -> Result<LogFile, LogError> {
        let first = text.lines().next().unwrap_or_default();
        let found = serde_json::from_str(first).ok().map(|Version { layland }| layland);
        match found.as_deref() {
            Some(VERSION) => read_lines(text),
            Some(other) if other.starts_with("run log ") => {
                Err(wrong(1, format!("`{other}` is not understood: `{VERSION}` is")))
            }
            Some(_) | None => {
                Err(wrong(1, format!("a log begins with `{{\"layland\":\"{VERSION}\",..`")))
            }
        }
    }
}

fn write_line(out: &mut impl Write, line: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

fn read_lines(text: &str) -> Result<LogFile, LogError> {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let Header { layland: _, policy, seed, set, refusals, programs } = read_line(1, first)?;
    let (refusals, programs) = (refusals.into_owned(), programs.into_owned());
    let mut log = Log { refusals, programs, ..Log::default() };
    for (line, text) in (2..).zip(rest.lines()) {
        let record: Record = read_line(line, text)?;
        if let Entry::Refuse { reason, .. }
        | Entry::Refused { reason, .. }
        | Entry::TurnedAway { reason, .. } = record.entry
            && reason as usize >= log.refusals.len()
        {
            return Err(wrong(line, format!("the first line has no refusal {reason}")));
        }
        if let Entry::Enter { program, .. } = record.entry
            && program as usize >= log.programs.len()
        {
            return Err(wrong(line, format!("the first line has no program {program}")));
        }
        log.records.push(record);
    }
    Ok(LogFile { policy: policy.into_owned(), seed, set: set.into_owned(), log })
}

fn read_line<'a, T: Deserialize<'a>>(line: usize, text: &'a str) -> Result<T, LogError> {
    serde_json::from_str(text).map_err(|error| {
        if error.is_eof() {
            return wrong(line, "the line is cut off");
        }
        // Each string is a single line, so the line in the message is not a line of the file: drop
        // it.
        let message = error.to_string();
        wrong(line, message.rsplit_once(" at line ").map_or(&*message, |(message, _)| message))
    })
}

pub(super) fn wrong(line: usize, message: impl Into<String>) -> LogError {
    LogError { line, message: message.into() }
}

#[cfg(test)]
mod tests;
