//! Faults in a file: [`Problem`]s with their positions, collected into a [`Report`].
//!
//! Long because a report also draws itself, for which
//! it moves the positions of problems in the text.

use layland_model::{
    Field, Invalid, SystemPart, TaskId, acts_on_a_terminal, counted, push_visible, visible,
};
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError};
use miette::{
    MietteSpanContents, SourceCode, SourceSpan, SpanContents, ThemeCharacters, ThemeStyles,
};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A range of bytes in the text.
pub type Span = Range<usize>;

/// The maximum number of problems in a report; [`Report::unlisted`] counts the others.
pub const LISTED: usize = 50;

/// The maximum number of errors, and of warnings, that are kept
/// while reading: it limits the memory for a huge broken file.
const KEPT: usize = 1000;

/// The severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The text cannot be used.
    Error,
    /// The text can be used, but not everything in it takes effect as written.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        })
    }
}

/// A line and a column, both from 1. Columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Returns the position of the start of each of these spans.
pub(crate) fn positions(text: &str, spans: &[Span]) -> Vec<Position> {
    // In the order of the text, so that one pass counts its lines.
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by_key(|&index| spans[index].start);
    let mut found = vec![Position { line: 1, column: 1 }; spans.len()];
    let (mut line, mut line_start, mut seen) = (1, 0, 0);
    for index in order {
        let at = within(text, spans[index].clone()).start;
        let between = &text.as_bytes()[seen..at];
        line += newlines(between);
        if let Some(last) = between.iter().rposition(|&byte| byte == b'\n') {
            line_start = seen + last + 1;
        }
        seen = at;
        found[index] = Position { line, column: text[line_start..at].chars().count() + 1 };
    }
    found
}

/// One problem: its description, its position and a suggestion.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    /// The severity: error or warning.
    pub severity: Severity,
    /// A stable name of the kind of problem, as in `layland::taskset::unknown_key`.
    pub code: &'static str,
    /// The description of the problem.
    pub message: String,
    /// A short label beside the position.
    pub label: String,
    /// The bytes of the text that cause it; `None` if the text as a whole does.
    pub span: Option<Span>,
    /// The position of the start of the span.
    pub position: Option<Position>,
    /// Other spans that belong to it, each with a short label.
    pub related: Vec<(Span, String)>,
    /// The suggested fix.
    pub help: Option<String>,
}

impl Problem {
    /// Returns an error without a position.
    pub fn error(code: &'static str, message: impl Into<String>) -> Problem {
        Problem {
            severity: Severity::Error,
            code,
            message: message.into(),
            label: String::new(),
            span: None,
            position: None,
            related: Vec::new(),
            help: None,
        }
    }
    /// Returns a warning without a position.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Problem {
        Problem { severity: Severity::Warning, ..Problem::error(code, message) }
    }
    /// Converts an invalid part of a system to a problem, for a
    /// file that contains only tasks: at the field of the task.
    pub(crate) fn invalid(
        code: &'static str,
        invalid: Invalid,
        place: impl FnOnce(TaskId, Field) -> Option<(Span, &'static str)>,
    ) -> Problem {
        let problem = Problem::error(code, invalid.message).help(invalid.help);
        let place = match invalid.part {
            SystemPart::Task(task, field) => place(task, field),
            SystemPart::Step(task, _) => place(task, Field::Steps),
            SystemPart::Set
            | SystemPart::Cpus
            | SystemPart::Speed(_)
            | SystemPart::Cluster(_)
            | SystemPart::Overheads
            | SystemPart::Resource(_)
            | SystemPart::Group(_)
            | SystemPart::Chain(_)
            | SystemPart::Request(_) => None,
        };
        match place {
            Some((span, label)) => problem.at(span, label),
            None => problem,
        }
    }
    /// Sets the position.
    #[must_use]
    pub fn at(mut self, span: Span, label: impl Into<String>) -> Problem {
        (self.span, self.label) = (Some(span), label.into());
        self
    }
    /// Adds another position.
    #[must_use]
    pub fn and_at(mut self, span: Span, label: impl Into<String>) -> Problem {
        self.related.push((span, label.into()));
        self
    }
    /// Sets the suggested fix.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Problem {
        self.help = Some(help.into());
        self
    }
}

