//! The font of pictures as PDF: Liberation Sans, which has the widths of Helvetica. The glyphs that
//! a picture uses are embedded, as publishers require.

use pdf_writer::types::{CidFontType, FontFlags, SystemInfo, UnicodeCmap};
use pdf_writer::{Finish, Name, Pdf, Rect, Ref, Str};
use read_fonts::types::GlyphId;
use read_fonts::{FontRef, TableProvider};
use std::collections::BTreeMap;
use subsetter::GlyphRemapper;

/// The font.
pub(crate) const DATA: &[u8] = include_bytes!("../../assets/LiberationSans-Regular.ttf");
/// A prefix of six capital letters marks a subset of the font.
const NAME: Name<'_> = Name(b"LAYLND+LiberationSans");
const IDENTITY: SystemInfo<'_> =
    SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };

/// The font comes with this crate.
const WHOLE: &str = "the font that comes with this crate is whole";

/// The subset of the font that a picture uses.
pub(super) struct Font {
    face: FontRef<'static>,
    glyphs: GlyphRemapper,
    /// By glyph number in the subset: the character, and its width in thousandths of the font size.
    used: BTreeMap<u16, (char, f32)>,
}

impl Font {
    pub(super) fn new() -> Font {
        let face = FontRef::new(DATA).expect(WHOLE);
        Font { face, glyphs: GlyphRemapper::new(), used: BTreeMap::new() }
    }

    /// Encodes a text as glyph numbers of two bytes each.
    /// Characters that the font lacks become question marks.
    pub(super) fn encode(&mut self, text: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        let glyphs = self.face.cmap().expect(WHOLE);
        for char in text.chars() {
            let found = glyphs.map_codepoint(char).map(|glyph| (char, glyph));
            let (char, glyph) = found
                .unwrap_or_else(|| ('?', glyphs.map_codepoint('?').expect("the font has ASCII")));
            let number = u16::try_from(glyph.to_u32()).expect("a TrueType font has few glyphs");
            let number = self.glyphs.remap(number);
            let width = self.width(glyph);
            self.used.entry(number).or_insert((char, width));
            bytes.extend(number.to_be_bytes());
        }
        bytes
    }

    fn width(&self, glyph: GlyphId) -> f32 {
        let advance = self.face.hmtx().expect(WHOLE).advance(glyph).unwrap_or(0);
        f32::from(advance) * 1000.0 / self.units()
    }

    /// Returns the size of the font's own grid.
    fn units(&self) -> f32 {
        f32::from(self.face.head().expect(WHOLE).units_per_em())
    }

    /// Returns the only encoded character, with its width.
    #[cfg(test)]
    pub(super) fn only(&self) -> (char, f32) {
        self.used.values().next().copied().expect("a character was encoded")
    }

    /// Writes the subset to a file, as five objects.
    pub(super) fn embed(self, pdf: &mut Pdf, [font, cid, descriptor, file, unicode]: [Ref; 5]) {
        let part = subsetter::subset(DATA, 0, &self.glyphs)
            .expect("the font that comes with this crate can be cut");
        pdf.type0_font(font)
            .base_font(NAME)
            .encoding_predefined(Name(b"Identity-H"))
            .descendant_font(cid)
            .to_unicode(unicode);
        let mut of_glyphs = pdf.cid_font(cid);
        of_glyphs
            .subtype(CidFontType::Type2)
            .base_font(NAME)
            .system_info(IDENTITY)
            .font_descriptor(descriptor)
            .default_width(0.0)
            .cid_to_gid_map_predefined(Name(b"Identity"));
        let mut widths = of_glyphs.widths();
        for (&number, &(_, width)) in &self.used {
            widths.consecutive(number, [width]);
        }
        widths.finish();
        of_glyphs.finish();
        let grid = self.units();
        let scaled = |units: i16| f32::from(units) * 1000.0 / grid;
        let (head, lines) = (self.face.head().expect(WHOLE), self.face.hhea().expect(WHOLE));
        let (ascent, descent) = (lines.ascender().to_i16(), lines.descender().to_i16());
        let capitals = self.face.os2().ok().and_then(|table| table.s_cap_height());
        pdf.font_descriptor(descriptor)
            .name(NAME)
            .flags(FontFlags::SYMBOLIC)
            .bbox(Rect::new(
                scaled(head.x_min()),
                scaled(head.y_min()),
                scaled(head.x_max()),
                scaled(head.y_max()),
            ))
            .italic_angle(0.0)
            .ascent(scaled(ascent))
            .descent(scaled(descent))
            .cap_height(scaled(capitals.unwrap_or(ascent)))
            .stem_v(80.0)
            .font_file2(file);
        let mut stream = pdf.stream(file, &part);
        stream.pair(Name(b"Length1"), i32::try_from(part.len()).unwrap_or(i32::MAX));
        stream.finish();
        let mut map = UnicodeCmap::new(Name(b"Layland"), IDENTITY);
        for (&number, &(char, _)) in &self.used {
            map.pair(number, char);
        }
        pdf.cmap(unicode, &map.finish());
    }
}
