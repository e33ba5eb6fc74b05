//! Writes pictures as PDF: a page of its size for each, with the glyphs that they use.

use super::font::Font;
use super::{Anchor, Colour, Picture, Shape, helvetica};
use pdf_writer::types::{LineCapStyle, LineJoinStyle};
use pdf_writer::{Content, Finish, Name, Pdf, Rect, Ref, Str, TextStr};

/// The distance of control points, in radii, with which four curves form a circle.
const ROUND: f64 = 0.552_284_75;

/// Returns a document with a page for each picture; `about` is its title.
pub fn pdf(pictures: &[Picture], about: &str) -> Vec<u8> {
    let mut next = 0;
    let mut new = || {
        next += 1;
        Ref::new(next)
    };
    let (catalog, pages) = (new(), new());
    let sheets: Vec<(Ref, Ref)> = pictures.iter().map(|_| (new(), new())).collect();
    let info = new();
    let of_font = [new(), new(), new(), new(), new()];
    let mut pdf = Pdf::new();
    pdf.catalog(catalog).pages(pages);
    let count = i32::try_from(sheets.len()).unwrap_or(i32::MAX);
    pdf.pages(pages).kids(sheets.iter().map(|&(page, _)| page)).count(count);
    for (picture, &(page, content)) in pictures.iter().zip(&sheets) {
        let mut sheet = pdf.page(page);
        sheet.media_box(Rect::new(0.0, 0.0, picture.width as f32, picture.height as f32));
        sheet.parent(pages);
        sheet.contents(content);
        sheet.resources().fonts().pair(Name(b"F1"), of_font[0]);
        sheet.finish();
    }
    let mut font = Font::new();
    for (picture, &(_, content)) in pictures.iter().zip(&sheets) {
        pdf.stream(content, &picture.content(&mut font));
    }
    font.embed(&mut pdf, of_font);
    pdf.document_info(info)
        .title(TextStr(about))
        .producer(TextStr(concat!("layland-lab ", env!("CARGO_PKG_VERSION"))));
    pdf.finish()
}

impl Picture {
    /// Returns the picture; `about` is its title.
    pub fn pdf(&self, about: &str) -> Vec<u8> {
        pdf(std::slice::from_ref(self), about)
    }

    fn content(&self, font: &mut Font) -> Vec<u8> {
        let mut to = Content::new();
        to.set_line_join(LineJoinStyle::RoundJoin);
        to.set_line_cap(LineCapStyle::ButtCap);
        let at = |(x, y): (f64, f64)| (x as f32, (self.height - y) as f32);
        let mut clipped = false;
        for shape in &self.shapes {
            match shape {
                Shape::Line { points, colour, width, dash } => {
                    let [r, g, b] = shares(*colour);
                    to.set_stroke_rgb(r, g, b);
                    to.set_line_width(*width as f32);
                    to.set_dash_pattern(dash.iter().map(|&length| length as f32), 0.0);
                    path(&mut to, points.iter().map(|&point| at(point)));
                    to.stroke();
                }
                Shape::Polygon { points, colour } => {
                    let [r, g, b] = shares(*colour);
                    to.set_fill_rgb(r, g, b);
                    path(&mut to, points.iter().map(|&point| at(point)));
                    to.close_path();
                    to.fill_nonzero();
                }
                Shape::Circle { at: (x, y), radius, colour } => {
                    let [r, g, b] = shares(*colour);
                    to.set_fill_rgb(r, g, b);
                    let along = |dx: f64, dy: f64| at((x + dx * radius, y + dy * radius));
                    let (sx, sy) = along(1.0, 0.0);
                    to.move_to(sx, sy);
                    for (dx, dy) in [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)] {
                        // The point a quarter turn further.
                        let (ex, ey) = (-dy, dx);
                        let (ax, ay) = along(dx + ROUND * ex, dy + ROUND * ey);
                        let (bx, by) = along(ex + ROUND * dx, ey + ROUND * dy);
                        let (cx, cy) = along(ex, ey);
                        to.cubic_to(ax, ay, bx, by, cx, cy);
                    }
                    to.fill_nonzero();
                }
                Shape::Text { at: place, text, size, anchor, upwards, colour } => {
                    let [r, g, b] = shares(*colour);
                    let back = helvetica::width(text, *size)
                        * match anchor {
                            Anchor::Start => 0.0,
                            Anchor::Middle => 0.5,
                            Anchor::End => 1.0,
                        };
                    let (x, y) = at(*place);
                    let back = back as f32;
                    to.set_fill_rgb(r, g, b);
                    to.begin_text();
                    to.set_font(Name(b"F1"), *size as f32);
                    to.set_text_matrix(if *upwards {
                        [0.0, 1.0, -1.0, 0.0, x, y - back]
                    } else {
                        [1.0, 0.0, 0.0, 1.0, x - back, y]
                    });
                    to.show(Str(&font.encode(text)));
                    to.end_text();
                }
                Shape::Clip { at: rectangle } => {
                    if clipped {
                        to.restore_state();
                    }
                    clipped = rectangle.is_some();
                    if let Some([x, y, w, h]) = rectangle {
                        to.save_state();
                        let (left, bottom) = at((*x, y + h));
                        to.rect(left, bottom, *w as f32, *h as f32);
                        to.clip_nonzero();
                        to.end_path();
                    }
                }
            }
        }
        to.finish().to_vec()
    }
}