impl Diagnostic for Problem {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code))
    }
    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let label = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let short = |span: &Span| (span.start, span.len().min(MARKED));
        let primary = self.span.as_ref().map(|span| {
            LabeledSpan::new_primary_with_span(label(&self.label), SourceSpan::from(short(span)))
        });
        let related = self
            .related
            .iter()
            .map(move |(span, text)| LabeledSpan::new_with_span(label(text), short(span)));
        Some(Box::new(primary.into_iter().chain(related)))
    }
}

/// The maximum number of bytes of a span that a picture marks.
const MARKED: usize = 80;
/// The maximum number of bytes of a line that are shown on either side of a mark.
const SHOWN: usize = 160;

/// All problems in one text, and the text. No span causes a panic.
///
/// It is a [`miette::Diagnostic`]; [`Report::graphical`] draws it, [`Report::plain`] lists it with
/// one line per problem, and the fields serve any other output.
///
/// ```
/// use layland_config::{Format, Host, read};
/// let report = read("robot.toml", b"layland = 1\nplatfrom = 4\n", Format::Toml, &Host::default())
///     .unwrap_err();
/// assert_eq!(report.problems[0].position.unwrap().to_string(), "2:1");
/// assert!(report.plain().starts_with("robot.toml:2:1: error: unknown key `platfrom`"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Report {
    /// The name of the text: a path, `<stdin>`, `demo:robot`.
    pub name: String,
    /// The text, up to the first byte that is not UTF-8.
    pub text: Arc<str>,
    /// Errors, then warnings; each in the order of the text, those without a position last.
    pub problems: Vec<Problem>,
    /// The number of further problems.
    pub unlisted: usize,
}

impl Report {
    /// Sorts the problems, keeps the first [`LISTED`] and finds their lines and columns.
    pub fn new(name: &str, text: &str, problems: Problems) -> Report {
        let Problems { found: mut problems, mut unlisted, .. } = problems;
        for problem in &mut problems {
            problem.span = problem.span.take().map(|span| within(text, span));
            problem.related.truncate(8);
            for (span, _) in &mut problem.related {
                *span = within(text, span.clone());
            }
        }
        let start = |problem: &Problem| problem.span.as_ref().map(|span| span.start);
        // Problems without a position come last.
        let rank = |problem: &Problem| start(problem).unwrap_or(usize::MAX);
        problems.sort_by_key(|problem| (problem.severity, rank(problem)));
        unlisted += problems.len().saturating_sub(LISTED);
        problems.truncate(LISTED);
        let placed: Vec<usize> =
            (0..problems.len()).filter(|&index| problems[index].span.is_some()).collect();
        let spans: Vec<Span> = problems.iter().filter_map(|problem| problem.span.clone()).collect();
        for (index, position) in placed.into_iter().zip(positions(text, &spans)) {
            problems[index].position = Some(position);
        }
        // Without problems, do not copy the text, which may be large.
        let text = if problems.is_empty() { "" } else { text };
        Report { name: name.to_owned(), text: text.into(), problems, unlisted }
    }

