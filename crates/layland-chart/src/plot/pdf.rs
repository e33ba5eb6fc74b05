//! A picture as PDF: one page of its size, in Helvetica, which every reader has.

use super::{Anchor, Colour, Picture, Shape, helvetica};
use pdf_writer::types::{LineCapStyle, LineJoinStyle};
use pdf_writer::{Content, Finish, Name, Pdf, Rect, Ref, Str, TextStr};

/// A circle is four curves whose control points are this far along, in radii.
const ROUND: f64 = 0.552_284_75;

impl Picture {
    /// The picture; `about` is its title.
    pub fn pdf(&self, about: &str) -> Vec<u8> {
        let [catalog, pages, page, font, content, info] = [1, 2, 3, 4, 5, 6].map(Ref::new);
        let mut pdf = Pdf::new();
        pdf.catalog(catalog).pages(pages);
        pdf.pages(pages).kids([page]).count(1);
        let mut sheet = pdf.page(page);
        sheet.media_box(Rect::new(0.0, 0.0, self.width as f32, self.height as f32));
        sheet.parent(pages);
        sheet.contents(content);
        sheet.resources().fonts().pair(Name(b"F1"), font);
        sheet.finish();
        pdf.type1_font(font)
            .base_font(Name(b"Helvetica"))
            .encoding_predefined(Name(b"WinAnsiEncoding"));
        pdf.stream(content, &self.content());
        pdf.document_info(info)
            .title(TextStr(about))
            .producer(TextStr(concat!("layland-lab ", env!("CARGO_PKG_VERSION"))));
        pdf.finish()
    }

    fn content(&self) -> Vec<u8> {
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
                        // A quarter turn further.
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
                    to.set_text_matrix(match upwards {
                        true => [0.0, 1.0, -1.0, 0.0, x, y - back],
                        false => [1.0, 0.0, 0.0, 1.0, x - back, y],
                    });
                    to.show(Str(&latin(text)));
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

/// The bytes of a text in the encoding of the font; what it lacks becomes a question mark.
fn latin(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect()
}