fn path(to: &mut Content, points: impl Iterator<Item = (f32, f32)>) {
    for (index, (x, y)) in points.enumerate() {
        match index {
            0 => to.move_to(x, y),
            _ => to.line_to(x, y),
        };
    }
}

fn shares(colour: Colour) -> [f32; 3] {
    colour.map(|share| f32::from(share) / 255.0)
}

#[cfg(test)]
mod tests {
    use super::super::font::Font;
    use super::*;
    use std::process::Command;

    fn picture() -> Picture {
        let mut picture = Picture { width: 200.0, height: 40.0, shapes: Vec::new() };
        for (index, text) in
            ["tardiness [ms]", "λ ≤ 50 µs", "a (b) \\ c", "漢"].into_iter().enumerate()
        {
            let at = (4.0, 9.0 * (index as f64 + 1.0));
            picture.text(at, text, 8.0, Anchor::Start, [0, 0, 0]);
        }
        picture
    }

    /// The widths of Helvetica determine the positions
    /// of texts, so the embedded font must have them.
    #[test]
    fn the_font_is_as_wide_as_helvetica() {
        for char in ' '..='~' {
            let mut font = Font::new();
            font.encode(&char.to_string());
            let width = helvetica::width(&char.to_string(), 1000.0);
            let (_, own) = font.only();
            assert!((f64::from(own) - width).abs() < 1.0, "{char}: {own}, and not {width}");
        }
    }

    #[test]
    fn the_same_picture_gives_the_same_bytes() {
        assert_eq!(picture().pdf("a"), picture().pdf("a"));
    }

    /// The checks that conferences make before they accept a paper.
    #[test]
    fn every_font_is_embedded() {
        let path = std::env::temp_dir().join(format!("layland-font-{}.pdf", std::process::id()));
        std::fs::write(&path, picture().pdf("a")).unwrap();
        let fonts = Command::new("pdffonts").arg(&path).output();
        let text = Command::new("pdftotext").args([path.as_os_str(), "-".as_ref()]).output();
        let _ = std::fs::remove_file(&path);
        let (Ok(fonts), Ok(text)) = (fonts, text) else {
            // Not through the macro, because a passing test does not show its output.
            use std::io::Write;
            let _ = std::io::stderr()
                .write_all(b"skipped: needs pdffonts and pdftotext (poppler-utils)\n");
            return;
        };
        let fonts = String::from_utf8_lossy(&fonts.stdout).into_owned();
        let rows: Vec<&str> = fonts.lines().skip(2).collect();
        assert_eq!(rows.len(), 1, "{fonts}");
        let flags: Vec<&str> =
            rows[0].split_whitespace().filter(|word| ["yes", "no"].contains(word)).collect();
        assert_eq!(flags, ["yes", "yes", "yes"], "embedded, a part, with Unicode: {fonts}");
        // Selection and search find the text, not glyph numbers.
        let text = String::from_utf8_lossy(&text.stdout).into_owned();
        for part in ["tardiness [ms]", "λ ≤ 50 µs", "a (b) \\ c", "?"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
