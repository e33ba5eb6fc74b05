//! Reads the part of YAML in which people write lists of tasks: block lists and maps, lists and
//! maps in one line, quoted and plain values, comments.
//!
//! Everything else of YAML is an error with its place: anchors, tags, texts of several lines,
//! several documents. The result is the tree that JSON is parsed into, since the meaning of both is
//! the same.

use crate::json::{Json, Member, Value};
use crate::problem::{Problem, Problems, Span};

/// The maximum depth of nesting.
const MAX_DEPTH: usize = 64;

/// A line with content.
#[derive(Clone, Copy)]
struct Line<'t> {
    /// The number of blanks before the content.
    indent: usize,
    /// The content without comments.
    content: &'t str,
}

/// Parses a text, or reports the first fault in its grammar.
pub(crate) fn parse(text: &str, problems: &mut Problems) -> Option<Json> {
    let mut parser = Parser { text, lines: Vec::new(), at: 0, depth: 0 };
    let parsed = parser.document();
    parsed.map_err(|problem| problems.push(*problem)).ok()
}

struct Parser<'t> {
    text: &'t str,
    lines: Vec<Line<'t>>,
    at: usize,
    depth: usize,
}

type Parsed<T> = Result<T, Box<Problem>>;

impl<'t> Parser<'t> {
    fn document(&mut self) -> Parsed<Json> {
        let mut has_ended = false;
        for line in self.text.trim_start_matches('\u{feff}').lines() {
            let content = without_comment(line);
            let bare = content.trim_start_matches(' ');
            if bare.starts_with('\t') {
                return Err(self.fault(bare, "a tab indents the line", "indent with blanks"));
            }
            if content.trim().is_empty() || (content == "---" && self.lines.is_empty()) {
                continue;
            }
            if content == "..." {
                has_ended = true;
                continue;
            }
            if content == "---" || has_ended {
                return Err(self.fault(content, "a second document begins", "keep one of them"));
            }
            self.lines.push(Line { indent: content.len() - bare.len(), content: bare.trim_end() });
        }
        let Some(first) = self.lines.first() else {
            return Err(self.fault(
                &self.text[..0],
                "there is nothing in it",
                "write a list of tasks",
            ));
        };
        let root = self.block(first.indent)?;
        match self.lines.get(self.at) {
            None => Ok(root),
            Some(line) => Err(self.fault(
                line.content,
                "the line is not indented as the ones above",
                "align keys and items of one list",
            )),
        }
    }

    fn span(&self, part: &str) -> Span {
        let at = part.as_ptr() as usize - self.text.as_ptr() as usize;
        at..at + part.len()
    }

    fn fault(&self, part: &str, message: &str, help: &str) -> Box<Problem> {
        let problem =
            Problem::error("layland::yaml::syntax", format!("not read as YAML: {message}"));
        Box::new(problem.at(self.span(part), "here").help(help))
    }

    /// Parses the lines with this indentation and those below them.
    fn block(&mut self, indent: usize) -> Parsed<Json> {
        let line = self.lines[self.at];
        if self.depth == MAX_DEPTH {
            return Err(self.fault(
                line.content,
                "the lists are nested too deep",
                "is one indented by mistake?",
            ));
        }
        self.depth += 1;
        let block = if is_item(line.content) {
            self.list(indent)
        } else if split_key(line.content).is_some() {
            self.map(indent)
        } else {
            self.at += 1;
            self.value(line.content)
        };
        self.depth -= 1;
        block
    }

    fn list(&mut self, indent: usize) -> Parsed<Json> {
        let start = self.span(self.lines[self.at].content).start;
        let mut items = Vec::new();
        let mut end = start;
        while let Some(&line) =
            self.lines.get(self.at).filter(|line| line.indent == indent && is_item(line.content))
        {
            let rest = &line.content[1..];
            let inner = rest.trim_start();
            let item = if inner.is_empty() {
                self.at += 1;
                self.below(indent, &line.content[..1])?
            } else if is_item(inner) || (split_key(inner).is_some() && !inner.starts_with('{')) {
                // The rest of the line is the first line of the item.
                let indent = indent + 1 + rest.len() - inner.len();
                self.lines[self.at] = Line { indent, content: inner };
                self.block(indent)?
            } else {
                self.at += 1;
                self.value(inner)?
            };
            end = item.span.end;
            items.push(item);
        }
        Ok(Json { span: start..end, value: Value::List(items) })
    }

    fn map(&mut self, indent: usize) -> Parsed<Json> {
        let start = self.span(self.lines[self.at].content).start;
        let mut members = Vec::new();
        let mut end = start;
        while let Some(&line) =
            self.lines.get(self.at).filter(|line| line.indent == indent && !is_item(line.content))
        {
            let Some((key, rest)) = split_key(line.content) else {
                return Err(self.fault(
                    line.content,
                    "the line is neither `key: value` nor `- item`",
                    "put a colon and a blank after the key",
                ));
            };
            self.at += 1;
            let value = if rest.is_empty() { self.below(indent, key)? } else { self.value(rest)? };
            end = value.span.end;
            members.push(Member { key: unquoted(key), key_span: self.span(key), value });
        }
        Ok(Json { span: start..end, value: Value::Object(members) })
    }

