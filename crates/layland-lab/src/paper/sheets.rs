//! The report as PDF: sheets of A4, filled from top to bottom.

use super::item::Item;
use layland_chart::plot::{Anchor, Colour, Picture, pdf as document, text_width};

const BLACK: Colour = [0, 0, 0];
const GREY: Colour = [90, 90, 90];
const BLUE: Colour = [0, 70, 130];
const GREEN: Colour = [0, 95, 40];
const RED: Colour = [160, 20, 20];
/// A4, in points.
const SIZE: (f64, f64) = (595.0, 842.0);
const MARGIN: f64 = 56.0;

/// The sheets so far.
struct Sheets {
    done: Vec<Picture>,
    /// The next free place on the last one.
    y: f64,
}

/// The report.
pub(super) fn pdf(title: &str, items: &[Item]) -> Vec<u8> {
    document(&filled(items), title)
}

fn filled(items: &[Item]) -> Vec<Picture> {
    let mut sheets = Sheets { done: Vec::new(), y: SIZE.1 };
    for (at, item) in items.iter().enumerate() {
        match item {
            Item::Heading(level, text) => {
                let size = if *level == 1 { 15.0 } else { 11.0 };
                sheets.y += 8.0;
                // A heading does not stay behind what it is about.
                let below = match items.get(at + 1) {
                    Some(Item::Figure { picture, .. }) => picture.height + 30.0,
                    _ => 40.0,
                };
                sheets.room(size * 1.3 + below);
                sheets.text(text, size, 0.0, BLACK);
            }
            Item::Text(text) => sheets.text(text, 9.0, 0.0, BLACK),
            Item::Command(text) => sheets.text(&format!("$ {text}"), 8.0, 6.0, BLUE),
            Item::Detail(text) => sheets.text(text, 7.5, 12.0, GREY),
            Item::Claim { text, here } => {
                sheets.y += 3.0;
                // A claim does not stay behind the points that decide it.
                sheets.room(60.0);
                let colour = match here.as_str() {
                    "holds" => GREEN,
                    "does not hold" => RED,
                    _ => BLACK,
                };
                sheets.text(&format!("{here}: {text}"), 9.0, 0.0, colour);
            }
            Item::Figure { picture, .. } => sheets.picture(picture),
        }
    }
    sheets.done
}

impl Sheets {
    /// Begins another sheet if there is less room than this.
    fn room(&mut self, height: f64) {
        if self.done.is_empty() || self.y + height > SIZE.1 - MARGIN {
            self.done.push(Picture { width: SIZE.0, height: SIZE.1, shapes: Vec::new() });
            self.y = MARGIN;
        }
    }

    fn sheet(&mut self) -> &mut Picture {
        self.done.last_mut().expect("room was made")
    }

    /// Adds a text, in as many lines as it needs.
    fn text(&mut self, text: &str, size: f64, indent: f64, colour: Colour) {
        let width = SIZE.0 - 2.0 * MARGIN - indent;
        for line in wrapped(text, size, width) {
            self.room(size * 1.3);
            self.y += size * 1.3;
            let at = (MARGIN + indent, self.y - size * 0.3);
            self.sheet().text(at, &line, size, Anchor::Start, colour);
        }
        self.y += 2.0;
    }

    fn picture(&mut self, picture: &Picture) {
        self.room(picture.height + 4.0);
        let at = (MARGIN, self.y);
        self.sheet().place(picture, at);
        self.y += picture.height + 4.0;
    }
}

/// Breaks a text into lines of at most this width; a longer word has a line of its own.
fn wrapped(text: &str, size: f64, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(&format!("{line} {word}"), size) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use layland_chart::plot::Shape;

    #[test]
    fn a_heading_stays_with_its_figure() {
        let figure = || Item::Figure {
            name: "one".to_owned(),
            picture: Box::new(Picture { width: 100.0, height: 222.0, shapes: Vec::new() }),
            about: String::new(),
        };
        let heading = || Item::Heading(2, "heading".to_owned());
        let items = [heading(), figure(), heading(), figure(), heading(), figure()];
        let sheets = filled(&items);
        let headings = |sheet: &Picture| {
            let is_text = |shape: &&Shape| matches!(shape, Shape::Text { .. });
            sheet.shapes.iter().filter(is_text).count()
        };
        assert_eq!(sheets.iter().map(headings).collect::<Vec<_>>(), [2, 1]);
    }

    #[test]
    fn long_texts_take_more_lines_and_long_reports_more_sheets() {
        let lines = wrapped("one two three four", 10.0, text_width("one two ", 10.0));
        assert_eq!(lines, ["one two", "three", "four"]);
        let of = |count: usize| {
            let items: Vec<Item> =
                (0..count).map(|at| Item::Text(format!("paragraph {at}"))).collect();
            let pdf = pdf("many", &items);
            assert!(pdf.starts_with(b"%PDF-"));
            let text = String::from_utf8_lossy(&pdf).into_owned();
            text.matches("/Type /Page\n").count() + text.matches("/Type /Page ").count()
        };
        assert_eq!((of(3), of(80)), (1, 2));
    }
}