    /// Returns true if there are no problems.
    pub fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    /// Returns the number of listed problems of this severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.problems.iter().filter(|problem| problem.severity == severity).count()
    }

    /// Returns one line per problem,
    /// `name:line:column: error: message [code]`, and one for its help.
    pub fn plain(&self) -> String {
        let mut out = String::new();
        for problem in &self.problems {
            out += &self.name;
            if let Some(position) = problem.position {
                out += &format!(":{position}");
            }
            out += &format!(": {}: {problem} [{}]\n", problem.severity, problem.code);
            if let Some(help) = &problem.help {
                out += &format!("  help: {help}\n");
            }
        }
        out + &self.more()
    }

    /// Draws every problem with the lines of the text, `width` columns wide. Characters that act on
    /// a terminal are shown as escapes.
    pub fn graphical(&self, width: usize, colour: bool, unicode: bool) -> String {
        let report = self.visible();
        let theme = GraphicalTheme {
            characters: if unicode { ThemeCharacters::unicode() } else { ThemeCharacters::ascii() },
            styles: if colour { ThemeStyles::ansi() } else { ThemeStyles::none() },
        };
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_links(false)
            .with_width(width)
            .with_context_lines(1);
        let mut out = String::new();
        for problem in &report.problems {
            let shown = Shown { problem, report: &report };
            // Writing to a string never fails, and spans were clamped to the text.
            if handler.render_report(&mut out, &shown).is_err() {
                out += &format!("{}: {problem}\n", problem.severity);
            }
            out += "\n";
        }
        out + &self.more()
    }

    /// Returns the report with text and messages in which no
    /// character acts on a terminal. Positions move with the text.
    fn visible(&self) -> Cow<'_, Report> {
        // Newlines are part of the text, and pictures show tabs as spaces.
        let acts = |char| acts_on_a_terminal(char) && !matches!(char, '\n' | '\r' | '\t');
        let said = |problem: &Problem| {
            let texts = [Some(&problem.message), Some(&problem.label), problem.help.as_ref()];
            let related = problem.related.iter().map(|(_, text)| text);
            texts.into_iter().flatten().chain(related).any(|text| text.contains(acts))
        };
        if !self.name.contains(acts) && !self.text.contains(acts) && !self.problems.iter().any(said)
        {
            return Cow::Borrowed(self);
        }
        let escaped = |text: &str| {
            let mut out = String::with_capacity(text.len());
            text.chars().for_each(|char| {
                if acts(char) { push_visible(&mut out, char) } else { out.push(char) }
            });
            out
        };
        let moved = |at: usize| escaped(&self.text[..at]).len();
        let mut report = self.clone();
        report.name = visible(&self.name).into_owned();
        report.text = escaped(&self.text).into();
        for problem in &mut report.problems {
            let spans = problem.related.iter_mut().map(|(span, _)| span).chain(&mut problem.span);
            spans.for_each(|span| *span = moved(span.start)..moved(span.end));
            let texts =
                [Some(&mut problem.message), Some(&mut problem.label), problem.help.as_mut()];
            let related = problem.related.iter_mut().map(|(_, text)| text);
            texts.into_iter().flatten().chain(related).for_each(|text| *text = escaped(text));
        }
        Cow::Owned(report)
    }

    fn more(&self) -> String {
        match self.unlisted {
            0 => String::new(),
            more => format!("and {more} more\n"),
        }
    }
}

/// Clamps a span to the text and to whole characters.
fn within(text: &str, span: Span) -> Span {
    let start = boundary_before(text, span.start);
    start..boundary_after(text, span.end.max(start))
}

/// Returns the last character boundary at or before `at`.
fn boundary_before(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// Returns the first character boundary at or after `at`.
fn boundary_after(text: &str, at: usize) -> usize {
    (at..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
}

fn newlines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte == b'\n').count()
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |severity, what: &str| match self.count(severity) {
            0 => None,
            some => Some(counted(some, what)),
        };
        let counts: Vec<String> =
            [count(Severity::Error, "error"), count(Severity::Warning, "warning")]
                .into_iter()
                .flatten()
                .chain((self.unlisted > 0).then(|| format!("{} more", self.unlisted)))
                .collect();
        write!(f, "{}: {}", self.name, counts.join(", "))
    }
}

impl std::error::Error for Report {}

impl Diagnostic for Report {
    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(self)
    }
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(self.problems.iter().map(|problem| problem as &dyn Diagnostic)))
    }
}

