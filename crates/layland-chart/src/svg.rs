//! [`Svg`]: the text of an SVG document, written from
//! start to end. All pictures are written with it.
//!
//! Attributes appear in the order in which they are added, and an element that is not inside
//! another one has a line of its own: equal pictures have equal bytes.

use std::fmt::{self, Display, Write};

/// The text so far.
#[derive(Debug, Default)]
pub(crate) struct Svg {
    text: String,
    /// The number of open elements whose children are in the same line.
    depth: usize,
}

/// An element whose attributes are being written. It must be ended.
#[must_use]
pub(crate) struct Element<'a> {
    to: &'a mut Svg,
    name: &'static str,
}

impl Svg {
    /// Begins an element.
    pub(crate) fn element(&mut self, name: &'static str) -> Element<'_> {
        self.put(format_args!("<{name}"));
        Element { to: self, name }
    }

    /// Closes an element that [`Element::open`] opened.
    pub(crate) fn close(&mut self, name: &'static str) {
        self.put(format_args!("</{name}>\n"));
    }

    /// Appends a separately written document, which consists of whole lines.
    pub(crate) fn append(&mut self, lines: &Svg) {
        self.text.push_str(&lines.text);
    }

    /// Returns the whole text.
    pub(crate) fn finish(self) -> String {
        self.text
    }

    fn put(&mut self, text: fmt::Arguments) {
        self.text.write_fmt(text).expect("a string takes any text");
    }
}

impl<'a> Element<'a> {
    /// Adds an attribute; its value must not need escapes.
    pub(crate) fn attr(self, name: &str, value: impl Display) -> Element<'a> {
        self.to.put(format_args!(" {name}=\"{value}\""));
        self
    }

    /// Adds several attributes.
    pub(crate) fn attrs(self, attributes: &[(&str, &str)]) -> Element<'a> {
        attributes.iter().fold(self, |element, (name, value)| element.attr(name, value))
    }

    /// Ends the element without content.
    pub(crate) fn empty(self) {
        self.to.put(format_args!("/>"));
        self.to.end_line();
    }

    /// Ends the element with a text as its content.
    pub(crate) fn text(self, text: &str) {
        self.children(|to| to.put(format_args!("{}", Escaped(text))));
    }

    /// Ends the element with a tooltip, unless the text is empty.
    pub(crate) fn tooltip(self, text: &str) {
        self.children(|to| to.tooltip(text));
    }

    /// Ends the element with other elements in the same line.
    pub(crate) fn children(self, write: impl FnOnce(&mut Svg)) {
        let Element { to, name } = self;
        to.put(format_args!(">"));
        to.depth += 1;
        write(to);
        to.depth -= 1;
        to.put(format_args!("</{name}>"));
        to.end_line();
    }

    /// Leaves the element open: the following elements are
    /// inside, each in its own line, until [`Svg::close`].
    pub(crate) fn open(self) {
        self.to.put(format_args!(">\n"));
    }
}

impl Svg {
    /// Adds a tooltip to the open element, unless the text is empty.
    pub(crate) fn tooltip(&mut self, text: &str) {
        if !text.is_empty() {
            self.element("title").text(text);
        }
    }

    /// Adds a text, escaped.
    pub(crate) fn words(&mut self, text: &str) {
        self.put(format_args!("{}", Escaped(text)));
    }

    fn end_line(&mut self) {
        if self.depth == 0 {
            self.text.push('\n');
        }
    }
}

/// Text in which the markup of XML is escaped and characters that it does not allow are omitted.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => f.write_char(' ')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_nest_in_one_line_or_in_lines_of_their_own() {
        let mut svg = Svg::default();
        svg.element("g").attr("x", 1).open();
        svg.element("rect").attrs(&[("a", "b"), ("c", "d")]).tooltip("");
        svg.element("text").children(|inner| {
            inner.tooltip("1 < 2");
            inner.words("\"&\u{7}");
        });
        svg.element("path").empty();
        svg.close("g");
        assert_eq!(
            svg.finish(),
            "<g x=\"1\">\n<rect a=\"b\" c=\"d\"></rect>\n\
             <text><title>1 &lt; 2</title>&quot;&amp; </text>\n<path/>\n</g>\n"
        );
    }
}
