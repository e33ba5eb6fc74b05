//! A JSON parser that keeps the position of every key and value, the order of keys, and duplicate
//! keys. It accepts the deviations that occur in hand-written files: comments, a comma before a
//! closing bracket, a key without a value.

use crate::problem::{Problem, Problems, Span};

/// The maximum depth of nesting.
const MAX_DEPTH: usize = 64;
/// The maximum number of values: each needs some 100 bytes.
const MAX_VALUES: usize = 4_000_000;

/// A value and its position.
#[derive(Debug)]
pub(crate) struct Json {
    pub span: Span,
    pub value: Value,
}

#[derive(Debug)]
pub(crate) enum Value {
    /// No value after the key: `"suspend",`.
    Omitted,
    Null,
    Bool(bool),
    /// The number as written.
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<Member>),
}

/// A key with its value.
#[derive(Debug)]
pub(crate) struct Member {
    pub key: String,
    pub key_span: Span,
    pub value: Json,
}

impl Json {
    /// Returns its type, in words.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Value::Omitted => "nothing",
            Value::Null => "null",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::Text(_) => "a string",
            Value::List(_) => "a list",
            Value::Object(_) => "an object",
        }
    }
}

/// Parses a text, or reports the first fault in its grammar.
pub(crate) fn parse(text: &str, problems: &mut Problems) -> Option<Json> {
    let mut parser = Parser { text, at: 0, depth: 0, values: 0, commas: Vec::new() };
    if text.starts_with('\u{feff}') {
        parser.at = '\u{feff}'.len_utf8();
    }
    let parsed = parser.document();
    if let Some((first, more)) = parser.commas.split_first() {
        let message = "a comma before a closing bracket".to_owned();
        let mut problem = Problem::warning("layland::json::trailing_comma", message)
            .at(first.clone(), "here")
            .help("JSON forbids it, rt-app takes it: remove it");
        for span in more {
            problem = problem.and_at(span.clone(), "and here");
        }
        problems.push(problem);
    }
    parsed.map_err(|problem| problems.push(*problem)).ok()
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    values: usize,
    /// The first commas before closing brackets.
    commas: Vec<Span>,
}

type Parsed<T> = Result<T, Box<Problem>>;

