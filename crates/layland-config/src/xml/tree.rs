//! Elements, their attributes and spans, and the numbers in them.

use crate::host::MAX_TASKS;
use crate::problem::{Problem, Problems, Span};
use layland_model::{Field, Index, Invalid, Rate, Speed, TIME_LIMIT};
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

/// The maximum depth of a document.
const MAX_DEPTH: usize = 32;

/// An attribute.
#[derive(Debug)]
pub(super) struct Attribute {
    pub name: String,
    pub value: String,
    /// The span of its value.
    pub span: Span,
}

/// An element. These formats do not use text between elements.
#[derive(Debug)]
pub(super) struct Element {
    pub name: String,
    /// The span of its start tag.
    pub span: Span,
    pub attributes: Vec<Attribute>,
    pub children: Vec<Element>,
}

impl Element {
    pub(super) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// Returns the children with this name.
    pub(super) fn all<'e>(&'e self, name: &'e str) -> impl Iterator<Item = &'e Element> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// Returns the span of the first of these attributes that exists, or of the element.
    pub(super) fn place(&self, names: &[&str]) -> Span {
        let find = |name: &&str| self.attribute(name).map(|attribute| attribute.span.clone());
        names.iter().find_map(find).unwrap_or_else(|| self.span.clone())
    }
}

/// Parses a document and returns its root.
pub(super) fn parse(text: &str, problems: &mut Problems) -> Option<Element> {
    let mut wrong = |span: Span, message: String, help: &str| {
        problems.push(Problem::error("layland::xml::syntax", message).at(span, "here").help(help));
    };
    let mut reader = Reader::from_str(text);
    let mut open: Vec<Element> = Vec::new();
    let mut elements = 0usize;
    loop {
        let before = position(reader.buffer_position());
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(error) => {
                let at = position(reader.error_position()).min(text.len());
                wrong(at..at, format!("this is not XML: {error}"), "correct it here");
                return None;
            }
        };
        let span = before..position(reader.buffer_position());
        let closed = match event {
            Event::Start(start) => {
                if open.len() == MAX_DEPTH {
                    let message = format!("elements are nested more than {MAX_DEPTH} deep");
                    wrong(span, message, "this is not a task set");
                    return None;
                }
                open.push(element(text, &start, span, &mut wrong)?);
                None
            }
            Event::Empty(start) => Some(element(text, &start, span, &mut wrong)?),
            Event::End(_) => open.pop(),
            Event::Eof => {
                let (at, message) = match open.pop() {
                    Some(element) => (element.span, format!("<{}> is not closed", element.name)),
                    None => (0..0, "the text has no element".to_owned()),
                };
                wrong(at, message, "the file may be cut off");
                return None;
            }
            Event::Text(_)
            | Event::CData(_)
            | Event::Comment(_)
            | Event::Decl(_)
            | Event::PI(_)
            | Event::DocType(_)
            | Event::GeneralRef(_) => None,
        };
        let Some(closed) = closed else { continue };
        elements += 1;
        if elements > 4 * MAX_TASKS {
            wrong(closed.span, format!("more than {} elements", 4 * MAX_TASKS), "split the file");
            return None;
        }
        match open.last_mut() {
            Some(parent) => parent.children.push(closed),
            // The text after the root is ignored.
            None => return Some(closed),
        }
    }
}

fn position(at: u64) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}

fn element(
    text: &str,
    start: &BytesStart<'_>,
    span: Span,
    wrong: &mut impl FnMut(Span, String, &str),
) -> Option<Element> {
    let mut attributes = Vec::new();
    for attribute in start.attributes() {
        let attribute = match attribute {
            Ok(attribute) => attribute,
            Err(error) => {
                wrong(span, format!("an attribute is wrong: {error}"), "write name=\"value\"");
                return None;
            }
        };
        // The value is a slice of the text, so the difference of the pointers is its position.
        let at = (attribute.value.as_ptr() as usize).checked_sub(text.as_ptr() as usize);
        let place = at
            .map(|at| at..at + attribute.value.len())
            .filter(|place| span.start <= place.start && place.end <= span.end)
            .unwrap_or_else(|| span.clone());
        match attribute.normalized_value(XmlVersion::Implicit1_0) {
            Ok(value) => attributes.push(Attribute {
                name: attribute.key.0.to_owned(),
                value: value.into_owned(),
                span: place,
            }),
            Err(error) => {
                wrong(place, format!("the value is wrong: {error}"), "write & as &amp;");
                return None;
            }
        }
    }
    Some(Element { name: start.name().0.to_owned(), span, attributes, children: Vec::new() })
}

