//! The characters of a chart, and lines of them that can be overwritten.

use super::Colours;
use std::fmt::Write;

/// The characters by meaning.
pub(super) struct Glyphs {
    pub(super) release: char,
    pub(super) deadline: char,
    pub(super) release_and_deadline: char,
    pub(super) missed: char,
    pub(super) tardy: char,
    /// Busy all of the time, at least half of it, and less.
    pub(super) shades: [char; 3],
    pub(super) waiting: char,
    pub(super) suspended: char,
    /// A job waits for a lock off its CPU; on its CPU it spins.
    pub(super) locked_out: char,
    pub(super) spinning: char,
    /// A lock that a job holds, and one for which it waits.
    pub(super) locks: [char; 2],
    pub(super) offline: char,
    pub(super) other_task: char,
    /// The lowest criticality level, and a higher one.
    pub(super) levels: [char; 2],
    pub(super) axis: char,
    pub(super) tick: char,
    pub(super) first_tick: char,
    pub(super) ellipsis: char,
}

pub(super) const UNICODE: Glyphs = Glyphs {
    release: '↑',
    deadline: '↓',
    release_and_deadline: '↕',
    missed: '✗',
    tardy: '!',
    shades: ['█', '▓', '░'],
    waiting: '·',
    suspended: 'z',
    locked_out: 'w',
    spinning: '≈',
    locks: ['━', '╌'],
    offline: '╳',
    other_task: '?',
    levels: ['╌', '━'],
    axis: '─',
    tick: '┬',
    first_tick: '├',
    ellipsis: '…',
};
pub(super) const ASCII: Glyphs = Glyphs {
    release: '^',
    deadline: 'v',
    release_and_deadline: 'I',
    missed: 'X',
    tardy: '!',
    shades: ['#', '+', '-'],
    waiting: '.',
    suspended: 'z',
    locked_out: 'w',
    spinning: '~',
    locks: ['=', '-'],
    offline: '/',
    other_task: '?',
    levels: ['-', '='],
    axis: '-',
    tick: '+',
    first_tick: '+',
    ellipsis: '~',
};

pub(super) const KEYS: &[u8; 62] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// 256-colour codes near the Okabe-Ito palette.
const ANSI_COLOURS: [u8; 8] = [32, 214, 36, 117, 175, 227, 166, 246];

/// The colour of a character.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Paint {
    Plain,
    Task(usize),
    Miss,
}

/// A line of characters that can be overwritten.
pub(super) struct TextLine(Vec<(char, Paint)>);

impl TextLine {
    pub(super) fn blank(width: usize) -> TextLine {
        TextLine(vec![(' ', Paint::Plain); width])
    }
    pub(super) fn put(&mut self, at: usize, glyph: char, paint: Paint) {
        if let Some(cell) = self.0.get_mut(at) {
            *cell = (glyph, paint);
        }
    }
    pub(super) fn write(&mut self, at: usize, text: &str, paint: Paint) {
        text.chars().enumerate().for_each(|(offset, glyph)| self.put(at + offset, glyph, paint));
    }
    pub(super) fn print(&self, out: &mut String, colours: Colours) {
        let length = self.0.iter().rposition(|&(glyph, _)| glyph != ' ').map_or(0, |at| at + 1);
        let mut current = Paint::Plain;
        for &(glyph, paint) in &self.0[..length] {
            if colours == Colours::Ansi && paint != current {
                out.push_str("\x1b[0m");
                match paint {
                    Paint::Plain => {}
                    Paint::Task(position) => {
                        let code = ANSI_COLOURS[position % ANSI_COLOURS.len()];
                        let _ = write!(out, "\x1b[38;5;{code}m");
                    }
                    Paint::Miss => out.push_str("\x1b[1;31m"),
                }
                current = paint;
            }
            out.push(glyph);
        }
        if current != Paint::Plain {
            out.push_str("\x1b[0m");
        }
        out.push('\n');
    }
}