/// Finds the lines around a span without scanning the
/// whole text, and shows only a part of a very long line.
impl SourceCode for Report {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let text = &*self.text;
        let asked = within(text, span.offset()..span.offset().saturating_add(span.len()));
        let bytes = text.as_bytes();
        let line_start = |at: usize| {
            bytes[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1)
        };
        let line_end = |at: usize| {
            bytes[at..].iter().position(|&byte| byte == b'\n').map_or(text.len(), |n| at + n)
        };
        let first = line_start(asked.start);
        let (mut start, mut end) = (first, line_end(asked.end));
        for _ in 0..before {
            start = if start == 0 { 0 } else { line_start(start - 1) };
        }
        for _ in 0..after {
            end = if end == text.len() { end } else { line_end(end + 1) };
        }
        // A carriage return without its newline would count as the end of another line.
        if end > asked.end && bytes[..end].ends_with(b"\r") {
            end -= 1;
        }
        if asked.start - start > SHOWN || first - start > SHOWN {
            start = first.max(boundary_after(text, asked.start.saturating_sub(SHOWN)));
        }
        if end - asked.end > SHOWN {
            end = line_end(asked.end).min(boundary_before(text, asked.end + SHOWN));
        }
        if before == 0 && after == 0 {
            // The caller wants only the span, not its surroundings.
            (start, end) = (asked.start, asked.end);
        }
        let line = newlines(&bytes[..start]);
        let column = text[line_start(start)..start].chars().count();
        let shown = SourceSpan::from((start, end - start));
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            &bytes[start..end],
            shown,
            line,
            column,
            newlines(&bytes[start..end]) + 1,
        )))
    }
}

/// A problem and its text.
#[derive(Debug, thiserror::Error)]
#[error("{problem}")]
struct Shown<'a> {
    problem: &'a Problem,
    report: &'a Report,
}

impl Diagnostic for Shown<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.problem.code()
    }
    fn severity(&self) -> Option<miette::Severity> {
        Diagnostic::severity(self.problem)
    }
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Diagnostic::help(self.problem)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.problem.labels()
    }
    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(self.report)
    }
}

/// Shortens a string that quotes a huge part of the file.
fn shorten(text: &mut String) {
    const LONGEST: usize = 600;
    if text.len() > LONGEST {
        text.truncate(boundary_before(text, LONGEST));
        text.push_str("..");
    }
}

/// Collects problems without duplicates.
#[derive(Debug, Default)]
pub struct Problems {
    found: Vec<Problem>,
    seen: BTreeSet<(Severity, Option<usize>, &'static str, String)>,
    errors: usize,
    warnings: usize,
    unlisted: usize,
}

impl Problems {
    /// Adds a problem, unless an equal one was found at the same position.
    pub fn push(&mut self, mut problem: Problem) {
        let kept = match problem.severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        };
        if *kept == KEPT {
            self.unlisted += 1;
            return;
        }
        shorten(&mut problem.message);
        if let Some(help) = &mut problem.help {
            shorten(help);
        }
        // Several rules can find the same fault. It is a duplicate
        // if severity, position, code and message are equal.
        let start = problem.span.as_ref().map(|span| span.start);
        if self.seen.insert((problem.severity, start, problem.code, problem.message.clone())) {
            *kept += 1;
            self.found.push(problem);
        }
    }
    /// Returns true if further errors are only counted, and not kept.
    pub(crate) fn is_full(&self) -> bool {
        self.errors == KEPT
    }
    /// Adds the problems of another collection.
    pub(crate) fn absorb(&mut self, other: Problems) {
        self.unlisted += other.unlisted;
        other.found.into_iter().for_each(|problem| self.push(problem));
    }
    /// Returns true if there is an error.
    pub fn has_errors(&self) -> bool {
        self.found.iter().any(|problem| problem.severity == Severity::Error)
    }
    /// Removes the problems for which `keep` returns false.
    pub(crate) fn retain(&mut self, keep: impl FnMut(&Problem) -> bool) {
        self.found.retain(keep);
    }
    /// Returns true if there are no problems.
    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }
    /// Returns the problems in the order in which they were found.
    #[cfg(test)]
    pub(crate) fn into_vec(self) -> Vec<Problem> {
        self.found
    }
}