    /// Parses the lines below a key or the sign of an item. A list may begin below the start of its
    /// key.
    fn below(&mut self, indent: usize, of: &str) -> Parsed<Json> {
        match self.lines.get(self.at) {
            Some(next) if next.indent > indent => self.block(next.indent),
            Some(next) if next.indent == indent && is_item(next.content) && of != "-" => {
                self.block(indent)
            }
            Some(_) | None => Ok(Json { span: self.span(of), value: Value::Null }),
        }
    }

    /// Parses a value in one line.
    fn value(&self, text: &'t str) -> Parsed<Json> {
        let mut flow = Flow { parser: self, rest: text, depth: 0 };
        let value =
            if text.starts_with(['{', '[']) { flow.value()? } else { return self.scalar(text) };
        if flow.rest.trim().is_empty() {
            return Ok(value);
        }
        Err(self.fault(flow.rest, "there is more after the end", "remove it"))
    }

    fn scalar(&self, text: &'t str) -> Parsed<Json> {
        let span = self.span(text);
        if let Some(quote) = text.chars().next().filter(|c| "\"'".contains(*c)) {
            if text.len() < 2 || !text.ends_with(quote) {
                return Err(self.fault(
                    text,
                    "the quote is not closed",
                    "close it on the same line",
                ));
            }
            return Ok(Json { span, value: Value::Text(unquoted(text)) });
        }
        if text.starts_with(['&', '*', '!', '|', '>', '%', '@', '`']) {
            let help = "write plain values, as in `period: 5ms`";
            return Err(self.fault(
                text,
                "anchors, tags and strings of several lines have no place in a list of tasks",
                help,
            ));
        }
        let is_number = text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
            && text.chars().all(|c| c.is_ascii_digit() || "+-.eE_".contains(c))
            && text.contains(|c: char| c.is_ascii_digit());
        let value = match text {
            "~" | "null" | "Null" => Value::Null,
            "true" | "True" => Value::Bool(true),
            "false" | "False" => Value::Bool(false),
            _ if is_number => Value::Number(text.to_owned()),
            _ => Value::Text(text.to_owned()),
        };
        Ok(Json { span, value })
    }
}

/// The parser of lists and maps in one line: `[a, b]`, `{C: 1, T: 4}`.
struct Flow<'p, 't> {
    parser: &'p Parser<'t>,
    rest: &'t str,
    depth: usize,
}

impl<'t> Flow<'_, 't> {
    fn value(&mut self) -> Parsed<Json> {
        self.rest = self.rest.trim_start();
        let start = self.rest;
        let close = match start.chars().next() {
            Some('[') => ']',
            Some('{') => '}',
            Some(_) | None => {
                let end = self.end(false);
                let (scalar, rest) = self.rest.split_at(end);
                self.rest = rest;
                return self.parser.scalar(scalar.trim_end());
            }
        };
        if self.depth == MAX_DEPTH {
            return Err(self.parser.fault(
                start,
                "brackets are nested too deep",
                "is one left open?",
            ));
        }
        self.depth += 1;
        self.rest = &start[1..];
        let (mut items, mut members) = (Vec::new(), Vec::new());
        loop {
            self.rest = self.rest.trim_start();
            if let Some(rest) = self.rest.strip_prefix(close) {
                self.rest = rest;
                break;
            }
            if self.rest.is_empty() {
                return Err(self.parser.fault(
                    &start[..1],
                    "the bracket is not closed on its line",
                    "close it, or write one item a line",
                ));
            }
            if close == '}' {
                let (key, rest) = self.rest.split_at(self.end(true));
                let Some(rest) = rest.strip_prefix(':') else {
                    return Err(self.parser.fault(key, "`:` is missing", "put it after the key"));
                };
                self.rest = rest;
                let value = self.value()?;
                let key = key.trim_end();
                members.push(Member { key: unquoted(key), key_span: self.parser.span(key), value });
            } else {
                items.push(self.value()?);
            }
            self.rest = self.rest.trim_start();
            match self.rest.strip_prefix(',') {
                Some(rest) => self.rest = rest,
                None if self.rest.starts_with(close) || self.rest.is_empty() => {}
                None => {
                    return Err(self.parser.fault(
                        self.rest,
                        "`,` is missing",
                        "put it before this",
                    ));
                }
            }
        }
        self.depth -= 1;
        let whole = self.parser.span(start).start..self.parser.span(self.rest).start;
        let value = if close == '}' { Value::Object(members) } else { Value::List(items) };
        Ok(Json { span: whole, value })
    }

    /// Returns the length of the scalar or the key at the start.
    fn end(&self, is_key: bool) -> usize {
        let mut quote = None;
        let end = self.rest.char_indices().find(|&(at, c)| match quote {
            Some(open) => {
                quote = Some(open).filter(|_| c != open);
                false
            }
            None if at == 0 && (c == '"' || c == '\'') => {
                quote = Some(c);
                false
            }
            None => matches!(c, ',' | ']' | '}' | '[' | '{') || (is_key && c == ':'),
        });
        end.map_or(self.rest.len(), |(at, _)| at)
    }
}