impl Parser<'_> {
    fn document(&mut self) -> Parsed<Json> {
        self.space()?;
        let value = self.value()?;
        self.space()?;
        match self.peek() {
            None => Ok(value),
            Some(_) => Err(self.fault("there is more after the end", "remove it")),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Returns a fault at the current character.
    fn fault(&self, message: &str, help: &str) -> Box<Problem> {
        let length = self.text[self.at..].chars().next().map_or(0, char::len_utf8);
        let label = if length == 0 { "the text ends here" } else { "here" };
        let problem = Problem::error("layland::json::syntax", format!("not JSON: {message}"));
        Box::new(problem.at(self.at..self.at + length, label).help(help))
    }

    /// Skips white space and comments.
    fn space(&mut self) -> Parsed<()> {
        loop {
            let rest = &self.text[self.at..];
            let blank = rest.len() - rest.trim_start().len();
            self.at += blank;
            let rest = &rest[blank..];
            if rest.starts_with("//") || rest.starts_with('#') {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                match rest.find("*/") {
                    Some(end) => self.at += end + 2,
                    None => return Err(self.fault("the comment does not end", "close it with */")),
                }
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self) -> Parsed<Json> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(self.fault("there are more than 4 million values", "split the file"));
        }
        let start = self.at;
        let value = match self.peek() {
            Some(b'{') => self.nested(Self::object)?,
            Some(b'[') => self.nested(Self::list)?,
            Some(b'"') => Value::Text(self.string()?),
            Some(b'-' | b'+' | b'.' | b'0'..=b'9') => {
                let rest = &self.text[start..];
                let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
                let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
                self.at += length;
                Value::Number(rest[..length].to_owned())
            }
            Some(_) => {
                let rest = &self.text[start..];
                let word = |word: &str| {
                    rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
                };
                let (value, length) = if word("true") {
                    (Value::Bool(true), 4)
                } else if word("false") {
                    (Value::Bool(false), 5)
                } else if word("null") {
                    (Value::Null, 4)
                } else {
                    let help = "a value is \"text\", 12, true, [ .. ] or { \"key\" : .. }";
                    return Err(self.fault("a value is missing", help));
                };
                self.at += length;
                value
            }
            None => {
                return Err(
                    self.fault("a value is missing", "the file is cut off, or was not JSON")
                );
            }
        };
        Ok(Json { span: start..self.at, value })
    }

    /// Parses a value one level deeper.
    fn nested(&mut self, inner: fn(&mut Self) -> Parsed<Value>) -> Parsed<Value> {
        if self.depth == MAX_DEPTH {
            let message = format!("brackets are nested more than {MAX_DEPTH} deep");
            return Err(self.fault(&message, "is one left open?"));
        }
        self.depth += 1;
        self.at += 1;
        let value = inner(self);
        self.depth -= 1;
        value
    }

    /// Returns true if another item follows, and false at the closing bracket `close`.
    fn next_item(&mut self, close: u8) -> Parsed<bool> {
        self.space()?;
        let comma = self.at;
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.space()?;
                if self.peek() == Some(close) {
                    if self.commas.len() < 9 {
                        self.commas.push(comma..comma + 1);
                    }
                    self.at += 1;
                    return Ok(false);
                }
                Ok(true)
            }
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(false)
            }
            Some(_) | None => {
                let message = format!("`,` or `{}` is missing", char::from(close));
                Err(self.fault(&message, "put it before this"))
            }
        }
    }

    fn list(&mut self) -> Parsed<Value> {
        let mut items = Vec::new();
        self.space()?;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::List(items));
        }
        loop {
            items.push(self.value()?);
            if !self.next_item(b']')? {
                return Ok(Value::List(items));
            }
        }
    }

    fn object(&mut self) -> Parsed<Value> {
        let mut members = Vec::new();
        self.space()?;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Object(members));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.fault("a key is missing", "write \"key\" : value"));
            }
            let start = self.at;
            let key = self.string()?;
            let key_span = start..self.at;
            self.space()?;
            let value = match self.peek() {
                Some(b':') => {
                    self.at += 1;
                    self.space()?;
                    self.value()?
                }
                Some(b',' | b'}') => Json { span: key_span.clone(), value: Value::Omitted },
                Some(_) | None => return Err(self.fault("`:` is missing", "put it after the key")),
            };
            members.push(Member { key, key_span, value });
            if !self.next_item(b'}')? {
                return Ok(Value::Object(members));
            }
        }
    }

    fn string(&mut self) -> Parsed<String> {
        let start = self.at;
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(stop) = rest.find(['"', '\\', '\n']) else {
                self.at = start;
                return Err(self.fault("the string does not end", "close it with \""));
            };
            out += &rest[..stop];
            self.at += stop + 1;
            match rest.as_bytes()[stop] {
                b'"' => return Ok(out),
                b'\\' => self.escape(&mut out)?,
                _ => {
                    self.at = start;
                    return Err(
                        self.fault("the string does not end on its line", "close it with \"")
                    );
                }
            }
        }
    }

    /// Returns the number after the `u` at this position.
    fn four_digits(&self, u: usize) -> Option<u32> {
        let is_u = self.text.as_bytes().get(u) == Some(&b'u');
        let hex = self.text.get(u + 1..u + 5).filter(|_| is_u)?;
        let is_hex = hex.bytes().all(|b| b.is_ascii_hexdigit());
        is_hex.then(|| u32::from_str_radix(hex, 16).ok()).flatten()
    }

    /// Parses the characters after a backslash.
    fn escape(&mut self, out: &mut String) -> Parsed<()> {
        let c = self.peek();
        let plain = match c {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let Some(code) = self.four_digits(self.at) else {
                    return Err(self.fault("`\\u` needs four digits", "as in \\u00b5"));
                };
                // A character beyond U+FFFF is a pair of escapes.
                let is_second = |low: &u32| (0xdc00..0xe000).contains(low);
                let (code, length) = match code {
                    0xd800..0xdc00 if self.text.as_bytes().get(self.at + 5) == Some(&b'\\') => {
                        match self.four_digits(self.at + 6).filter(is_second) {
                            Some(low) => (0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00), 11),
                            None => (code, 5),
                        }
                    }
                    _ => (code, 5),
                };
                let Some(c) = char::from_u32(code) else {
                    let message = format!("`\\u{code:04x}` is half of a surrogate pair");
                    return Err(self.fault(&message, "write the character itself, or both halves"));
                };
                self.at += length;
                out.push(c);
                return Ok(());
            }
            Some(_) | None => {
                return Err(self.fault("this escape is unknown", "write \\\\ for a backslash"));
            }
        };
        self.at += 1;
        out.push(plain);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn liberties_are_taken_and_places_kept() {
        let text = "/* c */ { \"a\" : [1, 2.5,], // d\n \"suspend\", \"a\" : \"x\\n\\u00b5\" }";
        let mut problems = Problems::default();
        let json = parse(text, &mut problems).unwrap();
        assert!(!problems.has_errors());
        let Value::Object(members) = json.value else { panic!("an object") };
        let keys: Vec<&str> = members.iter().map(|member| member.key.as_str()).collect();
        assert_eq!(keys, ["a", "suspend", "a"]);
        assert_eq!(&text[members[0].value.span.clone()], "[1, 2.5,]");
        assert!(matches!(members[1].value.value, Value::Omitted));
        assert!(matches!(&members[2].value.value, Value::Text(text) if text == "x\nµ"));
    }

    #[test]
    fn faults_have_places() {
        for (text, at) in [
            ("", 0),
            ("{", 1),
            ("{ \"a\" 1 }", 6),
            ("[1 2]", 3),
            ("{} x", 3),
            ("/* a", 0),
            ("\"a", 0),
            ("[tru]", 1),
            ("\"\\q\"", 2),
            ("\"\\u12\"", 2),
        ] {
            let mut problems = Problems::default();
            assert!(parse(text, &mut problems).is_none(), "{text}");
            let problem = problems.into_vec().remove(0);
            assert_eq!(problem.span.unwrap().start, at, "{text}");
        }
    }

    #[test]
    fn halves_of_surrogate_pairs_are_joined_or_refused_where_they_are() {
        let read = |text: &str| {
            let mut problems = Problems::default();
            let found = parse(text, &mut problems).map(|json| json.value);
            (found, problems)
        };
        for (text, right) in [
            (r#""\ud83d\ude97""#, "\u{1f697}"),
            (r#""\uD800\uDC00\udbff\udfff""#, "\u{10000}\u{10ffff}"),
            (r#""a\ud83d\ude97\u0041\ufffd""#, "a\u{1f697}A\u{fffd}"),
        ] {
            assert!(matches!(read(text).0, Some(Value::Text(found)) if found == right), "{text}");
        }
        for half in [
            r"\ud83d",
            r"\ude97",
            r"\ud83dx",
            r"\ud83d\n",
            r"\ud83d\u0041",
            r"\ud83d\ud83d",
            r"\ude97\ud83d",
        ] {
            let (found, problems) = read(&format!("\"a{half}\""));
            assert!(found.is_none() && problems.has_errors(), "{half}");
        }
    }
}
