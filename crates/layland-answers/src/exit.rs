//! Exit codes.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use std::borrow::Cow;

/// An exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done; every requested verdict is yes.
    Yes,
    /// Done; a verdict is no: a deadline was missed, a chain exceeded a constraint, or a policy
    /// rejected the set.
    No,
    /// Wrong usage.
    Usage,
    /// The input is invalid.
    BadInput,
    /// Done; a verdict is unknown.
    Unknown,
    /// The system refused: a file that cannot be written, a priority that is not granted.
    Refused,
    /// A measurement cannot be trusted.
    Untrusted,
    /// Interrupted; partial results were kept and marked.
    Interrupted,
    /// The exit code of the program that was run.
    OfProgram(u8),
    /// A bug in layland.
    Bug,
}

impl Exit {
    /// Returns the exit code as a number.
    pub fn code(self) -> u8 {
        match self {
            Exit::Yes => 0,
            Exit::No => 1,
            Exit::Usage => 2,
            Exit::BadInput => 3,
            Exit::Unknown => 4,
            Exit::Refused => 5,
            Exit::Untrusted => 6,
            Exit::Bug => 70,
            Exit::Interrupted => 130,
            Exit::OfProgram(code) => code,
        }
    }

    /// Returns the worst of several exit codes.
    pub fn worst(answers: impl Iterator<Item = Exit>) -> Exit {
        let rank = |exit: &Exit| match exit {
            Exit::Bug => 4,
            Exit::Interrupted => 3,
            Exit::No => 2,
            Exit::Unknown => 1,
            Exit::Yes
            | Exit::Usage
            | Exit::BadInput
            | Exit::Refused
            | Exit::Untrusted
            | Exit::OfProgram(_) => 0,
        };
        answers.max_by_key(rank).unwrap_or(Exit::Yes)
    }

    /// The name of the code in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Exit::Yes => "yes",
            Exit::No => "no",
            Exit::Usage => "usage",
            Exit::BadInput => "bad input",
            Exit::Unknown => "unknown",
            Exit::Refused => "refused by the system",
            Exit::Untrusted => "measurement not trustworthy",
            Exit::Bug => "bug",
            Exit::Interrupted => "interrupted",
            Exit::OfProgram(_) => "as the program",
        }
    }
}

/// The codes in documents. A command with wrong usage prints no document, nor does one that ends as
/// its program.
fn in_documents() -> [u8; 8] {
    [
        Exit::Yes,
        Exit::No,
        Exit::BadInput,
        Exit::Unknown,
        Exit::Refused,
        Exit::Untrusted,
        Exit::Bug,
        Exit::Interrupted,
    ]
    .map(Exit::code)
}

/// The result of a command.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "exit")]
struct ExitDocument {
    /// The exit code.
    #[schemars(extend("enum" = in_documents()))]
    code: u8,
    /// Its name.
    name: &'static str,
}

impl JsonSchema for Exit {
    fn schema_name() -> Cow<'static, str> {
        ExitDocument::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        ExitDocument::json_schema(generator)
    }
}

impl Serialize for Exit {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ExitDocument { code: self.code(), name: self.name() }.serialize(serializer)
    }
}