fn is_item(content: &str) -> bool {
    content == "-" || content.starts_with("- ")
}

/// Splits a line `key: value`. The value may be empty.
fn split_key(content: &str) -> Option<(&str, &str)> {
    if content.starts_with(['{', '[']) {
        return None;
    }
    let quote = content.chars().next().filter(|c| "\"'".contains(*c));
    let after_key = match quote {
        Some(quote) => content[1..].find(quote)? + 2,
        None => content.match_indices(':').map(|(at, _)| at).find(|&at| {
            let rest = &content[at + 1..];
            rest.is_empty() || rest.starts_with(' ')
        })?,
    };
    let rest = content[after_key..].trim_start().strip_prefix(':')?;
    (rest.is_empty() || rest.starts_with(' '))
        .then(|| (content[..after_key].trim_end(), rest.trim()))
}

/// Returns a text without its quotes.
fn unquoted(text: &str) -> String {
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    match (inner('"'), inner('\'')) {
        (Some(inner), _) => inner.replace("\\\"", "\"").replace("\\\\", "\\"),
        (None, Some(inner)) => inner.replace("''", "'"),
        (None, None) => text.to_owned(),
    }
}

/// Returns a line without its comment: `#` at its start or after a blank, outside of quotes.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    let end = line.char_indices().find(|&(_, c)| {
        let is_start = quote.is_none() && c == '#' && before.is_whitespace();
        match quote {
            Some(open) if c == open => quote = None,
            None if (c == '"' || c == '\'') && !before.is_alphanumeric() => quote = Some(c),
            Some(_) | None => {}
        }
        before = c;
        is_start
    });
    end.map_or(line, |(at, _)| &line[..at]).trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(json: &Json) -> String {
        match &json.value {
            Value::Omitted | Value::Null => "null".to_owned(),
            Value::Bool(flag) => flag.to_string(),
            Value::Number(text) => text.clone(),
            Value::Text(text) => format!("{text:?}"),
            Value::List(items) => {
                format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(","))
            }
            Value::Object(members) => {
                let member = |member: &Member| format!("{}:{}", member.key, shown(&member.value));
                format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
            }
        }
    }

    #[test]
    fn lists_and_maps_are_read() {
        for (text, right) in [
            ("- 1\n- a\n", "[1,\"a\"]"),
            ("a: 1\nb: 5ms # c\n", "{a:1,b:\"5ms\"}"),
            (
                "---\ntasks:\n- name: x\n  T: 4\n- name: y\n",
                "{tasks:[{name:\"x\",T:4},{name:\"y\"}]}",
            ),
            ("tasks:\n  - name: x\n\n    T: 4\ncpus: 2", "{tasks:[{name:\"x\",T:4}],cpus:2}"),
            (
                "t:\n  a:\n    T: 1\n  b: {C: 1, T: [2, 'x, y']}\n",
                "{t:{a:{T:1},b:{C:1,T:[2,\"x, y\"]}}}",
            ),
            ("-\n  a: 1\n-\n  a: ~\n", "[{a:1},{a:null}]"),
            ("- [1, 4]\n- [ ]\n", "[[1,4],[]]"),
            ("'a: b': \"c # d\"\n", "{a: b:\"c # d\"}"),
            ("a:\nb: it's\n", "{a:null,b:\"it's\"}"),
        ] {
            let mut problems = Problems::default();
            let json = parse(text, &mut problems);
            let json = json.unwrap_or_else(|| panic!("{text}: {:?}", problems.into_vec()));
            assert_eq!(shown(&json), right, "{text}");
        }
    }

    #[test]
    fn everything_else_has_a_place() {
        for (text, at) in [
            ("", 0),
            ("a: &x 1\n", 3),
            ("a: |\n  text\n", 3),
            ("a: 1\n---\nb: 2\n", 5),
            ("a: [1\n", 3),
            ("a: 1\n  b: 2\n", 7),
            ("\ta: 1\n", 0),
            ("a: \"x\n", 3),
            ("a: 1\nb\n", 5),
            ("a: {b 1}\n", 4),
        ] {
            let mut problems = Problems::default();
            assert!(parse(text, &mut problems).is_none(), "{text}");
            assert_eq!(problems.into_vec().remove(0).span.unwrap().start, at, "{text}");
        }
    }
}
