//! Pictures as PNG: the SVG, drawn by resvg. The only font is the one that PDF files embed, so that
//! the bytes are the same on every machine.

use crate::plot::FONT;
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use std::sync::Arc;

/// The family of the font.
const FAMILY: &str = "Liberation Sans";

/// Draws an SVG of this crate on white, with `scale` pixels for each of its own. Returns none if
/// the picture is too large: resvg draws up to 2^31 bytes.
///
/// ```
/// # use layland_chart::plot::Picture;
/// let mut picture = Picture { width: 40.0, height: 12.0, shapes: Vec::new() };
/// picture.block((0.0, 0.0), (4.0, 12.0), [0, 114, 178]);
/// let png = layland_chart::png::of(&picture.svg("a bar"), 2).unwrap();
/// assert!(png.starts_with(b"\x89PNG"));
/// ```
pub fn of(svg: &str, scale: u16) -> Option<Vec<u8>> {
    let mut options = Options { font_family: FAMILY.to_owned(), ..Options::default() };
    let fonts = Arc::get_mut(&mut options.fontdb)?;
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family(FAMILY);
    let tree = Tree::from_str(svg, &options).ok()?;
    let scale = f32::from(scale);
    let size = tree.size().to_int_size().scale_by(scale)?;
    let mut pixels = Pixmap::new(size.width(), size.height())?;
    pixels.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().ok()
}
