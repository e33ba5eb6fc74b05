//! The reasons why there is no answer, with the places in the text.

use layland::answers::Unanswered;
use layland_config::{Problem, Report, Severity, Span};
use serde_json::{Value, json};

/// The exit code for wrong usage.
const USAGE: u8 = 2;

/// The reason why there is no answer.
pub(crate) struct Refused {
    message: String,
    help: Option<String>,
    code: u8,
    problems: Vec<Value>,
}

impl Refused {
    /// Creates the refusal of a wrong question.
    pub(crate) fn usage(message: impl Into<String>) -> Refused {
        Refused { message: message.into(), help: None, code: USAGE, problems: Vec::new() }
    }

    /// Adds help.
    pub(crate) fn help(self, help: impl Into<String>) -> Refused {
        Refused { help: Some(help.into()), ..self }
    }

    /// Creates the refusal of a command, with the places in the text that was sent. A file sent as
    /// bytes has no places.
    pub(crate) fn from_text(unanswered: Unanswered, text: Option<&str>) -> Refused {
        let Unanswered { message, help, exit, report } = unanswered;
        let problems = report.map(|report| problems(&report, text)).unwrap_or_default();
        Refused { message, help, code: exit.code(), problems }
    }
}

impl From<Unanswered> for Refused {
    fn from(unanswered: Unanswered) -> Refused {
        Refused::from_text(unanswered, None)
    }
}

impl From<Refused> for Value {
    fn from(refused: Refused) -> Value {
        let Refused { message, help, code, problems } = refused;
        json!({ "message": message, "help": help, "code": code, "problems": problems })
    }
}

/// Converts byte offsets of a text to UTF-16 units, in which a page counts. Spans come in any
/// order, and a text may be long.
pub(crate) struct Units<'a> {
    text: &'a str,
    /// Every 4096 bytes or so: a character boundary, and the number of units before it.
    known: Vec<(usize, usize)>,
}

impl<'a> Units<'a> {
    pub(crate) fn new(text: &'a str) -> Units<'a> {
        const STEP: usize = 4096;
        let (mut known, mut at, mut units) = (vec![(0, 0)], 0, 0);
        while at < text.len() {
            let mut to = (at + STEP).min(text.len());
            while !text.is_char_boundary(to) {
                to += 1;
            }
            units += text[at..to].encode_utf16().count();
            at = to;
            known.push((at, units));
        }
        Units { text, known }
    }

    /// Returns the place of a span whose ends are character boundaries.
    pub(crate) fn place(&self, span: &Span) -> Value {
        json!({ "from": self.at(span.start), "to": self.at(span.end) })
    }

    /// Returns the number of units before a byte.
    pub(crate) fn at(&self, byte: usize) -> usize {
        let byte = byte.min(self.text.len());
        let index = self.known.partition_point(|&(at, _)| at <= byte) - 1;
        let (at, units) = self.known[index];
        units + self.text.get(at..byte).map_or(0, |between| between.encode_utf16().count())
    }
}

/// Returns the problems of a report about this text.
pub(crate) fn problems(report: &Report, text: Option<&str>) -> Vec<Value> {
    let units = text.map(Units::new);
    let of = |problem: &Problem| {
        let at = |byte: usize| units.as_ref().map(|units| units.at(byte));
        let span = problem.span.as_ref();
        let related = problem.related.iter().map(
            |(span, label)| json!({ "from": at(span.start), "to": at(span.end), "label": label }),
        );
        json!({
            "severity": match problem.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            "code": problem.code,
            "message": problem.message,
            "label": problem.label,
            "help": problem.help,
            "from": span.and_then(|span| at(span.start)),
            "to": span.and_then(|span| at(span.end)),
            "line": problem.position.map(|position| position.line),
            "column": problem.position.map(|position| position.column),
            "related": related.collect::<Vec<_>>(),
        })
    };
    report.problems.iter().map(of).collect()
}

/// Returns a warning that has no place in the text.
pub(crate) fn doubt(message: &str, help: &str) -> Value {
    json!({
        "severity": "warning", "code": Value::Null, "message": message, "label": "", "help": help,
        "from": Value::Null, "to": Value::Null, "line": Value::Null, "column": Value::Null, "related": [],
    })
}