/// Reads the attributes of elements, and reports their faults.
pub(super) struct Attributes<'p> {
    pub problems: &'p mut Problems,
}

impl Attributes<'_> {
    pub(super) fn error(&mut self, code: &'static str, span: Span, message: String, help: &str) {
        self.problems.push(Problem::error(code, message).at(span, "here").help(help));
    }

    pub(super) fn warn(&mut self, code: &'static str, span: Span, message: String, help: &str) {
        self.problems.push(Problem::warning(code, message).at(span, "here").help(help));
    }

    /// Returns the value of an attribute, or reports that it is missing.
    pub(super) fn required<'e>(
        &mut self,
        element: &'e Element,
        name: &str,
    ) -> Option<&'e Attribute> {
        let found = element.attribute(name);
        if found.is_none() {
            let message = format!("<{}> has no `{name}`", element.name);
            let help = format!("add {name}=\"..\": there is no default");
            self.error("layland::xml::missing", element.span.clone(), message, &help);
        }
        found
    }

    /// Reads a decimal number in units of 10^`digits` nanoseconds, as nanoseconds.
    pub(super) fn time(&mut self, attribute: &Attribute, digits: i32, unit: &str) -> Option<i64> {
        let text = attribute.value.trim();
        match decimal(text, digits) {
            Some((ns, exact)) if ns.unsigned_abs() <= TIME_LIMIT.unsigned_abs().into() => {
                let ns = i64::try_from(ns).ok()?;
                if !exact {
                    let message = format!("`{}` is cut to {ns} ns", attribute.name);
                    let help = "times are whole nanoseconds";
                    self.warn("layland::xml::cut", attribute.span.clone(), message, help);
                }
                Some(ns)
            }
            Some(_) => {
                let message = format!("`{}` is too long: {text} {unit}", attribute.name);
                let help = format!("at most {TIME_LIMIT} ns are possible");
                self.error("layland::xml::time", attribute.span.clone(), message, &help);
                None
            }
            None => {
                let message = format!("`{}` is not a number: `{text}`", attribute.name);
                let help = format!("write a decimal number of {unit}, as in 12.5");
                self.error("layland::xml::time", attribute.span.clone(), message, &help);
                None
            }
        }
    }

    /// Reads the speed of a CPU.
    pub(super) fn speed(&mut self, attribute: &Attribute, code: &'static str) -> Option<Speed> {
        let micro = decimal(attribute.value.trim(), 6).filter(|&(_, exact)| exact);
        let micro = micro.and_then(|(micro, _)| i64::try_from(micro).ok());
        let speed = micro.and_then(|micro| Speed::new(&Rate::new(micro, 1_000_000)));
        if speed.is_none() {
            let message = format!("`{}` is not a speed", attribute.value);
            let help = "write a positive number with at most six decimals";
            self.error(code, attribute.span.clone(), message, help);
        }
        speed
    }

    /// Reads a whole number.
    pub(super) fn whole(&mut self, attribute: &Attribute) -> Option<i64> {
        match decimal(attribute.value.trim(), 0) {
            Some((number, true)) => i64::try_from(number).ok(),
            Some((_, false)) | None => None,
        }
        .or_else(|| {
            let message = format!("`{}` is not a whole number", attribute.name);
            let help = "write a whole number, as in 4";
            self.error("layland::xml::not_a_number", attribute.span.clone(), message, help);
            None
        })
    }

    /// Reports an invalid part of a system at the attributes of its field.
    pub(super) fn invalid(
        &mut self,
        invalid: Invalid,
        code: &'static str,
        tasks: &[&Element],
        names: &[(Field, &[&str])],
    ) {
        self.problems.push(Problem::invalid(code, invalid, |task, field| {
            let element = tasks.get(task.index())?;
            let own = names.iter().find(|(of, _)| *of == field);
            Some((element.place(own.map_or(&[], |(_, names)| names)), "here"))
        }));
    }
}

