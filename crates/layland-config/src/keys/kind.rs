//! The description of a key of a task: its name and meaning, its value, and its place in files.

use layland_model::{Duration, Field, Index, System, Task, TaskId};
use schemars::{Schema, SchemaGenerator};

/// A task in its system.
#[derive(Clone, Copy)]
pub(crate) struct Of<'s> {
    pub task: &'s Task,
    pub id: TaskId,
    pub system: &'s System,
}

impl<'s> Of<'s> {
    /// Iterates over the tasks of a system.
    pub(crate) fn each(system: &'s System) -> impl Iterator<Item = Of<'s>> {
        system.tasks.iter().map(move |(id, task)| Of { task, id, system })
    }

    /// Returns true if the rank is not the position, which is its default.
    pub(crate) fn has_rank(self) -> bool {
        self.task.rank != self.id.index() as i64
    }
}

/// A key of `[[task]]`, for all formats.
pub(crate) struct TaskKey {
    /// The name in a file, and the title of the column in a table.
    pub name: &'static str,
    /// The meaning and the default, for the schema and the book.
    pub meaning: &'static str,
    /// The syntax of the value, and the place of the value in a task.
    pub value: Value,
    /// The limits of the value, in the words of JSON Schema.
    pub limits: &'static [(&'static str, u32)],
    /// Returns true if the value of a task is not the default.
    pub is_given: fn(Of<'_>) -> bool,
    /// True if every task needs the key.
    pub is_required: bool,
    /// True if `[defaults]` may have the key.
    pub is_inherited: bool,
    /// True if a file has it directly after the WCET, since it states what a job does.
    pub is_early: bool,
    /// The field that is invalid if the value is.
    pub field: Option<Field>,
    /// The parts of a file whose faults may be the cause of a fault in this key.
    pub rests_on: &'static [Base],
    /// The other titles of the column in a table, as lower-case letters and digits; `None` if
    /// tables do not have this key.
    pub column: Option<&'static [&'static str]>,
    /// The warning of a format without the key, with `{}` for the name of the task. It is empty if
    /// no format lacks the key, or if the warning is about the whole set.
    pub lost: &'static str,
}

/// A part of a file that another part depends on.
#[derive(Clone, Copy)]
pub(crate) enum Base {
    Platform,
    Levels,
    /// A field of the same task.
    Field(Field),
}

/// The value of a key: its syntax, which is the same in every format, and its place in a task.
///
/// The first function returns the value, or `None` if a task lacks it; the second one sets it.
pub(crate) enum Value {
    /// A time: `"5ms"`.
    Time(fn(&Task) -> Option<Duration>, fn(&mut Task, Duration)),
    /// A whole number of either sign.
    Number(fn(&Task) -> Option<i64>, fn(&mut Task, i64)),
    /// A whole number that is not negative.
    Count(fn(&Task) -> Option<u64>, fn(&mut Task, u64)),
    /// `true` or `false`, and the problem of a table with any other text.
    Flag(fn(&Task) -> bool, fn(&mut Task, bool), Fault),
    /// Any text, and an example for messages.
    Text(fn(&Task) -> Option<&str>, fn(&mut Task, &str), &'static str),
    /// One of a few words.
    Word(Word),
    /// A syntax of its own, for which each format has a reader.
    Own(Own),
}

/// The problem of a table with a value that is not valid.
pub(crate) struct Fault {
    pub code: &'static str,
    pub help: &'static str,
}

/// A value that is one of a few words.
pub(crate) struct Word {
    /// A name for the words in messages.
    pub what: &'static str,
    /// All words.
    pub words: fn() -> Vec<&'static str>,
    pub get: fn(&Task) -> &'static str,
    /// Sets the value, if this is one of the words.
    pub set: fn(&mut Task, &str) -> Option<()>,
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    /// An example for messages.
    pub example: &'static str,
    pub in_table: Fault,
}

/// A value with a syntax of its own.
pub(crate) struct Own {
    pub schema: fn(&mut SchemaGenerator) -> Schema,
    /// Returns the value in TOML, if a file states it.
    pub toml: fn(Of<'_>) -> Option<String>,
    /// Returns the cell of a table.
    pub cell: fn(Of<'_>) -> String,
}