/// Parses a decimal number (`12`, `0.5`, `1e-3`) times 10^`digits`, rounded towards zero; also
/// returns true if the result is exact.
pub(super) fn decimal(text: &str, digits: i32) -> Option<(i128, bool)> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (negative, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
    };
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{}", part.trim_end_matches('0'));
    let part = part.trim_end_matches('0').len();
    if (whole.is_empty() && mantissa.len() < 2) || !all.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let all = all.trim_start_matches('0');
    // Up to 36 digits fit in an `i128`, with a margin.
    if all.len() > 36 {
        return None;
    }
    let number: i128 = if all.is_empty() { 0 } else { all.parse().ok()? };
    let shift = digits.checked_add(exponent)?.checked_sub(i32::try_from(part).ok()?)?;
    let power = |shift: i32| 10i128.checked_pow(shift.unsigned_abs());
    let (number, exact) = if number == 0 {
        (0, true)
    } else if shift >= 0 {
        (number.checked_mul(power(shift)?)?, true)
    } else {
        power(shift).map_or((0, false), |power| (number / power, number % power == 0))
    };
    Some((if negative { -number } else { number }, exact))
}

/// Formats nanoseconds as a decimal number of units of 10^`digits` nanoseconds.
pub(super) fn in_units(ns: i64, digits: u32) -> String {
    let unit = 10i64.pow(digits);
    let (sign, ns) = (if ns < 0 { "-" } else { "" }, ns.unsigned_abs());
    let unit = unit.unsigned_abs();
    let part = format!(".{:0width$}", ns % unit, width = digits as usize);
    format!("{sign}{}{}", ns / unit, part.trim_end_matches('0').trim_end_matches('.'))
}

/// Escapes text for an attribute. Characters that XML
/// does not allow become the replacement character.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\t' | '\n' | '\r' => out += &format!("&#{};", c as u32),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_or_say_so() {
        for (text, digits, expected) in [
            ("12", 6, Some((12_000_000, true))),
            ("0.5", 6, Some((500_000, true))),
            ("-1.25", 3, Some((-1250, true))),
            (".5", 1, Some((5, true))),
            ("2.", 1, Some((20, true))),
            ("1e-05", 6, Some((10, true))),
            ("1.23456789", 6, Some((1_234_567, false))),
            ("1e-400", 6, Some((0, false))),
            ("0e900", 6, Some((0, true))),
            ("1e60", 6, None),
            ("", 6, None),
            (".", 6, None),
            ("-", 6, None),
            ("1,5", 6, None),
            ("ten", 6, None),
            ("inf", 6, None),
        ] {
            assert_eq!(decimal(text, digits), expected, "{text}");
        }
        assert_eq!(in_units(1_250_000, 6), "1.25");
        assert_eq!(in_units(-20_000_000, 6), "-20");
    }

    #[test]
    fn elements_have_places() {
        let text = "<?xml version=\"1.0\"?>\n<a x='1 &lt; 2'><b/><c y=\"\"></c></a>";
        let mut problems = Problems::default();
        let root = parse(text, &mut problems).unwrap();
        assert!(problems.is_empty());
        let x = root.attribute("x").unwrap();
        assert_eq!((x.value.as_str(), &text[x.span.clone()]), ("1 < 2", "1 &lt; 2"));
        let names: Vec<&str> = root.children.iter().map(|child| child.name.as_str()).collect();
        assert_eq!(names, ["b", "c"]);
        assert_eq!(&text[root.children[1].span.clone()], "<c y=\"\">");
        for wrong in
            ["", "<a>", "<a x=1/>", "<a x=\"&what;\"/>", "<a></b>", "no", &"<a>".repeat(99)]
        {
            let mut problems = Problems::default();
            assert!(parse(wrong, &mut problems).is_none() && problems.has_errors(), "{wrong}");
        }
    }
}
